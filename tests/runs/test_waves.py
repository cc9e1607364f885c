from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from hazardmill.errors import ProviderDown
from hazardmill.generation.wave import Room
from hazardmill.runs.waves import WaveStages, WaveStep, run_waves, wave_size


@pytest.mark.parametrize(
    ("records", "size"), [(1, 25), (200, 25), (201, 26), (2_000, 250), (8_000, 1_000), (400_000, 1_000)]
)
def test_a_run_has_about_eight_waves_of_at_most_a_thousand_records(records: int, size: int) -> None:
    assert wave_size(records) == size


class Stages:
    """Stages that note what they are called for. Every wave needs as many drafts as its number."""

    def __init__(self, before: Callable[[str, int], Any] = lambda stage, wave: None) -> None:
        self.noted: list[tuple[str, int]] = []
        self.under_way: set[int] = set()
        self.most = 0
        self._before = before

    def all(self) -> WaveStages:
        return WaveStages(*(self._stage(name) for name in ("extract", "author", "execute", "judge", "commit")))

    def _stage(self, name: str) -> Callable[[WaveStep], Any]:
        async def stage(step: WaveStep) -> WaveStep:
            self.under_way.add(step.wave)
            self.most = max(self.most, len(self.under_way))
            waits = self._before(name, step.wave)
            await (waits if waits is not None else asyncio.sleep(0))
            self.noted.append((name, step.wave))
            if name == "commit":
                self.under_way.remove(step.wave)
            draft = step.draft + (name == "author")
            left = [] if name == "judge" and draft == step.wave else ["a record"]
            return WaveStep(wave=step.wave, draft=draft, left=left)

        return stage

    def of(self, wave: int) -> list[str]:
        return [stage for stage, number in self.noted if number == wave]


def room() -> Room:
    return Room(1, lambda: None)


def steps(number: int) -> list[WaveStep]:
    return [WaveStep(wave=wave, left=["a record"]) for wave in range(1, number + 1)]


def test_a_wave_goes_through_the_stages_until_no_record_is_left() -> None:
    stages = Stages()
    asyncio.run(run_waves(stages.all(), steps(3), room()))
    for wave in (1, 2, 3):
        assert stages.of(wave) == ["extract", *["author", "execute", "judge"] * wave, "commit"]


def test_waves_overlap_and_are_committed_in_order() -> None:
    later = asyncio.Event()

    def before(stage: str, wave: int) -> Any:
        if (stage, wave) == ("judge", 4):
            later.set()
        return later.wait() if (stage, wave) == ("author", 1) else None

    stages = Stages(before)
    asyncio.run(run_waves(stages.all(), steps(4), room()))
    assert [wave for stage, wave in stages.noted if stage == "commit"] == [1, 2, 3, 4]


@pytest.mark.parametrize("at_once", [1, 2, 5])
def test_no_more_waves_than_allowed_are_under_way(at_once: int) -> None:
    stages = Stages()
    asyncio.run(run_waves(stages.all(), steps(5), room(), at_once))
    assert stages.most == at_once and len(stages.of(5)) == 17


@pytest.mark.parametrize("error", [ZeroDivisionError("a bug"), ProviderDown("503")])
def test_waves_before_the_one_that_failed_are_committed_and_none_after_it(error: Exception) -> None:
    def before(stage: str, wave: int) -> Any:
        if (stage, wave) == ("extract", 3):
            raise error
        return None

    stages = Stages(before)
    with pytest.raises(type(error)) as raised:
        asyncio.run(run_waves(stages.all(), steps(5), room()))
    assert raised.value is error
    assert [wave for stage, wave in stages.noted if stage == "commit"] == [1, 2]


def test_when_the_provider_fails_other_waves_end_by_themselves_and_after_a_bug_they_are_cancelled() -> None:
    ended: list[str] = []

    async def slow() -> None:
        try:
            await asyncio.sleep(0.05)
            ended.append("ended")
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    async def fail(error: Exception) -> None:
        await asyncio.sleep(0)
        raise error

    for error in (ProviderDown("503"), ZeroDivisionError()):

        def before(stage: str, wave: int, error: Exception = error) -> Any:
            return slow() if wave == 2 and stage == "extract" else fail(error) if wave == 1 else None

        with pytest.raises(type(error)):
            asyncio.run(run_waves(Stages(before).all(), steps(2), room()))
    assert ended == ["ended", "cancelled"]


@pytest.mark.parametrize("error", [ZeroDivisionError("a bug"), ProviderDown("503")])
def test_no_wave_is_begun_once_one_has_failed(error: Exception) -> None:
    """Whatever failed: what comes after it would only be paid for, and read into memory."""

    def before(stage: str, wave: int) -> Any:
        if (stage, wave) == ("extract", 2):
            raise error
        return asyncio.sleep(0.01) if wave == 1 else None

    stages = Stages(before)
    with pytest.raises(type(error)):
        asyncio.run(run_waves(stages.all(), steps(9), room(), 2))
    assert {wave for _, wave in stages.noted} == {1}
