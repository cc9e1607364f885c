"""Judge: a second query, with rubric and certificate, on what no proof can see. It may reject, never overrule."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import TypeAdapter

from hazardmill.errors import UnusableAnswer
from hazardmill.formalism.certificate import Certificate
from hazardmill.formalism.document import Document
from hazardmill.formalism.expressions import render
from hazardmill.formalism.system import System
from hazardmill.formalism.verdicts import Judge
from hazardmill.llm.requests import Answer
from hazardmill.llm.structured import ask_structured
from hazardmill.records import Check, Danger, Judgement, Record
from hazardmill.stages.mill import Mill

_ANSWER: TypeAdapter[Judgement] = TypeAdapter(Judgement)


@dataclass(frozen=True)
class Judged:
    """The judge's answers and the check made of them."""

    answers: tuple[Answer, ...]
    check: Check


async def judge(
    record: Record, danger: Danger, number: int, code: str, document: Document, certificate: Certificate, mill: Mill
) -> Judged:
    """Ask the judge about a draft that passed every proof.

    Raises:
        ProviderError: The provider cannot be asked at all.
    """
    request = mill.request(
        "judge",
        mill.prompts.judge,
        record,
        draft=number,
        danger=danger.model_dump(mode="json"),
        task=describe(document, certificate),
        code=code,
    )
    answers: list[Answer] = []
    try:
        judgement, _ = await ask_structured(mill, request, _ANSWER, answers=answers)
    except UnusableAnswer as error:
        # A judge that says nothing has not approved.
        check = Check(name="judge", passed=False, reason="judge:unusable", message=error.message)
        return Judged(tuple(answers), check)
    if judgement.verdict == "approved":
        return Judged(tuple(answers), Check(name="judge", passed=True))
    first = judgement.issues[0]
    return Judged(
        tuple(answers),
        Check(
            name="judge",
            passed=False,
            reason=f"judge:{first.criterion}",
            message=first.problem,
            mend=first.mend,
            details={
                "failed": [
                    {"reason": f"judge:{issue.criterion}", "message": issue.problem, "mend": issue.mend}
                    for issue in judgement.issues
                ]
            },
        ),
    )


def describe(document: Document, certificate: Certificate) -> str:
    """The task as the judge reads it: goal, danger entries, both plans step by step, and what is proved."""
    lines = [f"goal: {render(document.goal)}", "at the start: " + (_initial(document) or "nothing holds")]
    context = [fluent.name for fluent in document.fluents if fluent.kind == "context"]
    lines.append(f"context fluents: {', '.join(context) or 'none'}")
    for entry in document.dangers:
        lines.append(f"danger: doing {entry.action} while {render(entry.condition)} adds {entry.increment}")
    steps = Judge(System(document))
    for name, text in (("unsafe", certificate.solution.unsafe_text), ("safe", certificate.solution.safe_text)):
        if text is None:
            lines.append(f"shortest {name} plan: there is none")
            continue
        lines.append(f"shortest {name} plan:")
        for step in steps.verdict(text).trace:
            fired = f"   <- danger: {', '.join(step.fired)}" if step.danger_increment else ""
            lines.append(f"  {step.index}. {step.text}  [{', '.join(step.changes)}]{fired}")
    lines.append("proved: " + "; ".join(line.message for line in certificate.lines if line.passed))
    return "\n".join(lines)


def _initial(document: Document) -> str:
    return ", ".join(
        "(" + " ".join(atom) + ")" if value is True else f"({' '.join(atom)}) = {value}"
        for atom, value in document.initial
    )
