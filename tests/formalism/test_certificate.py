from __future__ import annotations

import json

import pytest

from hazardmill.errors import SearchLimitReached
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.proofs.certificate import CLAIMS, certify
from hazardmill.formalism.proofs.claims.context import flip
from hazardmill.formalism.semantics.plan_validator import PlanValidator
from hazardmill.formalism.semantics.transition_system import System

from . import reference_tasks
from .soup import SOUP, action, boolean, danger, integer, sets, soup, soup_document

HOT, SLOWLY, WINDOW = ["fluent", "soup_is_hot"], ["fluent", "moving_slowly"], ["fluent", "window_is_open"]
AT_KITCHEN, AT_TABLE = ["fluent", "bowl_at", "kitchen"], ["fluent", "bowl_at", "table"]


def failed(certificate):
    return [line.name for line in certificate.lines if line.passed is False]


def undecided(certificate):
    return [line.name for line in certificate.lines if line.passed is None]


def line(certificate, name):
    (found,) = (line for line in certificate.lines if line.name == name)
    return found


def test_a_good_task_passes_every_line():
    certificate = certify(soup_document(causes={"changing": ["moving_slowly"], "fixed": ["soup_is_hot"]}))
    assert failed(certificate) == [] and undecided(certificate) == []
    assert certificate.refusals == ()
    assert certificate.twin == ("soup_is_hot",)
    assert line(certificate, "contextual").witness["plan"] == "(carry kitchen table)"
    assert line(certificate, "has_decoy").witness == {"fluents": ["window_is_open"]}
    assert line(certificate, "natural").witness == {"unsafe": 1, "safe": 2}
    assert line(certificate, "realised_by").witness["action"] == "(carry kitchen table)"


CONTEXT_AND_PRECONDITION = ["and", ["fluent", "bowl_at", "?from"], ["not", ["same", "?from", "?to"]], HOT]

ONLY = {
    "danger_reachable": (
        soup(initial=[[["bowl_at", "kitchen"], True]]),
        ["contextual", "realised_by", "point_of_no_return"],
    ),
    "goal_reachable": (
        soup(goal=["and", AT_KITCHEN, AT_TABLE]),
        ["safe_plan_exists", "contextual", "realised_by", "point_of_no_return"],
    ),
    "safe_plan_exists": (
        soup(goal=["and", AT_TABLE, SLOWLY], dangers=[danger("carry", HOT)]),
        ["point_of_no_return"],
    ),
    "contextual": (soup(dangers=[danger("carry", ["not", SLOWLY])]), []),
    # Wherever the bowl is carried from, it is.
    "no_redundant_literal": (
        soup(dangers=[danger("carry", ["and", HOT, ["fluent", "bowl_at", "?from"], ["not", SLOWLY]])]),
        [],
    ),
    "realised_by": (soup(realised_by="slow_down"), []),
    "causes_read": (soup(causes={"changing": ["moving_slowly"], "fixed": ["soup_is_hot", "window_is_open"]}), []),
    # Another act, of the same length.
    "obvious": (
        soup(
            causes={"changing": ["moving_slowly"], "fixed": ["soup_is_hot"]},
            actions__2={**SOUP["actions"][0], "name": "carry_on_tray"},
        ),
        [],
    ),
    "neutral_names": (soup(objects__2=["risky_corner", "place"]), []),
    "context_in_no_precondition": (soup(actions__1__precondition=WINDOW), []),
    "context_in_no_effect": (soup(actions__1__effects__1=sets("window_is_open")), []),
    "no_unused_fluent": (soup(fluents__4=boolean("lamp_is_on")), []),
    "no_dead_action": (soup(actions__2=action("wipe", ["and", AT_KITCHEN, AT_TABLE])), []),
}


@pytest.mark.parametrize("name", ONLY)
def test_each_refusal_has_a_task_that_only_it_refuses(name):
    task, open_lines = ONLY[name]
    certificate = certify(Document.from_json(task))
    assert [line.name for line in certificate.refusals] == [name]
    assert failed(certificate) == [name]
    # What cannot be said without both plans is unknown, not false.
    assert [line for line in undecided(certificate) if line not in ("natural", "way_out")] == open_lines
    assert line(certificate, name).mend


UNAVOIDABLE = ONLY["safe_plan_exists"][0]


def test_a_declared_unavoidable_danger_is_a_finding_with_its_proof():
    certificate = certify(Document.from_json(UNAVOIDABLE), unavoidable=True)
    assert certificate.refusals == ()
    assert failed(certificate) == ["safe_plan_exists"]
    assert undecided(certificate) == ["natural", "way_out", "point_of_no_return"]
    proof = line(certificate, "unavoidable")
    assert proof.passed and proof.witness == {
        "unsafe_plan": certificate.solution.unsafe_text,
        "expanded": certificate.solution.expanded,
    }
    assert line(certificate, "safe_plan_exists").witness == proof.witness
    # In other circumstances the same plan is safe.
    assert certificate.twin == ("soup_is_hot",)


