"""Finds the run that a recipe has begun already, so that the same command again resumes it.

Two runs of a recipe are the same if every option that alters results, the records and their content, the prompts, the
jail and the version of hazardmill are the same.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hazardmill.errors import InputError
from hazardmill.runs.config import RunConfig
from hazardmill.runs.inputs import ingestion_of, records_of, stored_of
from hazardmill.runs.reproducibility import ConfigChange, config_changes, reproducibility_changes
from hazardmill.runs.resources import REAL, RunResources
from hazardmill.runs.run import Run, made_now
from hazardmill.store.store import Store


@dataclass(frozen=True)
class RecipeRuns:
    """What a store has of a recipe.

    Attributes:
        same: The latest run of the same recipe, inputs and options; None if there is none.
        latest_id: The latest run of the recipe, whatever it said then; None if there is none.
        changes: What has changed since the latest run; empty if ``same`` is not None.
    """

    same: Run | None = None
    latest_id: str | None = None
    changes: tuple[ConfigChange, ...] = ()


def find_runs(store: Store, config: RunConfig, run_id: str | None = None, resources: RunResources = REAL) -> RecipeRuns:
    """Return what a store has of the recipe of a configuration.

    Args:
        store: The store.
        config: What the recipe comes to now, with the path of the recipe.
        run_id: Only this run can be the same; None for all runs of the recipe.
        resources: How runs open what they work with.

    Raises:
        SourceError: There is nothing to read at the path of an input.
        StoreError: The store cannot be read.
        JailUnavailable: The jail cannot contain untrusted code here.
    """  # what it opens and reads raises them
    names = _runs_of(store, config.recipe)
    if run_id is not None:
        # A new name is another run in any case, which is compared with the latest only.
        names = [run_id] if store.count("runs", {"run_id": run_id}) else names[:1]
    if not names:
        return RecipeRuns()
    # What a killed process has left in its journal counts as done.
    store.recover()
    made, content, first = made_now(config, resources), None, RecipeRuns()
    for name in names:
        try:
            run = Run.load(store, name, resources)
        except InputError:
            # Of another version, or no generation run: it cannot be resumed.
            continue
        changes = [*config_changes(run.config, config), *reproducibility_changes(run.made, made)]
        if not changes:
            content = _read_content(store, config) if content is None else content
            changes = _content_changes(run.content, content)
        if not changes:
            return RecipeRuns(run, name) if run_id in (None, name) else RecipeRuns()
        if first.latest_id is None:
            first = RecipeRuns(None, name, tuple(changes))
    return first


def _runs_of(store: Store, recipe: Path | None) -> list[str]:
    """Return the ids of a recipe's runs, the latest first."""
    rows = store.rows("runs", {"kind": "generate", "sequence": 0}, ["run_id", "config", "at"])
    mine = [row for row in rows if json.loads(row["config"]).get("recipe") == str(recipe)]
    return [row["run_id"] for row in sorted(mine, key=lambda row: row["at"], reverse=True)]


def _read_content(store: Store, config: RunConfig) -> dict[str, str]:
    """Read the inputs as a new run would: content hash by record id, in order. Nothing is written."""
    content: dict[str, str] = {}
    for item in config.inputs:
        if ingestion_of(item) is None:
            content |= stored_of(store, item)
        else:
            content |= {record.record_id: record.content_hash for record in records_of(store, item)}
    return content


def _content_changes(old: Mapping[str, str | None], new: Mapping[str, str]) -> list[ConfigChange]:
    # A run of an early version has no hashes.
    changed = [name for name in old.keys() & new.keys() if old[name] not in (None, new[name])]
    added, gone = new.keys() - old.keys(), old.keys() - new.keys()
    if not (changed or added or gone):
        # The same records in another order are other waves, and another one of two equal tasks is the duplicate.
        return [] if list(old) == list(new) else [ConfigChange(name="order of the records", old=None, new="another")]
    counts = {"new": len(added), "gone": len(gone), "changed": len(changed)}
    details = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    return [ConfigChange(name="records", old=str(len(old)), new=f"{len(new)} ({details})")]
