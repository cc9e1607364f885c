"""VirtualHome on the reference programs, in every layout, and the laws of its grammar."""

from __future__ import annotations

import importlib
import json
import re
import shutil
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hazardmill.errors import SourceError
from hazardmill.ingest.ingest import ingest
from hazardmill.ingest.sources import load_source
from hazardmill.records import Record, Reject

VIRTUALHOME = load_source("virtualhome")
PACKAGE = type(VIRTUALHOME).__module__.rpartition(".")[0]
grammar = importlib.import_module(f"{PACKAGE}.grammar")
initstate = importlib.import_module(f"{PACKAGE}.initstate")
wording = importlib.import_module(f"{PACKAGE}.wording")

DATASET = "programs_processed_precond_nograb_morepreconds"
UPPER = "variant_withdoor_uppercase"
PREFIX = "results_text_rebuttal_specialparsed_programs_"
PROGRAM = "Dust the shelf\nBefore the guests come.\n\n\n[Walk] <bedroom> (1)\n[Wipe] <shelf> (1)\n"


def records_of(path: Path) -> dict[str, Record]:
    """The records by id; nothing else may come."""
    items = list(ingest(VIRTUALHOME, path))
    records = [item for item in items if isinstance(item, Record)]
    assert len(records) == len(items)
    return {record.native_id: record for record in records}


def texts(record: Record, key: str) -> list[str]:
    """A fact that is a list."""
    value = record.facts[key]
    assert isinstance(value, list)
    return [str(text) for text in value]


def only_reject(path: Path) -> Reject:
    (item,) = ingest(VIRTUALHOME, path)
    assert isinstance(item, Reject)
    return item


@pytest.fixture(scope="module")
def home(reference: Path) -> Path:
    return reference / "data" / "virtualhome"


@pytest.fixture(scope="module")
def records(home: Path) -> dict[str, Record]:
    return records_of(home / DATASET)


def test_all_reference_pairs_are_read(home: Path, records: dict[str, Record]) -> None:
    assert len(records) == 645
    assert Counter(record.facts["collection"] for record in records.values()) == {
        f"{PREFIX}turk_july": 28,
        f"{PREFIX}turk_third": 342,
        f"{PREFIX}upwork_july": 164,
        f"{PREFIX}upwork_kellensecond": 111,
    }
    assert len({native_id.rpartition("/")[2] for native_id in records}) == 487, "stems collide, ids do not"
    assert not any(record.warnings for record in records.values())
    assert list(records) == sorted(records)
    files = {f"withoutconds/{native_id}.txt" for native_id in records}
    assert files == {file.relative_to(home / DATASET).as_posix() for file in (home / DATASET).glob("withoutconds/*/*")}
    assert files == {record.file for record in records.values()}


def test_every_action_and_condition_of_the_reference_is_there(home: Path, records: dict[str, Record]) -> None:
    conditions = 0
    for native_id, record in records.items():
        lines = (home / DATASET / "withoutconds" / f"{native_id}.txt").read_text().splitlines()
        assert (record.facts["title"], record.facts["description"]) == tuple(
            " ".join(line.split()) for line in lines[:2]
        )
        assert len(texts(record, "steps")) == len(lines) - 4
        verbs = dict.fromkeys(line[1 : line.index("]")] for line in lines[4:])
        assert texts(record, "verbs") == list(verbs)
        entries = json.loads((home / DATASET / "initstate" / f"{native_id}.json").read_text())
        telling = {json.dumps(value) + key for entry in entries for key, value in entry.items() if value[0] != value[1]}
        assert len(texts(record, "init")) == len(telling)
        conditions += len(telling)
        assert "_" not in record.context and "<" not in record.context
    assert conditions == 5575
    empty = [record for record in records.values() if not texts(record, "init")]
    assert all("\nStart: not given" in record.context for record in empty)


def test_what_only_people_do_is_named_in_the_reference(records: dict[str, Record]) -> None:
    counts = Counter(verb for record in records.values() for verb in texts(record, "not_for_robots"))
    assert counts == {"eat": 31, "drink": 26, "sleep": 19, "dance": 8, "laugh": 1, "sing": 1, "wake up": 1}
    for record in records.values():
        named = re.search(r"\nOnly people: (.*)\Z", record.context)
        assert (named[1].split("; ") if named else []) == texts(record, "not_for_robots")


def test_long_descriptions_are_kept_whole(records: dict[str, Record]) -> None:
    long = [record for record in records.values() if len(str(record.facts["description"])) > 500]
    assert len(long) == 4
    assert all(str(record.facts["description"]) in record.context for record in long)


