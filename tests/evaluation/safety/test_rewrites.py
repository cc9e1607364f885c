"""``hazardmill hazards rewrites``: people judge what a model rewrote, and pairs for Safe-Align heed what they say."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from release.small_release import soups

from hazardmill.hazards.sheets import ScriptDecision, ScriptReviews, script_id
from hazardmill.release.build.build import build
from hazardmill.release.build.options import Options
from hazardmill.release.read.release import load_release
from hazardmill.release.read.safe_align_pairs import PairOptions, pairs_of_hazard_task
from hazardmill.store.store import Store
from tests.cli.conftest import Ended, Hazardmill
from tests.cli.conftest import empty_folder as empty_folder
from tests.cli.conftest import hazardmill as hazardmill
from tests.running import worked
from tests.runs.test_rewrites import HARMFUL, LONG, backend, script, started

from .test_seeds import fill, sheet

REFERENCE, REWRITE = " ".join(LONG), " ".join(HARMFUL)


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of one hazard task with a rewrite. Nobody writes to it."""
    folder = tmp_path_factory.mktemp("rewrites")
    worked(started(folder, backend(script(*HARMFUL))))
    options = Options(version="1.0.0", policy="none")
    return build(Store.open(folder / "store"), None, options, folder / "release").folder


def judged(hazardmill: Hazardmill, release: Path, reviewer: str, **said: str) -> str:
    """A sheet filled by one reviewer, with what they say of reference and rewrite."""
    name = f"{reviewer}.csv"
    assert hazardmill("hazards", "rewrites", release, "--sheet", name).code == 0
    words = {REFERENCE: said["reference"], REWRITE: said["rewrite"]}
    fill(Path(name), lambda plan: {"reviewer": reviewer, "harmful": words[plan]})
    return name


def exported(hazardmill: Hazardmill, release: Path, *more: object, code: int = 0) -> tuple[Ended, list[dict[str, Any]]]:
    Path("pairs.jsonl").unlink(missing_ok=True)
    words = ("--format", "safe-align", "--out", "pairs.jsonl", *more)
    ended = hazardmill("release", "export", release, *words)
    assert ended.code == code, ended.err
    return ended, [json.loads(line) for line in Path("pairs.jsonl").read_text().splitlines()]


def test_a_sheet_has_rewrites_and_references_and_does_not_tell_which_is_which(
    hazardmill: Hazardmill, release: Path, empty_folder: Path
) -> None:
    ended = hazardmill("hazards", "rewrites", release, "--sheet", "sheet.csv", "--json")
    assert (ended.json["rewrites"], ended.json["on_sheet"], ended.json["reviews"]) == (1, 2, {"not_judged": 1})
    rows = sheet(Path("sheet.csv"))
    assert [row["script"] for row in rows] == sorted(row["script"] for row in rows)
    assert sorted(row["plan"] for row in rows) == sorted([REFERENCE, REWRITE])
    assert not any(row[name] for row in rows for name in ("reviewer", "harmful", "categories", "note"))
    assert {(row["task_id"], row["instruction"]) for row in rows} == {
        (rows[0]["task_id"], "Cook the egg, please."),
    }
    assert "- **fire and heat**: " in Path("sheet.categories.md").read_text()


def test_without_rewrites_there_is_no_sheet(hazardmill: Hazardmill, empty_folder: Path) -> None:
    ended = hazardmill("hazards", "rewrites", soups(empty_folder / "soups"), "--sheet", "sheet.csv")
    assert ended.code == 3 and not Path("sheet.csv").exists()
    assert "the release has no rewrite to judge [make tasks with rewrites: " in ended.err


def test_a_sheet_that_somebody_filled_in_is_not_written_over(
    hazardmill: Hazardmill, release: Path, empty_folder: Path
) -> None:
    ada = judged(hazardmill, release, "ada", reference="no", rewrite="no")
    filled = Path(ada).read_text()
    ended = hazardmill("hazards", "rewrites", release, "--sheet", ada, "--judged", ada)
    assert ended.code == 2 and "ada.csv already exists [name another file" in ended.err
    assert Path(ada).read_text() == filled


def test_what_people_say_is_counted_and_compared(hazardmill: Hazardmill, release: Path, empty_folder: Path) -> None:
    ada = judged(hazardmill, release, "ada", reference="no", rewrite="yes")
    ben = judged(hazardmill, release, "ben", reference="no", rewrite="no")
    words = ("hazards", "rewrites", release, "--judged", ada, "--judged", ben)
    told = hazardmill(*words, "--json").json
    assert told["reviews"] == {"undecided": 1}
    assert {each["reviewer"]: each["agreed"] for each in told["agreement"]} == {"ada": 2, "ben": 1, "majority": 1}
    (between,) = told["between_reviewers"]
    # They agree on the reference alone, as often as by chance.
    assert (between["first"], between["second"], between["agreed"]) == ("ada", "ben", 1)
    assert (between["kappa"]["n"], between["kappa"]["value"]) == (2, 0)
    said = hazardmill(*words).out
    assert "what people say of rewrites: 1 undecided" in said and "ada and ben: kappa 0.00 (" in said


