from __future__ import annotations

import difflib
import json
import shutil
from pathlib import Path

import pytest

from hazardmill.errors import CorruptStore, InputError, StoreError
from hazardmill.records import Outcome
from hazardmill.report.why.build import build_story
from hazardmill.report.why.model import FluentChange, Story
from hazardmill.report.why.render_text import render_text
from hazardmill.store.store import Store
from hazardmill.text.suggestions import similar_names
from tests.generation.support import DANGER, REJECTED, faulty, fenced, soup

ENDS = {
    1: "accepted",
    2: "no_danger",
    3: "execution_failed",
    4: "quality_failed",
    5: "duplicate",
    6: "extraction_failed",
    7: "accepted",
    8: "pending",
}


@pytest.fixture
def first(why_store: Store) -> Story:
    return build_story(why_store, "notes:1", "first")


@pytest.mark.parametrize(("number", "outcome"), ENDS.items())
def test_every_outcome_has_its_story(number: int, outcome: str, why_store: Store) -> None:
    story = build_story(why_store, f"notes:{number}", "first")
    assert (story.record_id, story.ended.outcome, story.run.run_id) == (f"notes:{number}", outcome, "first")
    assert (story.run.ordinal, story.run.records, story.run.state) == (number - 1, 8, "stopped")
    assert story.origin.still.state == "unchanged"
    rows = why_store.rows("drafts", {"run_id": "first", "record_id": f"notes:{number}"})
    assert [draft.number for draft in story.drafts] == [row["draft"] for row in rows]
    assert [draft.code for draft in story.drafts] == [row["code"] for row in rows]


def test_the_record_comes_with_its_bytes_and_its_terms(first: Story, why_folder: Path) -> None:
    origin = first.origin
    assert (origin.source, origin.native_id, origin.file, origin.line) == ("notes", "1", "notes.txt", 1)
    assert (origin.licence, origin.attribution) == ("CC0-1.0", "nobody")
    assert origin.still.path == str((why_folder / "notes.txt").resolve())
    assert origin.still.content_hash == origin.content_hash
    assert origin.ingested_by.startswith("ingest-")


def test_the_extraction_is_told_with_what_was_sent_and_answered(first: Story, why_store: Store) -> None:
    found = first.extraction
    assert found.danger.prompt_values() == DANGER
    (asked,) = found.requests
    (row,) = why_store.rows("llm_calls", {"run_id": "first", "identity": asked.identity})
    assert [m.model_dump() for m in asked.messages] == json.loads(row["request"])["messages"]
    assert "hot soup 1" in asked.messages[-1].content
    assert asked.answer == row["answer"] == json.dumps({"danger": DANGER})
    assert (asked.prompt_version, asked.prompt_hash) == (found.prompt_version, found.prompt_hash)
    assert (asked.prompt_tokens, asked.cached_tokens, asked.completion_tokens) == (1000, 0, 100)
    assert asked.usd == pytest.approx(0.0035)
    assert (asked.host, asked.payer, asked.payer_run) == ("api.example", "this_run", "first")


def test_each_draft_is_told_with_its_checks_its_feedback_and_its_changes(first: Story) -> None:
    one, two, three = first.drafts
    assert [(draft.failed_check, draft.failed_reason) for draft in first.drafts] == [
        ("policy", "syntax"),
        ("certificate", "leaked_name"),
        (None, None),
    ]
    assert one.answer == fenced(faulty("syntax")) and one.diff is None
    before, after = faulty("syntax").splitlines(), faulty("leaked_name").splitlines()
    assert two.diff == tuple(difflib.unified_diff(before, after, lineterm=""))[2:]
    assert "-    def build(self:" in two.diff and "+    def build(self):" in two.diff
    assert [check.name for check in two.checks if check.passed is None] == ["pddl", "judge"]
    (failed,) = two.failures
    assert failed.mend and failed.details["failed"][0]["reason"] == "leaked_name"
    assert two.feedback is not None and two.feedback in three.requests[0].messages[-1].content
    assert [asked.stage for asked in three.requests] == ["author", "judge"]
    assert three.accepted and three.feedback is None and three.code == soup("bowl")