def test_the_older_upper_case_pairs_are_read(home: Path) -> None:
    records = records_of(home / UPPER)
    assert len(records) == 20
    assert {record.facts["collection"] for record in records.values()} == {"results_intentions_march-13-18"}
    work = records["results_intentions_march-13-18/file1002_1"]
    assert texts(work, "objects") == ["home office", "chair", "computer", "mouse", "keyboard"]
    assert texts(work, "init")[0] == "the computer is off"
    assert not any(name.isupper() for record in records.values() for name in texts(record, "objects"))


def test_a_folder_of_both_datasets_gives_both(home: Path, records: dict[str, Record]) -> None:
    both = records_of(home)
    assert len(both) == 665
    assert {native_id: record.context for native_id, record in both.items() if record.file.startswith(DATASET)} == {
        native_id: record.context for native_id, record in records.items()
    }


def test_a_part_of_a_dataset_has_the_ids_of_the_whole(home: Path, records: dict[str, Record]) -> None:
    collection = f"{PREFIX}turk_july"
    part = {native_id: record for native_id, record in records.items() if native_id.startswith(collection)}
    for half in ("withoutconds", "initstate"):
        assert records_of(home / DATASET / half) == records
        assert records_of(home / DATASET / half / collection) == part
    native_id, record = next(iter(part.items()))
    for file in (f"withoutconds/{native_id}.txt", f"initstate/{native_id}.json"):
        assert records_of(home / DATASET / file) == {native_id: record}


