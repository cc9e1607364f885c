"""The structure of a task: what is left of a document when names and the order of declarations are put aside.

Two documents have the same id if, and only if, one becomes the other by renaming types, objects, fluents, actions and
parameters, by declaring things in another order, and by turning round operands where that changes no meaning: those
of ``and``, ``or``, ``+``, ``=`` and ``same``. The root type is ``object`` in both. All else counts: kinds and bounds
of fluents, the order of arguments and parameters, effects, initial values, the goal, increments, initial and greatest
danger. Labels do not: danger types, the action said to realise the danger, texts, provenance.

A document is read as statements (declarations, conditions, effects, danger entries, initial values), each a tree whose
leaves are symbols. Colour refinement tells symbols apart by where they occur. Where it leaves several of one colour,
and they are not just copies of one another, each of them in turn is marked and refined further (individualisation,
McKay and Piperno, "Practical graph isomorphism, II", 2014), until the least way to write all statements is found.
Colours only steer that search; two ids are equal because the same text was hashed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, TypeAlias

from hazardmill.errors import SearchLimitReached
from hazardmill.formalism.document.document import ROOT_TYPE

LIMIT: Final = 5_000_000
"""Colours that may be computed for one document, some seconds' worth: hundreds of times what ordinary tasks take."""

_FORMAT: Final = "hazardmill-structure/1"
_COMMUTATIVE: Final = frozenset({"and", "or", "+", "=", "same"})
_QUANTIFIERS: Final = frozenset({"exists", "forall"})

Expr: TypeAlias = Any
Scope: TypeAlias = Mapping[str, str]
Colours: TypeAlias = list[int]
"""Of each leaf, 64 bits. Arithmetic alone makes them, so that they are the same on every machine."""


def structure_id(document: Mapping[str, Any], limit: int = LIMIT) -> str:
    """SHA-256 (hex) of the structure of a well-formed document, given as JSON values.

    Args:
        document: ``Document.to_json()`` or ``Document.formal_json()``.
        limit: Most colours to compute.

    Raises:
        SearchLimitReached: The document is so large and regular that this was not enough. It is refused on every
            machine; renamed, it may just be told.
    """
    text = _Canonical(_Statements(document), limit).text()
    return hashlib.sha256(f"{_FORMAT}\n{text}".encode()).hexdigest()


class _Statements:
    """A document as trees. Leaves are symbols and constants, numbered together; inner nodes come after their children.

    An edge to a child carries a weight that stands for the child's place; commutative nodes have one for all.
    """

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.leaves: dict[tuple[str, str], int] = {}
        """Kind and name of each leaf; constants are of no kind."""
        self.labels: list[str] = []
        self.over_leaves: list[list[tuple[int, int]]] = []
        """Of each inner node, the leaves below it with their weights, and ..."""
        self.over_nodes: list[list[tuple[int, int]]] = []
        """... the inner nodes."""
        self.commutative: list[bool] = []
        self.children: list[list[int]] = []
        """Of each inner node in order: a leaf, or a node as its complement."""
        self.roots: list[int] = [self._statement(*parts) for parts in _parts(document)]

    def _statement(self, label: object, symbols: Sequence[tuple[str, str]], exprs: Sequence[Expr], scope: Scope) -> int:
        children = [self._leaf(kind, name) for kind, name in symbols]
        children += [self._expr(expr, scope, len(scope)) for expr in exprs]
        return ~self._node(json.dumps(label), children, False)

    def _leaf(self, kind: str, name: str) -> int:
        if kind == "type" and name == ROOT_TYPE:
            kind = ""  # declared nowhere, and called the same in every document
        return self.leaves.setdefault((kind, name), len(self.leaves))

    def _node(self, label: str, children: list[int], commutative: bool) -> int:
        weights = [_WEIGHTS[0]] * len(children) if commutative else _weights(len(children))
        pairs = list(zip(children, weights, strict=True))
        self.labels.append(label)
        self.over_leaves.append([(child, weight) for child, weight in pairs if child >= 0])
        self.over_nodes.append([(~child, weight) for child, weight in pairs if child < 0])
        self.commutative.append(commutative)
        self.children.append(children)
        return ~(len(self.labels) - 1)

    def _expr(self, expr: Expr, scope: Scope, depth: int) -> int:
        if not isinstance(expr, list | tuple):
            return self._leaf("", json.dumps(expr))
        head, *rest = expr
        if head == "fluent":
            children = [self._leaf("fluent", rest[0]), *(self._argument(name, scope) for name in rest[1:])]
        elif head == "same":
            children = [self._argument(name, scope) for name in rest]
        elif head in _QUANTIFIERS:
            variables, body = rest
            inner = {**scope, **{name: f"?{depth + place}" for place, (name, _) in enumerate(variables)}}
            children = [self._leaf("type", type_) for _, type_ in variables]
            children.append(self._expr(body, inner, depth + len(variables)))
        else:
            children = [self._expr(child, scope, depth) for child in rest]
        return self._node(head, children, head in _COMMUTATIVE)

    def _argument(self, name: str, scope: Scope) -> int:
        return self._leaf("", scope[name]) if name in scope else self._leaf("object", name)


