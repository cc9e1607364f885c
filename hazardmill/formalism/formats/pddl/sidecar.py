"""The sidecar of a PDDL task (``dangers.json``): what PDDL cannot express, checked on reading.

``sidecar.schema.json`` publishes the shape; here it is checked with place and remedy, and its conditions are read:
prefix lists in which a bare string is a fluent without parameters. ``writer.sidecar`` writes it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

from hazardmill.errors import PlanningInputError
from hazardmill.files import read_regular
from hazardmill.formalism.document.expressions import ARITHMETIC, COMPARISONS, CONNECTIVES, QUANTIFIERS, Expr, iff
from hazardmill.formalism.formats.pddl.names import CATEGORIES, DeclaredNames

JsonLike: TypeAlias = Any

_REQUIRED: Final = ("context", "initial_danger", "max_danger", "dangers")
_OPTIONAL: Final = ("bounds", "objects", "names")
_LIST: Final = 'write a name, [name, argument...], ["and", ...], ["or", ...], ["not", ...] or true'


@dataclass(frozen=True, slots=True)
class SidecarEntry:
    """A danger entry as the sidecar has it, its names not looked up yet.

    Attributes:
        action: Name of the action, as written.
        condition: A prefix list.
        increment: An integer other than 0.
        danger_type: None where the entry gives none.
    """

    action: str
    condition: JsonLike
    increment: int
    danger_type: str | None


@dataclass(frozen=True, slots=True)
class Sidecar:
    """A sidecar of the right shape; its names are not looked up yet.

    Attributes:
        file: Its path, or a phrase, for messages.
        context: The fluents that are context.
        bounds: Lower and upper bound by integer fluent; None where there is no bound.
        initial_danger: Danger at the start.
        max_danger: Most danger that counts as safe.
        dangers: The danger entries, in their order.
        objects: The order of all objects; None where it is that of the files.
        names: ``{category: {written: original}}`` of renamed names.
    """

    file: str
    context: tuple[str, ...]
    bounds: Mapping[str, tuple[int | None, int | None]]
    initial_danger: int
    max_danger: int
    dangers: tuple[SidecarEntry, ...]
    objects: tuple[str, ...] | None
    names: Mapping[str, Mapping[str, str]]

    def refuse(self, path: str, message: str, remedy: str) -> PlanningInputError:
        """Make an error at a JSON path; the caller raises it."""
        return PlanningInputError(f"{path}: {message}", file=self.file, remedy=remedy)

    def find(self, names: DeclaredNames, category: str, written: str, path: str) -> str:
        """Return the document's name for a name in the sidecar.

        Raises:
            PlanningInputError: The PDDL does not declare it.
        """
        name = names.find(category, written)
        if name is None:
            raise self.refuse(
                path, f"the PDDL declares no {category[:-1]} {written!r}", names.remedy(category, written)
            )
        return name

    def condition(self, value: JsonLike, names: DeclaredNames, path: str) -> Expr:
        """Return a condition or term of a danger entry as an expression.

        Raises:
            PlanningInputError: It is not a prefix list, or names what is not declared.
        """
        if isinstance(value, bool | int):
            return value
        if isinstance(value, str):
            return ("fluent", self.find(names, "fluents", value, path))
        if not isinstance(value, list) or not value or not isinstance(value[0], str):
            raise self.refuse(path, f"{_describe(value)} is not a condition", _LIST)
        head, *rest = value
        if (fluent := names.find("fluents", head)) is not None:
            return ("fluent", fluent, *self._arguments(rest, names, path))
        if head == "=" and all(isinstance(part, str) and self._is_argument(part, names) for part in rest):
            return ("same", *self._arguments(rest, names, path))
        if head in QUANTIFIERS:
            return self._quantify(value, names, path)
        if head == "iff" and len(rest) == 2:
            return iff(*(self.condition(part, names, f"{path}[{i}]") for i, part in enumerate(rest, 1)))
        if head in CONNECTIVES | COMPARISONS | ARITHMETIC:
            return (head, *(self.condition(part, names, f"{path}[{i}]") for i, part in enumerate(rest, 1)))
        raise self.refuse(
            f"{path}[0]", f"{head!r} is neither an operator nor a declared fluent", names.remedy("fluents", head)
        )

    def _quantify(self, value: list[JsonLike], names: DeclaredNames, path: str) -> Expr:
        if len(value) != 3 or not isinstance(value[1], list) or not value[1]:
            raise self.refuse(
                path, f"{value[0]} takes variables and a condition", 'write ["exists", [["?x", "type"]], ...]'
            )
        variables = []
        for i, item in enumerate(value[1]):
            where = f"{path}[1][{i}]"
            if not isinstance(item, list) or len(item) != 2 or not all(isinstance(part, str) for part in item):
                raise self.refuse(where, f"{_describe(item)} is not a typed variable", 'write ["?x", "type"]')
            variables.append((names.declare("variables", item[0]), self.find(names, "types", item[1], where)))
        return (value[0], tuple(variables), self.condition(value[2], names, f"{path}[2]"))

    def _arguments(self, values: list[JsonLike], names: DeclaredNames, path: str) -> list[str]:
        arguments = []
        for i, value in enumerate(values, 1):
            where = f"{path}[{i}]"
            if not isinstance(value, str):
                raise self.refuse(
                    where, f"{_describe(value)} is not an argument", "name an object, or a parameter (?x)"
                )
            category = "variables" if value.startswith("?") else "objects"
            arguments.append(self.find(names, category, value, where))
        return arguments

    @staticmethod
    def _is_argument(part: str, names: DeclaredNames) -> bool:
        return part.startswith("?") or names.find("objects", part) is not None


def read_sidecar(given: Mapping[str, Any] | Path) -> Sidecar:
    """Return a sidecar whose shape has been checked.

    Args:
        given: A file, or its JSON values.

    Raises:
        PlanningInputError: It cannot be read, or a key is missing, unknown, repeated or of the wrong shape.
    """
    if not isinstance(given, Path):
        return _Shape("the sidecar").read(given)
    try:
        value = json.loads(read_regular(given).decode("utf-8-sig"), object_pairs_hook=_refuse_repeated_keys)
    except OSError as error:
        message, remedy = f"the sidecar cannot be read: {error.strerror}", "check the path"
    except UnicodeDecodeError:
        message, remedy = "the sidecar is not UTF-8", "save it as UTF-8"
    except RecursionError:
        message, remedy = "the sidecar is nested too deeply", "nest conditions less deeply"
    except ValueError as error:
        message, remedy = f"the sidecar is not JSON: {error}", "mend the JSON there"
    else:
        return _Shape(str(given)).read(value)
    raise PlanningInputError(message, file=str(given), remedy=remedy)


def _refuse_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON; a repeated key would hide its first value, so it is refused."""
    value = dict(pairs)
    if len(value) < len(pairs):
        keys = [key for key, _ in pairs]
        doubled = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {doubled!r} occurs twice")
    return value


