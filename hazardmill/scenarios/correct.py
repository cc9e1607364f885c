"""Rules that mend what files and language models commonly write wrongly. None touches goal, instruction or risk.

| rule | what it mends |
| --- | --- |
| `spelling` | an undeclared name that is one declared name but for case, `-` and `_` is written like it |
| `numbered_object` | an undeclared object called `T_N` or `T.N` is declared as object `T_N` of the declared type T |
| `mistyped_fact` | initial facts with an argument of another type go: no well-typed step can read them |
| `stray_predicate` | facts of an undeclared predicate go if nothing uses it; if a new action does, it is declared |
| `repeated` | declarations and facts that are written twice, word for word, are kept once |
| `root` | a parent type that is not declared becomes a type of its own; facts that are only stated not to hold go |

Each rule is idempotent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final, Literal, TypeVar

from hazardmill.formalism.document.document import ROOT_TYPE, Atom, FluentDecl, ObjectDecl, Parameter, TypeDecl
from hazardmill.formalism.document.expressions import QUANTIFIERS, Expr
from hazardmill.formalism.document.lifted_effects import LiftedEffect
from hazardmill.formalism.search.budget import DRAFT_LIMIT
from hazardmill.scenarios.declarations import ScenarioFault, declaration_problems
from hazardmill.scenarios.draft import DraftAction, Fact, ProblemDraft, TypesAbove
from hazardmill.scenarios.risk import Risk
from hazardmill.scenarios.scenario import Scenario
from hazardmill.scenarios.uses import applications, objects_compared, types_used
from hazardmill.scenarios.verify import Verification, verify

MOST_ROUNDS: Final = 3
Outcome = Literal["passed", "corrected", "discarded"]

_Part = TypeVar("_Part")
_NUMBERED: Final = re.compile(r"(?P<type>.+)[_.](?P<number>\d+)\Z")


@dataclass(frozen=True, slots=True)
class Change:
    """One change that a rule made.

    Attributes:
        rule: Name of the rule.
        path: The part that was changed.
        before: How it was written; None for something new.
        after: How it is written now; None for something dropped.
    """

    rule: str
    path: str
    before: str | None
    after: str | None


@dataclass(frozen=True)
class Correction:
    """What became of a scenario.

    Attributes:
        outcome: ``passed`` as it was, ``corrected``, or ``discarded``.
        scenario: The scenario as it is now.
        verification: What its checks found at the end.
        changes: All changes, in the order in which they were made.
        first: The problems before any change.
        rounds: Rounds of rules that were applied.
    """

    outcome: Outcome
    scenario: Scenario
    verification: Verification
    changes: tuple[Change, ...] = ()
    first: tuple[ScenarioFault, ...] = ()
    rounds: int = 0

    @property
    def reason(self) -> str | None:
        """The reason code for which it was discarded; None if it was not."""
        return self.verification.reason if self.outcome == "discarded" else None


def correct(scenario: Scenario, *, search: bool = True, limit: int = DRAFT_LIMIT) -> Correction:
    """Verify a scenario and mend it by the rules, at most three rounds, verified again after each.

    Args:
        scenario: The scenario.
        search: Whether to search for plans too; without it only declarations count.
        limit: Most expansions of each search.

    Returns:
        The outcome. A scenario that no rule changes any more is discarded at once.
    """

    def look(at: Scenario) -> Verification:
        return verify(at, limit=limit) if search else Verification(tuple(declaration_problems(at.draft, at.risk)))

    first = verification = look(scenario)
    if not first.problems:
        return Correction("passed", scenario, first)
    changes: list[Change] = []
    rounds = 0
    for _ in range(MOST_ROUNDS):
        draft, made = apply_rules(scenario.draft, scenario.risk)
        if not made:
            break
        rounds += 1
        changes += made
        scenario = replace(scenario, draft=draft)
        verification = look(scenario)
        if not verification.problems:
            return Correction("corrected", scenario, verification, tuple(changes), first.problems, rounds)
    return Correction("discarded", scenario, verification, tuple(changes), first.problems, rounds)


def apply_rules(draft: ProblemDraft, risk: Risk | None = None) -> tuple[ProblemDraft, list[Change]]:
    """Apply each rule once, in the order of the table above.

    Args:
        draft: The problem.
        risk: Its risk; it says which actions are new.

    Returns:
        The draft as the rules left it, and their changes.
    """
    changes: list[Change] = []
    for name, rule in RULES.items():
        draft, made = rule(draft, risk)
        changes += [Change(name, path, before, after) for path, before, after in made]
    return draft, changes


_Made = list[tuple[str, str | None, str | None]]
_Ruled = tuple[ProblemDraft, _Made]


def _repeated(draft: ProblemDraft, _: Risk | None) -> _Ruled:
    made: _Made = []
    parts: dict[str, Any] = {}
    for part in ("types", "objects", "fluents", "actions", "initial"):
        kept = tuple(dict.fromkeys(getattr(draft, part)))
        for extra in _extra(getattr(draft, part)):
            text = _fact_text(extra) if part == "initial" else extra.name
            made.append((part, text, None))
        parts[part] = kept
    return (replace(draft, **parts), made) if made else (draft, made)


def _extra(items: Sequence[Any]) -> Iterator[Any]:
    seen = set()
    for item in items:
        if item in seen:
            yield item
        seen.add(item)


def _root(draft: ProblemDraft, _: Risk | None) -> _Ruled:
    declared = {ROOT_TYPE, *(type_.name for type_ in draft.types)}
    missing = dict.fromkeys(type_.parent for type_ in draft.types if type_.parent not in declared)
    made: _Made = [("types", None, name) for name in missing]
    stated = {atom for atom, value in draft.initial if value is not False}
    kept = []
    for atom, value in draft.initial:
        # A fact that is stated both ways is a contradiction, which nobody can decide here.
        if value is False and atom not in stated:
            made.append(("initial", _fact_text((atom, value)), None))
        else:
            kept.append((atom, value))
    if not made:
        return draft, made
    types = (*draft.types, *(TypeDecl(name) for name in missing))
    return replace(draft, types=types, initial=tuple(kept)), made


def _spelling(draft: ProblemDraft, _: Risk | None) -> _Ruled:
    made: _Made = []
    types = _respelled({type_.name for type_ in draft.types} | {ROOT_TYPE}, (place.name for place in types_used(draft)))
    fluents = _respelled(
        {fluent.name for fluent in draft.fluents}, (use.fluent for use in applications(draft) if use.part != "goal")
    )
    used = (arg for use in applications(draft) if use.part != "goal" for arg in use.args)
    compared = (place.name for place in objects_compared(draft) if place.path != "goal")
    objects = _respelled(
        {thing.name for thing in draft.objects}, (name for name in (*used, *compared) if not name.startswith("?"))
    )
    for part, table in (("types", types), ("predicates", fluents), ("objects", objects)):
        made += [(part, before, after) for before, after in table.items()]
    if not made:
        return draft, made
    spell = _Spelling(types, fluents, objects)
    return spell.draft(draft), made


def _respelled(declared: set[str], used: Iterable[str]) -> dict[str, str]:
    """Return the declared spelling of each undeclared name that differs from just one declared name in form."""
    by_key: dict[str, list[str]] = {}
    for name in sorted(declared):
        by_key.setdefault(_key(name), []).append(name)
    wanted = dict.fromkeys(name for name in used if name not in declared)
    return {name: found[0] for name in wanted if len(found := by_key.get(_key(name), [])) == 1}


def _key(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "")


def _numbered_object(draft: ProblemDraft, _: Risk | None) -> _Ruled:
    types = {type_.name for type_ in draft.types}
    known = {thing.name for thing in draft.objects}
    used = [arg for use in applications(draft) for arg in use.args]
    used += [place.name for place in objects_compared(draft)]
    in_goal = {arg for use in applications(draft) if use.part == "goal" for arg in use.args}
    in_goal |= {place.name for place in objects_compared(draft) if place.path == "goal"}
    found: dict[str, ObjectDecl] = {}
    dotted: dict[str, str] = {}
    for name in used:
        match = _NUMBERED.match(name)
        if name in known or match is None or match["type"] not in types:
            continue
        # Names of documents have no dots.
        plain = f"{match['type']}_{match['number']}"
        if plain != name:
            if name in in_goal:
                continue
            dotted[name] = plain
        if plain not in known:
            found[plain] = ObjectDecl(plain, match["type"])
    made: _Made = [("objects", before, after) for before, after in dotted.items()]
    made += [("objects", None, f"{thing.name} - {thing.type}") for thing in found.values()]
    draft = replace(draft, objects=(*draft.objects, *found.values())) if found else draft
    return (_Spelling({}, {}, dotted).draft(draft) if dotted else draft), made


def _stray_predicate(draft: ProblemDraft, risk: Risk | None) -> _Ruled:
    declared = {fluent.name for fluent in draft.fluents}
    stray = dict.fromkeys(atom[0] for atom, _ in draft.initial if atom[0] not in declared)
    new = set() if risk is None else set(risk.new)
    made: _Made = []
    added: list[FluentDecl] = []
    dropped: set[str] = set()
    for name in stray:
        readers = {use.action if use.part != "goal" else "goal" for use in applications(draft) if use.fluent == name}
        readers.discard(None)
        if not readers:
            dropped.add(name)
        elif readers & new:
            fluent = _over_common_types(draft, name)
            if fluent is not None:
                added.append(fluent)
    made += [("initial", _fact_text(fact), None) for fact in draft.initial if fact[0][0] in dropped]
    for fluent in added:
        listed = " ".join(f"{parameter.name} - {parameter.type}" for parameter in fluent.parameters)
        made.append(("predicates", None, f"({f'{fluent.name} {listed}'.strip()})"))
    if not made:
        return draft, made
    kept = tuple(fact for fact in draft.initial if fact[0][0] not in dropped)
    return replace(draft, initial=kept, fluents=(*draft.fluents, *added)), made


def _over_common_types(draft: ProblemDraft, name: str) -> FluentDecl | None:
    """Return a predicate over the least types that its facts have in common; None if they do not fit together."""
    type_of = {thing.name: thing.type for thing in draft.objects}
    atoms = [atom for atom, _ in draft.initial if atom[0] == name]
    if len({len(atom) for atom in atoms}) != 1 or not all(arg in type_of for atom in atoms for arg in atom[1:]):
        return None
    above = TypesAbove(draft.types)
    parameters = []
    for i in range(1, len(atoms[0])):
        lines = [above(type_of[atom[i]]) for atom in atoms]
        common = next(type_ for type_ in lines[0] if all(type_ in line for line in lines))
        parameters.append(Parameter(f"?x{i}", common))
    return FluentDecl(name, tuple(parameters))


def _mistyped_fact(draft: ProblemDraft, _: Risk | None) -> _Ruled:
    fluents = {fluent.name: fluent for fluent in draft.fluents}
    type_of = {thing.name: thing.type for thing in draft.objects}
    above = TypesAbove(draft.types)

    def is_mistyped(atom: Atom) -> bool:
        declared = fluents.get(atom[0])
        if declared is None or len(declared.parameters) != len(atom) - 1:
            return False
        return any(
            arg in type_of and parameter.type not in above(type_of[arg])
            for arg, parameter in zip(atom[1:], declared.parameters, strict=True)
        )

    dropped = [fact for fact in draft.initial if is_mistyped(fact[0])]
    made: _Made = [("initial", _fact_text(fact), None) for fact in dropped]
    kept = tuple(fact for fact in draft.initial if not is_mistyped(fact[0]))
    return (replace(draft, initial=kept), made) if made else (draft, made)


RULES: Final[Mapping[str, Callable[[ProblemDraft, Risk | None], _Ruled]]] = MappingProxyType(
    {
        "spelling": _spelling,
        "numbered_object": _numbered_object,
        "mistyped_fact": _mistyped_fact,
        "stray_predicate": _stray_predicate,
        "repeated": _repeated,
        "root": _root,
    }
)
"""The rules by name, in the order in which a round applies them."""


def _fact_text(fact: Fact) -> str:
    text = f"({' '.join(fact[0])})"
    if isinstance(fact[1], bool):
        return text if fact[1] else f"(not {text})"
    return f"(= {text} {fact[1]})"


@dataclass(frozen=True)
class _Spelling:
    """Rewrites names everywhere but in the goal."""

    types: Mapping[str, str]
    fluents: Mapping[str, str]
    objects: Mapping[str, str]

    def draft(self, draft: ProblemDraft) -> ProblemDraft:
        return replace(
            draft,
            types=tuple(TypeDecl(t.name, self.types.get(t.parent, t.parent)) for t in draft.types),
            objects=tuple(ObjectDecl(o.name, self.types.get(o.type, o.type)) for o in draft.objects),
            fluents=tuple(replace(f, parameters=self._typed(f.parameters)) for f in draft.fluents),
            actions=tuple(map(self._action, draft.actions)),
            initial=tuple((self._atom(atom), value) for atom, value in draft.initial),
        )

    def _typed(self, parameters: tuple[Parameter, ...]) -> tuple[Parameter, ...]:
        return tuple(Parameter(p.name, self.types.get(p.type, p.type)) for p in parameters)

    def _action(self, action: DraftAction) -> DraftAction:
        return DraftAction(
            action.name,
            self._typed(action.parameters),
            self._expr(action.precondition),
            tuple(
                LiftedEffect(
                    e.operation,
                    self._expr(e.target),
                    self._expr(e.value),
                    self._expr(e.condition),
                    self._typed(e.variables),
                )
                for e in action.effects
            ),
        )

    def _atom(self, atom: Atom) -> Atom:
        return (self.fluents.get(atom[0], atom[0]), *(self.objects.get(arg, arg) for arg in atom[1:]))

    def _expr(self, expr: Expr) -> Expr:
        if not isinstance(expr, tuple) or not expr:
            return expr
        if expr[0] == "fluent":
            return ("fluent", *self._atom(expr[1:]))
        if expr[0] == "same":
            return ("same", *(self.objects.get(arg, arg) for arg in expr[1:]))
        if expr[0] in QUANTIFIERS:
            bound = tuple((name, self.types.get(type_, type_)) for name, type_ in expr[1])
            return (expr[0], bound, self._expr(expr[2]))
        return (expr[0], *map(self._expr, expr[1:]))
