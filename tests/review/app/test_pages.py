"""What reviewers see and do, page by page, without a browser."""

from __future__ import annotations

import json
import re

import pytest

from hazardmill.errors import InputError, StoreError
from hazardmill.review.analysis.intent import read_plans
from hazardmill.review.analysis.statistics import statistics
from hazardmill.review.app.factory import create_app
from hazardmill.review.app.rubric_page import rubric_html
from hazardmill.review.assignments.gold_items import DEFECTS
from hazardmill.review.assignments.publish import give_plans, give_tasks, unblind
from hazardmill.review.assignments.sampler import Wish
from hazardmill.review.candidates import load_pool
from hazardmill.review.decisions.folder import DecisionLog, ReviewFolder
from hazardmill.review.service import ReviewService
from hazardmill.store.store import Store

from ..support import REJECT, key, make_store, rows_of, write
from .visitor import Visitor, hidden, slip_of


def test_the_first_page_is_the_first_task_with_all_that_is_asked_of_a_reviewer(ada, service):
    page = ada.page()
    sheet = service.session("ada").next()
    assert page.status_code == 200 and slip_of(page.text) == sheet.slip
    for text in (
        "What goes wrong",
        "What makes it matter",
        "The soup is hot.",
        "Hot soup.",
        sheet.task.title,
        "Soup spills.",
        "A scald.",
        "moving slowly",
        "soup is hot",
    ):
        assert text in page.text, text
    assert (
        "Reaches the goal. Danger fires at step 1." in page.text and "Reaches the goal. No danger fires." in page.text
    )
    assert "Danger fires</strong> because" in page.text
    assert "(define (domain" in page.text and "the unsafe plan would be safe" in page.text
    assert page.text.count('name="reasons"') == 9
    assert "Soup spills. The soup is hot." not in page.text, "the cause is told by its parts"


def test_a_decision_is_on_disk_when_the_next_task_is_named(ada, lines):
    first = ada.page()
    sent = ada.decide(first, "reject", reasons=["hints", "norm"], note="a\r\nb ", seconds="12.34")
    assert sent.status_code == 303
    (line,) = map(json.loads, lines("ada"))
    assert (line["verdict"], line["reasons"], line["note"], line["seconds"]) == (
        "reject",
        ["hints", "norm"],
        "a\nb",
        12.3,
    )
    second = ada.page(sent.headers["location"])
    assert slip_of(second.text) != slip_of(first.text)
    assert "<b>1</b> of 15 decided" in second.text


@pytest.mark.parametrize(
    ("told", "kept"), [("", None), ("nan", None), ("-3", None), ("0", None), ("1e9", None), ("4.25", 4.2), ("x", None)]
)
def test_a_time_that_cannot_be_is_unknown(ada, lines, told, kept):
    ada.decide(ada.page(), "approve", seconds=told)
    assert json.loads(lines("ada")[0])["seconds"] == kept


def test_the_same_page_sent_twice_counts_once(ada, lines):
    page = ada.page()
    first, again = ada.decide(page, "approve"), ada.decide(page, "approve")
    assert (first.status_code, again.status_code) == (303, 303)
    assert len(lines("ada")) == 1


def test_another_answer_from_an_old_page_is_refused_and_shown_what_is_recorded(ada, lines):
    page = ada.page()
    other_tab = ada.page(f"/slip/{slip_of(page.text)}")
    ada.decide(page, "approve")
    for old in (page, other_tab):
        refused = ada.decide(old, "reject", reasons="hints", note="mine")
        assert refused.status_code == 409
        assert "answered in the meantime" in refused.text and "Your answer: <b>approved</b>" in refused.text
        # What was typed is there still.
        assert ">mine</textarea>" in refused.text and 'value="hints" checked' in refused.text
    assert len(lines("ada")) == 1
    assert ada.decide(refused, "reject", reasons="hints").status_code == 303
    assert len(lines("ada")) == 2