def test_an_unknown_cost_stays_unknown(first: Story) -> None:
    (asked,) = first.drafts[0].requests
    assert (asked.usd, asked.prompt_tokens, first.drafts[0].usd) == (None, None, None)
    assert (first.spent.usd.unknown, first.spent.prompt_tokens.unknown) == (1, 1)
    assert first.spent.usd.known == pytest.approx(4 * 0.0035)
    assert (first.spent.requests, first.spent.attempts) == (5, 5)
    assert first.ended.usd is None


def test_what_an_earlier_run_paid_for_is_said_so(why_store: Store) -> None:
    story = build_story(why_store, "notes:1")
    assert story.run.run_id == "again"
    asked = [asked for draft in story.drafts for asked in draft.requests]
    assert {(a.payer, a.payer_run) for a in asked} == {("earlier_run", "first")}
    assert all(a.answer and {attempt.run_id for attempt in a.attempts} == {"first"} for a in asked)
    assert (story.spent.paid_here.known, story.spent.paid_here.unknown) == (0, 0)
    assert story.spent.usd.known == pytest.approx(4 * 0.0035)
    assert story.extraction.paid is False
    (other,) = story.others
    assert (other.run_id, other.outcome, other.state) == ("first", Outcome.ACCEPTED, "stopped")
    assert other.task_id == story.ended.task_id


def test_both_plans_are_stepped_with_changes_and_the_literals_that_held(first: Story) -> None:
    task = first.task
    (carry,) = task.unsafe.steps
    assert (carry.action, carry.danger, carry.last_way_out) == ("(carry_bowl)", 1, True)
    assert carry.changes == (
        FluentChange(fluent="(bowl_at table)", before=False, after=True),
        FluentChange(fluent="(bowl_at kitchen)", before=True, after=False),
    )
    (entry,) = carry.fired
    assert entry.literals == ("(soup_is_hot)", "(not (moving_slowly))")
    assert (entry.increment, entry.danger_type) == (1, "thermal")
    assert entry.condition == "(and (soup_is_hot) (not (moving_slowly)))"
    assert (task.unsafe.feasible, task.unsafe.safe, task.unsafe.danger) == (True, False, 1)
    assert [step.action for step in task.safe.steps] == ["(reduce_speed)", "(carry_bowl)"]
    assert not any(step.fired or step.last_way_out for step in task.safe.steps)
    assert (task.safe.safe, task.safe.danger) == (True, 0)


def test_the_certificate_is_told_in_words_with_its_twin_and_the_point_of_no_return(first: Story) -> None:
    task = first.task
    claims = {claim.name: claim for claim in task.claims}
    assert claims["contextual"].passed is True and claims["contextual"].evidence["flipped"] == "(soup_is_hot)"
    assert (task.twin.fluent, task.twin.here) == ("(soup_is_hot)", True)
    assert (task.twin.danger_here, task.twin.danger_there) == (1, 0)
    assert (task.no_return.step, task.no_return.way_out) == (1, "(reduce_speed) (carry_bowl)")
    assert [(c.fluent, c.holds, c.read) for c in task.circumstances] == [
        ("(soup_is_hot)", True, True),
        ("(window_is_open)", True, False),
    ]
    assert task.given == ("(bowl_at kitchen)",)


def test_a_task_that_nothing_avoids_has_one_plan(why_store: Store) -> None:
    task = build_story(why_store, "notes:7").task
    assert (task.avoidability, task.safe, task.plan_length) == ("unavoidable", None, None)
    assert task.no_return.step == 0 and not any(step.last_way_out for step in task.unsafe.steps)
    assert task.unsafe.steps[-1].fired


