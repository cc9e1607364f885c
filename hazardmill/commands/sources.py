"""``hazardmill sources list | show``."""

from __future__ import annotations

import click

from hazardmill.commands.options import json_option, print_json


@click.group(epilog="Example: hazardmill sources list")
def sources() -> None:
    """List and describe the sources."""


@sources.command("list", epilog="Example: hazardmill sources list --json")
@json_option
def list_all(as_json: bool) -> None:
    """List the sources this installation finds."""
    from hazardmill.stages.sources import list_sources

    found = list_sources()
    if as_json:
        print_json([{"name": s.name, "title": s.title, "licence": s.licence} for s in found])
        return
    for source in found:
        click.echo(f"{source.name:12} {source.licence:16} {source.title}")


@sources.command(epilog="Example: hazardmill sources show neiss")
@click.argument("name")
@json_option
def show(name: str, as_json: bool) -> None:
    """Show one source: licence, attribution, where it comes from."""
    from hazardmill.stages.sources import load_source

    source = load_source(name)
    facts = {
        "name": source.name,
        "title": source.title,
        "licence": source.licence,
        "attribution": source.attribution,
        "address": source.address,
        "description": source.description,
        "sample": str(source.sample),
    }
    if as_json:
        print_json(facts)
        return
    for key, value in facts.items():
        click.echo(f"{key}: {value}")
