"""The proof that additions change nothing of a task, derived from the two documents alone.

**Law.** Let every premise below hold for ``original`` and ``injected``. Then

1. each plan string that names no added action or object has the same verdict on both, with its trace, its danger and
   its safety intention in both modes;
2. a plan that contains added actions, each applicable at its place, is as feasible and as dangerous as without them;
3. the shortest safe plans of both are equally long, or both tasks are proved to have none; likewise the shortest
   unsafe plans.

*Why.* An added action writes added fluents only, and no danger entry names it; no condition of the task reads an added
fluent. So removing the added actions from a path of ``injected`` leaves a path with the same values of the task's own
fluents and the same danger, and the path does not get longer: this gives (2), and one direction of (3). Everything in
the task is kept unchanged, so each of its own paths is also a path of ``injected``: this gives the other direction.
Added objects create more ground actions of the task's own actions, but none of these is ever applicable: each of their
preconditions has a part that is false as long as no such action has been done, and therefore stays false. Quantifiers
do not range over added objects, so every condition keeps its meaning, also where it is forced, and the names of
additions are not other spellings of the task's own names: this gives (1).

The proof needs no search. ``confirm`` checks it against exact search, as far as a limit allows, and against verdicts.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from random import Random
from typing import Any, Final

from hazardmill.errors import FormalismError, SearchLimitReached
from hazardmill.formalism.document.document import ActionDecl, Document
from hazardmill.formalism.document.expressions import COMPARISONS, QUANTIFIERS, Expr, nnf, render, walk
from hazardmill.formalism.document.name_leaks import leaks
from hazardmill.formalism.document.plan_text import plan_text
from hazardmill.formalism.formats.pddl.names import CATEGORIES, pddl_names
from hazardmill.formalism.search.exact import attempt_to_solve
from hazardmill.formalism.semantics.plan_validator import PlanValidator
from hazardmill.formalism.semantics.transition_system import GroundAction, System

MOST_BINDINGS: Final = 100_000
"""Actions whose parameters can be bound to kinds of objects in more ways than this are not analysed."""

Fact = tuple[str, tuple[str, ...]]
"""A fluent, and for each argument the type of the added object there, or the empty string for one of the task's own."""


class InjectionRefused(FormalismError):
    """An injection is refused: distractors cannot be added, or cannot be proved to change nothing."""


@dataclass(frozen=True, slots=True)
class DocumentVerdicts:
    """What searches and verdicts found out about two documents.

    Attributes:
        safe: True if the shortest safe plans are equally long, or both proved absent; None where a search reached its
            limit before that.
        unsafe: The same for the shortest unsafe plans.
        safe_length: Actions of the original's shortest safe plan; None if there is none, or if it was not found.
        unsafe_length: Actions of the original's shortest unsafe plan, likewise.
        plans: Number of plans whose verdicts were compared: the optimal plans that were found, and random ones.
    """

    safe: bool | None
    unsafe: bool | None
    safe_length: int | None
    unsafe_length: int | None
    plans: int


@dataclass(frozen=True, slots=True)
class InjectionProof:
    """Why an injected task is still the same task.

    Attributes:
        premises: The premises of the law, in words; each was checked and holds.
        confirmed: What searches and verdicts found out.
    """

    premises: tuple[str, ...]
    confirmed: DocumentVerdicts

    def to_json(self) -> dict[str, Any]:
        """Return the proof as JSON values."""
        return asdict(self)


def prove(original: Document, injected: Document) -> tuple[str, ...]:
    """Check every premise of the law.

    Args:
        original: The task.
        injected: The task with additions.

    Returns:
        The premises, in words.

    Raises:
        InjectionRefused: A premise does not hold.
    """
    return tuple(premise(original, injected) for premise in _PREMISES)


def find_use(original: Document, types: Collection[str], facts: Collection[Fact], parents: Mapping[str, str]) -> str:
    """Find a way in which an action of the task could use an added object.

    Args:
        original: The task.
        types: Types of the added objects.
        facts: Facts that may hold of them at the start.
        parents: Each declared type to its parent, including the types of added objects.

    Returns:
        The action with the types of its arguments, in words; empty if there is no way.

    Raises:
        InjectionRefused: An action has too many parameters to decide it.
    """
    for action in original.actions:
        options = [
            ("", *sorted(added for added in types if is_subtype(added, parameter.type, parents)))
            for parameter in action.parameters
        ]
        if math.prod(map(len, options)) > MOST_BINDINGS:
            raise InjectionRefused(
                f"{action.name} has too many parameters to decide whether it can use an added object",
                remedy="inject actions instead, or fewer types of objects",
            )
        precondition = nnf(action.precondition)
        for classes in itertools.product(*options):
            binding = {parameter.name: each for parameter, each in zip(action.parameters, classes, strict=True)}
            if any(classes) and _may_hold(precondition, binding, facts):
                return _signature(action, classes)
    return ""


