"""Two reviewers, thirty tasks each, one browser, no mouse: with everything that goes wrong on the way.

With ``HAZARDMILL_SCREENSHOTS=FOLDER`` the pages of the invented tasks are written there as ``review-*.png``.
"""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from patience import PATIENCE_S
from report.browsing import chromium

from hazardmill.review.analysis.statistics import statistics
from hazardmill.review.assignments.publish import give_tasks
from hazardmill.review.assignments.sampler import Wish
from hazardmill.review.candidates import ReviewPool, load_pool
from hazardmill.review.decisions.folder import ReviewFolder
from hazardmill.store.store import Store

from ..support import make_folder, make_store, scenario_rows, write
from .server import Server

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

# A server that starts three times and a browser: a busy machine takes its time.
pytestmark = [pytest.mark.full, pytest.mark.timeout(300)]

TASKS = 30
SHOWN_MS = PATIENCE_S * 1000
AXE = Path(__file__).parent / "vendor" / "axe.min.js"
REASONS = ["request", "completeness", "causation", "prevention", "norm", "entity", "circumstances", "hints", "other"]


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ReviewPool]:
    store = make_store(tmp_path_factory.mktemp("browser") / "store", TASKS)
    return store.path, load_pool(store)


@pytest.fixture(scope="module")
def browser(acting: Store) -> Iterator[Browser]:
    """A browser. The run that makes the hazard tasks has ended before: with a browser, an event loop is running."""
    assert acting
    with chromium() as launched:
        yield launched


def given_out(path: Path, project: Path, pool: ReviewPool) -> ReviewFolder:
    folder = make_folder(path / "review", project)
    give_tasks(folder, pool, Wish(("ada", "ben"), calibration=0, repeats=0))
    return folder


def serving(path: Path, review: ReviewFolder, store: Path) -> Iterator[Server]:
    made = Server(store, review.path, path / "server.log")
    made.start()
    yield made
    made.kill()


@pytest.fixture
def review(tmp_path: Path, project: Path, tasks: tuple[Path, ReviewPool]) -> ReviewFolder:
    return given_out(tmp_path, project, tasks[1])


@pytest.fixture
def server(tmp_path: Path, review: ReviewFolder, tasks: tuple[Path, ReviewPool]) -> Iterator[Server]:
    yield from serving(tmp_path, review, tasks[0])


@pytest.fixture(scope="module")
def standing(
    tmp_path_factory: pytest.TempPathFactory, project: Path, tasks: tuple[Path, ReviewPool]
) -> Iterator[tuple[Server, ReviewFolder]]:
    """A server that nobody kills, and its review, of which nobody counts the decisions."""
    path = tmp_path_factory.mktemp("standing")
    review = given_out(path, project, tasks[1])
    for server in serving(path, review, tasks[0]):
        yield server, review


@dataclass
class Reviewer:
    """A tab, the keys that are pressed in it, and what should be recorded for them."""

    page: Page
    name: str
    expected: dict[str, tuple[str, tuple[str, ...]]] = field(default_factory=dict)
    lines: Counter[str] = field(default_factory=Counter)
    complaints: list[str] = field(default_factory=list)
    _awaited: int | None = None
    """The page has to be another one than this before the next key."""

    @classmethod
    def arrives(cls, browser: Browser, server: Server, name: str, **options: Any) -> Reviewer:
        page = browser.new_context(viewport={"width": 1280, "height": 800}, **options).new_page()
        page.set_default_timeout(SHOWN_MS)
        reviewer = cls(page, name)
        reviewer._listen(page)
        page.goto(server.url)
        page.keyboard.type(name)
        page.keyboard.press("Enter")
        page.wait_for_selector("main.task")
        reviewer.settled(0)
        return reviewer

    def _listen(self, page: Page) -> None:
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", lambda message: self.complaints.append(message.text))

    def tab(self) -> Page:
        """Another tab of the same browser, on the same task."""
        other = self.page.context.new_page()
        other.set_default_timeout(SHOWN_MS)
        self._listen(other)
        other.goto(self.page.url)
        wait_ready(other, 0)
        return other

    def finish(self) -> None:
        """Wait for the page that the last keys bring."""
        if self._awaited is not None:
            before, self._awaited = self._awaited, None
            wait_ready(self.page, before)

    @property
    def slip(self) -> str:
        self.finish()
        return str(self.page.locator("main").get_attribute("data-slip"))

    @property
    def ready(self) -> int:
        self.finish()
        return ready(self.page)

    def settled(self, before: int) -> None:
        wait_ready(self.page, before)

    def press(self, *keys: str) -> None:
        """Press keys, the last of which brings another page; it is waited for when it is needed."""
        self._awaited = self.ready
        for key in keys:
            self.page.keyboard.press(key)

    def decide(self, verdict: str, reasons: tuple[int, ...] = ()) -> None:
        slip = self.slip
        self.press(*keys_of(verdict, reasons))
        self.recorded(slip, verdict, reasons)

    def recorded(self, slip: str, verdict: str, reasons: tuple[int, ...] = ()) -> None:
        self.lines["decision"] += 1
        self.expected[slip] = (verdict, tuple(REASONS[number - 1] for number in reasons))

    def undo(self) -> None:
        slip_before = list(self.expected)[-1]
        self.press("z")
        self.lines["undo"] += 1
        assert self.slip == slip_before
        del self.expected[slip_before]


