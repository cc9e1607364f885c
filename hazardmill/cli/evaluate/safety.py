"""``hazardmill evaluate safety``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import click

from hazardmill.cli.evaluate.options import ANYONE, asking_options, output_options, read_access, refuse_given
from hazardmill.cli.evaluate.scored import ScoredAnswers, complain, score_answers, show_scores
from hazardmill.cli.evaluate.words import render_estimate
from hazardmill.cli.hazards.maps import NO_MAP, SHIPPED, map_option, path_of_map
from hazardmill.cli.options import json_option, store_option, wait_option
from hazardmill.errors import UsageError
from hazardmill.evaluation.answers.file import PlansFile
from hazardmill.evaluation.planner_access import configure_planner
from hazardmill.evaluation.results_files import check_out
from hazardmill.evaluation.safety.arms import CHOICES, ExampleChoice
from hazardmill.evaluation.safety.figures import AgentFigures
from hazardmill.evaluation.safety.options import RougeReading, SafetyOptions
from hazardmill.evaluation.safety.recorded import name_of_graphs, name_of_plans, score_graphs, score_plans_file
from hazardmill.evaluation.safety.run import SafetyRun
from hazardmill.evaluation.safety.scoring import SafetyScorer
from hazardmill.evaluation.safety.summary import write_safety
from hazardmill.evaluation.safety.task_set import SafetyTask, SafetyTasks, read_tasks
from hazardmill.formalism.formats.pddl.plan_names import pddl_texts
from hazardmill.hazards.detector import Judged
from hazardmill.hazards.map_reader import read_map
from hazardmill.hazards.success import RelationRule, SuccessRule
from hazardmill.text.printable import printable

_ONLY_ASKING: Final[Mapping[str, str]] = {
    "choice": "--agent",
    "reminder": "--safety-reminder",
    "example_seed": "--example-seed",
    "samples": "--runs",
    "limit": "--limit",
    "exchange": "--exchange",
    "batch": "--batch",
}
"""Options that mean something only where an agent is asked."""


@click.command(
    epilog="Example: hazardmill evaluate safety --tasks demo-out/tasks --model openai/gpt-4o-mini --safety-reminder"
)
@click.option("--tasks", "place", metavar="DIR|RELEASE", help="Task folders, or a release; required without --graphs.")
@click.option("--split", type=click.Choice(["train", "validation", "test"]), help="Only tasks of this split.")
@map_option(SHIPPED)
@click.option("--model", help="Model to ask, as litellm names it; with --plans, the author of plans that name none.")
@click.option(
    "--agent",
    "choice",
    type=click.Choice(CHOICES),
    default="few-shot",
    show_default=True,
    help="The example that the model is shown: one drawn by seed, or the one with the most similar instruction.",
)
@click.option("--safety-reminder", "reminder", is_flag=True, help="Remind the model of safety.")
@click.option("--confidence", is_flag=True, help="Ask for a confidence for each step, and read it from the answers.")
@click.option("--example-seed", type=click.IntRange(0), default=0, show_default=True, help="Seed that draws examples.")
@click.option(
    "--plans",
    "plans_path",
    type=click.Path(path_type=Path, dir_okay=False),
    help="JSON lines of plans or answers, as for `evaluate score`; no model is asked.",
)
@click.option("--only-known", is_flag=True, help="With --plans: leave out plans for other tasks.")
@click.option(
    "--graphs",
    "graphs_path",
    type=click.Path(path_type=Path, dir_okay=False),
    help="JSON lines of recorded scene graphs, a line per script: only success is judged.",
)
@click.option(
    "--judge",
    type=click.Choice(["executed", "attempted"]),
    default="executed",
    show_default=True,
    help="What to judge if a step of a script cannot be done: the steps before it, or also that step, by the rules "
    "without a condition.",
)
@click.option(
    "--success",
    type=click.Choice(["reached", "final", "goal"]),
    default="reached",
    show_default=True,
    help="What counts as success: some state reaches the reference, the last one does, or the goal holds at the end.",
)
@click.option(
    "--relations",
    type=click.Choice(["required", "exact"]),
    default="required",
    show_default=True,
    help="Which relations must be as in the reference: those that it changes, or all.",
)
@click.option(
    "--ignore", metavar="FLUENT", multiple=True, help="Ignore this fluent when judging success; repeat for several."
)
@click.option(
    "--rouge",
    type=click.Choice(["words", "actions", "package"]),
    default="words",
    show_default=True,
    help="What Rouge-L counts: words, whole actions, or words as the package rouge does.",
)
@click.option("--runs", "samples", type=click.IntRange(1, 1000), default=1, show_default=True, help="Answers per task.")
@click.option("--limit", type=click.IntRange(1), help="Maximum number of tasks.")
@asking_options
@output_options
@store_option
@wait_option
@json_option
def safety(
    place: str | None,
    split: str | None,
    map_name: str,
    model: str | None,
    choice: ExampleChoice,
    reminder: bool,
    confidence: bool,
    example_seed: int,
    plans_path: Path | None,
    only_known: bool,
    graphs_path: Path | None,
    judge: Judged,
    success: SuccessRule,
    relations: RelationRule,
    ignore: tuple[str, ...],
    rouge: RougeReading,
    samples: int,
    limit: int | None,
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
    """Measure the harm that agents do or leave, and their success.

    A map of hazards says what harm is, and the reference script of each task what success is; no model judges. Scripts
    are asked for (--model, or --exchange), read from a file (--plans), or judged by recorded scene graphs (--graphs).

    Writes safety.parquet, with a row per script, summary.json, and prompts.jsonl if a model was asked. The command
    stops, resumes, pays and replays as `evaluate run` does. docs/safety-detector.md has all definitions.
    """  # the docstring is the command's help
    _check_ways(place, model, asked.get("exchange"), plans_path, graphs_path)
    hazards = None
    if map_name != NO_MAP:
        reading = read_map(path_of_map(map_name))
        hazards = reading.hazards
        complain(reading.problems)
    options = SafetyOptions(hazards, judge, success, relations, tuple(sorted(set(ignore))), rouge, confidence)
    if graphs_path is not None:
        found = _judge_graphs(graphs_path, options, model or "recorded", out)
    else:
        tasks = _read(place or "", split, options, asking=plans_path is None)
        if plans_path is not None:
            found = _judge_plans(tasks, PlansFile.read(plans_path, model), options, out, only_known=only_known)
        else:
            chosen, parameters = read_access(replay, temperature, max_tokens, asked)
            access = configure_planner(model or ANYONE, **chosen)
            run = SafetyRun(tasks, options, access, choice, reminder, example_seed, samples, parameters, limit)
            found = _ask(run, out, store_path, quiet=as_json, wait=wait)
    figures, summary = write_safety(
        found.table,
        found.folder,
        found.name,
        options,
        {**found.said, "missing": found.missing},
        questions=found.questions,
        resamples=resamples,
        seed=seed,
    )
    lines = (line for each in figures for line in _lines(each))
    show_scores(found, summary, lines, as_json=as_json, missing="questions have no answer yet")


def _check_ways(
    place: str | None, model: str | None, exchange: object, plans: Path | None, graphs: Path | None
) -> None:
    """Refuse options that do not belong together."""
    if plans is not None and graphs is not None:
        raise UsageError("--plans and --graphs cannot be combined", remedy="run the command once for each")
    if plans is None and graphs is None:
        if model is None and exchange is None:
            raise UsageError(
                "there are no scripts to judge, and no model to ask",
                remedy="give --model, --exchange, --plans or --graphs",
            )
    else:
        refuse_given(_ONLY_ASKING)
    if graphs is None and place is None:
        raise UsageError("no tasks are named", remedy="give --tasks with a folder of task folders, or a release")


def _read(place: str, split: str | None, options: SafetyOptions, *, asking: bool) -> SafetyTasks:
    """Read the tasks, without those that cannot be judged or, if they are asked about, not be shown."""
    tasks = read_tasks(place, split)
    known = {fluent.name for task in tasks for fluent in task.document.fluents}
    unknown = [name for name in options.ignore if name not in known]
    if unknown:
        raise UsageError(
            f"--ignore {unknown[0]}: no task has a fluent of this name", remedy="name a fluent that the tasks declare"
        )
    used: set[str] = set()

    def work(task: SafetyTask) -> None:
        used.update(SafetyScorer(task, options).rules)
        if asking:
            pddl_texts(task.document)

    tasks = tasks.keep_if_possible(work)
    complain(tasks.errors)
    if options.hazards is not None and options.hazards.rules and not used:
        click.echo(
            printable(
                f"finding: no rule of {options.hazards.file} applies in any task; see hazardmill hazards check --tasks"
            ),
            err=True,
        )
    return tasks


def _ask(run: SafetyRun, out: Path | None, store_path: Path | None, *, quiet: bool, wait: bool) -> ScoredAnswers:
    said = {
        **_said_of(run.tasks),
        "agent": run.arm,
        "answers_of": run.run_id,
        "decided_by": run.decided_by,
    }
    return score_answers(
        run,
        len(run.items),
        run.tasks.name,
        out,
        store_path,
        name=run.name,
        said=said,
        questions=run.questions(),
        quiet=quiet,
        wait=wait,
    )


def _judge_plans(
    tasks: SafetyTasks, plans: PlansFile, options: SafetyOptions, out: Path | None, *, only_known: bool
) -> ScoredAnswers:
    name = options.name_evaluation(name_of_plans(tasks, plans))
    folder = out or Path("evaluations") / name
    check_out(folder, name)
    table = score_plans_file(tasks, plans, options, name, only_known=only_known)
    return ScoredAnswers(table, folder, name, {**_said_of(tasks), "plans_sha256": plans.sha256})


def _said_of(tasks: SafetyTasks) -> dict[str, Any]:
    return {"tasks": tasks.name, "tasks_digest": tasks.digest, "left_out": dict(tasks.left_out)}


def _judge_graphs(path: Path, options: SafetyOptions, model: str, out: Path | None) -> ScoredAnswers:
    name = options.name_evaluation(name_of_graphs(path))
    folder = out or Path("evaluations") / name
    check_out(folder, name)
    found = score_graphs(path, options, name, model)
    complain(found.errors)
    return ScoredAnswers(found.table, folder, name, {"left_out": {"unread": len(found.errors)} if found.errors else {}})


def _lines(found: AgentFigures) -> Iterator[str]:
    figures = found.figures
    readings = ", ".join(f"{count} {reading}" for reading, count in found.readings.items())
    head = f"{found.model}, {found.agent}: {figures.scripts} scripts on {figures.tasks} tasks"
    yield f"{head}: {readings}" if readings else head
    for name, estimate in figures.measures.items():
        yield f"  {name:24}  {render_estimate(estimate)}"
    for name, violations in (*figures.kinds.items(), *figures.categories.items()):
        if violations.count:
            share = render_estimate(violations.share)
            yield f"  violations, {name}: {violations.count} in {violations.scripts} scripts, {share}"
    undefined = sum(count for reference, count in found.references.items() if reference != "defined")
    if undefined:
        said = ", ".join(f"{count} {name}" for name, count in found.references.items() if name != "defined")
        yield f"  scripts whose reference defines no success: {undefined} ({said})"
