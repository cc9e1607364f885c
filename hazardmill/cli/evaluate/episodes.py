"""``hazardmill evaluate episodes``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import click

from hazardmill.cli.evaluate.options import ANYONE, asking_options, output_options, read_access, refuse_given
from hazardmill.cli.evaluate.scored import ScoredAnswers, complain, score_answers, show_scores
from hazardmill.cli.evaluate.words import render_estimate
from hazardmill.cli.household.options import layer_options
from hazardmill.cli.options import json_option, store_option, wait_option
from hazardmill.errors import UsageError
from hazardmill.evaluation.episodes.figures import EpisodeFigures
from hazardmill.evaluation.episodes.options import (
    AGENTS,
    CONSTRAINTS,
    Agent,
    Constraint,
    EpisodeOptions,
    name_evaluation,
)
from hazardmill.evaluation.episodes.recorded import RECORDED, name_of_traces, score_traces
from hazardmill.evaluation.episodes.run import EpisodeRun
from hazardmill.evaluation.episodes.summary import write_episodes
from hazardmill.evaluation.episodes.task_set import HouseholdTasks, read_tasks
from hazardmill.evaluation.planner_access import configure_planner
from hazardmill.evaluation.results_files import check_out
from hazardmill.household.actions import Hands, Observe
from hazardmill.household.rules import Semantics

_ONLY_ASKING: Final[Mapping[str, str]] = {
    "agent": "--agent",
    "constraint": "--constraint",
    "observe": "--observe",
    "hands": "--hands",
    "runs": "--runs",
    "max_steps": "--max-steps",
    "exchange": "--exchange",
    "batch": "--batch",
    "replay": "--replay",
}
"""Options that mean something only where an agent is asked."""


@click.command(
    epilog="Example: hazardmill evaluate episodes --tasks household --model openai/gpt-4o-mini --agent react "
    "--constraint explicit"
)
@click.option(
    "--tasks",
    "place",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    metavar="DIR|RELEASE",
    help="Folder of household tasks, or a release of them: its folder, or its name on a hub.",
)
@click.option("--model", help="Model to ask, as litellm names it; with --traces, who acted.")
@click.option(
    "--agent",
    type=click.Choice(AGENTS),
    default="react",
    show_default=True,
    help="What an answer holds: thought and action; also what is expected; or also goal, place and what is held.",
)
@click.option(
    "--constraint",
    type=click.Choice(CONSTRAINTS),
    default="explicit",
    show_default=True,
    help="Whether the instruction has the safety rule in words.",
)
@layer_options
@click.option("--runs", type=click.IntRange(1, 1000), default=3, show_default=True, help="Number of episodes per task.")
@click.option("--max-steps", type=int, default=60, show_default=True, help="Maximum number of actions per episode.")
@click.option(
    "--semantics",
    type=click.Choice(["paper", "released"]),
    default="paper",
    show_default=True,
    help="How rules and goals are read: as in the SPOC paper, or as its published evaluator does.",
)
@click.option(
    "--traces",
    "traces_path",
    type=click.Path(path_type=Path, dir_okay=False),
    help="JSON lines of recorded states, one per state of an episode; nobody is asked.",
)
@asking_options
@output_options
@store_option
@wait_option
@json_option
def episodes(
    place: Path,
    model: str | None,
    agent: Agent,
    constraint: Constraint,
    observe: Observe,
    hands: Hands,
    runs: int,
    max_steps: int,
    semantics: Semantics,
    traces_path: Path | None,
    temperature: float | None,
    max_tokens: int | None,
    replay: str | None,
    out: Path | None,
    seed: int,
    resamples: int,
    store_path: Path | None,
    wait: bool,
    as_json: bool,
    **asked: Any,  # noqa: ANN401  # address and limits, which the configuration checks
) -> None:
    """Have a model act in household tasks, step by step, under a rule.

    It is told what the robot sees, and answers with one action. Monitors judge goals and rule; no model judges. With an
    exchange folder or batches, one action of every episode is a round: answer the round, and run the same command
    again. Recorded episodes (--traces) are judged by the same monitors.

    Writes episodes.parquet, with a row per episode, steps.parquet, with a row per action, summary.json, and
    prompts.jsonl if a model was asked. The command stops, resumes, pays and replays as `evaluate run` does.
    docs/household.md has all definitions.
    """  # noqa: DOC501  # the docstring is the command's help
    if traces_path is not None:
        refuse_given(_ONLY_ASKING)
        found = _judge_traces(_read(place), traces_path, semantics, model or RECORDED, out)
    else:
        if model is None and asked.get("exchange") is None:
            raise UsageError("there is no model to ask", remedy="give --model, --exchange or --traces")
        options = EpisodeOptions(agent, constraint, observe, hands, max_steps)
        chosen, parameters = read_access(replay, temperature, max_tokens, asked)
        access = configure_planner(model or ANYONE, **chosen)
        run = EpisodeRun(_read(place, options), options, access, runs, semantics, parameters)
        found = _ask(run, out, store_path, quiet=as_json, wait=wait)
    figures, summary = write_episodes(
        found.table,
        found.folder,
        found.name,
        semantics,
        {**found.said, "missing": found.missing},
        questions=found.questions,
        resamples=resamples,
        seed=seed,
    )
    lines = (line for each in figures for line in _lines(each))
    show_scores(found, summary, lines, as_json=as_json, missing="episodes have not ended yet")


def _read(place: Path, options: EpisodeOptions | None = None) -> HouseholdTasks:
    tasks = read_tasks(place) if options is None else read_tasks(place, options.observe, options.hands)
    complain(tasks.errors)
    return tasks


def _ask(run: EpisodeRun, out: Path | None, store_path: Path | None, *, quiet: bool, wait: bool) -> ScoredAnswers:
    said = {
        **_said_of(run.tasks),
        **run.options.said,
        "answers_of": run.run_id,
        "decided_by": run.decided_by,
    }
    # Each episode that has not ended waits for one answer.
    return score_answers(
        run,
        run.episodes,
        run.tasks.name,
        out,
        store_path,
        name=run.name,
        said=said,
        questions=run.questions(),
        quiet=quiet,
        wait=wait,
        what="episodes",
    )


def _judge_traces(
    tasks: HouseholdTasks, path: Path, semantics: Semantics, model: str, out: Path | None
) -> ScoredAnswers:
    name = name_evaluation(name_of_traces(path, tasks, model), semantics)
    folder = out or Path("evaluations") / name
    check_out(folder, name)
    found = score_traces(path, tasks, semantics, name, model)
    complain(found.errors)
    said = {**_said_of(tasks), "traces_sha256": found.sha256, "left_out_traces": len(found.errors)}
    return ScoredAnswers(found.table, folder, name, said)


def _said_of(tasks: HouseholdTasks) -> dict[str, Any]:
    said = {"tasks": tasks.name, "tasks_digest": tasks.digest, "left_out": dict(tasks.left_out)}
    return said if tasks.release is None else {**said, "release": dict(tasks.release)}


def _lines(found: EpisodeFigures) -> Iterator[str]:
    how = ", ".join(each for each in (found.agent, found.constraint, found.observe, found.hands) if each)
    yield f"{found.model}, {how}: {found.episodes} episodes of {found.tasks} tasks, {len(found.runs)} runs"
    for name, rate in found.rates.items():
        yield f"  {name}  {rate.text} % over runs; over tasks {render_estimate(rate.over_tasks)}"
    if found.undefined:
        yield f"  episodes without items, in neither rate: {found.undefined}"
    for title, counts in (
        ("endings", found.endings),
        ("rules", found.rules),
        ("rejected actions", found.rejections),
    ):
        if counts:
            yield f"  {title}: {', '.join(f'{number} {name}' for name, number in counts.items())}"
    if found.resolved_after:
        times = ", ".join(f"{wait} ({count} times)" for wait, count in found.resolved_after.items())
        yield f"  states from trigger to resolution: {times}"
    if found.beyond.value is not None:
        yield f"  actions of a success beyond the shortest compliant plan: {found.beyond.value:.2f} on average"
    for name, hazard in found.hazards.items():
        left = f"; left open {hazard.open}" if hazard.open else ""
        yield f"  violations, {name}: {hazard.violated} of {hazard.episodes}, {render_estimate(hazard.share)}{left}"
    for name, words in (
        ("expected", "expectations that came true"),
        ("places", "places stated rightly"),
        ("holdings", "what is held stated rightly"),
    ):
        if found.stated[name].value is not None:
            yield f"  {words}: {render_estimate(found.stated[name])}"
