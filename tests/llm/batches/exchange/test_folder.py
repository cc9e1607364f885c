"""Exchange folders in both formats: what is written, what is read, and what is said about answers that do not count."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest
from factories.batch_answers import answer_line, response_line

from hazardmill.errors import AnswerTooLarge, RequestRefused, SettingsError
from hazardmill.llm.batches.exchange.folder import OWNER, ExchangeFolder, format_begun
from hazardmill.llm.batches.provider import BatchLine, BatchState, BatchStatus, LineResult
from hazardmill.llm.requests import Completion, Usage
from tests.llm.conftest import request

MODEL = "openai/toy"
NAME = "0a1b2c3d-run-0001"
IDS = ["aa" * 32, "bb" * 32, "cc" * 32]
LINES = [BatchLine(name, request(f"What about {name[:2]}?", model=MODEL)) for name in IDS]

Format = Literal["openai", "eai"]
SUFFIX: dict[Format, str] = {"openai": ".jsonl", "eai": ".json"}
BOTH = pytest.mark.parametrize("kind", SUFFIX)


class Answered:
    """A folder with three requests, and somebody who answers them."""

    def __init__(self, place: Path, kind: Format, **more: Any) -> None:
        self.place, self.kind = place, kind
        self.folder = ExchangeFolder(place, MODEL, "run", exchange_format=kind, **more)
        self.file = asyncio.run(self.folder.create(NAME, LINES))
        self.answers = place / f"answers-0001{SUFFIX[kind]}"

    def entry(self, name: str, text: str) -> str:
        """An answer as it stands in the file."""
        if self.kind == "openai":
            return answer_line(name, text, "toy")
        return json.dumps({"identifier": name, "llm_output": text}) + "\n"

    def write(self, *entries: str) -> None:
        """Write a file of answers from whole entries."""
        self.answers.write_text("".join(entries) if self.kind == "openai" else f"[{','.join(entries)}]")

    def look(self) -> tuple[BatchStatus, dict[str, str | None]]:
        """One look at the folder, as a run takes it."""

        async def results() -> list[LineResult]:
            return [result async for result in self.folder.results(self.file, LINES)]

        status = asyncio.run(self.folder.status(self.file))
        found = asyncio.run(results())
        assert len({each.custom_id for each in found}) == len(found) == status.answered
        return status, {each.custom_id: each.completion and each.completion.text for each in found}


@pytest.fixture
def answered(tmp_path: Path, kind: Format) -> Answered:
    return Answered(tmp_path / "exchange", kind)


@pytest.fixture
def warnings(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    """What was warned of since the last call."""
    caplog.set_level(logging.WARNING)

    def take() -> list[str]:
        found = [record.getMessage() for record in caplog.records]
        caplog.clear()
        return found

    return take


def test_files_of_eai_hold_identifiers_and_one_text_each(tmp_path: Path) -> None:
    asked = Answered(tmp_path / "one", "eai")
    written = (asked.place / "requests-0001.json").read_bytes()
    assert json.loads(written) == [
        {"identifier": line.custom_id, "llm_prompt": f"Be careful.\n\nWhat about {line.custom_id[:2]}?"}
        for line in LINES
    ]
    assert (Answered(tmp_path / "two", "eai").place / "requests-0001.json").read_bytes() == written
    assert sum(map(asked.folder.size, LINES)) == pytest.approx(len(written), abs=4)


def test_a_parameter_that_a_request_must_not_set_is_refused_in_both_formats(tmp_path: Path) -> None:
    wrong = BatchLine(IDS[0], request(model=MODEL, parameters={"n": 2}))
    for kind in SUFFIX:
        folder = ExchangeFolder(tmp_path / kind, MODEL, "run", exchange_format=kind)
        with pytest.raises(RequestRefused):
            asyncio.run(folder.create(NAME, [wrong]))


def test_an_answer_of_eai_has_no_usage_and_the_model_that_was_asked(tmp_path: Path) -> None:
    asked = Answered(tmp_path, "eai")
    asked.write(asked.entry(IDS[0], "Hot \ud800 stove"), asked.entry(IDS[1], ""))

    async def results() -> list[Completion | None]:
        return [each.completion async for each in asked.folder.results(asked.file, LINES)]

    assert asyncio.run(results()) == [
        Completion(text=text, model_answered=MODEL, finish_reason="stop", usage=Usage()) for text in ("Hot � stove", "")
    ]
    assert Usage().prompt_tokens is None


def test_an_answer_of_eai_that_is_too_long_is_an_error(tmp_path: Path) -> None:
    asked = Answered(tmp_path, "eai", max_answer_bytes=10)
    asked.write(asked.entry(IDS[0], "ten bytes!"), asked.entry(IDS[1], "eleven byte"))

    async def results() -> dict[str, LineResult]:
        return {each.custom_id: each async for each in asked.folder.results(asked.file, LINES)}

    found = asyncio.run(results())
    assert found[IDS[0]].completion is not None
    assert isinstance(found[IDS[1]].error, AnswerTooLarge) and found[IDS[1]].charged


@BOTH
def test_answers_come_in_any_order_and_in_parts(answered: Answered, warnings: Callable[[], list[str]]) -> None:
    assert answered.look() == (BatchStatus(BatchState.RUNNING, 0, answered_early=False), {})
    last, second, first = (answered.entry(name, name[:2]) for name in reversed(IDS))
    answered.write(last, second)
    status, found = answered.look()
    assert (status.state, found) == (BatchState.RUNNING, {IDS[2]: "cc", IDS[1]: "bb"})
    answered.write(last, second, first, second)
    status, found = answered.look()
    assert (status.state, len(found)) == (BatchState.ENDED, 3)
    assert warnings() == []


@BOTH
def test_what_does_not_count_is_said_once_with_place_and_remedy_and_the_rest_counts(
    answered: Answered, warnings: Callable[[], list[str]]
) -> None:
    wrong = {"openai": ["not JSON\n", "[1]\n"], "eai": ["1", '{"identifier": 1, "llm_output": "x"}']}[answered.kind]
    answered.write(
        answered.entry(IDS[0], "first"),
        *wrong,
        answered.entry("dd" * 32, "nobody asked"),
        answered.entry(IDS[0], "second"),
        answered.entry(IDS[1], "good"),
    )
    status, found = answered.look()
    assert (status.state, found) == (BatchState.RUNNING, {IDS[0]: "first", IDS[1]: "good"})
    said = warnings()
    path, word = str(answered.answers), {"openai": "line", "eai": "element"}[answered.kind]
    field = {"openai": "custom_id", "eai": "identifier"}[answered.kind]
    assert all(path in line for line in said) and len(said) == 5
    unread = [f"{path}:2: the line is", f"{path}:3: the line is"]
    assert all(
        begin in line
        for begin, line in zip(
            unread
            if answered.kind == "openai"
            else ["element 2 is not an object", "element 3 has no string `identifier`"],
            said,
            strict=False,
        )
    )
    assert f"{word} 4 does not answer any request of {answered.file}: its `{field}` is '{'dd' * 32}'" in said[2]
    assert f"[copy `{field}` from {answered.file};" in said[2] and "another version of the prompt" in said[2]
    assert f"{word} 5 answers {IDS[0]} differently from {word} 1, which counts" in said[3]
    assert "4 answers are left out: 2 unreadable, 1 to unknown prompts, 1 doubled; all others are used" in said[4]
    assert all(line.endswith("]") for line in said[:4])
    for _ in range(3):
        assert answered.look()[1] == found
    assert warnings() == []


@BOTH
def test_a_half_written_file_is_waited_for_with_one_warning(
    answered: Answered, warnings: Callable[[], list[str]]
) -> None:
    entries = [answered.entry(name, "answer " * 9) for name in IDS]
    answered.write(*entries)
    whole = answered.answers.read_text()
    for end in (len(whole) - 30, len(whole) - 20, len(whole) - 10):
        answered.answers.write_text(whole[:end])
        status, found = answered.look()
        assert (status.state, len(found)) == (BatchState.RUNNING, 2 if answered.kind == "openai" else 0)
    (said,) = warnings()
    assert str(answered.answers) in said and "if it is still being written, wait" in said
    answered.answers.write_text(whole)
    assert answered.look()[0].state is BatchState.ENDED
    assert warnings() == []


@pytest.mark.parametrize("text", ["{}", '"identifier"', "null"])
def test_a_file_of_eai_that_is_no_array_is_named(tmp_path: Path, warnings: Callable[[], list[str]], text: str) -> None:
    asked = Answered(tmp_path, "eai")
    asked.answers.write_text(text)
    assert asked.look()[1] == {}
    (said,) = warnings()
    assert (
        said == f"{asked.answers}: it is not an array [write one array of objects with `identifier` and `llm_output`]"
    )


@BOTH
def test_answers_in_a_file_of_the_other_format_are_pointed_to(
    answered: Answered, warnings: Callable[[], list[str]]
) -> None:
    wrong = answered.answers.with_suffix({"openai": ".json", "eai": ".jsonl"}[answered.kind])
    wrong.write_text("[]")
    answered.look()
    (said,) = warnings()
    assert f"{wrong.name} is not read" in said and f"write the answers to {answered.answers.name}" in said


def test_of_many_problems_a_few_are_shown_and_all_are_counted(
    tmp_path: Path, warnings: Callable[[], list[str]]
) -> None:
    asked = Answered(tmp_path, "eai")
    asked.write(*(asked.entry(f"{number}\x1b[31m", "x") for number in range(40)))
    asked.look()
    said = warnings()
    assert len(said) == 6 and "40 answers are left out: 40 to unknown prompts" in said[-1]
    assert "\x1b" not in "".join(said)


def test_an_answer_takes_the_place_of_an_error_without_a_word(
    tmp_path: Path, warnings: Callable[[], list[str]]
) -> None:
    asked = Answered(tmp_path, "openai")
    failed = response_line(IDS[0], {"error": {"message": "slow down", "type": "x"}}, status=429)
    asked.write(failed, asked.entry(IDS[0], "now"), failed)
    assert asked.look()[1] == {IDS[0]: "now"}
    assert warnings() == []


@BOTH
def test_requests_of_other_questions_are_refused(answered: Answered) -> None:
    other = ExchangeFolder(answered.place.parent / "other", MODEL, "run", exchange_format=answered.kind)
    asyncio.run(other.create(NAME, [BatchLine("dd" * 32, LINES[0].request), LINES[0]]))
    (answered.place / answered.file).write_bytes((other._folder / answered.file).read_bytes())
    with pytest.raises(SettingsError, match="lacks 2 requests that this run wrote") as caught:
        answered.look()
    assert "put the file back" in str(caught.value.remedy)


@BOTH
@pytest.mark.parametrize("content", ["", "[1]", '{"a": 1}', '[{"a": 1}]', "null"])
def test_a_file_of_requests_that_is_none_is_refused(answered: Answered, content: str) -> None:
    (answered.place / answered.file).write_text(content or "{")
    with pytest.raises(SettingsError, match="the file of requests cannot be read") as caught:
        answered.look()
    assert "put it back" in str(caught.value.remedy)


def test_a_folder_keeps_the_format_that_it_was_begun_in(tmp_path: Path) -> None:
    for begun, other in (("openai", "eai"), ("eai", "openai")):
        place = tmp_path / begun
        assert format_begun(place) is None
        ExchangeFolder(place, MODEL, "run", exchange_format=begun)
        assert format_begun(place) == begun
        ExchangeFolder(place, MODEL, "run", exchange_format=begun)
        with pytest.raises(SettingsError, match=f"has the format {begun}, but {other} was asked for") as caught:
            ExchangeFolder(place, MODEL, "run", exchange_format=other)
        assert f"--exchange-format {begun}" in str(caught.value.remedy)


def test_a_folder_without_a_format_has_that_of_openai(tmp_path: Path) -> None:
    (tmp_path / OWNER).write_text('{"run_id": "run"}\n')
    ExchangeFolder(tmp_path, MODEL, "run")
    with pytest.raises(SettingsError, match="has the format openai"):
        ExchangeFolder(tmp_path, MODEL, "run", exchange_format="eai")


@pytest.mark.parametrize(
    "content", ["{", "[]", "{}", '{"run_id": "run", "format": "xml"}', '{"run_id": "run", "format": []}']
)
def test_an_owner_that_cannot_be_read_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / OWNER).write_text(content)
    with pytest.raises(SettingsError, match="does not say which run") as caught:
        ExchangeFolder(tmp_path, MODEL, "run")
    assert caught.value.file == str(tmp_path / OWNER)


def test_two_samples_of_a_question_have_identifiers_of_their_own(tmp_path: Path) -> None:
    one, two = (request("Again?", model=MODEL, sample=sample) for sample in (0, 1))
    folder = ExchangeFolder(tmp_path, MODEL, "run", exchange_format="eai")
    lines = [BatchLine(each.identity("litellm", None), each) for each in (one, two)]
    asyncio.run(folder.create(NAME, lines))
    first, second = json.loads((tmp_path / "requests-0001.json").read_bytes())
    assert first["llm_prompt"] == second["llm_prompt"] and first["identifier"] != second["identifier"]
