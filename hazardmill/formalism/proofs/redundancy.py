"""Which literals of a danger condition matter nowhere.

A literal is an occurrence of a fluent, a comparison or ``same``, negated or not, in the *lifted* negation normal form.
It is redundant iff the neutral element of its connective in its place changes the condition nowhere in U
(``situations``): true in a conjunction, false in a disjunction. Its connective is the nearest ``and`` or ``or``
around it, as written; where there is none it is a conjunction of one. Quantifiers are not connectives: a quantified
literal is treated as the literal alone would be. Constants are not literals. Each literal is replaced on its own while
the others stay, so of two that say the same both are redundant.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal, TypeAlias

from hazardmill.errors import SearchLimitReached
from hazardmill.formalism.document.document import DangerEntry, Document
from hazardmill.formalism.document.expressions import QUANTIFIERS, Expr, is_literal, nnf, render
from hazardmill.formalism.document.validation import MAX_TEXT as MOST_TEXT
from hazardmill.formalism.proofs.situations import Flips, Reads, explore, universe
from hazardmill.formalism.search.budget import DEFAULT_LIMIT, ENTRY_BYTES, Effort
from hazardmill.formalism.semantics.condition_compiler import CompiledCondition, Compiler, Numbers
from hazardmill.formalism.semantics.transition_system import PARTS_PER_TRY, GroundAction, System

Connective = Literal["and", "or"]
Flag = Literal["single_flips", "empty", "limit"]
Path: TypeAlias = tuple[int, ...]
"""The position of a sub-expression: the indices that lead to it from the whole."""


@dataclass(frozen=True, slots=True)
class Redundant:
    """A literal that changes a danger condition nowhere.

    Attributes:
        action: The action of the danger entry.
        literal: The literal as text.
        connective: The connective whose neutral element takes its place.
    """

    entry: int
    """Its place in the document's danger entries."""
    action: str
    path: Path
    """Its place in the negation normal form of the condition; empty for a lone literal."""
    literal: str
    connective: Connective
    replaced: str
    """The condition with the neutral element in its place."""


@dataclass(frozen=True, slots=True)
class EntryLiterals:
    """What is known about the literals of one danger entry."""

    entry: int
    """Its place in the document's danger entries."""
    redundant: tuple[Redundant, ...] | None
    """From left to right, the first ``MOST_TEXT`` characters of them; None where the limit left one undecided."""
    flags: tuple[Flag, ...]
    """``single_flips``: more context is read than all assignments were tried for. ``empty``: the action is never
    applicable, so that each literal is redundant for lack of a situation. ``limit``: not decided."""

    def to_json(self) -> dict[str, Any]:
        """Return the entry as JSON values."""
        return asdict(self)


def redundant_literals(
    task: Document | System, limit: int = DEFAULT_LIMIT, effort: Effort | None = None
) -> tuple[EntryLiterals, ...]:
    """Find the redundant literals of each danger entry, in the order of the document.

    Exploring ends as soon as each literal was seen to matter, so a task without redundant literals is quick.

    Args:
        task: The task.
        limit: Most states to explore (``Effort``), for all entries together.
        effort: What is left of a shared effort, to be used in place of ``limit``.

    Returns:
        One item per danger entry. Reaching the limit raises nothing: what is not decided has ``redundant`` None.
    """
    entries: list[_Entry] = []
    document = task.document if isinstance(task, System) else task
    try:
        system = task if isinstance(task, System) else System(task)
        effort = effort or system.effort(limit)
        actions = system.all_actions()
        compiler = Compiler(system)
        entries += [_Entry(system, compiler, i, entry, effort) for i, entry in enumerate(document.dangers)]
        by_starts: dict[tuple[Flips, ...], list[_Entry]] = defaultdict(list)
        for each in entries:
            by_starts[each.area.starts].append(each)
        for starts, together in by_starts.items():
            _explore(system, actions, starts, together, effort)
    except SearchLimitReached:
        # Entries whose literals were all seen to matter before the limit are decided nevertheless.
        known = [each.result() for each in entries]
        return (*known, *(EntryLiterals(i, None, ("limit",)) for i in range(len(known), len(document.dangers))))
    return tuple(each.result() for each in entries)


def _explore(
    system: System, actions: Sequence[GroundAction], starts: tuple[Flips, ...], entries: list[_Entry], effort: Effort
) -> None:
    """Look at the situations of the entries that share their starts, until everything is decided."""
    pending: dict[str, list[_Entry]] = defaultdict(list)
    for entry in entries:
        if not entry.decided:
            pending[entry.action].append(entry)
    if pending:
        for bits, numbers, action, _ in explore(system, actions, set(pending), starts, effort):
            if action.name not in pending:
                continue
            still = [entry for entry in pending[action.name] if not entry.look(action, bits, numbers)]
            if still:
                pending[action.name] = still
                continue
            del pending[action.name]
            if not pending:
                break
    for entry in entries:
        entry.decided = True


_Judged: TypeAlias = Callable[[int, Numbers], tuple[bool, int]]
"""The truth of an expression in a state, and the literals (as bits) whose neutral elements would change it."""


