"""Conditions, terms and effects of PDDL, translated part for part into those of documents."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from hazardmill.formalism.document.document import ROOT_TYPE, Operation, Parameter
from hazardmill.formalism.document.expressions import COMPARISONS, QUANTIFIERS, Expr
from hazardmill.formalism.document.lifted_effects import LiftedEffect
from hazardmill.formalism.formats.pddl.names import DeclaredNames
from hazardmill.formalism.formats.pddl.tokens import Group, Node, PddlText, PddlWord, spell

TOTAL_COST: Final = "total-cost"

Scope = Mapping[str, str]
"""Variables in scope: the variable as written, in lower case, to the name in the document."""

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)\Z")
_OPERATIONS: Final[dict[str, Operation]] = {"assign": "assign", "increase": "increase", "decrease": "decrease"}
_STRANGE: Final = {
    "*": "products",
    "/": "quotients",
    "scale-up": "scaling effects",
    "scale-down": "scaling effects",
    "probabilistic": "probabilistic effects",
    "oneof": "non-deterministic effects",
    "preference": "preferences",
    "either": "union types",
    **dict.fromkeys(("always", "sometime", "within", "at-most-once"), "conditions on the whole plan"),
    **dict.fromkeys(("sometime-after", "sometime-before", "always-within"), "conditions on the whole plan"),
    **dict.fromkeys(("hold-during", "hold-after"), "conditions on the whole plan"),
}
_EXACT = "the formalism has and, or, not, imply, exists, forall, comparisons, + and -, and integer or Boolean effects"


def typed_list(source: PddlText, items: tuple[Node, ...]) -> list[tuple[PddlWord, PddlWord | None]]:
    """Read a typed list such as ``a b - place c``.

    Args:
        source: The text, for errors.
        items: The nodes of the list.

    Returns:
        Each name with the word of its type; None for names without one.

    Raises:
        PlanningInputError: It is not a typed list, or has a union type.
    """
    pairs: list[tuple[PddlWord, PddlWord | None]] = []
    waiting: list[PddlWord] = []
    rest = iter(items)
    for node in rest:
        if isinstance(node, Group):
            raise source.refuse(f"{spell(node)} stands where a name is expected", node, "write name ... - type")
        if node.text != "-":
            waiting.append(node)
            continue
        type_ = next(rest, None)
        if isinstance(type_, Group):
            raise source.refuse(f"union types cannot be expressed: {spell(type_)}", type_, "declare a parent type")
        if type_ is None or not waiting or type_.text == "-":
            raise source.refuse("'-' needs names before it and a type after it", node, "write name ... - type")
        pairs += [(name, type_) for name in waiting]
        waiting = []
    return pairs + [(name, None) for name in waiting]


@dataclass(frozen=True, slots=True)
class Expressions:
    """Reads the conditions, terms and effects of one file.

    Attributes:
        source: The text, for errors.
        names: What is declared.
    """

    source: PddlText
    names: DeclaredNames
    integers: frozenset[str]
    """The document's integer fluents."""

    def parameters(self, items: tuple[Node, ...], scope: Scope) -> tuple[list[Parameter], dict[str, str]]:
        """Return typed variables as parameters, and the scope that includes them.

        A variable that hides an outer one gets another name, because documents do not allow that.

        Raises:
            PlanningInputError: The items are not typed variables of declared types.
        """
        inner = dict(scope)
        found: dict[str, Parameter] = {}
        for word, type_ in typed_list(self.source, items):
            if not word.text.startswith("?"):
                raise self.source.refuse(f"{word.text!r} is not a variable", word, f"write ?{word.text}")
            if word.lower in found:
                raise self.source.refuse(f"the variable {word.text} is declared twice", word, "rename one of them")
            name = self.names.declare("variables", word.text)
            if name in inner.values():
                numbered = (f"{name}_{i}" for i in itertools.count(2))
                name = next(other for other in numbered if other not in inner.values())
            found[word.lower] = Parameter(name, self.type(type_))
            inner[word.lower] = name
        return list(found.values()), inner

    def type(self, word: PddlWord | None) -> str:
        """Return the type that a word names; ``object`` if there is no word."""
        return ROOT_TYPE if word is None else self._name_of("types", "type", word)

    def condition(self, node: Node, scope: Scope) -> Expr:
        """Return a condition as an expression.

        Raises:
            PlanningInputError: The formalism cannot express it.
        """
        if isinstance(node, PddlWord):
            raise self.source.refuse(
                f"{node.text!r} stands where a condition is expected", node, f"write ({node.text})"
            )
        head = node.head
        if not node.items:
            return True
        if head in ("and", "or"):
            if not node.rest:
                return head == "and"
            return (head, *(self.condition(part, scope) for part in node.rest))
        if head in ("not", "imply"):
            self._arity(node, 1 if head == "not" else 2)
            return (head, *(self.condition(part, scope) for part in node.rest))
        if head in QUANTIFIERS:
            variables, inner = self._bound(node, scope)
            return (head, tuple((p.name, p.type) for p in variables), self.condition(node.rest[1], inner))
        if head in COMPARISONS:
            return self._comparison(node, scope)
        atom = self.atom(node, scope)
        if atom[1] in self.integers:
            raise self.source.refuse(f"{spell(node)} is a number where a condition is expected", node, "compare it")
        return atom

    def term(self, node: Node, scope: Scope) -> Expr:
        """Return an integer term as an expression.

        Raises:
            PlanningInputError: The formalism cannot express it.
        """
        if isinstance(node, PddlWord):
            return self._integer(node)
        if node.head == "-" and len(node.rest) == 1:
            value = self.term(node.rest[0], scope)
            return -value if isinstance(value, int) else ("-", 0, value)
        if node.head in ("+", "-"):
            if len(node.rest) < 2 or (node.head == "-" and len(node.rest) > 2):
                raise self.source.refuse(
                    f"{spell(node)} has the wrong number of terms", node, "write (- a b) or (+ a b ...)"
                )
            return (node.head, *(self.term(part, scope) for part in node.rest))
        return self.atom(node, scope)

    def atom(self, node: Group, scope: Scope) -> Expr:
        """Return ``(name argument ...)`` as ``("fluent", name, argument...)``.

        Raises:
            PlanningInputError: It names what is not declared, or is a construct that the formalism does not have.
        """
        head = node.head
        if head in _STRANGE:
            raise self.source.refuse(f"{_STRANGE[head]} cannot be expressed: {spell(node)}", node, _EXACT)
        if head == TOTAL_COST:
            raise self.source.refuse(
                "total-cost is the cost of a plan: only (increase (total-cost) ...) can use it",
                node,
                "use a function of another name",
            )
        if not head or not isinstance(node.items[0], PddlWord):
            raise self.source.refuse(f"{spell(node)} does not begin with a name", node, "write (name argument ...)")
        name = self._name_of("fluents", "predicate or function", node.items[0])
        return ("fluent", name, *(self.argument(arg, scope) for arg in node.rest))

    def argument(self, node: Node, scope: Scope) -> str:
        """Return the document's name for an object or a variable in scope.

        Raises:
            PlanningInputError: It is not declared, or is not a name.
        """
        if isinstance(node, Group):
            raise self.source.refuse(
                f"{spell(node)} stands where an object is expected",
                node,
                "use a predicate with one more parameter: fluents have no objects as values",
            )
        if not node.text.startswith("?"):
            return self._name_of("objects", "object", node)
        if node.lower not in scope:
            known = ", ".join(scope) or "none"
            raise self.source.refuse(f"the variable {node.text} is not declared", node, f"in scope here: {known}")
        return scope[node.lower]

    def action(self, group: Group) -> tuple[tuple[Parameter, ...], Expr, list[LiftedEffect]]:
        """Return parameters, precondition and effects of ``(:action name ...)``; its name is for the caller.

        Raises:
            PlanningInputError: It has other parts, or one that the formalism cannot express.
        """
        fields: dict[str, Node] = {}
        rest = iter(group.rest[1:])
        for key in rest:
            value = next(rest, None)
            keyword = key.lower if isinstance(key, PddlWord) else ""
            if keyword not in (":parameters", ":precondition", ":effect") or value is None or keyword in fields:
                remedy = "an action has :parameters, :precondition and :effect, each once"
                raise self.source.unexpected_error(key, keyword, remedy)
            fields[keyword] = value
        nothing = Group((), group.line)
        listed = fields.get(":parameters", nothing)
        if isinstance(listed, PddlWord):
            raise self.source.refuse(f"{listed.text} is not a list of parameters", listed, "write (?x - type ...)")
        parameters, scope = self.parameters(listed.items, {})
        precondition = self.condition(fields.get(":precondition", nothing), scope)
        return tuple(parameters), precondition, list(self.effects(fields.get(":effect", nothing), scope))

    def effects(
        self, node: Node, scope: Scope, condition: Expr = True, variables: tuple[Parameter, ...] = ()
    ) -> Iterator[LiftedEffect]:
        """Yield the effects of a node: conjunctions are taken apart, and what a ``forall`` binds is kept with each.

        Raises:
            PlanningInputError: The formalism cannot express one of them.
        """
        if isinstance(node, PddlWord):
            raise self.source.refuse(f"{node.text!r} stands where an effect is expected", node, f"write ({node.text})")
        head = node.head
        if not node.items:
            return
        if head == "and":
            for part in node.rest:
                yield from self.effects(part, scope, condition, variables)
        elif head == "when":
            self._arity(node, 2)
            inner = self.condition(node.rest[0], scope)
            both = inner if condition is True else ("and", condition, inner)
            yield from self.effects(node.rest[1], scope, both, variables)
        elif head == "forall":
            bound, inner_scope = self._bound(node, scope)
            yield from self.effects(node.rest[1], inner_scope, condition, (*variables, *bound))
        elif head == "not":
            self._arity(node, 1)
            yield LiftedEffect("assign", self._target(node.rest[0], scope, number=False), False, condition, variables)
        elif head in _OPERATIONS:
            self._arity(node, 2)
            target, amount = node.rest
            if head == "increase" and isinstance(target, Group) and target.head == TOTAL_COST:
                return  # The cost of a plan is not part of a state.
            written = self._target(target, scope, number=True)
            yield LiftedEffect(_OPERATIONS[head], written, self.term(amount, scope), condition, variables)
        else:
            yield LiftedEffect("assign", self._target(node, scope, number=False), True, condition, variables)

    def _target(self, node: Node, scope: Scope, number: bool) -> Expr:
        if isinstance(node, PddlWord):
            raise self.source.refuse(f"{node.text!r} stands where a fluent is expected", node, f"write ({node.text})")
        atom = self.atom(node, scope)
        if (atom[1] in self.integers) != number:
            kind, remedy = ("Boolean", "write (p) or (not (p))") if number else ("a number", "assign it a value")
            raise self.source.refuse(f"{spell(node)} is {kind}, so this effect does not fit it", node, remedy)
        return atom

    def _comparison(self, node: Group, scope: Scope) -> Expr:
        self._arity(node, 2)
        left, right = node.rest
        if node.head == "=" and all(isinstance(part, PddlWord) and not _NUMBER.match(part.text) for part in node.rest):
            return ("same", self.argument(left, scope), self.argument(right, scope))
        return (node.head, self.term(left, scope), self.term(right, scope))

    def _bound(self, node: Group, scope: Scope) -> tuple[list[Parameter], dict[str, str]]:
        self._arity(node, 2)
        variables = node.rest[0]
        if not isinstance(variables, Group) or not variables.items:
            raise self.source.refuse(
                f"{node.head} needs a list of variables", node, f"write ({node.head} (?x - type) ...)"
            )
        return self.parameters(variables.items, scope)

    def _integer(self, word: PddlWord) -> int:
        if not _NUMBER.match(word.text):
            raise self.source.refuse(
                f"{word.text!r} stands where a number is expected", word, "write (name) for a function"
            )
        value = Fraction(word.text)
        if value.denominator != 1:
            raise self.source.refuse(
                f"{word.text} is not an integer", word, "scale all amounts of that kind to integers"
            )
        return value.numerator

    def _name_of(self, category: str, what: str, word: PddlWord) -> str:
        name = self.names.find(category, word.text)
        if name is None:
            raise self.source.refuse(
                f"the {what} {word.text!r} is not declared", word, self.names.remedy(category, word.text)
            )
        return name

    def _arity(self, node: Group, count: int) -> None:
        if len(node.rest) != count:
            raise self.source.refuse(f"{node.head} takes {count} part(s), got {len(node.rest)}", node, spell(node))
