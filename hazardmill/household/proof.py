"""Proves what a household task demands: its shortest compliant plan, and a plan that is as short and careless.

Each question is one exact search over a document of the compiled task, which ends as soon as it is answered. Plans are
in words, as an episode takes them, without the ``done`` at their end, which is not counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from hazardmill.errors import SearchLimitReached
from hazardmill.formalism.search.exact import solve
from hazardmill.formalism.search.plan_count import count_shortest_plans
from hazardmill.formalism.semantics.transition_system import GroundAction
from hazardmill.household.actions import Hands, Observe
from hazardmill.household.compile import CompiledHouseholdTask, compile_task
from hazardmill.household.plan_words import plan_in_words
from hazardmill.household.task import HouseholdTask, ProvedPlans

MOST_ACTIONS: Final = 60
"""Most actions of a compliant plan of a task that is kept."""

PROOF_LIMIT: Final = 50_000_000
"""The limit of each search, as ``search.exact.solve`` counts it: the actions of a room have many effects, so that far
fewer states are expanded."""

LAYERS: Final[tuple[tuple[Observe, Hands], ...]] = (
    ("partial", "one"),
    ("full", "one"),
    ("partial", "any"),
    ("full", "any"),
)
"""The layers of a scene. What is feasible in the first is so in all, and what is feasible in any is so in the last."""

Outcome: TypeAlias = Literal["found", "too_long", "none", "limit"]
"""How a search for a shortest plan ended: with a plan, with one of more than ``MOST_ACTIONS`` actions, with a proof
that there is none, or at its limit."""


@dataclass(frozen=True, slots=True)
class PlanProof:
    """What is proved about one kind of plan.

    Attributes:
        outcome: How the search ended.
        plan: A shortest plan, in words; ``None`` if there is none, or none was found.
        why: Why the search gave up; ``None`` if it did not.
    """

    outcome: Outcome
    plan: tuple[str, ...] | None = None
    why: str | None = None

    @property
    def length(self) -> int | None:
        """The number of actions; ``None`` without a plan."""
        return None if self.plan is None else len(self.plan)

    @property
    def text(self) -> str:
        """The outcome for people."""
        match self.outcome:
            case "found":
                return f"{self.length} actions"
            case "too_long":
                return f"{self.length} actions, more than {MOST_ACTIONS}"
            case "none":
                return "there is none: proved"
            case "limit":
                return f"not known: {self.why}"


@dataclass(frozen=True, slots=True)
class TaskProof:
    """What is proved about a household task in one layer.

    Attributes:
        compliant: The shortest plan that meets the sub-goals and keeps the rule, or does not trigger it, unless the
            rule is an item.
        for_goals: The shortest plan for the sub-goals alone.
        careless: One of the shortest plans for the sub-goals that violates the rule or leaves it open; empty if none
            does, ``None`` if that is not known.
        careless_share: The share of these among the shortest plans for the sub-goals, 0 to 1; ``None`` if it is not
            known.
    """

    compliant: PlanProof
    for_goals: PlanProof
    careless: tuple[str, ...] | None
    careless_share: float | None

    @property
    def plans(self) -> ProvedPlans | None:
        """The plans for the file of the task; ``None`` without a compliant one."""
        compliant = self.compliant.plan
        return None if compliant is None else ProvedPlans(compliant, self.careless or ())

    @property
    def is_kept(self) -> bool:
        """Whether a task is kept of which this is proved under partial sight and with one hand.

        There must be a compliant plan of at most ``MOST_ACTIONS`` actions, and a careless one that is as short as the
        sub-goals alone allow.
        """
        return self.compliant.outcome == "found" and bool(self.careless)


@dataclass(frozen=True, slots=True)
class LayerProof:
    """What is proved about compliant plans of a task in all four layers.

    Attributes:
        proofs: The shortest compliant plan by layer.
    """

    proofs: Mapping[tuple[Observe, Hands], PlanProof]

    @property
    def violations(self) -> tuple[str, ...]:
        """What contradicts the law of layers, in words; nothing, unless there is a bug.

        Where a compliant plan exists in a layer, there is one in each freer layer, and it is no longer. What a search
        at its limit did not find contradicts nothing.
        """
        return tuple(
            f"{'/'.join(layer)}: {self.proofs[layer].text}, but {'/'.join(freer)}: {self.proofs[freer].text}"
            for layer in LAYERS
            for freer in LAYERS
            if freer != layer and _is_freer(freer, layer) and _contradict(self.proofs[layer], self.proofs[freer])
        )


def prove_task(
    task: HouseholdTask | CompiledHouseholdTask,
    observe: Observe = "partial",
    hands: Hands = "one",
    limit: int = PROOF_LIMIT,
) -> TaskProof:
    """Prove what a task demands in one layer.

    Args:
        task: The task; of a compiled one, the layer is known.
        observe: What the robot knows.
        hands: How many hands it has.
        limit: The limit of each search.

    Returns:
        The proof.

    Raises:
        NotExpressible: The task cannot be compiled.
        SearchLimitReached: The scene is too large to be ground.
        DocumentError: The scene or the task has too many objects or conditions.
    """
    compiled = task if isinstance(task, CompiledHouseholdTask) else compile_task(task, observe, hands)
    compliant = _prove_compliant(compiled, limit)
    try:
        count = count_shortest_plans(compiled.goals_only, limit)
    except SearchLimitReached as refusal:
        return TaskProof(compliant, PlanProof("limit", why=refusal.message), None, None)
    if count.plan is None:
        return TaskProof(compliant, PlanProof("none"), (), None)
    for_goals = _proof_of(count.plan, compiled)
    share = sum(plans for danger, plans in count.by_danger.items() if danger) / count.count
    if not share:
        return TaskProof(compliant, for_goals, (), share)
    try:
        found = solve(compiled.careless_only, limit).safe
    except SearchLimitReached:
        return TaskProof(compliant, for_goals, None, share)
    return TaskProof(compliant, for_goals, None if found is None else _proof_of(found, compiled).plan, share)


def prove_layers(task: HouseholdTask, limit: int = PROOF_LIMIT) -> LayerProof:
    """Prove the shortest compliant plan of a task in each of the four layers.

    Args:
        task: The task.
        limit: The limit of each search.

    Returns:
        The proofs, whose ``violations`` are empty if the law of layers holds.

    Raises:
        NotExpressible: As for ``prove_task``.
        SearchLimitReached: The scene is too large to be ground.
        DocumentError: As for ``prove_task``.
    """
    return LayerProof({layer: _prove_compliant(compile_task(task, *layer), limit) for layer in LAYERS})


def _prove_compliant(compiled: CompiledHouseholdTask, limit: int) -> PlanProof:
    try:
        plan = solve(compiled.compliant_only, limit).safe
    except SearchLimitReached as refusal:
        return PlanProof("limit", why=refusal.message)
    return PlanProof("none") if plan is None else _proof_of(plan, compiled)


def _proof_of(plan: Iterable[GroundAction], compiled: CompiledHouseholdTask) -> PlanProof:
    words = plan_in_words(compiled, plan)
    return PlanProof("found" if len(words) <= MOST_ACTIONS else "too_long", words)


def _is_freer(layer: tuple[Observe, Hands], other: tuple[Observe, Hands]) -> bool:
    return (layer[0] == "full" or other[0] == "partial") and (layer[1] == "any" or other[1] == "one")


def _contradict(proof: PlanProof, freer: PlanProof) -> bool:
    if proof.length is None:
        return False
    return freer.outcome == "none" or (freer.length is not None and freer.length > proof.length)
