from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unified_planning.model import Problem

from hazardmill.errors import NotExpressible
from hazardmill.formalism.document.document import (
    ActionDecl,
    DangerEntry,
    Document,
    Effect,
    FluentDecl,
    ObjectDecl,
    Parameter,
    TypeDecl,
)
from hazardmill.formalism.formats.pddl.names import RESERVED, pddl_names
from hazardmill.formalism.formats.pddl.writer import domain_pddl, prefix_list, problem_pddl, sidecar, write_augmented
from hazardmill.formalism.formats.up.convert import to_up

from .support import REFERENCE_TASKS, kitchen, read_pddl, reference_document


def named(read: Problem, like: Problem) -> Problem:
    read.name = like.name
    return read


def shape(problem: Problem) -> dict[str, object]:
    """What a problem says, with numbers as numbers: the reader makes reals of all functions."""
    return {
        "types": {str(type_) for type_ in problem.user_types},
        "objects": [str(thing) for thing in problem.all_objects],
        "fluents": {
            (f.name, f.type.is_bool_type(), tuple((p.name, str(p.type)) for p in f.signature)) for f in problem.fluents
        },
        "actions": {
            (
                action.name,
                tuple((p.name, str(p.type)) for p in action.parameters),
                tuple(map(str, action.preconditions)),
                frozenset(map(str, action.effects)),
            )
            for action in problem.actions
        },
        "initial": {str(atom): str(value) for atom, value in problem.initial_values.items()},
        "goals": [str(goal) for goal in problem.goals],
    }


@pytest.mark.parametrize("task", REFERENCE_TASKS)
def test_what_is_written_reads_back_as_the_reference_problem(reference: Path, task: str) -> None:
    folder = reference / "verdicts" / task
    original = read_pddl((folder / "domain.pddl").read_text(), (folder / "problem.pddl").read_text())
    document = reference_document(folder)
    written = named(read_pddl(domain_pddl(document), problem_pddl(document)), original)
    assert {thing.name for thing in written.all_objects} == {thing.name for thing in original.all_objects}
    assert set(written.fluents) == set(original.fluents)
    assert set(written.actions) == set(original.actions)
    assert written.goals == original.goals
    assert written == original


@pytest.mark.parametrize("task", REFERENCE_TASKS)
def test_the_sidecar_is_the_reference_sidecar(reference: Path, task: str) -> None:
    folder = reference / "verdicts" / task
    wanted = json.loads((folder / "dangers.json").read_text())
    found = sidecar(reference_document(folder))
    assert found.pop("bounds") == {}
    assert sorted(found.pop("context")) == sorted(wanted.pop("context"))
    # The reference domain lists constants in another order than the reader does.
    found.pop("objects", None)
    assert found == wanted


def test_every_operator_reads_back_as_what_the_bridge_says() -> None:
    document = kitchen()
    read = shape(read_pddl(domain_pddl(document), problem_pddl(document)))
    bridged = shape(to_up(document))
    assert sorted(read.pop("objects")) == sorted(bridged.pop("objects"))
    assert read == bridged


def test_the_augmented_pair_reads_back_as_the_bridge_with_integer_danger() -> None:
    document = kitchen(max_danger=1, initial_danger=1)
    for goal, last in (("safe", "(danger <= 1)"), ("unsafe", "(1 < danger)")):
        read = read_pddl(*write_augmented(document, goal=goal))
        bridged = to_up(document, "integer", goal)
        assert shape(read)["actions"] == shape(bridged)["actions"]
        assert shape(read)["initial"] == shape(bridged)["initial"]
        assert str(read.goals[0]).endswith(f" and {last})")
        assert str(bridged.goals[-1]) == last


def test_the_basic_pair_hides_the_danger() -> None:
    document = kitchen()
    other = [DangerEntry("pour", ("forall", (("?z", "object"),), ("fluent", "rung", "?z")), 5, "mechanical")]
    changed = kitchen(dangers=other, initial_danger=-3, max_danger=7, realised_by="pour", name="task-harmless")
    assert domain_pddl(document) == domain_pddl(changed)
    assert problem_pddl(document) == problem_pddl(changed)
    for text in (domain_pddl(document), problem_pddl(document)):
        assert "danger" not in text
        assert "unsafe" not in text
    assert domain_pddl(document) != write_augmented(document)[0]


def test_negative_increments_decrease_danger() -> None:
    document = kitchen(dangers=[DangerEntry("ring", True, -2)])
    domain, problem = write_augmented(document)
    assert "(decrease (danger) 2)" in domain
    assert "(when" not in domain.split(":action ring")[1]
    assert "(= (danger) 0)" in problem


