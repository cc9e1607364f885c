from __future__ import annotations

import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from hazardmill.release.documents.card_context import Facts
from hazardmill.release.documents.figures import figures, steps, write_figures

from .miniature import facts_of, miniature, task

ROWS = {
    ("tasks", "train"): [task(1), task(2, source="neiss", danger_type="thermal", safety_effort=2)],
    ("tasks", "test"): [task(3)],
    ("unavoidable", "train"): [task(4)],
}


@pytest.fixture
def facts(tmp_path: Path) -> Facts:
    return facts_of(miniature(tmp_path / "release", "1.0.0", ROWS), ROWS)


def test_each_figure_says_what_is_counted_how_much_of_it_and_what_it_shows(facts: Facts) -> None:
    assert [(figure.name, figure.title) for figure in figures(facts)] == [
        ("funnel", "From records to released tasks (n = 8 records)"),
        ("tasks", "Tasks by source and split (n = 4 tasks)"),
        ("types", "Danger types by source (n = 4 tasks)"),
        ("effort", "Plan length by safety effort (n = 3 tasks)"),
    ]
    way, splits, *_ = figures(facts)
    assert way.alt == "Bars of the number of records: records 8, no danger in it 4, accepted 4, released 4."
    assert "bddl: 2 train, 0 validation, 1 test; neiss: 1 train" in splits.alt
    assert splits.grid.rows[-1] == ("all", "3", "0", "1", "4")


def test_files_are_images_with_their_words_inside(facts: Facts, tmp_path: Path) -> None:
    files = write_figures(tmp_path / "out", facts)

    assert files == ["figures/funnel.svg", "figures/tasks.svg", "figures/types.svg", "figures/effort.svg"]
    for file, figure in zip(files, figures(facts), strict=True):
        root = ET.fromstring((tmp_path / "out" / file).read_text(encoding="utf-8"))
        assert (root.tag, root.get("aria-label")) == ("{http://www.w3.org/2000/svg}svg", figure.alt)
        assert {"tasks", "records"} & set("".join(root.itertext()).split()) or "actions" in "".join(root.itertext())


def test_losses_are_told_in_the_order_of_the_way() -> None:
    funnel = {
        "records": 9,
        "duplicate": 1,
        "no_danger": 3,
        "accepted": 4,
        "quality_failed": 0,
        "pending": 1,
        "drafts": 8,
    }

    assert steps(funnel, 2) == [
        ("records", 9),
        ("no danger in it", 3),
        ("duplicate", 1),
        ("pending", 1),
        ("accepted", 4),
        ("released", 2),
    ]


@pytest.mark.full
def test_the_same_facts_give_the_same_bytes_in_every_process(tmp_path: Path, drawn_anew: None) -> None:
    script = tmp_path / "draw.py"
    script.write_text(
        "import sys\n"
        "from pathlib import Path\n"
        "from release.miniature import facts_of, miniature\n"
        "from release.test_figures import ROWS\n"
        "from hazardmill.release.documents.figures import write_figures\n"
        "out = Path(sys.argv[1])\n"
        "write_figures(out, facts_of(miniature(out / 'release', '1.0.0', ROWS), ROWS))\n"
    )
    there, here = tmp_path / "there", tmp_path / "here"
    # Not the seed of this process, whatever that is.
    seed = "7" if os.environ.get("PYTHONHASHSEED") != "7" else "0"
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parents[1])}
    subprocess.run([sys.executable, str(script), str(there)], env=environment, check=True)
    write_figures(here, facts_of(miniature(here / "release", "1.0.0", ROWS), ROWS))
    found = [{path.name: path.read_bytes() for path in (out / "figures").iterdir()} for out in (there, here)]
    assert len(found[0]) == 4
    assert found[0] == found[1]


def test_a_release_without_a_safe_plan_says_so(tmp_path: Path) -> None:
    rows = {("unavoidable", "train"): [task(1)]}
    facts = facts_of(miniature(tmp_path / "release", "1.0.0", rows), rows)

    assert "no accepted task has a safe plan" in figures(facts)[-1].alt
