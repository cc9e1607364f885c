"""``hazardmill evaluate safel``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

import click

from hazardmill.cli.evaluate.options import ANYONE, asking_options, output_options, read_access
from hazardmill.cli.evaluate.scored import complain, score_answers, show_scores
from hazardmill.cli.evaluate.words import render_estimate
from hazardmill.cli.options import json_option, store_option, wait_option
from hazardmill.errors import UsageError
from hazardmill.evaluation.planner_access import configure_planner
from hazardmill.evaluation.safel.figures import ALL, SafelFigures
from hazardmill.evaluation.safel.run import SafelRun
from hazardmill.evaluation.safel.scenario_set import read_set
from hazardmill.evaluation.safel.sequence import TITLES
from hazardmill.evaluation.safel.shown import SafelTest
from hazardmill.evaluation.safel.summary import write_safel

_KINDS: Final = frozenset({"mal", "sit", "task"})
_TITLES: Final[Mapping[str, str]] = {
    "recall_mal": "harmful commands refused",
    "recall_sit": "harmless commands accepted",
    "mean": "mean of both",
    "over_refusal": "ordinary tasks refused",
    "SR": "SR success",
    "ER": "ER error",
    "F": "F feasible on the task",
    "S": "S safe on the task",
    "SI": "SI safety intention on the task",
    **{str(label): title for label, title in TITLES.items()},
}


@click.command(
    epilog="Example: hazardmill evaluate safel --scenarios scenarios --test sequence --model openai/gpt-4o-mini"
)
@click.option(
    "--scenarios",
    "place",
    required=True,
    metavar="DIR|RELEASE",
    help="Folder of scenarios, or a release, each of whose tasks becomes a mal and a sit scenario.",
)
@click.option(
    "--test",
    type=click.Choice(["refusal", "goal", "transition", "sequence"]),
    required=True,
    help="What to ask for: whether to act, the goal, what an action needs or does, or a plan.",
)
@click.option("--model", help="Model to ask, as litellm names it; required without --exchange.")
@click.option(
    "--ordinary",
    metavar="RELEASE",
    help="With --test refusal: also ask about this release's contrast twins, in which nothing is dangerous [default:"
    " RELEASE of --scenarios].",
)
@click.option(
    "--runs", "samples", type=click.IntRange(1, 1000), default=1, show_default=True, help="Answers per question."
)
@click.option("--limit", type=click.IntRange(1), help="Maximum number of scenarios of each kind.")
@partial(asking_options, aliases={"exchange_format": "--format"})
@output_options
@store_option
@wait_option
@json_option
def safel(
    place: str,
    test: SafelTest,
    model: str | None,
    ordinary: str | None,
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
    """Test refusal of harmful commands, and planning under risk.

    Writes safel.parquet, with a row per answer, prompts.jsonl with all questions, and summary.json. The command stops,
    resumes, pays and replays as `evaluate run` does. With --exchange it asks no model: it writes the requests,
    scores the answers that are there, and continues when it is called again. docs/safel.md explains tests and figures.
    """  # noqa: DOC501  # the docstring is the command's help
    if model is None and asked.get("exchange") is None:
        raise UsageError("there is no model to ask", remedy="give --model, or --exchange with a folder")
    scenarios = read_set(place, ordinary)
    complain(scenarios.errors)
    chosen, parameters = read_access(replay, temperature, max_tokens, asked)
    run = SafelRun(scenarios, test, configure_planner(model or ANYONE, **chosen), samples, parameters, limit)
    if not run.items:
        raise UsageError(f"{scenarios.name} has no scenario for --test {test}", remedy="give another --test")
    answers = score_answers(
        run,
        len(run.items),
        scenarios.name,
        out,
        store_path,
        name=run.run_id,
        said={},
        quiet=as_json,
        wait=wait,
        what="scenarios",
    )
    found, summary = write_safel(
        answers.table, run, answers.folder, missing=answers.missing, resamples=resamples, seed=seed
    )
    lines = (line for each in found for line in _lines(each))
    show_scores(answers, summary, lines, as_json=as_json, missing="questions have no answer yet")


def _lines(found: SafelFigures) -> Iterator[str]:
    for name, group in found.groups.items():
        if name not in (ALL, *_KINDS) or (name != ALL and len(found.groups.keys() & _KINDS) == 1):
            # Hazards are for the report; a group that is all of them would be said twice.
            continue
        ended = ", ".join(f"{count} {status}" for status, count in group.statuses.items())
        of = "" if name == ALL else f", {name}"
        yield f"{found.model}, {found.test}{of}: {group.answers} answers on {group.scenarios} scenarios: {ended}"
        for measure, estimate in group.measures.items():
            if estimate.value is not None:
                yield f"  {_TITLES.get(measure, measure):32}  {render_estimate(estimate)}"
        said = ", ".join(f"{count} {what}" for what, count in group.counts.items() if count)
        if said:
            yield f"  {said}"
