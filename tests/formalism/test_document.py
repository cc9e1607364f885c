from __future__ import annotations

import copy
import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hazardmill.errors import DocumentError
from hazardmill.formalism.document import document as document_module
from hazardmill.formalism.document.document import ActionDecl, DangerEntry, Document, Effect, FluentDecl

from .random_tasks import tasks
from .soup import SOUP, boolean, danger, soup_document

# Round trip, canonical order, hash


@settings(max_examples=40)
@given(tasks(finite=False))
def test_json_round_trip(task):
    document = Document.from_json(task)
    again = Document.from_json(json.loads(json.dumps(document.to_json())))
    assert again == document
    assert again.to_json() == document.to_json()
    assert again.hash == document.hash


@settings(max_examples=40)
@given(tasks(finite=False), st.randoms(use_true_random=False))
def test_permitted_reordering_changes_nothing(task, chance: random.Random):
    shuffled = copy.deepcopy(task)
    for part in ("types", "fluents", "actions", "initial", "dangers"):
        chance.shuffle(shuffled[part])
    for action in shuffled["actions"]:
        chance.shuffle(action["effects"])
    document, other = Document.from_json(task), Document.from_json(shuffled)
    assert other == document
    assert other.hash == document.hash


def operands_of(task):
    """Every list of two or more different operands of a connective, in place."""
    found = []

    def visit(node):
        if isinstance(node, list) and node and node[0] in ("and", "or", "imply"):
            found.append(node)
        for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
            visit(child)

    for part in ("actions", "goal", "dangers"):
        visit(task[part])
    return [node for node in found if len(node) > 2 and node[1] != node[-1]]


@settings(max_examples=40)
@given(tasks(), st.integers(0, 1_000))
def test_order_of_operands_and_of_objects_is_meant(task, place):
    hash_ = Document.from_json(task).hash
    if len(task["objects"]) > 1:
        other = {**task, "objects": task["objects"][::-1]}
        assert Document.from_json(other).hash != hash_
    other = copy.deepcopy(task)
    operands = operands_of(other)
    if operands:
        node = operands[place % len(operands)]
        node[1], node[-1] = node[-1], node[1]
        assert Document.from_json(other).hash != hash_


def test_canonical_order_is_by_name():
    document = soup_document(
        types=[["room", "place"], ["place", "object"], ["item", "object"], ["item-2", "object"]],
        initial=[[["window_is_open"], True], [["bowl_at", "kitchen"], True], [["moving_slowly"], False]],
    )
    assert [declared.name for declared in document.types] == ["item", "item-2", "place", "room"]
    assert document.initial == ((("bowl_at", "kitchen"), True), (("window_is_open",), True))


def test_hash_covers_the_formal_parts_only():
    plain = soup_document()
    assert (
        soup_document(name="other", realised_by="slow_down", texts={"title": "t"}, provenance={"a": 1}).hash
        == plain.hash
    )
    for changed in (
        soup_document(max_danger=1),
        soup_document(initial_danger=1),
        soup_document(dangers__0__increment=2),
        soup_document(dangers__0__danger_type=None),
        soup_document(types__2=["unused", "object"]),
        soup_document(goal=["and", ["fluent", "bowl_at", "table"]]),
        soup_document(fluents__1=boolean("moving_slowly", kind="context"), actions__1__effects=[]),
    ):
        assert changed.hash != plain.hash


def test_hash_is_pinned():
    # A change here changes the ids of every stored task: it needs a new format version.
    assert soup_document().hash == "4e10afbf169e54e2e54964d4690717e58a830197810b31e74c1163936f1d754a"


def test_of_checks_as_from_json_does():
    with pytest.raises(DocumentError, match="fluent 'hot' is not declared"):
        Document.of(actions=[ActionDecl("stir")], goal=True, dangers=[DangerEntry("stir", ("fluent", "hot"))])
    document = Document.of(
        fluents=[FluentDecl("done")],
        actions=[ActionDecl("stir", effects=(Effect("assign", ("fluent", "done"), True),))],
        initial={("done",): False},
        goal=("fluent", "done"),
    )
    assert document.initial == ()


def test_danger_entries_and_effects_may_repeat():
    document = soup_document(dangers=[danger("carry"), danger("carry")])
    assert len(document.dangers) == 2
    assert SOUP["format"] == document_module.FORMAT
