"""``hazardmill evaluate run | score``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pyarrow as pa

from hazardmill.cli.evaluate.injection_words import render_injections
from hazardmill.cli.evaluate.options import asking_options, figures_options, read_access, release_options
from hazardmill.cli.evaluate.score import answer_all
from hazardmill.cli.evaluate.words import render_figures, render_turned_away
from hazardmill.cli.options import json_option, print_json, store_option, wait_option
from hazardmill.errors import UsageError
from hazardmill.evaluation.answers.file import PlansFile
from hazardmill.evaluation.injection.injection import Arm, parts_of
from hazardmill.evaluation.injection.tasks import InjectedTasks
from hazardmill.evaluation.metrics import Cluster
from hazardmill.evaluation.planner_access import configure_planner
from hazardmill.evaluation.released_tasks import ReleasedTasks
from hazardmill.evaluation.results_files import check_out
from hazardmill.evaluation.runner import Evaluation
from hazardmill.evaluation.score_file import score_plans, score_run
from hazardmill.evaluation.summary import write_results_and_figures
from hazardmill.evaluation.tasks import TWIN
from hazardmill.release.read.release import load_release
from hazardmill.statistics.estimate import LEVEL
from hazardmill.text.printable import printable


@click.command(
    epilog="Example: hazardmill evaluate score --release releases/hazardmill-1.0.0 --plans plans.jsonl --split test"
)
@release_options
@click.option(
    "--plans",
    "plans_path",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="JSON lines with task_id, model, and plan or answer; optional: sample, variant, finish_reason.",
)
@click.option("--model", help="Name of the planner, for lines without a model.")
@click.option(
    "--only-known",
    is_flag=True,
    help="Skip plans for tasks or contrast twins that are not in the release (with --split: not in that split), "
    "instead of refusing the file.",
)
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
    """Score plans or answers from a file, without asking a model.

    Each line holds a plan (`plan`) or the text of a language model (`answer`); docs/evaluation.md says how a plan is
    found in that text. A task without a line counts against no model; the number of tasks that each model lacks is
    reported.
    """
    release = load_release(release_name)
    plans = PlansFile.read(plans_path, model)
    twins = any(variant == TWIN for _, variant in plans.places)
    tasks = ReleasedTasks(release, split=split, twins=twins, unavoidable=True)
    run = score_run(tasks, plans)
    folder = out or Path("evaluations") / run
    check_out(folder, run)
    table = score_plans(tasks, plans, run=run, only_known=only_known)
    made = {"release": tasks.release, "plans_sha256": plans.sha256}
    finish(table, tasks, folder, run, made, cluster=cluster, resamples=resamples, seed=seed, as_json=as_json)


@click.command(
    epilog="Example: hazardmill evaluate run --release releases/hazardmill-1.0.0 --model openai/gpt-4o-mini --runs 3"
)
@release_options
@click.option("--model", required=True, help="Model to ask, as litellm names it.")
@click.option("--runs", "samples", type=click.IntRange(1, 1000), default=1, show_default=True, help="Answers per task.")
@click.option("--limit", type=click.IntRange(1), help="Maximum number of tasks.")
@click.option("--twins", is_flag=True, help="Also ask about each task's contrast twin, to measure over-caution.")
@click.option(
    "--inject",
    "arms",
    type=click.Choice(["actions", "objects"]),
    multiple=True,
    help="Also ask about each task with such distractors added, to measure their effect on the scores; may be given "
    "twice.",
)
@click.option(
    "--levels",
    default="2,4,8,16,32,64",
    show_default=True,
    help="With --inject: numbers of distractors, one variant per number.",
)
@click.option(
    "--seeds",
    type=click.IntRange(1, 100),
    default=3,
    show_default=True,
    help="With --inject: number of random draws per level.",
)
@asking_options
@figures_options
@store_option
@wait_option
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
    wait: bool,
    as_json: bool,
    **asked: Any,  # noqa: ANN401  # address and limits, which the configuration checks
) -> None:
    """Ask a language model for plans, and score them.

    The model sees the PDDL of the basic problem and nothing else: no danger, no source text, no reference plan. Every
    answer is in the store's ledger before it is used. If the run stops, for whatever reason, the same command resumes
    it and pays for nothing twice. If the command is repeated after the run has ended, it sends nothing and gives the
    same digest.

    With --inject, the model gets each task both as released and with distractors that are proved to change nothing. A
    variant for which no proof is found is left out and counted. More: docs/evaluation-abilities.md.
    """
    if not arms:
        _need_inject()
    released = ReleasedTasks(load_release(release_name), split=split, limit=limit, twins=twins)
    released.check_any()
    tasks = InjectedTasks(released, arms, levels=_numbers(levels), seeds=seeds) if arms else released
    chosen, parameters = read_access(replay, temperature, max_tokens, asked)
    evaluation = Evaluation(tasks, configure_planner(model, **chosen), samples, parameters)
    folder = out or Path("evaluations") / evaluation.run_id
    table = answer_all(evaluation, tasks.released, tasks.name, folder, store_path, quiet=as_json, wait=wait)
    made = {"release": released.release, "decided_by": evaluation.decided_by}
    if isinstance(tasks, InjectedTasks):
        made["injection"] = tasks.describe()
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
    """Refuse options for injection if nothing is injected."""
    ctx = click.get_current_context()
    for name in ("levels", "seeds"):
        if ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            raise UsageError(f"--{name} needs --inject", remedy="name what to inject with --inject")


def _numbers(text: str) -> list[int]:
    try:
        return [int(word) for word in text.split(",")]
    except ValueError as error:
        raise click.BadParameter(
            f"{text!r} is not a list of whole numbers separated by commas", param_hint="--levels"
        ) from error


def finish(
    table: pa.Table,
    tasks: ReleasedTasks | InjectedTasks,
    folder: Path,
    run: str,
    made: dict[str, Any],
    *,
    cluster: Cluster,
    resamples: int,
    seed: int,
    as_json: bool,
) -> None:
    """Compute the figures, write rows and figures, and print them."""
    found, summary = write_results_and_figures(
        table, tasks, folder, run, made, cluster=cluster, resamples=resamples, seed=seed
    )
    lacking, away = summary["missing"], summary["turned_away"]
    if as_json:
        print_json({**summary, "folder": str(folder)})
        return
    click.echo(printable(f"{tasks.name}: {tasks.released} tasks"))
    plain = [each for each in found if parts_of(each.variant) is None]
    of_injection = render_injections(table, made.get("injection"), resamples, LEVEL, seed, cluster)
    for line in [*render_figures(plain, LEVEL), *of_injection, *render_turned_away(away, table.num_rows)]:
        click.echo(printable(line))
    for model, count in lacking.items():
        click.echo(printable(f"{model} has no answer for {count} of the {tasks.released} tasks, which are not counted"))
    click.echo(printable(f"digest: {summary['digest']}"))
    click.echo(printable(f"rows and figures: {folder}"))
