"""Safe-Align: the objective that teaches from pairs of plans with a common beginning, as a reference in float64.

A pair is a prompt x, a preferred answer y_w and a rejected answer y_l, which share their first k actions. P is the sum
of the log-probabilities of these k actions, Q that of the other actions of an answer, and |y| its length:

    r(y) = beta / |y| * (alpha * P + Q)
    loss = -log sigma(r(y_w) - r(y_l) - gamma) + sft_weight * (-log pi(y_w | x) / |y_w|)

with gamma = gamma_beta_ratio * beta. With alpha = 1 this is SimPO (Meng et al. 2024, arXiv:2405.14734), whose names the
parameters have. *Adjusted DPO* has the same weights inside the log ratios of DPO (Rafailov et al. 2023,
arXiv:2305.18290), which are not divided by the length.

P is the same for both answers, so that alpha has an effect through unequal lengths only: its term in r(y_w) - r(y_l)
is alpha * beta * P * (1 / |y_w| - 1 / |y_l|). ``docs/safe-align.md`` says what follows from this.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hazardmill.errors import InputError, UsageError

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]
Length = Literal["tokens", "actions"]

PREFIX_TOLERANCE: Final = 1e-3
"""Largest difference between the log-probabilities of a shared action in both answers: rounding of float32 is within.

An action that is not shared has practically always another log-probability."""


def _check_weights(alpha: float, beta: float) -> None:
    if not 0 <= alpha <= 1:
        raise UsageError(
            f"alpha is {alpha}, which is outside 0 to 1",
            remedy="give an alpha from 0 (shared actions do not count) to 1 (they count as all others)",
        )
    if not 0 < beta < np.inf:
        raise UsageError(f"beta is {beta}, not a number above 0", remedy="give a beta above 0")


@dataclass(frozen=True, slots=True)
class SafeAlignParameters:
    """Parameters of the objective. The defaults are ours: the published text of Safe-Align does not give its values.

    Attributes:
        alpha: Weight of the shared actions, from 0 (they do not count) to 1 (SimPO). Default 0.5, the middle.
        beta: Scale of the rewards, above 0. Default as in the published code of SimPO.
        gamma_beta_ratio: Margin that the rewards are to differ by, divided by beta; at least 0. Default as for beta.
        sft_weight: Weight of the negative log-probability of the preferred answer per unit of length; at least 0.
        length: What the length of an answer counts: tokens, as in SimPO, or actions.

    Raises:
        UsageError: A value is outside its range.
    """

    alpha: float = 0.5
    beta: float = 2.0
    gamma_beta_ratio: float = 0.25
    sft_weight: float = 0.0
    length: Length = "tokens"

    def __post_init__(self) -> None:
        _check_weights(self.alpha, self.beta)
        for name, value in (("gamma_beta_ratio", self.gamma_beta_ratio), ("sft_weight", self.sft_weight)):
            if not 0 <= value < np.inf:
                raise UsageError(
                    f"{name} is {value}, not a number of at least 0", remedy=f"give a {name} of at least 0"
                )
        if self.length not in get_args(Length):
            raise UsageError(f"length is {self.length!r}", remedy="count the length in 'tokens' or in 'actions'")

    @property
    def gamma(self) -> float:
        """The margin."""
        return self.gamma_beta_ratio * self.beta


@dataclass(frozen=True, slots=True, eq=False)
class AnswerBatch:
    """One answer of each of n pairs, all preferred or all rejected.

    Attributes:
        log_probs: Natural logarithm of the probability of each action, given the prompt and the actions before it;
            shape (n, m). What a row has after its last action is ignored.
        actions: Number of actions of each answer; shape (n,), from 1 to m.
        tokens: Number of tokens of each answer; shape (n,).
    """

    log_probs: Floats
    actions: Integers
    tokens: Integers

    @classmethod
    def of(cls, log_probs: Sequence[Sequence[float]], tokens: Sequence[int]) -> AnswerBatch:
        """Build a batch from one list of log-probabilities per answer, and the answers' numbers of tokens."""
        counts = np.array([len(row) for row in log_probs], dtype=np.int64)
        padded = np.zeros((len(counts), max(counts, default=0)))
        for target, row in zip(padded, log_probs, strict=True):
            target[: len(row)] = row
        return cls(padded, counts, np.asarray(tokens, dtype=np.int64))

    @property
    def present(self) -> Flags:
        """Which entries of ``log_probs`` are actions; shape (n, m)."""
        return _before(self.actions, self.log_probs.shape[1])

    def lengths(self, unit: Length) -> Integers:
        """Return the length of each answer in tokens or in actions; shape (n,)."""
        return self.tokens if unit == "tokens" else self.actions


