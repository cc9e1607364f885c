"""The page in a real browser: served, on a plain file host, and from disk.

With ``HAZARDMILL_SCREENSHOTS=FOLDER`` the pages are written there as ``view-*.png``.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from patience import PATIENCE_S
from report.browsing import chromium
from review.app.test_browser import AXE

from hazardmill.release.read.release import Release
from hazardmill.viewer.export import export_view
from hazardmill.viewer.opinions import PlannerResults
from hazardmill.viewer.release import ReleaseView

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.full, pytest.mark.timeout(300)]

SHOWN_MS = PATIENCE_S * 1000
COMMAND = "from hazardmill.cli.main import main; main()"


@pytest.fixture(scope="module")
def site(soups: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    export_view(ReleaseView(Release(soups), PlannerResults([])), folder)
    return folder


@pytest.fixture(scope="module")
def browser(site: Path, why_folder: Path) -> Iterator[Browser]:
    """A browser. The run that makes the store has ended before: with a browser, an event loop is running."""
    assert site.exists() and why_folder.exists()
    with chromium() as launched:
        yield launched


def serve(*words: object) -> Iterator[str]:
    """The address of ``hazardmill view`` as a process of its own."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    command = [sys.executable, "-c", COMMAND, "view", *map(str, words), "--port", str(port), "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        said = ""
        while "}" not in said:
            line = process.stdout.readline()
            assert line, "the server has ended"
            said += line
        # The socket is bound before the address is told.
        yield json.loads(said)["address"]
    finally:
        process.terminate()
        process.communicate()


@pytest.fixture(scope="module")
def of_store(why_folder: Path) -> Iterator[str]:
    yield from serve(why_folder / "store")


@pytest.fixture(scope="module")
def of_release(soups: Path) -> Iterator[str]:
    yield from serve(soups)


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:  # as in http.server
        pass


