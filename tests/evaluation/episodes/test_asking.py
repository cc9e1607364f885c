"""``hazardmill evaluate episodes``: asked one by one and by files, stopped, resumed, replayed, judged again."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from factories.batch_answers import answer_line

from evaluation.scripted_models import ScriptedModels
from hazardmill.errors import InputError, RequestRefused
from hazardmill.evaluation.episodes.rows import EPISODES, STEPS
from hazardmill.evaluation.probes.episodes import CARELESS, COMPLIANT, EpisodeStandIns
from hazardmill.llm.requests import Message, Request
from hazardmill.store.store import Store
from tests.cli.conftest import Ended, Hazardmill
from tests.cli.conftest import empty_folder as empty_folder
from tests.cli.conftest import hazardmill as hazardmill
from tests.cli.conftest import models as models
from tests.household.small_tasks import FIRE, INJURY, OBJECT_DAMAGE, write_small_tasks

from .acting import follow

MODEL = ("--model", "openai/gpt-4o-mini", "--api-base", "http://127.0.0.1:9/v1")
THREE = (FIRE, INJURY, OBJECT_DAMAGE)
REQUESTS = 7 + 9 + 6
"""Actions of the compliant plans, and the word that ends each episode."""


@pytest.fixture
def three(empty_folder: Path) -> Path:
    return write_small_tasks(empty_folder / "tasks", *THREE)


def ask(hazardmill: Hazardmill, *more: object, out: str = "out", store: str = "store", runs: int = 1) -> Ended:
    words = ("evaluate", "episodes", "--tasks", "tasks", "--store", store, "--out", out, "--runs", runs)
    return hazardmill(*words, "--resamples", 100, "--json", *more)


def by_rule(models: ScriptedModels, rule: str = COMPLIANT) -> object:
    act = follow(rule, *THREE)
    return models.answer(lambda request: act(request.messages, request.key))


def nobody(models: ScriptedModels) -> None:
    models.answer(RequestRefused("nobody is there any more"))


def rates(ended: Ended) -> tuple[str, str]:
    (found,) = ended.json["episodes"]
    return found["rates"]["GSR"]["text"], found["rates"]["CSR"]["text"]


def test_episodes_are_asked_action_by_action_and_have_their_rows(
    hazardmill: Hazardmill, models: ScriptedModels, three: Path
) -> None:
    backend = by_rule(models)
    ended = ask(hazardmill, *MODEL, runs=2)
    assert ended.code == 0, ended.err
    assert rates(ended) == ("100.00 ± 0.00", "100.00 ± 0.00")
    assert (ended.json["rows"], ended.json["steps"], ended.json["missing"]) == (6, 2 * REQUESTS, 0)
    assert backend.count() == 2 * REQUESTS
    rows, steps = EPISODES.read(Path("out")).to_pylist(), STEPS.read(Path("out")).to_pylist()
    assert [(row["task_id"], row["sample"], row["actions"]) for row in rows] == [
        ("fire", 0, 6), ("fire", 1, 6), ("injury", 0, 8), ("injury", 1, 8), ("object_damage", 0, 5),
        ("object_damage", 1, 5),
    ]  # fmt: skip
    mine = [step for step in steps if (step["task_id"], step["sample"]) == ("injury", 0)]
    assert INJURY.plans is not None
    assert [step["action"] for step in mine] == [*INJURY.plans.compliant, "done"]
    assert [step["rule"] for step in mine][5:] == ["untriggered", "open", "kept", "kept"]
    assert [step["step"] for step in mine] == [*range(1, 10)]
    # Each prompt is found again in the ledger.
    asked = {row["input_hash"] for row in Store.open(Path("store")).rows("llm_calls", None, ["input_hash"])}
    assert {step["prompt"] for step in steps} == asked
    prompts = [json.loads(line) for line in Path("out/prompts.jsonl").read_text().splitlines()]
    assert [prompt["task_id"] for prompt in prompts] == ["fire", "injury", "object_damage"]
    nobody(models)
    assert ask(hazardmill, *MODEL, runs=2).json == ended.json
    models.backend = None
    replayed = ask(hazardmill, *MODEL, "--replay", "store", store="other", out="replayed", runs=2)
    assert replayed.code == 0, replayed.err
    assert replayed.json["digest"] == ended.json["digest"]


def test_the_same_answers_are_judged_in_the_other_way_without_being_asked_for_again(
    hazardmill: Hazardmill, models: ScriptedModels, three: Path
) -> None:
    by_rule(models)
    first = ask(hazardmill, *MODEL)
    nobody(models)
    again = ask(hazardmill, *MODEL, "--semantics", "released", out="released")
    assert first.json["answers_of"] == again.json["answers_of"] and first.json["run"] != again.json["run"]
    # A task with a state rule can never succeed there.
    assert (rates(first)[1], rates(again)[1]) == ("100.00 ± 0.00", "66.67 ± 0.00")


def test_a_step_limit_ends_episodes_that_a_larger_one_goes_on_with(
    hazardmill: Hazardmill, models: ScriptedModels, three: Path
) -> None:
    by_rule(models)
    short = ask(hazardmill, *MODEL, "--max-steps", 5)
    (found,) = short.json["episodes"]
    assert found["endings"] == {"steps_used_up": 3}
    # The shortest plan has five actions, and is a success without a word.
    assert found["runs"][0]["successes"] == 1
    backend = by_rule(models)
    whole = ask(hazardmill, *MODEL, out="whole")
    assert whole.json["episodes"][0]["endings"] == {"done": 3} and rates(whole)[1] == "100.00 ± 0.00"
    assert backend.count() == REQUESTS - 3 * 5


def test_a_budget_stops_episodes_which_can_be_resumed(
    hazardmill: Hazardmill, models: ScriptedModels, three: Path
) -> None:
    first = by_rule(models)
    # Both price what a request may cost at most: the answer's limit on tokens.
    stopped = ask(hazardmill, *MODEL, "--budget-usd", 0.008, "--concurrency", 1)
    assert stopped.code == 4 and "larger --budget-usd" in stopped.err
    assert 0 < first.count() < REQUESTS and not Path("out/summary.json").exists()
    second = by_rule(models)
    ended = ask(hazardmill, *MODEL, "--budget-usd", 5, "--concurrency", 1)
    assert ended.code == 0, ended.err
    assert first.count() + second.count() == REQUESTS and ended.json["rows"] == 3


def test_unreadable_answers_are_asked_again_at_most_five_in_a_row(
    hazardmill: Hazardmill, models: ScriptedModels, three: Path
) -> None:
    act = follow(COMPLIANT, *THREE)

    def stammer(request: Request) -> str:
        if request.record_id == "fire":
            return "Hm."
        if request.record_id == "injury":
            return "I'm sorry, but I cannot help with that."
        # Every other answer is nothing.
        said = [message for message in request.messages if message.role == "assistant"]
        return act(request.messages, request.key) if len(said) % 2 else ""

    backend = models.answer(stammer)
    ended = ask(hazardmill, *MODEL)
    (found,) = ended.json["episodes"]
    assert found["endings"] == {"done": 1, "refused": 1, "unreadable": 1}
    assert (found["unreadable"], found["actions"]) == (5 + 1 + 6, 5) and backend.count() == 5 + 1 + 12
    rows = {row["task_id"]: row for row in EPISODES.read(Path("out")).to_pylist()}
    assert rows["object_damage"]["success"] and rows["fire"]["actions"] == 0 == rows["injury"]["actions"]


def answer_files(number: int, rule: str = COMPLIANT, most: int | None = None) -> int:
    """Answer a file of requests, or its first few, as whoever has it would; the number of requests."""
    act = follow(rule, *THREE)
    asked = [json.loads(line) for line in Path(f"exchange/requests-{number:04}.jsonl").read_text().splitlines()]
    lines = []
    for line in asked[:most]:
        said = act([Message.model_validate(each) for each in line["body"]["messages"]])
        lines.append(answer_line(line["custom_id"], said, "gpt-4o-mini"))
    Path(f"exchange/answers-{number:04}.jsonl").write_text("".join(lines))
    return len(asked)


BY_FILE = (*MODEL[:2], "--exchange", "exchange")


def test_a_round_of_files_is_an_action_of_every_episode(
    hazardmill: Hazardmill, models: ScriptedModels, three: Path
) -> None:
    (three / "injury.json").unlink()
    by_rule(models)
    single = ask(hazardmill, *MODEL).json
    nobody(models)
    asked, open_, number = [], [], 0
    while (ended := ask(hazardmill, *BY_FILE, out="files", store="other")).code == 4:
        number += 1
        open_.append(json.loads(ended.out)["missing"])
        asked.append(answer_files(number))
    assert ended.code == 0, ended.err
    assert asked == open_ == [2] * 6 + [1]
    assert ended.json["digest"] == single["digest"]
    # The network gives the rest of what was begun by files.
    by_rule(models)
    assert ask(hazardmill, *MODEL, out="again").json["digest"] == single["digest"]


def test_half_a_round_waits_and_answers_of_another_round_are_left_out(
    hazardmill: Hazardmill, models: ScriptedModels, three: Path, caplog: pytest.LogCaptureFixture
) -> None:
    nobody(models)
    assert ask(hazardmill, *BY_FILE).code == 4
    answer_files(1, most=2)
    # Whoever waits for one answer has no second round yet.
    assert ask(hazardmill, *BY_FILE).code == 4 and not Path("exchange/requests-0002.jsonl").exists()
    answer_files(1)
    assert ask(hazardmill, *BY_FILE).code == 4
    Path("exchange/answers-0002.jsonl").write_text(Path("exchange/answers-0001.jsonl").read_text())
    ended = ask(hazardmill, *BY_FILE)
    assert ended.code == 4 and json.loads(ended.out)["missing"] == 3
    assert "answers-0002.jsonl:1: line 1 does not answer any request of requests-0002.jsonl" in caplog.text
    assert not Path("exchange/requests-0003.jsonl").exists()


def test_what_cannot_be_used_is_named_and_the_rest_goes_on(
    hazardmill: Hazardmill, models: ScriptedModels, three: Path
) -> None:
    (three / "broken.json").write_text("{")
    by_rule(models)
    ended = ask(hazardmill, *MODEL)
    assert ended.code == 0 and "broken.json: the task is not JSON" in ended.err
    assert ended.json["left_out"] == {"unread": 1} and ended.json["rows"] == 3


def test_a_task_whose_plans_do_not_do_what_they_claim_is_left_out(
    hazardmill: Hazardmill, models: ScriptedModels, three: Path
) -> None:
    assert INJURY.plans is not None
    for plans in (
        replace(INJURY.plans, compliant=INJURY.plans.careless),
        replace(INJURY.plans, careless=INJURY.plans.compliant),
        replace(INJURY.plans, careless=INJURY.plans.careless[:1]),
        replace(INJURY.plans, compliant=("pick up Moon (1)", *INJURY.plans.compliant)),
    ):
        write_small_tasks(three, FIRE, replace(INJURY, plans=plans), OBJECT_DAMAGE)
        by_rule(models)
        ended = ask(hazardmill, *MODEL, out=plans.compliant[0])
        assert ended.code == 0 and "injury.json: " in ended.err and "prove them again" in ended.err
        assert ended.json["left_out"] == {"wrong_plans": 1} and ended.json["rows"] == 2


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("--max-steps", 0, *MODEL), 2, "an episode of at most 0 actions has none"),
        ((), 2, "there is no model to ask"),
        (("--traces", "t.jsonl", "--agent", "react"), 2, "--agent applies only when a model is asked"),
        (("--traces", "t.jsonl"), 3, "the traces cannot be read"),
        (("--tasks", "nowhere", *MODEL), 3, "the folder cannot be listed"),
    ],
)
def test_bad_input_has_its_message(
    hazardmill: Hazardmill, models: ScriptedModels, three: Path, words: tuple[object, ...], code: int, message: str
) -> None:
    nobody(models)
    # Without --runs, which is for asking, too.
    ended = hazardmill("evaluate", "episodes", "--tasks", "tasks", *words)
    assert (ended.code, message in ended.err) == (code, True), ended.err
    assert "[" in ended.err


def test_a_careless_agent_is_told_apart(hazardmill: Hazardmill, models: ScriptedModels, three: Path) -> None:
    by_rule(models, CARELESS)
    ended = ask(hazardmill, *MODEL, "--constraint", "implicit", "--agent", "preact")
    (found,) = ended.json["episodes"]
    assert rates(ended) == ("66.67 ± 0.00", "0.00 ± 0.00")
    assert found["rules"] == {"open": 2, "violated": 1} and found["beyond"]["value"] is None
    assert found["hazards"]["object_damage"]["share"]["value"] == 1
    # The stand-ins say truly what they will see.
    assert found["stated"]["expected"]["value"] == 1 and found["stated"]["places"]["why"] == "no place is stated"


def test_stand_ins_need_plans() -> None:
    with pytest.raises(InputError, match="fire has no proved plans") as raised:
        EpisodeStandIns([replace(FIRE, plans=None)])
    assert "household generate" in str(raised.value)
    assert FIRE.plans is not None
    with pytest.raises(InputError, match="fire has no careless plan"):
        EpisodeStandIns([replace(FIRE, plans=replace(FIRE.plans, careless=()))])
