"""NormBank on the reference data, and the laws of its rows and ids."""

from __future__ import annotations

import csv
import importlib
import io
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hazardmill.ingest.ingest import Repeat, ingest
from hazardmill.ingest.sources import InputFile, SourceLine, load_source
from hazardmill.records import Record, Reject, content_hash

NORMBANK = load_source("normbank")
PACKAGE = type(NORMBANK).__module__.rpartition(".")[0]
CASES, ROWS, SOURCE, CONSTRAINTS = (
    importlib.import_module(f"{PACKAGE}.{name}") for name in ("cases", "rows", "source", "constraints")
)
COLUMNS, row, table = CASES.COLUMNS, CASES.row, CASES.table
EVERYTHING = {"norm": "*"}


def native_rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def records_of(path: Path) -> list[Record]:
    return [item for item in ingest(NORMBANK, path, where=EVERYTHING) if isinstance(item, Record)]


def statement(native: dict[str, str]) -> tuple[str, ...]:
    return tuple(native[name] for name in ("setting", "behavior", "norm", "constraints"))


@pytest.mark.parametrize(
    ("name", "where", "rows", "expected"),
    [
        ("native_rows.csv", None, 13, (10, 0, 3)),
        ("native_rows.csv", EVERYTHING, 13, (13, 0, 0)),
        ("NormBank_layout.csv", None, 20_000, (8_753, 4_190, 7_057)),
        ("NormBank_layout.csv", EVERYTHING, 20_000, (15_810, 4_190, 0)),
    ],
)
def test_every_reference_row_is_accounted_for(
    reference: Path, name: str, where: dict[str, str] | None, rows: int, expected: tuple[int, int, int]
) -> None:
    run = ingest(NORMBANK, reference / "data" / "normbank" / name, where=where)
    assert not [item for item in run if not isinstance(item, Record | Repeat)]
    counts = run.counts
    assert (counts.records, counts.repeats, counts.unselected) == expected
    assert counts.items == rows
    assert (counts.rejects, counts.warned, counts.notes) == (0, 0, 0)


@pytest.mark.parametrize("name", ["native_rows.csv", "NormBank_layout.csv"])
def test_a_record_says_what_its_row_says(reference: Path, name: str) -> None:
    path = reference / "data" / "normbank" / name
    natives = native_rows(path)
    first: dict[tuple[str, ...], int] = {}
    for index, native in enumerate(natives):
        first.setdefault(statement(native), index)
    records = records_of(path)
    assert [record.facts["row"] for record in records] == list(first.values())
    for record in records:
        index = record.facts["row"]
        assert isinstance(index, int)
        native = natives[index]
        assert record.line == index + 2
        assert record.native_id == f"{index}-{content_hash([*statement(native)])[:12]}"
        assert [record.facts[key] for key in ("setting", "behavior", "norm")] == list(statement(native)[:3])
        words = native["constraints"].replace("[PERSON]", "the person").replace("[OTHER]", "the other person")
        atoms = [atom.removesuffix("'").replace(" is '", " is ", 1) for atom in words.split(" [AND] ")]
        assert record.facts["constraints"] == atoms


def test_rows_are_counted_as_pandas_does(tmp_path: Path) -> None:
    """Refused rows count, blank lines do not, and a row of several lines is one."""
    (tmp_path / "a.csv").write_bytes(
        table(
            row(behavior="zero"),
            "too,short",
            "",
            "  ",
            row(norm="okay"),
            row(behavior='"three\n\nof it"'),
            row(behavior="zero", split="dev"),
            row(behavior="five"),
        )
    )
    items = list(ingest(NORMBANK, tmp_path))
    places = {item.facts["row"]: item.line for item in items if isinstance(item, Record)}
    assert places == {0: 2, 3: 7, 5: 11}
    assert [item.line for item in items if isinstance(item, Reject)] == [3, 6]
    (repeat,) = [item for item in items if isinstance(item, Repeat)]
    assert (repeat.native_id.partition("-")[0], repeat.line, repeat.first_line) == ("4", 10, 2)