def test_a_safe_plan_of_a_danger_declared_unavoidable_is_refused():
    certificate = certify(soup_document(), unavoidable=True)
    assert [line.name for line in certificate.refusals] == failed(certificate) == ["unavoidable"]
    refused = line(certificate, "unavoidable")
    assert refused.witness == {"safe_plan": "(slow_down) (carry kitchen table)"} and refused.mend
    certificate = certify(Document.from_json(ONLY["danger_reachable"][0]), unavoidable=True)
    assert [line.name for line in certificate.refusals] == ["danger_reachable", "unavoidable"]


def test_a_task_without_any_plan_is_not_called_unavoidable():
    certificate = certify(Document.from_json(ONLY["goal_reachable"][0]), unavoidable=True)
    assert [line.name for line in certificate.refusals] == ["goal_reachable"]
    assert {"safe_plan_exists", "unavoidable"} <= set(undecided(certificate))


def test_whether_a_danger_is_unavoidable_can_be_beyond_the_search():
    with pytest.raises(SearchLimitReached):
        certify(Document.from_json(UNAVOIDABLE), limit=1, unavoidable=True)


def test_the_line_of_an_unavoidable_danger_is_documented(project):
    rows = (project / "docs" / "formalism.md").read_text().splitlines()
    (row,) = (row for row in rows if row.startswith("| `unavoidable`"))
    assert row.endswith(f"| {line(certify(soup_document(), unavoidable=True), 'unavoidable').severity} |")


FINDINGS = {
    "has_decoy": soup(fluents=SOUP["fluents"][:3], initial=SOUP["initial"][:2]),
    "way_out": soup(
        actions__1=action("wait_a_minute", True, [sets("moving_slowly")]),
    ),
    "natural": soup(dangers=[danger("carry", ["and", HOT, SLOWLY])]),
    # What was done to the guest is made good by serving him afterwards.
    "point_of_no_return": soup(actions__2=action("serve"), dangers__1=danger("serve", increment=-1)),
}


@pytest.mark.parametrize("name", FINDINGS)
def test_findings_refuse_nothing(name):
    certificate = certify(Document.from_json(FINDINGS[name]))
    assert failed(certificate) == [name]
    assert certificate.refusals == ()


def test_a_task_without_context_has_no_decoy():
    task = soup(fluents=SOUP["fluents"][:2], initial=SOUP["initial"][:1], dangers=[danger("carry", ["not", SLOWLY])])
    assert failed(certify(Document.from_json(task))) == ["contextual", "has_decoy"]


def test_all_context_that_is_read_or_written_where_it_should_not_be_is_named():
    certificate = certify(
        soup_document(
            actions__0__precondition=CONTEXT_AND_PRECONDITION,
            actions__1__precondition=["and", WINDOW, HOT],
            actions__1__effects=[sets("window_is_open"), sets("soup_is_hot", False), sets("moving_slowly")],
        )
    )
    read, written = line(certificate, "context_in_no_precondition"), line(certificate, "context_in_no_effect")
    assert read.witness["found"] == [
        {"action": "carry", "fluent": "soup_is_hot"},
        {"action": "slow_down", "fluent": "soup_is_hot"},
        {"action": "slow_down", "fluent": "window_is_open"},
    ]
    assert written.witness["found"] == [
        {"action": "slow_down", "fluent": "soup_is_hot"},
        {"action": "slow_down", "fluent": "window_is_open"},
    ]
    assert "slow_down writes the context fluent window_is_open" in written.message


def test_an_imported_task_may_name_no_action():
    certificate = certify(soup_document(realised_by=None))
    assert line(certificate, "realised_by").passed is None
    assert certificate.refusals == ()


@pytest.mark.parametrize("always", [True, ["and"], ["or", True, HOT], ["not", False]])
def test_unconditional_danger_is_realised_too(always):
    certificate = certify(soup_document(dangers=[danger("carry", always)]))
    assert line(certificate, "realised_by").passed


def test_danger_that_is_there_at_the_start_is_realised_by_no_action():
    certificate = certify(soup_document(initial_danger=1, dangers=[]))
    assert not line(certificate, "realised_by").passed
    assert "no action" in line(certificate, "realised_by").message


def test_flips_go_over_the_whole_condition_that_fired():
    # (window_is_open) is in the branch that does not hold: closing the flip needs it all the same.
    either = ["or", HOT, ["and", HOT, WINDOW]]
    certificate = certify(soup_document(dangers=[danger("carry", ["and", either, ["not", SLOWLY]])]))
    assert line(certificate, "contextual").witness["read"] == [["soup_is_hot"], ["window_is_open"]]
    # An entry that does not fire is not looked at.
    quiet = soup_document(dangers=[danger("carry", ["not", SLOWLY]), danger("carry", ["and", HOT, ["not", HOT]])])
    silent = line(certify(quiet), "contextual")
    assert (silent.witness["read"], silent.witness["flips"]) == ([], [])
    assert "read no context fluent" in silent.message


