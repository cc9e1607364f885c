from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hazardmill.errors import DocumentError
from hazardmill.formalism.authoring import And, Equals, Exists, Forall, Iff, Implies, Not, Or, PlanningTask
from hazardmill.formalism.authoring_values import condition_of
from hazardmill.formalism.formats.infix_reader import ParsedEffect, Reader

READER = Reader("goal", {"kitchen", "table"}, {"at", "wet", "hot", "level", "count", "near"}, frozenset({"to"}))

AT_TO, HOT, LEVEL = ("fluent", "at", "?to"), ("fluent", "hot"), ("fluent", "level")


@pytest.mark.parametrize(
    ("text", "expr"),
    [
        ("hot", HOT),
        ("at(to)", AT_TO),
        ("near(to, kitchen)", ("fluent", "near", "?to", "kitchen")),
        ("", True),
        ("  \n", True),
        ("true", True),
        ("False", False),
        ("not hot", ("not", HOT)),
        ("not not hot", HOT),
        ("not true", False),
        ("at(to) and hot and not wet", ("and", AT_TO, HOT, ("not", ("fluent", "wet")))),
        ("(at(to) and hot) and (wet and hot)", ("and", AT_TO, HOT, ("fluent", "wet"), HOT)),
        ("at(to) & ~hot | wet", ("or", ("and", AT_TO, ("not", HOT)), ("fluent", "wet"))),
        ("at(to)\n  and\nhot", ("and", AT_TO, HOT)),
        ("level >= 2 and hot", ("and", (">=", LEVEL, 2), HOT)),
        ("level == count + 1", ("=", LEVEL, ("+", ("fluent", "count"), 1))),
        ("level != -1", ("not", ("=", LEVEL, -1))),
        ("0 < level <= 3", ("and", (">", LEVEL, 0), ("<=", LEVEL, 3))),
        ("2 - 1 < 3 + 1", True),
        ("to == kitchen", ("same", "?to", "kitchen")),
        ("kitchen != to", ("not", ("same", "kitchen", "?to"))),
        ("implies(hot, wet)", ("imply", HOT, ("fluent", "wet"))),
        ("iff(hot, wet)", ("and", ("imply", HOT, ("fluent", "wet")), ("imply", ("fluent", "wet"), HOT))),
        ("any(at(p) for p in place)", ("exists", (("?p", "place"),), ("fluent", "at", "?p"))),
        (
            "all(at(p) for p in place if p != to)",
            (
                "forall",
                (("?p", "place"),),
                ("imply", ("not", ("same", "?p", "?to")), ("fluent", "at", "?p")),
            ),
        ),
        (
            "any(near(p, q) for p in place for q in place if at(q))",
            (
                "exists",
                (("?p", "place"),),
                (
                    "exists",
                    (("?q", "place"),),
                    ("and", ("fluent", "at", "?q"), ("fluent", "near", "?p", "?q")),
                ),
            ),
        ),
        ("any(at(to) for to in place)", ("exists", (("?to", "place"),), AT_TO)),
    ],
)
def test_a_condition_is_read(text: str, expr: object) -> None:
    assert READER.condition(text) == expr


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("at(to)", ParsedEffect("assign", AT_TO, True)),
        ("not hot", ParsedEffect("assign", HOT, False)),
        ("~hot", ParsedEffect("assign", HOT, False)),
        ("hot = true", ParsedEffect("assign", HOT, True)),
        ("hot = False", ParsedEffect("assign", HOT, False)),
        ("level = 3", ParsedEffect("assign", LEVEL, 3)),
        ("level += count - 1", ParsedEffect("increase", LEVEL, ("-", ("fluent", "count"), 1))),
        ("count(to) -= 1 if level > 0", ParsedEffect("decrease", ("fluent", "count", "?to"), 1, (">", LEVEL, 0))),
        ("hot if any(at(p) for p in place if wet)", None),
    ],
)
def test_an_effect_is_read(text: str, change: ParsedEffect | None) -> None:
    read = READER.change(text)
    if change is None:
        assert (read.target, read.value, read.condition[0]) == (HOT, True, "exists")
    else:
        assert read == change


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("hot and", "cannot be read"),
        ("hot; wet", "not one expression"),
        ("hot = 1", "not one expression"),
        ("hot if wet else at", "is not a condition"),
        ("level + 1", "is not a condition"),
        ("3", "is not a condition"),
        ("robot.at", "is not a condition"),
        ("at('kitchen')", "is neither an object nor a parameter"),
        ("at(near(to))", "is neither an object nor a parameter"),
        ("at(to=kitchen)", "is not a fluent"),
        ("at(to)(to)", "is not a fluent"),
        ("at(*to)", "is neither an object"),
        ("any([at(to)])", "is not a quantifier"),
        ("any(at(p) for p, q in place)", "over something that is not a type"),
        ("any(at(p) for p in [kitchen])", "over something that is not a type"),
        ("any(at(p) async for p in place)", "over something that is not a type"),
        ("to in place", "compares in a way"),
        ("level < 1.5", "is not an integer term"),
        ("level * 2 > 3", "is not an integer term"),
        ("level > True", "is not an integer term"),
        ("lambda: 1", "is not a condition"),
        ("__import__('os').system('true')", "is not a fluent"),
        ("(" * 300 + "hot" + ")" * 300, "cannot be read"),
        ("not " * 3000 + "hot", "read"),
        ("hot" * 9000, "over 20000 characters"),
        ("h\0t", "cannot be read"),
    ],
)
def test_what_is_no_condition_is_refused_with_its_place_and_a_mend(text: str, said: str) -> None:
    with pytest.raises(DocumentError, match=re.escape(said)) as caught:
        READER.condition(text)
    assert caught.value.message.startswith("goal: ")
    assert caught.value.remedy
    assert len(caught.value.message) < 200


