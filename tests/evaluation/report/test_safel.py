from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from hazardmill.errors import InputError
from hazardmill.evaluation.report.contents import EvaluationReport, gather
from hazardmill.evaluation.report.markdown import render_markdown
from hazardmill.evaluation.report.page import render_page
from hazardmill.evaluation.report.safel.section import TITLE, safel_json
from hazardmill.evaluation.results_files import SUMMARY
from hazardmill.evaluation.safel.rows import FILE
from hazardmill.evaluation.safel.sequence import LABELS
from hazardmill.reporting.table import Grid

from ..safel.safel_results import LEAF, OTHER_LEAF, labelled, safel_row, written_safel
from .conftest import HOW
from .evaluations import abilities, facts, row, with_abilities, written


def report_on(*folders: Path) -> EvaluationReport:
    return gather(list(folders), None, None, HOW)


def column(grid: Grid, head: str) -> list[str]:
    """The cells of the only column whose heading begins so."""
    (place,) = [number for number, name in enumerate(grid.head) if name.startswith(head)]
    return [line[place] for line in grid.rows]


def counted(cell: str) -> Fraction:
    """The exact share that a cell counts: ``179 of 400``."""
    found = re.search(r"([\d,]+) of ([\d,]+)$", cell)
    assert found is not None, cell
    return Fraction(int(found[1].replace(",", "")), int(found[2].replace(",", "")))


def test_the_four_tests_of_a_model_may_be_in_four_folders_beside_other_results(tmp_path: Path) -> None:
    folders = [
        written_safel(tmp_path / test, [safel_row("ant", test, kind, kind) for kind in ("mal", "sit")])
        for test in ("refusal", "goal", "transition")
    ]
    folders.append(written_safel(tmp_path / "sequence", [safel_row("ant", "sequence", "s1")]))
    folders.append(written(tmp_path / "plans", [row("bee", "t1")]))
    contents = report_on(*folders)
    assert [name for name in contents.figures if name.startswith("safel-")] == [
        *("safel-refusal", "safel-goal", "safel-transition", "safel-sequence")
    ]
    assert ("1", "model in SAFEL tests") in contents.headline and ("7", "answers in SAFEL tests") in contents.headline
    assert [member.model for member in contents.panel.members] == ["bee"]


def test_a_test_that_nobody_was_asked_has_no_figure(tmp_path: Path) -> None:
    contents = report_on(written_safel(tmp_path / "s", [safel_row("ant", "goal", "s1")]))
    assert [name for name in contents.figures if name.startswith("safel-")] == ["safel-goal"]
    text, files = render_markdown(contents)
    assert f"## {TITLE}" in text and "report-figures/safel-goal.svg" in files
    assert "safel-sequence" not in text and "Labels of plans by hazard" not in text


def test_without_such_results_there_is_no_section(tmp_path: Path) -> None:
    contents = report_on(written(tmp_path / "r", [row("ant", "t1")]))
    assert contents.safel is None
    assert TITLE not in render_page(contents) and TITLE not in render_markdown(contents)[0]


def test_recalls_their_mean_and_over_refusal(tmp_path: Path) -> None:
    rows = [
        safel_row("ant", "refusal", "m1", "mal", decision="refuse"),
        safel_row("ant", "refusal", "m2", "mal", decision=None, correct=False, status="unreadable"),
        safel_row("ant", "refusal", "s1", decision="accept"),
        *(safel_row("ant", "refusal", f"t{n}", "task", decision="accept" if n else "refuse") for n in range(4)),
    ]
    grid = report_on(written_safel(tmp_path / "s", rows)).figures["safel-refusal"].grid
    assert column(grid, "Recall Mal")[0].startswith("50.00 % (") and column(grid, "Recall Mal")[0].endswith("1 of 2")
    assert column(grid, "Recall Sit")[0].endswith("1 of 1")
    (mean,) = column(grid, "Mean of both, 95 %")
    assert mean.startswith("75.00 % (") and mean.endswith(", averaged), n 3")
    assert column(grid, "Over-refusal")[0].startswith("25.00 % (")
    assert column(grid, "No decision") == ["1"]
    assert "Missing answers" not in grid.head and "Declined by finish reason" not in grid.head


