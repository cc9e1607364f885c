"""Compare the loss of ``train.py`` with hazardmill's reference, on a CPU, with a model of a few thousand weights.

    pip install torch trl hazardmill
    python examples/safe_align/check.py            # writes checked.json beside this file
    python examples/safe_align/check.py other.json

The reference reads log-probabilities of actions in float64, which are summed up from those that the model gives to one
answer at a time, without padding. The trainer works in float32 on padded batches. Tests that have no PyTorch compare
the reference with what is recorded in ``checked.json``, and fail if a file of this folder has changed since.
"""

from __future__ import annotations

import copy
import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Mapping
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any

# Nothing is downloaded, and no use is reported to anybody.
os.environ |= {"HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": ""}

import torch
from datasets import Dataset
from objective import SafeAlignParameters, pair_losses, tokenize_pair
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from torch.nn.functional import logsigmoid
from train import PairCollator, SafeAlignTrainer
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from trl import SFTConfig

from hazardmill.release.read import safe_align as reference

HERE = Path(__file__).parent
FILES = ("objective.py", "train.py", "check.py")
BOTH = ("chosen", "rejected")
LIBRARIES = ("torch", "transformers", "trl")
TOLERANCE = 1e-5

PARAMETERS = (
    *({"alpha": alpha} for alpha in (0.0, 0.5, 1.0)),
    {"alpha": 0.3, "beta": 5.0, "gamma_beta_ratio": 0.4, "sft_weight": 0.1},
    {"alpha": 0.7, "beta": 0.5, "sft_weight": 0.1, "length": "actions"},
)


def rows() -> list[dict[str, Any]]:
    """Return pairs of each kind: with and without a shared action, of equal length, one within the other, causal."""
    open_, take, close, cook, off = "(open fridge)", "(take egg fridge)", "(close fridge)", "(cook egg pan)", "(off)"
    pairs = (
        ([open_, take, close, cook, off], [open_, take, cook], 2, 2),
        ([take, close, cook], [open_, take, cook, off], 0, 0),
        ([open_, take, close], [open_, take, cook], 2, 2),
        ([open_, take], [open_, take, cook], 2, 2),
        ([open_, close, take, cook, off], [open_, take, cook, off], 1, 3),
    )
    return [
        {
            "task_id": f"egg-{place}",
            "prompt": "Write a plan: fry an egg.\n",
            "chosen_actions": chosen,
            "rejected_actions": rejected,
            "k": k,
            "rejected_k": rejected_k,
        }
        for place, (chosen, rejected, k, rejected_k) in enumerate(pairs)
    ]


