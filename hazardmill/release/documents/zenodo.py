"""Writing .zenodo.json of a release: what Zenodo asks for when somebody deposits the folder there.

The fields are those of the metadata of a deposit (https://developers.zenodo.org/#representation).
"""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import Any, Final

from hazardmill.authors import Author
from hazardmill.release.documents.card_context import Facts
from hazardmill.release.documents.citation import KEYWORDS, abstract, source_credits, title
from hazardmill.release.documents.licences import LICENSES, is_open, licence_name
from hazardmill.reporting.html import write_text

ZENODO: Final = ".zenodo.json"

_OPEN, _NOT_OPEN = "other-open", "other-closed"
"""Zenodo's names for several licences at once, and for one that it does not know."""


def write_zenodo(folder: Path, facts: Facts) -> list[str]:
    """Write .zenodo.json, unless no author was named: Zenodo requires them, and none is made up.

    Returns:
        Path of the file within the folder, if it was written.

    Raises:
        StoreError: The file cannot be written.
    """
    if not facts.manifest.authors:
        return []
    text = json.dumps(zenodo(facts), indent=2, ensure_ascii=False)
    write_text(folder / ZENODO, f"{text}\n", what="metadata for Zenodo")
    return [ZENODO]


def zenodo(facts: Facts) -> dict[str, Any]:
    """Build the metadata of a deposit, as JSON values."""
    manifest = facts.manifest
    value: dict[str, Any] = {
        "upload_type": "dataset",
        "title": title(facts),
        "version": manifest.version,
        "creators": [_creator(author) for author in manifest.authors],
        "description": f"<p>{escape(abstract(facts))}</p>",
        "access_right": "open",
        # Without a licence Zenodo would take one of its own.
        "license": _licence(list(manifest.licences)),
        "notes": f"Each row has its own licence and credit line: see {LICENSES}.",
        "keywords": list(KEYWORDS),
        "language": "eng",
    }
    if manifest.date is not None:
        value["publication_date"] = manifest.date.isoformat()
    if manifest.doi is not None:
        value["doi"] = manifest.doi
    if references := sorted(source_credits(facts)):
        value["references"] = references
    return value


def _creator(author: Author) -> dict[str, str]:
    told = {"name": author.name, "affiliation": author.affiliation, "orcid": author.orcid}
    return {name: value for name, value in told.items() if value is not None}


def _licence(licences: list[str]) -> str:
    spdx = licence_name(licences[0]).spdx if len(licences) == 1 else None
    if spdx is not None:
        return spdx.lower()
    return _OPEN if all(map(is_open, licences)) else _NOT_OPEN
