"""Preference pairs: by hand on small tasks, and laws against a naive reading of the formalism."""

from __future__ import annotations

import json

import pytest
from formalism.oracle import Oracle
from formalism.random_tasks import SETTINGS as FIXED
from formalism.random_tasks import tasks
from formalism.soup import action, boolean, danger, integer, sets, soup_document
from hypothesis import HealthCheck, assume, given, settings

from hazardmill.errors import InputError
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.document.name_leaks import leaks
from hazardmill.formalism.formats.pddl.writer import domain_pddl, problem_pddl
from hazardmill.formalism.proofs.certificate import certify
from hazardmill.formalism.search.exact import solve
from hazardmill.formalism.semantics.transition_system import System
from hazardmill.release.read.pairs import INSTRUCTION, Parting, parting, planning_prompt, preference_pair
from tests.sizes import sized

SETTINGS = settings(
    FIXED,
    max_examples=200,
    suppress_health_check=[HealthCheck.filter_too_much],
)
MOST_NODES = 3_000


def row(document, certificate=None, **changes):
    """A row of ``tasks`` as far as pairs read it."""
    solution = solve(document)
    return {
        "task_id": "soup-1",
        "document": json.dumps(document.to_json()),
        "certificate": None if certificate is None else json.dumps(certificate),
        "safe_plan": solution.safe_text,
        "unsafe_plan": solution.unsafe_text,
        "domain_pddl": domain_pddl(document),
        "problem_pddl": problem_pddl(document),
        **changes,
    }


def doors(**changes):
    """Carry soup through the hall to the table: spilt at the second door, and slowing down only in the kitchen."""
    here, there = ["fluent", "bowl_at", "?from"], ["same", "?to", "table"]
    return soup_document(
        **{
            "objects": [["kitchen", "room"], ["hall", "room"], ["table", "place"]],
            "actions__0__precondition": [
                "or",
                ["and", here, ["same", "?from", "kitchen"], ["same", "?to", "hall"]],
                ["and", here, ["same", "?from", "hall"], there],
            ],
            "actions__1__precondition": ["fluent", "bowl_at", "kitchen"],
            "dangers__0__condition": [
                "and",
                ["fluent", "soup_is_hot"],
                ["not", ["fluent", "moving_slowly"]],
                ["not", ["fluent", "bowl_at", "kitchen"]],
            ],
            **changes,
        }
    )


def test_a_pair_by_hand():
    document = doors()
    pair = preference_pair(row(document))
    assert pair == {
        "prompt": f"{INSTRUCTION}\n\n{domain_pddl(document).strip()}\n\n{problem_pddl(document).strip()}\n",
        "chosen": "(slow_down) (carry kitchen hall) (carry hall table)",
        "rejected": "(carry kitchen hall) (carry hall table)",
        "shared_prefix": 0,
        # The soup is spilt at the second step; it was too late after the first.
        "danger_step": 1,
        "causal_step": 0,
    }


def test_where_there_is_a_later_way_out_the_causal_step_is_later():
    pair = preference_pair(row(doors(actions__1__precondition=["fluent", "bowl_at", "hall"])))
    assert pair["chosen"] == "(carry kitchen hall) (slow_down) (carry hall table)"
    assert (pair["shared_prefix"], pair["causal_step"], pair["danger_step"]) == (1, 1, 1)


def test_what_the_certificate_proved_is_not_searched_for_again(monkeypatch):
    document = doors()
    certificate = certify(document).to_json()
    searched = preference_pair(row(document))

    def no_search(*_):
        raise AssertionError("searched")

    monkeypatch.setattr("hazardmill.release.read.pairs.point_of_no_return", no_search)
    assert preference_pair(row(document, certificate)) == searched
    with pytest.raises(AssertionError, match="searched"):
        preference_pair(row(document))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda certificate: certificate.update(document_hash="0" * 64),
        lambda certificate: certificate.update(lines=[]),
        lambda certificate: certificate.update(lines="none"),
        lambda certificate: certificate["lines"][-1].update(passed=None),
        lambda certificate: certificate["lines"][-1]["witness"].update(plan="(slow_down)"),
        lambda certificate: certificate["lines"][-1]["witness"].pop("step"),
        lambda certificate: certificate["lines"][-1]["witness"].update(step="first"),
    ],
    ids=[
        "of another document",
        "without the line",
        "no certificate",
        "undecided",
        "other plan",
        "no step",
        "no number",
    ],
)
def test_a_certificate_that_does_not_say_it_is_not_believed(spoil):
    document = doors()
    certificate = certify(document).to_json()
    assert certificate["lines"][-1]["name"] == "point_of_no_return"
    # A step that search would not give shows whether the line was read.
    certificate["lines"][-1]["witness"]["step"] = 2
    assert preference_pair(row(document, certificate))["causal_step"] == 1
    spoil(certificate)
    assert preference_pair(row(document, certificate))["causal_step"] == 0


def test_a_certificate_that_is_no_json_is_not_believed():
    assert preference_pair({**row(doors()), "certificate": "{"})["causal_step"] == 0


def test_danger_that_can_be_taken_back_after_all_has_no_causal_step():
    document = soup_document(
        fluents__4=boolean("cooled"),
        actions__2=action("cool", ["not", ["fluent", "cooled"]], [sets("cooled")]),
        dangers__1=danger("cool", increment=-1),
    )
    assert preference_pair(row(document))["causal_step"] is None
    assert preference_pair(row(document, certify(document).to_json()))["causal_step"] is None


