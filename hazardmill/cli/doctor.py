"""``hazardmill doctor``."""

from __future__ import annotations

import platform
import sys
from collections.abc import Sequence
from typing import Any

import click

from hazardmill import __version__
from hazardmill.cli.options import json_option, print_json
from hazardmill.errors import HazardmillError, JailUnavailable, PluginError
from hazardmill.extras import EXTRAS, Extra
from hazardmill.generation.checks.added import find_checks
from hazardmill.generation.context import Prompts
from hazardmill.ingest.sources import find_sources
from hazardmill.llm.backends.plugin import find_backends
from hazardmill.sandbox.jail import Jail


@click.command(epilog="Example: hazardmill doctor --json")
@json_option
def doctor(as_json: bool) -> None:
    """Check what works on this machine: Python, extras, jail, sources, prompts.

    Of each extra that is not installed, it says for which commands it is needed, and how to install it.

    Exit code 1 if the jail does not hold.
    """
    missing = {extra: extra.missing for extra in EXTRAS}
    try:
        with Jail(profile="auto") as jail:
            held, profile = True, jail.profile
    except JailUnavailable as error:
        held, profile = False, str(error)
    try:
        Prompts.load()
        prompts = "ok"
    except HazardmillError as error:
        prompts = str(error)
    listing, backends, checks = find_sources(), find_backends(), find_checks()
    plugins = [f"source {name} ({origin})" for name, origin in listing.origins.items()]
    broken = [*map(str, listing.broken), *(str(each.error) for each in (*backends.broken, *checks.broken))]
    for plugin in (*backends.found.values(), *checks.found.values()):
        try:
            plugin.load()
        except PluginError as error:
            broken.append(str(error))
        else:
            plugins.append(f"{plugin.kind} {plugin.name} ({plugin.origin})")
    findings: dict[str, Any] = {
        "hazardmill": __version__,
        "python": platform.python_version(),
        "python_tested": sys.version_info[:2] == (3, 11),
        "platform": platform.platform(),
        "jail_holds": held,
        "jail": profile,
        "extras": {extra.name: not modules for extra, modules in missing.items()},
        "missing": [_miss(extra, modules) for extra, modules in missing.items() if modules],
        "sources": [source.name for source in listing.sources],
        "plugins": plugins,
        "broken": broken,
        "prompts": prompts,
    }
    if as_json:
        print_json(findings)
    else:
        for name, value in findings.items():
            if isinstance(value, dict):
                value = ", ".join(f"{key} {'yes' if there else 'no'}" for key, there in value.items())
            if name == "missing":
                # Each on a line of its own: what does not work, and how to make it work.
                value = "".join(f"\n  {line}" for line in value) or "nothing"
            elif isinstance(value, list):
                value = ", ".join(value)
            click.echo(f"{name + ':':15}{value}")
    if not held:
        sys.exit(1)


def _miss(extra: Extra, modules: Sequence[str]) -> str:
    """Return what does not work without an extra, and how to install it."""
    return f"{extra.name}: {extra.serves} (lacks {', '.join(modules)}) [{extra.remedy}]"
