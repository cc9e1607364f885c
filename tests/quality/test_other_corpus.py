from __future__ import annotations

import json
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from formalism.soup import soup
from report.support import task as task_row

from hazardmill.errors import InputError
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.formats.pddl.writer import domain_pddl, problem_pddl, sidecar
from hazardmill.quality.contamination import Piece
from hazardmill.quality.other_corpus import Problem, SkippedFile, read_corpus
from hazardmill.quality.structure import structure_id
from hazardmill.store.store import Store


def written(root: Path, **files: str | bytes) -> Path:
    for name, content in files.items():
        path = root / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return root


def test_texts_are_read_whole_and_other_files_counted(tmp_path: Path) -> None:
    written(
        tmp_path,
        b__notes_dot_TXT="two\nlines",
        a_dot_md=b"caf\xe9",
        c_dot_py="print()",
        _dot_git__config="x",
        _dot_hidden_dot_txt="x",
    )
    assert list(read_corpus(tmp_path)) == [
        Piece("a.md", ("caf\ufffd",)),
        SkippedFile("c.py"),
        Piece("b/notes.TXT", ("two\nlines",)),
    ]


def test_pipes_and_links_to_folders_are_counted_and_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.txt")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "round").symlink_to(tmp_path)
    (tmp_path / "c.txt").symlink_to(tmp_path / "d.txt")
    (tmp_path / "d.txt").write_text("two")
    assert list(read_corpus(tmp_path)) == [
        SkippedFile("a.txt"),
        Piece("c.txt", ("two",)),
        Piece("d.txt", ("two",)),
        SkippedFile("b/round"),
    ]


def test_every_string_of_json_is_a_text(tmp_path: Path) -> None:
    value = {"a": ["one", {"b": "two"}], "n": 3, "z": None, "broken": '{"not json'}
    written(
        tmp_path,
        one_dot_json=json.dumps(value),
        many_dot_json=json.dumps([value, "three"]),
        rows_dot_jsonl=json.dumps(value) + "\n\n" + json.dumps("three") + "\n{\n",
    )
    texts = ("one", "two", '{"not json')
    found = list(read_corpus(tmp_path))
    assert found[:2] == [Piece("many.json[0]", texts), Piece("many.json[1]", ("three",))]
    assert found[2:5] == [Piece("one.json", texts), Piece("rows.jsonl:1", texts), Piece("rows.jsonl:3", ("three",))]
    assert isinstance(found[5], Problem) and found[5].place == "rows.jsonl:4" and "not JSON" in found[5].message


def test_parquet_is_read_row_by_row_documents_in_columns_too(tmp_path: Path) -> None:
    rows = [{"text": "one", "nested": ["two"], "n": 1, "document": json.dumps(soup())}, {"text": "three", "n": 2}]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "part.parquet")
    written(tmp_path, broken_dot_parquet="PAR1")
    broken, first, second = read_corpus(tmp_path)
    assert isinstance(broken, Problem) and broken.place == "broken.parquet"
    assert isinstance(first, Piece) and (first.place, first.texts) == ("part.parquet, row 1", ("one", "two"))
    assert [structure_id(each) for each in first.documents] == [structure_id(soup())]
    assert second == Piece("part.parquet, row 2", ("three",))


def test_task_folders_give_documents_and_texts(tmp_path: Path) -> None:
    task = soup(texts={"title": "Bring soup."})
    written(
        tmp_path,
        t__task_dot_json=json.dumps(task),
        t__metadata_dot_json=json.dumps({"danger_formalization": {"setting": "a kitchen"}}),
        t__domain_dot_pddl="(define",
        wrong__task_dot_json=json.dumps({**soup(), "goal": ["fluent", "nothing"]}),
    )
    metadata, document, wrong = read_corpus(tmp_path)
    assert metadata == Piece("t/metadata.json", ("a kitchen",))
    assert isinstance(document, Piece) and document.texts == ("Bring soup.",) and len(document.documents) == 1
    assert isinstance(wrong, Problem) and "not a valid document" in wrong.message


def test_pddl_with_its_dangers_is_a_task(tmp_path: Path) -> None:
    document = Document.from_json(soup())
    parts = {"domain_dot_pddl": domain_pddl(document), "problem_dot_pddl": problem_pddl(document)}
    written(
        tmp_path,
        **{f"a__{name}": text for name, text in parts.items()},
        **{f"b__{name}": text for name, text in parts.items()},
        a__dangers_dot_json=json.dumps(sidecar(document)),
        c__domain_dot_pddl="(define",
        c__problem_dot_pddl="",
        c__dangers_dot_json="{}",
    )
    task, *rest = read_corpus(tmp_path)
    assert isinstance(task, Piece) and task.place == "a"
    assert [structure_id(each) for each in task.documents] == [structure_id(soup())]
    # Without its dangers it is no task: they are what a structure is about.
    assert rest[:2] == [SkippedFile("b/domain.pddl"), SkippedFile("b/problem.pddl")]
    assert isinstance(rest[2], Problem) and rest[2].place == "c" and len(rest) == 3


def test_of_a_store_the_latest_tasks_are_read(tmp_path: Path) -> None:
    with Store(tmp_path / "s").writer("r") as writer:
        rows = [
            task_row("neiss:1", "neiss-1", document=json.dumps(soup(texts={"title": "Bring soup."}))),
            task_row("neiss:2", "neiss-2", document="{}", danger=json.dumps({"setting": "a yard"})),
        ]
        writer.append_sync({"tasks": rows})
    first, second = read_corpus(tmp_path / "s")
    assert isinstance(first, Piece) and first.place == "neiss-1" and len(first.documents) == 1
    assert first.texts[0] == "Bring soup." and "hot soup spills" in first.texts
    assert second == Piece("neiss-2", ("a yard",))


def test_a_single_file_will_do_and_nothing_will_not(tmp_path: Path) -> None:
    written(tmp_path, a_dot_txt="text")
    assert list(read_corpus(tmp_path / "a.txt")) == [Piece("a.txt", ("text",))]
    with pytest.raises(InputError, match="no such folder"):
        list(read_corpus(tmp_path / "b"))


def test_deep_nesting_and_unreadable_files_are_problems(tmp_path: Path) -> None:
    written(tmp_path, deep_dot_json="[" * 100_000, list_dot_json="[" + "[" * 900 + '"x"' + "]" * 900 + "]")
    (tmp_path / "gone.txt").symlink_to(tmp_path / "nowhere")
    found = {item.place: item for item in read_corpus(tmp_path)}
    assert isinstance(found["deep.json"], Problem) and isinstance(found["gone.txt"], Problem)
    assert "cannot be read" in found["gone.txt"].message
