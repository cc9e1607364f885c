"""Episodes that a simulator recorded: lines of JSON, one per state, with AI2-THOR's metadata of all objects.

A line has ``episode_id``, ``state`` (0 at the start, then one more per action) and ``objects``. An object has
``objectId`` as ``Class|x|y|z``, with a fifth part such as ``AppleSliced_1`` for what came of another object,
``isOpen``, ``isToggled`` and so on, ``parentReceptacles`` and ``controlledObjects``; other keys are ignored. The lines
of an episode stand together.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

from hazardmill.errors import PlanningInputError
from hazardmill.files import open_regular
from hazardmill.household.spoc_format import FLAG_KEYS
from hazardmill.household.world_state import ThingState, WorldState

_LINE: Final = 'write {"episode_id": ..., "state": 0, "objects": [...]} per line, one more for each next state'
_OBJECT: Final = "write an object's metadata as the simulator gives it, with objectId as Class|x|y|z"
_FLAGS: Final = {key: flag for key, flag in FLAG_KEYS.items() if flag != "filled"}
_FLAG_VALUES: Final = itemgetter(*_FLAGS)
_BOOLEAN: Final = frozenset({bool})


@dataclass(frozen=True, slots=True)
class RecordedTrace:
    """The recorded states of one episode.

    Attributes:
        episode_id: Id of the episode in its file.
        states: The state at the start, and the state after each action.
    """

    episode_id: str
    states: tuple[WorldState, ...]


def read_traces(path: Path) -> Iterator[RecordedTrace | PlanningInputError]:
    """Read recorded episodes, one after another.

    Args:
        path: The file.

    Yields:
        Each episode with all its states. Of an episode in which something is wrong, the first error with file, line and
        remedy, and none of its states.

    Raises:
        PlanningInputError: The file cannot be read.
    """
    reader = _TraceReader(str(path))
    try:
        with open_regular(path) as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield from reader.read(line, number)
    except OSError as error:
        message = f"the traces cannot be read: {error.strerror or error}"
        raise PlanningInputError(message, file=str(path), remedy="check the path") from error
    yield from reader.finish()


def read_simulator_state(objects: object) -> WorldState:
    """Return the state that the metadata of objects describes; the objects are called by their ``objectId``.

    Of several receptacles, the innermost holds the object; if none is inside another, the last. The floor holds
    nothing. A stove knob is on while something that it controls is.

    Args:
        objects: The list of metadata as JSON values.

    Raises:
        PlanningInputError: It is no such list, or two objects have one id.
    """
    return _StateParser().parse(objects)


class _TraceReader:
    """Collects the states of one episode at a time."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._finished: set[str] = set()
        self._episode: str | None = None
        self._states: list[WorldState] = []
        self._parser = _StateParser()
        self._refused = False

    def read(self, line: bytes, number: int) -> Iterator[RecordedTrace | PlanningInputError]:
        """Yield the episode before if the line begins another, and what is wrong with the line."""
        try:
            said = json.loads(line)
            if not isinstance(said, dict) or not isinstance(said.get("episode_id"), str):
                raise _wrong("the line has no episode_id", _LINE)
            episode = said["episode_id"]
            if episode != self._episode:
                yield from self.finish()
                self._episode = episode
            if not self._refused:
                self._add(episode, said)
        except PlanningInputError as error:
            error.file, error.line = self._file, number
            yield from self._refuse(error)
        except (ValueError, RecursionError) as error:
            wrong = f"the line is not JSON: {error}"
            yield from self._refuse(PlanningInputError(wrong, file=self._file, line=number, remedy=_LINE))

    def finish(self) -> Iterator[RecordedTrace]:
        """Yield the episode that was being read, unless it was refused."""
        if self._episode is not None:
            self._finished.add(self._episode)
            if not self._refused:
                yield RecordedTrace(self._episode, tuple(self._states))
        self._episode, self._states, self._refused = None, [], False
        self._parser = _StateParser()

    def _add(self, episode: str, said: Mapping[str, Any]) -> None:
        if episode in self._finished:
            raise _wrong(
                f"the states of the episode {episode} are not on consecutive lines", "sort the lines by episode"
            )
        state, wanted = said.get("state"), len(self._states)
        # A bool is an int to Python.
        if not isinstance(state, int) or isinstance(state, bool):
            raise _wrong("state is not an integer", _LINE)
        if state < wanted:
            message = f"the states of the episode {episode} go back: {state} after {wanted - 1}"
            raise _wrong(message, "write the states in their order, each once")
        if state > wanted:
            message = f"states of the episode {episode} are missing: {state}, where {wanted} should be"
            raise _wrong(message, "write every state, from 0, including the state after a rejected action")
        self._states.append(self._parser.parse(said.get("objects")))

    def _refuse(self, error: PlanningInputError) -> Iterator[PlanningInputError]:
        # A line that cannot be read belongs to the episode that is being read: one of its states is missing.
        if not self._refused:
            yield error
        self._refused, self._states = self._episode is not None, []


