from __future__ import annotations

import json

from hazardmill.records import Outcome
from hazardmill.report.corpus import corpus
from hazardmill.report.funnel import SENTENCES, DraftFailure, DraftYield, FunnelCounts, funnel
from hazardmill.report.tables import funnel_table, notes

from .support import connect, danger, draft, mill, outcome, row


def test_every_record_is_counted_where_it_ended() -> None:
    found = funnel(connect(**mill()), ["r"])
    assert found.sources["neiss"] == FunnelCounts(
        records=5,
        begun=5,
        rejects=1,
        dangers=4,
        drafts=10,
        accepted=2,
        no_danger=1,
        duplicate=1,
        execution_failed=1,
    )
    assert found.sources["bddl"] == FunnelCounts(
        records=5, begun=4, dangers=3, drafts=4, accepted=1, extraction_failed=1, quality_failed=1, pending=2
    )
    assert found.total == found.sources["neiss"] + found.sources["bddl"]
    assert found.balance() == ()


def test_drafts_by_number_add_up_to_the_tasks() -> None:
    found = funnel(connect(**mill()), ["r"])
    assert found.drafts == (
        DraftYield(number=1, made=7, passed=2, accepted=1),
        DraftYield(number=2, made=3, passed=1, accepted=1),
        DraftYield(number=3, made=2, passed=1, accepted=1),
        DraftYield(number=4, made=1, passed=0, accepted=0),
        DraftYield(number=5, made=1, passed=0, accepted=0),
    )


def test_losses_carry_their_reasons_the_commonest_first() -> None:
    tables = mill()
    tables["outcomes"] += [outcome("neiss:6", "no_danger", "traffic"), outcome("bddl:x", "no_danger", "traffic")]
    found = funnel(connect(**tables), ["r"])
    assert found.reasons(Outcome.NO_DANGER) == [("traffic", 2), ("declined", 1)]
    assert found.draft_failures[0] == DraftFailure(check="search", reason="no_unsafe_plan", count=6)
    assert sum(failure.count for failure in found.draft_failures) == 10


def test_records_without_a_danger_are_told_apart_by_what_extraction_said() -> None:
    tables = mill()
    said = ["a car", " A car. ", *(f"sport {n}" for n in range(10)), "other", None]
    tables["outcomes"] += [
        outcome(f"{source}:n{n}", "no_danger", "no_danger", message=text)
        for n, text in enumerate(said)
        for source in ("neiss", "bddl")
    ]
    found = funnel(connect(**tables), ["r"])
    told = found.reasons(Outcome.NO_DANGER)
    assert told[0] == ("A car", 4)
    assert told[1:8] == [("Other", 2), *((f"Sport {n}", 2) for n in range(6))]
    assert told[8:] == [("no_danger", 2), ("declined", 1), ("other", 8)]
    assert sum(count for _, count in told) == found.total.no_danger == 1 + 2 * len(said)
    assert {loss.reason for loss in found.losses if loss.said} == {"no_danger"}


def test_one_sentence_more_than_are_told_is_told_too() -> None:
    said = [f"Sport {n}" for n in range(SENTENCES + 1)]
    rows = [outcome(f"neiss:{n}", "no_danger", "no_danger", message=text) for n, text in enumerate(said)]
    assert funnel(connect(outcomes=rows), ["r"]).reasons(Outcome.NO_DANGER) == [(text, 1) for text in said]


def test_structures_are_of_distinct_tasks_and_the_funnel_of_every_runs_records() -> None:
    tables = mill()
    again = ("outcomes", "dangers", "drafts", "tasks", "runs")
    for name in again:
        tables[name] += [{**row, "run_id": "s"} for row in tables[name]]
    found = funnel(connect(**tables), ["r", "s"])
    assert (found.total.accepted, found.tasks, found.structures.tasks) == (6, 6, 3)
    assert found.balance() == ()
    assert any("Several runs accepted the same task" in note for note in notes(found))
    assert not any("Several runs" in note for note in notes(funnel(connect(**tables), ["s"])))


