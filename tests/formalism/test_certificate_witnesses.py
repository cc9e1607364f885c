"""What the lines of a certificate show for what they say."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from hazardmill import formalism
from hazardmill.errors import SearchLimitReached
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.proofs.certificate import certify
from hazardmill.formalism.proofs.claim import Certificate, describe_witness
from hazardmill.formalism.proofs.claims.context import flip
from hazardmill.formalism.search.exact import solve
from hazardmill.formalism.semantics.plan_validator import PlanValidator
from hazardmill.formalism.semantics.transition_system import System
from tests.sizes import sized

from .random_tasks import tasks
from .soup import action, boolean, danger, integer, sets, soup, soup_document

HOT, SLOWLY, WINDOW = ["fluent", "soup_is_hot"], ["fluent", "moving_slowly"], ["fluent", "window_is_open"]

SETTINGS = settings(
    max_examples=150,
    suppress_health_check=[HealthCheck.filter_too_much],
)


def witness(certificate: Certificate, name: str) -> dict:
    (found,) = (line for line in certificate.lines if line.name == name)
    return found.witness


def line(certificate: Certificate, name: str):
    (found,) = (line for line in certificate.lines if line.name == name)
    return found


SCHEMA = jsonschema.Draft202012Validator(
    json.loads(Path(formalism.__file__).with_name("proofs").joinpath("certificate.schema.json").read_text())
)


def refuting(certificate: Certificate) -> dict[str, dict]:
    return {each.name: each.witness for each in certificate.lines if each.passed is False}


# Plans


def test_where_the_danger_comes_in():
    shown = witness(certify(soup_document()), "danger_reachable")
    assert shown == {
        "plan": "(carry kitchen table)",
        "danger": 1,
        "step": 1,
        "action": "(carry kitchen table)",
        "literals": ["(soup_is_hot)", "(not (moving_slowly))"],
        "state": ["(bowl_at kitchen)", "(soup_is_hot)", "(window_is_open)"],
    }


def test_danger_that_no_step_adds_has_no_step():
    shown = witness(certify(soup_document(initial_danger=1, dangers=[])), "danger_reachable")
    assert shown == {"plan": "(carry kitchen table)", "danger": 1}


def test_the_step_shown_for_realised_by_is_one_of_the_action_named():
    # Opening the window comes first and adds danger too.
    opened = soup_document(
        realised_by="carry",
        initial=[[["bowl_at", "kitchen"], True], [["soup_is_hot"], True]],
        fluents__4=boolean("door_is_open"),
        actions__0__precondition=["and", ["fluent", "bowl_at", "?from"], ["fluent", "door_is_open"]],
        actions__2=action("open_door", True, [sets("door_is_open")]),
        dangers__1=danger("open_door", HOT),
    )
    certificate = certify(opened)
    assert witness(certificate, "danger_reachable")["action"] == "(open_door)"
    shown = witness(certificate, "realised_by")
    assert (shown["step"], shown["action"]) == (2, "(carry kitchen table)")
    assert shown["literals"] == ["(soup_is_hot)", "(not (moving_slowly))"] and "(door_is_open)" in shown["state"]


def test_an_action_that_only_takes_danger_away_does_not_realise_it():
    # To serve is the only way to the goal, and takes away one of the two that carrying adds.
    served = soup_document(
        fluents__4=boolean("served"),
        actions__2=action("serve", ["fluent", "bowl_at", "table"], [sets("served")]),
        goal=["fluent", "served"],
        dangers__0__increment=2,
        dangers__1=danger("serve", HOT, -1),
        realised_by="serve",
    )
    certificate = certify(served)
    assert certificate.solution.unsafe_text == "(carry kitchen table) (serve)"
    shown = line(certificate, "realised_by")
    assert shown.passed is False and shown.witness["fired"] == ["carry"]
    assert "on the shortest unsafe plan the danger comes from carry" in shown.message
    # Both fire for it: only what adds danger is shown.
    both = {**served.to_json(), "dangers": [*served.to_json()["dangers"], danger("serve", WINDOW, 1)]}
    shown = line(certify(Document.from_json(both)), "realised_by")
    assert shown.passed and (shown.witness["step"], shown.witness["literals"]) == (2, ["(window_is_open)"])


def test_an_absence_comes_with_the_states_searched():
    for task, name in (
        (soup(goal=["and", ["fluent", "bowl_at", "kitchen"], ["fluent", "bowl_at", "table"]]), "goal_reachable"),
        (soup(initial=[[["bowl_at", "kitchen"], True]]), "danger_reachable"),
        (soup(dangers=[danger("carry", HOT)]), "safe_plan_exists"),
    ):
        certificate = certify(Document.from_json(task))
        assert refuting(certificate)[name]["expanded"] == certificate.solution.expanded > 0


# The point of no return


def corridor(**changes):
    """Carry soup through two doors; the danger is at the second, and slowing down is possible before the first only."""
    return soup_document(
        **{
            "objects": [["kitchen", "room"], ["hall", "room"], ["table", "place"]],
            "fluents__1": boolean("moving_slowly"),
            "actions__0__precondition": [
                "or",
                ["and", ["fluent", "bowl_at", "?from"], ["same", "?from", "kitchen"], ["same", "?to", "hall"]],
                ["and", ["fluent", "bowl_at", "?from"], ["same", "?from", "hall"], ["same", "?to", "table"]],
            ],
            "actions__1__precondition": ["fluent", "bowl_at", "kitchen"],
            "dangers": [
                danger("carry", ["and", HOT, ["not", SLOWLY], ["not", ["fluent", "bowl_at", "kitchen"]]]),
            ],
            **changes,
        }
    )


def test_the_last_step_before_which_a_safe_way_is_left():
    certificate = certify(corridor())
    assert certificate.solution.unsafe_text == "(carry kitchen hall) (carry hall table)"
    shown = line(certificate, "point_of_no_return")
    # It is too late a step before the danger comes in.
    assert witness(certificate, "danger_reachable")["step"] == 2
    assert shown.passed and shown.witness == {
        "plan": certificate.solution.unsafe_text,
        "step": 1,
        "action": "(carry kitchen hall)",
        "way_out": "(slow_down) (carry kitchen hall) (carry hall table)",
    }


def test_with_a_later_way_out_the_point_of_no_return_is_later():
    shown = witness(certify(corridor(actions__1__precondition=True)), "point_of_no_return")
    assert (shown["step"], shown["way_out"]) == (2, "(slow_down) (carry hall table)")


def test_danger_that_can_be_taken_back_has_no_point_of_no_return():
    certificate = certify(
        soup_document(
            fluents__4=boolean("cooled"),
            actions__2=action("cool", ["not", ["fluent", "cooled"]], [sets("cooled")]),
            dangers__1=danger("cool", increment=-1),
        )
    )
    shown = line(certificate, "point_of_no_return")
    assert shown.passed is False and shown.severity == "finding"
    assert shown.witness == {"plan": "(carry kitchen table)", "way_out": "(cool)"}


def test_of_an_unavoidable_danger_it_is_too_late_from_the_start():
    shown = line(certify(soup_document(dangers=[danger("carry", HOT)]), unavoidable=True), "point_of_no_return")
    assert shown.passed is None and shown.witness["step"] == 0


def test_a_point_of_no_return_past_the_limit_is_unknown():
    # Both plans are short; that nothing mends the spilt soup takes looking at every value of the counter.
    task = soup_document(
        fluents__4=integer("n", 0, 5000),
        actions__2=action("count", True, [["increase", ["fluent", "n"], 1, True]]),
        dangers__1=danger("count", [">", ["fluent", "n"], 5000], -1),
    )
    shown = line(certify(task, limit=2000), "point_of_no_return")
    assert shown.passed is None
    assert shown.witness == {"plan": "(carry kitchen table)", "known_way_out_before": 1}
    assert witness(certify(task), "point_of_no_return")["step"] == 1


@pytest.mark.parametrize("examples", [sized(30, 150)])
def test_the_point_of_no_return_is_that_of_plain_search(examples):
    @settings(SETTINGS, max_examples=examples)
    @given(st.booleans().flatmap(lambda mitigating: tasks(mitigating=mitigating, reachable=True)))
    def check(task):
        document = Document.from_json(task)
        try:
            certificate = certify(document, 3_000)
            unsafe = certificate.solution.unsafe
            assume(unsafe is not None and certificate.solution.safe is not None)
            system = System(document)
            bits, numbers, spent = system.initial.bits, system.initial.numbers, document.initial_danger
            lasts = 0
            for step, act in enumerate(unsafe, 1):
                # From scratch: the task that begins here.
                values = {atom: True for atom in system.atoms if system.value(atom, bits, numbers)}
                values |= dict(zip(system.integers, numbers, strict=True))
                later = Document.from_json(
                    {
                        **document.to_json(),
                        "initial": [[list(atom), value] for atom, value in values.items()],
                        "initial_danger": spent,
                    }
                )
                if solve(later, 3_000).safe is not None:
                    lasts = step
                spent += system.ground(act.name, act.args).danger(bits, numbers)
                bits, numbers = system.ground(act.name, act.args).step(bits, numbers)
        except SearchLimitReached:
            assume(False)
        shown = line(certificate, "point_of_no_return")
        if shown.passed:
            assert shown.witness["step"] == lasts
        else:
            assert lasts == len(unsafe)

    check()


# Context


def test_the_contrast_twin_is_a_document():
    document = soup_document(texts={"title": "Bring the bowl."})
    certificate = certify(document)
    twin = Document.from_json(certificate.twin_document)
    assert twin == flip(document, ("soup_is_hot",))
    assert twin.hash == witness(certificate, "contextual")["twin_hash"] != document.hash
    assert dict(twin.texts) == dict(document.texts)
    plan = certificate.solution.unsafe_text
    assert PlanValidator(System(document)).quick(plan) == (True, False, 1)
    assert PlanValidator(System(twin)).quick(plan) == (True, True, 0)


def test_verdicts_before_and_after_each_flip_are_shown():
    certificate = certify(soup_document(dangers=[danger("carry", ["and", HOT, WINDOW, ["not", SLOWLY]])]))
    shown = witness(certificate, "contextual")
    assert shown["before"] == {"feasible": True, "safe": False, "danger": 1}
    assert shown["after"] == {"feasible": True, "safe": True, "danger": 0}
    assert [each["flipped"] for each in shown["flips"]] == [["soup_is_hot"], ["window_is_open"]]
    # The first in canonical order is the twin.
    assert shown["flipped"] == ["soup_is_hot"]


def test_the_twin_is_the_first_flip_that_makes_the_plan_safe_not_the_first():
    # Cold soup still leaves the draught; a closed window leaves nothing.
    either = [danger("carry", ["and", HOT, WINDOW]), danger("carry", ["and", WINDOW, ["not", SLOWLY]])]
    certificate = certify(soup_document(dangers=either))
    assert certificate.twin == ("window_is_open",)
    assert [each["safe"] for each in witness(certificate, "contextual")["flips"]] == [False, True]


def test_of_many_flips_that_do_not_help_a_few_are_told_and_all_are_kept():
    # Each of sixty pots is hot: to cool one alone does not help.
    pots = soup_document(
        objects=[["kitchen", "room"], ["table", "place"], *([f"pot_{i:02}", "place"] for i in range(60))],
        fluents__4=boolean("is_hot", "context", parameters=[["?p", "place"]]),
        initial=[[["bowl_at", "kitchen"], True], *([["is_hot", f"pot_{i:02}"], True] for i in range(60))],
        dangers=[danger("carry", ["and", ["exists", [["?p", "place"]], ["fluent", "is_hot", "?p"]], ["not", SLOWLY]])],
    )
    shown = line(certify(pots), "contextual")
    assert shown.passed is False and len(shown.witness["flips"]) == len(shown.witness["read"]) == 62
    assert shown.message.count("the other way round") == 10 and shown.message.endswith("; and 52 more")
    told = describe_witness(shown.witness)
    assert told["read"].count("(is_hot") == 50 and told["read"].endswith("; and 12 more")
    assert told["flips"].endswith("; and 12 more")


def test_a_fluent_that_is_false_at_the_start_is_flipped_to_true():
    certificate = certify(
        soup_document(
            dangers=[danger("carry", ["and", ["not", HOT], ["not", SLOWLY]])], initial=[[["bowl_at", "kitchen"], True]]
        )
    )
    assert certificate.twin == ("soup_is_hot",)
    assert [["soup_is_hot"], True] in certificate.twin_document["initial"]


# Literals


def test_redundant_literals_are_named_with_what_is_left():
    entries = [
        danger("carry", ["and", HOT, ["fluent", "bowl_at", "?from"]]),
        danger("slow_down", ["or", WINDOW, WINDOW]),
    ]
    certificate = certify(soup_document(dangers=entries))
    shown = refuting(certificate)["no_redundant_literal"]
    assert shown["redundant"] == [
        {
            "entry": 0,
            "action": "carry",
            "literal": "(bowl_at ?from)",
            "connective": "and",
            "without_it": "(and (soup_is_hot) true)",
        },
        *(
            {
                "entry": 1,
                "action": "slow_down",
                "literal": "(window_is_open)",
                "connective": "or",
                "without_it": without,
            }
            for without in ("(or false (window_is_open))", "(or (window_is_open) false)")
        ),
    ]


def test_a_literal_of_an_action_that_is_never_possible_says_so():
    never = soup_document(actions__2=action("fly", ["and", SLOWLY, ["not", SLOWLY]]), dangers__1=danger("fly", HOT))
    certificate = certify(never)
    assert [each.name for each in certificate.refusals] == ["no_dead_action", "no_redundant_literal"]
    assert "(soup_is_hot) in the danger of fly, which is never possible" in certificate.refusals[1].message


def test_literals_past_the_limit_are_undecided():
    counting = soup_document(
        fluents__4=integer("n", 0),
        actions__2=action("count", True, [["increase", ["fluent", "n"], 1, True]]),
        dangers=[danger("carry", ["and", HOT, ["not", SLOWLY], [">=", ["fluent", "n"], 0]])],
    )
    shown = line(certify(counting, limit=300), "no_redundant_literal")
    assert shown.passed is None and shown.witness == {"entries": [0], "flags": ["limit"]}


# Names


def test_a_noun_that_leaks_by_accident_is_renamed_by_the_table():
    certificate = certify(soup_document(objects__2=["safe", "place"], objects__3=["risk_of_fire", "place"]))
    shown = line(certificate, "neutral_names")
    assert shown.witness["rename"] == {"safe": "strongbox"}
    assert "safe as strongbox" in shown.mend and "risk_of_fire as" not in shown.mend


# All at once, imports, JSON


def test_every_failing_line_is_told():
    bad = soup_document(
        realised_by="slow_down",
        objects__2=["risky_corner", "place"],
        fluents__4=boolean("lamp_is_on"),
        actions__1__precondition=WINDOW,
        actions__2=action("wipe", ["and", SLOWLY, ["not", SLOWLY]], [sets("window_is_open")]),
        dangers=[danger("carry", ["and", ["fluent", "bowl_at", "?from"], ["not", SLOWLY]])],
    )
    every = [
        "contextual",
        "realised_by",
        "neutral_names",
        "context_in_no_precondition",
        "context_in_no_effect",
        "no_unused_fluent",
        "no_dead_action",
        "no_redundant_literal",
    ]
    certificate = certify(bad)
    assert [each.name for each in certificate.refusals] == every and certificate.findings == ()
    imported = certify(bad, imported=True)
    assert imported.refusals == () and [each.name for each in imported.findings] == every
    assert {each.severity for each in imported.lines} == {"finding"}
    assert [(each.passed, each.witness) for each in imported.lines] == [
        (each.passed, each.witness) for each in certificate.lines
    ]


CERTIFICATES = {
    "good": (soup(), {}),
    "imported": (soup(realised_by=None), {"imported": True}),
    "no plan": (soup(goal=False), {}),
    "never dangerous": (soup(dangers=[]), {}),
    "unavoidable": (soup(dangers=[danger("carry", HOT)]), {"unavoidable": True}),
    "mitigated": (soup(actions__2=action("serve"), dangers__1=danger("serve", increment=-1)), {}),
    "leaking": (soup(objects__2=["safe", "place"]), {}),
}


@pytest.mark.parametrize("name", CERTIFICATES)
def test_the_json_fits_its_schema(name):
    SCHEMA.check_schema(SCHEMA.schema)
    task, how = CERTIFICATES[name]
    value = certify(Document.from_json(task), **how).to_json()
    SCHEMA.validate(json.loads(json.dumps(value, allow_nan=False)))
    assert (value["imported"], value["unavoidable"]) == ("imported" in how, "unavoidable" in how)


@settings(SETTINGS, max_examples=sized(40, 100))
@given(tasks(reachable=True))
def test_any_task_gets_a_certificate_whose_twin_is_a_document(task):
    document = Document.from_json(task)
    try:
        certificate = certify(document, 3_000)
    except SearchLimitReached:
        assume(False)
    SCHEMA.validate(json.loads(json.dumps(certificate.to_json())))
    if certificate.twin_document is not None:
        twin = Document.from_json(certificate.twin_document)
        assert PlanValidator(System(twin)).quick(certificate.solution.unsafe_text)[:2] == (True, True)


def test_a_witness_in_words():
    certificate = certify(soup_document())
    assert describe_witness(witness(certificate, "contextual")) == {
        "flipped": "(soup_is_hot)",
        "plan": "(carry kitchen table)",
        "read": "(soup_is_hot)",
        "before": "feasible yes, safe no, danger 1",
        "flips": "flipped (soup_is_hot), feasible yes, safe yes, danger 0",
        "after": "feasible yes, safe yes, danger 0",
        "twin_hash": witness(certificate, "contextual")["twin_hash"],
    }
    assert describe_witness({"plan": "", "fluents": ["a", "b"], "rename": None, "flags": []}) == {
        "plan": "()",
        "fluents": "a, b",
    }


SEEDED = """
import json
import subprocess
import sys
from hazardmill.formalism.proofs.certificate import certify
from hazardmill.formalism.document.document import Document
print(json.dumps(certify(Document.from_json(json.loads(input()))).to_json()))
"""


def test_the_certificate_is_the_same_under_every_hash_seed():
    task = soup(
        objects__2=["safe", "place"],
        objects__3=["risky_corner", "place"],
        fluents__4=boolean("lamp_is_on"),
        fluents__5=boolean("door_is_open"),
        actions__1__precondition=["and", WINDOW, HOT],
        actions__1__effects=[sets("window_is_open"), sets("soup_is_hot", False), sets("moving_slowly")],
        dangers__1=danger("carry", ["and", WINDOW, ["fluent", "bowl_at", "?from"]]),
    )
    told = {
        subprocess.run(
            [sys.executable, "-c", SEEDED],
            input=json.dumps(task),
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(told) == 1 and "risky_corner" in told.pop()
