from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hazardmill.errors import InputError, StoreError
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.document.expressions import canonical_json
from hazardmill.formalism.formats.python_writer import code_file
from hazardmill.formalism.proofs.certificate import certify
from hazardmill.formalism.proofs.claims.context import flip
from hazardmill.formalism.semantics.plan_validator import PlanValidator
from hazardmill.formalism.semantics.transition_system import System
from hazardmill.llm.requests import OFFLINE_LABEL
from hazardmill.records import DANGER_LISTS
from hazardmill.report.folders import WRITTEN, folder_name, write_task_folders

from .support import CODE, DANGER, Shelf, document, mill, task, unavoidable

FILES = ["certificate.json", "code.py", "domain.pddl", "metadata.json", "problem.pddl", "task.json"]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_every_task_has_its_folder_with_its_files(tmp_path: Path) -> None:
    written = write_task_folders(Shelf(**mill()), ["r"], tmp_path / "tasks")
    assert [folder.name for folder in written] == ["bddl-a", "neiss-1", "neiss-2"]
    assert sorted(path.name for path in (tmp_path / "tasks").iterdir()) == [WRITTEN, "bddl-a", "neiss-1", "neiss-2"]
    for folder in written:
        assert list(contents(folder)) == FILES
        assert all(data.endswith(b"\n") for data in contents(folder).values())
        written_document = Document.from_json(json.loads((folder / "task.json").read_text()))
        assert written_document.to_json() == {**document(), "provenance": written_document.provenance}
        assert written_document.hash == Document.from_json(document()).hash


def test_the_document_says_where_it_comes_from_and_offline_work_says_so_in_every_file(tmp_path: Path) -> None:
    tables = mill()
    tables["tasks"] = [
        task("neiss:1", "neiss-1", model_answered="offline-author", backend="offline"),
        task("bddl:a", "bddl-a", model_answered="gpt-x", backend="litellm"),
    ]
    write_task_folders(Shelf(**tables), ["r"], tmp_path)
    for name, record, model, backend, label in (
        ("neiss-1", "neiss:1", "offline-author", "offline", OFFLINE_LABEL),
        ("bddl-a", "bddl:a", "gpt-x", "litellm", None),
    ):
        said = json.loads((tmp_path / name / "task.json").read_text())["provenance"]
        assert said == {
            "record_id": record,
            "model_answered": model,
            "backend": backend,
            "label": label,
            "run_id": "r",
        }
        for file, comment in (("code.py", "# "), ("domain.pddl", "; "), ("problem.pddl", "; ")):
            first = (tmp_path / name / file).read_text().splitlines()[0]
            assert (first == f"{comment}{label}") if label else "offline" not in first


def test_a_task_without_a_safe_plan_has_none_in_its_metadata(tmp_path: Path) -> None:
    write_task_folders(Shelf(tasks=[unavoidable("neiss:1", "neiss-1")]), ["r"], tmp_path)
    written = json.loads((tmp_path / "neiss-1" / "metadata.json").read_text())
    assert written["reference_feasible_plans"] == {"safe": None, "unsafe": "(carry_bowl table)"}
    ours = written["hazardmill"]
    assert (ours["avoidability"], ours["plan_length"], ours["safety_effort"]) == ("unavoidable", None, None)


def certified(**given: Any) -> dict[str, Any]:
    """A task with the certificate of its document, as the store holds it."""
    certificate = certify(Document.from_json(document()))
    return task(
        "neiss:1",
        "neiss-1",
        document_hash=certificate.document_hash,
        certificate=canonical_json(certificate.to_json()),
        **given,
    )


def test_the_contrast_twin_lies_beside_its_task(tmp_path: Path) -> None:
    offline = certified(model_answered="offline-author", backend="offline")
    (folder,) = write_task_folders(Shelf(tasks=[offline]), ["r"], tmp_path)
    assert list(contents(folder)) == sorted([*FILES, "twin.json"])
    ours, twin = (Document.from_json(json.loads((folder / name).read_text())) for name in ("task.json", "twin.json"))
    assert twin == replace(flip(ours, ("soup_is_hot",)), provenance=twin.provenance)
    assert twin.provenance == {**ours.provenance, "twin_of": ours.hash, "flipped": ["soup_is_hot"]}
    assert twin.provenance["label"] == OFFLINE_LABEL
    plan = offline["unsafe_plan"]
    assert [PlanValidator(System(each)).quick(plan)[1] for each in (ours, twin)] == [False, True]


