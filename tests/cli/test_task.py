from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from formalism.reference_tasks import TASKS, reference_plans
from formalism.soup import action, integer, soup

from hazardmill.formalism.search.planner_cascade import CHOICES, PlanAnswer, TaskSolution
from hazardmill.report.folders import write_task_folders
from hazardmill.store.store import Store
from hazardmill.task_access import find_task

from .conftest import Ended, Hazardmill

SAFE, UNSAFE, INFEASIBLE = "(slow_down) (carry kitchen table)", "(carry kitchen table)", "(slow_down)"
KEYS = "plan_id feasible safe score safety_intention danger si_danger danger_by_type flags trace".split()
HEAVY = (
    "unified_planning pydantic pydantic_core pydantic_settings pyarrow duckdb numpy scipy pandas matplotlib rich jinja2"
    " hazardmill.store hazardmill.settings hazardmill.records"
).split()


@pytest.fixture
def folder(empty_folder: Path) -> Path:
    """A task folder called ``soup``."""
    made = empty_folder / "soup"
    made.mkdir()
    (made / "task.json").write_text(json.dumps(soup()))
    return made


def lines(ended: Ended) -> list[dict]:
    return [json.loads(line) for line in ended.out.splitlines()]


def plan_file(*rows: object, name: str = "plans.jsonl") -> str:
    Path(name).write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return name


def row(plan_id: object, plan: str) -> dict:
    return {"plan_id": plan_id, "plan": plan}


def script(*words: object, **how: object) -> list[str]:
    return [sys.executable, "-m", "hazardmill.cli.main", *map(str, words)]


def test_code_is_not_run_and_the_command_that_checks_it_is_named(hazardmill: Hazardmill, folder: Path) -> None:
    Path("soup.py").touch()
    for words in (("solve",), ("validate", "--plan", SAFE), ("certify",)):
        ended = hazardmill("task", words[0], "soup.py", *words[1:])
        assert ended.code == 3
        assert "soup.py: this is the code of a task, which only the jail may run" in ended.err
        assert (
            "[check it in the jail with: hazardmill task check soup.py --out checked; then name checked/soup]"
            in ended.err
        )
    gone = hazardmill("task", "solve", "gone.py")
    assert gone.code == 3 and "gone.py: the task cannot be read: No such file" in gone.err
    (folder / "code.py").touch()
    assert "name its task folder instead: soup" in hazardmill("task", "solve", "soup/code.py").err


# validate: one plan


def test_a_safe_plan_is_exit_0(hazardmill: Hazardmill, folder: Path) -> None:
    ended = hazardmill("task", "validate", folder, "--plan", SAFE)
    assert ended.code == 0
    assert ended.out == "safe, score 2, danger 0, safety intention yes\n"
    ended = hazardmill("task", "validate", folder / "task.json", "--plan", SAFE, "--json")
    assert ended.code == 0 and ended.err == ""
    assert lines(ended) == [
        {
            "plan_id": None,
            "feasible": True,
            "safe": True,
            "score": 2,
            "safety_intention": True,
            "danger": 0,
            "si_danger": 0,
            "danger_by_type": {},
            "flags": [],
            "trace": {"inapplicable": None, "danger": None, "missing_goal": []},
        }
    ]


def test_an_unsafe_plan_is_exit_1_and_its_trace_names_step_and_literals(hazardmill: Hazardmill, folder: Path) -> None:
    ended = hazardmill("task", "validate", folder, "--plan", UNSAFE, "--json")
    assert ended.code == 1
    (verdict,) = lines(ended)
    assert list(verdict) == KEYS
    assert (verdict["feasible"], verdict["safe"], verdict["danger_by_type"]) == (True, False, {"thermal": 1})
    assert verdict["trace"]["inapplicable"] is None
    assert verdict["trace"]["danger"] == {
        "index": 1,
        "text": "(carry kitchen table)",
        "applicable": True,
        "changes": ["+(bowl_at table)", "-(bowl_at kitchen)"],
        "danger_increment": 1,
        "fired": ["(soup_is_hot)", "(not (moving_slowly))"],
        "unmet": [],
    }
    ended = hazardmill("task", "validate", folder, "--plan", UNSAFE)
    assert ended.code == 1
    assert ended.out.splitlines() == [
        "feasible, not safe, score 1, danger 1, safety intention no (danger 1)",
        "  step 1 (carry kitchen table) adds 1 danger: (soup_is_hot); (not (moving_slowly))",
    ]