class _StateParser:
    """Reads the states of one episode, and makes each state of an object once: few objects change with an action."""

    def __init__(self) -> None:
        self._things: dict[tuple[str, str | None, str | None, tuple[bool, ...]], ThingState] = {}

    def parse(self, objects: object) -> WorldState:
        if not isinstance(objects, list):
            raise _wrong("objects is not a list", _LINE)
        known: dict[str, Mapping[str, Any]] = {}
        for number, item in enumerate(objects, 1):
            name = item.get("objectId") if isinstance(item, dict) else None
            if not isinstance(name, str) or not name or name[0] == "|":
                raise _wrong(f"objects[{number}] has no objectId", _OBJECT)
            if name in known:
                raise _wrong(f"objects[{number}]: the id {name} occurs twice", "give each object an id of its own")
            known[name] = item
        return {name: self._thing(name, item, known) for name, item in known.items()}

    def _thing(self, name: str, item: Mapping[str, Any], known: Mapping[str, Mapping[str, Any]]) -> ThingState:
        try:
            flags = _FLAG_VALUES(item)
        except KeyError:
            flags = tuple(item.get(key, False) for key in _FLAGS)
        # To Python, 1 equals true: without this, it would pass where true was read before.
        if not _BOOLEAN.issuperset(map(type, flags)):
            flags = tuple(_flag(name, item, key) for key in _FLAGS)
        if _kind(name) == "StoveKnob":
            flags = _with_control(name, item, known, flags)
        liquid = item.get("fillLiquid") or None
        if liquid is None:
            liquid = "unknown" if _flag(name, item, "isFilledWithLiquid") else None
        elif not isinstance(liquid, str):
            raise _wrong(f"{name}: fillLiquid is not text", _OBJECT)
        key = (name, _place(name, item, known), liquid, flags)
        found = self._things.get(key)
        if found is None:
            truths = dict(zip(_FLAGS.values(), flags, strict=True))
            found = self._things[key] = ThingState(name, _kind(name), key[1], filled=liquid, **truths)
        return found


def _with_control(
    name: str, item: Mapping[str, Any], known: Mapping[str, Mapping[str, Any]], flags: tuple[bool, ...]
) -> tuple[bool, ...]:
    controlled = [each for each in _ids(name, item, "controlledObjects") if each in known]
    if not controlled:
        return flags
    on = any(_flag(each, known[each], "isToggled") for each in controlled)
    return tuple(on if flag == "on" else value for flag, value in zip(_FLAGS.values(), flags, strict=True))


@lru_cache(maxsize=4096)
def _kind(name: str) -> str:
    parts = name.split("|")
    return re.sub(r"_\d+$", "", parts[4]) if len(parts) > 4 else parts[0]


def _place(name: str, item: Mapping[str, Any], known: Mapping[str, Mapping[str, Any]]) -> str | None:
    places = _ids(name, item, "parentReceptacles")
    if not places:
        return None
    places = [each for each in places if each in known and _kind(each) != "Floor"]
    if len(places) < 2:
        return places[0] if places else None
    outer = {place for each in places for place in _ids(each, known[each], "parentReceptacles")}
    return ([each for each in places if each not in outer] or places)[-1]


def _ids(name: str, item: Mapping[str, Any], key: str) -> list[str]:
    found = item.get(key) or []
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise _wrong(f"{name}: {key} is not a list of ids", _OBJECT)
    return found


def _flag(name: str, item: Mapping[str, Any], key: str) -> bool:
    value = item.get(key, False)
    if not isinstance(value, bool):
        raise _wrong(f"{name}: {key} is not true or false", _OBJECT)
    return value


def _wrong(message: str, remedy: str) -> PlanningInputError:
    return PlanningInputError(message, remedy=remedy)
