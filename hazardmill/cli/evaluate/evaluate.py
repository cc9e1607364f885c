"""``hazardmill evaluate run | score``, and the verbs of other modules."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar

import click

from hazardmill.cli.options import FiniteRange, answer_limits, json_option, print_json, store_option
from hazardmill.errors import UsageError
from hazardmill.text.printable import printable

if TYPE_CHECKING:
    from pydantic import JsonValue

    from hazardmill.evaluation.injection.injection import Arm
    from hazardmill.evaluation.metrics import Cluster, Figures
    from hazardmill.release.read.release import Release

P = ParamSpec("P")
R = TypeVar("R")

_LEVEL: Final = 0.95
_VERBS: Final = {
    "abilities": "hazardmill.cli.evaluate.abilities",
    "difficulty": "hazardmill.cli.evaluate.difficulty",
    "report": "hazardmill.cli.evaluate.report",
    "stats": "hazardmill.cli.evaluate.stats",
}
"""Verbs of other modules, each under its own name there."""


class _Verbs(click.Group):
    """A group some of whose commands are imported when called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        there = [verb for verb, module in _VERBS.items() if importlib.util.find_spec(module) is not None]
        return sorted([*super().list_commands(ctx), *there])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        module = _VERBS.get(cmd_name)
        if module is None or importlib.util.find_spec(module) is None:
            return super().get_command(ctx, cmd_name)
        command = getattr(importlib.import_module(module), cmd_name)
        assert isinstance(command, click.Command)
        return command


@click.group(cls=_Verbs, epilog="Example: hazardmill evaluate score --release releases/1.0.0 --plans plans.jsonl")
def evaluate() -> None:
    """Score what planners make of a release, and say why they fail. No model judges anything."""


def release_options(function: Callable[P, R]) -> Callable[P, R]:
    """What is evaluated on."""
    for option in (
        click.option("--split", type=click.Choice(["train", "validation", "test"]), help="Only tasks of this split."),
        click.option(
            "--release",
            "release_name",
            required=True,
            metavar="FOLDER|ORG/NAME",
            help="Release, or a dataset on a hub.",
        ),
    ):
        function = option(function)
    return function


def figures_options(function: Callable[P, R]) -> Callable[P, R]:
    """How intervals are made, and where everything goes."""
    for option in (
        click.option(
            "--out",
            type=click.Path(path_type=Path, file_okay=False),
            help="Folder of rows and figures [default: evaluations/ and a name made of all that decides them].",
        ),
        click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the bootstrap."),
        click.option(
            "--resamples", type=click.IntRange(100), default=10_000, show_default=True, help="Of the bootstrap."
        ),
        click.option(
            "--cluster",
            type=click.Choice(["task", "source"]),
            default="task",
            show_default=True,
            help="What the bootstrap draws: tasks, or whole sources.",
        ),
    ):
        function = option(function)
    return function


def asking_options(function: Callable[P, R]) -> Callable[P, R]:
    """How a model is asked, and by what limits."""
    for option in reversed(
        (
            click.option("--temperature", type=FiniteRange(0), help="In place of the prompt's."),
            click.option(
                "--max-tokens", type=click.IntRange(1), help="Most tokens of an answer, in place of the prompt's."
            ),
            click.option(
                "--api-base", help="Address of an OpenAI-compatible server; no key in it, that goes in the environment."
            ),
            click.option(
                "--budget-usd",
                type=FiniteRange(0, min_open=True),
                help="Most that the run may spend, all told.",
            ),
            click.option(
                "--concurrency", type=click.IntRange(1, 1000), help="Tasks asked about, and requests sent, at once."
            ),
            click.option("--requests-per-minute", type=click.IntRange(1), help="Most requests sent in a minute."),
            click.option("--tokens-per-minute", type=click.IntRange(1), help="Most tokens, in and out, of a minute."),
            click.option(
                "--deadline",
                "deadline_s",
                type=FiniteRange(0, min_open=True),
                metavar="SECONDS",
                help="For one request, all attempts and pauses together.",
            ),
            *answer_limits,
            click.option(
                "--replay",
                is_flag=False,
                flag_value="",
                metavar="[STORE]",
                help="Answer from the ledger of this store, or of STORE; an unknown request stops the run.",
            ),
        )
    ):
        function = option(function)
    return function