@dataclass(frozen=True, slots=True, eq=False)
class PairLosses:
    """Value and gradient of an objective for each of n pairs. They are not averaged.

    A shared action occurs in both answers. The derivative with respect to its log-probability is the sum of its two
    entries in ``chosen_gradient`` and ``rejected_gradient``, each of which is the derivative through one answer alone.

    Attributes:
        loss: The loss; shape (n,).
        difference: r(y_w) - r(y_l), before the margin is subtracted; shape (n,).
        chosen_gradient: Derivative of the loss with respect to the log-probability of each action of the preferred
            answer; shape (n, m) as its ``log_probs``, 0 after the last action.
        rejected_gradient: The same for the rejected answer.
    """

    loss: Floats
    difference: Floats
    chosen_gradient: Floats
    rejected_gradient: Floats


DEFAULTS: Final = SafeAlignParameters()


def safe_align(
    chosen: AnswerBatch,
    rejected: AnswerBatch,
    k: ArrayLike,
    parameters: SafeAlignParameters = DEFAULTS,
    *,
    rejected_k: ArrayLike | None = None,
) -> PairLosses:
    """Compute the Safe-Align loss of pairs, and its gradient.

    Args:
        chosen: The preferred answers.
        rejected: The rejected answers, in the same order.
        k: Number of actions that the answers of a pair share; shape (n,), or one number for all pairs.
        parameters: Parameters of the objective.
        rejected_k: Number of actions of the rejected answer that have the weight alpha, at least k; shape as for
            ``k``. None: k. If it is larger, the answers weigh an action differently, and alpha has an effect at equal
            lengths too.

    Returns:
        Loss, difference of the rewards, and gradient of each pair.

    Raises:
        InputError: A length is 0, k does not fit the answers, an action of the prefix has two log-probabilities, a
            log-probability is not finite, or the arrays do not fit together.
    """
    weights_w, weights_l = _read_pairs(chosen, rejected, k, rejected_k, parameters.alpha)
    lengths_w, lengths_l = (_checked_lengths(answers, parameters.length) for answers in (chosen, rejected))
    scale_w, scale_l = parameters.beta / lengths_w, parameters.beta / lengths_l
    difference = scale_w * _sums(chosen, weights_w) - scale_l * _sums(rejected, weights_l)
    found = _logistic(difference, parameters.gamma, scale_w[:, None] * weights_w, scale_l[:, None] * weights_l)
    per_action = parameters.sft_weight / lengths_w[:, None] * chosen.present
    return PairLosses(
        found.loss - _sums(chosen, per_action),
        difference,
        found.chosen_gradient - per_action,
        found.rejected_gradient,
    )


def adjusted_dpo(
    chosen: AnswerBatch,
    rejected: AnswerBatch,
    chosen_reference: ArrayLike,
    rejected_reference: ArrayLike,
    k: ArrayLike,
    *,
    alpha: float,
    beta: float,
    rejected_k: ArrayLike | None = None,
) -> PairLosses:
    """Compute the loss of adjusted DPO and its gradient: log ratios weighed as in Safe-Align, whatever the length.

    Where the answers weigh the shared actions equally, the loss is that of DPO for every alpha: their log ratios are
    the same in both answers and cancel. Lengths in tokens are not read.

    Args:
        chosen: The preferred answers under the trained model.
        rejected: The rejected answers under the trained model.
        chosen_reference: Log-probabilities of the actions of the preferred answers under the reference model; shape
            as ``chosen.log_probs``.
        rejected_reference: The same for the rejected answers.
        k: Number of actions that the answers of a pair share, as for ``safe_align``.
        alpha: Weight of the shared actions, from 0 to 1.
        beta: Scale of the log ratios, above 0.
        rejected_k: As for ``safe_align``.

    Returns:
        Loss and gradient of each pair; the difference is that of the weighed log ratios, times beta.

    Raises:
        UsageError: alpha or beta is outside its range.
        InputError: As for ``safe_align``, except for lengths; also for the log-probabilities of the reference model.
    """
    _check_weights(alpha, beta)
    weights_w, weights_l = _read_pairs(chosen, rejected, k, rejected_k, alpha)
    reference_w = _read_reference(chosen, chosen_reference)
    reference_l = _read_reference(rejected, rejected_reference)
    _read_pairs(reference_w, reference_l, k, rejected_k, alpha)
    ratios_w = _sums(chosen, weights_w) - _sums(reference_w, weights_w)
    ratios_l = _sums(rejected, weights_l) - _sums(reference_l, weights_l)
    return _logistic(beta * (ratios_w - ratios_l), 0.0, beta * weights_w, beta * weights_l)


def _read_reference(answers: AnswerBatch, log_probs: ArrayLike) -> AnswerBatch:
    """Return the same answers with the log-probabilities of the reference model."""
    scored = np.asarray(log_probs, dtype=np.float64)
    if scored.shape != answers.log_probs.shape:
        raise InputError(
            f"the log-probabilities of the reference model have the shape {scored.shape}, those of the trained model "
            f"{answers.log_probs.shape}",
            remedy="score the same answers with both models",
        )
    return replace(answers, log_probs=scored)


