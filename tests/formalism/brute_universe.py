"""U by brute force: the naive oracle's states, one start after the other, with nothing shared but the definition."""

from __future__ import annotations

import itertools

from .oracle import Oracle


class TooLarge(Exception):
    """More states than a test should look at."""


def atoms(expr, env, oracle):
    """The ground fluents that a lifted condition reads."""
    if isinstance(expr, bool | int) or expr[0] == "same":
        return set()
    if expr[0] == "fluent":
        return {oracle.atom(expr, env)}
    if expr[0] in ("exists", "forall"):
        return set().union(*(atoms(expr[2], inner, oracle) for inner in oracle.environments(expr[1], env)))
    return set().union(*(atoms(part, env, oracle) for part in expr[1:]))


def context_of(oracle, action, conditions):
    read = set()
    for env in oracle.environments(oracle.actions[action]["parameters"], {}):
        for condition in conditions:
            read |= {atom for atom in atoms(condition, env, oracle) if oracle.fluents[atom[0]]["kind"] == "context"}
    return sorted(read)


def situations(task, action, conditions, most=2_000):
    """``[(state, (name, args), environment, flips)]`` in the order of U, and whether only single flips were tried."""
    oracle = Oracle(task)
    context = context_of(oracle, action, conditions)
    sizes = range(len(context) + 1 if len(context) <= 8 else 2)
    ground = list(oracle.ground_actions())
    met, found = set(), []
    for flips in itertools.chain.from_iterable(itertools.combinations(context, size) for size in sizes):
        start = {atom: value for atom, value in oracle.start.items() if value}
        for atom in flips:
            start = oracle.put(start, atom, not oracle.get(start, atom))
        queue = [] if frozenset(start.items()) in met else [start]
        met.add(frozenset(start.items()))
        for state in queue:
            for name, args in ground:
                outcome = oracle.step(name, args, state)
                if outcome is None:
                    continue
                if name == action:
                    found.append((state, (name, args), oracle.environment(oracle.actions[name], args), flips))
                key = frozenset(outcome[0].items())
                if key not in met:
                    met.add(key)
                    queue.append(outcome[0])
                    if len(met) > most:
                        raise TooLarge
    return found, len(context) > 8


def shown(task, state):
    """As ``readable_state``."""
    oracle = Oracle(task)
    true = sorted(f"({' '.join(atom)})" for atom, value in state.items() if value is True)
    integers = [
        (fluent["name"], *env.values())
        for fluent in task["fluents"]
        if fluent["value"] == "integer"
        for env in oracle.environments(fluent["parameters"], {})
    ]
    return (*true, *sorted(f"(= ({' '.join(atom)}) {oracle.get(state, atom)})" for atom in integers))


def truths(task, action, left, right):
    """For each situation: it, and whether the left and the right condition hold."""
    oracle = Oracle(task)
    found, _ = situations(task, action, (left, right))
    return [(each, oracle.holds(left, each[2], each[0]), oracle.holds(right, each[2], each[0])) for each in found]


def counts(judged):
    """``(both, left only, right only, neither)``."""
    pairs = [(left, right) for _, left, right in judged]
    return tuple(pairs.count(pair) for pair in ((True, True), (True, False), (False, True), (False, False)))
