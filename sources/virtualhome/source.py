"""VirtualHome as a source: one pair of files per program, ``withoutconds/*.txt`` and ``initstate/*.json``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import ClassVar, Final

from pydantic import JsonValue

from hazardmill.ingest.sources import InputFile, InputRefusal, Note, Source, read_text
from hazardmill.records import Record, Reject

from . import layout
from .grammar import VirtualHomeError
from .initstate import InitState, read_initstate
from .program import Program, read_program
from .wording import NOT_FOR_ROBOTS, Wording, verb_words

_MAX_BYTES: Final = 8 << 20
"""Maximum size of a half in bytes. Published halves have a few kilobytes; a graph of a flat has more."""


class VirtualHome(Source):
    """Programs of household activities, written by people for people."""

    name = "virtualhome"
    title = "VirtualHome programs"
    licence = "MIT"
    attribution = "VirtualHome activity programs, X. Puig et al., MIT CSAIL and University of Toronto"
    address = "https://github.com/xavierpuigf/virtualhome"
    description = "What people do at home, step by step, and what holds before they begin."
    expects = (
        "a VirtualHome dataset folder (withoutconds/ and initstate/ side by side), a folder above or in it, or one "
        "program's .txt or .json file"
    )
    facts = ("title", "description", "steps", "verbs", "objects", "init", "collection", "not_for_robots")
    folder: ClassVar[Path] = Path(__file__).parent

    def find(self, path: Path) -> list[InputFile]:
        """Return the program file of each pair, even if it is missing."""
        return layout.find(path)

    def read(self, file: InputFile) -> Iterator[Record | Reject | Note]:
        """Yield the one record of a pair."""
        pair = layout.pair_of(file)
        if pair is None:
            yield self.reject(file, _no_half(file))
            return
        half_read = file
        try:
            program = read_program(_half("no_program", pair.program, pair.state))
            half_read = pair.state
            state = read_initstate(_half("no_initstate", pair.state, pair.program))
        except VirtualHomeError as error:
            yield self.reject(half_read, error.refusal, native_id=pair.native_id)
            return
        facts = _facts(pair.native_id, program, state)
        yield Record(
            source=self.name,
            native_id=pair.native_id,
            context=_context(facts),
            facts=facts,
            licence=self.licence,
            attribution=self.attribution,
            file=file.name,
            line=None,
            warnings=(*program.warnings, *state.warnings),
        )


def _text(file: InputFile) -> str:
    text = read_text(file.path, limit=_MAX_BYTES)
    if isinstance(text, InputRefusal):
        raise VirtualHomeError(*text)
    return text


def _half(missing: str, file: InputFile, other: InputFile) -> str:
    """Return the text of one half; ``missing`` is the reason code if the pair lacks it."""
    try:
        return _text(file)
    except VirtualHomeError as error:
        if error.refusal.reason != "missing_file":
            raise
        message = f"{other.name} is there, its other half {file.name} is not"
        raise VirtualHomeError(missing, message, "add the missing file, or remove the other") from error


def _no_half(file: InputFile) -> InputRefusal:
    """Return what is wrong with a file outside the two folders: its own problem, or else that its half is missing."""
    is_program = file.path.suffix == layout.SUFFIX[layout.PROGRAMS]
    try:
        if is_program:
            read_program(_text(file))
        else:
            read_initstate(_text(file))
    except VirtualHomeError as error:
        return error.refusal
    here, other = (layout.PROGRAMS, layout.STATES) if is_program else (layout.STATES, layout.PROGRAMS)
    return InputRefusal(
        "no_initstate" if is_program else "no_program",
        f"{file.name} lies in no folder {here}, so that its other half cannot be found",
        f"put it into a folder {here}, and its other half beside it into {other}",
    )


def _facts(native_id: str, program: Program, state: InitState) -> dict[str, JsonValue]:
    wording = Wording(program.actions, state.literals)
    verbs = list(dict.fromkeys(action.verb for action in program.actions))
    collection = PurePosixPath(native_id).parent.as_posix()
    return {
        "title": program.title,
        "description": program.description,
        "steps": [*wording.steps()],
        "verbs": [*verbs],
        "objects": [*wording.objects()],
        "init": [*wording.init()],
        "collection": None if collection == "." else collection,
        "not_for_robots": [verb_words(verb) for verb in verbs if verb in NOT_FOR_ROBOTS],
    }


def _context(facts: dict[str, JsonValue]) -> str:
    lines = [
        ("Title", "title"),
        ("Description", "description"),
        ("Steps", "steps"),
        ("Objects", "objects"),
        ("Start", "init"),
    ]
    if facts["not_for_robots"]:
        lines.append(("Only people", "not_for_robots"))
    return "\n".join(f"{label}: {_shown(facts[key])}" for label, key in lines)


def _shown(value: JsonValue) -> str:
    text = "; ".join(map(str, value)) if isinstance(value, list) else value
    return str(text or "not given")


SOURCE = VirtualHome()