def _parts(document: Mapping[str, Any]) -> Iterator[tuple[object, list[tuple[str, str]], list[Expr], Scope]]:
    """Label, symbols, expressions, and what parameters are called, of each statement."""
    yield ["danger", document["initial_danger"], document["max_danger"]], [], [], {}
    yield "goal", [], [document["goal"]], {}
    for name, parent in document["types"]:
        yield "type", [("type", name), ("type", parent)], [], {}
    for name, type_ in document["objects"]:
        yield "object", [("object", name), ("type", type_)], [], {}
    for fluent in document["fluents"]:
        label = ["fluent", fluent["kind"], fluent["value"], fluent["lower"], fluent["upper"]]
        yield label, [("fluent", fluent["name"]), *_typed_names(fluent)], [], {}
    scopes = {}
    for action in document["actions"]:
        owner = ("action", action["name"])
        scope = scopes[action["name"]] = {name: f"?{place}" for place, (name, _) in enumerate(action["parameters"])}
        yield "action", [owner, *_typed_names(action)], [], {}
        yield "precondition", [owner], [action["precondition"]], scope
        for operation, *exprs in action["effects"]:
            yield operation, [owner], exprs, scope
    for entry in document["dangers"]:
        owner = ("action", entry["action"])
        yield ["entry", entry["increment"]], [owner], [entry["condition"]], scopes[entry["action"]]
    for (fluent, *objects), value in document["initial"]:
        if value:  # false and 0 go without saying
            yield ["initial", value], [("fluent", fluent), *(("object", name) for name in objects)], [], {}


