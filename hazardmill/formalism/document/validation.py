"""What makes a document well formed: names, types, arities, Booleans against integers, bounds, and size caps.

The messages say where the mistake is (``actions[carry].precondition``) and how to mend it, because a language model
reads them. Whether a well-formed task is a *good* one is for the certificate to say.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from math import prod
from typing import TYPE_CHECKING, Final

from hazardmill.errors import DocumentError
from hazardmill.formalism.document.expressions import ARITHMETIC, COMPARISONS, QUANTIFIERS, Expr, render
from hazardmill.formalism.proofs.cause_facts import check_causes

if TYPE_CHECKING:
    from hazardmill.formalism.document.document import ActionDecl, Document, FluentDecl, Parameter

ROOT_TYPE: Final = "object"
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,79}\Z")
PARAMETER = re.compile(r"\?[A-Za-z][A-Za-z0-9_-]{0,79}\Z")

MAX_DECLARATIONS = 1_000
MAX_PARAMETERS = 12
MAX_NODES = 20_000
MAX_DEPTH = 60
MAX_INTEGER = 10**9
MAX_TEXT = 100_000
"""Characters of all texts together, and of the provenance as JSON."""

_SHOWN = 160
"""Characters of a name that a message repeats."""


class Vocabulary:
    """The declared names of a task, against which expressions are checked.

    The mappings may still grow while it is in use: the authoring API fills them declaration by declaration.

    Attributes:
        parents: Parent type by declared type; ``object`` is not among the keys.
        objects: Type by object.
        fluents: Declaration by name.
    """

    def __init__(
        self,
        parents: Mapping[str, str],
        objects: Mapping[str, str],
        fluents: Mapping[str, FluentDecl],
    ) -> None:
        self.parents = parents
        self.objects = objects
        self.fluents = fluents

    def is_subtype(self, type_: str, ancestor: str) -> bool:
        """Return whether every object of ``type_`` is one of ``ancestor``, which holds for equal types too."""
        while type_ != ancestor:
            if type_ == ROOT_TYPE:
                return False
            type_ = self.parents[type_]
        return True

    def knows_type(self, type_: str) -> bool:
        """Return whether the type is declared; ``object`` always is."""
        return type_ == ROOT_TYPE or type_ in self.parents


def check_document(document: Document) -> None:
    """Check all parts of a document: names, types, arities, bounds and the size caps at the top of this module.

    It stops at the first mistake. ``Document.of`` and ``Document.from_json`` call it.

    Raises:
        DocumentError: A part is not well formed; the message begins with its path in the document.
    """  # noqa: DOC501  # the helper makes a DocumentError
    _check_sizes(document)
    vocabulary = _check_declarations(document)
    actions: dict[str, ActionDecl] = {}
    for action in document.actions:
        path = f"actions[{action.name}]"
        if action.name in actions:
            raise DocumentError(f"{path}: the action is declared twice", remedy="give one of them another name")
        actions[action.name] = action
        scope = check_parameters(vocabulary, action.parameters, path)
        check_condition(vocabulary, action.precondition, scope, f"{path}.precondition")
        for i, effect in enumerate(action.effects):
            where = f"{path}.effects[{i}]"
            check_effect(vocabulary, effect.operation, effect.target, effect.value, scope, where)
            check_condition(vocabulary, effect.condition, scope, f"{where}.condition")
    _check_initial(document, vocabulary)
    check_condition(vocabulary, document.goal, {}, "goal")
    for i, entry in enumerate(document.dangers):
        where = f"dangers[{i}]"
        if entry.action not in actions:
            raise _unknown_name_error(where, "action", entry.action, actions)
        if entry.increment == 0:
            raise DocumentError(f"{where}.increment: 0 changes nothing", remedy="give it a non-zero increment")
        check_integer(entry.increment, f"{where}.increment")
        if entry.danger_type is not None:
            _check_danger_type(entry.danger_type, f"{where}.danger_type")
        scope = {p.name: p.type for p in actions[entry.action].parameters}
        check_condition(vocabulary, entry.condition, scope, f"{where}.condition")
    if document.realised_by is not None and document.realised_by not in actions:
        raise _unknown_name_error("realised_by", "action", document.realised_by, actions)
    if document.causes is not None:
        check_causes(document.causes, vocabulary.fluents, actions)
    check_integer(document.initial_danger, "initial_danger")
    check_integer(document.max_danger, "max_danger")


def check_name(name: object, path: str) -> None:
    """Check a name: an ASCII letter, then letters, digits, ``_`` and ``-``, at most 80 characters in all.

    Args:
        name: What stands where a name is wanted.
        path: Where it stands; the message begins with it.

    Raises:
        DocumentError: It is not such a name.
    """
    if not isinstance(name, str) or not NAME.match(name):
        raise DocumentError(
            f"{_cut(path)}: {_cut(repr(name))} is not a valid name",
            remedy="use an ASCII letter, then letters, digits, _ or -, at most 80 characters in all",
        )


def check_parameters(vocabulary: Vocabulary, parameters: Iterable[Parameter], path: str) -> dict[str, str]:
    """Return typed parameters as a scope, type by name, after checking them.

    Args:
        vocabulary: The declared names.
        parameters: The parameters of a fluent or an action.
        path: Where they stand; messages begin with it.

    Raises:
        DocumentError: A name does not begin with ``?`` or is declared twice, a type is not declared, or there are more
            than ``MAX_PARAMETERS``.
    """  # noqa: DOC501  # the helper makes a DocumentError
    scope: dict[str, str] = {}
    for parameter in parameters:
        if not isinstance(parameter.name, str) or not PARAMETER.match(parameter.name):
            raise DocumentError(
                f"{path}: {_cut(repr(parameter.name))} is not a valid parameter", remedy="write it as ?name"
            )
        if parameter.name in scope:
            raise DocumentError(f"{path}: parameter {parameter.name} is declared twice")
        if not vocabulary.knows_type(parameter.type):
            raise _unknown_name_error(path, "type", parameter.type, vocabulary.parents)
        scope[parameter.name] = parameter.type
    if len(scope) > MAX_PARAMETERS:
        raise DocumentError(f"{path}: {len(scope)} parameters, at most {MAX_PARAMETERS} are allowed")
    return scope


def check_condition(vocabulary: Vocabulary, expr: Expr, scope: Mapping[str, str], path: str, depth: int = 0) -> None:
    """Check that an expression is a condition over declared names.

    Args:
        vocabulary: The declared names.
        expr: Nested tuples of any shape.
        scope: Type by parameter or variable that the condition may name.
        path: Where it stands; messages begin with it.
        depth: How deep it is nested already.

    Raises:
        DocumentError: The shape, an operator, a name, a type or an arity is wrong, or it is nested more than
            ``MAX_DEPTH`` deep.
    """
    _check_depth(depth, path)
    if isinstance(expr, bool):
        return
    head = _head(expr, path, "a condition")
    if head == "fluent":
        if _check_application(vocabulary, expr, scope, path).integer:
            raise DocumentError(
                f"{path}: {render(expr)} is an integer, but a condition is wanted",
                remedy="compare it with =, <, <=, > or >=",
            )
    elif head == "same":
        if len(expr) != 3:
            raise DocumentError(f"{path}: 'same' compares two objects, got {len(expr) - 1}")
        for arg in expr[1:]:
            _type_of(vocabulary, arg, scope, path)
    elif head in QUANTIFIERS:
        _check_quantifier(vocabulary, expr, scope, path, depth)
    elif head in COMPARISONS:
        _check_arity(expr, path, 2)
        for term in expr[1:]:
            check_term(vocabulary, term, scope, path, depth + 1)
    elif head in ("and", "or", "not", "imply"):
        if head in ("not", "imply"):
            _check_arity(expr, path, 1 if head == "not" else 2)
        for child in expr[1:]:
            check_condition(vocabulary, child, scope, path, depth + 1)
    else:
        raise DocumentError(f"{path}: {_cut(repr(head))} is not an operator for conditions")


def check_term(vocabulary: Vocabulary, expr: Expr, scope: Mapping[str, str], path: str, depth: int = 0) -> None:
    """Check that an expression is an integer term over declared names.

    Args:
        vocabulary: The declared names.
        expr: Nested tuples of any shape.
        scope: Type by parameter or variable that the term may name.
        path: Where it stands; messages begin with it.
        depth: How deep it is nested already.

    Raises:
        DocumentError: As ``check_condition``; also for a Boolean fluent, and for integers beyond ``MAX_INTEGER``.
    """
    _check_depth(depth, path)
    if isinstance(expr, bool):
        raise DocumentError(f"{path}: a truth value stands where an integer is wanted")
    if isinstance(expr, int):
        check_integer(expr, path)
        return
    head = _head(expr, path, "an integer term")
    if head == "fluent":
        if not _check_application(vocabulary, expr, scope, path).integer:
            raise DocumentError(
                f"{path}: {render(expr)} is Boolean, but an integer is wanted",
                remedy="compare integers only; for two conditions use iff",
            )
    elif head in ARITHMETIC:
        if head == "-":
            _check_arity(expr, path, 2)
        elif len(expr) < 3:
            raise DocumentError(f"{path}: '+' takes two or more terms")
        for child in expr[1:]:
            check_term(vocabulary, child, scope, path, depth + 1)
    else:
        raise DocumentError(f"{path}: {_cut(repr(head))} is not an operator for integer terms")


def check_effect(
    vocabulary: Vocabulary, operation: str, target: Expr, value: Expr, scope: Mapping[str, str], path: str
) -> None:
    """Check the target and the value of an effect; its condition is for ``check_condition``.

    Args:
        vocabulary: The declared names.
        operation: ``assign``, ``increase`` or ``decrease``.
        target: What the effect writes.
        value: What it writes.
        scope: Type by parameter of the action.
        path: Where the effect stands; messages begin with it.

    Raises:
        DocumentError: The target is no fluent, or the value does not fit it: a Boolean fluent can only be assigned
            true or false, an integer fluent takes an integer term.
    """
    if not isinstance(target, tuple) or not target or target[0] != "fluent":
        raise DocumentError(f"{path}: the target of an effect must be a fluent")
    fluent = _check_application(vocabulary, target, scope, path)
    if fluent.integer:
        check_term(vocabulary, value, scope, path)
    elif operation != "assign" or not isinstance(value, bool):
        raise DocumentError(
            f"{path}: {render(target)} is Boolean and can only be assigned true or false",
            remedy="use two conditional effects to copy a condition into it",
        )


def _check_danger_type(value: object, path: str) -> None:
    check_text(value, path)
    if not isinstance(value, str) or not value.strip() or len(value) > 80:
        raise DocumentError(f"{path}: a danger type must have 1 to 80 characters", remedy="name the type, or use null")


def _check_sizes(document: Document) -> None:
    for part in ("types", "objects", "fluents", "actions", "dangers"):
        count = len(getattr(document, part))
        if count > MAX_DECLARATIONS:
            raise DocumentError(f"{part}: {count} declarations, at most {MAX_DECLARATIONS} are allowed")
    if len(document.initial) > 10 * MAX_DECLARATIONS:
        raise DocumentError(f"initial: {len(document.initial)} values, at most {10 * MAX_DECLARATIONS} are allowed")
    said = (("name", document.name), ("obvious", document.obvious or ""))
    for path, text in (*said, *((f"texts.{key}", text) for key, text in document.texts.items())):
        check_text(text, path)
    if (
        sum(len(text) for _, text in said) + sum(len(key) + len(text) for key, text in document.texts.items())
        > MAX_TEXT
    ):
        raise DocumentError(f"texts: over {MAX_TEXT} characters")
    budget = MAX_NODES
    for expr in _all_expressions(document):
        budget -= _count(expr, budget)
        if budget <= 0:
            raise DocumentError(f"the conditions and effects together have over {MAX_NODES} parts")


def _all_expressions(document: Document) -> Iterable[Expr]:
    yield document.goal
    for entry in document.dangers:
        yield entry.condition
    for action in document.actions:
        yield action.precondition
        for effect in action.effects:
            yield from (effect.target, effect.value, effect.condition)


def _count(expr: Expr, budget: int) -> int:
    # Iterative: it runs before the depth is known.
    seen, stack = 0, [expr]
    while stack and seen <= budget:
        seen += 1
        node = stack.pop()
        if isinstance(node, tuple):
            stack.extend(node)
    return seen


def _check_declarations(document: Document) -> Vocabulary:
    parents: dict[str, str] = {}
    for declared in document.types:
        path = f"types[{declared.name}]"
        check_name(declared.name, path)
        if declared.name == ROOT_TYPE:
            raise DocumentError(f"{path}: 'object' already exists", remedy="use it without declaring it")
        if declared.name in parents:
            raise DocumentError(f"{path}: the type is declared twice")
        parents[declared.name] = declared.parent
    for name, parent in parents.items():
        if parent != ROOT_TYPE and parent not in parents:
            raise _unknown_name_error(f"types[{name}]", "parent type", parent, parents)
        seen = {name}
        while parent != ROOT_TYPE:
            if parent in seen:
                raise DocumentError(f"types[{name}]: the type is its own ancestor")
            if len(seen) > MAX_DEPTH:
                raise DocumentError(f"types[{name}]: more than {MAX_DEPTH} types above it", remedy="use fewer types")
            seen.add(parent)
            parent = parents[parent]
    objects: dict[str, str] = {}
    for thing in document.objects:
        path = f"objects[{thing.name}]"
        check_name(thing.name, path)
        if thing.name in objects:
            raise DocumentError(f"{path}: the object is declared twice")
        if thing.type != ROOT_TYPE and thing.type not in parents:
            raise _unknown_name_error(path, "type", thing.type, parents)
        objects[thing.name] = thing.type
    fluents: dict[str, FluentDecl] = {}
    vocabulary = Vocabulary(parents, objects, fluents)
    for fluent in document.fluents:
        path = f"fluents[{fluent.name}]"
        check_name(fluent.name, path)
        if fluent.name in fluents:
            raise DocumentError(f"{path}: the fluent is declared twice")
        check_parameters(vocabulary, fluent.parameters, path)
        check_bounds(fluent, path)
        fluents[fluent.name] = fluent
    for action in document.actions:
        check_name(action.name, f"actions[{action.name}]")
    return vocabulary


def check_bounds(fluent: FluentDecl, path: str) -> None:
    """Check the bounds of a fluent, and that a context fluent is Boolean.

    Args:
        fluent: The declaration.
        path: Where it stands; messages begin with it.

    Raises:
        DocumentError: A Boolean fluent has bounds, a context fluent is an integer, a bound is too large, or the lower
            bound is over the upper one.
    """
    bounds = [bound for bound in (fluent.lower, fluent.upper) if bound is not None]
    if bounds and not fluent.integer:
        raise DocumentError(f"{path}: a Boolean fluent cannot have bounds")
    if fluent.kind == "context" and fluent.integer:
        raise DocumentError(f"{path}: a context fluent must be Boolean", remedy="make it a normal fluent")
    for bound in bounds:
        check_integer(bound, path)
    if len(bounds) == 2 and bounds[0] > bounds[1]:
        raise DocumentError(f"{path}: lower bound {bounds[0]} is over upper bound {bounds[1]}")


def _check_initial(document: Document, vocabulary: Vocabulary) -> None:
    given: dict[str, int] = {}
    objects = objects_by_type(vocabulary.objects.values(), vocabulary.parents)
    for atom, value in document.initial:
        path = f"initial[{_cut(' '.join(atom))}]"
        if any(arg.startswith("?") for arg in atom[1:]):
            raise DocumentError(
                f"{path}: the initial state cannot refer to a parameter", remedy="replace each ?name by an object"
            )
        fluent = _check_application(vocabulary, ("fluent", *atom), {}, path)
        if not isinstance(value, bool):
            check_integer(value, path)
        if fluent.integer == isinstance(value, bool):
            kind = "integer" if fluent.integer else "Boolean"
            raise DocumentError(f"{path}: {value!r} is not a valid value for the {kind} fluent {fluent.name}")
        if fluent.integer:
            if not is_within_bounds(value, fluent):
                raise DocumentError(f"{path}: {value} is out of bounds {fluent.lower}..{fluent.upper}")
            given[fluent.name] = given.get(fluent.name, 0) + 1
    for fluent in document.fluents:
        if not fluent.integer or is_within_bounds(0, fluent):
            continue
        wanted = prod(objects[parameter.type] for parameter in fluent.parameters)
        if given.get(fluent.name, 0) < wanted:
            raise DocumentError(
                f"initial: {fluent.name} has no value, and the default 0 is not in {fluent.lower}..{fluent.upper}",
                remedy="give each ground instance of it an initial value",
            )


def is_within_bounds(value: int, fluent: FluentDecl) -> bool:
    """Return whether a value respects the bounds of an integer fluent; an absent bound allows everything."""
    return (fluent.lower is None or value >= fluent.lower) and (fluent.upper is None or value <= fluent.upper)


def check_integer(value: object, path: str) -> None:
    """Check that a value is an integer within ``MAX_INTEGER`` either way; a Boolean is none.

    Raises:
        DocumentError: It is not.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise DocumentError(f"{path}: {value!r} is not an integer")
    if abs(value) > MAX_INTEGER:
        # Python refuses to write out integers of thousands of digits.
        raise DocumentError(f"{path}: the integer is beyond +-{MAX_INTEGER}")