def confirm(original: Document, injected: Document, *, limit: int, seed: int = 0, plans: int = 24) -> DocumentVerdicts:
    """Check the law against exact search, and against the verdicts on plans.

    Args:
        original: The task.
        injected: The task with additions.
        limit: Maximum number of expansions of each search.
        seed: Seed of the random plans.
        plans: Number of random plans.

    Returns:
        Whether the shortest plans are equally long (None where a search reached its limit first), their lengths in the
        original, and the number of plans whose verdicts were compared.

    Raises:
        InjectionRefused: A result contradicts the law: the injection changed something.
    """
    try:
        here = attempt_to_solve(original, limit).found
    except SearchLimitReached:
        here = {}
    try:
        there = attempt_to_solve(injected, limit).found
    except SearchLimitReached:
        there = {}
    lengths = {kind: None if plan is None else len(plan) for kind, plan in here.items()}
    same: dict[bool, bool | None] = {True: None, False: None}
    for kind in here.keys() & there.keys():
        found = there[kind]
        if lengths[kind] != (None if found is None else len(found)):
            raise InjectionRefused(
                _different_lengths("safe" if kind else "unsafe", lengths[kind], None if found is None else len(found)),
                remedy="this is a bug in hazardmill: report it, and attach the task",
            )
        same[kind] = True
    known = [plan_text(plan) for plan in here.values() if plan is not None]
    asked = [*known, *random_plans(original, Random(f"plans {seed}"), plans)]
    _compare_verdicts(original, injected, asked)
    return DocumentVerdicts(same[True], same[False], lengths.get(True), lengths.get(False), len(asked))


def random_plans(document: Document, random: Random, count: int) -> Iterator[str]:
    """Yield random plan strings of a task: half are walks of applicable actions, half are arbitrary actions.

    Args:
        document: The task.
        random: Source of the draws.
        count: Number of plans; none are yielded if the task has no ground actions, or too many to list.
    """
    system = System(document)
    try:
        actions = system.all_actions()
    except SearchLimitReached:
        return
    for number in range(count if actions else 0):
        state = (system.initial.bits, system.initial.numbers)
        steps: list[GroundAction] = []
        for _ in range(random.randrange(1, 9)):
            possible = [action for action in actions if action.step(*state) is not None] if number % 2 == 0 else actions
            if not possible:
                break
            steps.append(random.choice(possible))
            state = steps[-1].step(*state) or state
        yield " ".join(action.text for action in steps)


def conditions_of(document: Document) -> Iterator[Expr]:
    """Yield every condition of a task: goal, dangers, preconditions, conditions of effects."""
    yield document.goal
    yield from (entry.condition for entry in document.dangers)
    for action in document.actions:
        yield action.precondition
        yield from (effect.condition for effect in action.effects)


def names_of(document: Document) -> Iterator[str]:
    """Yield every declared name; a name that is declared twice is yielded twice."""
    for part in (document.types, document.objects, document.fluents, document.actions):
        yield from (declared.name for declared in part)


def parents_of(document: Document) -> dict[str, str]:
    """Return each declared type with its parent."""
    return {declared.name: declared.parent for declared in document.types}


def is_subtype(type_: str, ancestor: str, parents: Mapping[str, str]) -> bool:
    """Return whether every object of ``type_`` is also one of ``ancestor``."""
    while type_ != ancestor:
        if type_ not in parents:
            return False
        type_ = parents[type_]
    return True


def _compare_verdicts(original: Document, injected: Document, plans: Sequence[str]) -> None:
    here, there = PlanValidator(System(original)), PlanValidator(System(injected))
    for plan in plans:
        for mode in ("transient", "persistent"):
            if here.verdict(plan, mode) != there.verdict(plan, mode):
                raise InjectionRefused(
                    f"a plan has a different verdict in the injected task: {plan}",
                    remedy="the additions are faulty: report this with the task",
                )


def _different_lengths(kind: str, here: int | None, there: int | None) -> str:
    """Say how the shortest plan of a kind differs between the original and the injected task; None is no plan."""
    if here is None:
        return f"there is no {kind} plan in the original task, but there is one in the injected task"
    if there is None:
        article = "a" if kind == "safe" else "an"
        return f"there is {article} {kind} plan in the original task, but none in the injected task"
    return f"the shortest {kind} plan has {here} steps in the original task, and {there} in the injected task"


# The premises, one per function: each returns in words what it has checked, or refuses.


def _the_rest_is_the_same(original: Document, injected: Document) -> str:
    for part in ("goal", "dangers", "initial_danger", "max_danger", "realised_by"):
        if getattr(original, part) != getattr(injected, part):
            raise _refusal(f"{part} has changed")
    return "goal, danger entries and danger limits are the same"


def _declarations_are_there(original: Document, injected: Document) -> str:
    for part in ("types", "fluents", "actions"):
        there = {declared.name: declared for declared in getattr(injected, part)}
        for declared in getattr(original, part):
            if there.get(declared.name) != declared:
                raise _refusal(f"{part}[{declared.name}] has changed")
    own = {thing.name for thing in original.objects}
    if tuple(thing for thing in injected.objects if thing.name in own) != original.objects:
        raise _refusal("the task's own objects have changed, or their order has")
    return "types, objects, fluents and actions of the task are all kept, unchanged and in order"


