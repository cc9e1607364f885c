"""Which parts of a task stand for the cause in its danger formalization, as the author names them.

The formalization distinguishes what the way out changes from what is fixed and makes it matter. Nobody can prove that
a name means a sentence; but what the author says can be compared with the task (``claims.cause``) and counted against
the formalization (``generation.formalization``). It is outside the hash, as ``realised_by`` is: a claim about the
task, not a part of it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final

from hazardmill.errors import DocumentError

MOST_NAMED: Final = 100
"""Most names per part."""

_PARTS: Final = ("changing", "fixed")


@dataclass(frozen=True, slots=True)
class NamedCauses:
    """The facts of a task that stand for its cause, as the author names them.

    Names are in the order of the formalization's sentences; one that stands for two sentences is named twice.
    """

    changing: tuple[str, ...] = ()
    """What the way out changes: fluents, or the dangerous action itself where the way out does another in its place."""
    fixed: tuple[str, ...] = ()
    """What holds from the start and stays: context fluents."""

    def to_json(self) -> dict[str, list[str]]:
        """Return both parts as JSON values."""
        return {"changing": list(self.changing), "fixed": list(self.fixed)}


def read_causes(value: object) -> NamedCauses:
    """Return the causes in JSON values: ``{"changing": [name...], "fixed": [name...]}``.

    Raises:
        DocumentError: They are of another shape.
    """
    if not isinstance(value, dict) or set(value) != set(_PARTS):
        raise DocumentError(
            "causes: wanted an object with the keys changing and fixed", remedy="give both, each a list of names"
        )
    return NamedCauses(**{part: _names(value[part], part) for part in _PARTS})


def check_causes(causes: NamedCauses, fluents: Collection[str], actions: Collection[str]) -> None:
    """Check that what is named is declared: fluents, and for what changes also actions.

    Args:
        causes: What the author names.
        fluents: Names of the declared fluents.
        actions: Names of the declared actions.

    Raises:
        DocumentError: A name is not declared, or a part has more than ``MOST_NAMED`` names.
    """
    for part, names, known in (("changing", causes.changing, {*fluents, *actions}), ("fixed", causes.fixed, fluents)):
        if len(names) > MOST_NAMED:
            raise DocumentError(f"causes.{part}: {len(names)} names, at most {MOST_NAMED} are allowed")
        for name in names:
            if name not in known:
                raise DocumentError(
                    f"causes.{part}: {name[:80]!r} is not a fluent of the task", remedy="name fluents that are declared"
                )


def _names(value: Any, part: str) -> tuple[str, ...]:  # noqa: ANN401  # JSON from anywhere
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise DocumentError(
            f"causes.{part}: this must be a list of names",
            remedy="write bare names, without arguments and without `not`",
        )
    return tuple(value)
