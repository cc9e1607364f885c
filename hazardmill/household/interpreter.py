"""What words mean in a scene: the action of its document that they name, or why there is none."""

from __future__ import annotations

from functools import cached_property
from typing import Final

from hazardmill.formalism.semantics.transition_system import State
from hazardmill.household.actions import HAND, HouseholdAction, Reason, Verb
from hazardmill.household.document import SceneDocument
from hazardmill.household.object_kinds import Property
from hazardmill.household.observation import Observer
from hazardmill.household.phrases import DEMANDED, WHILE_HELD, Phrase, squeeze
from hazardmill.household.scene import SceneObject, symbol_of
from hazardmill.household.skills import SkillSet
from hazardmill.household.states import StateReader


class Interpreter:
    """Finds what words mean in one world. Episodes share it, and what it has prepared.

    Args:
        world: The scene with its layer.

    Attributes:
        world: The same.
        reader: Reads states of the world.
        skills: Lists the skills of its states.
        observer: Says what the robot is told of its states.
    """

    def __init__(self, world: SceneDocument) -> None:
        self.world = world
        self.reader = StateReader(world)
        self.skills = SkillSet(self.reader)
        self.observer = Observer(self.reader)
        self._symbols = {thing.name: thing.symbol for thing in world.scene.all_objects}
        self._actions: dict[Verb, list[HouseholdAction]] = {verb: [] for verb in Verb}
        self._targets: dict[tuple[Verb, tuple[str, ...], str], tuple[HouseholdAction, tuple[str, ...]] | Reason] = {}
        for action in world.actions:
            self._actions[action.verb].append(action)

    def phrase(self, words: str) -> Phrase | None:
        """Return the action that words name, up to case and blanks; None if they name none of this scene."""
        # Most answers are spelled as the skill set has them.
        return self._skill_phrases.get(words) or self._phrases.get(squeeze(words))

    @cached_property
    def _skill_phrases(self) -> dict[str, Phrase]:
        return {phrase.text: phrase for phrase in self._phrases.values()}

    @cached_property
    def _phrases(self) -> dict[str, Phrase]:
        things = self.world.scene.all_objects
        found = {squeeze(f"{verb} {thing.name}"): Phrase(verb, thing) for verb in Verb for thing in things}
        fillable = [thing for thing in things if thing.has(Property.PICKABLE, Property.FILLABLE)]
        pours = [Phrase(Verb.POUR, thing, source) for source in fillable for thing in fillable]
        return found | {squeeze(phrase.text): phrase for phrase in pours}

    def resolve(self, phrase: Phrase, state: State) -> tuple[HouseholdAction, tuple[str, ...]] | Reason:
        """Find the action of the document that a phrase means in a state.

        Args:
            phrase: The action in words.
            state: The state.

        Returns:
            The action with its arguments, whose demands are still to be checked; or the reason why there is none.
        """
        thing, symbol = phrase.thing, self._symbols[phrase.thing.name]
        base = self.reader.base(thing.name, state)
        if base is None:
            return Reason.CUT
        demanded = DEMANDED.get(phrase.verb)
        if demanded is not None and demanded[0] not in thing.properties:
            return demanded[1]
        if phrase.verb in WHILE_HELD and not thing.is_movable:
            return Reason.NOT_HELD
        if phrase.verb is Verb.GO_TO and base == HAND:
            return Reason.CARRIED
        args: tuple[str, ...] = (symbol,)
        if phrase.verb is Verb.GO_TO:
            # Going to what is in or on a receptacle is going to that.
            holder = None if Property.RECEPTACLE in thing.properties else self.reader.thing_state(thing, state).place
            args = (symbol if holder is None else self._symbols[holder],)
        elif phrase.verb is Verb.PUT_DOWN:
            if thing not in self.reader.held(state):
                return Reason.NOT_HELD
            place = self.reader.place_to_put_down(state)
            if place is None:
                return Reason.NO_RECEPTACLE
            args = (symbol, symbol_of(place))
        elif phrase.verb is Verb.POUR:
            if not thing.is_movable:
                return Reason.NOT_FILLABLE
            source = phrase.source or self._source(state)
            if source is None:
                return Reason.NO_LIQUID
            args = (source.symbol, symbol)
        elif phrase.verb is Verb.EMPTY and Property.FILLABLE not in thing.properties:
            return Reason.NO_LIQUID if thing in self.reader.held(state) else Reason.NOT_HELD
        key = (phrase.verb, args, base)
        found = self._targets.get(key)
        if found is None:
            found = self._targets[key] = self._target(phrase.verb, args, symbol_of(base))
        return found

    def _target(self, verb: Verb, args: tuple[str, ...], base: str) -> tuple[HouseholdAction, tuple[str, ...]] | Reason:
        for action in self._actions[verb]:
            full = (*args, base) if action.parameters[-1].name == "?l" else args
            if len(full) == len(action.parameters) and self._fits(action, full):
                return action, full
        # Slicing is no action of a scene without a knife.
        return Reason.NO_KNIFE

    def _fits(self, action: HouseholdAction, args: tuple[str, ...]) -> bool:
        system = self.world.system
        return all(
            system.is_of_type(arg, parameter.type) for arg, parameter in zip(args, action.parameters, strict=True)
        )

    def _source(self, state: State) -> SceneObject | None:
        """Return what is poured where the words do not say it: the only filled object in the hand."""
        now = self.reader.world_state(state)
        filled = [thing for thing in self.reader.held(state) if now[thing.name].filled]
        return filled[0] if len(filled) == 1 else None

    def explain(self, reason: Reason, phrase: Phrase | None, state: State) -> str:
        """Return a reason in words.

        Args:
            reason: The reason.
            phrase: The rejected action; None where the words name none that is known.
            state: The state in which it was rejected.
        """
        thing = None if phrase is None else phrase.thing.name
        held = " or ".join(each.name for each in self.reader.held(state))
        return _TEXTS[reason].format(thing=thing, held=held, place=self.reader.place_to_put_down(state))


