"""Find logical expressions in a model's answer, as trees of words. Names are not interpreted here.

An expression is PDDL, ``(and (on toaster) (not (wrapped sandwich)))``; calls, ``not on(toaster)``; or JSON, with lists
in the order of PDDL, with strings of either form, or with an object per literal. These parts of an answer may hold it,
in this order, the last of each kind first, because models correct themselves:

1. code blocks;
2. JSON values in the text;
3. parentheses in the text; between those of one part stand only bullets, numbers, commas and ``not``.

Expressions side by side in one part form a conjunction. Where a part has a field for what was asked (``:effect``, or
a key of a JSON object), only this field counts; a part that has only other fields is passed over.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from hazardmill.evaluation.abilities.answers import answer_text
from hazardmill.evaluation.answers.extract import MOST_CHARACTERS
from hazardmill.formalism.formats.pddl.tokens import MAX_DEPTH

Tree: TypeAlias = "str | tuple[Tree, ...]"
"""A word, or the trees in parentheses, the head first."""

OPERATORS: Final = frozenset("and or not imply when exists forall assign increase decrease + - = < <= > >=".split())
"""Heads whose operands are expressions."""

_FENCE: Final = re.compile(
    r"^[ \t>]*+(?P<fence>`{3,}+|~{3,}+)[^\n`]*+\n(?P<body>.*?)(?:^[ \t>]*+(?P=fence)[`~]*+[ \t]*+$|\Z)",
    re.MULTILINE | re.DOTALL,
)
_BEGINS: Final = re.compile(r"[\[{]")
_MOST_VALUES: Final = 50
"""How many places are tried for a JSON value: each attempt may read to the end of the text."""
_MOST_BROKEN: Final = 100
"""How many parentheses that are never closed are tried, likewise."""
_TOKEN: Final = re.compile(r"[()]|[,;]|[^\s(),;`\"]+")
_NAME: Final = re.compile(r"[A-Za-z][\w-]*\Z")
_PLAIN: Final = re.compile(r"\??[A-Za-z][\w-]*\Z")
_KEYWORD: Final = re.compile(r":[A-Za-z]")
_BETWEEN: Final = re.compile(r"[-*+\u2022,;]|\d+[.)]?|and", re.IGNORECASE)
_NEGATIONS: Final = frozenset({"not", "\u00ac", "!", "~"})
_NAMED: Final = ("predicate", "fluent", "name", "literal")
_ARGUMENTS: Final = ("arguments", "args", "parameters", "params", "objects")
_CONDITIONS: Final = ("condition", "when", "if")
_RESULTS: Final = ("effect", "effects", "then", "literal", "literals")


class TreeError(ValueError):
    """A part of an answer is not an expression."""


@dataclass(frozen=True, slots=True)
class AnswerPart:
    """A part of an answer that may be what was asked for.

    Attributes:
        trees: Its expressions, which form a conjunction.
        parameters: The parameters that it declares itself, ``?`` included; None where it declares none.
        explicit: Whether its form says that it is meant as data: a code block, or JSON.
    """

    trees: tuple[Tree, ...]
    parameters: tuple[str, ...] | None = None
    explicit: bool = True


def answer_parts(answer: str, fields: frozenset[str]) -> Iterator[AnswerPart]:
    """Yield the parts of an answer that may be what was asked for, the likeliest first.

    Args:
        answer: The text of the answer.
        fields: Names of the fields that may hold what was asked for, in lower case, with ``_`` for blanks.

    Yields:
        The parts, none of which is empty unless it is an empty list or conjunction.
    """
    text = answer_text(answer)[-MOST_CHARACTERS:]
    blocks = [match["body"] for match in _FENCE.finditer(text)]
    for body in reversed(blocks):
        yield from _in_block(body, fields)
    rest = _FENCE.sub("\n", text)
    for value in reversed(list(json_values(rest))):
        yield from _of_value(value, fields)
    runs = _all_runs(rest, is_data=False)
    labelled = [run for run in runs if run.label in fields]
    for run in reversed(labelled or runs):
        yield from _of_run(run.trees, fields, explicit=False)


def _in_block(body: str, fields: frozenset[str]) -> Iterator[AnswerPart]:
    values = list(json_values(body)) if body.lstrip()[:1] in ("[", "{") else []
    if values:
        for value in reversed(values):
            yield from _of_value(value, fields)
        return
    runs = _all_runs(body, is_data=True)
    if runs:
        labelled = [run for run in runs if run.label in fields]
        for run in reversed(labelled or runs):
            yield from _of_run(run.trees, fields, explicit=True)
        return
    lines = [re.sub(r"^\s*(?:[-*+\u2022]|\d+[.)])\s+", "", line).split() for line in body.splitlines()]
    if any(lines) and all(map(_PLAIN.match, (word for line in lines for word in line))):
        yield AnswerPart(tuple(_negated(line) for line in lines if line))


def _negated(words: Sequence[str]) -> Tree:
    """Return words without parentheses as a literal: ``not on toaster``."""
    count = next((place for place, word in enumerate(words[:-1]) if word.lower() not in _NEGATIONS), len(words) - 1)
    atom = tuple(words[count:])
    return ("not", atom) if count % 2 else atom


# Text


@dataclass(frozen=True, slots=True)
class _Run:
    """Expressions of a text with nothing but separators between them, and the last word before them."""

    trees: tuple[Tree, ...]
    label: str


_SIGN: Final = re.compile(r"([¬~!])(?=[\w(])")


def _runs(text: str, *, is_data: bool) -> Iterator[_Run]:
    """Yield the runs of expressions of a text.

    Args:
        text: The text.
        is_data: Whether it should consist of expressions. Then ``;`` begins a comment, and each parenthesis must be
            closed. In prose, those that are never closed are left out unless an operator follows them.

    Raises:
        TreeError: A parenthesis is never closed, or they are nested too deep.
    """
    if is_data:
        text = re.sub(r";[^\n]*", "", text)
    # A sign may stand right before its atom.
    text = _SIGN.sub(r"\1 ", text)
    tokens = list(_TOKEN.finditer(text))
    trees: list[Tree] = []
    label = word = ""
    place = negations = broken = 0
    while place < len(tokens):
        token = tokens[place][0]
        call = _is_call(tokens, place)
        if (token == "(" or call) and broken < _MOST_BROKEN:
            try:
                tree, place = _group(tokens, place + call, 1, of_call=call)
            except TreeError:
                following = tokens[place + 1][0].lower() if place + 1 < len(tokens) else ""
                # What stands inside would be read without the `not` or `when` around it.
                if is_data or following in OPERATORS or _KEYWORD.match(following):
                    raise
                place, broken = place + 1, broken + 1
                continue
            tree = (token, *(() if tree == () else tree)) if call else tree
            tree = ("not", tree) if negations % 2 else tree
            if not trees:
                label = word
            trees.append(tree)
            negations = 0
            continue
        place += 1
        if token.lower() in _NEGATIONS:
            negations += 1
        elif _KEYWORD.match(token):
            trees.append(token)
        elif not _BETWEEN.fullmatch(token):
            if trees:
                yield _Run(tuple(trees), label)
            trees, negations, word = [], 0, _field(token.strip("*_#:"))
    if trees:
        yield _Run(tuple(trees), label)


def _all_runs(text: str, *, is_data: bool) -> list[_Run]:
    """Return the runs of a text; none where its parentheses do not match."""
    try:
        return list(_runs(text, is_data=is_data))
    except TreeError:
        return []


def _is_call(tokens: Sequence[re.Match[str]], place: int) -> bool:
    """Return whether a name stands directly before an opening parenthesis."""
    if place + 1 >= len(tokens) or not _NAME.match(tokens[place][0]):
        return False
    following = tokens[place + 1]
    return following[0] == "(" and following.start() == tokens[place].end()


def _group(
    tokens: Sequence[re.Match[str]], place: int, depth: int, *, of_call: bool = False
) -> tuple[tuple[Tree, ...], int]:
    """Return what stands in the parentheses that open at a place, and the place after them.

    Args:
        tokens: All tokens.
        place: That of the opening parenthesis.
        depth: How deep it is nested.
        of_call: Whether a name stands directly before it, as in ``not(on(toaster))``.

    Raises:
        TreeError: They are never closed, or nested too deep.
    """
    if depth > MAX_DEPTH:
        raise TreeError(f"nested more than {MAX_DEPTH} deep")
    found: list[Tree] = []
    place += 1
    while place < len(tokens):
        token = tokens[place][0]
        if token == ")":
            return tuple(found), place + 1
        # Inside PDDL a head may stand right before its operand, `(not(on toaster))`: that is no call.
        call = _is_call(tokens, place) and (bool(found) or of_call)
        if token == "(" or call:
            inner, place = _group(tokens, place + call, depth + 1, of_call=call)
            found.append((token, *inner) if call else inner)
            continue
        if token not in (",", ";"):
            found.append(token)
        place += 1
    raise TreeError("a parenthesis is never closed")


def _of_run(trees: tuple[Tree, ...], fields: frozenset[str], *, explicit: bool) -> Iterator[AnswerPart]:
    """Yield the part of a run: the field that was asked for, where it has fields."""
    if len(trees) == 1 and isinstance(trees[0], tuple) and _head(trees[0]) == "define":
        trees = trees[0][1:]
    sections = [tree for tree in trees if isinstance(tree, tuple) and _head(tree).startswith(":")]
    if sections:
        for section in reversed(sections):
            yield from _of_run(section, fields, explicit=explicit)
        return
    places = [place for place, tree in enumerate(trees) if isinstance(tree, str) and tree.startswith(":")]
    if not places:
        yield AnswerPart(trees, explicit=explicit)
        return
    parameters: tuple[str, ...] | None = None
    found: tuple[Tree, ...] = ()
    for place, after in zip(places, [*places[1:], len(trees)], strict=True):
        name = _field(str(trees[place]))
        content = trees[place + 1 : after]
        if name == "parameters" and content and isinstance(content[0], tuple):
            parameters = tuple(word for word in content[0] if isinstance(word, str) and word.startswith("?"))
        elif name in fields:
            found = tuple(tree for tree in content if isinstance(tree, tuple))
    if found:
        yield AnswerPart(found, parameters, explicit)


def _head(tree: tuple[Tree, ...]) -> str:
    return tree[0].lower() if tree and isinstance(tree[0], str) else ""


def _field(name: str) -> str:
    return name.strip().strip(":").lower().replace(" ", "_").replace("-", "_")


# JSON


def json_values(text: str, begins: re.Pattern[str] = _BEGINS) -> Iterator[Any]:
    """Yield the JSON values of a text, in order; those inside others are not yielded.

    Args:
        text: Any text.
        begins: How a value begins; lists and objects by default.
    """
    decoder = json.JSONDecoder(strict=False)
    place = 0
    for _ in range(_MOST_VALUES):
        found = begins.search(text, place)
        if found is None:
            return
        try:
            value, place = decoder.raw_decode(text, found.start())
        except (ValueError, RecursionError):
            place = found.end()
            continue
        yield value


def _of_value(value: Any, fields: frozenset[str]) -> Iterator[AnswerPart]:  # noqa: ANN401  # any JSON
    parameters: tuple[str, ...] | None = None
    if isinstance(value, dict):
        lower = {_field(str(key)): part for key, part in value.items()}
        asked = [part for key, part in lower.items() if key in fields]
        if asked:
            declared = lower.get("parameters")
            if isinstance(declared, list) and all(isinstance(each, str) for each in declared):
                parameters = tuple(each.split()[0] for each in declared if each.startswith("?"))
            value = asked[0] if len(asked) == 1 else [each for part in asked for each in _listed(part)]
        elif not _is_literal(lower) and not _is_conditional(lower):
            return
    try:
        yield AnswerPart(_conjuncts(value), parameters)
    except (TreeError, RecursionError):
        return


def _listed(value: Any) -> list[Any]:  # noqa: ANN401  # any JSON
    return value if isinstance(value, list) and not _is_one(value) else [value]


def _is_literal(lower: Mapping[str, Any]) -> bool:
    return any(isinstance(lower.get(key), str) for key in _NAMED)


def _is_conditional(lower: Mapping[str, Any]) -> bool:
    return any(key in lower for key in _CONDITIONS) and any(key in lower for key in _RESULTS)


def _conjuncts(value: Any) -> tuple[Tree, ...]:  # noqa: ANN401  # any JSON
    """Return the expressions of a JSON value: one, or those of a list.

    Raises:
        TreeError: It holds something else.
    """
    if isinstance(value, str):
        return _of_string(value)
    if isinstance(value, list) and not _is_one(value):
        return tuple(tree for item in value for tree in _conjuncts(item))
    return (_tree(value, 1),)


def _is_one(value: list[Any]) -> bool:
    """Return whether a list is one expression in the order of PDDL, rather than a list of expressions."""
    if not value or not isinstance(value[0], str) or not re.fullmatch(r"[^\s()]+", value[0]):
        return False
    if value[0].lower() in OPERATORS or value[0] in _NEGATIONS:
        return True
    return all(isinstance(item, str | int) and not re.search(r"[\s()]", str(item)) for item in value)


def _of_string(text: str) -> tuple[Tree, ...]:
    runs = list(_runs(text, is_data=True))
    if len(runs) == 1:
        return runs[0].trees
    words = text.split()
    if runs or not words:
        raise TreeError(f"{text[:60]!r} is not an expression")
    return (_negated(words),)


def _tree(value: Any, depth: int) -> Tree:  # noqa: ANN401  # any JSON
    """Return a JSON value as one expression.

    Raises:
        TreeError: It is something else.
    """
    if depth > MAX_DEPTH:
        raise TreeError(f"nested more than {MAX_DEPTH} deep")
    if isinstance(value, bool) or value is None or isinstance(value, float):
        raise TreeError(f"{value} is not an expression")
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        trees = _of_string(value)
        return trees[0] if len(trees) == 1 else ("and", *trees)
    if isinstance(value, dict):
        return _of_object({_field(str(key)): part for key, part in value.items()}, depth)
    if not _is_one(value):
        return ("and", *(_tree(item, depth + 1) for item in value))
    head, *rest = value
    lower = "not" if head in _NEGATIONS else head.lower()
    if lower == "not" and len(rest) > 1 and all(isinstance(item, str) for item in rest):
        return ("not", tuple(rest))
    if lower in ("exists", "forall") and len(rest) == 2:
        return (lower, _variables(rest[0]), _tree(rest[1], depth + 1))
    if lower in OPERATORS:
        # The operands of `=` may be objects, which are words and no expressions.
        plain = lower in ("=", "+", "-", "<", "<=", ">", ">=")
        return (lower, *(item if plain and _is_word(item) else _tree(item, depth + 1) for item in rest))
    if lower == "fluent" and len(rest) > 0:
        return tuple(map(str, rest))
    return (head, *map(str, rest))


def _is_word(value: Any) -> bool:  # noqa: ANN401  # any JSON
    return isinstance(value, str) and re.fullmatch(r"[^\s()]+", value) is not None


def _variables(value: Any) -> tuple[Tree, ...]:  # noqa: ANN401  # any JSON
    """Return the typed variables of a quantifier as words: ``?x - item``.

    Raises:
        TreeError: They are something else.
    """
    if isinstance(value, str):
        return tuple(value.strip("()").split())
    if not isinstance(value, list) or not value:
        raise TreeError("a quantifier needs a list of variables")
    if len(value) == 2 and all(map(_is_word, value)) and not value[1].startswith("?"):
        return (value[0], "-", value[1])
    words: list[str] = []
    for item in value:
        if isinstance(item, list) and len(item) == 2 and all(map(_is_word, item)):
            words += [item[0], "-", item[1]]
        elif isinstance(item, str):
            words += item.strip("()").split()
        else:
            raise TreeError("a quantifier needs a list of variables")
    return tuple(words)


def _of_object(lower: Mapping[str, Any], depth: int) -> Tree:
    """Return a JSON object as one expression: a literal with its sign, or a conditional effect.

    Raises:
        TreeError: It is neither.
    """
    if _is_conditional(lower):
        condition, result = (next(lower[key] for key in keys if key in lower) for keys in (_CONDITIONS, _RESULTS))
        return ("when", _tree(condition, depth + 1), _tree(result, depth + 1))
    named = next((lower[key] for key in _NAMED if isinstance(lower.get(key), str)), None)
    if named is None:
        raise TreeError(f"an object with {', '.join(sorted(lower))[:60] or 'nothing'} is not an expression")
    given: Any = next((lower[key] for key in _ARGUMENTS if key in lower), [])
    arguments = given if isinstance(given, list) else [given]
    if not all(isinstance(each, str | int) for each in arguments):
        raise TreeError(f"the arguments of {named} are not names")
    found = _of_string(f"({named} {' '.join(map(str, arguments))})" if arguments else named) or ((),)
    if len(found) != 1:
        raise TreeError(f"{named[:60]!r} is not one expression")
    tree = found[0]
    values = [lower[key] for key in ("value", "positive", "truth", "holds") if isinstance(lower.get(key), bool)]
    negative = values[:1] == [False] or any(lower.get(key) is True for key in ("negated", "negative", "not"))
    return ("not", tree) if negative else tree
