"""Redundancy injection: a task with more in it that has nothing to do with it, proved to be the same task.

Two arms, ``actions`` and ``objects``; the level is how many distractors are added. Of one task, arm and seed, each
level holds all of the level below it, so that a curve over levels shows what the added ones do. An injected task is
judged on itself: its PDDL is that of its own document, and its distractor actions can be done. ``injection_proof``
states the law that makes the comparison fair; what it cannot be proved of is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Final, Literal, get_args

from hazardmill.errors import DocumentError, NotExpressible, SearchLimitReached, UsageError
from hazardmill.evaluation.injection.actions import with_actions
from hazardmill.evaluation.injection.objects import with_objects
from hazardmill.evaluation.injection.proof import InjectionProof, InjectionRefused, confirm, prove
from hazardmill.evaluation.tasks import EvaluationTask
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.formats.pddl.writer import domain_pddl, problem_pddl

Arm = Literal["actions", "objects"]
ARMS: Final[tuple[Arm, ...]] = get_args(Arm)
LEVELS: Final = (2, 4, 8, 16, 32, 64)
SEEDS: Final = (0, 1, 2)
"""One a run: three runs of each arm and level."""
CONFIRM_LIMIT: Final = 20_000
"""Expansions of the searches that the proof is held against."""

_VARIANT: Final = re.compile(r"(?P<arm>actions|objects)-(?P<level>\d+)-seed-(?P<seed>\d+)")


@dataclass(frozen=True)
class InjectedTask:
    """A task with distractors in it."""

    document: Document
    added: tuple[str, ...]
    """The added actions or objects, in the order of their drawing: those of a lower level come first."""
    proof: InjectionProof
    arm: Arm
    level: int
    seed: int

    @property
    def variant(self) -> str:
        """What result rows call it: ``actions-8-seed-0``. ``parts_of`` takes it apart."""
        return f"{self.arm}-{self.level}-seed-{self.seed}"

    def task(self, released: EvaluationTask) -> EvaluationTask | None:
        """The task as one to be evaluated on: another PDDL, the same optimal lengths.

        Args:
            released: The task that was injected into, as it was released.

        Returns:
            Null where PDDL cannot say it, which is so only where it cannot say the released one.
        """
        try:
            domain, problem = domain_pddl(self.document), problem_pddl(self.document)
        except NotExpressible:
            return None
        return replace(
            released,
            document=self.document,
            domain_pddl=domain,
            problem_pddl=problem,
            variant=self.variant,
            released=released.document,
        )


def inject(document: Document, arm: Arm, level: int, seed: int, *, limit: int = CONFIRM_LIMIT) -> InjectedTask:
    """Add distractors to a task, and prove that it is the same task.

    Args:
        document: The task.
        arm: What is added.
        level: How many, one of ``LEVELS``.
        seed: The same seed gives the same distractors of a task; another gives others.
        limit: Most expansions of the exact searches that the proof is held against (the proof itself needs none).

    Raises:
        UsageError: There is no such arm or level.
        InjectionRefused: So many cannot be added, or not with the proof that nothing changes.
    """
    if arm not in ARMS or level not in LEVELS:
        raise UsageError(
            f"no injection of {level} {arm}",
            remedy=f"arms are {', '.join(ARMS)}, levels {', '.join(map(str, LEVELS))}",
        )
    # The task is part of the seed: else every task of a release had the same distractors.
    random = Random(f"{arm} {seed} {document.hash}")
    grown, added = (with_actions if arm == "actions" else with_objects)(document, level, random)
    if len(added) < level:
        raise InjectionRefused(
            f"there are names for {len(added)} distractor {arm} beside those of the task, not for {level}",
            remedy="inject a lower level",
        )
    note = {"arm": arm, "level": level, "seed": seed, "document_hash": document.hash}
    try:
        # Read back, so that it is checked like any document.
        injected = Document.from_json(replace(grown, provenance={**document.provenance, "injection": note}).to_json())
    except DocumentError as error:
        raise InjectionRefused(
            f"with {level} distractor {arm} it is no document: {error.message}", remedy="inject a lower level"
        ) from error
    try:
        proof = InjectionProof(prove(document, injected), confirm(document, injected, limit=limit, seed=seed))
    except SearchLimitReached as error:
        # Nobody could judge a plan for it either.
        raise InjectionRefused(
            f"with {level} distractor {arm} it is too large: {error.message}", remedy="inject a lower level"
        ) from error
    return InjectedTask(injected, added, proof, arm, level, seed)


def parts_of(variant: str | None) -> tuple[Arm, int, int] | None:
    """Arm, level and seed of a variant; None if it is that of no injected task."""
    found = _VARIANT.fullmatch(variant or "")
    if found is None:
        return None
    return ("actions" if found["arm"] == "actions" else "objects"), int(found["level"]), int(found["seed"])


def injections(
    document: Document, *, seeds: tuple[int, ...] = SEEDS, limit: int = CONFIRM_LIMIT
) -> Iterator[InjectedTask | InjectionRefused]:
    """Every arm, level and seed of a task, with the refusal in the place of what is refused."""
    for arm in ARMS:
        for level in LEVELS:
            for seed in seeds:
                try:
                    yield inject(document, arm, level, seed, limit=limit)
                except InjectionRefused as refusal:
                    yield refusal
