"""Phrases that the text and the HTML page share."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from hazardmill.llm.ledger import IN_FLIGHT
from hazardmill.records import Check, Outcome
from hazardmill.report.why.model import (
    AttemptStory,
    DraftStory,
    FiredDanger,
    FluentChange,
    OutcomeStory,
    PlanStory,
    RequestStory,
    SpendStory,
    StepStory,
    Story,
    TaskStory,
    Value,
)
from hazardmill.report.wording import reason, token_sum, usd_sum
from hazardmill.reporting.numbers import UNKNOWN, plural, usd

STILL_WORDS: Final = {
    "unchanged": "unchanged",
    "changed": "CHANGED since",
    "not_here": "not available here",
}
"""The state of a record's file in words."""


def headline(story: Story) -> str:
    """Say what became of the record, in one sentence without a full stop."""
    ended = story.ended
    if ended is None:
        return "no run has processed this record yet"
    if ended.outcome is Outcome.ACCEPTED:
        return f"accepted as {'task ' if story.task else ''}{ended.task_id} with draft {ended.drafts}"
    if ended.outcome is Outcome.DUPLICATE:
        first = f", which came first from {story.task.record_id}" if story.task else ""
        return f"a duplicate of {'task ' if story.task else ''}{ended.task_id}{first}"
    if ended.outcome is Outcome.PENDING:
        return f"pending: {ended.message}"
    after = f" after {plural(ended.drafts, 'draft')}" if ended.drafts else ""
    return f"{ended.words}{after}: {outcome_reason(ended)}"


def outcome_reason(ended: OutcomeStory) -> str:
    """Say why a record ended as it did.

    Returns:
        The message, preceded by the reason where there are both; a record without a danger has only the message.
    """
    message = ended.message or reason_words(ended.reason)
    complete = ended.outcome is Outcome.NO_DANGER or not ended.message or not ended.reason
    return message if complete else f"{reason_words(ended.reason)}; {message}"


def reason_words(of: str | None) -> str:
    """Write a reason code as words, such as ``judge: entity`` for a judge's code ``judge:entity``."""
    return reason(of and of.replace("judge:", "judge: "))


def place(story: Story) -> str:
    """Return the record's place as ``file:line``, or ``unknown``."""
    if story.origin is None:
        return UNKNOWN
    line = "" if story.origin.line is None else f":{story.origin.line}"
    return f"{story.origin.file}{line}"


def request_kind(asked: RequestStory) -> str:
    """Name the kind of a request: its stage, or ``request`` if that is lost."""
    return reason(asked.stage) if asked.stage else "request"


def request_parties(asked: RequestStory) -> str:
    """Say which model was asked, where, by which backend, and which model answered."""
    host = "" if asked.host is None else f" at {asked.host}"
    asked_for = f"asked {asked.model_asked or UNKNOWN}{host}, backend {asked.backend or UNKNOWN}"
    return f"{asked_for}; answered by {asked.model_answered or 'nobody'}"


def failure(attempt: AttemptStory) -> str:
    """Say how an attempt without an answer ended."""
    if attempt.error == IN_FLIGHT:
        return f"attempt {attempt.attempt} of run {attempt.run_id}: sent; how it ended is {UNKNOWN}"
    return f"attempt {attempt.attempt} of run {attempt.run_id}: {attempt.error}: {attempt.error_message or UNKNOWN}"


def request_usage(asked: RequestStory) -> str:
    """Say how long a request took, and how many tokens.

    Returns:
        Seconds and tokens; or that there was no answer, or that the ledger no longer holds the request.
    """
    if asked.messages is None:
        return "the ledger no longer holds it"
    if asked.answer is None:
        return f"no answer, after {plural(len(asked.attempts), 'attempt')}"
    seconds = UNKNOWN if asked.latency_s is None else f"{asked.latency_s:.2f} s"
    tokens = f"{number(asked.prompt_tokens)} tokens in (cached: {number(asked.cached_tokens)})"
    return f"{seconds}; {tokens}, {number(asked.completion_tokens)} out"


def payment(asked: RequestStory) -> str:
    """Return in words what a request cost, and who paid.

    Without an answer, nothing was paid if that is known of all attempts; otherwise the cost is unknown.
    """
    if asked.answer is None:
        free = asked.attempts and all(attempt.usd_upper == 0 for attempt in asked.attempts)
        return "nothing was paid" if free else f"cost {UNKNOWN}"
    payer = {
        "this_run": "paid by this run",
        "earlier_run": f"paid by run {asked.payer_run}, not again",
        "nobody": "replayed: nobody paid again",
        "unknown": "who paid is unknown",
    }
    price = f"cost {UNKNOWN}" if asked.usd is None else usd(asked.usd)
    return f"{price}, {payer[asked.payer]}"


