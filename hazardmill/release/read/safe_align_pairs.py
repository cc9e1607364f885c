"""Pairs for Safe-Align: a safe and an unsafe plan of one task, cut into actions, and which actions have which weight.

The safe plan is that of a task, or a script that V accepts (``preferred_scripts``): the reference of a hazard task, and
scripts that the caller has of tasks. Where the reference does harm, the shortest harmless plan stands in for it.

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
from hazardmill.release.read.preferred_scripts import SafeAnswer, accept_scripts

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
        scripts: Plan strings by task, which are preferred answers too if they are accepted (``accept_scripts``).
    """

    least_steps: int = 5
    error_at: ErrorAt = "shared"
    reviews: ScriptReviews = field(default_factory=ScriptReviews)
    scripts: Mapping[str, Sequence[str]] = field(default_factory=dict)


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
    prompt: str, safe: SafeAnswer, unsafe: UnsafeAnswer, options: PairOptions, left_out: Counter[str]
) -> dict[str, Any] | None:
    """Make a row for Safe-Align of a safe and an unsafe plan.

    Args:
        prompt: What the plans answer.
        safe: The safe plan. That it is safe is the caller's to know.
        unsafe: The unsafe plan. That it is unsafe is the caller's to know.
        options: Which pairs are made.
        left_out: Counter of reasons; updated if no pair is made: ``short_plan`` (the safe plan has fewer than
            ``least_steps`` actions), ``no_causal_step`` (none is known, and ``error_at`` asks for it).

    Returns:
        The columns of ``--format safe-align`` (``docs/training-data.md``), or None.
    """
    if len(safe.actions) < options.least_steps:
        left_out["short_plan"] += 1
        return None
    k = shared_length(safe.actions, unsafe.actions)
    rejected_k = k if options.error_at == "shared" else unsafe.causal_step
    if rejected_k is None:
        left_out["no_causal_step"] += 1
        return None
    return {
        "prompt": prompt,
        "chosen": " ".join(safe.actions),
        "rejected": " ".join(unsafe.actions),
        "chosen_actions": list(safe.actions),
        "rejected_actions": list(unsafe.actions),
        "k": k,
        "causal_step": unsafe.causal_step,
        "rejected_k": rejected_k,
        "error_at": options.error_at,
        "categories": list(unsafe.categories),
        "how": unsafe.how,
        # Not null: a column of nulls alone has no type in JSON lines.
        "review": unsafe.review or "proved",
        "chosen_from": safe.chosen_from,
    }


def pairs_of_task(row: Row, left_out: Counter[str], options: PairOptions) -> Iterator[Row]:
    """Yield the pair of both plans of a task, and one with each of its scripts that is accepted.

    Args:
        row: A row of ``preference_pairs``; with ``document`` (JSON text) if the task has scripts.
        left_out: As for ``pair_answers`` and ``accept_scripts``.
        options: Which pairs are made.

    Raises:
        InputError: The plans share another number of actions than the row says.
    """
    unsafe = UnsafeAnswer(tuple(actions_of(row["rejected"])), row["causal_step"], (row["danger_type"],), "search")
    safe = SafeAnswer.of(row["chosen"], "search")
    if (shared := shared_length(safe.actions, unsafe.actions)) != row["shared_prefix"]:
        raise InputError(
            f"task {row['task_id']}: its plans share their first {shared} actions, not {row['shared_prefix']}",
            remedy="the row is damaged: build the release again",
        )
    chosen = [safe]
    if scripts := options.scripts.get(row["task_id"]):
        document = Document.from_json(json.loads(row["document"]))
        chosen += accept_scripts(row["task_id"], scripts, document, None, options.reviews, left_out)
    yield from _cross(row["prompt"], chosen, [unsafe], options, left_out)


def pairs_of_hazard_task(row: Row, left_out: Counter[str], options: PairOptions) -> Iterator[Row]:
    """Yield pairs of the reference with the shortest harmful plan and with the rewrite, where they are there.

    If the reference does harm, the shortest harmless plan is preferred instead, unless people say that it does harm,
    too: it may be the same plan. Pairs with scripts of the task that are accepted follow.

    Args:
        row: A row of ``hazard_tasks``.
        left_out: As for ``pair_answers`` and ``accept_scripts``; and ``harmful_reference`` (the reference does harm,
            and no harmless plan is known), ``rejected_reference`` (people say that it does harm, and so does each
            harmless plan that is known), ``rejected_rewrite`` (they say that the rewrite does none).
        options: Which pairs are made.
    """
    task_id = row["hazard_task_id"]
    document, compiled = (Document.from_json(json.loads(row[name])) for name in ("document", "compiled"))
    chosen = []
    if json.loads(row["reference_categories"]):
        why = "harmful_reference"
    elif options.reviews.review(task_id, row["reference"]) == "confirmed":
        why = "rejected_reference"
    else:
        why = None
        chosen.append(SafeAnswer.of(row["reference"], "reference"))
    if why is not None:
        plan = row["harmless_plan"]
        if plan is None or options.reviews.review(task_id, plan) == "confirmed":
            left_out[why] += 1
        else:
            chosen.append(SafeAnswer.of(plan, "search"))
    if scripts := options.scripts.get(task_id):
        chosen += accept_scripts(task_id, scripts, document, compiled, options.reviews, left_out)
    prompt = planning_prompt(row["domain_pddl"], row["problem_pddl"])
    rejected = []
    for unsafe in _unsafe_answers(row, CompiledDetector(document, compiled), options.reviews) if chosen else ():
        if unsafe.review == "rejected":
            left_out["rejected_rewrite"] += 1
        else:
            rejected.append(unsafe)
    yield from _cross(prompt, chosen, rejected, options, left_out)


def _cross(
    prompt: str,
    chosen: Sequence[SafeAnswer],
    rejected: Sequence[UnsafeAnswer],
    options: PairOptions,
    left_out: Counter[str],
) -> Iterator[Row]:
    """Yield the pairs of all preferred and all rejected answers; a script that repeats an answer is counted."""
    seen: set[tuple[str, ...]] = set()
    for safe in chosen:
        if safe.actions in seen:
            left_out["repeated_script"] += 1
            continue
        seen.add(safe.actions)
        for unsafe in rejected:
            made = pair_answers(prompt, safe, unsafe, options, left_out)
            if made is not None:
                yield made


def _unsafe_answers(row: Row, detector: CompiledDetector, reviews: ScriptReviews) -> Iterator[UnsafeAnswer]:
    found, rewrite = row["harmful_plan"], row["rewrite"]
    # If a model wrote the plan that search finds, it counts once, and as the one that people judge.
    if found is not None and (rewrite is None or actions_of(found) != actions_of(rewrite)):
        yield UnsafeAnswer(tuple(actions_of(found)), None, detector.detect(found).categories, "search")
    if rewrite is not None:
        categories = tuple(json.loads(row["rewrite_categories"]))
        review = reviews.review(row["hazard_task_id"], rewrite)
        yield UnsafeAnswer(tuple(actions_of(rewrite)), None, categories, "rewrite", review)


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
