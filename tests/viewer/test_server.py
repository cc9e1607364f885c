"""The local server: what it answers, and that it changes nothing."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import Any

import pytest
from factories.release_store import rewritten
from review.app.visitor import Http

from hazardmill.errors import CorruptStore
from hazardmill.store.store import Store
from hazardmill.viewer.opinions import PlannerResults
from hazardmill.viewer.server.app import ViewService, create_app
from hazardmill.viewer.store import StoreTasks

from .conftest import addresses, fragments, unpack


def index(pages: Http, name: str) -> Any:
    """The rows or texts of a page that is loaded now."""
    return unpack(pages.get("/" + addresses(pages.get("/").content)[name]).content)[1]


@pytest.fixture
def of_release(view) -> Http:
    return Http(create_app(ViewService(view)), "127.0.0.1")


@pytest.fixture
def of_store(told_store) -> Http:
    return Http(create_app(ViewService(StoreTasks(told_store, None, PlannerResults([])))), "127.0.0.1")


def test_the_page_and_its_parts_are_served(of_release):
    page = of_release.get("/")
    assert page.status_code == 200 and "Scripts are off" in page.text and "5 rows" in page.text
    for name in ("item.css", "view.css", "item.js", "view.js", "icon.svg"):
        assert f"assets/{name}" in page.text and of_release.get(f"/assets/{name}").status_code == 200
    rows = index(of_release, "rows")
    assert len(rows["keys"]) == 5 and rows["places"] is None
    assert len(index(of_release, "texts")) == 5


def test_reports_beside_a_store_are_served_and_nothing_else_of_its_folder(told_store, tmp_path):
    store = Store.open(shutil.copytree(told_store.path, tmp_path / "store"))
    reports = tmp_path / "reports"
    reports.mkdir()
    (reports / "first.html").write_text("<style>p {}</style><p>the report</p>")
    (reports / "notes.txt").write_text("no report")
    (tmp_path / "secret.html").write_text("secret")
    (reports / "out.html").symlink_to(tmp_path / "secret.html")
    (reports / "folder.html").mkdir()
    pages = Http(create_app(ViewService(StoreTasks(store, None, PlannerResults([])))), "127.0.0.1")
    answer = pages.get("/reports/first.html")
    assert answer.status_code == 200 and "the report" in answer.text
    assert "script" not in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    for name in ("gone.html", "notes.txt", "out.html", "folder.html", "..%2Fsecret.html", "../secret.html", ".html"):
        assert pages.get(f"/reports/{name}").status_code == 404, name


def test_a_release_has_no_reports(of_release):
    assert of_release.get("/reports/first.html").status_code == 404


def test_a_task_is_drawn_with_all_that_a_release_has_of_it(of_release):
    rows = index(of_release, "rows")
    texts = index(of_release, "texts")
    key = rows["keys"][next(number for number, text in enumerate(texts) if "parrot" in text)]
    (drawn,) = fragments(of_release.get("/data/item.js", params={"key": key}).content)
    for part in (
        "a kitchen with a parrot",
        "Dangerous plan",
        "Safe plan",
        "Contrast twin",
        "Certificate",
        "# the code",
    ):
        assert part in drawn, part
    assert "reviewer-1" in drawn and "approved" in drawn and "How it was made" not in drawn


def test_a_task_of_a_store_is_drawn_with_prompts_answers_and_every_draft(of_store):
    (drawn,) = fragments(of_store.get("/data/item.js", params={"key": "notes:1@first"}).content)
    for part in (
        "How it was made",
        "What was sent",
        "The answer",
        "Draft 3",
        "Dangerous plan",
        "Certificate",
        "Actions",
    ):
        assert part in drawn, part
    (refused,) = fragments(of_store.get("/data/item.js", params={"key": "notes:3@first"}).content)
    assert "no unsafe plan" in refused and "Draft 1" in refused and "Dangerous plan" not in refused


def test_a_duplicate_shows_its_own_record_below_its_title_and_a_link_to_the_task(of_store):
    (drawn,) = fragments(of_store.get("/data/item.js", params={"key": "notes:5@first"}).content)
    below = drawn[drawn.index("<h1>") :]
    assert "hot soup 5" in below and "hot soup 1" not in drawn
    assert 'href="#notes%3A1%40first"' in below and "Draft 1" in below and "Dangerous plan" not in drawn


def test_no_text_of_a_record_becomes_html(of_release, of_store):
    texts = index(of_release, "rows")["keys"]
    for key in texts:
        (drawn,) = fragments(of_release.get("/data/item.js", params={"key": key}).content)
        assert "<script" not in drawn and "<img" not in drawn and "\u202e" not in drawn
    (drawn,) = fragments(of_store.get("/data/item.js", params={"key": "notes:1@first"}).content)
    assert "<script" not in drawn and "&lt;script&gt;" in drawn and "\x1b" not in drawn


def test_what_is_not_there_is_not_found_and_nothing_can_be_sent(of_store):
    for path in ("/data/item.js", "/data/item.js?key=none", "/assets/none.js", "/assets/..%2fpack.py", "/other"):
        assert of_store.get(path).status_code == 404, path
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        assert of_store.request(method, "/").status_code == 405
        assert of_store.request(method, "/data/rows.js").status_code == 405


def test_every_answer_has_the_headers_and_only_loopback_is_a_host(of_release):
    answer = of_release.get("/")
    assert "script-src 'self'" in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff" and answer.headers["cache-control"] == "no-store"
    # Scripts of other origins may ask for a file of script without permission; this alone keeps the rows from them.
    for path in ("/", f"/{addresses(answer.content)['rows']}", "/data/item.js?key=none"):
        assert of_release.get(path).headers["cross-origin-resource-policy"] == "same-origin", path
    assert of_release.get("/", headers={"host": "evil.example"}).status_code == 400
    assert of_release.get("/", headers={"host": "localhost:8718"}).status_code == 200


def test_looking_changes_no_file_of_a_store(of_store, told_store, files_of):
    before = files_of(told_store.path)
    assert index(of_store, "rows") and index(of_store, "texts")
    assert of_store.get("/data/item.js?key=notes:1@first").status_code == 200
    assert files_of(told_store.path) == before


def test_new_commits_are_seen_when_the_page_is_loaded_again(told_store, tmp_path):
    store = rewritten(told_store, tmp_path / "store", lambda table, row: row if row["run_id"] != "again" else None)
    service = ViewService(StoreTasks(store, None, PlannerResults([])))
    pages = Http(create_app(service), "127.0.0.1")
    early = addresses(pages.get("/").content)
    before = unpack(pages.get(f"/{early['rows']}").content)[1]["keys"]
    with Store.open(store.path).writer("again") as writer:
        writer.append_sync({"outcomes": [row for row in told_store.rows("outcomes") if row["run_id"] == "again"]})
    assert unpack(pages.get(f"/{early['rows']}").content)[1]["keys"] == before
    late = addresses(pages.get("/").content)
    assert len(unpack(pages.get(f"/{late['rows']}").content)[1]["keys"]) == len(before) + 1
    # The page from before must not search its rows by texts of now, which are in another order.
    refused = pages.get(f"/{early['texts']}")
    assert refused.status_code == 409 and "reload" in refused.text
    assert len(unpack(pages.get(f"/{late['texts']}").content)[1]) == len(before) + 1


def test_rows_are_packed_once_per_reading(view):
    service = ViewService(view)
    mark = addresses(service.page())["texts"].partition("mark=")[2]
    assert service.index("texts", mark) is service.index("texts", mark) is not None
    assert service.index("texts", "") is service.index("rows", "0" * 16) is None


@pytest.fixture
def damaged_store(told_store, tmp_path) -> Callable[..., Http]:
    """The pages of a store of which every part of some tables is damaged."""

    def damage(*tables: str) -> Http:
        shutil.copytree(told_store.path, tmp_path / "store")
        parts = [part for table in tables for part in (tmp_path / "store" / table).glob("*.parquet")]
        assert parts
        for part in parts:
            part.write_bytes(b"damaged")
        place = StoreTasks(Store.open(tmp_path / "store"), None, PlannerResults([]))
        return Http(create_app(ViewService(place)), "127.0.0.1")

    return damage


@pytest.mark.parametrize("table", ["llm_calls", "drafts", "checks"])
def test_a_task_is_shown_where_a_part_of_how_it_was_made_is_damaged(damaged_store, table):
    pages = damaged_store(table)
    (drawn,) = fragments(pages.get("/data/item.js", params={"key": "notes:1@first"}).content)
    assert "Dangerous plan" in drawn and "Certificate" in drawn and "How it was made cannot be shown" in drawn
    assert f"store/{table}/" in drawn and "hazardmill store" in drawn


def test_how_a_task_was_made_is_shown_where_its_part_is_damaged(damaged_store):
    (drawn,) = fragments(damaged_store("tasks").get("/data/item.js", params={"key": "notes:3@first"}).content)
    assert "Draft 1" in drawn and "no unsafe plan" in drawn


@pytest.mark.parametrize("table", ["rejects", "runs", "records"])
def test_the_table_is_shown_where_parts_that_add_to_it_are_damaged(damaged_store, table):
    pages = damaged_store(table)
    page = pages.get("/").text
    assert f"Nothing of the table {table} can be shown" in page and f"store/{table}/" in page
    assert ("an unknown number of native items" in page) == (table == "rejects")
    assert "notes:3@first" in index(pages, "rows")["keys"]
    (drawn,) = fragments(pages.get("/data/item.js", params={"key": "notes:1@first"}).content)
    assert "Dangerous plan" in drawn and ("The record cannot be shown" in drawn) == (table == "records")


def test_a_store_whose_outcomes_are_damaged_is_refused(damaged_store):
    with pytest.raises(CorruptStore, match="outcomes"):
        damaged_store("outcomes")


def test_the_page_of_a_task_that_this_version_cannot_read_says_so_and_names_record_and_run(told_store, tmp_path):
    def change(table, row):
        return {**row, "document": '{"name": "x"}'} if table == "tasks" else row

    store = rewritten(told_store, tmp_path / "store", change)
    packed = ViewService(StoreTasks(store, None, PlannerResults([]))).item("notes:1@first")
    assert packed is not None
    (drawn,) = fragments(packed)
    assert "The task cannot be drawn" in drawn and "<dd>notes:1</dd>" in drawn and "<dd>first</dd>" in drawn