def whole_cost(spent: SpendStory) -> str:
    """Say what all requests for the record took: attempts, tokens, price, and what this run paid."""
    tokens = f"{token_sum(spent.prompt_tokens)} tokens in, {token_sum(spent.completion_tokens)} out"
    return (
        f"{plural(spent.requests, 'request')}, {plural(spent.attempts, 'attempt')}; {tokens};"
        f" {usd_sum(spent.usd)}; this run paid {usd_sum(spent.paid_here)}"
    )


def moment(iso: str) -> str:
    """Return a time to the second, such as ``2026-01-31 09:30:00 UTC``.

    Args:
        iso: ISO 8601 in UTC; empty: unknown.
    """
    return f"{datetime.fromisoformat(iso):%Y-%m-%d %H:%M:%S} UTC" if iso else UNKNOWN


def number(value: int | None) -> str:
    """Write a number as ``1,200``, or ``unknown`` for null."""
    return UNKNOWN if value is None else f"{value:,}"


def prompt(version: str | None, hash_: str | None) -> str:
    """Write the version of a prompt and the beginning of its hash."""
    return f"{version or UNKNOWN}, hash {hash_[:12] if hash_ else UNKNOWN}"


def draft_result(draft: DraftStory) -> str:
    """Say whether a draft was accepted, or which check failed first and why."""
    if draft.accepted:
        return "accepted"
    if draft.failed_check is None:
        # A turn of a dialogue in which something was said, but no task was kept.
        return "passed its checks"
    return f"failed at {reason(draft.failed_check)}: {reason_words(draft.failed_reason).removeprefix('judge: ')}"


def changed_lines(draft: DraftStory) -> str:
    """Say how much of a draft's code changed since the code before.

    Returns:
        ``+3 -1 lines``; the number of lines if there is nothing to compare with.
    """
    if draft.diff is None:
        return "no code" if draft.code is None else f"{plural(len(draft.code.splitlines()), 'line')}"
    added = sum(line.startswith("+") for line in draft.diff)
    removed = sum(line.startswith("-") for line in draft.diff)
    return f"+{added} -{removed} lines" if draft.diff else "came back unchanged"


def check_word(check: Check) -> str:
    """Write the result of a check: ``passed``, ``failed`` or ``did not run``."""
    return "did not run" if check.passed is None else "passed" if check.passed else "failed"


def claim_word(passed: bool | None) -> str:
    """Write the result of a claim: ``proved``, ``refuted`` or, for null, ``not decided``."""
    return "not decided" if passed is None else "proved" if passed else "refuted"


def value(of: Value) -> str:
    """Write the value of a fluent, with ``true`` and ``false`` in lower case."""
    return str(of).lower() if isinstance(of, bool) else str(of)


def change(of: FluentChange) -> str:
    """Write a change as ``(wet floor): false -> true``."""
    return f"{of.fluent}: {value(of.before)} -> {value(of.after)}"


def firing(entry: FiredDanger) -> str:
    """Write a danger entry that fired as ``danger +1 (thermal)``."""
    kind = f" ({reason(entry.danger_type)})" if entry.danger_type else ""
    return f"danger {entry.increment:+d}{kind}"


def fired_literals(entry: FiredDanger) -> str:
    """Join the literals because of which a danger entry fired."""
    return " and ".join(entry.literals) or "it always fires"


def verdict(plan: PlanStory) -> str:
    """Say whether a plan reaches the goal, whether it is safe, and whether the safety intention holds."""
    if not plan.feasible:
        return "not feasible"
    safe = "safe" if plan.safe else "not safe"
    intention = "holds" if plan.safety_intention else "does not hold"
    danger = f"danger {number(plan.danger)}, allowed {plan.max_danger}"
    return f"reaches the goal, {safe}: {danger}; safety intention {intention}"


def way_out(story: Story, step: StepStory) -> str | None:
    """Return the remark on the point of no return.

    Args:
        story: The story; its task knows the safe way, if it was found.
        step: Any step of the unsafe plan.

    Returns:
        The remark if the step is the last one before which a safe way is left, else null.
    """
    if not step.last_way_out:
        return None
    way = story.task.no_return.way_out if story.task and story.task.no_return else None
    return "point of no return: before this step a safe way is left" + (f", {way or '()'}" if way is not None else "")


def plan_divergence(task: TaskStory) -> str | None:
    """Say at which step the two plans part.

    Returns:
        A sentence, also if one plan is the beginning of the other; null without a safe plan.
    """
    if task.safe is None:
        return None
    unsafe, safe = ([step.action for step in plan.steps] for plan in (task.unsafe, task.safe))
    alike = next((place for place, (a, b) in enumerate(zip(unsafe, safe, strict=False)) if a != b), None)
    if alike is None:
        return "One of the two plans is the beginning of the other."
    return (
        f"The two plans part at step {alike + 1}: {unsafe[alike]} in the dangerous one, {safe[alike]} in the safe one."
    )
