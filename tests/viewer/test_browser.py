"""The page in a real browser: served, on a plain file host, and from disk.

With ``HAZARDMILL_SCREENSHOTS=FOLDER`` the pages are written there as ``view-*.png``.
"""

from __future__ import annotations

import json
import os
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
    nowhere = opened(browser, f"{address}#no-such-task")[0]
    assert nowhere.locator("#item h1").inner_text() == "There is no such task here"
    assert complaints == more == []


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


def test_a_file_that_is_missing_is_said_and_the_table_stays(browser, site, tmp_path):
    import shutil

    folder = tmp_path / "broken"
    shutil.copytree(site, folder)
    for path in (folder / "tasks").iterdir():
        path.unlink()
    page, _ = opened(browser, (folder / "index.html").as_uri())
    page.locator("#rows tbody a").first.click()
    page.wait_for_selector("#trouble:not([hidden])")
    assert "cannot be loaded" in page.locator("#trouble").inner_text() and page.locator("#rows").is_visible()
