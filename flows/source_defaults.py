"""Model and budget by source, from Prefect variables: they can be changed without another deployment."""

from __future__ import annotations

import json
import shlex
from typing import Any, Final

from prefect.variables import Variable
from pydantic import BaseModel, ConfigDict, ValidationError

from flows.parameters import Usd
from hazardmill.errors import InputError
from hazardmill.ingest.sources import list_sources
from hazardmill.llm.recordings import PLACE
from hazardmill.llm.requests import RECORDED_MODEL
from hazardmill.settings import load_settings


class SourceDefaults(BaseModel):
    """What a variable may set for the runs of a source; null leaves it to the worker's settings."""

    model_config = ConfigDict(extra="forbid")

    model: str | None = None
    budget_usd: Usd | None = None


_EXAMPLE: Final = {"model": "deepseek/deepseek-chat", "budget_usd": 5}


def variable_name(source: str) -> str:
    """Return the name of the variable for a source: ``hazardmill_neiss``."""
    return f"hazardmill_{source.lower()}"


async def add_defaults(source: str, given: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a run, with model and budget of the source's variable where they were not given.

    Args:
        source: Source of the run's records.
        given: Options that were given, by name.

    Raises:
        InputError: The variable holds something else.
    """
    name = variable_name(source)
    value = await Variable.aget(name)
    if value is None:
        return given
    try:
        defaults = SourceDefaults.model_validate(json.loads(value) if isinstance(value, str) else value)
    except ValueError as error:
        words = ["prefect", "variable", "set", name, json.dumps(_EXAMPLE), "--overwrite"]
        raise InputError(
            f"the Prefect variable {name} cannot be read: {_reason(error)}", remedy=f"set it anew: {shlex.join(words)}"
        ) from error
    return {**defaults.model_dump(exclude_none=True), **given}


def _reason(error: ValueError) -> str:
    if not isinstance(error, ValidationError):
        return "it is not JSON"
    first = error.errors()[0]
    return ": ".join([*map(str, first["loc"]), str(first["msg"])])


async def create_variables() -> list[str]:
    """Create missing variables of the sources with recorded answers, so that their deployments run as they are.

    Nothing is created if the settings name a model: a variable would take its place.

    Returns:
        What was created, a line per variable.
    """
    if load_settings().model is not None:
        return []
    value = {"model": RECORDED_MODEL}
    names = [variable_name(source.name) for source in list_sources() if (source.folder / PLACE).is_file()]
    missing = [name for name in names if await Variable.aget(name) is None]
    for name in missing:
        await Variable.aset(name, value)
    return [f"created the variable {name}: {json.dumps(value)}" for name in missing]
