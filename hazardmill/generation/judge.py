"""The judge stage: a second query, with rubric and certificate, about what no proof can see.

The judge may reject a draft that passed every proof, but can never accept one that failed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Any, Final

from pydantic import TypeAdapter

from hazardmill.errors import UnusableAnswer
from hazardmill.formalism.document.document import ROOT_TYPE, ActionDecl, DangerEntry, Document
from hazardmill.formalism.formats.infix_writer import effect_in_words, in_words, write_call, write_declaration
from hazardmill.formalism.proofs.claim import Certificate
from hazardmill.formalism.semantics.plan_validator import PlanStep, PlanValidator
from hazardmill.formalism.semantics.transition_system import System
from hazardmill.generation.context import StageContext
from hazardmill.llm.requests import Answer
from hazardmill.llm.structured import ask_structured
from hazardmill.records import FORMALIZATION, Check, Danger, Issue, Judgement, Record, Round

UNUSABLE: Final = "judge:unusable"
"""Reason code of a draft whose judge gave no usable answer."""

REASONS: Final = {UNUSABLE: "The judge gave no answer that can be read, also when asked again."}
"""Reason codes of the check ``judge`` besides ``judge:`` and a criterion, with their meanings."""


Row = dict[str, Any]

_ANSWER: TypeAdapter[Judgement] = TypeAdapter(Judgement)


@dataclass(frozen=True)
class JudgeResult:
    """The judge's answers and the check derived from them.

    Attributes:
        answers: All answers, repair turns included.
        check: The check ``judge``; failed if the judge raised an issue it is certain of, or gave no usable answer.
    """

    answers: tuple[Answer, ...]
    check: Check


async def judge(
    record: Record,
    danger: Danger,
    number: int,
    document: Document,
    certificate: Certificate,
    context: StageContext,
    earlier: Sequence[str] = (),
    round_: Round = 1,
) -> JudgeResult:
    """Ask the judge about a draft that passed every proof.

    The judge reads a description in words (``describe``) instead of the code.

    Args:
        record: The record that the task was made from.
        danger: Its danger formalization.
        number: Number of the draft.
        document: The draft's task.
        certificate: What was proved about it.
        context: Client, prompts and models.
        earlier: What judges said about earlier drafts, so that this one does not ask for the opposite unknowingly.
        round_: Round of the formalization.

    Returns:
        The answers, and the check ``judge``; it fails, too, if no answer is usable.

    Raises:
        ProviderError: The provider cannot be asked at all.
    """
    request = context.request(
        "judge",
        context.prompts.judge,
        record,
        round_=round_,
        draft=number,
        danger=danger.prompt_values(),
        task=describe(document, certificate),
        earlier=list(earlier),
    )
    answers: list[Answer] = []
    try:
        judgement, _ = await ask_structured(context, request, _ANSWER, answers=answers)
    except UnusableAnswer as error:
        # A judge without a usable answer has not approved.
        check = Check(name="judge", passed=False, reason=UNUSABLE, message=error.message)
        return JudgeResult(tuple(answers), check)
    return JudgeResult(tuple(answers), judgement_check(judgement))


def formalization_faults(check: Check) -> tuple[Row, ...]:
    """Return what a judge found wrong with the danger itself: reason, message and suggested fix per issue.

    Args:
        check: Any check; other checks than the judge's have no such faults.
    """
    failed = check.details.get("failed", ()) if check.name == "judge" else ()
    return tuple(each for each in failed if each["reason"] == f"judge:{FORMALIZATION}")


def judgement_check(judgement: Judgement) -> Check:
    """Return the check ``judge`` that a judgement gives: it fails if an issue is sure or likely."""
    failed = [_finding(issue) for issue in judgement.issues if not issue.is_doubt]
    doubts = [_finding(issue) for issue in judgement.issues if issue.is_doubt]
    details: Row = {**({"failed": failed} if failed else {}), **({"doubts": doubts} if doubts else {})}
    first = {name: failed[0][name] for name in ("reason", "message", "mend")} if failed else {}
    return Check(name="judge", passed=not failed, **first, details=details)


def _finding(issue: Issue) -> Row:
    return {
        "reason": f"judge:{issue.criterion}",
        "message": issue.problem,
        "mend": issue.mend,
        "certainty": issue.certainty,
    }


def describe(document: Document, certificate: Certificate) -> str:
    """Return a task in words for the judge: what holds, what each action needs and does, and both plans.

    It is sent instead of the code, which is twice as long and contains no plan.

    Args:
        document: The draft's task.
        certificate: Holds the plans.
    """
    start = [(atom, value) for atom, value in document.initial if value is not False]
    context = {fluent.name for fluent in document.fluents if fluent.kind == "context"}
    given = [write_call(*atom) for atom, _ in start if atom[0] in context]
    absent = [name for name in sorted(context) if not any(atom[0] == name for atom, _ in start)]
    # A title that contained a line break and a plan would be read as that plan.
    lines = [f"title: {' '.join(document.texts['title'].split())}"] if "title" in document.texts else []
    for kind in document.types:
        head = kind.name if kind.parent == ROOT_TYPE else f"{kind.name}({kind.parent})"
        things = ", ".join(thing.name for thing in document.objects if thing.type == kind.name)
        lines.append(f"{head}: {things}" if things else head)
    lines.append(f"context: {', '.join(given) or 'none'}" + (f"; not so: {', '.join(absent)}" if absent else ""))
    normal = [
        write_call(*atom) + ("" if value is True else f" = {value}") for atom, value in start if atom[0] not in context
    ]
    lines.append(f"start: {', '.join(normal) or 'nothing else'}")
    if limits := list(_limits(document)):
        lines.append(f"limits (what would go beyond cannot be done): {', '.join(limits)}")
    lines += [f"goal: {in_words(document.goal)}", "actions:"]
    lines += [f"- {_action(action)}" for action in document.actions]
    if document.initial_danger or document.max_danger:
        lines.append(f"danger at the start {document.initial_danger}, safe up to {document.max_danger}")
    lines += [f"danger: {_danger(entry)}" for entry in document.dangers]
    if document.causes is not None:
        named = [f"{part} {', '.join(names)}" for part, names in document.causes.to_json().items() if names]
        lines.append(f"cause: {'; '.join(named) or 'none'}")
    if document.obvious is not None:
        lines.append(f"obvious: {' '.join(document.obvious.split())}")
    return "\n".join([*lines, *_plans(document, certificate)])


def _limits(document: Document) -> Iterator[str]:
    for fluent in document.fluents:
        lower, upper = ("" if bound is None else str(bound) for bound in (fluent.lower, fluent.upper))
        if lower or upper:
            yield f"{fluent.name} {lower}..{upper}"


def _plans(document: Document, certificate: Certificate) -> Iterator[str]:
    steps = PlanValidator(System(document))
    varying = {action.name for action in document.actions if any(e.condition is not True for e in action.effects)}
    for name, text in (("unsafe", certificate.solution.unsafe_text), ("safe", certificate.solution.safe_text)):
        if text is None:
            yield f"{name} plan: there is none"
            continue
        said = "; ".join(_step(step, varying) for step in steps.verdict(text).trace)
        yield f"{name} plan: {said or 'nothing is to be done'}"


def _action(action: ActionDecl) -> str:
    head = write_declaration(action.name, [(parameter.name, parameter.type) for parameter in action.parameters])
    needs = "" if action.precondition is True else f" {in_words(action.precondition)}"
    return f"{head}:{needs} -> {', '.join(map(effect_in_words, action.effects)) or 'nothing'}"


def _danger(entry: DangerEntry) -> str:
    when = "" if entry.condition is True else f" while {in_words(entry.condition)}"
    kind = f" ({entry.danger_type})" if entry.danger_type else ""
    return f"{entry.action}{when}{kind}" + ("" if entry.increment == 1 else f", by {entry.increment}")


def _step(step: PlanStep, varying: Set[str]) -> str:
    name, *arguments = step.text.strip("()").split()
    # The effects of other actions are stated once, in the list of actions.
    changes = f" [{', '.join(step.changes)}]" if name in varying else ""
    return write_call(name, *arguments) + changes + (" <- danger" if step.danger_increment else "")
