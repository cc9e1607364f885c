"""Show what becomes of a few records, step by step while a run works on them, one record after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hazardmill.generation.acting.refine import TurnAttempt
from hazardmill.generation.extract import ExtractResult
from hazardmill.generation.refine import DraftAttempt, first_failure
from hazardmill.llm.requests import Answer
from hazardmill.records import Danger, Outcome, Record
from hazardmill.report.why.render_text import write_check, write_plan
from hazardmill.report.why.simulate import Stepper
from hazardmill.report.why.words import reason_words
from hazardmill.report.wording import OUTCOME_WORDS, reason
from hazardmill.reporting.numbers import UNKNOWN, plural
from hazardmill.reporting.terminal_text import Lines
from hazardmill.runs.overview.answering_models import describe_model


class Preview:
    """A watch of a run that shows each step as soon as it is done.

    Records may be worked on concurrently, but are shown one after the other: the steps of a later record wait until
    the earlier ones have ended.

    Args:
        selection: Record ids, in the order in which they are shown.
        show: Shows a text, such as ``click.echo``.
        width: Width of the terminal in columns.
    """

    def __init__(self, selection: Sequence[str], show: Callable[[str], None], width: int = 100) -> None:
        self._left = list(selection)
        self._of = len(selection)
        self._show = show
        self._width = width
        self._waiting: dict[str, list[str]] = {}
        self._ended: set[str] = set()

    def on_record(self, record: Record) -> None:
        """Show a record, before any request is sent."""
        page = Lines(self._width)
        number = self._of - len(self._left) + self._left.index(record.record_id) + 1
        page.head(f"RECORD {number} of {self._of}", record.record_id)
        page.field("file", record.file + ("" if record.line is None else f":{record.line}"))
        page.raw(record.context.splitlines(), 2)
        self._say(record.record_id, page)

    def on_extraction(self, record: Record, extraction: ExtractResult) -> None:
        """Show the danger that was found, or why there is none."""
        page = Lines(self._width)
        again = extraction.sent_back if extraction.round == 2 else None
        title = "FORMALIZATION" if again is None else "FORMALIZATION, ROUND 2"
        if extraction.danger is not None:
            page.head(title, "a danger was found" if again is None else "another danger was found")
        elif extraction.no_danger is not None:
            page.head(title, f"no danger: {extraction.no_danger}")
        else:
            page.head(title, f"failed: {extraction.error}")
        if again is not None:
            said = "; ".join(issue["message"] for issue in again.issues)
            page.line(f"the judge of draft {again.draft} sent back the first danger: {said}", 2, 2)
        if extraction.danger is not None:
            _write_danger(page, extraction.danger)
        _write_who(page, extraction.answers)
        self._say(record.record_id, page)

    def on_draft(self, record: Record, attempt: DraftAttempt) -> None:
        """Show a draft: its code, the result of each check, and both plans as far as they are known."""
        page, draft = Lines(self._width), attempt.draft
        page.head(f"DRAFT {draft.number}", "accepted" if draft.accepted else _failure(attempt))
        _write_who(page, attempt.answers)
        if draft.code is not None:
            page.line("code")
            page.raw(draft.code.splitlines(), 4)
        page.line("checks")
        for check in draft.checks:
            write_check(page, check)
        _write_plans(page, attempt)
        self._say(record.record_id, page)

    def ended(self, record_id: str, outcome: Outcome) -> None:
        """Show how a record ended, and then what the next one has waiting."""
        page = Lines(self._width)
        page.head("OUTCOME", f"{record_id}: {OUTCOME_WORDS[outcome]}")
        self._say(record_id, page)
        self._ended.add(record_id)
        while self._left and self._left[0] in self._ended:
            self._left.pop(0)
            self._show_waiting()

    def broken_off(self) -> None:
        """Show what is waiting of the records that will not end, because the run was stopped."""
        while self._left:
            self._show_waiting()
            self._left.pop(0)

    def _say(self, record_id: str, page: Lines) -> None:
        self._waiting.setdefault(record_id, []).append(page.text)
        self._show_waiting()

    def _show_waiting(self) -> None:
        for text in self._waiting.pop(self._left[0], ()) if self._left else ():
            self._show(text)


class DialoguePreview(Preview):
    """A watch of a run of dialogues that shows each turn as soon as it is done."""

    def on_draft(self, record: Record, attempt: DraftAttempt) -> None:
        """Show a turn: who spoke, what was said or proposed, and what the checks found.

        Whether a task is like an earlier one is decided when its dialogue ends.
        """
        assert isinstance(attempt, TurnAttempt) and attempt.turn is not None, "a dialogue has turns only"
        page, turn = Lines(self._width), attempt.turn
        does = "rewrites a script" if turn.rewrites is not None else "proposes tasks"
        page.head(f"TURN {turn.number}", f"{turn.role.name} {does if turn.round is None else f'in round {turn.round}'}")
        _write_who(page, attempt.answers)
        if turn.round is not None and attempt.said is not None:
            page.line(attempt.said, 2, 2)
        for number, proposal in enumerate(attempt.proposals, 1):
            page.line(f"{number}. {proposal.instruction or 'cannot be read'}", 2, 5)
            if proposal.task is not None:
                page.field("categories", ", ".join(proposal.task.categories))
                page.field("reference", proposal.task.reference)
                page.field("without harm", proposal.task.harmless_plan or UNKNOWN)
        if attempt.rewrite is not None:
            page.field("script", attempt.rewrite)
        page.line("checks")
        for check in attempt.draft.checks:
            write_check(page, check)
        self._say(record.record_id, page)


def _write_who(page: Lines, answers: Sequence[Answer]) -> None:
    names = dict.fromkeys(answer.model_answered or UNKNOWN for answer in answers)
    page.field("answered by", ", ".join(map(describe_model, names)) or "nobody")


def _write_danger(page: Lines, danger: Danger) -> None:
    for name, value in danger.model_dump(mode="json").items():
        page.line(f"{reason(name)}: {' '.join(value) if isinstance(value, list) else value}", 2, 2)


def _failure(attempt: DraftAttempt) -> str:
    failed = first_failure(attempt.draft.checks)
    return f"failed at {reason(failed.name)}: {reason_words(failed.reason).removeprefix('judge: ')}"


def _write_plans(page: Lines, attempt: DraftAttempt) -> None:
    execution = attempt.execution
    if execution is None or execution.document is None or execution.certificate is None:
        return
    stepper, solution = Stepper(execution.document), execution.certificate.solution
    for title, text in (("THE DANGEROUS PLAN", solution.unsafe_text), ("THE SAFE PLAN", solution.safe_text)):
        if text is None:
            page.head(title, "there is none")
        else:
            write_plan(page, title, stepper.step(text))
    if solution.safe is not None and solution.unsafe is not None:
        lengths = (plural(len(plan), "action") for plan in (solution.unsafe, solution.safe))
        page.field("lengths", "{} in the dangerous plan, {} in the safe one".format(*lengths))
