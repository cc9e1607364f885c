"""Reads an initstate file: what holds before the program begins."""

from __future__ import annotations

import json
import re
from typing import Final, NamedTuple

from .grammar import Thing, VirtualHomeError, quoted, thing

UNARY: Final = frozenset({"is_off", "is_on", "plugged", "unplugged", "closed", "free", "sitting"})
BINARY: Final = frozenset({"location", "atreach", "inside", "in", "facing"})

_PREDICATE = re.compile(r"[a-z][a-z_]*")
_GRAPH_KEYS: Final = frozenset({"init_graph", "final_graph", "nodes", "edges"})
_WHOLE = "give the file as it was published"
_ENTRY = 'write {"is_off": ["lamp", "1"]} or {"location": [["lamp", "1"], ["bedroom", "1"]]}'


class Literal(NamedTuple):
    """A predicate that holds, of one thing or between two."""

    predicate: str
    things: tuple[Thing, ...]


class InitState(NamedTuple):
    """The literals of a file; an empty file is valid and common."""

    literals: tuple[Literal, ...]
    warnings: tuple[str, ...]


def read_initstate(text: str) -> InitState:
    """Parse a file of ``initstate``.

    Raises:
        VirtualHomeError: It is something else.
    """
    warnings = ["the initstate begins with a byte order mark"] if text.startswith("\ufeff") else []
    try:
        literals = _literals(json.loads(text.removeprefix("\ufeff"), object_pairs_hook=_object))
    except (ValueError, RecursionError) as error:
        raise VirtualHomeError("json", f"the file is not valid JSON: {error}", _WHOLE) from error
    unknown = sorted({literal.predicate for literal in literals} - UNARY - BINARY)
    if unknown:
        warnings.append(f"unknown predicates: {', '.join(unknown)}")
    return InitState(literals, tuple(warnings))


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    entry = dict(pairs)
    if len(entry) < len(pairs):
        raise ValueError("an object has a key twice")
    return entry


def _literals(entries: object) -> tuple[Literal, ...]:
    if isinstance(entries, dict) and _GRAPH_KEYS & set(entries):
        raise VirtualHomeError(
            "graph_file",
            f"the file is a graph of a whole flat ({', '.join(sorted(_GRAPH_KEYS & set(entries)))})",
            "give the file of the same name from initstate",
        )
    if not isinstance(entries, list):
        kind = "an object" if isinstance(entries, dict) else f"the value {quoted(str(entries))}"
        raise VirtualHomeError("not_a_list", f"the file holds {kind} where a list of conditions belongs", _WHOLE)
    return tuple(_literal(entry, number) for number, entry in enumerate(entries, 1))


def _literal(entry: object, number: int) -> Literal:
    if not isinstance(entry, dict) or len(entry) != 1:
        message = f"entry {number}, {quoted(json.dumps(entry))}, is not an object with one key"
        raise VirtualHomeError("entry", message, _ENTRY)
    ((key, operands),) = entry.items()
    predicate = key.strip().lower()
    if not _PREDICATE.fullmatch(predicate):
        raise VirtualHomeError("entry", f"entry {number}: {quoted(key)} is not a predicate", _ENTRY)
    things = _things(operands)
    if things is None or (predicate in UNARY and len(things) != 1) or (predicate in BINARY and len(things) != 2):
        message = f"entry {number}: {quoted(json.dumps(operands))} is not what {predicate} applies to"
        raise VirtualHomeError("operands", message, _ENTRY)
    return Literal(predicate, things)


def _things(operands: object) -> tuple[Thing, ...] | None:
    if not isinstance(operands, list) or len(operands) != 2:
        return None
    single = _thing(operands)
    if single is not None:
        return (single,)
    first, second = _thing(operands[0]), _thing(operands[1])
    return None if first is None or second is None else (first, second)


def _thing(pair: object) -> Thing | None:
    if not isinstance(pair, list) or len(pair) != 2:
        return None
    name, instance = pair
    # A bool is an int to Python. Published files write some instances as numbers and most as texts.
    if not isinstance(name, str) or isinstance(instance, bool) or not isinstance(instance, int | str):
        return None
    return thing(name, str(instance))
