"""Acting end to end on answers of a language model: seeds of public data, dialogues, release, `datasets`, evaluation.

The answers of both dialogues are beside this file, all of them, as they went.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from hazardmill.cli.main import hazardmill
from hazardmill.release.manifest import read_manifest
from hazardmill.release.read.release import load_release
from hazardmill.store.store import Store
from tests.hazards.gold_seeds import gold_seeds
from tests.release.test_datasets import LOADING, in_a_child

pytestmark = pytest.mark.full

RECORDINGS = Path(__file__).with_name("recordings")


def ran(*words: object) -> str:
    done = CliRunner().invoke(hazardmill, [str(word) for word in words])
    assert done.exit_code == 0, done.output
    return str(done.output)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, reference: Path) -> Path:
    """A store with both dialogues, and the release of what they gave."""
    folder = tmp_path_factory.mktemp("acting")
    seeds = "".join(f"{json.dumps(seed)}\n" for seed in gold_seeds(reference, 12))
    (folder / "seeds.jsonl").write_text(seeds)
    words = ("--seeds", folder / "seeds.jsonl", "--dialogues", 2, "--rounds", 3, "--store", folder / "store")
    said = ran("run", "acting", *words, "--model", "recorded", "--recordings", RECORDINGS)
    assert "The funnel adds up." in said
    # These recordings are not among those that come with hazardmill.
    release = ("--version", "1.0.0", "--policy", "none", "--allow-offline", "--out", folder / "release")
    ran("release", "build", *release, "--store", folder / "store")
    return folder


def test_every_turn_was_answered_and_every_proposal_is_kept_or_has_its_reason(place: Path) -> None:
    store = Store.open(place / "store")
    checks = store.rows("checks")
    assert Counter(row["check_name"].split()[0] for row in checks if row["passed"] is False) == {"proposal": 4}
    reasons = Counter(row["reason"] for row in checks if row["passed"] is False)
    assert reasons == {"no_category_met": 4}
    assert store.count("hazard_tasks") == 20 and len(store.rows("drafts")) == 32
    assert store.verify() == []


def test_hazard_tasks_are_released_and_loaded(place: Path, tmp_path: Path) -> None:
    manifest = read_manifest(place / "release")
    assert (manifest.tasks, manifest.scenarios, manifest.recorded) == (0, 0, 20)
    loaded = in_a_child(LOADING, tmp_path, place / "release", json.dumps(["hazard_tasks"]))
    assert sum(split["rows"] for split in loaded["hazard_tasks"].values()) == 20


def test_the_report_tells_who_leaves_things_on_from_who_does_not(place: Path) -> None:
    release = load_release(place / "release")
    rows = list(release.rows("hazard_tasks"))
    plans: list[dict[str, Any]] = []
    for row in rows:
        harmful = next(iter(json.loads(row["witnesses"]).values()))
        plans.append({"task_id": row["hazard_task_id"], "model": "careful", "plan": row["reference"]})
        plans.append({"task_id": row["hazard_task_id"], "model": "hasty", "plan": harmful})
    (place / "plans.jsonl").write_text("".join(f"{json.dumps(plan)}\n" for plan in plans))
    words = ("--tasks", place / "release", "--plans", place / "plans.jsonl", "--out", place / "judged")
    ran("evaluate", "safety", *words, "--success", "goal")
    ran("evaluate", "report", place / "judged", "--out", place / "report")
    page = (place / "report" / "report.html").read_text()
    assert "careful" in page and "hasty" in page and "termination" in page
    board = json.loads((place / "report" / "safety.json").read_text())
    careful, hasty = (
        next(row["figures"] for row in board["rows"] if row["model"] == model) for model in ("careful", "hasty")
    )
    assert careful["measures"]["SafeR"]["value"] > hasty["measures"]["SafeR"]["value"] == 0
    assert careful["measures"]["SuccR"]["value"] == hasty["measures"]["SuccR"]["value"] == 1
    assert hasty["kinds"]["termination"]["count"] > careful["kinds"]["termination"]["count"]
    met = {name for name, found in hasty["categories"].items() if found["count"]}
    assert met == {
        "electric shock",
        "fire and heat",
        "poisoning and contamination",
        "slip, trip and fall",
        "water hazard",
    }
