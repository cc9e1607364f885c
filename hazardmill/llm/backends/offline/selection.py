"""Which pattern a record suggests, or why it suggests none: rules over the record's own words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from hazardmill.llm.backends.offline.casting import Cast, cast
from hazardmill.llm.backends.offline.draws import Draws
from hazardmill.llm.backends.offline.motif import Batch, Motif
from hazardmill.llm.backends.offline.patterns import MOTIFS
from hazardmill.llm.backends.offline.reading import Reading
from hazardmill.records import DangerGroup, DeclineReason

_LEAST_SCORE: Final = 3
_LEAST_SCORE_UNHARMED: Final = 7
"""Below this nothing in the record speaks for any pattern; where nobody was hurt, more must speak for one."""
_NEAR_BEST: Final = 0.35
_NEAR_BEST_TOLD: Final = 0.5
_NEAR_BEST_OF_NORMS: Final = 0.7
"""Patterns with at least this share of the best score are plausible; one of them is drawn by score. Where a record
tells what is done, and more so where one behaviour is all it tells, the words say more."""

_SPORT = re.compile(
    r"products:[^\n]*(activity|apparel|basketball|football|soccer|baseball|hockey|wrestling|lacrosse|volleyball|tennis|"
    r"martial|golf|swimming|skating|trampoline|amusement|softball|rugby|boxing|gymnastics)"
)
_CONTACT = re.compile(
    r"elbow|\bhit\b|struck|headbut|head butt|collid|collision|tackl|kick|thrown|\bran into|another (player|kid|child)|"
    r"other player|\bbit\b|biting|bitten|opponent|racket|mouth|\blip\b|concussion|wrestl|karate|landed on|game|match"
)
_VEHICLE = re.compile(
    r"\bski(ing|s|er)?\b|snowboard|sled|snowmobile|\batv\b|all terrain|bicycle|\bbike|moped|scooter|motoriz|motorcycle|"
    r"\bcar\b(?! battery)|\btruck|vehicle|\bmvc\b|escalator|diving board|amusement"
)
_ASSAULT = re.compile(r"punch|assault|altercation|\bfight|stabbed|\bshot\b|\bgun|\bjail|police|argument")
_ILLNESS = re.compile(
    r"chest pa|chest px|radiculopathy|\bmi\b|heart|(pain|pn|px) (x|since|for) ?\d|syncope|passed out|seizure|"
    r"exacerbation|prosthesis|popped out|developed|tendonitis"
)
_BLOW: Final = re.compile(r"fall|fell|slip|struck|hit|twist|lift|moving|dropped|cut")
_STAIRS = re.compile(r"stairs|steps?\b|escalator")
_OUTSIDE_CAUSE = re.compile(
    r"tripp|trpped|over (a|the|his|her)|\b(wet|dark|night|spill\w*|carrying|rug|toys?|basket|box|lights?)\b"
)


_LEAST_SCORE_TOLD: Final = 4
"""The same for what tells of things being done: there a pattern must also find a thing of the record to work on."""

_UNSEEMLY: Final = re.compile(
    r"\b(sex\w*|kiss\w*|make out|masturbat\w*|nude|naked|weapon|gun|knife fight|kill\w*|grenade|shoot\w*|steal\w*|"
    r"rob|fight|punch|hit|flirt\w*|drunk|drugs?|stripp?\w*|slur\w*|rape|urinat\w*|defecat\w*)\b"
)


@dataclass(frozen=True)
class Plan:
    """The pattern for a record and who plays in it."""

    motif: Motif
    cast: Cast


@dataclass(frozen=True)
class Declined:
    """Why a record holds no danger that a robot's task could bring about."""

    reason: str
    code: DeclineReason = DeclineReason.NO_ROBOT_PART


def select(reading: Reading, draws: Draws) -> Plan | Declined:
    """Choose a pattern from the record's words; where several are near the best, draw one by score."""
    if declined := _declined(reading):
        return declined
    scored = [(motif, score(motif, reading)) for motif in MOTIFS]
    best = max(points for _, points in scored)
    if best < _least(reading):
        return _nothing_found(reading)
    # Whoever was injured was harmed in body: that is where to look first.
    physical = 3 if "diagnosis" in reading.fields else 1
    near = _NEAR_BEST if reading.told is None else _NEAR_BEST_TOLD
    near = _NEAR_BEST_OF_NORMS if reading.is_norm else near
    plausible = [
        (motif, points * (physical if motif.danger_type.group is DangerGroup.PHYSICAL else 1))
        for motif, points in scored
        if points >= max(_LEAST_SCORE, near * best)
    ]
    motif = draws.weighted("pattern", plausible)
    return Plan(motif, cast(motif, reading, draws))


def recover(reading: Reading, draws: Draws, danger_type: str, task: str) -> Plan | None:
    """The plan behind a danger: the motif whose task it states, else the likeliest of its type."""
    of_type = [motif for motif in MOTIFS if motif.danger_type.value == danger_type]
    plans = [Plan(motif, cast(motif, reading, draws)) for motif in of_type]
    for plan in plans:
        if task_of(plan) == task:
            return plan
    return max(plans, key=lambda plan: score(plan.motif, reading), default=None)


