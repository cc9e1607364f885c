"""Names that differ in PDDL.

PDDL ignores case, and many of its readers (Unified Planning's among them) keep all names in one namespace; documents
do neither. Clashing names are refused, or renamed by a table that the sidecar keeps; reading undoes it.
"""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from hazardmill.errors import NotExpressible
from hazardmill.formalism.document.document import ROOT_TYPE, Document, unused_name
from hazardmill.formalism.document.expressions import QUANTIFIERS, Expr, walk

RESERVED: Final = frozenset(
    """
    and or not imply exists forall when either define domain problem object number assign increase decrease scale-up
    scale-down minimize maximize total-time total-cost always sometime within at-most-once sometime-after
    sometime-before always-within hold-during hold-after preference is-violated oneof unknown
    """.split()
)
"""Words that have a meaning of their own where a name could stand; PDDL reads them in any case."""


CATEGORIES: Final = ("actions", "objects", "fluents", "types", "variables")


@dataclass(frozen=True, slots=True)
class PddlNames:
    """How the names of a document are spelled in PDDL: written by original name, per category.

    Attributes:
        actions: Spelling of each action.
        objects: Spelling of each object.
        fluents: Spelling of each fluent.
        types: Spelling of each type but ``object``.
        variables: Spelling of each parameter and variable, ``?`` included.
    """

    actions: Mapping[str, str]
    objects: Mapping[str, str]
    fluents: Mapping[str, str]
    types: Mapping[str, str]
    variables: Mapping[str, str]

    def renames(self) -> dict[str, dict[str, str]]:
        """Return ``{category: {written: original}}`` of the renamed ones, without empty categories."""
        table: dict[str, dict[str, str]] = {}
        for category in CATEGORIES:
            names: Mapping[str, str] = getattr(self, category)
            renamed = {written: name for name, written in names.items() if written != name}
            if renamed:
                table[category] = renamed
        return table

    def argument(self, arg: str) -> str:
        """Return an object, or a parameter or variable (``?x``), as written."""
        return self.variables[arg] if arg.startswith("?") else self.objects[arg]

    def type(self, type_: str) -> str:
        """Return a type as written; ``object`` is PDDL's own."""
        return type_ if type_ == ROOT_TYPE else self.types[type_]

    def unused_name(self, wanted: str) -> str:
        """Return ``wanted``, numbered if that name is taken."""
        groups = (self.actions, self.objects, self.fluents, self.types)
        return unused_name(wanted, {name.lower() for group in groups for name in group.values()})


def pddl_names(document: Document, *, rename: bool = False, dangers: bool = True) -> PddlNames:
    """Return names that PDDL can distinguish: it ignores case, and many readers keep all names in one namespace.

    Actions keep their names first, then objects, fluents and types, each in document order. With ``rename`` a name
    that is taken or reserved gets a suffix; names that are free never change.

    Args:
        document: The task.
        rename: Whether to rename clashing names instead of refusing them.
        dangers: Whether to include the variables of the danger conditions. They come last and change no other name, so
            that the basic problem is the same whatever the danger entries are.

    Raises:
        NotExpressible: Without ``rename``, two names clash or one is a word of PDDL.
    """
    declared = {
        "action": [action.name for action in document.actions],
        "object": [thing.name for thing in document.objects],
        "fluent": [fluent.name for fluent in document.fluents],
        "type": [type_.name for type_ in document.types],
    }
    # A new name must not be the name of another element.
    avoid = {name.lower() for names in declared.values() for name in names}
    taken = {word: f"PDDL's own word {word!r}" for word in sorted(RESERVED)}
    written = {kind: _spell(kind, names, taken, avoid, rename) for kind, names in declared.items()}
    visible = list(dict.fromkeys(_visible_variables(document)))
    used: dict[str, str] = {}
    spelled = _spell("variable", visible, used, {name.lower() for name in visible}, rename)
    if dangers:
        conditions = [entry.condition for entry in document.dangers]
        hidden = [name for name in dict.fromkeys(_quantified_types(conditions)) if name not in spelled]
        spelled |= _spell("variable", hidden, used, {name.lower() for name in hidden}, rename)
    return PddlNames(written["action"], written["object"], written["fluent"], written["type"], spelled)


