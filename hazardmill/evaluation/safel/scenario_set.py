"""The scenarios that an evaluation asks about: of a folder, or of a release and derived from its tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hazardmill.errors import (
    DocumentError,
    HazardmillError,
    InputError,
    NotExpressible,
    PlanningInputError,
    SearchLimitReached,
)
from hazardmill.evaluation.safel.refusal import CommandKind
from hazardmill.evaluation.safel.shown import sequence_question
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.document.lifted_effects import LiftedEffect
from hazardmill.formalism.semantics.transition_system import System
from hazardmill.records import content_hash
from hazardmill.scenarios.derive import derive
from hazardmill.scenarios.folder import read_scenarios
from hazardmill.scenarios.risk import KINDS, Risk
from hazardmill.scenarios.scenario import Scenario

if TYPE_CHECKING:
    from hazardmill.release.read.release import Release
    from hazardmill.release.read.task import ReleasedTask

TASK: Final = "task"
"""Key of a scenario's origin for the document of the task that it was derived from."""


@dataclass(frozen=True)
class SafelItem:
    """One thing that is asked about: a scenario, or a task in its ordinary wording.

    Attributes:
        scenario_id: Its id.
        kind: ``mal`` or ``sit``; ``task`` for an ordinary task without any risk.
        document: The problem.
        instruction: The command.
        risk: What is risky; None for an ordinary task.
        lifted: Effects as written, of the actions with a ``forall``.
        task: The task that the scenario was derived from, with its danger entries; None if it was not.
        task_id: Id of that task.
        source: Source of its record.
    """

    scenario_id: str
    kind: CommandKind
    document: Document = field(repr=False)
    instruction: str
    risk: Risk | None = None
    lifted: dict[str, tuple[LiftedEffect, ...]] = field(default_factory=dict, repr=False)
    task: Document | None = field(default=None, repr=False)
    task_id: str | None = None
    source: str | None = None

    @property
    def variant(self) -> None:
        """Always None: each item counts as one task of the evaluation."""
        return None


@dataclass(frozen=True)
class ScenarioSet:
    """Scenarios, and ordinary tasks beside them.

    Attributes:
        name: What to call them in words.
        scenarios: The scenarios that can be asked about, by id.
        ordinary: Ordinary tasks, for the rate of over-refusal.
        left_out: Why others cannot be asked about, to how many.
        errors: What is wrong with those, one each.
    """

    name: str
    scenarios: tuple[SafelItem, ...]
    ordinary: tuple[SafelItem, ...] = ()
    left_out: dict[str, int] = field(default_factory=dict)
    errors: tuple[HazardmillError, ...] = ()

    @cached_property
    def digest(self) -> str:
        """SHA-256 over everything that is asked about."""
        return content_hash(
            [
                [
                    item.scenario_id,
                    item.kind,
                    item.instruction,
                    item.document.hash,
                    None if item.risk is None else item.risk.to_json(),
                    {name: list(map(asdict, effects)) for name, effects in sorted(item.lifted.items())},
                    None if item.task is None else item.task.hash,
                ]
                for item in (*self.scenarios, *self.ordinary)
            ]
        )


def read_set(place: str, ordinary: str | None = None) -> ScenarioSet:
    """Read scenarios from a folder of scenario files, or those of a release, with both forms of each of its tasks.

    Args:
        place: The folder of scenarios, or the folder or hub name of a release.
        ordinary: A release whose tasks are asked about in their ordinary wording; None takes those of ``place`` if that
            is a release.

    Returns:
        The set. Files that cannot be read and scenarios that cannot be asked about are left out, and counted.

    Raises:
        InputError: There is no scenario that can be asked about.
    """
    from hazardmill.release.read.release import load_release

    folder = Path(place)
    if folder.is_dir() and any(path.name.endswith(".scenario.json") for path in folder.iterdir()):
        scenarios, errors, left_out = _of_folder(folder)
        name = f"scenarios in {folder.name}"
        release = None if ordinary is None else load_release(ordinary)
    else:
        of = load_release(place)
        scenarios, errors, left_out = _of_release(of)
        name = f"scenarios of {of.manifest.name} {of.version}"
        release = of if ordinary is None else load_release(ordinary)
    if not scenarios:
        said = f": {errors[0].message}" if errors else ""
        raise InputError(
            f"there is no scenario that can be asked about{said}",
            file=place,
            remedy="see what is wrong with them: hazardmill scenario verify",
        )
    tasks = () if release is None else tuple(_ordinary(release))
    return ScenarioSet(name, tuple(sorted(scenarios, key=_id)), tasks, dict(sorted(left_out.items())), tuple(errors))


