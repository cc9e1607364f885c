from __future__ import annotations

import base64
import hashlib
import itertools
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from hazardmill.errors import StoreError
from hazardmill.report.why.build import build_story
from hazardmill.report.why.model import Story
from hazardmill.report.why.page import render_page, write_page
from hazardmill.store.store import Store

from .conftest import HOSTILE

VOID = {"meta", "br"}


class Page(HTMLParser):
    """What a browser would make of the page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str | None]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.own: list[str] = []
        """What the page says itself: no prompts, answers or code."""
        self.style = ""
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
        if self.open and self.open[-1] == "style":
            self.style += data
        elif data.strip():
            self.words.append(" ".join(data.split()))
            if "pre" not in self.open:
                self.own.append(data)

    @property
    def text(self) -> str:
        return " ".join(self.words)

    def values(self, name: str) -> list[str]:
        return [value or "" for _, known, value in self.attributes if known == name]


def page_of(store: Store, asked: str, run_id: str | None = None) -> Page:
    return Page(render_page(build_story(store, asked, run_id)))


@pytest.mark.parametrize("number", range(1, 10))
def test_every_story_is_a_page_that_is_well_formed_and_loads_nothing(number: int, why_store: Store) -> None:
    page = page_of(why_store, f"notes:{number}")
    assert page.open == []
    assert not {"script", "link", "iframe", "img", "object", "embed", "base", "form"} & set(page.tags)
    assert not [name for _, name, _ in page.attributes if name.startswith("on") or name in ("src", "style", "action")]
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    # Whatever refers to a place of the page refers to one that is there.
    targets = [value.removeprefix("#") for value in page.values("href")] + page.values("aria-labelledby")
    assert targets and set(targets) <= set(ids)
    headings = [int(tag[1]) for tag in page.tags if re.fullmatch("h[1-6]", tag)]
    assert headings[0] == 1 and headings.count(1) == 1
    assert all(below <= above + 1 for above, below in itertools.pairwise(headings))
    assert page.tags.count("caption") == page.tags.count("table")
    assert "None" not in " ".join(page.own)


def test_hostile_text_stays_text(why_store: Store) -> None:
    page = page_of(why_store, "notes:1", "first")
    said = HOSTILE.split(" ")[0]
    # In the record, its fields, and each prompt.
    assert page.text.count(said) >= 6
    assert "script" not in page.tags


def test_hostile_text_in_every_part_of_a_story_stays_text(why_store: Store) -> None:
    evil = '"><script>alert(1)</script><img src=x onerror=alert(1)>'
    told = (
        build_story(why_store, "notes:1", "first")
        .model_dump_json()
        .replace("thermal", "EVIL")
        .replace("nobody", "EVIL")
    )
    for name in ("bowl_at", "toy", "Bring the bowl to the table.", "first", "completed", "syntax", "0.1.0"):
        told = told.replace(name, "EVIL")
    # Names of types and payers are ours.
    told = told.replace('"danger_type":"EVIL","chang', '"danger_type":"thermal","chang').replace('\\"EVIL', '\\"x')
    page = Page(render_page(Story.model_validate_json(told.replace("EVIL", evil.replace('"', '\\"')))))
    assert page.open == []
    assert not {"script", "img"} & set(page.tags)
    assert page.text.count("<script>alert(1)</script>") > 20


def test_the_policy_of_the_page_allows_its_own_style_and_nothing_else(why_store: Store) -> None:
    page = page_of(why_store, "notes:1")
    (policy,) = [value for value in page.values("content") if "default-src" in value]
    hashed = base64.b64encode(hashlib.sha256(page.style.encode()).digest()).decode()
    assert policy.startswith(f"default-src 'none'; style-src 'sha256-{hashed}';")


def test_the_page_tells_the_story_draft_by_draft(why_store: Store) -> None:
    page = page_of(why_store, "notes:1", "first")
    assert "Draft 1: failed at policy: syntax" in page.text
    assert "Draft 2: failed at certificate: leaked name" in page.text
    assert "Draft 3: accepted" in page.text
    # One per draft, and one per action.
    assert page.tags.count("article") == 3 + 2
    assert {"ins", "del"} <= set(page.tags)
    assert "+ def build(self):" in page.text and "- def build(self:" in page.text
    assert page.text.count("Feedback sent to the next draft") == 2
    assert "unchanged : the file still holds it" in page.text


def test_the_page_tells_both_plans_with_the_moment_of_danger(why_store: Store) -> None:
    page = page_of(why_store, "notes:1", "first")
    # As the viewer and the review app draw them, with their classes and words.
    assert sum("fires" in each.split() for each in page.values("class")) == 1
    assert "Danger fires because soup is hot and not moving slowly" in page.text
    assert "1 carry bowl + now bowl at: table \u2212 no longer bowl at: kitchen Danger fires" in page.text
    assert "the dangerous plan (carry_bowl) , the safe plan (reduce_speed) (carry_bowl)" in page.text
    assert "Step 1 of the dangerous plan. Point of no return: before this step a safe way is left" in page.text
    # Nothing of it needs a script, and each action has its card.
    assert "button" not in page.tags and page.values("class").count("card risky") == 1
    assert "In the twin (soup_is_hot) is false at the start instead of true" in page.text


def test_each_way_to_end_has_its_words(why_store: Store) -> None:
    assert "No danger in it: nothing but sport." in page_of(why_store, "notes:2").text
    assert "Nothing: the code came back as it was." in page_of(why_store, "notes:3").text
    assert "a dog is in danger, not a human" in page_of(why_store, "notes:4").text
    assert "The task it duplicates" in page_of(why_store, "notes:5").text
    assert "which came first from notes:1 , draft 3" in page_of(why_store, "notes:5").text
    assert "Extraction: failed" in page_of(why_store, "notes:6").text
    assert "There is no safe plan: the danger is declared unavoidable" in page_of(why_store, "notes:7").text
    pending = page_of(why_store, "notes:8").text
    assert "Why notes:8 is not a task yet" in pending
    assert "Extraction: not done yet" in pending and "the record is not finished" in pending
    assert "No run has processed this record yet." in page_of(why_store, "notes:9").text


def test_the_file_is_written_whole_or_the_error_says_where(why_store: Store, tmp_path: Path) -> None:
    story = build_story(why_store, "notes:1")
    written = write_page(story, tmp_path / "new" / "why.html")
    assert written.read_text(encoding="utf-8") == render_page(story)
    assert [path.name for path in written.parent.iterdir()] == ["why.html"]
    with pytest.raises(StoreError, match=r"why\.html.*name a file in a folder"):
        write_page(story, written / "why.html")
