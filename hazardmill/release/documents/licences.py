"""Licences and credits of a release, and writing LICENSES.md."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Final, NamedTuple

from hazardmill.records import is_share_alike
from hazardmill.release.documents.card_context import Facts
from hazardmill.release.documents.markdown import Ready, render
from hazardmill.reporting.html import write_text

LICENSES: Final = "LICENSES.md"


class LicenceName(NamedTuple):
    """The names of a licence in other catalogues.

    Attributes:
        hub: Its identifier on the Hugging Face hub.
        spdx: Its SPDX identifier; None if it has none.
        address: Address of its text; None if it is not known.
    """

    hub: str
    spdx: str | None
    address: str | None


_KNOWN: Final = {
    "MIT": LicenceName("mit", "MIT", "https://spdx.org/licenses/MIT"),
    "Apache-2.0": LicenceName("apache-2.0", "Apache-2.0", "https://www.apache.org/licenses/LICENSE-2.0"),
    "CC-BY-4.0": LicenceName("cc-by-4.0", "CC-BY-4.0", "https://creativecommons.org/licenses/by/4.0/"),
    "CC-BY-SA-4.0": LicenceName("cc-by-sa-4.0", "CC-BY-SA-4.0", "https://creativecommons.org/licenses/by-sa/4.0/"),
    "CC0-1.0": LicenceName("cc0-1.0", "CC0-1.0", "https://creativecommons.org/publicdomain/zero/1.0/"),
}
OTHER: Final = "other"
"""The hub's identifier for a licence that it does not know."""


class Credit(NamedTuple):
    """A credit line that is owed to a source, with the number of tasks under it.

    Attributes:
        source: Name of the source.
        licence: Licence of its records.
        attribution: The credit line.
        tasks: Number of released tasks.
    """

    source: str
    licence: str
    attribution: str
    tasks: int


def licence_name(licence: str) -> LicenceName:
    """Look up the names of a licence in other catalogues.

    Args:
        licence: Name of the licence in the records, such as ``CC-BY-SA-4.0``.

    Returns:
        ``other`` without an SPDX identifier and an address, if the licence is unknown.
    """
    return _KNOWN.get(licence, LicenceName(OTHER, None, None))


def is_open(licence: str) -> bool:
    """Check whether a licence is known to be open, or its name says that the work is in the public domain."""
    return licence in _KNOWN or licence.lower().startswith("public domain")


def hub_identifiers(facts: Facts) -> list[str]:
    """List the hub's identifiers of the licences of a release, the most frequent first."""
    counted: Counter[str] = Counter()
    for licence, tasks in facts.manifest.licences.items():
        counted[licence_name(licence).hub] += tasks
    return [name for name, _ in sorted(counted.items(), key=lambda item: (-item[1], item[0]))]


def credits_of(facts: Facts) -> list[Credit]:
    """List all credit lines, sorted by source."""
    found = [Credit(each.source, each.licence, each.attribution, each.tasks) for each in facts.manifest.attributions]
    return sorted(found)


def write_licences(folder: Path, facts: Facts) -> list[str]:
    """Write LICENSES.md.

    Returns:
        Path of the file within the folder.

    Raises:
        StoreError: The file cannot be written.
    """
    write_text(folder / LICENSES, licences(facts), what="licences")
    return [LICENSES]


def licences(facts: Facts) -> str:
    """Render LICENSES.md: licences with their texts' addresses, credit lines, and the terms of share-alike rows."""
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
