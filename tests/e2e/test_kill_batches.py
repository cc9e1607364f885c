"""Runs by batches and by an exchange folder end alike, wherever their process was killed.

A write, an fsync and a call about a batch of each way, which are drawn; ``benchmarks/soak.py --kills`` takes more.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.drawn_batch_kills import WAYS, BatchMill
from e2e.drawn_kills import UndisturbedRun
from e2e.keeper import keeping
from e2e.killed_anywhere import KINDS_OF_BATCHES
from tests.sizes import sized

pytestmark = [pytest.mark.full, pytest.mark.timeout(300)]

SEED = 5
POINTS = sized(3, 5)


@pytest.fixture(scope="module")
def works(project: Path) -> Iterator[BatchMill]:
    with keeping("e2e.killed_anywhere", {}) as keeper:
        yield BatchMill(project, keeper)


@pytest.fixture(scope="module")
def undisturbed(works: BatchMill, tmp_path_factory: pytest.TempPathFactory) -> dict[str, UndisturbedRun]:
    folder = tmp_path_factory.mktemp("undisturbed")
    return {way: works.undisturbed(way, folder / way) for way in WAYS}


def test_both_ways_have_the_same_digest(undisturbed: dict[str, UndisturbedRun]) -> None:
    assert undisturbed["batch"].digest == undisturbed["exchange"].digest


@pytest.mark.parametrize("way", WAYS)
def test_every_kind_of_point_is_passed(way: str, undisturbed: dict[str, UndisturbedRun]) -> None:
    (passed,) = undisturbed[way].passed.values()
    expected = {kind for kinds in KINDS_OF_BATCHES.values() for kind in kinds}
    assert passed.keys() == {kind for kind in expected if way == "batch" or not kind.startswith("upload")}


@pytest.mark.parametrize("number", range(POINTS))
@pytest.mark.parametrize("way", WAYS)
def test_killed_at_a_drawn_point(
    way: str, number: int, works: BatchMill, undisturbed: dict[str, UndisturbedRun], tmp_path: Path
) -> None:
    whole = undisturbed[way]
    verdict = works.kill(way, whole.draw(POINTS, f"{SEED} {way}")[number], whole, tmp_path / "killed")
    print(verdict)
    assert verdict.wrong == []
