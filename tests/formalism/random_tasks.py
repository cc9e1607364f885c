"""Small random tasks as JSON, and random plan strings for them."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st

from .oracle import Oracle, plan_string

SETTINGS = settings(derandomize=True, database=None)
"""The same examples each time: shares that tests count are then equal on every machine.

They hang on the text of the test, decorators included, and so does what is counted.
"""

_NAMES = ("cup", "Cup", "top-shelf", "top_shelf", "hall")
_COMPARISONS = ("=", "<", "<=", ">", ">=")


class Maker:
    """Draws the parts of one task.

    ``finite`` gives every integer two bounds; with ``mitigating`` increments may be negative; with ``reachable`` the
    goal is often one that a single action brings about, so that more tasks have plans of both kinds.
    """

    def __init__(self, draw, finite, mitigating=False, reachable=False):
        self.draw = draw
        self.finite = finite
        self.mitigating = mitigating
        self.reachable = reachable
        self.fresh = 0
        self.types = [["place", "thing"], ["thing", "object"]] + ([["item", "thing"]] if self.chance(2) else [])
        kinds = [name for name, _ in self.types]
        names = list(_NAMES[: self.number(1, 3)]) if self.chance(2) else list(_NAMES[-self.number(1, 3) :])
        self.objects = [[name, self.one(kinds)] for name in names]
        self.fluents = [self.fluent("done", []), self.fluent("hot", [], "context")]
        self.fluents.append(self.fluent("at", [self.one(kinds)]))
        if self.chance(2):
            self.fluents.append(self.fluent("busy", [self.one(kinds)], "context"))
        if self.chance(3):
            self.fluents.append(self.fluent("linked", [self.one(kinds), "thing"]))
        if self.chance(2):
            self.fluents.append(self.integer("level", []))
        if self.chance(3):
            self.fluents.append(self.integer("count", [self.one(kinds)]))

    # Draws

    def number(self, low, high):
        return self.draw(st.integers(low, high))

    def chance(self, one_in):
        return self.number(1, one_in) == 1

    def one(self, options):
        return options[self.number(0, len(options) - 1)]

    # Declarations

    @staticmethod
    def fluent(name, kinds, kind="normal", value="boolean", lower=None, upper=None):
        parameters = [[f"?p{place}", type_] for place, type_ in enumerate(kinds)]
        return dict(name=name, parameters=parameters, kind=kind, value=value, lower=lower, upper=upper)

    def integer(self, name, kinds):
        lower = self.number(-1, 0)
        upper = lower + self.number(1, 3)
        if not self.finite:
            lower, upper = self.one([(lower, upper), (None, upper), (lower, None), (None, None)])
        if upper is not None and upper < 0:
            upper = 0
        return self.fluent(name, kinds, "normal", "integer", lower, upper)

    # Expressions

    def fits(self, kind, wanted):
        return kind == wanted or wanted == "object" or (wanted == "thing" and kind in ("place", "item"))

    def argument(self, wanted, scope):
        fitting = [name for name, kind in scope if self.fits(kind, wanted)] * 2
        fitting += [name for name, kind in self.objects if self.fits(kind, wanted)]
        return self.one(fitting) if fitting else None

    def application(self, scope, integer, normal=False):
        """``["fluent", name, arg...]``, or None if nothing fits."""
        candidates = [
            fluent
            for fluent in self.fluents
            if (fluent["value"] == "integer") == integer and not (normal and fluent["kind"] == "context")
        ]
        if not candidates:
            return None
        fluent = self.one(candidates)
        args = [self.argument(kind, scope) for _, kind in fluent["parameters"]]
        return None if None in args else ["fluent", fluent["name"], *args]

    def term(self, scope, depth):
        if depth and self.chance(3):
            head = self.one(["+", "-"])
            return [head, self.term(scope, depth - 1), self.term(scope, depth - 1)]
        fluent = self.application(scope, integer=True)
        return self.number(-1, 3) if fluent is None or self.chance(3) else fluent

    def condition(self, scope, depth):
        choice = self.number(0, 9 if depth else 4)
        if choice <= 2:
            return self.application(scope, integer=False) or True
        if choice == 3:
            return [self.one(_COMPARISONS), self.application(scope, integer=True) or 1, self.term(scope, 1)]
        if choice == 4:
            return ["not", self.condition(scope, depth - 1 if depth else 0)] if depth else True
        if choice <= 7:
            count = self.number(0 if self.chance(8) else 1, 3)
            return [self.one(["and", "or"]), *(self.condition(scope, depth - 1) for _ in range(count))]
        if choice == 8:
            names = [name for name, _ in (*scope, *self.objects)]
            if len(names) > 1 and self.chance(3):
                return ["same", self.one(names), self.one(names)]
            return ["imply", self.condition(scope, depth - 1), self.condition(scope, depth - 1)]
        self.fresh += 1
        variables = [[f"?v{self.fresh}", self.one([name for name, _ in self.types])]]
        if self.chance(4):
            variables.append([f"?w{self.fresh}", "thing"])
        return [self.one(["exists", "forall"]), variables, self.condition([*scope, *variables], depth - 1)]

    def effect(self, scope):
        when = True if self.chance(2) else self.condition(scope, 1)
        target = self.application(scope, integer=True) if self.chance(2) else None
        if target is not None:
            return [self.one(["assign", "increase", "decrease"]), target, self.term(scope, 1), when]
        target = self.application(scope, integer=False, normal=True) or ["fluent", "done"]
        return ["assign", target, not self.chance(3), when]

    # The task

    def task(self):
        actions, dangers = [], []
        for name in ("go", "Go", "take", "wipe-it")[: self.number(2, 4)]:
            scope = [[f"?{letter}", self.one([name for name, _ in self.types])] for letter in "ab"[: self.number(0, 2)]]
            precondition = True if self.chance(3) else self.condition(scope, 2)
            effects = [self.effect(scope) for _ in range(self.number(1, 3))]
            actions.append(dict(name=name, parameters=scope, precondition=precondition, effects=effects))
            for _ in range(self.one([0, 1, 2, 2])):
                dangers.append(
                    dict(
                        action=name,
                        condition=self.condition(scope, 2),
                        increment=self.one([-1, 1, 2]) if self.mitigating else self.number(1, 3),
                        danger_type=self.one([None, "thermal", "chemical"]),
                    )
                )
        initial = []
        for fluent in self.fluents:
            for atom in Oracle(self.whole([], [], [], True)).environments(fluent["parameters"], {}):
                if fluent["value"] == "integer":
                    lower = -2 if fluent["lower"] is None else fluent["lower"]
                    upper = 2 if fluent["upper"] is None else fluent["upper"]
                    value = self.number(min(lower, upper), max(lower, upper))
                else:
                    value = fluent["name"] != "done" and self.chance(3)
                initial.append([[fluent["name"], *atom.values()], value])
        goal = self.condition([], 2)
        if self.reachable and self.chance(2):
            actions[0]["precondition"] = True
            actions[0]["effects"].append(["assign", ["fluent", "done"], True, True])
            goal = ["fluent", "done"]
        elif self.chance(2):
            # Something that is not so at the start, so that plans have some length.
            wanted = self.application([], integer=False, normal=True) or ["fluent", "done"]
            goal = ["and", ["fluent", "done"], wanted if self.chance(2) else goal]
        return self.whole(actions, dangers, initial, goal)

    def whole(self, actions, dangers, initial, goal):
        return {
            "format": "hazardmill-task/1",
            "name": "random",
            "realised_by": None,
            "types": self.types,
            "objects": self.objects,
            "fluents": self.fluents,
            "actions": actions,
            "initial": initial,
            "goal": goal,
            "dangers": dangers,
            "initial_danger": self.one([0, 0, 1]),
            "max_danger": self.number(0, 2),
            "texts": {},
            "provenance": {},
        }


@st.composite
def tasks(draw, finite=True, mitigating=False, reachable=False):
    return Maker(draw, finite, mitigating, reachable).task()


def ungraded(task):
    """The task with danger from nothing, each entry adding at least one."""
    entries = [{**entry, "increment": abs(entry["increment"])} for entry in task["dangers"]]
    return {**task, "initial_danger": 0, "max_danger": 0, "dangers": entries}


@st.composite
def plans(draw, task):
    """A plan string: mostly possible actions, some odd spellings, some that name nothing."""
    oracle = Oracle(task)
    ground = list(oracle.ground_actions())
    state, words = oracle.start, []
    careful = draw(st.booleans())
    for _ in range(draw(st.integers(0, 6))):
        if careful and oracle.holds(task["goal"], {}, state):
            break
        possible = [action for action in ground if oracle.step(*action, state) is not None]
        sane = careful or draw(st.integers(0, 3))
        choices = possible if possible and sane else ground
        if not choices:
            break
        name, args = choices[draw(st.integers(0, len(choices) - 1))]
        outcome = oracle.step(name, args, state)
        state = state if outcome is None else outcome[0]
        odd = not careful and draw(st.integers(0, 2)) == 0
        words.append(draw(spellings(name, args)) if odd else plan_string([(name, args)]))
    return " ".join(words)


@st.composite
def spellings(draw, name, args):
    tokens = [name, *args]
    odd = draw(st.integers(0, 9))
    if odd == 0:
        tokens = [token.upper() for token in tokens]
    elif odd == 1:
        tokens = [token.swapcase() for token in tokens]
    elif odd == 2:
        tokens.append(draw(st.sampled_from(_NAMES)))
    elif odd == 3:
        tokens = tokens[:-1] or ["nothing"]
    elif odd == 4:
        tokens[-1] = tokens[-1].replace("-", "_").replace("u", "ü")
    elif odd == 5:
        return "( ; " + " ;\n".join(tokens) + ";)"
    elif odd == 6:
        return "(then (" + "\t".join(tokens) + ") and so on"
    elif odd == 7:
        return "() " + "(" + " ".join(tokens) + "\u00a0) ; done ("
    elif odd == 8:
        return "(" + " ".join(tokens)
    elif odd == 9:
        tokens = ["fly", *args]
    return "(" + " ".join(tokens) + ")"
