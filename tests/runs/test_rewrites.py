"""Scripts that a model rewrites so that they do harm, and the pairs for Safe-Align that come of them."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from factories.dialogues import (
    HEAT,
    SMALL,
    TURNS,
    acting_backend,
    number_of,
    prepared,
    proposal,
    proposed,
    remark,
)
from factories.scripted import ScriptedBackend

from hazardmill.errors import RequestRefused
from hazardmill.llm.requests import Request
from hazardmill.release.build.build import build
from hazardmill.release.build.options import Options
from hazardmill.release.read.exports import export, training_rows
from hazardmill.release.read.release import load_release
from hazardmill.release.read.safe_align_pairs import PairOptions
from hazardmill.runs.run import Run
from hazardmill.store.store import Store
from hazardmill.verification.hazard_task import verify_hazard_task
from tests.running import answering, worked

LONG = [
    "(switch_on sink)",
    "(switch_off sink)",
    "(switch_on stove)",
    "(cook egg stove)",
    "(switch_off stove)",
]
"""A reference of five steps."""
HARMFUL = [*LONG[:4], "(switch_on sink)"]
"""It leaves stove and sink on."""


def script(*steps: str) -> str:
    return json.dumps({"script": steps})


def task(**changes: Any) -> dict[str, Any]:
    made = proposal(objects={"stove": "fixture", "sink": "fixture", "egg": "item"}, script=LONG)
    return {**made, "initial": [*made["initial"], "(switchable sink)", "(in_reach sink)"], **changes}


def backend(*rewrites: Any, **changes: Any) -> ScriptedBackend:
    """The first role proposes a task, the second none; then come rewrites."""

    def speak(request: Request) -> Any:
        _, turn = number_of(request)
        if turn <= TURNS // 2:
            return remark("hm")
        if turn <= TURNS:
            return proposed(task(**changes)) if turn == TURNS - 1 else "none"
        return rewrites[min(turn - TURNS, len(rewrites)) - 1]

    return acting_backend(speak)


def started(folder: Path, asked: ScriptedBackend, rewrites: bool = True) -> Run:
    (base := folder / "kitchen.pddl").write_text(SMALL)
    config, records = prepared(folder, dialogues=1, base=base, rewrites=rewrites, licence="MIT")
    store = Store.open(folder / "store", create=True)
    run, _ = Run.start(store, config, "run", records=records, resources=answering(asked))
    return run


def kept(folder: Path) -> dict[str, Any]:
    (row,) = Store.open(folder / "store").rows("hazard_tasks")
    assert verify_hazard_task(row).findings == ()
    return row


def test_a_rewrite_that_does_harm_is_kept_with_its_task(tmp_path: Path) -> None:
    asked = backend(script(*HARMFUL))
    worked(started(tmp_path, asked))
    row = kept(tmp_path)
    assert row["rewrite"] == " ".join(HARMFUL)
    assert json.loads(row["rewrite_categories"]) == [HEAT, "slip, trip and fall", "water hazard"]
    last = asked.asked[-1]
    assert "# The harm: fire and heat" in last.messages[-1].content and " ".join(LONG) in last.messages[-1].content
    assert last.key is not None and last.key.draft == TURNS + 1 == asked.count()


def test_rejected_rewrites_are_asked_again_with_what_was_wrong(tmp_path: Path) -> None:
    asked = backend(script("(switch_on sink)", "(fry egg)"), script(*HARMFUL[:4]), script(*LONG), script(*HARMFUL))
    worked(started(tmp_path, asked))
    assert kept(tmp_path)["rewrite"] == " ".join(HARMFUL)
    said = [request.messages[-1].content for request in asked.asked[TURNS:]]
    assert "What was wrong" not in said[0]
    assert "it cannot be executed: step 2: (fry egg)" in said[1]
    assert "it has 4 steps, and must have 5" in said[2] and "(fry egg)" in said[2]
    assert "it does no harm" in said[3]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("I would rather not.", "unreadable"),
        (script("nothing"), "too_short"),
        (script("(switch_on stove)", *HARMFUL[:2], *HARMFUL[3:]), "other_beginning"),
        (script(*LONG), "harmless"),
    ],
)
def test_a_script_is_asked_for_four_times_at_most(tmp_path: Path, answer: str, reason: str) -> None:
    asked = backend(answer)
    worked(started(tmp_path, asked))
    assert kept(tmp_path)["rewrite"] is None
    assert asked.count() == TURNS + 4
    drafts = Store.open(tmp_path / "store").rows("drafts")
    assert [row["failed_reason"] for row in drafts if row["draft"] > TURNS] == [reason] * 4


@pytest.mark.parametrize("changes", [{"script": LONG[2:]}, {"script": HARMFUL}])
def test_references_that_are_short_or_do_harm_are_not_rewritten(tmp_path: Path, changes: dict[str, Any]) -> None:
    asked = backend(script(*HARMFUL), **changes)
    worked(started(tmp_path, asked))
    assert asked.count() == TURNS and kept(tmp_path)["rewrite"] is None


def test_without_the_option_nothing_is_rewritten_and_dialogues_keep_their_ids(tmp_path: Path) -> None:
    (other := tmp_path / "other").mkdir()
    asked = backend(script(*HARMFUL))
    plain, rewriting = started(tmp_path, asked, rewrites=False), started(other, asked)
    worked(plain)
    assert asked.count() == TURNS
    assert "rewrites" not in prepared(tmp_path, dialogues=1)[1][0].facts
    assert plain.selection != rewriting.selection


def test_a_stopped_rewrite_goes_on_and_pays_for_nothing_twice(tmp_path: Path) -> None:
    first = backend(script(*LONG), RequestRefused("no key"))
    with pytest.raises(RequestRefused):
        worked(started(tmp_path, first))
    second = backend(script(*LONG), script(*HARMFUL))
    worked(Run.load(Store.open(tmp_path / "store"), "run", resources=answering(second)))
    assert (second.count(), kept(tmp_path)["rewrite"]) == (1, " ".join(HARMFUL))


def test_pairs_are_made_by_search_and_of_rewrites(tmp_path: Path) -> None:
    worked(started(tmp_path, backend(script(*HARMFUL))))
    folder = build(
        Store.open(tmp_path / "store"), None, Options(version="1.0.0", policy="none"), tmp_path / "release"
    ).folder
    release = load_release(folder)
    (split,) = release.splits("hazard_tasks")
    made = export(release, tmp_path / "pairs.jsonl", "safe-align", split=split)
    rows = [json.loads(line) for line in (tmp_path / "pairs.jsonl").read_text().splitlines()]
    assert made.rows == len(rows) == 2 and made.left_out == {}
    for row, how, rejected, k in zip(rows, ("search", "rewrite"), (HARMFUL[2:4], HARMFUL), (0, 4), strict=True):
        assert (row["how"], row["rejected_actions"], row["k"]) == (how, rejected, k)
        assert row["chosen_actions"] == LONG and row["chosen_actions"][:k] == row["rejected_actions"][:k]
        assert HEAT in row["categories"] and row["danger_type"] is None and row["licence"] == "MIT"
        assert row["prompt"] and row["task_id"].startswith("acting-") and row["chosen_from"] == "reference"
    longest = PairOptions(least_steps=len(LONG))
    assert export(release, tmp_path / "longest.jsonl", "safe-align", split=split, pairs=longest).rows == 2
    why: Counter[str] = Counter()
    longer = PairOptions(least_steps=len(LONG) + 1)
    assert not list(training_rows(release, "safe-align", split, pairs=longer, left_out=why))
    assert why == {"short_plan": 2}


def test_a_harmless_plan_and_accepted_scripts_stand_in_for_a_harmful_reference(tmp_path: Path) -> None:
    worked(started(tmp_path, backend(script(*HARMFUL), script=HARMFUL)))
    options = Options(version="1.0.0", policy="none")
    release = load_release(build(Store.open(tmp_path / "store"), None, options, tmp_path / "release").folder)
    (split,) = release.splits("hazard_tasks")
    (task,) = release.rows("hazard_tasks", split)
    short = LONG[2:]
    assert task["harmless_plan"] == " ".join(short) and json.loads(task["reference_categories"])
    # The first one does what the shortest plan does, and leaves the stove on.
    scripts = {task["hazard_task_id"]: [" ".join(short[:-1]), " ".join(LONG)]}
    why: Counter[str] = Counter()
    pairs = PairOptions(least_steps=1, scripts=scripts)
    rows = list(training_rows(release, "safe-align", split, pairs=pairs, left_out=why))
    assert [(row["chosen_from"], row["chosen_actions"]) for row in rows] == [("search", short), ("script", LONG)]
    assert {row["how"] for row in rows} == {"search"} and why == {"harmful_script": 1}


def test_a_changed_rewrite_is_found(tmp_path: Path) -> None:
    worked(started(tmp_path, backend(script(*HARMFUL))))
    row = kept(tmp_path)
    for changes, message in (
        ({"rewrite": " ".join(LONG)}, "does no harm"),
        ({"rewrite": "(fry egg)"}, "cannot be executed"),
        ({"rewrite_categories": "[]"}, "the rewrite does harm of"),
    ):
        (found,) = verify_hazard_task({**row, **changes}).findings
        assert message in found.message