def test_the_certificate_is_a_file_and_metadata_has_it_without_witnesses(tmp_path: Path) -> None:
    (folder,) = write_task_folders(Shelf(tasks=[certified()]), ["r"], tmp_path)
    whole = json.loads((folder / "certificate.json").read_text())
    assert whole == certify(Document.from_json(document())).to_json()
    short = json.loads((folder / "metadata.json").read_text())["hazardmill"]["certificate"]
    assert {**whole, "lines": None} == {**short, "lines": None}
    for line, full in zip(short["lines"], whole["lines"], strict=True):
        assert line == {name: full[name] for name in ("name", "passed", "severity", "message")}


def test_a_task_whose_context_decides_nothing_has_no_twin(tmp_path: Path) -> None:
    certificate = certify(Document.from_json({**document(), "dangers": []}), imported=True)
    row = task("neiss:1", "neiss-1", certificate=canonical_json(certificate.to_json()))
    (folder,) = write_task_folders(Shelf(tasks=[row]), ["r"], tmp_path)
    assert list(contents(folder)) == FILES


def test_metadata_has_despites_keys_and_one_object_of_ours(tmp_path: Path, reference: Path) -> None:
    write_task_folders(Shelf(**mill()), ["r"], tmp_path)
    ours = json.loads((tmp_path / "neiss-1" / "metadata.json").read_text())
    despite = json.loads((reference / "verdicts" / "neiss_11125" / "metadata.json").read_text())
    assert list(ours) == [*despite, "hazardmill"]
    assert list(ours["danger_formalization"]) == list(despite["danger_formalization"])
    assert list(ours["reference_feasible_plans"]) == list(despite["reference_feasible_plans"])
    lists = {name: DANGER[name] for name in DANGER_LISTS}
    assert ours["danger_formalization"] | lists == DANGER and ours["hazardmill"].items() >= lists.items()
    assert ours["hazardmill"]["record_id"] == "neiss:1"
    assert ours["hazardmill"]["licence"] == "MIT"
    assert ours["hazardmill"]["certificate"]["natural"] is True
    assert ours["hazardmill"]["model_answered"] is None


def test_the_bytes_are_the_same_but_for_the_run(tmp_path: Path) -> None:
    tables = mill()
    write_task_folders(Shelf(**tables), ["r"], tmp_path / "one")
    tables["tasks"] = [{**row, "run_id": "s"} for row in reversed(tables["tasks"])]
    write_task_folders(Shelf(**tables), ["s"], tmp_path / "two")
    for name in ("bddl-a", "neiss-1", "neiss-2"):
        one, two = contents(tmp_path / "one" / name), contents(tmp_path / "two" / name)
        assert {file: data.replace(b'"run_id": "r"', b'"run_id": "s"') for file, data in one.items()} == two
        assert {file for file in one if one[file] != two[file]} == {"metadata.json", "task.json"}


def test_writing_again_replaces_a_folder_and_leaves_others_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    write_task_folders(Shelf(**mill()), ["r"], tmp_path)
    (tmp_path / "neiss-1" / "stale.txt").write_text("old")
    (tmp_path / "neiss-1" / "code.py").write_text("old")
    write_task_folders(Shelf(**mill()), ["r"], tmp_path)
    assert list(contents(tmp_path / "neiss-1")) == FILES
    assert "ServeSoup" in (tmp_path / "neiss-1" / "code.py").read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == [WRITTEN, "bddl-a", "mine", "neiss-1", "neiss-2"]