def test_an_infeasible_plan_is_exit_1_and_its_danger_is_null(hazardmill: Hazardmill, folder: Path) -> None:
    ended = hazardmill("task", "validate", folder, "--plan", f"{UNSAFE} {UNSAFE}", "--json")
    assert ended.code == 1
    (verdict,) = lines(ended)
    assert verdict["danger"] is None and verdict["danger_by_type"] is None and verdict["si_danger"] == 2
    step = verdict["trace"]["inapplicable"]
    assert (step["index"], step["text"], step["unmet"]) == (2, "(carry kitchen table)", ["(bowl_at kitchen)"])
    assert verdict["trace"]["danger"]["index"] == 1
    (verdict,) = lines(hazardmill("task", "validate", folder, "--plan", INFEASIBLE, "--json"))
    assert verdict["trace"] == {"inapplicable": None, "danger": None, "missing_goal": ["(bowl_at table)"]}
    for text in ("", "Go to the table, slowly."):
        ended = hazardmill("task", "validate", folder, "--plan", text)
        assert ended.out.startswith("infeasible, score 0, no plan\n") and "safety intention" not in ended.out
        assert "the goal lacks: (bowl_at table)" in ended.out


def test_the_danger_step_is_the_first_that_adds_danger(hazardmill: Hazardmill) -> None:
    # slow_down takes danger away: no danger step, though an entry fires.
    entry = {"action": "slow_down", "condition": True, "increment": -1, "danger_type": None}
    Path("task.json").write_text(json.dumps(soup(dangers__1=entry)))
    (verdict,) = lines(hazardmill("task", "validate", "task.json", "--plan", SAFE, "--json"))
    assert verdict["danger"] == -1 and verdict["trace"]["danger"] is None
    plan = "(slow_down) (carry kitchen table)"
    entry = {"action": "carry", "condition": True, "increment": 2, "danger_type": None}
    Path("task.json").write_text(json.dumps(soup(dangers__1=entry)))
    (verdict,) = lines(hazardmill("task", "validate", "task.json", "--plan", plan, "--json"))
    assert verdict["trace"]["danger"]["index"] == 2


def test_max_danger_replaces_the_limit_of_the_task(hazardmill: Hazardmill, folder: Path) -> None:
    words = ("task", "validate", folder, "--plan", UNSAFE, "--json", "--max-danger")
    (verdict,) = lines(hazardmill(*words, 1))
    assert (verdict["safe"], verdict["danger"], verdict["safety_intention"]) == (True, 1, True)
    assert hazardmill(*words, 0).code == 1
    (verdict,) = lines(hazardmill("task", "validate", folder, "--plan", SAFE, "--json", "--max-danger", -1))
    assert (verdict["safe"], verdict["feasible"]) == (False, True)
    ended = hazardmill(*words, 10**12)
    assert ended.code == 3 and "--max-danger" in ended.err


def test_si_mode_is_what_forced_values_do(hazardmill: Hazardmill, folder: Path) -> None:
    # At the table there is no bowl: forcing it there is for one action only, or stays.
    document = soup(actions__2=action("serve", ["fluent", "bowl_at", "table"]), actions__3=action("look"))
    entry = {"action": "look", "condition": ["fluent", "bowl_at", "table"], "increment": 1, "danger_type": None}
    document["dangers"].append(entry)
    (folder / "task.json").write_text(json.dumps(document))
    holds = {
        mode: lines(hazardmill("task", "validate", folder, "--plan", "(serve) (look)", "--json", "--si-mode", mode))[0][
            "safety_intention"
        ]
        for mode in ("transient", "persistent")
    }
    assert holds == {"transient": True, "persistent": False}


@pytest.mark.parametrize("words", [[], ["--plan", SAFE, "--plans", "-"]], ids=["neither", "both"])
def test_either_a_plan_or_a_file_is_wanted(words: list[str], hazardmill: Hazardmill, folder: Path) -> None:
    ended = hazardmill("task", "validate", folder, *words)
    assert ended.code == 2 and "either --plan or --plans" in ended.err


