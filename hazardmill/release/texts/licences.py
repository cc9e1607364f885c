"""Licences and credits: which there are, what they ask, and LICENSES.md."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Final, NamedTuple

from hazardmill.release.build.configs import is_share_alike
from hazardmill.release.texts.card_context import Facts
from hazardmill.release.texts.markdown import Ready, render
from hazardmill.reporting.html import write_text

LICENSES: Final = "LICENSES.md"


class LicenceName(NamedTuple):
    """A licence under the names that others have for it."""

    hub: str
    """Identifier on the Hugging Face hub."""
    spdx: str | None
    """SPDX identifier; null where a licence has none."""
    address: str | None
    """Where its text is."""


_KNOWN: Final = {
    "MIT": LicenceName("mit", "MIT", "https://spdx.org/licenses/MIT"),
    "Apache-2.0": LicenceName("apache-2.0", "Apache-2.0", "https://www.apache.org/licenses/LICENSE-2.0"),
    "CC-BY-4.0": LicenceName("cc-by-4.0", "CC-BY-4.0", "https://creativecommons.org/licenses/by/4.0/"),
    "CC-BY-SA-4.0": LicenceName("cc-by-sa-4.0", "CC-BY-SA-4.0", "https://creativecommons.org/licenses/by-sa/4.0/"),
    "CC0-1.0": LicenceName("cc0-1.0", "CC0-1.0", "https://creativecommons.org/publicdomain/zero/1.0/"),
}
OTHER: Final = "other"
"""What the hub calls a licence that it has no identifier for."""


class Credit(NamedTuple):
    """What is owed to a source."""

    source: str
    licence: str
    attribution: str
    tasks: int


def licence_name(licence: str) -> LicenceName:
    """A licence by the name that records have it under; one that nobody lists has no SPDX identifier and no address."""
    return _KNOWN.get(licence, LicenceName(OTHER, None, None))


def hub_identifiers(facts: Facts) -> list[str]:
    """The licences of a release as the hub calls them, the commonest first, each once."""
    counted: Counter[str] = Counter()
    for licence, tasks in facts.manifest.licences.items():
        counted[licence_name(licence).hub] += tasks
    return [name for name, _ in sorted(counted.items(), key=lambda item: (-item[1], item[0]))]


def credits_of(facts: Facts) -> list[Credit]:
    """Every credit line, by source."""
    found = [Credit(each.source, each.licence, each.attribution, each.tasks) for each in facts.manifest.attributions]
    return sorted(found)


def write_licences(folder: Path, facts: Facts) -> list[str]:
    """Write LICENSES.md.

    Returns:
        The file, as a path within the folder.

    Raises:
        StoreError: The file cannot be written.
    """
    write_text(folder / LICENSES, licences(facts), what="licences")
    return [LICENSES]


def licences(facts: Facts) -> str:
    """The text of LICENSES.md."""
    manifest = facts.manifest
    return render(
        "licenses.md.j2",
        manifest=manifest,
        licences=[
            (licence, tasks, licence_name(licence).address, is_share_alike(licence))
            for licence, tasks in sorted(manifest.licences.items())
        ],
        credits=credits_of(facts),
        configs=[config.name for config in facts.configs if config.share_alike],
        ready=Ready,
    )
