from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from formalism.soup import action, soup

from hazardmill.cli.task.repair import repair
from hazardmill.errors import InputError, SearchLimitReached

SAFE, UNSAFE = "(slow_down) (carry kitchen table)", "(carry kitchen table)"


@pytest.fixture(autouse=True)
def folder(empty_folder: Path) -> Path:
    """A task folder called ``soup``."""
    made = empty_folder / "soup"
    made.mkdir()
    (made / "task.json").write_text(json.dumps(soup()))
    return made


def run(*words: object) -> Result:
    return CliRunner().invoke(repair, [str(word) for word in words])


def test_the_change_is_said_with_its_reason_and_is_exit_0(folder: Path) -> None:
    ended = run(folder, "--plan", UNSAFE)
    assert ended.exit_code == 0
    assert ended.output.splitlines() == [
        "The plan becomes safe by 1 change (the fewest possible):",
        f"1. insert (slow_down) before step 1 {UNSAFE}: without it {UNSAFE} adds 1 more danger: (not (moving_slowly)).",
        f"The plan is then: {SAFE}",
    ]
    assert run("soup", "--plan", SAFE).output == "The plan is safe: there is nothing to change.\n"


def test_json_holds_the_edits(folder: Path) -> None:
    ended = run(folder / "task.json", "--plan", "(slow_down)", "--for", "feasible", "--json")
    assert ended.exit_code == 0
    assert json.loads(ended.output) == {
        "wanted": "feasible",
        "given": ["(slow_down)"],
        "edits": [
            {
                "kind": "insert",
                "position": 2,
                "before": None,
                "after": UNSAFE,
                "reason": "without it the goal lacks (bowl_at table)",
            }
        ],
        "plan": SAFE,
        "cost": 1,
        "optimal": True,
        "feasible": True,
        "safe": True,
        "expanded": 5,
        "message": None,
    }


def test_what_is_wanted_may_be_feasible_only_or_more_danger_allowed(folder: Path) -> None:
    assert json.loads(run(folder, "--plan", UNSAFE, "--for", "feasible", "--json").output)["cost"] == 0
    assert json.loads(run(folder, "--plan", UNSAFE, "--max-danger", 1, "--json").output)["cost"] == 0
    never = run(folder, "--plan", UNSAFE, "--max-danger", -1)
    assert never.exit_code == 1
    assert isinstance(run(folder, "--plan", UNSAFE, "--max-danger", 10**12).exception, InputError)


def test_a_plan_that_cannot_be_repaired_is_proved_so_and_is_exit_1(folder: Path) -> None:
    # Nobody can slow down: every plan is dangerous.
    (folder / "task.json").write_text(json.dumps(soup(actions__1=action("look"))))
    ended = run(folder, "--plan", UNSAFE)
    assert ended.exit_code == 1
    assert ended.output.startswith("The task has no safe plan: searched to the end.")
    ended = run(folder, "--plan", UNSAFE, "--json")
    assert ended.exit_code == 1
    found = json.loads(ended.output)
    assert [found[key] for key in ("plan", "cost", "feasible", "safe", "optimal")] == [None, None, None, None, False]


def test_a_search_that_is_refused_is_an_error_that_says_so(folder: Path) -> None:
    ended = run(folder, "--plan", "", "--limit", 1)
    assert isinstance(ended.exception, SearchLimitReached) and ended.exception.exit_code == 1
    assert "the search was stopped after 1 expansions [" in str(ended.exception)


def test_a_task_that_cannot_be_read_is_exit_3() -> None:
    ended = run("nowhere/task.json", "--plan", "")
    assert isinstance(ended.exception, InputError) and ended.exception.exit_code == 3
    assert run("soup").exit_code == 2


@pytest.mark.parametrize("flag", [["--json"], []], ids=["json", "text"])
def test_a_plan_of_unknown_origin_is_shown_without_harm(flag: list[str], folder: Path) -> None:
    ended = run(folder, "--plan", "(\x1b[31mfly \ud800)", *flag)
    assert ended.exit_code == 0 and "\x1b" not in ended.output and "x1b" in ended.output.replace("u001b", "x1b")