def check_text(value: object, path: str) -> None:
    """Check that a value is a string that can be written as UTF-8.

    Raises:
        DocumentError: It is no string, or holds half a surrogate pair.
    """
    if not isinstance(value, str):
        raise DocumentError(f"{path}: {value!r} is not a string")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise DocumentError(
            f"{path}: the string contains an unpaired surrogate (half of a UTF-16 pair)", remedy="remove it"
        ) from None


def objects_by_type(types: Iterable[str], parents: Mapping[str, str]) -> Counter[str]:
    """Count the objects of each type, those of its subtypes included.

    Args:
        types: The type of each object, one item per object.
        parents: Parent type by declared type.

    Returns:
        The counts; a type without objects counts 0, as in every ``Counter``.
    """
    found: Counter[str] = Counter()
    for type_, count in Counter(types).items():
        ancestor = type_
        while ancestor != ROOT_TYPE:
            found[ancestor] += count
            ancestor = parents[ancestor]
        found[ROOT_TYPE] += count
    return found


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _check_depth(depth: int, path: str) -> None:
    if depth > MAX_DEPTH:
        raise DocumentError(f"{path}: nested more than {MAX_DEPTH} deep")


def _head(expr: Expr, path: str, wanted: str) -> str:
    if not isinstance(expr, tuple) or not expr or not isinstance(expr[0], str):
        raise DocumentError(f"{path}: wanted {wanted}, got {str(expr)[:80]!r}")
    return expr[0]


