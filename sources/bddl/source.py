"""BDDL as a source: one folder per activity, each with its ``problem0.bddl``."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Final

from pydantic import JsonValue

from hazardmill.files import FileKind, kind_of
from hazardmill.ingest.sources import InputFile, InputRefusal, Note, Source, list_folder, read_text
from hazardmill.records import Record, Reject

from .expressions import BddlError
from .problem import AGENT, Problem, read_problem, readable
from .properties import DEFINITIONS, TABLE, Properties, read_properties, table_of
from .wording import Wording

_PROBLEM_FILE: Final = "problem0.bddl"
_PACKAGE: Final = "bddl"
_NO_FILE: Final = frozenset({"not_a_file", "dangling_link", "link_loop", "unreadable"})
"""Reasons for which the table's content is unknown; a readable file that is not a table only gives a note."""
_MAX_BYTES: Final = 1 << 20
"""Maximum size of a problem file in bytes. Published activities have at most 7,501."""


class Bddl(Source):
    """Activities of the BEHAVIOR Domain Definition Language."""

    name = "bddl"
    title = "BEHAVIOR-1K activities (BDDL)"
    licence = "MIT"
    attribution = "BEHAVIOR-1K activity definitions (BDDL), Stanford Vision and Learning Lab"
    address = "https://github.com/StanfordVL/bddl"
    description = "Everyday household activities: objects, where they are at first, and what is to be achieved."
    expects = "an activity's problem0.bddl, its folder, or a folder of such folders (activity_definitions)"
    facts = ("activity", "object_types", "rooms", "init", "goal", "synsets")
    folder: ClassVar[Path] = Path(__file__).parent

    def find_installed(self) -> Path | None:
        """Return the folder of the package ``bddl`` if it is installed with its activities, without importing it."""
        try:
            spec = importlib.util.find_spec(_PACKAGE)
        except (ImportError, ValueError):
            return None
        places = spec.submodule_search_locations if spec is not None else None
        homes = [Path(place) for place in places or ()]
        return next((home for home in homes if (home / DEFINITIONS).is_dir()), None)

    def find(self, path: Path) -> list[InputFile]:
        """Return the table of properties, then the problem file of each activity folder, even if it is missing.

        Other files beside the folders are ignored.
        """
        if not path.is_dir():
            return [_input(path)] if path.suffix == ".bddl" else []
        top = list_folder(path)
        if _PROBLEM_FILE in (*top.files, *top.folders):
            return [_input(path / _PROBLEM_FILE), *top.refused]
        home = list_folder(path / DEFINITIONS) if DEFINITIONS in top.folders else top
        names = [name for name in home.folders if not name.startswith("__")]
        found = [InputFile(home.path / name / _PROBLEM_FILE, f"{name}/{_PROBLEM_FILE}") for name in names]
        refused = top.refused if home is top else [*top.refused, *home.refused]
        there = [file for file in found if kind_of(file.path) is not FileKind.MISSING]
        # Some folder of folders is an input only if at least one of them is an activity.
        if not any(kind_of(file.path) is FileKind.REGULAR for file in there):
            return [*there, *refused]
        table = table_of(home.path.resolve())
        tables = () if table is None else (InputFile(table, f"{table.parent.name}/{table.name}"),)
        return [*tables, *found, *refused]

    def read(self, file: InputFile) -> Iterator[Record | Reject | Note]:
        """Yield the one record of a problem file; for the table of properties, only what is wrong with it."""
        if file.path.name == TABLE:
            properties = read_properties(file.path)
            if isinstance(properties, InputRefusal) and properties.reason in _NO_FILE:
                yield self.reject(file, properties)
            elif isinstance(properties, InputRefusal):
                yield Note(source=self.name, file=file.name, message=f"no properties are told: {properties.message}")
            return
        # The folder is resolved, the file is not: some stores of large files put a link to another name in its place.
        activity = file.path.parent.resolve().name
        text = read_text(file.path, limit=_MAX_BYTES)
        if isinstance(text, InputRefusal):
            missing = InputRefusal(
                "no_problem_file",
                f"the folder {activity} holds no {_PROBLEM_FILE}",
                "complete the folder, or remove it",
            )
            yield self.reject(file, missing if text.reason == "missing_file" else text, native_id=activity)
            return
        warnings = ["the file begins with a byte order mark"] if text.startswith("\ufeff") else []
        try:
            problem = read_problem(text.removeprefix("\ufeff"), f"{activity}-0")
        except BddlError as error:
            yield self.reject(file, error.refusal, native_id=activity)
            return
        facts = _facts(activity, problem)
        yield Record(
            source=self.name,
            native_id=activity,
            context=_context(facts, _properties(file.path)),
            facts=facts,
            licence=self.licence,
            attribution=self.attribution,
            file=file.name,
            line=None,
            warnings=(*warnings, *problem.warnings),
        )


def _input(path: Path) -> InputFile:
    return InputFile(path, f"{path.parent.resolve().name}/{path.name}")


def _facts(activity: str, problem: Problem) -> dict[str, JsonValue]:
    wording = Wording(problem)
    synsets = list(dict.fromkeys(type_ for type_ in problem.objects.values() if type_ != AGENT))
    rooms = dict.fromkeys(readable(atom.words[2].text) for atom in problem.init if atom.head == "inroom")
    return {
        "activity": " ".join(activity.replace("_", " ").split()),
        "object_types": list(dict.fromkeys(readable(synset) for synset in synsets)),
        "rooms": list(rooms),
        "init": [*wording.init(problem.init)],
        "goal": wording.goal(problem.goal),
        "synsets": [*synsets],
    }


def _properties(path: Path) -> Properties:
    table = table_of(path.parent.resolve().parent)
    properties = read_properties(table) if table is not None else {}
    return {} if isinstance(properties, InputRefusal) else properties


def _context(facts: dict[str, JsonValue], properties: Properties) -> str:
    synsets = facts["synsets"] if isinstance(facts["synsets"], list) else []
    told: list[JsonValue] = [
        f"the {readable(synset)} {' and '.join(properties[synset])}"
        for synset in map(str, synsets)
        if properties.get(synset)
    ]
    lines: tuple[tuple[str, JsonValue], ...] = (
        ("Activity", facts["activity"]),
        ("Objects", facts["object_types"]),
        *((("Properties", told),) if told else ()),
        ("Rooms", facts["rooms"]),
        ("Start", facts["init"]),
        ("Goal", facts["goal"]),
    )
    return "\n".join(
        f"{label}: {('; '.join(map(str, value)) or 'not given') if isinstance(value, list) else value}"
        for label, value in lines
    )


SOURCE = Bddl()
