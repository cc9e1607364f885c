"""Scripts that can be the preferred answer of a pair beside a task's safe plan, such as a source's own script.

A script counts on the document that the release has of its task, whoever wrote it: all of its actions can be done, the
goal holds at the end, and V accepts it. V is the verdict of the task; of a hazard task it is that no rule of the map
fires, as its compiled document has them. Words of a source that are not the document's actions make no plan.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Literal

from hazardmill.formalism.document.document import Document
from hazardmill.formalism.document.plan_text import plan_text
from hazardmill.formalism.semantics.plan_validator import PlanValidator
from hazardmill.formalism.semantics.transition_system import System
from hazardmill.hazards.compiled_detector import CompiledDetector
from hazardmill.hazards.execution import execute_plan
from hazardmill.hazards.sheets import ScriptReviews
from hazardmill.release.read.pairs import actions_of

ChosenFrom = Literal["search", "reference", "script"]
"""Whether a preferred answer was found by search, is the reference of a hazard task, or a script of its own."""


@dataclass(frozen=True, slots=True)
class SafeAnswer:
    """A preferred plan.

    Attributes:
        actions: Its actions, each as ``(name object ...)``.
        chosen_from: Where it comes from.
    """

    actions: tuple[str, ...]
    chosen_from: ChosenFrom

    @classmethod
    def of(cls, plan: str, chosen_from: ChosenFrom) -> SafeAnswer:
        """Read a plan string."""
        return cls(tuple(actions_of(plan)), chosen_from)


def accept_scripts(
    task_id: str,
    scripts: Collection[str],
    document: Document,
    compiled: Document | None,
    reviews: ScriptReviews,
    left_out: Counter[str],
) -> Iterator[SafeAnswer]:
    """Yield the scripts of a task that V accepts, in order.

    Args:
        task_id: The task.
        scripts: Plan strings.
        document: The task.
        compiled: The compiled document of a hazard task; None for a task, which has danger entries itself.
        reviews: What people say of scripts.
        left_out: Counter of reasons; updated for scripts that are not yielded: ``script_not_executable``,
            ``script_misses_goal``, ``harmful_script`` (V rejects it), ``rejected_script`` (people say that it does
            harm).
    """
    system = System(document)
    validator = PlanValidator(system)
    detector = None if compiled is None else CompiledDetector(document, compiled)
    for script in scripts:
        execution = execute_plan(system, validator.reader, script)
        if not execution.whole:
            left_out["script_not_executable"] += 1
        elif not system.goal.holds(*execution.states[-1]):
            left_out["script_misses_goal"] += 1
        elif not (validator.verdict(script).safe if detector is None else detector.detect(script).safe):
            left_out["harmful_script"] += 1
        # In the spelling of the document, whatever the case of the script was.
        elif "confirmed" in {reviews.review(task_id, text) for text in (script, plan_text(execution.done))}:
            left_out["rejected_script"] += 1
        else:
            yield SafeAnswer(tuple(action.text for action in execution.done), "script")
