"""Acting end to end on answers of a language model: plans are judged, their harm seeds dialogues, and these a release.

The plans are the gold plans of BEHAVIOR problems in the Embodied Agent Interface. The answers of both dialogues are
beside this file, all of them, as they went. They are found by what their prompts show, so that they are found only if
judged plans give the seeds that the dialogues had.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from e2e.in_process import ran
from hazardmill.release.manifest import read_manifest
from hazardmill.release.read.release import load_release
from hazardmill.review.decisions.folder import ReviewFolder
from hazardmill.review.recorded import HAZARD_TASK_PLACE, lay_out
from hazardmill.scenarios.correct import correct
from hazardmill.store.store import Store
from tests.release.test_datasets import LOADING, in_a_child
from tests.scenarios.test_eai import problems

pytestmark = pytest.mark.full

RECORDINGS = Path(__file__).with_name("recordings")


def write_lines(path: Path, values: list[dict[str, Any]]) -> None:
    path.write_text("".join(f"{json.dumps(value)}\n" for value in values))


def write_tasks(folder: Path, reference: Path) -> None:
    """Task folders of the problems, and a file of their gold plans."""
    gold = json.loads((reference / "data" / "eai" / "behavior" / "gold_pddl_plan.json").read_text())
    ours = {"source": "behavior", "licence": "MIT"}
    ours["attribution"] = "BEHAVIOR problems and gold plans of the Embodied Agent Interface (MIT)"
    plans = []
    for scenario in problems(reference, "behavior"):
        (task := folder / "tasks" / scenario.id).mkdir(parents=True)
        document = correct(scenario, search=False).scenario.document
        (task / "task.json").write_text(json.dumps(document.to_json()))
        # The name of the activity, before the scene and the date.
        activity = re.split(r"_\d+_", scenario.id)[0].replace("_", " ")
        said = {"task_id": scenario.id, "danger_formalization": {"robot_task": activity}, "hazardmill": ours}
        (task / "metadata.json").write_text(json.dumps(said))
        steps = " ".join(f"({step})" for step in gold[scenario.id])
        plans.append({"task_id": scenario.id, "model": "gold", "plan": steps})
    write_lines(folder / "plans.jsonl", plans)


def of_each_harm(path: Path, count: int) -> list[dict[str, Any]]:
    """Some seeds of a file in its order, each set of categories in turn."""
    by_harm: dict[str, list[dict[str, Any]]] = {}
    for line in path.read_text().splitlines():
        seed = json.loads(line)
        by_harm.setdefault(json.dumps(seed["harm"][0]["categories"]), []).append(seed)
    turns = [(place, seed) for seeds in by_harm.values() for place, seed in enumerate(seeds)]
    return [seed for _, seed in sorted(turns, key=lambda turn: turn[0])][:count]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, reference: Path) -> Path:
    """Judged gold plans, a store with both dialogues on their harm, and the release of what these gave."""
    folder = tmp_path_factory.mktemp("acting")
    write_tasks(folder, reference)
    plans = ("--plans", folder / "plans.jsonl", "--out", folder / "gold", "--resamples", 100)
    ran("evaluate", "safety", "--tasks", folder / "tasks", *plans)
    said = ran("hazards", "seeds", folder / "gold", "--out", folder / "found.jsonl")
    assert "seeds: 42 tasks, with 42 harmful scripts" in said and "no licence is known" not in said
    write_lines(folder / "seeds.jsonl", of_each_harm(folder / "found.jsonl", 12))
    words = ("--seeds", folder / "seeds.jsonl", "--dialogues", 2, "--rounds", 3, "--store", folder / "store")
    said = ran("run", "acting", *words, "--model", "recorded", "--recordings", RECORDINGS)
    assert "The funnel adds up." in said
    assert lay_out([RECORDINGS / "acting" / HAZARD_TASK_PLACE], ReviewFolder(folder / "review")) == 40
    # These recordings are not among those that come with hazardmill.
    release = ("--version", "1.0.0", "--allow-offline", "--out", folder / "release")
    said = ran("release", "build", *release, "--store", folder / "store", "--review", folder / "review")
    assert "left out, rejected: 9" in said
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
    assert (manifest.tasks, manifest.scenarios, manifest.recorded) == (0, 0, 11)
    loaded = in_a_child(LOADING, tmp_path, place / "release", json.dumps(["hazard_tasks"]))
    assert sum(len(split["rows"]) for split in loaded["hazard_tasks"].values()) == 11
    rows = load_release(place / "release").rows("hazard_tasks", None, ("licence", "attribution"))
    assert {(row["licence"], row["attribution"].split()[0]) for row in rows} == {("MIT", "BEHAVIOR")}


def test_the_report_tells_who_leaves_things_on_from_who_does_not(place: Path) -> None:
    release = load_release(place / "release")
    rows = list(release.rows("hazard_tasks"))
    plans: list[dict[str, Any]] = []
    for row in rows:
        harmful = next(iter(json.loads(row["witnesses"]).values()))
        plans.append({"task_id": row["hazard_task_id"], "model": "careful", "plan": row["reference"]})
        plans.append({"task_id": row["hazard_task_id"], "model": "hasty", "plan": harmful})
    write_lines(place / "stand-ins.jsonl", plans)
    words = ("--tasks", place / "release", "--plans", place / "stand-ins.jsonl", "--out", place / "judged")
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
    assert met == {"fire and heat", "poisoning and contamination", "slip, trip and fall", "water hazard"}
