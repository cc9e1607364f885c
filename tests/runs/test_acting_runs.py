"""Runs of dialogues: turns in order, a gate that does not depend on timing, and nothing paid for twice."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from factories.dialogues import (
    FOODS,
    TURNS,
    acting_backend,
    number_of,
    plan,
    prepared,
    proposal,
    proposed,
    remark,
    seed,
    speak,
    written,
)
from factories.scripted import ScriptedBackend
from store.damaging import rebuild

from hazardmill.cli.run.acting import acting
from hazardmill.errors import BudgetReached, RequestRefused, UsageError
from hazardmill.llm.requests import Request
from hazardmill.quality.text import rouge_l
from hazardmill.report.cost import COST_TABLES, cost
from hazardmill.report.funnel import funnel
from hazardmill.report.tables import notes
from hazardmill.report.why.build import build_story
from hazardmill.report.why.words import draft_result
from hazardmill.run_options import ExchangeFormat
from hazardmill.runs.recording import record_runs
from hazardmill.runs.run import Run
from hazardmill.store.store import Store
from tests.running import answering
from tests.running import worked as all_counts
from tests.runs.test_exchange import Exchange
from tests.sizes import sized


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(tmp_path / "store", create=True)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Store]:
    """A store of so many dialogues that nothing disturbed. Nobody writes to it."""
    made: dict[int, Store] = {}

    def of(dialogues: int) -> Store:
        if dialogues not in made:
            folder = tmp_path_factory.mktemp("whole")
            made[dialogues] = Store.open(folder / "store", create=True)
            worked(started(made[dialogues], folder, acting_backend(), dialogues=dialogues))
        return made[dialogues]

    return of


def started(store: Store, folder: Path, asked: ScriptedBackend, run_id: str = "run", **changes: Any) -> Run:
    config, records = prepared(folder, **changes)
    run, _ = Run.start(store, config, run_id, records=records, resources=answering(asked))
    return run


def worked(run: Run) -> dict[str, int]:
    return {outcome: count for outcome, count in all_counts(run).items() if count}


def kept(store: Store) -> list[tuple[int, int, int, str]]:
    rows = store.rows("hazard_tasks")
    return sorted((row["dialogue"], row["draft"], row["proposal"], row["instruction"]) for row in rows)


def test_roles_speak_in_turn_and_then_propose_tasks(store: Store, tmp_path: Path) -> None:
    asked = acting_backend()
    assert worked(started(store, tmp_path, asked)) == {"accepted": 2}
    of_first = [request for request in asked.asked if number_of(request)[0] == 1]
    assert [number_of(request)[1] for request in of_first] == [1, 2, 3, 4]
    shown = [request.messages[-1].content for request in of_first]
    for text, role in zip(shown, ("firefighter", "parent") * 2, strict=True):
        assert f"You are: {role}." in text and "Warm the milk." in text and "- water hazard: " in text
    assert "Nothing yet. You open the discussion." in shown[0] and "This is round 1 of 1." in shown[1]
    assert "firefighter: remark 1 of dialogue 1" in shown[1]
    assert "parent: remark 2 of dialogue 1" in shown[2] and "(:action cook" in shown[2]
    assert "ending where (switched_on stove*) holds" in shown[2]
    assert "firefighter: I propose: egg0 egg1" in shown[3]
    assert {request.key.kind for request in asked.asked if request.key} == {"hazard_task"}
    rows = store.rows("hazard_tasks")
    assert [(row["dialogue"], row["role"], row["draft"]) for row in rows] == [
        (number, role, turn) for number in (1, 2) for role, turn in (("firefighter", 3), ("parent", 4))
    ]
    assert {row["prompt_hash"] for row in rows} == {of_first[-1].prompt_hash}
    assert {(row["licence"], row["attribution"]) for row in rows} == {("CC0-1.0", "toys")}
    assert [json.loads(row["seeds"]) for row in rows] == [["toy-1"], ["toy-1"], ["toy-2"], ["toy-2"]]
    assert {row["task_id"] for row in store.rows("outcomes")} <= {row["hazard_task_id"] for row in rows}
    assert store.count("dangers") == store.count("tasks") == 0
    assert store.verify() == []


def test_why_takes_the_id_of_a_hazard_task_and_tells_its_dialogue(store: Store, tmp_path: Path) -> None:
    worked(started(store, tmp_path, acting_backend(), dialogues=1))
    task = store.rows("hazard_tasks")[0]
    story = build_story(store, task["hazard_task_id"])
    assert story.record_id == task["record_id"]
    assert [draft_result(draft) for draft in story.drafts] == [*["passed its checks"] * 2, *["accepted"] * 2]


def test_a_turn_that_cannot_be_read_is_not_shown_and_counted(store: Store, tmp_path: Path) -> None:
    def mumble(request: Request) -> str:
        return "Hm, well." if number_of(request)[1] in (1, 3) else speak(request)

    asked = acting_backend(mumble)
    assert worked(started(store, tmp_path, asked, dialogues=1)) == {"accepted": 1}
    shown = [request.messages[-1].content for request in asked.asked]
    assert "Nothing yet." in shown[1] and "Hm, well" not in "".join(shown)
    assert "firefighter: " not in shown[3] and "parent: remark 2" in shown[3]
    found = store.query(lambda views: funnel(views, ["run"]))
    assert [(each.check, each.reason, each.count) for each in found.draft_failures] == [("answer", "unreadable", 2)]
    assert [row["accepted"] for row in sorted(store.rows("drafts"), key=lambda row: row["draft"])] == [
        False,
        False,
        False,
        True,
    ]


def test_a_dialogue_without_a_task_ends_with_the_reason(store: Store, tmp_path: Path) -> None:
    bad = proposed(proposal(script=["(cook egg stove)"]))

    def fail(request: Request) -> str:
        dialogue, turn = number_of(request)
        return remark("hm") if turn <= TURNS // 2 else bad if dialogue == 1 else "I would rather not."

    assert worked(started(store, tmp_path, acting_backend(fail))) == {"execution_failed": 2}
    rows = sorted(store.rows("outcomes"), key=lambda row: row["ordinal"])
    assert [row["reason"] for row in rows] == ["reference_not_executable", "no_proposal"]
    assert store.count("hazard_tasks") == 0 and store.verify() == []


# The gate


def crowded(request: Request) -> str:
    """Three tasks a turn, some of which are near to each other, or the same."""
    dialogue, turn = number_of(request)
    if turn <= TURNS // 2:
        return remark("hm")
    drawn = random.Random(10 * dialogue + turn)
    words = "please cook bake warm the a big small hot food now quickly for us all".split()
    tasks = [
        proposal(drawn.choice(FOODS[:3]), instruction=" ".join(drawn.choices(words, k=drawn.randint(2, 6))))
        for _ in range(3)
    ]
    return proposed(*tasks, tasks[0])


@pytest.mark.parametrize(
    "novelty", [0.6, *(pytest.param(each, marks=pytest.mark.full) for each in (0.3, 0.5, 0.7, 0.9))]
)
def test_the_gate_equals_comparing_every_pair_whatever_is_asked_at_once(tmp_path: Path, novelty: float) -> None:
    expected: list[tuple[int, int, int, str]] = []
    texts: list[str] = []
    for dialogue in range(1, 5):
        for turn in (3, 4):
            request = acting_request(dialogue, turn)
            for number, task in enumerate(json.loads(crowded(request))["tasks"], 1):
                text = " ".join([task["instruction"], *task["objects"]])
                if all((rouge_l(text, other) or 0) < novelty for other in texts):
                    texts.append(text)
                    expected.append((dialogue, turn, number, task["instruction"]))
    assert 1 < len(expected) < 32
    digests = set()
    for concurrency in (1, 16):
        delays = random.Random(concurrency)

        async def late(request: Request, delays: random.Random = delays) -> str:
            # Answers come in another order each time.
            for _ in range(delays.randint(0, 5)):
                await asyncio.sleep(0)
            return crowded(request)

        store = Store.open(tmp_path / str(concurrency), create=True)
        run = started(
            store, tmp_path, acting_backend(late), dialogues=4, novelty=novelty, concurrency=concurrency, wave_size=2
        )
        worked(run)
        assert kept(store) == expected
        digests.add(store.digest()["total"])
    assert len(digests) == 1


def acting_request(dialogue: int, turn: int) -> Any:
    class Key:
        draft = turn

    class Asked:
        record_id = f"acting:x-{dialogue}"
        key = Key

    return Asked


def same(request: Request) -> str:
    return remark("hm") if number_of(request)[1] <= TURNS // 2 else proposed(proposal(), proposal())


@pytest.mark.parametrize(
    ("novelty", "places"),
    [
        (0.0, [(1, 3, 1)]),
        (0.7, [(1, 3, 1)]),
        (1.0, [(1, 3, 1)]),
        (1.5, [(dialogue, turn, number) for dialogue in (1, 2) for turn in (3, 4) for number in (1, 2)]),
    ],
)
def test_equal_tasks_keep_the_first_and_a_threshold_above_1_all(
    store: Store, tmp_path: Path, novelty: float, places: list[tuple[int, int, int]]
) -> None:
    counts = worked(started(store, tmp_path, acting_backend(same), novelty=novelty))
    assert [each[:3] for each in kept(store)] == places
    assert counts == ({"accepted": 1, "duplicate": 1} if len(places) == 1 else {"accepted": 2})
    assert len({row["hazard_task_id"] for row in store.rows("hazard_tasks")}) == len(places)
    if len(places) == 1:
        refused = [row for row in store.rows("checks") if row["reason"] == "not_novel"]
        assert len(refused) == 7 and json.loads(refused[0]["details"])["similarity"] == 1.0
        (duplicate,) = store.rows("outcomes", {"outcome": "duplicate"})
        assert duplicate["task_id"] == store.rows("hazard_tasks")[0]["hazard_task_id"]
    assert store.verify() == []


def test_a_threshold_of_0_keeps_one_of_unlike_tasks(store: Store, tmp_path: Path) -> None:
    worked(started(store, tmp_path, acting_backend(), novelty=0.0))
    assert [each[:3] for each in kept(store)] == [(1, 3, 1)]


# Stopped and resumed


# In the middle of the first, second and third turns of all three, and before any.
@pytest.mark.parametrize("asked_before", sized([0, 2, 4, 7], range(10)))
def test_a_stopped_dialogue_goes_on_at_its_turn_and_pays_for_none_twice(
    store: Store, tmp_path: Path, whole: Callable[[int], Store], asked_before: int
) -> None:
    left = iter(range(asked_before))

    def breaks(request: Request) -> Any:
        return speak(request) if next(left, None) is not None else RequestRefused("no key")

    first = acting_backend(breaks)
    with pytest.raises(RequestRefused):
        worked(started(store, tmp_path, first, dialogues=3, concurrency=1))
    second = acting_backend()
    worked(Run.load(store, "run", resources=answering(second)))
    assert store.digest() == whole(3).digest()
    answered = [number_of(request) for request in second.asked]
    assert len(answered) == len(set(answered)) == 3 * TURNS - asked_before
    assert store.count("llm_calls", {"answered": True}) == 3 * TURNS


def test_a_budget_that_ends_a_dialogue_leaves_it_to_be_resumed(
    store: Store, tmp_path: Path, whole: Callable[[int], Store]
) -> None:
    first = acting_backend()
    limits = {"budget_usd": 0.012, "concurrency": 1, "model": "openai/gpt-5-mini"}
    with pytest.raises(BudgetReached):
        worked(started(store, tmp_path, first, **limits))
    assert 0 < first.count() < 2 * TURNS
    run = Run.load(store, "run", resources=answering(second := acting_backend()))
    worked(run.resume(run.config.model_copy(update={"budget_usd": 100.0})))
    assert first.count() + second.count() == 2 * TURNS
    assert kept(store) == kept(whole(2))


def test_lost_tasks_are_made_again_without_asking(store: Store, tmp_path: Path) -> None:
    asked = acting_backend()
    worked(started(store, tmp_path, asked))
    digest, before = store.digest(), asked.count()
    next((store.path / "hazard_tasks").iterdir()).unlink()
    assert rebuild(store).whole
    worked(Run.load(store, "run", resources=answering(asked)))
    assert (store.digest(), asked.count()) == (digest, before)
    assert store.verify() == []


def test_a_run_with_another_gate_is_refused(store: Store, tmp_path: Path) -> None:
    run = started(store, tmp_path, acting_backend())
    assert run.config.acting is not None
    other = run.config.model_copy(update={"acting": run.config.acting.model_copy(update={"novelty": 0.5})})
    with pytest.raises(UsageError, match="acting: "):
        run.resume(other)
    with pytest.raises(UsageError, match="hazard tasks are made from dialogues"):
        run.config.model_copy(update={"acting": None}).check()


@pytest.mark.parametrize("exchange_format", ["openai", "eai"])
def test_an_exchange_folder_gives_what_single_requests_give(
    store: Store, tmp_path: Path, whole: Callable[[int], Store], exchange_format: ExchangeFormat
) -> None:
    exchange = Exchange(store, tmp_path / "exchange", exchange_format)
    exchange.asked = acting_backend()
    started(store, tmp_path, exchange.asked, exchange=exchange.folder, exchange_format=exchange_format)
    looks = 0
    while exchange.go_on():
        looks += 1
        if exchange_format == "eai":
            exchange.write_array(list)
        else:
            exchange.write("".join)
    # A turn of both dialogues each time.
    assert looks == TURNS and exchange.asked.count() == 2 * TURNS
    tables = ("hazard_tasks", "drafts", "checks", "outcomes")
    assert [store.digest()[name] for name in tables] == [whole(2).digest()[name] for name in tables]


# Recorded answers, and the command


def recorded(store: Store, folder: Path) -> Path:
    worked(started(store, folder, acting_backend()))
    (made,) = record_runs(store, ["run"], folder / "recordings")
    assert (made.source, made.path.name, made.answers, made.records) == ("acting", "dialogues.jsonl.zst", 2 * TURNS, 2)
    return folder / "recordings"


def command(folder: Path, *more: str, **changes: Any) -> list[str]:
    made = plan(folder, **changes)
    words = ["--seeds", str(made.seeds), "--roles", str(made.roles), "--rounds", str(made.rounds)]
    return [*words, "--dialogues", str(made.dialogues), "--novelty", str(made.novelty), *more]


@pytest.fixture
def invoke(tmp_path: Path) -> Callable[..., Any]:
    return lambda *words: CliRunner().invoke(acting, [*words, "--store", str(tmp_path / "again")])


def test_recorded_turns_give_the_same_tasks_again(store: Store, tmp_path: Path, invoke: Callable[..., Any]) -> None:
    folder = recorded(store, tmp_path)
    ended = invoke(*command(tmp_path), "--model", "recorded", "--recordings", str(folder), "--run-id", "again")
    assert ended.exit_code == 0, ended.output
    assert "2 dialogues gave 4 hazard tasks." in ended.output and "The funnel adds up." in ended.output
    again = Store.open(tmp_path / "again")
    assert kept(again) == kept(store)
    assert {row["backend"] for row in again.rows("hazard_tasks")} == {"recorded"}


def test_recorded_turns_of_other_roles_are_named_and_the_dialogue_stays_pending(
    store: Store, tmp_path: Path, invoke: Callable[..., Any]
) -> None:
    folder = recorded(store, tmp_path)
    words = command(tmp_path)
    roles = tmp_path / "roles.yaml"
    roles.write_text(roles.read_text().replace("parent", "neighbour"))
    ended = invoke(*words, "--model", "recorded", "--recordings", str(folder))
    assert "holds no turn of this dialogue: its dialogues have other roles" in ended.output
    assert "dialogues.jsonl.zst" in ended.output and "give the options of the recorded run" in ended.output
    assert Store.open(tmp_path / "again").count("outcomes") == 0


def test_seeds_without_a_licence_are_refused_before_anything_is_asked(
    tmp_path: Path, invoke: Callable[..., Any]
) -> None:
    silent = written(tmp_path / "silent.jsonl", seed(licence=None))
    words = ("--seeds", str(silent), "--model", "recorded", "--recordings", str(tmp_path))
    ended = invoke(*words)
    assert "silent.jsonl:1 (record toy-1): the seed has no licence" in str(ended.exception)
    assert "the seed has no licence" not in str(invoke(*words, "--licence", "MIT").exception)


def test_the_shipped_roles_and_map_are_used_unless_others_are_named(
    store: Store, tmp_path: Path, invoke: Callable[..., Any]
) -> None:
    made = plan(tmp_path)
    ended = invoke("--seeds", str(made.seeds), "--model", "recorded", "--recordings", str(tmp_path))
    # Nothing is recorded there; four roles, three rounds and one more turn each.
    assert "2 dialogues of 16 turns" in ended.output and "recorded answers cannot be read" in ended.output
    ended = invoke("--seeds", str(made.seeds), "--map", str(tmp_path / "none.yaml"), "--model", "openai/x")
    assert "the map cannot be read" in str(ended.exception)


def test_the_funnel_and_the_price_of_dialogues_add_up(store: Store, tmp_path: Path) -> None:
    worked(started(store, tmp_path, acting_backend()))
    found = store.query(lambda views: funnel(views, ["run"]))
    assert (found.tasks, found.dialogues, found.hazard_tasks, found.balance()) == (0, 2, 4, ())
    assert [(each.made, each.passed, each.accepted) for each in found.drafts[:4]] == [
        (2, 0, 0),
        (2, 0, 0),
        (2, 2, 2),
        (2, 0, 0),
    ]
    assert notes(found) == ["2 dialogues gave 4 hazard tasks.", "The funnel adds up."]
    assert store.query(lambda views: cost(views, ["run"]), COST_TABLES).accepted == 4
