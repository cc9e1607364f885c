"""Proving processes: the same answers as here, and an end of their own for what takes too much."""

from __future__ import annotations

import atexit
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from hazardmill.errors import ProofKilled, SearchLimitReached
from hazardmill.formalism.proofs.draft_proof import prove
from hazardmill.formalism.search.budget import DRAFT_LIMIT
from hazardmill.sandbox.proving import Provers
from tests.formalism.soup import soup_document

pytestmark = pytest.mark.full
MB = 2**20


@pytest.fixture
def small() -> Iterator[Provers]:
    """Processes that are ended early."""
    provers = Provers(memory=100 * MB, seconds=1)
    yield provers
    provers.close()


@pytest.fixture
def roomy() -> Iterator[Provers]:
    """Processes that have memory enough."""
    provers = Provers(memory=1000 * MB)
    yield provers
    provers.close()


def pid_of(provers: Provers) -> int:
    return provers.run(DRAFT_LIMIT, os.getpid)


def test_a_proof_made_apart_is_the_same_and_its_plans_can_be_read(small: Provers) -> None:
    apart, here = small.run(DRAFT_LIMIT, prove, soup_document(), DRAFT_LIMIT), prove(soup_document(), DRAFT_LIMIT)
    assert apart.certificate.to_json() == here.certificate.to_json()
    assert (apart.domain_pddl, apart.problem_pddl) == (here.domain_pddl, here.problem_pddl)
    for found, known in zip(
        (apart.certificate.solution.safe, apart.certificate.solution.unsafe),
        (here.certificate.solution.safe, here.certificate.solution.unsafe),
        strict=True,
    ):
        assert found is not None and known is not None
        assert [(a.name, a.args, a.text) for a in found] == [(a.name, a.args, a.text) for a in known]


def test_a_process_is_kept_and_what_it_raises_is_raised_here(small: Provers) -> None:
    first = pid_of(small)
    with pytest.raises(SearchLimitReached, match="0 expansions") as caught:
        small.run(DRAFT_LIMIT, prove, soup_document(), 0)
    assert caught.value.remedy
    with pytest.raises(ZeroDivisionError):
        small.run(DRAFT_LIMIT, divmod, 1, 0)
    assert pid_of(small) == first != os.getpid()


@pytest.mark.parametrize(
    ("work", "args", "words"),
    [
        (bytes, (200 * MB,), "more than 100 MB"),
        (sum, (range(10**12),), "more than 1 s of processor time"),
        (bytes, (65 * MB,), "longer than 64 MB|more than 100 MB"),
        (os.abort, (), f"status -{signal.SIGABRT.value}"),
    ],
)
def test_what_takes_too_much_is_ended_and_said_to_be_a_bug(small: Provers, work, args, words) -> None:
    first = pid_of(small)
    with pytest.raises(ProofKilled, match=words) as caught:
        small.run(DRAFT_LIMIT, work, *args)
    assert "a bug in hazardmill" in caught.value.message and "report" in caught.value.remedy
    assert pid_of(small) != first


def test_an_answer_that_is_too_long_is_not_handed_over(roomy: Provers) -> None:
    with pytest.raises(ProofKilled, match="longer than 64 MB"):
        roomy.run(DRAFT_LIMIT, bytes, 65 * MB)


def test_a_process_that_was_ended_while_idle_costs_no_proof(small: Provers) -> None:
    pid = pid_of(small)
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert small.run(DRAFT_LIMIT, divmod, 7, 2) == (3, 1)


def test_a_process_that_keeps_much_of_its_work_is_replaced(roomy: Provers) -> None:
    first = pid_of(roomy)
    roomy.run(DRAFT_LIMIT, atexit.register, print, bytes(80 * MB))
    assert roomy.run(DRAFT_LIMIT, divmod, 7, 2) == (3, 1)
    assert pid_of(roomy) != first


def test_threads_share_a_few_processes(small: Provers) -> None:
    barrier = threading.Barrier(4)

    def ask(_: int) -> int:
        barrier.wait()
        return pid_of(small)

    with ThreadPoolExecutor(4) as pool:
        pids = set(pool.map(ask, range(4)))
    assert 1 <= len(pids) <= (os.cpu_count() or 1)
    small.close()
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
