"""Small documents that are large once they are ground, or take long to prove: each attacks another bound."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from hazardmill.formalism.document.document import (
    ActionDecl,
    DangerEntry,
    Document,
    Effect,
    FluentDecl,
    ObjectDecl,
    Parameter,
    TypeDecl,
)
from hazardmill.formalism.document.expressions import Expr

A, B = Parameter("?a", "object"), Parameter("?b", "object")
DONE: Expr = ("fluent", "done")
IMPOSSIBLE: Expr = ("and", DONE, ("not", DONE))
NEXT: Expr = ("+", ("fluent", "count"), 1)
FINISH = ActionDecl("finish", (), ("fluent", "never"), (Effect("assign", DONE, True),))
"""So that no search ends before it has seen everything."""


def things(count: int) -> list[ObjectDecl]:
    return [ObjectDecl(f"o{i}", "object") for i in range(count)]


def task(
    objects: int,
    fluents: list[FluentDecl],
    actions: list[ActionDecl],
    goal: Expr = DONE,
    dangers: list[DangerEntry] | None = None,
) -> Document:
    """A task whose goal cannot be reached, with these parts besides."""
    return Document.of(
        objects=things(objects),
        fluents=[FluentDecl("done"), FluentDecl("never"), *fluents],
        actions=[FINISH, *actions],
        goal=goal,
        dangers=[DangerEntry("finish", IMPOSSIBLE)] if dangers is None else dangers,
    )


def integers_over_pairs() -> Document:
    level = ("fluent", "level", "?a", "?a")
    raised = ActionDecl("fill", (A,), True, (Effect("increase", level, 1),))
    return task(400, [FluentDecl("level", (A, B), integer=True)], [raised])


def booleans_over_pairs() -> Document:
    on = ("fluent", "on", "?a", "?b")
    return task(
        400, [FluentDecl("on", (A, B))], [ActionDecl("put", (A, B), ("not", on), (Effect("assign", on, True),))]
    )


def goal_over_pairs() -> Document:
    every = ("forall", (("?x", "object"), ("?y", "object")), ("fluent", "on", "?x", "?y"))
    return task(600, [FluentDecl("on", (A, B))], [], goal=every)


def nested_quantifiers() -> Document:
    inner: Expr = ("fluent", "on", "?v0", "?v7")
    for i in reversed(range(8)):
        inner = ("forall" if i % 2 else "exists", ((f"?v{i}", "object"),), inner)
    return task(30, [FluentDecl("on", (A, B))], [ActionDecl("look", (), inner, ())], goal=("and", DONE, inner))


def wide_disjunction() -> Document:
    """Each look at the precondition is at 90,000 comparisons."""
    some = ("exists", (("?x", "object"), ("?y", "object")), ("<", ("fluent", "count"), ("fluent", "limit")))
    count, most = FluentDecl("count", integer=True), FluentDecl("limit", integer=True)
    never = ActionDecl("wait", (), some, ())
    step = ActionDecl("step", (), True, (Effect("assign", ("fluent", "count"), NEXT),))
    return task(300, [count, most], [never, step])


def wide_effects() -> Document:
    """Thousands of conditional effects, each with a quantifier of its own."""
    some = ("exists", (("?x", "object"),), ("and", ("fluent", "on", "?x", "?x"), ("fluent", "on", "?a", "?x")))
    effects = tuple(Effect("assign", ("fluent", "on", "?a", f"o{i}"), True, some) for i in range(100))
    return task(100, [FluentDecl("on", (A, B))], [ActionDecl("put", (A,), True, effects)])


def impossible_actions() -> Document:
    """No binding of twelve parameters is possible, and there are very many."""
    parameters = tuple(Parameter(f"?p{i}", "object") for i in range(12))
    return task(400, [], [ActionDecl("juggle", parameters, ("same", "?p0", "o0"), (Effect("assign", DONE, True),))])


def many_impossible_actions() -> Document:
    pairs = [
        ActionDecl(f"juggle{i}", (A, B), ("and", ("fluent", "never"), ("not", ("fluent", "never"))), ())
        for i in range(12)
    ]
    return task(128, [], pairs)


def doubling() -> Document:
    count = ("fluent", "count")
    more = ActionDecl("double", (), True, (Effect("assign", count, ("+", *([count] * 64), 1)),))
    return task(1, [FluentDecl("count", integer=True)], [more])


def endless_count() -> Document:
    more = ActionDecl("step", (), True, (Effect("assign", ("fluent", "count"), NEXT),))
    return task(1, [FluentDecl("count", integer=True, lower=0, upper=10**9)], [more])


def many_counts() -> Document:
    """States of hundreds of integers, each of them written anew in every step."""
    count = ("fluent", "count", "?a")
    effects = tuple(
        Effect("assign", ("fluent", "count", f"o{i}"), ("+", ("fluent", "count", f"o{i}"), 1000 + i))
        for i in range(300)
    )
    up = ActionDecl("up", (A,), (">=", count, 0), (*effects,))
    return task(300, [FluentDecl("count", (A,), integer=True)], [up])


def wide_states() -> Document:
    """Thousands of bits, and very many states."""
    on = ("fluent", "on", "?a", "?b")
    flip = ActionDecl("flip", (A, B), True, (Effect("assign", on, True, ("not", on)), Effect("assign", on, False, on)))
    return task(45, [FluentDecl("on", (A, B))], [flip])


def many_literals() -> Document:
    """Thousands of literals that matter nowhere."""
    condition = ("and", ("fluent", "never"), *([("fluent", "circumstance_of_considerable_length")] * 5_000))
    return Document.of(
        fluents=[FluentDecl("done"), FluentDecl("never"), FluentDecl("circumstance_of_considerable_length")],
        actions=[ActionDecl("finish", (), True, (Effect("assign", DONE, True),))],
        goal=DONE,
        dangers=[DangerEntry("finish", condition), DangerEntry("finish", True)],
    )


def many_flips() -> Document:
    """A fired condition reads tens of thousands of ground context fluents."""
    every = ("forall", (("?x", "object"), ("?y", "object")), ("not", ("fluent", "near", "?x", "?y")))
    return Document.of(
        objects=things(300),
        fluents=[FluentDecl("done"), FluentDecl("near", (A, B), kind="context")],
        actions=[ActionDecl("finish", (), True, (Effect("assign", DONE, True),))],
        goal=DONE,
        dangers=[DangerEntry("finish", every)],
    )


def _switches(count: int, wanted: Expr, *dangers: DangerEntry, context: int = 0, increment: int = 1) -> Document:
    """Every set of switches can be on; only with all of them ``wanted`` can be done."""
    on = ("fluent", "on", "?a")
    return Document.of(
        objects=things(count),
        fluents=[
            FluentDecl("done"),
            FluentDecl("on", (A,)),
            *(FluentDecl(f"c{i}", kind="context") for i in range(context)),
        ],
        actions=[
            ActionDecl("turn", (A,), ("not", on), (Effect("assign", on, True),)),
            ActionDecl("back", (A,), on, (Effect("assign", on, False),)),
            ActionDecl("finish", (), wanted, (Effect("assign", DONE, True),)),
        ],
        goal=DONE,
        dangers=[DangerEntry("turn", True, increment), *dangers],
    )


ALL_ON: Expr = ("forall", (("?x", "object"),), ("fluent", "on", "?x"))


def many_situations() -> Document:
    """What danger conditions read differs in each of very many situations, which are compared for redundancy."""
    read = ("or", *(("fluent", "on", f"o{i}") for i in range(14)), ("fluent", "done"))
    return _switches(14, ALL_ON, DangerEntry("turn", read), DangerEntry("back", read))


def many_copies() -> Document:
    """Each of those in 256 circumstances."""
    context = [("fluent", f"c{i}") for i in range(8)]
    read = ("or", *(("fluent", "on", f"o{i}") for i in range(12)), *context, ("and", *([ALL_ON] * 30), *context))
    return _switches(12, ALL_ON, DangerEntry("turn", read), context=8)


def mitigation() -> Document:
    """Danger falls, so that the layers of all states are kept."""
    return _switches(16, ALL_ON, DangerEntry("back", True, -1))


def late_danger() -> Document:
    """A long unsafe plan, along which each prefix is asked for a safe way on."""
    return _switches(15, ALL_ON, DangerEntry("back", True))


def deep_types() -> Document:
    """A chain of types, walked for each object, parameter and fluent."""
    types = [TypeDecl(f"t{i}", f"t{i - 1}" if i else "object") for i in range(60)]
    fluents = [
        FluentDecl(f"f{i}", tuple(Parameter(f"?p{j}", "t0") for j in range(3)), integer=True, lower=1) for i in range(1)
    ]
    return Document.of(
        types=types,
        objects=[ObjectDecl(f"o{i}", "t59") for i in range(25)],
        fluents=[FluentDecl("done"), *fluents],
        actions=[ActionDecl("finish", (), True, (Effect("assign", DONE, True),))],
        initial={("f0", f"o{i}", f"o{j}", f"o{k}"): 1 for i in range(20) for j in range(20) for k in range(25)}
        | {("f0", f"o{i}", f"o{j}", f"o{k}"): 1 for i in range(25) for j in range(25) for k in range(0)},
        goal=DONE,
    )


SHAPES: Final[dict[str, Callable[[], Document]]] = {
    shape.__name__: shape
    for shape in (
        integers_over_pairs,
        booleans_over_pairs,
        goal_over_pairs,
        nested_quantifiers,
        wide_disjunction,
        wide_effects,
        impossible_actions,
        many_impossible_actions,
        doubling,
        endless_count,
        many_counts,
        wide_states,
        many_literals,
        many_flips,
        many_situations,
        many_copies,
        mitigation,
        late_danger,
    )
}
