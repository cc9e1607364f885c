"""The skill set of a state: what an answer may choose from."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator
from typing import Final

from hazardmill.formalism.semantics.transition_system import State
from hazardmill.household.actions import HAND, Verb
from hazardmill.household.object_kinds import Property
from hazardmill.household.phrases import DEMANDED, WHILE_HELD
from hazardmill.household.scene import SceneObject
from hazardmill.household.states import FluentTable, Sight, StateReader

_Skills = tuple[str, ...]
_GOING: Final = str(Verb.GO_TO)


class SkillSet:
    """Lists the skills of the states of one scene.

    Going depends on what is known, all other skills on what is in sight and what the hand holds. Each part is listed
    once for each combination of the fluents that it depends on.

    Args:
        reader: Reads states of the scene.
    """

    def __init__(self, reader: StateReader) -> None:
        self._reader = reader
        self._going = FluentTable(reader.known_mask | reader.carried_mask, self._list_going)
        things = reader.scene.all_objects
        self._apart = {thing.name: _skills_of(thing, held=False) for thing in things}
        self._held = {thing.name: _skills_of(thing, held=True) for thing in things}
        self._near = {place: FluentTable(mask, self._list_near) for place, mask in reader.sight_masks.items()}

    def of(self, state: State) -> tuple[str, ...]:
        """Return the skills of a state, sorted.

        These are going to what is known, and all actions on what is in sight that its properties allow.
        """
        bits = state.bits
        before, after = self._near[self._reader.location(state)].read(bits)
        return (*before, *self._going.read(bits), *after)

    def _list_going(self, bits: int) -> _Skills:
        reader, state = self._reader, State(bits)
        known = (thing.name for thing in reader.known(state) if reader.base(thing.name, state) != HAND)
        return tuple(sorted(f"{Verb.GO_TO} {name}" for name in known))

    def _list_near(self, bits: int) -> tuple[_Skills, _Skills]:
        """Return the skills that are sorted before going, and those after it."""
        skills = sorted(self._near_skills(self._reader.sight(State(bits))))
        middle = bisect(skills, _GOING)
        return tuple(skills[:middle]), tuple(skills[middle:])

    def _near_skills(self, sight: Sight) -> Iterator[str]:
        for thing in sight.apart:
            yield from self._apart[thing.name]
        for thing in sight.held:
            yield from self._held[thing.name]
        sources = [thing for thing in sight.held if Property.FILLABLE in thing.properties]
        for thing in sight.things if sources else ():
            if thing.has(Property.PICKABLE, Property.FILLABLE) and [thing] != sources:
                yield f"{Verb.POUR} {thing.name}"
                if len(sources) > 1:
                    yield from (f"pour {source.name} into {thing.name}" for source in sources if source != thing)


def _skills_of(thing: SceneObject, held: bool) -> _Skills:
    """Return the skills that concern one object, but for pouring, which concerns two."""
    lifted = (Verb.POUR, Verb.PICK_UP) if held else (Verb.POUR,)
    verbs = [verb for verb, (needed, _) in DEMANDED.items() if needed in thing.properties and verb not in lifted]
    if held:
        verbs += [verb for verb in WHILE_HELD if verb is not Verb.EMPTY or Property.FILLABLE in thing.properties]
    return tuple(f"{verb} {thing.name}" for verb in verbs)
