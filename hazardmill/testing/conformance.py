"""What every source must do, checked on its sample and its cases (``hazardmill sources check``).

Each requirement is a function of a source and an empty folder, and raises ``ConformanceFailure`` where the source does
not keep it. It needs neither a checkout nor pytest; the tests of hazardmill keep its own sources to the same functions.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hazardmill.errors import HazardmillError, SourceError
from hazardmill.ingest.fetch.catalogue import read_catalogue
from hazardmill.ingest.ingest import Repeat, ingest
from hazardmill.ingest.sources import InputFile, Note, Source
from hazardmill.llm.prompts import MAX_GUIDANCE
from hazardmill.records import Record, Reject
from hazardmill.testing.cases import AcceptedCase, RefusedCase, cases_of, lay_out

_FROM_INGEST: Final = {"conflicting_repeat", "nothing_selected", "range_beyond_end"}
"""Reasons that are no source's own."""

_BYTES: Final = (b'"', b"\n", b"(", b")", b"\t", b"\xe9", b"- ", b"\x00", b"{", b"\xff\xfe")
_CHANGES: Final = 60
_SEED: Final = 1


class ConformanceFailure(AssertionError):
    """A source does not keep a requirement; the message says what was found."""


@dataclass(frozen=True)
class Requirement:
    """One thing that every source must do.

    Attributes:
        name: The requirement in words.
        examine: Raises ``ConformanceFailure`` if a source does not keep it; called with the source and an empty folder.
    """

    name: str
    examine: Callable[[Source, Path], None]


def _require(condition: object, message: str) -> None:
    if not condition:
        raise ConformanceFailure(message)


def _records(source: Source, path: Path | None = None) -> list[Record]:
    return [item for item in ingest(source, path or source.sample) if isinstance(item, Record)]


def _documented(source: Source, _: Path) -> None:
    for name in ("title", "licence", "attribution", "address", "description", "expects"):
        _require(str(getattr(source, name, "")).strip(), f"the class variable {name} is missing or empty")
    page = _page(source)
    for word in ("Origin", "Licence", "Citation", "Address", "Size", "SHA-256"):
        _require(word in page, f"SOURCE.md does not say {word}")
    _require(source.address in page, f"SOURCE.md does not have the address {source.address}")
    offer = read_catalogue(source)
    _require(offer is None or offer.files or offer.otherwise, "the section Files of SOURCE.md offers nothing")


def _guided(source: Source, _: Path) -> None:
    path = source.folder / "guidance.md"
    if path.exists():
        length = len(path.read_text(encoding="utf-8").strip())
        _require(0 < length <= MAX_GUIDANCE, f"guidance.md has {length} characters; 1 to {MAX_GUIDANCE} are allowed")


def _has_sample(source: Source, _: Path) -> None:
    run = ingest(source, source.sample)
    met = [item for item in run if isinstance(item, Record | Reject | Repeat)]
    _require(run.counts.records >= 20, f"the sample has {run.counts.records} records, and at least 20 are wanted")
    reasons = ", ".join(run.counts.reasons) or "none"
    _require(len(run.counts.reasons) >= 3, f"the sample shows fewer than three ways to be refused: {reasons}")
    _require(run.counts.items == len(met) + run.counts.unselected, "items were lost between file and records")
    tabled = {reason for case in cases_of(source).refused for reason in case.reasons} | _FROM_INGEST
    missing = ", ".join(set(run.counts.reasons) - tabled)
    _require(not missing, f"the sample shows reasons that no case of cases.py has: {missing}")


def _has_cases(source: Source, _: Path) -> None:
    cases = cases_of(source)
    page = _page(source)
    for table, name in ((cases.refused, "REFUSED"), (cases.accepted, "ACCEPTED")):
        _require(table, f"{name} of cases.py is empty")
        names = [case.case for case in table]
        _require(len(set(names)) == len(names), f"two cases of {name} have the same name")
    for case in cases.refused:
        for reason in case.reasons:
            _require(f"`{reason}`" in page, f"the reason {reason} of the case {case.case!r} is not in SOURCE.md")