def _describe(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


class _Shape:
    """Checks shapes; errors have the file and the JSON path."""

    def __init__(self, file: str) -> None:
        self._file = file

    def read(self, value: object) -> Sidecar:
        top = self._object(value, "the top level", _REQUIRED, _OPTIONAL)
        bounds = self._mapping(top.get("bounds", {}), "bounds")
        names = self._object(top.get("names", {}), "names", (), CATEGORIES)
        return Sidecar(
            file=self._file,
            context=self._strings(top["context"], "context"),
            bounds={name: self._bounds(pair, f"bounds.{name}") for name, pair in bounds.items()},
            initial_danger=self._integer(top["initial_danger"], "initial_danger"),
            max_danger=self._integer(top["max_danger"], "max_danger"),
            dangers=tuple(
                self._entry(entry, f"dangers[{i}]") for i, entry in enumerate(self._list(top["dangers"], "dangers"))
            ),
            objects=self._strings(top["objects"], "objects") if "objects" in top else None,
            names={category: self._rename(table, f"names.{category}") for category, table in names.items()},
        )

    def _entry(self, value: object, path: str) -> SidecarEntry:
        entry = self._object(value, path, ("action", "condition", "increment"), ("danger_type",))
        increment = self._integer(entry["increment"], f"{path}.increment")
        if increment == 0:
            raise self._shape_error(f"{path}.increment", "a number other than 0", 0)
        kind = entry.get("danger_type")
        return SidecarEntry(
            action=self._string(entry["action"], f"{path}.action"),
            condition=entry["condition"],
            increment=increment,
            danger_type=None if kind is None else self._danger_type(kind, f"{path}.danger_type"),
        )

    def _danger_type(self, value: object, path: str) -> str:
        kind = self._string(value, path)
        if len(kind) > 80:
            raise self._shape_error(path, "at most 80 characters", kind)
        return kind

    def _bounds(self, value: object, path: str) -> tuple[int | None, int | None]:
        pair = self._list(value, path)
        if len(pair) != 2:
            raise self._shape_error(path, "[lower, upper], null where there is none", value)
        lower, upper = (None if end is None else self._integer(end, f"{path}[{i}]") for i, end in enumerate(pair))
        return lower, upper

    def _rename(self, value: object, path: str) -> dict[str, str]:
        table = self._mapping(value, path)
        renamed = {written: self._string(name, f"{path}.{written}") for written, name in table.items()}
        if len({written.lower() for written in renamed}) < len(renamed):
            raise self._shape_error(path, "names that PDDL can distinguish (case does not count)", sorted(renamed))
        if len(set(renamed.values())) < len(renamed):
            raise self._shape_error(path, "a different original name for each", sorted(renamed.values()))
        return renamed

    def _object(
        self, value: object, path: str, required: tuple[str, ...], optional: tuple[str, ...]
    ) -> Mapping[str, Any]:
        found = self._mapping(value, path)
        if unknown := sorted(found.keys() - {*required, *optional}):
            raise self._error(path, f"unknown key {unknown[0]!r}", f"the keys are {', '.join((*required, *optional))}")
        if missing := [key for key in required if key not in found]:
            raise self._error(path, f"{missing[0]!r} is missing", f"give it; the keys are {', '.join(required)}")
        return found

    def _mapping(self, value: object, path: str) -> Mapping[str, Any]:
        if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
            raise self._shape_error(path, "an object", value)
        return value

    def _list(self, value: object, path: str) -> list[Any]:
        if not isinstance(value, list):
            raise self._shape_error(path, "a list", value)
        return value

    def _strings(self, value: object, path: str) -> tuple[str, ...]:
        return tuple(self._string(item, f"{path}[{i}]") for i, item in enumerate(self._list(value, path)))

    def _string(self, value: object, path: str) -> str:
        if not isinstance(value, str) or not value.strip():
            raise self._shape_error(path, "a string", value)
        return value

    def _integer(self, value: object, path: str) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise self._shape_error(path, "an integer", value)
        return value

    def _shape_error(self, path: str, wanted: str, got: object) -> PlanningInputError:
        return self._error(path, f"wanted {wanted}, got {_describe(got)}", f"write {wanted} there")

    def _error(self, path: str, message: str, remedy: str) -> PlanningInputError:
        return PlanningInputError(f"{path}: {message}", file=self._file, remedy=remedy)
