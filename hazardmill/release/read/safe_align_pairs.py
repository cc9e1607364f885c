"""Pairs for Safe-Align: a safe and an unsafe plan of one task, cut into actions, and which actions have which weight.

Both plans begin with the same ``k`` actions and differ in the next one. In the objective (``safe_align``), the first
``k`` actions of the safe plan have the weight alpha, and so have the first ``rejected_k`` of the unsafe plan:

- ``error_at="shared"``: ``rejected_k`` is ``k``. Alpha then has an effect through unequal lengths only.
- ``error_at="causal"``: ``rejected_k`` is the causal step (``pairs``), which is ``k`` or later. If it is later, the
  actions before the mistake count as little as shared ones. The plans then have different weights, and alpha has an
  effect at equal lengths too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from hazardmill.release.read.pairs import shared_length

ErrorAt = Literal["shared", "causal"]
How = Literal["search", "rewrite"]


@dataclass(frozen=True, slots=True)
class PairOptions:
    """Which pairs are made for Safe-Align.

    Attributes:
        least_steps: Least number of actions of the safe plan; at least 1.
        error_at: Where the part of the unsafe plan begins that counts fully.
    """

    least_steps: int = 5
    error_at: ErrorAt = "shared"


DEFAULT_OPTIONS: Final = PairOptions()


@dataclass(frozen=True, slots=True)
class UnsafeAnswer:
    """An unsafe plan that can be executed, wherever it comes from.

    Attributes:
        actions: Its actions, each as ``(name object ...)``.
        causal_step: First step, from 0, after which no safe plan is left; None if there is none, or none is known.
        categories: What kinds of harm it does.
        how: Whether it was found by search, or is a model's rewriting of the safe plan.
    """

    actions: tuple[str, ...]
    causal_step: int | None
    categories: tuple[str, ...]
    how: How


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
    }


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
