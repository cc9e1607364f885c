"""SAFEL end to end on answers of a language model: scenarios, review by two, release, all four tests, report.

The answers of authors, judge and reviewers come with the source (`sources/bddl/recorded`), as they went; those of the
planner are beside this file, by question, and were given in one sitting per two tests.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from e2e.in_process import ran, waited
from hazardmill.release.manifest import read_manifest
from hazardmill.resources import sources_folders
from hazardmill.review.decisions.folder import ReviewFolder
from hazardmill.review.recorded import SCENARIO_PLACE, lay_out
from hazardmill.store.store import Store
from tests.release.test_datasets import LOADING, in_a_child

pytestmark = pytest.mark.full

ANSWERS = [json.loads(line) for line in Path(__file__).with_name("safel_answers.jsonl").read_text().splitlines()]
BDDL = sources_folders()[0] / "bddl"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with both runs, the review of it, and the release of what both reviewers approve."""
    folder = tmp_path_factory.mktemp("safel")
    store = ("--store", folder / "store")
    for kind in ("mal", "sit"):
        records = ("--source", "bddl", "--input", f"bddl={BDDL / 'sample'}", "--limit", 20)
        said = ran("run", "generate", "--kind", kind, "--model", "recorded", *records, *store)
        assert "The funnel adds up." in said
    assert lay_out([BDDL / SCENARIO_PLACE], ReviewFolder(folder / "review")) == 80
    ran("release", "build", "--version", "1.0.0", *store, "--review", folder / "review", "--out", folder / "release")
    return folder


def test_all_records_of_both_kinds_come_to_their_end(place: Path) -> None:
    store = Store.open(place / "store")
    assert Counter(row["outcome"] for row in store.rows("outcomes")) == {"accepted": 40}
    assert Counter(row["kind"] for row in store.rows("scenarios")) == {"mal": 20, "sit": 20}
    drafts = store.rows("drafts")
    assert len(drafts) == 49 and Counter(row["failed_check"] for row in drafts) == {None: 40, "judge": 8, "scenario": 1}
    assert store.verify() == []


def test_any_disagreement_rejects_and_the_funnel_adds_up(place: Path) -> None:
    manifest = read_manifest(place / "release")
    assert (manifest.tasks, manifest.scenarios, manifest.left_out) == (0, 34, {"rejected": 6})
    assert (manifest.offline, manifest.recorded, manifest.local_models, manifest.waived) == (0, 0, (), {})
    assert manifest.review is not None
    assert (manifest.review.reviewers, manifest.review.people, manifest.review.decisions) == (2, 0, 68)
    assert manifest.funnel == {
        **dict.fromkeys(manifest.funnel, 0),
        "records": 40,
        "drafts": 49,
        "accepted": 40,
        "released": 34,
    }
    assert "Reviewed by two language models" in (place / "release" / "README.md").read_text()


def test_datasets_loads_what_was_released(place: Path, tmp_path: Path) -> None:
    loaded = in_a_child(LOADING, tmp_path, place / "release", json.dumps(["scenarios", "reviews"]))
    assert sum(len(split["rows"]) for split in loaded["scenarios"].values()) == 34
    assert sum(len(split["rows"]) for split in loaded["reviews"].values()) == 68
    assert {"kind", "risk", "domain_pddl", "problem_pddl", "plan"} <= set(loaded["scenarios"]["train"]["columns"])


def measures(place: Path, test: str) -> dict[str, Any]:
    """Ask a test by files, answer it with what the planner said, and give its figures over all scenarios."""
    out, exchange = place / f"out-{test}", place / f"exchange-{test}"
    words = ["evaluate", "safel", "--scenarios", place / "release", "--test", test, "--store", place / "asked"]
    words += ["--exchange", exchange, "--exchange-format", "eai", "--out", out]
    words += ["--limit", 2] if test == "transition" else []
    waited(*words)
    said = {(row["scenario_id"], row["about"]): row["answer"] for row in ANSWERS if row["test"] == test}
    asked = {
        prompt["messages"][-1]["content"]: said[prompt["scenario_id"], prompt["about"]]
        for prompt in map(json.loads, (out / "prompts.jsonl").read_text().splitlines())
    }
    requests = json.loads((exchange / "requests-0001.json").read_text())
    answers = [
        {
            "identifier": request["identifier"],
            "llm_output": next(answer for text, answer in asked.items() if text in request["llm_prompt"]),
        }
        for request in requests
    ]
    assert len(answers) == len(said)
    (exchange / "answers-0001.json").write_text(json.dumps(answers))
    ran(*words)
    (figures,) = json.loads((out / "summary.json").read_text())["figures"]
    return {name: estimate["value"] for name, estimate in figures["groups"]["all"]["measures"].items()}


def test_all_four_tests_give_the_figures_of_the_trial(place: Path) -> None:
    refusal = measures(place, "refusal")
    assert (refusal["recall_mal"], refusal["recall_sit"]) == (1, 1)
    goal = measures(place, "goal")
    assert (goal["S_u-R"], goal["S_r-R"]) == (1, 24 / 26)
    sequence = measures(place, "sequence")
    assert sequence["SR"] == 1
    transition = measures(place, "transition")
    assert (transition["P-score"], transition["N-score"]) == (pytest.approx(0.8933, abs=1e-4), 1)
    folders = [place / f"out-{test}" for test in ("refusal", "goal", "sequence", "transition")]
    ran("evaluate", "report", *folders, "--out", place / "report")
    page = (place / "report" / "report.html").read_text()
    assert "SAFEL" in page and "openai/anyone" in page
