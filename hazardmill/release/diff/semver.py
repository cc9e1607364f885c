"""Which step of the version number a change of columns or tasks requires.

The version of a release says what its users can rely on (semantic versioning, also below 1.0.0):

    patch   the same tasks; at most columns on their origin, or texts such as the card, differ
    minor   tasks or columns were added, tasks were removed or changed; whatever could be loaded still can
    major   a config or a column was removed or has another type: loading may fail
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Literal

from hazardmill.records import FrozenModel

Step = Literal["none", "patch", "minor", "major", "back"]

_ORDER: Final[tuple[Step, ...]] = ("back", "none", "patch", "minor", "major")

Kind = Literal["config added", "config removed", "column added", "column removed", "column retyped"]

_ASKS: Final[dict[Kind, Step]] = {
    "config added": "minor",
    "config removed": "major",
    "column added": "minor",
    "column removed": "major",
    "column retyped": "major",
}


class SchemaChange(FrozenModel):
    """One change of the configs or columns that can be loaded.

    Attributes:
        kind: What happened.
        config: Name of the config.
        column: Name of the column; None if the whole config was added or removed.
        before: Arrow type of the column in the earlier release; None if it had no such column.
        after: Arrow type of the column in the later release; None if it has no such column.
    """

    kind: Kind
    config: str
    column: str | None = None
    before: str | None = None
    after: str | None = None

    @property
    def asks(self) -> Step:
        """The smallest step of the version that covers the change."""
        return _ASKS[self.kind]

    def __str__(self) -> str:
        where = self.config if self.column is None else f"{self.config}.{self.column}"
        types = {
            "column added": f" ({self.after})",
            "column removed": f" ({self.before})",
            "column retyped": f" ({self.before} -> {self.after})",
        }
        return f"{self.kind}: {where}{types.get(self.kind, '')}"


class VersionFinding(FrozenModel):
    """A difference for which the step of the version is too small.

    Attributes:
        message: The difference.
        asks: The step that covers it.
        remedy: What to do.
    """

    message: str
    asks: Step
    remedy: str


def step_between(old: str, new: str) -> Step:
    """Return which of the three numbers is the first to change from one version to a later one.

    Args:
        old: A version ``X.Y.Z``.
        new: Another one.

    Returns:
        ``none`` if they are equal, ``back`` if ``new`` is the smaller one.

    Raises:
        ValueError: A version does not consist of integers.
    """
    before, after = (tuple(map(int, version.split("."))) for version in (old, new))
    if after == before:
        return "none"
    if after < before:
        return "back"
    return "major" if after[0] > before[0] else "minor" if after[1] > before[1] else "patch"


def schema_changes(
    old: Mapping[str, Mapping[str, str]], new: Mapping[str, Mapping[str, str]]
) -> tuple[SchemaChange, ...]:
    """Return the configs and columns that were added or removed, or that have another type.

    Args:
        old: Config to column to type, of the earlier release.
        new: The same of the later release.
    """
    return tuple(_changes(old, new))


def _changes(old: Mapping[str, Mapping[str, str]], new: Mapping[str, Mapping[str, str]]) -> Iterable[SchemaChange]:
    for config in sorted(old.keys() | new.keys()):
        if config not in new:
            yield SchemaChange(kind="config removed", config=config)
        elif config not in old:
            yield SchemaChange(kind="config added", config=config)
        else:
            before, after = old[config], new[config]
            for column in [*before, *(name for name in after if name not in before)]:
                types = {"before": before.get(column), "after": after.get(column)}
                if column not in after:
                    yield SchemaChange(kind="column removed", config=config, column=column, **types)
                elif column not in before:
                    yield SchemaChange(kind="column added", config=config, column=column, **types)
                elif before[column] != after[column]:
                    yield SchemaChange(kind="column retyped", config=config, column=column, **types)


def findings(
    old: str, new: str, changes: Iterable[SchemaChange], tasks: Mapping[str, int], same: bool
) -> tuple[VersionFinding, ...]:
    """Return the differences that the step from one version to the other does not cover.

    Args:
        old: Version of the earlier release.
        new: Version of the later release.
        changes: Changes of configs and columns.
        tasks: Numbers of tasks ``added``, ``removed`` and ``changed``, without those that differ only in their origin.
        same: Whether the two are the same release, byte for byte; then nothing is found.
    """
    if same:
        return ()
    step = step_between(old, new)
    if step == "back":
        return (
            VersionFinding(
                message=f"the version goes back, from {old} to {new}",
                asks="none",
                remedy="name the older release first",
            ),
        )
    if step == "none":
        return (
            VersionFinding(
                message=f"two different releases have the same version {new}",
                asks="patch",
                remedy="build the later one again under a new version",
            ),
        )
    found = [
        VersionFinding(message=str(change), asks=change.asks, remedy=_remedy(old, change.asks))
        for change in changes
        if _short(step, change.asks)
    ]
    if _short(step, "minor") and any(tasks.values()):
        said = ", ".join(f"{number:,} {words}" for words, number in tasks.items() if number)
        found.append(VersionFinding(message=f"tasks differ: {said}", asks="minor", remedy=_remedy(old, "minor")))
    return tuple(found)


def _short(step: Step, asked: Step) -> bool:
    return _ORDER.index(step) < _ORDER.index(asked)


def _remedy(old: str, asked: Step) -> str:
    major, minor, _ = map(int, old.split("."))
    least = f"{major + 1}.0.0" if asked == "major" else f"{major}.{minor + 1}.0"
    return f"give the later release version {least} or higher"
