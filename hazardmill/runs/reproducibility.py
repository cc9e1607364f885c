"""Records what a run was started with, and finds what has changed since: a run is resumed only unchanged.

Results depend on more than a run's configuration: on the prompt templates, the layers of the jail, the version of
hazardmill, and those of plugins. All of this is stored with the run. If any of it has changed, resuming would mix two
kinds of results under one name; a child run does not.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from hazardmill.errors import UsageError
from hazardmill.generation.checks.added import load_checks
from hazardmill.generation.context import Prompts
from hazardmill.ingest.sources.discovery import package_of_source
from hazardmill.llm.backends.plugin import OWN_BACKENDS, find_backends
from hazardmill.llm.prompts import PromptTemplate
from hazardmill.records import FrozenModel
from hazardmill.runs.config import ALTER_NOTHING, RunConfig

_HASH_SHOWN: Final = 12

_SPECIAL: Final = frozenset(
    {"inputs", "models", "fallback_models", "api_base", "replay_backend", "replay_store", "jail", "prompts", "recipe"}
)
"""Settings that are compared in another form than they are stored, or not at all: of the jail its layers are compared,
of the prompts their content, and of a recipe what it says."""


class PromptUsed(FrozenModel):
    """Version and hash of a prompt template, as in the tables."""

    version: str
    hash: str

    def __str__(self) -> str:
        return f"version {self.version} ({self.hash[:_HASH_SHOWN]})"


class ReproducibilityInfo(FrozenModel):
    """What decides a run's results beside its configuration. None: the version that started the run did not record it.

    Attributes:
        version: Version of hazardmill.
        jail: Kind and layers of the jail.
        prompts: The templates, by stage and name (``extract/danger``).
        plugins: Package and version of each plugin in use, by kind and name (``check/no_rugs``); None if there is none.
    """

    version: str
    jail: str | None = None
    prompts: dict[str, PromptUsed] | None = None
    plugins: dict[str, str] | None = None

    @property
    def unknown(self) -> tuple[str, ...]:
        """The names of what was not recorded and cannot be compared."""
        return tuple(name for name in ("prompts", "jail") if getattr(self, name) is None)


class ConfigChange(FrozenModel):
    """A setting that differs, with its old and new value; None is a missing one."""

    name: str
    old: str | None
    new: str | None

    def __str__(self) -> str:
        return f"{self.name}: {_render(self.old)} -> {_render(self.new)}"


def prompts_used(prompts: Prompts) -> dict[str, PromptUsed]:
    """Return version and hash of each template, by stage and name."""
    values = (getattr(prompts, field.name) for field in dataclasses.fields(prompts))
    templates = [value for value in values if isinstance(value, PromptTemplate)]
    return {
        f"{prompt.path.parent.name}/{prompt.path.name.partition('.')[0]}": PromptUsed(
            version=prompt.version, hash=prompt.hash
        )
        for prompt in templates
    }


def plugins_used(config: RunConfig) -> dict[str, str]:
    """Return package and version of each plugin that a run uses, by kind and name (``check/no_rugs``).

    Raises:
        UnknownName: No installed package has a check that the run names.
        PluginError: A plugin that the run names cannot be used.
    """
    live = config.replay_backend if config.backend == "replay" else config.backend
    backend = None if live in OWN_BACKENDS else find_backends().get(live)
    origins = {f"source/{name}": package_of_source(name) for name in config.source_names}
    return {
        **{place: origin for place, origin in origins.items() if origin is not None},
        **({} if backend is None else {f"backend/{live}": backend.origin}),
        **{f"check/{check.name}": plugin.origin for check, plugin in load_checks(config.checks)},
    }


def config_changes(old: RunConfig, new: RunConfig) -> list[ConfigChange]:
    """Return the settings that differ and alter results.

    Settings such as the number of records worked on at once alter none. The jail is compared by its layers, in
    ``reproducibility_changes``, not by its name.
    """
    return _changes(_settings(old), _settings(new))


def reproducibility_changes(old: ReproducibilityInfo, new: ReproducibilityInfo) -> list[ConfigChange]:
    """Return what differs between two states; what either of them did not record is not compared."""
    changes = _changes({"hazardmill": old.version}, {"hazardmill": new.version})
    if old.jail is not None and new.jail is not None:
        changes += _changes({"jail layers": old.jail}, {"jail layers": new.jail})
    if old.prompts is not None and new.prompts is not None:
        changes += _changes(_name_prompts(old.prompts), _name_prompts(new.prompts))
    if old.plugins is not None and new.plugins is not None:
        changes += _changes(_deciding(old.plugins), _deciding(new.plugins))
    return changes


def refusal(run_id: str, changes: list[ConfigChange]) -> UsageError:
    """Return the error that lists what has changed since a run began, and the two ways to continue."""
    lines = "".join(f"\n  {change}" for change in changes)
    return UsageError(
        f"run {run_id} was started under different conditions, so new results would not match those it has:{lines}\n",
        remedy="start a child run, which reuses everything unchanged: add --child; "
        "or undo these changes and resume the run",
    )


def _settings(config: RunConfig) -> dict[str, str | None]:
    # Everything but what is known to be harmless, so that a new setting is compared without a change here.
    plain = config.model_dump(mode="json", exclude={*ALTER_NOTHING, *_SPECIAL})
    is_replay = config.backend == "replay"
    settings: dict[str, Any] = {
        **{name.replace("_", " "): value for name, value in plain.items()},
        "sources": ", ".join(item.source for item in config.inputs),
        **{f"{stage} model": name for stage, name in config.models.model_dump().items()},
        "fallback models": ", ".join(config.fallback_models) or None,
        # Port and path are not part of a request's identity: a local server may come back at another.
        "host of the API": None if config.api_base is None else urlsplit(config.api_base).hostname,
        "replayed backend": config.replay_backend if is_replay else None,
        "replayed store": config.replay_store if is_replay else None,
    }
    for number, item in enumerate(config.inputs, 1):
        name = f"input {number} ({item.source})"
        settings[f"{name} path"] = item.path
        settings[f"{name} limit"] = item.limit
        settings[f"{name} shard"] = item.shard
        settings[f"{name} where"] = ", ".join(f"{fact}={value}" for fact, value in sorted(item.where.items())) or None
    return {name: None if value is None else str(value) for name, value in settings.items()}


def _name_prompts(prompts: Mapping[str, PromptUsed]) -> dict[str, str | None]:
    return {f"prompt {name}": str(prompt) for name, prompt in prompts.items()}


def _deciding(plugins: Mapping[str, str]) -> dict[str, str | None]:
    """Without sources: what they read is kept with the run, and their guidance is among the prompts."""
    return {place.replace("/", " "): origin for place, origin in plugins.items() if not place.startswith("source/")}


def _changes(old: Mapping[str, str | None], new: Mapping[str, str | None]) -> list[ConfigChange]:
    return [
        ConfigChange(name=name, old=old.get(name), new=new.get(name))
        for name in dict.fromkeys([*old, *new])
        if old.get(name) != new.get(name)
    ]


def _render(value: str | None) -> str:
    return "(none)" if value is None else value
