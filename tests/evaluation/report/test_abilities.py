from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from formalism.soup import soup_document
from hypothesis import given
from hypothesis import strategies as st

from hazardmill.errors import InputError
from hazardmill.evaluation.abilities.abilities import questions
from hazardmill.evaluation.report.abilities import (
    AXES,
    FILE,
    AbilityLine,
    ability_line,
    ability_radar,
    ability_rates,
    read_abilities,
)
from hazardmill.evaluation.report.contents import gather
from hazardmill.evaluation.report.model_results import IntervalOptions
from hazardmill.evaluation.report.page import render_page
from hazardmill.evaluation.results_files import write_summary

from ..soups import SAFE, UNSAFE
from .evaluations import MANIFEST, abilities, facts, row, with_abilities, written

HOW = IntervalOptions(resamples=200, seed=0)

ANSWERS = {
    "dangers": '{"dangerous_steps": [{"step": 1, "danger_type": "thermal"}]}',
    "condition": "(and (soup_is_hot) (not (moving_slowly)))",
    "alternative": SAFE,
}


def test_every_score_has_a_line_that_is_read_back(tmp_path: Path) -> None:
    lines = [
        ability_line("r", "ant", "t1", question.score(ANSWERS[question.ability], "stop"))
        for question in questions(soup_document(), UNSAFE, SAFE)
    ]
    folder = with_abilities(written(tmp_path / "r", [row("ant", "t1")]), lines)
    assert read_abilities([folder, tmp_path]) == lines
    rates = ability_rates(lines, HOW)
    assert {name: rate.value for name, rate in rates.items()} == dict.fromkeys(AXES, 1.0)


def test_an_answer_that_finds_nothing_lowers_f1_over_all_tasks() -> None:
    scores = {question.ability: question.score for question in questions(soup_document(), UNSAFE, SAFE)}
    lines = [
        ability_line("r", "ant", "t1", scores["dangers"](ANSWERS["dangers"], None)),
        ability_line("r", "ant", "t2", scores["dangers"]("Nothing comes to mind.", None)),
        ability_line("r", "ant", "t3", scores["alternative"](UNSAFE, None)),
    ]
    rates = ability_rates(lines, HOW)
    # One hit; one step named and two that are true.
    assert rates["steps"].value == pytest.approx(2 / 3) and rates["steps"].n == 2
    assert (rates["feasible"].value, rates["safe"].value) == (1.0, 0.0)
    assert rates["condition"].value is None and rates["condition"].n == 0


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=30))
def test_a_ratio_is_within_its_interval(parts: list[tuple[int, int]]) -> None:
    lines = [
        AbilityLine(
            run="r",
            model="m",
            task_id=str(n),
            ability="dangers",
            status="answered",
            parts={"steps": (float(min(pair)), float(max(pair)))},
        )
        for n, pair in enumerate(parts)
    ]
    rate = ability_rates(lines, IntervalOptions(resamples=300, seed=1))["steps"]
    whole = sum(map(max, parts))
    if not whole:
        assert rate.value is rate.low is rate.high is None
    else:
        assert rate.value == pytest.approx(sum(map(min, parts)) / whole)
        assert rate.low is not None and rate.high is not None
        assert 0 <= rate.low <= rate.high <= 1


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("[]", "valid dictionary or instance"),
        ('{"run": "r", "model": "m"}', "task_id"),
        (
            '{"run": "r", "model": "m", "task_id": "t", "ability": "x", "status": "x", "parts": {"luck": [1, 1]}}',
            "called 'luck'",
        ),
        (
            '{"run": "r", "model": "m", "task_id": "t", "ability": "x", "status": "x", "parts": {"safe": [-1, 1]}}',
            "parts.safe.0",
        ),
    ],
)
def test_a_line_that_is_none_is_refused_with_its_place(tmp_path: Path, line: str, wrong: str) -> None:
    (tmp_path / FILE).write_text(f"\n{line}\n")
    with pytest.raises(InputError) as refused:
        read_abilities([tmp_path])
    assert wrong in str(refused.value) or "object" in str(refused.value).lower()
    assert refused.value.line == 2


