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
from hazardmill.run_options import ExchangeFormat
from hazardmill.runs.resources import RunResources
from hazardmill.runs.run import Run
from hazardmill.store.store import Store
from tests.running import worked
from tests.runs.batching import backend, state
from tests.runs.test_batches import ordinary as ordinary
from tests.runs.test_batches import ordinary_store as ordinary_store
from tests.runs.test_run import config


class Exchange:
    """A run by an exchange folder, and somebody who answers its files."""

    def __init__(self, store: Store, folder: Path, exchange_format: ExchangeFormat = "openai") -> None:
        self.store, self.folder, self.format = store, folder, exchange_format
        self.asked: ScriptedBackend = backend()
        self.resources = RunResources(backend=lambda access, store: self.asked)

    def start(self, notes: Path, run_id: str = "run", **fields: Any) -> Run:
        given = {"exchange": self.folder, "exchange_format": self.format, "backend": "litellm", **fields}
        made = config(notes, **given)
        run, _ = Run.start(self.store, made, run_id, resources=self.resources)
        return run

    def go_on(self, **changes: Any) -> bool:
        """One session, with changed settings if any are given; whether the run still waits."""
        run = Run.load(self.store, "run", self.resources)
        if changes:
            run = run.resume(run.config.model_copy(update=changes))
        try:
            worked(run)
        except RunWaiting:
            return True
        return False

    def answers(self) -> dict[str, list[str]]:
        """Whole answer lines to every open file, by its name."""
        return {
            f"answers-{batch.name[-4:]}{'.json' if self.format == 'eai' else '.jsonl'}": [
                self._answer(identity, line.request) for identity, line in batch.lines.items()
            ]
            for batch in open_batches_of(self.store, "run")
        }

    def _answer(self, identity: str, request: Any) -> str:
        said = asyncio.run(self.asked.complete(request))
        if self.format == "eai":
            return json.dumps({"identifier": identity, "llm_output": said.text})
        return answer_line(identity, said.text, said.model_answered, tokens=(1000, 100))

    def write(self, change: Callable[[list[str]], str]) -> None:
        for name, lines in self.answers().items():
            file = self.folder / name
            before = file.read_text() if file.exists() else ""
            file.write_text(before + change(lines))

    def write_array(self, change: Callable[[list[str]], list[str]]) -> None:
        """Write the files of answers anew, as somebody does who answers what is still open."""
        for name, entries in self.answers().items():
            (self.folder / name).write_text(f"[{','.join(change(entries))}]")


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


ARRAYS: dict[str, Callable[[list[str]], list[str]]] = {
    "all at once": lambda entries: entries,
    "a part at a time": lambda entries: entries[: max(1, len(entries) // 2)],
    "twice, with rubbish between": lambda entries: [*entries, "1", "{}", *reversed(entries)],
}


@pytest.mark.parametrize(
    "way", [way if way == "a part at a time" else pytest.param(way, marks=pytest.mark.full) for way in ARRAYS]
)
def test_arrays_of_eai_give_what_single_requests_give(
    store: Store, tmp_path: Path, notes: Path, ordinary: dict[str, str], way: str
) -> None:
    exchange = Exchange(store, tmp_path / "exchange", "eai")
    exchange.start(notes)
    while exchange.go_on():
        assert state(store) == "waiting"
        # A file that is written anew has the open answers only: the booked ones are not needed again.
        exchange.write_array(ARRAYS[way])
    assert state(store) == "completed"
    assert store.digest() == ordinary
    answered = store.rows("llm_calls", {"answered": True})
    assert len({row["identity"] for row in answered}) == len(answered) > 0
    unknown = ("prompt_tokens", "completion_tokens", "cached_tokens", "usd")
    assert {row[name] for row in answered for name in unknown} == {None}
    assert {row["model_answered"] for row in answered} == {"toy"}
    assert not list(exchange.folder.glob("*.jsonl"))


def test_the_first_answer_that_was_booked_stays_and_another_one_is_told(
    store: Store, tmp_path: Path, notes: Path, caplog: pytest.LogCaptureFixture
) -> None:
    exchange = Exchange(store, tmp_path / "exchange", "eai")
    exchange.start(notes)
    assert exchange.go_on()
    ((name, entries),) = exchange.answers().items()
    (exchange.folder / name).write_text(f"[{entries[0]}]")
    assert exchange.go_on()
    booked = store.rows("llm_calls", {"answered": True}, ["identity", "answer"])
    changed = {**json.loads(entries[0]), "llm_output": "something else"}
    (exchange.folder / name).write_text(json.dumps([changed, json.loads(entries[1])]))
    assert exchange.go_on()
    (said,) = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert f"element 1 differs from the answer to {booked[0]['identity']} that is already recorded, which stays" in said
    assert str(exchange.folder) in said and "start another run with a folder of its own" in said
    after = store.rows("llm_calls", {"answered": True}, ["identity", "answer"])
    assert len(after) == 2 and booked[0] in after


def test_an_answer_after_a_booked_error_is_pointed_to_the_later_file(
    exchange: Exchange, notes: Path, caplog: pytest.LogCaptureFixture
) -> None:
    exchange.start(notes)
    assert exchange.go_on()
    ((name, lines),) = exchange.answers().items()
    busy = response_line(json.loads(lines[0])["custom_id"], {"error": {"message": "busy", "type": "x"}}, status=503)
    (exchange.folder / name).write_text(busy + lines[1])
    assert exchange.go_on()
    assert caplog.records == []
    (exchange.folder / name).write_text(lines[0] + lines[1] + lines[2])
    assert exchange.go_on()
    (said,) = [record.getMessage() for record in caplog.records]
    assert "line 1 comes too late for" in said and "answer it in the later file" in said


@pytest.mark.parametrize("begun", ["openai", "eai"])
def test_a_run_keeps_the_format_of_its_folder(store: Store, tmp_path: Path, notes: Path, begun: ExchangeFormat) -> None:
    other: ExchangeFormat = "eai" if begun == "openai" else "openai"
    exchange = Exchange(store, tmp_path / "exchange", begun)
    exchange.start(notes)
    assert exchange.go_on()
    with pytest.raises(SettingsError, match=f"has the format {begun}, but {other} was asked for"):
        exchange.go_on(exchange_format=other)
    # What was asked in the old folder is read there, and the rest is asked in the new one.
    elsewhere = tmp_path / "elsewhere"
    exchange.write_array(lambda entries: entries) if begun == "eai" else exchange.write("".join)
    assert exchange.go_on(exchange=elsewhere, exchange_format=other)
    suffix = ".json" if other == "eai" else ".jsonl"
    assert [file.name for file in elsewhere.glob("requests-*")] == [f"requests-0002{suffix}"]


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

    with pytest.raises(SettingsError, match="belongs to run run, and this is run other") as caught:
        asyncio.run(work())
    assert "a folder of its own with --exchange" in str(caught.value.remedy)
    assert caught.value.file == str(exchange.folder / "exchange.json")


def test_a_budget_and_a_batch_beside_it_are_refused(exchange: Exchange, notes: Path) -> None:
    with pytest.raises(UsageError, match="a budget cannot be kept with an exchange folder"):
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
