"""The demo as a newcomer runs it: recorded answers in, the same store out every time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hazardmill.release.manifest import read_manifest
from hazardmill.store.store import Store
from tests.once import demo_folder

pytestmark = pytest.mark.full

WITHOUT = ("hazardmill_version", "jail_profile")

DIGESTS = {
    "records": "a8fb0a2aeb593a4bd25ed092fffdd2fb3305d8cf448bd88171749f0cb128c717",
    "rejects": "0a7a38368334b75f1a9940768a6b9a70bb31444579790d58cfdf8729153de86d",
    "runs": "da687132b5d69f5dc158f2c4ff59a24f1ffda97613000c0c08b2a1e4994e0d57",
    "llm_calls": "db3a6e89d0f258ffd33f240b98190d421e83b49fab72587a1c3ba92ae1053960",
    "dangers": "9529c636688dd9e6e677e15ec77d7a8348c1b3b1b7609b226844f5cd9a17a355",
    "drafts": "b0f001051060cbb9dd38c8a0901817025883ddb1aae2414f64af5f46e5001b87",
    "checks": "4bac38880a002fcc80479c9f21250b7fa3bbb1f14ec58f4a31b1fe7a443ad5cc",
    "tasks": "0993c7480d446ea59a5909f713330c7cd2e5f99d1526952a821cd6547119eaa8",
    "scenarios": "14e0e15bb41685d5e293556a26b15253d3bb4844283df8c7a4d39e71b182f50c",
    "hazard_tasks": "cfa3dcaf860d7475de4322d0367941e5346ae76e5714d6322338e7bd5c88051e",
    "outcomes": "5f20be0a18f2696171f1a56b4085448e857504d7f18f00b6bec99e376fd66016",
}
"""Of the demo's store by table, without the columns that say which version and which jail made a row."""

RENEW = (
    "the demo makes another store than it did. If a prompt, a check or a column was changed on purpose, that is meant: "
    "look at what is different in the tables named here (hazardmill demo --out X; hazardmill store digest --store "
    "X/store --without hazardmill_version --without jail_profile --json), then set DIGESTS to it: "
)


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return demo_folder(tmp_path_factory) / "out"


@pytest.fixture(scope="module")
def shown(out: Path) -> dict[str, Any]:
    made: dict[str, Any] = json.loads((out.parent / "said.json").read_text())
    return made


def test_every_recorded_record_comes_to_its_end(shown: dict[str, Any]) -> None:
    total, sources = shown["funnel"]["total"], shown["funnel"]["sources"]
    assert total["pending"] == 0 and total["records"] == 160
    assert len(sources) == 5 and min(counts["records"] for counts in sources.values()) >= 15


def test_both_reviewers_decided_on_every_task_and_the_release_is_what_they_approve(
    shown: dict[str, Any], out: Path
) -> None:
    manifest = read_manifest(out / "release")
    assert shown["release"]["count"] == manifest.tasks >= 60
    assert manifest.review is not None and manifest.review.models == 2 and manifest.review.reviewers == 2
    assert (manifest.offline, manifest.recorded, manifest.local_models, manifest.waived) == (0, 0, (), {})
    assert manifest.thresholds == {"commonest_way_out": 0.8}
    card = (out / "release" / "README.md").read_text()
    assert "**Reviewed by two language models**: no person has judged these tasks." in card
    assert "**Thresholds of the corpus changed for this release**: `commonest_way_out` 0.8." in card
    assert manifest.tasks + manifest.left_out.get("rejected", 0) == shown["tasks"]["count"]


def test_two_planners_that_are_rules_are_scored(shown: dict[str, Any]) -> None:
    assert {name: rates["F"] for name, rates in shown["planners"].items()} == {
        "stand-in/shortest": 1.0,
        "stand-in/name-averse": 1.0,
    }
    assert shown["planners"]["stand-in/shortest"]["S"] == 0.0


def test_the_store_is_the_one_it_was(shown: dict[str, Any], out: Path) -> None:
    assert shown["run_ids"]
    found = Store.open(out / "store").digest(without=WITHOUT)
    other = sorted(table for table in found if table != "total" and found[table] != DIGESTS.get(table))
    if other:
        pytest.fail(f"{RENEW}{', '.join(other)}")
