from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from factories.scripted import ScriptedBackend

from hazardmill.errors import ProviderDown
from hazardmill.generation.prompt_cache import Prefix, Warmup
from hazardmill.llm.requests import Answer, Request
from hazardmill.sandbox.jail import Jail
from hazardmill.store.store import Store

from .support import opened, record


def prefix(stage: str = "author", source: str = "notes", model: str = "toy") -> Prefix:
    return Prefix(stage, model, "hash", source)


class Line:
    """Asks that are under way until somebody lets them go, and what was going on when each began."""

    def __init__(self, warmup: Warmup) -> None:
        self.warmup = warmup
        self.begun: list[str] = []
        self.answered: list[str] = []
        self.under_way = 0
        self._ends: dict[str, asyncio.Future[None]] = {}

    def ask(self, name: str, of: Prefix) -> asyncio.Task[None]:
        self._ends[name] = asyncio.get_running_loop().create_future()
        return asyncio.create_task(self._ask(name, of))

    async def _ask(self, name: str, of: Prefix) -> None:
        async with self.warmup.turn(of):
            self.begun.append(name)
            self.under_way += 1
            try:
                await self._ends[name]
                self.answered.append(name)
            finally:
                self.under_way -= 1

    def answer(self, *names: str) -> None:
        for name in names:
            self._ends[name].set_result(None)

    def fail(self, name: str) -> None:
        self._ends[name].set_exception(ProviderDown("down"))


async def settle() -> None:
    """Let everything go on that can."""
    for _ in range(20):
        await asyncio.sleep(0)


def run(scenario: Callable[[Line], Awaitable[None]], enabled: bool = True) -> Line:
    async def main() -> Line:
        line = Line(Warmup(enabled))
        await scenario(line)
        return line

    return asyncio.run(main())


def test_the_first_is_answered_before_the_others_begin_and_then_all_go_at_once() -> None:
    async def scenario(line: Line) -> None:
        asks = [line.ask(name, prefix()) for name in "abcd"]
        await settle()
        assert line.begun == ["a"]
        line.answer("a")
        await settle()
        assert line.begun == ["a", "b", "c", "d"] and line.under_way == 3
        late = line.ask("e", prefix())
        await settle()
        assert line.under_way == 4
        line.answer(*"dcbe")
        await asyncio.gather(*asks, late)

    assert sorted(run(scenario).answered) == list("abcde")


@pytest.mark.parametrize("other", [prefix(stage="judge"), prefix(source="neiss"), prefix(model="toy-2")])
def test_another_prefix_waits_for_nobody(other: Prefix) -> None:
    async def scenario(line: Line) -> None:
        asks = [line.ask("a", prefix()), line.ask("b", other)]
        await settle()
        assert line.under_way == 2
        line.answer(*"ab")
        await asyncio.gather(*asks)

    run(scenario)


def test_where_the_first_fails_the_next_goes_alone() -> None:
    async def scenario(line: Line) -> None:
        first, *others = [line.ask(name, prefix()) for name in "abcd"]
        await settle()
        line.fail("a")
        await settle()
        assert line.begun == ["a", "b"] and line.under_way == 1
        with pytest.raises(ProviderDown):
            await first
        line.answer("b")
        await settle()
        assert line.under_way == 2
        line.answer(*"cd")
        await asyncio.gather(*others)

    assert run(scenario).answered == ["b", "c", "d"]


def test_where_the_first_is_cancelled_the_next_goes_alone() -> None:
    async def scenario(line: Line) -> None:
        first, *others = [line.ask(name, prefix()) for name in "abc"]
        await settle()
        first.cancel()
        await settle()
        assert first.cancelled()
        assert line.begun == ["a", "b"] and line.under_way == 1
        line.answer(*"bc")
        await asyncio.gather(*others)

    assert run(scenario).answered == ["b", "c"]


def test_one_who_waits_can_be_cancelled_and_is_passed_over() -> None:
    async def scenario(line: Line) -> None:
        asks = [line.ask(name, prefix()) for name in "abc"]
        await settle()
        asks[1].cancel()
        await settle()
        assert asks[1].cancelled() and line.under_way == 1
        line.answer(*"ac")
        await asyncio.gather(asks[0], asks[2])

    assert run(scenario).begun == ["a", "c"]


def test_all_may_be_cancelled_and_a_later_one_still_goes() -> None:
    async def scenario(line: Line) -> None:
        asks = [line.ask(name, prefix()) for name in "abc"]
        await settle()
        for each in asks:
            each.cancel()
        await settle()
        late = line.ask("d", prefix())
        await settle()
        assert line.begun == ["a", "d"]
        line.answer("d")
        await late

    run(scenario)


def test_without_warmup_nobody_waits() -> None:
    async def scenario(line: Line) -> None:
        asks = [line.ask(name, prefix()) for name in "abc"]
        await settle()
        assert line.under_way == 3
        line.answer(*"abc")
        await asyncio.gather(*asks)

    run(scenario, enabled=False)


def test_what_the_ledger_answers_does_not_wait_and_warms_nothing(store: Store, jail: Jail) -> None:
    with opened(store, ScriptedBackend(extract="text"), jail) as mill:
        known, *rest = [
            mill.request("extract", mill.prompts.extract, record(number), guidance=None) for number in range(4)
        ]
        asyncio.run(mill.ask(known))
    most = under_way = 0

    async def said(request: Request) -> str:
        nonlocal most, under_way
        under_way += 1
        most = max(most, under_way)
        first = [asked.record_id for asked in backend.asked] == [rest[0].record_id]
        await settle()
        assert not first or under_way == 1, "the first that is sent goes alone"
        under_way -= 1
        return "text"

    async def ask_all(ask: Callable[[Request], Awaitable[Answer]]) -> None:
        await asyncio.gather(*map(ask, [known, *rest]))

    backend = ScriptedBackend(extract=said)
    with opened(store, backend, jail) as mill:
        asyncio.run(ask_all(mill.ask))
    assert backend.count() == 3 and most == 2


def test_what_is_turned_away_warms_nothing() -> None:
    async def scenario(line: Line) -> None:
        async with line.warmup.turn(prefix()) as turn:
            turn.warms = False
        asks = [line.ask(name, prefix()) for name in "ab"]
        await settle()
        assert line.under_way == 1
        line.answer("a")
        await settle()
        line.answer("b")
        await asyncio.gather(*asks)

    run(scenario)


def test_the_mill_asks_one_of_each_source_first(store: Store, jail: Jail) -> None:
    log: list[tuple[str, str]] = []

    async def said(request: Request) -> str:
        log.append(("begun", str(request.record_id)))
        await settle()
        log.append(("ended", str(request.record_id)))
        return "text"

    async def ask_all(ask: Callable[[Request], Awaitable[Answer]], requests: list[Request]) -> None:
        await asyncio.gather(*map(ask, requests))

    with opened(store, ScriptedBackend(extract=said), jail) as mill:
        prompt = mill.prompts.extract
        records = [record(number, source=source) for number in range(3) for source in ("notes", "neiss")]
        requests = [mill.request("extract", prompt, each, guidance=None) for each in records]
        asyncio.run(ask_all(mill.ask, requests))
    for source in ("notes", "neiss"):
        own = [what for what, record_id in log if record_id.startswith(source)]
        assert own == ["begun", "ended", "begun", "begun", "ended", "ended"]
