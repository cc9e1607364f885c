"""What a change of columns or tasks asks of the version number.

A release promises by its number what those who load it may rely on (semantic versioning, held from 0.1.0 on too):

    patch   the same tasks; at most where they came from is told differently, or the texts of the release are better
    minor   tasks or columns that are new, tasks that are gone or changed; everything that loaded still loads
    major   a config or a column is gone or has another type: what loaded may no longer do
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
    """One change of what can be loaded."""

    kind: Kind
    config: str
    column: str | None = None
    before: str | None = None
    """Type of the column, as Arrow writes it."""
    after: str | None = None

    @property
    def asks(self) -> Step:
        """The least step of the version that it goes with."""
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
    """Something that the version number is too small for."""

    message: str
    asks: Step
    """The step that it would take."""
    remedy: str


def step_between(old: str, new: str) -> Step:
    """By which of its three numbers a version differs from the one before; ``back`` if it is smaller."""
    before, after = (tuple(map(int, version.split("."))) for version in (old, new))
    if after == before:
        return "none"
    if after < before:
        return "back"
    return "major" if after[0] > before[0] else "minor" if after[1] > before[1] else "patch"


def schema_changes(
    old: Mapping[str, Mapping[str, str]], new: Mapping[str, Mapping[str, str]]
) -> tuple[SchemaChange, ...]:
    """What is gone, new, or of another type.

    Args:
        old: Config to column to type.
        new: The same, of the later release.
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
    """What the step from one version to the other does not cover.

    Args:
        old: A version.
        new: A later one.
        changes: Of what can be loaded.
        tasks: ``added``, ``removed`` and ``changed`` to how many tasks, those aside that only came from elsewhere.
        same: Whether both are one and the same release, byte for byte.
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
                remedy="build the later one again under a version of its own",
            ),
        )
    found = [
        VersionFinding(message=str(change), asks=change.asks, remedy=_remedy(old, change.asks))
        for change in changes
        if _short(step, change.asks)
    ]
    if _short(step, "minor") and any(tasks.values()):
        said = ", ".join(f"{number:,} {words}" for words, number in tasks.items() if number)
        found.append(
            VersionFinding(message=f"tasks are not the same: {said}", asks="minor", remedy=_remedy(old, "minor"))
        )
    return tuple(found)


def _short(step: Step, asked: Step) -> bool:
    return _ORDER.index(step) < _ORDER.index(asked)


def _remedy(old: str, asked: Step) -> str:
    major, minor, _ = map(int, old.split("."))
    least = f"{major + 1}.0.0" if asked == "major" else f"{major}.{minor + 1}.0"
    return f"call the later release {least} or higher"
