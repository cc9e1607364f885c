"""Which literals of a danger condition matter nowhere: the definition of DESIGN.md, spelled out by brute force."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from hazardmill.formalism.certificate import flipped
from hazardmill.formalism.document import DangerEntry, Document
from hazardmill.formalism.expressions import fluents_of
from hazardmill.formalism.system import System


def redundant_literals(document: Document) -> list[Any]:
    """The conditions with a literal left out that are equal to the original wherever it is read."""
    return [weaker for entry in document.dangers for weaker in _unchanged(document, entry)]


def _unchanged(document: Document, entry: DangerEntry) -> list[Any]:
    weaker = list(_without_one(entry.condition, "and"))
    for system in map(System, _contexts(document, entry)):
        acts = [act for act in system.all_actions() if act.name == entry.action]
        states = _reachable(system)
        for act in acts:
            exact = system.compiler.condition(entry.condition, act.binding)
            others = [(each, system.compiler.condition(each, act.binding)) for each in weaker]
            where = [state for state in states if act.step(*state) is not None]
            weaker = [each for each, other in others if all(other.holds(*s) == exact.holds(*s) for s in where)]
        if not weaker:
            break
    return weaker


def _contexts(document: Document, entry: DangerEntry) -> Iterator[Document]:
    system = System(document)
    names = sorted({node[1] for node in fluents_of(entry.condition) if system.fluents[node[1]].kind == "context"})
    atoms = [
        (name, *objects)
        for name in names
        for objects in itertools.product(*(system.objects_of(p.type) for p in system.fluents[name].parameters))
    ]
    for chosen in itertools.product((False, True), repeat=min(len(atoms), 8)):
        changed = document
        for atom, flip in zip(atoms, chosen, strict=False):
            changed = flipped(changed, atom) if flip else changed
        yield changed


def _reachable(system: System) -> set[Any]:
    first = (system.initial.bits, system.initial.numbers)
    seen, todo = {first}, [first]
    while todo:
        state = todo.pop()
        for act in system.all_actions():
            after = act.step(*state)
            if after is not None and after not in seen:
                seen.add(after)
                todo.append(after)
    return seen


def _without_one(expr: Any, connective: str) -> Iterator[Any]:
    if expr[0] in ("and", "or"):
        for place, part in enumerate(expr[1:], 1):
            for changed in _without_one(part, expr[0]):
                yield (*expr[:place], changed, *expr[place + 1 :])
    elif expr[0] in ("exists", "forall"):
        for changed in _without_one(expr[2], "and"):
            yield (*expr[:2], changed)
    else:
        yield connective == "and"