_TEXTS: Final = {
    Reason.UNKNOWN_ACTION: "this is not an action",
    Reason.UNKNOWN_OBJECT: "there is no such object",
    Reason.NOT_SEEN: "no such object has been seen yet",
    Reason.CUT: "{thing} has been cut into slices",
    Reason.NOT_PICKABLE: "{thing} cannot be picked up",
    Reason.NOT_OPENABLE: "{thing} cannot be opened or closed",
    Reason.NOT_TOGGLEABLE: "{thing} cannot be turned on or off",
    Reason.NOT_SLICEABLE: "{thing} cannot be sliced",
    Reason.NOT_FILLABLE: "{thing} cannot be filled",
    Reason.NOT_BREAKABLE: "{thing} cannot be broken",
    Reason.NOT_HERE: "{thing} is not here; go to it first",
    Reason.COVERED: "{thing} is in something that is closed; open that first",
    Reason.CARRIED: "{thing} is in the hand, and goes where the robot goes",
    Reason.HAND_FULL: "the hand is full; put down {held} first",
    Reason.HELD_ALREADY: "{thing} is held already",
    Reason.NOT_HELD: "{thing} is not held",
    Reason.NO_RECEPTACLE: "there is no receptacle here to put {thing} in or on; go to one first",
    Reason.PLACE_CLOSED: "the place to put down, {place}, is closed or in something that is closed",
    Reason.OPEN_ALREADY: "{thing} is open already",
    Reason.CLOSED_ALREADY: "{thing} is closed already",
    Reason.NO_KNIFE: "no knife is held",
    Reason.NO_LIQUID: "the held object does not hold a liquid, or several held objects do",
    Reason.SAME_OBJECT: "{thing} cannot be poured into itself",
}