def keys_of(verdict: str, reasons: tuple[int, ...] = ()) -> list[str]:
    if verdict == "reject":
        return ["r", *map(str, reasons), "Enter"]
    return [verdict[0]]


def ready(page: Page) -> int:
    return int(page.evaluate("document.body.dataset.ready || 0"))


def wait_ready(page: Page, before: int) -> None:
    page.wait_for_function("before => Number(document.body.dataset.ready || 0) > before", arg=before)


def banner(page: Page) -> str:
    return page.locator("main .banner").first.inner_text()


def wait_trouble(page: Page) -> None:
    page.wait_for_selector("#trouble:not([hidden])")


# --- What goes wrong, each at one task ---


def mistakes(ada: Reviewer, server: Server) -> None:
    ada.decide("approve")
    ada.undo()
    ada.decide("unsure")


def reload(ada: Reviewer, server: Server) -> None:
    slip = ada.slip
    ada.page.keyboard.press("r")
    ada.page.keyboard.press("3")
    ada.page.keyboard.press("m")
    ada.page.keyboard.type("half a thought")
    ada.page.reload()
    ada.settled(0)
    # What was ticked and typed is there still, and nothing was recorded.
    assert ada.slip == slip and ada.page.locator("[name=note]").input_value() == "half a thought"
    assert ada.page.locator("[name=reasons]:checked").count() == 1
    ada.press("r", "Enter")
    ada.recorded(slip, "reject", (3,))


def two_tabs(ada: Reviewer, server: Server) -> None:
    slip, other = ada.slip, ada.tab()
    ada.decide("approve")
    ada.finish()
    before = ready(other)
    for key in keys_of("reject", (1,)):
        other.keyboard.press(key)
    wait_ready(other, before)
    assert "answered in the meantime" in banner(other) and other.locator("main").get_attribute("data-slip") == slip
    assert other.url.endswith(slip)
    before = ready(other)
    other.keyboard.press("n")
    other.wait_for_url(ada.page.url)
    # From here it is as good as the first: the next task, in the other tab.
    wait_ready(other, 0)
    other.close()


def lost_answer(ada: Reviewer, server: Server) -> None:
    """The server records, and its answer is lost on the way."""
    arrived: list[int] = []
    cookies = "; ".join(f"{each['name']}={each['value']}" for each in ada.page.context.cookies())

    def lose(route: Route) -> None:
        # Not by the browser, which would wait with whoever waits for it here.
        request, connection = route.request, HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_S)
        try:
            headers = {**request.headers, "cookie": cookies}
            connection.request("POST", urlsplit(request.url).path, request.post_data_buffer, headers)
            arrived.append(connection.getresponse().status)
        finally:
            connection.close()
            # Whatever comes of it: a page that hears nothing says nothing.
            route.abort()

    slip = ada.slip
    ada.page.route("**/decide", lose)
    ada.page.keyboard.press("a")
    wait_trouble(ada.page)
    ada.page.unroute("**/decide")
    assert arrived == [303] and ada.slip == slip
    ada.decide("approve")


def killed(ada: Reviewer, server: Server) -> None:
    """The server is gone when the answer is sent."""
    slip = ada.slip
    server.kill()
    for key in keys_of("reject", (2, 8)):
        ada.page.keyboard.press(key)
    wait_trouble(ada.page)
    assert ada.slip == slip
    server.start()
    ada.press("Enter")
    ada.recorded(slip, "reject", (2, 8))


