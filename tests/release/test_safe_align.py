"""Safe-Align's objective: the worked example, the laws of docs/safe-align.md, and gradients against differences."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hazardmill.errors import InputError, UsageError
from hazardmill.release.read.safe_align import (
    DEFAULTS,
    AnswerBatch,
    SafeAlignParameters,
    adjusted_dpo,
    safe_align,
)

ALPHAS = (0.0, 0.5, 1.0)
SHARED = [-0.2, -0.3]
CHOSEN = AnswerBatch.of([[*SHARED, -0.4, -0.6]], [4])
REJECTED = AnswerBatch.of([[*SHARED, -1.1]], [3])
EXAMPLE = SafeAlignParameters(beta=2, gamma_beta_ratio=0.25)


def random_pairs(seed, pairs=1_000, most=9):
    """Pairs of 1 to `most` actions each with a shared prefix of any length, and noise where there is no action."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, most + 1, (2, pairs))
    k = rng.integers(0, counts.min(axis=0) + 1)
    log_probs = -rng.exponential(1.0, (2, pairs, most))
    places = np.arange(most)
    log_probs[1] = np.where(places < k[:, None], log_probs[0], log_probs[1])
    log_probs[places >= counts[..., None]] = np.nan
    tokens = counts + rng.integers(0, 20, (2, pairs))
    chosen, rejected = (AnswerBatch(log_probs[each], counts[each], tokens[each]) for each in (0, 1))
    return chosen, rejected, k, rng


def equal_length(seed):
    """The same with answers of equal length, in actions and in tokens."""
    chosen, rejected, k, rng = random_pairs(seed)
    log_probs = np.where(np.isnan(rejected.log_probs), -1.0, rejected.log_probs)
    return chosen, AnswerBatch(log_probs, chosen.actions, chosen.tokens), k, rng


# The worked example


@pytest.mark.parametrize(
    ("alpha", "difference", "loss"), [(0, 0.233333, 0.835343), (0.5, 0.275, 0.811962), (1, 0.316667, 0.789009)]
)
def test_the_example(alpha, difference, loss):
    found = safe_align(CHOSEN, REJECTED, 2, replace(EXAMPLE, alpha=alpha))
    assert found.difference[0] == pytest.approx(difference, abs=5e-7)
    assert found.loss[0] == pytest.approx(loss, abs=5e-7)


def test_the_gradient_of_the_example():
    found = safe_align(CHOSEN, REJECTED, 2, replace(EXAMPLE, alpha=0.5))
    assert found.chosen_gradient[0, 2:] == pytest.approx([-0.278007] * 2, abs=5e-7)
    assert found.rejected_gradient[0, 2:] == pytest.approx([0.370676], abs=5e-7)
    through_both = found.chosen_gradient[0, :2] + found.rejected_gradient[0, :2]
    assert through_both == pytest.approx([0.046334] * 2, abs=5e-7)


def test_the_sft_term_of_the_example():
    without = safe_align(CHOSEN, REJECTED, 2, EXAMPLE)
    found = safe_align(CHOSEN, REJECTED, 2, replace(EXAMPLE, sft_weight=0.1))
    assert found.loss[0] - without.loss[0] == pytest.approx(0.0375, abs=1e-12)
    assert found.chosen_gradient - without.chosen_gradient == pytest.approx(np.full((1, 4), -0.1 / 4))
    assert (found.rejected_gradient == without.rejected_gradient).all()


@pytest.mark.parametrize("alpha", ALPHAS)
def test_the_example_at_equal_lengths(alpha):
    found = safe_align(AnswerBatch.of([[*SHARED, -0.4]], [3]), REJECTED, 2, replace(EXAMPLE, alpha=alpha))
    assert found.difference[0] == pytest.approx(0.466667, abs=5e-7)
    assert found.loss[0] == pytest.approx(0.709953, abs=5e-7)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_the_example_of_adjusted_dpo(alpha):
    chosen_reference, rejected_reference = [[-0.35, -0.25, -0.5, -0.7]], [[-0.35, -0.25, -0.9]]
    found = adjusted_dpo(CHOSEN, REJECTED, chosen_reference, rejected_reference, 2, alpha=alpha, beta=0.1)
    assert found.loss[0] == pytest.approx(0.673347, abs=5e-7)


# Laws