def test_recalls_of_goals_are_pooled_with_the_mean_beside_them_by_kind(tmp_path: Path) -> None:
    # The worked example of the protocol: 1 of 2 and 4 of 4 unary literals.
    rows = [
        safel_row("ant", "goal", "s1", unary_hits=1, unary_true=2),
        safel_row("ant", "goal", "s2", unary_hits=4, unary_true=4, relational_hits=0, relational_true=0),
        safel_row("ant", "goal", "m1", "mal", unary_hits=0, unary_true=1, undeclared=2),
        safel_row("ant", "goal", "m2", "mal", excluded="disjunction"),
    ]
    grid = report_on(written_safel(tmp_path / "s", rows)).figures["safel-goal"].grid
    assert column(grid, "Scenarios") == ["all", "malicious", "situational"]
    assert [cell.partition(" (")[0] for cell in column(grid, "S_u-R pooled")] == ["71.43 %", "0.00 %", "83.33 %"]
    assert [cell.partition(" (")[0] for cell in column(grid, "S_u-R mean")] == ["50.00 %", "0.00 %", "75.00 %"]
    assert [cell.rpartition(" ")[2] for cell in column(grid, "S_r-R pooled")] == ["2", "1", "1"]
    assert column(grid, "Goals excluded") == ["1", "1", "0"]
    assert column(grid, "With undeclared names") == ["1", "1", "0"]
    assert "Comparisons left out" not in grid.head


def test_p_and_n_scores_with_their_mean_by_kind(tmp_path: Path) -> None:
    rows = [
        safel_row("ant", "transition", "s1", about="grasp", hits=1, true=2),
        safel_row("ant", "transition", "s1", about="toast", hits=1, true=4, new=True),
        safel_row("ant", "transition", "m1", "mal", about="grasp"),
    ]
    grid = report_on(written_safel(tmp_path / "s", rows)).figures["safel-transition"].grid
    assert [cell.partition(" (")[0] for cell in column(grid, "P-score")] == ["75.00 %", "100.00 %", "50.00 %"]
    assert [cell.partition(" (")[0] for cell in column(grid, "N-score")] == ["25.00 %", "-", "25.00 %"]
    means = column(grid, "Mean of both, 95 %")
    assert [cell.partition(" (")[0] for cell in means] == ["50.00 %", "-", "37.50 %"]


def test_shares_of_labels_add_up_to_one_exactly(tmp_path: Path) -> None:
    # Three shares that no float adds up to 1 with.
    rows = labelled("ant", dict(zip(LABELS, (3, 5, 7, 11, 13, 17, 19), strict=True)))
    grid = report_on(written_safel(tmp_path / "s", rows)).figures["safel-sequence"].grid
    heads = ("Grammar", "Affordance", "Additional Step", "Wrong Temporal", "Missing Step", "Unmet Goal")
    errors = sum((counted(column(grid, head)[0]) for head in heads), Fraction(0))
    assert errors == counted(column(grid, "Error (ER)")[0]) == Fraction(56, 75)
    assert errors + counted(column(grid, "Success (SR)")[0]) == 1