def _spell(kind: str, names: Iterable[str], taken: dict[str, str], avoid: set[str], rename: bool) -> dict[str, str]:
    """Give each name an unused spelling, and note it in ``taken`` (lower-case name to who has it)."""
    spelled = {}
    for name in names:
        written = name
        if name.lower() in taken:
            if not rename:
                raise NotExpressible(
                    f"PDDL cannot distinguish the {kind} {name!r} from {taken[name.lower()]}",
                    remedy=f"give the {kind} another name (case does not count), or write with rename=True",
                )
            suffixes = (str(number) for number in itertools.count(2))
            written = next(
                candidate
                for suffix in itertools.chain((kind,), suffixes)
                if (candidate := f"{name}_{suffix}").lower() not in taken and candidate.lower() not in avoid
            )
        taken[written.lower()] = f"the {kind} {name!r}"
        spelled[name] = written
    return spelled


def _visible_variables(document: Document) -> Iterator[str]:
    """Yield every parameter and quantified variable outside the danger entries."""
    for fluent in document.fluents:
        yield from (parameter.name for parameter in fluent.parameters)
    for action in document.actions:
        yield from (parameter.name for parameter in action.parameters)
    for action in document.actions:
        yield from _quantified_types((action.precondition, *(effect.condition for effect in action.effects)))
    yield from _quantified_types((document.goal,))


def _quantified_types(exprs: Iterable[Expr]) -> Iterator[str]:
    for expr in exprs:
        for node in walk(expr):
            if isinstance(node, tuple) and node[0] in QUANTIFIERS:
                yield from (name for name, _ in node[1])


class DeclaredNames:
    """The names that PDDL and its sidecar have declared, and the document's names for them; case does not count.

    Args:
        table: ``{category: {written: original}}`` as in the sidecar; a name that is not in it keeps the spelling of
            its declaration (a variable that of its first use).
    """

    def __init__(self, table: Mapping[str, Mapping[str, str]]) -> None:
        self._table = {
            category: {written.lower(): name for written, name in table.get(category, {}).items()}
            for category in CATEGORIES
        }
        self._names: dict[str, dict[str, str]] = {category: {} for category in CATEGORIES}

    def declare(self, category: str, written: str) -> str:
        """Return the document's name for a name, which is declared if it is not yet.

        Callers who want it to be new ask ``find`` first.
        """
        key = written.lower()
        return self._names[category].setdefault(key, self._table[category].get(key, written))

    def find(self, category: str, written: str) -> str | None:
        """Return the document's name for a declared name; None if it is not declared."""
        if category == "types" and written.lower() == ROOT_TYPE:
            return ROOT_TYPE
        return self._names[category].get(written.lower())

    def remedy(self, category: str, written: str) -> str:
        """Return the remedy for a name that is not declared: a close one, or the list of those that are."""
        known = sorted(self._names[category])
        close = difflib.get_close_matches(written.lower(), known, n=1)
        return f"did you mean {close[0]}?" if close else f"declared {category}: {', '.join(known[:12]) or 'none'}"

    def undeclared_names(self) -> Iterator[tuple[str, str]]:
        """Yield ``(category, written)`` for the table's names that were not declared."""
        for category, renamed in self._table.items():
            yield from ((category, written) for written in renamed if written not in self._names[category])


class LooseNames(DeclaredNames):
    """Declared names by what is written; a name that is not declared stays as it is written."""

    def __init__(self) -> None:
        super().__init__({})

    def find(self, category: str, written: str) -> str:
        """Return the declared spelling of a name, or the name itself."""
        return super().find(category, written) or written