def _check_arity(expr: Expr, path: str, count: int) -> None:
    if len(expr) != count + 1:
        raise DocumentError(f"{path}: {expr[0]!r} takes {count} operand(s), got {len(expr) - 1}")


def _check_quantifier(vocabulary: Vocabulary, expr: Expr, scope: Mapping[str, str], path: str, depth: int) -> None:
    if len(expr) != 3 or not isinstance(expr[1], tuple) or not expr[1]:
        raise DocumentError(f"{path}: {expr[0]} takes a list of typed variables and a condition")
    inner = dict(scope)
    for variable in expr[1]:
        if not isinstance(variable, tuple) or len(variable) != 2 or not all(isinstance(v, str) for v in variable):
            raise DocumentError(f"{path}: a quantified variable must be written as [?name, type]")
        name, type_ = variable
        if not PARAMETER.match(name):
            raise DocumentError(f"{path}: {_cut(repr(name))} is not a valid variable", remedy="write it as ?name")
        if name in inner:
            raise DocumentError(f"{path}: {name} is in use already", remedy="give the variable another name")
        if not vocabulary.knows_type(type_):
            raise _unknown_name_error(path, "type", type_, vocabulary.parents)
        inner[name] = type_
    check_condition(vocabulary, expr[2], inner, path, depth + 1)