def test_labels_by_hazard_are_of_the_hazards_that_have_scenarios(tmp_path: Path) -> None:
    rows = [
        *labelled("bee", {"success": 1, "missing_step": 3}),
        *(safel_row("bee", "sequence", f"x{n}", label="grammar", **OTHER_LEAF) for n in range(2)),
        safel_row("bee", "sequence", "without", label="unmet_goal"),
    ]
    contents = report_on(
        written_safel(tmp_path / "b", rows), written_safel(tmp_path / "a", labelled("ant", {"success": 2}))
    )
    assert contents.safel is not None and contents.safel.hazards is not None
    grid = contents.safel.hazards
    assert grid.title == "Labels of plans by hazard (2 hazards with scenarios)"
    assert [line[:3] for line in grid.rows] == [
        ("human / fire hazard", "ant", "2"),
        ("human / fire hazard", "bee", "4"),
        ("property / burned object", "bee", "2"),
        ("no hazard label", "bee", "1"),
    ]
    assert column(grid, "Missing Step") == ["0.00 %, 0", "75.00 %, 3", "0.00 %, 0", "0.00 %, 0"]
    assert column(grid, "Unmet Goal")[-1] == "100.00 %, 1"
    assert grid.title in render_page(contents) and "| human / fire hazard | bee |" in render_markdown(contents)[0]


def test_missing_answers_are_shown_as_missing(tmp_path: Path) -> None:
    some = written_safel(tmp_path / "some", labelled("ant", {"success": 1, "grammar": 1}), missing=3)
    said: dict[str, Any] = {"run": "r", "test": "sequence", "missing": 5, "decided_by": {"model": "bee"}}
    none = written_safel(tmp_path / "none", [], **said)
    unknown = written_safel(tmp_path / "unknown", labelled("cat", {"success": 4}))
    (unknown / SUMMARY).unlink()
    contents = report_on(some, none, unknown)
    figure = contents.figures["safel-sequence"]
    assert [line[:2] for line in figure.grid.rows] == [("ant", "2"), ("bee", "0"), ("cat", "4")]
    assert column(figure.grid, "Missing answers") == ["3", "5", "unknown"]
    assert column(figure.grid, "Success (SR)")[1] == "-" and column(figure.grid, "Success (SR)")[0].endswith("1 of 2")
    assert figure.note is not None and "Missing answers, which count neither way: ant 3, bee 5." in figure.note
    assert "n = 2, 3 missing" in figure.svg
    assert contents.safel is not None
    rows = {each["model"]: each for each in json.loads(safel_json(contents.safel))["rows"]}
    assert (rows["ant"]["missing"], rows["bee"]["missing"], rows["cat"]["missing"]) == (3, 5, None)
    assert rows["bee"]["groups"] == {}
    assert rows["ant"]["groups"]["all"]["measures"]["SR"]["count"] == 1


@pytest.mark.parametrize("test", ["refusal", "goal", "transition", "sequence"])
def test_a_model_that_has_answered_nothing_yet_has_a_row(tmp_path: Path, test: str) -> None:
    said: dict[str, Any] = {"run": "r", "test": test, "missing": 5, "decided_by": {"model": "bee"}}
    figure = report_on(written_safel(tmp_path / "none", [], **said)).figures[f"safel-{test}"]
    assert [line[0] for line in figure.grid.rows] == ["bee"] and figure.grid.rows[0][-1] == "5"


def test_a_model_that_two_runs_asked_the_same_test_is_two(tmp_path: Path) -> None:
    folders = [
        written_safel(tmp_path / "r1", [safel_row("ant", "goal", "s1", run="r1")]),
        written_safel(tmp_path / "r2", [safel_row("ant", "goal", "s1", run="r2")]),
        written_safel(tmp_path / "r3", [safel_row("ant", "refusal", "s1", run="r3")]),
    ]
    contents = report_on(*folders)
    assert {line[0] for line in contents.figures["safel-goal"].grid.rows} == {"ant (r1)", "ant (r2)"}
    assert {line[0] for line in contents.figures["safel-refusal"].grid.rows} == {"ant"}


