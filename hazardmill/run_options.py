"""The options of a run, each declared once: type, bounds, default and description.

A field here is a setting, a command-line option, a parameter of the flows, and a row of docs/settings.md.
Configurations (``RunConfig``, ``PlannerAccess``) inherit the fields.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, Field
from pydantic.fields import FieldInfo

from hazardmill.formalism.search.budget import DRAFT_LIMIT
from hazardmill.records import FrozenModel, ProductKind

AuthorFormat = Literal["python", "document"]
ExchangeFormat = Literal["openai", "eai"]
JailProfile = Literal["auto", "full", "minimal"]

ATTEMPT_TIMEOUT_S: Final = 300.0
"""Default of ``attempt_timeout``, in seconds."""

DEADLINE_S: Final = 600.0
"""Default of ``deadline_s``, in seconds."""

MAX_ANSWER_BYTES: Final = 4_000_000
"""Default of ``max_answer_bytes``."""


ALL_MODELS: Final = "all"
"""Key among given prices that stands for every model without a key of its own."""

_PRICE: Final = re.compile(
    r"(?:(?P<model>.+)=)?(?P<prices>(?:cached_in|in|out)=[^=,]+(?:,(?:cached_in|in|out)=[^=,]+)*)"
)
_PRICE_KEYS: Final = {"in": "input", "out": "output", "cached_in": "cached_input"}

OptionGroup = Literal["Records", "Models", "Budget and limits", "Batches and exchange", "Tasks and checks"]
"""Heading under which the help of a command lists an option."""


@dataclass(frozen=True)
class RunOption:
    """Marks a field as an option for users, and holds what its type and description cannot express.

    Attributes:
        flag: Name on the command line, unless it is the field's with dashes.
        metavar: Placeholder for the value in the help.
        unset: What applies if the value is null, or is computed from other values, for display.
        alters_result: Whether results depend on it. If not, a resumed run takes the new value.
        in_flows: Whether a flow run may set it; otherwise the worker's settings decide.
        is_made: Whether a folder that it names is made if it is not there.
        is_file: Whether a path that it takes is that of a file.
        choices: The values that a user may choose from; empty for all of the type.
        group: Heading above the option in the help of a command; None for the other options.
    """

    flag: str | None = None
    metavar: str | None = None
    unset: str | None = None
    alters_result: bool = True
    in_flows: bool = True
    is_made: bool = False
    is_file: bool = False
    choices: tuple[str, ...] = ()
    group: OptionGroup | None = None

    def flag_of(self, name: str) -> str:
        """Return the option's name on the command line: ``--deadline`` for ``deadline_s``."""
        return self.flag or "--" + name.replace("_", "-")


def run_options(model: type[BaseModel]) -> Iterator[tuple[str, FieldInfo, RunOption]]:
    """Yield every option among the fields of a model.

    Yields:
        Name, field and mark, in the order of the fields. A field without a ``RunOption`` is skipped.
    """
    for name, field in model.model_fields.items():
        for mark in field.metadata:
            if isinstance(mark, RunOption):
                yield name, field, mark


def describe_default(field: FieldInfo, option: RunOption) -> str | None:
    """Return the default of an option for display.

    Returns:
        The value (``25``, ``no``), or ``option.unset`` if it is null; None if there is nothing to display.
    """
    default: Any = None if field.is_required() or field.default_factory is not None else field.default
    if isinstance(default, bool):
        return "yes" if default else "no"
    if isinstance(default, int | float):
        return f"{default:,g}" if default < 1e6 else f"{default:,}"
    return option.unset if default in (None, ()) else str(default)


def deadline_for(attempt_timeout: float, deadline_s: float = DEADLINE_S) -> float:
    """Return the deadline of a request if only the time of an attempt was given, in seconds.

    It is ``deadline_s`` if an attempt fits into that; otherwise the time of two attempts.
    """
    return deadline_s if attempt_timeout <= deadline_s else 2 * attempt_timeout


class GivenPrice(FrozenModel):
    """What somebody says a model's tokens cost, in US dollars per million, in place of the price list.

    Attributes:
        input: Per prompt token.
        output: Per token of the answer.
        cached_input: Per prompt token that was read from the provider's cache; null if it costs as much as ``input``.
    """

    input: Annotated[float, Field(ge=0, allow_inf_nan=False, description="USD per million prompt tokens.")]
    output: Annotated[float, Field(ge=0, allow_inf_nan=False, description="USD per million tokens of answers.")]
    cached_input: Annotated[
        float | None,
        Field(
            ge=0,
            allow_inf_nan=False,
            description="USD per million prompt tokens from the provider's cache; null: as much as input.",
        ),
    ] = None


