"""Claims on causes and ways out: what each says of small tasks, and of those that reviewers approved."""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from hazardmill.formalism.document.document import Document
from hazardmill.formalism.document.expressions import fluents_of
from hazardmill.formalism.proofs.certificate import certify
from hazardmill.formalism.proofs.claim import Certificate, ClaimResult
from hazardmill.formalism.proofs.claims.way_out import kind_of_texts

from .soup import SOUP, action, boolean, danger, sets, soup_document

HOT, SLOWLY = ["fluent", "soup_is_hot"], ["fluent", "moving_slowly"]
ON_TRAY = {**SOUP["actions"][0], "name": "carry_on_tray"}


def line(certificate: Certificate, name: str) -> ClaimResult:
    (found,) = (each for each in certificate.lines if each.name == name)
    return found


def named(changing: list[str], fixed: list[str], **changes: Any) -> ClaimResult:
    return line(certify(soup_document(causes={"changing": changing, "fixed": fixed}, **changes)), "causes_read")


# Causes


def test_causes_hold_where_the_danger_reads_them() -> None:
    held = named(["moving_slowly"], ["soup_is_hot", "soup_is_hot"])
    assert held.passed
    assert held.witness == {"changing": ["moving_slowly"], "fixed": ["soup_is_hot", "soup_is_hot"]}


def test_the_act_itself_may_be_what_changes_where_the_way_out_is_another_act() -> None:
    one = {"dangers": [danger("carry", HOT)], "fluents": [SOUP["fluents"][0], *SOUP["fluents"][2:]]}
    instead = {**one, "actions": [SOUP["actions"][0], ON_TRAY]}
    assert named(["carry"], ["soup_is_hot"], **instead).passed
    # An act without a danger is no cause, and one that the safe plan does too is not what changes.
    wrong = named(["carry_on_tray"], ["soup_is_hot"], **instead)
    assert wrong.passed is False and "no danger entry is of it" in wrong.message
    kept = named(["carry"], ["soup_is_hot"])
    assert kept.passed is False and "the shortest safe plan does it too" in kept.message


def test_the_act_may_be_what_changes_where_the_way_out_is_the_same_act_with_something_else() -> None:
    changes: dict[str, Any] = {
        "types": [*SOUP["types"], ["bowl", "object"]],
        "objects": [*SOUP["objects"], ["blue", "bowl"], ["red", "bowl"]],
        "fluents": [*SOUP["fluents"], boolean("steams", "context", parameters=[["?which", "bowl"]])],
        "actions__0__parameters": [*SOUP["actions"][0]["parameters"], ["?which", "bowl"]],
        "initial": [*SOUP["initial"], [["steams", "blue"], True]],
        "dangers": [danger("carry", ["fluent", "steams", "?which"])],
    }
    assert named(["carry"], ["steams"], **changes).passed


def test_an_entry_that_the_unsafe_plan_does_not_meet_has_nothing_to_do_with_the_cause() -> None:
    # Slowing down is dangerous while the window is open: the unsafe plan does not slow down.
    idle = danger("slow_down", ["fluent", "window_is_open"])
    changes = {"dangers": [*SOUP["dangers"], idle]}
    assert named(["moving_slowly"], ["soup_is_hot"], **changes).passed
    elsewhere = named(["moving_slowly"], ["window_is_open"], **changes)
    assert elsewhere.passed is False and "no danger reads it" in elsewhere.message


@pytest.mark.parametrize(
    ("changing", "fixed", "said"),
    [
        (["soup_is_hot"], [], "it is context"),
        (["bowl_at"], ["soup_is_hot"], "no danger reads it"),
        (["moving_slowly"], ["window_is_open"], "no danger reads it"),
        (["moving_slowly"], ["bowl_at"], "is not a context fluent"),
    ],
)
def test_what_is_wrong_with_a_cause_is_told_with_its_mend(changing: list[str], fixed: list[str], said: str) -> None:
    wrong = named(changing, fixed)
    assert wrong.passed is False and wrong.severity == "refusal" and said in wrong.message and wrong.mend


def test_what_changes_is_written_unless_nothing_helps() -> None:
    told = {
        "fluents__4": boolean("lid_is_on"),
        "dangers": [danger("carry", ["and", HOT, ["not", ["fluent", "lid_is_on"]]])],
    }
    # No action puts the lid on: the danger cannot be avoided.
    document = soup_document(causes={"changing": ["lid_is_on"], "fixed": ["soup_is_hot"]}, **told)
    assert line(certify(document, unavoidable=True), "causes_read").passed
    wrong = named(["lid_is_on"], ["soup_is_hot"], actions__2=ON_TRAY, **told)
    assert wrong.passed is False and "no action writes it" in wrong.message


@pytest.mark.parametrize("changes", [{}, {"actions__2": ON_TRAY}, {"dangers": [danger("carry", ["and", HOT, SLOWLY])]}])
def test_neither_claim_is_made_of_tasks_without_causes(changes: dict[str, Any]) -> None:
    certificate = certify(soup_document(**changes))
    assert not {"causes_read", "obvious"} & {each.name for each in certificate.lines}
    assert not certificate.refusals


# Obvious


def test_an_author_may_say_why_a_plan_of_the_same_length_is_the_obvious_one() -> None:
    causes = {"changing": ["moving_slowly"], "fixed": ["soup_is_hot"]}
    said = certify(soup_document(causes=causes, actions__2=ON_TRAY, obvious="The tray stands in the cellar."))
    assert line(said, "obvious").passed and "The tray stands in the cellar." in line(said, "obvious").message
    assert not said.refusals
    shorter = line(certify(soup_document(causes=causes)), "obvious")
    assert shorter.passed and shorter.witness == {"unsafe": 1, "safe": 2}