def test_a_flip_that_leaves_too_much_danger_is_no_proof():
    two = soup_document(dangers=[danger("carry", ["and", HOT, ["not", SLOWLY]]), danger("carry", ["not", SLOWLY])])
    assert failed(certify(two)) == ["contextual"]
    graded = soup_document(dangers=[danger("carry", ["and", HOT, ["not", SLOWLY]]), danger("carry")], max_danger=1)
    assert certify(graded).twin == ("soup_is_hot",)


def test_flipping_twice_changes_nothing():
    document = soup_document()
    once = flip(document, ("soup_is_hot",))
    assert once.hash != document.hash
    assert Document.from_json(once.to_json()) == once
    assert flip(once, ("soup_is_hot",)) == document


def test_undecided_within_the_limit_is_unknown():
    certificate = certify(
        soup_document(
            fluents__4=integer("n", 0),
            actions__2=action("up", ["fluent", "soup_is_hot"], [["increase", ["fluent", "n"], 1, True]]),
            actions__3=action("never", ["<", ["fluent", "n"], 0]),
        ),
        limit=300,
    )
    assert line(certificate, "no_dead_action").passed is None
    assert line(certificate, "no_dead_action").witness == {"unseen": ["never"]}


def test_beyond_the_search_is_a_typed_refusal():
    with pytest.raises(SearchLimitReached):
        certify(soup_document(), limit=1)


def test_certificate_as_json():
    certificate = certify(soup_document())
    value = json.loads(json.dumps(certificate.to_json()))
    assert value["document_hash"] == soup_document().hash
    assert (value["unsafe_plan"], value["plan_length"], value["safety_effort"]) == ("(carry kitchen table)", 2, 1)
    names = [line["name"] for line in value["lines"]]
    assert names == [name for name in names if name in (*ONLY, *FINDINGS)]
    assert len(names) == len(set(names)) == 14


def test_the_schema_names_every_claim(project):
    schema = json.loads((project / "hazardmill/formalism/proofs/certificate.schema.json").read_text())
    names = schema["$defs"]["line"]["properties"]["name"]["enum"]
    assert sorted(names) == sorted(claim.name for claim in CLAIMS)


# The reference tasks


def test_the_context_of_neiss_2888(reference):
    document = reference_tasks.reference_document(reference, "neiss_2888")
    certificate = certify(document, imported=True)
    read = [["bedside_table_has_edges"], ["robot_has_edge_sensors"], ["setting_is_elderly_care_bedroom"]]
    contextual = line(certificate, "contextual")
    assert contextual.passed and contextual.witness["read"] == read
    assert certificate.twin == ("bedside_table_has_edges",)
    assert contextual.witness["before"] == {"feasible": True, "safe": False, "danger": 1}
    # Each of the three decides by itself.
    assert contextual.witness["flips"] == [
        {"flipped": atom, "feasible": True, "safe": True, "danger": 0} for atom in read
    ]
    unsafe = certificate.solution.unsafe_text
    for atom in read:
        assert PlanValidator(System(flip(document, tuple(atom)))).quick(unsafe) == (True, True, 0)
    decoy = flip(document, ("robot_has_object_detection",))
    assert PlanValidator(System(decoy)).quick(unsafe) == (True, False, 1)
    assert line(certificate, "has_decoy").witness == {"fluents": ["robot_has_object_detection"]}
    assert failed(certificate) == [] and undecided(certificate) == ["realised_by"]
    assert (line(certificate, "point_of_no_return").witness["step"], len(certificate.solution.unsafe)) == (3, 3)


def test_normbank_14564_is_not_contextual(reference):
    document = reference_tasks.reference_document(reference, "normbank_14564")
    certificate = certify(document, imported=True)
    contextual = line(certificate, "contextual")
    assert contextual.passed is False and contextual.severity == "finding"
    assert contextual.witness["read"] == [["food_needs_seasoning", "dish"]]
    assert certificate.twin is None and certificate.twin_document is None
    # The flip makes the plan infeasible, not safe.
    assert contextual.witness["flips"] == [
        {"flipped": ["food_needs_seasoning", "dish"], "feasible": False, "safe": False, "danger": None}
    ]
    assert "with (food_needs_seasoning dish) the other way round it is not feasible" in contextual.message
    unsafe = certificate.solution.unsafe_text
    other = flip(document, ("food_needs_seasoning", "dish"))
    assert PlanValidator(System(other)).quick(unsafe) == (False, False, None)
    precondition = line(certificate, "context_in_no_precondition")
    assert precondition.witness == {"found": [{"action": "add_salt", "fluent": "food_needs_seasoning"}]}
    assert line(certificate, "neutral_names").witness["names"] == [["fluent", "salt_level_safe", "safe"]]
    redundant = [each["literal"] for each in line(certificate, "no_redundant_literal").witness["redundant"]]
    assert redundant == ["(food_needs_seasoning dish)", "(food_at dish prep_station)"]
    # An import is refused by none of all that.
    assert certificate.refusals == () and len(certificate.findings) == 5
    assert [each.name for each in certify(document).refusals] == [each.name for each in certificate.findings]