@pytest.mark.parametrize("beta", [0.01, 0.3, 2, 50])
def test_the_loss_is_ln_2_where_the_rewards_differ_by_the_margin(beta):
    chosen, rejected, k, _ = random_pairs(1)
    difference = safe_align(chosen, rejected, k, SafeAlignParameters(beta=beta)).difference
    for pair in np.flatnonzero(difference > 0)[:50]:
        one = [
            AnswerBatch(each.log_probs[[pair]], each.actions[[pair]], each.tokens[[pair]])
            for each in (chosen, rejected)
        ]
        margin = SafeAlignParameters(beta=beta, gamma_beta_ratio=difference[pair] / beta)
        assert safe_align(*one, k[pair], margin).loss[0] == pytest.approx(np.log(2), abs=1e-12)


def test_with_alpha_1_it_is_simpo():
    chosen, rejected, k, _ = random_pairs(2)
    found = safe_align(chosen, rejected, k, replace(EXAMPLE, alpha=1))
    # SimPO's own reading: mean log-probability per token, and no prefix.
    means = [np.nansum(each.log_probs, axis=1) / each.tokens for each in (chosen, rejected)]
    assert found.loss == pytest.approx(np.log1p(np.exp(-(2 * (means[0] - means[1]) - 0.5))), abs=1e-12)
    assert (safe_align(chosen, rejected, 0, replace(EXAMPLE, alpha=0.3)).loss == found.loss).all()


@pytest.mark.parametrize("alpha", [0, 0.3, 1])
def test_through_one_answer_the_gradient_of_a_shared_action_is_alpha_times_that_of_another(alpha):
    chosen, rejected, k, _ = random_pairs(3)
    found = safe_align(chosen, rejected, k, replace(EXAMPLE, alpha=alpha))
    dpo = adjusted_dpo(
        chosen, rejected, np.zeros_like(chosen.log_probs), np.zeros_like(rejected.log_probs), k, alpha=alpha, beta=2
    )
    for values in (found, dpo):
        for gradient, answers in ((values.chosen_gradient, chosen), (values.rejected_gradient, rejected)):
            for row in np.flatnonzero((k > 0) & (k < answers.actions)):
                shared, rest = gradient[row, : k[row]], gradient[row, k[row] : answers.actions[row]]
                assert rest == pytest.approx(np.full(rest.shape, rest[0]), rel=1e-12)
                assert shared == pytest.approx(np.full(shared.shape, alpha * rest[0]), rel=1e-12)


def test_alpha_works_through_unequal_lengths_only():
    chosen, rejected, k, _ = random_pairs(4)
    shared = np.where(np.arange(chosen.log_probs.shape[1]) < k[:, None], chosen.log_probs, 0).sum(axis=1)
    at_0 = safe_align(chosen, rejected, k, replace(EXAMPLE, alpha=0)).difference
    for alpha in (0.2, 1):
        term = safe_align(chosen, rejected, k, replace(EXAMPLE, alpha=alpha)).difference - at_0
        assert term == pytest.approx(alpha * 2 * shared * (1 / chosen.tokens - 1 / rejected.tokens), abs=1e-12)


def test_the_longer_answer_decides_whether_shared_actions_become_less_likely():
    chosen, rejected, k, _ = random_pairs(12)
    found = safe_align(chosen, rejected, k, EXAMPLE)
    first = (found.chosen_gradient + found.rejected_gradient)[k > 0, 0]
    # Above 0: a step against the gradient makes the action less likely.
    assert (np.sign(first) == np.sign(chosen.tokens - rejected.tokens)[k > 0]).all()


@pytest.mark.parametrize("length", ["tokens", "actions"])
def test_at_equal_lengths_neither_loss_nor_gradient_depends_on_alpha(length):
    chosen, rejected, k, _ = equal_length(5)
    base, *others = (
        safe_align(chosen, rejected, k, SafeAlignParameters(alpha=alpha, sft_weight=0.2, length=length))
        for alpha in ALPHAS
    )
    for found in others:
        assert found.loss == pytest.approx(base.loss, abs=1e-12)
        assert through_both(found, k) == pytest.approx(through_both(base, k), abs=1e-12)


def through_both(found, k):
    """The gradient with respect to each log-probability there is: a shared action has one."""
    shared = np.arange(found.chosen_gradient.shape[1]) < k[:, None]
    total = found.chosen_gradient + np.where(shared, found.rejected_gradient, 0)
    return np.stack([total, np.where(shared, 0, found.rejected_gradient)])


