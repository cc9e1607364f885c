from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hazardmill.formalism.document.document import Effect
from hazardmill.formalism.document.expressions import Expr
from hazardmill.formalism.formats.infix_reader import Reader
from hazardmill.formalism.formats.infix_writer import effect_in_words, in_words, write_call, write_declaration

from .test_infix import READER, atoms, nested

HOT, LEVEL = ("fluent", "hot"), ("fluent", "level")


@given(st.recursive(atoms, nested, max_leaves=8))
def test_what_is_written_is_read_as_it_was(both: tuple[str, str]) -> None:
    reader = Reader("goal", {"kitchen", "table"}, {"at", "wet", "hot", "level", "count"}, frozenset({"to"}))
    condition = reader.condition(both[0])
    assert reader.condition(in_words(condition)) == condition


@pytest.mark.parametrize(
    ("text", "effect"),
    [
        ("at(to)", Effect("assign", ("fluent", "at", "?to"), True, True)),
        ("not hot", Effect("assign", HOT, False, True)),
        ("level += 2", Effect("increase", LEVEL, 2, True)),
        ("level -= 1 if hot or wet", Effect("decrease", LEVEL, 1, ("or", HOT, ("fluent", "wet")))),
        ("level = count - 1", Effect("assign", LEVEL, ("-", ("fluent", "count"), 1), True)),
    ],
)
def test_an_effect_is_written_as_it_is_read(text: str, effect: Effect) -> None:
    assert effect_in_words(effect) == text
    change = READER.change(text)
    assert (change.operation, change.target, change.value, change.condition) == (
        effect.operation,
        effect.target,
        effect.value,
        effect.condition,
    )


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (("and",), "true"),
        (("or",), "false"),
        (("not", ("not", HOT)), "not not hot"),
        (
            ("exists", (("?a", "cup"), ("?b", "cup")), ("not", ("same", "?a", "?b"))),
            "any(not a == b for a in cup for b in cup)",
        ),
        (("-", 3, ("-", LEVEL, 1)), "3 - (level - 1)"),
    ],
)
def test_what_only_imported_documents_hold_has_words_too(expr: Expr, text: str) -> None:
    assert in_words(expr) == text


def test_declarations_are_written_with_their_parameters() -> None:
    assert (write_call("at", "kitchen", "?to"), write_call("hot")) == ("at(kitchen, to)", "hot")
    assert (write_declaration("go", [("?to", "place")]), write_declaration("wait", [])) == ("go(to: place)", "wait")
