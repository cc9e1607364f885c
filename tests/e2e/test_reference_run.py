"""The whole mill on real records, NEISS reports and BDDL activities, as a user would run it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter

import pytest

from e2e.up_oracle import up_verdicts
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.semantics.plan_validator import PlanValidator
from hazardmill.formalism.semantics.transition_system import System
from hazardmill.records import Outcome
from hazardmill.store.store import Store
from tests.sizes import sized

pytestmark = [pytest.mark.full, pytest.mark.timeout(1200)]

NEISS, BDDL = sized((200, 30), (300, 50))


def hazardmill(*words, cwd):
    """Run the command as a user does; its standard output."""
    done = subprocess.run(
        [sys.executable, "-m", "hazardmill.cli.main", *map(str, words)],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def generate(reference, folder, *more):
    data = reference / "data"
    return json.loads(
        hazardmill(
            "run",
            "generate",
            *("--source", "neiss", "--input", f"neiss={data / 'neiss' / 'neiss2019.tsv'}", "--limit", f"neiss={NEISS}"),
            *(
                "--source",
                "bddl",
                "--input",
                f"bddl={data / 'bddl' / 'activity_definitions'}",
                "--limit",
                f"bddl={BDDL}",
            ),
            *("--store", folder / "store", "--json", *more),
            cwd=folder,
        )
    )


@pytest.fixture(scope="module")
def run(reference, tmp_path_factory):
    """The run that the tests of this module look at, and its store."""
    folder = tmp_path_factory.mktemp("reference-run")
    return generate(reference, folder, "--run-id", "first"), Store.open(folder / "store")


def test_every_record_ends_in_exactly_one_outcome_and_the_funnel_adds_up(run):
    shown, store = run
    outcomes = store.rows("outcomes", {"run_id": "first"})
    assert len(outcomes) == len({row["record_id"] for row in outcomes}) == NEISS + BDDL
    assert Counter(row["source"] for row in outcomes) == {"neiss": NEISS, "bddl": BDDL}
    assert all(row["outcome"] != Outcome.PENDING for row in outcomes)
    total = shown["funnel"]["total"]
    assert sum(total[outcome.value] for outcome in Outcome) == total["records"] == NEISS + BDDL
    assert total["accepted"] == store.count("tasks") > 0.43 * (NEISS + BDDL)
    assert not store.verify()


def test_every_draft_depth_occurs_and_every_loss_has_a_reason(run):
    _, store = run
    accepted_at = Counter(row["draft"] for row in store.rows("tasks", None, ["draft"]))
    assert set(accepted_at) == {1, 2, 3, 4, 5}
    outcomes = store.rows("outcomes")
    assert {row["outcome"] for row in outcomes} >= {"accepted", "no_danger", "execution_failed", "quality_failed"}
    assert all(row["reason"] for row in outcomes if row["outcome"] != Outcome.ACCEPTED)
    failed = [row for row in store.rows("drafts") if not row["accepted"]]
    assert all(row["failed_check"] and row["failed_reason"] for row in failed)
    # What mends a draft is the feedback: all but a record's last draft have it.
    last = {row["record_id"]: row["drafts"] for row in outcomes}
    assert all(row["feedback"] for row in failed if row["draft"] < last[row["record_id"]])


def test_what_the_offline_author_wrote_says_so_everywhere(run):
    _, store = run
    for table in ("llm_calls", "dangers", "drafts", "tasks"):
        assert {row["model_answered"] for row in store.rows(table, None, ["model_answered"])} == {"offline-author"}


def test_another_run_has_the_same_digest(run, reference, tmp_path):
    generate(reference, tmp_path, "--concurrency", "3", "--wave-size", "40")
    assert Store.open(tmp_path / "store").digest()["total"] == run[1].digest()["total"]


def test_every_accepted_task_holds_by_our_verdicts(run):
    _, store = run
    for row in store.rows("tasks"):
        judge = PlanValidator(System(Document.from_json(json.loads(row["document"]))))
        assert judge.quick(row["unsafe_plan"])[:2] == (True, False), row["task_id"]
        assert judge.quick(row["safe_plan"])[:2] == (True, True), row["task_id"]


def test_every_accepted_task_holds_by_the_validator_of_unified_planning(run):
    _, store = run
    for row in store.rows("tasks"):
        document = json.loads(row["document"])
        pddl = (row["domain_pddl"], row["problem_pddl"])
        found = up_verdicts(pddl, document, [row["unsafe_plan"], row["safe_plan"]])
        assert found == [(True, False), (True, True)], row["task_id"]