def _id(item: SafelItem) -> str:
    return item.scenario_id


_Read = tuple[list[SafelItem], list[HazardmillError], Counter[str]]


def _of_folder(folder: Path) -> _Read:
    items: list[SafelItem] = []
    errors: list[HazardmillError] = []
    left_out: Counter[str] = Counter()
    for scenario in read_scenarios(folder):
        if isinstance(scenario, HazardmillError):
            errors.append(scenario)
            left_out["unread"] += 1
            continue
        try:
            items.append(item_of(scenario))
        except (DocumentError, SearchLimitReached, NotExpressible) as error:
            errors.append(InputError(f"{scenario.id}: {error.message}", file=str(folder), remedy=error.remedy))
            left_out["without_risk" if scenario.risk is None else _why(error)] += 1
    return items, errors, left_out


def item_of(scenario: Scenario) -> SafelItem:
    """Return what is asked about a scenario.

    Raises:
        DocumentError: It is not well formed, or has no risk.
        SearchLimitReached: It is too large to be ground.
        NotExpressible: PDDL cannot express it, or not with its names of actions and objects.
    """
    if scenario.risk is None:
        raise DocumentError(
            "the scenario does not state its risk",
            remedy="import it again with its risk: hazardmill scenario import --risk FILE.json",
        )
    task = scenario.origin.get(TASK)
    named = {name: scenario.origin.get(name) for name in ("task_id", "source")}
    if not all(value is None or isinstance(value, str) for value in named.values()):
        raise DocumentError(
            "origin: task_id and source must be strings", remedy="correct the file, or derive the scenario again"
        )
    made = SafelItem(
        scenario_id=scenario.id,
        kind=scenario.risk.kind,
        document=scenario.document,
        instruction=scenario.risk.instruction,
        risk=scenario.risk,
        lifted=scenario.draft.lifted(),
        task=None if task is None else Document.from_json(task),
        task_id=named["task_id"],
        source=named["source"],
    )
    # Whatever cannot be grounded or shown must be known before anything is paid for.
    System(made.document)
    if made.kind == "sit":
        sequence_question(made.document, made.instruction)
    return made


def _of_release(release: Release) -> _Read:
    items: list[SafelItem] = []
    errors: list[HazardmillError] = []
    left_out: Counter[str] = Counter()
    for task in release.tasks(None):
        try:
            items += [item_of(scenario) for scenario in derived(task)]
        except PlanningInputError:
            left_out["graded"] += 1
        except HazardmillError as error:
            errors.append(error)
            left_out[_why(error)] += 1
    for scenario in release.scenarios():
        try:
            items.append(item_of(scenario))
        except HazardmillError as error:
            errors.append(error)
            left_out[_why(error)] += 1
    return items, errors, left_out


def _why(error: HazardmillError) -> str:
    if isinstance(error, SearchLimitReached):
        return "too_large"
    return "not_expressible" if isinstance(error, NotExpressible) else "malformed"


def derived(task: ReleasedTask, kinds: Sequence[str] = KINDS) -> Iterator[Scenario]:
    """Yield the forms of a released task.

    Args:
        task: The task.
        kinds: Which forms: ``mal``, ``sit``.

    Raises:
        PlanningInputError: The task is graded.
        DocumentError: Nobody says what the robot is asked to do.
    """
    row = task.row
    if not str(row["robot_task"] or "").strip():
        raise DocumentError(
            f"{task.task_id}: the task does not say what the robot is asked to do", remedy="leave the task out"
        )
    for kind in KINDS:
        if kind in kinds:
            yield derive(
                task.document,
                kind,
                f"{task.task_id}-{kind}",
                robot_task=str(row["robot_task"]),
                result_of_danger=str(row["result_of_danger"] or ""),
                entity_in_danger=str(row["entity_in_danger"] or ""),
                origin={
                    "task_id": task.task_id,
                    "record_id": task.record_id,
                    "source": task.source,
                    "split": task.split,
                    "licence": task.licence,
                    "attribution": task.attribution,
                    "share_alike": task.share_alike,
                    "answered_by": list(task.answered_by),
                    TASK: task.document.to_json(),
                },
            )


def _ordinary(release: Release) -> Iterator[SafelItem]:
    """Yield the contrast twins of a release's tasks: the same errand where nothing is dangerous."""
    for task in release.tasks(None):
        if task.twin is not None:
            yield SafelItem(
                f"{task.task_id}-task",
                "task",
                task.twin,
                str(task.row["robot_task"]),
                task_id=task.task_id,
                source=task.source,
            )
