from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from factories.scripted import ScriptedBackend

from hazardmill.errors import InputError, UnknownName
from hazardmill.generation.models import Models
from hazardmill.llm.requests import Request
from hazardmill.resources import SOURCES_VARIABLE
from hazardmill.runs.config import RunConfig, RunInput
from hazardmill.runs.recheck import DIFFERENCES, Chunk, RecheckSummary, chunks, recheck
from hazardmill.runs.run import Run
from hazardmill.store.store import Store
from tests.generation.support import APPROVED, FOUND, NONE, UNAVOIDABLE, faulty, fenced, soup
from tests.running import answering, worked

# Record to what the author writes, draft by draft.
DRAFTS: dict[int, list[str]] = {
    1: [faulty("syntax"), faulty("exception"), faulty("no_safe_plan"), soup("bowl")],
    2: ["there is no code in this", faulty("not_contextual"), soup("cup")],
    3: [faulty("no_safe_plan")],  # declared unavoidable
    4: [soup("bowl")],  # a duplicate: no task is kept
    6: [faulty("policy")] * 5,
}
EXECUTED = {1: 4, 2: 2, 3: 1, 4: 1, 6: 5}
ACCEPTED = 4


def number_of(request: Request) -> int:
    return int(str(request.record_id).partition(":")[2])


def written(request: Request) -> str:
    drafts = DRAFTS[number_of(request)]
    asked = request.key.draft if request.key and request.key.draft else 1
    draft = drafts[min(asked, len(drafts)) - 1]
    return draft if draft.startswith("there") else fenced(draft)