def read_prices(texts: Iterable[str]) -> dict[str, GivenPrice]:
    """Read prices as they are written on the command line: ``[MODEL=]in=USD,out=USD[,cached_in=USD]``.

    Args:
        texts: One price each, in USD per million tokens. A price without a model is that of all models.

    Returns:
        The prices by model, where ``ALL_MODELS`` stands for every other model.

    Raises:
        ValueError: A text is not a price.
    """
    found: dict[str, GivenPrice] = {}
    for text in texts:
        match = _PRICE.fullmatch(text)
        pairs = [] if match is None else [pair.split("=") for pair in match["prices"].split(",")]
        values = {_PRICE_KEYS[name]: value for name, value in pairs}
        model = ALL_MODELS if match is None or match["model"] is None else match["model"]
        try:
            if len(values) < len(pairs) or model in found:
                raise ValueError("said twice")
            found[model] = GivenPrice.model_validate(values)
        except ValueError:
            raise ValueError(
                f"{text!r} is not a price: write in=USD,out=USD or MODEL=in=USD,out=USD, once for each model, in USD "
                "per million tokens, such as in=0.5,out=2"
            ) from None
    return found


class ModelOptions(FrozenModel):
    """Which model each stage of a generation run asks."""

    model: Annotated[
        str | None,
        Field(
            description="Model for all stages, as litellm names it; the name `recorded` replays recorded answers "
            "(shipped for the samples) without asking a model."
        ),
        RunOption(unset="none; a run must name one", group="Models"),
    ] = None
    extract_model: Annotated[
        str | None,
        Field(description="Model of the extract stage."),
        RunOption(unset="that of all stages", group="Models"),
    ] = None
    judge_model: Annotated[
        str | None,
        Field(description="Model of the judge stage."),
        RunOption(unset="that of all stages", group="Models"),
    ] = None


class AccessOptions(FrozenModel):
    """How models are reached, within which limits, and for how much money.

    Runs and evaluations share these options; a limit that is None does not apply.
    """

    fallback_models: Annotated[
        tuple[str, ...],
        Field(description="Models to ask, in this order, if the model of a stage cannot answer."),
        RunOption("--fallback-model", "MODEL", unset="none", group="Models"),
    ] = ()
    api_base: Annotated[
        str | None,
        Field(description="Address of an OpenAI-compatible server, without a key: keys belong in the environment."),
        RunOption(metavar="URL", unset="the provider's", group="Models"),
    ] = None
    prices: Annotated[
        dict[str, GivenPrice],
        Field(
            description="Prices of models in USD per million tokens, in place of the price list; a price without a "
            "model is that of all models, and as an option replaces all other prices."
        ),
        RunOption(
            "--price",
            "[MODEL=]in=USD,out=USD",
            unset="the price list; 0 for a model that it lacks at an address on this machine",
            alters_result=False,
            in_flows=False,
            group="Budget and limits",
        ),
    ] = Field(default_factory=dict)
    budget_usd: Annotated[
        float | None,
        Field(gt=0, allow_inf_nan=False, description="The most a run may spend, over all its sessions, in USD."),
        RunOption(metavar="USD|none", unset="none", alters_result=False, group="Budget and limits"),
    ] = None
    budget_id: Annotated[
        str | None,
        Field(
            description="Name of a budget that several runs on this store share, with the limits on requests; the "
            "run that begins last sets its size."
        ),
        RunOption(metavar="NAME", unset="the run's own", alters_result=False, group="Budget and limits"),
    ] = None
    batch: Annotated[
        bool,
        Field(
            description="Send requests in batches of the provider, for about half the price and with answers within a "
            "day; the run waits meanwhile, and is resumed later."
        ),
        RunOption(alters_result=False, group="Batches and exchange"),
    ] = False
    exchange: Annotated[
        Path | None,
        Field(
            description="Write requests to files in this folder, and read the answers that somebody puts beside them."
        ),
        RunOption(metavar="FOLDER", unset="none", alters_result=False, is_made=True, group="Batches and exchange"),
    ] = None
    exchange_format: Annotated[
        ExchangeFormat,
        Field(
            description="Format of the files in the exchange folder: `openai` for the lines of OpenAI's batches, `eai` "
            "for the arrays of the Embodied Agent Interface."
        ),
        RunOption(alters_result=False, group="Batches and exchange"),
    ] = "openai"
    batch_max_age: Annotated[
        float,
        Field(
            gt=0,
            allow_inf_nan=False,
            description="Maximum age, in hours, of a batch that still lacks answers; beyond it, the run stops.",
        ),
        RunOption(metavar="HOURS", alters_result=False, group="Batches and exchange"),
    ] = 48.0
    requests_per_minute: Annotated[
        int | None,
        Field(ge=1, description="Maximum number of requests per minute, of all runs that share a budget."),
        RunOption(unset="no limit", alters_result=False, group="Budget and limits"),
    ] = None
    tokens_per_minute: Annotated[
        int | None,
        Field(ge=1, description="Maximum number of tokens per minute, in and out, of all runs that share a budget."),
        RunOption(unset="no limit", alters_result=False, group="Budget and limits"),
    ] = None
    attempt_timeout: Annotated[
        float,
        Field(
            gt=0,
            allow_inf_nan=False,
            description="Seconds for one attempt at a request, from the connection to the last byte of the answer.",
        ),
        RunOption(metavar="SECONDS", alters_result=False, group="Budget and limits"),
    ] = ATTEMPT_TIMEOUT_S
    deadline_s: Annotated[
        float,
        Field(
            gt=0,
            allow_inf_nan=False,
            description="Maximum number of seconds for all attempts of one model at one request, pauses included.",
        ),
        RunOption(
            "--deadline",
            "SECONDS",
            unset=f"{DEADLINE_S:g}; if --attempt-timeout is over {DEADLINE_S:g}, twice --attempt-timeout",
            alters_result=False,
            group="Budget and limits",
        ),
    ] = Field(default_factory=lambda values: deadline_for(values.get("attempt_timeout", ATTEMPT_TIMEOUT_S)))
    max_answer_bytes: Annotated[
        int,
        Field(ge=1, description="Maximum size of an answer in bytes, after decompression."),
        RunOption(metavar="BYTES", alters_result=False, group="Budget and limits"),
    ] = MAX_ANSWER_BYTES
    concurrency: Annotated[
        int,
        Field(
            ge=1,
            le=1000,
            description="Maximum number of records or tasks worked on at the same time, and of requests under way of "
            "all runs that share a budget.",
        ),
        RunOption(alters_result=False, group="Budget and limits"),
    ] = 8