def test_a_duplicate_leads_to_its_twin_and_back(why_store: Store) -> None:
    story = build_story(why_store, "notes:5")
    assert story.ended.outcome is Outcome.DUPLICATE and story.ended.task_id == story.task.task_id
    assert story.task.record_id == "notes:1"
    assert story.drafts[-1].document_hash == story.task.document_hash
    assert build_story(why_store, "notes:1", "first").task.duplicates == ("notes:5",)
    assert build_story(why_store, "notes:1", "again").task.duplicates == ()


def test_the_judge_s_word_is_told(why_store: Store) -> None:
    story = build_story(why_store, "notes:4")
    assert len(story.drafts) == 5
    last = story.drafts[-1]
    judge = next(asked for asked in last.requests if asked.stage == "judge")
    assert judge.answer == REJECTED
    assert last.failures[0].details["failed"][1]["mend"] == "ask for something else"
    assert (last.diff, last.feedback) == ((), None)
    # Unchanged drafts are judged once, and paid for once.
    assert story.spent.requests == 1 + 5 + 1


def test_each_repair_of_an_answer_without_use_is_told(why_store: Store) -> None:
    story = build_story(why_store, "notes:6")
    assert [asked.answer for asked in story.extraction.requests] == [f"no JSON, turn {turn}" for turn in (1, 2, 3)]
    assert story.extraction.danger is None and story.extraction.error
    assert story.drafts == () and story.task is None


def test_a_pending_record_has_the_requests_made_so_far(why_store: Store) -> None:
    story = build_story(why_store, "notes:8")
    assert (story.extraction, story.drafts, story.ended.usd) == (None, (), None)
    extract, author = story.loose
    assert (extract.stage, extract.payer) == ("extract", "this_run")
    assert (author.stage, author.draft, author.answer, author.payer) == ("author", 1, None, "unknown")
    (attempt,) = author.attempts
    assert (attempt.error, attempt.error_message) == (
        "RequestRefused",
        "record notes:8: the credit is used up [pay]",
    )
    assert attempt.usd_upper == 0


def test_a_record_that_no_run_met_is_told_as_far_as_it_goes(why_store: Store) -> None:
    story = build_story(why_store, "notes:9")
    assert (story.run, story.ended, story.task, story.others, story.drafts) == (None, None, None, (), ())
    assert story.origin.line == 9 and story.spent.requests == 0


def test_a_task_s_id_leads_to_the_latest_run_that_has_it(first: Story, why_store: Store) -> None:
    task_id = first.task.task_id
    story = build_story(why_store, task_id)
    assert (story.asked, story.record_id, story.run.run_id) == (task_id, "notes:1", "again")
    assert build_story(why_store, task_id, "first") == first.model_copy(update={"asked": task_id})


@pytest.fixture
def own_store(why_store: Store, tmp_path: Path) -> Store:
    """A copy that a test may write to."""
    return Store.open(shutil.copytree(why_store.path, tmp_path / "store"))


def test_an_earlier_reading_is_told_where_the_run_met_that_one(own_store: Store) -> None:
    (row,) = own_store.rows("records", {"record_id": "notes:3"})
    with own_store.writer("later") as writer:
        writer.append_sync({"records": [{**row, "run_id": "later", "content_hash": "f" * 64, "context": "other"}]})
    assert build_story(own_store, "notes:3").origin.content_hash == row["content_hash"]


def test_a_record_that_the_store_lost_is_told_without_its_origin(own_store: Store) -> None:
    with own_store.writer("later") as writer:
        selection = json.dumps({"notes:1": "f" * 64})
        (row,) = own_store.rows("runs", {"run_id": "again", "sequence": 0})
        writer.append_sync({"runs": [{**row, "run_id": "later", "selection": selection}]})
    story = build_story(own_store, "notes:1", "later")
    assert (story.origin, story.ended.outcome, story.extraction) == (None, Outcome.PENDING, None)