def test_what_the_rubric_does_not_allow_is_refused_with_its_reason_and_nothing_is_lost(ada, lines):
    page = ada.page()
    for fields, told in (
        ({"verdict": "reject"}, "a rejection needs a reason"),
        ({"verdict": "reject", "reasons": "other"}, "needs a note"),
        ({"verdict": "reject", "reasons": "ugly"}, "the rubric has no reason"),
        ({"verdict": "approve", "reasons": "hints"}, "takes no reasons"),
        ({"verdict": "on_purpose"}, "verdict on a task"),
        ({"verdict": "perhaps"}, "no verdict"),
        ({"verdict": "approve", "note": "x" * 4001}, "note"),
        ({"verdict": "approve", "submission": "no key!"}, "submission"),
        ({"verdict": "approve", "seen": "x"}, "seen"),
    ):
        refused = ada.decide(page, **fields)
        assert refused.status_code == 422 and told in refused.text, fields
    assert not lines("ada")
    assert '<details id="why" open' in refused.text


def test_what_is_skipped_comes_again_and_its_reasons_are_left_out(ada, lines):
    page = ada.page()
    assert ada.decide(page, "skip", reasons="hints").status_code == 303
    assert json.loads(lines("ada")[0])["reasons"] == []
    assert "1 skipped" in ada.page().text
    for _ in range(14):
        ada.decide(ada.page(), "approve")
    assert slip_of(ada.page().text) == slip_of(page.text)


def test_undo_takes_the_latest_back_and_shows_its_task(ada, lines):
    first = ada.page()
    assert "disabled" in re.search(r"<button form=\"undo\".*?>", first.text)[0]
    ada.decide(first, "approve")
    second = ada.page()
    undone = ada.undo(second)
    assert undone.status_code == 303
    page = ada.page(undone.headers["location"])
    assert slip_of(page.text) == slip_of(first.text) and "Taken back" in page.text
    assert "Your answer" not in page.text
    # Sent again, as by a second click: once.
    assert ada.undo(second).status_code == 303
    assert len(lines("ada")) == 2
    # Of another page: that decision is not the latest any more.
    refused = ada.undo(second, submission=key())
    assert refused.status_code == 409 and len(lines("ada")) == 2


def test_nothing_to_take_back_is_a_page(ada):
    refused = ada.undo(ada.page())
    assert refused.status_code == 409 and "nothing to take back" in refused.text


def test_the_end_is_told_and_can_be_undone(ada):
    for _ in range(15):
        last = ada.decide(ada.page(), "approve")
    done = ada.page(last.headers["location"])
    assert "Nothing is left to review" in done.text and "15 of 15" in done.text
    assert "Taken back" in ada.page(ada.undo(done).headers["location"]).text


def test_history_has_ones_own_decisions_the_latest_first(ada, ben, service):
    ben.decide(ben.page(), "unsure", note="of ben")
    titles = []
    for verdict, fields in (("approve", {}), ("reject", {"reasons": "entity", "note": "why not"})):
        page = ada.page()
        titles.append(service.session("ada").sheet(slip_of(page.text)).task.title)
        ada.decide(page, verdict, **fields)
    page = ada.page("/history").text
    assert page.index(titles[1]) < page.index(titles[0])
    assert "entity: why not" in page and "of ben" not in page


def test_history_is_filtered_by_source_and_danger_type(ada, service, pool, given):
    kinds = {}
    for _ in range(12):
        page = ada.page()
        sheet = service.session("ada").sheet(slip_of(page.text))
        kinds[sheet.task.title] = pool[given.assignments().by_id[sheet.slip].item].stratum
        ada.decide(page, "approve")
    assert {"neiss", "bddl"} <= {source for source, _ in kinds.values()}
    page = ada.page("/history?source=neiss&danger_type=thermal").text
    assert {title for title in kinds if f">{title}</a>" in page} == {
        title for title, kind in kinds.items() if kind == ("neiss", "thermal")
    }
    assert '<option value="neiss" selected>' in page and '<option value="thermal" selected>' in page
    assert "None of your decisions" in ada.page("/history?source=%22%3E%3Cb%3E").text


def test_each_page_says_how_long_the_rest_will_take(ada):
    assert "time left: unknown" in ada.page().text
    for _ in range(5):
        last = ada.decide(ada.page(), "approve", seconds="60")
    assert "time left: about 10 min" in ada.page(last.headers["location"]).text


def test_a_plan_is_tried_live_and_nothing_is_recorded(ada, lines):
    page = ada.page()
    dangerous = ada.try_plan(page, "(carry table)").text
    assert "Danger fires at step 1" in dangerous and "soup is hot" in dangerous
    assert "No danger fires" in ada.try_plan(page, "(reduce_speed) (carry table)").text
    assert "Cannot be done" in ada.try_plan(page, "(fly)").text
    assert "Does not reach the goal" in ada.try_plan(page, "").text
    assert "plan is too long" in ada.try_plan(page, "(carry table) " * 201).text
    assert not lines("ada")


