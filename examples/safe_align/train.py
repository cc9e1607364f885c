"""Train a model with Safe-Align on pairs of hazardmill, with TRL.

    pip install trl
    hazardmill release export releases/1.0.0 --format safe-align --out pairs.jsonl
    python train.py pairs.jsonl MODEL OUT

``checked.json`` says with which versions the loss was compared with hazardmill's reference, by ``check.py``.
"""

from __future__ import annotations

import sys
from typing import Any

import torch
from objective import SafeAlignParameters, pair_losses, tokenize_pair
from torch.nn.functional import logsigmoid
from torch.nn.utils.rnn import pad_sequence
from trl import SFTConfig, SFTTrainer
from trl.trainer.utils import disable_dropout_in_model, selective_log_softmax


class PairCollator:
    """Pads tokenized pairs to a batch: the preferred answers, then the rejected ones in the same order.

    Nothing is truncated: an answer that is cut off has another prefix and another length.
    """

    def __init__(self, pad_token_id: int) -> None:
        self.pad_token_id = pad_token_id

    def __call__(self, pairs: list[dict[str, Any]]) -> dict[str, torch.Tensor]:
        """Return token ids with their mask, which tokens are prefix and rest, and numbers of actions."""
        answers = [
            {name: pair[f"{which}_{name}"] for name in ("ids", "answer", "rest", "actions")}
            for which in ("chosen", "rejected")
            for pair in pairs
        ]
        width = max(len(one["ids"]) for one in answers)
        place = torch.arange(width)
        size, answer, rest = (
            torch.tensor(counts)[:, None]
            for counts in zip(*((len(one["ids"]), one["answer"], one["rest"]) for one in answers), strict=True)
        )
        ids = pad_sequence([torch.tensor(one["ids"]) for one in answers], True, self.pad_token_id)
        return {
            "input_ids": ids,
            "attention_mask": (place < size).long(),
            "prefix": (place >= answer) & (place < rest),
            "rest": (place >= rest) & (place < size),
            "actions": torch.tensor([one["actions"] for one in answers]),
        }


class SafeAlignTrainer(SFTTrainer):
    """Trains with Safe-Align on pairs from ``tokenize_pair``.

    It is built on the trainer that has no reference model, because the objective has none. Its losses are means over
    the pairs of a batch.

    Args:
        parameters: Parameters of the objective.
        args: As for ``SFTTrainer``.
        others: As for ``SFTTrainer``.
    """

    # compute_loss returns the mean of a batch, whatever the number of batches whose gradients are added up.
    loss_is_scaled_for_ga = False

    def __init__(self, parameters: SafeAlignParameters, *, args: SFTConfig, **others: Any) -> None:
        self.parameters = parameters
        # The pairs are tokenized already, and their columns are not those of this trainer.
        args.dataset_kwargs = {**(args.dataset_kwargs or {}), "skip_prepare_dataset": True}
        args.remove_unused_columns = False
        super().__init__(args=args, **others)
        # With dropout, shared actions would have two log-probabilities, one in each answer.
        disable_dropout(self.model)

    def compute_loss(
        self, model: Any, inputs: dict[str, torch.Tensor], return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        """Return the mean loss of the pairs of a batch, with the model's outputs if these are asked for."""
        ids = inputs["input_ids"]
        outputs = model(input_ids=ids, attention_mask=inputs["attention_mask"], use_cache=False)
        log_probs = selective_log_softmax(outputs.logits[:, :-1].float(), ids[:, 1:])
        prefix, rest = inputs["prefix"][:, 1:].float(), inputs["rest"][:, 1:].float()
        loss = pair_losses(log_probs, prefix, rest, inputs["actions"], self.parameters, logsigmoid).mean()
        return (loss, outputs) if return_outputs else loss


def disable_dropout(model: torch.nn.Module) -> None:
    """Turn off dropout, also that of attention, which many models keep as a number and not as a module."""
    disable_dropout_in_model(model)
    for module in model.modules():
        if isinstance(getattr(module, "attention_dropout", None), float):
            module.attention_dropout = 0.0


def train(pairs: str, model: str, out: str) -> None:
    """Train a model on a file of pairs, and save it."""
    from datasets import load_dataset
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model)
    rows = load_dataset("json", data_files=pairs, split="train")
    rows = rows.map(tokenize_pair, fn_kwargs={"tokenizer": tokenizer}, remove_columns=rows.column_names)
    trainer = SafeAlignTrainer(
        SafeAlignParameters(alpha=0.5),
        model=model,
        args=SFTConfig(
            out,
            use_cpu=not torch.cuda.is_available(),
            per_device_train_batch_size=2,
            gradient_accumulation_steps=8,
            learning_rate=1e-6,
        ),
        train_dataset=rows,
        processing_class=tokenizer,
        data_collator=PairCollator(tokenizer.eos_token_id),
    )
    trainer.train()
    trainer.save_model()


if __name__ == "__main__":
    train(*sys.argv[1:])
