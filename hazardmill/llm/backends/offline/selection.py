"""Which pattern a record suggests, or why it suggests none: rules over the record's own words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from hazardmill.llm.backends.offline.casting import Cast, cast
from hazardmill.llm.backends.offline.draws import Draws
from hazardmill.llm.backends.offline.motif import Motif
from hazardmill.llm.backends.offline.patterns import MOTIFS
from hazardmill.llm.backends.offline.reading import Reading
from hazardmill.records import DangerGroup

_LEAST_SCORE: Final = 3
_LEAST_SCORE_UNHARMED: Final = 7
"""Below this nothing in the record speaks for any pattern; where nobody was hurt, more must speak for one."""
_NEAR_BEST: Final = 0.35
"""Patterns with at least this share of the best score are plausible; one of them is drawn by score."""

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


@dataclass(frozen=True)
class Plan:
    """The pattern for a record and who plays in it."""

    motif: Motif
    cast: Cast


@dataclass(frozen=True)
class Declined:
    """Why a record holds no danger that a robot's task could bring about."""

    reason: str


def select(reading: Reading, draws: Draws) -> Plan | Declined:
    """Choose a pattern from the record's words; where several are near the best, draw one by score."""
    if reason := _declined(reading):
        return Declined(reason)
    scored = [(motif, score(motif, reading)) for motif in MOTIFS]
    best = max(points for _, points in scored)
    if best < (_LEAST_SCORE if "diagnosis" in reading.fields else _LEAST_SCORE_UNHARMED):
        return Declined(
            "nothing that is used or done in the record could harm anybody by the way a household robot does it"
        )
    # Whoever was injured was harmed in body: that is where to look first.
    physical = 3 if "diagnosis" in reading.fields else 1
    plausible = [
        (motif, points * (physical if motif.danger_type.group is DangerGroup.PHYSICAL else 1))
        for motif, points in scored
        if points >= max(3, _NEAR_BEST * best)
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
    return sum(weight for cue, weight in motif.cues.items() if cue in reading.words)


def _cared_for(reading: Reading) -> bool:
    """Whether somebody about the place, and so a robot, sees to the injury: not on a pitch among players."""
    at_pitch = "sports" in reading.fields.get("location", "").lower()
    looked_after = (reading.age or 99) <= 12 or bool(reading.words & {"gym", "indoor", "practice", "training", "class"})
    return not at_pitch or looked_after


def _declined(reading: Reading) -> str | None:
    narrative = reading.fields.get("narrative")
    if narrative is None:
        return None
    if len(narrative) < 25 or not reading.things:
        return "the record does not say what was being done or with what"
    text = f" {reading.text.lower()} "
    said = f" {narrative.lower()} "
    if _VEHICLE.search(said) or re.search(r"products:[^\n]*\b(vehicle|bicycle|ski|snowboard|sled|scooter|atv)", text):
        return "the injury comes from riding or from traffic, where a household robot has no part"
    if _ASSAULT.search(said):
        return "the injury was brought about by a person on purpose, not by anything a robot could be asked to do"
    if _SPORT.search(text) and _CONTACT.search(said) and not _cared_for(reading):
        return "players collided or were hit in sport; a robot has no part in the play"
    # Whoever is small or old depends on gates and lamps that others see to.
    alone = 12 < (reading.age or 0) < 65 and not _OUTSIDE_CAUSE.search(said)
    if alone and _STAIRS.search(text.partition("diagnosis:")[0]):
        return "the person stumbled on stairs alone, with nothing that anybody had left or done there"
    if _ILLNESS.search(said) and not _BLOW.search(said):
        return "the complaint has no outside cause in the record"
    return None