def extracted(request: Request) -> str:
    return {3: UNAVOIDABLE, 5: NONE}.get(number_of(request), FOUND)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory, sources_home: Path) -> Path:
    """A store of one run, with drafts that fail in many ways, not to be written to."""
    folder = tmp_path_factory.mktemp("recheck")
    path = folder / "notes.txt"
    path.write_text("".join(f"{n} hot soup {n}\n" for n in range(1, 7)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(SOURCES_VARIABLE, str(sources_home))
        work_on(Store.open(folder / "store", create=True), path, "run")
    return folder / "store"


@pytest.fixture
def filled(original: Path, tmp_path: Path) -> Store:
    return Store.open(shutil.copytree(original, tmp_path / "filled"))


def work_on(store: Store, notes: Path, run_id: str, **fields: Any) -> None:
    worked(start(store, notes, run_id, **fields))


def start(store: Store, notes: Path, run_id: str, **fields: Any) -> Run:
    backend = ScriptedBackend(extract=extracted, author=written, judge=APPROVED)
    models = Models(extract="toy", author="toy", judge="toy")
    config = RunConfig(inputs=(RunInput(source="notes", path=notes),), models=models, **fields)
    run, _ = Run.start(store, config, run_id, resources=answering(backend))
    return run


def all_of(store: Store, size: int = 100) -> RecheckSummary:
    return sum((recheck(store, chunk) for chunk in chunks(store, size=size)), RecheckSummary())


def rewrite(store: Store, table: str, where: dict[str, Any], **values: Any) -> None:
    """Put another row in the place of one."""
    (row,) = store.rows(table, {"run_id": "run", **where})
    with store.writer("run") as writer:
        writer.append_sync({table: [{**row, **values}]})


def test_every_executed_draft_is_in_one_chunk(filled: Store) -> None:
    expected = [(f"notes:{record}", draft) for record, drafts in EXECUTED.items() for draft in range(1, drafts + 1)]
    # Of the second record's drafts the first has no code.
    expected = sorted({*expected, ("notes:2", 3)} - {("notes:2", 1)})
    for size in (1, 4, 100):
        found = chunks(filled, size=size)
        assert [draft for chunk in found for draft in chunk.drafts] == expected
        assert {len(chunk.drafts) for chunk in found[:-1]} <= {size} and {chunk.run_id for chunk in found} == {"run"}


def test_drafts_come_out_as_the_store_has_them(filled: Store) -> None:
    found = all_of(filled)
    assert (found.drafts, found.accepted, found.differing, found.differences) == (
        sum(EXECUTED.values()),
        ACCEPTED,
        0,
        (),
    )
    assert set(found.jails) == {
        row["jail_profile"] for row in filled.rows("drafts", None, ["jail_profile"]) if row["jail_profile"]
    }


@pytest.mark.full
def test_the_digest_is_that_of_the_verdicts_however_they_are_divided(filled: Store) -> None:
    digests = {all_of(filled, size).digest for size in (3, 100)}
    backwards = sum((recheck(filled, chunk) for chunk in reversed(chunks(filled, size=5))), RecheckSummary())
    assert digests == {backwards.digest} and len(backwards.digest) == 64
    some = recheck(filled, Chunk(run_id="run", drafts=(("notes:1", 4),)))
    assert some.digest not in digests | {RecheckSummary().digest}


def test_a_draft_of_a_danger_that_was_sent_back_is_checked_as_of_that_one(filled: Store) -> None:
    # What is unavoidable was the first danger; the one that took its place is not.
    said = json.dumps({"danger": {"instantaneous_avoidability": "unavoidable"}, "draft": 1, "issues": []})
    other = {"round": 2, "instantaneous_avoidability": "avoidable"}
    rewrite(filled, "dangers", {"record_id": "notes:3"}, **other)
    assert all_of(filled).differing == 1, "in this round it would not be checked as it was"
    rewrite(filled, "dangers", {"record_id": "notes:3"}, **other, sent_back=said)
    assert all_of(filled).differing == 0


def test_nothing_is_written(filled: Store) -> None:
    before = sorted(str(path) for path in filled.path.rglob("*"))
    all_of(filled)
    assert sorted(str(path) for path in filled.path.rglob("*")) == before


@pytest.mark.parametrize(
    ("table", "where", "values", "what"),
    [
        ("checks", {"draft": 1, "check_name": "policy"}, {"reason": "weather"}, "policy: reason"),
        ("checks", {"draft": 3, "check_name": "search"}, {"passed": True}, "search: passed"),
        ("checks", {"draft": 4, "check_name": "search"}, {"details": '{"expanded":1}'}, "search: details"),
        ("drafts", {"draft": 4}, {"document_hash": "0"}, "document_hash"),
        ("tasks", {}, {"unsafe_plan": "(wait)"}, "unsafe_plan"),
        ("tasks", {}, {"certificate": "{}"}, "certificate"),
        ("tasks", {}, {"problem_pddl": "(define)"}, "problem_pddl"),
        ("drafts", {"draft": 4}, {"code": soup("cup")}, "document_hash"),
    ],
)
def test_what_differs_is_named_with_both_values(
    filled: Store, table: str, where: dict[str, Any], values: dict[str, Any], what: str
) -> None:
    rewrite(filled, table, {"record_id": "notes:1", **where}, **values)
    found = all_of(filled)
    (difference, *more) = [each for each in found.differences if each.what == what]
    assert (difference.run_id, difference.record_id, difference.draft) == ("run", "notes:1", where.get("draft", 4))
    assert not more and found.differing == 1
    assert difference.stored != difference.found
    (name,) = values
    if name != "code":
        assert difference.stored == str(values[name])


def test_a_chunk_lists_no_more_than_so_many_differences_and_counts_all(filled: Store) -> None:
    for row in filled.rows("checks", {"run_id": "run"}):
        if row["check_name"] in ("policy", "jail", "document", "search", "certificate", "pddl"):
            key = {name: row[name] for name in ("record_id", "draft", "check_name")}
            rewrite(filled, "checks", key, reason="x", message="x", mend="x")
    found = all_of(filled)
    assert found.differing == found.drafts and len(found.differences) == DIFFERENCES


def test_a_draft_is_checked_within_the_limit_of_its_run(
    store: Store, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work_on(store, notes, "run", search_limit=1)
    reasons = {row["reason"] for row in store.rows("checks", {"check_name": "search"}, ["reason"])}
    assert "too_large" in reasons
    assert all_of(store).differing == 0


def test_only_the_runs_asked_for(filled: Store, notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work_on(filled, notes, "other", sample=1)
    assert {chunk.run_id for chunk in chunks(filled)} == {"run", "other"}
    assert {chunk.run_id for chunk in chunks(filled, ["other"])} == {"other"}
    with pytest.raises(UnknownName, match="there is no run nobody in this store"):
        chunks(filled, ["other", "nobody"])
    start(filled, notes, "third")
    with pytest.raises(InputError, match="no draft of third was executed"):
        chunks(filled, ["third"])


def test_a_draft_that_is_gone_is_named(filled: Store) -> None:
    with pytest.raises(InputError, match=r"no longer contains 1 of the drafts of run run") as caught:
        recheck(filled, Chunk(run_id="run", drafts=(("notes:1", 1), ("notes:9", 1))))
    assert caught.value.record_id == "notes:9"
    with pytest.raises(InputError, match="there is no run nobody in this store"):
        recheck(filled, Chunk(run_id="nobody", drafts=(("notes:1", 1),)))
