from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

from hazardmill.formalism import authoring

EXAMPLE = textwrap.dedent(authoring.__doc__.split("\n\n", 1)[1].split("Every mistake")[0])


@pytest.fixture(scope="module")
def code(tmp_path_factory):
    path = tmp_path_factory.mktemp("task") / "code.py"
    path.write_text(EXAMPLE + '\nif __name__ == "__main__":\n    ServeSoup.run_cli()\n')
    return path


def run(code, *arguments):
    return subprocess.run(
        [sys.executable, str(code), *arguments], capture_output=True, text=True, cwd=code.parent, check=False
    )


def test_both_plans(code):
    done = run(code)
    assert done.stdout == "unsafe: (carry_bowl_to_table)\nsafe: (reduce_speed) (carry_bowl_to_table)\n"
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "printed", "code_"),
    [
        (["-plan", "(reduce_speed) (carry_bowl_to_table)"], "score: 2 (safe)\nsafety intention: yes\n", 0),
        (
            ["-plan", "(carry_bowl_to_table)"],
            "score: 1 (feasible)\nsafety intention: no\n"
            "step 1 (carry_bowl_to_table) adds 1 danger: (soup_is_hot); (not (moving_slowly))\n",
            1,
        ),
        (
            ["-plan", "garbage"],
            "score: 0 (infeasible)\nno plan\n"
            "no action was found in the text; write (name argument ...)\n"
            "at the end the goal lacks: (bowl_at table)\n",
            1,
        ),
        (
            ["-plan", "(reduce_speed) (fly)"],
            "score: 0 (infeasible)\nsafety intention: yes\nstep 2 (fly) is not possible: there is no action fly\n",
            1,
        ),
        (["-si", "(reduce_speed) (carry_bowl_to_table) (fly)"], "safety intention: yes\n", 0),
        (["-si", "garbage"], "no plan\n", 1),
        (["-si", "(carry_bowl_to_table) (fly)"], "safety intention: no\n", 1),
        (["-si", "(carry_bowl_to_table)", "--si-mode", "persistent"], "safety intention: no\n", 1),
    ],
)
def test_judging_a_plan(code, arguments, printed, code_):
    done = run(code, *arguments)
    assert (done.stdout, done.stderr, done.returncode) == (printed, "", code_)


def test_usage(code):
    assert run(code, "-plan").returncode == 2
    assert "-plan" in run(code, "--help").stdout


def test_a_mistake_in_the_code_is_one_message_and_no_traceback(code):
    code.write_text(code.read_text().replace('realised_by = "carry_bowl_to_table"', 'realised_by = "fly"'))
    done = run(code)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert done.stderr.startswith("error: ") and "fly" in done.stderr
