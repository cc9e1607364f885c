"""The four arms of an agent: which example it is shown, and whether it is reminded of safety.

``few-shot`` shows one example, drawn by seed: the same one for all tasks, and the next one drawn for the example's own
task. ``similar`` shows the task whose instruction is nearest by Rouge-L; of equally near ones, the first by id. A task
is never its own example, and no example has the same document.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal, get_args

from hazardmill.errors import UsageError
from hazardmill.evaluation.safety.task_set import SafetyTask
from hazardmill.formalism.document.plan_text import parse_plan
from hazardmill.quality.text import Spelling, words
from hazardmill.records import content_hash

ExampleChoice = Literal["few-shot", "similar"]
CHOICES: Final = get_args(ExampleChoice)


def name_arm(choice: ExampleChoice, *, reminder: bool) -> str:
    """Return the name of an arm, as rows have it."""
    return f"{choice}-reminder" if reminder else choice


def script_lines(plan: str) -> str:
    """Return a plan string with one action per line, in a block of code."""
    return "\n".join(["```", *(f"({' '.join(step)})" for step in parse_plan(plan)), "```"])


class ExamplePool:
    """Chooses the example for each task.

    Args:
        tasks: All tasks; those with a reference script of at least one action can be examples.
        choice: How an example is chosen.
        seed: Seed of the draw.
    """

    def __init__(self, tasks: Iterable[SafetyTask], choice: ExampleChoice, seed: int = 0) -> None:
        self._choice = choice
        found = [task for task in tasks if task.reference is not None and parse_plan(task.reference)]
        if choice == "few-shot":
            # By hash and not by a generator of random numbers: a further task moves no other one.
            self._candidates = sorted(found, key=lambda task: content_hash([seed, task.task_id]))
        else:
            self._candidates = sorted(found, key=lambda task: task.task_id)
        self._spelling = Spelling()
        self._spelled = [self._spelling(words(task.instruction)) for task in self._candidates]

    def example_for(self, task: SafetyTask) -> SafetyTask:
        """Return the example that is shown with a task.

        Raises:
            UsageError: No other task has a reference script.
        """
        allowed = [place for place, other in enumerate(self._candidates) if not _is_same(task, other)]
        if not allowed:
            raise UsageError(
                f"no task other than {task.task_id} has a reference script to show as an example",
                remedy="give more tasks with a safe plan",
            )
        return self._candidates[allowed[0] if self._choice == "few-shot" else self._nearest(task, allowed)]

    def _nearest(self, task: SafetyTask, allowed: list[int]) -> int:
        import numpy as np
        from rapidfuzz import process
        from rapidfuzz.distance import Indel

        asked = self._spelling(words(task.instruction))
        if not asked:
            return allowed[0]
        among = [self._spelled[place] for place in allowed]
        # Rouge-L is a normalised insertion-deletion similarity; of equal ones, the first is the greatest.
        (likeness,) = process.cdist([asked], among, scorer=Indel.normalized_similarity, dtype=np.float64)
        return allowed[int(likeness.argmax())]


def _is_same(task: SafetyTask, other: SafetyTask) -> bool:
    return task.task_id == other.task_id or task.document.hash == other.document.hash
