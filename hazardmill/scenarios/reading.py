"""PDDL into drafts: names may be undeclared, only the language itself must be right.

The reader of tasks (``formalism.formats.pddl.reader``) refuses what is not well formed; here it is the subject of
``declarations`` and ``correct``. Both share the tokens and the expressions. Case does not count in PDDL, so that a
name in another case than its declaration is spelled like it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from hazardmill.errors import DocumentError, HazardmillError
from hazardmill.formalism.document.document import ROOT_TYPE, FluentDecl, ObjectDecl, TypeDecl
from hazardmill.formalism.document.expressions import Expr, freeze
from hazardmill.formalism.formats.pddl.expressions import Expressions, typed_list
from hazardmill.formalism.formats.pddl.names import LooseNames
from hazardmill.formalism.formats.pddl.tokens import Group, Node, PddlText, PddlWord, spell
from hazardmill.scenarios.draft import DraftAction, Fact, ProblemDraft
from hazardmill.scenarios.shapes import check_condition_shape

_DOMAIN: Final = (":requirements", ":types", ":constants", ":predicates", ":action")
_PROBLEM: Final = (":domain", ":requirements", ":objects", ":init", ":goal")


def read_domain(domain: Path | str) -> ProblemDraft:
    """Read a domain into a draft with its constants as objects, an empty initial state and an empty goal.

    Args:
        domain: A ``Path`` is read, a ``str`` is the PDDL itself.

    Returns:
        The draft, named like the domain.

    Raises:
        PlanningInputError: It cannot be read, is not PDDL, or has no action; with file and line.
    """
    text = PddlText.of(domain, "domain")
    name, sections = text.sections("domain", _DOMAIN)
    if not sections[":action"]:
        raise text.refuse("the domain has no action", 1, "add at least one (:action ...): plans are made of them")
    reader = _Reader(text, LooseNames())
    reader.declare(sections)
    return ProblemDraft(
        name=name,
        types=reader.types(sections[":types"]),
        objects=reader.objects(sections[":constants"]),
        fluents=reader.fluents(sections[":predicates"]),
        actions=tuple(map(reader.action, sections[":action"])),
    )


def read_problem(base: ProblemDraft, problem: Path | str) -> ProblemDraft:
    """Read a problem of a domain.

    Args:
        base: The domain, as ``read_domain`` gives it.
        problem: A ``Path`` is read, a ``str`` is the PDDL itself.

    Returns:
        The domain's draft with objects, initial state and goal of the problem, and its name.

    Raises:
        PlanningInputError: It cannot be read, is not PDDL, or is of another domain; with file and line.
    """
    text = PddlText.of(problem, "problem")
    name, sections = text.sections("problem", _PROBLEM)
    for section in sections[":domain"]:
        of = " ".join(map(spell, section.rest))
        if of.lower() != base.name.lower():
            raise text.refuse(
                f"the problem belongs to the domain {of!r}, not {base.name!r}", section, "give its own domain"
            )
    names = names_of(base)
    reader = _Reader(text, names)
    objects = base.objects + reader.objects(sections[":objects"])
    for thing in objects:
        names.declare("objects", thing.name)
    goals = sections[":goal"]
    if len(goals) != 1 or len(goals[0].rest) != 1:
        raise text.refuse("the problem has no goal, or several", goals[0] if goals else 1, "write one (:goal ...)")
    return ProblemDraft(
        name=name,
        types=base.types,
        objects=objects,
        fluents=base.fluents,
        actions=base.actions,
        initial=tuple(reader.fact(node) for section in sections[":init"] for node in section.rest),
        goal=reader.expressions.condition(goals[0].rest[0], {}),
    )


def names_of(draft: ProblemDraft) -> LooseNames:
    """Return the names that a draft declares."""
    names = LooseNames()
    for category, declared in (
        ("types", draft.types),
        ("objects", draft.objects),
        ("fluents", draft.fluents),
        ("actions", draft.actions),
    ):
        for part in declared:
            names.declare(category, part.name)
    return names


def conjunction(literals: Sequence[Expr]) -> Expr:
    """Return conditions as one; none is always true."""
    return ("and", *literals) if len(literals) > 1 else literals[0] if literals else True


@contextmanager
def written_parts() -> Iterator[None]:
    """Let every error of ``WrittenParts`` within be a ``DocumentError`` whose message names the place.

    Raises:
        DocumentError: A part is not the PDDL that it should be.
    """
    try:
        yield
    except DocumentError:
        raise
    except HazardmillError as error:
        # The file of the error is the place in the answer.
        raise DocumentError(f"{error.file}: {error.message}", remedy=error.remedy) from error


class WrittenParts:
    """Reads single parts that are written in PDDL within JSON values: facts, conditions, actions.

    Args:
        names: What is declared so far; the caller may declare more.
        actions: Actions whose parameters conditions may name.
    """

    def __init__(self, names: LooseNames, actions: Iterable[DraftAction] = ()) -> None:
        self._names = names
        self._scopes = {
            action.name: {parameter.name.lower(): parameter.name for parameter in action.parameters}
            for action in actions
        }

    def condition(self, value: object, path: str, action: str | None = None) -> Expr:
        """Return the condition that a text of PDDL writes, or a list in the form of documents.

        Args:
            value: The text or list.
            path: Where it stands, for messages.
            action: Name of the action whose parameters it may name.

        Raises:
            DocumentError: It is neither, with the path.
            PlanningInputError: The text is no condition.
        """
        if isinstance(value, list):
            literal = freeze(value)
            check_condition_shape(literal, path)
            return literal
        if action is not None and action not in self._scopes:
            raise DocumentError(
                f"{path}: there is no action {action}",
                remedy=f"name one of the actions: {', '.join(self._scopes) or 'none'}",
            )
        reader = self._reader(value, path)
        return reader.expressions.condition(reader.text.group(), self._scopes.get(action or "", {}))

    def fact(self, value: object, path: str) -> Fact:
        """Return the fact that a text such as ``(on lamp)`` writes.

        Raises:
            DocumentError: It is something else, with the path.
        """
        reader = self._reader(value, path)
        return reader.fact(reader.text.group())

    def predicate(self, value: object, path: str) -> FluentDecl:
        """Return the predicate that a text such as ``(on ?x - device)`` declares.

        Raises:
            DocumentError: It is something else, with the path.
        """
        reader = self._reader(value, path)
        return reader.fluent(reader.text.group())

    def action(self, value: Mapping[str, Any], path: str) -> DraftAction:
        """Return the action of an object with ``name``, ``parameters``, ``precondition`` and ``effect``.

        Args:
            value: ``name`` is a name; the others are texts of PDDL, and may be empty.
            path: Where it stands, for messages.

        Raises:
            DocumentError: One of its parts is missing or no PDDL, with the path.
            PlanningInputError: As above, from within the PDDL.
        """
        wanted = {"name", "parameters", "precondition", "effect"}
        if value.keys() != wanted or not all(isinstance(part, str) for part in value.values()):
            raise DocumentError(f"{path}: an action must have the strings {', '.join(sorted(wanted))}")
        parameters = str(value["parameters"]).strip()
        if not parameters.startswith("("):
            parameters = f"({parameters})"
        parts = (parameters, value["precondition"].strip() or "()", value["effect"].strip() or "()")
        text = f"(:action {value['name']} :parameters {parts[0]} :precondition {parts[1]} :effect {parts[2]})"
        reader = self._reader(text, path)
        return reader.action(reader.text.group())

    def _reader(self, value: object, path: str) -> _Reader:
        if not isinstance(value, str):
            raise DocumentError(f"{path}: wanted a string of PDDL, got {str(value)[:80]!r}")
        if not value.strip().startswith("("):
            raise DocumentError(
                f"{path}: {value.strip()[:80]!r} has no parentheses", remedy="write (name argument ...)"
            )
        return _Reader(PddlText(path, value), self._names)


class _Reader:
    """Reads the parts of one text."""

    def __init__(self, text: PddlText, names: LooseNames) -> None:
        self.text = text
        self._names = names
        self.expressions = Expressions(text, names, frozenset())

    def declare(self, sections: Mapping[str, list[Group]]) -> None:
        """Note all names of a domain before any is used."""
        for section in sections[":types"]:
            for word, _ in typed_list(self.text, section.rest):
                self._names.declare("types", word.text)
        for section in sections[":constants"]:
            for word, _ in typed_list(self.text, section.rest):
                self._names.declare("objects", word.text)
        for section in sections[":predicates"]:
            for node in section.rest:
                if isinstance(node, Group) and node.items and isinstance(node.items[0], PddlWord):
                    self._names.declare("fluents", node.items[0].text)

    def types(self, sections: list[Group]) -> tuple[TypeDecl, ...]:
        """Return declared types; ``object``, which some files declare, is left out."""
        pairs = [pair for section in sections for pair in typed_list(self.text, section.rest)]
        return tuple(
            TypeDecl(word.text, self.expressions.type(parent)) for word, parent in pairs if word.lower != ROOT_TYPE
        )

    def objects(self, sections: list[Group]) -> tuple[ObjectDecl, ...]:
        """Return declared objects."""
        pairs = [pair for section in sections for pair in typed_list(self.text, section.rest)]
        return tuple(ObjectDecl(word.text, self.expressions.type(type_)) for word, type_ in pairs)

    def fluents(self, sections: list[Group]) -> tuple[FluentDecl, ...]:
        """Return declared predicates."""
        return tuple(self.fluent(node) for section in sections for node in section.rest)

    def fluent(self, node: Node) -> FluentDecl:
        """Return one declared predicate."""
        if isinstance(node, PddlWord) or not node.items or not isinstance(node.items[0], PddlWord):
            raise self.text.refuse(f"{spell(node)} declares no predicate", node, "write (name ?x - type ...)")
        parameters, _ = self.expressions.parameters(node.rest, {})
        return FluentDecl(node.items[0].text, tuple(parameters))

    def action(self, group: Group) -> DraftAction:
        """Return one declared action."""
        if not group.rest or not isinstance(group.rest[0], PddlWord):
            raise self.text.refuse("the action has no name", group, "write (:action name ...)")
        parameters, precondition, effects = self.expressions.action(group)
        return DraftAction(group.rest[0].text, parameters, precondition, tuple(effects))

    def fact(self, node: Node) -> Fact:
        """Return one statement about the start."""
        target, value = node, True
        if isinstance(node, Group) and node.head == "not" and len(node.rest) == 1:
            target, value = node.rest[0], False
        if isinstance(target, PddlWord):
            raise self.text.refuse(f"{spell(node)} is not a fact", node, "write (name object ...) or (not (...))")
        return self.expressions.atom(target, {})[1:], value