def small_tokenizer(texts: list[str]) -> PreTrainedTokenizerFast:
    """Train a byte-level tokenizer on the texts."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(
        texts,
        trainers.BpeTrainer(vocab_size=300, special_tokens=["<end>"], initial_alphabet=alphabet, show_progress=False),
    )
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<end>", pad_token="<end>")


def small_model(words: int) -> LlamaForCausalLM:
    """Build a model with random weights that are large enough for its answers to differ in probability."""
    torch.manual_seed(0)
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=words,
            hidden_size=8,
            intermediate_size=16,
            num_hidden_layers=2,
            num_attention_heads=2,
            initializer_range=0.2,
            tie_word_embeddings=True,
            attention_dropout=0.5,
        )
    )


def token_log_probs(model: Any, ids: list[int], first: int) -> list[float]:
    """Return the log-probabilities of the tokens of one answer, from ``first`` on."""
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([ids])).logits[0].double()
    chosen = logits[:-1].log_softmax(-1).gather(1, torch.tensor(ids[1:])[:, None])[:, 0]
    return chosen[first - 1 :].tolist()


def action_sums(row: dict[str, Any], which: str, log_probs: list[float], tokenizer: Any) -> list[float]:
    """Sum log-probabilities of tokens up to those of actions; the end is an action of its own."""
    actions = row[f"{which}_actions"]
    counts = [len(tokenizer(row["prompt"] + " ".join(actions[:stop]))["input_ids"]) for stop in range(len(actions) + 1)]
    borders = [count - counts[0] for count in counts] + [len(log_probs)]
    return [sum(log_probs[start:stop]) for start, stop in pairwise(borders)]


class Check:
    """The recipe and the reference on the same pairs and the same small model."""

    def __init__(self, out: str) -> None:
        self.out, self.rows = out, rows()
        texts = [row["prompt"] + " ".join(row[f"{which}_actions"]) for row in self.rows for which in BOTH]
        self.tokenizer = small_tokenizer(texts)
        self.pairs = [tokenize_pair(row, self.tokenizer) for row in self.rows]
        self.collate = PairCollator(self.tokenizer.eos_token_id)
        self.model = small_model(len(self.tokenizer))
        # Copied before a trainer changes it: a copy made later would compute with the weights of the original.
        self.copies = [copy.deepcopy(self.model) for _ in range(3)]
        answers = {
            which: [
                token_log_probs(self.model.eval(), pair[f"{which}_ids"], pair[f"{which}_answer"]) for pair in self.pairs
            ]
            for which in BOTH
        }
        self.batches = [
            reference.AnswerBatch.of(
                [
                    action_sums(row, which, one, self.tokenizer)
                    for row, one in zip(self.rows, answers[which], strict=True)
                ],
                [len(one) for one in answers[which]],
            )
            for which in BOTH
        ]
        # With its dropout, which the trainer must turn off.
        self.model.train()

    def trainer(self, given: Mapping[str, Any], model: Any = None, **changes: Any) -> SafeAlignTrainer:
        """Return a trainer with these parameters of the objective, and these changes to its settings."""
        quiet = {"use_cpu": True, "bf16": False, "report_to": [], "save_strategy": "no", "disable_tqdm": True}
        return SafeAlignTrainer(
            SafeAlignParameters(**given),
            args=SFTConfig(self.out, **quiet, **changes),
            model=self.model if model is None else model,
            train_dataset=Dataset.from_list(self.pairs),
            processing_class=self.tokenizer,
            data_collator=self.collate,
        )

    def wanted(self, given: Mapping[str, Any]) -> reference.PairLosses:
        """Return what the reference says of the pairs."""
        k, rejected_k = ([row[name] for row in self.rows] for name in ("k", "rejected_k"))
        return reference.safe_align(*self.batches, k, reference.SafeAlignParameters(**given), rejected_k=rejected_k)

    def losses(self, given: Mapping[str, Any]) -> list[float]:
        """Return the trainer's loss of each pair, and last that of the padded batch of all."""
        trainer = self.trainer(given)
        batches = [*([pair] for pair in self.pairs), self.pairs]
        with torch.no_grad():
            return [trainer.compute_loss(self.model, self.collate(batch)).item() for batch in batches]

    def loss_difference(self, given: Mapping[str, Any]) -> float:
        """Return the greatest difference between losses of the trainer and of the reference."""
        wanted = self.wanted(given).loss
        expected = [*wanted, wanted.mean()]
        return float(max(abs(one - other) for one, other in zip(self.losses(given), expected, strict=True)))

    def gradient_difference(self, given: Mapping[str, Any]) -> float:
        """Return the greatest difference between the gradient at a token by PyTorch, and at its action."""
        batch = self.collate(self.pairs)
        with torch.no_grad():
            logits = self.model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).logits[:, :-1]
        log_probs = logits.log_softmax(-1).gather(2, batch["input_ids"][:, 1:, None])[..., 0].requires_grad_()
        prefix, rest = batch["prefix"][:, 1:].float(), batch["rest"][:, 1:].float()
        losses = pair_losses(log_probs, prefix, rest, batch["actions"], SafeAlignParameters(**given), logsigmoid)
        losses.sum().backward()
        wanted, worst, line = self.wanted(given), 0.0, 0
        for which in BOTH:
            for row, pair, expected in zip(self.rows, self.pairs, getattr(wanted, f"{which}_gradient"), strict=True):
                first, size = pair[f"{which}_answer"], len(pair[f"{which}_ids"])
                sizes = action_sums(row, which, [1.0] * (size - first), self.tokenizer)
                per_token = [value for value, tokens in zip(expected, sizes, strict=False) for _ in range(int(tokens))]
                got = log_probs.grad[line, first - 1 : size - 1].tolist()
                worst = max(worst, *(abs(one - other) for one, other in zip(got, per_token, strict=True)))
                line += 1
        return float(worst)

    def step_differences(self) -> tuple[float, float]:
        """Return the difference of weights after a step on one batch and on several, and the change by a step."""
        start, whole, split = self.copies
        for model, size in ((whole, len(self.pairs)), (split, 1)):
            sizes = {"per_device_train_batch_size": size, "gradient_accumulation_steps": len(self.pairs) // size}
            self.trainer({}, model, optim="sgd", learning_rate=1.0, max_steps=1, **sizes).train()
        return weight_difference(whole, split), weight_difference(start, whole)

    def loss_after_training(self) -> float:
        """Return the mean loss of all pairs after ten epochs."""
        self.trainer({}, num_train_epochs=10, per_device_train_batch_size=5, learning_rate=1e-2).train()
        return self.losses({})[-1]

    def record(self) -> dict[str, Any]:
        """Run everything; return what was found, with what it was found on."""
        cases = [{"parameters": given, "losses": self.losses(given)[:-1]} for given in PARAMETERS]
        of_steps, by_step = self.step_differences()
        found = {
            "greatest_difference": max(map(self.loss_difference, PARAMETERS)),
            "greatest_difference_of_gradients": max(map(self.gradient_difference, PARAMETERS)),
            "greatest_difference_of_steps": of_steps,
            "greatest_change_by_a_step": by_step,
            # In this order: training changes the model.
            "mean_loss_before_and_after_10_epochs": [self.losses({})[-1], self.loss_after_training()],
        }
        return {
            "versions": {name: version(name) for name in LIBRARIES},
            "weights": sum(weight.numel() for weight in self.model.parameters()),
            **found,
            "files": {name: hashlib.sha256((HERE / name).read_bytes()).hexdigest() for name in FILES},
            "pairs": [self.pair_record(place) for place in range(len(self.rows))],
            "cases": cases,
        }

    def pair_record(self, place: int) -> dict[str, Any]:
        """Return what the reference reads of a pair."""
        record = {name: self.rows[place][name] for name in ("k", "rejected_k")}
        for which, batch in zip(BOTH, self.batches, strict=True):
            record[f"{which}_log_probs"] = batch.log_probs[place, : batch.actions[place]].tolist()
            record[f"{which}_tokens"] = int(batch.tokens[place])
        return record


def weight_difference(one: torch.nn.Module, other: torch.nn.Module) -> float:
    """Return the greatest difference between the weights of two models."""
    pairs = zip(one.parameters(), other.parameters(), strict=True)
    return max((first - second).abs().max().item() for first, second in pairs)


def main(target: Path) -> int:
    """Write the record, and return 1 if losses differ too much."""
    with tempfile.TemporaryDirectory() as out:
        record = Check(out).record()
    target.write_text(json.dumps(record, indent=1) + "\n")
    print(
        json.dumps({name: value for name, value in record.items() if name not in ("pairs", "cases", "files")}, indent=1)
    )
    return int(record["greatest_difference"] > TOLERANCE)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "checked.json"))