def test_adjusted_dpo_is_dpo_for_every_alpha():
    chosen, rejected, k, _ = random_pairs(6)
    references = random_pairs(7)[0].log_probs, random_pairs(8)[1].log_probs
    references = [np.where(np.isnan(each), -1.0, each) for each in references]
    shared = np.arange(chosen.log_probs.shape[1]) < k[:, None]
    references[1] = np.where(shared, references[0], references[1])
    ratios = [
        np.nansum(answers.log_probs - reference, axis=1)
        for answers, reference in zip((chosen, rejected), references, strict=True)
    ]
    dpo = np.log1p(np.exp(-0.1 * (ratios[0] - ratios[1])))
    gradients = []
    for alpha in ALPHAS:
        found = adjusted_dpo(chosen, rejected, *references, k, alpha=alpha, beta=0.1)
        assert found.loss == pytest.approx(dpo, abs=1e-12)
        gradients.append(through_both(found, k))
    assert gradients[0] == pytest.approx(gradients[1], abs=1e-15)
    assert gradients[0] == pytest.approx(gradients[2], abs=1e-15)


def test_where_the_answers_weigh_differently_alpha_works_at_equal_lengths_too():
    chosen, rejected, k, _ = equal_length(9)
    later = k < rejected.actions
    weighed = np.where(later, k + 1, k)
    zeros = np.zeros_like(chosen.log_probs)
    losses = [
        (
            safe_align(chosen, rejected, k, replace(EXAMPLE, alpha=alpha), rejected_k=weighed).loss,
            adjusted_dpo(chosen, rejected, zeros, zeros, k, alpha=alpha, beta=0.1, rejected_k=weighed).loss,
        )
        for alpha in (0, 1)
    ]
    for at_0, at_1 in zip(*losses, strict=True):
        assert ((np.abs(at_0 - at_1) > 1e-9) == later).all()


def test_the_length_is_in_tokens_or_in_actions():
    chosen, rejected = AnswerBatch.of([[-1.0, -2.0]], [8]), AnswerBatch.of([[-4.0]], [5])
    found = {
        length: safe_align(chosen, rejected, 0, SafeAlignParameters(length=length, sft_weight=1))
        for length in ("tokens", "actions")
    }
    assert found["tokens"].difference[0] == pytest.approx(2 * (-3 / 8 + 4 / 5))
    assert found["actions"].difference[0] == pytest.approx(2 * (-3 / 2 + 4))


def test_far_from_the_margin_nothing_overflows():
    good, bad = AnswerBatch.of([[-1e-3]], [1]), AnswerBatch.of([[-3e3]], [1])
    won, lost = safe_align(good, bad, 0, EXAMPLE), safe_align(bad, good, 0, EXAMPLE)
    assert (won.loss[0], lost.loss[0]) == (0, pytest.approx(6e3, rel=1e-3))
    assert (won.chosen_gradient[0, 0], lost.chosen_gradient[0, 0]) == (0, -2)


# Gradients


@pytest.mark.parametrize("length", ["tokens", "actions"])
def test_gradients_agree_with_central_differences(length):
    chosen, rejected, k, rng = random_pairs(10)
    weighed = k + rng.integers(0, rejected.actions - k + 1)
    parameters = SafeAlignParameters(alpha=0.3, beta=1.7, gamma_beta_ratio=0.4, sft_weight=0.2, length=length)

    def objective(chosen, rejected):
        return safe_align(chosen, rejected, k, parameters, rejected_k=weighed)

    compare(objective, chosen, rejected)


def test_gradients_of_adjusted_dpo_agree_with_central_differences():
    chosen, rejected, k, rng = random_pairs(11)
    weighed = k + rng.integers(0, rejected.actions - k + 1)
    references = [np.full_like(answers.log_probs, -0.7) for answers in (chosen, rejected)]

    def objective(chosen, rejected):
        return adjusted_dpo(chosen, rejected, *references, k, alpha=0.6, beta=0.8, rejected_k=weighed)

    compare(objective, chosen, rejected)