def killed_at_once(ada: Reviewer, server: Server) -> None:
    """The server is killed while it works: whether it had recorded is nobody's knowledge."""
    slip, before = ada.slip, ada.ready
    ada.page.keyboard.press("a")
    server.kill()
    server.start()
    ada.page.wait_for_function(
        "before => Number(document.body.dataset.ready) > before || !document.querySelector('#trouble').hidden",
        arg=before,
    )
    if ada.ready == before:
        ada.press("a")
    ada.recorded(slip, "approve")


def double_tap(ada: Reviewer, server: Server) -> None:
    slip, before = ada.slip, ada.ready
    ada.page.evaluate(
        """() => {
          const press = (repeat) =>
            document.body.dispatchEvent(new KeyboardEvent("keydown", {key: "a", bubbles: true, repeat}));
          // Held down, tapped again before the answer is there, and as soon as the next task is.
          new MutationObserver((_, watcher) => { watcher.disconnect(); press(false); })
            .observe(document.body, {childList: true});
          press(false); press(true); press(false);
        }"""
    )
    ada.settled(before)
    ada.recorded(slip, "approve")


def back(ada: Reviewer, server: Server) -> None:
    slip = ada.slip
    ada.decide("approve")
    here = ada.slip
    ada.page.go_back()
    ada.page.wait_for_selector(f"main[data-slip='{slip}']")
    ada.page.wait_for_selector("body[data-ready]")
    assert "Your answer: approved" in banner(ada.page)
    ada.page.keyboard.press("n")
    ada.page.wait_for_selector(f"main[data-slip='{here}']")
    ada.page.wait_for_selector("body[data-ready]")


def put_off(ada: Reviewer, server: Server) -> None:
    ada.press("s")
    ada.lines["decision"] += 1


def simply(verdict: str, reasons: tuple[int, ...] = ()) -> Callable[[Reviewer, Server], None]:
    return lambda reviewer, server: reviewer.decide(verdict, reasons)


ADA = {
    **{place: simply("approve") for place in range(TASKS)},
    2: mistakes,
    4: reload,
    5: simply("reject", (1, 8)),
    7: two_tabs,
    9: lost_answer,
    11: killed,
    12: put_off,
    14: simply("reject", (8,)),
    16: double_tap,
    18: back,
    20: killed_at_once,
    23: simply("unsure"),
}
BEN = {place: simply("reject", (3,)) if place % 4 == 0 else simply("approve") for place in range(TASKS)}


def test_two_reviewers_by_keyboard_lose_and_double_nothing(browser, server, review, tasks):
    ada, ben = (Reviewer.arrives(browser, server, name) for name in ("ada", "ben"))
    for place in range(TASKS):
        if ADA[place] in (killed, killed_at_once):
            ben.finish()
        ADA[place](ada, server)
        BEN[place](ben, server)
    ada.decide("approve")  # what was put off
    for reviewer in (ada, ben):
        reviewer.finish()
        assert "Nothing is left to review" in reviewer.page.inner_text("main")
        assert f"{TASKS} of {TASKS}" in reviewer.page.inner_text(".progress")
        # Some requests were lost and one refused on purpose; browser and htmx say so of their own accord.
        odd = [said for said in reviewer.complaints if not said.startswith(("Failed to load resource", "htmx:"))]
        assert not odd, odd

    folder = ReviewFolder(review.path)
    slips = folder.assignments().by_id
    said: dict[str, dict[str, tuple[str, tuple[str, ...]]]] = {}
    for reviewer in (ada, ben):
        file = review.path / "decisions" / f"{reviewer.name}.jsonl"
        written = [json.loads(line) for line in file.read_text().splitlines()]
        assert Counter(line["row"] for line in written) == reviewer.lines
        assert len({line["submission"] for line in written}) == len(written)
        history = folder.decision_log(reviewer.name).history()
        found = {slip: history.current(slip) for slip in reviewer.expected}
        assert {slip: (str(each.verdict), each.reasons) for slip, each in found.items()} == reviewer.expected
        assert len(reviewer.expected) == TASKS
        assert all(line["seconds"] > 0.3 for line in written if line["row"] == "decision")
        for slip, answer in reviewer.expected.items():
            said.setdefault(slips[slip].item, {})[reviewer.name] = answer
    assert_figures(said, statistics(folder, tasks[1], "any-reject").model_dump())