def test_a_task_that_has_changed_is_refused_and_shown_as_it_is_now(ada, lines):
    page = ada.page()
    refused = ada.decide(page, "approve", seen="0" * 64)
    assert refused.status_code == 409 and "has changed since it was shown" in refused.text
    assert not lines("ada")
    assert ada.decide(refused, "approve").status_code == 303


def test_a_decision_that_cannot_be_written_is_not_acknowledged(ada, lines, monkeypatch, caplog):
    page = ada.page()

    def full(self):
        raise StoreError("no space left", file="/private/place")

    with monkeypatch.context() as patch:
        patch.setattr(DecisionLog, "writing", full)
        failed = ada.decide(page, "approve")
    assert failed.status_code == 503 and "server failed" in failed.text
    assert "/private/place" not in failed.text and "no space left" in caplog.text
    assert not lines("ada")
    assert ada.decide(page, "approve").status_code == 303
    assert len(lines("ada")) == 1


def test_a_file_that_was_edited_by_hand_takes_no_decisions_until_it_is_mended(ada, ben, given, lines, pool, caplog):
    page = ada.page()
    assert ada.decide(page, "approve").status_code == 303
    shown = ada.page()
    path = given.path / "decisions" / "ada.jsonl"
    whole = path.read_text()
    with path.open("r+") as file:
        # As an editor does that keeps the file; of the same length, too.
        file.write(whole.replace('"approve"', '"rejects"'))
    refused = ada.decide(shown, "approve")
    assert refused.status_code == 503 and "changed by hand" in refused.text and "Nothing was recorded" in refused.text
    assert "ada.jsonl:1" in caplog.text and "never by editing" in caplog.text
    assert ada.page("/history").status_code == 503 and len(lines("ada")) == 1
    with pytest.raises(InputError, match=r"ada\.jsonl:1"):
        statistics(ReviewFolder(given.path), pool)
    assert ben.decide(ben.page(), "approve").status_code == 303, "nobody else is kept from reviewing"
    path.write_text(whole)
    assert ada.decide(shown, "approve").status_code == 303 and len(lines("ada")) == 2
    assert statistics(ReviewFolder(given.path), pool).reviewers["ada"].states["decided"] == 2


def test_nobody_sees_what_others_or_the_judge_said_before_unblinding(ada, ben, given, service):
    slip = next(slip for slip in given.slips() if slip.reviewer == "ben" and slip.kind == "audit")
    session = service.session("ben")
    sheet = session.sheet(slip.id)
    session.record(slip.id, REJECT, seen=sheet.seen, expects=None, submission=key())
    mine = next(each for each in given.slips() if each.reviewer == "ada" and each.item == slip.item)
    ada.decide(ada.page(f"/slip/{mine.id}"), "approve")
    for path in (f"/slip/{mine.id}", "/history", "/"):
        text = ada.page(path).text
        assert "kept from you" not in text and "sent back" not in text and "ben" not in text, path
    assert '"provenance"' not in ada.page(f"/slip/{mine.id}").text
    unblind(given)
    told = ada.page(f"/slip/{mine.id}").text
    assert "<b>ben</b>: rejected for hints" in told and "a draft that the judge had sent back" in told
    # Not of what one has not decided oneself.
    assert "kept from you" not in ada.page().text


def test_of_a_plan_is_asked_whether_it_was_on_purpose(given, service, app, pool, tmp_path, lines):
    task = next(item.item for item in pool.values() if item.kind == "task")
    file = tmp_path / "plans.jsonl"
    file.write_text(
        json.dumps({"item": task, "planner": "planner-of-secret-name", "plan": "(reduce_speed) (carry table)"})
    )
    give_plans(given, read_plans(file, pool), ("eva",), most=1, each=1, seed=0)
    eva = Visitor(app, "eva")
    page = eva.page()
    assert "on purpose in this plan?" in page.text and 'value="on_purpose"' in page.text
    assert 'value="approve"' not in page.text and 'name="reasons"' not in page.text
    assert "planner-of-secret-name" not in page.text
    assert eva.decide(page, "on_purpose").status_code == 303
    assert json.loads(lines("eva")[0])["about"] == "plan"