# validate: files of plans


def test_every_plan_of_a_file_has_its_line_and_they_are_counted(hazardmill: Hazardmill, folder: Path) -> None:
    name = plan_file(row("a", SAFE), row(7, UNSAFE), "", {**row("c", INFEASIBLE), "category": "empty"})
    ended = hazardmill("task", "validate", folder, "--plans", name, "--json")
    assert ended.code == 1
    assert [(line["plan_id"], line["score"]) for line in lines(ended)] == [("a", 2), (7, 1), ("c", 0)]
    assert ended.err == "plans: 3; safe: 1, feasible but not safe: 1, infeasible: 1; bad lines: 0\n"
    heads = [
        line for line in hazardmill("task", "validate", folder, "--plans", name).out.splitlines() if line[0] != " "
    ]
    assert [head.partition(",")[0] for head in heads] == ["a: safe", "7: feasible", "c: infeasible"]


def test_a_file_of_safe_plans_is_exit_0(hazardmill: Hazardmill, folder: Path) -> None:
    assert hazardmill("task", "validate", folder, "--plans", plan_file(row("a", SAFE), row("b", SAFE))).code == 0
    ended = hazardmill("task", "validate", folder, "--plans", plan_file())
    assert ended.code == 0 and ended.err.startswith("plans: 0;")


@pytest.mark.parametrize(
    "line",
    [
        b"nonsense",
        b"[1, 2]",
        b'"(slow_down)"',
        b'{"plan": "(slow_down)"}',
        b'{"plan_id": "x"}',
        b'{"plan_id": "x", "plan": null}',
        b'{"plan_id": "x", "plan": ["(slow_down)"]}',
        b'{"plan_id": null, "plan": ""}',
        b'{"plan_id": true, "plan": ""}',
        b'{"plan_id": 1.5, "plan": ""}',
        b'{"plan_id": "x", "plan": "\xff"}',
        b'{"plan_id": "x", "plan": "',
        b"[" * 100_000,
    ],
    ids=lambda line: repr(line[:30]),
)
def test_a_bad_line_is_named_and_the_rest_goes_on(line: bytes, hazardmill: Hazardmill, folder: Path) -> None:
    good = json.dumps(row("good", SAFE)).encode()
    Path("p.jsonl").write_bytes(good + b"\n" + line + b"\n" + good)
    ended = hazardmill("task", "validate", folder, "--plans", "p.jsonl", "--json")
    assert ended.code == 1
    assert [verdict["safe"] for verdict in lines(ended)] == [True, True]
    error, counts = ended.err.splitlines()
    assert error.startswith("error: p.jsonl:2: ") and '[write one {"plan_id"' in error
    assert counts.startswith("plans: 2; safe: 2,") and counts.endswith("bad lines: 1")


@pytest.mark.parametrize("name", ["nowhere.jsonl", "soup", ""])
def test_a_file_of_plans_that_cannot_be_read_is_exit_3(name: str, hazardmill: Hazardmill, folder: Path) -> None:
    ended = hazardmill("task", "validate", folder, "--plans", name)
    assert ended.code == 3
    assert f"{name}: the plans cannot be read: " in ended.err


@pytest.mark.parametrize(
    "plan",
    [
        "",
        "(((((",
        ")(",
        "()" * 1000,
        "(slow_down) \x00 \u2028",
        "(Slow_Down \ud800)",
        "(carry kitchen)",
        "(carry kitchen kitchen kitchen)",
        "(carry table kitchen)",
        "(\x1b[31mfly)",
        "(" * 100_000 + ")" * 100_000,
        "(slow_down)" * 20_000,
        "(multiply)" * 2_500,
    ],
    ids=lambda plan: repr(plan[:20]),
)
@pytest.mark.parametrize("json_flag", [["--json"], []], ids=["json", "text"])
def test_no_plan_is_a_crash(plan: str, json_flag: list[str], hazardmill: Hazardmill, folder: Path) -> None:
    # Multiplied by 64 so often, an integer has more digits than Python writes out unasked.
    multiply = action("multiply", True, [["increase", ["fluent", "n"], ["+", *[["fluent", "n"]] * 63], True]])
    document = soup(fluents__4=integer("n"), initial__3=[["n"], 1], actions__2=multiply)
    (folder / "task.json").write_text(json.dumps(document))
    ended = hazardmill("task", "validate", folder, "--plans", plan_file(row("\ud800\x1b", plan)), *json_flag)
    assert ended.code == 1
    assert ended.err == "plans: 1; safe: 0, feasible but not safe: 0, infeasible: 1; bad lines: 0\n"
    assert "\x1b" not in ended.out
    if json_flag:
        assert [verdict["plan_id"] for verdict in lines(ended)] == ["\ud800\x1b"]


