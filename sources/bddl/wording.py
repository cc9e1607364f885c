"""Literals and goals of an activity in words, for a reader who does not know BDDL."""

from __future__ import annotations

from collections import Counter
from typing import Final

from .expressions import Group
from .problem import AGENT, CONNECTIVES, IMPLICATION, QUANTIFIERS, Problem, plain, quantified, readable

# Predicate to what is said between its arguments when it holds and when it does not.
_PHRASES: Final = {
    "cooked": ("is cooked", "is not cooked"),
    "frozen": ("is frozen", "is not frozen"),
    "open": ("is open", "is closed"),
    "folded": ("is folded", "is not folded"),
    "unfolded": ("is unfolded", "is not unfolded"),
    "toggled_on": ("is switched on", "is switched off"),
    "hot": ("is hot", "is not hot"),
    "on_fire": ("is on fire", "is not on fire"),
    "future": ("does not exist yet", "exists already"),
    "real": ("has been made", "has not been made"),
    "broken": ("is broken", "is not broken"),
    "saturated": ("is soaked with", "is not soaked with"),
    "covered": ("is covered with", "is not covered with"),
    "filled": ("is filled with", "is not filled with"),
    "contains": ("contains", "does not contain"),
    "ontop": ("is on top of", "is not on top of"),
    "nextto": ("is next to", "is not next to"),
    "under": ("is under", "is not under"),
    "touching": ("touches", "does not touch"),
    "inside": ("is inside", "is not inside"),
    "overlaid": ("is laid over", "is not laid over"),
    "attached": ("is attached to", "is not attached to"),
    "draped": ("is draped over", "is not draped over"),
    "insource": ("supplies", "does not supply"),
    "inroom": ("is in", "is not in"),
    "grasped": ("holds", "does not hold"),
}
# Their second argument is a substance: "filled with water", not "with the water".
_OF_SUBSTANCE: Final = frozenset({"saturated", "covered", "filled", "contains", "insource"})
_INLINE: Final = {"forall": "each", "exists": "some"}


class Wording:
    """Names the objects of one problem by their type, with a number if there are several."""

    def __init__(self, problem: Problem) -> None:
        self._types = problem.objects
        self._counts = Counter(problem.objects.values())

    def init(self, literals: list[Group]) -> list[str]:
        """Return one sentence per literal."""
        return [self.condition(literal, {}) for literal in literals]

    def goal(self, condition: Group) -> str:
        """Return the goal as one sentence."""
        return self.condition(condition, {})

    def condition(self, group: Group, bound: dict[str, str]) -> str:
        """Return any condition in words; ``bound`` maps a variable to its phrase."""
        if group.head in CONNECTIVES:
            return f" {group.head} ".join(
                self._part(part, bound, alone=len(group.groups) == 1) for part in group.groups
            )
        if group.head == IMPLICATION:
            premise, conclusion = (self._part(part, bound) for part in group.groups)
            return f"if {premise}, then {conclusion}"
        if group.head == "not":
            inner = group.groups[0]
            if inner.head in _PHRASES:
                return self._literal(inner, bound, holds=False)
            return f"it is not so that {self._part(inner, bound)}"
        if group.head in QUANTIFIERS:
            return self._quantified(group, bound)
        return self._literal(group, bound, holds=True)

    def _part(self, group: Group, bound: dict[str, str], *, alone: bool = False) -> str:
        """Return a condition inside another one, in parentheses unless it is short and clear."""
        text = self.condition(group, bound)
        simple = group.head in _PHRASES or (group.head in _INLINE and _is_plain(group, group.groups[-1]))
        return text if alone or simple or (group.head == "not" and group.groups[0].head in _PHRASES) else f"({text})"

    def _quantified(self, group: Group, bound: dict[str, str]) -> str:
        variables, body = quantified(group)
        names = [readable(type_) for _, type_ in variables]
        number = group.groups[0].words[0].text if QUANTIFIERS[group.head].startswith("n") else ""
        if group.head in _INLINE:
            variable, article = variables[0][0], _INLINE[group.head]
            if _is_plain(group, body):
                return self.condition(body, {**bound, variable: f"{article} {names[0]}"})
            lead = f"for {article} {names[0]}"
        elif group.head == "forn":
            lead = f"for exactly {number} objects of kind {names[0]}"
        elif group.head == "forpairs":
            lead = f"pairing each {names[0]} with a {names[1]} of its own"
        else:
            lead = f"for {number} pairs of {names[0]} and {names[1]}"
        those = {variable: f"that {name}" for (variable, _), name in zip(variables, names, strict=True)}
        return f"{lead}, {self.condition(body, bound | those)}"

    def _literal(self, group: Group, bound: dict[str, str], *, holds: bool) -> str:
        first, *rest = [plain(word.text) for word in group.words[1:]]
        words = [self._name(first, bound), _PHRASES[group.head][0 if holds else 1]]
        for name in rest:
            if group.head == "inroom":
                words.append(f"the {readable(name)}")
            elif group.head in _OF_SUBSTANCE and name not in bound:
                words.append(readable(self._types.get(name, name)))
            else:
                words.append(self._name(name, bound))
        return " ".join(words)

    def _name(self, name: str, bound: dict[str, str]) -> str:
        if name in bound:
            return bound[name]
        type_ = self._types.get(name)
        if type_ is None:
            return f"the {readable(name)}"
        if type_ == AGENT:
            return "the robot"
        if self._counts[type_] == 1:
            return f"the {readable(type_)}"
        return f"{readable(type_)} {name.rpartition('_')[2]}"


def _is_plain(group: Group, body: Group) -> bool:
    """Whether "each x is y" says what the quantified condition says, without a "for each x," before it."""
    if body.head in _PHRASES:
        return True
    if body.head == "not":
        return body.groups[0].head in _PHRASES
    # "each toy is inside some box" reads as it should; "each toy" inside "some box" would not.
    return group.head == "forall" and body.head == "exists" and quantified(body)[1].head in _PHRASES