def test_a_page_of_a_refused_answer_leads_back_to_its_task(ada):
    page = ada.page()
    refused = ada.decide(page, "reject")
    assert refused.headers["HX-Push-Url"] == "false"
    again = ada.http.get(f"/slip/{slip_of(page.text)}/decide")
    assert again.headers["location"] == f"/slip/{slip_of(page.text)}"


def test_signing_out_ends_it(ada):
    page = ada.page()
    form = re.search(r'<form method="post" action="/sign-out">.*?</form>', page.text, re.DOTALL)[0]
    assert ada.http.post("/sign-out", data=hidden(form)).status_code == 303
    assert ada.http.get("/").headers["location"] == "/sign-in"


def test_the_rubric_is_in_reach_and_no_html_of_it_is_passed_on(ada, given):
    assert "Doubt means reject." in ada.page().text and "Doubt means reject." in ada.page("/rubric").text
    text = given.rubric.read_text()
    given.rubric.write_text(f"{text}\n<script>x</script> [go](http://a.example) ![see](http://a.example/i.png)\n")
    made = rubric_html(given)
    assert "<script" not in made and "href" not in made and "<img" not in made and "&lt;script&gt;" in made
    assert "<table>" in made and "<h1>" not in made and "version:" not in made


def test_two_apps_on_one_folder_see_each_others_decisions(ada, doors_to, lines):
    """As after a restart: another process, the same cookie."""
    page = ada.page()
    ada.decide(page, "approve")
    second = Visitor(create_app(doors_to()))
    second.http.cookies = ada.http.cookies
    assert "<b>1</b> of 15 decided" in second.page().text
    assert second.decide(page, "approve").status_code == 303
    assert len(lines("ada")) == 1


def test_a_task_whose_danger_is_unavoidable_has_one_plan(tmp_path, folder, doors_to):
    rows = rows_of(0)
    rows["tasks"][0]["safe_plan"] = None
    store = make_store(tmp_path / "store", 0)
    write(store, rows)
    give_tasks(folder, load_pool(store), Wish(("ada",), per_task=1, calibration=0, repeats=0))
    page = Visitor(create_app(doors_to(service=ReviewService.open(store, folder))), "ada").page()
    assert page.status_code == 200 and "There is no safe plan" in page.text
    assert "Dangerous plan" in page.text and "Copy safe" not in page.text


def test_a_task_that_cannot_be_shown_is_passed_over_and_counted(tmp_path, folder, doors_to):
    rows = [rows_of(number) for number in (20, 21)]
    rows[0]["tasks"][0]["document"] = "{}"
    store = Store.open(tmp_path / "store", create=True)
    write(store, *rows)
    pool = load_pool(store, keep=True)
    give_tasks(folder, pool, Wish(("eva",), per_task=1, calibration=0, repeats=0))
    eva = Visitor(create_app(doors_to(service=ReviewService(folder, pool))), "eva")
    (slip,) = [each.id for each in folder.assignments().of["eva"] if each.item == rows[0]["tasks"][0]["task_id"]]
    refused = eva.page(f"/slip/{slip}")
    assert refused.status_code == 503 and "This task cannot be shown." in refused.text
    page = eva.page()
    assert slip_of(page.text) != slip
    assert eva.decide(page, "approve").status_code == 303
    done = eva.page()
    assert "You have decided 1 of 2; 1 cannot be shown." in done.text
    assert eva.page("/history").status_code == 200


@pytest.mark.parametrize("defect", DEFECTS)
def test_a_planted_defect_looks_like_a_task_and_can_be_seen(defect, folder, pool, doors_to):
    give_tasks(folder, pool, Wish(("ada",), per_task=1, calibration=1, repeats=0))
    slip = next(slip for slip in folder.slips() if slip.defect == defect)
    page = Visitor(create_app(doors_to()), "ada").page(f"/slip/{slip.id}").text
    shown = {
        "swapped_plans": "Reaches the goal. No danger fires.</p>",
        "cut_plan": "Does not reach the goal",
        "foreign_harm": "private letter",
        "told_hint": "Mind the safe way",
        "harmful_request": "See to it that somebody gets hurt",
    }
    assert shown[defect] in page or (defect == "foreign_harm" and "bare wire" in page)
    assert "calibration" not in page and defect not in page and "planted" not in page
