"""The PDDL reader: domain, problem and sidecar in, a document out.

The language is that of the writer, and other PDDL 2.1 that says the same: ``forall`` effects are unfolded over the
objects, ``total-cost`` and metrics are left out (plans here have a length, not a cost). Everything else that the
formalism cannot express is refused with file, line and construct. Reading what was written gives the same document.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from hazardmill.errors import DocumentError, PlanningInputError, UsageError
from hazardmill.files import read_regular
from hazardmill.formalism.document.document import (
    ROOT_TYPE,
    ActionDecl,
    Atom,
    DangerEntry,
    Document,
    Effect,
    FluentDecl,
    ObjectDecl,
    TypeDecl,
)
from hazardmill.formalism.document.expressions import Expr
from hazardmill.formalism.document.lifted_effects import MAX_UNFOLDED, LiftedEffect, are_too_many
from hazardmill.formalism.document.validation import Vocabulary, check_condition, check_integer
from hazardmill.formalism.formats.pddl.expressions import TOTAL_COST, Expressions, typed_list
from hazardmill.formalism.formats.pddl.names import DeclaredNames
from hazardmill.formalism.formats.pddl.sidecar import Sidecar, read_sidecar
from hazardmill.formalism.formats.pddl.tokens import Group, Node, PddlText, PddlWord, spell
from hazardmill.formalism.formats.pddl.writer import domain_pddl, problem_pddl
from hazardmill.formalism.formats.pddl.writer import sidecar as written_sidecar

TASK_FILES: Final = ("task.json", "domain.pddl", "problem.pddl", "dangers.json")
"""The files of a task folder that was imported from PDDL."""

_DOMAIN: Final = (":requirements", ":types", ":constants", ":predicates", ":functions", ":action")
_PROBLEM: Final = (":domain", ":requirements", ":objects", ":init", ":goal", ":metric")


def read_pddl(domain: Path | str, problem: Path | str, sidecar: Mapping[str, Any] | Path) -> Document:
    """Read a task from PDDL and its sidecar.

    Args:
        domain: The domain; a ``Path`` is read, a ``str`` is the PDDL itself.
        problem: The problem, likewise.
        sidecar: The sidecar's file, or its JSON values (``sidecar.schema.json``).

    Returns:
        The document, named after the problem. Names are spelled as in their declarations, unless the sidecar's
            ``names``
        restore them; objects come in the order of the files, the domain's constants first, unless the sidecar's
        ``objects`` give another order.

    Raises:
        PlanningInputError: One of the three cannot be read, or contains what the formalism cannot express; with the
            file, and the line or JSON path.
    """
    return _Reader(PddlText.of(domain, "domain"), PddlText.of(problem, "problem"), read_sidecar(sidecar)).document()


def import_task(domain: Path, problem: Path, dangers: Path, out: Path) -> Document:
    """Read a task and write its folder: the document, and PDDL and sidecar as this version writes them.

    Args:
        domain: The domain's file.
        problem: The problem's file.
        dangers: The sidecar's file.
        out: The folder, made if it does not exist.

    Returns:
        The document, whose provenance has the SHA-256 of each file.

    Raises:
        PlanningInputError: As for ``read_pddl``, or the folder cannot be written.
        UsageError: The folder already holds a task.
    """
    document = read_pddl(domain, problem, dangers)
    digests = {
        part: hashlib.sha256(read_regular(path)).hexdigest()
        for part, path in (("domain", domain), ("problem", problem), ("dangers", dangers))
    }
    task = {**document.to_json(), "provenance": {"imported_from": "pddl", "sha256": digests}}
    texts = (
        _json(task),
        domain_pddl(document, rename=True),
        problem_pddl(document, rename=True),
        _json(written_sidecar(document, rename=True)),
    )
    there = next((name for name in TASK_FILES if (out / name).exists()), None)
    if there is not None:
        raise UsageError(f"the folder already holds {there}", file=str(out), remedy="name another folder")
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name, text in zip(TASK_FILES, texts, strict=True):
            (out / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise PlanningInputError(
            f"the folder cannot be written: {error.strerror}", file=str(out), remedy="name another folder"
        ) from error
    return Document.from_json(task)


def _json(value: object) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


class _Reader:
    """Reads one pair of files with its sidecar, declarations first."""

    def __init__(self, domain: PddlText, problem: PddlText, side: Sidecar) -> None:
        self._domain = domain
        self._problem = problem
        self._side = side
        self._names = DeclaredNames(side.names)
        self._parents: dict[str, str] = {}
        self._objects: dict[str, str] = {}
        self._fluents: dict[str, FluentDecl] = {}
        self._actions: dict[str, ActionDecl] = {}
        self._places: dict[str, tuple[PddlText, int]] = {}
        """File and line of each part, by the beginning of the path in an error of the document."""

    def document(self) -> Document:
        """Read the whole task."""
        domain_name, domain = self._domain.sections("domain", _DOMAIN)
        name, problem = self._problem.sections("problem", _PROBLEM)
        self._check_domain_name(domain_name, problem[":domain"])
        self._read_types(domain[":types"])
        self._read_objects(self._domain, domain[":constants"])
        self._read_objects(self._problem, problem[":objects"])
        self._order_objects()
        self._read_fluents(domain[":predicates"], integer=False)
        self._read_fluents(domain[":functions"], integer=True)
        self._read_context_and_bounds()
        for group in domain[":action"]:
            self._read_action(group)
        initial = self._initial(problem[":init"])
        goal = self._goal(problem[":goal"])
        self._leave_out_metric(problem[":metric"])
        entries = self._dangers()
        self._refuse_strangers()
        try:
            document = Document.of(
                types=[TypeDecl(type_, parent) for type_, parent in self._parents.items()],
                objects=[ObjectDecl(thing, type_) for thing, type_ in self._objects.items()],
                fluents=self._fluents.values(),
                actions=self._actions.values(),
                initial=initial,
                goal=goal,
                initial_danger=self._side.initial_danger,
                max_danger=self._side.max_danger,
                name=name,
            )
            self._check_dangers(entries)
            return Document.of(**{**vars(document), "initial": dict(document.initial), "dangers": entries})
        except DocumentError as error:
            raise self._place_error(error) from error

    def _check_domain_name(self, wanted: str, sections: list[Group]) -> None:
        for section in sections:
            found = " ".join(map(spell, section.rest))
            if found.lower() != wanted.lower():
                raise self._problem.refuse(
                    f"the problem belongs to the domain {found!r}, not {wanted!r}",
                    section,
                    "give the two files of one task",
                )

    # Declarations

    def _new(self, source: PddlText, category: str, word: PddlWord) -> str:
        """Declare a name that must not be declared yet."""
        if self._names.find(category, word.text) is not None:
            raise source.refuse(
                f"the {category[:-1]} {word.text!r} is already declared",
                word,
                "rename it (case does not count), or drop it",
            )
        return self._names.declare(category, word.text)

    def _read_types(self, sections: list[Group]) -> None:
        pairs = [pair for section in sections for pair in typed_list(self._domain, section.rest)]
        declared = []
        for word, parent in pairs:
            if word.lower == ROOT_TYPE:
                continue
            name = self._new(self._domain, "types", word)
            self._places[f"types[{name}]"] = self._domain, word.line
            declared.append((name, parent))
        for name, parent in declared:
            if parent is not None and self._names.find("types", parent.text) is None:
                # PDDL lets a parent be declared by its use.
                self._parents[self._names.declare("types", parent.text)] = ROOT_TYPE
            self._parents[name] = ROOT_TYPE if parent is None else str(self._names.find("types", parent.text))
        for name in self._parents:
            line = [name]
            while line[-1] != ROOT_TYPE:
                line.append(self._parents[line[-1]])
                if line[-1] == name:
                    raise self._domain.refuse(
                        f"the type {name} is its own ancestor",
                        self._places[f"types[{name}]"][1],
                        "give it another parent",
                    )

    def _read_objects(self, source: PddlText, sections: list[Group]) -> None:
        for section in sections:
            for word, type_ in typed_list(source, section.rest):
                name = self._new(source, "objects", word)
                self._objects[name] = self._expressions(source).type(type_)
                self._places[f"objects[{name}]"] = source, word.line

    def _order_objects(self) -> None:
        if self._side.objects is None:
            return
        order = [
            self._side.find(self._names, "objects", written, f"objects[{i}]")
            for i, written in enumerate(self._side.objects)
        ]
        if len(set(order)) < len(order) or len(order) < len(self._objects):
            raise self._side.refuse(
                "objects", "it does not name each object of the PDDL once", "list all of them, or leave the key out"
            )
        self._objects = {name: self._objects[name] for name in order}

    def _read_fluents(self, sections: list[Group], integer: bool) -> None:
        for section in sections:
            rest = iter(section.rest)
            for node in rest:
                if isinstance(node, PddlWord):
                    kind = next(rest, node)
                    if not (integer and node.text == "-" and isinstance(kind, PddlWord) and kind.lower == "number"):
                        raise self._domain.refuse(
                            f"{spell(node)} {spell(kind)}: fluents are Boolean or numbers only",
                            node,
                            "turn a function of objects into a predicate with one more parameter",
                        )
                elif node.head != TOTAL_COST:
                    self._read_fluent(node, integer)

    def _read_fluent(self, node: Group, integer: bool) -> None:
        if not node.items or not isinstance(node.items[0], PddlWord):
            raise self._domain.refuse(f"{spell(node)} does not begin with a name", node, "write (name ?x - type ...)")
        name = self._new(self._domain, "fluents", node.items[0])
        parameters, _ = self._expressions(self._domain).parameters(node.rest, {})
        self._fluents[name] = FluentDecl(name, tuple(parameters), integer=integer)
        self._places[f"fluents[{name}]"] = self._domain, node.line

    def _read_context_and_bounds(self) -> None:
        for i, written in enumerate(self._side.context):
            name = self._side.find(self._names, "fluents", written, f"context[{i}]")
            if self._fluents[name].integer:
                raise self._side.refuse(f"context[{i}]", f"{written} is a number", "name Boolean fluents only")
            self._fluents[name] = replace(self._fluents[name], kind="context")
        for written, (lower, upper) in self._side.bounds.items():
            path = f"bounds.{written}"
            name = self._side.find(self._names, "fluents", written, path)
            if not self._fluents[name].integer:
                raise self._side.refuse(path, f"{written} is Boolean", "give bounds for functions only")
            if lower is not None and upper is not None and lower > upper:
                raise self._side.refuse(path, f"{lower} is over {upper}", "write [lower, upper]")
            self._fluents[name] = replace(self._fluents[name], lower=lower, upper=upper)

    def _read_action(self, group: Group) -> None:
        if not group.rest or not isinstance(group.rest[0], PddlWord):
            raise self._domain.refuse("the action has no name", group, "write (:action name ...)")
        name = self._new(self._domain, "actions", group.rest[0])
        parameters, precondition, effects = self._expressions(self._domain).action(group)
        self._actions[name] = ActionDecl(name, parameters, precondition, tuple(self._unfold(effects, group)))
        self._places[f"actions[{name}]"] = self._domain, group.line

    def _unfold(self, effects: list[LiftedEffect], action: Group) -> Iterator[Effect]:
        if are_too_many(effects, self._objects_of):
            raise self._domain.refuse(
                f"the forall effects of the action unfold into more than {MAX_UNFOLDED} effects",
                action,
                "use fewer objects or variables",
            )
        for effect in effects:
            yield from effect.unfold(self._objects_of)

    def _expressions(self, source: PddlText) -> Expressions:
        integers = frozenset(name for name, fluent in self._fluents.items() if fluent.integer)
        return Expressions(source, self._names, integers)

    def _objects_of(self, type_: str) -> list[str]:
        vocabulary = self._vocabulary()
        return [name for name, of in self._objects.items() if vocabulary.is_subtype(of, type_)]

    def _vocabulary(self) -> Vocabulary:
        return Vocabulary(self._parents, self._objects, self._fluents)

    # The problem

    def _initial(self, sections: list[Group]) -> dict[Atom, bool | int]:
        """Return the initial values that are not the default."""
        values: dict[Atom, bool | int] = {}
        for section in sections:
            for node in section.rest:
                atom, value = self._initial_value(node)
                if values.setdefault(atom, value) != value:
                    raise self._problem.refuse(f"({' '.join(atom)}) has another value already", node, "give it one")
                self._places[f"initial[{' '.join(atom)}]"] = self._problem, node.line
        self._refuse_unknown_numbers(values, sections)
        return {atom: value for atom, value in values.items() if value}

    def _initial_value(self, node: Node) -> tuple[Atom, bool | int]:
        source, expressions = self._problem, self._expressions(self._problem)
        if isinstance(node, PddlWord):
            raise source.refuse(f"{node.text!r} stands where a fact is expected", node, f"write ({node.text})")
        target: Node = node
        value: bool | int = True
        if node.head == "at" and len(node.rest) == 2 and isinstance(node.rest[1], Group):
            raise source.refuse(
                f"timed facts cannot be expressed: {spell(node)}", node, "leave it out: the formalism has no time"
            )
        if node.head == "not" and len(node.rest) == 1:
            target, value = node.rest[0], False
        elif node.head == "=" and len(node.rest) == 2:
            target, number = node.rest
            if isinstance(target, Group) and target.head == TOTAL_COST:
                return (TOTAL_COST,), 0
            value = self._number(expressions, number)
        if isinstance(target, PddlWord):
            raise source.refuse(f"{spell(node)} is not a fact", node, "write (p ...) or (= (f ...) number)")
        atom: Atom = expressions.atom(target, {})[1:]
        if self._fluents[atom[0]].integer == isinstance(value, bool):
            kind = "a number, give it one: (= (f ...) number)" if isinstance(value, bool) else "Boolean: write (p ...)"
            raise source.refuse(f"{spell(node)} does not fit", node, f"{atom[0]} is {kind}")
        return atom, value

    def _number(self, expressions: Expressions, node: Node) -> int:
        value = expressions.term(node, {})
        if not isinstance(value, int):
            raise self._problem.refuse(f"{spell(node)} is not a number", node, "write an integer")
        return value

    def _refuse_unknown_numbers(self, values: Mapping[Atom, bool | int], sections: list[Group]) -> None:
        """Refuse a problem that leaves out the initial value of an integer: in PDDL it is unknown, not zero."""
        for name, fluent in self._fluents.items():
            if not fluent.integer:
                continue
            domains = (self._objects_of(parameter.type) for parameter in fluent.parameters)
            missing = next(
                (atom for args in itertools.product(*domains) if (atom := (name, *args)) not in values), None
            )
            if missing is not None:
                raise self._problem.refuse(
                    f"({' '.join(missing)}) has no initial value",
                    sections[0] if sections else 1,
                    f"write (= ({' '.join(missing)}) number) in :init; an unknown number is not zero",
                )

    def _goal(self, sections: list[Group]) -> Expr:
        if not sections or len(sections[0].rest) != 1:
            at = sections[0] if sections else 1
            raise self._problem.refuse("the problem has no goal, or several", at, "write one (:goal condition)")
        self._places["goal"] = self._problem, sections[0].line
        return self._expressions(self._problem).condition(sections[0].rest[0], {})

    def _leave_out_metric(self, sections: list[Group]) -> None:
        for section in sections:
            words = "".join(spell(node).lower() for node in section.rest).replace("(", "").replace(")", "")
            if words not in ("minimizetotal-cost", "minimizetotal-time"):
                warnings.warn(
                    f"{self._problem.file}:{section.line}: {spell(section)} is left out: "
                    "plans here have a length, not a cost",
                    stacklevel=2,
                )

    # The sidecar

    def _dangers(self) -> list[DangerEntry]:
        side, names = self._side, self._names
        return [
            DangerEntry(
                side.find(names, "actions", entry.action, f"dangers[{i}].action"),
                side.condition(entry.condition, names, f"dangers[{i}].condition"),
                entry.increment,
                entry.danger_type,
            )
            for i, entry in enumerate(side.dangers)
        ]

    def _check_dangers(self, entries: list[DangerEntry]) -> None:
        """Check the danger entries in the order of the sidecar, which is not that of the document."""
        for i, entry in enumerate(entries):
            check_integer(entry.increment, f"dangers[{i}].increment")
            scope = {parameter.name: parameter.type for parameter in self._actions[entry.action].parameters}
            check_condition(self._vocabulary(), entry.condition, scope, f"dangers[{i}].condition")

    def _refuse_strangers(self) -> None:
        for category, written in self._names.undeclared_names():
            raise self._side.refuse(
                f"names.{category}.{written}",
                "the PDDL does not contain that name",
                self._names.remedy(category, written),
            )

    def _place_error(self, error: DocumentError) -> PlanningInputError:
        """Return an error of the document as one with the file and line that the part comes from."""
        beginnings = (place for start, place in self._places.items() if error.message.startswith(start))
        source, line = next(beginnings, (None, None))
        file = source.file if source else f"{self._domain.file}, {self._problem.file}"
        if error.message.startswith(("dangers[", "initial_danger", "max_danger")):
            file = self._side.file
        remedy = error.remedy or "fix that part of the file"
        return PlanningInputError(error.message, file=file, line=line, remedy=remedy)
