"""Types of the flows' parameters. They become the schema of a deployment, by which the server checks every run."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeVar

from prefect import runtime
from pydantic import BaseModel, Field, JsonValue
from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python

from hazardmill.ingest.sources import list_sources
from hazardmill.run_options import RunOption, run_options

if TYPE_CHECKING:
    SourceName = str
else:
    # The sources at the time of deployment: a source of your own is included once you deploy again.
    SourceName = Literal[tuple(source.name for source in list_sources())]

Records = Annotated[int, Field(ge=1)]
"""A number of records."""
Usd = Annotated[float, Field(gt=0, allow_inf_nan=False)]
"""A sum of money."""
RunName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$")]
"""A name of a run or of a budget."""
ShardText = Annotated[str, Field(pattern=r"^[1-9][0-9]*/[1-9][0-9]*$")]
"""``2/8``: the second of eight parts."""
Address = Annotated[str, Field(pattern=r"^https?://[^\s@?#]+$")]
"""Address of an API, without anything that may be a key, because the server keeps parameters."""

_NARROWER: Final[dict[str, Any]] = {
    "api_base": Address,
    "budget_id": RunName,
}
"""Types of options that the server checks more strictly than the command line does."""

_ALSO: Final = {
    "api_base": "The provider's key may also lie in a Secret block.",
}
"""What only holds of a flow's parameter, after the description of its field."""

FlowFunction = TypeVar("FlowFunction", bound=Callable[..., Any])


def run_parameters(
    *models: type[BaseModel], leave_out: frozenset[str] = frozenset()
) -> Callable[[FlowFunction], FlowFunction]:
    """Return a decorator that replaces a flow's ``**given`` by the run options of models, as parameters.

    Each parameter has the type, bounds and description of the field that declares it (``hazardmill.run_options``), and
    the default null, which leaves it to the worker's settings; Prefect passes these nulls on. Whatever reads a flow's
    signature (the server's schema, the form in the UI, the check of values) sees the parameters as if they were written
    out.

    Args:
        models: The models that declare the options.
        leave_out: Names of options that the flow decides itself.
    """
    options = {
        name: field
        for model in models
        for name, field, option in run_options(model)
        if option.in_flows and name not in leave_out
    }

    def decorate(function: FlowFunction) -> FlowFunction:
        signature = inspect.signature(function, eval_str=True)
        own = [each for each in signature.parameters.values() if each.kind is not inspect.Parameter.VAR_KEYWORD]
        made = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_annotation(name, field))
            for name, field in options.items()
        ]
        lines = (inspect.getdoc(function) or "").splitlines()
        (place,) = (number for number, line in enumerate(lines) if line.startswith("    **given: "))
        words = [" ".join([f"    {name}: {field.description}", *_also(name)]) for name, field in options.items()]

        function.__signature__ = signature.replace(parameters=[*own, *made])  # type: ignore[attr-defined]
        function.__doc__ = "\n".join([*lines[:place], *words, *lines[place + 1 :]])
        return function

    return decorate


def given_parameters() -> dict[str, JsonValue]:
    """Return the parameters of this flow run that were given, as JSON values."""
    given = {name: value for name, value in runtime.flow_run.parameters.items() if value is not None}
    values: dict[str, JsonValue] = to_jsonable_python(given)
    return values


def _also(name: str) -> list[str]:
    return [_ALSO[name]] if name in _ALSO else []


def _annotation(name: str, field: FieldInfo) -> Any:  # noqa: ANN401  # a type with its bounds
    kind: Any = _NARROWER.get(name)
    if kind is None:
        bounds = [each for each in field.metadata if not isinstance(each, RunOption)]
        kind = Annotated[field.annotation, *bounds] if bounds else field.annotation
    return kind | None
