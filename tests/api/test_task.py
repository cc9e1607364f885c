"""Tasks in Python: one object for plans, verdicts, proofs and repairs, loaded from wherever a task is."""

from __future__ import annotations

import json
import shutil
import textwrap
from pathlib import Path

import pytest

import hazardmill
from hazardmill.errors import AuthoringError, DocumentError, InputError, PlanningInputError, UsageError
from hazardmill.formalism.formats.python_writer import code_file
from hazardmill.formalism.semantics.plan_validator import verdict
from hazardmill.formalism.semantics.transition_system import System
from hazardmill.verification.batch_check import CheckSettings, check_files, find_work

from .soup import MARKUP, ServeSoup

EVIL = """\
from hazardmill.formalism.authoring import PlanningTask

open("{mark}", "w").close()


class Evil(PlanningTask):
    pass
"""


@pytest.fixture(scope="module")
def task() -> hazardmill.Task:
    return hazardmill.Task(ServeSoup)


def test_a_task_is_made_of_a_class_an_instance_or_a_document(task: hazardmill.Task) -> None:
    assert hazardmill.Task(ServeSoup()).document == hazardmill.Task(task.document).document == task.document
    with pytest.raises(TypeError, match="not of dict"):
        hazardmill.Task(task.document.to_json())  # type: ignore[arg-type]


def test_a_mistake_in_the_code_has_its_line() -> None:
    class Empty(hazardmill.PlanningTask):
        def build(self) -> None:
            self.goal("nothing")

    with pytest.raises(AuthoringError) as found:
        hazardmill.Task(Empty)
    assert found.value.line is not None and found.value.remedy


def test_plans_are_found_proved_and_repaired(task: hazardmill.Task) -> None:
    solution = task.solve(engine="exact")
    assert (solution.unsafe.plan, solution.safe.plan, solution.optimal) == ("(carry)", "(slow_down) (carry)", True)
    certificate = task.certify()
    assert certificate.document_hash == task.document.hash and certificate.refusals == ()
    assert {line.severity for line in task.certify(imported=True).lines} == {"finding"}
    assert task.certify(unavoidable=True).refusals != ()
    repair = task.repair("(carry)")
    assert (repair.plan, [edit.kind for edit in repair.edits]) == ("(slow_down) (carry)", ["insert"])


def test_a_verdict_takes_a_document_or_a_system_and_text(task: hazardmill.Task) -> None:
    found = task.verdict("(carry)")
    assert (found.feasible, found.safe, found.danger) == (True, False, 1)
    assert verdict(task.document, "(carry)") == verdict(System(task.document), "(carry)") == found
    for wrong in (task, task.document.to_json(), None):
        with pytest.raises(TypeError, match="needs a Document or a System"):
            hazardmill.verdict(wrong, "(carry)")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a plan is text, not list"):
        task.verdict(["(carry)"])  # type: ignore[arg-type]


def test_pddl_is_returned_and_written(task: hazardmill.Task, tmp_path: Path) -> None:
    files = task.to_pddl(tmp_path / "pddl")
    assert {path.name: path.read_text() for path in (tmp_path / "pddl").iterdir()} == files
    assert "dangers.json" in files and "dangers.json" not in task.to_pddl(augmented=True)


def test_playing_agrees_with_the_verdict_after_each_action(task: hazardmill.Task) -> None:
    played = task.play()
    assert (played.actions, played.is_solved, played.danger) == (("(carry)", "(slow_down)"), False, 0)
    for action in ("(slow_down)", "(slow_down)", "(carry)"):
        step = played.step(action)
        found = task.verdict(played.plan)
        assert step == found.trace[-1] and played.verdict() == found
        assert played.is_solved == found.feasible
    assert "(level) = 2" in played.facts and "(bowl_at table)" in played.facts
    before = (played.plan, played.facts)
    assert played.step("(slow_down)").unmet and played.step("(fly)").unmet == ("there is no action fly",)
    assert (played.plan, played.facts) == before
    with pytest.raises(PlanningInputError, match="holds 2 actions"):
        played.step("(carry) (carry)")
    for _ in range(3):
        played.undo()
    assert played.step("(carry)").danger_increment == played.danger == 1
    played.undo()
    with pytest.raises(UsageError):
        played.undo()


def test_text_of_a_task_is_never_markup(task: hazardmill.Task) -> None:
    page = task._repr_html_()
    assert "<script" not in page and "&lt;script&gt;" in page and MARKUP in task.document.texts["title"]
    page = task.verdict("(<script> carry)")._repr_html_()
    assert "<script" not in page and "&lt;script&gt;" in page and "not feasible" in page
    assert "<b>feasible, but not safe</b>" in task.verdict("(carry)")._repr_html_()


def test_a_folder_and_a_file_give_the_same_task(task: hazardmill.Task, tmp_path: Path) -> None:
    code = tmp_path / "soup.py"
    code.write_text(code_file(task.document))
    checked = list(check_files(find_work(code, tmp_path), CheckSettings("auto", 10.0, 10_000), 1))
    assert [(each.accepted, each.message) for each in checked] == [(True, None)]
    folder = tmp_path / "soup"
    for place in (folder, folder / "task.json", folder / "code.py", code, str(code)):
        assert hazardmill.load_task(place).document.hash == task.document.hash
    (folder / "task.json").unlink()
    assert hazardmill.load_task(folder).document.hash == task.document.hash
    with pytest.raises(InputError, match=r"there is no file or folder|cannot be read"):
        hazardmill.load_task(tmp_path / "nothing.json")


def test_a_stored_document_runs_no_code(task: hazardmill.Task, tmp_path: Path) -> None:
    (tmp_path / "task.json").write_text(json.dumps(task.document.to_json()))
    (tmp_path / "code.py").write_text(EVIL.format(mark=tmp_path / "ran"))
    assert hazardmill.load_task(tmp_path).document == task.document
    assert not (tmp_path / "ran").exists()


def test_code_runs_only_in_the_jail(tmp_path: Path) -> None:
    (tmp_path / "code.py").write_text(EVIL.format(mark=tmp_path / "ran"))
    with pytest.raises(DocumentError) as found:
        hazardmill.load_task(tmp_path)
    assert (found.value.file, found.value.line) == (str(tmp_path / "code.py"), 3) and found.value.remedy
    # What the policy lets pass is contained all the same.
    escape = """\
        from hazardmill.formalism.authoring import PlanningTask


        class Escape(PlanningTask):
            realised_by = "act"

            def build(self):
                raise ValueError("built here")
        """
    (tmp_path / "code.py").write_text(textwrap.dedent(escape))
    with pytest.raises(DocumentError, match=r"jail: exception.*built here"):
        hazardmill.load_task(tmp_path / "code.py")
    assert not (tmp_path / "ran").exists()


def test_a_declared_unavoidable_danger_is_known(task: hazardmill.Task, tmp_path: Path) -> None:
    (tmp_path / "task.json").write_text(json.dumps(task.document.to_json()))
    assert not hazardmill.load_task(tmp_path).unavoidable
    (tmp_path / "metadata.json").write_text(json.dumps({"hazardmill": {"avoidability": "unavoidable"}}))
    assert hazardmill.load_task(tmp_path).unavoidable
    shutil.move(tmp_path / "task.json", tmp_path / "other.json")
    assert not hazardmill.load_task(tmp_path / "other.json").unavoidable
