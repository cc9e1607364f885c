"""A second reading of action sequencing that shares no code with the executor.

A state is a set of tuples ``(fluent, object..., value)`` that holds what is not false or 0. Every deletion of an
earlier step is tried by executing the plan again from the start, and every insertion of any step at any place.
"""

from __future__ import annotations

from typing import Any

from tests.formalism.oracle import Oracle

State = frozenset[tuple[Any, ...]]
Step = tuple[str, tuple[str, ...]]


class LabelOracle:
    """Labels plans of one task, given as JSON."""

    def __init__(self, task: dict[str, Any]) -> None:
        self.oracle = Oracle(task)
        self.start: State = frozenset((*atom, value) for atom, value in self.oracle.start.items() if value)

    # States and steps

    @staticmethod
    def _as_dictionary(state: State) -> dict[tuple[str, ...], Any]:
        return {fact[:-1]: fact[-1] for fact in state}

    def precondition(self, step: Step, state: State) -> bool:
        action = self.oracle.actions[step[0]]
        env = self.oracle.environment(action, step[1])
        return bool(self.oracle.holds(action["precondition"], env, self._as_dictionary(state)))

    def effects(self, step: Step, state: State) -> State | None:
        """The state that the effects lead to, whatever the precondition; None on a conflict, or out of bounds."""
        action, before = self.oracle.actions[step[0]], self._as_dictionary(state)
        results = self.oracle.results(action, self.oracle.environment(action, step[1]), before)
        if results is None or results[1]:
            return None
        facts = {(*atom, value) for atom, value in before.items() if atom not in results[0]}
        return frozenset(facts | {(*atom, value) for atom, value in results[0].items() if value})

    def after(self, step: Step | None, state: State) -> State | None:
        if step is None or not self.precondition(step, state):
            return None
        return self.effects(step, state)

    def succeeds(self, steps: list[Step | None]) -> bool:
        state: State | None = self.start
        for step in steps:
            state = None if state is None else self.after(step, state)
        return state is not None and self.goal(state)

    def goal(self, state: State) -> bool:
        return bool(self.oracle.holds(self.oracle.task["goal"], {}, self._as_dictionary(state)))

    # Words

    def words(self, text: str) -> list[list[str]]:
        found: list[list[str]] = []
        inside: str | None = None
        for letter in text:
            if letter == "(":
                inside = ""
            elif letter == ")":
                if inside is not None and inside.replace(";", " ").split():
                    found.append(inside.replace(";", " ").split())
                inside = None
            elif inside is not None:
                inside += letter
        return found

    def breaks_grammar(self, words: list[str]) -> bool:
        name = self.oracle.named(words[0], list(self.oracle.actions))
        if name is None or len(self.oracle.actions[name]["parameters"]) != len(words) - 1:
            return True
        return any(self.oracle.named(word, list(self.oracle.kind_of)) is None for word in words[1:])

    # Labels

    def fitting(self, text: str) -> tuple[int | None, list[str]]:
        """The first step at which a rule fits, and all rules that fit there, whatever masks them.

        At the end of a plan without such a step there is exactly one.
        """
        words = self.words(text)
        steps: list[Step | None] = [self.oracle.ground(each) for each in words]
        states = [self.start]
        for index, step in enumerate(steps):
            rules = []
            if self.breaks_grammar(words[index]):
                rules.append("grammar")
            if step is None:
                if not rules:
                    rules.append("affordance")
                return index + 1, rules
            state = states[-1]
            if self.effects(step, state) is None:
                rules.append("affordance")
            if not self.precondition(step, state):
                if self.effects(step, state) == state or any(
                    self.succeeds(steps[:earlier] + steps[earlier + 1 :]) for earlier in range(index)
                ):
                    rules.append("additional_step")
                if any(self.precondition(step, before) for before in states[:-1]) or any(
                    self.precondition(step, later) for later in self.skipping(steps[index + 1 :], state)
                ):
                    rules.append("wrong_temporal")
                rules.append("missing_step")
            if rules:
                return index + 1, rules
            after = self.after(step, state)
            assert after is not None
            states.append(after)
        return None, ["success" if self.goal(states[-1]) else "unmet_goal"]

    def skipping(self, steps: list[Step | None], state: State) -> list[State]:
        """The states after the steps that can be done."""
        found = []
        for step in steps:
            after = self.after(step, state)
            if after is not None:
                state = after
                found.append(state)
        return found

    def label(self, text: str) -> tuple[str, int | None]:
        place, rules = self.fitting(text)
        return rules[0], place

    # Insertions

    def insertion(self, text: str) -> int | None:
        """How many steps must be inserted for the plan to succeed; None where no insertion makes it.

        ``reached[k]`` holds the states after the first k steps with so many insertions as have been tried.
        """
        steps: list[Step | None] = [self.oracle.ground(each) for each in self.words(text)]
        ground: list[Step] = list(self.oracle.ground_actions())
        reached: list[set[State]] = [{self.start}, *(set() for _ in steps)]
        size, inserted = 0, 0
        while True:
            for place, step in enumerate(steps):
                reached[place + 1] |= {after for state in reached[place] if (after := self.after(step, state))}
            if any(self.goal(state) for state in reached[-1]):
                return inserted
            if sum(map(len, reached)) == size:
                return None
            size, inserted = sum(map(len, reached)), inserted + 1
            reached = [
                states | {after for state in states for step in ground if (after := self.after(step, state))}
                for states in reached
            ]