def _page(source: Source) -> str:
    path = source.folder / "SOURCE.md"
    _require(path.is_file(), f"there is no {path}")
    return path.read_text(encoding="utf-8")


def _keeps_cases(source: Source, folder: Path) -> None:
    cases = cases_of(source)
    both: list[RefusedCase | AcceptedCase] = [*cases.refused, *cases.accepted]
    for number, case in enumerate(both):
        place = folder / str(number)
        place.mkdir()
        examine_case(source, case, place)


def examine_case(source: Source, case: RefusedCase | AcceptedCase, folder: Path) -> None:
    """Compare what a source makes of the input of a case with what the case expects.

    Args:
        source: The source.
        case: A case of its ``cases.py``.
        folder: An empty folder, for the input.

    Raises:
        ConformanceFailure: They differ.
    """
    skip = case.skip if isinstance(case, RefusedCase) else 0
    items = list(ingest(source, lay_out(folder, case.files), where=case.where, skip=skip))
    records = [item for item in items if isinstance(item, Record)]
    rejects = [item for item in items if isinstance(item, Reject)]
    where = f"case {case.case!r}: "
    for reject in rejects:
        told = reject.remedy and reject.file and not Path(reject.file).is_absolute()
        _require(told, f"{where}a reject lacks its remedy, or the name of its file within the input")
    if isinstance(case, RefusedCase):
        found = tuple(reject.reason for reject in rejects)
        _require(found == case.reasons, f"{where}the reasons are {found}, and {case.reasons} were expected")
        _require(len(records) == case.records, f"{where}{len(records)} records, and {case.records} were expected")
        first = rejects[0]
        _require(first.line == case.line, f"{where}the first reject is of line {first.line}, not {case.line}")
        _parts(where, case.parts, [first.message] * len(case.parts))
        return
    _require(not rejects, f"{where}it is refused: {rejects[:1]}")
    _require(len(records) == 1, f"{where}it gives {len(records)} records instead of one")
    repeats = sum(isinstance(item, Repeat) for item in items)
    _require(repeats == case.repeats, f"{where}{repeats} repeats, and {case.repeats} were expected")
    _parts(where, case.warnings, list(records[0].warnings))
    _parts(where, case.notes, [item.message for item in items if isinstance(item, Note)])
    _parts(where, case.context, [records[0].context] * len(case.context))
    said = records[0].context + json.dumps(records[0].facts, ensure_ascii=False)
    for part in case.absent:
        _require(part not in said, f"{where}{part!r} is in context or facts")


def _parts(where: str, parts: tuple[str, ...], texts: list[str]) -> None:
    _require(len(texts) == len(parts), f"{where}{len(texts)} texts, and {len(parts)} were expected: {texts}")
    for part, text in zip(parts, texts, strict=True):
        _require(part in text, f"{where}{part!r} is not in {text!r}")


def _labelled(source: Source, _: Path) -> None:
    seen: set[str] = set()
    for record in _records(source):
        where = f"record {record.record_id}: "
        _require(record.record_id not in seen, f"{where}its id occurs twice")
        seen.add(record.record_id)
        _require(record.source == source.name, f"{where}its source is {record.source}")
        _require(record.record_id.startswith(f"{source.name}:"), f"{where}its id does not begin with {source.name}:")
        same = (record.licence, record.attribution) == (source.licence, source.attribution)
        _require(same, f"{where}its licence or attribution is not that of the source")
        _require(not Path(record.file).is_absolute(), f"{where}its file is an absolute path")
        _require(set(record.facts) == set(source.facts), f"{where}its facts are {sorted(record.facts)}")
        kept = json.loads(json.dumps(record.facts, allow_nan=False))
        _require(kept == record.facts, f"{where}its facts are not the same as JSON")
        for line in record.context.splitlines():
            _require(re.fullmatch(r"[A-Z][A-Za-z ]*: \S.*", line), f"{where}this line has no label: {line!r}")


