from __future__ import annotations

import asyncio

import pytest
from factories.scripted import ScriptedBackend

from hazardmill.errors import ConnectionFailed, NotRecorded, RunStopped
from hazardmill.generation.prompt_cache import Warmup
from hazardmill.generation.wave import Room, Wave
from hazardmill.llm.requests import Request
from hazardmill.records import Outcome
from hazardmill.sandbox.jail import Jail
from hazardmill.store.store import Store

from .support import APPROVED, FOUND, NONE, SOUP, THINGS, faulty, fenced, opened, record, soup


def number_of(request: Request) -> int:
    return int(str(request.record_id).rpartition(":")[2])


def scripted(**script: object) -> ScriptedBackend:
    default = {"extract": FOUND, "author": lambda request: fenced(soup(THINGS[number_of(request) - 1]))}
    return ScriptedBackend(**({**default, "judge": APPROVED} | script))


def stages_asked(backend: ScriptedBackend) -> list[tuple[str, int]]:
    return [(request.stage, number_of(request)) for request in backend.asked]


def test_every_record_ends_a_stage_before_any_begins_the_next(store: Store, jail: Jail) -> None:
    backend = scripted(author=lambda request: fenced(SOUP if request.key.draft == 2 else faulty("syntax")))
    with opened(store, backend, jail) as context:
        wave = Wave(1, [record(1), record(2), record(3)], context, Room(4, context.client.close))

        async def work() -> None:
            await wave.extract()
            while wave.left:
                await wave.author()
                await wave.execute()
                await wave.judge()

        asyncio.run(work())
    stages = [request.stage for request in backend.asked]
    assert stages == ["extract"] * 3 + ["author"] * 6 + ["judge"] * 3
    drafts = [request.key.draft for request in backend.asked if request.stage == "author"]
    assert drafts == [1, 1, 1, 2, 2, 2]
    assert [work.result().outcome for work in wave.works] == [Outcome.ACCEPTED] * 3


def test_records_that_need_no_draft_are_not_asked_about_again(store: Store, jail: Jail) -> None:
    backend = scripted(extract=lambda request: NONE if number_of(request) == 2 else FOUND)
    with opened(store, backend, jail) as context:
        wave = Wave(1, [record(1), record(2)], context, Room(4, context.client.close))
        asyncio.run(wave.extract())
        assert [work.record.record_id for work in wave.left] == [record(1).record_id]
        assert [work.is_finished for work in wave.works] == [False, True]
        assert wave.finished == ()
        asyncio.run(wave.author())
    assert ("author", 2) not in stages_asked(backend)
    assert [work.record.record_id for work in wave.drafted] == [record(1).record_id]


def test_a_record_without_a_recorded_answer_stays_pending_and_holds_up_nobody(store: Store, jail: Jail) -> None:
    def extract(request: Request) -> str | Exception:
        return NotRecorded("no answer", record_id=request.record_id) if number_of(request) == 1 else FOUND

    with opened(store, scripted(extract=extract), jail) as context:
        wave = Wave(1, [record(1), record(2)], context, Room(4, context.client.close))
        asyncio.run(wave.extract())
    first, second = wave.works
    assert isinstance(first.unrecorded, NotRecorded) and first.is_finished and not first.needs_draft
    assert second.needs_draft and wave.finished == (first,)


def test_a_stage_that_failed_does_what_is_left_when_it_is_called_again(store: Store, jail: Jail) -> None:
    broken = [ConnectionFailed("reset")]

    def extract(request: Request) -> str | Exception:
        return broken.pop() if broken and number_of(request) == 2 else FOUND

    backend = scripted(extract=extract)
    with opened(store, backend, jail, max_attempts=1) as context:
        room = Room(1, context.client.close)
        wave = Wave(1, [record(1), record(2), record(3), record(4)], context, room)

        async def work() -> None:
            with pytest.raises(ConnectionFailed):
                await wave.extract()
            room.begin(1)
            context.client.reopen()
            await wave.extract()

        asyncio.run(work())
    assert all(work.extraction is not None for work in wave.works)
    assert stages_asked(backend).count(("extract", 1)) == 1


def test_a_wave_that_failed_ends_later_ones_and_closes_the_client_once_it_is_due(store: Store, jail: Jail) -> None:
    closed: list[None] = []
    backend = scripted(extract=lambda request: ConnectionFailed("reset") if number_of(request) == 2 else FOUND)
    with opened(store, backend, jail, max_attempts=1) as context:
        room = Room(4, lambda: closed.append(None))
        first, second, third = (Wave(number, [record(number)], context, room) for number in (1, 2, 3))

        async def work() -> None:
            with pytest.raises(ConnectionFailed):
                await second.extract()
            assert not closed
            with pytest.raises(RunStopped, match="an earlier wave"):
                await third.extract()
            # What comes before it can still be committed.
            await first.extract()
            room.committed(1)
            assert closed

        asyncio.run(work())
    assert ("extract", 3) not in stages_asked(backend)


def test_a_bug_is_raised_and_not_the_cancellations_that_follow_from_it(store: Store, jail: Jail) -> None:
    async def extract(request: Request) -> str:
        if number_of(request) == 3:
            raise ZeroDivisionError
        await asyncio.sleep(3600)
        return FOUND

    with opened(store, scripted(extract=extract), jail, warmup=Warmup(enabled=False)) as context:
        wave = Wave(1, [record(1), record(2), record(3)], context, Room(4, context.client.close))
        with pytest.raises(ZeroDivisionError):
            asyncio.run(wave.extract())


@pytest.mark.parametrize("stage", ["author", "judge"])
def test_a_draft_without_a_recorded_answer_leaves_its_record_pending(stage: str, store: Store, jail: Jail) -> None:
    def answer(request: Request) -> str | Exception:
        if number_of(request) == 1:
            return NotRecorded("no answer", record_id=request.record_id)
        return APPROVED if stage == "judge" else fenced(SOUP)

    with opened(store, scripted(**{stage: answer}), jail) as context:
        wave = Wave(1, [record(1), record(2)], context, Room(4, context.client.close))

        async def work() -> None:
            await wave.extract()
            await wave.author()
            await wave.execute()
            await wave.judge()

        asyncio.run(work())
    first, second = wave.works
    assert isinstance(first.unrecorded, NotRecorded) and first.attempts == [] and not wave.left
    assert second.result().outcome is Outcome.ACCEPTED
