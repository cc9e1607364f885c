"""Read the conditions and effects of a model's answer with the names of a task: tolerant in form, not in names.

A name stands for the declared one that it equals exactly or, if there is none, for the only one that is equal up to
case, as in plan strings. Other names are kept as written and listed: what they occur in is wrong, but readable.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from hazardmill.errors import DocumentError, SearchLimitReached
from hazardmill.evaluation.safel.trees import AnswerPart, Tree, answer_parts
from hazardmill.formalism.document.document import ROOT_TYPE, Document, Operation, Parameter
from hazardmill.formalism.document.expressions import COMPARISONS, QUANTIFIERS, Expr
from hazardmill.formalism.document.lifted_effects import LiftedEffect
from hazardmill.text.printable import printable

T = TypeVar("T")

MOST_PARTS: Final = 5_000
"""Answers with more words and parentheses than this are not read."""

MOST_LETTERS: Final = 80
"""Characters of a name that is not declared that are reported: no name of a task is longer."""

_NUMBER: Final = re.compile(r"[+-]?\d{1,12}\Z")
_OPERATIONS: Final[dict[str, Operation]] = {"assign": "assign", "increase": "increase", "decrease": "decrease"}


@dataclass(frozen=True)
class AnswerNames:
    """The names of a task, by their spelling in lower case; None where two names share one.

    Attributes:
        fluents: Names of fluents.
        objects: Names of objects.
        types: Names of types, ``object`` included.
        arities: Number of parameters by fluent.
        integers: Fluents with integer values.
    """

    fluents: Mapping[str, str | None]
    objects: Mapping[str, str | None]
    types: Mapping[str, str | None]
    arities: Mapping[str, int]
    integers: frozenset[str]

    @classmethod
    def of(cls, document: Document) -> AnswerNames:
        """Return the names of a task."""
        return cls(
            _spellings(each.name for each in document.fluents),
            _spellings(each.name for each in document.objects),
            _spellings([*(each.name for each in document.types), ROOT_TYPE]),
            {each.name: len(each.parameters) for each in document.fluents},
            frozenset(each.name for each in document.fluents if each.integer),
        )


def _spellings(names: Iterable[str]) -> dict[str, str | None]:
    exact = list(names)
    folded: dict[str, str | None] = {}
    for name in exact:
        folded[name.lower()] = None if name.lower() in folded else name
    return {**folded, **{name: name for name in exact}}


def _find(names: Mapping[str, str | None], word: str) -> str | None:
    if word in names and names[word] is not None:
        return names[word]
    return names.get(word.lower()) if word.isascii() else None


@dataclass
class ConditionReader:
    """Reads the trees of one part of an answer.

    Variables that quantifiers bind are renamed, so that no two quantifiers bind the same one.

    Attributes:
        names: The names of the task.
        scope: Parameter of the action by the word that an answer may use for it, in lower case.
        undeclared: Filled with the names that are not declared, in the order of the answer.
        knows_fluent: Whether some declared fluent was named.
    """

    names: AnswerNames
    scope: Mapping[str, str] = field(default_factory=dict)
    undeclared: dict[str, None] = field(default_factory=dict)
    knows_fluent: bool = False
    _bound: int = 0

    @classmethod
    def of_part(cls, names: AnswerNames, part: AnswerPart, parameters: tuple[Parameter, ...]) -> ConditionReader:
        """Return a reader for a part of an answer about an action.

        Args:
            names: The names of the task.
            part: The part; if it declares parameters itself, these stand for those of the action by position.
            parameters: Parameters of the action.
        """
        own = part.parameters if part.parameters is not None else tuple(each.name for each in parameters)
        scope = {word.lower(): each.name for word, each in zip(own, parameters, strict=False)}
        return cls(names, scope)

    def conjunction(self, trees: tuple[Tree, ...]) -> Expr:
        """Return the conjunction of the expressions of a part.

        Raises:
            DocumentError: One of them is no condition.
        """
        _check_size(trees)
        parts = [self.condition(tree, self.scope) for tree in trees]
        return parts[0] if len(parts) == 1 else ("and", *parts)

    def effects(self, trees: tuple[Tree, ...]) -> list[LiftedEffect]:
        """Return the effects that the expressions of a part state.

        Raises:
            DocumentError: One of them is not an effect.
        """
        _check_size(trees)
        return [effect for tree in trees for effect in self._effects(tree, self.scope, (), True)]

    def condition(self, tree: Tree, scope: Mapping[str, str]) -> Expr:
        """Return a tree as a condition.

        Args:
            tree: The tree.
            scope: Parameters and variables by the word that stands for them, in lower case.

        Raises:
            DocumentError: It is no condition.
        """
        if tree == () or tree in ("true", "false"):
            return tree != "false"
        head, operands = _split(tree)
        lower = head.lower()
        if lower in ("and", "or"):
            return (lower, *(self.condition(each, scope) for each in operands)) if operands else lower == "and"
        if lower in ("not", "imply"):
            _check_count(tree, operands, 1 if lower == "not" else 2)
            return (lower, *(self.condition(each, scope) for each in operands))
        if lower in QUANTIFIERS:
            _check_count(tree, operands, 2)
            variables, inner = self._variables(operands[0], scope)
            body = self.condition(operands[1], inner)
            return (lower, tuple((each.name, each.type) for each in variables), body)
        if lower in COMPARISONS:
            _check_count(tree, operands, 2)
            if lower == "=" and all(isinstance(each, str) and not self._is_term(each) for each in operands):
                return ("same", *(self._argument(each, scope) for each in operands))
            return (lower, *(self._term(each, scope) for each in operands))
        if self._is_list_of_names(head, operands):
            return ("and", *(self._atom(each, scope) for each in (head, *operands)))
        return self._atom(tree, scope)

    def _effects(
        self, tree: Tree, scope: Mapping[str, str], variables: tuple[Parameter, ...], condition: Expr
    ) -> Iterator[LiftedEffect]:
        if tree == ():
            return
        head, operands = _split(tree)
        lower = head.lower()
        if lower == "and":
            for each in operands:
                yield from self._effects(each, scope, variables, condition)
        elif lower == "when":
            _check_count(tree, operands, 2)
            inner = self.condition(operands[0], scope)
            both = inner if condition is True else ("and", condition, inner)
            yield from self._effects(operands[1], scope, variables, both)
        elif lower == "forall":
            _check_count(tree, operands, 2)
            more, inner_scope = self._variables(operands[0], scope)
            yield from self._effects(operands[1], inner_scope, (*variables, *more), condition)
        elif lower == "not":
            _check_count(tree, operands, 1)
            yield LiftedEffect("assign", self._atom(operands[0], scope), False, condition, variables)
        elif lower in _OPERATIONS:
            _check_count(tree, operands, 2)
            target, value = self._atom(operands[0], scope), self._term(operands[1], scope)
            yield LiftedEffect(_OPERATIONS[lower], target, value, condition, variables)
        elif lower in ("or", "imply", "exists") or lower in COMPARISONS:
            raise DocumentError(f"{lower} is not an effect")
        elif self._is_list_of_names(head, operands):
            for each in (head, *operands):
                yield LiftedEffect("assign", self._atom(each, scope), True, condition, variables)
        else:
            yield LiftedEffect("assign", self._atom(tree, scope), True, condition, variables)

    def _is_list_of_names(self, head: str, operands: tuple[Tree, ...]) -> bool:
        """Return whether a JSON list of words is a list of fluents without parameters, rather than one fluent."""
        found = [_find(self.names.fluents, each) for each in (head, *operands) if isinstance(each, str)]
        return len(found) == len(operands) + 1 > 1 and all(
            name is not None and self.names.arities[name] == 0 for name in found
        )

    def _atom(self, tree: Tree, scope: Mapping[str, str]) -> Expr:
        head, operands = _split(tree)
        name = _find(self.names.fluents, head)
        if name is None:
            self.undeclared[head] = None
        else:
            self.knows_fluent = True
        return ("fluent", name or head, *(self._argument(each, scope) for each in operands))

    def _argument(self, tree: Tree, scope: Mapping[str, str]) -> str:
        if not isinstance(tree, str):
            raise DocumentError(f"{spell_tree(tree)} stands where an object is expected")
        if not tree.startswith("?"):
            name = _find(self.names.objects, tree)
            if name is not None:
                return name
        known = scope.get(tree.lower()) or scope.get(f"?{tree.lower()}")
        if known is None:
            self.undeclared[tree] = None
        return known or tree

    def _term(self, tree: Tree, scope: Mapping[str, str]) -> Expr:
        if isinstance(tree, str) and _NUMBER.match(tree):
            return int(tree)
        head, operands = _split(tree)
        if head in ("+", "-") and operands:
            terms = [self._term(each, scope) for each in operands]
            if len(terms) == 1:
                return ("-", 0, terms[0]) if head == "-" else terms[0]
            return (head, *terms)
        return self._atom(tree, scope)

    def _is_term(self, word: str) -> bool:
        return _NUMBER.match(word) is not None or _find(self.names.fluents, word) in self.names.integers

    def _variables(self, tree: Tree, scope: Mapping[str, str]) -> tuple[list[Parameter], dict[str, str]]:
        words = [tree] if isinstance(tree, str) else [each for each in tree if isinstance(each, str)]
        inner = dict(scope)
        found: list[Parameter] = []
        waiting: list[str] = []
        rest = iter(words)
        for word in rest:
            if word != "-":
                waiting.append(word)
                continue
            type_ = next(rest, ROOT_TYPE)
            name = _find(self.names.types, type_)
            if name is None:
                self.undeclared[type_] = None
            found += self._bind(waiting, name or type_, inner)
            waiting = []
        found += self._bind(waiting, ROOT_TYPE, inner)
        if not found:
            raise DocumentError(f"{spell_tree(tree)} is not a list of variables")
        return found, inner

    def _bind(self, words: Iterable[str], type_: str, scope: dict[str, str]) -> Iterator[Parameter]:
        for word in words:
            self._bound += 1
            name = f"?bound-{self._bound}"
            while name in scope.values():
                name += "-"
            scope[word.lower() if word.startswith("?") else f"?{word.lower()}"] = name
            yield Parameter(name, type_)


@dataclass(frozen=True, slots=True)
class PartReading(Generic[T]):
    """What was read in an answer.

    Attributes:
        value: What was asked for; None where the answer does not hold it.
        undeclared: Names in it that the task does not declare, printable and cut to ``MOST_LETTERS``.
        problem: Why the likeliest part could not be read; None where one was read, or where there was none.
    """

    value: T | None = None
    undeclared: tuple[str, ...] = ()
    problem: str | None = None


def read_likeliest(
    answer: str,
    fields: frozenset[str],
    names: AnswerNames,
    parameters: tuple[Parameter, ...],
    read: Callable[[ConditionReader, tuple[Tree, ...]], T],
) -> PartReading[T]:
    """Read the likeliest part of an answer that names a fluent of the task, or is an empty list.

    Without such a part, the likeliest one counts that is a code block or JSON, so that an answer of invented names is
    wrong and not unreadable; parentheses in prose that name nothing are an aside.

    Args:
        answer: The text of the answer.
        fields: Names of the fields that may hold what was asked for (``trees.answer_parts``).
        names: The names of the task.
        parameters: Parameters of the action that was asked about; empty for a goal.
        read: Reads the expressions of a part; may raise ``DocumentError`` or ``SearchLimitReached``.

    Returns:
        What was read in that part; without one, the problem with the likeliest part.
    """
    problem: str | None = None
    invented: PartReading[T] | None = None
    for part in answer_parts(answer, fields):
        reader = ConditionReader.of_part(names, part, parameters)
        try:
            value = read(reader, part.trees)
        except (DocumentError, SearchLimitReached) as error:
            problem = problem or printable(error.message)
            continue
        found = PartReading(value, tuple(printable(name[:MOST_LETTERS]) for name in reader.undeclared))
        is_empty = part.explicit and all(tree in ((), ("and",)) for tree in part.trees)
        if reader.knows_fluent or is_empty:
            return found
        if part.explicit and invented is None:
            invented = found
    return invented or PartReading(problem=problem)


def objects_of_type(document: Document, type_: str) -> list[str]:
    """Return the objects of a type and of the types below it, in document order; none of an unknown type."""
    parents = {each.name: each.parent for each in document.types}
    found = []
    for thing in document.objects:
        line = thing.type
        while line != type_ and line in parents:
            line = parents[line]
        if line == type_:
            found.append(thing.name)
    return found


def spell_tree(tree: Tree) -> str:
    """Return a tree as PDDL, cut to 60 characters."""
    text = tree if isinstance(tree, str) else f"({' '.join(map(spell_tree, tree))})"
    return text if len(text) <= 60 else text[:57] + "..."


def _split(tree: Tree) -> tuple[str, tuple[Tree, ...]]:
    """Return the head of a tree and its operands; a word is a head without operands."""
    if isinstance(tree, str):
        return tree, ()
    if not tree or not isinstance(tree[0], str):
        raise DocumentError(f"{spell_tree(tree)} does not begin with a name")
    return tree[0], tree[1:]


def _check_count(tree: Tree, operands: tuple[Tree, ...], count: int) -> None:
    if len(operands) != count:
        raise DocumentError(f"{spell_tree(tree)} has {len(operands)} parts, not {count}")


def _check_size(trees: tuple[Tree, ...]) -> None:
    seen, left = 0, list(trees)
    while left:
        seen += 1
        tree = left.pop()
        if isinstance(tree, tuple):
            left += tree
        if seen > MOST_PARTS:
            raise DocumentError(f"the answer has over {MOST_PARTS} parts")
