"""``hazardmill run generate``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from hazardmill.cli.options import GroupedCommand, json_option, store_option, wait_option
from hazardmill.cli.run.options import generation_options
from hazardmill.store.run_ids import new_run_id
from hazardmill.store_access import open_store


@click.command(
    cls=GroupedCommand,
    epilog="Example: hazardmill run generate --source neiss --input neiss2019.tsv --limit 300 --budget-usd 5",
)
@generation_options
@click.option("--run-id", help="Name of the run [default: from the time].")
@click.option("--new", "is_new", is_flag=True, help="With a recipe: begin another run of it, even if there is one.")
@store_option
@wait_option
@json_option
def generate(
    sources: tuple[str, ...],
    inputs: tuple[str, ...],
    wheres: tuple[str, ...],
    limits: tuple[str, ...],
    replay: str | None,
    run_id: str | None,
    is_new: bool,
    store_path: Path | None,
    wait: bool,
    as_json: bool,
    **given: Any,  # noqa: ANN401  # values of the options that make a configuration, which checks them
) -> None:
    """Turn records of one or more sources into tasks.

    What is worked on and how is said by options, or by RECIPE, a file of YAML; options override it. The same command
    again resumes the run of the same recipe, inputs and options; --new begins another. More: docs/recipes.md.

    `hazardmill run estimate`, with the same options, predicts the cost. With --budget-usd, a request that could cost
    more than is left of the budget is not sent. The run stops instead; `run resume` with a larger budget continues it.

    With --batch or --exchange, requests are sent together, and the command ends while the run waits for their answers;
    `run resume` looks for them. With --wait, the command waits instead. More: docs/batches.md.
    """  # noqa: DOC501  # the docstring is the command's help
    # Imported late, so that --help is quick: these take a second.
    from hazardmill.cli.run.config import new_config
    from hazardmill.cli.run.repeated import resume_recipe
    from hazardmill.cli.run.work import resumable, work_and_show
    from hazardmill.runs.run import Run

    config = new_config(sources, inputs, wheres, limits, replay, given)
    store = open_store(store_path, create=True)
    if config.recipe is None and is_new:
        raise click.UsageError("--new is for a recipe: without one, each run is a new one")
    if config.recipe is not None and not is_new and resume_recipe(store, config, run_id, wait=wait, as_json=as_json):
        return
    run_id = run_id or new_run_id("generate")
    with resumable(store, run_id, begun=False):
        started, intakes = Run.start(store, config, run_id)
    work_and_show(started, intakes, f"run {started.run_id}: {len(started.selection)} records", as_json, wait=wait)
