"""Test cases of a source: input and the expected result. A source defines its own in ``cases.py``, one entry per case.

The test suite finds these tables automatically, including those of sources in ``HAZARDMILL_SOURCES``. Every reject,
repeat and note that an input yields besides good records must be expected, in order.
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
    """Input that must give exactly these rejects.

    Attributes:
        case: Name of the case.
        reasons: Reason codes of the rejects, in order.
        where: The selection to ingest with.
        skip: Number of records to skip.
    """

    case: str
    files: Mapping[str, bytes]
    """File name, which may contain folders, to content; written to an empty folder that is then ingested."""
    reasons: tuple[str, ...]
    parts: tuple[str, ...]
    """Texts that the message of the first reject must contain."""
    line: int | None = None
    """Line of the first reject; null if the whole file is refused."""
    records: int = 0
    """Number of good records besides the rejects."""
    where: Mapping[str, str] = field(default_factory=dict)
    skip: int = 0


@dataclass(frozen=True)
class AcceptedCase:
    """Input that must give one record, with these warnings, and no reject.

    Attributes:
        case: Name of the case.
        files: File name, which may contain folders, to content.
        where: The selection to ingest with.
        repeats: Number of repeats besides the record.
    """

    case: str
    files: Mapping[str, bytes]
    warnings: tuple[str, ...] = ()
    """A part of each warning, in order."""
    context: tuple[str, ...] = ()
    """Texts that the context must contain."""
    absent: tuple[str, ...] = ()
    """Texts that neither context nor facts may contain."""
    where: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    """A part of each note on a whole file, in order."""
    repeats: int = 0


@dataclass(frozen=True)
class Cases:
    """The test cases of one source."""

    refused: tuple[RefusedCase, ...]
    accepted: tuple[AcceptedCase, ...]


def cases_of(source: Source) -> Cases:
    """Return the test cases in the source's ``cases.py``: ``REFUSED`` and ``ACCEPTED``.

    Args:
        source: The source.

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
            remedy="define REFUSED and ACCEPTED in it; see docs/adding-a-source.md",
        ) from error
    return Cases(tuple(refused), tuple(accepted))


def lay_out(folder: Path, files: Mapping[str, bytes]) -> Path:
    """Write the files of a case to a folder.

    Args:
        folder: An existing folder.
        files: File name, which may contain folders, to content.

    Returns:
        ``folder``.
    """
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder
