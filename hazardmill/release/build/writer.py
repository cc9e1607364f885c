"""Writing the rows and task folders of a release, one task at a time, and counting them for the manifest."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from hazardmill import __version__
from hazardmill.errors import HazardmillError, ReleaseRefused, StoreError
from hazardmill.formalism.document.document import Document
from hazardmill.llm.requests import OFFLINE_MODEL
from hazardmill.release.build.archive import Archives
from hazardmill.release.build.candidates import Candidate, ReleaseCandidates, tally
from hazardmill.release.build.household_config import HOUSEHOLD_CREDIT
from hazardmill.release.build.options import LEAVABLE, WAIVABLE, WAIVER, Options
from hazardmill.release.build.rows_hazard_tasks import hazard_task_row
from hazardmill.release.build.rows_household_tasks import household_task_row
from hazardmill.release.build.rows_plans import pair_row, plan_rows, twin_row
from hazardmill.release.build.rows_reviews import MadeHow, Reviews
from hazardmill.release.build.rows_scenarios import scenario_row
from hazardmill.release.build.rows_tasks import danger_row, draft_rows, is_unavoidable, task_row
from hazardmill.release.build.splits import Groups, Split
from hazardmill.release.build.tables import Tables
from hazardmill.release.documents.card_context import (
    Facts,
    HazardTaskFact,
    HouseholdTaskFact,
    ScenarioFact,
    TaskFact,
    describe,
    hazard_task_fact,
    household_task_fact,
    scenario_fact,
    task_fact,
)
from hazardmill.release.gates.eligibility import shipped_recordings
from hazardmill.release.gates.findings import GateResult
from hazardmill.release.gates.household_proofs import ExaminedHouseholdTask
from hazardmill.release.manifest import Attribution, File, Parent, ReleaseManifest, file_of
from hazardmill.review.analysis.statistics import ReviewStatistics, statistics
from hazardmill.review.candidates import load_pool
from hazardmill.review.decisions.folder import ReviewFolder
from hazardmill.store.store import Store

Row = dict[str, Any]

_BESIDE: Final = frozenset({"dangers", "drafts", "reviews"})
"""Configs whose rows do not follow from the task's own row."""

_UNWRITABLE: Final = (HazardmillError, ValueError, LookupError, TypeError, AttributeError)
"""Errors that a row can cause if no version of hazardmill wrote it."""

_SHOWN: Final = 20
"""Maximum number of tasks that an error names."""


class GatedTask(NamedTuple):
    """What the gates need to see of a task in addition to its row.

    Attributes:
        document: Its document; None if it cannot be read.
        beside: Config and row, for each row of ``dangers``, ``drafts`` and ``reviews`` that is released with it.
    """

    document: Document | None
    beside: tuple[tuple[str, Row], ...]


