from __future__ import annotations

import json
import multiprocessing
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hazardmill.cli.task import import_ as command
from hazardmill.conversion import despite_import
from hazardmill.conversion.despite_import import FolderImport, ImportCounts, import_folders
from hazardmill.errors import JailUnavailable, PlanningInputError, SandboxError, UsageError
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.formats.despite.adapt import adapt
from hazardmill.formalism.formats.despite.code import planner_code
from hazardmill.sandbox.jail import Jail
from tests.formalism.despite_folders import KETTLE, make_folder
from tests.formalism.reference_tasks import TASKS, imported_document
from tests.sizes import sized

SAFE_FLAW = KETTLE.replace(', Not(self.normal_fluents["lid_is_on"])', ", TRUE()")
Import = Callable[..., tuple[int, Any, str]]


@pytest.fixture
def despite(capsys: pytest.CaptureFixture[str]) -> Import:
    """Import, and give the exit code, the output (with ``as_json`` as values) and what went to standard error."""

    def run(root: Path, out: Path | None = None, jobs: int | None = None, as_json: bool = True) -> tuple[int, Any, str]:
        words = ["--from", "despite", str(root)] + ([] if out is None else ["--out", str(out)])
        words += ([] if jobs is None else ["--jobs", str(jobs)]) + ["--json"] * as_json
        code = 0
        try:
            command.import_.main(words, standalone_mode=False)
        except SystemExit as left:
            code = int(str(left.code))
        told, err = capsys.readouterr()
        return code, json.loads(told) if as_json else told, err

    return run


def test_one_folder_becomes_one_task_folder(despite: Import, tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "invented")
    code, told, _ = despite(folder, tmp_path / "out")
    assert (code, told["folders"], told["imported"], told["failed"]) == (0, 1, 1, 0)
    assert (told["findings"], told["failures"], told["out"]) == ({}, [], str(tmp_path / "out"))
    document = Document.from_json(json.loads((tmp_path / "out" / "task.json").read_text()))
    assert (document.name, [thing.name for thing in document.objects]) == ("invented_7", ["stove", "Pantry"])


def test_nothing_of_a_folders_code_is_copied_on(despite: Import, tmp_path: Path) -> None:
    mark = "nobody_else_would_write_this"
    folder = make_folder(tmp_path / "hostile", KETTLE + f"\n# {mark}\n", {"task_id": "t", "hazardmill": {"code": mark}})
    (folder / "helper.py").write_text(mark)
    out = tmp_path / "out"
    assert despite(folder, out)[0] == 0
    written = [path for path in out.rglob("*") if path.is_file()]
    assert written and [path.name for path in written if path.suffix == ".py" or mark in path.read_text()] == []


@pytest.mark.parametrize("name", TASKS)
def test_reference_tasks_are_what_their_metadata_claim(
    despite: Import, tmp_path: Path, reference: Path, name: str
) -> None:
    untyped = adapt(imported_document(reference, name)).document
    metadata = json.loads((reference / "verdicts" / name / "metadata.json").read_text())
    document = adapt(untyped, metadata["danger_formalization"]).document
    make_folder(tmp_path / name, planner_code(document), metadata)
    code, told, _ = despite(tmp_path / name, tmp_path / "out")
    assert code == 0
    assert [rule for rule in told["findings"] if "plan_" in rule and rule != "safe_plan_exists"] == []
    assert ("contextual" in told["findings"]) == (name == "normbank_14564")
    written = Document.from_json(json.loads((tmp_path / "out" / "task.json").read_text()))
    assert (written.hash, written.name) == (document.hash, name)
    assert written.hash != untyped.hash


def test_a_tree_goes_on_after_bad_folders(despite: Import, tmp_path: Path) -> None:
    root, out = tmp_path / "tree", tmp_path / "out"
    make_folder(root / "a" / "good")
    make_folder(root / "a" / "broken", "x = (\n")
    make_folder(root / "flawed", SAFE_FLAW, metadata=None)
    make_folder(root / "hostile", "open('/etc/passwd')\n")
    (make_folder(root / "odd") / "code.py").write_bytes(b"\xff")
    code, told, _ = despite(root, out)
    assert (code, told["imported"], told["failed"]) == (1, 2, 3)
    assert {kind: counts["count"] for kind, counts in told["refusals"].items()} == {
        "exception": 1,
        "folder": 1,
        "syntax": 1,
    }
    assert [(Path(failure["folder"]).name, failure["line"]) for failure in told["failures"]] == [
        ("broken", 1),
        ("hostile", 1),
        ("odd", None),
    ]
    assert told["findings"]["safe_plan_exists"] == {
        "count": 1,
        "examples": [
            {
                "folder": str(root / "flawed"),
                "message": "no plan reaches the goal without the danger: searched to the end",
            }
        ],
    }
    assert {"no_metadata", "no_safe_plan", "no_unsafe_plan"} <= set(told["findings"])
    assert sorted(str(path.parent.relative_to(out)) for path in out.rglob("task.json")) == ["a/good", "flawed"]


