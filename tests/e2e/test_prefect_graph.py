"""The graph of a flow run as people see it: a real Prefect server, both of its UIs, a real browser.

Three flow runs of ``generate`` are drawn:

- ``works``: records with the offline author; every stage does its work.
- ``counts``: 2,000 records, divided into waves as always, but each stage only returns the counts of a wave that needs
  all five drafts (``graph_run.py``). The tests of this graph are about its size and its drawing; to work on so many
  records would take minutes and draw the same boxes.
- ``fails``: four records in two waves; the judge of the second wave raises an error. The flow run is retried later.

What is drawn is read in three ways, because the graph is a canvas:

- from the API, which counts the boxes and the arrows;
- from the scene that the page's drawing library (PixiJS) renders: labels, positions, and ends of the arrows that are
  not switched off. The page has no public way to it, so a script catches the library's application when it sets its
  property ``_resizeTo``;
- from the pixels of a screenshot: each box of ``fails`` and of the dependency grid has the colour of its state, and in
  the grid something vanishes at the place of each arrow if arrows are hidden.

None of these shows that a person can read the labels: look at the pictures in the documentation for that. With
``HAZARDMILL_SCREENSHOTS=FOLDER`` they are written there as ``prefect-graph-*.png``.
"""

from __future__ import annotations

import io
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
from factories.generated import write_full
from patience import PATIENCE_S
from PIL import Image, ImageChops
from report.browsing import chromium

from e2e.prefect_server import Prefect, serving, until
from e2e.prefect_uis import SHOWN_MS, UIS, keep_picture, open_ui
from tests.prefect_database import empty_database
from tests.sizes import sized

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

# A server, flow runs and a browser.
pytestmark = [pytest.mark.full, pytest.mark.timeout(300)]

RUNNER: Final = Path(__file__).with_name("graph_run.py")
REPORTS_A_YEAR: Final = 410_202
"""How many a full file of NEISS holds."""
MANY: Final = 2_000
LARGE: Final = {"works": sized(48, 300), "counts": MANY}
"""Flow run to its number of records."""
WAVES: Final[dict[str, dict[str, int]]] = sized({"works": {"wave_size": 6}}, {})
"""Flow run to what makes eight waves of so few records; of more, there are eight by default."""
MOST_BOXES: Final = 170
ARROWS_SHOWN: Final = 500
"""Above so many arrows, counted as the API counts them, the pages hide all."""
SIZE: Final = (1280, 800)
LARGE_SIZE: Final = (1920, 1080)
"""Width and height of windows, in pixels; a large one shows the labels of a large graph."""
FIT: Final = "c"
"""The key that brings all of a graph onto the screen."""
GREEN, RED = (33, 157, 75), (219, 13, 43)
"""The colours of the states Completed and Failed in both UIs, nearly."""

Arrows = Counter[tuple[str, str]]
"""Arrows by the labels of the boxes at both ends."""
Picture = tuple["Drawn", Image.Image]
"""What is drawn, with a picture of it."""
Place = tuple[float, float, float, float]
"""Left, top, right and bottom, in pixels."""


@dataclass(frozen=True)
class Graph:
    """A graph, as the API gives it."""

    boxes: list[tuple[str, str]]
    """Label and type of state, a pair per box."""
    arrows: Arrows
    """Each arrow once."""
    counted: int
    """Number of arrows as the pages count them: once per parameter of the stage that an arrow comes from."""

    @property
    def labels(self) -> Counter[str]:
        return Counter(label for label, _ in self.boxes)


def _graph(prefect: Prefect, flow_run: str) -> Graph:
    nodes = dict(prefect.get(f"/flow_runs/{flow_run}/graph-v2")["nodes"])
    pairs = {(parent["id"], name) for name, node in nodes.items() for parent in node["parents"]}
    return Graph(
        [(node["label"], node["state_type"]) for node in nodes.values()],
        Counter((nodes[one]["label"], nodes[other]["label"]) for one, other in pairs),
        sum(len(node["children"]) for node in nodes.values()),
    )


def _ended(prefect: Prefect, flow_run: str, publications: int = 1) -> Graph:
    """The graph of a flow run that has ended, once the server knows all of it: it learns of tasks seconds later."""

    def look() -> Graph | None:
        found = _graph(prefect, flow_run)
        return found if found.boxes.count(("publish", "COMPLETED")) == publications else None

    return until(look, "the last box of the graph")


def _of_waves(drafts: dict[int, int]) -> Arrows:
    """The arrows of a run whose waves, by number, needed so many drafts."""
    found = [("ingest", "plan"), ("ingest", "publish")]
    for wave, most in drafts.items():
        names = ["extract", *(f"{name}-{n}" for n in range(1, most + 1) for name in ("author", "execute", "judge"))]
        stages = [f"wave {wave:02d} {name}" for name in [*names, "commit"]]
        found += zip(["plan", *stages], [*stages, "publish"], strict=True)
    return Counter(found)


@pytest.fixture(scope="module")
def prefect(tmp_path_factory: pytest.TempPathFactory, project: Path) -> Iterator[Prefect]:
    """A server of its own, with a database of its own, as ``make server`` starts it."""
    home = tmp_path_factory.mktemp("prefect")
    # The pages would be unpacked into the installed package otherwise, which may not be ours to write.
    extra = {
        "PREFECT_UI_STATIC_DIRECTORY": str(home / "ui"),
        "PYTHONPATH": str(project),
        "HAZARDMILL_MODEL": "offline-author",
    }
    with serving(home, project, extra, empty_database(tmp_path_factory)) as started:
        yield started


def _execute(prefect: Prefect, name: str, *words: object) -> None:
    """Execute flow runs in a process of their own: a browser's event loop and a client's do not go together."""
    given = [word if isinstance(word, str) else json.dumps(word) for word in words]
    prefect.do(name, [sys.executable, str(RUNNER), *given])


@pytest.fixture(scope="module")
def flow_runs(prefect: Prefect, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The ids of the flow runs, by the names of their runs."""
    folder = tmp_path_factory.mktemp("runs")
    reports = write_full("neiss", folder / "reports", share=2 * MANY / REPORTS_A_YEAR)

    def given(run: str, limit: int, **more: object) -> dict[str, object]:
        store = folder / run / "store"
        return {
            "source": "neiss",
            "path": str(reports.path),
            "limit": limit,
            "store": str(store),
            "run_id": run,
            **more,
        }

    words = [word for run, limit in LARGE.items() for word in (run, given(run, limit, **WAVES.get(run, {})))]
    _execute(prefect, "flows", *words, "fails", given("fails", 4, wave_size=2))
    return {each["parameters"]["run_id"]: each["id"] for each in prefect.post("/flow_runs/filter")}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as launched:
        yield launched


# What the page draws

_CATCH: Final = """
Object.defineProperty(Object.prototype, '_resizeTo', {configurable: true, set(value) {
  Object.defineProperty(this, '_resizeTo', {value, writable: true, configurable: true});
  window.drawing = this;
}});
"""

_READ: Final = """() => {
  const name = item => item.label ?? item.name;
  const find = item => name(item) === 'nodes-container'
    ? item : (item.children ?? []).map(find).find(found => found);
  const nodes = window.drawing?.stage && find(window.drawing.stage);
  if (!nodes) return null;
  const place = item => { const {x, y, width, height} = item.getBounds(); return [x, y, x + width, y + height]; };
  const labelOf = box => box.children.find(child => child.text);
  const boxes = nodes.children.filter(item => name(item) === 'node-container' && labelOf(item)).map(box => {
    // Its artifacts come first.
    const bar = box.children.filter(child => !child.text).at(-1);
    return {label: labelOf(box).text, from: [box.x, box.y], to: [box.x + bar.width, box.y], place: place(bar)};
  });
  const edges = nodes.children.find(item => item.children?.some(child => name(child) === 'edge-container'));
  const arrows = (edges?.children ?? []).filter(arrow => arrow.visible).map(arrow => {
    const head = arrow.children[0];
    return {from: [arrow.x, arrow.y], to: [arrow.x + head.x, arrow.y + head.y], place: place(arrow)};
  });
  return {boxes, arrows};
}"""
"""The boxes with the ends of their bars, and the arrows with theirs; and where both are on the canvas, in pixels."""

HALF_A_BOX: Final = 16
"""An arrow begins and ends at half the height of a box, in units of the scene."""
HEAD: Final = 8
"""The head of an arrow is placed so far before its end."""


@dataclass(frozen=True)
class Drawn:
    """What the page has drawn."""

    boxes: list[tuple[str, Place]]
    """Label and place on the canvas."""
    arrows: list[tuple[str, str, Place]]
    """Labels of the boxes at both ends, empty where there is none; place on the canvas."""

    @property
    def pairs(self) -> Arrows:
        return Counter((one, other) for one, other, _ in self.arrows)

    @property
    def labels(self) -> Counter[str]:
        return Counter(label for label, _ in self.boxes)


def _nearest(boxes: list[dict[str, Any]], end: str, x: float, y: float) -> str:
    """The label of the box whose bar begins or ends at a point; empty if none does."""
    near = [box for box in boxes if abs(box[end][0] - x) < 3 and abs(box[end][1] + HALF_A_BOX - y) < 3]
    return min(near, key=lambda box: abs(box[end][0] - x))["label"] if near else ""


def _read(tab: Page) -> Drawn | None:
    found = tab.evaluate(_READ)
    if not found:
        return None
    boxes = found["boxes"]
    return Drawn(
        [(box["label"], tuple(box["place"])) for box in boxes],
        [
            (
                _nearest(boxes, "to", *arrow["from"]),
                _nearest(boxes, "from", arrow["to"][0] + HEAD, arrow["to"][1]),
                tuple(arrow["place"]),
            )
            for arrow in found["arrows"]
        ],
    )


def _opened(browser: Browser, prefect: Prefect, ui: str, flow_run: str, size: tuple[int, int] = SIZE) -> Page:
    """The page of a flow run, once its graph has a canvas."""
    context = open_ui(browser, prefect.address, ui, size=size)
    context.add_init_script(_CATCH)
    tab = context.new_page()
    tab.goto(f"{prefect.address}{UIS[ui]}/runs/flow-run/{flow_run}", timeout=SHOWN_MS)
    tab.wait_for_selector("canvas", timeout=SHOWN_MS)
    return tab


def _fill_the_screen(tab: Page, labels: Counter[str]) -> None:
    """Show the graph in full screen, once it has these boxes."""
    until(lambda: (found := _read(tab)) is not None and found.labels == labels, "the boxes", PATIENCE_S / 4)
    tab.keyboard.press("f")
    tab.keyboard.press(FIT)


def _choose(tab: Page, *options: str) -> None:
    """Choose options under the gear, which both UIs have in the lower right corner of the full screen."""
    size = tab.viewport_size
    assert size is not None
    gear = (size["width"] - 38, size["height"] - 38)
    tab.mouse.click(*gear)
    for option in options:
        tab.get_by_text(option, exact=True).click()
    tab.mouse.click(*gear)
    tab.get_by_text(options[0], exact=True).wait_for(state="hidden")


def _pictured(
    tab: Page, labels: Counter[str], arrows: Arrows, seconds: float = PATIENCE_S, *, fit: bool = True
) -> Picture:
    """What is drawn once it is these boxes and arrows, with a picture of it during which nothing moved."""
    last: list[Drawn | None] = [None]

    def look() -> Picture | None:
        found = last[0] = _read(tab)
        if found is not None and (found.labels, found.pairs) == (labels, arrows):
            picture = Image.open(io.BytesIO(tab.locator("canvas").screenshot())).convert("RGB")
            if _is_inside(found, picture) and found == _read(tab):
                return found, picture
        if fit:
            # A page draws no arrow that is off the screen, and a new layout may put some there.
            tab.keyboard.press(FIT)
        return None

    try:
        return until(look, "boxes and arrows that rest on the canvas", seconds)
    except AssertionError:
        assert last[0] is not None, "nothing is drawn"
        assert (last[0].labels, last[0].pairs) == (labels, arrows)
        raise


def _is_inside(drawn: Drawn, picture: Image.Image) -> bool:
    return all(0 <= x <= picture.width and 0 <= y <= picture.height for _, (x, y, _, _) in drawn.boxes)


def _shown(
    open_page: Callable[[], Page], graph: Graph, prepare: Callable[[Page], None], tries: int = 3
) -> tuple[Page, Picture]:
    """A page that draws this graph, with a picture.

    A page that was clicked while it laid out a graph may keep what it had; a person would load it again, and so does
    this, twice.
    """
    from playwright.sync_api import Error as PlaywrightError

    tab = open_page()
    try:
        prepare(tab)
        return tab, _pictured(tab, graph.labels, graph.arrows, PATIENCE_S / (6 if tries > 1 else 2))
    except (AssertionError, PlaywrightError):
        if tries == 1:
            raise
        tab.context.close()
        return _shown(open_page, graph, prepare, tries - 1)


def _colour(picture: Image.Image, place: Place) -> tuple[int, ...]:
    """The most frequent colour of a part of a picture."""
    left, top, right, bottom = map(round, place)
    part = picture.crop((left, top, max(right, left + 1), max(bottom, top + 1)))
    return max(part.getcolors(part.width * part.height))[1]


def _is(colour: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return all(abs(one - two) < 40 for one, two in zip(colour, other, strict=True))


@pytest.mark.parametrize("run", LARGE)
def test_a_large_run_has_a_box_per_stage_and_few_enough_arrows(
    prefect: Prefect, flow_runs: dict[str, str], run: str
) -> None:
    graph = _ended(prefect, flow_runs[run])
    labels = graph.labels
    assert set(labels.values()) == {1}
    drafts = {wave: sum(f"wave {wave:02d} author-{n}" in labels for n in range(1, 6)) for wave in range(1, 9)}
    assert set(drafts.values()) <= ({5} if run == "counts" else {1, 2, 3, 4, 5})
    assert graph.arrows == _of_waves(drafts)
    assert {state for _, state in graph.boxes} == {"COMPLETED"}
    assert len(graph.boxes) == 3 + sum(2 + 3 * most for most in drafts.values()) <= MOST_BOXES
    assert len(graph.arrows) <= graph.counted < ARROWS_SHOWN


@pytest.mark.parametrize(("run", "ui"), list(zip(LARGE, UIS, strict=True)))
def test_every_box_and_arrow_is_drawn(
    browser: Browser, prefect: Prefect, flow_runs: dict[str, str], run: str, ui: str
) -> None:
    graph = _ended(prefect, flow_runs[run])
    tab, (_, picture) = _shown(
        partial(_opened, browser, prefect, ui, flow_runs[run]),
        graph,
        # At the size of the page a large graph is too small for arrows (docs/prefect.md).
        lambda tab: _fill_the_screen(tab, graph.labels),
    )
    keep_picture(picture, f"prefect-graph-{run}-{ui}")
    tab.context.close()


@pytest.mark.parametrize("ui", UIS)
def test_the_dependency_grid_shows_all_of_a_large_run(
    browser: Browser, prefect: Prefect, flow_runs: dict[str, str], ui: str
) -> None:
    graph = _ended(prefect, flow_runs["counts"])

    def lay_out(tab: Page) -> None:
        _fill_the_screen(tab, graph.labels)
        _choose(tab, "Hide artifacts", "Dependency grid")
        tab.keyboard.press(FIT)

    opened = partial(_opened, browser, prefect, ui, flow_runs["counts"], LARGE_SIZE)
    tab, (drawn, picture) = _shown(opened, graph, lay_out)
    for label, place in drawn.boxes:
        assert _is(_colour(picture, place), GREEN), label
    keep_picture(picture, f"prefect-graph-grid-{ui}")

    _choose(tab, "Hide dependency arrows")
    less, without = _pictured(tab, graph.labels, Counter(), fit=False)
    assert less.boxes == drawn.boxes
    changed = ImageChops.difference(picture, without)
    for one, other, place in drawn.arrows:
        assert changed.crop(tuple(map(round, place))).getbbox(), f"from {one} to {other}"
    tab.context.close()


def test_a_failed_stage_is_red_and_a_retry_adds_what_is_left(
    browser: Browser, prefect: Prefect, flow_runs: dict[str, str]
) -> None:
    flow_run = flow_runs["fails"]
    assert prefect.flow_run(flow_run)["state"]["type"] == "FAILED"
    before = _ended(prefect, flow_run)
    # Once, and once more after what may have been an accident.
    failed = ("wave 02 judge-1", "FAILED")
    assert [box for box in before.boxes if box[1] != "COMPLETED"] == [failed] * 2
    for ui in UIS:
        keep_picture(_coloured(browser, prefect, ui, flow_run, before), f"prefect-graph-failed-{ui}")

    prefect.set_state(flow_run, "SCHEDULED")
    parameters = prefect.flow_run(flow_run)["parameters"]
    _execute(prefect, "retry", "retries", {"flow_run": flow_run, "parameters": parameters})
    assert prefect.ended(flow_run)["type"] == "COMPLETED"
    after = _ended(prefect, flow_run, publications=2)
    assert [box for box in after.boxes if box[1] != "COMPLETED"] == [failed] * 2
    # Only the wave that was left, and its records are not read from the source again.
    added = _of_waves({1: 1}) - Counter({("ingest", "plan"): 1, ("ingest", "publish"): 1})
    assert after.arrows - before.arrows == added
    assert after.labels - before.labels == Counter({label for arrow in added for label in arrow})
    _coloured(browser, prefect, "v2", flow_run, after)


def _coloured(browser: Browser, prefect: Prefect, ui: str, flow_run: str, graph: Graph) -> Image.Image:
    """A picture of a graph, in which failed boxes, and no others, are red."""
    failed = {label for label, state in graph.boxes if state == "FAILED"}
    tab, (drawn, picture) = _shown(partial(_opened, browser, prefect, ui, flow_run), graph, lambda _: None)
    for label, place in drawn.boxes:
        assert _is(_colour(picture, place), RED if label in failed else GREEN), label
    tab.context.close()
    return picture
