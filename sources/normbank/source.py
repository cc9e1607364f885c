"""NormBank as a source: the comma-separated file as pandas wrote it, one judged situation per row."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from json.encoder import encode_basestring as quoted
from pathlib import Path
from typing import ClassVar, Final

from hazardmill.ingest.sources import (
    InputFile,
    InputRefusal,
    Note,
    Source,
    find_files,
    read_lines,
    whole_file_problem,
)
from hazardmill.records import Record, Reject

from .constraints import in_words
from .header import Header, is_header, read_header
from .rows import read_rows

_LABELS: Final = {"taboo": ("0", "0.0"), "normal": ("1", "1.0"), "expected": ("2", "2.0")}
"""Norm to its label; pandas writes whole numbers as 0.0 once a column has gaps."""
_REPEATED_HEADER: Final = InputRefusal(
    "repeated_header", "the header again, in the middle of the file", "remove the line"
)
_HASH_LENGTH: Final = 12
_MOST_NAMED: Final = 12
"""Maximum number of columns that a note names."""


class NormBank(Source):
    """NormBank, a knowledge bank of situational social norms."""

    name = "normbank"
    title = "NormBank situational social norms"
    licence = "CC-BY-SA-4.0"
    attribution = (
        "NormBank (Ziems, Dwivedi-Yu, Wang, Halevy and Yang, ACL 2023), CC BY-SA 4.0: credit it, "
        "and share what is derived from it under the same licence"
    )
    address = "https://huggingface.co/datasets/SALT-NLP/NormBank"
    description = "What people hold to be taboo, normal or expected in a setting, under constraints on who and how."
    expects = "NormBank.csv or a folder with it"
    facts = ("setting", "behavior", "constraints", "norm", "row")
    withheld = ("worker_id",)
    default_where: ClassVar[dict[str, str]] = {"norm": "taboo"}
    folder: ClassVar[Path] = Path(__file__).parent

    def find(self, path: Path) -> list[InputFile]:
        """Return the file itself, or the .csv files of a folder, without hidden ones."""
        return find_files(path, lambda file: file.suffix.lower() == ".csv")

    def key(self, record: Record) -> str:
        """Return a hash of the row's content: the row index only gives its position."""
        return record.native_id.rpartition("-")[2]

    def essence(self, record: Record) -> str:
        """Return the full content of the row."""
        return record.context

    def read(self, file: InputFile) -> Iterator[Record | Reject | Note]:
        """Yield one record per row."""
        problem = whole_file_problem(file.path)
        if problem is not None:
            yield self.reject(file, problem)
            return
        lines = read_lines(file.path)
        header = read_header(lines)
        if isinstance(header, InputRefusal):
            yield self.reject(file, header)
            return
        if header.extra:
            yield Note(source=self.name, file=file.name, message=_ignored(header.extra))
        norm, width = header.norm, header.width
        template = self._template(file)
        index = -1
        rows = read_rows(lines, lambda cells: len(cells) == width and cells[norm].strip() in _LABELS)
        for index, (line, cells) in enumerate(rows):
            if isinstance(cells, InputRefusal):
                yield self.reject(file, cells, line=line)
            elif len(cells) != width:
                yield self.reject(file, _misfit(cells, width), line=line)
            else:
                yield self._item(file, header, template, index, line, cells)
        if index < 0:
            yield self.reject(
                file, InputRefusal("no_rows", "the file has a header and no rows", f"give {self.expects}")
            )

    def _template(self, file: InputFile) -> Record:
        return Record(
            source=self.name,
            native_id="-",
            context="-",
            licence=self.licence,
            attribution=self.attribution,
            file=file.name,
        )

    def _item(
        self, file: InputFile, header: Header, template: Record, index: int, line: int, cells: list[str]
    ) -> Record | Reject:
        setting, behavior, constraints, norm = header.pick(cells)
        # Blanks mean nothing at the edges, and a line break inside would make two lines of a context's one.
        setting, behavior = " ".join(setting.split()), " ".join(behavior.split())
        constraints, norm = constraints.strip(), norm.strip()
        label = "" if header.label is None else cells[header.label].strip()
        said, warnings = in_words(constraints)
        problem = _problem(setting, behavior, said, norm, label, cells)
        if problem is not None:
            return self.reject(file, problem, line=line)
        # A copy is not validated again, which halves the time: what goes in was made of checked cells above.
        return template.model_copy(
            update={
                "native_id": f"{index}-{statement_hash(setting, behavior, norm, constraints)}",
                "context": f"Setting: {setting}\nBehavior: {behavior}\nConstraints: {'; '.join(said)}\nNorm: {norm}",
                "facts": {"setting": setting, "behavior": behavior, "constraints": said, "norm": norm, "row": index},
                "line": line,
                "warnings": warnings,
            }
        )


def statement_hash(setting: str, behavior: str, norm: str, constraints: str) -> str:
    """Return the first digits of the content hash of the list of these four.

    Written out, because the general function costs three times as much and runs once a row.
    """
    text = f"[{quoted(setting)},{quoted(behavior)},{quoted(norm)},{quoted(constraints)}]"
    return hashlib.sha256(text.encode()).hexdigest()[:_HASH_LENGTH]


def _misfit(cells: list[str], width: int) -> InputRefusal:
    """Return why a row whose width differs from the header's cannot be used."""
    if is_header(cells):
        return _REPEATED_HEADER
    return InputRefusal(
        "field_count",
        f"the row has {len(cells)} fields, the header {width}",
        "mend the row: a comma too many or too few, or one inside a cell that is not quoted",
    )


def _problem(
    setting: str, behavior: str, said: list[str], norm: str, label: str, cells: list[str]
) -> InputRefusal | None:
    """Return why a row of the right width cannot be used."""
    if norm not in _LABELS:
        if is_header(cells):
            return _REPEATED_HEADER
        return InputRefusal("norm", f"unknown norm {norm[:40]!r}", f"write one of {', '.join(_LABELS)}")
    for name, text in (("setting", setting), ("behavior", behavior)):
        if not text:
            return InputRefusal(f"blank_{name}", f"the {name} is blank", f"give the row its {name}, or remove it")
    # A lone "nan" is what str() makes of pandas' missing value; "None", "NA" and "null" are texts.
    if not said or (len(said) == 1 and said[0].lower() == "nan"):
        return InputRefusal(
            "blank_constraints", "the row has no constraint", "give the row its constraints, or remove it"
        )
    if label and label not in _LABELS[norm]:
        return InputRefusal(
            "label",
            f"label {label[:40]!r} contradicts norm {norm!r}, whose label is {_LABELS[norm][0]}",
            "find out which of the two is right and correct the other",
        )
    return None


def _ignored(extra: tuple[str, ...]) -> str:
    names = [name or "(no name)" for name in extra[:_MOST_NAMED]]
    more = f" and {len(extra) - _MOST_NAMED} more" if len(extra) > _MOST_NAMED else ""
    return f"{len(extra)} extra column{'s' if len(extra) > 1 else ''} ignored: {', '.join(names)}{more}"


SOURCE = NormBank()
