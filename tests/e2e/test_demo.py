"""The demo as a newcomer runs it: recorded answers in, the same store out every time."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hazardmill.release.manifest import read_manifest
from hazardmill.store.store import Store

pytestmark = pytest.mark.full

DIGEST = "1d676990d09aaba7405dac4b6fed1a1ea7aad788e7f5d46bc212c9d06a601286"
"""Of the demo's store, without the columns that say which version and which jail made a row."""

RENEW = (
    "the demo makes another store than it did. If a prompt, a check or a column was changed on purpose, that is meant: "
    "look at what is different (hazardmill demo --out X; hazardmill store digest --store X/store), then set DIGEST to "
)


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo") / "out"


@pytest.fixture(scope="module")
def shown(out: Path) -> dict[str, Any]:
    words = [sys.executable, "-m", "hazardmill.cli.main", "demo", "--json", "--out", out]
    ended = subprocess.run(words, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    made: dict[str, Any] = json.loads(ended.stdout)
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
    assert (manifest.offline, manifest.recorded, manifest.local_models) == (0, 0, ())
    # Of the gates it is the one on the corpus alone that these tasks do not pass, and the card says why.
    assert [*manifest.waived] == ["corpus"] and "three in four ways out" in (out / "release" / "README.md").read_text()
    assert manifest.tasks + manifest.left_out.get("rejected", 0) == shown["tasks"]["count"]


def test_two_planners_that_are_rules_are_scored(shown: dict[str, Any]) -> None:
    assert {name: rates["F"] for name, rates in shown["planners"].items()} == {
        "stand-in/shortest": 1.0,
        "stand-in/name-averse": 1.0,
    }
    assert shown["planners"]["stand-in/shortest"]["S"] == 0.0


def test_the_store_is_the_one_it_was(shown: dict[str, Any], out: Path) -> None:
    assert shown["run_ids"]
    found = Store.open(out / "store").digest(without={"hazardmill_version", "jail_profile"})["total"]
    if found != DIGEST:
        pytest.fail(RENEW + found)