def _type_of(vocabulary: Vocabulary, arg: object, scope: Mapping[str, str], path: str) -> str:
    if not isinstance(arg, str):
        raise DocumentError(f"{path}: an argument must be a name, but this is {arg!r}")
    known = scope if arg.startswith("?") else vocabulary.objects
    if arg not in known:
        raise _unknown_name_error(path, "parameter" if arg.startswith("?") else "object", arg, known)
    return known[arg]


def _check_application(vocabulary: Vocabulary, expr: Expr, scope: Mapping[str, str], path: str) -> FluentDecl:
    if len(expr) < 2 or not isinstance(expr[1], str):
        raise DocumentError(
            f"{path}: the name of the fluent is missing", remedy='write ["fluent", name, arguments ...]'
        )
    name, args = expr[1], expr[2:]
    fluent = vocabulary.fluents.get(name)
    if fluent is None:
        raise _unknown_name_error(path, "fluent", name, vocabulary.fluents)
    if len(args) != len(fluent.parameters):
        wanted = ", ".join(p.type for p in fluent.parameters) or "none"
        raise DocumentError(f"{path}: {name} takes {len(fluent.parameters)} argument(s) ({wanted}), got {len(args)}")
    for arg, parameter in zip(args, fluent.parameters, strict=True):
        type_ = _type_of(vocabulary, arg, scope, path)
        if not vocabulary.is_subtype(type_, parameter.type):
            raise DocumentError(
                f"{path}: {name} needs type {parameter.type} for {parameter.name}, but {arg} is of type {type_}"
            )
    return fluent


def _unknown_name_error(path: str, what: str, name: str, known: Iterable[str]) -> DocumentError:
    import difflib

    names = sorted(known)
    close = difflib.get_close_matches(name[:_SHOWN], names, n=1)
    remedy = f"did you mean {close[0]}?" if close else f"declare it first; known: {', '.join(names[:12]) or 'none'}"
    return DocumentError(f"{_cut(path)}: {what} {_cut(repr(name))} is not declared", remedy=remedy)
