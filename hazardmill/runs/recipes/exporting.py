"""Writes the recipe of a run, with which the run can be made again."""

from __future__ import annotations

from typing import Any

from hazardmill.errors import UsageError
from hazardmill.run_options import deadline_for, run_options
from hazardmill.runs.config import RunConfig, RunInput
from hazardmill.runs.recipes.recipe import Recipe
from hazardmill.runs.run import Run


def export_recipe(run: Run) -> str:
    """Return the recipe of a run as YAML.

    It says every option that alters results, so that no setting changes them, and of the others those that are not the
    default. Its paths are absolute.

    Args:
        run: The run.

    Raises:
        UsageError: The run consists of dialogues, which no recipe describes.
    """
    import yaml

    config = run.config
    if config.acting is not None:
        raise UsageError(
            f"run {run.run_id} consists of dialogues, and a recipe is for runs that read records",
            remedy="begin another with `hazardmill run acting`",
        )
    values = {"sources": [_source(item) for item in config.inputs], **_options(config)}
    head = [f"# As run {run.run_id} was made, with hazardmill {run.made.version}."]
    if run.parent_run_id is not None:
        head.append(f"# It is a child of run {run.parent_run_id}.")
    return "\n".join([*head, yaml.safe_dump(values, sort_keys=False, allow_unicode=True, width=120)])


def _source(item: RunInput) -> dict[str, Any]:
    values = {
        "source": item.source,
        "input": None if item.path is None else str(item.path),
        "where": dict(item.where),
        "limit": item.limit,
    }
    return {name: value for name, value in values.items() if value not in (None, {})}


def _options(config: RunConfig) -> dict[str, Any]:
    """Return the keys of the recipe besides its sources, in the order in which a recipe declares them."""
    models = config.models
    values: dict[str, Any] = {"shard": config.shard} if config.shard is not None else {}
    if config.backend == "replay":
        values["replay"] = True if config.replay_store is None else str(config.replay_store)
    values |= {"model": models.author, "extract_model": models.extract, "judge_model": models.judge}
    written = config.model_dump(mode="json", exclude_none=False)
    for name, field, option in run_options(Recipe):
        if name not in RunConfig.model_fields:
            continue
        default = _default(config, name, field.get_default(call_default_factory=True, validated_data={}))
        # What is left out of a configuration while it is empty is left out here too.
        if name in written and (option.alters_result or getattr(config, name) != default):
            values[name] = written[name]
    if "prices" in values:
        values["prices"] = {
            model: price.model_dump(exclude_none=True) for model, price in sorted(config.prices.items())
        }
    return values


def _default(config: RunConfig, name: str, default: object) -> object:
    return deadline_for(config.attempt_timeout) if name == "deadline_s" else default