def test_a_relative_path_inside_the_dataset_will_do(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    collection = f"{PREFIX}turk_july"
    monkeypatch.chdir(home / DATASET / "withoutconds" / collection)
    assert set(records_of(Path("split18_2.txt"))) == {f"{collection}/split18_2"}
    assert len(records_of(Path())) == 28


def test_the_flat_layout_says_the_same(home: Path, records: dict[str, Record], tmp_path: Path) -> None:
    collection = f"{PREFIX}upwork_july"
    for half in ("withoutconds", "initstate"):
        shutil.copytree(home / DATASET / half / collection, tmp_path / half)
    flat = records_of(tmp_path)
    assert len(flat) == 164
    for stem, record in flat.items():
        nested = records[f"{collection}/{stem}"]
        assert record.context == nested.context
        assert record.facts == {**nested.facts, "collection": None}


def test_files_that_are_no_half_of_a_pair(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    cases = {
        "a.txt": ("1\nfree: ('SHELF', '1') --> \n" + PROGRAM, "withconds_file"),
        "b.json": ('{"init_graph": {}, "final_graph": {}}', "graph_file"),
        "c.txt": (PROGRAM, "no_initstate"),
        "d.json": ("[]", "no_program"),
    }
    for name, (content, reason) in cases.items():
        (tmp_path / "elsewhere" / name).write_text(content)
        reject = only_reject(tmp_path / "elsewhere" / name)
        assert (reject.reason, reject.file, reject.line) == (reason, name, None)
    for path in (tmp_path, tmp_path / "elsewhere"):
        with pytest.raises(SourceError, match="nothing here is input for source virtualhome"):
            VIRTUALHOME.discover(path)


def test_a_reject_names_the_half_that_is_wrong(tmp_path: Path) -> None:
    program, state = (
        tmp_path / half / "x" / name for half, name in (("withoutconds", "p.txt"), ("initstate", "p.json"))
    )
    for file in (program, state):
        file.parent.mkdir(parents=True)
    program.write_text(PROGRAM)
    assert only_reject(tmp_path).file == "initstate/x/p.json"
    state.write_text("[")
    reject = only_reject(program)
    assert (reject.file, reject.native_id, reject.reason) == ("initstate/x/p.json", "x/p", "json")
    program.write_text("Dust the shelf\n")
    assert only_reject(state).file == "withoutconds/x/p.txt"
    program.unlink()
    reject = only_reject(state)
    assert (reject.file, reject.reason) == ("withoutconds/x/p.txt", "no_program")


def test_listing_opens_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("opened")

    monkeypatch.setattr(Path, "open", refuse)
    names = [file.name for file in VIRTUALHOME.discover(VIRTUALHOME.sample)]
    assert len(names) == 35
    assert "withoutconds/household_chores/water_the_herbs.txt" in names


def test_the_sample_covers_collections_that_share_a_stem() -> None:
    items = list(ingest(VIRTUALHOME, VIRTUALHOME.sample))
    records = {item.native_id: item for item in items if isinstance(item, Record)}
    assert len(records) == 30
    assert {"care_and_company/make_tea", "household_chores/make_tea"} <= set(records)
    assert Counter(item.reason for item in items if isinstance(item, Reject)) == {
        "no_initstate": 1,
        "action": 1,
        "json": 1,
        "graph_file": 1,
        "withconds_file": 1,
    }
    assert sum(bool(texts(record, "not_for_robots")) for record in records.values()) >= 4


# ── laws ─────────────────────────────────────────────────────────────────────────────────────────────────────

NAMES = st.from_regex(r"[a-z]{1,8}([ -][a-z]{1,8}){0,2}", fullmatch=True)
THINGS = st.builds(grammar.Thing, NAMES, st.integers(0, 999_999_999))
ACTIONS = st.builds(grammar.Action, st.sampled_from(grammar.VERBS), st.lists(THINGS, max_size=2).map(tuple))


def written(action: tuple[str, tuple[tuple[str, int], ...]], node: str = "") -> str:
    verb, things = action
    return " ".join([f"[{verb}]", *(f"<{name.replace(' ', '_')}> ({number}{node})" for name, number in things)])


@given(ACTIONS, st.integers(0, 9999))
def test_every_spelling_of_an_action_reads_back(action: tuple[str, tuple[tuple[str, int], ...]], node: int) -> None:
    line = written(action)
    for spelling in (line, line.upper(), line.upper().replace("_", " "), f" {line}\t", written(action, f".{node}")):
        assert grammar.is_action(spelling)
        assert grammar.action(spelling, 5) == action


@given(ACTIONS, st.data())
def test_an_action_without_one_of_its_brackets_is_refused(
    action: tuple[str, tuple[tuple[str, int], ...]], data: st.DataObject
) -> None:
    line = written(action)
    place = data.draw(st.sampled_from([index for index, letter in enumerate(line) if letter in "[]<>()"]))
    with pytest.raises(grammar.VirtualHomeError) as caught:
        grammar.action(line[:place] + line[place + 1 :], 5)
    assert caught.value.refusal.reason == "action"
    assert "line 5" in caught.value.refusal.message


@given(st.text(max_size=60))
def test_any_other_line_is_an_action_or_refused(line: str) -> None:
    try:
        action = grammar.action(line, 1)
    except grammar.VirtualHomeError as error:
        assert error.refusal.remedy
    else:
        assert grammar.action(written(action), 1) == action


@given(
    st.lists(st.tuples(st.sampled_from(sorted(initstate.UNARY)), st.tuples(THINGS)), max_size=6),
    st.lists(st.tuples(st.sampled_from(sorted(initstate.BINARY)), st.tuples(THINGS, THINGS)), max_size=6),
    st.booleans(),
)
def test_conditions_read_back_whether_instances_are_texts_or_numbers(
    unary: list[tuple[str, tuple[tuple[str, int], ...]]],
    binary: list[tuple[str, tuple[tuple[str, int], ...]]],
    as_text: bool,
) -> None:
    def operand(thing: tuple[str, int]) -> list[object]:
        return [thing[0], str(thing[1]) if as_text else thing[1]]

    entries: list[dict[str, object]] = [{key: operand(things[0])} for key, things in unary]
    entries += [{key: [operand(one) for one in things]} for key, things in binary]
    state = initstate.read_initstate(json.dumps(entries))
    assert list(state.literals) == [*unary, *binary]
    assert not state.warnings


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6) | NAMES, inner, max_size=2),
        max_leaves=8,
    )
)
def test_any_json_is_conditions_or_refused(value: object) -> None:
    try:
        state = initstate.read_initstate(json.dumps(value))
    except grammar.VirtualHomeError as error:
        assert error.refusal.reason in {"json", "graph_file", "not_a_list", "entry", "operands"}
    else:
        assert isinstance(value, list)
        assert len(state.literals) == len(value)


@given(st.lists(ACTIONS, min_size=1, max_size=8))
def test_things_are_told_apart_and_steps_kept(actions: list[tuple[str, tuple[tuple[str, int], ...]]]) -> None:
    words = wording.Wording(actions, ())
    assert len(words.steps()) == len(actions)
    things = {thing for _, things in actions for thing in things if thing[0] != grammar.CHARACTER}
    assert len(words.objects()) == len(set(words.objects())) == len(things)
    for step, (_, things_) in zip(words.steps(), actions, strict=True):
        assert all(name in step for name, _ in things_ if name != grammar.CHARACTER)
