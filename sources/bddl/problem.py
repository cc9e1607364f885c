"""Reads and checks an activity: objects, initial literals, goal. Refuses what BEHAVIOR's own format does not allow."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from .expressions import BddlError, Group, Word, parse

DOMAIN: Final = "omnigibson"
AGENT: Final = "agent.n.01"

# Predicate to number of arguments (domain_omnigibson.bddl, release 3.6.0).
_UNARY = "cooked frozen open folded unfolded toggled_on hot on_fire future real broken".split()
_BINARY = (
    "saturated covered filled contains ontop nextto under touching inside overlaid attached draped insource inroom "
    "grasped"
).split()
ARITY: Final = {**dict.fromkeys(_UNARY, 1), **dict.fromkeys(_BINARY, 2)}

# Quantifier to the groups between it and its body: n = a number, v = a variable with its type.
QUANTIFIERS: Final = {"forall": "v", "exists": "v", "forn": "nv", "forpairs": "vv", "fornpairs": "nvv"}
CONNECTIVES: Final = frozenset({"and", "or"})
IMPLICATION: Final = "imply"
_SECTIONS: Final = (":domain", ":objects", ":init", ":goal")


@dataclass(frozen=True, slots=True)
class Problem:
    """One activity. ``objects`` maps name to type, in order; ``init`` holds each literal once."""

    objects: dict[str, str]
    init: list[Group]
    goal: Group
    warnings: tuple[str, ...]


def read_problem(text: str, name: str) -> Problem:
    """Read the text of a problem file that must call itself ``name``.

    Raises:
        BddlError: The file breaks the format.
    """
    warnings: list[str] = []
    sections = _sections(_definition(text), name, warnings)
    objects = _objects(sections[":objects"], warnings)
    init = _init(sections[":init"], objects, warnings)
    return Problem(objects, init, _goal(sections[":goal"], objects, warnings), tuple(warnings))


def _definition(text: str) -> Group:
    items = parse(text)
    if not items:
        raise BddlError("empty", "the file holds no expression", _WHOLE)
    root = items[0]
    if not isinstance(root, Group) or root.head != "define":
        raise BddlError("not_define", f"the file begins with {_quoted(root)}, not with (define ...)", _WHOLE)
    if len(items) > 1:
        message = f"line {items[1].line}: {_quoted(items[1])} follows the end of the definition"
        raise BddlError("trailing_text", message, "remove it")
    return root


def _sections(root: Group, name: str, warnings: list[str]) -> dict[str, Group]:
    found: dict[str, Group] = {}
    for item in root.items[1:]:
        if isinstance(item, Word):
            warnings.append(f"line {item.line}: stray {item.text!r} between sections ignored")
        elif item.head == "domain":
            raise BddlError(
                "domain_file", "the file defines a domain, not a problem", "give the problem0.bddl of an activity"
            )
        elif item.head not in ("problem", *_SECTIONS):
            raise BddlError("unknown_section", f"line {item.line}: unknown section {_quoted(item)}", _WHOLE)
        elif item.head in found:
            raise BddlError(
                "duplicate_section", f"line {item.line}: a second {item.head} section", "remove one of them"
            )
        else:
            found[item.head] = item
    for section in ("problem", *_SECTIONS):
        if section not in found:
            raise BddlError(f"no_{section.lstrip(':')}", f"there is no {section} section", _WHOLE)
    called = _only_word(found["problem"])
    if called != name.lower():
        raise BddlError(
            "problem_name",
            f"the problem calls itself {called!r}, its folder says {name!r}",
            "rename the folder or the problem",
        )
    domain = _only_word(found[":domain"])
    if domain != DOMAIN:
        raise BddlError("domain", f"the problem is of domain {domain!r}", f"give problems of domain {DOMAIN}")
    return found


def _only_word(section: Group) -> str:
    if len(section.items) != 2 or not isinstance(section.items[1], Word):
        raise BddlError("malformed", f"line {section.line}: {section.head} takes one name", _WHOLE)
    return section.items[1].text


def _objects(section: Group, warnings: list[str]) -> dict[str, str]:
    objects: dict[str, str] = {}
    waiting: list[Word] = []
    items = section.items[1:]
    place = 0
    while place < len(items):
        item = items[place]
        if isinstance(item, Group):
            where = "is in the :objects section, where only names and types are allowed"
            raise BddlError("malformed", f"line {item.line}: {_quoted(item)} {where}", _WHOLE)
        if item.text != "-":
            waiting.append(item)
            place += 1
            continue
        type_ = items[place + 1] if place + 1 < len(items) else None
        if not isinstance(type_, Word) or type_.text == "-" or not waiting:
            what = "objects before it" if not waiting else "a type after it"
            raise BddlError("dangling_type", f"line {item.line}: a `-` without {what}", "write `name ... - type`")
        for word in waiting:
            if word.text in objects:
                warnings.append(f"line {word.line}: object {word.text} is declared again")
                if objects[word.text] != type_.text:
                    message = f"line {word.line}: {word.text} is of type {objects[word.text]} and of {type_.text}"
                    raise BddlError("conflicting_type", message, "give the object one type")
            objects[word.text] = type_.text
        waiting = []
        place += 2
    if waiting:
        raise BddlError(
            "dangling_type", f"line {waiting[0].line}: {waiting[0].text} has no type", "write `name ... - type`"
        )
    if not objects:
        raise BddlError("no_objects", "the :objects section is empty", _WHOLE)
    return objects


def _init(section: Group, objects: dict[str, str], warnings: list[str]) -> list[Group]:
    literals: dict[str, Group] = {}
    for item in section.items[1:]:
        if isinstance(item, Word):
            warnings.append(f"line {item.line}: stray {item.text!r} in :init ignored")
            continue
        atom = _negated(item) if item.head == "not" else item
        _check_atom(atom, objects)
        if item.form() in literals:
            warnings.append(f"line {item.line}: {item.form()} is repeated in :init")
        literals.setdefault(item.form(), item)
    if not literals:
        raise BddlError("no_init", "the :init section is empty", _WHOLE)
    return list(literals.values())


def _goal(section: Group, objects: dict[str, str], warnings: list[str]) -> Group:
    for word in section.words[1:]:
        warnings.append(f"line {word.line}: stray {word.text!r} in :goal ignored")
    if not section.groups:
        raise BddlError("no_goal", "the :goal section is empty", _WHOLE)
    if len(section.groups) > 1:
        second = section.groups[1]
        raise BddlError(
            "two_goals",
            f"line {second.line}: :goal holds a second expression, {_quoted(second)}",
            "join the expressions with (and ...)",
        )
    goal = section.groups[0]
    _check_condition(goal, objects, frozenset())
    return goal


def _check_condition(group: Group, objects: Collection[str], variables: frozenset[str]) -> None:
    if group.head in CONNECTIVES or group.head == IMPLICATION:
        parts = group.groups
        if len(parts) != len(group.items) - 1 or not parts or (group.head == IMPLICATION and len(parts) != 2):
            raise BddlError("malformed", f"line {group.line}: {_quoted(group)} must join conditions", _WHOLE)
        for part in parts:
            _check_condition(part, objects, variables)
    elif group.head == "not":
        _check_condition(_negated(group), objects, variables)
    elif group.head in QUANTIFIERS:
        bound, body = quantified(group)
        # Kept apart from the objects, which a goal of many quantifiers would else copy as many times.
        _check_condition(body, objects, variables | {name for name, _ in bound})
    else:
        _check_atom(group, objects, variables)


def _check_atom(group: Group, objects: Collection[str], variables: frozenset[str] = frozenset()) -> None:
    if group.head not in ARITY:
        raise BddlError(
            "unknown_predicate", f"line {group.line}: {_quoted(group)} has no known predicate", f"use those of {DOMAIN}"
        )
    if group.groups or len(group.words) != ARITY[group.head] + 1:
        message = f"line {group.line}: {_quoted(group)}: {group.head} takes {ARITY[group.head]} names"
        raise BddlError("arity", message, "give the predicate its arguments")
    # The second argument of inroom is a room, which is declared nowhere.
    for word in group.words[1:2] if group.head == "inroom" else group.words[1:]:
        if plain(word.text) not in objects and plain(word.text) not in variables:
            message = f"line {word.line}: {plain(word.text)} in {_quoted(group)} is not declared"
            raise BddlError("undeclared_object", message, "declare it in :objects")


def _negated(group: Group) -> Group:
    if len(group.items) != 2 or not isinstance(group.items[1], Group):
        raise BddlError("malformed", f"line {group.line}: {_quoted(group)} must negate one condition", _WHOLE)
    return group.items[1]


def quantified(group: Group) -> tuple[list[tuple[str, str]], Group]:
    """Return the variables (name, type) and the body of a quantified condition.

    Raises:
        BddlError: It does not have the form of its quantifier.
    """
    shape = QUANTIFIERS[group.head]
    parts = group.groups
    message = f"line {group.line}: {_quoted(group)} does not have the form that {group.head} requires"
    wrong = BddlError("malformed", message, _WHOLE)
    if len(parts) != len(shape) + 1 or len(parts) != len(group.items) - 1:
        raise wrong
    variables: list[tuple[str, str]] = []
    for kind, part in zip(shape, parts, strict=False):
        words = [word.text for word in part.words]
        if part.groups:
            raise wrong
        if kind == "n":
            if len(words) != 1 or not words[0].isascii() or not words[0].isdigit():
                raise wrong
        elif len(words) != 3 or words[1] != "-":
            raise wrong
        else:
            variables.append((plain(words[0]), words[2]))
    return variables, parts[-1]


def plain(name: str) -> str:
    """Return a name in the goal without its question mark, which variables and objects may both have."""
    return name.removeprefix("?")


def readable(name: str) -> str:
    """Return a synset or room in words: ``chlorine__bottle.n.01`` is "chlorine bottle"."""
    return " ".join(re.sub(r"\.[a-z]\.[0-9]+$", "", name).replace("_", " ").split())


def _quoted(item: Word | Group) -> str:
    text = item.text if isinstance(item, Word) else item.form()
    return repr(text if len(text) <= 60 else text[:57] + "...")


_WHOLE = "give the file as it was published"
