"""Runs whose requests travel as files: the same rows, in whatever order and parts the answers come."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from factories.batch_answers import answer_line, response_line
from factories.scripted import ScriptedBackend

from hazardmill.errors import ProviderError, RunWaiting, SettingsError, UsageError
from hazardmill.llm.batches.sent import open_batches_of
from hazardmill.runs.resources import RunResources
from hazardmill.runs.run import Run
from hazardmill.store.store import Store
from tests.running import worked
from tests.runs.batching import backend, state
from tests.runs.test_batches import ordinary as ordinary
from tests.runs.test_run import config


class Exchange:
    """A run by an exchange folder, and somebody who answers its files."""

    def __init__(self, store: Store, folder: Path) -> None:
        self.store, self.folder = store, folder
        self.asked: ScriptedBackend = backend()
        self.resources = RunResources(backend=lambda access, store: self.asked)

    def start(self, notes: Path, run_id: str = "run", **fields: Any) -> Run:
        made = config(notes, exchange=self.folder, backend="litellm", **fields)
        run, _ = Run.start(self.store, made, run_id, resources=self.resources)
        return run

    def go_on(self) -> bool:
        """One session; whether the run still waits."""
        run = Run.load(self.store, "run", self.resources)

        try:
            worked(run)
        except RunWaiting:
            return True
        return False

    def answers(self) -> dict[str, list[str]]:
        """Whole answer lines to every open file, by its name."""
        return {
            f"answers-{batch.name[-4:]}.jsonl": [
                self._answer(identity, line.request) for identity, line in batch.lines.items()
            ]
            for batch in open_batches_of(self.store, "run")
        }

    def _answer(self, identity: str, request: Any) -> str:
        said = asyncio.run(self.asked.complete(request))
        return answer_line(identity, said.text, said.model_answered, tokens=(1000, 100))

    def write(self, change: Callable[[list[str]], str]) -> None:
        for name, lines in self.answers().items():
            file = self.folder / name
            before = file.read_text() if file.exists() else ""
            file.write_text(before + change(lines))


WAYS: dict[str, Callable[[list[str]], str]] = {
    "all at once": "".join,
    "backwards": lambda lines: "".join(reversed(lines)),
    "a part at a time": lambda lines: "".join(lines[: max(1, len(lines) // 2)]),
    "twice": lambda lines: "".join([*lines, *lines]),
    "the last line half written": lambda lines: "".join(lines[:-1]) + lines[-1][: 100 if len(lines) > 1 else None],
    "with rubbish between": lambda lines: "not JSON\n\n[1]\n" + "{}\n".join(lines),
}


@pytest.fixture
def exchange(store: Store, tmp_path: Path) -> Exchange:
    return Exchange(store, tmp_path / "exchange")


QUICK = ("a part at a time", "twice")


@pytest.mark.parametrize("way", [way if way in QUICK else pytest.param(way, marks=pytest.mark.full) for way in WAYS])
def test_it_gives_what_single_requests_give(
    exchange: Exchange,
    notes: Path,
    ordinary: dict[str, str],
    way: str,
) -> None:
    exchange.start(notes)
    for _ in range(60):
        if not exchange.go_on():
            break
        assert state(exchange.store) == "waiting"
        exchange.write(WAYS[way])
        if way == "the last line half written":
            # Whoever writes it goes on.
            if not exchange.go_on():
                break
            for file in exchange.folder.glob("answers-*.jsonl"):
                file.write_text("".join(line for line in file.read_text().splitlines(True) if line.endswith("\n")))
    assert state(exchange.store) == "completed"
    digest = exchange.store.digest()
    # Token counts come from the file here, and which of these are in an answer is volatile.
    assert digest == ordinary
    assert {row["channel"] for row in exchange.store.rows("llm_calls")} == {"exchange"}


def test_the_files_have_the_published_fields(exchange: Exchange, notes: Path) -> None:
    exchange.start(notes)
    assert exchange.go_on()
    (file,) = exchange.folder.glob("requests-*.jsonl")
    assert file.name == "requests-0001.jsonl"
    for text in file.read_text().splitlines():
        line = json.loads(text)
        assert set(line) == {"custom_id", "method", "url", "body"}
        assert (line["method"], line["url"]) == ("POST", "/v1/chat/completions")
        assert {"model", "messages"} <= set(line["body"])
        assert all(set(message) == {"role", "content"} for message in line["body"]["messages"])


def test_a_folder_belongs_to_one_run(exchange: Exchange, notes: Path) -> None:
    exchange.start(notes)
    assert exchange.go_on()
    other = exchange.start(notes, "other")

    async def work() -> None:
        async with other.session():
            raise AssertionError("it began")

    with pytest.raises(SettingsError, match="belongs to run run, and this is run other"):
        asyncio.run(work())


def test_a_budget_and_a_batch_beside_it_are_refused(exchange: Exchange, notes: Path) -> None:
    with pytest.raises(UsageError, match="a budget cannot be kept over an exchange folder"):
        exchange.start(notes, budget_usd=1.0)
    with pytest.raises(UsageError, match="not both"):
        exchange.start(notes, batch=True)


def test_a_key_that_is_refused_stops_the_run_while_other_lines_are_open(exchange: Exchange, notes: Path) -> None:
    exchange.start(notes)
    assert exchange.go_on()
    (asked,) = exchange.folder.glob("requests-*.jsonl")
    custom_id = json.loads(asked.read_text().splitlines()[0])["custom_id"]
    refused = response_line(custom_id, {"error": {"message": "no access", "type": "x"}}, status=403)
    (exchange.folder / "answers-0001.jsonl").write_text(refused)
    with pytest.raises(ProviderError, match="no access"):
        exchange.go_on()
    assert not (exchange.folder / "requests-0002.jsonl").exists()


def test_a_file_that_is_gone_is_asked_for(exchange: Exchange, notes: Path) -> None:
    exchange.start(notes)
    assert exchange.go_on()
    (exchange.folder / "requests-0001.jsonl").unlink()
    with pytest.raises(SettingsError, match="cannot be read") as caught:
        exchange.go_on()
    assert "put it back" in str(caught.value.remedy) and state(exchange.store) == "stopped"
