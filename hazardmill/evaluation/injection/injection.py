"""Redundancy injection: a task with unrelated additions, proved to be the same task.

There are two arms, ``actions`` and ``objects``; the level is the number of distractors. For one task, arm and seed,
each level contains all distractors of the level below, so that a curve over levels shows the effect of what was added.
An injected task is judged by its own document: its PDDL shows the distractors, and its distractor actions can be done.
``injection.proof`` states the law that makes the comparison fair; injections that cannot be proved are refused.
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
"""One seed per run: three runs of each arm and level."""
CONFIRM_LIMIT: Final = 20_000
"""Maximum number of expansions of each search that confirms a proof."""

_VARIANT: Final = re.compile(r"(?P<arm>actions|objects)-(?P<level>\d+)-seed-(?P<seed>\d+)")


@dataclass(frozen=True)
class InjectedTask:
    """A task with distractors in it.

    Attributes:
        document: The task with its distractors.
        added: The added actions or objects, in the order in which they were drawn: those of lower levels come first.
        proof: Why it is still the same task.
        arm: What was added.
        level: Number of distractors.
        seed: Seed of the draw.
    """

    document: Document
    added: tuple[str, ...]
    proof: InjectionProof
    arm: Arm
    level: int
    seed: int

    @property
    def variant(self) -> str:
        """The name of the variant in result rows: ``actions-8-seed-0``. ``parts_of`` parses it."""
        return f"{self.arm}-{self.level}-seed-{self.seed}"

    def task(self, released: EvaluationTask) -> EvaluationTask | None:
        """Return the task as one to be evaluated on: other PDDL, the same optimal lengths.

        Args:
            released: The task that was injected into, as released.

        Returns:
            None where PDDL cannot express it, which happens only where it cannot express the released task either.
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
    """Add distractors to a task, and prove that it remains the same task.

    Args:
        document: The task.
        arm: What to add.
        level: How many to add, one of ``LEVELS``.
        seed: Seed of the draw: it decides which distractors a task gets.
        limit: Maximum number of expansions of each exact search that confirms the proof; the proof itself needs none.

    Returns:
        The task with its distractors, and the proof. Its provenance states arm, level, seed and the hash of the
        original.

    Raises:
        UsageError: The arm or the level does not exist.
        InjectionRefused: That many distractors cannot be added, or it cannot be proved that they change nothing.
    """
    if arm not in ARMS or level not in LEVELS:
        raise UsageError(
            f"there is no injection of {level} {arm}",
            remedy=f"inject {' or '.join(ARMS)}, and {', '.join(map(str, LEVELS[:-1]))} or {LEVELS[-1]} of them",
        )
    # The task is part of the seed, so that the tasks of a release get different distractors.
    random = Random(f"{arm} {seed} {document.hash}")
    grown, added = (with_actions if arm == "actions" else with_objects)(document, level, random)
    if len(added) < level:
        raise InjectionRefused(
            f"only {len(added)} of {level} distractor {arm} can be named without words that the task uses",
            remedy="inject a lower level",
        )
    note = {"arm": arm, "level": level, "seed": seed, "document_hash": document.hash}
    try:
        # Read it back, so that it is validated like any document.
        injected = Document.from_json(replace(grown, provenance={**document.provenance, "injection": note}).to_json())
    except DocumentError as error:
        raise InjectionRefused(
            f"with {level} distractor {arm} the task is not valid: {error.message}", remedy="inject a lower level"
        ) from error
    try:
        proof = InjectionProof(prove(document, injected), confirm(document, injected, limit=limit, seed=seed))
    except SearchLimitReached as error:
        # A task this large could not be used to judge plans either.
        raise InjectionRefused(
            f"with {level} distractor {arm} the task is too large: {error.message}", remedy="inject a lower level"
        ) from error
    return InjectedTask(injected, added, proof, arm, level, seed)


def parts_of(variant: str | None) -> tuple[Arm, int, int] | None:
    """Return arm, level and seed of a variant; None if the variant is not that of an injected task."""
    found = _VARIANT.fullmatch(variant or "")
    if found is None:
        return None
    return ("actions" if found["arm"] == "actions" else "objects"), int(found["level"]), int(found["seed"])


def injections(
    document: Document, *, seeds: tuple[int, ...] = SEEDS, limit: int = CONFIRM_LIMIT
) -> Iterator[InjectedTask | InjectionRefused]:
    """Yield a task with every arm, level and seed; where an injection is refused, the refusal takes its place.

    Args:
        document: The task.
        seeds: Seeds of the draws of each arm and level.
        limit: Maximum number of expansions of each exact search that confirms a proof.
    """
    for arm in ARMS:
        for level in LEVELS:
            for seed in seeds:
                try:
                    yield inject(document, arm, level, seed, limit=limit)
                except InjectionRefused as refusal:
                    yield refusal
