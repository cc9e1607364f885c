from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

from hazardmill.errors import CorruptStore, StoreLocked, UsageError
from hazardmill.llm.limits.budget import picodollars
from hazardmill.llm.limits.shared_budget import SharedBudgetFile

CENT = picodollars(0.01)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "budgets"


def test_leases_never_exceed_the_limit(folder):
    with SharedBudgetFile(folder, "shared", "a", 1.0) as a, SharedBudgetFile(folder, "shared", "b", 1.0) as b:
        assert a.lease(60 * CENT) == 60 * CENT
        assert b.lease(60 * CENT) == 40 * CENT, "as much as there is"
        assert b.lease(1) == a.lease(1) == 0
        a.give_back(20 * CENT)
        assert b.lease(60 * CENT) == 20 * CENT
        assert a.leases() == b.leases() == {"a": 0.4, "b": 0.6}


def test_what_is_leased_is_on_disk_as_a_whole(folder):
    with SharedBudgetFile(folder, "shared", "a", 1.0) as budget:
        budget.lease(CENT)
        on_disk = json.loads((folder / "shared.json").read_text())
    assert (on_disk["limit"], on_disk["leases"]) == (100 * CENT, {"a": CENT})


def test_a_worker_that_comes_back_has_leased_what_it_spent(folder):
    with SharedBudgetFile(folder, "shared", "a", 1.0) as budget:
        budget.lease(90 * CENT)
    with SharedBudgetFile(folder, "shared", "a", 1.0, spent_usd=0.25) as budget:
        assert budget.leases() == {"a": 0.25}
        assert budget.lease(100 * CENT) == 75 * CENT


def test_a_run_can_go_on_with_more_money_or_with_less(folder):
    with SharedBudgetFile(folder, "shared", "a", 1.0) as budget:
        budget.lease(100 * CENT)
    with SharedBudgetFile(folder, "shared", "b", 2.0) as budget:
        assert budget.lease(300 * CENT) == 100 * CENT
    with SharedBudgetFile(folder, "shared", "c", 0.5) as budget:
        assert budget.lease(CENT) == 0


def test_the_dead_can_be_reclaimed_from_and_the_living_cannot(folder):
    with SharedBudgetFile(folder, "shared", "alive", 1.0) as alive:
        with SharedBudgetFile(folder, "shared", "dead", 1.0) as dead:
            dead.lease(100 * CENT)
            assert alive.dead_workers() == {}
            with pytest.raises(StoreLocked, match="dead is still running"):
                alive.reclaim("dead", 0.0)
        ((worker, opening),) = alive.dead_workers().items()
        assert worker == "dead"
        assert alive.reclaim("dead", 0.3, opening) == 0.7
        assert alive.lease(100 * CENT) == 70 * CENT
        assert alive.dead_workers() == {}, "of each once"


def test_nothing_is_taken_back_from_one_that_was_there_again_meanwhile(folder):
    with SharedBudgetFile(folder, "shared", "alive", 1.0) as alive:
        with SharedBudgetFile(folder, "shared", "dead", 1.0) as dead:
            dead.lease(50 * CENT)
        opening = alive.dead_workers()["dead"]
        # What it spent is read from its ledger here. It comes back, leases as much again, and dies again.
        with SharedBudgetFile(folder, "shared", "dead", 1.0, spent_usd=0.1) as dead:
            dead.lease(40 * CENT)
        assert alive.reclaim("dead", 0.1, opening) == 0
        assert alive.leases()["dead"] == 0.5
        assert alive.reclaim("dead", 0.4, alive.dead_workers()["dead"]) == pytest.approx(0.1)


def test_of_a_file_without_numbers_nobody_is_settled(folder):
    folder.mkdir()
    (folder / "shared.json").write_text(json.dumps({"limit": 100 * CENT, "leases": {"old": 60 * CENT}}))
    with SharedBudgetFile(folder, "shared", "new", 1.0) as budget:
        assert budget.lease(100 * CENT) == 40 * CENT
        assert budget.reclaim("old", 0.5, budget.dead_workers()["old"]) == pytest.approx(0.1)
        assert budget.dead_workers() == {}


def test_two_processes_do_not_go_by_one_name(folder):
    with (
        SharedBudgetFile(folder, "shared", "a", 1.0),
        pytest.raises(StoreLocked, match=r"already spending .* as worker a"),
    ):
        SharedBudgetFile(folder, "shared", "a", 1.0)
    SharedBudgetFile(folder, "shared", "a", 1.0).close()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"limit": 1}',
        '{"limit": 1, "leases": {}, "unsettled": ["a"]}',
        '{"limit": 1, "leases": {"a": "x"}}',
        '{"leases": {}',
    ],
)
def test_a_damaged_file_is_refused_and_holds_no_lock(folder, text):
    folder.mkdir()
    (folder / "shared.json").write_text(text)
    for _ in range(2):
        with pytest.raises(CorruptStore, match="shared budget cannot be read") as caught:
            SharedBudgetFile(folder, "shared", "a", 1.0)
    assert caught.value.file.endswith("shared.json")


@pytest.mark.parametrize(("name", "worker"), [("../x", "a"), ("x", "a/b"), ("x", ""), (".x", "a")])
def test_a_name_that_is_no_file_name_is_refused(folder, name, worker):
    with pytest.raises(UsageError, match="cannot name"):
        SharedBudgetFile(folder, name, worker, 1.0)


LIMIT, DEAREST = 1.0, 0.02
SPENDER = Path(__file__).with_name("spender.py")


class Spender:
    """A worker process, and what its ledger says: of each request the last figure written."""

    def __init__(self, folder, worker, seed, spent=0.0):
        self.worker = worker
        self.ledger: dict[str, float] = {}
        figures = map(str, (LIMIT, spent, DEAREST, seed))
        self.process = subprocess.Popen(
            [sys.executable, str(SPENDER), str(folder), worker, *figures], stdout=subprocess.PIPE, text=True
        )

    def read(self, lines=None):
        for count, line in enumerate(self.process.stdout, start=1):
            number, _, usd = line.strip().partition(" ")
            self.ledger[number] = float(usd)
            if count == lines:
                return

    def kill(self):
        self.process.kill()
        self.read()
        self.process.wait()
        self.process.stdout.close()

    def end(self):
        self.read()
        self.process.stdout.close()
        assert self.process.wait() == 0

    @property
    def spent(self):
        return math.fsum(self.ledger.values())


@pytest.mark.full
@pytest.mark.parametrize("seed", range(3))
def test_processes_that_are_killed_at_any_moment_never_spend_more_than_the_budget_together(folder, seed):
    workers = [Spender(folder, f"w{n}", seed * 10 + n) for n in range(4)]
    for number, doomed in enumerate(workers[:2]):
        doomed.read(lines=3 + 5 * number + seed)
        doomed.kill()
    for worker in workers[2:]:
        worker.end()
    assert math.fsum(worker.spent for worker in workers) <= LIMIT

    with SharedBudgetFile(folder, "shared", "lead", LIMIT) as budget:
        leases = budget.leases()
        for worker in workers:
            assert worker.spent <= leases[worker.worker] + 1e-9, "nobody spends what it has not leased"
        for worker in workers:
            budget.reclaim(worker.worker, worker.spent)
    # What the dead had leased and not spent is spent by those who come later, one of them under its old name.
    back, new = Spender(folder, "w0", seed + 50, spent=workers[0].spent), Spender(folder, "w9", seed + 60)
    back.end()
    new.end()
    total = math.fsum(worker.spent for worker in (*workers, back, new))
    assert LIMIT - 2 * DEAREST <= total <= LIMIT
