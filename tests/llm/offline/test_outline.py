from __future__ import annotations

import itertools
import json
import re

import pytest

from hazardmill.errors import DocumentError, UnusableAnswer
from hazardmill.llm.backends.offline.author import versions_of
from hazardmill.llm.backends.offline.draws import Draws
from hazardmill.llm.backends.offline.faults import answer_of
from hazardmill.llm.backends.offline.outline import words
from hazardmill.llm.backends.offline.reading import Reading
from hazardmill.llm.backends.offline.selection import Declined, select
from hazardmill.llm.structured import parse_json
from hazardmill.stages.outline import Outline, document_of

from .support import CONTEXTS, SOURCES, again, answer, author, build, danger_block, extract, key, record_block, user
from .test_author import CONTEXT, HASHES, PLANS, hash_with_first

WANTED = "<answer_format>json outline</answer_format>"


def outlined(context: str, record_hash: str, draft: int = 1, *more: str) -> str:
    danger = extract(context, record_hash)["danger"]
    asked = user(WANTED, record_block(context), danger_block(danger), *more)
    return answer(asked, key("author", record_hash, draft))


def document(text: str):
    return document_of(parse_json(text, Outline))


@pytest.mark.parametrize(
    ("condition", "written"),
    [
        ("a", "a"),
        ("a & ~b & c(d)", "a and (not b) and c(d)"),
        ("a & (b | ~c)", "a and (b or (not c))"),
        ("(level >= 3)", "level >= 3"),
        ("Equals(level, 3)", "level == 3"),
        ("Exists(guest, lambda p: apart(p) & ~served(p))", "any((apart(p) and (not served(p)) for p in guest))"),
        ("Forall(cup, lambda x: full(x))", "all((full(x) for x in cup))"),
        ("level + 1", "level + 1"),
    ],
)
def test_conditions_are_put_into_words(condition: str, written: str) -> None:
    bare = re.sub(r"[()]", "", words(condition))
    assert bare == re.sub(r"[()]", "", written)


def test_the_outline_says_what_the_module_says() -> None:
    said = set()
    for (name, context), record_hash in itertools.product(CONTEXTS.items(), HASHES[:12]):
        reading = Reading(SOURCES.get(name, "neiss"), "x:1", context)
        plan = select(reading, Draws(record_hash, "plan"))
        if isinstance(plan, Declined):
            continue
        for version in versions_of(plan, reading, record_hash):
            # Mistakes in the task are in both; those in a text are each format's own.
            if version.fault is None or version.fault.in_code is not None:
                code, text = (answer_of(version.code, version.fault, outline=outline)[0] for outline in (False, True))
                assert document(text) == build(code)
                said |= set(re.findall(r"\b(?:any|all|if|or)\b|==|\+=|-=|>=|\(\w+: \w+", text))
    assert said >= {"any", "all", "if", "or", "==", "+=", "-=", ">="} and len(said) > 10


EXPECTED = {"syntax_error": UnusableAnswer, "cut_off": UnusableAnswer, "undeclared_fluent": DocumentError}
NAMED = {"syntax_error": "no_document", "cut_off": "no_document", "undeclared_fluent": "not_a_document"}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_mistake_in_the_text_is_made_in_outlines_too_and_mended_only_if_it_is_named(name: str) -> None:
    record_hash = hash_with_first(name)
    first = outlined(CONTEXT, record_hash)
    with pytest.raises(EXPECTED[name]):
        document(first)
    assert outlined(CONTEXT, record_hash, 2, *again(first, "too_large")) == first
    mended = outlined(CONTEXT, record_hash, 2, *again(first, NAMED[name]))
    assert mended != first
    if len(PLANS[record_hash]) == 1:
        assert document(mended)


def test_prose_around_an_outline_is_no_fault_of_it() -> None:
    text = outlined(CONTEXT, hash_with_first("prose_around"))
    assert text.startswith("Sure!") and not text.rstrip().endswith("}")
    assert document(text)


def test_another_being_is_put_into_the_circumstances_and_nothing_else_is_changed() -> None:
    record_hash = next(record_hash for record_hash, faults in PLANS.items() if faults == ["wrong_entity"])
    wrong = outlined(CONTEXT, record_hash)
    mended = outlined(CONTEXT, record_hash, 2, *again(wrong, "judge:entity"))
    one, other = (json.loads(text) for text in (wrong, mended))
    assert {part for part in one if one[part] != other[part]} == {"context", "dangers", "causes"}


def test_only_the_template_asks_for_an_outline() -> None:
    record_hash = HASHES[0]
    danger = extract(CONTEXT, record_hash)["danger"]
    assert "class " in author(CONTEXT, danger, record_hash)
    assert "class " in author(f"{CONTEXT}\nanswer_format: json outline", danger, record_hash)
