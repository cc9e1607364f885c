"""Task folders of which one thing was edited by hand."""

from __future__ import annotations

import copy
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from factories.release_store import RUN_ID

from hazardmill.errors import InputError
from hazardmill.report.folders import WRITTEN, write_task_folders
from hazardmill.store.store import Store
from hazardmill.verification.findings import TaskFinding
from hazardmill.verification.folder import verify_folder, verify_folders

JSON_FILES = ("task.json", "metadata.json", "certificate.json", "twin.json")

TOLD_ONCE = {
    *("draft", "licence", "attribution", "model_asked", "prompt_version", "prompt_hash", "jail_profile"),
    *("hazardmill_version", "input_hash"),
}
"""What of a folder's metadata nothing else in the folder says; the store does."""


def edit(name: str, change: Callable[[Any], None]) -> Callable[[Path], None]:
    """Change the JSON of a file."""

    def edited(folder: Path) -> None:
        value = json.loads((folder / name).read_text())
        change(value)
        (folder / name).write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n")

    return edited


def text(name: str, change: Callable[[str], str]) -> Callable[[Path], None]:
    """Change the text of a file; what leaves it as it was is no edit."""

    def edited(folder: Path) -> None:
        before = (folder / name).read_text()
        after = change(before)
        assert after != before
        (folder / name).write_text(after)

    return edited


def put(name: str, *path: str | int, to: object) -> Callable[[Path], None]:
    def change(value: Any) -> None:
        *rest, last = path
        for key in rest:
            value = value[key]
        assert value[last] != to
        value[last] = to

    return edit(name, change)


def drop(name: str, *path: str) -> Callable[[Path], None]:
    def change(value: Any) -> None:
        *rest, last = path
        for key in rest:
            value = value[key]
        del value[last]

    return edit(name, change)


def without_first_line(value: str) -> str:
    return value.partition("\n")[2]


def swap_plans(value: Any) -> None:
    plans = value["reference_feasible_plans"]
    plans["safe"], plans["unsafe"] = plans["unsafe"], plans["safe"]


def drop_last_claim(value: Any) -> None:
    del value["lines"][-1]


def other_order(value: Any) -> None:
    value["actions"].reverse()


