"""The tasks of a release, as rows of a table and one by one.

Nothing is read but what the release holds of accepted items. The config ``drafts``, which may hold answers of models,
is never opened.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Final

from hazardmill.errors import InputError
from hazardmill.records import DANGER_LISTS
from hazardmill.release.build.configs import BY_SA, DANGER_FIELDS, ID_OF, TASK_ID, base_of
from hazardmill.release.read.integrity import REMEDY
from hazardmill.release.read.release import Release
from hazardmill.reporting.numbers import plural
from hazardmill.review.candidates import AnyContent, Content, HazardTaskContent, ScenarioContent
from hazardmill.viewer.collection import Collection, Elsewhere, Facet, Row, RowDetail, ViewRow
from hazardmill.viewer.opinions import NOT_ASKED, PlannerResults, ReviewerOpinion, summarize_opinions

_KINDS: Final = {
    "tasks": "task",
    "unavoidable": "unavoidable task",
    "scenarios": "scenario",
    "hazard_tasks": "hazard task",
}
"""Config to the name of its items."""

_SEARCHED: Final = ("danger_action", "cause_of_danger", "result_of_danger", "instantaneous_solution")


class ReleaseView:
    """A release that is looked at.

    Args:
        release: The release.
        planners: Results of planners.
    """

    def __init__(self, release: Release, planners: PlannerResults) -> None:
        self.release = release
        self._planners = planners

    def collect(self) -> Collection:
        """Return its tasks, scenarios and hazard tasks, sorted by kind, source, danger type and title.

        Raises:
            InputError: A file of the release is damaged.
        """
        manifest = self.release.manifest
        rows = [row for config in self._configs() for row in self._rows(config)]
        order = {kind: place for place, kind in enumerate(_KINDS.values())}
        rows.sort(
            key=lambda row: (
                order[row.facets["kind"][0]],
                row.facets["source"],
                row.facets["danger"],
                row.title,
                row.key,
            )
        )
        facets = [Facet("source", "Source"), Facet("danger", "Danger type")]
        if len({row.facets["kind"] for row in rows}) > 1:
            facets.append(Facet("kind", "Kind"))
        facets += [Facet("split", "Split"), Facet("reviewers", "Reviewers")]
        says = []
        if manifest.offline:
            says.append(
                f"Hazardmill's rule-based stand-in wrote {manifest.offline:,} of them, wholly or in part, instead of a "
                "language model."
            )
        if any(config.endswith(BY_SA) for config in self._configs()):
            says.append("Items under a share-alike licence say so: what is derived from them must be shared under it.")
        elsewhere = []
        if manifest.household_tasks:
            elsewhere.append(
                Elsewhere(
                    plural(manifest.household_tasks, "household task"),
                    'hazardmill.load_release("RELEASE").household_tasks()',
                )
            )
        if not self._planners.is_empty:
            facets.append(Facet("results", "Planners"))
            says += self._planners.count_matches([row.item for row in rows])
        return Collection(
            title=f"{manifest.name} {manifest.version}",
            says=tuple(says),
            facets=tuple(facets),
            rows=rows,
            elsewhere=tuple(elsewhere),
        )

    def detail(self, row: ViewRow) -> RowDetail:
        """Return everything that is shown of one row; ``details`` is quicker for all of them.

        Raises:
            InputError: The release has no such item, or a file is damaged.
        """
        for base in _KINDS:
            found = self.release.find_row(base, str(row.item))
            if found is not None:
                held, _, config = found
                return self._detail(config, held)
        raise InputError(f"the release has no {row.key!r}", file=str(self.release.folder), remedy=REMEDY)

    def details(self) -> Iterator[tuple[str, RowDetail]]:
        """Yield key and detail of each row, in the order of the files.

        Raises:
            InputError: A file of the release is damaged.
        """
        for config in self._configs():
            for held in self.release.rows(config):
                yield held[_key(config)], self._detail(config, held)

    def _detail(self, config: str, held: Row) -> RowDetail:
        item = held[_key(config)]
        with _reading(config, item):
            content, facts = _content(config, held), _facts(config, held)
        return RowDetail(
            content=content,
            facts=facts,
            opinions=self._opinions.get(item, ()),
            results=self._planners.of(item),
        )

    def _configs(self) -> list[str]:
        return [config for config in self.release.configs() if base_of(config) in _KINDS]

    def _rows(self, config: str) -> Iterator[ViewRow]:
        kind, key = _KINDS[base_of(config)], _key(config)
        columns = [key, "record_id", "source", "context", *_COLUMNS[base_of(config)]]
        for split in self.release.splits(config):
            for row in self.release.rows(config, split, columns):
                item = row[key]
                with _reading(config, item):
                    title, danger, searched = _describe(base_of(config), row)
                yield ViewRow(
                    key=item,
                    title=title,
                    label=item,
                    facets={
                        "source": (row["source"],),
                        "danger": (danger,),
                        "kind": (kind,),
                        "split": (split,),
                        "reviewers": (summarize_opinions(self._opinions.get(item, ())),),
                        "results": self._planners.of(item) or (NOT_ASKED,),
                    },
                    note="",
                    text=" ".join(filter(None, (row["record_id"], row["context"], *searched))),
                    item=item,
                    record_id=row["record_id"],
                )

    @cached_property
    def _opinions(self) -> dict[str, tuple[ReviewerOpinion, ...]]:
        found: dict[str, list[ReviewerOpinion]] = defaultdict(list)
        for config in self.release.configs():
            if base_of(config) == "reviews":
                for row in self.release.rows(config, columns=["task_id", "reviewer", "verdict", "reasons", "current"]):
                    with _reading(config, row["task_id"]):
                        reasons = tuple(json.loads(row["reasons"]))
                    same = {name: row[name] for name in ("reviewer", "verdict", "current")}
                    found[row["task_id"]].append(ReviewerOpinion(**same, reasons=reasons))
        return {item: tuple(opinions) for item, opinions in found.items()}


_COLUMNS: Final = {
    "tasks": ("document", "robot_task", "danger_type", *_SEARCHED),
    "unavoidable": ("document", "robot_task", "danger_type", *_SEARCHED),
    "scenarios": ("instruction", "kind", "hazard"),
    "hazard_tasks": ("instruction", "categories", "harm"),
}


@contextmanager
def _reading(config: str, item: str) -> Iterator[None]:
    """Name config and id where a column of a row is not what it should be.

    Raises:
        InputError: The block met such a column.
    """
    try:
        yield
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"row {item} of {config} is not what it should be: {error}", remedy=REMEDY) from error


def _key(config: str) -> str:
    """Return the column with the ids of a config."""
    return ID_OF.get(base_of(config), TASK_ID.name)


def _describe(base: str, row: Row) -> tuple[str, str, tuple[str, ...]]:
    """Return title, danger type and what else is searched of a row."""
    if base == "scenarios":
        return row["instruction"], row["hazard"] or row["kind"], ()
    if base == "hazard_tasks":
        return row["instruction"], ", ".join(json.loads(row["categories"])), (row["harm"],)
    document = json.loads(row["document"])
    title = document.get("texts", {}).get("title") or document["name"]
    return title, row["danger_type"], tuple(row[name] for name in ("robot_task", *_SEARCHED))


def _content(config: str, row: Row) -> AnyContent:
    base, key = base_of(config), _key(config)
    record: dict[str, Any] = {name: row[name] for name in ("source", "context", "licence", "attribution")}
    if base == "scenarios":
        return ScenarioContent(
            row[key],
            **record,
            scenario=json.loads(row["scenario"]),
            plan=row["plan"],
            careless_plan=row["careless_plan"],
        )
    if base == "hazard_tasks":
        read = {name: json.loads(row[name]) for name in ("document", "compiled", "witnesses")}
        same = {name: row[name] for name in ("instruction", "harm", "reference", "harmless_plan", "is_searched")}
        categories = tuple(json.loads(row["categories"]))
        # A release does not hold what the roles were shown of the map.
        return HazardTaskContent(row[key], **record, **same, **read, categories=categories, definitions=())
    danger = {name: row[name] for name in DANGER_FIELDS if row[name] is not None}
    danger |= {name: json.loads(danger[name]) for name in DANGER_LISTS if name in danger}
    return Content(
        row[key],
        **record,
        danger=danger,
        safe_plan=row.get("safe_plan"),
        unsafe_plan=row["unsafe_plan"],
        **{name: json.loads(row[name]) for name in ("document", "certificate")},
        **{name: row[name] for name in ("code", "domain_pddl", "problem_pddl")},
    )


def _facts(config: str, row: Row) -> tuple[tuple[str, str], ...]:
    models = ", ".join(json.loads(row["answered_by"]))
    return (
        ("Record", row["record_id"]),
        ("Models", models),
        *((("Licence", "share-alike"),) if config.endswith(BY_SA) else ()),
    )
