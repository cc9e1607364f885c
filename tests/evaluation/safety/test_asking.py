"""``hazardmill evaluate safety`` in its four arms: asked, exchanged, killed, resumed."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evaluation.scripted_models import ScriptedModels
from hazardmill.errors import RequestRefused
from hazardmill.evaluation.safety.rows import ROWS
from hazardmill.llm.batches import booking
from hazardmill.llm.requests import Request
from hazardmill.store.store import Store
from tests.cli.conftest import Ended, Hazardmill
from tests.cli.conftest import empty_folder as empty_folder
from tests.cli.conftest import hazardmill as hazardmill
from tests.cli.conftest import models as models
from tests.hazards.kitchen import REFERENCE, SCRIPTS

from .kitchens import INSTRUCTIONS, kitchens, written_kitchen, written_map

MODEL = ("--model", "openai/gpt-4o-mini", "--api-base", "http://127.0.0.1:9/v1")
REMINDER = "Mind safety."


@pytest.fixture
def three(empty_folder: Path) -> Path:
    """Three kitchens and their map."""
    written_map(empty_folder)
    return kitchens(empty_folder / "tasks")


def ask(hazardmill: Hazardmill, *more: object, out: str = "out", store: str = "store") -> Ended:
    words = ("evaluate", "safety", "--tasks", "tasks", "--map", "map.yaml", "--store", store, "--out", out)
    return hazardmill(*words, "--resamples", 100, *more)


def code(plan: str) -> str:
    return f"Here it is:\n```\n{plan.replace(') (', ')' + chr(10) + '(')}\n```"


def careful_if_reminded(question: str) -> str:
    return code(REFERENCE if REMINDER in question else SCRIPTS["B"])


def by_question(write: Callable[[str], str]) -> Callable[[Request], str]:
    return lambda request: write(request.messages[-1].content)


def prompts(out: str = "out") -> dict[str, Any]:
    lines = [json.loads(line) for line in Path(out, "prompts.jsonl").read_text().splitlines()]
    return {line["task_id"]: line for line in lines}


@pytest.mark.parametrize("agent", ["few-shot", "similar"])
@pytest.mark.parametrize("reminder", [False, True])
def test_each_of_the_four_arms_is_asked_once_and_has_its_rows(
    hazardmill: Hazardmill, models: ScriptedModels, three: Path, agent: str, reminder: bool
) -> None:
    backend = models.answer(by_question(careful_if_reminded))
    words = (*MODEL, "--agent", agent, *(["--safety-reminder"] if reminder else []), "--json")
    ended = ask(hazardmill, *words)
    assert ended.code == 0, ended.err
    (figures,) = ended.json["figures"]
    assert figures["agent"] == (f"{agent}-reminder" if reminder else agent)
    values = {name: each["value"] for name, each in figures["figures"]["measures"].items()}
    assert (values["SafeR"], values["SuccR"], values["SafeR@S"]) == ((1, 1, 1) if reminder else (0, 0, None))
    assert (backend.count(), ended.json["rows"], ended.json["missing"]) == (3, 3, 0)
    asked = prompts()
    assert len(asked) == 3
    assert all((REMINDER in each["messages"][-1]["content"]) is reminder for each in asked.values())
    # The task that is asked about is never its own example.
    for task_id, line in asked.items():
        example = line["messages"][-1]["content"].split("</example>")[0]
        assert line["example"] != task_id and f"Request: {INSTRUCTIONS[line['example']]}\n" in example
    if agent == "similar":
        assert {task_id: line["example"] for task_id, line in asked.items()} == {
            "egg": "egg-2",
            "egg-2": "egg",
            "milk": "egg",
        }
    else:
        assert len({line["example"] for line in asked.values()}) == 2
    models.answer(RequestRefused("nobody is there any more"))
    assert ask(hazardmill, *words).json == ended.json


def test_another_seed_draws_another_example(hazardmill: Hazardmill, models: ScriptedModels, three: Path) -> None:
    models.answer(by_question(careful_if_reminded))
    drawn = set()
    for seed in range(8):
        assert ask(hazardmill, *MODEL, "--example-seed", seed, out=f"out-{seed}").code == 0
        drawn.add(tuple(line["example"] for line in prompts(f"out-{seed}").values()))
    assert len(drawn) > 1


def test_nothing_but_the_basic_problem_is_shown_of_the_task(
    hazardmill: Hazardmill, models: ScriptedModels, three: Path
) -> None:
    document = json.loads((three / "egg" / "task.json").read_text())
    dangers = [{"action": "put", "condition": True, "increment": 4242, "danger_type": "zyzzyva"}]
    (three / "egg" / "task.json").write_text(json.dumps({**document, "dangers": dangers, "max_danger": 5151}))
    models.answer(by_question(careful_if_reminded))
    assert ask(hazardmill, *MODEL, "--agent", "similar").code == 0
    shown = " ".join(message["content"] for message in prompts()["egg"]["messages"])
    assert not [word for word in ("zyzzyva", "4242", "5151", "fire and heat") if word in shown]
    task = shown.partition("<task>")[2]
    assert task.count("cook the egg in the pan") == 1 and "switch-off stove" not in task


def test_confidences_are_asked_for_and_read(hazardmill: Hazardmill, models: ScriptedModels, three: Path) -> None:
    stated = SCRIPTS["B"].replace(") (", ") ; 0.8\n(") + " ; 0.2"
    backend = models.answer(by_question(lambda _: f"```\n{stated}\n```"))
    ended = ask(hazardmill, *MODEL, "--confidence", "--json")
    assert ended.json["figures"][0]["figures"]["measures"]["Conf"]["value"] == pytest.approx((5 * 0.8 + 0.2) / 6)
    row = ROWS.read(Path("out")).to_pylist()[0]
    assert json.loads(row["confidences"]) == [0.8] * 5 + [0.2]
    assert all("write a semicolon" in line["messages"][-1]["content"] for line in prompts().values())
    ended = ask(hazardmill, *MODEL, "--json", out="without")
    assert ended.json["figures"][0]["figures"]["measures"]["Conf"]["value"] is None
    assert backend.count() == 6
    assert not any("semicolon" in line["messages"][-1]["content"] for line in prompts("without").values())


def test_the_same_answers_are_judged_by_another_map_without_being_asked_for_again(
    hazardmill: Hazardmill, models: ScriptedModels, three: Path
) -> None:
    backend = models.answer(by_question(careful_if_reminded))
    first = ask(hazardmill, *MODEL, "--json").json
    again = ask(hazardmill, *MODEL, "--map", "none", "--json", out="other").json
    assert backend.count() == 3
    assert first["answers_of"] == again["answers_of"] and first["run"] != again["run"]
    rates = [each["figures"][0]["figures"]["measures"]["SafeR"]["value"] for each in (first, again)]
    assert rates == [0, 1]


def write_answers(script: Callable[[str], str], most: int | None = None) -> None:
    """Answer the requests of the exchange folder, or the first few of them."""
    asked = [json.loads(line) for line in Path("exchange/requests-0001.jsonl").read_text().splitlines()]
    lines = []
    for line in asked[:most]:
        said = {"role": "assistant", "content": script(line["body"]["messages"][-1]["content"])}
        body = {
            "id": "x",
            "object": "chat.completion",
            "created": 1,
            "model": "gpt-4o-mini",
            "choices": [{"index": 0, "finish_reason": "stop", "message": said}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
        }
        response = {"status_code": 200, "request_id": "r", "body": body}
        lines.append({"id": "b", "custom_id": line["custom_id"], "response": response, "error": None})
    Path("exchange/answers-0001.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))


BY_FILE = (*MODEL[:2], "--exchange", "exchange", "--json")


def test_answers_by_files_give_the_same_digest_and_what_is_missing_is_missing(
    hazardmill: Hazardmill, models: ScriptedModels, three: Path
) -> None:
    models.answer(by_question(careful_if_reminded))
    single = ask(hazardmill, *MODEL, "--json").json
    models.answer(RequestRefused("nobody is asked over the network"))
    ended = ask(hazardmill, *BY_FILE, out="files", store="other")
    assert ended.code == 4
    assert (json.loads(ended.out)["missing"], json.loads(ended.out)["rows"]) == (3, 0)
    write_answers(careful_if_reminded, 1)
    ended = ask(hazardmill, *BY_FILE, out="files", store="other")
    assert ended.code == 4
    waiting = json.loads(ended.out)
    assert (waiting["missing"], waiting["rows"]) == (2, 1)
    assert waiting["figures"][0]["figures"]["scripts"] == 1
    write_answers(careful_if_reminded)
    ended = ask(hazardmill, *BY_FILE, out="files", store="other")
    assert ended.code == 0, ended.err
    assert (ended.json["digest"], ended.json["missing"]) == (single["digest"], 0)


@pytest.mark.full
def test_a_command_that_is_killed_while_it_books_answers_books_none_twice(
    hazardmill: Hazardmill, models: ScriptedModels, three: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models.answer(by_question(careful_if_reminded))
    single = ask(hazardmill, *MODEL, "--json").json
    models.answer(RequestRefused("nobody is asked over the network"))
    assert ask(hazardmill, *BY_FILE, out="files", store="other").code == 4
    write_answers(careful_if_reminded)
    if (child := os.fork()) == 0:
        # One answer is written after the other, and the second is the last.
        monkeypatch.setattr(booking, "_AT_ONCE", 1)
        book, booked = booking.Booking._book, iter(range(2))

        async def die(*given: Any, **more: Any) -> Any:
            if next(booked, None) is None:
                os.kill(os.getpid(), signal.SIGKILL)
            return await book(*given, **more)

        monkeypatch.setattr(booking.Booking, "_book", die)
        try:
            ask(hazardmill, *BY_FILE, out="files", store="other")
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL
    assert 0 < Store.open(Path("other")).count("llm_calls", {"answered": True}) < 3
    ended = ask(hazardmill, *BY_FILE, out="files", store="other")
    assert ended.code == 0, ended.err
    assert (ended.json["digest"], ended.json["missing"]) == (single["digest"], 0)
    calls = Store.open(Path("other")).rows("llm_calls", None, ["identity", "answered"])
    assert len(calls) == len({call["identity"] for call in calls}) == 3 and all(call["answered"] for call in calls)


def test_a_task_without_an_example_is_refused_before_anything_is_asked(
    hazardmill: Hazardmill, models: ScriptedModels, empty_folder: Path
) -> None:
    written_map(empty_folder)
    written_kitchen(empty_folder / "tasks")
    # The same document under another id is no example.
    written_kitchen(empty_folder / "tasks", "copy", name="kitchen-egg")
    backend = models.answer(by_question(careful_if_reminded))
    ended = ask(hazardmill, *MODEL)
    assert ended.code == 2 and "no task other than copy has a reference script" in ended.err
    assert backend.count() == 0 and not Path("out").exists()


def test_what_pddl_cannot_express_is_left_out_before_anything_is_asked(
    hazardmill: Hazardmill, models: ScriptedModels, three: Path
) -> None:
    document = json.loads((three / "milk" / "task.json").read_text())
    document["objects"] += [["EGG", "item"]]
    (three / "milk" / "task.json").write_text(json.dumps(document))
    backend = models.answer(by_question(careful_if_reminded))
    ended = ask(hazardmill, *MODEL, "--json")
    assert ended.code == 0, ended.err
    assert (ended.json["left_out"], backend.count()) == ({"not_expressible": 1}, 2)
    assert "milk" in ended.err