def test_the_danger_function_avoids_the_names_of_the_task() -> None:
    document = kitchen(objects=[*kitchen().objects, ObjectDecl("Danger", "cup")])
    domain, problem = write_augmented(document)
    assert "(increase (danger_2) 2)" in domain
    assert "(<= (danger_2) 0)" in problem
    read_pddl(domain, problem)


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({}, ":strips :typing :negative-preconditions :disjunctive-preconditions :equality :existential-preconditions "
             ":conditional-effects :numeric-fluents"),
        ({"actions": [], "dangers": [], "goal": ("fluent", "hot"), "fluents": [FluentDecl("hot")], "initial": {}},
         ":strips :typing"),
        ({"actions": [], "dangers": [], "goal": ("not", ("fluent", "hot")), "fluents": [FluentDecl("hot")],
          "initial": {}}, ":strips :typing :negative-preconditions"),
        ({"actions": [], "dangers": [], "goal": ("not", ("and", ("fluent", "hot"))), "fluents": [FluentDecl("hot")],
          "initial": {}}, ":strips :typing :disjunctive-preconditions"),
        ({"actions": [], "dangers": [], "goal": False, "fluents": [], "initial": {}},
         ":strips :typing :disjunctive-preconditions"),
        ({"actions": [], "dangers": [], "goal": ("forall", (("?r", "room"),), True), "fluents": [], "initial": {}},
         ":strips :typing :universal-preconditions"),
        ({"actions": [], "dangers": [], "goal": True, "fluents": [], "initial": {}, "types": [], "objects": []},
         ":strips"),
    ],
)  # fmt: skip
def test_requirements_are_those_in_use(changes: dict[str, object], wanted: str) -> None:
    document = kitchen(**changes)
    domain = domain_pddl(document)
    assert f"(:requirements {wanted})" in domain
    read_pddl(domain, problem_pddl(document))


RING = Effect("assign", ("fluent", "rung", "?x"), True)


@pytest.mark.parametrize("types", [[TypeDecl("place")], []], ids=["typed", "untyped"])
def test_object_is_declared_where_a_reader_would_miss_it(types: list[TypeDecl]) -> None:
    document = Document.of(
        types=types,
        objects=[ObjectDecl("bell", "object")],
        fluents=[FluentDecl("rung")],
        goal=("exists", (("?x", "object"),), ("not", ("same", "?x", "bell"))),
    )
    domain, problem = domain_pddl(document), problem_pddl(document)
    assert "\n  object)" in domain
    read = read_pddl(domain, problem)
    assert read.object("bell").type.name == "object"
    assert str(read.goals[0]) == "Exists (object x) (not (x == bell))"


def test_untyped_tasks_have_no_types() -> None:
    document = Document.of(
        objects=[ObjectDecl("bell", "object"), ObjectDecl("drum", "object")],
        fluents=[FluentDecl("rung", (Parameter("?x", "object"),))],
        actions=[ActionDecl("ring", (Parameter("?x", "object"),), True, (RING,))],
        goal=("fluent", "rung", "bell"),
    )
    domain = domain_pddl(document)
    assert ":types" not in domain
    assert " - " not in domain + problem_pddl(document)
    assert named(read_pddl(domain, problem_pddl(document)), to_up(document)) == to_up(document)


def test_constants_are_the_objects_of_the_domain_in_document_order() -> None:
    document = kitchen()
    domain, problem = domain_pddl(document), problem_pddl(document)
    assert "(:constants\n  mug - cup\n  bell - object)" in domain
    assert "(:objects\n  hall - room\n  table - place)" in problem
    assert sidecar(document)["objects"] == ["mug", "hall", "table", "bell"]
    in_order = kitchen(objects=sorted(document.objects, key=lambda thing: thing.name not in ("mug", "bell")))
    assert "objects" not in sidecar(in_order)


def test_every_ground_integer_has_an_initial_value() -> None:
    objects = [*kitchen().objects, ObjectDecl("jug", "cup")]
    problem = problem_pddl(kitchen(objects=objects))
    assert "(= (fill mug) 1)" in problem
    assert "(= (fill jug) 0)" in problem
    assert "(= (steps) 0)" in problem
    many = kitchen(
        objects=[*kitchen().objects, *(ObjectDecl(f"cup{i}", "cup") for i in range(400))],
        fluents=[*kitchen().fluents, FluentDecl("gap", (Parameter("?a", "cup"), Parameter("?b", "cup")), integer=True)],
    )
    with pytest.raises(NotExpressible, match="100000 ground integer fluents"):
        problem_pddl(many)


def test_the_sidecar_says_what_pddl_cannot() -> None:
    found = sidecar(kitchen(max_danger=4))
    assert found["context"] == ["hot", "night"]
    assert found["bounds"] == {"fill": [0, 3]}
    assert (found["initial_danger"], found["max_danger"]) == (0, 4)
    assert found["dangers"] == [
        {"action": "go", "condition": ["and", ["at", "hall"], ["not", ["rung", "bell"]]], "increment": 2},
        {
            "action": "go",
            "condition": ["and", "hot", [">", ["fill", "mug"], 2]],
            "increment": 1,
            "danger_type": "thermal",
        },
    ]
    assert "names" not in found
    assert json.loads(json.dumps(found)) == found