def asked_by(
    replay: str | None, temperature: float | None, max_tokens: int | None, asked: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, JsonValue]]:
    """What ``asking_options`` gave.

    Returns:
        Fields of the configuration, where settings fill in what was not given; what takes the place of a prompt's
        parameters.
    """
    from hazardmill.settings import load_settings

    chosen = load_settings().fill(asked)
    if replay is not None:
        chosen |= {"backend": "replay", "replay_store": Path(replay).absolute() if replay else None}
    given: dict[str, JsonValue] = {"temperature": temperature, "max_tokens": max_tokens}
    return chosen, {name: value for name, value in given.items() if value is not None}


def release_at(name: str) -> Release:
    """The release that was named."""
    from hazardmill.release.read.release import load_release

    return load_release(name)


@evaluate.command(epilog="Example: hazardmill evaluate score --release releases/1.0.0 --plans plans.jsonl --split test")
@release_options
@click.option(
    "--plans",
    "plans_path",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="JSON lines: task_id, model, plan or answer; sample, variant, finish_reason.",
)
@click.option("--model", help="Name of what planned, for lines that have none.")
@click.option("--only-known", is_flag=True, help="Leave out plans for other tasks than those evaluated on.")
@figures_options
@json_option
def score(
    release_name: str,
    split: str | None,
    plans_path: Path,
    model: str | None,
    only_known: bool,
    cluster: Cluster,
    resamples: int,
    seed: int,
    out: Path | None,
    as_json: bool,
) -> None:
    """Score plans or answers in a file: no model is asked.

    Each line is a plan string (`plan`) or the text of a language model (`answer`), of which docs/evaluation.md says how
    a plan is found in it. Tasks without a line are not counted against anybody; how many each lacks is told.
    """
    from hazardmill.evaluation.answers.file import PlansFile
    from hazardmill.evaluation.released_tasks import ReleasedTasks
    from hazardmill.evaluation.results_files import check_out
    from hazardmill.evaluation.score_file import score_plans, score_run
    from hazardmill.evaluation.tasks import TWIN

    release = release_at(release_name)
    plans = PlansFile.read(plans_path, model)
    twins = any(variant == TWIN for _, variant in plans.places)
    tasks = ReleasedTasks(release, split=split, twins=twins, unavoidable=True)
    run = score_run(tasks, plans)
    folder = out or Path("evaluations") / run
    check_out(folder, run)
    table = score_plans(tasks, plans, run=run, only_known=only_known)
    made = {"release": tasks.release, "plans_sha256": plans.sha256}
    finish(table, tasks, folder, run, made, cluster=cluster, resamples=resamples, seed=seed, as_json=as_json)


@evaluate.command(
    epilog="Example: hazardmill evaluate run --release releases/1.0.0 --model openai/gpt-4o-mini --runs 3"
)
@release_options
@click.option("--model", required=True, help="Whom to ask, as litellm names it.")
@click.option("--runs", "samples", type=click.IntRange(1, 1000), default=1, show_default=True, help="Answers a task.")
@click.option("--limit", type=click.IntRange(1), help="At most so many tasks.")
@click.option("--twins", is_flag=True, help="Ask about each task's contrast twin too: over-caution.")
@click.option(
    "--inject",
    "arms",
    type=click.Choice(["actions", "objects"]),
    multiple=True,
    help="Ask about each task with distractors in it too: redundancy. Repeatable.",
)
@click.option(
    "--levels",
    default="2,4,8,16,32,64",
    show_default=True,
    help="With --inject: how many distractors; each a variant.",
)
@click.option(
    "--seeds",
    type=click.IntRange(1, 100),
    default=3,
    show_default=True,
    help="With --inject: draws of each level.",
)
@asking_options
@figures_options
@store_option
@json_option
def run(
    release_name: str,
    split: str | None,
    model: str,
    samples: int,
    limit: int | None,
    twins: bool,
    arms: tuple[Arm, ...],
    levels: str,
    seeds: int,
    temperature: float | None,
    max_tokens: int | None,
    replay: str | None,
    cluster: Cluster,
    resamples: int,
    seed: int,
    out: Path | None,
    store_path: Path | None,
    as_json: bool,
    **asked: Any,  # noqa: ANN401  # address and limits, which the configuration checks
) -> None:
    """Ask a language model for plans, and score them.

    It is shown the PDDL of the basic problem and nothing else: no danger, no source text, no reference plan. Every
    answer goes into the ledger of the store before it is used. Whatever stops the run, the same command goes on with
    it, and pays for nothing twice; done again when it is complete, it asks nothing and gives the same digest.

    With --inject each task is asked about as it was released and with distractors in it, which are proved to change
    nothing; what cannot be proved of a task is left out and counted. docs/evaluation-abilities.md has more.
    """
    from hazardmill.cli.evaluate.score import answered
    from hazardmill.evaluation.injection.tasks import InjectedTasks
    from hazardmill.evaluation.planner_access import configure_planner
    from hazardmill.evaluation.released_tasks import ReleasedTasks
    from hazardmill.evaluation.runner import Evaluation

    if not arms:
        _need_inject()
    released = ReleasedTasks(release_at(release_name), split=split, limit=limit, twins=twins)
    released.check_any()
    tasks = InjectedTasks(released, arms, levels=_numbers(levels), seeds=seeds) if arms else released
    chosen, parameters = asked_by(replay, temperature, max_tokens, asked)
    evaluation = Evaluation(tasks, configure_planner(model, **chosen), samples, parameters)
    folder = out or Path("evaluations") / evaluation.run_id
    table = answered(evaluation, tasks, folder, store_path, quiet=as_json)
    made = {"release": released.release, "decided_by": evaluation.decided_by}
    if isinstance(tasks, InjectedTasks):
        made["injection"] = tasks.said()
    finish(
        table,
        tasks,
        folder,
        evaluation.run_id,
        made,
        cluster=cluster,
        resamples=resamples,
        seed=seed,
        as_json=as_json,
    )