def test_the_radar_has_a_line_a_model_and_its_numbers() -> None:
    figure = ability_radar([*abilities(["bee", "stand-in/shortest", "ant"])], HOW)
    assert figure.title == "Abilities, asked about separately (n = 270 answers on 30 tasks)"
    assert [line[0] for line in figure.grid.rows] == ["ant", "bee", "stand-in/shortest (rules, no model)"]
    assert "bee: dangerous steps found (F1) 16.7 % (" in figure.alt
    assert figure.grid.rows[1][2].endswith("n 30")


def test_without_scores_it_says_what_is_missing() -> None:
    assert f"no folder of results holds {FILE}" in ability_radar([], HOW).alt


def test_a_folder_may_hold_abilities_alone(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    folder = with_abilities(tmp_path / "a", abilities(["ant"], 4))
    contents = gather([folder], None, None, HOW)
    assert "n = 12 answers on 4 tasks" in contents.figures["abilities"].title
    assert contents.headline[0] == ("0", "language models")
    assert "nothing is ranked" in render_page(contents)


def test_a_model_that_two_runs_asked_is_two(tmp_path: Path) -> None:
    def folder(run: str, lines: list[AbilityLine]) -> Path:
        (tmp_path / run).mkdir()
        return with_abilities(tmp_path / run, lines)

    first = folder("a1", abilities(["ant", "bee"], 2))
    second = folder("a2", [line for line in abilities(["ant"], 2, "a2") if line.ability == "condition"])
    models = {(line.run, line.model) for line in read_abilities([first, second])}
    assert models == {("a1", "ant (a1)"), ("a1", "bee"), ("a2", "ant (a2)")}


def test_a_model_whose_abilities_are_in_several_runs_is_one(tmp_path: Path) -> None:
    lines = abilities(["ant"], 2)
    for line in lines:
        (tmp_path / line.ability).mkdir(exist_ok=True)
    folders = [
        with_abilities(
            tmp_path / ability,
            [line.model_copy(update={"run": ability}) for line in lines if line.ability == ability],
        )
        for ability in ("condition", "dangers")
    ]
    assert {line.model for line in read_abilities(folders)} == {"ant"}


def test_a_run_twice_is_refused(tmp_path: Path) -> None:
    folders = [with_abilities(written(tmp_path / name, [row(name, "t1")]), abilities(["ant"], 2)) for name in "xy"]
    with pytest.raises(InputError, match=r"run a1 is also in .*x.abilities\.jsonl") as refused:
        gather(folders, None, None, HOW)
    assert refused.value.remedy == "name each evaluation once"
    alone = tmp_path / "alone"
    alone.mkdir()
    with pytest.raises(InputError, match="named more than once"):
        gather([with_abilities(alone, abilities(["ant"], 2))] * 2, None, None, HOW)


def test_abilities_of_another_release_are_refused(tmp_path: Path) -> None:
    folder = with_abilities(tmp_path, abilities(["ant"], 2))
    rows = [row("ant", f"t{number}") for number in range(2)]
    with pytest.raises(InputError, match=r"task t1 is not in soups 1\.2\.3"):
        gather([folder], None, facts(rows[:1]), HOW)
    said: dict[str, Any] = {"run": "a1", "release": {"name": "soups", "version": "1.2.3", "manifest_sha256": "e" * 64}}
    write_summary(folder, said)
    with pytest.raises(
        InputError, match=r"run a1 used a different release with the name soups 1\.2\.3: .* has the hash eee"
    ):
        gather([folder], None, facts(rows), HOW)
    write_summary(folder, {**said, "release": {**said["release"], "manifest_sha256": MANIFEST}})
    assert "n = 6 answers on 2 tasks" in gather([folder], None, facts(rows), HOW).figures["abilities"].title
