"""What the texts of a release are made of: the card, figures, Croissant, citation, changelog and licences.

``build`` fills a ``Facts`` after the data files are written, then calls, each with the folder and the facts::

    write_figures, write_card, write_croissant, write_citation, write_changelog, write_licences

in the modules of these names. Each returns the files it wrote, as paths within the folder. All are functions of the
facts (and of the data files, of which Croissant and the changelog read): the same facts give the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypedDict

from hazardmill.release.build.configs import BY_SA, CONFIGS, SPLITS

if TYPE_CHECKING:
    from pathlib import Path

    from hazardmill.release.gates.findings import GateResult
    from hazardmill.release.manifest import ReleaseManifest
    from hazardmill.reporting.svg.drawing import Figure
    from hazardmill.review.analysis.statistics import ReviewStatistics

NATURAL: Final = "natural"
"""The line of a certificate that says whether the dangerous plan is no longer than the safe one."""


class TaskFact(TypedDict):
    """What is counted of one released task. The names are those of the table ``tasks``."""

    task_id: str
    source: str
    split: str
    danger_group: str
    danger_type: str
    avoidability: str
    plan_length: int | None
    safety_effort: int | None
    licence: str
    natural: bool | None
    """Whether the dangerous plan is no longer than the safe one; null where that is not known."""


@dataclass(frozen=True)
class ColumnFact:
    """One column: its Arrow type as Arrow writes it (``string``, ``list<item: string>``), and what it says."""

    name: str
    type: str
    doc: str
    unit: str | None = None


@dataclass(frozen=True)
class ConfigFact:
    """One config that has rows."""

    name: str
    """As in the folder ``data``: with ``_by_sa`` where the rows are share-alike."""
    doc: str
    columns: tuple[ColumnFact, ...]
    rows: Mapping[str, int]
    """Split to rows; splits without rows are not in it."""
    share_alike: bool = False


@dataclass(frozen=True)
class Facts:
    """Everything that the texts say."""

    manifest: ReleaseManifest
    """With the files of data and archives; those of the texts are added once they are written."""
    configs: tuple[ConfigFact, ...]
    """In the order of the card: ``describe`` makes them."""
    tasks: tuple[TaskFact, ...]
    """Every released task once, in the order of ids: ``task_fact`` makes them."""
    gates: tuple[GateResult, ...]
    example: Mapping[str, Any] | None = None
    """A row of the config ``tasks`` to show: the first of train that is not share-alike; null if there is none."""
    review: ReviewStatistics | None = None
    """Figures of the review; null where nobody reviewed, or where they were not worked out."""
    parent: Path | None = None
    """Folder of the parent release; null for the first release."""

    @cached_property
    def figures(self) -> list[Figure]:
        """Every figure, in the order of the card. To draw them takes a second, and two texts need them."""
        from hazardmill.release.texts.figures import figures

        return figures(self)


def task_fact(row: Mapping[str, Any], split: str) -> TaskFact:
    """What is counted of a task.

    Args:
        row: A row of the table ``tasks``, or of the config ``tasks`` or ``unavoidable``.
        split: The split it is in.
    """
    return TaskFact(
        task_id=row["task_id"],
        source=row["source"],
        split=split,
        danger_group=row["danger_group"],
        danger_type=row["danger_type"],
        avoidability=row["avoidability"],
        plan_length=row.get("plan_length"),
        safety_effort=row.get("safety_effort"),
        licence=row["licence"],
        natural=_claim_result(row["certificate"], NATURAL),
    )


def describe(counts: Mapping[str, Mapping[str, int]]) -> tuple[ConfigFact, ...]:
    """The configs that have rows, those under a share-alike licence behind the others.

    Args:
        counts: Config to split to rows, as in the manifest.
    """

    def facts(ending: str) -> Iterable[ConfigFact]:
        for base, config in CONFIGS.items():
            name = base + ending
            if rows := {split: counts[name][split] for split in SPLITS if counts.get(name, {}).get(split)}:
                columns = tuple(ColumnFact(c.name, str(c.type), c.doc, c.unit) for c in config.columns)
                yield ConfigFact(name, config.doc, columns, rows, share_alike=bool(ending))

    return (*facts(""), *facts(BY_SA))


def _claim_result(certificate: str, line: str) -> bool | None:
    lines: list[dict[str, Any]] = json.loads(certificate).get("lines", [])
    return next((each["passed"] for each in lines if each["name"] == line), None)
