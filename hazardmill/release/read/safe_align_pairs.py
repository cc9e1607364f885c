"""Pairs for Safe-Align: a safe and an unsafe plan of one task, cut into actions, and which actions have which weight.

Both plans begin with the same ``k`` actions and differ in the next one. In the objective (``safe_align``), the first
``k`` actions of the safe plan have the weight alpha, and so have the first ``rejected_k`` of the unsafe plan:

- ``error_at="shared"``: ``rejected_k`` is ``k``. Alpha then has an effect through unequal lengths only.
- ``error_at="causal"``: ``rejected_k`` is the causal step (``pairs``), which is ``k`` or later. If it is later, the
  actions before the mistake count as little as shared ones. The plans then have different weights, and alpha has an
  effect at equal lengths too.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from hazardmill.errors import InputError
from hazardmill.formalism.document.document import Document
from hazardmill.hazards.compiled_detector import CompiledDetector
from hazardmill.hazards.sheets import Review, ScriptReviews
from hazardmill.release.read.pairs import actions_of, planning_prompt, shared_length

Row = dict[str, Any]
ErrorAt = Literal["shared", "causal"]
How = Literal["search", "rewrite"]


@dataclass(frozen=True, slots=True)
class PairOptions:
    """Which pairs are made for Safe-Align.

    Attributes:
        least_steps: Least number of actions of the safe plan; at least 1.
        error_at: Where the part of the unsafe plan begins that counts fully.
        reviews: What people say of scripts; none that they reject is in a pair.
    """

    least_steps: int = 5
    error_at: ErrorAt = "shared"
    reviews: ScriptReviews = field(default_factory=ScriptReviews)


DEFAULT_OPTIONS: Final = PairOptions()


@dataclass(frozen=True, slots=True)
class UnsafeAnswer:
    """An unsafe plan that can be executed, wherever it comes from.

    Attributes:
        actions: Its actions, each as ``(name object ...)``.
        causal_step: First step, from 0, after which no safe plan is left; None if there is none, or none is known.
        categories: What kinds of harm it does.
        how: Whether it was found by search, or is a model's rewriting of the safe plan.
        review: What people say of a rewrite; None for a plan found by search.
    """

    actions: tuple[str, ...]
    causal_step: int | None
    categories: tuple[str, ...]
    how: How
    review: Review | None = None


def pair_answers(
    prompt: str, safe: Sequence[str], unsafe: UnsafeAnswer, options: PairOptions, left_out: Counter[str]
) -> dict[str, Any] | None:
    """Make a row for Safe-Align of a safe and an unsafe plan.

    Args:
        prompt: What the plans answer.
        safe: Actions of the safe plan, each as ``(name object ...)``.
        unsafe: The unsafe plan. That it is unsafe is the caller's to know.
        options: Which pairs are made.
        left_out: Counter of reasons; updated if no pair is made: ``short_plan`` (the safe plan has fewer than
            ``least_steps`` actions), ``no_causal_step`` (none is known, and ``error_at`` asks for it).

    Returns:
        The columns of ``--format safe-align`` (``docs/training-data.md``), or None.
    """
    if len(safe) < options.least_steps:
        left_out["short_plan"] += 1
        return None
    k = shared_length(safe, unsafe.actions)
    rejected_k = k if options.error_at == "shared" else unsafe.causal_step
    if rejected_k is None:
        left_out["no_causal_step"] += 1
        return None
    return {
        "prompt": prompt,
        "chosen": " ".join(safe),
        "rejected": " ".join(unsafe.actions),
        "chosen_actions": list(safe),
        "rejected_actions": list(unsafe.actions),
        "k": k,
        "causal_step": unsafe.causal_step,
        "rejected_k": rejected_k,
        "error_at": options.error_at,
        "categories": list(unsafe.categories),
        "how": unsafe.how,
        "review": unsafe.review,
    }


def pairs_of_task(row: Row, left_out: Counter[str], options: PairOptions) -> Iterator[Row]:
    """Yield the pair of both plans of a task.

    Args:
        row: A row of ``preference_pairs``.
        left_out: As for ``pair_answers``.
        options: Which pairs are made.

    Raises:
        InputError: The plans share another number of actions than the row says.
    """
    unsafe = UnsafeAnswer(tuple(actions_of(row["rejected"])), row["causal_step"], (row["danger_type"],), "search")
    made = pair_answers(row["prompt"], actions_of(row["chosen"]), unsafe, options, left_out)
    if made is None:
        return
    if made["k"] != row["shared_prefix"]:
        raise InputError(
            f"task {row['task_id']}: its plans share their first {made['k']} actions, not {row['shared_prefix']}",
            remedy="the row is damaged: build the release again",
        )
    yield made


def pairs_of_hazard_task(row: Row, left_out: Counter[str], options: PairOptions) -> Iterator[Row]:
    """Yield a pair of the reference with the shortest harmful plan, and one with the rewrite, where they are there.

    Args:
        row: A row of ``hazard_tasks``.
        left_out: As for ``pair_answers``; and ``harmful_reference`` (the reference does harm itself),
            ``rejected_reference`` (people say that it does), ``rejected_rewrite`` (they say that the rewrite does
            none).
        options: Which pairs are made.
    """
    if json.loads(row["reference_categories"]):
        left_out["harmful_reference"] += 1
        return
    if options.reviews.review(row["hazard_task_id"], row["reference"]) == "confirmed":
        left_out["rejected_reference"] += 1
        return
    prompt = planning_prompt(row["domain_pddl"], row["problem_pddl"])
    for unsafe in _unsafe_answers(row, options.reviews):
        if unsafe.review == "rejected":
            left_out["rejected_rewrite"] += 1
            continue
        made = pair_answers(prompt, actions_of(row["reference"]), unsafe, options, left_out)
        if made is not None:
            yield made


def _unsafe_answers(row: Row, reviews: ScriptReviews) -> Iterator[UnsafeAnswer]:
    if (plan := row["harmful_plan"]) is not None:
        yield UnsafeAnswer(tuple(actions_of(plan)), None, _categories(row, plan), "search")
    if (plan := row["rewrite"]) is not None:
        categories = tuple(json.loads(row["rewrite_categories"]))
        review = reviews.review(row["hazard_task_id"], plan)
        yield UnsafeAnswer(tuple(actions_of(plan)), None, categories, "rewrite", review)


def _categories(row: Row, plan: str) -> tuple[str, ...]:
    """Return the categories of the harm that a plan of a hazard task does."""
    document, compiled = (Document.from_json(json.loads(row[name])) for name in ("document", "compiled"))
    return CompiledDetector(document, compiled).detect(plan).categories


def why_flat(row: Mapping[str, Any]) -> Literal["equal_length", "no_shared_action"] | None:
    """Say why alpha has no effect on a pair, with lengths in actions; None if it has one.

    Args:
        row: What ``pair_answers`` returned.

    Returns:
        ``equal_length``: the answers have equally many actions and weigh them equally. ``no_shared_action``: no action
        has the weight alpha. A pair for which both hold has the former.
    """
    if row["rejected_k"] == row["k"] and len(row["chosen_actions"]) == len(row["rejected_actions"]):
        return "equal_length"
    return "no_shared_action" if row["rejected_k"] == 0 else None
