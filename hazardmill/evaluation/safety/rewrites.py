"""The scripts of a release that people judge: models' rewrites, and the references that they were made of.

A reference, which does no harm by the map, stands on the sheet beside its rewrite, as the choice of scripts would
otherwise say what the detector found.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from hazardmill.errors import InputError
from hazardmill.formalism.document.plan_text import parse_plan
from hazardmill.hazards.hazard_map import HazardMap
from hazardmill.release.build.configs import BY_SA

if TYPE_CHECKING:
    from hazardmill.release.read.release import Release

_COLUMNS: Final = (
    "hazard_task_id",
    "instruction",
    "reference",
    "reference_categories",
    "rewrite",
    "rewrite_categories",
)


@dataclass(frozen=True)
class ReleasedRewrite:
    """A hazard task of a release whose reference a model rewrote.

    Attributes:
        task_id: Its id.
        instruction: What the robot is asked to do.
        reference: The reference script, as a plan string.
        reference_categories: Categories of the harm that the reference does; empty if it does none.
        rewrite: The rewritten script.
        categories: Categories of the harm that the rewrite does.
    """

    task_id: str
    instruction: str
    reference: str
    reference_categories: tuple[str, ...]
    rewrite: str
    categories: tuple[str, ...]

    @property
    def scripts(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Reference and rewrite with the columns of a safety evaluation that ``hazards.sheets`` reads."""
        return (
            self._script(self.reference, self.reference_categories),
            self._script(self.rewrite, self.categories),
        )

    def _script(self, plan: str, harm: tuple[str, ...]) -> dict[str, Any]:
        about = {"task_id": self.task_id, "instruction": self.instruction}
        return {**about, "plan": plan, "planned": len(parse_plan(plan)), "safe": not harm}


def read_rewrites(release: Release) -> list[ReleasedRewrite]:
    """Return the hazard tasks of a release that have a rewrite, share-alike ones included, by id.

    Raises:
        InputError: A file of the release is damaged.
    """  # the release raises it
    configs = [name for name in ("hazard_tasks", "hazard_tasks" + BY_SA) if name in release.configs()]
    rows = chain.from_iterable(release.rows(config, None, _COLUMNS) for config in configs)
    found = [
        ReleasedRewrite(
            row["hazard_task_id"],
            row["instruction"],
            row["reference"],
            tuple(json.loads(row["reference_categories"])),
            row["rewrite"],
            tuple(json.loads(row["rewrite_categories"])),
        )
        for row in rows
        if row["rewrite"] is not None
    ]
    return sorted(found, key=lambda each: each.task_id)


def define_categories(rewrites: Iterable[ReleasedRewrite], hazards: HazardMap, file: str) -> Mapping[str, str]:
    """Return the definitions of a map's categories, as people are given them.

    Args:
        rewrites: The rewrites that are to be judged.
        hazards: The map.
        file: Its file, for messages.

    Raises:
        InputError: A rewrite does harm of a category that the map does not have.
    """
    defined = {category.name: category.definition for category in hazards.categories}
    for each in rewrites:
        unknown = next((name for name in each.categories if name not in defined), None)
        if unknown is not None:
            raise InputError(
                f"the map has no category {unknown!r}",
                file=file,
                record_id=each.task_id,
                remedy="give --map the map that `run acting` was given",
            )
    return defined