def test_folders_of_an_earlier_report_are_removed_and_nothing_else(tmp_path: Path) -> None:
    out = tmp_path / "tasks"
    exported = tmp_path / "exported"
    write_task_folders(Shelf(**mill()), ["r"], exported)
    write_task_folders(Shelf(**mill()), ["r"], out)
    # Ours by its looks, but no report wrote it here; and somebody's work under a name that one did.
    (exported / "neiss-2").rename(out / "neiss-3")
    (out / "bddl-a" / "metadata.json").write_text('{"mine": "now"}')
    with (out / WRITTEN).open("a") as listed:
        listed.write("../exported/neiss-1\nneiss-3\nnot-there\n")
    written = write_task_folders(Shelf(**mill()), ["r"], out, ["alfred"])
    assert written == [] and (exported / "neiss-1").is_dir()
    assert sorted(path.name for path in out.iterdir()) == [WRITTEN, "bddl-a", "neiss-3"]
    assert (out / WRITTEN).read_text() == ""
    (folder,) = write_task_folders(Shelf(**mill()), ["r"], out, ["bddl"])
    assert (out / WRITTEN).read_text() == f"{folder.name}\n"
    write_task_folders(Shelf(**mill()), ["r"], out, ["neiss"])
    assert (out / WRITTEN).read_text() == "neiss-1\nneiss-2\n" and not folder.exists()


def test_a_list_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    write_task_folders(Shelf(**mill()), ["r"], tmp_path)
    (tmp_path / WRITTEN).write_bytes(b"\xff\n")
    with pytest.raises(StoreError, match=r"earlier report.*remove them yourself"):
        write_task_folders(Shelf(**mill()), ["r"], tmp_path)


def test_a_link_in_the_way_is_replaced_not_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "kept.txt").write_text("kept")
    out = tmp_path / "out"
    out.mkdir()
    (out / "neiss-1").symlink_to(elsewhere)
    write_task_folders(Shelf(**mill()), ["r"], out)
    assert list(contents(elsewhere)) == ["kept.txt"]
    assert not (out / "neiss-1").is_symlink()


def test_of_two_runs_the_later_one_is_written(tmp_path: Path) -> None:
    tables = mill()
    tables["tasks"].append(task("neiss:1", "neiss-1", run_id="s", attribution="later"))
    for runs, credit in ((["r", "s"], "later"), (["s", "r"], "Somebody")):
        write_task_folders(Shelf(**tables), runs, tmp_path)
        assert json.loads((tmp_path / "neiss-1" / "metadata.json").read_text())["hazardmill"]["attribution"] == credit


def test_strange_task_ids_stay_inside_the_folder(tmp_path: Path) -> None:
    tables = mill()
    tables["tasks"] = [
        task("neiss:1", name) for name in ("../../evil", "/etc/evil", "..", ".hidden", "a\nb", "x" * 300)
    ]
    out = tmp_path / "a" / "b"
    written = write_task_folders(Shelf(**tables), ["r"], out)
    assert len(written) == len(set(written)) == 6
    assert all(folder.resolve().parent == out.resolve() and folder.is_dir() for folder in written)
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["b"]


@given(st.text(), st.text())
def test_names_of_folders_are_plain_and_distinct(one: str, two: str) -> None:
    name = folder_name(one)
    assert name.isascii() and not name.startswith(".") and "/" not in name and 0 < len(name) <= 120
    assert one == two or folder_name(two) != name


def test_code_is_rendered_from_the_document_whatever_the_store_calls_code(tmp_path: Path) -> None:
    hostile = CODE + '\nif __name__ == "__main__":\n    open("escaped", "w")\n'
    (folder,) = write_task_folders(Shelf(tasks=[task("neiss:1", "neiss-1", code=hostile)]), ["r"], tmp_path)
    assert (folder / "code.py").read_text() == code_file(Document.from_json(document()))
    assert [path.name for path in folder.iterdir() if "escaped" in path.read_text()] == []


def test_a_document_that_cannot_be_read_is_refused_by_record(tmp_path: Path) -> None:
    for broken in ("{", "{}", "[]"):
        row = task("neiss:1", "neiss-1", document=broken)
        with pytest.raises(InputError, match="record neiss:1: the document of an accepted task cannot be read"):
            write_task_folders(Shelf(tasks=[row]), ["r"], tmp_path)


def test_code_in_a_folder_runs(tmp_path: Path, project: Path) -> None:
    write_task_folders(Shelf(**mill()), ["r"], tmp_path)
    done = subprocess.run(
        [sys.executable, "code.py", "-plan", "(carry_bowl table)"],
        cwd=tmp_path / "neiss-1",
        env={"PYTHONPATH": str(project)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert "score: 1" in done.stdout


def test_an_unwritable_place_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"cannot write the task's folder.*name a folder"):
        write_task_folders(Shelf(**mill()), ["r"], tmp_path / "file")