def test_blanks_take_no_time() -> None:
    # Where each length of blanks is tried, this takes hours: the test's own timeout ends it.
    assert READER.change("level" + " " * 1_000_000 + "= 3") == ParsedEffect("assign", LEVEL, 3)


@pytest.mark.parametrize(
    "text", ["", "level == 3", "a, b = 1", "hot and wet", "level *= 2", "if hot", "at(to) if", "3"]
)
def test_what_is_no_effect_is_refused(text: str) -> None:
    with pytest.raises(DocumentError):
        READER.change(text)


class Words(PlanningTask):
    """The same names on the authoring module."""

    def build(self) -> None:
        self.place = self.type("place")
        self.kitchen, self.table = self.objects(self.place, "kitchen", "table")
        self.at = self.fluent("at", self.place)
        self.wet, self.hot = self.fluent("wet"), self.context("hot")
        self.level, self.count = self.integer("level"), self.integer("count", self.place)
        self.to = self.action("go", to=self.place).to


WORDS = Words()
WORDS.build()
NAMES = {
    **{
        name: getattr(WORDS, name) for name in ("place", "kitchen", "table", "at", "wet", "hot", "level", "count", "to")
    },
    **{each.__name__: each for each in (And, Or, Not, Implies, Iff, Equals, Exists, Forall)},
}

terms = st.recursive(
    st.sampled_from(["level", "count(to)", "count(kitchen)", "2", "-1"]),
    lambda inner: st.builds("({} {} {})".format, inner, st.sampled_from("+-"), inner),
    max_leaves=3,
)
atoms = st.one_of(
    st.sampled_from([("wet", "wet"), ("hot", "hot"), ("at(to)", "at(to)"), ("at(table)", "at(table)")]),
    st.sampled_from([("to == kitchen", "Equals(to, kitchen)"), ("to != table", "Not(Equals(to, table))")]),
    st.builds(
        lambda left, sign, right: (f"({left} {sign} {right})",) * 2,
        terms,
        st.sampled_from(["<", "<=", ">", ">="]),
        terms,
    ),
    st.builds(lambda left, right: (f"{left} == {right}", f"Equals({left}, {right})"), terms, terms),
)


def nested(inner: st.SearchStrategy[tuple[str, str]]) -> st.SearchStrategy[tuple[str, str]]:
    return st.one_of(
        st.builds(lambda a, b: (f"({a[0]}) and ({b[0]})", f"And({a[1]}, {b[1]})"), inner, inner),
        st.builds(lambda a, b: (f"({a[0]}) | ({b[0]})", f"Or({a[1]}, {b[1]})"), inner, inner),
        st.builds(lambda a: (f"not ({a[0]})", f"Not({a[1]})"), inner),
        st.builds(lambda a, b: (f"implies({a[0]}, {b[0]})", f"Implies({a[1]}, {b[1]})"), inner, inner),
        st.builds(lambda a, b: (f"iff({a[0]}, {b[0]})", f"Iff({a[1]}, {b[1]})"), inner, inner),
        st.builds(lambda a: (f"any({a[0]} for p in place)", f"Exists(place, lambda p: {a[1]})"), inner),
        st.builds(lambda a: (f"all({a[0]} for p in place)", f"Forall(place, lambda p: {a[1]})"), inner),
    )


@given(st.recursive(atoms, nested, max_leaves=8))
def test_it_gives_what_the_authoring_module_gives(both: tuple[str, str]) -> None:
    written, code = both
    reader = Reader("goal", {"kitchen", "table"}, {"at", "wet", "hot", "level", "count"}, frozenset({"to"}))
    assert reader.condition(written) == condition_of(eval(code, dict(NAMES)))
