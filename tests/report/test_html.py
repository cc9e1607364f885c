from __future__ import annotations

import json
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest

from hazardmill.errors import StoreError
from hazardmill.report.examples import choose_examples, example_tasks
from hazardmill.report.html import render_report, write_report
from hazardmill.report.markdown import render_markdown
from hazardmill.resources import review_folder
from hazardmill.review.analysis.statistics import ReviewStatistics, statistics
from hazardmill.review.assignments.publish import give_tasks
from hazardmill.review.assignments.sampler import Wish
from hazardmill.review.schemas import ReviewAnswer
from hazardmill.review.service import ReviewService
from tests.review.support import answer, make_folder, make_store

from .support import DANGER, Shelf, call, connect, mill, task, unavoidable

HOSTILE = '<script>alert("x")</script><img src="http://evil.example/x.png" onerror=1>'

VOID = {"meta", "br", "img", "link", "input", "hr"}


class Page(HTMLParser):
    """What a browser would make of the page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str | None]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style" and data.strip():
            self.words.append(" ".join(data.split()))

    @property
    def text(self) -> str:
        return " ".join(self.words)


@pytest.fixture(scope="module")
def page() -> Page:
    return Page(render_report(connect(**mill()), ["r"]))


def test_the_page_is_well_formed_and_loads_nothing(page: Page) -> None:
    assert page.open == []
    assert not {"script", "link", "iframe", "img", "object", "embed", "base"} & set(page.tags)
    for _, name, value in page.attributes:
        assert not name.startswith("on")
        if name in ("src", "href", "xlink:href", "srcset", "action"):
            assert (value or "").startswith("#")
    ids = [value for _, name, value in page.attributes if name == "id"]
    assert len(ids) == len(set(ids))


def test_the_page_has_funnel_cost_figures_and_three_tasks(page: Page) -> None:
    assert page.tags.count("article") == 3
    assert page.tags.count("figure") == page.tags.count("svg") == 9
    assert page.tags.count("details") == page.tags.count("summary")
    for words in ("no unsafe plan", "The funnel adds up.", "at least $0.0333", "500 + 1 unknown", "outside drafts"):
        assert words in page.text


def test_both_plans_are_shown_step_by_step_with_the_danger_where_it_fires(page: Page) -> None:
    step = "1 (carry_bowl table) +(bowl_at table) -(bowl_at kitchen) (trips) 0 -> 1 danger +1 because"
    assert f"{step} (soup_is_hot) , (not (moving_slowly))" in page.text
    assert "1 (reduce_speed) +(moving_slowly) 2 (carry_bowl table)" in page.text
    assert page.text.count("danger +1 because") == 3
    assert "(soup_is_hot) true ; (window_is_open) true (the danger does not read it)" in page.text.replace(
        "true;", "true ;"
    )


def test_hostile_text_stays_text() -> None:
    tables = mill()
    tables["records"][0]["context"] = HOSTILE
    tables["tasks"][0] = task(
        "neiss:1",
        "neiss-1",
        danger=json.dumps({**DANGER, "setting": HOSTILE, "entity_in_danger": HOSTILE}),
        attribution=HOSTILE,
        code=HOSTILE,
        model_answered=HOSTILE,
    )
    tables["runs"][0]["config"] = json.dumps({"note": HOSTILE})
    tables["outcomes"][2]["reason"] = HOSTILE
    page = Page(render_report(connect(**tables), ["r"]))
    assert not {"script", "img"} & set(page.tags)
    assert page.text.count('<script>alert("x")</script>') >= 7


def test_the_offline_author_is_named_at_the_head_and_only_where_it_answered(page: Page) -> None:
    assert "Written by the offline author" not in page.text
    tables = mill()
    tables["drafts"][0]["model_answered"] = "offline-author"
    tables["tasks"][0]["model_answered"] = "offline-author"
    offline = Page(render_report(connect(**tables), ["r"]))
    assert offline.text.index("Written by the offline author") < offline.text.index("Where the records went")
    assert "offline-author (rules, not a language model)" in offline.text


def recorded(identity: str, **given: object) -> dict[str, object]:
    known = {"model_answered": "claude", "backend": "recorded", "recording": "f" * 64, "answered": True}
    return call(identity, "neiss:1", "author", **{**known, "prompt_hash": "new", "recorded_for": "new", **given})


def test_recorded_answers_are_told_at_the_head_with_how_many_are_older_than_their_prompts(page: Page) -> None:
    assert "Recorded answers" not in page.text
    tables = mill()
    tables["llm_calls"] = [
        recorded("a"),
        recorded("b", recorded_for="old"),
        recorded("c", answered=False, recorded_for="old", recording=None),
    ]
    text = Page(render_report(connect(**tables), ["r"])).text
    assert (
        "2 answers of claude, recorded earlier; no model was asked in these runs. 1 answer is to earlier versions"
        in text
    )
    assert text.index("Recorded answers.") < text.index("Where the records went")
    tables["llm_calls"] = [recorded("a"), recorded("d", recording=None, recorded_for=None, model_answered="toy")]
    mixed = Page(render_report(connect(**tables), ["r"])).text
    assert "1 of 2 answers of claude, recorded earlier. " in mixed and "no model was asked" not in mixed
    tables["llm_calls"] = [recorded("a")]
    assert "earlier prompts" not in Page(render_report(connect(**tables), ["r"])).text


def test_who_reviewed_is_told_models_as_models(page: Page, reviewed: Callable[..., ReviewStatistics]) -> None:
    # Whether anybody has is not known where no review was named.
    assert "Who reviewed the tasks" not in page.text
    by_models = Page(render_report(connect(**mill()), ["r"], review=reviewed("model-ada", "model-ben")))
    assert by_models.open == []
    assert (
        "Reviewed by two language models: 1 of 2 tasks approved by all who were asked. No person has reviewed them yet."
    ) in by_models.text
    assert "Rejected by language models" in by_models.text and "Krippendorff's alpha" in by_models.text
    mixed = Page(render_report(connect(**mill()), ["r"], review=reviewed("ada", "model-ben"))).text
    assert "Reviewed by one person and one language model" in mixed and "No person" not in mixed
    markdown, _ = render_markdown(connect(**mill()), ["r"], review=reviewed("ada", "ben"))
    assert "Reviewed by two people" in markdown and "<summary>Agreement between reviewers" in markdown


@pytest.fixture
def reviewed(tmp_path: Path) -> Callable[..., ReviewStatistics]:
    """The figures of a review of two tasks by the named reviewers, of whom the second rejects one."""

    def review(*reviewers: str) -> ReviewStatistics:
        place = tmp_path / "-".join(reviewers)
        store = make_store(place / "store", tasks=2)
        folder = make_folder(place / "review", review_folder().parent)
        service = ReviewService.open(store, folder)
        give_tasks(folder, service.pool, Wish(reviewers=reviewers, per_task=2, calibration=0, repeats=0))
        for reviewer in reviewers:
            no = iter([ReviewAnswer(verdict="reject", reasons=("request",))] if reviewer == reviewers[1] else [])
            answer(service, reviewer, lambda slip, sheet, no=no: next(no, ReviewAnswer(verdict="approve")))
        return statistics(folder, service.pool)

    return review


def test_a_task_without_a_safe_plan_is_shown_as_such() -> None:
    tables = mill()
    tables["tasks"] = [unavoidable("neiss:1", "neiss-1")]
    page = Page(render_report(connect(**tables), ["r"]))
    assert page.open == []
    assert "unavoidable: 1 action, and no safe plan" in page.text
    assert "No safe plan The danger is declared unavoidable, and search to the end proved it" in page.text
    assert "The safe plan" not in page.text and "None" not in page.text


def test_a_task_of_two_runs_counts_once_at_the_head_and_in_the_figures() -> None:
    tables = mill()
    for name in ("outcomes", "dangers", "drafts", "tasks", "runs"):
        tables[name] += [{**row, "run_id": "s"} for row in tables[name]]
    page = Page(render_report(connect(**tables), ["r", "s"]))
    assert "3 accepted tasks" in page.text and "20 records" in page.text
    # Each of the four figures of tasks says it above the picture and above its table.
    assert page.text.count("(n = 3 tasks)") == 8
    assert page.tags.count("article") == 3


def test_a_funnel_that_does_not_add_up_is_a_banner() -> None:
    tables = mill()
    tables["tasks"] = []
    page = Page(render_report(connect(**tables), ["r"]))
    assert ("p", "role", "alert") in page.attributes
    assert "No task was accepted in these runs." in page.text


def test_an_empty_store_has_a_report() -> None:
    page = Page(render_report(connect(), ["r"]))
    assert page.open == []
    assert "No task was accepted" in page.text


def test_shown_tasks_differ_in_source_then_group_then_type() -> None:
    def known(task_id: str, source: str, group: str, kind: str) -> dict[str, str]:
        return {"task_id": task_id, "run_id": "r", "source": source, "danger_group": group, "danger_type": kind}

    tasks = [
        known("a", "neiss", "physical", "thermal"),
        known("b", "neiss", "physical", "chemical"),
        known("c", "neiss", "psychosocial", "trust_violation"),
        known("d", "bddl", "physical", "thermal"),
        known("e", "bddl", "psychosocial", "trust_violation"),
    ]
    assert [row["task_id"] for row in choose_examples(tasks)] == ["a", "e", "b"]
    assert choose_examples(list(reversed(tasks))) == choose_examples(tasks)
    assert choose_examples(tasks[:1]) == tasks[:1]


def test_a_shown_task_says_how_it_came_about() -> None:
    tables = mill()
    tables["tasks"][1]["certificate"] = json.dumps(
        {"lines": [{"name": "has_decoy", "passed": None, "severity": "finding", "message": "not decided here"}]}
    )
    shown = {task.row["task_id"]: task for task in example_tasks(connect(**tables), ["r"], tables["tasks"])}["neiss-2"]
    assert [(attempt.number, attempt.failed) for attempt in shown.attempts] == [
        (1, "policy: syntax"),
        (2, "search: no unsafe plan"),
        (3, ""),
    ]
    assert shown.proved == (("has decoy", None, "not decided here"),)
    assert shown.given == ("(bowl_at kitchen)", "(trips) = 0")
    assert shown.context == (("(soup_is_hot)", True, True), ("(window_is_open)", True, False))
    assert (shown.unsafe.feasible, shown.unsafe.safe, shown.safe.safe) == (True, False, True)


def test_the_file_is_written_whole_or_the_error_says_where(tmp_path: Path) -> None:
    written = write_report(Shelf(**mill()), ["r"], tmp_path / "new" / "report.html")
    assert written.read_text(encoding="utf-8") == render_report(connect(**mill()), ["r"])
    assert [path.name for path in written.parent.iterdir()] == ["report.html"]
    with pytest.raises(StoreError, match=r"report\.html.*name a file in a folder"):
        write_report(Shelf(**mill()), ["r"], written / "report.html")
