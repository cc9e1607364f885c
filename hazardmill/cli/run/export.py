"""``hazardmill run export``."""

from __future__ import annotations

from pathlib import Path

import click

from hazardmill.cli.options import json_option, print_json, store_option
from hazardmill.runs.recipes.exporting import export_recipe
from hazardmill.runs.run import Run
from hazardmill.store_access import open_store


@click.command(epilog="Example: hazardmill run export generate-20260131-235959-1a2b3c")
@click.argument("run_id")
@store_option
@json_option
def export(run_id: str, store_path: Path | None, as_json: bool) -> None:
    """Print the recipe of a run, to make it again with `run generate`.

    The recipe has every option that alters results, so that the settings do not change them, and of the others those
    that are not the default. Input paths become absolute; one that was given relative is taken as relative to the
    working folder. More: docs/recipes.md.
    """
    recipe = export_recipe(Run.load(open_store(store_path), run_id))
    if as_json:
        import yaml

        print_json(yaml.safe_load(recipe))
        return
    click.echo(recipe, nl=False)
