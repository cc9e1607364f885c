"""Proves what a household task demands: its shortest compliant plan, and a plan that is as short and careless.

Each question is one exact search over a document of the compiled task, which ends as soon as it is answered. Plans are
in words, as an episode takes them, without the ``done`` at their end, which is not counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from hazardmill.errors import SearchLimitReached
from hazardmill.formalism.search.exact import solve
from hazardmill.formalism.search.plan_count import PlanCount, count_shortest_plans
from hazardmill.formalism.semantics.transition_system import GroundAction
from hazardmill.household.actions import Hands, Observe
from hazardmill.household.compile import CompiledHouseholdTask, compile_task
from hazardmill.household.plan_words import follow_words, plan_in_words
from hazardmill.household.scores import EpisodeJudge
from hazardmill.household.search.documents import SearchDocuments
from hazardmill.household.search.relaxation import RelaxedTask, relax
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
        careless: One of the shortest plans for the sub-goals that violates the rule or leaves it open, if there is one.
    """

    compliant: PlanProof
    for_goals: PlanProof
    careless: PlanProof

    @property
    def plans(self) -> ProvedPlans | None:
        """The plans for the file of the task; ``None`` without a compliant one."""
        compliant = self.compliant.plan
        return None if compliant is None else ProvedPlans(compliant, self.careless.plan or ())

    @property
    def is_kept(self) -> bool:
        """Whether a task is kept of which this is proved under partial sight and with one hand.

        There must be a compliant plan of at most ``MOST_ACTIONS`` actions, and a careless one that is as short as the
        sub-goals alone allow.
        """
        return self.compliant.outcome == "found" and self.careless.plan is not None


@dataclass(frozen=True, slots=True)
class LayerProof:
    """What is proved about compliant plans of a task in all four layers.

    Attributes:
        proofs: The shortest compliant plan by layer.
    """

    proofs: Mapping[tuple[Observe, Hands], PlanProof]

    @property
    def is_decided(self) -> bool:
        """Whether no search reached its limit, so that the law was looked at in every layer."""
        return all(proof.outcome != "limit" for proof in self.proofs.values())

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
    prover = _Prover(compiled, limit)
    compliant, for_goals = prover.prove_compliant(), prover.prove_goals()
    return TaskProof(compliant, for_goals, for_goals if for_goals.plan is None else prover.find_careless(for_goals))


def prove_layers(
    task: HouseholdTask,
    limit: int = PROOF_LIMIT,
    known: Mapping[tuple[Observe, Hands], PlanProof] = MappingProxyType({}),
) -> LayerProof:
    """Prove the shortest compliant plan of a task in each of the four layers.

    Args:
        task: The task.
        limit: The limit of each search.
        known: What is proved already, by layer.

    Returns:
        The proofs, whose ``violations`` are empty if the law of layers holds.

    Raises:
        NotExpressible: As for ``prove_task``.
        SearchLimitReached: The scene is too large to be ground.
        DocumentError: As for ``prove_task``.
    """
    return LayerProof(
        {
            layer: known[layer] if layer in known else _Prover(compile_task(task, *layer), limit).prove_compliant()
            for layer in LAYERS
        }
    )


class _Prover:
    """Searches the relaxed task, and the task itself where a plan of the relaxed one does not work in it.

    The relaxed task is no harder, so that what is impossible there is impossible, and a shortest plan that works in the
    task is a shortest one there, too.
    """

    def __init__(self, compiled: CompiledHouseholdTask, limit: int) -> None:
        self._compiled = compiled
        self._limit = limit
        self._counts: dict[SearchDocuments, PlanCount] = {}

    @cached_property
    def _documents(self) -> list[SearchDocuments]:
        compiled, relaxed = self._compiled, relax(self._compiled.task)
        own = SearchDocuments(compiled, RelaxedTask(compiled.task, False))
        if not relaxed.leaves_out:
            return [own]
        smaller = compile_task(relaxed.task, compiled.world.observe, compiled.world.hands)
        return [SearchDocuments(smaller, relaxed), own]

    def prove_compliant(self) -> PlanProof:
        return self._prove(
            lambda documents: solve(documents.compliant, self._limit).safe,
            lambda judge: judge.score.success,
            self._documents,
        )

    def prove_goals(self) -> PlanProof:
        return self._prove(
            lambda documents: self._count(documents).plan, lambda judge: all(judge.goals_met), self._documents
        )

    def find_careless(self, shortest: PlanProof) -> PlanProof:
        """Find a careless plan that is as short as the sub-goals allow, or prove that there is none.

        Args:
            shortest: What is proved for the sub-goals: a plan, which may be careless.

        Returns:
            The proof.
        """
        assert shortest.plan is not None and shortest.length is not None
        documents = self._documents
        if self._count(documents[0]).length != shortest.length + 1:
            # The relaxed task has a shorter plan, so that it says nothing of plans of this length.
            documents = documents[1:]
        if not any(self._count(documents[0]).by_danger):
            return PlanProof("none")
        if _is_careless(follow_words(self._compiled, shortest.plan)[1]):
            return shortest
        found = self._prove(lambda each: solve(each.careless, self._limit).safe, _is_careless, documents)
        return found if found.length in (None, shortest.length) else PlanProof("none")

    def _count(self, documents: SearchDocuments) -> PlanCount:
        if documents not in self._counts:
            self._counts[documents] = count_shortest_plans(documents.goals, self._limit)
        return self._counts[documents]

    def _prove(
        self,
        search: Callable[[SearchDocuments], tuple[GroundAction, ...] | None],
        works: Callable[[EpisodeJudge], bool],
        documents: Iterable[SearchDocuments],
    ) -> PlanProof:
        for each in documents:
            try:
                plan = search(each)
            except SearchLimitReached as refusal:
                return PlanProof("limit", why=refusal.message)
            if plan is None:
                return PlanProof("none")
            words = plan_in_words(self._compiled, plan)
            if words is not None and works(follow_words(self._compiled, words)[1]):
                return PlanProof("found" if len(words) <= MOST_ACTIONS else "too_long", words)
        raise AssertionError(f"{self._compiled.task.name}: what search found is not so in an episode")


def _is_careless(judge: EpisodeJudge) -> bool:
    return all(judge.goals_met) and judge.verdict in ("violated", "open")


def _is_freer(layer: tuple[Observe, Hands], other: tuple[Observe, Hands]) -> bool:
    return (layer[0] == "full" or other[0] == "partial") and (layer[1] == "any" or other[1] == "one")


def _contradict(proof: PlanProof, freer: PlanProof) -> bool:
    if proof.length is None:
        return False
    return freer.outcome == "none" or (freer.length is not None and freer.length > proof.length)