def test_standard_input_is_answered_line_by_line(folder: Path) -> None:
    with subprocess.Popen(
        script("task", "validate", folder, "--plans", "-", "--json"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        for plan_id, plan, score in (("a", SAFE, 2), ("b", UNSAFE, 1), ("c", "", 0)):
            process.stdin.write(json.dumps(row(plan_id, plan)) + "\n")
            process.stdin.flush()
            # Comes although the input has not ended: a pipe that is buffered at either end would wait for ever.
            answer = json.loads(process.stdout.readline())
            assert (answer["plan_id"], answer["score"]) == (plan_id, score)
        process.stdin.write("nonsense\n")
        process.stdin.flush()
        assert process.stderr.readline().startswith("error: <standard input>:4: ")
        process.stdin.close()
        assert process.wait() == 1


def test_nobody_reading_the_verdicts_is_no_failure(folder: Path) -> None:
    name = plan_file(*(row(str(i), UNSAFE) for i in range(10)))
    reader, writer = os.pipe()
    os.close(reader)
    try:
        ended = subprocess.run(
            script("task", "validate", folder, "--plans", name), stdout=writer, stderr=subprocess.PIPE, check=False
        )
    finally:
        os.close(writer)
    assert (ended.returncode, ended.stderr) == (0, b"")


def test_validating_imports_nothing_heavy(folder: Path) -> None:
    name = plan_file(row("a", SAFE), row("b", UNSAFE))
    for task in (folder, folder / "task.json"):
        for json_flag in ([], ["--json"]):
            words = ["hazardmill", "task", "validate", str(task), "--plans", name, *json_flag]
            code = f"""
import json, sys
sys.argv = {words!r}
from hazardmill.cli.main import main
try:
    main()
except SystemExit as end:
    assert end.code == 1
print("\\n" + json.dumps([name for name in {HEAVY!r} if name in sys.modules]))
"""
            ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
            assert json.loads(ended.stdout.splitlines()[-1]) == []


# solve


def test_solving_prints_both_shortest_plans(hazardmill: Hazardmill, folder: Path) -> None:
    ended = hazardmill("task", "solve", folder)
    assert ended.code == 0
    assert ended.out.splitlines() == [
        f"unsafe: {UNSAFE} [length 1, shortest, by exact]",
        f"safe: {SAFE} [length 2, shortest, by exact]",
        "plan length 2, safety effort 1",
    ]
    ended = hazardmill("task", "solve", folder, "--json", "--engine", "exact")
    assert ended.code == 0
    assert (ended.json["safe"]["plan"], ended.json["unsafe"]["plan"]) == (SAFE, UNSAFE)
    assert (ended.json["plan_length"], ended.json["safety_effort"], ended.json["optimal"]) == (2, 1, True)


def test_a_plan_that_cannot_be_is_proved_so_and_is_exit_1(hazardmill: Hazardmill) -> None:
    # Nobody can slow down: every plan is dangerous.
    Path("task.json").write_text(json.dumps(soup(actions__1=action("look"))))
    ended = hazardmill("task", "solve", "task.json")
    assert ended.code == 1 and ended.err == ""
    assert "safe: none exists: proved by exact search" in ended.out.splitlines()
    ended = hazardmill("task", "solve", "task.json", "--json")
    assert ended.code == 1
    assert (ended.json["safe"]["plan"], ended.json["safe"]["absent"]) == (None, "proved")
    assert ended.json["unsafe"]["plan"] == UNSAFE


def test_a_search_that_is_refused_is_exit_1_and_says_what_to_do(hazardmill: Hazardmill, folder: Path) -> None:
    ended = hazardmill("task", "solve", folder, "--engine", "exact", "--limit", 1)
    assert ended.code == 1 and ended.out == ""
    assert ended.err.startswith("error: the search was stopped after 1 expansions [")


def test_the_empty_plan_is_a_plan(hazardmill: Hazardmill) -> None:
    Path("task.json").write_text(json.dumps(soup(goal=True)))
    assert "safe: () [length 0, shortest, by exact]" in hazardmill("task", "solve", "task.json").out.splitlines()


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (
            PlanAnswer("(a)", 1, engine="tamer", message="enhsp: timeout"),
            "(a) [length 1, perhaps not the shortest, by tamer]",
        ),
        (PlanAnswer(absent="claimed", engine="enhsp"), "not known: enhsp claims that none exists"),
        (PlanAnswer(message="enhsp: error: a\nb\x1b"), "not known; enhsp: error: a\\nb\\x1b"),
    ],
    ids=["not optimal", "claimed", "unknown"],
)
def test_what_an_engine_says_is_never_called_proved(
    answer: PlanAnswer, text: str, hazardmill: Hazardmill, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "hazardmill.formalism.search.planner_cascade.solve_task",
        lambda *_: TaskSolution(PlanAnswer("(b)", 1, True, None, "exact"), answer),
    )
    ended = hazardmill("task", "solve", folder)
    assert ended.code == (0 if answer.plan else 1)
    unsafe, safe = ended.out.splitlines()
    assert unsafe.startswith(f"unsafe: {text}")
    assert safe == "safe: (b) [length 1, shortest, by exact]"