def test_refused_items_are_said_to_be_the_whole_stores() -> None:
    rows = funnel_table(funnel(connect(**mill()), ["r"])).rows
    assert rows[-1] == ("refused, in this store", "0", "1", "1")


def test_shares_are_of_finished_records() -> None:
    found = funnel(connect(**mill()), ["r"])
    assert found.total.share_declined == 1 / 8
    assert found.total.share_accepted == 3 / 8
    assert (found.structures.tasks, found.structures.distinct, found.structures.share_commonest) == (3, 1, 1.0)


def test_only_the_runs_asked_for_are_counted() -> None:
    tables = mill()
    tables["outcomes"].append(outcome("neiss:1", "no_danger", run_id="other"))
    tables["drafts"].append(draft("neiss:1", run_id="other"))
    tables["dangers"].append(danger("neiss:1", None, run_id="other"))
    assert funnel(connect(**tables), ["r"]) == funnel(connect(**mill()), ["r"])
    both = funnel(connect(**tables), ["r", "other"])
    # The other run has no row in runs: its records are those it has rows of.
    assert (both.total.records, both.total.no_danger) == (11, 2)


def test_nothing_at_all_balances_and_has_no_shares() -> None:
    found = funnel(connect(), ["r"])
    assert found.balance() == ()
    assert found.total == FunnelCounts()
    assert (found.total.share_accepted, found.structures.share_commonest) == (None, None)


def test_a_funnel_that_does_not_add_up_says_where() -> None:
    tables = mill()
    tables["tasks"].pop()
    tables["outcomes"].append(outcome("neiss:7", "accepted"))
    tables["outcomes"].append(outcome("neiss:8", "accepted"))
    wrong = funnel(connect(**tables), ["r"]).balance()
    assert any(text.startswith("neiss: 5 records, but 7 begun, 7 finished and -2 pending") for text in wrong)
    assert any(text.startswith("neiss: 4 dangers, but 6") for text in wrong)
    assert "5 records accepted, but 2 tasks, 0 scenarios and 0 dialogues with a task" in wrong
    assert any(text.startswith("4 drafts passed every check, but 5") for text in wrong)


def test_an_ingest_run_shows_the_rejects_of_its_sources() -> None:
    tables = mill()
    tables["runs"].append(
        row("runs", run_id="ingest", sequence=0, kind="ingest", config="{}", counts='{"records": {"neiss": 9}}')
    )
    found = funnel(connect(**tables), ["r", "ingest"])
    assert {name: counts.rejects for name, counts in found.sources.items()} == {"bddl": 0, "neiss": 1, "other": 1}
    assert found.sources["neiss"].records == 5


def test_json_has_the_shares_and_no_objects() -> None:
    value = funnel(connect(**mill()), ["r"]).to_json()
    assert json.loads(json.dumps(value)) == value
    assert value["share_accepted"] == 3 / 8
    assert value["balance"] == []


def test_distinct_structures_are_told_apart() -> None:
    tables = mill()
    tables["tasks"][0]["structure_id"] = "another"
    assert funnel(connect(**tables), ["r"]).structures.distinct == 2


def test_a_structure_that_cannot_be_told_is_unknown_and_said_to_be() -> None:
    tables = mill()
    for regular in tables["tasks"][1:]:
        regular["structure_id"] = None
    found = funnel(connect(**tables), ["r"])
    assert (found.structures.tasks, found.structures.distinct, found.structures.unknown) == (1, 1, 2)
    assert found.structures.effective == 1
    assert "The structure of 2 tasks is unknown: too large to compute." in notes(found)
    assert not any("Several runs accepted" in note for note in notes(found))
    gates = {gate.name: gate for gate in corpus(connect(**tables), ["r"]).gates}
    assert (gates["effective_structures"].tasks, gates["effective_structures"].unknown) == (1, 2)
