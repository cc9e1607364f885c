"""Conjunctions and disjunctions that are folded mean what they mean unfolded."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from hazardmill.formalism.document.expressions import Expr, all_of, any_of, none_of

NAMES = ("a", "b", "c")
LITERALS = st.sampled_from([*(("fluent", name) for name in NAMES), True, False]).flatmap(
    lambda atom: st.sampled_from([atom, ("not", atom) if isinstance(atom, tuple) else atom])
)
JUNCTIONS = st.recursive(
    LITERALS,
    lambda parts: st.one_of(
        st.lists(parts, max_size=3).map(all_of),
        st.lists(parts, max_size=3).map(any_of),
        parts.map(lambda p: none_of([p])),
    ),
    max_leaves=8,
)


def holds(expr: Expr, values: dict[str, bool]) -> bool:
    if isinstance(expr, bool):
        return expr
    match expr[0]:
        case "fluent":
            return values[expr[1]]
        case "not":
            return not holds(expr[1], values)
        case "and":
            return all(holds(part, values) for part in expr[1:])
    return any(holds(part, values) for part in expr[1:])


@given(st.lists(JUNCTIONS, max_size=4))
def test_folding_changes_no_meaning(parts: list[Expr]) -> None:
    for truths in itertools.product((False, True), repeat=len(NAMES)):
        values = dict(zip(NAMES, truths, strict=True))
        found = [holds(part, values) for part in parts]
        assert holds(all_of(parts), values) == all(found)
        assert holds(any_of(parts), values) == any(found)
        assert holds(none_of(parts), values) == (not any(found))


def test_what_another_part_decides_is_folded_away() -> None:
    a, b, c = (("fluent", name) for name in NAMES)
    assert all_of([a, ("not", a)]) is False
    assert any_of([a, b, ("not", a)]) is True
    assert all_of([a, ("or", a, b)]) == a
    assert all_of([a, ("or", ("not", a), b), c]) == ("and", a, b, c)
    assert all_of([]) is True and any_of([]) is False