def _typed_names(declaration: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [("type", type_) for _, type_ in declaration["parameters"]]


class _Equivalent(Exception):  # no error: it ends the search below a node
    """What is below a choice at this depth is a copy of what was searched already."""

    def __init__(self, depth: int) -> None:
        self.depth = depth


class _Canonical:
    """The search for the least way to write the statements."""

    def __init__(self, statements: _Statements, limit: int) -> None:
        self._of = statements
        self._limit = limit
        self._left = limit
        self._symbols = [leaf for (kind, _), leaf in statements.leaves.items() if kind]
        self._labels = [_hash_text(label) for label in statements.labels]
        self._mentions: list[set[int]] = [set() for _ in statements.leaves]
        self._plain: list[str] = []
        """Each statement with every symbol under its own number, once that is needed."""
        self._said: dict[int, bytes] = {}
        self._twin: dict[int, int] = {}
        """Symbol to the first of its twins, for the symbols that refinement alone left of one colour."""
        self._found: dict[str, tuple[list[int], list[int]]] = {}
        """Text to the choices that led to it, and the symbols in the order of their numbers."""
        self._automorphisms: list[dict[int, int]] = []

    def text(self) -> str:
        """The statements, written and sorted."""
        colours = [_hash_text(json.dumps([kind, "" if kind else name])) for kind, name in self._of.leaves]
        return self._least(self._refine(colours), [])

    # Colours

    def _refine(self, colours: Colours) -> Colours:
        """Tell symbols apart by where they occur, until that separates no more of them."""
        count = len({colours[symbol] for symbol in self._symbols})
        while count < len(self._symbols):
            colours = self._once_refined(colours)
            before, count = count, len({colours[symbol] for symbol in self._symbols})
            if count <= before:
                break
        return colours

    def _once_refined(self, colours: Colours) -> Colours:
        over_leaves, over_nodes = self._of.over_leaves, self._of.over_nodes
        self._spend(len(self._labels))
        up: list[int] = []
        for label, leaves, nodes in zip(self._labels, over_leaves, over_nodes, strict=True):
            for leaf, weight in leaves:
                label += colours[leaf] * weight
            for node, weight in nodes:
                label += up[node] * weight
            label = ((label & _ALL) ^ (label >> 31 & _ALL)) * _ODD & _ALL
            up.append(label ^ label >> 29)
        # What is above a node says where it stands: parents come after their children, so backwards.
        above = [0] * len(up)
        seen = [0] * len(colours)
        for index in range(len(up) - 1, -1, -1):
            place = (up[index] + above[index]) * _ODD & _ALL
            place ^= place >> 32
            for leaf, weight in over_leaves[index]:
                seen[leaf] += place * weight
            for node, weight in over_nodes[index]:
                above[node] = place * weight & _ALL
        refined = list(colours)
        for symbol in self._symbols:
            refined[symbol] = _mix(colours[symbol] * _ODD + seen[symbol])
        return refined

    def _spend(self, colours: int) -> None:
        self._left -= colours
        if self._left < 0:
            raise SearchLimitReached(
                f"the structure is so regular that {self._limit} colours do not tell its symbols apart",
                remedy="compare such a task by its document hash",
            )

    # Search

    def _least(self, colours: Colours, chosen: list[int]) -> str:
        """The least text below a node of the search, which is a list of symbols chosen one after the other."""
        cell = self._branching(colours)
        if not cell:
            return self._written_in_order(colours, chosen)
        best: tuple[list[int], str] | None = None
        tried: list[int] = []
        for symbol in cell:
            if self._maps_to_any(tried, symbol, chosen):
                continue
            marked = list(colours)
            marked[symbol] = _mix(marked[symbol] + _MARK)
            marked = self._refine(marked)
            look = sorted(marked[each] for each in self._symbols)
            if best is None or look <= best[0]:
                try:
                    text = self._least(marked, [*chosen, symbol])
                except _Equivalent as found:
                    if found.depth < len(chosen):
                        raise
                else:
                    best = (look, text) if best is None else min(best, (look, text))
            tried.append(symbol)
        assert best is not None  # nothing is equivalent to the first
        return best[1]

    def _branching(self, colours: Colours) -> list[int]:
        """Symbols of one colour of which one is to be marked, one of each kind of twins; none if no choice matters."""
        cells: dict[int, list[int]] = {}
        for symbol in self._symbols:
            cells.setdefault(colours[symbol], []).append(symbol)
        choices = []
        for colour, cell in cells.items():
            if len(cell) > 1:
                kinds: dict[int, int] = {}
                for symbol, first in zip(cell, self._first_twins(cell), strict=True):
                    kinds.setdefault(first, symbol)
                if len(kinds) > 1:
                    choices.append((len(cell), colour, list(kinds.values())))
        return min(choices)[2] if choices else []

    def _written_in_order(self, colours: Colours, chosen: list[int]) -> str:
        order = sorted(self._symbols, key=colours.__getitem__)
        text = "\n".join(sorted(self._write_statements({symbol: number for number, symbol in enumerate(order)})))
        if not chosen:
            return text
        key = hashlib.sha256(text.encode()).hexdigest()
        if key not in self._found:
            self._found[key] = chosen, order
            return text
        # The same text under two numberings: what has the same number in both is an automorphism.
        earlier, other = self._found[key]
        automorphism = dict(zip(order, other, strict=True))
        self._automorphisms.append(automorphism)
        parting = next(depth for depth, (a, b) in enumerate(zip(chosen, earlier, strict=False)) if a != b)
        if all(automorphism[each] == each for each in chosen[:parting]) and (
            automorphism[chosen[parting]] == earlier[parting]
        ):
            raise _Equivalent(parting)
        return text

    def _maps_to_any(self, tried: list[int], symbol: int, chosen: list[int]) -> bool:
        """Whether automorphisms that keep what was chosen carry ``symbol`` to one that was tried."""
        kept = [known for known in self._automorphisms if all(known[each] == each for each in chosen)]
        orbit, waiting = {symbol}, [symbol]
        while waiting:
            each = waiting.pop()
            # Of a permutation, following it forwards is enough: the way round ends where it began.
            for image in {known[each] for known in kept} - orbit:
                orbit.add(image)
                waiting.append(image)
        return not orbit.isdisjoint(tried)

    # Twins: symbols that can change places while all others stay

    def _first_twins(self, cell: list[int]) -> list[int]:
        if cell[0] not in self._twin:  # nor is any other: cells only ever come apart
            firsts: list[int] = []
            for symbol in cell:
                first = next((first for first in firsts if self._are_twins(first, symbol)), symbol)
                self._twin[symbol] = first
                if first == symbol:
                    firsts.append(symbol)
        return [self._twin[symbol] for symbol in cell]

    def _are_twins(self, one: int, other: int) -> bool:
        if not self._plain:
            self._prepare()
        if self._mentions[one].isdisjoint(self._mentions[other]):
            self._spend(1)
            return self._alone(one) == self._alone(other)
        touched = sorted(self._mentions[one] | self._mentions[other])
        self._spend(len(self._of.leaves) + len(touched))
        swapped = {**self._numbers, one: other, other: one}
        return sorted(self._write_statements(swapped, touched)) == sorted(self._plain[place] for place in touched)

    def _alone(self, symbol: int) -> bytes:
        """What is said of a symbol, without saying of which; as a digest, for it may be the whole document."""
        if symbol not in self._said:
            places = sorted(self._mentions[symbol])
            self._spend(len(self._of.leaves) + len(places))
            said = sorted(self._write_statements({**self._numbers, symbol: -1}, places))
            self._said[symbol] = hashlib.sha256("\n".join(said).encode()).digest()
        return self._said[symbol]

    def _prepare(self) -> None:
        self._numbers = {symbol: symbol for symbol in self._symbols}
        self._plain = self._write_statements(self._numbers)
        for place, root in enumerate(self._of.roots):
            for leaf in self._below(root):
                self._mentions[leaf].add(place)

    def _below(self, node: int) -> Iterator[int]:
        for child in self._of.children[node]:
            if child >= 0:
                yield child
            else:
                yield from self._below(~child)

    # Text

    def _write_statements(self, numbers: Mapping[int, int], places: Sequence[int] | None = None) -> list[str]:
        """The statements, or those at some places, with numbers for symbols."""
        names = [f"{kind}:{numbers[leaf]}" if kind else name for leaf, (kind, name) in enumerate(self._of.leaves)]
        roots = self._of.roots if places is None else [self._of.roots[place] for place in places]
        return [self._node_written(root, names) for root in roots]

    def _node_written(self, node: int, names: list[str]) -> str:
        children = self._of.children[node]
        parts = [names[child] if child >= 0 else self._node_written(~child, names) for child in children]
        if self._of.commutative[node]:
            parts.sort()
        return f"({self._of.labels[node]} {' '.join(parts)})"


_ALL: Final = 2**64 - 1
_ODD: Final = 0x9E3779B97F4A7C15
_MARK: Final = 0xD1B54A32D192ED03


def _mix(value: int) -> int:
    value &= _ALL
    value = (value ^ value >> 31) * _ODD & _ALL
    return value ^ value >> 29


@lru_cache(maxsize=4096)
def _hash_text(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


_WEIGHTS: Final = [_hash_text(f"place {place}") | 1 for place in range(32)]


def _weights(count: int) -> list[int]:
    """Odd numbers, one a place; all below a node that has many children share the last ones."""
    return (_WEIGHTS + [_WEIGHTS[-1]] * (count - len(_WEIGHTS)))[:count]
