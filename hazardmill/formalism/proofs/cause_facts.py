"""Which parts of a task stand for the cause that its danger formalization tells of, by the author's word.

The formalization tells apart what the way out changes and what is fixed and makes it matter. Nobody can prove that a
name means a sentence; but what the author says can be held against the task (``claims.cause``) and counted
against the formalization (``generation.formalization``). Outside the hash, as ``realised_by`` is: a claim on the
task, and no part of it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final

from hazardmill.errors import DocumentError

MOST_NAMED: Final = 100
"""Names of a part."""

_PARTS: Final = ("changing", "fixed")


@dataclass(frozen=True, slots=True)
class NamedCauses:
    """Names in the order of the formalization's sentences; one that stands for two is named twice."""

    changing: tuple[str, ...] = ()
    """What the way out changes: fluents, or the dangerous action itself where the way out does another in its place."""
    fixed: tuple[str, ...] = ()
    """What is so from the start and stays: context fluents."""

    def to_json(self) -> dict[str, list[str]]:
        """JSON values."""
        return {"changing": list(self.changing), "fixed": list(self.fixed)}


def read_causes(value: object) -> NamedCauses:
    """Read causes from JSON values.

    Raises:
        DocumentError: They are of another shape.
    """
    if not isinstance(value, dict) or set(value) != set(_PARTS):
        raise DocumentError(
            "causes: wanted an object with the keys changing and fixed", remedy="give both, each a list of names"
        )
    return NamedCauses(**{part: _names(value[part], part) for part in _PARTS})


def check_causes(causes: NamedCauses, fluents: Collection[str], actions: Collection[str]) -> None:
    """Check that what is named is declared.

    Raises:
        DocumentError: It is not, or there is too much of it.
    """
    for part, names, known in (("changing", causes.changing, {*fluents, *actions}), ("fixed", causes.fixed, fluents)):
        if len(names) > MOST_NAMED:
            raise DocumentError(f"causes.{part}: {len(names)} names, at most {MOST_NAMED} are allowed")
        for name in names:
            if name not in known:
                raise DocumentError(
                    f"causes.{part}: {name[:80]!r} is no fluent of the task", remedy="name fluents that are declared"
                )


def _names(value: Any, part: str) -> tuple[str, ...]:  # noqa: ANN401  # JSON of anybody
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise DocumentError(f"causes.{part}: wanted a list of names", remedy="leave arguments and not away")
    return tuple(value)
