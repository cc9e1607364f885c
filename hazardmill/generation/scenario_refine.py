"""What the stages do for one seed of a scenario: ask for it, verify and mend it, have it judged and labelled.

It is the work of ``refine`` on another thing: nothing is extracted, no code runs, and ``execute`` is the verification
of data. Drafts, feedback and outcomes are the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from pydantic import TypeAdapter

from hazardmill.errors import DocumentError, UnusableAnswer
from hazardmill.formalism.document.expressions import render
from hazardmill.generation.author import AuthorResult, show_feedback
from hazardmill.generation.context import ScenarioSettings, StageContext, add_costs, stage_request, total_usd
from hazardmill.generation.extract import ExtractResult
from hazardmill.generation.judge import UNUSABLE, judgement_check
from hazardmill.generation.refine import (
    DraftAttempt,
    RecordResult,
    Refinement,
    first_failure,
    render_feedback,
)
from hazardmill.generation.scenario_answer import read_scenario_answer
from hazardmill.llm.requests import Answer
from hazardmill.llm.structured import ask_structured, usable_text
from hazardmill.records import MAX_DRAFTS, Check, Draft, FrozenModel, Judgement, Outcome
from hazardmill.scenarios.correct import Correction, correct
from hazardmill.scenarios.risk import HAZARDS, is_leaf
from hazardmill.scenarios.scenario import Scenario

NAME: Final = "scenario"
"""Name of the check that verifies and mends a scenario."""

_NOTHING: Final = ExtractResult(())
REASONS: Final = {
    "no_scenario": "The answer has no whole scenario.",
    "not_pddl": "A part of the answer cannot be read as PDDL.",
}
"""Reason codes of the check ``answer`` of a scenario, with their meanings."""

_MEND: Final = "answer with the whole scenario as one JSON object and nothing else"


class _Label(FrozenModel):
    target: str | None
    hazard: str | None = None


_JUDGED: TypeAdapter[Judgement] = TypeAdapter(Judgement)
_LABELLED: TypeAdapter[_Label] = TypeAdapter(_Label)


@dataclass(frozen=True)
class ScenarioAuthorResult(AuthorResult):
    """The author's answer, the scenario read from it, and the check that says whether there is one.

    Attributes:
        scenario: The scenario, well formed or not; None if the answer describes none.
    """

    scenario: Scenario | None = None


@dataclass(frozen=True)
class ScenarioAttempt(DraftAttempt):
    """One draft of a scenario.

    Attributes:
        correction: What became of it; None if the answer describes none.
        label_answers: Answers to the second query, for the label.
    """

    correction: Correction | None = None
    label_answers: tuple[Answer, ...] = ()

    @property
    def answers(self) -> tuple[Answer, ...]:
        """All answers that the draft used."""
        return (*self.author_answers, *self.judge_answers, *self.label_answers)

    @property
    def usd(self) -> float | None:
        """Cost of the draft's requests in US dollars; null if one is unknown."""
        before = super().usd
        return add_costs(before, total_usd(self.label_answers)) if self.label_answers else before

    @property
    def document_hash(self) -> str | None:
        """Hash of the scenario's document; None if it is not well formed."""
        if self.correction is None or self.correction.outcome == "discarded":
            return None
        return self.correction.scenario.document.hash


@dataclass
class ScenarioRefinement(Refinement):
    """The work on one seed.

    Attributes:
        correction: What became of the draft under way; None before it was verified.
    """

    correction: Correction | None = None

    @property
    def needs_draft(self) -> bool:
        """Whether another draft is to be written."""
        if self.unrecorded is not None or self.waits or self.extraction is None:
            return False
        return len(self.attempts) < MAX_DRAFTS and not (self.attempts and self.attempts[-1].draft.accepted)

    def result(self) -> RecordResult:
        """Return what became of the record, once it needs no further draft."""
        done = tuple(self.attempts)
        if done[-1].draft.accepted:
            return RecordResult(self.record, _NOTHING, done, Outcome.ACCEPTED, None, None)
        failed = first_failure(done[-1].draft.checks)
        outcome = Outcome.QUALITY_FAILED if failed.name == "judge" else Outcome.EXECUTION_FAILED
        return RecordResult(self.record, _NOTHING, done, outcome, failed.reason, failed.message)

    def earlier(self) -> list[Draft]:
        """Return the drafts that are done."""
        return [attempt.draft for attempt in self.attempts]


async def begin_seed(work: Refinement, context: StageContext) -> None:
    """Stage ``extract``: nothing is extracted from a seed, because the author reads it."""
    context.watch.on_record(work.record)
    work.extraction = _NOTHING


