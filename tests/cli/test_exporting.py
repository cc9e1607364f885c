from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from formalism.soup import danger, soup
from store.factories import row

from hazardmill.cli.task.export import export as export_command
from hazardmill.conversion.despite_export import export_despite
from hazardmill.errors import DocumentError, InputError, StoreError
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.document.expressions import canonical_json
from hazardmill.formalism.formats.despite.write import FILES
from hazardmill.store.store import Store

SAFE, UNSAFE = "(slow_down) (carry kitchen table)", "(carry kitchen table)"
OUT = Path("out")


@dataclass
class Exported:
    """How an export ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def export(capsys: pytest.CaptureFixture[str]):
    """Run ``task export --to despite``."""

    def run(name: object = None, store: Path | None = None, **options: bool) -> Exported:
        capsys.readouterr()
        words = [] if name is None else [str(name)]
        words += ["--to", "despite", "--out", str(OUT)] + ([] if store is None else ["--store", str(store)])
        words += [f"--{option}" for option, given in {"json": True, **options}.items() if given]
        code = 0
        try:
            export_command.main(words, standalone_mode=False)
        except SystemExit as left:
            code = int(left.code or 0)
        return Exported(code, *capsys.readouterr())

    return run


@pytest.mark.full
@pytest.mark.parametrize("label", ["coding: cp037", "x\n# coding=nonesuch", "a\0b\u2028c\x0cd\x1b[31m"])
def test_no_label_declares_an_encoding_for_the_code(export: Any, label: str) -> None:
    make(Path("task"), provenance={"label": label})
    assert export("task").code == 0
    # The interface it is written for is not here; what Python makes of the file shows before that matters.
    done = subprocess.run([sys.executable, OUT / "code.py"], capture_output=True, text=True, check=False)
    assert "No module named 'src'" in done.stderr


def make(folder: Path, metadata: object = None, **changes: object) -> Path:
    """A task folder."""
    folder.mkdir(parents=True)
    (folder / "task.json").write_text(json.dumps(soup(**changes)))
    if metadata is not None:
        (folder / "metadata.json").write_text(metadata if isinstance(metadata, str) else json.dumps(metadata))
    return folder


def content(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


def stored(task_id: str, run_id: str = "one", **changes: object) -> dict[str, object]:
    document = Document.from_json(soup(**changes))
    return row(
        "tasks",
        run_id=run_id,
        task_id=task_id,
        document=canonical_json(document.to_json()),
        document_hash=document.hash,
        danger='{"setting": "a kitchen"}',
        safe_plan=SAFE,
        unsafe_plan=UNSAFE,
        licence="CC0-1.0",
        attribution="A cook",
    )


def make_store(*rows: dict[str, object]) -> Path:
    store = Store("store")
    for each in rows:
        with store.writer(str(each["run_id"])) as writer:
            writer.append_sync({"tasks": [each]})
    return Path("store")


# Which tasks


def test_one_task_is_written_to_the_folder_itself(export) -> None:
    known = {
        "task_id": "kitchen-7",
        "danger_formalization": {"setting": "a kitchen"},
        "reference_feasible_plans": {"safe": SAFE, "unsafe": "(carry table table)"},
        "hazardmill": {"licence": "CC0-1.0", "attribution": "A cook"},
    }
    ended = export(make(Path("soup"), known))
    assert ended.code == 0
    assert ended.json == {
        "out": "out",
        "tasks": 1,
        "written": 1,
        "unchanged": 0,
        "refused": 0,
        "lossy": 0,
        "reasons": {},
        "lost": {},
        "refusals": [],
    }
    assert sorted(content(OUT)) == sorted(FILES)
    metadata = json.loads((OUT / "metadata.json").read_text())
    assert metadata["task_id"] == "kitchen-7"
    assert metadata["danger_formalization"]["setting"] == "a kitchen"
    # The unsafe plan that the folder gives is none.
    assert metadata["reference_feasible_plans"] == {"safe": SAFE, "unsafe": UNSAFE}
    assert metadata["hazardmill"]["reference_plans_from"] == {"safe": "given", "unsafe": "search"}
    assert [metadata["hazardmill"][key] for key in ("licence", "attribution")] == ["CC0-1.0", "A cook"]


def test_a_document_by_itself_is_called_after_its_file(export) -> None:
    Path("bowl.json").write_text(json.dumps(soup()))
    assert export("bowl.json").code == 0
    assert json.loads((OUT / "metadata.json").read_text())["task_id"] == "bowl"


def test_a_tree_gives_a_folder_a_task(export) -> None:
    make(Path("tasks/b"))
    make(Path("tasks/deep/a"), {"task_id": "named ../ oddly"})
    ended = export("tasks")
    assert (ended.code, ended.json["written"]) == (0, 2)
    odd, plain = sorted(path.name for path in OUT.iterdir() if path.name != "b"), "b"
    assert len(odd) == 1 and odd[0].startswith("named-oddly-") and (OUT / plain).is_dir()
    assert json.loads((OUT / odd[0] / "metadata.json").read_text())["task_id"] == "named ../ oddly"


def test_a_folder_that_is_still_being_written_is_no_task(export) -> None:
    make(Path("tasks/b"))
    make(Path("tasks/c/.partial"))
    ended = export("tasks")
    assert (ended.code, ended.json["written"]) == (0, 1)


def test_a_store_gives_the_latest_of_each_task(export) -> None:
    later = stored("neiss-1", "two", max_danger=0, name="later", goal=["fluent", "moving_slowly"])
    store = make_store(stored("neiss-1"), stored("neiss-2"), later)
    ended = export(store=store)
    assert (ended.code, ended.json["written"]) == (0, 2)
    assert sorted(path.name for path in OUT.iterdir()) == ["neiss-1", "neiss-2"]
    assert "problem.add_goal(moving_slowly())" in (OUT / "neiss-1" / "code.py").read_text()
    metadata = json.loads((OUT / "neiss-2" / "metadata.json").read_text())
    assert metadata["danger_formalization"]["setting"] == "a kitchen"
    assert metadata["reference_feasible_plans"] == {"safe": SAFE, "unsafe": UNSAFE}
    assert metadata["hazardmill"]["licence"] == "CC0-1.0"


def test_a_stored_task_by_its_id(export) -> None:
    store = make_store(stored("neiss-1"), stored("neiss-2"))
    assert export("neiss-2", store=store).code == 0
    assert json.loads((OUT / "metadata.json").read_text())["task_id"] == "neiss-2"


@pytest.mark.parametrize(
    ("name", "error", "text"),
    [
        ("nowhere/task.json", DocumentError, "cannot be read"),
        ("bare", DocumentError, "the folder holds no task.json"),
        ("neiss-0123", InputError, "no file or folder"),
    ],
)
def test_a_task_that_is_not_there(export, name: str, error: type[Exception], text: str) -> None:
    Path("bare").mkdir()
    with pytest.raises(error, match=text):
        export(name)
    assert not OUT.exists()


def test_a_store_that_is_not_there(export) -> None:
    with pytest.raises(StoreError, match="there is no store here"):
        export(store=Path("nowhere"))


# What is refused


def test_refusals_are_counted_by_reason_and_the_rest_goes_on(export) -> None:
    make(Path("tasks/fine"))
    make(Path("tasks/graded"), max_danger=2)
    make(Path("tasks/mopped"), dangers=[danger("carry", True, -1), danger("carry", ["fluent", "soup_is_hot"], 2)])
    make(Path("tasks/torn"), metadata="{")
    (Path("tasks/torn2")).mkdir()
    Path("tasks/torn2/task.json").write_text('{"format": 1}')
    ended = export("tasks")
    assert ended.code == 1
    said = ended.json
    assert (said["tasks"], said["written"], said["refused"]) == (5, 1, 4)
    counts = {rule: entry["tasks"] for rule, entry in said["reasons"].items()}
    assert counts == {"max_danger": 1, "mitigation": 1, "increment": 1, "unreadable": 2}
    assert said["reasons"]["max_danger"]["example"] == {
        "task": "graded",
        "message": "max_danger is 2, where the interface has 0",
    }
    torn = next(each for each in said["refusals"] if each["task"] == "torn")
    assert "metadata is not JSON" in torn["reasons"][0]["message"]
    assert [path.name for path in OUT.iterdir()] == ["fine"]


def test_lossy_exports_say_what_was_lost(export) -> None:
    make(Path("tasks/fine"))
    make(Path("tasks/graded"), max_danger=2)
    ended = export("tasks", lossy=True)
    assert ended.code == 0
    assert (ended.json["written"], ended.json["lossy"], ended.json["refused"]) == (2, 1, 0)
    assert ended.json["lost"]["max_danger"]["tasks"] == 1
    lost = json.loads((OUT / "graded" / "metadata.json").read_text())["hazardmill"]["lost"]
    assert lost == [{"rule": "max_danger", "message": "max_danger is 2, where the interface has 0"}]


def test_the_danger_type_is_what_the_metadata_says(export) -> None:
    typed = [{**danger("carry", ["fluent", "soup_is_hot"]), "danger_type": "thermal"}]
    for name, said in (("silent", None), ("agreeing", "Thermal"), ("differing", "chemical")):
        make(Path("tasks") / name, {"danger_formalization": {"danger_type": said}}, dangers=typed)
    ended = export("tasks")
    assert (ended.code, ended.json["written"]) == (1, 2)
    assert {rule: entry["example"]["task"] for rule, entry in ended.json["reasons"].items()} == {
        "danger_types": "differing"
    }
    assert export("tasks", lossy=True).json["lost"]["danger_types"]["tasks"] == 1
    written = {
        folder.name: json.loads((folder / "metadata.json").read_text())["danger_formalization"]["danger_type"]
        for folder in OUT.iterdir()
    }
    assert written == {"silent": "thermal", "agreeing": "Thermal", "differing": "chemical"}


def test_the_summary_for_people(export) -> None:
    make(Path("tasks/fine"))
    make(Path("tasks/graded"), max_danger=2)
    ended = export("tasks", json=False)
    assert ended.code == 1
    assert ended.out.splitlines() == [
        "out: 1 written, 0 unchanged, 1 refused",
        "  refused, max_danger: 1, such as graded: max_danger is 2, where the interface has 0",
        "  --lossy approximates what a folder cannot express",
    ]
    assert export("tasks", json=False, lossy=True).out.splitlines() == [
        "out: 1 written, 1 unchanged, 0 refused; 1 with losses",
        "  lost, max_danger: 1, such as graded: max_danger is 2, where the interface has 0",
    ]


def test_a_stored_task_that_cannot_be_read_is_one_refusal(export) -> None:
    store = make_store({**stored("neiss-1"), "document": '{"format": "other"}'}, stored("neiss-2"))
    ended = export(store=store)
    assert (ended.code, ended.json["written"]) == (1, 1)
    assert ended.json["refusals"][0]["task"] == "neiss-1"
    assert ended.json["reasons"]["unreadable"]["tasks"] == 1


# What is there already


def test_equal_folders_are_left_alone(export) -> None:
    make(Path("tasks/fine"))
    export("tasks")
    code = OUT / "fine" / "code.py"
    before = code.stat().st_mtime_ns
    (OUT / "fine" / "notes.txt").write_text("mine")
    again = export("tasks")
    assert (again.code, again.json["unchanged"], again.json["written"]) == (0, 1, 0)
    assert code.stat().st_mtime_ns == before


def test_other_folders_are_not_written_over_without_force(export) -> None:
    make(Path("tasks/fine"))
    export("tasks")
    fresh = content(OUT / "fine")
    (OUT / "fine" / "code.py").write_text("mine")
    (OUT / "fine" / "notes.txt").write_text("mine")
    ended = export("tasks")
    assert (ended.code, list(ended.json["reasons"])) == (1, ["folder_differs"])
    assert (OUT / "fine" / "code.py").read_text() == "mine"
    ended = export("tasks", force=True)
    assert (ended.code, ended.json["written"]) == (0, 1)
    assert content(OUT / "fine") == {**fresh, "notes.txt": "mine"}


def test_a_missing_file_is_added(export) -> None:
    make(Path("tasks/fine"))
    export("tasks")
    (OUT / "fine" / "problem.pddl").unlink()
    ended = export("tasks")
    assert (ended.code, ended.json["written"]) == (0, 1)
    assert sorted(content(OUT / "fine")) == sorted(FILES)


def test_what_a_killed_run_left_is_no_obstacle(export) -> None:
    make(Path("tasks/fine"))
    left = OUT / ".fine.partial"
    left.mkdir(parents=True)
    (left / "code.py").write_text("half")
    assert export("tasks").code == 0
    assert [path.name for path in OUT.iterdir()] == ["fine"]


def test_two_tasks_of_one_name_are_not_written_over_one_another(export) -> None:
    make(Path("tasks/a"), {"task_id": "same"})
    make(Path("tasks/b"), {"task_id": "Same"}, goal=["fluent", "moving_slowly"])
    ended = export("tasks", force=True)
    assert (ended.code, list(ended.json["reasons"])) == (1, ["same_id"])
    assert "moving_slowly())" not in (OUT / "same" / "code.py").read_text().rpartition("_set_goals")[2]


def test_a_place_that_cannot_be_written() -> None:
    make(Path("soup"))
    OUT.write_text("a file")
    assert list(export_despite("soup", None, OUT).reasons) == ["folder_differs"]
    make(Path("tasks/fine"))
    with pytest.raises(InputError, match=r"cannot write here.*name a folder that can be written"):
        export_despite("tasks", None, OUT)