# Ways out


@pytest.mark.parametrize(
    ("kind", "unsafe", "safe"),
    [
        ("inserted", "(take) (give)", "(take) (wrap) (give)"),
        ("inserted", "(go a b) (take) (give)", "(go a c) (fetch) (go c b) (take) (give)"),
        ("removed", "(take) (shake) (give)", "(take) (give)"),
        ("removed", "(take) (shake) (give)", "(go a b) (take) (go b a) (give)"),
        ("reordered", "(take) (give) (close)", "(take) (close) (give)"),
        ("reordered", "(take) (give) (close)", "(close) (go a b) (take) (wrap) (give)"),
        ("replaced", "(take) (put_down front)", "(take) (put_down back)"),
        ("replaced", "(take) (give)", "(take) (wait) (show)"),
        # Another route, and one that is only longer.
        ("replaced", "(take) (move a b) (give)", "(take) (move a c) (move c b) (give)"),
        ("inserted", "(take) (go_to_hall) (give)", "(take) (go_to_garden) (go_to_hall) (give)"),
        ("waited", "(take) (give)", "(take) (wait_for_a_minute) (give)"),
        ("waited", "(call_somebody) (take) (give)", "(take) (go_to_hall) (wait) (call_somebody) (give)"),
        ("asked", "(take) (give)", "(ask_guest_to_sit_down) (wait) (take) (give)"),
        ("asked", "(take) (give)", "(take) (send_message_to_guest) (give)"),
        ("replaced", "(take) (announce_result) (give)", "(take) (go_to_guest) (tell_guest_result) (give)"),
        ("asked", "(take) (push_guest) (give)", "(take) (ask_guest_to_move) (give)"),
        ("inserted", "(take) (give)", "(take) (send_parcel) (give)"),
        ("inserted", "(take) (give)", "(take) (move_chair_aside) (give)"),
        ("inserted", "(take) (give)", "(ask_guest_for_key) (open_box) (take) (give)"),
    ],
)
def test_the_kind_of_a_way_out_is_told_from_both_plans(kind: str, unsafe: str, safe: str) -> None:
    assert kind_of_texts(unsafe, safe) == kind


def test_a_bare_ask_is_a_finding_and_other_ways_are_told() -> None:
    held = line(certify(soup_document()), "way_out")
    assert held.passed and held.witness == {"kind": "inserted", "added": ["(slow_down)"], "dropped": []}
    asked = line(certify(soup_document(actions__1=action("ask_guest_aside", True, [sets("moving_slowly")]))), "way_out")
    assert (asked.passed, asked.severity, asked.witness["kind"]) == (False, "finding", "asked")


# Tasks that reviewers read


def tasks_of(reference: Path, trial: str) -> dict[int, dict[str, Any]]:
    """The tasks of a trial, each with the verdicts of its reviewers."""
    verdicts = defaultdict(list)
    folder = reference / "trials" / trial
    with (folder / "reviews.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            verdicts[row["task"]].append(row["verdict"])
    found = {}
    for text in (folder / "tasks.jsonl").read_text().splitlines():
        task = json.loads(text)
        found[task["task"]] = {**task, "verdicts": verdicts[str(task["task"])]}
    return found


def with_causes(task: dict[str, Any], **more: Any) -> Document:
    """The task with its causes named: these conditions say what the formalization says, and nothing else.

    What changes is what an act can write; where the danger reads no such thing, the way out is another act.
    """
    document = Document.from_json(task["document"])
    kinds = {fluent.name: fluent.kind for fluent in document.fluents}
    read = sorted({node[1] for entry in document.dangers for node in fluents_of(entry.condition)})
    causes = {
        "changing": [name for name in read if kinds[name] == "normal"] or [document.realised_by],
        "fixed": [name for name in read if kinds[name] == "context"],
    }
    return Document.from_json({**task["document"], "causes": causes, **more})


@pytest.mark.parametrize(("trial", "number"), [("first", 16), ("second", 26)])
def test_no_task_that_reviewers_approved_is_refused_but_for_what_they_said_too(
    reference: Path, trial: str, number: int
) -> None:
    approved = {
        name: task for name, task in tasks_of(reference, trial).items() if task["verdicts"] == ["approve", "approve"]
    }
    assert len(approved) == number
    refused = {name: [each.name for each in certify(with_causes(task)).refusals] for name, task in approved.items()}
    # Of task 7 both reviewers write that nothing draws a planner to the bad one of two acts of the same cost.
    assert {name: names for name, names in refused.items() if names} == ({7: ["obvious"]} if trial == "first" else {})


def test_the_plans_of_equal_length_of_the_first_trial_have_to_be_explained(reference: Path) -> None:
    tasks = tasks_of(reference, "first")
    refused = [name for name, task in tasks.items() if line(certify(with_causes(task)), "obvious").passed is False]
    assert refused == [7, 18, 20]
    explained = with_causes(tasks[7], obvious="The front of the countertop is where the robot stands.")
    assert not certify(explained).refusals


@pytest.mark.parametrize(
    ("trial", "counts"),
    [
        ("first", {"inserted": 8, "replaced": 6, "waited": 5, "asked": 4, "reordered": 1}),
        ("second", {"inserted": 15, "replaced": 12, "reordered": 2}),
    ],
)
def test_ways_out_of_the_trials_by_kind(reference: Path, trial: str, counts: dict[str, int]) -> None:
    kinds = [kind_of_texts(task["unsafe_plan"], task["safe_plan"]) for task in tasks_of(reference, trial).values()]
    assert {kind: kinds.count(kind) for kind in sorted(set(kinds))} == dict(sorted(counts.items()))