async def write_scenario(work: Refinement, context: StageContext) -> None:
    """Stage ``author``: ask for the next draft of the scenario.

    Args:
        work: The work on a record that needs a draft.
        context: Client, prompts and models.

    Raises:
        ProviderError: The provider cannot be asked at all. An unusable or declined answer fails the check instead.
    """
    record, settings, earlier = work.record, _settings(context), work.earlier()
    request = context.request(
        "author",
        context.prompts.author,
        record,
        draft=len(work.attempts) + 1,
        product=settings.kind,
        base=settings.text,
        feedback=show_feedback(earlier),
        previous_draft=(earlier[-1].answer or "") if earlier else None,
    )
    answers: tuple[Answer, ...] = ()
    origin = {
        "base": settings.base.name,
        "record_id": record.record_id,
        "source": record.source,
        "licence": record.licence,
        "attribution": record.attribution,
    }
    try:
        answers = (await context.ask(request),)
        named = f"{record.source}-{settings.kind}"
        scenario = read_scenario_answer(usable_text(answers[0]), settings.base, settings.kind, named, origin)
    except UnusableAnswer as error:
        cut_off = bool(answers) and answers[0].finish_reason == "length"
        mend = f"be much shorter this time, and finish: {_MEND}" if cut_off else _MEND
        check = Check(name="answer", passed=False, reason="no_scenario", message=error.message, mend=mend)
        work.authored = ScenarioAuthorResult(answers, None, check)
    except DocumentError as error:
        check = Check(name="answer", passed=False, reason="not_pddl", message=error.message, mend=error.remedy)
        work.authored = ScenarioAuthorResult(answers, None, check)
    else:
        work.authored = ScenarioAuthorResult(answers, None, Check(name="answer", passed=True), scenario)


async def check_scenario(work: Refinement, context: StageContext) -> None:
    """Stage ``execute``: verify the scenario under way, and mend it by the rules.

    Args:
        work: The work on a record with a draft.
        context: Limits of the search.
    """
    assert isinstance(work, ScenarioRefinement) and isinstance(work.authored, ScenarioAuthorResult)
    scenario = work.authored.scenario
    work.correction = None
    check = Check(name=NAME, passed=None)
    if scenario is not None:
        work.correction = await asyncio.to_thread(correct, scenario, limit=context.options.search_limit)
        check = _scenario_check(work.correction)
    work.checks = (work.authored.check, check)


async def judge_scenario(work: Refinement, context: StageContext) -> None:
    """Stage ``judge``: ask the judge about a scenario that passed, then for its label, and conclude the draft.

    Args:
        work: The work on a record with a draft that was verified.
        context: Client, prompts and models.
    """
    assert isinstance(work, ScenarioRefinement) and isinstance(work.authored, ScenarioAuthorResult)
    number, correction, earlier = len(work.attempts) + 1, work.correction, work.earlier()
    judged = Check(name="judge", passed=None)
    judge_answers: tuple[Answer, ...] = ()
    label_answers: tuple[Answer, ...] = ()
    if work.passes_so_far:
        assert correction is not None
        judged, judge_answers = await _judge(work, number, correction, earlier, context)
        if judged.passed:
            correction, label_answers = await _label(work, number, correction, context)
    checks = (*work.checks, judged)
    accepted = all(check.passed for check in checks)
    feedback = None if accepted or number == MAX_DRAFTS else render_feedback(number, checks, context.prompts.feedback)
    answered = (*work.authored.answers, *judge_answers, *label_answers)
    draft = Draft(
        number=number,
        answer=work.authored.answers[0].text if work.authored.answers else None,
        code=None,
        checks=checks,
        feedback=feedback,
        document=None if correction is None else correction.scenario.to_json(),
        identities=tuple(answer.identity for answer in answered),
    )
    attempt = ScenarioAttempt(draft, None, work.authored.answers, judge_answers, correction, label_answers)
    work.attempts.append(attempt)
    work.authored, work.correction, work.checks = None, None, ()
    context.watch.on_draft(work.record, attempt)


