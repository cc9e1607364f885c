"""The same records by the command line, the flow and shards have equal digests, wherever a process was killed.

A write, an fsync and a request of each way, which are drawn; ``benchmarks/soak.py --kills`` takes more.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.drawn_kills import WAYS, Mill, UndisturbedRun, mill
from e2e.killed_anywhere import KINDS
from tests.prefect_database import empty_database
from tests.sizes import sized

pytestmark = [pytest.mark.full, pytest.mark.timeout(300)]

SEED = 13
POINTS = sized(3, 5)


@pytest.fixture(scope="module")
def works(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mill]:
    with mill(project, tmp_path_factory.mktemp("prefect"), empty_database(tmp_path_factory)) as works:
        yield works


@pytest.fixture(scope="module")
def undisturbed(works: Mill, tmp_path_factory: pytest.TempPathFactory) -> dict[str, UndisturbedRun]:
    folder = tmp_path_factory.mktemp("undisturbed")
    return {way: works.undisturbed(way, folder / way) for way in WAYS}


def test_the_same_records_have_equal_digests_by_all_ways(undisturbed: dict[str, UndisturbedRun]) -> None:
    assert undisturbed["flow"].digest == undisturbed["cli"].digest
    assert undisturbed["shards"].content == undisturbed["flow"].content == undisturbed["cli"].content


@pytest.mark.parametrize("way", WAYS)
def test_every_kind_of_point_is_passed(way: str, undisturbed: dict[str, UndisturbedRun]) -> None:
    for passed in undisturbed[way].passed.values():
        assert passed.keys() == {kind for kinds in KINDS.values() for kind in kinds}
        assert min(passed.values()) >= 2 * POINTS


@pytest.mark.parametrize("number", range(POINTS))
@pytest.mark.parametrize("way", WAYS)
def test_killed_at_a_drawn_point(
    way: str, number: int, works: Mill, undisturbed: dict[str, UndisturbedRun], tmp_path: Path
) -> None:
    whole = undisturbed[way]
    verdict = works.kill(way, whole.draw(POINTS, f"{SEED} {way}")[number], whole, tmp_path / "killed")
    print(verdict)
    assert verdict.wrong == []
    assert verdict.equal and not verdict.twice