@dataclass
class ReleaseWriter:
    """A release while its tasks are written.

    It is a context manager that closes the open files, even if the build fails.
    """

    gathered: ReleaseCandidates
    options: Options
    included: Mapping[str, Candidate]
    """The tasks to release, by id."""
    groups: Groups
    splits: Mapping[str, Split]
    folder: Path
    """Folder to write to."""
    tasks: list[TaskFact] = field(default_factory=list)
    """Facts for the card about each task that was written."""
    scenarios: list[ScenarioFact] = field(default_factory=list)
    """Facts for the card about each scenario that was written."""
    hazard_tasks: list[HazardTaskFact] = field(default_factory=list)
    """Facts for the card about each hazard task that was written."""
    household_tasks: list[HouseholdTaskFact] = field(default_factory=list)
    """Facts for the card about each household task that was written."""
    example: Row | None = None
    """First task of ``train``, which the card shows."""
    problems: list[str] = field(default_factory=list)
    """Task id and error, for each task whose rows could not be built. A gate should refuse such a task; if none does,
    that is a bug."""

    def __post_init__(self) -> None:
        self.tables = Tables(self.folder)
        self.archives = Archives(self.folder, self.gathered.date)
        reviewed = self.options.policy != "none"
        self.reviews = Reviews(self.gathered.held, self.options.name) if reviewed else None

    def add(self, row: Row) -> GatedTask:
        """Write all rows and the folder of a task, or the row of a scenario or hazard task.

        Args:
            row: Row of its table, with ``context``, the text of its record, and ``task_id``.

        Returns:
            What the gates need in addition. It is empty if rows cannot be built: no error is raised, because the
            gates have better messages.
        """
        candidate = self.included[row["task_id"]]
        split = self.splits[candidate.task_id]
        if candidate.product != "task":
            self._add_other(row, candidate, split)
            return GatedTask(None, ())
        try:
            document = Document.from_json(json.loads(row["document"]))
            rows = list(self._rows(row, candidate, document))
            fact = task_fact(row, split)
        except _UNWRITABLE as error:
            # The gates see this task too: their message says what is wrong with it and what to do.
            self.problems.append(f"{candidate.task_id}: {error}")
            return GatedTask(None, ())
        for config, made in rows:
            self.tables.add(config, split, made)
            if config == "tasks" and split == "train" and self.example is None:
                self.example = made
        self.archives.add(row, document)
        self.tasks.append(fact)
        return GatedTask(document, tuple((config, made) for config, made in rows if config in _BESIDE))

    def _rows(self, row: Row, candidate: Candidate, document: Document) -> Iterator[tuple[str, Row]]:
        base = "unavoidable" if is_unavoidable(row) else "tasks"
        yield (
            base,
            task_row(
                row,
                candidate,
                document,
                **self._made(candidate),
            ),
        )
        danger = self.gathered.danger(candidate)
        if danger is not None:
            yield "dangers", danger_row(row, danger)
        drafts = self.gathered.drafts(candidate)
        yield from (("drafts", each) for each in draft_rows(row, drafts, with_answers=self.options.with_answers))
        if self.reviews is not None:
            yield from (("reviews", each) for each in self.reviews.rows(row))
        if base == "unavoidable":
            return
        yield from (("plans", each) for each in plan_rows(row, document))
        for config, made in (("contrast_twins", twin_row(row, document)), ("preference_pairs", pair_row(row))):
            if made is not None:
                yield config, made

    def _made(self, candidate: Candidate) -> MadeHow:
        return MadeHow(
            group=self.groups.of[candidate.task_id],
            drafts=self.gathered.drafts_used[candidate.task_id],
            policy=self.options.policy,
            votes=None if self.reviews is None else self.reviews.votes(candidate.task_id),
        )

    def _add_other(self, row: Row, candidate: Candidate, split: Split) -> None:
        """Write the row of a scenario or hazard task."""
        is_scenario = candidate.product == "scenario"
        build = scenario_row if is_scenario else hazard_task_row
        try:
            made = build(row, candidate, **self._made(candidate))
        except _UNWRITABLE as error:
            self.problems.append(f"{candidate.task_id}: {error}")
            return
        self.tables.add("scenarios" if is_scenario else "hazard_tasks", split, made)
        for each in self.reviews.rows(row) if self.reviews is not None else ():
            self.tables.add("reviews", split, each)
        if is_scenario:
            self.scenarios.append(scenario_fact(made, split))
        else:
            self.hazard_tasks.append(hazard_task_fact(made, split))

    def add_household(self, examined: ExaminedHouseholdTask) -> None:
        """Write the row of a household task, unless something is wrong with it, which a gate reports."""
        if not examined.problems:
            row = household_task_row(examined)
            self.tables.add("household_tasks", "test", row)
            self.household_tasks.append(household_task_fact(row))

    def refuse_if(self, results: Iterable[GateResult]) -> None:
        """Refuse the release if a gate did not pass.

        Raises:
            ReleaseRefused: A gate did not pass and was not waived; the error lists the findings of all such gates.
            StoreError: All gates passed, and yet rows of a task could not be built.
        """
        stopping = [result for result in results if result.stops]
        if stopping:
            waivable = all(result.name in WAIVABLE for result in stopping)
            waiver = f", or release it all the same with --waive {WAIVER}" if waivable else ""
            leavable = [result.name for result in stopping if result.name in LEAVABLE]
            leaving = f" with {' '.join(f'--leave-out {name}' for name in leavable)}" if leavable else ""
            raise ReleaseRefused(
                f"the release is refused by {', '.join(result.name for result in stopping)}",
                findings=tuple(line for result in stopping for line in result.in_words),
                summary=tuple(line for result in stopping for line in result.summary),
                remedy=f"fix what is listed, or leave it out{leaving}{waiver}; nothing was written",
            )
        if self.problems:
            shown = "; ".join(self.problems[:_SHOWN])
            raise StoreError(
                f"rows of {len(self.problems)} tasks cannot be built, although every gate passes: {shown}",
                remedy="see: hazardmill store verify; if it finds nothing, please report this as a bug",
            )

    def close(self) -> tuple[dict[str, File], dict[str, File]]:
        """Finish the data files and the archives, and return the manifest's entries of both."""
        files = self.tables.close()
        return files, {name: file_of(self.folder / name) for name in self.archives.close()}

    def __enter__(self) -> ReleaseWriter:
        """Files are opened as rows come."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the open files."""
        self.tables.abandon()
        self.archives.abandon()

    def facts(
        self,
        files: Mapping[str, File],
        archives: Mapping[str, File],
        results: tuple[GateResult, ...],
        parent: Parent | None,
        store: Store,
        review: Path | None,
    ) -> Facts:
        """Collect what the texts of the release need; the manifest in it does not list the texts themselves yet."""
        counts = self.tables.counts
        manifest = self._manifest({**files, **archives}, counts, results, parent)
        return Facts(
            manifest=manifest,
            configs=describe(counts, self.tables.sizes),
            tasks=tuple(self.tasks),
            scenarios=tuple(self.scenarios),
            hazard_tasks=tuple(self.hazard_tasks),
            household_tasks=tuple(self.household_tasks),
            gates=results,
            example=self.example,
            review=_statistics(self.options, store, review),
            parent=self.options.parent,
        )

    def _manifest(
        self,
        files: Mapping[str, File],
        counts: dict[str, dict[str, int]],
        results: Iterable[GateResult],
        parent: Parent | None,
    ) -> ReleaseManifest:
        gathered, options = self.gathered, self.options
        candidates = list(self.included.values())
        products = Counter(candidate.product for candidate in candidates)
        records = [(candidate.run_id, candidate.record_id) for candidate in candidates]
        models = gathered.calls.models(records)
        answered = frozenset().union(*(candidate.answered_by for candidate in candidates))
        left_out, shipped = _left_out(gathered), shipped_recordings()
        credits = Counter((c.source, c.licence, c.attribution) for c in candidates)
        credits.update([HOUSEHOLD_CREDIT] * len(self.household_tasks))
        return ReleaseManifest(
            name=options.name,
            version=options.version,
            date=gathered.date,
            hazardmill_version=__version__,
            policy=options.policy,
            seed=options.seed,
            authors=options.authors,
            doi=options.doi,
            tasks=products["task"],
            scenarios=products["scenario"],
            hazard_tasks=products["hazard_task"],
            household_tasks=len(self.household_tasks),
            offline=sum(OFFLINE_MODEL in candidate.answered_by for candidate in candidates),
            recorded=sum(bool(candidate.recorded_in - shipped) for candidate in candidates),
            local_models=tuple(name for name in options.local_models if name in answered),
            waived={result.name: result.waived for result in results if result.waived is not None},
            thresholds=options.thresholds.non_default,
            left_out=left_out,
            left_out_by_gates={result.name: len(result.left_out_tasks) for result in results if result.left_out},
            funnel={**gathered.funnel, "released": len(candidates)},
            counts=counts,
            prompts=gathered.calls.prompts(records),
            models=models,
            prices=gathered.calls.prices(models),
            usd=gathered.calls.usd,
            usd_known=gathered.calls.usd_known,
            licences=tally(licence for _, licence, _ in credits.elements()),
            attributions=tuple(
                Attribution(source=source, licence=licence, attribution=credit, tasks=credits[source, licence, credit])
                for source, licence, credit in sorted(credits)
            ),
            review=None if self.reviews is None else self.reviews.figures(self.included, sum(left_out.values())),
            archive=self.archives.figures,
            parent=parent,
            former_groups=_former(self.groups),
            files=dict(sorted(files.items())),
        )


def _former(groups: Groups) -> dict[str, str]:
    """Return the splits of the groups that earlier releases had and that have no task in this one."""
    present = set(groups.of.values())
    return {group: split for group, split in sorted(groups.kept.items()) if group not in present}


def _left_out(gathered: ReleaseCandidates) -> dict[str, int]:
    if gathered.accepted is None:
        return {}
    rejected = set(gathered.accepted.rejected)
    return tally(reason for task, reason in gathered.accepted.others.items() if task in rejected)


def _statistics(options: Options, store: Store, review: Path | None) -> ReviewStatistics | None:
    """Return the figures of the review; None under the policy ``none``."""
    if options.policy == "none" or review is None:
        return None
    return statistics(ReviewFolder(review), load_pool(store), options.policy, seed=options.seed)