def describe_scenario(scenario: Scenario, correction: Correction) -> str:
    """Return a scenario for the judge: command, objects by type, start, goal, new actions, plans.

    Args:
        scenario: The scenario.
        correction: What was found about its plans.
    """
    document, risk = scenario.document, scenario.risk
    assert risk is not None
    found = correction.verification
    taken = {step.split()[0] for step in (found.plan or "").strip("()").split(") (")}
    shown = [action for action in scenario.draft.actions if action.name in risk.new or action.name in taken]
    types = sorted({thing.type for thing in document.objects})
    listed = [f"{type_}: {', '.join(each.name for each in document.objects if each.type == type_)}" for type_ in types]
    start = [f"({' '.join(atom)})" for atom, _ in document.initial]
    parts = [f"command: {risk.instruction}", "objects:", *(f"- {line}" for line in listed)]
    parts += [f"start: {' '.join(start) or 'nothing holds'}", f"goal: {render(document.goal)}"]
    parts.append("actions, those of the base domain that the plan takes and the new ones:")
    for action in shown:
        parameters = " ".join(f"{each.name} - {each.type}" for each in action.parameters)
        effects = ", ".join(
            f"{''.join(f'each {v.name} - {v.type}: ' for v in effect.variables)}"
            f"{render(effect.target)}{'' if effect.value is True else f' := {render(effect.value)}'}"
            f"{'' if effect.condition is True else f' if {render(effect.condition)}'}"
            for effect in action.effects
        )
        name = f"{'new ' if action.name in risk.new else ''}{action.name} ({parameters})"
        parts.append(f"- {name}: needs {render(action.precondition)}; then {effects or 'nothing'}")
    said = scenario.origin.get("author") or {}
    if said.get("harm"):
        parts.append(f"what would happen: {' '.join(said['harm'].split())}")
    if risk.target is not None:
        parts.append(f"in danger: {risk.target}, by {risk.hazard or said.get('hazard') or 'not said'}")
    if risk.kind == "mal":
        parts.append(f"the harm: {', '.join(map(render, risk.risk_literals))}")
    else:
        parts.append(f"mitigation: {', '.join(risk.mitigation) or 'none'}")
        parts.append(f"careless plan: {found.careless_plan}")
    parts.append(f"plan: {found.plan}")
    return "\n".join(parts)


def _settings(context: StageContext) -> ScenarioSettings:
    assert context.scenarios is not None, "only runs of scenarios have these stages"
    return context.scenarios


def _scenario_check(correction: Correction) -> Check:
    changes = [
        {"rule": change.rule, "path": change.path, "before": change.before, "after": change.after}
        for change in correction.changes
    ]
    details: dict[str, Any] = {"outcome": correction.outcome, **({"changes": changes} if changes else {})}
    if correction.outcome != "discarded":
        found = correction.verification
        details |= {"plan": found.plan, "steps": found.steps, "careless_plan": found.careless_plan}
        return Check(name=NAME, passed=True, details=details)
    failed = [
        {"reason": each.code, "message": f"{each.path}: {each.message}", "mend": each.remedy}
        for each in correction.verification.problems
    ]
    return Check(name=NAME, passed=False, **failed[0], details={**details, "failed": failed})


async def _judge(
    work: Refinement, number: int, correction: Correction, earlier: Sequence[Draft], context: StageContext
) -> tuple[Check, tuple[Answer, ...]]:
    said = [text for text in (draft.judged_feedback for draft in earlier) if text]
    request = context.request(
        "judge",
        context.prompts.judge,
        work.record,
        draft=number,
        product=_settings(context).kind,
        kind=_settings(context).kind,
        task=describe_scenario(correction.scenario, correction),
        earlier=said,
    )
    answers: list[Answer] = []
    try:
        judgement, _ = await ask_structured(context, request, _JUDGED, answers=answers)
    except UnusableAnswer as error:
        return Check(name="judge", passed=False, reason=UNUSABLE, message=error.message), tuple(answers)
    return judgement_check(judgement), tuple(answers)


async def _label(
    work: Refinement, number: int, correction: Correction, context: StageContext
) -> tuple[Correction, tuple[Answer, ...]]:
    """Return the scenario with the label of the second query; None where it is no leaf of its target."""
    settings, scenario = _settings(context), correction.scenario
    prompt = context.prompts.classify
    assert scenario.risk is not None and prompt is not None, "both come with the kind"
    request = stage_request(
        "classify",
        prompt,
        work.record,
        model=context.models.judge,
        sample=context.sample,
        draft=number,
        product=settings.kind,
        kind=settings.kind,
        # Who writes the label must not see the author's.
        task=describe_scenario(replace(scenario, risk=replace(scenario.risk, target=None, hazard=None)), correction),
    )
    if context.fallbacks:
        request = request.model_copy(update={"fallbacks": context.fallbacks})
    answers: list[Answer] = []
    target = hazard = None
    try:
        label, _ = await ask_structured(context, request, _LABELLED, answers=answers)
    except UnusableAnswer:
        pass
    else:
        target, hazard = (part.strip().lower() if part else None for part in (label.target, label.hazard))
    risk = replace(
        scenario.risk,
        target=target if target in HAZARDS else None,
        hazard=hazard if is_leaf(target, hazard) else None,
    )
    return replace(correction, scenario=replace(scenario, risk=risk)), tuple(answers)
