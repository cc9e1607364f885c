"""A figure with its interval: the one type in which every statistic is told, however it was worked out.

What is written to JSON has names of its own, which differ from table to table (``among``, ``of``, ``tasks``): a field
that holds an estimate says them by a ``JsonNames``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import GetCoreSchemaHandler, computed_field, model_validator
from pydantic_core import CoreSchema, core_schema

from hazardmill.records import FrozenModel

LEVEL: Final = 0.95
"""Of an interval, unless it says otherwise."""

Method = Literal["bootstrap", "fisher", "hedges", "newcombe", "pearson", "spearman", "student", "wilson"]


class Estimate(FrozenModel):
    """A figure with its interval, as far as they are known."""

    value: float | None
    """Null where it is not defined, such as a share of nothing."""
    low: float | None = None
    high: float | None = None
    n: int | None = None
    """Of how many things it is."""
    method: Method | None = None
    """How it, or its interval, is worked out."""
    why: str | None = None
    """Why there is no value, or no interval."""


class Proportion(Estimate):
    """A share of ``n`` things."""

    count: int
    """Of how many of them it holds."""
    n: int


class WithReason(FrozenModel):
    """A row with an estimate whose reason stands beside it in JSON, as ``why``."""

    reason_of: ClassVar[tuple[str, ...]]
    """Its field or fields that hold such an estimate."""

    @computed_field  # type: ignore[prop-decorator]  # mypy knows no decorated properties
    @property
    def why(self) -> str | None:
        """Why something of it is not known."""
        estimate: Estimate = getattr(self, self.reason_of[0])
        return estimate.why

    @model_validator(mode="before")
    @classmethod
    def _read_reason(cls, row: Any) -> Any:  # noqa: ANN401  # whatever is to become one
        if not isinstance(row, Mapping) or "why" not in row:
            return row
        rest = {name: each for name, each in row.items() if name != "why"}
        return rest | {name: {**(row[name] or {"value": None}), "why": row["why"]} for name in cls.reason_of}


class JsonNames:
    """How an estimate stands in JSON, as metadata of a field: its fields under other names, in this order.

    Args:
        or_null: Whether null stands there where it has no value.
        names: The name in JSON to that of the field.
    """

    def __init__(self, *, or_null: bool = False, **names: str) -> None:
        self._names = names
        self._or_null = or_null

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:  # noqa: ANN401
        """Read and write what the annotated type is, by these names."""
        return core_schema.no_info_before_validator_function(
            self._read, handler(source), serialization=core_schema.plain_serializer_function_ser_schema(self._write)
        )

    def _read(self, value: object) -> object:
        if not isinstance(value, Mapping):
            return {"value": None} if value is None and self._or_null else value
        return {self._names.get(name, name): each for name, each in value.items()}

    def _write(self, found: Estimate) -> dict[str, Any] | None:
        if self._or_null and found.value is None:
            return None
        return {name: getattr(found, field) for name, field in self._names.items()}


def interval_around(value: float, reach: float, *, n: int, method: Method) -> Estimate:
    """An estimate whose interval reaches as far below its value as above."""
    return Estimate(value=value, low=value - reach, high=value + reach, n=n, method=method)


IntervalOrNull = Annotated[Estimate, JsonNames(or_null=True, value="value", low="low", high="high")]
"""As value, low and high, or null; whoever holds it says of how many it is, and why it is not known."""
