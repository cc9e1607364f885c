"""Dialogues as records of a run, so that ledger, waves, budget and outcomes are those of every record.

A dialogue is a record of the source ``acting``: its context shows the seeds, and its facts hold all that decides what
is asked. A turn is a draft of that record, numbered from 1: first the rounds, in which each role speaks once, then one
turn per role in which it proposes tasks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Final

from pydantic import Field

from hazardmill.errors import UsageError
from hazardmill.formalism.document.plan_text import SpelledNames
from hazardmill.generation.acting.roles import ActingRole
from hazardmill.generation.acting.seeds import HazardSeed
from hazardmill.hazards.hazard_map import HazardMap
from hazardmill.hazards.rules import pattern_test
from hazardmill.records import FrozenModel, Record, Text, content_hash, is_share_alike
from hazardmill.scenarios.draft import ProblemDraft

SOURCE: Final = "acting"
"""Name of the source that dialogues belong to; no input is read for it."""

SEEDS_SHOWN: Final = 6
"""Seeds per dialogue at the most: what the roles keep in mind, and what fits into a prompt."""


class CategoryText(FrozenModel):
    """A category of harm as roles are shown it.

    Attributes:
        name: Its name.
        definition: What belongs to it.
        rules: What counts as harm of this category in the base domain, one line per rule; may be empty.
    """

    name: Text
    definition: str
    rules: tuple[str, ...] = ()


class DialogueTurn(FrozenModel):
    """A turn of a dialogue.

    Attributes:
        number: From 1.
        role: Who speaks.
        round: The round from 1; None for a turn that proposes tasks or rewrites a script.
        rewrites: Turn and number of the proposal whose script it rewrites; None for other turns.
    """

    number: int
    role: ActingRole
    round: int | None
    rewrites: tuple[int, int] | None = None


class Dialogue(FrozenModel):
    """What a dialogue is about: the facts of its record.

    Attributes:
        number: Number of the dialogue in its run, from 1.
        rounds: Rounds in which each role speaks once.
        roles: Who speaks, in order.
        categories: The categories of the map.
        seeds: The seeds that are shown.
        base: Hash of the base domain's text.
        rewrites: Whether the scripts of good proposals are rewritten so that they do harm, after the last turn.
    """

    number: int
    rounds: int
    roles: tuple[ActingRole, ...]
    categories: tuple[CategoryText, ...]
    seeds: tuple[HazardSeed, ...]
    base: str
    rewrites: Annotated[bool, Field(exclude_if=lambda rewrites: not rewrites)] = False

    @property
    def turns(self) -> int:
        """Number of turns, without those that rewrite scripts."""
        return (self.rounds + 1) * len(self.roles)

    def turn(self, number: int) -> DialogueTurn:
        """Return a turn by its number, from 1."""
        before, place = divmod(number - 1, len(self.roles))
        return DialogueTurn(number=number, role=self.roles[place], round=before + 1 if before < self.rounds else None)

    @classmethod
    def of(cls, record: Record) -> Dialogue:
        """Return the dialogue of a record that ``dialogue_records`` made."""
        return cls.model_validate(record.facts)


def dialogue_records(
    seeds: Sequence[HazardSeed],
    roles: Sequence[ActingRole],
    hazards: HazardMap,
    base: ProblemDraft,
    base_text: str,
    *,
    rounds: int,
    dialogues: int,
    rewrites: bool = False,
    licence: str | None = None,
    attribution: str | None = None,
) -> list[Record]:
    """Return the dialogues of a run.

    Seeds are dealt in turn, ``SEEDS_SHOWN`` per dialogue at the most; if there are fewer seeds than dialogues, they are
    dealt again.

    Args:
        seeds: The seeds, one or more.
        roles: Who speaks, in order.
        hazards: The map of hazards, for its categories.
        base: The base domain.
        base_text: Its text.
        rounds: Rounds of each dialogue, 1 or more.
        dialogues: Number of dialogues, 1 or more.
        rewrites: Whether scripts are rewritten so that they do harm.
        licence: Licence of what is made; None for that of the seeds, each of which must then have one.
        attribution: Whom to credit beside those whom the seeds credit; None for nobody else.

    Returns:
        One record per dialogue, in order. Its id holds a hash of all arguments but licence and credit, so that runs on
        other seeds can share a store.

    Raises:
        UsageError: Some seeds of one dialogue have different licences, and ``licence`` is None; or one is share-alike,
            and ``licence`` is another.
    """
    categories = tuple(_categories(hazards, base))
    shown = min(SEEDS_SHOWN, -(-len(seeds) // dialogues))
    made = []
    for place in range(dialogues):
        dealt = tuple(seeds[(place * shown + i) % len(seeds)] for i in range(shown))
        dialogue = Dialogue(
            number=place + 1,
            rounds=rounds,
            roles=tuple(roles),
            categories=categories,
            seeds=dealt,
            base=content_hash(base_text),
            rewrites=rewrites,
        )
        facts = dialogue.model_dump(mode="json")
        made.append(
            Record(
                source=SOURCE,
                native_id=f"{content_hash([facts, dialogues])[:12]}-{place + 1}",
                context="\n\n".join(map(_shown, dealt)),
                facts=facts,
                licence=_licence(dealt, licence),
                attribution=_credit(dealt, attribution),
                file=SOURCE,
            )
        )
    return made


def _shown(seed: HazardSeed) -> str:
    sure = "" if seed.confidence is None else f" Its confidence in its steps was {seed.confidence:.0%}."
    return (
        f"Task: {seed.instruction}\nPlan that a planner gave: {seed.plan or '(nothing is done)'}\n"
        f"Harm that it did: {', '.join(seed.categories)}.{sure}"
    )


def _licence(seeds: Sequence[HazardSeed], wanted: str | None) -> str:
    found = sorted({seed.licence for seed in seeds if seed.licence is not None})
    if wanted is not None:
        kept = next((licence for licence in found if is_share_alike(licence) and licence != wanted), None)
        if kept is not None:
            raise UsageError(
                f"some seeds are under the licence {kept}, so tasks made from them cannot be under {wanted}",
                remedy=f"give --licence {kept}, or seeds of other licences",
            )
        return wanted
    if len(found) > 1:
        raise UsageError(
            f"the seeds of one dialogue have different licences: {', '.join(found)}",
            remedy=f"{_wanted_licence(found)}, or give seeds of one licence",
        )
    return found[0]


def _wanted_licence(found: Sequence[str]) -> str:
    """Say which licence tasks from seeds under several licences can have."""
    kept = [licence for licence in found if is_share_alike(licence)]
    if len(kept) == 1:
        return f"give --licence {kept[0]}, which tasks made from such seeds must keep"
    return "name the licence of the tasks with --licence"


def _credit(seeds: Sequence[HazardSeed], other: str | None) -> str:
    """Return whom the tasks credit: licences that ask for credit ask for it in what is made of their works, too."""
    found = dict.fromkeys(each for each in (other, *(seed.attribution for seed in seeds)) if each is not None)
    return "; ".join(found) or "hazardmill"


# What counts as harm


def _categories(hazards: HazardMap, base: ProblemDraft) -> Iterator[CategoryText]:
    rules: dict[str, list[str]] = {}
    for names, line in _rules(hazards, base):
        for name in names:
            rules.setdefault(name, []).append(line)
    for category in hazards.categories:
        lines = tuple(rules.get(category.name, ()))
        yield CategoryText(name=category.name, definition=category.definition, rules=lines)


def _rules(hazards: HazardMap, base: ProblemDraft) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield categories and wording of each rule that names an action or a predicate of the base domain."""
    for rule in hazards.process:
        named = pattern_test(rule.action)
        wanted = len(rule.arguments)
        for action in base.actions:
            if named(action.name) and wanted <= len(action.parameters):
                done = " ".join((action.name, *rule.arguments, *["*"] * (len(action.parameters) - wanted)))
                yield rule.categories, f"doing ({done})" + (f" while {rule.when} holds" if rule.when else "")
    arities = {fluent.name: len(fluent.parameters) for fluent in base.fluents}
    names = SpelledNames(arities)
    for rule_at_end in hazards.termination:
        if rule_at_end.condition is not None:
            yield rule_at_end.categories, f"ending where {rule_at_end.condition} holds"
            continue
        fluent = names.find(rule_at_end.fluent or "")
        wanted = len(rule_at_end.arguments)
        if fluent is not None and wanted <= arities[fluent]:
            left = " ".join((fluent, *rule_at_end.arguments, *["*"] * (arities[fluent] - wanted)))
            times = f" at least {rule_at_end.at_least} times" if rule_at_end.at_least > 1 else ""
            yield rule_at_end.categories, f"ending where ({left}) holds{times}"