def test_a_statement_in_two_files_is_a_repeat(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(table(row()))
    (tmp_path / "b.csv").write_bytes(table(row(behavior="another"), row(label="", split="test")))
    run = ingest(NORMBANK, tmp_path)
    assert [type(item) for item in run] == [Record, Record, Repeat]


def test_contradictory_norms_are_both_kept(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(table(row(), row(norm="normal", label="1"), row(norm="expected", label="2")))
    norms = [record.facts["norm"] for record in records_of(tmp_path)]
    assert norms == ["taboo", "normal", "expected"]


def test_a_hash_that_two_statements_share_is_no_repeat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SOURCE, "statement_hash", lambda *_: "0" * 12)
    (tmp_path / "a.csv").write_bytes(table(row(), row(behavior="something else"), row()))
    run = ingest(NORMBANK, tmp_path)
    assert [getattr(item, "reason", type(item)) for item in run] == [Record, "conflicting_repeat", Repeat]


def test_a_folder_gives_its_files_in_order_and_a_file_itself(tmp_path: Path) -> None:
    for name in ("b.CSV", "a.csv", ".c.csv", "d.txt"):
        (tmp_path / name).write_bytes(table(row()))
    assert [file.name for file in NORMBANK.discover(tmp_path)] == ["a.csv", "b.CSV"]
    assert [file.name for file in NORMBANK.discover(tmp_path / "d.txt")] == ["d.txt"]


text = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=30)
# Newlines as read_lines leaves them: other line ends are one, whether in a cell or between rows.
cell = text.map(lambda value: value.replace("\r\n", "\n").replace("\r", ""))
mixed = st.text(st.sampled_from('AB ",;\n\t'), max_size=20)


def written(rows: list[list[str]], quoting: int = csv.QUOTE_MINIMAL) -> str:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n", quoting=quoting).writerows(rows)
    return stream.getvalue()


def lines_of(content: str) -> list[SourceLine]:
    return [SourceLine(number, line) for number, line in enumerate(content.split("\n"), start=1)]


@settings(max_examples=200)
@given(
    rows=st.lists(st.lists(st.one_of(cell, mixed), min_size=3, max_size=3), max_size=6),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
)
def test_cells_come_back_as_they_were_written(rows: list[list[str]], quoting: int) -> None:
    """Commas, quotation marks, newlines: what csv writes is read again, with the line on which each row begins."""
    rows = [[value[: 15 + 5 * place] for place, value in enumerate(cells)] for cells in rows]
    rows = [cells for cells in rows if sum(value.count("\n") for value in cells) <= ROWS.MOST_LINES]
    read = list(ROWS.read_rows(lines_of(written(rows, quoting)), lambda cells: False))
    assert [cells for _, cells in read] == rows
    starts, line = [], 1
    for cells in rows:
        starts.append(line)
        line += 1 + sum(value.count("\n") for value in cells)
    assert [number for number, _ in read] == starts


@settings(max_examples=100)
@given(setting=st.one_of(text, mixed), behavior=st.one_of(text, mixed), constraints=st.one_of(text, mixed))
def test_any_text_makes_a_valid_record_or_one_reject(setting: str, behavior: str, constraints: str) -> None:
    """Records skip pydantic's validation; these pass it, and say the same in as many lines of context."""
    values = {**CASES.GOOD, "setting": setting, "behavior": behavior, "constraints": constraints}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.csv"
        # Everything quoted: a lone "\r" is text then, which QUOTE_MINIMAL leaves to chance before Python 3.13.
        path.write_bytes(written([COLUMNS, list(values.values())], csv.QUOTE_ALL).encode())
        items = list(NORMBANK.read(InputFile(path, "a.csv")))
    (item,) = items
    if isinstance(item, Reject):
        assert item.reason in {"blank_setting", "blank_behavior", "blank_constraints"}
        return
    assert isinstance(item, Record)
    assert Record.model_validate(item.model_dump()) == item
    assert [line.partition(":")[0] for line in item.context.splitlines()] == [
        "Setting",
        "Behavior",
        "Constraints",
        "Norm",
    ]
    assert item.facts["setting"] == " ".join(setting.split())


@given(st.lists(text, min_size=4, max_size=4))
def test_the_hash_is_the_content_hash(parts: list[str]) -> None:
    assert SOURCE.statement_hash(*parts) == content_hash(parts)[:12]


@settings(max_examples=100)
@given(
    mangled=st.lists(mixed.map(lambda value: row(behavior=value)), min_size=1, max_size=6),
    ends=st.sampled_from(["\n", "\r\n"]),
)
def test_no_row_swallows_another(mangled: list[str], ends: str) -> None:
    """However behaviours are mangled, good rows after them are read: a quotation mark costs its own row only."""
    last = [row(behavior="the last but one"), row(behavior='"the ""last"", really"')]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.csv"
        path.write_bytes(table(*mangled, *last, end=ends))
        records = [item for item in NORMBANK.read(InputFile(path, "a.csv")) if isinstance(item, Record)]
    assert [record.facts["behavior"] for record in records[-2:]] == ["the last but one", 'the "last", really']


