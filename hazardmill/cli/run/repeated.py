"""Resumes the run that a recipe has begun already."""

from __future__ import annotations

import click

from hazardmill.cli.run.work import resumable, show, work_and_show
from hazardmill.runs.config import RunConfig
from hazardmill.runs.recipes.repeating import find_runs
from hazardmill.store.store import Store
from hazardmill.text.printable import printable


def resume_recipe(store: Store, config: RunConfig, run_id: str | None, *, wait: bool, as_json: bool) -> bool:
    """Resume the run of the same recipe, inputs and options, and show its results; do nothing where it is complete.

    Args:
        store: The store.
        config: What the recipe and the options come to.
        run_id: Resume only this run; None for any.
        wait: Whether to wait for requests that were sent together.
        as_json: Whether to print only the result, as JSON.

    Returns:
        Whether there is such a run. If not, what has changed since the latest run of the recipe is said.

    Raises:
        RunStopped: Interrupted, stopped on purpose, out of money, or the disk refused; the run can be resumed.
        ProviderError: The provider cannot be asked; the run can be resumed.
        SettingsError: There is no key, or a budget cannot be kept.
    """  # the work raises them
    found, recipe = find_runs(store, config, run_id), config.recipe
    assert recipe is not None  # the caller has one
    run = found.same
    if run is None:
        if found.latest_id is not None and not as_json:
            lines = "".join(f"\n  {printable(str(change))}" for change in found.changes)
            click.echo(
                f"another run: since run {found.latest_id}, the latest of {recipe.name}, these have changed:{lines}",
                err=True,
            )
        return False
    left, total = len(run.pending()), len(run.selection)
    if not left:
        if not as_json:
            click.echo(
                f"run {run.run_id} of {recipe.name} is complete with these inputs and options: nothing to do "
                "[--new begins another]",
                err=True,
            )
        show(store, [run.run_id], as_json=as_json)
        return True
    with resumable(store, run.run_id):
        going_on = run.resume(config)
    begins = f"resuming run {run.run_id} of {recipe.name}: {left} of {total} records are left"
    work_and_show(going_on, (), begins, as_json, wait=wait)
    return True
