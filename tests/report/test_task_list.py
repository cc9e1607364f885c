from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import unquote

import pytest

from hazardmill.report.folders import TASKS, write_task_folders
from hazardmill.report.html import render_report, write_report
from hazardmill.report.markdown import render_markdown, write_markdown
from hazardmill.report.task_list import OPEN_AT_MOST, list_in_markdown, list_tasks

from .support import DANGER, Row, Shelf, connect, mill, task, unavoidable
from .test_html import Page

HOSTILE = 'x"><script>alert(1)</script> [a](http://evil.example) | `b` ../../up'


def hrefs(text: str) -> list[str]:
    return [value or "" for tag, name, value in Page(text).attributes if (tag, name) == ("a", "href")]


def many(number: int) -> list[Row]:
    return [task(f"neiss:{place}", f"neiss-{place:03}", source="neiss") for place in range(number)]


def test_each_task_is_listed_under_its_source_with_a_link_that_leads_to_its_folder(tmp_path: Path) -> None:
    page = write_report(Shelf(**mill()), ["r"], tmp_path / "report.html", folder=TASKS)
    folders = write_task_folders(Shelf(**mill()), ["r"], tmp_path / TASKS)
    text = page.read_text(encoding="utf-8")
    linked = [address for address in hrefs(text) if not address.startswith("#")]
    assert [(tmp_path / unquote(address)).resolve() for address in linked] == folders
    assert all(f"{folder.name} bring the soup " in Page(text).text for folder in folders)
    written = write_markdown(Shelf(**mill()), ["r"], tmp_path / "report.md", folder=TASKS).read_text(encoding="utf-8")
    assert re.findall(r"\]\((tasks/[^)]*)\)", written) == linked


def test_the_contents_lead_to_every_section() -> None:
    text = render_report(connect(**mill()), ["r"])
    page, within = Page(text), [address[1:] for address in hrefs(text)]
    ids = {value for _, name, value in page.attributes if name == "id"}
    assert set(within) <= ids
    assert {value for tag, name, value in page.attributes if tag == "h2" and name == "id"} <= set(within)
    markdown, _ = render_markdown(connect(**mill()), ["r"])
    titles = re.findall(r"^## (.*)$", markdown, re.MULTILINE)
    assert "All tasks" in titles
    anchors = dict(re.findall(r"^- \[(.*)\]\(#(.*)\)$", markdown, re.MULTILINE))
    assert anchors == {title: title.lower().replace(" ", "-") for title in titles}


def test_without_folders_nothing_is_linked() -> None:
    assert all(address.startswith("#") for address in hrefs(render_report(connect(**mill()), ["r"])))
    assert "](tasks" not in render_markdown(connect(**mill()), ["r"])[0]


@pytest.mark.parametrize(("number", "unfolded"), [(OPEN_AT_MOST, True), (OPEN_AT_MOST + 1, False)])
def test_many_tasks_are_folded(number: int, unfolded: bool) -> None:
    text = render_report(connect(tasks=many(number)), ["r"])
    assert (f'<details id="list-1"{" open" if unfolded else ""}>' in text) is True
    assert f"neiss: {number} tasks" in Page(text).text


def test_a_report_without_tasks_has_no_list() -> None:
    assert "list-head" not in render_report(connect(), ["r"])
    assert "## All tasks" not in render_markdown(connect(), ["r"])[0]


def test_a_task_without_a_safe_plan_has_a_dash_and_a_long_instruction_is_cut() -> None:
    danger = json.dumps({**DANGER, "robot_task": "carry the soup " * 40})
    ((only,),) = (group.tasks for group in list_tasks([unavoidable("neiss:1", "neiss-1", danger=danger)], None))
    assert only.lengths == "1, -" and len(only.instruction) <= 160 and only.instruction.endswith(" ...")


def test_hostile_names_do_nothing() -> None:
    danger = json.dumps({**DANGER, "robot_task": HOSTILE})
    row = task("neiss:1", HOSTILE, danger=danger)
    page = Page(render_report(connect(tasks=[row]), ["r"], folder=TASKS))
    assert "script" not in page.tags
    (address,) = (value or "" for _, name, value in page.attributes if name == "href" and (value or "")[0] != "#")
    assert re.fullmatch(r"tasks/[A-Za-z0-9._-]+/", address) and ".." not in address.split("/")
    (block,) = list_in_markdown(list_tasks([row], TASKS))
    (line,) = (line for line in block.splitlines() if "evil" in line)
    assert "<script>" not in re.sub(r"`[^`]*`", "", line)
    assert len(re.findall(r"(?<!\\)\|", line)) == 5