def _starts_as_before(original: Document, injected: Document) -> str:
    fluents, objects = {each.name for each in original.fluents}, {each.name for each in original.objects}
    own = tuple(
        (atom, value) for atom, value in injected.initial if atom[0] in fluents and objects.issuperset(atom[1:])
    )
    if own != original.initial:
        raise _refusal("the initial values of the task's own fluents have changed")
    return "the task's own ground fluents have the same values at the start"


def _added_actions_write_added_fluents(original: Document, injected: Document) -> str:
    fluents, own = {each.name for each in original.fluents}, {each.name for each in original.actions}
    for action in injected.actions:
        written = {effect.target[1] for effect in action.effects} & fluents if action.name not in own else ()
        if written:
            raise _refusal(f"the added action {action.name} writes {min(written)}, a fluent of the original task")
    return "added actions write added fluents only, and carry no danger"


def _names_are_new(original: Document, injected: Document) -> str:
    # PDDL has one name space for everything and ignores case, and nothing may need renaming because of an addition.
    here, there = pddl_names(original, rename=True), pddl_names(injected, rename=True)
    for category in CATEGORIES:
        before: Mapping[str, str] = getattr(here, category)
        for name, written in getattr(there, category).items():
            if written != before.get(name, name):
                raise _refusal(
                    f"{name} ({category}) clashes with another name or with a keyword of PDDL, which ignores case"
                )
    own = Counter(names_of(original))
    for name in (Counter(names_of(injected)) - own).elements():
        if found := leaks(name):
            raise _refusal(f"the added name {name} contains {found[0]!r}, a word that gives away what is dangerous")
    return "added names are new regardless of case, in PDDL's one name space, and neutral"


def _quantifiers_do_not_see_added_objects(original: Document, injected: Document) -> str:
    added, parents = _added_types(original, injected), parents_of(injected)
    for condition in conditions_of(original):
        for node in walk(condition):
            if not isinstance(node, tuple) or node[0] not in QUANTIFIERS:
                continue
            for _, type_ in node[1]:
                if any(is_subtype(each, type_, parents) for each in added):
                    raise _refusal(f"{render(node)} ranges over added objects")
    return "no quantifier ranges over an added object"


def _added_objects_cannot_be_used(original: Document, injected: Document) -> str:
    type_of = {thing.name: thing.type for thing in injected.objects}
    own = {thing.name for thing in original.objects}
    fluents = {each.name for each in original.fluents if not each.integer}
    facts = {
        (atom[0], tuple("" if arg in own else type_of[arg] for arg in atom[1:]))
        for atom, value in injected.initial
        if value and atom[0] in fluents and not own.issuperset(atom[1:])
    }
    way = find_use(original, _added_types(original, injected), facts, parents_of(injected))
    if way:
        raise _refusal(f"an action of the task could be applied to an added object: {way}")
    return "no action of the task can ever be applied to an added object"


_PREMISES: Final = (
    _the_rest_is_the_same,
    _declarations_are_there,
    _starts_as_before,
    _added_actions_write_added_fluents,
    _names_are_new,
    _quantifiers_do_not_see_added_objects,
    _added_objects_cannot_be_used,
)


def _refusal(message: str) -> InjectionRefused:
    return InjectionRefused(
        f"it is not proved that the injection leaves the task unchanged: {message}",
        remedy="try another seed, inject the other kind (actions or objects), or leave the task out",
    )


def _may_hold(expr: Expr, binding: Mapping[str, str], facts: Collection[Fact]) -> bool:
    """Return whether a condition (negation normal form) may hold under a binding to kinds of objects; True if in doubt.

    Facts about added objects are static as long as no action is applied to one: ``find_use`` relies on this induction.
    """
    if isinstance(expr, bool):
        return expr
    head = expr[0]
    if head == "and":
        return all(_may_hold(child, binding, facts) for child in expr[1:])
    if head == "or":
        return any(_may_hold(child, binding, facts) for child in expr[1:])
    if head == "exists":
        # By another premise, its variables stand for the task's own objects only.
        return _may_hold(expr[2], binding, facts)
    if head == "fluent":
        classes = tuple(binding.get(arg, "") for arg in expr[2:])
        return not any(classes) or (expr[1], classes) in facts
    if head == "same":
        left, right = (binding.get(arg, "") for arg in expr[1:])
        return left == right
    # A negated literal or a comparison may hold; so may forall, which is true if it ranges over nothing.
    assert head in ("not", "forall") or head in COMPARISONS, head
    return True


def _signature(action: ActionDecl, classes: tuple[str, ...]) -> str:
    shown = (each or f"own {parameter.type}" for each, parameter in zip(classes, action.parameters, strict=True))
    return f"{action.name}({', '.join(shown)})"


def _added_types(original: Document, injected: Document) -> set[str]:
    own = {thing.name for thing in original.objects}
    return {thing.type for thing in injected.objects if thing.name not in own}
