"""Computing the structure id of a task: a hash of its document that ignores names and the order of declarations.

Two documents have the same id if and only if one becomes the other by renaming types, objects, fluents, actions and
parameters, by reordering declarations, and by swapping operands where the order has no meaning: those of ``and``,
``or``, ``+``, ``=`` and ``same``. The root type is ``object`` in both. Everything else counts: kinds and bounds of
fluents, the order of arguments and parameters, effects, initial values, the goal, increments, initial and maximum
danger. Labels do not count: danger types, the action that realises the danger, texts, provenance.

A document is read as statements (declarations, conditions, effects, danger entries, initial values), each a tree whose
leaves are symbols. Colour refinement separates symbols by where they occur. If several symbols keep the same colour,
and are not just copies of one another, each of them in turn is marked and the refinement continues (individualisation;
McKay and Piperno, "Practical graph isomorphism, II", 2014). Of the branches with the smallest colours, the one with the
smallest text of all statements wins. Colours only steer the search: two ids are equal because the same text was hashed.
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
"""Maximum number of colours to compute per document. This takes some seconds; ordinary tasks need under 1 % of it."""

_FORMAT: Final = "hazardmill-structure/1"
_COMMUTATIVE: Final = frozenset({"and", "or", "+", "=", "same"})
_QUANTIFIERS: Final = frozenset({"exists", "forall"})

Expr: TypeAlias = Any
Scope: TypeAlias = Mapping[str, str]
Colours: TypeAlias = list[int]
"""A 64-bit colour per leaf. Colours are computed by integer arithmetic, so they are the same on every machine."""


def structure_id(document: Mapping[str, Any], limit: int = LIMIT) -> str:
    """Compute the structure id of a well-formed document.

    Args:
        document: ``Document.to_json()`` or ``Document.formal_json()``.
        limit: Maximum number of colours to compute.

    Returns:
        A SHA-256, as 64 hexadecimal digits.

    Raises:
        SearchLimitReached: The document is so large and regular that the limit was not enough. This happens on every
            machine alike, but the same structure under other names may just stay within the limit.
    """
    text = _Canonical(_Statements(document), limit).text()
    return hashlib.sha256(f"{_FORMAT}\n{text}".encode()).hexdigest()


class _Statements:
    """A document as trees. Leaves are symbols and constants, numbered together; inner nodes come after their children.

    An edge to a child has a weight that stands for the child's position; all edges of a commutative node have the same.
    """

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.leaves: dict[tuple[str, str], int] = {}
        """Kind and name of each leaf to its number; the kind of a constant is empty."""
        self.labels: list[str] = []
        self.over_leaves: list[list[tuple[int, int]]] = []
        """Per inner node, its children that are leaves, with their weights."""
        self.over_nodes: list[list[tuple[int, int]]] = []
        """Per inner node, its children that are inner nodes, with their weights."""
        self.commutative: list[bool] = []
        self.children: list[list[int]] = []
        """Per inner node, its children in order: the number of a leaf, or the complement (~) of a node's number."""
        self.roots: list[int] = [self._statement(*parts) for parts in _parts(document)]

    def _statement(self, label: object, symbols: Sequence[tuple[str, str]], exprs: Sequence[Expr], scope: Scope) -> int:
        children = [self._leaf(kind, name) for kind, name in symbols]
        children += [self._expr(expr, scope, len(scope)) for expr in exprs]
        return ~self._node(json.dumps(label), children, False)

    def _leaf(self, kind: str, name: str) -> int:
        if kind == "type" and name == ROOT_TYPE:
            kind = ""  # The root type is not declared, and has the same name in every document: a constant.
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
    """Yield label, symbols, expressions, and the numbering of parameters, for each statement of a document."""
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
        if value:  # False and 0 are the defaults, and may be left out of a document.
            yield ["initial", value], [("fluent", fluent), *(("object", name) for name in objects)], [], {}