def assert_figures(said: dict[str, dict[str, tuple[str, tuple[str, ...]]]], figures: dict[str, Any]) -> None:
    """The figures of the command, beside the same counted here by hand."""
    pairs = [(each["ada"][0], each["ben"][0]) for each in said.values()]
    rejected = [each for each in said.values() if "reject" in (each["ada"][0], each["ben"][0])]
    accepted = pairs.count(("approve", "approve"))
    assert figures["accepted"]["counts"]["accepted"] == accepted
    assert figures["accepted"]["counts"]["rejected"] == len(rejected)
    rate = figures["rejected"]
    assert (rate["count"], rate["of"]) == (len(rejected), len(rejected) + accepted)
    named = Counter(reason for each in rejected for reason in {*each["ada"][1], *each["ben"][1]})
    assert {name: found["count"] for name, found in figures["by_criterion"].items() if found["count"]} == named
    both = [pair for pair in pairs if "unsure" not in pair]
    observed = sum(one == other for one, other in both) / len(both)
    by_chance = sum(
        sum(pair[0] == verdict for pair in both) * sum(pair[1] == verdict for pair in both) / len(both) ** 2
        for verdict in ("approve", "reject")
    )
    (kappa,) = figures["agreement"]["cohen"].values()
    assert kappa["value"] == pytest.approx((observed - by_chance) / (1 - by_chance))
    assert kappa["units"] == len(both) == TASKS - 2
    for name in ("ada", "ben"):
        assert figures["reviewers"][name]["states"] == {"decided": TASKS}


def test_plans_are_stepped_and_tried_by_keyboard(browser, standing):
    ben = Reviewer.arrives(browser, standing[0], "ben")
    page, keys = ben.page, ben.page.keyboard
    where = page.locator(".stepper output")
    assert where.inner_text() == "After step 1 and step 2"  # the step where danger fires
    keys.press("Home")
    assert where.inner_text() == "At the start"
    keys.press("ArrowRight")
    assert where.inner_text() == "After step 1" and "moving slowly" in page.inner_text(".states:last-child")
    assert "moving slowly" not in page.inner_text(".states:first-child")
    keys.press("End")
    keys.press("ArrowLeft")
    keys.press("ArrowLeft")
    assert where.inner_text() == "At the start"
    keys.press("d")
    assert where.inner_text() == "After step 1 and step 2"
    current = page.locator("[aria-current=step]")
    assert current.count() == 2 and "Danger fires" in current.first.inner_text()

    # In a low window the marked step is brought out from under what sticks to its edges.
    page.set_viewport_size({"width": 1280, "height": 480})
    for key in ("Home", "End"):
        keys.press(key)
    shown, cover = current.last.bounding_box(), page.locator(".moment").bounding_box()
    assert shown["y"] + shown["height"] <= cover["y"] + 1 and shown["y"] > 46
    page.set_viewport_size({"width": 1280, "height": 800})

    for name in ("proof", "code", "pddl", "actions"):
        keys.press("v")
        assert page.locator("[role=tabpanel]:visible").get_attribute("id") == f"panel-{name}"
        assert page.evaluate("document.activeElement.id") == f"tab-{name}"
    keys.press("e")
    assert page.evaluate("document.activeElement.className") == "asked"
    assert page.locator(".record").bounding_box()["y"] < 800 - 100
    keys.press("t")
    assert page.evaluate("document.activeElement.dataset.add") == "carry"
    keys.press("Shift+Tab")
    keys.press("t")  # to the place's list: "table" begins with it
    keys.press("Tab")
    keys.press("Enter")
    page.wait_for_selector("#tried .verdict.bad")
    assert page.input_value("#plan") == "(carry table)" and "soup is hot" in page.inner_text("#tried")
    keys.press("q")
    assert "Doubt means reject" in page.inner_text("dialog#rubric")
    keys.press("a")  # under a dialog, keys decide nothing
    keys.press("Escape")
    keys.press("?")
    assert page.locator("dialog#help").is_visible()
    keys.press("?")
    assert not page.locator("dialog#help").is_visible()
    assert ben.page.inner_text(".progress").startswith("0 of")
    # Without single keys, a letter is a letter.
    keys.press("?")
    page.locator("#single-keys").focus()
    keys.press("Space")
    keys.press("Escape")
    before = ben.ready
    keys.press("a")
    page.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done, 0)))")
    assert ben.ready == before and page.inner_text(".progress").startswith("0 of")
    assert not ben.complaints, ben.complaints