words = st.text(st.characters(min_codepoint=97, max_codepoint=122), min_size=1, max_size=8).filter(lambda w: w != "is")


@given(
    whose=st.sampled_from(["", "[PERSON]'s ", "[OTHER]'s "]),
    name=words,
    relation=st.sampled_from(["is", "is not", "is less than", "is greater than", "is over"]),
    value=words,
)
def test_an_atom_is_put_into_words(whose: str, name: str, relation: str, value: str) -> None:
    said, warnings = CONSTRAINTS.in_words(f"{whose}{name} {relation} '{value}'")
    person = {"": "", "[PERSON]'s ": "the person's ", "[OTHER]'s ": "the other person's "}[whose]
    assert (said, warnings) == ([f"{person}{name} {relation} {value}"], ())


@given(st.lists(mixed.filter(lambda value: "[AND]" not in value), min_size=1, max_size=4))
def test_no_constraint_is_dropped(atoms: list[str]) -> None:
    """Each atom is said or warned of, the second time as the first."""
    first = CONSTRAINTS.in_words(" [AND] ".join(atoms))
    said, warnings = first
    assert said == [" ".join(atom.split()) for atom in atoms if atom.strip()]
    assert len(warnings) == len(atoms)
    assert CONSTRAINTS.in_words(" [AND] ".join(atoms)) == first


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CONSTRAINTS, "_KNOWN", {})
    monkeypatch.setattr(CONSTRAINTS, "_MOST_KEPT", 3)
    for number in range(10):
        assert CONSTRAINTS.in_words(f"noise is '{number}'") == ([f"noise is {number}"], ())
        assert CONSTRAINTS.in_words(f"noise is '{'x' * 1000}{number}'")[1] == ()
    assert len(CONSTRAINTS._KNOWN) == 3
    assert all(len(atom) < 1000 for atom in CONSTRAINTS._KNOWN)


def test_a_row_in_place_of_the_header_is_not_quoted(tmp_path: Path) -> None:
    for start in ("", '"'):
        (tmp_path / "a.csv").write_text(f"{start}{row()},worker7\n", encoding="utf-8")
        (reject,) = ingest(NORMBANK, tmp_path)
        assert isinstance(reject, Reject)
        assert "worker7" not in reject.message
        assert CASES.GOOD["behavior"] not in reject.message


def test_many_columns_make_a_short_note(tmp_path: Path) -> None:
    names = [f"preset_{number}" for number in range(30)]
    (tmp_path / "a.csv").write_bytes(table(row() + ",x" * 30, columns=[*COLUMNS, *names]))
    note = next(iter(ingest(NORMBANK, tmp_path)))
    assert "30 extra columns ignored: preset_0, " in note.message
    assert note.message.endswith("preset_11 and 18 more")


def test_the_sample_holds_enough_taboos_and_shows_a_repeat() -> None:
    run = ingest(NORMBANK, NORMBANK.sample)
    items = list(run)
    assert run.counts.records >= 26
    assert run.counts.records + run.counts.unselected >= 40
    assert run.counts.repeats == 1
    assert len(run.counts.reasons) >= 4
    assert run.counts.warned == 0
    assert all(item.facts["norm"] == "taboo" for item in items if isinstance(item, Record))


def test_the_sample_is_in_the_layout_of_the_public_file() -> None:
    with (NORMBANK.sample / "sample.csv").open(encoding="utf-8", newline="") as stream:
        assert next(csv.reader(stream)) == COLUMNS
    natives = native_rows(NORMBANK.sample / "sample.csv")
    by_statement = {content_hash([*statement(native)])[:12]: native for native in natives if native["norm"]}
    for record in records_of(NORMBANK.sample):
        native = by_statement.get(NORMBANK.key(record))
        if native is None:  # After the row whose quotation mark never closes csv has lost its way.
            continue
        atoms = native["constraints"].split(" [AND] ")
        given_ = [atom for atom in native["constraints_given"].split(" [AND] ") if atom.strip()]
        assert sorted([*given_, native["constraint_predict"]]) == sorted(atoms)
        assert native["setting-behavior"] == f"{native['setting']} [BEHAVIOR] {native['behavior']}"
        assert native["constraints_given"].endswith(" [AND] ")


def test_no_row_of_the_sample_is_in_the_reference_data(reference: Path) -> None:
    known = {
        (native["setting"], native["behavior"])
        for name in ("native_rows.csv", "NormBank_layout.csv")
        for native in native_rows(reference / "data" / "normbank" / name)
    }
    ours = {(record.facts["setting"], record.facts["behavior"]) for record in records_of(NORMBANK.sample)}
    assert not ours & known