def _typed_names(declaration: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [("type", type_) for _, type_ in declaration["parameters"]]


class _Equivalent(Exception):  # Not an error: it ends the search below a node.
    """Raised if the branch of the search below a choice at this depth is a copy of an earlier branch."""

    def __init__(self, depth: int) -> None:
        self.depth = depth


class _Canonical:
    """The search for the smallest text of the statements."""

    def __init__(self, statements: _Statements, limit: int) -> None:
        self._of = statements
        self._limit = limit
        self._left = limit
        self._symbols = [leaf for (kind, _), leaf in statements.leaves.items() if kind]
        self._labels = [_hash_text(label) for label in statements.labels]
        self._mentions: list[set[int]] = [set() for _ in statements.leaves]
        self._plain: list[str] = []
        """Each statement with every symbol under its own number; computed when first needed."""
        self._said: dict[int, bytes] = {}
        self._twin: dict[int, int] = {}
        """Symbol to the first of its twins, for the symbols to which the first refinement gave the same colour."""
        self._found: dict[str, tuple[list[int], list[int]]] = {}
        """Hash of a text to the choices that led to it, and the symbols in the order of their numbers."""
        self._automorphisms: list[dict[int, int]] = []

    def text(self) -> str:
        """Return the smallest text of the statements."""
        colours = [_hash_text(json.dumps([kind, "" if kind else name])) for kind, name in self._of.leaves]
        return self._least(self._refine(colours), [])

    # Colours

    def _refine(self, colours: Colours) -> Colours:
        """Separate symbols by where they occur, until a pass separates no more of them."""
        count = len({colours[symbol] for symbol in self._symbols})
        while count < len(self._symbols):
            colours = self._once_refined(colours)
            before, count = count, len({colours[symbol] for symbol in self._symbols})
            if count <= before:
                break
        return colours

    def _once_refined(self, colours: Colours) -> Colours:
        """Compute new colours: each symbol's old colour, mixed with a hash of every place where it occurs."""
        over_leaves, over_nodes = self._of.over_leaves, self._of.over_nodes
        self._spend(len(self._labels))
        # Upwards: a node's hash comes from its label and a weighted sum over its children. Children of a commutative
        # node have the same weight, so their order does not matter.
        up: list[int] = []
        for label, leaves, nodes in zip(self._labels, over_leaves, over_nodes, strict=True):
            for leaf, weight in leaves:
                label += colours[leaf] * weight
            for node, weight in nodes:
                label += up[node] * weight
            label = ((label & _ALL) ^ (label >> 31 & _ALL)) * _ODD & _ALL
            up.append(label ^ label >> 29)
        # Downwards: what surrounds a node comes from its parent, and parents come after their children.
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
                "the task is too large and symmetric for its structure id to be computed within the limit of "
                f"{self._limit:,} steps",
                remedy="compare this task by its document hash",
            )

    # Search

    def _least(self, colours: Colours, chosen: list[int]) -> str:
        """Return the smallest text below a node of the search tree, which is the list of symbols chosen so far."""
        cell = self._branching(colours)
        if not cell:
            return self._written_in_order(colours, chosen)
        best: tuple[list[int], str] | None = None
        tried: list[int] = []
        for symbol in cell:
            # An automorphism maps this branch to one that was tried: it would give the same text.
            if self._maps_to_any(tried, symbol, chosen):
                continue
            marked = list(colours)
            marked[symbol] = _mix(marked[symbol] + _MARK)
            marked = self._refine(marked)
            # Sorted colours do not depend on names, so they may decide which branches are searched at all.
            look = sorted(marked[each] for each in self._symbols)
            if best is None or look <= best[0]:
                try:
                    text = self._least(marked, [*chosen, symbol])
                except _Equivalent as found:
                    # The copy may begin at an earlier choice: then the search returns to that choice.
                    if found.depth < len(chosen):
                        raise
                else:
                    best = (look, text) if best is None else min(best, (look, text))
            tried.append(symbol)
        assert best is not None  # The first symbol is never skipped.
        return best[1]

    def _branching(self, colours: Colours) -> list[int]:
        """Return the symbols of one colour to mark in turn, one per class of twins; none if no choice is left."""
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
        # The smallest cell, and of several the one of the smallest colour: names do not influence the choice.
        return min(choices)[2] if choices else []

    def _written_in_order(self, colours: Colours, chosen: list[int]) -> str:
        """Return the text of the statements, with the symbols numbered in the order of their colours.

        Raises:
            _Equivalent: The text was found before, in a branch of which this one is a copy.
        """
        order = sorted(self._symbols, key=colours.__getitem__)
        text = "\n".join(sorted(self._write_statements({symbol: number for number, symbol in enumerate(order)})))
        if not chosen:
            return text
        key = hashlib.sha256(text.encode()).hexdigest()
        if key not in self._found:
            self._found[key] = chosen, order
            return text
        # Two numberings gave the same text: mapping the symbols of one to those of the other is an automorphism. If it
        # keeps the choices up to where the two branches part, and maps one branch to the other, the branch is a copy.
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
        """Check whether automorphisms that keep the choices so far map ``symbol`` to one that was tried."""
        kept = [known for known in self._automorphisms if all(known[each] == each for each in chosen)]
        orbit, waiting = {symbol}, [symbol]
        while waiting:
            each = waiting.pop()
            # Following permutations forwards is enough, as each of their cycles ends where it began.
            for image in {known[each] for known in kept} - orbit:
                orbit.add(image)
                waiting.append(image)
        return not orbit.isdisjoint(tried)

    # Twins: symbols that can change places while all others stay

    def _first_twins(self, cell: list[int]) -> list[int]:
        """Return the first twin of each symbol of a cell; for the first of a class, the symbol itself."""
        if cell[0] not in self._twin:  # Then no other is either: refinement only ever splits cells.
            firsts: list[int] = []
            for symbol in cell:
                first = next((first for first in firsts if self._are_twins(first, symbol)), symbol)
                self._twin[symbol] = first
                if first == symbol:
                    firsts.append(symbol)
        return [self._twin[symbol] for symbol in cell]

    def _are_twins(self, one: int, other: int) -> bool:
        """Check whether swapping two symbols leaves the set of statements unchanged."""
        if not self._plain:
            self._prepare()
        # Symbols without a common statement are twins if their own statements are equal up to the symbol itself.
        if self._mentions[one].isdisjoint(self._mentions[other]):
            self._spend(1)
            return self._alone(one) == self._alone(other)
        touched = sorted(self._mentions[one] | self._mentions[other])
        self._spend(len(self._of.leaves) + len(touched))
        swapped = {**self._numbers, one: other, other: one}
        return sorted(self._write_statements(swapped, touched)) == sorted(self._plain[place] for place in touched)

    def _alone(self, symbol: int) -> bytes:
        """Hash all statements on a symbol, with the symbol itself replaced by a placeholder."""
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
        """Write the statements, or those at some positions, with numbers for symbols."""
        names = [f"{kind}:{numbers[leaf]}" if kind else name for leaf, (kind, name) in enumerate(self._of.leaves)]
        roots = self._of.roots if places is None else [self._of.roots[place] for place in places]
        return [self._node_written(root, names) for root in roots]

    def _node_written(self, node: int, names: list[str]) -> str:
        children = self._of.children[node]
        parts = [names[child] if child >= 0 else self._node_written(~child, names) for child in children]
        if self._of.commutative[node]:
            parts.sort()
        return f"({self._of.labels[node]} {' '.join(parts)})"


# 64-bit multiplicative hashing; _ODD is 2**64 divided by the golden ratio.
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
    """Return one odd number per position; positions beyond the 32nd share the last one."""
    return (_WEIGHTS + [_WEIGHTS[-1]] * (count - len(_WEIGHTS)))[:count]