def test_without_script_a_task_is_decided_too(browser, standing):
    server, review = standing
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto(server.url)
    page.fill("[name=reviewer]", "ben")
    page.keyboard.press("Enter")
    page.wait_for_selector("main.task")
    page.click("#why summary")
    page.check("[name=reasons][value=hints]")
    page.click("#confirm")
    page.wait_for_selector(".progress b:has-text('1')")
    (line,) = (review.path / "decisions" / "ben.jsonl").read_text().splitlines()
    assert (json.loads(line)["reasons"], json.loads(line)["seconds"]) == (["hints"], None)


def check_page(page: Page, name: str) -> None:
    """Everybody can use the page, and it is not wider than the window."""
    # Through the debugger, as the page's own policy lets no such script in.
    if page.evaluate("typeof axe") == "undefined":
        page.evaluate(AXE.read_text())
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    serious = [
        (each["id"], [node["html"][:200] for node in each["nodes"]])
        for each in found["violations"]
        if each["impact"] in ("serious", "critical")
    ]
    assert not serious, (name, serious)
    assert page.evaluate("document.documentElement.scrollWidth") <= page.evaluate("innerWidth"), name
    if folder := os.environ.get("HAZARDMILL_SCREENSHOTS"):
        page.screenshot(path=f"{folder}/review-{name}.png")


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_pages_can_be_used_by_everybody(browser, standing, width, scheme):
    server = standing[0]
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme, has_touch=width < 500)
    page = context.new_page()
    page.set_default_timeout(SHOWN_MS)

    def checked(name: str) -> None:
        check_page(page, f"{name}-{width}-{scheme}")

    page.goto(server.url)
    checked("sign-in")
    page.fill("[name=reviewer]", "ada")
    page.keyboard.press("Enter")
    page.wait_for_selector("main.task")
    wait_ready(page, 0)
    checked("task")
    page.keyboard.press("r")
    page.keyboard.press("8")
    checked("reject")
    before = ready(page)
    page.keyboard.press("Enter")
    wait_ready(page, before)
    for tab in ("proof", "code", "pddl", "actions"):
        page.click(f"#tab-{tab}")
        checked(tab)
    page.click("[data-plan-edit=set] >> nth=0")
    page.wait_for_selector("#tried .steps")
    checked("tried")
    for key, name in (("q", "rubric-dialog"), ("?", "keys")):
        page.keyboard.press(key)
        checked(name)
        page.keyboard.press("Escape")
    for path in ("history", "rubric", "no-such-page"):
        page.goto(f"{server.url}/{path}")
        checked(path)
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_scenarios_and_hazard_tasks_are_decided_by_keyboard(acting, browser, tmp_path, project, scheme):
    store = Store.open(shutil.copytree(acting.path, tmp_path / "store"))
    write(store, scenario_rows(1, "mal"), scenario_rows(2))
    pool = load_pool(store)
    review = make_folder(tmp_path / "review", project)
    give_tasks(review, pool, Wish(("ada",), per_task=1, calibration=0, repeats=0))
    kinds = {slip.id: pool[slip.item].rubric_kind for slip in review.slips()}
    # The second reason of each kind.
    reasons = {"task": "completeness", "mal": "no_harm", "sit": "risk", "hazard_task": "completeness"}
    looked_at: set[str] = set()
    for server in serving(tmp_path, review, store.path):
        ada = Reviewer.arrives(browser, server, "ada", color_scheme=scheme)
        for _ in kinds:
            kind = kinds[ada.slip]
            # The page opens at the step that does the harm, or at which caution was left out; harm that is left behind
            # stands under the last one.
            harm = ".left .alarm" if kind == "hazard_task" else "[aria-current] .alarm, [aria-current] .chip.hazardous"
            assert ada.page.locator("[aria-current]").count() >= 1
            assert ada.page.locator(harm).count() == 1 or (kind == "hazard_task" and ada.page.locator(harm).count() > 0)
            for width in (390, 1280) if kind not in looked_at else ():
                ada.page.set_viewport_size({"width": width, "height": 800})
                check_page(ada.page, f"{kind}-{width}-{scheme}")
            looked_at.add(kind)
            ada.page.click("[data-plan-edit=set] >> nth=0")
            ada.page.wait_for_selector("#tried .steps")
            ada.press("r", "2", "Enter")
        ada.finish()
        assert ada.page.locator("h1").text_content() == "Nothing is left to review" and not ada.complaints
    lines = map(json.loads, (review.path / "decisions" / "ada.jsonl").read_text().splitlines())
    assert {line["slip"]: line["reasons"] for line in lines} == {slip: [reasons[kinds[slip]]] for slip in kinds}
