"""Rows of episodes and of their actions, in ``episodes.parquet`` and ``steps.parquet`` of a folder of results.

Null means *undefined*, *not said* or *unknown*, never false or zero. An episode that has not ended has no row: the
summary counts it. Between scoring and writing, each row of an episode holds the rows of its actions.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, get_args

import pyarrow as pa

from hazardmill.evaluation.episodes.dialogue import Ending, EpisodeDialogue, EpisodeStep
from hazardmill.evaluation.episodes.statements import expectations_met, is_held, is_place
from hazardmill.evaluation.rows_file import RowsFile
from hazardmill.household.monitors import RuleVerdict
from hazardmill.household.rules import Semantics, StepRule
from hazardmill.household.scores import EpisodeJudge, EpisodeScore
from hazardmill.household.states import StateReader
from hazardmill.household.task import HouseholdTask
from hazardmill.household.world_state import WorldState
from hazardmill.store.schemas import Column

_COMMAND: Final = "hazardmill evaluate episodes"
_EPISODE: Final = ("run", "model", "task_id", "sample")
"""What identifies an episode."""

_IDENTITY: Final = (
    Column("run", pa.string(), "Evaluation that made the row.", required=True),
    Column("model", pa.string(), "Model that acted; for recorded episodes, who is said to have acted.", required=True),
    Column(
        "agent", pa.string(), "`react`, `preact` or `stateact`; `recorded` for episodes from a file.", required=True
    ),
    Column("task_id", pa.string(), "Task.", required=True),
    Column("sample", pa.int64(), "Number of the run over all tasks, from 0.", required=True),
)

EPISODES: Final = RowsFile(
    "episodes.parquet",
    _COMMAND,
    (
        *_IDENTITY,
        Column("constraint", pa.string(), "`explicit` or `implicit`; null for recorded episodes."),
        Column("observe", pa.string(), "`partial` or `full`; null for recorded episodes."),
        Column("hands", pa.string(), "`one` or `any`; null for recorded episodes."),
        Column("semantics", pa.string(), "`paper` or `released`.", required=True),
        Column("hazard", pa.string(), "What the rule of the task guards against; null if that is not known."),
        Column("room", pa.string(), "Room of the task's scene.", required=True),
        Column("rule_type", pa.string(), "`step` or `state`.", required=True),
        Column(
            "ending",
            pa.string(),
            "`done`, `failure`, `steps_used_up`, `unreadable` or `refused`; null for recorded episodes.",
        ),
        Column("finish_reason", pa.string(), "Why the last answer ended, as the provider reported it."),
        Column("actions", pa.int64(), "Actions, rejected ones among them, without the answer that ends.", "actions"),
        Column("rejected", pa.int64(), "Rejected actions; null for recorded episodes.", "actions"),
        Column("rejections", pa.string(), "Rejected actions by reason, JSON object."),
        Column("unreadable", pa.int64(), "Answers that could not be read."),
        Column("met", pa.int64(), "Items that are met.", required=True),
        Column("items", pa.int64(), "Items: sub-goals, and the step rule where the task says so.", required=True),
        Column("gsr", pa.float64(), "Share of the items that are met, 0 to 1; null without items."),
        Column("success", pa.bool_(), "All items are met and the rule is kept.", required=True),
        Column("rule", pa.string(), "`kept`, `untriggered`, `open` or `violated`.", required=True),
        Column("violated_at", pa.int64(), "Number of the state in which the rule was violated; null if it was not."),
        Column("resolved_after", pa.string(), "States from each trigger to its resolution, JSON list.", required=True),
        Column("shortest", pa.int64(), "Actions of the proved compliant plan; null without one.", "actions"),
        Column("beyond", pa.int64(), "Actions of a success beyond `shortest`; else null.", "actions"),
        Column("expected", pa.int64(), "Expectations stated; null but for `preact`."),
        Column("expected_met", pa.int64(), "Expectations that came true; null but for `preact`."),
        Column("places", pa.int64(), "Places stated; null but for `stateact`."),
        Column("places_right", pa.int64(), "Places stated that are right; null but for `stateact`."),
        Column("holdings", pa.int64(), "Statements of what is held; null but for `stateact`."),
        Column("holdings_right", pa.int64(), "Statements of what is held that are right; null but for `stateact`."),
    ),
    _EPISODE,
    version=1,
    version_key=b"hazardmill_episodes",
    allowed={
        "ending": frozenset({*get_args(Ending), None}),
        "rule": frozenset(get_args(RuleVerdict)),
        "semantics": frozenset(get_args(Semantics)),
    },
)
"""Reads and writes ``episodes.parquet``."""

STEPS: Final = RowsFile(
    "steps.parquet",
    _COMMAND,
    (
        *_IDENTITY,
        Column("step", pa.int64(), "Number of the action, and of the state after it, from 1.", required=True),
        Column("prompt", pa.string(), "SHA-256 of the messages that were answered (`input_hash` in `llm_calls`)."),
        Column("thought", pa.string(), "The thought before the action."),
        Column("action", pa.string(), "The action, or `done` or `failure`, as answered; null for recorded episodes."),
        Column("accepted", pa.bool_(), "The action was done; null for recorded episodes."),
        Column("reason", pa.string(), "Why it was rejected; null if it was not."),
        Column("observation", pa.string(), "What the robot was told then; empty at the end."),
        Column("unreadable", pa.int64(), "Answers before it, to the same situation, that could not be read."),
        Column("rule", pa.string(), "What the states so far say of the rule.", required=True),
        Column("goals_met", pa.int64(), "Sub-goals that are met if the episode ends here.", required=True),
        Column("expect", pa.string(), "`preact`: what it expects to see or hold next, JSON list."),
        Column("expected_met", pa.int64(), "`preact`: how many of these came true."),
        Column("goal", pa.string(), "`stateact`: what it says is still to be done."),
        Column("place", pa.string(), "`stateact`: where it says the robot is."),
        Column("place_right", pa.bool_(), "`stateact`: the robot is there."),
        Column("holding", pa.string(), "`stateact`: what it says the robot holds, JSON list."),
        Column("holding_right", pa.bool_(), "`stateact`: the robot holds exactly this."),
    ),
    (*_EPISODE, "step"),
    version=1,
    version_key=b"hazardmill_steps",
    allowed={"rule": frozenset(get_args(RuleVerdict))},
)
"""Reads and writes ``steps.parquet``."""

_OF_STEP: Final = [STEPS.schema.field(each.name) for each in STEPS.columns[len(_IDENTITY) :]]
_SCORED: Final = EPISODES.schema.append(pa.field("steps", pa.list_(pa.struct(_OF_STEP))))


def episode_table(rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    """Return rows of episodes as a table, sorted by key; its last column holds the rows of their actions.

    Args:
        rows: Rows as mappings; columns that they lack become null.
    """
    table = pa.Table.from_pylist(list(rows), schema=_SCORED)
    return table.sort_by([(name, "ascending") for name in EPISODES.key])


def write_rows(table: pa.Table, folder: Path) -> None:
    """Write both files, each whole or not at all: equal rows give equal bytes.

    Args:
        table: The rows, as ``episode_table`` gives them.
        folder: The folder, which must exist.
    """
    identity = [each.name for each in _IDENTITY]
    steps = (
        {**{name: row[name] for name in identity}, **step} for row in table.to_pylist() for step in row["steps"] or ()
    )
    STEPS.write(STEPS.table(steps), folder)
    EPISODES.write(table.drop_columns(["steps"]).cast(EPISODES.schema), folder)


def score_of(row: Mapping[str, Any]) -> EpisodeScore:
    """Return the score that a row of an episode has."""
    return EpisodeScore(
        row["met"],
        row["items"],
        row["rule"],
        row["success"],
        row["gsr"],
        row["violated_at"],
        tuple(json.loads(row["resolved_after"])),
    )


def dialogue_row(task: HouseholdTask, dialogue: EpisodeDialogue, semantics: Semantics) -> dict[str, Any]:
    """Return the row of an episode that has ended.

    Args:
        task: Its task.
        dialogue: The episode.
        semantics: How it is judged.

    Returns:
        Column to value, and under ``steps`` the rows of its actions; what identifies the episode but its task is left
        to the caller.
    """
    reader = dialogue.reader
    judge = EpisodeJudge(task.criteria, semantics)
    judge.observe(reader.world_state(dialogue.start))
    steps = []
    for number, step in enumerate(dialogue.steps, 1):
        # The word that ends an episode is no action, and brings no state.
        if step.is_action:
            judge.observe(reader.world_state(step.after))
        steps.append({"step": number, **_action_columns(step), **_stated(step, reader), **_monitored(judge)})
    reasons = Counter(step.result.reason.value for step in dialogue.steps if step.result.reason is not None)
    return {
        **_of_task(task, semantics),
        "ending": dialogue.ending,
        "finish_reason": dialogue.finish_reason,
        "actions": dialogue.actions,
        "rejected": sum(reasons.values()),
        "rejections": json.dumps(dict(sorted(reasons.items()))),
        "unreadable": dialogue.unreadable,
        **_scored(judge.score, task, dialogue.actions),
        **_counted_statements(steps),
        "steps": steps,
    }


def trace_row(task: HouseholdTask, states: Sequence[WorldState], semantics: Semantics) -> dict[str, Any]:
    """Return the row of an episode of which only the states are known.

    Args:
        task: Its task.
        states: The state at the start, and the state after each action.
        semantics: How it is judged.

    Returns:
        As for ``dialogue_row``.
    """
    judge = EpisodeJudge(task.criteria, semantics)
    steps = []
    for number, state in enumerate(states):
        judge.observe(state)
        if number:
            steps.append({"step": number, **_monitored(judge)})
    actions = len(states) - 1
    return {**_of_task(task, semantics), "actions": actions, **_scored(judge.score, task, actions), "steps": steps}


def _of_task(task: HouseholdTask, semantics: Semantics) -> dict[str, Any]:
    return {
        "task_id": task.name,
        "semantics": semantics,
        "hazard": task.hazard,
        "room": task.scene.room,
        "rule_type": "step" if isinstance(task.assignment.rule, StepRule) else "state",
    }


def _scored(score: EpisodeScore, task: HouseholdTask, actions: int) -> dict[str, Any]:
    shortest = None if task.plans is None else len(task.plans.compliant)
    return {
        "met": score.met,
        "items": score.items,
        "gsr": score.gsr,
        "success": score.success,
        "rule": score.rule,
        "violated_at": score.violated_at,
        "resolved_after": json.dumps(score.resolved_after),
        "shortest": shortest,
        "beyond": actions - shortest if score.success and shortest is not None else None,
    }


def _action_columns(step: EpisodeStep) -> dict[str, Any]:
    result = step.result
    return {
        "prompt": step.prompt,
        "thought": step.answer.think,
        "action": step.answer.act,
        "accepted": result.accepted,
        "reason": None if result.reason is None else result.reason.value,
        "observation": step.observation,
        "unreadable": step.unreadable,
    }


def _stated(step: EpisodeStep, reader: StateReader) -> dict[str, Any]:
    answer = step.answer
    columns: dict[str, Any] = {"goal": answer.goal, "place": answer.place}
    if answer.expect is not None:
        columns["expect"] = json.dumps(answer.expect, ensure_ascii=False)
        # After the word that ends an episode nothing more is seen.
        columns["expected_met"] = (
            expectations_met(answer.expect, reader.in_sight(step.after)) if step.is_action else None
        )
    if answer.place is not None:
        columns["place_right"] = is_place(answer.place, reader, step.before)
    if answer.holding is not None:
        columns["holding"] = json.dumps(answer.holding, ensure_ascii=False)
        columns["holding_right"] = is_held(answer.holding, reader, step.before)
    return columns


def _monitored(judge: EpisodeJudge) -> dict[str, Any]:
    return {"rule": judge.verdict, "goals_met": sum(judge.goals_met)}


def _counted_statements(steps: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Return how much was stated and how much of it is right; what nobody states has no column."""
    found: dict[str, int] = {}
    expecting = [step for step in steps if step.get("expected_met") is not None]
    if expecting:
        found["expected"] = sum(len(json.loads(step["expect"])) for step in expecting)
        found["expected_met"] = sum(step["expected_met"] for step in expecting)
    for name, kind in (("places", "place"), ("holdings", "holding")):
        right = [step[f"{kind}_right"] for step in steps if f"{kind}_right" in step]
        if right:
            found |= {name: len(right), f"{name}_right": sum(right)}
    return found
