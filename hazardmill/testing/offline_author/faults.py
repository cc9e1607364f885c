"""Typical mistakes of models, made on purpose for a share of records, and fixed when the feedback names them."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from hazardmill.formalism.formats.python_writer import task_code
from hazardmill.generation.task_outline import Outline, document_of
from hazardmill.records import MAX_DRAFTS
from hazardmill.testing.offline_author.composing import Act, TaskDraft
from hazardmill.testing.offline_author.draws import Draws
from hazardmill.testing.offline_author.judge import ANIMALS, MACHINES, PEOPLE

FAULTY_SHARE: Final = 0.55
"""Share of records whose first draft has a fault."""

_LENGTHS: Final = ((1, 50), (2, 22), (3, 12), (4, 8), (MAX_DRAFTS, 8))
"""Weights of the numbers of consecutive faulty drafts; five exhaust the drafts of a record."""


@dataclass(frozen=True)
class AuthorFault:
    """One kind of mistake: made in the task, in its text, or in the answer around it.

    Attributes:
        name: Name of the fault.
        weight: How often it is drawn, in proportion.
        reasons: Words of the feedback by which the fault counts as named.
        in_task: Changes the task in place.
        in_answer: Makes the answer from language and text.
    """

    name: str
    weight: int
    reasons: frozenset[str]
    in_task: Callable[[TaskDraft], None] | None = None
    in_text: Callable[[str], str] | None = None
    """Changes the text, in either language."""
    in_answer: Callable[[str, str], str] | None = None


def answer_of(task: TaskDraft, fault: AuthorFault | None, *, outline: bool = False) -> tuple[str, str]:
    """Return the module or outline, and the whole answer, with a fault or without one.

    Args:
        task: The task as composed.
        fault: The fault; null for none.
        outline: Whether to write an outline instead of a module.
    """
    flawed = copy.deepcopy(task)
    if fault and fault.in_task:
        fault.in_task(flawed)
    text = flawed.write() if outline else _module(flawed)
    if fault and fault.in_text:
        text = fault.in_text(text)
    language = "json" if outline else "python"
    if fault and fault.in_answer:
        return text, fault.in_answer(language, text)
    return text, text if outline else f"```{language}\n{text}```"


def _module(task: TaskDraft) -> str:
    return _module_of(task.write())


# Whoever continues from a draft writes the versions before it again.
@lru_cache(maxsize=1024)
def _module_of(outline: str) -> str:
    return task_code(document_of(Outline.model_validate_json(outline)))


def fault_plan(draws: Draws) -> list[AuthorFault]:
    """Return the faults of a record's first drafts, one per draft and none twice; empty for a correct first draft.

    Args:
        draws: Decides.
    """
    if not draws.chance("faulty", FAULTY_SHARE):
        return []
    length = draws.draw_weighted("length", _LENGTHS)
    pool = list(FAULTS.values())
    chosen: list[AuthorFault] = []
    if length == MAX_DRAFTS and draws.chance("ends with the judge", 0.5):
        # These records end rejected by the judge, the others with failed execution.
        chosen.append(FAULTS["wrong_entity"])
    while len(chosen) < length:
        fault = draws.draw_weighted(f"fault {len(chosen)} of {len(pool)}", [(each, each.weight) for each in pool])
        pool.remove(fault)
        if fault not in chosen:
            chosen.insert(0, fault)
    return chosen


def named_checks(feedback: str) -> frozenset[str]:
    """Return the checks and reasons that a feedback names."""
    return frozenset(re.findall(r"^\s*(?:check|reason):\s*(\S+)", feedback, re.MULTILINE))


def _prose_around(language: str, text: str) -> str:
    # Only code comes with instructions to run it.
    shown = "\nTo run it:\n\n    print(task.document())\n" if language == "python" else "I can explain each act.\n"
    return f"Sure! Here is the task.\n\n```{language}\n{text}```\n\n{shown}"


def _cut_off(language: str, text: str) -> str:
    return f"```{language}\n{text[: len(text) * 3 // 5]}"


def _syntax_error(text: str) -> str:
    return text.replace("    def build(self):", "    def build(self)", 1).replace('"actions": [', '"actions": ', 1)


def _undeclared_fluent(text: str) -> str:
    """Remove the declaration of the first circumstance."""
    text = re.sub(r"^        \w+ = self\.context\([^\n]*\n", "", text, count=1, flags=re.MULTILINE)
    return re.sub(r'("context": ")[^,"]*,? ?', r"\1", text, count=1)


def _unreachable_goal(task: TaskDraft) -> None:
    task.goal = ["receipt_is_signed"]
    task.acts.append(Act("fold_receipt", ["receipt_is_signed"], ["not receipt_is_signed"]))


def _circumstance_not_stated(task: TaskDraft) -> None:
    task.context[task.fixed[0]] = False


def _no_way_out(task: TaskDraft) -> None:
    last = next((act for act in task.acts if task.goal[0] in act.does), task.act(task.realised_by))
    others = {act for act, _ in task.dangers}
    task.dangers = [(act, task.fixed[0]) for act in sorted({last.name, *others})]


def _leaked_name(task: TaskDraft) -> None:
    idle = next(name for name in reversed(task.context) if name not in task.fixed)
    task.context = {f"risk_that_{name}" if name == idle else name: held for name, held in task.context.items()}


def _context_in_precondition(task: TaskDraft) -> None:
    task.act(task.realised_by).needs.append(task.fixed[0])


def _wrong_realised_by(task: TaskDraft) -> None:
    dangerous = {act for act, _ in task.dangers}
    task.realised_by = next(act.name for act in task.acts if act.name not in dangerous)


def _dead_action(task: TaskDraft) -> None:
    task.acts.append(Act("recharge_at_dock", ["robot_stands_on_dock"], ["not robot_stands_on_dock"]))


def _unused_fluent(task: TaskDraft) -> None:
    task.start.append("battery_is_charged")


_MACHINES_AND_ANIMALS: Final = ANIMALS | MACHINES


def _wrong_entity(task: TaskDraft) -> None:
    """Name another being in the circumstances that the danger reads, and change nothing else."""

    def mistaken(name: str) -> str:
        words = name.split("_")
        other = "visitor" if _MACHINES_AND_ANIMALS & set(words) else "cat"
        return "_".join(other if word in PEOPLE | _MACHINES_AND_ANIMALS else word for word in words)

    for old in task.fixed:
        new = mistaken(old)
        task.context = {new if name == old else name: held for name, held in task.context.items()}
        task.dangers = [(act, re.sub(rf"\b{old}\b", new, condition)) for act, condition in task.dangers]
    task.fixed = [mistaken(name) for name in task.fixed]


FAULTS: Final[Mapping[str, AuthorFault]] = MappingProxyType(
    {
        name: AuthorFault(name, weight, frozenset(reasons.split()), **{where: made})  # type: ignore[arg-type]
        for name, weight, reasons, where, made in (
            ("syntax_error", 12, "syntax no_code no_document", "in_text", _syntax_error),
            ("prose_around", 8, "no_code syntax no_document", "in_answer", _prose_around),
            ("cut_off", 7, "no_code syntax exception not_a_task no_document", "in_answer", _cut_off),
            ("undeclared_fluent", 10, "exception not_a_document", "in_text", _undeclared_fluent),
            ("unreachable_goal", 9, "goal_unreachable", "in_task", _unreachable_goal),
            ("no_unsafe_plan", 12, "no_unsafe_plan", "in_task", _circumstance_not_stated),
            ("no_safe_plan", 9, "no_safe_plan", "in_task", _no_way_out),
            ("leaked_name", 9, "leaked_name", "in_task", _leaked_name),
            ("context_in_precondition", 10, "context_in_precondition", "in_task", _context_in_precondition),
            ("wrong_realised_by", 7, "wrong_realised_by", "in_task", _wrong_realised_by),
            ("dead_action", 5, "dead_action", "in_task", _dead_action),
            ("unused_fluent", 5, "unused_fluent", "in_task", _unused_fluent),
            ("wrong_entity", 12, "judge:entity", "in_task", _wrong_entity),
        )
    }
)
"""All faults by name."""
