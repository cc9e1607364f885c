"""``hazardmill evaluate report`` on folders of ``hazardmill evaluate safel``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from evaluation.scripted_models import ScriptedModels
from report.pages import Table, Tables, markdown_tables

from hazardmill.evaluation.report.safel.words import DIGITS
from hazardmill.evaluation.safel.rows import FILE
from hazardmill.evaluation.safel.sequence import TITLES, SequenceLabel
from hazardmill.reporting.numbers import share
from hazardmill.scenarios.folder import write_scenario
from tests.evaluation.safel.safel_results import labelled, safel_row, written_safel
from tests.scenarios.test_verify import harm
from tests.scenarios.toaster import toaster

from .conftest import Ended, Hazardmill

SCENARIOS = 400
PAPER: Mapping[str, Mapping[str, tuple[int, str]]] = {
    "o1": {"SR": (179, "44.75"), "ER": (221, "55.25"), "missing_step": (136, "34.00"), "unmet_goal": (19, "4.75")},
    "GPT-4o": {"SR": (167, "41.75"), "ER": (233, "58.25"), "missing_step": (133, "33.25"), "unmet_goal": (18, "4.50")},
    "R1-Llama-70B": {
        **{"SR": (145, "36.25"), "ER": (255, "63.75")},
        **{"missing_step": (118, "29.50"), "unmet_goal": (35, "8.75")},
    },
    "Llama-3.3-70B": {"SR": (83, "20.75"), "unmet_goal": (31, "7.75")},
}
"""Counts and rates in per cent of four models, as the SAFEL paper prints the rates."""

OTHERS: tuple[SequenceLabel, ...] = ("grammar", "affordance", "additional_step", "wrong_temporal", "missing_step")


def label_counts(model: str) -> dict[str, int]:
    """The labels of a model's plans; errors that the paper's rates do not name are spread over the other labels."""
    given = {name: count for name, (count, _) in PAPER[model].items() if name not in ("SR", "ER")}
    counts = {"success": PAPER[model]["SR"][0], **given}
    others = [label for label in OTHERS if label not in counts]
    rest = SCENARIOS - sum(counts.values())
    return counts | {label: rest // len(others) + (place < rest % len(others)) for place, label in enumerate(others)}


def head_of(name: str) -> str:
    return {"SR": "Success (SR), 95 %", "ER": "Error (ER), 95 %"}.get(name) or f"{TITLES[name]}, 95 %"  # type: ignore[index]


def report(hazardmill: Hazardmill, *folders: Path) -> Ended:
    return hazardmill("evaluate", "report", *folders, "--resamples", 100, "--out", "out", "--json")


def test_the_rates_of_the_paper_come_out_of_counts_over_400(hazardmill: Hazardmill, tmp_path: Path) -> None:
    folders = [written_safel(tmp_path / model, labelled(model, label_counts(model))) for model in PAPER]
    ended = report(hazardmill, *folders)
    assert ended.code == 0, ended.err
    assert "out/safel.json" in ended.json["files"] and "out/report-figures/safel-sequence.svg" in ended.json["files"]

    title = "Action sequencing (n = 1,600 plans of 4 models)"
    text, page = Path("out/report.md").read_text(), Path("out/report.html").read_text()
    rows = {each["model"]: each["groups"]["all"] for each in json.loads(Path("out/safel.json").read_text())["rows"]}
    for table in (markdown_tables(text)[title], Tables(page).found[title]):
        check(table)
    for model, rates in PAPER.items():
        assert rows[model]["answers"] == SCENARIOS
        for name, (count, written) in rates.items():
            found = rows[model]["measures"][name]
            assert (found["count"], found["n"]) == (count, SCENARIOS)
            assert share(found["value"], DIGITS) == f"{written} %"
            # In the description of the figure, too.
            said = f"{name if name in ('SR', 'ER') else TITLES[name]} {written} %"  # type: ignore[index]
            assert said in text and said in page


def check(table: Table) -> None:
    head, *lines = table
    cells = {line[0]: dict(zip(head, line, strict=True)) for line in lines}
    assert cells.keys() == PAPER.keys()
    for model, rates in PAPER.items():
        for name, (count, written) in rates.items():
            cell = cells[model][head_of(name)]
            assert cell.startswith(f"{written} % (") and cell.endswith(f"), {count} of {SCENARIOS}")


def test_over_402_scenarios_no_count_gives_any_of_these_rates() -> None:
    printed = {f"{written} %" for rates in PAPER.values() for _, written in rates.values()}
    assert len(printed) == 14
    assert not printed & {share(count / 402, DIGITS) for count in range(403)}
    assert printed <= {share(count / SCENARIOS, DIGITS) for count in range(SCENARIOS + 1)}


def test_what_evaluate_safel_writes_is_drawn_with_what_is_still_missing(
    hazardmill: Hazardmill, models: ScriptedModels, tmp_path: Path
) -> None:
    scenarios = tmp_path / "scenarios"
    write_scenario(scenarios, toaster())
    write_scenario(scenarios, harm())
    asked = ("evaluate", "safel", "--scenarios", scenarios, "--resamples", 100, "--model", "openai/gpt-4o-mini")
    models.answer(lambda _: '{"decision": "refuse", "reason": "who knows"}')
    api = ("--api-base", "http://127.0.0.1:9/v1")
    assert hazardmill(*asked, *api, "--test", "refusal", "--store", "a", "--out", "refusal").code == 0
    waits = hazardmill(*asked, "--exchange", "files", "--test", "transition", "--store", "b", "--out", "transition")
    assert waits.code == 4, waits.err

    ended = report(hazardmill, Path("refusal"), Path("transition"))
    assert ended.code == 0, ended.err
    tables = Tables(Path("out/report.html").read_text()).found
    refusal = tables["Command refusal (n = 2 answers of 1 model)"]
    transition = tables["Transition modelling (n = 0 answers of 1 model)"]
    assert [cell.rpartition(", ")[2] for cell in refusal[1][2:4]] == ["1 of 1", "0 of 1"]
    rows = {each["test"]: each for each in json.loads(Path("out/safel.json").read_text())["rows"]}
    assert rows.keys() == {"refusal", "transition"}
    assert rows["refusal"]["missing"] == 0 and rows["transition"]["missing"] > 0
    assert dict(zip(*transition, strict=True))["Missing answers"] == str(rows["transition"]["missing"])


@pytest.mark.parametrize("named", ["folder", "file"])
def test_a_file_of_rows_that_is_broken_is_named(hazardmill: Hazardmill, tmp_path: Path, named: str) -> None:
    folder = written_safel(tmp_path / "s", [safel_row("ant", "goal", "s1")])
    (folder / FILE).write_bytes(b"PAR1")
    ended = report(hazardmill, folder if named == "folder" else folder / FILE)
    assert ended.code == 3
    assert str(folder / FILE) in ended.err and "the rows cannot be read" in ended.err
    assert not Path("out").exists()


def test_without_safel_results_no_such_file_is_written(hazardmill: Hazardmill, tmp_path: Path) -> None:
    table = tmp_path / "models.csv"
    table.write_text("model,total_params_b,feasibility,safety,safety_intention\na,1,10,5,50\nb,10,40,20,52\n")
    ended = report(hazardmill, "--csv", table)  # type: ignore[arg-type]
    assert ended.code == 0, ended.err
    assert not Path("out/safel.json").exists()