def test_the_text_names_what_failed_and_counts_the_rest(despite: Import, tmp_path: Path) -> None:
    make_folder(tmp_path / "tree" / "broken", "x = 1\nraise ValueError('\\x1b[31m')\n")
    make_folder(tmp_path / "tree" / "good", metadata=None)
    code, told, err = despite(tmp_path / "tree", as_json=False)
    assert code == 1
    assert f"{tmp_path / 'tree' / 'broken'}, line 2 of the code: exception: ValueError: " in err
    assert "\x1b" not in err + told
    assert told.splitlines()[0] == "folders: 2; imported: 1, failed: 1"
    assert "  findings no_metadata: 1 (such as good: there is neither metadata.json nor result.json)" in told
    # Without --out nothing is written.
    assert "written to" not in told


def test_a_second_run_into_the_same_folder_writes_nothing_over(despite: Import, tmp_path: Path) -> None:
    make_folder(tmp_path / "tree" / "good")
    assert despite(tmp_path / "tree", tmp_path / "out")[0] == 0
    code, told, _ = despite(tmp_path / "tree", tmp_path / "out")
    assert (code, told["failures"][0]["reason"]) == (1, "folder")
    assert "the folder already holds task.json" in told["failures"][0]["message"]


def test_nothing_to_import_is_bad_input(despite: Import, tmp_path: Path) -> None:
    with pytest.raises(PlanningInputError, match=r"no folder in here contains a code\.py"):
        despite(tmp_path)


def test_without_unified_planning_it_says_what_to_install(
    despite: Import, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(despite_import.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"not installed \[pip install 'hazardmill\[up\]'\]"):
        despite(make_folder(tmp_path / "task"))


def named(number: int) -> tuple[str, dict[str, Any]]:
    return KETTLE.replace("Pantry", f"Pantry_{number}"), {"task_id": f"kettle_{number}", "danger_formalization": {}}


@pytest.mark.full
def test_a_hundred_folders_over_two_processes_come_in_their_order(despite: Import, tmp_path: Path) -> None:
    for number in range(100):
        make_folder(tmp_path / "tree" / f"{number:04}", *named(number))
    results = list(import_folders(sorted((tmp_path / "tree").iterdir()), tmp_path / "tree", tmp_path / "out", 2))
    assert [result.name for result in results] == [f"kettle_{number}" for number in range(100)]
    assert len({result.document_hash for result in results}) == 100
    written = [json.loads((tmp_path / "out" / f"{number:04}" / "task.json").read_text()) for number in range(100)]
    assert [Document.from_json(task).hash for task in written] == [result.document_hash for result in results]
    assert multiprocessing.active_children() == []


@pytest.mark.full
@pytest.mark.timeout(600)
def test_many_folders_in_one_run(despite: Import, tmp_path: Path) -> None:
    folders = sized(400, 2_000)
    for number in range(folders):
        make_folder(tmp_path / "tree" / f"{number:04}", *named(number))
    code, told, _ = despite(tmp_path / "tree", tmp_path / "out")
    assert (code, told["imported"], told["failed"]) == (0, folders, 0)


def no_jail() -> None:
    raise JailUnavailable("no walls here")


def test_a_jail_that_cannot_be_had_ends_the_run(
    despite: Import, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_folder(tmp_path / "tree" / "good")
    monkeypatch.setattr(despite_import, "_open_jail", no_jail)
    with pytest.raises(JailUnavailable, match="no walls here"):
        despite(tmp_path / "tree")


def test_a_jail_that_fails_once_fails_one_folder(
    despite: Import, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_folder(tmp_path / "tree" / "a")
    make_folder(tmp_path / "tree" / "b")
    run = Jail.run
    failing = iter([SandboxError("the zygote ended")])

    def fails_once(jail: Jail, code: str) -> Any:
        for error in failing:
            raise error
        return run(jail, code)

    monkeypatch.setattr(Jail, "run", fails_once)
    code, told, _ = despite(tmp_path / "tree")
    assert (code, told["imported"]) == (1, 1)
    assert [(failure["reason"], failure["message"]) for failure in told["failures"]] == [("jail", "the zygote ended")]


def test_progress_is_a_line_now_and_then(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    clock = iter([0.0, 1.0, 3.5, 4.0])
    monkeypatch.setattr(command.time, "monotonic", lambda: next(clock))
    progress = command._ImportProgress(40)
    summary = ImportCounts()
    for number in range(3):
        summary.add(FolderImport(str(number)))
        progress(summary)
    progress.close()
    assert capsys.readouterr().err == "2/40 folders: 2 imported, 0 failed\n"


def test_each_rule_counts_once_a_folder_with_three_examples() -> None:
    summary = ImportCounts()
    for number in range(5):
        summary.add(FolderImport(f"f{number}", findings=(("rule", f"first {number}"), ("rule", "second"))))
    assert summary.to_json()["findings"] == {
        "rule": {
            "count": 5,
            "examples": [{"folder": f"f{number}", "message": f"first {number}"} for number in range(3)],
        }
    }