class _Entry:
    """One danger entry, and which of its literals were seen to matter."""

    def __init__(self, system: System, compiler: Compiler, place: int, entry: DangerEntry, effort: Effort) -> None:
        self.action = entry.action
        self.area = universe(system, entry.action, (entry.condition,))
        self._system = system
        self._compiler = compiler
        self._place = place
        self._effort = effort
        # The work of evaluating one situation with its copies, and the bytes that are kept of it.
        parts = system.size.entries[place]
        self._work = len(self.area.copies) * (1 + parts // PARTS_PER_TRY)
        self._key_bytes = _KEY_BYTES + system.size.mask_bytes
        self._instance_bytes = ENTRY_BYTES + parts * _JUDGED_BYTES + system.size.mask_bytes
        self._copies = self.area.copy_masks
        self._form = nnf(entry.condition)
        self._literals = tuple(_literals(self._form, "and", ()))
        self._bit_of = {path: 1 << i for i, (path, _, _) in enumerate(self._literals)}
        self._all = (1 << len(self._literals)) - 1
        self._matter = 0
        self._seen: dict[GroundAction, tuple[_Judged, Reads, set[tuple[int, ...]]]] = {}
        self.decided = not self._literals
        """Whether there is nothing more to find out."""

    def look(self, action: GroundAction, bits: int, numbers: Numbers) -> bool:
        """Note which literals matter in a situation and its copies; return whether all have been seen to matter."""
        found = self._seen.get(action)
        if found is None:
            self._effort.hold(self._instance_bytes)
            judge = self._judge(self._form, (), "and", action.binding)
            found = self._seen[action] = judge, Reads(self._system, (self._form,), action.binding), set()
        judge, reads, keys = found
        key = reads.key(bits, numbers)
        if key not in keys:
            self._effort.spend(self._work)
            self._effort.hold(self._key_bytes)
            keys.add(key)
            for mask in self._copies:
                self._matter |= judge(bits ^ mask, numbers)[1]
            self.decided = self._matter == self._all
        return self.decided

    def result(self) -> EntryLiterals:
        """Return what is known so far."""
        flags: list[Flag] = ["single_flips"] if self.area.single_flips else []
        if not self.decided:
            return EntryLiterals(self._place, None, (*flags, "limit"))
        if self._literals and not self._seen:
            flags.append("empty")
        return EntryLiterals(self._place, tuple(self._find_redundant()), tuple(flags))

    def _find_redundant(self) -> Iterator[Redundant]:
        """Yield the literals that matter nowhere; of thousands, only the first ``MOST_TEXT`` characters."""
        written = 0
        for path, literal, connective in self._literals:
            if written > MOST_TEXT:
                return
            if not self._matter & self._bit_of[path]:
                replaced = render(_replace(self._form, path, _NEUTRAL[connective]))
                written += len(replaced)
                yield Redundant(self._place, self.action, path, render(literal), connective, replaced)

    def _judge(self, expr: Expr, path: Path, connective: Connective, binding: Mapping[str, str]) -> _Judged:
        """Compile a part of the condition so that one evaluation shows which of its literals matter."""
        if isinstance(expr, bool):
            return lambda _, __: (expr, 0)
        if is_literal(expr):
            # The neutral element differs from a literal that is false in a conjunction, or true in a disjunction.
            return _literal(
                self._compiler.condition(expr, binding), self._bit_of[path], matters_if=not _NEUTRAL[connective]
            )
        head = expr[0]
        if head in QUANTIFIERS:
            bindings = self._system.bindings(expr[1], binding)
            parts = [self._judge(expr[2], (*path, 2), connective, inner) for inner in bindings]
        else:
            parts = [self._judge(child, (*path, i), head, binding) for i, child in enumerate(expr[1:], 1)]
        return _combine(tuple(parts), absorbing=head in ("or", "exists"))


_KEY_BYTES: Final = 120
_JUDGED_BYTES: Final = 400
_NEUTRAL: Final[Mapping[Connective, bool]] = {"and": True, "or": False}


def _literal(compiled: CompiledCondition, bit: int, matters_if: bool) -> _Judged:
    def judge(bits: int, numbers: Numbers) -> tuple[bool, int]:
        truth = compiled.holds(bits, numbers)
        return truth, bit if truth == matters_if else 0

    return judge


def _combine(parts: tuple[_Judged, ...], absorbing: bool) -> _Judged:
    """Return the judge of a conjunction (absorbing: false) or disjunction (absorbing: true).

    If no part has the absorbing value, the whole changes with any of its parts. If some have it, the whole changes with
    a literal only if all of these parts do: under a quantifier, one literal may occur in several parts. A neutral
    element moves all its occurrences the same way, so no other part takes the absorbing value when these leave it.
    """

    def judge(bits: int, numbers: Numbers) -> tuple[bool, int]:
        absorbed, everywhere, elsewhere = False, -1, 0
        for part in parts:
            truth, matter = part(bits, numbers)
            if truth != absorbing:
                elsewhere |= matter
                continue
            absorbed = True
            everywhere &= matter
            if not everywhere:
                return absorbing, 0
        return (absorbing, everywhere) if absorbed else (not absorbing, elsewhere)

    return judge


def _literals(expr: Expr, connective: Connective, path: Path) -> Iterator[tuple[Path, Expr, Connective]]:
    """Yield the literals of a negation normal form, left to right, each with its path and connective."""
    if isinstance(expr, bool):
        return
    if is_literal(expr):
        yield path, expr, connective
    elif expr[0] in QUANTIFIERS:
        yield from _literals(expr[2], connective, (*path, 2))
    else:
        for i, child in enumerate(expr[1:], 1):
            yield from _literals(child, expr[0], (*path, i))


def _replace(expr: Expr, path: Path, by: bool) -> Expr:
    if not path:
        return by
    place, *rest = path
    return (*expr[:place], _replace(expr[place], tuple(rest), by), *expr[place + 1 :])