def no_file(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


def link(folder: Path) -> None:
    (folder / "domain.pddl").rename(folder.parent / "elsewhere.pddl")
    (folder / "domain.pddl").symlink_to(folder.parent / "elsewhere.pddl")


def pipe(folder: Path) -> None:
    (folder / "code.py").unlink()
    os.mkfifo(folder / "code.py")


def sparse(folder: Path) -> None:
    with (folder / "task.json").open("r+b") as file:
        file.truncate(100 * 10**9)


def doubled(value: str) -> str:
    return value.replace("{", '{"task_id": "neiss-000000000000", ', 1)


OURS = ("metadata.json", "hazardmill")


def realised_by_another(value: Any) -> None:
    value["realised_by"] = next(each["name"] for each in value["actions"] if each["name"] != value["realised_by"])


EDITS: list[tuple[str, Callable[[Path], None], str, str]] = [
    ("code: one more line", text("code.py", lambda it: it + "import os\n"), "altered", "code.py"),
    ("code: another goal", text("code.py", lambda it: it.replace("self.goal(", "self.goal(~")), "altered", "code.py"),
    ("code: a comment", text("code.py", lambda it: it.replace("\n\n", "\n# safe\n", 1)), "altered", "code.py"),
    ("code: no footer", text("code.py", lambda it: it.partition("if __name__")[0]), "altered", "code.py"),
    ("code: a cookie", text("code.py", lambda it: f"# coding: utf-7\n{it}"), "unlabelled", "code.py"),
    ("code: no label", text("code.py", without_first_line), "unlabelled", "code.py"),
    ("code: other line ends", text("code.py", lambda it: it.replace("class ", "class  ")), "altered", "code.py"),
    ("code: empty", text("code.py", lambda it: ""), "unlabelled", "code.py"),
    ("code: gone", no_file("code.py"), "missing", "code.py"),
    ("code: a pipe", pipe, "unreadable", "code.py"),
    ("domain: no label", text("domain.pddl", without_first_line), "unlabelled", "domain.pddl"),
    ("domain: a precondition", text("domain.pddl", lambda it: it.replace("(not ", "(and ", 1)), "altered", "domain"),
    ("domain: gone", no_file("domain.pddl"), "missing", "domain.pddl"),
    ("domain: a link", link, "unreadable", "domain.pddl"),
    ("problem: no label", text("problem.pddl", without_first_line), "unlabelled", "problem.pddl"),
    ("problem: no goal", text("problem.pddl", lambda it: it.partition("(:goal")[0]), "altered", "problem.pddl"),
    ("problem: gone", no_file("problem.pddl"), "missing", "problem.pddl"),
    ("task: danger allowed", put("task.json", "max_danger", to=9), "altered", "metadata.json: task_id"),
    ("task: order", edit("task.json", other_order), "altered", "task.json: actions[0].name"),
    ("task: name", put("task.json", "name", to="Other"), "altered", "code.py"),
    ("task: title", put("task.json", "texts", "title", to="Other."), "altered", "code.py"),
    ("task: realised by", edit("task.json", realised_by_another), "altered", "code.py"),
    ("task: label", put("task.json", "provenance", "label", to=None), "unlabelled", "task.json: provenance.label"),
    ("task: no label", drop("task.json", "provenance", "label"), "missing", "task.json: provenance.label"),
    ("task: run", put("task.json", "provenance", "run_id", to="r"), "altered", "task.json: provenance.run_id"),
    ("task: model", put("task.json", "provenance", "model_answered", to="x"), "altered", "task.json: provenance.mo"),
    (
        "task: one more part",
        edit("task.json", lambda it: it["provenance"].update(note="seen")),
        "stray",
        "task.json: provenance.note",
    ),
    ("task: no JSON", text("task.json", lambda it: it[:-5]), "unreadable", "task.json"),
    ("task: no document", drop("task.json", "goal"), "unreadable", "task.json"),
    ("task: sparse", sparse, "unreadable", "task.json"),
    ("task: gone", no_file("task.json"), "missing", "task.json"),
    ("metadata: id", put("metadata.json", "task_id", to="neiss-000000000000"), "altered", "metadata.json: task_id"),
    ("metadata: no id", drop("metadata.json", "task_id"), "missing", "metadata.json: task_id"),
    ("metadata: plans", edit("metadata.json", swap_plans), "altered", "metadata.json: reference_feasible_plans.safe"),
    ("metadata: length", put(*OURS, "plan_length", to=99), "altered", "metadata.json: hazardmill.plan_length"),
    (
        "metadata: float",
        edit("metadata.json", lambda it: it["hazardmill"].update(plan_length=float(it["hazardmill"]["plan_length"]))),
        "altered",
        "metadata.json: hazardmill.plan_length",
    ),
    ("metadata: effort", put(*OURS, "safety_effort", to=-9), "altered", "metadata.json: hazardmill.safety_effort"),
    ("metadata: hash", put(*OURS, "document_hash", to="0" * 64), "altered", "metadata.json: hazardmill.document_hash"),
    ("metadata: source", put(*OURS, "source", to="kitchens"), "contradiction", "metadata.json: record_id"),
    ("metadata: record", put(*OURS, "record_id", to="neiss:0"), "altered", "task.json: provenance.record_id"),
    ("metadata: run", put(*OURS, "run_id", to="another"), "altered", "task.json: provenance.run_id"),
    (
        "metadata: avoidable",
        put(*OURS, "avoidability", to="unavoidable"),
        "contradiction",
        "metadata.json: avoidability",
    ),
    ("metadata: model", put(*OURS, "model_answered", to="gpt-x"), "unlabelled", "metadata.json: model_answered"),
    ("metadata: backend", put(*OURS, "backend", to="litellm"), "altered", "task.json: provenance.backend"),
    ("metadata: draft", put(*OURS, "draft", to="one"), "unreadable", "metadata.json: hazardmill.draft"),
    ("metadata: no licence", drop(*OURS, "licence"), "missing", "metadata.json: hazardmill.licence"),
    (
        "metadata: claim",
        put(*OURS, "certificate", "lines", 0, "passed", to=None),
        "altered",
        "metadata.json: hazardmill.c",
    ),
    (
        "metadata: cross-check",
        put(*OURS, "cross_check", "agrees", to=None),
        "contradiction",
        "metadata.json: cross_check",
    ),
    (
        "metadata: danger",
        put("metadata.json", "danger_formalization", "danger_type", to="odd"),
        "unreadable",
        "metadata",
    ),
    (
        "metadata: no danger",
        drop("metadata.json", "danger_formalization"),
        "missing",
        "metadata.json: danger_formalization",
    ),
    ("metadata: twice", text("metadata.json", doubled), "unreadable", "metadata.json"),
    ("metadata: gone", no_file("metadata.json"), "missing", "metadata.json"),
    ("certificate: a claim", edit("certificate.json", drop_last_claim), "altered", "certificate.json: lines"),
    ("certificate: plan", put("certificate.json", "safe_plan", to="()"), "altered", "certificate.json: safe_plan"),
    ("certificate: empty", text("certificate.json", lambda it: "{}\n"), "missing", "certificate.json: lines"),
    ("certificate: gone", no_file("certificate.json"), "missing", "certificate.json"),
    ("twin: of another", put("twin.json", "provenance", "twin_of", to="0"), "altered", "twin.json: provenance.twin_of"),
    ("twin: start", edit("twin.json", lambda it: it["initial"].pop()), "altered", "twin.json: initial"),
    ("twin: label", put("twin.json", "provenance", "label", to=None), "unlabelled", "twin.json: provenance.label"),
    ("twin: gone", no_file("twin.json"), "missing", "twin.json"),
    ("another file", lambda folder: (folder / "notes.txt").write_text("safe"), "stray", "notes.txt"),
    ("a hidden file", lambda folder: (folder / ".code.py.swp").write_text("x"), "stray", ".code.py.swp"),
    ("a folder", lambda folder: (folder / "__pycache__").mkdir(), "stray", "__pycache__"),
    ("dangers", lambda folder: (folder / "dangers.json").write_text("{}"), "stray", "dangers.json"),
]


def test_a_folder_as_it_was_written_has_no_finding(folder: Path, model_store: Store, tmp_path: Path) -> None:
    assert verify_folder(folder) == ()
    written = write_task_folders(model_store, [RUN_ID], tmp_path / "model")
    verified = dict(verify_folders(tmp_path / "model"))
    assert sorted(verified) == sorted(written)
    assert set(verified.values()) == {()}


@pytest.mark.parametrize(("change", "code", "where"), [edit[1:] for edit in EDITS], ids=[edit[0] for edit in EDITS])
def test_every_edit_of_a_folder_is_found(folder: Path, change: Callable[[Path], None], code: str, where: str) -> None:
    change(folder)
    findings = verify_folder(folder)
    assert (code, True) in {(found.code, found.where.startswith(where)) for found in findings}, findings
    assert all(found.message and found.remedy and found.task == str(folder) for found in findings)
    # What is gone is not told of as altered.
    if code == "missing":
        assert not {found.code for found in findings if found.where == where} - {"missing"}


def leaves(value: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if isinstance(value, dict | list) and value:
        parts = value.items() if isinstance(value, dict) else enumerate(value)
        for key, part in parts:
            yield from leaves(part, (*path, key))
    else:
        yield path


@pytest.mark.full
@pytest.mark.parametrize("name", JSON_FILES)
def test_no_value_of_any_file_can_be_another(folder: Path, name: str) -> None:
    before = (folder / name).read_text()
    value = json.loads(before)
    unseen: list[tuple[str | int, ...]] = []
    tried = 0
    for path in leaves(value):
        changed: Any = copy.deepcopy(value)
        inner = changed
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = 17 if inner[path[-1]] != 17 else 18
        (folder / name).write_text(json.dumps(changed))
        tried += 1
        if not verify_folder(folder):
            unseen.append(path)
    assert tried > 20
    # Nothing else says the number of the draft, and 17 is one.
    assert set(unseen) <= {("hazardmill", "draft")}


@pytest.mark.full
@pytest.mark.parametrize("name", ["code.py", "domain.pddl", "problem.pddl"])
def test_no_line_of_code_or_pddl_can_be_left_out_or_doubled(folder: Path, name: str) -> None:
    lines = (folder / name).read_text().splitlines(keepends=True)
    for place in range(len(lines)):
        for other in ([], [lines[place]] * 2):
            (folder / name).write_text("".join([*lines[:place], *other, *lines[place + 1 :]]))
            assert [finding.where for finding in verify_folder(folder)] == [name]


def test_what_nothing_else_in_the_folder_says_is_not_guessed_at(folder: Path) -> None:
    for name in sorted(TOLD_ONCE - {"draft"}):
        put(*OURS, name, to="another")(folder)
    assert verify_folder(folder) == ()


def where(findings: tuple[TaskFinding, ...]) -> list[tuple[str, str]]:
    return [(finding.code, finding.where) for finding in findings]


def test_a_tree_of_folders_passes_over_nothing(folder: Path, tmp_path: Path) -> None:
    tasks = folder.parent
    other = tasks / "other"
    shutil.copytree(folder, other)
    (other / "task.json").unlink()
    (tasks / "linked").symlink_to(folder)
    (tasks / WRITTEN).write_text(f"{folder.name}\nbddl-gone\n")
    found = {path.name: where(findings) for path, findings in verify_folders(tasks)}
    assert found == {
        folder.name: [],
        "other": [("missing", "task.json")],
        "linked": [("unreadable", "folder")],
        "bddl-gone": [("missing", "folder")],
    }
    folder.rename(tasks / "bddl-gone")
    found = {path.name: where(findings) for path, findings in verify_folders(tasks)}
    assert found["bddl-gone"] == [("contradiction", "folder")]
    assert found[folder.name] == [("missing", "folder")]
    with pytest.raises(InputError, match="there is no task folder here"):
        (tmp_path / "empty").mkdir()
        list(verify_folders(tmp_path / "empty"))


def test_an_imported_task_is_no_task_of_the_mill(folder: Path) -> None:
    for each in folder.iterdir():
        if each.name != "task.json":
            each.unlink()
    put("task.json", "provenance", to={"imported_from": "pddl"})(folder)
    with pytest.raises(InputError, match="was imported"):
        verify_folder(folder)
