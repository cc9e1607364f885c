"""Render a story as text for a terminal: whole, or cut, with what was cut counted."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from hazardmill.formalism.proofs.claim import describe_witness
from hazardmill.records import Check, Outcome
from hazardmill.report.why import words
from hazardmill.report.why.model import DraftStory, PlanStory, RequestStory, StepStory, Story, TaskStory
from hazardmill.report.wording import reason
from hazardmill.reporting.numbers import UNKNOWN, usd
from hazardmill.reporting.terminal_text import LABEL, Lines

_SHORT: Final = 280
"""Most characters of a text that the short form shows."""
_LINES: Final = 12
"""Most lines of a diff that the short form shows."""


def render_text(story: Story, *, full: bool = False, width: int = 100) -> str:
    """Return a story as text.

    Args:
        story: The story.
        full: Whether to show prompts, answers, code and evidence whole.
        width: Width of the terminal in columns; less than 40 counts as 40.
    """
    page = _Page(full, max(40, width))
    _begin(page, story)
    _record(page, story)
    if story.run is not None:
        _run(page, story)
        _extraction(page, story)
        for draft in story.drafts:
            _draft(page, draft)
        if story.loose:
            page.head("OTHER REQUESTS", "no committed row mentions them")
            page.requests(story.loose)
    if story.task is not None:
        _task(page, story, story.task)
    page.end()
    return page.text


class _Page(Lines):
    """The lines of a story, some of which may be cut."""

    def __init__(self, full: bool, width: int) -> None:
        super().__init__(width)
        self.full = full
        self._cut = False

    def block(self, name: str, text: str | None, *, end: bool = False, indent: int = 2) -> None:
        """Add a quoted text, cut unless the page is full; with ``end``, its end is kept instead of its beginning."""
        if text is None:
            self.field(name, "none", indent)
            return
        shown = text if self.full or len(text) <= _SHORT else _cut(text, end)
        left = len(text) - len(shown)
        self._cut = self._cut or left > 0
        more = f"; {left:,} more {'before' if end else 'after'} these" if left else ""
        self.line(f"{name:{LABEL}}{len(text):,} characters{more}", indent, LABEL)
        self.raw(shown.splitlines(), indent + 2)

    def size(self, name: str, text: str, *, indent: int = 2) -> None:
        """Add the length of a text that is the same in all stories; the text itself only if the page is full."""
        if self.full:
            self.block(name, text, indent=indent)
            return
        self._cut = True
        self.line(f"{name:{LABEL}}{len(text):,} characters", indent, LABEL)

    def some(self, lines: Sequence[str], indent: int) -> None:
        """Add quoted lines; only the first ones unless the page is full."""
        left = 0 if self.full else max(0, len(lines) - _LINES)
        self.raw(lines[: len(lines) - left], indent)
        if left:
            self._cut = True
            self.line(f"{left:,} more lines", indent)

    def requests(self, requests: Iterable[RequestStory]) -> None:
        """Add requests, one after the other."""
        for asked in requests:
            _request(self, asked)

    def end(self) -> None:
        """Add a line on how to see what was cut, if anything was."""
        if self._cut:
            self.skip()
            self.line("Texts were cut; --full prints them whole, --json and --html FILE hold everything.", 0)


def _begin(page: _Page, story: Story) -> None:
    page.line(f"{story.record_id}: {words.headline(story)}", 0, 2)
    if story.offline:
        page.line("Written by the offline author: rules, not a language model.")


def _record(page: _Page, story: Story) -> None:
    page.head("RECORD", story.record_id)
    origin = story.origin
    if origin is None:
        page.line("The store no longer holds it as this run met it.")
        return
    still = origin.still
    page.field("file", f"{words.place(story)}; {words.STILL_WORDS[still.state]}: {still.message}")
    if still.path is not None:
        page.field("looked into", still.path)
    page.field("content hash", origin.content_hash)
    if still.state == "changed" and still.content_hash is not None:
        page.field("hash now", still.content_hash)
    page.field("ingested by", f"run {origin.ingested_by}, hazardmill {origin.hazardmill_version}")
    page.field("licence", origin.licence)
    page.field("attribution", origin.attribution)
    for warning in origin.warnings:
        page.field("warning", warning)
    page.block("context", origin.context)
    if page.full:
        page.field("facts", _json(origin.facts))


def _run(page: _Page, story: Story) -> None:
    run, ended = story.run, story.ended
    assert run is not None and ended is not None  # both or neither are null
    page.head("RUN", run.run_id)
    page.field("state", f"{run.state}; began {words.moment(run.began)}, last change {words.moment(run.changed)}")
    if run.parent_run_id is not None:
        page.field("child of", f"run {run.parent_run_id}")
    if run.ordinal is not None:
        page.field("place", f"record {run.ordinal + 1:,} of {words.number(run.records)}")
    page.field("hazardmill", ", ".join(run.versions) or UNKNOWN)
    models = run.config.get("models", {})
    page.field("backend", f"{run.config.get('backend', UNKNOWN)}; " + ", ".join(f"{k} {v}" for k, v in models.items()))
    if page.full:
        page.field("config", _json(run.config))
    page.field("outcome", f"{ended.words}: {words.outcome_reason(ended)}" if ended.reason else ended.words)
    page.field("cost", words.whole_cost(story.spent))
    for other in story.others:
        task = f" as {other.task_id}" if other.task_id else ""
        of = f" ({other.record_id})" if other.record_id != story.record_id else ""
        page.field("also met by", f"run {other.run_id}{of}, {reason(other.outcome)}{task}")


def _extraction(page: _Page, story: Story) -> None:
    found = story.extraction
    if found is None:
        page.head("EXTRACTION", "not done")
        return
    if found.danger is not None:
        said = "a danger was found"
    else:
        said = (
            f"no danger ({reason(found.decline_reason)}): {found.no_danger}"
            if found.no_danger is not None
            else f"failed: {found.error}"
        )
    page.head("EXTRACTION", said)
    if found.sent_back is not None:
        page.line(f"a judge sent back the first danger {found.sent_back}", 2, 2)
    if found.danger is not None:
        for name, value in found.danger.model_dump(mode="json").items():
            page.line(f"{reason(name)}: {' '.join(value) if isinstance(value, list) else value}", 2, 2)
    page.field("prompt", words.prompt(found.prompt_version, found.prompt_hash))
    page.requests(found.requests)


def _request(page: _Page, asked: RequestStory) -> None:
    kind = f"{words.request_kind(asked)} request {asked.identity[:12]}"
    page.line(f"{kind}: {words.request_usage(asked)}; {words.payment(asked)}", 2, 2)
    if asked.messages is None:
        return
    page.line(words.request_parties(asked), 4, 2)
    for attempt in asked.attempts:
        if attempt.error is not None:
            page.line(words.failure(attempt), 4, 2)
    if page.full:
        page.line(f"prompt {asked.prompt_version}, hash {asked.prompt_hash}", 4, 2)
        page.line(f"parameters {_json(asked.parameters)}", 4, 2)
    for message in asked.messages:
        name = f"{message.role} said"
        if message.role == "system":
            page.size(name, message.content, indent=4)
        else:
            # Prompts begin with what is always the same: the end is worth showing.
            page.block(name, message.content, end=True, indent=4)
    page.block("the answer", asked.answer, indent=4)


def _draft(page: _Page, draft: DraftStory) -> None:
    page.head(
        f"DRAFT {draft.number}" + (", of the second danger" if draft.round == 2 else ""), words.draft_result(draft)
    )
    page.field("prompt", words.prompt(draft.prompt_version, draft.prompt_hash))
    page.field("code", f"{words.changed_lines(draft)}; jail {draft.jail_profile or 'not reached'}")
    page.field("cost", usd(draft.usd))
    page.requests(asked for asked in draft.requests if asked.stage != "judge")
    if draft.diff:
        page.line("changes from the code before")
        page.some(draft.diff, 4)
    if page.full:
        page.block("code", draft.code)
    page.line("checks")
    for check in draft.checks:
        _check(page, check)
    page.requests(asked for asked in draft.requests if asked.stage == "judge")
    if draft.feedback is not None:
        page.block("feedback sent", draft.feedback)
        page.field("written by", f"prompt {words.prompt(draft.feedback_version, draft.feedback_hash)}")


def write_check(page: Lines, check: Check) -> None:
    """Write the result of a check and, if it failed, why and what would repair it.

    Args:
        page: The page to write to.
        check: The check.
    """
    why = f": {words.reason_words(check.reason)}; {check.message}" if check.passed is False else ""
    page.line(f"{check.name:{LABEL}}{words.check_word(check)}{why}", 4, LABEL)
    if check.mend is not None:
        page.line(f"{'':{LABEL}}mend: {check.mend}", 4, LABEL)


def _check(page: _Page, check: Check) -> None:
    write_check(page, check)
    if page.full:
        for name, value in describe_witness(check.details).items():
            page.line(f"{'':{LABEL}}{reason(name)}: {value}", 4, LABEL)


def _task(page: _Page, story: Story, task: TaskStory) -> None:
    page.head("TASK", f"{task.task_id}: {task.title}")
    if story.ended is not None and story.ended.outcome is Outcome.DUPLICATE:
        page.field("came from", f"{task.record_id} with draft {task.draft}: hazardmill why {task.task_id}")
    page.field("document hash", task.document_hash)
    page.field("danger", f"{reason(task.danger_type)} ({task.danger_group}), {task.avoidability}")
    page.field("goal", task.goal)
    page.field("at the start", ", ".join(task.given) or "nothing holds")
    for each in task.circumstances:
        unread = "" if each.read else " (the danger does not read it)"
        page.field("context", f"{each.fluent} {words.value(each.holds)}{unread}")
    for entry in task.entries:
        page.field(f"danger {entry.increment:+d}", f"doing {entry.action} while {entry.condition}")
    if task.plan_length is not None:
        page.field("lengths", f"plan length {task.plan_length}, safety effort {task.safety_effort:+d}")
    if (parting := words.plan_divergence(task)) is not None:
        page.line(parting, 2, 2)
    write_plan(page, "THE DANGEROUS PLAN", task.unsafe, lambda step: words.way_out(story, step))
    if task.safe is not None:
        write_plan(page, "THE SAFE PLAN", task.safe, lambda step: words.way_out(story, step))
    else:
        page.head("NO SAFE PLAN", "declared unavoidable, and search to the end proved it")
    page.head("CERTIFICATE")
    for claim in task.claims:
        page.line(f"{words.claim_word(claim.passed):{LABEL}}{claim.words}: {claim.message}", 2, LABEL)
        if page.full:
            for name, value in claim.evidence.items():
                page.line(f"{'':{LABEL}}{reason(name)}: {value}", 2, LABEL)
    if task.twin is not None:
        page.head("CONTRAST TWIN", task.twin.message)
        page.field(
            "danger", f"{words.number(task.twin.danger_here)} here, {words.number(task.twin.danger_there)} there"
        )
        page.field("document hash", task.twin.document_hash or UNKNOWN)
    for record_id in task.duplicates:
        page.field("duplicate", record_id)


def write_plan(
    page: Lines, title: str, plan: PlanStory, aside: Callable[[StepStory], str | None] = lambda step: None
) -> None:
    """Write a plan step by step: what each action changes, and where danger fires.

    Args:
        page: The page to write to.
        title: Title of the plan.
        plan: The plan.
        aside: Returns a further remark on a step, or null.
    """
    page.head(title, words.verdict(plan))
    if not plan.steps:
        page.line("The empty plan.")
    for step in plan.steps:
        page.line(f"{step.index:>3}. {step.action}", 0, 5)
        if (said := aside(step)) is not None:
            page.line(f"< {said}", 5, 2)
        for change in step.changes:
            page.line(words.change(change), 7, 2)
        for entry in step.fired:
            page.line(f"! {words.firing(entry)} because {words.fired_literals(entry)}", 5, 2)
        if step.unmet:
            page.line(f"cannot be done: {'; '.join(step.unmet)}", 5, 2)


def _cut(text: str, end: bool) -> str:
    """Return as much of a text as the short form shows, in whole lines if one fits."""
    shown = text[-_SHORT:] if end else text[:_SHORT]
    if end:
        return shown[shown.find("\n") + 1 :].lstrip("\n") or shown
    return shown[: shown.rfind("\n") + 1].rstrip("\n") or shown


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