@pytest.fixture(scope="module")
def on_a_host(site: Path) -> Iterator[str]:
    """The address of a host that knows files only."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture
def address(request: pytest.FixtureRequest, site: Path) -> str:
    """Where the page is: of a store or a release that is served, on a host of files, or on disk."""
    if request.param == "on_disk":
        return (site / "index.html").as_uri()
    return str(request.getfixturevalue(request.param))


def opened(browser: Browser, address: str, width: int = 1280, scheme: Any = "light") -> tuple[Page, list[str]]:
    """A tab with the table in it, and what it complains of."""
    page = browser.new_context(viewport={"width": width, "height": 850}, color_scheme=scheme).new_page()
    page.set_default_timeout(SHOWN_MS)
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(address)
    page.wait_for_selector("body[data-ready]")
    return page, complaints


def check_page(page: Page, name: str) -> None:
    """Everybody can use the page, and it is not wider than the window."""
    if page.evaluate("typeof axe") == "undefined":
        # Through the debugger, as the page's own policy lets no such script in; nor may it fetch style sheets again.
        page.evaluate(AXE.read_text())
    found = page.evaluate("axe.run(document, {preload: false, resultTypes: ['violations']})")
    serious = [
        (each["id"], [node["html"][:200] for node in each["nodes"]])
        for each in found["violations"]
        if each["impact"] in ("serious", "critical")
    ]
    assert not serious, (name, serious)
    assert page.evaluate("document.documentElement.scrollWidth") <= page.evaluate("innerWidth"), name
    if folder := os.environ.get("HAZARDMILL_SCREENSHOTS"):
        page.screenshot(path=f"{folder}/view-{name}.png")


WAYS = ["of_store", "of_release", "on_a_host", "on_disk"]


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark"), (1280, "dark"), (390, "light")])
@pytest.mark.parametrize("address", ["of_store", "on_disk"], indirect=True)
def test_pages_can_be_used_by_everybody(browser, address, width, scheme, request):
    page, complaints = opened(browser, address, width, scheme)
    name = f"{request.node.callspec.id}"
    check_page(page, f"list-{name}")
    page.locator("#rows tbody a").first.click()
    page.wait_for_selector("#item h1")
    assert page.locator("#item .plan").count() == 2
    for number, tab in enumerate(page.locator("[role=tab]").all()):
        tab.click()
        check_page(page, f"item-{number}-{name}")
    assert complaints == []
    page.context.close()


@pytest.mark.parametrize("address", WAYS, indirect=True)
def test_texts_of_tasks_do_nothing_wherever_they_are_shown(browser, address):
    page, complaints = opened(browser, address)
    title = page.title()
    keys = page.eval_on_selector_all("#rows tbody a", "links => links.map(link => link.getAttribute('href'))")
    shown = ""
    for key in keys:
        page.locator(f"#rows tbody a[href='{key}']").click()
        page.wait_for_selector("#item h1")
        shown += page.locator("#item").inner_html()
        assert page.title() == page.locator("#item h1").inner_text() != "taken"
        assert page.locator("#item script, #item img").count() == 0
        page.locator("[data-list]").click()
        page.wait_for_selector("#list:not([hidden])")
        assert page.title() == title
    assert "&lt;script&gt;" in shown and "\u202e" not in shown + page.content()
    assert complaints == []
    page.context.close()


@pytest.mark.parametrize("address", ["on_disk", "of_release"], indirect=True)
def test_a_task_is_found_by_filters_by_words_of_its_record_and_by_its_address(browser, address):
    page, complaints = opened(browser, address)
    rows = page.locator("#rows tbody tr")
    assert rows.count() == 5 and "5 in all" in page.locator("#tally").inner_text()
    page.get_by_label("Kind").select_option(label="unavoidable task (1)")
    assert rows.count() == 1 and page.locator("#tally").inner_text().startswith("1 of 5")
    page.get_by_role("button", name="Show all").click()
    assert rows.count() == 5
    # A word that only the text of the record has, which is loaded when somebody searches.
    page.get_by_label("Search").fill("PARROT kitchen")
    page.wait_for_selector("#rows tbody tr:only-child")
    page.get_by_label("Search").fill("no such word")
    page.wait_for_selector("#rows[hidden]", state="attached")
    page.get_by_role("button", name="Show all").click()
    href = rows.nth(2).locator("a").get_attribute("href")
    heading = rows.nth(2).locator("a").inner_text()
    deep, more = opened(browser, f"{address}{href}")
    assert deep.locator("#item h1").inner_text() == heading
    deep.get_by_role("link", name="Previous").click()
    deep.wait_for_selector(f"body:not([data-shown='{href[1:]}'])")
    assert deep.locator("#item h1").is_visible()
    deep.go_back()
    deep.wait_for_selector(f"body[data-shown='{href[1:]}']")
    assert deep.locator("#item h1").inner_text() == heading
    asked = opened(browser, f"{address}#?kind=unavoidable%20task&split=none")[0]
    assert asked.locator("#rows tbody tr").count() == 1 and "#" not in asked.url
    nowhere = opened(browser, f"{address}#no-such-task")[0]
    assert nowhere.locator("#item h1").inner_text() == "There is no such task here"
    assert complaints == more == []


@pytest.mark.parametrize("address", ["of_store", "on_disk"], indirect=True)
def test_the_facts_of_a_task_are_in_the_first_view(browser, address):
    page, complaints = opened(browser, address)
    page.set_viewport_size({"width": 1280, "height": 800})
    page.locator("#rows tbody a").first.click()
    page.wait_for_selector("#item h1")
    asked, about = (page.locator(f"#item {name}").bounding_box() for name in (".asked", ".about"))
    assert about["y"] + about["height"] <= min(800, asked["y"] + asked["height"])
    # What the robot is asked to do and the danger are there too.
    formal = page.locator("#item .asked .formal").nth(1).bounding_box()
    assert formal["y"] < 650
    assert complaints == []
    page.context.close()


@pytest.mark.parametrize("address", ["on_disk"], indirect=True)
def test_plans_are_stepped_and_tabs_opened_by_keyboard(browser, address):
    page, complaints = opened(browser, address)
    page.locator("#rows tbody a").first.click()
    page.wait_for_selector("#item h1")
    # The page opens at the step where danger fires.
    assert page.locator(".step.fires[aria-current]").count() == 1
    page.keyboard.press("Home")
    assert page.locator(".stepper output").inner_text() == "At the start"
    page.keyboard.press("ArrowRight")
    assert "After step 1" in page.locator(".stepper output").inner_text()
    page.get_by_role("tab", name="Proof").focus()
    page.keyboard.press("ArrowRight")
    assert page.get_by_role("tabpanel", name="Code").is_visible()
    assert not page.get_by_role("tabpanel", name="Proof").is_visible()
    assert complaints == []


@pytest.mark.parametrize("address", ["on_a_host"], indirect=True)
def test_without_scripts_the_page_says_what_is_missing(browser, address):
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto(address)
    assert "neither the table of 5 rows nor any task can be shown" in page.locator("noscript").inner_text()
    assert not page.locator("#filters").is_visible()


@pytest.mark.parametrize("address", ["of_store"], indirect=True)
def test_keys_of_somebody_who_reads_stay_with_the_browser(browser, address):
    page, complaints = opened(browser, address)
    page.locator("#rows tbody a").first.click()
    page.wait_for_selector("#item h1")
    where = page.locator(".stepper output")
    page.keyboard.press("Home")
    page.get_by_role("tab", name="How it was made").click()
    for part in ("#panel-made", ".asked", "[role=tab][aria-selected=true]"):
        page.locator(part).focus()
        page.keyboard.press("End")
        assert where.inner_text() == "At the start", part
    # The browser scrolls to the end of what was read, and steps only what is in the focus.
    page.evaluate("scrollTo(0, 0)")
    page.locator("#panel-made").focus()
    page.keyboard.press("End")
    page.wait_for_function("scrollY > 100")
    page.locator(".compare .to").first.focus()
    page.keyboard.press("End")
    assert where.inner_text() != "At the start"
    assert complaints == []
    page.context.close()


@pytest.mark.parametrize("address", ["on_disk", "of_release"], indirect=True)
def test_back_in_the_table_the_keyboard_is_at_the_row_and_filters_outlast_a_reload(browser, address):
    page, complaints = opened(browser, address)
    page.get_by_label("Kind").select_option(label="task (4)")
    page.get_by_label("Search").fill("parrot")
    page.wait_for_selector("#rows tbody tr:only-child")
    heading = page.locator("#rows tbody a").inner_text()
    page.get_by_label("Search").fill("")
    page.wait_for_selector("#rows tbody tr:nth-child(4)")
    page.get_by_label("Search").fill("neiss")
    page.wait_for_selector("#rows tbody tr:nth-child(3):last-child")
    link = page.get_by_role("link", name=heading).first
    href = link.get_attribute("href")
    link.click()
    page.wait_for_selector("#item h1")
    page.go_back()
    page.wait_for_selector("#list:not([hidden])")
    page.wait_for_function("href => document.activeElement.getAttribute('href') === href", arg=href)
    page.keyboard.press("Enter")
    page.wait_for_selector("#item h1")
    page.reload()
    page.wait_for_selector("body[data-ready]")
    page.get_by_role("link", name="All").click()
    page.wait_for_selector("#list:not([hidden])")
    assert page.get_by_label("Search").input_value() == "neiss" and "?" not in page.url
    assert page.locator("#rows tbody tr").count() == 3
    assert complaints == []
    page.context.close()


@pytest.mark.parametrize("content", [None, "", "<!doctype html><p>Sign in</p>", "cut", 'viewer.take("NAME","?????");'])
def test_a_file_that_cannot_be_used_is_said_in_its_place_and_can_be_tried_again(browser, site, tmp_path, content):
    folder = tmp_path / "broken"
    shutil.copytree(site, folder)
    (file,) = (folder / "tasks").iterdir()
    whole = file.read_text()
    file.unlink()
    if content is not None:
        file.write_text(whole[:200] if content == "cut" else content.replace("NAME", f"tasks/{file.name}"))
    page, _ = opened(browser, (folder / "index.html").as_uri())
    page.locator("#rows tbody a").first.click()
    page.wait_for_selector("#item [role=alert]")
    assert file.name in page.locator("#item [role=alert]").inner_text()
    # Back leads to the page before, and the address still names the task.
    page.go_back()
    page.wait_for_selector("#list:not([hidden])")
    page.go_forward()
    page.wait_for_selector("#item [role=alert]")
    file.write_text(whole)
    page.get_by_role("button", name="Try again").click()
    page.wait_for_selector("#item .plan")
    assert page.locator("#item [role=alert]").count() == 0
    page.context.close()


@pytest.mark.parametrize("address", ["on_disk"], indirect=True)
def test_an_unknown_address_has_no_way_to_a_next_task(browser, address):
    page, _ = opened(browser, f"{address}#no-such-task")
    assert page.get_by_role("link", name="All").is_visible()
    assert not page.get_by_role("link", name="Next").is_visible()
    assert not page.get_by_role("link", name="Previous").is_visible()
    page.context.close()
