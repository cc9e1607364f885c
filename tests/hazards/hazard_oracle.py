"""A second reading of hazard maps that shares no code with the detector: every rule is tried on every ground instance.

A rule is a dictionary as it stands in the YAML, with its condition as the JSON of documents. A state is a dictionary of
what is not false or 0, as in ``tests.formalism.oracle``.
"""

from __future__ import annotations

from typing import Any

from tests.formalism.oracle import Oracle

Rule = dict[str, Any]
Step = tuple[str, tuple[str, ...]]
State = dict[tuple[str, ...], Any]


def alike(pattern: str, name: str) -> bool:
    """Whether a name matches a pattern of letters, ``*`` and ``?``, whatever the case."""
    if not pattern:
        return not name
    if pattern[0] == "*":
        return alike(pattern[1:], name) or (bool(name) and alike(pattern, name[1:]))
    return bool(name) and pattern[0].lower() in ("?", name[0].lower()) and alike(pattern[1:], name[1:])


class HazardOracle:
    """Violations of plans of one task, given as JSON, under rules."""

    def __init__(self, task: dict[str, Any], process: list[Rule], termination: list[Rule]) -> None:
        self.oracle = Oracle(task)
        self.process = process
        self.termination = termination

    # Which rules apply

    def types_of(self, name: str) -> list[str]:
        found = [self.oracle.kind_of[name]]
        while found[-1] != "object":
            found.append(self.oracle.parent[found[-1]])
        return found

    def allows(self, pattern: str, name: str) -> bool:
        return any(alike(pattern, each) for each in (name, *self.types_of(name)))

    def allowed(self, patterns: list[str], parameters: list[list[str]]) -> list[list[str]] | None:
        """The objects that the rule allows for each parameter; None where it does not fit."""
        if len(patterns) > len(parameters):
            return None
        padded = [*patterns, *["*"] * (len(parameters) - len(patterns))]
        found = [
            [name for name in self.oracle.members(kind) if self.allows(pattern, name)]
            for pattern, (_, kind) in zip(padded, parameters, strict=True)
        ]
        return found if all(found) else None

    def is_subtype(self, kind: str, wanted: str) -> bool:
        while kind not in (wanted, "object"):
            kind = self.oracle.parent[kind]
        return kind == wanted

    def fits(self, cond: Any, scope: dict[str, str]) -> bool:
        """Whether a condition names only what is there, each thing where its type belongs."""
        if isinstance(cond, bool | int):
            return True
        head, *rest = cond
        if head == "fluent":
            wanted = [kind for _, kind in self.oracle.fluents[rest[0]]["parameters"]] if self.knows(rest[0]) else None
            kinds = [scope.get(arg, self.oracle.kind_of.get(arg)) for arg in rest[1:]]
            if wanted is None or len(wanted) != len(kinds) or None in kinds:
                return False
            return all(self.is_subtype(str(kind), want) for kind, want in zip(kinds, wanted, strict=True))
        if head == "same":
            return all(arg in scope or arg in self.oracle.kind_of for arg in rest)
        if head in ("exists", "forall"):
            return self.fits(rest[1], {**scope, **dict(rest[0])})
        return all(self.fits(part, scope) for part in rest)

    def knows(self, fluent: str) -> bool:
        return fluent in self.oracle.fluents

    # What is read

    def reads(self, cond: Any, env: dict[str, str]) -> set[tuple[str, ...]]:
        if isinstance(cond, bool | int) or cond[0] == "same":
            return set()
        if cond[0] == "fluent":
            return {self.oracle.atom(cond, env)}
        if cond[0] in ("exists", "forall"):
            return {atom for inner in self.oracle.environments(cond[1], env) for atom in self.reads(cond[2], inner)}
        return {atom for part in cond[1:] for atom in self.reads(part, env)}

    # Violations

    def fires(self, rule: Rule, step: Step, state: State) -> bool:
        name, args = step
        parameters = self.oracle.actions[name]["parameters"]
        allowed = self.allowed(rule.get("arguments", []), parameters)
        if not alike(rule["action"], name) or allowed is None:
            return False
        if not all(arg in among for arg, among in zip(args, allowed, strict=True)):
            return False
        if rule.get("when") is None:
            return True
        numbered = {f"?{place}": kind for place, (_, kind) in enumerate(parameters, 1)}
        env = {f"?{place}": arg for place, arg in enumerate(args, 1)}
        return self.fits(rule["when"], numbered) and bool(self.oracle.holds(rule["when"], env, state))

    def remains(self, rule: Rule, states: list[State]) -> tuple[bool, bool, list[str] | None]:
        """Whether a termination rule fires at the end, whether that is inherited, and the facts that it counts."""
        if "condition" in rule:
            if not self.fits(rule["condition"], {}) or not self.oracle.holds(rule["condition"], {}, states[-1]):
                return False, False, None
            read = self.reads(rule["condition"], {})
            facts = None
        else:
            fluent = self.oracle.fluents.get(rule["fluent"])
            if fluent is None or fluent["value"] == "integer":
                return False, False, None
            allowed = self.allowed(rule.get("arguments", []), fluent["parameters"])
            if allowed is None:
                return False, False, None
            every = [(rule["fluent"],)]
            for among in allowed:
                every = [(*atom, name) for atom in every for name in among]
            read = set(every)
            held = [atom for atom in every if states[-1].get(atom)]
            if len(held) < rule.get("at_least", 1):
                return False, False, None
            facts = ["(" + " ".join(atom) + ")" for atom in held]
        facts_of = [{(atom, state[atom]) for atom in read if state.get(atom)} for state in states]
        return True, all(each == facts_of[0] for each in facts_of), facts

    def violations(self, text: str, attempted: bool = False) -> tuple[list[tuple[Any, ...]], bool]:
        """``(kind, place of the rule, step, inherited, facts)`` of each violation, and whether all was done."""
        states: list[State] = [self.oracle.start]
        found: list[tuple[Any, ...]] = []
        whole = True
        for number, step in enumerate(self.oracle.read(text), 1):
            outcome = None if step is None else self.oracle.step(*step, states[-1])
            for place, rule in enumerate(self.process, 1):
                # A rule has no condition, either, where that is an empty conjunction.
                plain = rule.get("when") in (None, ["and"])
                if step is None or (outcome is None and not (attempted and plain)):
                    continue
                if self.fires(rule, step, states[-1]):
                    found.append(("process", place, number, False, None))
            if outcome is None:
                whole = False
                break
            states.append(outcome[0])
        for place, rule in enumerate(self.termination, 1):
            fires, inherited, facts = self.remains(rule, states)
            if fires:
                found.append(("termination", place, None, inherited, facts))
        return found, whole
