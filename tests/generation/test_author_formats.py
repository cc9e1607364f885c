"""Both formats of the author, over the same records: the same tasks come of them, draft by draft."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from itertools import islice

import pytest

from hazardmill.generation.context import Prompts
from hazardmill.generation.models import Models
from hazardmill.generation.refine import RecordResult
from hazardmill.generation.wave import refine
from hazardmill.ingest.ingest import ingest
from hazardmill.ingest.sources import list_sources
from hazardmill.llm.requests import OFFLINE_MODEL
from hazardmill.records import Record
from hazardmill.run_options import AuthorFormat
from hazardmill.sandbox.jail import Jail
from hazardmill.store.store import Store
from hazardmill.testing.offline_author import OfflineBackend

from .support import opened

OFFLINE = Models(extract=OFFLINE_MODEL, author=OFFLINE_MODEL, judge=OFFLINE_MODEL)


def sampled() -> list[Record]:
    """Eight records of each source that is shipped."""
    return [
        record
        for source in list_sources()
        for record in islice((item for item in ingest(source, source.sample) if isinstance(item, Record)), 8)
    ]


def milled(records: list[Record], form: AuthorFormat, store: Store, jail: Jail) -> list[RecordResult]:
    with opened(store, OfflineBackend(), jail, models=OFFLINE) as mill:
        mill = replace(mill, prompts=Prompts.load(form))

        async def all_of_them() -> list[RecordResult]:
            return await asyncio.gather(*(refine(record, mill) for record in records))

        return asyncio.run(all_of_them())


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory, jail: Jail) -> tuple[list[RecordResult], list[RecordResult]]:
    """The records in the format ``python``, then in the format ``document``."""
    store = Store.open(tmp_path_factory.mktemp("formats") / "store", create=True)
    records = sampled()
    assert len(records) >= 30
    return milled(records, "python", store, jail), milled(records, "document", store, jail)


def told(done: RecordResult) -> tuple[object, ...]:
    drafts = [
        None if attempt.execution is None or attempt.execution.document is None else attempt.execution.document.hash
        for attempt in done.attempts
    ]
    return done.record.record_id, done.outcome, drafts[-1:], len(drafts), done.reason


@pytest.mark.full
def test_the_same_tasks_come_of_both(both: tuple[list[RecordResult], list[RecordResult]]) -> None:
    python, document = both
    assert [told(done) for done in python] == [told(done) for done in document]
    assert sum(done.accepted is not None for done in document) >= 30
    assert max(len(done.attempts) for done in document) > 2

    # What is rendered is code like any other; what was written is shorter.
    ours = [done.accepted for done in document if done.accepted is not None]
    theirs = [done.accepted for done in python if done.accepted is not None]
    assert all(attempt.draft.code and "(PlanningTask):" in attempt.draft.code for attempt in ours)
    written = [sum(len(attempt.draft.answer or "") for attempt in attempts) for attempts in (ours, theirs)]
    assert written[0] < 0.75 * written[1]


def test_what_goes_wrong_goes_wrong_in_both_and_is_called_by_its_name(
    both: tuple[list[RecordResult], list[RecordResult]],
) -> None:
    python, document = both

    def reasons(runs: list[RecordResult]) -> list[str]:
        drafts = [attempt.draft for done in runs for attempt in done.attempts if not attempt.draft.accepted]
        return [str(check.reason) for draft in drafts for check in draft.checks if check.passed is False]

    # What code is refused for before there is a document has another name where no code is written.
    renamed = {"syntax": "broken", "exception": "broken", "no_document": "broken", "not_a_document": "broken"}
    ours, theirs = ([renamed.get(reason, reason) for reason in reasons(runs)] for runs in (document, python))
    assert ours == theirs
    assert set(reasons(document)) >= {"no_document", "not_a_document", "no_unsafe_plan", "judge:entity"}