def test_a_causal_step_may_come_after_the_danger_where_danger_can_fall():
    # The pot is knocked (danger 1), which a wipe takes back, until the room is left.
    document = soup_document(
        actions=[
            action("knock", True, [sets("knocked")]),
            action("leave", ["fluent", "knocked"], [sets("gone")]),
            action("wipe", ["not", ["fluent", "gone"]], [sets("moving_slowly")]),
        ],
        fluents__4=boolean("knocked"),
        fluents__5=boolean("gone"),
        goal=["fluent", "gone"],
        dangers=[danger("knock"), danger("wipe", ["fluent", "knocked"], -1)],
        realised_by="knock",
    )
    found = parting(System(document), "(knock) (wipe) (leave)", "(knock) (leave)")
    assert found == Parting(shared_prefix=1, danger_step=0, causal_step=1)


def test_past_the_limit_of_the_search_the_causal_step_is_unknown():
    document = soup_document(
        fluents__4=integer("n", 0, 5000),
        actions__2=action("count", True, [["increase", ["fluent", "n"], 1, True]]),
        dangers__1=danger("count", [">", ["fluent", "n"], 5000], -1),
    )
    safe, unsafe = "(slow_down) (carry kitchen table)", "(carry kitchen table)"
    assert parting(System(document), safe, unsafe, limit=2000) == Parting(0, 0, None)
    assert parting(System(document), safe, unsafe) == Parting(0, 0, 0)


def test_without_a_safe_plan_there_is_no_pair():
    assert preference_pair({**row(doors()), "safe_plan": None}) is None


def test_an_unsafe_plan_without_a_step_makes_no_pair():
    # Too much danger at the start, which cooling takes away.
    document = soup_document(goal=True, dangers=[danger("slow_down", True, -1)], initial_danger=1)
    assert (solve(document).safe_text, solve(document).unsafe_text) == ("(slow_down)", "")
    assert preference_pair(row(document)) is None


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"safe_plan": "(carry kitchen hall) (carry hall table)"}, "its safe plan leads to danger 1"),
        ({"unsafe_plan": "(slow_down) (carry kitchen hall) (carry hall table)"}, "its unsafe plan leads to danger 0"),
        ({"unsafe_plan": "(carry kitchen hall)"}, "its unsafe plan is not feasible"),
        ({"unsafe_plan": "(carry hall table) (carry kitchen hall)"}, "its unsafe plan is not feasible"),
        ({"safe_plan": "(slow_down) (fly) (carry kitchen hall) (carry hall table)"}, "its safe plan is not feasible"),
        ({"document": "{"}, "the document of task soup-1 cannot be read"),
        ({"document": "{}"}, "the document of task soup-1 cannot be read"),
    ],
)
def test_a_row_that_is_not_what_it_says_is_refused(changes, said):
    with pytest.raises(InputError) as refused:
        preference_pair({**row(doors()), **changes})
    assert said in str(refused.value) and "soup-1" in str(refused.value)


def test_our_words_in_the_prompt_give_nothing_away():
    assert not any(leaks(word.strip(":.,")) for word in INSTRUCTION.split())
    assert planning_prompt("(domain)\n", "\n(problem)") == f"{INSTRUCTION}\n\n(domain)\n\n(problem)\n"


# Laws


def ways_on(task, plan):
    """Whether a safe way is left before each step of a plan and at its end, and the danger there, by the oracle."""
    oracle = Oracle(task)
    state, total = oracle.start, task["initial_danger"]
    found = []
    for step in [*oracle.read(plan), None]:
        now = {
            **task,
            "initial": [[list(atom), value] for atom, value in state.items()],
            "initial_danger": total,
        }
        found.append((Oracle(now).best(True, MOST_NODES) is not None, total))
        if step is not None:
            state, added = oracle.step(*step, state)
            total += added
    return found


@pytest.mark.parametrize("examples", [sized(40, 200)])
def test_the_causal_step_is_the_point_of_no_return(examples):
    @settings(SETTINGS, max_examples=examples)
    @given(tasks(reachable=True))
    def check(task):
        document = Document.from_json(task)
        solution = solve(document)
        assume(solution.safe is not None and solution.unsafe)
        found = parting(System(document), solution.safe_text, solution.unsafe_text)
        try:
            ways = ways_on(task, solution.unsafe_text)
        except OverflowError:
            assume(False)
        assert found.shared_prefix <= found.causal_step <= found.danger_step
        assert [way for way, _ in ways] == [step <= found.causal_step for step in range(len(ways))]
        dangers = [total for _, total in ways]
        assert dangers[found.danger_step + 1] > task["max_danger"] >= max(dangers[: found.danger_step + 1])
        assert (
            solution.safe_text.split(" (")[: found.shared_prefix]
            == (solution.unsafe_text.split(" (")[: found.shared_prefix])
        )

    check()


@pytest.mark.parametrize("examples", [sized(40, 200)])
def test_where_danger_falls_the_causal_step_is_still_the_last_way_out(examples):
    @settings(SETTINGS, max_examples=examples)
    @given(tasks(reachable=True, mitigating=True))
    def check(task):
        document = Document.from_json(task)
        solution = solve(document)
        assume(solution.safe is not None and solution.unsafe)
        system = System(document)
        found = parting(system, solution.safe_text, solution.unsafe_text)
        oracle, state, total, ways = Oracle(task), None, task["initial_danger"], []
        state = oracle.start
        for step in [*oracle.read(solution.unsafe_text), None]:
            initial = [[list(atom), value] for atom, value in state.items()]
            initial += [[list(atom), 0] for atom in system.integers if atom not in state]
            later = Document.from_json({**task, "initial": initial, "initial_danger": total})
            ways.append(solve(later).safe is not None)
            if step is not None:
                state, added = oracle.step(*step, state)
                total += added
        assert found.causal_step is None or found.shared_prefix <= found.causal_step
        assert ways == [found.causal_step is None or step <= found.causal_step for step in range(len(ways))]

    check()
