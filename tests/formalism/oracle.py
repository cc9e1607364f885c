"""A second, naive reading of the formalism: dictionaries, recursion, and nothing of hazardmill but a document's JSON.

A state is a dictionary from ground fluent to value that holds only what is not false or 0.
"""

from __future__ import annotations

import itertools

_REACH = 60
"""How far from its present value an integer without a bound is searched for a fitting one."""


class Oracle:
    def __init__(self, task):
        self.task = task
        self.parent = dict(task["types"])
        self.objects = [(name, kind) for name, kind in task["objects"]]
        self.kind_of = dict(self.objects)
        self.fluents = {fluent["name"]: fluent for fluent in task["fluents"]}
        self.actions = {action["name"]: action for action in task["actions"]}
        self.start = {tuple(atom): value for atom, value in task["initial"]}

    # Types and values

    def fits(self, name, wanted):
        kind = self.kind_of[name]
        while True:
            if kind == wanted:
                return True
            if kind == "object":
                return False
            kind = self.parent[kind]

    def members(self, kind):
        return [name for name, _ in self.objects if self.fits(name, kind)]

    def is_integer(self, atom):
        return self.fluents[atom[0]]["value"] == "integer"

    def get(self, state, atom):
        return state.get(atom, 0 if self.is_integer(atom) else False)

    @staticmethod
    def put(state, atom, value):
        changed = {key: old for key, old in state.items() if key != atom}
        if value:
            changed[atom] = value
        return changed

    @staticmethod
    def atom(expr, env):
        return tuple(env.get(part, part) for part in expr[1:])

    # Conditions and terms

    def number(self, term, env, state):
        if isinstance(term, int):
            return term
        if term[0] == "fluent":
            return self.get(state, self.atom(term, env))
        values = [self.number(part, env, state) for part in term[1:]]
        return sum(values) if term[0] == "+" else values[0] - values[1]

    def environments(self, variables, env):
        for choice in itertools.product(*(self.members(kind) for _, kind in variables)):
            yield {**env, **{name: value for (name, _), value in zip(variables, choice, strict=True)}}

    def holds(self, cond, env, state):
        if isinstance(cond, bool):
            return cond
        head, *rest = cond
        if head == "fluent":
            return self.get(state, self.atom(cond, env))
        if head == "same":
            return env.get(rest[0], rest[0]) == env.get(rest[1], rest[1])
        if head == "not":
            return not self.holds(rest[0], env, state)
        if head == "and":
            return all(self.holds(part, env, state) for part in rest)
        if head == "or":
            return any(self.holds(part, env, state) for part in rest)
        if head == "imply":
            return self.holds(rest[1], env, state) if self.holds(rest[0], env, state) else True
        if head in ("exists", "forall"):
            truths = [self.holds(rest[1], inner, state) for inner in self.environments(rest[0], env)]
            return any(truths) if head == "exists" else all(truths)
        left, right = (self.number(term, env, state) for term in rest)
        return {"=": left == right, "<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}[
            head
        ]

    # Actions

    def environment(self, action, args):
        return {name: arg for (name, _), arg in zip(action["parameters"], args, strict=True)}

    def results(self, action, env, state):
        """``(new values, whether one was clamped, whether one leaves its bounds)``, or None on conflict."""
        booleans, assigned, moved = {}, {}, {}
        for operation, target, value, condition in action["effects"]:
            if not self.holds(condition, env, state):
                continue
            atom = self.atom(target, env)
            if not self.is_integer(atom):
                booleans[atom] = booleans.get(atom, False) or value
                continue
            amount = self.number(value, env, state)
            if operation == "assign":
                assigned.setdefault(atom, set()).add(amount)
            else:
                moved.setdefault(atom, []).append(amount if operation == "increase" else -amount)
        written = dict(booleans)
        outside = False
        for atom in {**assigned, **moved}:
            if len(assigned.get(atom, ())) > 1 or (atom in assigned and atom in moved):
                return None
            value = min(assigned[atom]) if atom in assigned else self.get(state, atom) + sum(moved[atom])
            low, high = self.fluents[atom[0]]["lower"], self.fluents[atom[0]]["upper"]
            if low is not None and value < low:
                value, outside = low, True
            if high is not None and value > high:
                value, outside = high, True
            written[atom] = value
        return written, outside

    def increment(self, action, env, state):
        return sum(
            entry["increment"]
            for entry in self.task["dangers"]
            if entry["action"] == action["name"] and self.holds(entry["condition"], env, state)
        )

    def step(self, name, args, state):
        """``(next state, danger)``, or None where the action is not applicable."""
        action = self.actions[name]
        env = self.environment(action, args)
        if not self.holds(action["precondition"], env, state):
            return None
        results = self.results(action, env, state)
        if results is None or results[1]:
            return None
        after = state
        for atom, value in results[0].items():
            after = self.put(after, atom, value)
        return after, self.increment(action, env, state)

    # Plan strings

    def read(self, text):
        """The actions of a plan string: ``(name, args)``, or None for one that cannot be grounded."""
        actions, inside = [], None
        for letter in text:
            if letter == "(":
                inside = ""
            elif letter == ")":
                if inside is not None and inside.replace(";", " ").split():
                    actions.append(inside.replace(";", " ").split())
                inside = None
            elif inside is not None:
                inside += letter
        return [self.ground(tokens) for tokens in actions]

    @staticmethod
    def named(token, names):
        if token in names:
            return token
        if not all(ord(letter) < 128 for letter in token):
            return None
        alike = [name for name in names if name.lower() == token.lower()]
        return alike[0] if len(alike) == 1 else None

    def ground(self, tokens):
        name = self.named(tokens[0], list(self.actions))
        args = [self.named(token, list(self.kind_of)) for token in tokens[1:]]
        if name is None or None in args or len(args) != len(self.actions[name]["parameters"]):
            return None
        if not all(self.fits(arg, kind) for arg, (_, kind) in zip(args, self.actions[name]["parameters"], strict=True)):
            return None
        return name, tuple(args)

    # Verdicts

    def verdict(self, text):
        """``(feasible, safe, danger)``."""
        state, danger = self.start, self.task["initial_danger"]
        for action in self.read(text):
            outcome = None if action is None else self.step(*action, state)
            if outcome is None:
                return False, False, None
            state, danger = outcome[0], danger + outcome[1]
        if not self.holds(self.task["goal"], {}, state):
            return False, False, None
        return True, danger <= self.task["max_danger"], danger

    # Safety intention

    def intention(self, text, mode):
        """``(holds, danger, flags)``."""
        state, danger, flags = self.start, self.task["initial_danger"], set()
        for action in self.read(text):
            if action is None:
                continue
            decl = self.actions[action[0]]
            env = self.environment(decl, action[1])
            forced = self.force(decl["precondition"], True, env, state, flags)
            results = self.results(decl, env, forced) if self.holds(decl["precondition"], env, forced) else None
            if results is None:
                flags.add("unforceable")
                continue
            if results[1]:
                flags.add("clamped")
            danger += self.increment(decl, env, forced)
            state = forced if mode == "persistent" else state
            for atom, value in results[0].items():
                state = self.put(state, atom, value)
        return danger <= self.task["max_danger"], danger, tuple(sorted(flags))

    def force(self, cond, positive, env, state, flags):
        if isinstance(cond, bool) or cond[0] == "same":
            return state
        head, *rest = cond
        if head == "not":
            return self.force(rest[0], not positive, env, state, flags)
        if head == "fluent":
            return self.put(state, self.atom(cond, env), positive)
        if head in ("=", "<", "<=", ">", ">="):
            return self.move(cond, positive, env, state)
        if head == "imply":
            parts = [(rest[0], not positive, env), (rest[1], positive, env)]
            every = not positive
        elif head in ("and", "or"):
            parts = [(part, positive, env) for part in rest]
            every = (head == "and") == positive
        else:
            parts = [(rest[1], positive, inner) for inner in self.environments(rest[0], env)]
            every = (head == "forall") == positive
        if every:
            for part, sign, inner in parts:
                state = self.force(part, sign, inner, state, flags)
            return state
        if not parts or any(self.holds(part, inner, state) == sign for part, sign, inner in parts):
            return state
        if len(parts) > 1:
            flags.add("relaxation_choice")
        part, sign, inner = parts[0]
        return self.force(part, sign, inner, state, flags)

    def move(self, comparison, positive, env, state):
        if self.holds(comparison, env, state) == positive:
            return state
        for atom in self.integers(comparison, env):
            low, high = self.fluents[atom[0]]["lower"], self.fluents[atom[0]]["upper"]
            present = self.get(state, atom)
            first = present - _REACH if low is None else low
            last = present + _REACH if high is None else high
            for value in sorted(range(first, last + 1), key=lambda value, now=present: (abs(value - now), value)):
                moved = self.put(state, atom, value)
                if self.holds(comparison, env, moved) == positive:
                    return moved
        return state

    def integers(self, expr, env):
        if isinstance(expr, int):
            return []
        if expr[0] == "fluent":
            return [self.atom(expr, env)]
        return [atom for part in expr[1:] for atom in self.integers(part, env)]

    # Search

    def ground_actions(self):
        """All ``(name, args)``, by name, then by the places of the arguments in the list of objects."""
        for name in sorted(self.actions):
            kinds = [kind for _, kind in self.actions[name]["parameters"]]
            yield from ((name, args) for args in itertools.product(*map(self.members, kinds)))

    def best(self, want_safe, most_nodes):
        """The first of the shortest plans, None if there is none; raises OverflowError past ``most_nodes``."""
        limit = self.task["max_danger"]
        actions = list(self.ground_actions())
        start = (frozenset(self.start.items()), min(self.task["initial_danger"], limit + 1))
        layer, seen = {start: ()}, {start}
        while layer:
            fitting = [
                plan
                for (state, danger), plan in layer.items()
                if (danger <= limit) == want_safe and self.holds(self.task["goal"], {}, dict(state))
            ]
            if fitting:
                return [actions[place] for place in min(fitting)]
            following = {}
            for (state, danger), plan in layer.items():
                for place, (name, args) in enumerate(actions):
                    outcome = self.step(name, args, dict(state))
                    if outcome is None:
                        continue
                    node = (frozenset(outcome[0].items()), min(danger + outcome[1], limit + 1))
                    if node in seen or (want_safe and node[1] > limit):
                        continue
                    following[node] = min(following.get(node, (*plan, place)), (*plan, place))
            seen |= following.keys()
            if len(seen) > most_nodes:
                raise OverflowError
            layer = following
        return None


def plan_string(actions):
    return " ".join("(" + " ".join((name, *args)) + ")" for name, args in actions)