def compare(objective, chosen, rejected, step=1e-5):
    """All pairs at once, one action of one answer after the other."""
    found = objective(chosen, rejected)
    for place in range(chosen.log_probs.shape[1]):
        at = np.zeros_like(chosen.log_probs)
        at[:, place] = step
        moved = [
            [replace(each, log_probs=each.log_probs + sign * at) for sign in (1, -1)] for each in (chosen, rejected)
        ]
        numeric = [
            objective(moved[0][0], rejected).loss - objective(moved[0][1], rejected).loss,
            objective(chosen, moved[1][0]).loss - objective(chosen, moved[1][1]).loss,
        ]
        assert found.chosen_gradient[:, place] == pytest.approx(numeric[0] / (2 * step), abs=1e-6)
        assert found.rejected_gradient[:, place] == pytest.approx(numeric[1] / (2 * step), abs=1e-6)


# Bad input


@pytest.mark.parametrize("alpha", [-0.1, 1.1, float("nan")])
def test_alpha_outside_0_to_1_is_refused(alpha):
    said = rf"^alpha is {alpha}, which is outside 0 to 1 \[give an alpha from 0 .* to 1"
    with pytest.raises(UsageError, match=said):
        SafeAlignParameters(alpha=alpha)
    with pytest.raises(UsageError, match=said):
        adjusted_dpo(CHOSEN, REJECTED, CHOSEN.log_probs, REJECTED.log_probs, 2, alpha=alpha, beta=0.1)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"beta": 0}, r"beta is 0, not a number above 0 \[give a beta above 0\]"),
        ({"gamma_beta_ratio": -1}, r"gamma_beta_ratio is -1, not .* \[give a gamma_beta_ratio of at least 0\]"),
        ({"sft_weight": float("inf")}, r"sft_weight is inf, not .* \[give a sft_weight of at least 0\]"),
        ({"length": "words"}, r"length is 'words' \[count the length in 'tokens' or in 'actions'\]"),
    ],
)
def test_other_parameters_outside_their_range_are_refused(changes, said):
    with pytest.raises(UsageError, match=said):
        SafeAlignParameters(**changes)


THREE = AnswerBatch.of([[-1.0], [-1.0, -2.0], [-1.0]], [1, 2, 1])


@pytest.mark.parametrize(
    ("chosen", "rejected", "k", "more", "said"),
    [
        (
            THREE,
            AnswerBatch.of([[-1.0]] * 3, [1, 0, 1]),
            0,
            {},
            r"pair 1: an answer has the length 0 in tokens \[leave",
        ),
        (
            THREE,
            AnswerBatch.of([[-1.0], [-1.0], []], [1, 1, 1]),
            0,
            {},
            r"pair 2: an answer has the length 0 in actions",
        ),
        (
            CHOSEN,
            REJECTED,
            3,
            {},
            r"pair 0: the answers do not share their first 3 actions: action 2, counted from 0, has",
        ),
        (CHOSEN, REJECTED, 4, {}, r"pair 0: k is 4, but the shorter answer has 3 actions \[give the number"),
        (CHOSEN, REJECTED, -1, {}, r"pair 0: k is -1"),
        (
            CHOSEN,
            REJECTED,
            2,
            {"rejected_k": 1},
            r"pair 0: rejected_k is 1, but k is 2 and the .* has 3 actions \[give",
        ),
        (CHOSEN, REJECTED, [2, 2], {}, r"k has the shape \(2,\) for 1 pairs \[give one number, or one per pair\]"),
        (CHOSEN, THREE, 0, {}, r"the arrays of the rejected answers have the shapes \(3, 2\), .* for 1 pairs \[give"),
        (CHOSEN, replace(REJECTED, actions=np.array([4])), 0, {}, r"the rejected answer has 4 actions, but 3 log-prob"),
        (
            AnswerBatch.of([[-np.inf]], [1]),
            REJECTED,
            0,
            {},
            r"pair 0: a log-probability of the preferred answer is not",
        ),
    ],
)
def test_what_is_no_pair_is_refused_with_its_place(chosen, rejected, k, more, said):
    with pytest.raises(InputError, match=said) as refused:
        safe_align(chosen, rejected, k, DEFAULTS, **more)
    assert refused.value.remedy


def test_a_reference_model_must_have_scored_the_same_answers():
    with pytest.raises(
        InputError, match=r"reference model have the shape \(1, 3\), those of the trained model \(1, 4\)"
    ):
        adjusted_dpo(CHOSEN, REJECTED, REJECTED.log_probs, REJECTED.log_probs, 2, alpha=1, beta=0.1)
    with pytest.raises(InputError, match="do not share their first 2 actions"):
        adjusted_dpo(CHOSEN, REJECTED, CHOSEN.log_probs, REJECTED.log_probs - 1, 2, alpha=1, beta=0.1)
