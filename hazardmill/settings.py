"""Settings: from the environment, then ``hazardmill.yaml`` in the working directory, then defaults; options win."""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import Field, ValidationError, field_validator
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    YamlConfigSettingsSource,
)

from hazardmill.authors import Author, Doi
from hazardmill.errors import SettingsError
from hazardmill.files import FileKind, kind_of
from hazardmill.run_options import (
    ALL_MODELS,
    AccessOptions,
    GenerationOptions,
    ModelOptions,
    RunOption,
    deadline_for,
    read_prices,
)

SETTINGS_FILE: Final = "hazardmill.yaml"
PREFIX: Final = "HAZARDMILL_"

NO_SETTINGS: Final = frozenset(
    {"HAZARDMILL_SOURCES", "HAZARDMILL_REFERENCE", "HAZARDMILL_CACHE", "HAZARDMILL_TRACEBACK"}
)
"""Variables with our prefix that are read elsewhere: folders of sources, data for tests, the working folder of a store
in a bucket, and whether errors show their traceback."""


class Settings(GenerationOptions, AccessOptions, ModelOptions, BaseSettings):
    """The values that hold unless a command has its own, from ``HAZARDMILL_STORE``, ``HAZARDMILL_MODEL`` and so on.

    A variable with an empty value counts as unset. Keys of providers are not settings: the providers' libraries read
    them from the environment, and hazardmill stores none of them.
    """

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_ignore_empty=True,
        # Lists of models and checks are split at commas instead of being JSON; that of authors is read below.
        enable_decoding=False,
        yaml_file=SETTINGS_FILE,
        extra="forbid",
        frozen=True,
    )

    store: Annotated[
        Path, Field(description="Where everything is written: a folder, or `s3://bucket/prefix`."), RunOption()
    ] = Path("generated/store")
    dask_address: Annotated[
        str | None,
        Field(description="Scheduler that `flows/check.py` sends its work to: [scaling.md](scaling.md)."),
        RunOption(unset="a cluster on this machine"),
    ] = None

    pages_url: Annotated[
        str | None,
        Field(
            pattern=r"^https?://[^\s@?#()<>]+$",
            description="Address at which `hazardmill view` of the store, or a host of files, has reports and tasks; "
            "pages in Prefect's UI link to it: [cost-dashboard.md](cost-dashboard.md#links-to-reports-and-tasks).",
        ),
        RunOption(unset="pages name the path of the report"),
    ] = None
    reports_days: Annotated[
        int | None,
        Field(
            ge=1,
            description="Days after the last change of a run for which `publish` keeps its page in `reports/`: "
            "[operations.md](operations.md#what-grows-and-how-long-it-is-kept).",
        ),
        RunOption(unset="for good"),
    ] = None
    authors: Annotated[
        tuple[Author, ...],
        Field(description="Authors of a release, each with `name`, `affiliation` and `orcid`: see below."),
        RunOption(unset="the hazardmill developers"),
    ] = ()
    doi: Annotated[Doi | None, Field(description="DOI of a release."), RunOption(unset="none")] = None

    @field_validator("authors", mode="before")
    @classmethod
    def _read_json(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        try:
            return json.loads(value)
        except ValueError as error:
            raise ValueError(f'write authors as a JSON list, such as [{{"name": "Doe, Jane"}}]: {error}') from error

    @field_validator("fallback_models", "checks", mode="before")
    @classmethod
    def _split_commas(cls, value: object) -> object:
        return tuple(filter(None, map(str.strip, value.split(",")))) if isinstance(value, str) else value

    @field_validator("prices", mode="before")
    @classmethod
    def _read_prices(cls, value: object) -> object:
        return read_prices(value.split()) if isinstance(value, str) else value

    @field_validator("budget_usd", mode="before")
    @classmethod
    def _read_none(cls, value: object) -> object:
        return None if value == "none" else value

    def fill(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Replace nulls among the given options by settings.

        Args:
            given: Options by field.

        Returns:
            All of them; if the given attempt timeout does not fit into the deadline of the settings, the deadline is
                longer.
        """
        values = {name: getattr(self, name) if value is None else value for name, value in given.items()}
        if given.get("deadline_s") is None and given.get("attempt_timeout") is not None:
            values["deadline_s"] = deadline_for(given["attempt_timeout"], self.deadline_s)
        if given.get("prices") is not None:
            values["prices"] = override_prices(self.prices, given["prices"])
        replaced = replaced_channel(given)
        return values | {name: value for name, value in replaced.items() if name in given and given[name] is None}

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Put the YAML file below the environment."""
        return init_settings, env_settings, YamlConfigSettingsSource(settings_cls)


def load_settings() -> Settings:
    """Return the settings of the environment and of the settings file; the environment prevails.

    Raises:
        SettingsError: A value is wrong (the message names it), a variable with our prefix is not a setting, or the file
            is not YAML.
    """
    import yaml

    _refuse_unknown_variables()
    if (kind := kind_of(Path(SETTINGS_FILE))) not in (FileKind.REGULAR, FileKind.MISSING):
        # A pipe of that name would make every command wait.
        raise SettingsError(f"it is {kind}", file=SETTINGS_FILE, remedy="put a file there, or remove it")
    try:
        return Settings()
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = ".".join(str(part) for part in first["loc"])
        variable = f"{PREFIX}{name.partition('.')[0].upper()}"
        in_environment = any(key.upper() == variable for key in os.environ)
        raise SettingsError(
            f"{variable if in_environment else name}: {first['msg'].removeprefix('Value error, ')}",
            file=None if in_environment else SETTINGS_FILE,
            remedy=f"correct or unset {variable}" if in_environment else f"correct {name} in {SETTINGS_FILE}",
        ) from error
    except (yaml.YAMLError, OSError, TypeError, ValueError) as error:
        # pydantic-settings does not guard against bad files: each kind of them fails in its own way.
        raise SettingsError(
            f"not a YAML file of names and values: {error}", file=SETTINGS_FILE, remedy="correct the file, or remove it"
        ) from error


def _refuse_unknown_variables() -> None:
    """Refuse misspelt variables, such as ``HAZARDMILL_MODLE``, which would otherwise be ignored."""
    known = sorted({name.upper() for name in Settings.model_fields} | {name[len(PREFIX) :] for name in NO_SETTINGS})
    for variable, value in sorted(os.environ.items()):
        name = variable.upper().removeprefix(PREFIX)
        if value and variable.upper().startswith(PREFIX) and name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            settings = ", ".join(PREFIX + other for other in known)
            raise SettingsError(
                f"{variable} is not a setting",
                remedy=f"did you mean {PREFIX}{close[0]}?" if close else f"unset it; the settings are {settings}",
            )


def override_prices(prices: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return prices with those that were given in their place.

    Args:
        prices: What a recipe, the settings or an existing run says, by model.
        given: What overrides it. The price of a model replaces that of this model; a price of all models replaces
            every price, and so does none at all.

    Returns:
        The prices by model, where ``ALL_MODELS`` stands for every other model.
    """
    return {**prices, **given} if given and ALL_MODELS not in given else dict(given)


def replaced_channel(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a given channel of requests switches off: a folder switches batches off, and batches the folder.

    Args:
        given: Options by field that override a recipe, the settings or an existing run.
    """
    if given.get("exchange") is not None:
        return {"batch": False}
    return {"exchange": None} if given.get("batch") else {}
