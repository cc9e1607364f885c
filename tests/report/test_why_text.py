from __future__ import annotations

import pytest

from hazardmill.report.why.build import build_story
from hazardmill.report.why.render_text import render_text
from hazardmill.store.store import Store

HEADLINES = {
    1: "accepted as task notes-",
    2: "no danger in it: nothing but sport",
    3: "execution failed after 5 drafts: no unsafe plan; no plan that reaches the goal triggers the danger",
    4: "quality failed after 5 drafts: judge: entity; a dog is in danger, not a human",
    5: "a duplicate of task notes-",
    6: "extraction failed: unusable answer; there is no JSON object in the answer",
    7: "accepted as task notes-",
    8: "pending: the run has not finished this record",
    9: "no run has processed this record yet",
}


def text_of(store: Store, asked: str, run_id: str | None = None, *, full: bool = False, width: int = 100) -> str:
    return render_text(build_story(store, asked, run_id), full=full, width=width)


def flat(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize(("number", "says"), HEADLINES.items())
def test_the_first_line_says_what_became_of_it(number: int, says: str, why_store: Store) -> None:
    assert flat(text_of(why_store, f"notes:{number}")).startswith(f"notes:{number}: {says}")


def test_the_short_form_cuts_long_texts_and_counts_what_it_cut(why_store: Store) -> None:
    story = build_story(why_store, "notes:1", "first")
    short, full = render_text(story), render_text(story, full=True)
    (asked,) = story.extraction.requests
    system, user = (message.content for message in asked.messages)
    assert f"system said    {len(system):,} characters\n" in short
    assert f"user said      {len(user):,} characters\n" in short or "more before these" in short
    assert asked.answer is not None and f"{len(asked.answer)} characters; " in short and " more after these" in short
    assert "--full prints them whole" in short and "--full prints" not in full
    for whole in (system, asked.answer, story.drafts[0].code or "", story.drafts[0].feedback or ""):
        assert all(f"| {line}".rstrip() in full for line in whole.splitlines())
    assert len(full) > 3 * len(short)


def test_a_danger_that_was_sent_back_is_told_with_the_reason_and_drafts_with_theirs(why_store: Store) -> None:
    story = build_story(why_store, "notes:4")
    found = story.extraction.model_copy(update={"round": 2, "sent_back": "at draft 1: nobody has that errand"})
    first, second, *rest = story.drafts
    drafts = (first, second.model_copy(update={"round": 2}), *rest)
    text = render_text(story.model_copy(update={"extraction": found, "drafts": drafts}))
    assert "a judge sent back the first danger at draft 1: nobody has that errand" in flat(text)
    assert text.count(", of the second danger") == 1
    assert "sent back the first" not in render_text(story)


def test_why_there_is_no_danger_is_told_with_its_code(why_store: Store) -> None:
    assert "no danger (no robot part): nothing but sport" in flat(text_of(why_store, "notes:2"))


def test_plans_are_told_step_by_step(why_store: Store) -> None:
    text = text_of(why_store, "notes:1", "first")
    assert (
        "  1. (carry_bowl)\n"
        "     < point of no return: before this step a safe way is left, (reduce_speed) (carry_bowl)\n"
        "       (bowl_at table): false -> true\n"
        "       (bowl_at kitchen): true -> false\n"
        "     ! danger +1 (thermal) because (soup_is_hot) and (not (moving_slowly))\n"
    ) in text
    assert "The two plans part at step 1: (carry_bowl) in the dangerous one, (reduce_speed) in the safe one." in text
    assert "proved         point of no return: step 1 of the unsafe plan" in text
    unavoidable = text_of(why_store, "notes:7")
    assert "NO SAFE PLAN  declared unavoidable" in unavoidable and "THE SAFE PLAN" not in unavoidable


def test_money_says_who_paid_and_what_is_unknown(why_store: Store) -> None:
    first, again = (flat(text_of(why_store, "notes:1", run_id)) for run_id in ("first", "again"))
    assert "1,000 tokens in (cached: 0), 100 out; $0.00350, paid by this run" in first
    assert "unknown tokens in (cached: unknown), unknown out; cost unknown, paid by this run" in first
    assert "cost 5 requests, 5 attempts; 4,000 + 1 unknown tokens in" in first
    assert "$0.00350, paid by run first, not again" in again
    assert "this run paid $0.00" in again
    assert "also met by run first, accepted as notes-" in again


def test_a_failed_attempt_and_a_duplicate_are_told(why_store: Store) -> None:
    pending = flat(text_of(why_store, "notes:8"))
    assert "EXTRACTION not done OTHER REQUESTS no committed row mentions them" in pending
    assert "no answer, after 1 attempt; nothing was paid" in pending
    assert "attempt 1 of run first: RequestRefused: record notes:8: the credit is used up" in pending
    assert "came from notes:1 with draft 3: hazardmill why notes-" in flat(text_of(why_store, "notes:5"))
    assert "duplicate notes:5" in flat(text_of(why_store, "notes:1", "first"))


@pytest.mark.parametrize("full", [False, True])
def test_what_a_record_says_can_do_nothing_to_a_terminal(full: bool, why_store: Store) -> None:
    text = text_of(why_store, "notes:1", "first", full=full)
    assert r"\x1b[31m" in text
    assert all(sign.isprintable() or sign == "\n" for sign in text)


def test_lines_fit_the_terminal_where_words_allow_it(why_store: Store) -> None:
    for line in text_of(why_store, "notes:1", width=60).splitlines():
        assert len(line) <= 60 or "|" in line or len(max(line.split(), key=len)) > 30
