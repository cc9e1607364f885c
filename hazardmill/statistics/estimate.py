"""A figure with its interval: the one type in which every statistic is reported, whatever the method.

In JSON, tables give the fields of an estimate different names (``among``, ``of``, ``tasks``). A field that holds an
estimate declares these names with ``JsonNames``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import GetCoreSchemaHandler, computed_field, model_validator
from pydantic_core import CoreSchema, core_schema

from hazardmill.records import FrozenModel

LEVEL: Final = 0.95
"""Confidence level of an interval, unless stated otherwise."""

Method = Literal[
    "averaged", "bootstrap", "fisher", "hedges", "newcombe", "normal", "pearson", "spearman", "student", "wilson"
]


class Estimate(FrozenModel):
    """A figure with its interval, as far as both are known.

    Attributes:
        value: The figure; ``None`` if it is not defined, such as a share of nothing.
        low: Lower end of the interval; ``None`` if there is no interval. An interval always has a width.
        high: Upper end of the interval; ``None`` if there is no interval.
        n: Number of things that the figure is computed from; ``None`` if whoever holds the estimate states it.
        method: How the figure or its interval was computed; ``wilson`` also where (almost) all units agree, so that a
            bootstrap over them would show too little of the spread. ``averaged`` is the mean of two figures whose
            intervals' lower ends are averaged, and upper ends likewise.
        why: Why there is no value or no interval; ``None`` if nothing is missing.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int | None = None
    method: Method | None = None
    why: str | None = None


class Proportion(Estimate):
    """A share of ``n`` things.

    Attributes:
        count: How many of the ``n`` things have the property.
        n: How many things there are; always known.
    """

    count: int
    n: int


class WithReason(FrozenModel):
    """Base of table rows that write the ``why`` of an estimate beside it in JSON, and not inside it.

    Attributes:
        reason_of: Names of the row's fields whose estimates share that reason.
    """

    reason_of: ClassVar[tuple[str, ...]]

    @computed_field  # type: ignore[prop-decorator]  # mypy knows no decorated properties
    @property
    def why(self) -> str | None:
        """Why an estimate of this row is missing; ``None`` if nothing is missing."""
        estimate: Estimate = getattr(self, self.reason_of[0])
        return estimate.why

    @model_validator(mode="before")
    @classmethod
    def _read_reason(cls, row: Any) -> Any:  # noqa: ANN401  # any input, before validation
        if not isinstance(row, Mapping) or "why" not in row:
            return row
        rest = {name: each for name, each in row.items() if name != "why"}
        return rest | {name: {**(row[name] or {"value": None}), "why": row["why"]} for name in cls.reason_of}


class JsonNames:
    """Field metadata: the names, and their order, under which an estimate is written to and read from JSON.

    Args:
        or_null: Whether an estimate without a value is written as null.
        names: Each name in JSON, and the field of the estimate that it stands for. Fields without a name are not
            written.
    """

    def __init__(self, *, or_null: bool = False, **names: str) -> None:
        self._names = names
        self._or_null = or_null

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:  # noqa: ANN401
        """Wrap the schema of the annotated type, so that it reads and writes these names."""
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
    """Return an estimate whose interval is symmetric around its value.

    Args:
        value: The figure.
        reach: Distance from the value to either end of the interval.
        n: Number of things that the figure is computed from.
        method: How the interval was computed.
    """
    return Estimate(value=value, low=value - reach, high=value + reach, n=n, method=method)


IntervalOrNull = Annotated[
    Estimate, JsonNames(or_null=True, value="value", low="low", high="high", method="method")
]  # fmt: skip
"""An estimate written as value, low, high and method, or as null; its holder states ``n`` and the reason."""