class GenerationOptions(FrozenModel):
    """The other options that decide how a generation run makes its tasks."""

    kind: Annotated[
        ProductKind,
        Field(
            description="What is made of a record: a task, or a scenario of the SAFEL protocol, with a command that is "
            "meant to harm (mal) or a harmless one in risky circumstances (sit)."
        ),
        # Hazard tasks are made by dialogues, which have a command of their own.
        RunOption(choices=("task", "mal", "sit"), group="Tasks and checks"),
    ] = "task"
    base: Annotated[
        Path | None,
        Field(description="PDDL domain that scenarios extend."),
        RunOption(
            metavar="DOMAIN.pddl",
            unset="household, which is shipped",
            is_file=True,
            in_flows=False,
            group="Tasks and checks",
        ),
    ] = None
    prompts: Annotated[
        Path | None,
        Field(description="Folder of prompt templates, laid out as that of hazardmill."),
        RunOption(metavar="FOLDER", unset="those that come with hazardmill", in_flows=False, group="Tasks and checks"),
    ] = None
    author_format: Annotated[
        AuthorFormat,
        Field(
            description="What the author stage writes: a Python module, or a document from which a module is rendered."
        ),
        RunOption(group="Tasks and checks"),
    ] = "python"
    structured: Annotated[
        bool,
        Field(description="Send the schema of a document to the author's model, which not every provider accepts."),
        RunOption(group="Tasks and checks"),
    ] = False
    jail: Annotated[
        JailProfile,
        Field(description="Profile of the jail that runs generated code."),
        RunOption(in_flows=False, group="Tasks and checks"),
    ] = "auto"
    checks: Annotated[
        tuple[str, ...],
        Field(
            description="Checks of drafts that installed packages add, in the order in which they run.",
            # Without any, the configuration of a run is the one that it always was.
            exclude_if=lambda names: not names,
        ),
        RunOption("--check", "NAME", unset="none", group="Tasks and checks"),
    ] = ()
    wave_size: Annotated[
        int | None,
        Field(ge=1, le=1000, description="Records per wave, which go through the stages and are committed together."),
        RunOption(unset="an eighth of the run, from 25 to 1,000", alters_result=False, group="Budget and limits"),
    ] = None
    cross_check: Annotated[
        float,
        Field(ge=0, le=1, description="Share of accepted tasks that ENHSP and Tamer check too."),
        RunOption(alters_result=False, group="Tasks and checks"),
    ] = 0.0
    search_limit: Annotated[
        int,
        Field(ge=1, description="Maximum number of expansions of the search for a task's plans."),
        RunOption(group="Tasks and checks"),
    ] = DRAFT_LIMIT


class RecordingOptions(FrozenModel):
    """Where recorded answers are found."""

    recordings: Annotated[
        Path | None,
        Field(description="Folder of the answers recorded for each source, for the model `recorded`."),
        RunOption(metavar="FOLDER", unset="those that come with the sources", in_flows=False, group="Models"),
    ] = None


class SampleOptions(FrozenModel):
    """Which draw of the answers a run takes."""

    sample: Annotated[
        int,
        Field(
            ge=0,
            description="Any number; with one that has not been used before, every answer is requested from the model "
            "again instead of being taken from the ledger.",
        ),
        RunOption(group="Models"),
    ] = 0
