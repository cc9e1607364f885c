"""Puts the story of a record together from its rows, its file and what stepping its plans shows."""

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
    Meeting,
    NoReturn,
    OutcomeStory,
    RecordOrigin,
    Running,
    Still,
    Story,
    TaskStory,
    TwinStory,
)
from hazardmill.report.why.origin import inputs_of, look
from hazardmill.report.why.resolve_id import Place, find
from hazardmill.report.why.rows import StoreView
from hazardmill.report.why.simulate import Stepper
from hazardmill.report.wording import OUTCOME_WORDS, reason
from hazardmill.runs.status import name_state
from hazardmill.store.store import Store

_CONTEXT = 3
"""Unchanged lines that a diff shows around changed ones."""


def tell(store: Store, asked: str, run_id: str | None = None, *, reread: bool = True) -> Story:
    """The story of a record, or of a task's record.

    Args:
        store: Where the runs are.
        asked: Id of a record or task.
        run_id: The run to tell of; without it, the latest that has it.
        reread: Whether to look into the record's file again. A record near the end of a large file takes seconds.

    Raises:
        InputError: Nobody knows the id or the run, or the run has nothing of it.
        DocumentError: The store holds a task that this version cannot read.
        StoreError: The store cannot be read, or holds a danger that this version cannot.
    """
    # Should a compaction take the parts away meanwhile, all of it is read anew.
    return store.read(lambda snapshot: _Teller(StoreView(store, snapshot), asked, run_id, reread).story())


class _Teller:
    def __init__(self, shelf: StoreView, asked: str, run_id: str | None, reread: bool) -> None:
        self._shelf = shelf
        self._asked = asked
        self._reread = reread
        self._place: Place = find(shelf, asked, run_id)
        self._record_id, self._run_id = self._place.record_id, self._place.run_id

    def story(self) -> Story:
        danger = self._of_run("dangers")[-1:]
        drafts = sorted(self._of_run("drafts"), key=lambda row: row["draft"])
        known = [identity for row in (*danger, *drafts) for identity in json.loads(row["identities"] or "[]")]
        calls = CallRows(self._shelf.calls(self._record_id, known), self._run_id)
        loose = calls.loose(known)
        requests = (*map(calls.request, dict.fromkeys(known)), *loose)
        selection = {} if self._run_id is None else self._shelf.selection(self._run_id)
        wanted = selection.get(self._record_id) or next((row["input_hash"] for row in danger), None)
        outcome = self._shelf.outcomes(self._record_id).get(self._run_id or "")
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
        return [] if self._run_id is None else self._shelf.made_of(self._record_id, self._run_id, table)

    def _origin(self, wanted: str | None) -> RecordOrigin | None:
        versions = [
            row for row in self._shelf.versions_of(self._record_id) if wanted is None or row["content_hash"] == wanted
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

    def _still(self, row: Row) -> Still:
        if not self._reread:
            return Still(state="not_here", message="not looked for, as was asked")
        # Where the run itself read it comes after where the record came in: later runs may have read a copy.
        readers = dict.fromkeys([row["run_id"], *self._place.met_by])
        paths = [path for run_id in readers for path in inputs_of(self._shelf.config(run_id), row["source"])]
        return look(row, map(Path.absolute, paths))

    def _running(self, selection: dict[str, str | None]) -> Running | None:
        if self._run_id is None:
            return None
        states = self._shelf.runs.get(self._run_id, [])
        return Running(
            run_id=self._run_id,
            parent_run_id=states[0]["parent_run_id"] if states else None,
            state=self._state(self._run_id),
            began=self._shelf.began(self._run_id),
            changed=states[-1]["at"].isoformat() if states else "",
            versions=tuple(dict.fromkeys(row["hazardmill_version"] for row in states)),
            config=self._shelf.config(self._run_id),
            ordinal=list(selection).index(self._record_id) if self._record_id in selection else None,
            records=len(selection) or None,
        )

    def _state(self, run_id: str) -> str:
        states = self._shelf.runs.get(run_id)
        return name_state(self._shelf.store, states[-1]) if states else "unknown"

    def _others(self) -> Iterator[Meeting]:
        met = {(run_id, self._record_id) for run_id in self._place.met_by} | set(self._place.task_of.items())
        for run_id, record_id in self._latest_first(met):
            if run_id == self._run_id:
                continue
            ended = self._shelf.outcomes(record_id).get(run_id)
            yield Meeting(
                run_id=run_id,
                state=self._state(run_id),
                began=self._shelf.began(run_id),
                record_id=record_id,
                outcome=Outcome(ended["outcome"]) if ended else Outcome.PENDING,
                task_id=ended["task_id"] if ended else None,
            )

    def _latest_first(self, met: set[tuple[str, str]]) -> Iterator[tuple[str, str]]:
        for run_id in reversed(self._shelf.by_age({run_id for run_id, _ in met})):
            yield from sorted(pair for pair in met if pair[0] == run_id)

    def _task(self, task_id: str) -> TaskStory | None:
        assert self._run_id is not None
        row = self._shelf.task(self._run_id, self._record_id, task_id)
        if row is None:
            return None
        ends = self._shelf.rows("outcomes", {"run_id": self._run_id, "task_id": task_id}, ["record_id", "outcome"])
        duplicates = [end["record_id"] for end in ends if end["outcome"] == Outcome.DUPLICATE]
        return _task_story(row, duplicates)


def _outcome_story(row: Row | None, drafts: int) -> OutcomeStory:
    if row is None:
        return OutcomeStory(
            outcome=Outcome.PENDING,
            words=OUTCOME_WORDS[Outcome.PENDING],
            reason=None,
            message="the run has not finished with this record",
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
                remedy="work on the record again in a new run, "
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
        # A draft without code is mended from the last code there was.
        before = row["code"] or before


def _diff(before: str, after: str) -> Iterator[str]:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), n=_CONTEXT, lineterm="")
    # The first two name files.
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


def _no_return(line: dict[str, Any] | None) -> NoReturn | None:
    if line is None:
        return None
    witness = line.get("witness") or {}
    return NoReturn(step=witness.get("step"), message=line["message"], way_out=witness.get("way_out"))


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
