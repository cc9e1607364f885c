"""The skill set of a state: what an answer may choose from."""

from __future__ import annotations

from collections.abc import Iterator

from hazardmill.formalism.semantics.transition_system import State
from hazardmill.household.actions import HAND, Verb
from hazardmill.household.object_kinds import Property
from hazardmill.household.phrases import DEMANDED, WHILE_HELD
from hazardmill.household.states import FluentTable, StateReader

_Skills = tuple[str, ...]


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
        skills = sorted(self._near_skills(State(bits)))
        return tuple(each for each in skills if each < Verb.GO_TO), tuple(each for each in skills if each > Verb.GO_TO)

    def _near_skills(self, state: State) -> Iterator[str]:
        sight = self._reader.sight(state)
        held = sight.held
        sources = [thing for thing in held if Property.FILLABLE in thing.properties]
        for thing in sight.things:
            for verb, (needed, _) in DEMANDED.items():
                if (
                    needed in thing.properties
                    and verb is not Verb.POUR
                    and not (verb is Verb.PICK_UP and thing in held)
                ):
                    yield f"{verb} {thing.name}"
            if sources and thing.has(Property.PICKABLE, Property.FILLABLE) and [thing] != sources:
                yield f"{Verb.POUR} {thing.name}"
                if len(sources) > 1:
                    yield from (f"pour {source.name} into {thing.name}" for source in sources if source != thing)
        for thing in held:
            for verb in WHILE_HELD:
                if verb is not Verb.EMPTY or thing in sources:
                    yield f"{verb} {thing.name}"
