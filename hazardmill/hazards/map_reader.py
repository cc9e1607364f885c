"""Reads a map of hazards from YAML, strictly: what is wrong is named with file, line, place and remedy.

Words are read as they are written. YAML turns ``on``, ``off`` and ``yes`` into truth values, and these are common names
of fluents. A rule or category that is wrong is left out and reported; the others are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from hazardmill.errors import PlanningInputError
from hazardmill.files import read_regular
from hazardmill.formalism.document.validation import MAX_PARAMETERS
from hazardmill.formalism.formats.pddl.expressions import Expressions
from hazardmill.formalism.formats.pddl.names import LooseNames
from hazardmill.formalism.formats.pddl.tokens import PddlText
from hazardmill.hazards.hazard_map import FORMAT, HazardCategory, HazardMap, ProcessRule, TerminationRule

DEFAULT_MAP: Final = Path(__file__).with_name("default.yaml")
"""The map that ships with hazardmill."""

POSITIONS: Final = {f"?{place}": f"?{place}" for place in range(1, MAX_PARAMETERS + 1)}
"""The variables that stand for the arguments of an action in ``when``."""

_MOST_BYTES: Final = 1_000_000
_ORIGINS: Final = {"paper", "ours"}
_SHAPE: Final = f"write format: {FORMAT}, then categories, process and termination, each a list"
_RULES: Final = {
    "process": "give a process rule action and categories and, if needed, arguments and when",
    "termination": "give a termination rule categories and either condition, or fluent with arguments and at_least",
}


@dataclass(frozen=True, slots=True)
class MapReading:
    """A map as far as it could be read.

    Attributes:
        hazards: The map, without what is wrong.
        problems: What is wrong, in the order of the file.
    """

    hazards: HazardMap
    problems: tuple[PlanningInputError, ...]


def read_map(path: Path = DEFAULT_MAP) -> MapReading:
    """Read a map of hazards.

    Args:
        path: The file; the map that ships with hazardmill by default.

    Returns:
        The map without the categories and rules that are wrong, and a problem for each of these.

    Raises:
        PlanningInputError: The file cannot be read, is no YAML, or is of another format.
    """
    try:
        content = read_regular(path)
    except OSError as error:
        raise PlanningInputError(
            f"the map cannot be read: {error.strerror}", file=str(path), remedy="check the path"
        ) from error
    return parse_map(content, str(path))


def parse_map(content: bytes, file: str) -> MapReading:
    """Read a map of hazards from the content of a file.

    Args:
        content: The content.
        file: Name of the file, for messages.

    Returns:
        As ``read_map``.

    Raises:
        PlanningInputError: As for ``read_map``.
    """  # the reader raises it
    return _MapFile(file).read(content)


def load_map(path: Path = DEFAULT_MAP) -> HazardMap:
    """Read a map of hazards in which nothing is wrong.

    Args:
        path: As for ``read_map``.

    Returns:
        The whole map.

    Raises:
        PlanningInputError: As for ``read_map``; also the first problem of the map, if there is one.
    """
    reading = read_map(path)
    if reading.problems:
        raise reading.problems[0]
    return reading.hazards


@dataclass(frozen=True, slots=True)
class _Entry:
    """A mapping of the file with its keys, and where it stands."""

    place: str
    line: int
    values: Mapping[str, Any]
    """A node of YAML per key."""


class _MapFile:
    """Reads one file; refused parts become problems."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._problems: list[PlanningInputError] = []

    def read(self, content: bytes) -> MapReading:
        top = self._top(content)
        categories = self._categories(top)
        names = {category.name for category in categories}
        process = [self._process(entry, names) for entry in self._entries(top, "process")]
        termination = [self._termination(entry, names) for entry in self._entries(top, "termination")]
        hazards = HazardMap(
            self._file,
            categories,
            tuple(rule for rule in process if rule is not None),
            tuple(rule for rule in termination if rule is not None),
        )
        return MapReading(hazards, tuple(self._problems))

    def _error(self, message: str, line: int | None, remedy: str) -> PlanningInputError:
        return PlanningInputError(message, file=self._file, line=line, remedy=remedy)

    # The file

    def _top(self, content: bytes) -> _Entry:
        import yaml

        if len(content) > _MOST_BYTES:
            raise self._error(f"the map has over {_MOST_BYTES} bytes", None, "write fewer rules")
        try:
            node = _compose(content.decode("utf-8-sig"))
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark
            line = None if mark is None else mark.line + 1
            raise self._error(
                f"the map is not YAML: {error.problem}", line, "put conditions and patterns in quotes"
            ) from error
        except (UnicodeDecodeError, yaml.YAMLError, RecursionError) as error:
            raise self._error(
                f"the map is not YAML: {error}", None, "save it as UTF-8, without control characters"
            ) from error
        if not isinstance(node, yaml.MappingNode):
            raise self._error("the map is not a YAML mapping", 1, _SHAPE)
        top = self._entry(node, "the map")
        found = top.values.get("format")
        written = None if found is None else self._text(found, "format")
        if written != FORMAT:
            raise self._error(f"the format is {written!r}, but this version reads {FORMAT!r}", top.line, _SHAPE)
        unknown = sorted(top.values.keys() - {"format", "categories", "process", "termination"})
        if unknown:
            line = _line(top.values[unknown[0]])
            raise self._error(f"the map has the unknown key {unknown[0]!r}", line, _SHAPE)
        return top

    def _entry(self, node: Any, place: str) -> _Entry:  # noqa: ANN401  # yaml is not typed
        import yaml

        if not isinstance(node, yaml.MappingNode):
            raise self._error(f"{place} is not a mapping", _line(node), "write one 'key: value' per line")
        values: dict[str, Any] = {}
        for key, value in node.value:
            name = self._text(key, f"a key of {place}")
            if name in values:
                raise self._error(f"{place} has the key {name!r} twice", _line(key), "remove one of them")
            values[name] = value
        return _Entry(place, _line(node), values)

    def _entries(self, top: _Entry, key: str) -> Iterator[_Entry]:
        node = top.values.get(key)
        for number, item in enumerate([] if node is None else self._list(node, key), 1):
            try:
                yield self._entry(item, f"{key}[{number}]")
            except PlanningInputError as error:
                self._problems.append(error)

    def _list(self, node: Any, place: str) -> list[Any]:  # noqa: ANN401
        import yaml

        # An empty value, too, is a list without items.
        if isinstance(node, yaml.ScalarNode) and not node.value:
            return []
        if not isinstance(node, yaml.SequenceNode):
            raise self._error(f"{place} is not a list", _line(node), "write a list, such as [a, b]")
        return list(node.value)

    def _text(self, node: Any, place: str) -> str:  # noqa: ANN401
        import yaml

        if not isinstance(node, yaml.ScalarNode) or not node.value.strip():
            raise self._error(f"{place} is not text", _line(node), "write a text")
        if any("\ud800" <= character <= "\udfff" for character in node.value):
            raise self._error(f"{place} contains an unpaired surrogate", _line(node), "remove it")
        return str(node.value).strip()

    def _texts(self, node: Any, place: str) -> tuple[str, ...]:  # noqa: ANN401
        return tuple(self._text(item, f"{place}[{number}]") for number, item in enumerate(self._list(node, place), 1))

    def _fields(self, entry: _Entry, required: set[str], optional: set[str], remedy: str) -> Mapping[str, Any]:
        unknown = sorted(entry.values.keys() - required - optional)
        if unknown:
            line = _line(entry.values[unknown[0]])
            raise self._error(f"{entry.place} has the unknown key {unknown[0]!r}", line, remedy)
        missing = sorted(required - entry.values.keys())
        if missing:
            raise self._error(f"{entry.place} has no {missing[0]}", entry.line, remedy)
        return entry.values

    # Its parts

    def _categories(self, top: _Entry) -> tuple[HazardCategory, ...]:
        found: dict[str, HazardCategory] = {}
        remedy = "give a category name, definition and origin (paper or ours)"
        for entry in self._entries(top, "categories"):
            try:
                values = self._fields(entry, {"name", "definition", "origin"}, set(), remedy)
                name = self._text(values["name"], f"{entry.place}.name")
                origin = self._text(values["origin"], f"{entry.place}.origin")
                if len(name) > 80:
                    raise self._error(f"{entry.place}.name has over 80 characters", entry.line, "use a shorter name")
                if name in found:
                    raise self._error(
                        f"{entry.place}: the category {name!r} is declared twice", entry.line, "remove one"
                    )
                if origin not in _ORIGINS:
                    raise self._error(f"{entry.place}.origin is {origin!r}", _line(values["origin"]), remedy)
                definition = self._text(values["definition"], f"{entry.place}.definition")
                found[name] = HazardCategory(name, definition, "paper" if origin == "paper" else "ours")
            except PlanningInputError as error:
                self._problems.append(error)
        return tuple(found.values())

    def _process(self, entry: _Entry, names: set[str]) -> ProcessRule | None:
        try:
            values = self._fields(entry, {"action"}, {"categories", "arguments", "when"}, _RULES["process"])
            when = values.get("when")
            return ProcessRule(
                entry.place,
                self._text(values["action"], f"{entry.place}.action"),
                self._rule_categories(entry, names),
                self._patterns(entry),
                None if when is None else self._condition(when, f"{entry.place}.when", POSITIONS),
                entry.line,
            )
        except PlanningInputError as error:
            self._problems.append(error)
            return None

    def _termination(self, entry: _Entry, names: set[str]) -> TerminationRule | None:
        remedy = _RULES["termination"]
        try:
            optional = {"categories", "condition", "fluent", "arguments", "at_least"}
            values = self._fields(entry, set(), optional, remedy)
            categories = self._rule_categories(entry, names)
            if "condition" in values:
                if values.keys() - {"condition", "categories"}:
                    raise self._error(f"{entry.place} has a condition, but also counts facts", entry.line, remedy)
                condition = self._condition(values["condition"], f"{entry.place}.condition", {})
                return TerminationRule(entry.place, categories, condition, line=entry.line)
            if "fluent" not in values:
                raise self._error(f"{entry.place} has neither condition nor fluent", entry.line, remedy)
            fluent = self._text(values["fluent"], f"{entry.place}.fluent")
            at_least = self._count(values["at_least"], f"{entry.place}.at_least") if "at_least" in values else 1
            patterns = self._patterns(entry)
            return TerminationRule(entry.place, categories, None, fluent, patterns, at_least, entry.line)
        except PlanningInputError as error:
            self._problems.append(error)
            return None

    def _rule_categories(self, entry: _Entry, names: set[str]) -> tuple[str, ...]:
        place = f"{entry.place}.categories"
        node = entry.values.get("categories")
        found = () if node is None else self._texts(node, place)
        if not found:
            raise self._error(f"{entry.place} has no categories", entry.line, "name the categories of the harm")
        for name in found:
            if name not in names:
                known = ", ".join(sorted(names)) or "none"
                raise self._error(
                    f"{place}: the category {name!r} is not declared", _line(node), f"declare it; declared are: {known}"
                )
        return tuple(dict.fromkeys(found))

    def _patterns(self, entry: _Entry) -> tuple[str, ...]:
        node = entry.values.get("arguments")
        patterns = () if node is None else self._texts(node, f"{entry.place}.arguments")
        if len(patterns) > MAX_PARAMETERS:
            remedy = f"name at most {MAX_PARAMETERS} arguments"
            raise self._error(f"{entry.place}.arguments has {len(patterns)} items", _line(node), remedy)
        return patterns

    def _count(self, node: Any, place: str) -> int:  # noqa: ANN401
        text = self._text(node, place)
        if not text.isascii() or not text.isdecimal() or not 1 <= len(text) <= 6 or not int(text):
            raise self._error(f"{place} is {text[:20]!r}", _line(node), "write an integer of at least 1")
        return int(text)

    def _condition(self, node: Any, place: str, variables: Mapping[str, str]) -> str:  # noqa: ANN401
        """Return the text of a condition after a look at its form; what its names mean is for each document."""
        text = self._text(node, place)
        remedy = "write a condition of PDDL, such as (and (on stove) (not (attended)))"
        if not text.startswith("("):
            raise self._error(f"{place}: {text[:80]!r} has no parentheses", _line(node), remedy)
        source = PddlText(self._file, text)
        try:
            Expressions(source, LooseNames(), frozenset()).condition(source.group(), variables)
        except PlanningInputError as error:
            raise self._error(f"{place}: {error.message}", _line(node), error.remedy or remedy) from error
        return text


def _line(node: Any) -> int:  # noqa: ANN401
    return int(node.start_mark.line) + 1


# A run of dialogues reads its map for its records, and again in each session; the one that ships takes 0.2 s. Nobody
# changes the nodes.
@lru_cache(maxsize=2)
def _compose(text: str) -> object:
    import yaml

    return yaml.compose(text, Loader=yaml.SafeLoader)