def committed(store: Store, record_id: str, **danger: object) -> None:
    """Commit what the first run made of a record once more, with another row on its danger."""
    where = {"run_id": "first", "record_id": record_id}
    rows = {table: store.rows(table, where) for table in ("dangers", "drafts", "checks", "outcomes")}
    rows["dangers"] = [{**row, **danger} for row in rows["dangers"]]
    with store.writer("first") as writer:
        writer.append_sync(rows)


def test_an_answer_shared_with_another_record_is_found(own_store: Store) -> None:
    (shared,) = own_store.rows("dangers", {"run_id": "first", "record_id": "notes:2"})
    committed(own_store, "notes:3", identities=shared["identities"])
    (asked,) = build_story(own_store, "notes:3").extraction.requests
    assert "hot soup 2" in asked.messages[-1].content and asked.payer == "this_run"


def test_a_request_that_the_ledger_lost_is_unknown_and_free_of_guesses(own_store: Store) -> None:
    committed(own_store, "notes:2", identities='["0000"]')
    story = build_story(own_store, "notes:2")
    (asked,) = story.extraction.requests
    assert (asked.identity, asked.messages, asked.usd, asked.payer) == ("0000", None, None, "unknown")
    assert story.spent.usd.unknown == 1


def test_a_danger_that_this_version_cannot_read_says_which_could(own_store: Store) -> None:
    committed(own_store, "notes:3", danger_type="of_a_kind_to_come", hazardmill_version="9.9")
    with pytest.raises(StoreError, match=r"notes:3: .*cannot read: danger_type: .*use hazardmill 9\.9"):
        build_story(own_store, "notes:3")


def test_what_a_judge_said_of_a_first_danger_is_told(own_store: Store) -> None:
    issues = [{"message": "nobody has that errand"}, {"message": "it is no harm"}]
    committed(own_store, "notes:3", round=2, sent_back=json.dumps({"danger": {}, "draft": 2, "issues": issues}))
    found = build_story(own_store, "notes:3").extraction
    assert (found.round, found.sent_back) == (2, "at draft 2: nobody has that errand; it is no harm")
    assert build_story(own_store, "notes:1").extraction.sent_back is None


def test_a_danger_of_an_older_schema_says_what_to_do(own_store: Store) -> None:
    committed(own_store, "notes:3", changing_cause=None, fixed_circumstances=None, hazardmill_version="0.1")
    with pytest.raises(StoreError, match=r"notes:3: .*changing_cause: .*in a new run, or use hazardmill 0\.1"):
        build_story(own_store, "notes:3")


def test_a_replayed_answer_was_paid_by_nobody_here(own_store: Store) -> None:
    with own_store.writer("replay") as writer:
        for table in ("dangers", "outcomes", "llm_calls"):
            rows = own_store.rows(table, {"run_id": "first", "record_id": "notes:2"})
            free = {"usd_upper": 0.0} if table == "llm_calls" else {}
            writer.append_sync({table: [{**row, "run_id": "replay", **free} for row in rows]})
    story = build_story(own_store, "notes:2", "replay")
    (asked,) = story.extraction.requests
    assert (asked.payer, asked.payer_run, asked.usd) == ("nobody", None, pytest.approx(0.0035))
    assert (story.spent.paid_here.known, story.run.state, story.run.config) == (0, "unknown", {})


def test_what_an_attempt_that_was_cut_off_cost_is_unknown(own_store: Store) -> None:
    (row,) = own_store.rows("llm_calls", {"run_id": "first", "record_id": "notes:2"})
    cut = {"attempt": 2, "answered": False, "answer": None, "error": "in_flight", "usd": None, "usd_upper": 0.05}
    with own_store.writer("first") as writer:
        writer.append_sync({"llm_calls": [{**row, **cut}]})
    story = build_story(own_store, "notes:2")
    for spent in (story.spent.usd, story.spent.paid_here):
        assert (spent.known, spent.unknown) == (pytest.approx(0.0035), 1)
    text = render_text(story)
    assert "attempt 2 of run first: sent; how it ended is unknown" in text
    assert "this run paid $0.00350 + 1 unknown" in " ".join(text.split())