def _need_inject() -> None:
    """Refuse what is for injection, where nothing is injected."""
    ctx = click.get_current_context()
    for name in ("levels", "seeds"):
        if ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            raise UsageError(f"--{name} is for injection only", remedy="say with --inject what to inject")


def _numbers(text: str) -> list[int]:
    try:
        return [int(word) for word in text.split(",")]
    except ValueError as error:
        raise click.BadParameter(f"{text!r} are no whole numbers with commas between", param_hint="--levels") from error


def finish(
    table: Any,  # noqa: ANN401  # a pyarrow.Table, which is not imported for help
    tasks: Any,  # noqa: ANN401  # ReleasedTasks, likewise
    folder: Path,
    run: str,
    made: dict[str, Any],
    *,
    cluster: Cluster,
    resamples: int,
    seed: int,
    as_json: bool,
) -> None:
    """Work the figures out, write rows and figures, and show them."""
    from hazardmill.cli.evaluate.injection_words import injected_lines
    from hazardmill.cli.evaluate.words import lines, turned_away_lines
    from hazardmill.evaluation.injection.injection import parts_of

    found, summary = written(table, tasks, folder, run, made, cluster=cluster, resamples=resamples, seed=seed)
    lacking, away = summary["missing"], summary["turned_away"]
    if as_json:
        print_json({**summary, "folder": str(folder)})
        return
    click.echo(printable(f"{tasks.name}: {tasks.released} tasks"))
    plain = [each for each in found if parts_of(each.variant) is None]
    of_injection = injected_lines(table, made.get("injection"), resamples, _LEVEL, seed, cluster)
    for line in [*lines(plain, _LEVEL), *of_injection, *turned_away_lines(away, table.num_rows)]:
        click.echo(printable(line))
    for model, count in lacking.items():
        click.echo(printable(f"{model} has no answer for {count} of the {tasks.released} tasks: they are not counted"))
    click.echo(printable(f"digest: {summary['digest']}"))
    click.echo(printable(f"rows and figures: {folder}"))


def written(
    table: Any,  # noqa: ANN401  # a pyarrow.Table, which is not imported for help
    tasks: Any,  # noqa: ANN401  # ReleasedTasks, likewise
    folder: Path,
    run: str,
    made: dict[str, Any],
    *,
    cluster: Cluster = "task",
    resamples: int = 10_000,
    seed: int = 0,
) -> tuple[list[Figures], dict[str, Any]]:
    """Work the figures out, and write rows and figures: the figures, and the summary that is written."""
    from hazardmill.evaluation.metrics import figures
    from hazardmill.evaluation.results_files import write_folder
    from hazardmill.evaluation.score_file import missing, turned_away

    found = figures(table, resamples=resamples, level=_LEVEL, seed=seed, cluster=cluster)
    summary = write_folder(
        folder,
        table,
        {
            "run": run,
            "tasks": tasks.name,
            "tasks_digest": tasks.digest,
            "tasks_in_release": tasks.released,
            "missing": missing(table, tasks.released),
            "turned_away": turned_away(table),
            "intervals": {"level": _LEVEL, "resamples": resamples, "seed": seed, "drawn": cluster},
            "models": [each.model_dump(mode="json") for each in found],
            **made,
        },
    )
    return found, summary
