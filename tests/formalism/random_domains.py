"""Random domains whose plans have some length, and random plans for them: mostly a shortest plan with something amiss.

Where ``random_tasks`` draws every form of condition and effect, and plans of a step or two, these have literals, a
bounded integer and a goal that a walk has reached. They depend on their seed and on nothing else.
"""

from __future__ import annotations

import random

from .oracle import Oracle, plan_string

_OBJECTS = [["cup", "thing"], ["Mug", "thing"], ["hall", "place"], ["top-shelf", "place"]]
_FLUENTS = [("calm", []), ("lit", []), ("clean", ["thing"]), ("open", ["place"]), ("on", ["thing", "place"])]
_ACTIONS = ("take", "put", "wipe", "fill", "shut-it", "light")


def random_domain(seed, least=2, most=6):
    """The first task of a seed whose shortest plan has so many steps, as JSON, and that plan."""
    for attempt in range(10_000):
        task = _task(random.Random(f"{seed}-{attempt}"))
        if task is None:
            continue
        try:
            plan = Oracle(task).best(True, 2_000)
        except OverflowError:
            continue
        if plan is not None and least <= len(plan) <= most:
            return task, plan
    raise AssertionError(f"no task for seed {seed}")


def _task(rng):
    objects = sorted(rng.sample(_OBJECTS, rng.randint(2, 4)), key=_OBJECTS.index)
    fluents = [_fluent(name, kinds) for name, kinds in _FLUENTS] + [_fluent("level", [], rng.randint(1, 2))]
    actions = [_action(rng, name) for name in _ACTIONS[: rng.randint(3, 6)]]
    task = {
        "format": "hazardmill-task/1",
        "name": "random",
        "realised_by": None,
        "types": [["place", "object"], ["thing", "object"]],
        "objects": objects,
        "fluents": fluents,
        "actions": actions,
        "initial": [],
        "goal": True,
        "dangers": [],
        "initial_danger": 0,
        "max_danger": 0,
        "texts": {},
        "provenance": {},
    }
    oracle = Oracle(task)
    atoms = [
        (fluent["name"], *env.values())
        for fluent in fluents[:-1]
        for env in oracle.environments(fluent["parameters"], {})
    ]
    task["initial"] = [[list(atom), True] for atom in atoms if rng.random() < 0.3]
    oracle = Oracle(task)
    state = oracle.start
    for _ in range(rng.randint(4, 12)):
        steps = [after for step in oracle.ground_actions() if (after := oracle.step(*step, state))]
        if not steps:
            return None
        state = rng.choice(steps)[0]
    changed = [atom for atom in atoms if oracle.get(state, atom) != oracle.get(oracle.start, atom)]
    if len(changed) < 2:
        return None
    literals = [["fluent", *atom] for atom in rng.sample(changed, min(len(changed), rng.randint(2, 4)))]
    task["goal"] = ["and", *(at if oracle.get(state, tuple(at[1:])) else ["not", at] for at in literals)]
    return task


def _fluent(name, kinds, upper=None):
    bounds = dict(value="boolean", lower=None, upper=None) if upper is None else dict(value="integer", lower=0)
    parameters = [[f"?p{place}", kind] for place, kind in enumerate(kinds)]
    return dict(name=name, parameters=parameters, kind="normal", **{"upper": upper, **bounds})


def _action(rng, name):
    parameters = rng.choice([[], [["?a", "thing"]], [["?a", "thing"], ["?b", "place"]]])
    atoms = [
        ["fluent", fluent, *args]
        for fluent, kinds in _FLUENTS
        if len(args := [parameter for parameter, kind in parameters if kind in kinds]) == len(kinds)
    ]
    wanted = [at if rng.random() < 0.6 else ["not", at] for at in rng.sample(atoms, rng.randint(0, min(2, len(atoms))))]
    effects = []
    for at in rng.sample(atoms, rng.randint(1, min(2, len(atoms)))):
        when = rng.choice(atoms) if rng.random() < 0.2 else True
        effects.append(["assign", at, rng.random() < 0.6, when])
    if rng.random() < 0.3:
        effects.append([rng.choice(["increase", "decrease"]), ["fluent", "level"], 1, True])
    return dict(name=name, parameters=parameters, precondition=["and", *wanted], effects=effects)


def random_plan(rng, task, gold):
    """A plan string: the gold plan or a walk, and up to three changes of it."""
    oracle = Oracle(task)
    ground = list(oracle.ground_actions())
    plan = list(gold) if rng.random() < 0.7 else _walk(rng, oracle, ground)
    steps = [[name, *args] for name, args in plan]
    for _ in range(rng.choice([0, 1, 1, 1, 2, 2, 3])):
        place = rng.randrange(len(steps)) if steps else 0
        change = rng.choice(["delete", "repeat", "swap", "insert", "insert", "insert", "name", "object", "cut", "case"])
        if not steps or change == "insert":
            name, args = rng.choice(ground)
            steps.insert(rng.randint(0, len(steps)), [name, *args])
        elif change == "delete":
            del steps[place]
        elif change == "repeat":
            steps.insert(rng.randint(place, len(steps)), list(steps[place]))
        elif change == "swap":
            other = rng.randrange(len(steps))
            steps[place], steps[other] = steps[other], steps[place]
        elif change == "name":
            steps[place][0] = rng.choice(["fly", "", *_ACTIONS])
        elif change == "object" and len(steps[place]) > 1:
            steps[place][-1] = rng.choice(["moon", *(name for name, _ in task["objects"])])
        elif change == "cut" and rng.random() < 0.3:
            steps[place].append("cup")
        elif change == "case":
            steps[place] = [token.upper() for token in steps[place]]
    return " ".join("(" + " ".join(step) + ")" for step in steps)


def _walk(rng, oracle, ground):
    state, plan = oracle.start, []
    for _ in range(rng.randint(0, 6)):
        possible = [step for step in ground if oracle.step(*step, state)]
        if not possible:
            break
        plan.append(rng.choice(possible))
        state = oracle.step(*plan[-1], state)[0]
    return plan


def gold_text(gold):
    """A plan of the oracle as a string."""
    return plan_string(gold)
