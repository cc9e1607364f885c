"""The structure of a task: what is left of a document when names are put aside.

Two tasks that differ only in the names of types, objects, fluents, actions and parameters, or in the order of
declarations and of the operands of ``and`` and ``or``, have the same key. The converse is nearly true: symbols
are told apart by colour refinement, which cannot separate some highly regular documents, so that rarely two
different structures share a key. A share of common structures is thereby never understated. An exact canonical
form is to replace this.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

Symbol = tuple[str, str]
"""Kind and name: ``("fluent", "robot_at")``."""

Statement = tuple[tuple[Symbol, ...], Callable[[Mapping[Symbol, str]], str]]
"""The symbols that a part of a document mentions, and how it is written in given colours."""

Expr: TypeAlias = Any

_UNORDERED = frozenset({"and", "or"})


def structure_key(document: Mapping[str, Any]) -> str:
    """SHA-256 (hex) of the structure of a document, given as JSON values."""
    statements = list(_statements(document))
    colours = _refined({symbol for symbols, _ in statements for symbol in symbols}, statements)
    lines = sorted(write(colours) for _, write in statements)
    return _hash([*lines, document["initial_danger"], document["max_danger"]])


def _refined(symbols: set[Symbol], statements: list[Statement]) -> dict[Symbol, str]:
    """Tell symbols apart by where they occur, until that separates no more of them."""
    mentions: dict[Symbol, list[Statement]] = {symbol: [] for symbol in symbols}
    for statement in statements:
        for symbol in set(statement[0]):
            mentions[symbol].append(statement)
    colours = {symbol: symbol[0] for symbol in symbols}
    while True:
        refined = {}
        for symbol, places in mentions.items():
            marked = {**colours, symbol: "*"}
            refined[symbol] = _hash([colours[symbol], *sorted(write(marked) for _, write in places)])
        if len(set(refined.values())) == len(set(colours.values())):
            return refined
        colours = refined


def _statements(document: Mapping[str, Any]) -> Iterator[Statement]:
    for name, parent in document["types"]:
        yield _statement("type", [("type", name), ("type", parent)])
    for name, type_ in document["objects"]:
        yield _statement("object", [("object", name), ("type", type_)])
    for fluent in document["fluents"]:
        named = [("fluent", fluent["name"]), *(("type", type_) for _, type_ in fluent["parameters"])]
        yield _statement(["fluent", fluent["kind"], fluent["value"], fluent["lower"], fluent["upper"]], named)
    for action in document["actions"]:
        owner = ("action", action["name"])
        scope = {name: f"?{place}" for place, (name, _) in enumerate(action["parameters"])}
        yield _statement("action", [owner, *(("type", type_) for _, type_ in action["parameters"])])
        yield _conditioned(["precondition"], owner, [action["precondition"]], scope)
        for operation, *parts in action["effects"]:
            yield _conditioned([operation], owner, parts, scope)
    for entry in document["dangers"]:
        parameters = next(a["parameters"] for a in document["actions"] if a["name"] == entry["action"])
        scope = {name: f"?{place}" for place, (name, _) in enumerate(parameters)}
        yield _conditioned(["danger", entry["increment"]], ("action", entry["action"]), [entry["condition"]], scope)
    for (fluent, *objects), value in document["initial"]:
        yield _statement(["initial", value], [("fluent", fluent), *(("object", thing) for thing in objects)])
    yield _conditioned(["goal"], None, [document["goal"]], {})


def _statement(label: object, symbols: list[Symbol]) -> Statement:
    # The root type is declared nowhere and called the same in every document.
    return tuple(symbols), lambda colours: _hash([label, *(colours[symbol] for symbol in symbols)])


def _conditioned(label: list[object], owner: Symbol | None, parts: list[Expr], scope: Mapping[str, str]) -> Statement:
    symbols = tuple(symbol for part in parts for symbol in _symbols(part, scope))

    def write(colours: Mapping[Symbol, str]) -> str:
        return _hash([label, owner and colours[owner], *(_written(part, scope, colours) for part in parts)])

    return (*((owner,) if owner else ()), *symbols), write


def _symbols(expr: Expr, scope: Mapping[str, str]) -> Iterator[Symbol]:
    if not isinstance(expr, list | tuple):
        return
    head, *rest = expr
    if head in ("fluent", "same"):
        if head == "fluent":
            yield ("fluent", rest.pop(0))
        yield from (("object", name) for name in rest if name not in scope)
    elif head in ("exists", "forall"):
        yield from (("type", type_) for _, type_ in rest[0])
        yield from _symbols(rest[1], _bound(rest[0], scope))
    else:
        for child in rest:
            yield from _symbols(child, scope)


def _written(expr: Expr, scope: Mapping[str, str], colours: Mapping[Symbol, str]) -> object:
    if not isinstance(expr, list | tuple):
        return expr
    head, *rest = expr
    if head in ("fluent", "same"):
        first = [colours["fluent", rest.pop(0)]] if head == "fluent" else []
        return [head, *first, *(scope.get(name) or colours["object", name] for name in rest)]
    if head in ("exists", "forall"):
        types = [colours["type", type_] for _, type_ in rest[0]]
        return [head, types, _written(rest[1], _bound(rest[0], scope), colours)]
    children = [_written(child, scope, colours) for child in rest]
    return [head, *(sorted(children, key=_hash) if head in _UNORDERED else children)]


def _bound(variables: list[list[str]], scope: Mapping[str, str]) -> dict[str, str]:
    return {**scope, **{name: f"?{len(scope) + place}" for place, (name, _) in enumerate(variables)}}


def _hash(value: object) -> str:
    return hashlib.sha256(json.dumps(value, separators=(",", ":")).encode()).hexdigest()
