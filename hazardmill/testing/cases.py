"""Cases of a source: input, and what must come of it. A source's own are in its ``cases.py``, one row a case.

The test suite finds the tables by itself, also those of sources in ``HAZARDMILL_SOURCES``. Every item that an input
yields beside good records must be expected, in order.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hazardmill.errors import SourceError
from hazardmill.ingest.sources import Source


@dataclass(frozen=True)
class RefusedCase:
    """Input of which exactly these rejects must come."""

    case: str
    files: Mapping[str, bytes]
    """File name, which may hold folders, to content; laid into an empty folder that is then ingested."""
    reasons: tuple[str, ...]
    parts: tuple[str, ...]
    """Texts that the first reject's message must hold."""
    line: int | None = None
    """Line of the first reject; null where the whole file is refused."""
    records: int = 0
    """Good records beside them."""
    where: Mapping[str, str] = field(default_factory=dict)
    skip: int = 0


@dataclass(frozen=True)
class AcceptedCase:
    """Input of which one record must come, with these warnings, and no reject."""

    case: str
    files: Mapping[str, bytes]
    warnings: tuple[str, ...] = ()
    """A part of each warning, in order."""
    context: tuple[str, ...] = ()
    """Texts that the context must hold."""
    absent: tuple[str, ...] = ()
    """Texts that neither context nor facts may hold."""
    where: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    """A part of each remark on a whole file, in order."""
    repeats: int = 0


@dataclass(frozen=True)
class Cases:
    """The tables of one source."""

    refused: tuple[RefusedCase, ...]
    accepted: tuple[AcceptedCase, ...]


def cases_of(source: Source) -> Cases:
    """The tables in the source's ``cases.py``: ``REFUSED`` and ``ACCEPTED``.

    Raises:
        SourceError: There is no such module, or it does not load.
    """
    file = source.folder / "cases.py"
    package = type(source).__module__.rpartition(".")[0]
    try:
        module = importlib.import_module(f"{package}.cases")
        refused: Sequence[RefusedCase] = module.REFUSED
        accepted: Sequence[AcceptedCase] = module.ACCEPTED
    except (ImportError, AttributeError) as error:
        raise SourceError(
            f"the source has no tables of cases: {error}",
            file=str(file),
            remedy="define REFUSED and ACCEPTED there; see docs/adding-a-source.md",
        ) from error
    return Cases(tuple(refused), tuple(accepted))


def lay_out(folder: Path, files: Mapping[str, bytes]) -> Path:
    """Write the files of a case into a folder, and return it."""
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder
