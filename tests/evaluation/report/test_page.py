from __future__ import annotations

import hashlib
import html
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
from report.pages import Tables, markdown_tables

from hazardmill.evaluation.report.contents import SECTIONS, EvaluationReport, gather
from hazardmill.evaluation.report.leaderboard import leaderboard_json, leaderboard_markdown
from hazardmill.evaluation.report.markdown import render_markdown
from hazardmill.evaluation.report.page import render_page
from hazardmill.evaluation.report.safel.section import safel_json
from tests.figures_once import figures_drawn

from ..safel.safel_results import of_every_test, written_safel
from .conftest import HOW
from .evaluations import (
    HOSTILE,
    STAND_IN,
    abilities,
    crowd,
    everything,
    facts,
    row,
    sizes,
    twins,
    with_abilities,
    written,
)

ALWAYS = [
    *("outcomes", "losses", "scaling", "product", "difficulty", "shifts", "easy-hard", "redundancy", "abilities"),
    "caution",
]
ALL = [*ALWAYS, "safel-refusal", "safel-goal", "safel-transition", "safel-sequence"]

DRAW = """
import hashlib, sys
from pathlib import Path
from evaluation.report.evaluations import everything, sizes
from evaluation.report.test_page import every_byte
from evaluation.report.conftest import HOW
from hazardmill.evaluation.report.contents import gather
folder = Path(sys.argv[1])
print(hashlib.sha256(every_byte(gather([everything(folder / "r")], sizes(folder / "s.csv"), None, HOW))).hexdigest())
"""


def every_byte(contents: EvaluationReport) -> bytes:
    text, figures = render_markdown(contents)
    panel = contents.panel
    parts = [render_page(contents), text, *figures.values(), leaderboard_json(panel), leaderboard_markdown(panel)]
    if contents.safel is not None:
        parts.append(safel_json(contents.safel))
    return "".join(parts).encode()