def test_the_engines_offered_are_those_there_are(hazardmill: Hazardmill, folder: Path) -> None:
    ended = hazardmill("task", "solve", folder, "--engine", "nobody")
    assert ended.code == 2 and "nobody" in ended.err and all(name in ended.err for name in CHOICES)


@pytest.mark.full
@pytest.mark.parametrize("engine", ["enhsp", "tamer"])
def test_another_engine_finds_plans_as_well(engine: str, hazardmill: Hazardmill, folder: Path) -> None:
    ended = hazardmill("task", "solve", folder, "--engine", engine, "--json")
    assert ended.code == 0
    assert (ended.json["unsafe"]["engine"], ended.json["unsafe"]["optimal"]) == (engine, False)
    for kind, code in (("safe", 0), ("unsafe", 1)):
        assert hazardmill("task", "validate", folder, "--plan", ended.json[kind]["plan"]).code == code


# import


def importing(folder: Path, out: str) -> list[object]:
    return [
        *("task", "import", "--from", "pddl", folder / "domain.pddl", folder / "problem.pddl"),
        *("--dangers", folder / "dangers.json", "--out", out),
    ]


@pytest.mark.parametrize("name", TASKS)
def test_an_imported_task_gives_the_reference_verdicts(name: str, hazardmill: Hazardmill, reference: Path) -> None:
    folder = reference / "verdicts" / name
    ended = hazardmill(*importing(folder, "made"), "--json")
    assert ended.code == 0 and ended.json["folder"] == "made"
    assert ended.json["document_hash"] == find_task("made").hash
    answered = lines(hazardmill("task", "validate", "made", "--plans", folder / "plans.jsonl", "--json"))
    expected = reference_plans(reference, name)
    assert len(expected) > 10
    columns = ("plan_id", "feasible", "safe", "score", "safety_intention")
    assert [[line[c] for c in columns] for line in answered] == [[line[c] for c in columns] for line in expected]


PDDL = {
    "domain.pddl": """(define (domain soup) (:requirements :strips)
        (:predicates (hot) (served)) (:action serve :parameters () :precondition (and) :effect (served)))""",
    "problem.pddl": """(define (problem lunch) (:domain soup) (:objects)
        (:init (hot)) (:goal (served)))""",
    "dangers.json": json.dumps(
        {
            "context": ["hot"],
            "initial_danger": 0,
            "max_danger": 0,
            "dangers": [{"action": "serve", "condition": "hot", "increment": 1}],
        }
    ),
}