def _logistic(difference: Floats, gamma: float, factors_w: Floats, factors_l: Floats) -> PairLosses:
    """Return -log sigma(difference - gamma), where a log-probability changes the difference by its factor."""
    margin = difference - gamma
    # Both functions are exact at large margins, where exp and log one after the other would overflow or be 0.
    slope = -np.exp(-np.logaddexp(0.0, margin))[:, None]
    return PairLosses(np.logaddexp(0.0, -margin), difference, slope * factors_w, -slope * factors_l)


def _sums(answers: AnswerBatch, weights: Floats) -> Floats:
    total: Floats = (np.where(answers.present, answers.log_probs, 0.0) * weights).sum(axis=1)
    return total


def _before(counts: Integers, width: int) -> Flags:
    """Return which of ``width`` places come before the count of each row."""
    before: Flags = np.arange(width) < counts[:, None]
    return before


def _read_pairs(
    chosen: AnswerBatch, rejected: AnswerBatch, k: ArrayLike, rejected_k: ArrayLike | None, alpha: float
) -> tuple[Floats, Floats]:
    """Check that two batches are pairs, and return the weight of each action; shapes as their ``log_probs``."""
    pairs = len(chosen.log_probs)
    for answers, name in ((chosen, "preferred"), (rejected, "rejected")):
        _check_answers(answers, name, pairs)
    shared = _counts(k, pairs, "k")
    weighed = shared if rejected_k is None else _counts(rejected_k, pairs, "rejected_k")
    most = np.minimum(chosen.actions, rejected.actions)
    _refuse_first(
        (shared < 0) | (shared > most),
        lambda pair: f"k is {shared[pair]}, but the shorter answer has {most[pair]} actions",
        "give the number of actions that both answers begin with",
    )
    _refuse_first(
        (weighed < shared) | (weighed > rejected.actions),
        lambda pair: (
            f"rejected_k is {weighed[pair]}, but k is {shared[pair]} and the rejected answer has "
            f"{rejected.actions[pair]} actions"
        ),
        "give a number from k to that of the rejected answer's actions",
    )
    width = min(chosen.log_probs.shape[1], rejected.log_probs.shape[1])
    apart = np.abs(chosen.log_probs[:, :width] - rejected.log_probs[:, :width])
    differs = _before(shared, width) & (apart > PREFIX_TOLERANCE)
    _refuse_first(
        np.any(differs, axis=1),
        lambda pair: (
            f"the answers do not share their first {shared[pair]} actions: action {differs[pair].argmax()}, "
            "counted from 0, has another log-probability in each"
        ),
        "count k again, and score both answers with the same model and prompt, without dropout",
    )
    weights_w, weights_l = (
        np.where(_before(count, answers.log_probs.shape[1]), alpha, 1.0) * answers.present
        for answers, count in ((chosen, shared), (rejected, weighed))
    )
    return weights_w, weights_l


def _check_answers(answers: AnswerBatch, name: str, pairs: int) -> None:
    shape = answers.log_probs.shape
    if len(shape) != 2 or not answers.actions.shape == answers.tokens.shape == (pairs,) == shape[:1]:
        raise InputError(
            f"the arrays of the {name} answers have the shapes {shape}, {answers.actions.shape} and "
            f"{answers.tokens.shape} for {pairs} pairs",
            remedy="give log-probabilities of the shape (pairs, actions), and one count per pair",
        )
    _checked_lengths(answers, "actions")
    _refuse_first(
        answers.actions > shape[1],
        lambda pair: f"the {name} answer has {answers.actions[pair]} actions, but {shape[1]} log-probabilities",
        "give a log-probability for each action",
    )
    _refuse_first(
        np.any(answers.present & ~np.isfinite(answers.log_probs), axis=1),
        lambda _: f"a log-probability of the {name} answer is not finite",
        "leave the pair out, or score it in a type with a larger range",
    )


def _checked_lengths(answers: AnswerBatch, unit: Length) -> Integers:
    lengths = answers.lengths(unit)
    _refuse_first(lengths < 1, lambda pair: f"an answer has the length {lengths[pair]} in {unit}", "leave the pair out")
    return lengths


def _counts(given: ArrayLike, pairs: int, name: str) -> Integers:
    try:
        return np.broadcast_to(np.asarray(given, dtype=np.int64), (pairs,))
    except ValueError as error:
        raise InputError(
            f"{name} has the shape {np.shape(given)} for {pairs} pairs", remedy="give one number, or one per pair"
        ) from error


def _refuse_first(wrong: Flags, describe: Callable[[int], str], remedy: str) -> None:
    """Raise an error for the first pair that is wrong, if any is."""
    if wrong.any():
        pair = int(wrong.argmax())
        raise InputError(f"pair {pair}: {describe(pair)}", remedy=remedy)
