"""The facts from which the texts of a release are written: card, figures, Croissant, citation, changelog, licences.

After the data files are written, ``build`` collects a ``Facts`` and calls the following functions, each with the folder
and the facts::

    write_figures, write_card, write_croissant, write_citation, write_zenodo, write_changelog, write_licences

They are in the modules of these names, and return the paths of their files within the folder. Their output depends only
on the facts (and for the changelog on the data files): the same facts give the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
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
"""Line of a certificate that says whether the dangerous plan is no longer than the safe one."""


class TaskFact(TypedDict):
    """The properties of a released task that the texts count, named as in the table ``tasks``.

    Attributes:
        natural: Whether the dangerous plan is no longer than the safe one; None if this was not decided.
    """

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


class ScenarioFact(TypedDict):
    """The properties of a released scenario that the texts count, named as in the table ``scenarios``."""

    scenario_id: str
    source: str
    split: str
    kind: str
    target: str | None
    hazard: str | None


class HazardTaskFact(TypedDict):
    """The properties of a released hazard task that the texts count."""

    hazard_task_id: str
    split: str
    categories: list[str]
    objects: list[str]


class HouseholdTaskFact(TypedDict):
    """The properties of a released household task that the texts count, named as in the config ``household_tasks``."""

    hazard: str
    room: str
    compliant_length: int
    careless_length: int
    are_shortest: bool


@dataclass(frozen=True)
class ColumnFact:
    """One column of a config.

    Attributes:
        name: Its name.
        type: Its Arrow type in Arrow's notation, such as ``string`` or ``list<item: string>``.
        doc: Its description, in Markdown.
        unit: Unit of its values; None if they have none.
    """

    name: str
    type: str
    doc: str
    unit: str | None = None


@dataclass(frozen=True)
class ConfigFact:
    """One config that has rows.

    Attributes:
        name: Its name as in the folder ``data``: with ``_by_sa`` if the rows are share-alike.
        doc: One sentence about its rows.
        columns: Its columns.
        rows: Split to number of rows; splits without rows are left out.
        share_alike: Whether its rows are share-alike.
        sizes: Split to the size of its rows in memory, in bytes, as Arrow counts it; empty if it is not known.
    """

    name: str
    doc: str
    columns: tuple[ColumnFact, ...]
    rows: Mapping[str, int]
    share_alike: bool = False
    sizes: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Facts:
    """Everything that the texts of a release are based on.

    Attributes:
        manifest: The manifest with the files of data and archives; the texts are added after they are written.
        configs: The configs that have rows, in the order of the card (``describe``).
        tasks: One entry per released task, in the order of ids (``task_fact``).
        gates: Results of the gates.
        example: Row of the config ``tasks`` to show: the first of the split ``train``; None if there is none.
        review: Figures of the review; None under the policy ``none``.
        parent: Folder of the parent release; None for the first release.
        scenarios: One entry per released scenario, in the order of ids.
        hazard_tasks: One entry per released hazard task, in the order of ids.
        household_tasks: One entry per released household task, in the order of ids.
    """

    manifest: ReleaseManifest
    configs: tuple[ConfigFact, ...]
    tasks: tuple[TaskFact, ...]
    gates: tuple[GateResult, ...]
    example: Mapping[str, Any] | None = None
    review: ReviewStatistics | None = None
    parent: Path | None = None
    scenarios: tuple[ScenarioFact, ...] = ()
    hazard_tasks: tuple[HazardTaskFact, ...] = ()
    household_tasks: tuple[HouseholdTaskFact, ...] = ()

    @cached_property
    def figures(self) -> list[Figure]:
        """All figures, in the order of the card. They are cached: drawing takes a second, and two texts need them."""
        from hazardmill.release.documents.figures import figures

        return figures(self)


def task_fact(row: Mapping[str, Any], split: str) -> TaskFact:
    """Return the properties of a task that the texts count.

    Args:
        row: A row of the table ``tasks``, or of the config ``tasks`` or ``unavoidable``.
        split: The split of the task.

    Raises:
        KeyError: The row lacks a column.
        ValueError: The certificate is not JSON.
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


def scenario_fact(row: Mapping[str, Any], split: str) -> ScenarioFact:
    """Return the properties of a scenario that the texts count.

    Args:
        row: A row of the table ``scenarios`` or of the config of this name.
        split: The split of the scenario.
    """
    return ScenarioFact(
        scenario_id=row["scenario_id"],
        source=row["source"],
        split=split,
        kind=row["kind"],
        target=row["target"],
        hazard=row["hazard"],
    )


def hazard_task_fact(row: Mapping[str, Any], split: str) -> HazardTaskFact:
    """Return the properties of a hazard task that the texts count.

    Args:
        row: A row of the table ``hazard_tasks`` or of the config of this name.
        split: The split of the task.

    Raises:
        ValueError: A list is not JSON.
    """
    return HazardTaskFact(
        hazard_task_id=row["hazard_task_id"],
        split=split,
        categories=json.loads(row["categories"]),
        objects=json.loads(row["objects"]),
    )


def household_task_fact(row: Mapping[str, Any]) -> HouseholdTaskFact:
    """Return the properties of a household task that the texts count.

    Args:
        row: A row of the config ``household_tasks``.
    """
    return HouseholdTaskFact(
        hazard=row["hazard"],
        room=row["room"],
        compliant_length=row["compliant_length"],
        careless_length=row["careless_length"],
        are_shortest=row["are_shortest"],
    )


def describe(
    counts: Mapping[str, Mapping[str, int]], sizes: Mapping[str, Mapping[str, int]] | None = None
) -> tuple[ConfigFact, ...]:
    """Return a description of each config that has rows; share-alike ones come last.

    Args:
        counts: Config to split to number of rows, as in the manifest.
        sizes: Config to split to size in memory, in bytes; None if it is not known.
    """
    sizes = sizes or {}

    def facts(ending: str) -> Iterable[ConfigFact]:
        for base, config in CONFIGS.items():
            name = base + ending
            if rows := {split: counts[name][split] for split in SPLITS if counts.get(name, {}).get(split)}:
                columns = tuple(ColumnFact(c.name, str(c.type), c.doc, c.unit) for c in config.columns)
                yield ConfigFact(name, config.doc, columns, rows, bool(ending), sizes.get(name, {}))

    return (*facts(""), *facts(BY_SA))


def _claim_result(certificate: str, line: str) -> bool | None:
    lines: list[dict[str, Any]] = json.loads(certificate).get("lines", [])
    return next((each["passed"] for each in lines if each["name"] == line), None)
