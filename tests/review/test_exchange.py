from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hazardmill.errors import InputError, UsageError
from hazardmill.review.assignments.publish import give_tasks
from hazardmill.review.assignments.sampler import Wish
from hazardmill.review.decisions.exchange import COLUMNS, _of_cells, entries, export, import_files, to_csv
from hazardmill.review.decisions.folder import ReviewFolder
from hazardmill.review.decisions.history import Decision
from hazardmill.review.rubric import ReviewVerdict
from hazardmill.review.schemas import ReviewAnswer
from hazardmill.text.csv_tables import read_csv

from .support import APPROVE, REJECT, Clock, answer, key
from .test_decisions import decision


@pytest.fixture
def reviewed(folder, service, pool):
    """Two reviewers who have decided everything, with one decision taken back."""
    give_tasks(folder, pool, Wish(("ada", "ben")))
    for name in ("ada", "ben"):
        answer(service, name, lambda slip, sheet: REJECT if slip.place % 3 else APPROVE)
    service.session("ada").undo(submission=key())
    return folder


def copy_of(folder, path):
    """The same assignments, and nobody has decided anything."""
    (path / "decisions").mkdir(parents=True)
    for name in ("rubric.md", "decisions/_assignments.jsonl"):
        (path / name).write_bytes((folder.path / name).read_bytes())
    return ReviewFolder(path, clock=Clock())


@pytest.mark.parametrize("name", ["all.csv", "all.jsonl"])
def test_what_is_exported_is_imported_as_it_was_and_twice_is_as_once(reviewed, tmp_path, name):
    count = export(reviewed, tmp_path / name)
    other = copy_of(reviewed, tmp_path / "other")
    first = import_files(other, [tmp_path / name])
    assert (first.new, first.known, first.refused, first.conflicts) == (count, 0, (), ())
    assert entries(other) == entries(reviewed)
    again = import_files(other, [tmp_path / name])
    assert (again.new, again.known, again.refused, again.conflicts) == (0, count, (), ())
    for name in ("ada", "ben"):
        file = f"decisions/{name}.jsonl"
        assert (other.path / file).read_bytes() == (reviewed.path / file).read_bytes()


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60), st.none() | st.floats(0, 1e9))
def test_any_note_survives_csv_and_none_is_a_formula(note, seconds):
    import csv
    import io

    one = decision(1, note=note, seconds=seconds)
    rows = list(csv.reader(io.StringIO(to_csv([one]), newline=""), strict=True))
    ((_, cells),) = read_csv(Path("one.csv"), to_csv([one]).encode(), COLUMNS, "")
    assert _of_cells(cells) == one
    assert not rows[1][COLUMNS.index("note")].startswith(("=", "+", "-", "@", "\t", "\r"))


def test_only_the_reviewers_asked_for_are_exported(reviewed, tmp_path):
    export(reviewed, tmp_path / "ada.jsonl", ["ada"])
    lines = [json.loads(line) for line in (tmp_path / "ada.jsonl").read_text().splitlines()]
    assert {line["reviewer"] for line in lines} == {"ada"} and len(lines) == len(entries(reviewed, ["ada"]))
    with pytest.raises(UsageError, match="no reviewer eva"):
        export(reviewed, tmp_path / "eva.jsonl", ["eva"])
    with pytest.raises(UsageError, match=r"neither CSV nor JSON lines"):
        export(reviewed, tmp_path / "all.xlsx")


def answered_apart(folder, other, pool, answers):
    """Both copies answer the first slip of ada; gives the two decisions."""
    from hazardmill.review.service import ReviewService

    made = []
    for place, said in zip((folder, other), answers, strict=True):
        answer(ReviewService(place, pool), "ada", lambda slip, sheet, said=said: said, most=1)
        made.append(entries(place, ["ada"])[-1])
    return made


def test_two_answers_made_apart_conflict_and_the_later_counts(folder, pool, tmp_path):
    give_tasks(folder, pool, Wish(("ada", "ben")))
    other = copy_of(folder, tmp_path / "other")
    other._clock.time += timedelta(hours=1)
    ours, theirs = answered_apart(folder, other, pool, (APPROVE, REJECT))
    export(other, tmp_path / "theirs.jsonl")
    result = import_files(folder, [tmp_path / "theirs.jsonl"])
    (conflict,) = result.conflicts
    assert (conflict.counts, conflict.verdict) == (theirs.id, "reject")
    assert (conflict.gives_way, conflict.other_verdict) == (ours.id, "approve")
    history = folder.decision_log("ada").history()
    assert history.of_slip(ours.slip) == (ours, theirs) and history.current(ours.slip) == theirs
    # The other way round it is the same conflict with the same end.
    export(folder, tmp_path / "ours.csv")
    (conflict,) = import_files(other, [tmp_path / "ours.csv"]).conflicts or (conflict,)
    assert other.decision_log("ada").history().current(ours.slip) == theirs


def test_who_has_merely_gone_on_does_not_conflict(folder, pool, tmp_path, service):
    give_tasks(folder, pool, Wish(("ada", "ben")))
    answer(service, "ada", lambda slip, sheet: APPROVE, most=1)
    other = copy_of(folder, tmp_path / "other")
    export(folder, tmp_path / "first.jsonl")
    import_files(other, [tmp_path / "first.jsonl"])
    from hazardmill.review.service import ReviewService

    session = ReviewService(other, pool).session("ada")
    other._clock.time += timedelta(hours=1)
    sheet = session.sheet(session.history()[0].slip)
    session.record(sheet.slip, REJECT, seen=sheet.seen, expects=sheet.mine.decision, submission=key())
    export(other, tmp_path / "second.jsonl")
    result = import_files(folder, [tmp_path / "second.jsonl"])
    assert (result.new, result.conflicts) == (1, ())
    # And an older copy of ours changes nothing.
    assert import_files(folder, [tmp_path / "first.jsonl"]).conflicts == ()
    assert folder.decision_log("ada").history().current(sheet.slip).verdict == "reject"


