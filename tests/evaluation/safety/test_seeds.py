"""``hazardmill hazards seeds``: tasks with harm, sheets that people fill in, and their agreement with the detector."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from release.small_release import FREE, SHARE_ALIKE, soups
from report.pages import markdown_tables

from hazardmill.errors import InputError
from hazardmill.evaluation.safety.seeds import find_seeds
from hazardmill.evaluation.safety.task_set import read_tasks
from tests.cli.conftest import Ended, Hazardmill
from tests.cli.conftest import empty_folder as empty_folder
from tests.cli.conftest import hazardmill as hazardmill
from tests.hazards.kitchen import SCRIPTS

from .kitchens import written_kitchen, written_map, written_plans


@pytest.fixture
def results(hazardmill: Hazardmill, empty_folder: Path) -> Path:
    """Five planners with one script each; B, C and D do harm, and E has the same plan as A but for the order."""
    written_map(empty_folder)
    written_kitchen(empty_folder / "tasks")
    answers = {name: f"```\n{plan.replace(') (', ') ; 0.5' + chr(10) + '(')}\n```" for name, plan in SCRIPTS.items()}
    written_plans(empty_folder / "plans.jsonl", {**answers, "F": ""}, key="answer")
    words = ("--tasks", "tasks", "--map", "map.yaml", "--plans", "plans.jsonl", "--confidence", "--resamples", 100)
    assert hazardmill("evaluate", "safety", *words, "--out", "out").code == 0
    return Path("out")


def seeds(hazardmill: Hazardmill, *more: object) -> Ended:
    ended = hazardmill("hazards", "seeds", "out", "--out", "seeds.jsonl", *more)
    assert ended.code == 0, ended.err
    return ended


def read() -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path("seeds.jsonl").read_text().splitlines()]


def test_a_task_with_harm_is_a_seed_with_plan_violations_and_confidence(hazardmill: Hazardmill, results: Path) -> None:
    assert "seeds: 1 tasks, with 3 harmful scripts" in seeds(hazardmill).out
    (seed,) = read()
    assert (seed["task_id"], seed["instruction"], seed["source"]) == ("egg", "cook the egg", "tests")
    assert (seed["licence"], seed["attribution"]) == ("CC-BY-SA-4.0", "cooks")
    assert seed["categories"] == ["fire and heat", "poisoning and contamination"]
    assert [each["model"] for each in seed["harm"]] == ["B", "C", "D"]
    first = seed["harm"][0]
    assert (first["plan"], first["confidence"], first["categories"]) == (SCRIPTS["B"], 0.5, ["fire and heat"])
    assert [each["literals"] for each in first["violations"]] == [["(on stove)"]]


def test_tasks_of_a_release_have_its_licences(tmp_path: Path) -> None:
    tasks = read_tasks(str(soups(tmp_path / "release"))).tasks
    assert sorted(str(task.licence) for task in tasks) == [*[FREE] * 4, SHARE_ALIKE]
    assert {task.attribution for task in tasks} == {"A Credit Line"}


def test_a_seed_whose_task_has_no_licence_is_named_with_the_remedy(hazardmill: Hazardmill, results: Path) -> None:
    (metadata,) = Path("tasks").rglob("metadata.json")
    metadata.write_text(json.dumps({**json.loads(metadata.read_text()), "hazardmill": {}}))
    words = ("--tasks", "tasks", "--map", "map.yaml", "--plans", "plans.jsonl", "--resamples", 100)
    assert hazardmill("evaluate", "safety", *words, "--out", "other").code == 0
    ended = hazardmill("hazards", "seeds", "other", "--out", "seeds.jsonl", "--json")
    assert ended.json["without_licence"] == 1 and read()[0]["licence"] is None
    assert "no licence is known of 1 task, such as egg" in ended.err and "run acting --licence" in ended.err


def test_results_without_a_licence_do_not_hide_that_of_others() -> None:
    row = {"task_id": "egg", "instruction": "cook", "source": None, "model": "m", "agent": "plans", "sample": 0}
    row |= {"safe": False, "plan": "(on stove)", "categories": "[]", "violations": "[]", "confidence": None}
    bare = {**row, "run": "a", "licence": None, "attribution": None}
    # What is known of a task holds for its seed even if only a harmless script names it.
    named = {**row, "run": "b", "safe": True, "licence": SHARE_ALIKE, "attribution": "cooks"}
    (seed,) = find_seeds([bare, named])
    assert (seed["licence"], seed["attribution"]) == (SHARE_ALIKE, "cooks")
    with pytest.raises(InputError, match=rf"egg: the results name different licences of the task: {FREE}, CC-BY-SA"):
        find_seeds([{**bare, "licence": FREE}, named])


def sheet(path: Path) -> list[dict[str, str]]:
    if path.suffix == ".csv":
        with path.open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))
    return [json.loads(line) for line in path.read_text().splitlines()]


def fill(path: Path, said: Callable[[str], Mapping[str, str]]) -> None:
    """Fill in a sheet by the plan of each row."""
    rows = [{**row, **said(row["plan"])} for row in sheet(path)]
    if path.suffix == ".csv":
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    else:
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))


@pytest.mark.parametrize("name", ["sheet.csv", "sheet.jsonl"])
def test_a_sheet_is_blind_to_the_detector_and_to_who_wrote_a_script(
    name: str, hazardmill: Hazardmill, results: Path
) -> None:
    assert seeds(hazardmill, "--sheet", name, "--json").json["on_sheet"] == 5
    rows = sheet(Path(name))
    assert sorted(row["plan"] for row in rows) == sorted(SCRIPTS.values())
    assert [row["script"] for row in rows] == sorted(row["script"] for row in rows)
    assert set(rows[0]) == {
        *("script", "task_id", "instruction", "plan", "reviewer", "harmful", "categories", "note"),
    }
    assert not any(row[name] for row in rows for name in ("reviewer", "harmful", "categories", "note"))
    defined = Path("sheet.categories.md").read_text()
    assert "- **fire and heat**: Something can burn." in defined and "termination" not in defined


@pytest.mark.parametrize("name", ["sheet.csv", "sheet.jsonl"])
def test_people_confirm_seeds_and_kappa_compares_them_with_the_detector(
    name: str, hazardmill: Hazardmill, results: Path
) -> None:
    seeds(hazardmill, "--sheet", name)
    # Ada sees the fridge of C and D, and not the stove of B.
    fill(
        Path(name), lambda plan: {"reviewer": "ada", "harmful": "yes" if plan in (SCRIPTS["C"], SCRIPTS["D"]) else "no"}
    )
    ended = seeds(hazardmill, "--confirmed", name, "--json")
    (seed,) = read()
    assert [each["model"] for each in seed["harm"]] == ["C", "D"]
    assert seed["categories"] == ["poisoning and contamination"]
    ada, together = ended.json["agreement"]
    # Both say yes of 2 and no of 2, and differ on 1: (4/5 - 12/25) / (1 - 12/25).
    assert ada["kappa"]["value"] == pytest.approx((0.8 - 0.48) / 0.52)
    assert (ada["reviewer"], ada["agreed"], ada["kappa"]["n"]) == ("ada", 4, 5)
    assert together == {**ada, "reviewer": "majority"}
    assert "ada: kappa 0.62 (" in seeds(hazardmill, "--confirmed", name).out


def test_most_reviewers_decide_and_a_tie_confirms_nothing(hazardmill: Hazardmill, results: Path) -> None:
    for reviewer, harmful in (("ada", "BC"), ("ben", "B"), ("eve", "BD")):
        seeds(hazardmill, "--sheet", f"{reviewer}.csv")
        named = [SCRIPTS[letter] for letter in harmful]

        def said(plan: str, reviewer: str = reviewer, named: list[str] = named) -> dict[str, str]:
            unsure = reviewer == "eve" and plan == SCRIPTS["C"]
            return {"reviewer": reviewer, "harmful": "unsure" if unsure else "yes" if plan in named else "no"}

        fill(Path(f"{reviewer}.csv"), said)
    sheets = [word for name in ("ada", "ben", "eve") for word in ("--confirmed", f"{name}.csv")]
    ended = seeds(hazardmill, *sheets, "--json")
    assert [each["model"] for each in read()[0]["harm"]] == ["B"]
    assert [each["reviewer"] for each in ended.json["agreement"]] == ["ada", "ben", "eve", "majority"]
    between = {(each["first"], each["second"]): each for each in ended.json["between_reviewers"]}
    assert sorted(between) == [("ada", "ben"), ("ada", "eve"), ("ben", "eve")]
    # They differ on C alone: (4/5 - 14/25) / (1 - 14/25). Eve is unsure of C, and differs from Ben on D.
    assert between["ada", "ben"]["agreed"] == 4 == between["ada", "eve"]["kappa"]["n"]
    assert between["ada", "ben"]["kappa"]["value"] == pytest.approx((0.8 - 0.56) / 0.44)
    assert "ada and ben: kappa 0.55 (" in seeds(hazardmill, *sheets).out
    # C has one vote on either side.
    assert ended.json["agreement"][-1]["kappa"]["n"] == 4


def test_the_report_compares_people_with_the_detector(hazardmill: Hazardmill, results: Path) -> None:
    seeds(hazardmill, "--sheet", "sheet.csv")
    harmful = [SCRIPTS[letter] for letter in "BCD"]
    fill(Path("sheet.csv"), lambda plan: {"reviewer": "<ada>", "harmful": "yes" if plan in harmful else "no"})
    words = ("evaluate", "report", "out", "--resamples", 100, "--out", "report")
    assert hazardmill(*words, "--sheet", "sheet.csv").code == 0
    table = markdown_tables(Path("report/report.md").read_text())["People and detector: does a script do harm?"]
    assert table[1][1:] == ["5", "5", "1.00 (no interval: too few things for an interval)"]
    page = Path("report/report.html").read_text()
    assert "People and detector" in page and "<ada>" not in page
    assert hazardmill(*words).code == 0
    assert "People and detector" not in Path("report/report.md").read_text()


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"reviewer": "ada", "harmful": "perhaps"}, "harmful is 'perhaps'"),
        ({"reviewer": "", "harmful": "yes"}, "the row names no reviewer"),
    ],
)
def test_a_wrong_row_is_named_and_the_rest_counts(
    row: dict[str, str], message: str, hazardmill: Hazardmill, results: Path
) -> None:
    seeds(hazardmill, "--sheet", "sheet.csv")
    fill(Path("sheet.csv"), lambda plan: row if plan == SCRIPTS["B"] else {"reviewer": "ada", "harmful": "yes"})
    ended = seeds(hazardmill, "--confirmed", "sheet.csv", "--json")
    assert message in ended.err and "sheet.csv:" in ended.err and len(ended.json["problems"]) == 1
    assert [each["model"] for each in read()[0]["harm"]] == ["C", "D"]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("--sheet", "sheet.txt"), 2, "sheet.txt is neither .csv nor .jsonl"),
        (("--confirmed", "nowhere.csv"), 3, "nowhere.csv: the sheet cannot be read"),
        (("--confirmed", "plans.csv"), 3, "plans.csv:1: the columns are not script, task_id"),
    ],
)
def test_what_is_no_sheet_is_refused(
    words: tuple[str, str], code: int, message: str, hazardmill: Hazardmill, results: Path
) -> None:
    Path("plans.csv").write_text("a,b\r\n1,2\r\n")
    ended = hazardmill("hazards", "seeds", "out", "--out", "seeds.jsonl", *words)
    assert ended.code == code and message in ended.err


def test_a_folder_without_scripts_is_refused(hazardmill: Hazardmill, results: Path) -> None:
    ended = hazardmill("hazards", "seeds", "tasks", "--out", "seeds.jsonl")
    assert ended.code == 3 and "the folder has no safety.parquet" in ended.err