@pytest.mark.parametrize(
    ("reference", "rewrite", "reviews"),
    [("no", "yes", ["confirmed"]), ("unsure", "unsure", ["undecided"]), ("no", "no", [])],
)
def test_only_rewrites_that_people_do_not_reject_are_in_pairs(
    reference: str, rewrite: str, reviews: list[str], hazardmill: Hazardmill, release: Path, empty_folder: Path
) -> None:
    ada = judged(hazardmill, release, "ada", reference=reference, rewrite=rewrite)
    ended, rows = exported(hazardmill, release, "--reviews", ada, "--json")
    assert [row["review"] for row in rows if row["how"] == "rewrite"] == reviews
    assert [row["review"] for row in rows if row["how"] == "search"] == ["proved"]
    assert ended.json["left_out"] == ({} if reviews else {"rejected_rewrite": 1})
    assert ended.json["reviews"] == dict.fromkeys(reviews, 1)


def test_without_verdicts_rows_and_summary_say_so(hazardmill: Hazardmill, release: Path, empty_folder: Path) -> None:
    ended, rows = exported(hazardmill, release)
    assert [(row["how"], row["review"]) for row in rows] == [("search", "proved"), ("rewrite", "not_judged")]
    assert "what people say of rewrites: 1 not judged" in ended.out


def test_a_rejected_rewrite_is_told(hazardmill: Hazardmill, release: Path, empty_folder: Path) -> None:
    ada = judged(hazardmill, release, "ada", reference="no", rewrite="no")
    ended, _ = exported(hazardmill, release, "--reviews", ada)
    assert "left out: 1 whose rewrite does no harm, as people say" in ended.out


def test_a_reference_that_people_call_harmful_is_preferred_to_nothing(
    hazardmill: Hazardmill, release: Path, empty_folder: Path
) -> None:
    ada = judged(hazardmill, release, "ada", reference="yes", rewrite="yes")
    _, rows = exported(hazardmill, release, "--reviews", ada, "--least-steps", 1)
    assert {row["chosen_from"] for row in rows} == {"search"} and len(rows) == 2
    assert not any(row["chosen"] == REFERENCE for row in rows)


def test_a_reference_that_people_call_harmful_comes_back_as_no_other_plan(release: Path) -> None:
    (row,) = load_release(release).rows("hazard_tasks")
    # The shortest harmless plan is the reference, and so is a script in another spelling.
    row, task_id = {**row, "harmless_plan": REFERENCE}, row["hazard_task_id"]
    said = ScriptReviews.of([ScriptDecision(script_id(task_id, REFERENCE), "ada", harmful=True)])
    why: Counter[str] = Counter()
    options = PairOptions(least_steps=1, reviews=said, scripts={task_id: [REFERENCE.upper()]})
    assert not list(pairs_of_hazard_task(row, why, options))
    assert why == {"rejected_reference": 1, "rejected_script": 1}


@pytest.mark.parametrize(("harmful", "pairs"), [(True, [("rewrite", "confirmed")]), (False, [])])
def test_a_rewrite_that_is_the_shortest_harmful_plan_is_in_one_pair_unless_people_reject_it(
    harmful: bool, pairs: list[tuple[str, str]], release: Path
) -> None:
    (row,) = load_release(release).rows("hazard_tasks")
    said = ScriptReviews.of([ScriptDecision(script_id(row["hazard_task_id"], REWRITE), "ada", harmful=harmful)])
    found = pairs_of_hazard_task({**row, "harmful_plan": REWRITE}, Counter(), PairOptions(reviews=said))
    assert [(each["how"], each["review"]) for each in found] == pairs


def test_a_wrong_row_of_a_sheet_is_named_and_the_rest_counts(
    hazardmill: Hazardmill, release: Path, empty_folder: Path
) -> None:
    ada = judged(hazardmill, release, "ada", reference="perhaps", rewrite="yes")
    ended, rows = exported(hazardmill, release, "--reviews", ada, "--json", code=1)
    assert "harmful is 'perhaps'" in ended.err and "ada.csv:" in ended.err
    assert rows[-1]["review"] == "confirmed" and len(ended.json["problems"]) == 1


def test_a_sheet_that_says_nothing_of_these_rewrites_is_not_taken_in_silence(
    hazardmill: Hazardmill, release: Path, empty_folder: Path
) -> None:
    Path("other.jsonl").write_text('{"script": "f00", "reviewer": "ada", "harmful": "no"}\n')
    ended, _ = exported(hazardmill, release, "--reviews", "other.jsonl")
    assert (
        "note: 1 of the judged scripts (such as f00) are not here" in ended.err
        and "give the sheets that were written" in ended.err
    )
    Path("renamed.jsonl").write_text('{"script": "f00", "reviewer": "ada", "Harmful": "no"}\n')
    ended, _ = exported(hazardmill, release, "--reviews", "renamed.jsonl", code=1)
    assert "renamed.jsonl:1: the row has no harmful [fill in the sheet" in ended.err


def test_other_formats_have_no_rewrites_to_review(hazardmill: Hazardmill, release: Path, empty_folder: Path) -> None:
    words = ("--format", "dpo", "--out", "pairs.jsonl", "--reviews", "ada.csv")
    ended = hazardmill("release", "export", release, *words)
    assert ended.code == 2 and "--format dpo has no --reviews" in ended.err


def test_the_map_must_define_what_people_are_asked(hazardmill: Hazardmill, release: Path, empty_folder: Path) -> None:
    Path("map.yaml").write_text(
        "format: hazardmill-hazards/1\ncategories: [{name: noise, definition: It is loud., origin: ours}]\n"
        "process: [{action: '*', categories: [noise]}]\n"
    )
    ended = hazardmill("hazards", "rewrites", release, "--map", "map.yaml", "--sheet", "sheet.csv")
    assert ended.code == 3 and not Path("sheet.csv").exists()
    assert "map.yaml (record acting-" in ended.err and "the map has no category 'fire and heat'" in ended.err
