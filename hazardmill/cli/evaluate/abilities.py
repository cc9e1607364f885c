"""``hazardmill evaluate abilities``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import click

from hazardmill.cli.evaluate.options import asking_options, figures_options, read_access, release_options
from hazardmill.cli.evaluate.score import answer_all
from hazardmill.cli.evaluate.words import render_turned_away
from hazardmill.cli.options import json_option, print_json, store_option, wait_option
from hazardmill.evaluation.abilities.abilities import ABILITIES, Ability
from hazardmill.evaluation.abilities.figures import AbilityFigures, Ratio
from hazardmill.evaluation.abilities.run import AbilityRun, ability_prompts
from hazardmill.evaluation.abilities.summary import write_abilities
from hazardmill.evaluation.metrics import Cluster
from hazardmill.evaluation.planner_access import configure_planner
from hazardmill.evaluation.released_tasks import ReleasedTasks
from hazardmill.release.read.release import load_release
from hazardmill.reporting.estimates import render_interval
from hazardmill.reporting.numbers import per_cent
from hazardmill.statistics.estimate import Estimate, Proportion
from hazardmill.text.printable import printable

_TITLES: Final = {
    "dangers": "dangerous steps of a plan",
    "condition": "when an action is dangerous",
    "alternative": "a safe plan in place of a dangerous one",
}
_CORRECT: Final = {"dangers": "exactly the steps", "condition": "the same condition", "alternative": "safe"}


@click.command(
    epilog="Example: hazardmill evaluate abilities --release releases/hazardmill-1.0.0 --model openai/gpt-4o-mini"
)
@release_options
@click.option("--model", required=True, help="Model to ask, as litellm names it.")
@click.option(
    "--ability",
    "abilities",
    type=click.Choice(["dangers", "condition", "alternative"]),
    multiple=True,
    help="Only this ability; repeat for several.",
)
@click.option(
    "--runs", "samples", type=click.IntRange(1, 1000), default=1, show_default=True, help="Answers per question."
)
@click.option("--limit", type=click.IntRange(1), help="Maximum number of tasks to ask about.")
@asking_options
@figures_options
@store_option
@wait_option
@json_option
def abilities(
    release_name: str,
    split: str | None,
    model: str,
    abilities: tuple[Ability, ...],
    samples: int,
    limit: int | None,
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
    """Test the abilities that safe planning needs, without a judge.

    For each task, asks which steps of its unsafe plan are dangerous, when each dangerous action is dangerous, and what
    a safe plan in place of the unsafe one would be. Writes abilities.parquet, with a row per answer, and summary.json.
    The command stops, resumes, pays and replays as `evaluate run` does. docs/evaluation-abilities.md explains columns
    and figures.
    """
    tasks = ReleasedTasks(load_release(release_name), split=split, limit=limit)
    tasks.check_any()
    chosen, parameters = read_access(replay, temperature, max_tokens, asked)
    run = AbilityRun(
        tasks, configure_planner(model, **chosen), samples, parameters, ability_prompts(abilities or ABILITIES)
    )
    folder = out or Path("evaluations") / run.run_id
    table = answer_all(run, tasks.released, tasks.name, folder, store_path, quiet=as_json, wait=wait)
    found, summary = write_abilities(table, tasks, run, folder, cluster=cluster, resamples=resamples, seed=seed)
    if as_json:
        print_json({**summary, "folder": str(folder)})
        return
    click.echo(printable(f"{tasks.name}: {tasks.released} tasks"))
    for line in [*_lines(found), *render_turned_away(summary["turned_away"], table.num_rows)]:
        click.echo(printable(line))
    click.echo(printable(f"digest: {summary['digest']}"))
    click.echo(printable(f"rows and figures: {folder}"))


def _lines(found: list[AbilityFigures]) -> Iterator[str]:
    for each in found:
        ended = ", ".join(f"{count} {status}" for status, count in each.statuses.items())
        yield (
            f"{each.model}, {each.ability} ({_TITLES[each.ability]}): {each.answers} answers on {each.tasks} tasks: "
            f"{ended}"
        )
        for name, rate in each.rates.items():
            yield f"  {_CORRECT[each.ability] if name == 'correct' else name.replace('_', ' '):27}  {_rate(rate, each)}"
        for name, ratio in each.ratios.items():
            yield f"  {name.replace('typed_', 'with danger type, '):27}  {_ratio(ratio)}"


def _rate(rate: Proportion, of: AbilityFigures) -> str:
    nulls = of.answers - rate.n
    return f"{_estimate(rate)}  ({rate.count} of {rate.n}{f'; null for {nulls}' if nulls else ''})"


def _ratio(ratio: Ratio) -> str:
    nulls = (f"undefined for {ratio.undefined}",) * (ratio.undefined > 0)
    nulls += (f"past the state limit for {ratio.unknown}",) * (ratio.unknown > 0)
    of = "; ".join((f"over {ratio.answers} answers", *nulls))
    return f"{_estimate(ratio.pooled)} pooled, {_estimate(ratio.mean)} on average  ({of})"


def _estimate(figure: Estimate) -> str:
    interval = render_interval(figure, per_cent)
    if figure.value is None or interval is None:
        return "not defined"
    return f"{per_cent(figure.value)} [{interval}]"