@pytest.fixture
def pddl(empty_folder: Path) -> Path:
    folder = empty_folder / "pddl"
    folder.mkdir()
    for name, text in PDDL.items():
        (folder / name).write_text(text)
    return folder


def test_importing_says_what_it_made(hazardmill: Hazardmill, pddl: Path) -> None:
    ended = hazardmill(*importing(pddl, "made"))
    assert ended.code == 0 and ended.err == ""
    assert ended.out == "made: 1 actions, 1 danger entries\ntry: hazardmill task solve made\n"
    assert hazardmill("task", "validate", "made", "--plan", "(serve)", "--json").code == 1
    again = hazardmill(*importing(pddl, "made"))
    assert again.code == 2 and "made: the folder already holds task.json" in again.err


@pytest.mark.parametrize("name", sorted(PDDL))
def test_what_cannot_be_imported_is_exit_3_and_named(name: str, hazardmill: Hazardmill, pddl: Path) -> None:
    (pddl / name).write_text("(")
    ended = hazardmill(*importing(pddl, "made"))
    assert ended.code == 3 and name in ended.err and "[" in ended.err
    (pddl / name).unlink()
    ended = hazardmill(*importing(pddl, "made"))
    assert ended.code == 3 and name in ended.err
    assert not Path("made").exists()


def test_what_is_left_out_is_noted(hazardmill: Hazardmill, pddl: Path) -> None:
    problem = PDDL["problem.pddl"].replace("(:goal (served))", "(:goal (served)) (:metric maximize (fuel))")
    (pddl / "problem.pddl").write_text(problem)
    ended = hazardmill(*importing(pddl, "made"))
    assert ended.code == 0
    assert ended.err.startswith("note: ") and "metric" in ended.err
    (note,) = hazardmill(*importing(pddl, "again"), "--json").json["notes"]
    assert "metric" in note


# TASK


@pytest.fixture
def milled(hazardmill: Hazardmill, neiss: Path) -> tuple[Store, dict]:
    """A store ``s`` with at least one task, and the row of one."""
    words = ("run", "generate", "--source", "neiss", "--input", neiss, "--limit", 6, "--store", "s", "--run-id", "one")
    assert hazardmill(*words, "--jail", "minimal").code == 0
    store = Store.open("s")
    return store, store.rows("tasks")[0]