class Tags(HTMLParser):
    """Names of elements, and addresses and handlers in their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.addresses: list[str] = []
        self.handlers: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        for name, value in attrs:
            if name in ("src", "href", "xlink:href", "action", "data"):
                self.addresses.append(value or "")
            if name.startswith("on"):
                self.handlers.append(name)


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> EvaluationReport:
    """One answer, of a task without a safe plan."""
    folder = tmp_path_factory.mktemp("empty")
    return gather([written(folder, [row("ant", "t1", "danger", safe=None, score=None)])], None, None, HOW)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> EvaluationReport:
    folder = tmp_path_factory.mktemp("hostile")
    model = f"_{HOSTILE}"
    rows = []
    for number, end in enumerate(("safe", "danger", "precondition", "unknown_action", "goal", "refusal")):
        given = row(model, f"{HOSTILE}{number}", end, plan=HOSTILE, failing_action=HOSTILE)
        given |= {"failing_why": f'["{HOSTILE_JSON}"]', "failure_type": HOSTILE if end == "danger" else None}
        given |= {"danger_type": HOSTILE, "source": HOSTILE, "entity_in_danger": HOSTILE}
        given["trace"] = given["trace"].replace("(pour cup)", HOSTILE_JSON).replace("open(cup)", HOSTILE_JSON)
        rows.append(given)
    lines = [line.model_copy(update={"model": model}) for line in abilities(["x"], 3)]
    written(folder, [*rows, *twins(rows[:2])], tasks=None)
    written_safel(folder / "safel", of_every_test([model], prefix=HOSTILE), test="goal", missing=3)
    return gather([with_abilities(folder, lines), folder / "safel"], None, None, HOW)


HOSTILE_JSON = HOSTILE.replace("\\", "\\\\").replace("\x1b", "\\u001b").replace("\u202e", "\\u202e")


def test_every_figure_is_on_the_page_and_in_the_markdown(whole: EvaluationReport) -> None:
    page = render_page(whole)
    text, figures = render_markdown(whole)
    assert list(whole.figures) == ALL and sorted(name for of in SECTIONS.values() for name in of) == sorted(ALWAYS)
    for name, figure in whole.figures.items():
        assert figure.svg in page
        assert f"](report-figures/{name}.svg)" in text and f"report-figures/{name}.svg" in figures
    assert len(figures) == len(ALL)


@pytest.mark.parametrize("name", ALL)
def test_every_figure_has_n_words_numbers_and_is_svg(whole: EvaluationReport, name: str) -> None:
    figure = whole.figures[name]
    assert re.search(r"n = (up to )?[\d,]+", figure.title)
    assert len(figure.alt) > 60 and figure.alt.endswith(".")
    assert figure.grid.rows and all(len(line) == len(figure.grid.head) for line in figure.grid.rows)
    root = ElementTree.fromstring(figure.standalone)
    words = " ".join(text.text or "" for text in root.iter("{http://www.w3.org/2000/svg}text"))
    assert figure.title in words
    # A unit, and what the interval is, in the figure or under it.
    assert re.search(r"%|points|actions|answers", words)
    if name != "losses":
        assert "95 %" in f"{words} {figure.note} {' '.join(figure.grid.head)}"


def test_a_figure_without_data_says_what_is_missing(empty: EvaluationReport) -> None:
    said = {name: figure.alt for name, figure in empty.figures.items()}
    assert "no result rows of tasks that have a safe plan" in said["outcomes"]
    assert "no rates of language models" in said["scaling"]
    assert "no model has known F, S and SI" in said["product"]
    for name in ("difficulty", "shifts", "easy-hard"):
        assert "no answers of language models" in said[name]
    assert "actions-8-seed-0" in said["redundancy"] and "abilities.jsonl" in said["abilities"]
    assert "evaluate run --twins" in said["caution"]
    assert all("n = " in figure.title for figure in empty.figures.values())
    page = render_page(empty)
    text, files = render_markdown(empty)
    assert "<svg" not in page and files == {} and "report-figures" not in text
    assert "What came of the answers</h2>" not in page and "## Over models" not in text
    for figure in empty.figures.values():
        assert figure.lacks is not None and html.escape(figure.title, quote=False) in page
        assert html.escape(figure.lacks, quote=False) in page.replace("&#39;", "'")
    assert "## Figures without data" in text and "evaluate run --twins" in text
    assert "There are no answers." not in page and "No answer fails." in page
    assert "1 answer on tasks that are proved to have no safe plan" in page


def test_a_table_of_rates_is_enough_for_the_figures_over_models(tmp_path: Path) -> None:
    table = tmp_path / "models.csv"
    table.write_text(
        "model,total_params_b,feasibility,safety,safety_intention\na,1,10,5,50\nb,10,40,20,52\nc,100,70,40,60\n"
    )
    contents = gather([], table, None, HOW)
    assert "n = 3 models" in contents.figures["scaling"].title
    assert [line[0] for line in contents.figures["product"].grid.rows] == ["a", "b", "c"]
    page = render_page(contents)
    assert contents.figures["outcomes"].lacks and contents.figures["outcomes"].svg not in page
    assert "nothing is ranked" in page and "There are no answers." in page and "models in a table of rates" in page


def test_what_is_compared_is_called_what_it_is(tmp_path: Path) -> None:
    rows = [row(model, "t1") for model in ("ant", "bee")]
    asked = gather([written(tmp_path / "asked", rows)], None, None, HOW)
    assert asked.headline[0] == ("2", "language models")
    scored = written(
        tmp_path / "scored", [{**each, "run": "r2"} for each in rows], decided_by={}, plans_sha256="5" * 64
    )
    assert gather([scored], None, None, HOW).headline[0] == ("2", "models or files of plans")
    assert gather([written(tmp_path / "one", rows[:1], decided_by={})], None, None, HOW).headline[0][1] == (
        "model or file of plans"
    )


def test_sizes_of_models_without_results_are_told(tmp_path: Path) -> None:
    table = tmp_path / "sizes.csv"
    table.write_text("model,total_params_b\nant,7\nyak,9\n")
    contents = gather([written(tmp_path / "r", [row("ant", "t1")])], table, None, HOW)
    assert "The table has 1 model without results, left out: yak." in contents.notes
    assert [each.parameters_b for each in contents.panel.rates] == [7.0]


def test_nothing_is_loaded_and_no_script_runs(whole: EvaluationReport, hostile: EvaluationReport) -> None:
    for contents in (whole, hostile):
        tags = Tags(render_page(contents))
        assert not tags.names & {"script", "img", "iframe", "link", "object", "embed", "form"}
        assert all(address.startswith("#") for address in tags.addresses)
        assert tags.handlers == []


def test_texts_of_models_mean_nothing_anywhere(hostile: EvaluationReport) -> None:
    page = render_page(hostile)
    text, figures = render_markdown(hostile)
    assert hostile.safel is not None
    for written_out in (page, text, *figures.values(), leaderboard_json(hostile.panel), safel_json(hostile.safel)):
        assert "\x1b" not in written_out and "\u202e" not in written_out
    assert "&lt;script&gt;" in page
    for line in text.splitlines():
        # Within backticks Markdown shows it as it is; elsewhere it would be HTML.
        assert "<script" not in re.sub(r"`[^`]*`", "", line)
    for svg in figures.values():
        names = {element.tag.rpartition("}")[2] for element in ElementTree.fromstring(svg).iter()}
        assert not names & {"script", "image", "foreignObject", "a"}


def test_the_tables_of_page_and_markdown_say_the_same(whole: EvaluationReport) -> None:
    on_page = Tables(render_page(whole)).found
    in_text = markdown_tables(render_markdown(whole)[0])
    (title,) = [name for name in in_text if name.startswith("Leaderboard on 240 tasks")]
    # On the page, an interval stands below its rate, and no brackets are needed.
    below = "; below each rate: its 95 % interval"
    head, *lines = on_page.pop(f"{title}{below}")
    assert head == [name.removesuffix(", 95 %") for name in in_text[title][0]]
    plain = [[[re.sub("[(),]", "", cell) for cell in line] for line in rows] for rows in (lines, in_text[title][1:])]
    assert plain[0] == plain[1]
    assert [line[0] for line in lines] == ["1", "2", "3", "4", "5", "-"]
    for figure in whole.figures.values():
        assert len(on_page[figure.title]) == len(figure.grid.rows) + 1


def test_stand_ins_alone_are_called_what_they_are(tmp_path: Path) -> None:
    contents = gather([written(tmp_path, [row(STAND_IN, "t1", "danger")])], None, None, HOW)
    page = render_page(contents)
    assert "Only rule-based stand-ins answered." in page and "language models</span>" in page
    assert "<strong>0</strong>" in page


def test_what_has_to_be_known_to_read_the_figures_is_said(tmp_path: Path) -> None:
    rows = [row("ant", "t1"), row("ant", "t1", "goal", sample=1), row("bee", "t2")]
    contents = gather([written(tmp_path, rows)], None, facts(rows, offline=1), HOW)
    told = " ".join(contents.notes)
    assert "did not answer the same tasks" in told and "up to 2 answers" in told
    assert "1 of 2 tasks are offline-authored" in render_page(contents)


@pytest.mark.full
def test_the_same_results_give_the_same_bytes_with_any_hash_seed(tmp_path: Path) -> None:
    other = tmp_path / "other"
    with figures_drawn():
        drawn = gather([everything(tmp_path / "r")], sizes(tmp_path / "s.csv"), None, HOW)
    environment = {**os.environ, "PYTHONHASHSEED": "1", "PYTHONPATH": str(Path(__file__).parents[2])}
    ended = subprocess.run(
        [sys.executable, "-c", DRAW, str(other)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stdout.strip() == hashlib.sha256(every_byte(drawn)).hexdigest()


def test_the_order_of_the_evaluations_does_not_matter(tmp_path: Path) -> None:
    rows = crowd(40)
    parts = [
        written(tmp_path / name, [{**each, "run": name} for each in rows if (each["model"] < "c") is small])
        for name, small in (("a", True), ("b", False))
    ]
    parts += [written_safel(tmp_path / f"s{name}", of_every_test([name]), test="goal") for name in ("ant", "bee")]
    one, other = (every_byte(gather(paths, None, None, HOW)) for paths in (parts, parts[::-1]))
    assert hashlib.sha256(one).digest() == hashlib.sha256(other).digest()
