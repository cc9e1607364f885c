"""Files of scenes as they are written: JSON or YAML with an entry per object, and the line of each mistake."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hazardmill.errors import PlanningInputError
from hazardmill.files import read_regular

FORMAT: Final = "hazardmill-scene/1"
_MOST_BYTES: Final = 1_000_000
_SHAPE: Final = "a scene is format, room and objects; an object is class, and optionally in, controls, states, filled"


class SceneEntry(BaseModel):
    """An object as a file of a scene describes it.

    Attributes:
        kind: Its class.
        place: Name of what it is in or on; None for the floor.
        controls: Name of what it turns on and off.
        properties: Words for what can be done with it; None for those of its class.
        states: Words for the states that it has.
        filled: The liquid that it holds.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    kind: str = Field(alias="class")
    place: str | None = Field(default=None, alias="in")
    controls: str | None = None
    properties: list[str] | None = None
    states: list[str] = Field(default_factory=list)
    filled: str | None = None


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    format: str
    room: str = Field(min_length=1, max_length=80)
    objects: list[SceneEntry] = Field(min_length=1)


@dataclass(frozen=True, slots=True)
class SceneEntries:
    """The entries of a scene; their form is checked, not what they say.

    Attributes:
        room: Name of the room.
        objects: An entry per object, in the order of the file.
    """

    room: str
    objects: tuple[SceneEntry, ...]
    _place: _FilePlace | None

    def error(self, index: int, key: str, wrong: str, remedy: str) -> PlanningInputError:
        """Return the error that one entry is wrong, with its place in the file.

        Args:
            index: Number of the entry, from 0.
            key: The key whose value is wrong.
            wrong: What is wrong.
            remedy: What to do.
        """
        return _error(self._place, ("objects", index, key), wrong, remedy)


def read_entries(path: Path) -> SceneEntries:
    """Read the entries of a scene from a file of JSON or YAML.

    Args:
        path: The file.

    Returns:
        The entries.

    Raises:
        PlanningInputError: The file cannot be read, or has another form; the message says where.
    """
    import yaml

    try:
        text = read_regular(path, _MOST_BYTES).decode("utf-8-sig")
        # Every scalar stays text: to the usual loader, the state `on` is the Boolean true.
        node = yaml.compose(text, Loader=yaml.BaseLoader)
    except OSError as error:
        raise PlanningInputError(
            f"the scene cannot be read: {error.strerror or error}", file=str(path), remedy="name a file of JSON or YAML"
        ) from error
    except (UnicodeDecodeError, yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        raise PlanningInputError(
            f"the scene is neither JSON nor YAML: {getattr(error, 'problem', None) or error}",
            file=str(path),
            line=None if mark is None else mark.line + 1,
            remedy=_SHAPE,
        ) from error
    if node is None:
        raise PlanningInputError("the scene is empty", file=str(path), remedy=_SHAPE)
    place = _FilePlace(str(path), node)
    return _checked(place.plain(node), place)


def parse_entries(value: object) -> SceneEntries:
    """Return the entries that the values of a file describe, as ``read_entries`` does for a file.

    Args:
        value: The values.

    Returns:
        The entries.

    Raises:
        PlanningInputError: A value has another form.
    """
    return _checked(value, None)


def write_entry(
    kind: str,
    *,
    properties: Iterable[str] | None,
    place: str | None,
    controls: str | None,
    states: Iterable[str],
    filled: str | None,
) -> dict[str, Any]:
    """Return an object as a file describes it, with the keys that say something.

    Args:
        kind: As for ``SceneEntry``, like the others.
        properties: In any order.
        place: Likewise.
        controls: Likewise.
        states: In any order.
        filled: Likewise.
    """
    said = {"class": kind, "in": place, "controls": controls, "states": sorted(states), "filled": filled}
    entry = SceneEntry.model_validate({**said, "properties": None if properties is None else sorted(properties)})
    return entry.model_dump(by_alias=True, exclude_defaults=True)


@dataclass(frozen=True, slots=True)
class _FilePlace:
    """A file with the nodes of its YAML, to say on which line a mistake is."""

    file: str
    root: Any

    def plain(self, node: Any) -> Any:  # noqa: ANN401  # yaml is not typed
        import yaml

        if isinstance(node, yaml.SequenceNode):
            return [self.plain(item) for item in node.value]
        if not isinstance(node, yaml.MappingNode):
            return node.value
        found: dict[Any, Any] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.value in found:
                raise PlanningInputError(
                    f"the key {key.value!r} is used twice, or is not text",
                    file=self.file,
                    line=key.start_mark.line + 1,
                    remedy="use each key once",
                )
            found[key.value] = self.plain(value)
        return found

    def line(self, path: tuple[int | str, ...]) -> int:
        import yaml

        node = self.root
        for part in path:
            if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
                node = node.value[part]
            elif isinstance(node, yaml.MappingNode):
                node = next((value for key, value in node.value if key.value == part), node)
        return int(node.start_mark.line) + 1


def _checked(value: object, place: _FilePlace | None) -> SceneEntries:
    try:
        file = _File.model_validate(value)
    except ValidationError as error:
        found = error.errors(include_url=False)[0]
        raise _error(place, found["loc"], found["msg"], _SHAPE) from error
    if file.format != FORMAT:
        raise _error(place, ("format",), f"this version reads {FORMAT!r}, not {file.format!r}", "change the format")
    return SceneEntries(file.room, tuple(file.objects), place)


def _error(place: _FilePlace | None, path: tuple[int | str, ...], wrong: str, remedy: str) -> PlanningInputError:
    shown = "".join(f"[{part + 1}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")
    return PlanningInputError(
        f"{shown}: {wrong}" if shown else wrong,
        file=None if place is None else place.file,
        line=None if place is None else place.line(path),
        remedy=remedy,
    )