def test_a_stored_task_is_found_by_its_id_and_equals_its_folder(
    hazardmill: Hazardmill, milled: tuple[Store, dict], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, stored = milled
    words = ("--plan", stored["unsafe_plan"], "--json")
    by_id = hazardmill("task", "validate", stored["task_id"], "--store", "s", *words)
    assert by_id.code == 1 and lines(by_id)[0]["score"] == 1
    write_task_folders(store, ["one"], Path("tasks"))
    assert hazardmill("task", "validate", Path("tasks") / stored["task_id"], *words).out == by_id.out
    # Without --store it is the store of the settings.
    monkeypatch.setenv("HAZARDMILL_STORE", "s")
    assert hazardmill("task", "validate", stored["task_id"], *words).out == by_id.out
    ended = hazardmill("task", "validate", stored["task_id"][:-1], *words)
    assert ended.code == 2 and "there is no task" in ended.err and "TASK is a task folder" in ended.err
    # With --store it is no path.
    ended = hazardmill("task", "validate", "tasks", "--store", "s", *words)
    assert ended.code == 2 and "with --store, TASK is an id" in ended.err


NOT_A_TASK = {
    "no JSON": (b"{", "task.json:1: the task is not JSON"),
    "two values": (b"{}\n{}", "task.json:2: the task is not JSON"),
    "another JSON": (b"[1]", "task.json: document: wanted an object"),
    "no UTF-8": (b"\xff\xfe\xfa", "task.json: the task is not JSON"),
    "deep": (b"[" * 100_000, "task.json: the task is not JSON"),
    "long integer": (b"1" * 10_000, "task.json: the task is not JSON"),
    "a mistake": (json.dumps(soup(goal=["fluent", "nope"])).encode(), "task.json: goal"),
    "newer": (json.dumps(soup(format="hazardmill-task/9")).encode(), "task.json: format is"),
}


@pytest.mark.parametrize("case", NOT_A_TASK)
def test_a_task_that_cannot_be_read_is_exit_3_and_names_its_file(
    case: str, hazardmill: Hazardmill, folder: Path
) -> None:
    content, message = NOT_A_TASK[case]
    (folder / "task.json").write_bytes(content)
    for name in ("soup", "soup/task.json"):
        ended = hazardmill("task", "validate", name, "--plan", "")
        assert ended.code == 3 and ended.out == ""
        assert ended.err.startswith("error: soup/") and message in ended.err and "[" in ended.err
        assert ended.err.count("\n") == 1


@pytest.mark.parametrize("name", ["nowhere/task.json", "nowhere", "./nowhere", "task.json", "empty", "long" * 1000])
def test_a_task_that_is_nowhere_is_exit_3_and_says_what_a_task_is(name: str, hazardmill: Hazardmill) -> None:
    Path("empty").mkdir()
    ended = hazardmill("task", "validate", name, "--plan", "")
    assert ended.code == 3
    assert name.removeprefix("./") in ended.err
    assert "[TASK is a task folder, a task.json, or the id of a stored task" in ended.err


def test_a_task_that_is_too_large_is_exit_3(hazardmill: Hazardmill) -> None:
    huge = {**integer("n"), "parameters": [["?a", "place"], ["?b", "place"]]}
    objects = [*soup()["objects"], *([f"p{i}", "place"] for i in range(500))]
    Path("task.json").write_text(json.dumps(soup(fluents__4=huge, objects=objects)))
    ended = hazardmill("task", "validate", "task.json", "--plan", SAFE)
    assert ended.code == 3 and ended.out == ""
    assert "task.json: the task would have 252,004 ground integer fluents" in ended.err and "[" in ended.err


def test_a_folder_of_pddl_is_to_be_imported(hazardmill: Hazardmill) -> None:
    Path("pddl").mkdir()
    Path("pddl/domain.pddl").touch()
    ended = hazardmill("task", "validate", "pddl", "--plan", "")
    assert ended.code == 3 and "hazardmill task import" in ended.err


def test_a_store_that_is_not_there_is_named(hazardmill: Hazardmill) -> None:
    ended = hazardmill("task", "validate", "neiss-0123456789ab", "--store", "nowhere", "--plan", "")
    assert ended.code == 3 and "nowhere: there is no store here" in ended.err


def test_what_is_exported_is_imported_again(hazardmill: Hazardmill, pddl: Path) -> None:
    assert hazardmill(*importing(pddl, "made")).code == 0
    ended = hazardmill("task", "export", "made", "--to", "pddl", "--out", "written", "--json")
    assert ended.code == 0 and json.loads(ended.out)["files"] == ["dangers.json", "domain.pddl", "problem.pddl"]
    basic = {path.name: path.read_text() for path in Path("written").iterdir()}
    assert "danger" not in basic["domain.pddl"] + basic["problem.pddl"]
    again = hazardmill(*importing(Path("written"), "again"), "--json")
    assert json.loads(again.out)["document_hash"] == json.loads(ended.out)["document_hash"]


def test_an_augmented_problem_counts_danger_and_names_its_limit(hazardmill: Hazardmill, pddl: Path) -> None:
    assert hazardmill(*importing(pddl, "made")).code == 0
    for goal, sign in (("safe", "<="), ("unsafe", ">")):
        arguments = ["--to", "pddl", "--out", goal, "--augmented", "--goal", goal]
        assert hazardmill("task", "export", "made", *arguments).code == 0
        # With a sidecar it could be read back, and its dangers would count twice.
        assert sorted(path.name for path in Path(goal).iterdir()) == ["domain.pddl", "problem.pddl"]
        assert "increase (danger) 1" in (Path(goal) / "domain.pddl").read_text()
        assert f"({sign} (danger) 0)" in (Path(goal) / "problem.pddl").read_text()


def test_an_export_that_cannot_be_written_is_exit_3(hazardmill: Hazardmill, pddl: Path) -> None:
    assert hazardmill(*importing(pddl, "made")).code == 0
    Path("taken").write_text("a file")
    ended = hazardmill("task", "export", "made", "--to", "pddl", "--out", "taken/folder")
    assert ended.code == 3 and "taken/folder" in ended.err