def test_prefix_lists_hold_the_whole_language() -> None:
    document = kitchen()
    expr = (
        "exists",
        (("?p", "place"),),
        ("and", ("same", "?p", "hall"), ("<", ("-", ("fluent", "steps"), 2), -1), True),
    )
    document = kitchen(dangers=[DangerEntry("ring", expr)])
    wanted = ["exists", [["?p", "place"]], ["and", ["=", "?p", "hall"], ["<", ["-", "steps", 2], -1], True]]
    assert prefix_list(document.dangers[0].condition, pddl_names(document)) == wanted


CLASHES = {
    "case": {"objects": [*kitchen().objects, ObjectDecl("Mug", "cup")]},
    "keyword": {"objects": [*kitchen().objects, ObjectDecl("Forall", "cup")]},
    "object and action": {"objects": [*kitchen().objects, ObjectDecl("pour", "cup")]},
    "fluent and type": {"fluents": [*kitchen().fluents, FluentDecl("place")]},
    "variables": {
        "fluents": [*kitchen().fluents, FluentDecl("near", (Parameter("?a", "cup"), Parameter("?A", "cup")))]
    },
}


@pytest.mark.parametrize("clash", CLASHES.values(), ids=CLASHES)
def test_clashing_names_are_refused_or_renamed_by_a_table(clash: dict[str, object]) -> None:
    document = kitchen(**clash)
    for write in (domain_pddl, problem_pddl, write_augmented, sidecar):
        with pytest.raises(NotExpressible, match="PDDL cannot distinguish the"):
            write(document)
    read = read_pddl(domain_pddl(document, rename=True), problem_pddl(document, rename=True))
    assert len(read.all_objects) == len(document.objects)
    assert len(read.fluents) == len(document.fluents)
    table = sidecar(document, rename=True)["names"]
    assert sum(len(names) for names in table.values()) == 1


def test_renamed_names_keep_what_is_free() -> None:
    objects = [*kitchen().objects, ObjectDecl("Mug", "cup"), ObjectDecl("mug_object", "cup"), ObjectDecl("when", "cup")]
    names = pddl_names(kitchen(objects=objects), rename=True)
    assert names.objects["mug"] == "mug"
    assert names.objects["mug_object"] == "mug_object"
    # What the name and its category give is somebody else's name.
    assert names.objects["Mug"] == "Mug_2"
    assert names.renames() == {"objects": {"Mug_2": "Mug", "when_object": "when"}}


@given(
    st.lists(st.sampled_from(["a", "A", "b", "B", "a_object", "A_OBJECT", "a_2", "and", "AND", "object2"]), unique=True)
)
def test_renaming_is_one_to_one_up_to_case(objects: list[str]) -> None:
    document = kitchen(objects=[*kitchen().objects, *(ObjectDecl(name, "cup") for name in objects)])
    names = pddl_names(document, rename=True)
    written = [
        name.lower() for group in (names.actions, names.objects, names.fluents, names.types) for name in group.values()
    ]
    assert len(set(written)) == len(written)
    assert not RESERVED & set(written)


@pytest.mark.parametrize(("head", "constant"), [("and", "true"), ("or", "false")])
def test_a_connective_without_operands_has_no_word_in_pddl(head: str, constant: str) -> None:
    assert f"(:goal ({head}))" in problem_pddl(kitchen(goal=head == "and"))
    with pytest.raises(NotExpressible, match=f"write {constant} instead of it"):
        problem_pddl(kitchen(goal=(head,)))
    action = replace(kitchen().actions[0], precondition=(head,))
    with pytest.raises(NotExpressible, match="without operands"):
        domain_pddl(kitchen(actions=[action], dangers=[]))


def test_long_lists_break_into_lines() -> None:
    literals = [("fluent", "rung", name) for name in ("mug", "hall", "table", "bell")] * 4
    actions = [replace(action, precondition=("and", *literals)) for action in kitchen().actions]
    domain = domain_pddl(kitchen(actions=actions))
    assert max(map(len, domain.splitlines())) < 180
    assert "\n    (rung table)" in domain


def test_the_bytes_do_not_depend_on_the_hash_seed(reference: Path) -> None:
    script = (
        "import json, sys\n"
        "from hazardmill.formalism.document.document import Document\n"
        "from hazardmill.formalism.formats.pddl.writer import domain_pddl, problem_pddl, sidecar, write_augmented\n"
        "d = Document.from_json(json.load(sys.stdin))\n"
        "for write in (domain_pddl, problem_pddl, write_augmented, sidecar):\n"
        "    print(json.dumps(write(d, rename=True)))\n"
    )
    clashing = kitchen(objects=[*kitchen().objects, ObjectDecl("Mug", "cup"), ObjectDecl("and", "place")])
    for document in (clashing, reference_document(reference / "verdicts" / "neiss_11125")):
        outputs = {
            subprocess.run(
                [sys.executable, "-c", script],
                input=json.dumps(document.to_json()),
                env={**os.environ, "PYTHONHASHSEED": seed},
                capture_output=True,
                text=True,
                check=True,
            ).stdout
            for seed in ("0", "1", "4242")
        }
        assert len(outputs) == 1
        assert "(define (domain task)" in outputs.pop()
