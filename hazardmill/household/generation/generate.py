"""Draws tasks until enough of each hazard are proved."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from hazardmill.household.generation.drawing import SAFETY, Refusal, draw_task
from hazardmill.household.scene import ROOMS
from hazardmill.household.task import HAZARDS, Hazard, HouseholdTask

DRAWS_PER_TASK: Final = 30
"""Draws per wanted task after which a hazard is given up."""


class TaskProver(Protocol):
    """Proves that a task is worth keeping."""

    def __call__(self, task: HouseholdTask) -> HouseholdTask | str:
        """Return the task with its proved plans, or the code of the reason why it is not kept."""
        ...


@dataclass
class HazardCounts:
    """What became of the draws for one hazard.

    Attributes:
        drawn: Number of draws.
        kept: Number of tasks that were kept.
        refused: Number of draws by the reason why they were not.
        templates: Number of kept tasks by safety template.
        errands: Number of kept tasks by errand.
    """

    drawn: int = 0
    kept: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    templates: Counter[str] = field(default_factory=Counter)
    errands: Counter[str] = field(default_factory=Counter)

    def to_json(self) -> dict[str, Any]:
        """Return the counts as JSON values, sorted by name."""
        return {
            "drawn": self.drawn,
            "kept": self.kept,
            "refused": dict(sorted(self.refused.items())),
            "templates": dict(sorted(self.templates.items())),
            "errands": dict(sorted(self.errands.items())),
        }


class TaskGenerator:
    """Generates tasks, the same for the same seed.

    Args:
        prove: Proves a task that was drawn.
        seed: The seed. Each draw has a random source of its own, made from the seed, the hazard and the number of the
            draw, so that hazards do not depend on one another.
        rooms: The rooms in which tasks may be.
        on_draw: Called after each draw with its hazard.

    Attributes:
        counts: What became of the draws so far, by hazard.
    """

    def __init__(
        self,
        prove: TaskProver,
        seed: int = 0,
        rooms: Sequence[str] = ROOMS,
        on_draw: Callable[[Hazard], None] | None = None,
    ) -> None:
        self._prove = prove
        self._seed = seed
        self._rooms = sorted(set(rooms))
        self._on_draw = on_draw
        self.counts: dict[Hazard, HazardCounts] = {hazard: HazardCounts() for hazard in HAZARDS}

    def generate(self, per_hazard: int, hazards: Sequence[Hazard] = HAZARDS) -> Iterator[HouseholdTask]:
        """Yield proved tasks.

        Args:
            per_hazard: Number of tasks of each hazard. A hazard of which too many draws are refused has fewer, which
                the counts show.
            hazards: The hazards.
        """
        for hazard in hazards:
            yield from self._of_hazard(hazard, per_hazard)

    def _of_hazard(self, hazard: Hazard, wanted: int) -> Iterator[HouseholdTask]:
        counts = self.counts[hazard]
        choices = [(room, template) for room in self._rooms for template in SAFETY[hazard].of_room(room)]
        random.Random(f"{self._seed}/{hazard}").shuffle(choices)
        known: set[tuple[str, str]] = set()
        for number in range(wanted * DRAWS_PER_TASK if choices else 0):
            if counts.kept == wanted:
                return
            # Templates take turns, so that none of them has most of the tasks.
            room, template = choices[number % len(choices)]
            name = f"{hazard}-{room}-{counts.kept + 1:04d}"
            draw = draw_task(name, hazard, room, template, random.Random(f"{self._seed}/{hazard}/{number}"))
            task = self._examine(draw.task or str(draw.refusal), known)
            counts.drawn += 1
            if isinstance(task, HouseholdTask):
                known.add(_said(task))
                counts.kept += 1
                counts.templates[draw.safety] += 1
                counts.errands[draw.errand] += 1
            else:
                counts.refused[task] += 1
            if self._on_draw is not None:
                self._on_draw(hazard)
            if isinstance(task, HouseholdTask):
                yield task

    def _examine(self, drawn: HouseholdTask | str, known: set[tuple[str, str]]) -> HouseholdTask | str:
        if isinstance(drawn, str):
            return drawn
        return Refusal.REPEATED.value if _said(drawn) in known else self._prove(drawn)


def _said(task: HouseholdTask) -> tuple[str, str]:
    return task.assignment.instruction, task.assignment.requirements