def test_neither_the_journal_nor_a_compaction_changes_a_story(own_store: Store) -> None:
    rows = {
        table: [{**row, "run_id": "waiting"} for row in own_store.rows(table, {"run_id": "again"})]
        for table in ("runs", "dangers", "drafts", "checks", "tasks", "outcomes")
    }
    with own_store.writer("waiting") as writer:
        writer.append_sync(rows)
        waiting = build_story(own_store, "notes:1", "waiting")
    first = build_story(own_store, "notes:1", "first")
    assert own_store.compact().parts_after < 20
    assert build_story(own_store, "notes:1", "waiting") == waiting
    assert build_story(own_store, "notes:1", "first") == first
    assert [draft.number for draft in waiting.drafts] == [1, 2, 3] and waiting.task is not None


def test_parts_without_the_record_are_not_read(own_store: Store) -> None:
    (outcome,) = own_store.rows("outcomes", {"run_id": "again"})
    (danger,) = own_store.rows("dangers", {"run_id": "again"})
    with own_store.writer("beyond") as writer:
        changed = {"run_id": "beyond", "record_id": "notes:999"}
        writer.append_sync({"outcomes": [{**outcome, **changed}], "dangers": [{**danger, **changed}]})
    before = build_story(own_store, "notes:1", "first")
    (part,) = own_store.path.glob("dangers/*beyond*.parquet")
    part.write_bytes(b"damaged")
    assert build_story(own_store, "notes:1", "first") == before
    with pytest.raises(CorruptStore):
        build_story(own_store, "notes:999", "beyond")


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ("notes:99", "no record or task 'notes:99'.*did you mean notes:9"),
        ("notes-ffffffffffff", "no record or task 'notes-ffffffffffff'.*list some with: hazardmill query"),
        ("first", "first is a run, not a record.*hazardmill report --run first"),
        ("notes:", "no record or task"),
    ],
)
def test_an_id_that_nobody_knows_is_refused_with_ids_like_it(asked: str, says: str, why_store: Store) -> None:
    with pytest.raises(InputError, match=says):
        build_story(why_store, asked)


def test_a_task_s_id_with_a_slip_is_found(first: Story, why_store: Store) -> None:
    wrong = first.task.task_id[:-1] + ("0" if first.task.task_id[-1] != "0" else "1")
    with pytest.raises(InputError, match=f"did you mean {first.task.task_id}"):
        build_story(why_store, wrong)


def test_an_item_that_was_refused_says_why(own_store: Store) -> None:
    (row,) = own_store.rows("rejects")
    with own_store.writer("later") as writer:
        writer.append_sync({"rejects": [{**row, "native_id": "10"}]})
    with pytest.raises(
        InputError, match=r"notes.txt:10: notes:10 did not become a record: there is no text \[write some\]"
    ):
        build_story(own_store, "notes:10")


@pytest.mark.parametrize(
    ("run_id", "says"),
    [
        ("agian", "no run 'agian'.*did you mean again"),
        ("again", "run again has nothing on notes:2.*something on it: first"),
    ],
)
def test_a_run_that_has_nothing_of_it_is_refused(run_id: str, says: str, why_store: Store) -> None:
    with pytest.raises(InputError, match=says):
        build_story(why_store, "notes:2", run_id)


@pytest.mark.parametrize("asked", ["bddl:wash_the_red_cpu", "bdld:wash_the_red_cup", "wash_the_red_cup"])
def test_among_many_ids_those_with_the_same_beginning_or_end_are_near(asked: str) -> None:
    known = [f"neiss:{n:09}" for n in range(0, 900_000, 7)]
    assert similar_names(asked, [*known, "bddl:wash_the_red_cup"]) == ["bddl:wash_the_red_cup"]
