from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hazardmill.formalism.document.document import Document
from hazardmill.formalism.document.plan_text import PlanReader, parse_plan, plan_text
from hazardmill.formalism.semantics.transition_system import System

from .soup import action, soup


@pytest.mark.parametrize(
    ("text", "actions"),
    [
        ("", []),
        ("no brackets at all", []),
        ("()", []),
        ("( ; )", []),
        ("(a)", ["a"]),
        ("(a)(b)", ["a", "b"]),
        ("1. (go x) 2. (go y), done", ["go x", "go y"]),
        ("(a);(b)", ["a", "b"]),
        ("(a ; not a comment)", ["a not a comment"]),
        ("; (a)", ["a"]),
        ("(go;x)", ["go x"]),
        ("(\tgo\n  x )", ["go x"]),
        ("((a))", ["a"]),
        ("((a) (b x))", ["a", "b x"]),
        ("(first (go x) then)", ["go x"]),
        ("(a (b", []),
        ("(a (b)", ["b"]),
        ("a) (b)", ["b"]),
        ("(a))(b", ["a"]),
        (")(", []),
        ("(go\u00a0x)", ["go x"]),
        ("(go-to x_1)", ["go-to x_1"]),
        ("[(a), (b)]", ["a", "b"]),
    ],
)
def test_innermost_brackets(text, actions):
    assert [" ".join(tokens) for tokens in parse_plan(text)] == actions


def reader():
    objects = [["kitchen", "room"], ["Table", "place"], ["table", "place"], ["top-shelf", "place"]]
    actions = [action("carry", parameters=[["?from", "room"], ["?to", "place"]]), action("GoHome"), action("gohome_")]
    task = soup(objects=objects, actions=actions, initial=[], goal=True, dangers=[], realised_by=None)
    return PlanReader(System(Document.from_json(task)))


@pytest.mark.parametrize(
    ("spelled", "grounded"),
    [
        ("(carry kitchen table)", "(carry kitchen table)"),
        ("(CARRY Kitchen table)", "(carry kitchen table)"),
        ("(carry kitchen Table)", "(carry kitchen Table)"),
        # Neither spelling is exact, and two names are like it.
        ("(carry kitchen TABLE)", None),
        ("(gohome)", "(GoHome)"),
        ("(GOHOME_)", "(gohome_)"),
        ("(carry kitchen top_shelf)", None),
        ("(carry kitchen TOP-SHELF)", "(carry kitchen top-shelf)"),
        # A Kelvin sign and a long s fold to k and s, and are other letters.
        ("(carry \u212aitchen table)", None),
        ("(carry kitchen top-\u017fhelf)", None),
        ("(carry kit\u0441hen table)", None),
        ("(carry kitchen\u200b table)", None),
        ("(carry table kitchen)", None),
        ("(carry kitchen)", None),
        ("(carry kitchen table table)", None),
        ("(carry ?from ?to)", None),
    ],
)
def test_names_match_exactly_or_uniquely_up_to_case(spelled, grounded):
    ((_, found),) = reader().read(spelled)
    assert (found if found is None else str(found)) == grounded


@given(st.text(alphabet="()ab;; \n?-_é\u00a0"))
def test_any_text_is_a_plan_and_reading_is_stable(text):
    actions = parse_plan(text)
    assert all(tokens and all(tokens) for tokens in actions)
    assert parse_plan(" ".join("(" + " ".join(tokens) + ")" for tokens in actions)) == actions


def test_plan_text_reads_back():
    read = reader()
    steps = [action for _, action in read.read("(CARRY kitchen table) (gohome)")]
    assert plan_text(steps) == "(carry kitchen table) (GoHome)"
    assert [action for _, action in read.read(plan_text(steps))] == steps
