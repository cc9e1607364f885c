"""Which models answer in a run: those that it asks, and those that have answered, in words for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from hazardmill.llm.requests import OFFLINE_MODEL, RECORDED_MODEL
from hazardmill.records import FrozenModel, ProductKind

if TYPE_CHECKING:
    from hazardmill.runs.config import RunConfig
    from hazardmill.store.store import Store

_ANSWERED: Final = ("dangers", "drafts", "checks", "llm_calls")
"""Tables that say who answered. Only the first three know of answers that another run had paid for."""

_STAGES: Final[dict[ProductKind, tuple[str, ...]]] = {
    "task": ("extract", "author", "judge"),
    "mal": ("author", "judge"),
    "sit": ("author", "judge"),
    "hazard_task": ("author",),
}
"""The stages that ask a model, by what a run makes."""


class AnsweringModel(FrozenModel):
    """A model that answered in a run.

    Attributes:
        model: Its real name; ``offline-author`` for rules.
        backend: How it answered: ``litellm``, ``offline`` or ``recorded``; null if unknown.
    """

    model: str
    backend: str | None = None

    @property
    def text(self) -> str:
        """The model in words: what is no language model, and what was recorded earlier, is said to be."""
        return describe_model(self.model) + (", recorded earlier" if self.backend == "recorded" else "")


def describe_model(name: str) -> str:
    """Return the name of a model, with the remark that the offline author is not a model."""
    return f"{name} (rules, not a language model)" if name == OFFLINE_MODEL else name


def describe_asked(config: RunConfig) -> str:
    """Say who will answer the requests of a run.

    Args:
        config: The configuration of the run.

    Returns:
        Such as ``asks openai/gpt-5-mini (extract, author), toy/toy (judge)``, with address, batches and fallbacks.
    """
    if config.backend == "replay":
        place = "this store" if config.replay_store is None else str(config.replay_store)
        return f"asks no model: replays answers from the ledger of {place}"
    if config.backend == "recorded":
        place = "the sources" if config.recordings is None else str(config.recordings)
        return f"asks no model: replays the answers recorded with {place}"
    stages: dict[str, list[str]] = {}
    for stage in _STAGES[config.kind]:
        stages.setdefault(getattr(config.models, stage), []).append(stage)
    names = [
        describe_model(name) + (f" ({', '.join(mine)})" if len(stages) > 1 else "") for name, mine in stages.items()
    ]
    parts = [
        f"asks {', '.join(names)}",
        f"at {config.api_base}" if config.api_base else "",
        f"through files in {config.exchange}" if config.exchange else "in batches" if config.batch else "",
        f"or, if it fails, {', '.join(config.fallback_models)}" if config.fallback_models else "",
    ]
    return " ".join(part for part in parts if part)


def asked_models(config: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the models that a stored configuration names, without duplicates.

    Args:
        config: The configuration of a run of any kind, as stored; another version may have written it.
    """
    models = list((config.get("models") or {}).values())
    models += [(config.get("evaluation") or {}).get("model")]
    return tuple(dict.fromkeys(str(name) for name in models if name and name != RECORDED_MODEL))


def read_answering_models(store: Store, run_ids: Sequence[str] | None = None) -> dict[str, tuple[AnsweringModel, ...]]:
    """Return which models have answered in runs, sorted by name.

    Args:
        store: The store of the runs.
        run_ids: Their ids; null for all runs.

    Returns:
        The models by run id. A run without an answer is missing.

    Raises:
        StoreError: The store cannot be read.
    """
    wanted = [None] if run_ids is None else [{"run_id": run_id} for run_id in run_ids]
    columns = ["run_id", "model_answered", "backend"]
    found: dict[str, set[tuple[str, str | None]]] = {}
    for table in _ANSWERED:
        for where in wanted:
            data = store.table(table, where, columns).group_by(columns).aggregate([])
            for row in data.to_pylist():
                if row["model_answered"] is not None:
                    found.setdefault(row["run_id"], set()).add((row["model_answered"], row["backend"]))
    return {
        run_id: tuple(
            AnsweringModel(model=model, backend=backend)
            for model, backend in sorted(models, key=lambda each: (each[0], each[1] or ""))
        )
        for run_id, models in found.items()
    }


def describe_answering(models: Sequence[AnsweringModel]) -> str:
    """Say which models have answered, such as ``answered by claude, recorded earlier``; ``nobody`` if none has."""
    return f"answered by {'; '.join(each.text for each in models) or 'nobody'}"