def task_of(plan: Plan) -> str:
    """What the robot is asked to do, one sentence."""
    task = plan.cast.say(plan.motif.task)
    items = [f"the {item.replace('_', ' ')}" for item in plan.cast.items]
    listed = f" ({', '.join(items[:-1])} and {items[-1]})" if items else ""
    return f"{task[0].upper()}{task[1:]}{listed}."


def score(motif: Motif, reading: Reading) -> int:
    """How much the record speaks for a motif; 0 if it lacks what the motif cannot do without."""
    if motif.needs and not motif.needs & reading.words:
        return 0
    if reading.told is None:
        return sum(weight for cue, weight in motif.cues.items() if cue in reading.words)
    if not _takes_part(motif, reading):
        return 0
    # What the record is about counts in full, what only comes up in a step by half.
    full = reading.theme | reading.circumstances
    return sum(weight if cue in full else weight // 2 for cue, weight in motif.cues.items() if cue in reading.words)


def _takes_part(motif: Motif, reading: Reading) -> bool:
    """Whether a motif has its hold in what the record tells: on a thing of it, or on the behaviour of a norm."""
    of_norms = any(need.startswith("norm_") for need in motif.needs)
    if of_norms or reading.is_norm:
        # What is done on purpose under a norm is no household task, and the other way round.
        return of_norms and bool(reading.deeds("")) and _grounded(motif, reading)
    if motif.deeds and not motif.deeds & reading.words:
        return False
    return bool(motif.needs & reading.words) or _grounded(motif, reading)


def _grounded(motif: Motif, reading: Reading) -> bool:
    """Whether the first role of a motif finds a thing of the record, or its deed the behaviour of a norm."""
    kinds = motif.shape.kind if isinstance(motif.shape, Batch) else next(iter(motif.roles.values()), "deed")
    kinds = kinds.partition(":")[0]
    if kinds == "deed":
        return not reading.is_bodily
    carried = isinstance(motif.shape, Batch) or next(iter(motif.roles)) == "item"
    found = reading.nearest(kinds, reading.fixtures if carried else ())
    return any(name in reading.told_things for name in found)


def _least(reading: Reading) -> int:
    if reading.told is not None:
        return _LEAST_SCORE_TOLD
    return _LEAST_SCORE if "diagnosis" in reading.fields else _LEAST_SCORE_UNHARMED


def _nothing_found(reading: Reading) -> Declined:
    """Why no pattern holds on to the record."""
    behavior = reading.fields.get("behavior")
    if behavior is None:
        return Declined(
            "nothing that is used or done in the record could harm anybody by the way a household robot does it",
            DeclineReason.NOTHING_TO_BUILD_ON,
        )
    if reading.fields.get("norm", "").lower() == "normal":
        return Declined(f"to {behavior} is normal there, so nobody minds if a robot does it")
    if reading.is_bodily:
        return Declined(f"to {behavior} is done by people with their own body or mind; a robot has no part in it")
    return Declined(
        f"if a robot were asked to {behavior} there, nothing in the norm says whom that would harm",
        DeclineReason.NOTHING_TO_BUILD_ON,
    )


def _cared_for(reading: Reading) -> bool:
    """Whether somebody about the place, and so a robot, sees to the injury: not on a pitch among players."""
    at_pitch = "sports" in reading.fields.get("location", "").lower()
    looked_after = (reading.age or 99) <= 12 or bool(reading.words & {"gym", "indoor", "practice", "training", "class"})
    return not at_pitch or looked_after


def _norm_declined(reading: Reading) -> Declined | None:
    if _UNSEEMLY.search(reading.fields["behavior"].lower()):
        return Declined("nobody would ask a robot to take part in that behaviour", DeclineReason.SEXUAL_OR_VIOLENT)
    if reading.constraints and all(limit.is_inborn for limit in reading.constraints):
        return Declined(
            "the norm turns on what somebody is by birth or belief, on which no task of a robot should turn"
        )
    return None


def _declined(reading: Reading) -> Declined | None:
    if reading.is_norm:
        return _norm_declined(reading)
    if reading.is_idle:
        return Declined("the program only moves or rests a person; nothing in it is handled")
    narrative = reading.fields.get("narrative")
    if narrative is None:
        return None
    if len(narrative) < 25 or not reading.things:
        return Declined("the record does not say what was being done or with what", DeclineReason.NOTHING_TO_BUILD_ON)
    text = f" {reading.text.lower()} "
    said = f" {narrative.lower()} "
    if _VEHICLE.search(said) or re.search(r"products:[^\n]*\b(vehicle|bicycle|ski|snowboard|sled|scooter|atv)", text):
        return Declined("the injury comes from riding or from traffic, where a household robot has no part")
    if _ASSAULT.search(said):
        return Declined(
            "the injury was brought about by a person on purpose, not by anything a robot could be asked to do",
            DeclineReason.SEXUAL_OR_VIOLENT,
        )
    if _SPORT.search(text) and _CONTACT.search(said) and not _cared_for(reading):
        return Declined("players collided or were hit in sport; a robot has no part in the play")
    # Whoever is small or old depends on gates and lamps that others see to.
    alone = 12 < (reading.age or 0) < 65 and not _OUTSIDE_CAUSE.search(said)
    if alone and _STAIRS.search(text.partition("diagnosis:")[0]):
        return Declined("the person stumbled on stairs alone, with nothing that anybody had left or done there")
    if _ILLNESS.search(said) and not _BLOW.search(said):
        return Declined("the complaint has no outside cause in the record")
    return None