def _withholds(source: Source, _: Path) -> None:
    for record in _records(source):
        said = f"{record.context}\n{json.dumps(record.facts, ensure_ascii=False)}".casefold()
        for field in source.withheld:
            for written in {field.casefold(), field.casefold().replace("_", " ")}:
                shown = re.search(rf"(?<!\w){re.escape(written)}\"?: ", said)
                _require(not shown, f"record {record.record_id}: the withheld field {field} is shown")


def _selects(source: Source, _: Path) -> None:
    record = next(iter(_records(source)), None)
    _require(record is not None, "the sample has no record")
    assert record is not None
    for name, fact in record.facts.items():
        value = next(iter(fact), None) if isinstance(fact, list) else fact
        if isinstance(value, str):
            chosen = list(ingest(source, source.sample, where={name: value}))
            _require(record in chosen, f"--where {name}={value} does not select record {record.record_id}")


def _same_again(source: Source, _: Path) -> None:
    first, second = list(ingest(source, source.sample)), list(ingest(source, source.sample))
    _require(first == second, "reading the sample twice gives two results")
    if type(source).read_from is Source.read_from:
        return
    for file in source.discover(source.sample):
        records = [item for item in source.items(file) if isinstance(item, Record) and item.line is not None]
        # Each look reads the file, and a sample may be large.
        for record in records[:: max(1, len(records) // 20)]:
            again = [item for item in source.items(file, record.line) if item == record]
            _require(again, f"{record.record_id} is not found when {file.name} is read from line {record.line}")


def files_with_rows(source: Source) -> Iterator[InputFile]:
    """Yield sample files with a row per item. Where each item is a file of its own, files are read whole."""
    for file in source.discover(source.sample):
        text = file.path.is_file() and b"\x00" not in file.path.read_bytes()
        if text and len(list(source.read(file))) >= 10:
            yield file


def _streams(source: Source, folder: Path) -> None:
    for file in files_with_rows(source):
        content = file.path.read_bytes()
        long = InputFile(folder / file.path.name, file.name)
        long.path.write_bytes(content * (1 + (1 << 20) // len(content)))
        whole = sum(1 for _ in source.read(long))
        items = iter(source.read(long))
        next(items)
        # Who reads as it goes meets the cut; who had read it all does not.
        os.truncate(long.path, long.path.stat().st_size // 4)
        _require(1 + sum(1 for _ in items) < whole / 2, f"{file.name} is read to its end before the first item")


def _keeps_rows_apart(source: Source, folder: Path) -> None:
    for file in files_with_rows(source):
        rows = file.path.read_bytes().split(b"\n")
        good = {item.line for item in source.read(file) if isinstance(item, Record) and item.line}
        if not good - {1}:
            continue
        line = min(good - {1})
        rows[line - 1] = b"\0" * 50 + rows[line - 1]
        (folder / file.path.name).write_bytes(b"\n".join(rows))
        items = list(source.read(InputFile(folder / file.path.name, file.name)))
        refused = [item.line for item in items if isinstance(item, Reject) and item.reason == "nul_byte"]
        _require(refused == [line], f"NUL bytes in line {line} are refused (nul_byte) in lines {refused}")
        left = {item.line for item in items if isinstance(item, Record)}
        _require(left == good - {line}, f"NUL bytes in line {line} cost other rows too")


def _names_what_to_give(source: Source, folder: Path) -> None:
    (folder / "unrelated").mkdir()
    for path in (folder, folder / "missing"):
        try:
            source.discover(path)
        except SourceError as error:
            _require(source.expects in str(error), f"the error does not say what to give: {error}")
        else:
            raise ConformanceFailure("a folder without input is accepted")


_NO_DATA: Final = (
    ("empty_file", b""),
    ("html_page", b"<!DOCTYPE html><html><body>404</body></html>"),
    ("lfs_pointer", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"),
    ("packed", b"\x1f\x8b\x08\x00rest"),
    ("not_text", b"\xff\xfea\x00b\x00"),
    ("not_text", "a,b\n".encode("utf-32")),
    ("not_text", "a,b\nc,d\n".encode("utf-16-be")),
)
"""What failed downloads and other encodings leave, and the reason for which each is refused."""


def _refuses_no_data(source: Source, folder: Path) -> None:
    name = source.discover(source.sample)[0].name
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    for reason, content in _NO_DATA:
        (folder / name).write_bytes(content)
        found = [
            (item.reason, item.line) if isinstance(item, Reject) else type(item).__name__
            for item in source.read(InputFile(folder / name, name))
        ]
        _require(found == [(reason, None)], f"a file that is {reason} gives {found}, and not one reject of the file")


def _never_raises(source: Source, folder: Path) -> None:
    draw = random.Random(_SEED)
    originals = source.discover(source.sample)
    for _ in range(_CHANGES):
        original = draw.choice(originals)
        good = original.path.read_bytes()
        start = draw.randint(0, len(good))
        end = draw.randint(start, min(len(good), start + 200))
        noise = draw.choice([draw.choice(_BYTES), draw.randbytes(draw.randint(0, 30))])
        path = folder / original.name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(good[:start] + noise + good[end:])
        try:
            items = list(source.read(InputFile(path, original.name)))
        except Exception as error:
            raise ConformanceFailure(
                f"{original.name} with bytes {start} to {end} replaced by {noise!r} makes it raise "
                f"{type(error).__name__}: {error}"
            ) from error
        _require(all(isinstance(item, Record | Reject | Note) for item in items), "it yields something else")


def _meets_odd_files(source: Source, folder: Path) -> None:
    odd: dict[str, Callable[[Path], object]] = {
        "a pipe": os.mkfifo,
        "a folder": Path.mkdir,
        "a link to nothing": lambda path: path.symlink_to(path.with_name("nothing")),
        "a link to itself": lambda path: path.symlink_to(path.name),
    }
    for number, (what, lay) in enumerate(odd.items()):
        copy = shutil.copytree(source.sample, folder / str(number))
        file = next(file for file in source.discover(copy) if any(isinstance(i, Record) for i in source.items(file)))
        file.path.unlink()
        lay(file.path)
        try:
            found = source.discover(copy)
        except SourceError:
            raise ConformanceFailure(f"{what} in the place of {file.name} is not reported as one reject") from None
        told = [item for each in found if each.name == file.name for item in source.items(each)]
        _require(len(told) == 1 and isinstance(told[0], Reject), f"{what} named {file.name} gives {told[:2]}")


REQUIREMENTS: Final = (
    Requirement("SOURCE.md and the class variables say what it is", _documented),
    Requirement("guidance.md is short enough to be sent with every record", _guided),
    Requirement("the sample has 20 records and three kinds of rejects, each with a case", _has_sample),
    Requirement("cases.py has cases, and SOURCE.md has their reasons", _has_cases),
    Requirement("every case comes to what it expects", _keeps_cases),
    Requirement("records have ids of their own, labels, the declared facts, licence and attribution", _labelled),
    Requirement("withheld fields are not shown", _withholds),
    Requirement("facts select records", _selects),
    Requirement("reading twice gives the same", _same_again),
    Requirement("a long file is read while items come out", _streams),
    Requirement("NUL bytes cost their row only", _keeps_rows_apart),
    Requirement("a path without input is an error that says what to give", _names_what_to_give),
    Requirement("a download that is no data is one reject", _refuses_no_data),
    Requirement("no bytes make it raise", _never_raises),
    Requirement("what is no file is one reject, and keeps nobody waiting", _meets_odd_files),
)
"""The requirements, in the order in which they are checked."""


def describe_failure(error: Exception) -> str:
    """Return in a sentence why a requirement is not kept: what was found, or the error that stopped the check."""
    if isinstance(error, ConformanceFailure | HazardmillError):
        return str(error)
    return f"{type(error).__name__}: {error}"
