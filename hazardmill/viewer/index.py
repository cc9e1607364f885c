"""Rows of the table as the script of the page reads them: columns of texts, and of numbers for values of facets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hazardmill.reporting.html import write_out_unseen
from hazardmill.viewer.collection import Collection, Facet, ViewRow

ROWS = "rows"
TEXTS = "texts"


def index_rows(
    collection: Collection, files: Sequence[str] = (), places: Mapping[str, int] | None = None, per_file: int = 1
) -> Any:  # noqa: ANN401  # JSON
    """Return the rows of a collection as JSON.

    Args:
        collection: The collection.
        files: Files with fragments, if they are written beforehand.
        places: Place of each row among all fragments, by key; ``None`` if each is drawn when it is asked for.
        per_file: Number of fragments in each file but the last.
    """
    rows = collection.rows
    return {
        "keys": [row.key for row in rows],
        "titles": [_line(row.title) for row in rows],
        "labels": [_line(row.label) for row in rows],
        "notes": [_line(row.note) for row in rows] if any(row.note for row in rows) else [],
        "facets": [_facet(facet, rows) for facet in collection.facets],
        "files": list(files),
        "per_file": per_file,
        "places": None if places is None else [places[row.key] for row in rows],
    }


def index_texts(collection: Collection) -> list[str]:
    """Return what the search looks at besides titles, ids and facets, in lower case and in the order of the rows."""
    return [_line(row.text).lower() for row in collection.rows]


def _facet(facet: Facet, rows: Sequence[ViewRow]) -> Any:  # noqa: ANN401  # JSON
    values = sorted({value for row in rows for value in row.facets[facet.name]})
    place = {value: number for number, value in enumerate(values)}
    of = [[place[value] for value in row.facets[facet.name]] for row in rows]
    return {
        "name": facet.name,
        "label": facet.label,
        "values": list(map(_line, values)),
        # One number takes less room than a list of one.
        "rows": [each[0] if len(each) == 1 else each for each in of],
    }


def _line(text: str) -> str:
    return write_out_unseen(" ".join(text.split()))
