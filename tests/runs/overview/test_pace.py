from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from hazardmill.generation.acting.dialogue import Dialogue
from hazardmill.llm.call_tally import CallTally
from hazardmill.runs.config import RunConfig, RunInput
from hazardmill.runs.overview.pace import RunPace
from tests.factories.dialogues import prepared


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def record(name: str) -> Any:
    return SimpleNamespace(record_id=name)


def draft(number: int = 1, *, accepted: bool = False) -> Any:
    return SimpleNamespace(draft=SimpleNamespace(number=number, accepted=accepted))


DANGER: Any = SimpleNamespace(danger="a danger")
NONE: Any = SimpleNamespace(danger=None)
CONFIG = RunConfig(inputs=(RunInput(source="x"),))


def test_the_time_left_is_known_before_anything_is_committed() -> None:
    clock = Clock()
    pace = RunPace(CONFIG, 4, clock)
    assert pace.rate_text == ""
    clock.now = 10
    pace.on_extraction(record("x:1"), NONE)
    pace.on_extraction(record("x:2"), DANGER)
    assert (pace.done, pace.text, pace.rate_text) == (1.5, "about 17 s left", "9.0 records/min")
    pace.on_draft(record("x:2"), draft())
    assert pace.done == 1.75
    # The judge sent the danger back: what was done stays done.
    pace.on_extraction(record("x:2"), DANGER)
    assert pace.done == 1.75
    pace.on_draft(record("x:2"), draft(2, accepted=True))
    assert (pace.done, pace.text) == (2, "about 10 s left")
    clock.now = 4
    assert pace.rate_text == "0.5 records/s"


def test_a_record_counts_once_whatever_was_seen_of_it() -> None:
    pace = RunPace(CONFIG, 3, Clock())
    steps: list[float] = []
    pace.on_step = lambda: steps.append(pace.done)
    pace.on_extraction(record("x:1"), DANGER)
    for name in ("x:1", "x:2", "x:3"):
        pace.commit(name)
    assert steps == [0.5, 1, 2, 3] and pace.text == ""


def test_answers_of_the_ledger_say_nothing_about_the_pace() -> None:
    clock, tally = Clock(), CallTally()
    pace = RunPace(CONFIG, 10, clock)
    pace.tally = tally
    for name in ("x:1", "x:2", "x:3", "x:4"):
        clock.now += 5
        pace.commit(name)
    assert (pace.done, pace.text) == (4, "")
    tally.requests = 1
    clock.now += 60
    pace.commit("x:5")
    assert pace.text == "about 5 min left"


def test_answers_to_batches_come_at_no_pace() -> None:
    clock = Clock()
    pace = RunPace(CONFIG.model_copy(update={"batch": True}), 2, clock)
    clock.now = 10
    pace.commit("x:1")
    assert (pace.done, pace.text) == (1, "")


def test_a_dialogue_is_done_in_as_many_parts_as_it_has_turns(tmp_path: Path) -> None:
    config, records = prepared(tmp_path)
    pace = RunPace(config, len(records), Clock())
    turns = Dialogue.of(records[0]).turns
    pace.on_record(records[0])
    pace.on_draft(records[0], draft(1))
    assert pace.done == 1 / turns
    pace.on_draft(records[0], draft(turns + 1))  # a turn that rewrites a script
    assert pace.done == 1
