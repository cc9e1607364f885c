"""Safe-Align for a trainer: a pair as tokens with the end of its prefix, and the loss of a batch of pairs.

Copy this file and ``train.py`` to the machine that trains; neither imports hazardmill. This one imports no library at
all: the loss is plain arithmetic on arrays, so that PyTorch's tensors and NumPy's arrays can both be given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class SafeAlignParameters:
    """Parameters of the objective; the defaults are hazardmill's, not published ones (docs/safe-align.md).

    Attributes:
        alpha: Weight of the shared actions, from 0 to 1.
        beta: Scale of the rewards.
        gamma_beta_ratio: Margin of the rewards, divided by beta.
        sft_weight: Weight of the negative log-probability of the preferred answer, per unit of length.
        length: Unit of length: ``tokens`` or ``actions``. The end of an answer counts as one of either.
    """

    alpha: float = 0.5
    beta: float = 2.0
    gamma_beta_ratio: float = 0.25
    sft_weight: float = 0.0
    length: str = "tokens"

    def __post_init__(self) -> None:
        if not 0 <= self.alpha <= 1:
            raise ValueError(f"alpha is {self.alpha}, which is outside 0 to 1")
        if self.length not in ("tokens", "actions"):
            raise ValueError(f"length is {self.length!r}: count it in 'tokens' or in 'actions'")


def tokenize_answer(tokenizer: Any, prompt: str, actions: Sequence[str], prefix: int) -> dict[str, Any]:
    """Tokenize a prompt with one answer to it, and find where the answer and its part of full weight begin.

    The text is tokenized whole, as it is when the model answers. Tokens are told apart by their offsets in it.

    Args:
        tokenizer: A fast tokenizer of transformers, which has an end-of-sequence token.
        prompt: The prompt as text, with the chat template already applied if there is one.
        actions: Actions of the answer.
        prefix: How many of them have the weight alpha.

    Returns:
        ``ids``: the tokens of prompt and answer, and the token that ends it. ``answer``, ``rest``: the places of the
        first token of the answer and of the first one after its prefix. ``actions``: number of actions, with the end.

    Raises:
        ValueError: A token lies on both sides of a border.
    """
    text, shared = prompt + " ".join(actions), prompt + " ".join(actions[:prefix])
    read = tokenizer(text, return_offsets_mapping=True)
    ids, spans = list(read["input_ids"]), read["offset_mapping"]
    if ids and ids[-1] == tokenizer.eos_token_id:
        # Some tokenizers end every sequence themselves.
        ids.pop()
    places = []
    for border in (len(prompt), len(shared)):
        # A token without text, such as the one that begins a sequence, has the span (0, 0).
        place = next((place for place in range(len(ids)) if spans[place][1] > border), len(ids))
        if place < len(ids) and spans[place][0] < border:
            raise ValueError(
                f"one token spans the border after {text[max(0, border - 30) : border]!r}: end the prompt with a line "
                "feed, or take a tokenizer that does not merge over white space"
            )
        places.append(place)
    return {
        "ids": [*ids, tokenizer.eos_token_id],
        "answer": places[0],
        "rest": places[1],
        "actions": len(actions) + 1,
    }


def tokenize_pair(row: Mapping[str, Any], tokenizer: Any) -> dict[str, Any]:
    """Tokenize a row of ``hazardmill release export --format safe-align``.

    Args:
        row: The row.
        tokenizer: As for ``tokenize_answer``.

    Returns:
        What ``tokenize_answer`` returns for both answers, with ``chosen_`` and ``rejected_`` before each name.

    Raises:
        ValueError: The answers do not share their first ``k`` actions, or not as tokens.
    """
    chosen, rejected, k = row["chosen_actions"], row["rejected_actions"], row["k"]
    name = f"the pair of task {row.get('task_id')}"
    if not chosen or not rejected:
        raise ValueError(f"{name} has an answer without an action: leave it out")
    if not 0 <= k <= min(len(chosen), len(rejected)) or chosen[:k] != rejected[:k]:
        raise ValueError(f"{name} does not share its first {k} actions: export it again")
    tokens = [tokenize_answer(tokenizer, row["prompt"], actions, k) for actions in (chosen, rejected)]
    if tokens[0]["ids"][: tokens[0]["rest"]] != tokens[1]["ids"][: tokens[1]["rest"]]:
        raise ValueError(f"{name} shares its first {k} actions, but not their tokens: leave it out")
    tokens[1] = tokenize_answer(tokenizer, row["prompt"], rejected, row.get("rejected_k", k))
    return {
        f"{which}_{key}": value
        for which, answer in zip(("chosen", "rejected"), tokens, strict=True)
        for key, value in answer.items()
    }


def pair_losses(
    log_probs: Any,
    prefix: Any,
    rest: Any,
    actions: Any,
    parameters: SafeAlignParameters,
    log_sigmoid: Callable[[Any], Any],
) -> Any:
    """Compute the Safe-Align loss of n pairs.

    Args:
        log_probs: Log-probability of each token; shape (2n, m), the preferred answers before the rejected ones. All
            entries are finite.
        prefix: 1 for tokens of weight alpha, 0 for others; shape (2n, m).
        rest: 1 for tokens of weight 1, 0 for others; shape (2n, m).
        actions: Number of actions of each answer; shape (2n,).
        parameters: Parameters of the objective.
        log_sigmoid: The logarithm of the logistic function, for such arrays.

    Returns:
        The loss of each pair; shape (n,).
    """
    pairs = len(log_probs) // 2
    lengths = (prefix + rest).sum(-1) if parameters.length == "tokens" else actions
    rewards = parameters.beta / lengths * ((parameters.alpha * prefix + rest) * log_probs).sum(-1)
    margins = rewards[:pairs] - rewards[pairs:] - parameters.gamma_beta_ratio * parameters.beta
    whole = (((prefix + rest) * log_probs).sum(-1) / lengths)[:pairs]
    return -log_sigmoid(margins) - parameters.sft_weight * whole
