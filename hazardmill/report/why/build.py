"""Assemble the story of a record from its rows, its file and a simulation of its plans."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from hazardmill.errors import StoreError
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.document.expressions import render
from hazardmill.formalism.proofs.claim import describe_witness
from hazardmill.llm.requests import OFFLINE_MODEL
from hazardmill.records import Check, Danger, Outcome
from hazardmill.report.queries import Row
from hazardmill.report.why.llm_calls import CallRows, total_spend
from hazardmill.report.why.model import (
    ClaimStory,
    DraftStory,
    ExtractionStory,
    OriginCheck,
    OtherRun,
    OutcomeStory,
    PointOfNoReturn,
    RecordOrigin,
    RunStory,
    Story,
    TaskStory,
    TwinStory,
)
from hazardmill.report.why.origin import inputs_of, look_again
from hazardmill.report.why.resolve_id import ResolvedId, resolve_id
from hazardmill.report.why.rows import StoreView
from hazardmill.report.why.simulate import Stepper
from hazardmill.report.wording import OUTCOME_WORDS, reason
from hazardmill.runs.status import name_state
from hazardmill.store.store import Store

_CONTEXT = 3
"""Unchanged lines that a diff shows around changed lines."""


def build_story(store: Store, asked: str, run_id: str | None = None, *, reread: bool = True) -> Story:
    """Assemble the story of a record in one run.

    Args:
        store: The store with the runs.
        asked: Id of a record, or of a task, which stands for the record that the task was made from.
        run_id: The run; null: the latest run that has the task or met the record.
        reread: Whether to read the record's file again and compare. For a record near the end of a large file that
            takes seconds.

    Returns:
        The story; its ``run`` is null if no run has met the record.

    Raises:
        InputError: The store does not have the id or the run, or the run did not meet the record.
        DocumentError: The store holds a task that this version cannot read.
        StoreError: The store cannot be read, or holds a danger that this version cannot read.
    """
    # If a compaction removes parts meanwhile, everything is read again from a new snapshot.
    return store.read(lambda snapshot: _StoryBuilder(StoreView(store, snapshot), asked, run_id, reread).story())


class _StoryBuilder:
    def __init__(self, view: StoreView, asked: str, run_id: str | None, reread: bool) -> None:
        self._view = view
        self._asked = asked
        self._reread = reread
        self._place: ResolvedId = resolve_id(view, asked, run_id)
        self._record_id, self._run_id = self._place.record_id, self._place.run_id

    def story(self) -> Story:
        danger = self._of_run("dangers")[-1:]
        drafts = sorted(self._of_run("drafts"), key=lambda row: row["draft"])
        known = [identity for row in (*danger, *drafts) for identity in json.loads(row["identities"] or "[]")]
        calls = CallRows(self._view.calls(self._record_id, known), self._run_id)
        loose = calls.other_requests(known)
        requests = (*map(calls.request, dict.fromkeys(known)), *loose)
        selection = {} if self._run_id is None else self._view.selection(self._run_id)
        wanted = selection.get(self._record_id) or next((row["input_hash"] for row in danger), None)
        outcome = self._view.outcomes(self._record_id).get(self._run_id or "")
        ended = None if self._run_id is None else _outcome_story(outcome, len(drafts))
        return Story(
            asked=self._asked,
            record_id=self._record_id,
            origin=self._origin(wanted),
            run=self._running(selection),
            others=tuple(self._others()),
            ended=ended,
            extraction=_extraction_story(danger[0], calls) if danger else None,
            drafts=tuple(_draft_stories(drafts, self._of_run("checks"), calls)),
            loose=loose,
            task=None if ended is None or ended.task_id is None else self._task(ended.task_id),
            spent=total_spend(requests, self._run_id),
            offline=any(request.model_answered == OFFLINE_MODEL for request in requests),
        )

    def _of_run(self, table: str) -> list[Row]:
        return [] if self._run_id is None else self._view.run_rows(self._record_id, self._run_id, table)

    def _origin(self, wanted: str | None) -> RecordOrigin | None:
        versions = [
            row for row in self._view.versions_of(self._record_id) if wanted is None or row["content_hash"] == wanted
        ]
        if not versions:
            return None
        row = versions[-1]
        same = ("source", "native_id", "file", "line", "content_hash", "hazardmill_version", "licence", "attribution")
        return RecordOrigin(
            **{name: row[name] for name in same},
            still=self._still(row),
            ingested_by=row["run_id"],
            context=row["context"],
            facts=json.loads(row["facts"]),
            warnings=tuple(json.loads(row["warnings"])),
        )

    def _still(self, row: Row) -> OriginCheck:
        if not self._reread:
            return OriginCheck(state="not_here", message="not looked for, as requested")
        # The input of the run that ingested the record comes first: later runs may have read a copy.
        readers = dict.fromkeys([row["run_id"], *self._place.met_by])
        paths = [path for run_id in readers for path in inputs_of(self._view.config(run_id), row["source"])]
        return look_again(row, map(Path.absolute, paths))

    def _running(self, selection: dict[str, str | None]) -> RunStory | None:
        if self._run_id is None:
            return None
        states = self._view.runs.get(self._run_id, [])
        return RunStory(
            run_id=self._run_id,
            parent_run_id=states[0]["parent_run_id"] if states else None,
            state=self._state(self._run_id),
            began=self._view.began(self._run_id),
            changed=states[-1]["at"].isoformat() if states else "",
            versions=tuple(dict.fromkeys(row["hazardmill_version"] for row in states)),
            config=self._view.config(self._run_id),
            ordinal=list(selection).index(self._record_id) if self._record_id in selection else None,
            records=len(selection) or None,
        )

    def _state(self, run_id: str) -> str:
        states = self._view.runs.get(run_id)
        return name_state(self._view.store, states[-1]) if states else "unknown"

    def _others(self) -> Iterator[OtherRun]:
        met = {(run_id, self._record_id) for run_id in self._place.met_by} | set(self._place.task_of.items())
        for run_id, record_id in self._latest_first(met):
            if run_id == self._run_id:
                continue
            ended = self._view.outcomes(record_id).get(run_id)
            yield OtherRun(
                run_id=run_id,
                state=self._state(run_id),
                began=self._view.began(run_id),
                record_id=record_id,
                outcome=Outcome(ended["outcome"]) if ended else Outcome.PENDING,
                task_id=ended["task_id"] if ended else None,
            )

    def _latest_first(self, met: set[tuple[str, str]]) -> Iterator[tuple[str, str]]:
        for run_id in reversed(self._view.by_age({run_id for run_id, _ in met})):
            yield from sorted(pair for pair in met if pair[0] == run_id)

    def _task(self, task_id: str) -> TaskStory | None:
        assert self._run_id is not None
        row = self._view.task(self._run_id, self._record_id, task_id)
        if row is None:
            return None
        ends = self._view.rows("outcomes", {"run_id": self._run_id, "task_id": task_id}, ["record_id", "outcome"])
        duplicates = [end["record_id"] for end in ends if end["outcome"] == Outcome.DUPLICATE]
        return _task_story(row, duplicates)


def _outcome_story(row: Row | None, drafts: int) -> OutcomeStory:
    if row is None:
        return OutcomeStory(
            outcome=Outcome.PENDING,
            words=OUTCOME_WORDS[Outcome.PENDING],
            reason=None,
            message="the run has not finished this record",
            task_id=None,
            drafts=drafts,
            usd=None,
        )
    same = ("reason", "message", "task_id", "drafts", "usd")
    ended = Outcome(row["outcome"])
    return OutcomeStory(outcome=ended, words=OUTCOME_WORDS[ended], **{name: row[name] for name in same})


def _extraction_story(row: Row, calls: CallRows) -> ExtractionStory:
    danger = None
    if row["error"] is None and row["no_danger"] is None:
        try:
            danger = Danger.of_columns(row)
        except ValidationError as error:
            wrong = error.errors(include_url=False, include_input=False)[0]
            raise StoreError(
                f"the store holds a danger that this version cannot read: {wrong['loc'][0]}: {wrong['msg']}",
                record_id=row["record_id"],
                remedy="process the record again in a new run, "
                f"or use hazardmill {row['hazardmill_version']}, which wrote it",
            ) from error
    same = (
        "no_danger",
        "decline_reason",
        "round",
        "error",
        "prompt_version",
        "prompt_hash",
        "hazardmill_version",
        "paid",
    )
    requests = tuple(map(calls.request, json.loads(row["identities"] or "[]")))
    return ExtractionStory(
        danger=danger, requests=requests, sent_back=_sent_back(row["sent_back"]), **{name: row[name] for name in same}
    )


def _sent_back(text: str | None) -> str | None:
    if text is None:
        return None
    said = json.loads(text)
    return f"at draft {said['draft']}: {'; '.join(issue['message'] for issue in said['issues'])}"


def _draft_stories(drafts: Sequence[Row], checks: Sequence[Row], calls: CallRows) -> Iterator[DraftStory]:
    same = (
        *(
            "accepted",
            "round",
            "failed_check",
            "failed_reason",
            "answer",
            "code",
            "feedback",
            "feedback_version",
            "feedback_hash",
        ),
        *("document_hash", "prompt_version", "prompt_hash", "jail_profile", "hazardmill_version", "paid", "usd"),
    )
    before: str | None = None
    for row in drafts:
        said = sorted((check for check in checks if check["draft"] == row["draft"]), key=lambda each: each["position"])
        yield DraftStory(
            number=row["draft"],
            requests=tuple(map(calls.request, json.loads(row["identities"]))),
            diff=None if before is None or row["code"] is None else tuple(_diff(before, row["code"])),
            checks=tuple(map(_check, said)),
            **{name: row[name] for name in same},
        )
        # After a draft without code, the next one is compared with the last code before it.
        before = row["code"] or before


def _diff(before: str, after: str) -> Iterator[str]:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), n=_CONTEXT, lineterm="")
    # The first two lines name files.
    return (line for number, line in enumerate(lines) if number > 1)


def _check(row: Row) -> Check:
    same = ("passed", "reason", "message", "mend")
    return Check(name=row["check_name"], details=json.loads(row["details"]), **{name: row[name] for name in same})


def _task_story(row: Row, duplicates: Sequence[str]) -> TaskStory:
    document = json.loads(row["document"])
    certificate = json.loads(row["certificate"])
    lines = {line["name"]: line for line in certificate.get("lines", ())}
    read = Document.from_json(document)
    stepper = Stepper(read)
    no_return = _no_return(lines.get("point_of_no_return"))
    same = (
        *("task_id", "record_id", "draft", "document_hash", "danger_type", "danger_group", "avoidability"),
        *("plan_length", "safety_effort", "code", "domain_pddl", "problem_pddl", "hazardmill_version"),
    )
    return TaskStory(
        **{name: row[name] for name in same},
        title=read.texts.get("title") or read.name,
        goal=render(read.goal),
        given=stepper.initial_state(),
        circumstances=stepper.circumstances(),
        entries=stepper.entries(),
        unsafe=stepper.step(row["unsafe_plan"], no_return.step if no_return else None),
        safe=None if row["safe_plan"] is None else stepper.step(row["safe_plan"]),
        claims=tuple(map(_claim, certificate.get("lines", ()))),
        no_return=no_return,
        twin=_twin(lines.get("contextual"), read),
        duplicates=tuple(duplicates),
        certificate=certificate,
        document=document,
        cross_check=None if row["cross_check"] is None else json.loads(row["cross_check"]),
    )


def _claim(line: dict[str, Any]) -> ClaimStory:
    same = ("name", "passed", "severity", "message")
    return ClaimStory(
        **{name: line[name] for name in same},
        words=reason(line["name"]),
        mend=line.get("mend"),
        evidence=describe_witness(line.get("witness") or {}),
    )


def _no_return(line: dict[str, Any] | None) -> PointOfNoReturn | None:
    if line is None:
        return None
    witness = line.get("witness") or {}
    return PointOfNoReturn(step=witness.get("step"), message=line["message"], way_out=witness.get("way_out"))


def _twin(line: dict[str, Any] | None, document: Document) -> TwinStory | None:
    witness = (line or {}).get("witness") or {}
    if line is None or not line["passed"] or "flipped" not in witness:
        return None
    return TwinStory(
        fluent=f"({' '.join(witness['flipped'])})",
        here=bool(dict(document.initial).get(tuple(witness["flipped"]), False)),
        message=line["message"],
        document_hash=witness.get("twin_hash"),
        danger_here=witness.get("before", {}).get("danger"),
        danger_there=witness.get("after", {}).get("danger"),
    )