def test_the_same_answer_made_apart_is_no_conflict(folder, pool, tmp_path):
    give_tasks(folder, pool, Wish(("ada", "ben")))
    other = copy_of(folder, tmp_path / "other")
    answered_apart(folder, other, pool, (APPROVE, APPROVE))
    export(other, tmp_path / "theirs.jsonl")
    result = import_files(folder, [tmp_path / "theirs.jsonl"])
    assert (result.new, result.conflicts) == (1, ())


def test_what_is_wrong_is_refused_line_by_line_and_the_rest_is_taken(reviewed, tmp_path):
    found = entries(reviewed)
    good, mine = found[0], next(entry for entry in found if entry.reviewer == "ben")

    def forged(entry, **fields):
        return entry.model_copy(update=fields).with_id().line()

    lines = {
        "altered": good.line().replace("approve", "reject").replace('"reasons":[]', '"reasons":["hints"]'),
        "not JSON": good.line()[:-5],
        "slip .* is not ada's": forged(mine, reviewer="ada", submission="new-1"),
        "does not exist in this review": forged(good, slip="f" * 32, submission="new-2"),
        "is about another task": forged(good, item="another", submission="new-3"),
        "in the future": forged(good, at=reviewed.now() + timedelta(days=3), submission="new-4"),
        "already recorded here, with a different answer": forged(good, note="no", verdict=good.verdict),
        "undoes a decision that is neither in this file nor in the review": forged(
            next(entry for entry in found if not isinstance(entry, Decision)), undoes="e" * 32, submission="new-5"
        ),
        "reviewer": forged(good, reviewer="../ada", submission="new-6"),
        "needs a reason": forged(good, verdict=ReviewVerdict.REJECT, reasons=(), submission="new-7"),
        "over 100000 bytes": "x" * 100_001,
    }
    extra = forged(good, note="a second thought", at=reviewed.now(), submission="new-8")
    path = tmp_path / "mixed.jsonl"
    path.write_text("\n".join([*lines.values(), extra]) + "\n")
    before = len(entries(reviewed))
    result = import_files(reviewed, [path])
    assert result.new == 1 and len(entries(reviewed)) == before + 1
    assert [line.line for line in result.refused] == list(range(1, len(lines) + 1))
    for line, message in zip(result.refused, lines, strict=True):
        import re

        assert re.search(message, line.message), (message, line.message)
        assert line.remedy and line.file == str(path)


def test_only_the_named_reviewer_is_taken_in(reviewed, tmp_path):
    export(reviewed, tmp_path / "all.csv")
    other = copy_of(reviewed, tmp_path / "other")
    result = import_files(other, [tmp_path / "all.csv"], reviewer="ben")
    assert {entry.reviewer for entry in entries(other)} == {"ben"}
    assert len(result.refused) == len(entries(reviewed, ["ada"]))


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"a,b\r\n1,2\r\n", "columns are not"), (b"\xff\xfe\x00", "not text in UTF-8"), (b"", "columns are not")],
)
def test_a_file_that_is_none_is_refused(folder, tmp_path, content, message):
    (tmp_path / "x.csv").write_bytes(content)
    with pytest.raises(InputError, match=message) as told:
        import_files(folder, [tmp_path / "x.csv"])
    assert told.value.remedy


def test_a_file_that_is_not_there_is_told(folder, tmp_path):
    with pytest.raises(InputError, match="No such file") as told:
        import_files(folder, [tmp_path / "x.jsonl"])
    assert told.value.file == str(tmp_path / "x.jsonl")


def test_a_broken_csv_is_told_from_where_it_breaks(reviewed, tmp_path):
    path = tmp_path / "x.csv"
    export(reviewed, path)
    whole = path.read_bytes().split(b"\r\n")
    path.write_bytes(b"\r\n".join([*whole[:3], b"decision,too,few", whole[3][:-1] + b'"', b'"open', b"x"]))
    other = copy_of(reviewed, tmp_path / "other")
    result = import_files(other, [path])
    assert result.new == 2 and result.refused[0].line == 4 and "3 cells" in result.refused[0].message


def test_a_spreadsheet_s_mark_and_line_ends_do_no_harm(reviewed, tmp_path):
    path = tmp_path / "x.csv"
    count = export(reviewed, path)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\r\n", b"\n"))
    assert import_files(copy_of(reviewed, tmp_path / "other"), [path]).new == count


def test_note_with_reasons_comes_back(folder, service, pool, tmp_path):
    give_tasks(folder, pool, Wish(("ada", "ben")))
    said = ReviewAnswer(verdict="reject", reasons=("other", "hints"), note="=1+1\n'quoted'", seconds=1.25)
    answer(service, "ada", lambda slip, sheet: said, most=1)
    export(folder, tmp_path / "x.csv")
    other = copy_of(folder, tmp_path / "other")
    import_files(other, [tmp_path / "x.csv"])
    (found,) = entries(other)
    assert (found.reasons, found.note, found.seconds) == (said.reasons, said.note, 1.25)