def test_models_on_other_scenarios_are_said_not_to_be_comparable(tmp_path: Path) -> None:
    one = written_safel(tmp_path / "a", [safel_row("ant", "goal", "s1")])
    other = written_safel(tmp_path / "b", [safel_row("bee", "goal", "s2")], scenarios_digest="6" * 64)
    contents = report_on(one, other)
    assert "not asked the test goal about the same scenarios" in render_page(contents)
    assert "not asked the test goal about the same scenarios" in render_markdown(contents)[0]
    same = report_on(one, written_safel(tmp_path / "c", [safel_row("bee", "goal", "s1")]))
    assert same.safel is not None and same.safel.notes == ()


def test_one_folder_may_hold_results_of_every_kind(tmp_path: Path) -> None:
    folder = written_safel(tmp_path / "all", [safel_row("ant", "goal", "s1")])
    with_abilities(written(folder, [row("ant", "t1")]), abilities(["ant"], 2))
    contents = report_on(folder)
    assert [member.model for member in contents.panel.members] == ["ant"]
    assert "n = 6 answers" in contents.figures["abilities"].title
    # The summary is of the other evaluation, and says nothing about missing answers.
    assert contents.figures["safel-goal"].grid.rows[0][-1] == "unknown"


def test_the_file_may_be_named_in_place_of_its_folder(tmp_path: Path) -> None:
    folder = written_safel(tmp_path / "s", [safel_row("ant", "goal", "s1")])
    assert report_on(folder / FILE).figures["safel-goal"].grid == report_on(folder).figures["safel-goal"].grid


def test_a_run_in_two_folders_is_refused(tmp_path: Path) -> None:
    folders = [written_safel(tmp_path / name, [safel_row("ant", "goal", "s1")]) for name in "ab"]
    with pytest.raises(InputError, match="run ant-goal is also in"):
        report_on(*folders)


def test_a_file_that_is_not_parquet_is_refused_by_name(tmp_path: Path) -> None:
    folder = written_safel(tmp_path / "s", [safel_row("ant", "goal", "s1")])
    (folder / FILE).write_bytes((folder / FILE).read_bytes()[:-9])
    with pytest.raises(InputError, match="the rows cannot be read") as refused:
        report_on(folder)
    assert refused.value.file == str(folder / FILE) and "hazardmill evaluate safel" in (refused.value.remedy or "")


@pytest.mark.parametrize(
    ("said", "wrong"),
    [
        ({"missing": -1}, "missing: Input should be greater than or equal to 0"),
        ({"decided_by": {}}, "decided_by.model: Field required"),
        ({"run": "another"}, "this is the summary of run another, but safel.parquet beside it belongs to run ant-goal"),
    ],
)
def test_a_summary_that_does_not_fit_is_refused_by_file(tmp_path: Path, said: dict[str, Any], wrong: str) -> None:
    folder = written_safel(tmp_path / "s", [safel_row("ant", "goal", "s1")], **said)
    with pytest.raises(InputError, match=re.escape(wrong)) as refused:
        report_on(folder)
    assert refused.value.file == str(folder / SUMMARY)


def test_scenarios_of_tasks_of_another_release_are_refused(tmp_path: Path) -> None:
    release = facts([row("ant", "t1")])
    known = written_safel(tmp_path / "a", [safel_row("ant", "goal", "s1", task_id="t1", **LEAF)])
    assert "safel-goal" in gather([known], None, release, HOW).figures
    strange = written_safel(tmp_path / "b", [safel_row("bee", "goal", "s1", task_id="t9")])
    with pytest.raises(InputError, match=r"task t9 is not in soups 1\.2\.3"):
        gather([strange], None, release, HOW)


def test_stand_ins_come_last_and_are_called_what_they_are(tmp_path: Path) -> None:
    rows = [*labelled("stand-in/shortest", {"success": 2}), *labelled("yak", {"grammar": 1})]
    figure = report_on(written_safel(tmp_path / "s", rows)).figures["safel-sequence"]
    assert [line[0] for line in figure.grid.rows] == ["yak", "stand-in/shortest (rules, no model)"]
    assert "rules, no model, n = 2" in figure.svg
