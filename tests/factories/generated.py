"""Native files of full size, written from small invented vocabularies: for tests of load, never for content.

Each writer streams to disk, gives the same bytes for the same arguments, and says what must come out. The sizes and
oddities are those of the public sets; nothing in the files is taken from them.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class GeneratedInput:
    """An input, and what must come of it when everything is selected (``where`` of ``*``)."""

    path: Path
    """What to ingest."""
    records: int
    repeats: int = 0
    rejects: int = 0
    warned: int = 0
    """Records with a warning."""
    selected: int | None = None
    """Records that the source's own selection keeps, where it has one."""


def write_full(name: str, folder: Path, *, share: float = 1.0, seed: int = 0, bulk: bool = False) -> GeneratedInput:
    """Write the input of one source.

    Args:
        name: Name of the source.
        folder: Where to; made if need be.
        share: How much of the full size to write.
        seed: Another seed gives other values.
        bulk: Whether ALFRED's files get their real size (1.1 GB in all) instead of some 10 kB each.

    Raises:
        KeyError: There is no writer for this source.
    """
    writer, size = WRITERS[name]
    folder.mkdir(parents=True, exist_ok=True)
    count = max(100, round(size * share))
    if writer is write_alfred:
        return write_alfred(folder, count, seed=seed, kilobytes=144 if bulk else 8)
    return writer(folder, count, seed=seed)


class _Picker:
    """Picks one of several, as the seed has it."""

    def __init__(self, seed: int, name: str) -> None:
        self._bits = Random(f"{name} {seed}").getrandbits

    def __call__(self, words: Sequence[T]) -> T:
        # The remainder of 32 random bits is a third of the price of Random.choice, and even enough.
        return words[self._bits(32) % len(words)]


# ── NEISS ────────────────────────────────────────────────────────────────────────────────────────────────────

_NEISS_COLUMNS: Final = (
    "CPSC_Case_Number Treatment_Date Age Sex Race Other_Race Hispanic Body_Part Diagnosis Other_Diagnosis Body_Part_2 "
    "Diagnosis_2 Other_Diagnosis_2 Disposition Location Fire_Involvement Product_1 Product_2 Product_3 Alcohol Drug "
    "Narrative_1 Stratum PSU Weight"
).split()
_WHO = "YOF;YOM;MOF;MOM;YR OLD FEMALE;YR OLD MALE;Y/O WOMAN;Y/O MAN".split(";")
_DID = (
    "TRIPPED OVER;REACHED FOR;WAS CARRYING;SLIPPED BESIDE;STEPPED ON;LEANED AGAINST;PULLED DOWN;WAS CLEANING;FELL OFF;"
    "BACKED INTO;TRIED TO LIFT;WAS HANDED"
).split(";")
_THINGS = (
    "A LADDER;THE OVEN DOOR;A RUG;THE KETTLE;A GLASS BOWL;THE STAIRS;A TOOLBOX;THE BATHTUB;A FOLDING CHAIR;"
    "THE IRON;A TOY TRUCK;THE CABINET"
).split(";")
_THEN = (
    "AND HIT HER HEAD ON THE FLOOR;AND CUT HIS HAND;WHILE THE GRANDCHILD PLAYED NEARBY;ON THE WAY TO THE KITCHEN;"
    "AND LANDED ON OUTSTRETCHED ARM;WHEN THE HANDLE GAVE WAY;IN THE DARK HALLWAY;AND FELT A POP IN THE ANKLE"
).split(";")
_DX = "LACERATION;CONTUSION;SPRAIN;BURN;FRACTURE;CLOSED HEAD INJURY;STRAIN;ABRASION".split(";")
_PRODUCTS = "464 276 281 460 478 4057 1807 611 679 1842 4076".split()
_NEISS_COPIES, _NEISS_CONFLICTS = 7, 3


def write_neiss(folder: Path, rows: int, *, seed: int = 0, year: int = 2025) -> GeneratedInput:
    """An archive file of one year: 25 columns, one row in cp1252, one split in its narrative, a few cases twice."""
    pick = _Picker(seed, "neiss")
    once = rows - _NEISS_COPIES - _NEISS_CONFLICTS
    split, odd = once // 2, once // 3
    months = [f"{month:02}" for month in range(1, 13)]
    a_month = -(-once // 12)
    ages = [*map(str, range(2, 96)), *map(str, range(201, 224)), "0"]
    second = ["", "", "", *"75 76 82 92 31".split()]
    path = folder / f"neiss{year}.tsv"
    copies: list[bytes] = []
    with path.open("wb") as file:
        file.write("\t".join(_NEISS_COLUMNS).encode() + b"\n")
        for number in range(once):
            month = months[number // a_month]
            body = pick(second)
            cells = (
                f"{year % 100:02}{month}{number % a_month:05}\t{month}/{number % 28 + 1:02}/{year}",
                pick(ages),
                pick("12"),
                f"{pick('0123456')}\t\t{pick('012')}",
                pick(("75", "76", "82", "92", "31", "35", "37")),
                f"{pick(('53', '57', '59', '51', '48', '64'))}\t",
                f"{body}\t{'53' if body else ''}\t",
                pick("124568"),
                f"{pick('01459')}\t0",
                f"{pick(_PRODUCTS)}\t{pick(_PRODUCTS) if number % 5 == 0 else '0'}\t0\t{pick('01')}\t{pick('01')}",
                f"{pick(ages[:94])}{pick(_WHO)} {pick(_DID)} {pick(_THINGS)} {pick(_THEN)}. DX: {pick(_DX)}",
                f"{pick('VLMSC')}\t{number % 101 + 1}\t{number % 9_000 / 97 + 1:.4f}",
            )
            line = "\t".join(cells)
            if number == odd:
                file.write(line.replace(". DX", " AT THE CAFÉ. DX").encode("cp1252") + b"\n")
                continue
            if number == split:
                line = line.replace(". DX", ".\nDX")
            data = line.encode() + b"\n"
            file.write(data)
            if number % 7 == 3 and len(copies) < _NEISS_COPIES + _NEISS_CONFLICTS:
                copies.append(data)
        for place, data in enumerate(copies):
            file.write(data if place < _NEISS_COPIES else data.replace(b". DX", b" TWICE. DX"))
    return GeneratedInput(path, once - 1, repeats=_NEISS_COPIES, rejects=2 + _NEISS_CONFLICTS, warned=1)


# ── NormBank ─────────────────────────────────────────────────────────────────────────────────────────────────

_NORMBANK_COLUMNS: Final = (
    "setting behavior setting-behavior constraints constraints_given constraint_predict norm label split"
).split()
_NORMS: Final = ("taboo", "normal", "expected")
_PLACES = "library bakery garage harbour museum laundry workshop chapel stadium greenhouse".split()
_KINDS = "old;small;crowded;village;school;hospital;open-air;private;public;summer;night;new;glass".split(";")
_VERBS = "polish;count;borrow;hide;paint;carry;label;fold;sing to;whisper about;argue over;throw".split(";")
_MATTERS = "the chairs;a ledger;somebody's coat;the bells;a kite;the plates;a drum;the curtains;a map;the keys".split(
    ";"
)
_MANNERS = "quietly;in a hurry;before noon;with a friend;without asking;for fun;twice;as usual".split(";")
_ATOMS = (
    "[PERSON]'s role is 'guest';[PERSON]'s role is 'clerk';[PERSON]'s age bracket is 'toddler';"
    "[PERSON]'s age bracket is not 'adult';[PERSON]'s mood is 'None';[PERSON]'s behavior is 'wait in line';"
    "[OTHER]'s role is 'host';[OTHER]'s employment is 'retired';[OTHER]'s behavior is 'count, then sing';"
    "noise is 'loud';season is 'winter';temperature is less than '5 degrees';cleanliness is 'NA';time is 'night'"
).split(";")
_DISTINCT = 123_134 / 155_423
"""Share of the public rows that say something new."""


def write_normbank(folder: Path, rows: int, *, seed: int = 0) -> GeneratedInput:
    """One CSV file as pandas writes it; a fifth of the rows repeat another with another constraint to predict."""
    pick = _Picker(seed, "normbank")
    settings = [f"{kind} {place}" for kind in _KINDS for place in _PLACES][:129]
    behaviors = [f"{verb} {what} {how}" for how in _MANNERS for verb in _VERBS for what in _MATTERS]
    behaviors += [f"{behavior}, nr. {number}" for number in range(2, 9) for behavior in behaviors[:900]]
    bad = ("okay", "", "blank"), ("taboo", "2", "wrong label"), ("normal", "1", "")
    distinct = round((rows - len(bad)) * _DISTINCT)
    repeats = rows - len(bad) - distinct
    path, taboo, label = folder / "NormBank.csv", 0, 0
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(_NORMBANK_COLUMNS)
        for number in range(distinct):
            # Every tenth says otherwise of the setting and behaviour before it. The two lists come round together
            # only after more rows than there are, so no other pair occurs twice.
            contradicts = number % 10 == 9
            pair = number - contradicts
            label = (label + 1) % 3 if contradicts else pick((0, 0, 1, 2))
            taboo += label == 0
            setting, behavior = settings[pair % len(settings)], behaviors[pair * 7 % len(behaviors)]
            first = pick(range(len(_ATOMS)))
            atoms = [_ATOMS[(first + step * 3) % len(_ATOMS)] for step in range(pick((1, 2, 3, 3, 4)))]
            repeated = number * repeats // distinct != (number + 1) * repeats // distinct
            for predicted in range(1 + repeated):
                place = -1 - predicted % len(atoms)
                given = [atom for at, atom in enumerate(atoms, -len(atoms)) if at != place]
                table.writerow(
                    (
                        setting,
                        behavior,
                        f"{setting} [BEHAVIOR] {behavior}",
                        " [AND] ".join(atoms),
                        " [AND] ".join(given) + " [AND] ",
                        atoms[place],
                        _NORMS[label],
                        label,
                        pick(("train", "train", "dev", "test")),
                    )
                )
            if number == distinct // 2:
                for norm, wrong, behavior in bad:
                    both = f"harbour [BEHAVIOR] {behavior}"
                    table.writerow(("harbour", behavior, both, atoms[0], " [AND] ", atoms[0], norm, wrong, "train"))
    return GeneratedInput(path, distinct, repeats=repeats, rejects=len(bad), selected=taboo)


# ── ALFRED ───────────────────────────────────────────────────────────────────────────────────────────────────

_SPLITS: Final = {"valid_seen": 251, "valid_unseen": 255, "tests_seen": 483, "tests_unseen": 488, "train": 6574}
_TASK_TYPES = (
    "look_at_obj_in_light pick_and_place_simple pick_two_obj_and_place pick_and_place_with_movable_recep "
    "pick_cool_then_place_in_recep pick_heat_then_place_in_recep pick_clean_then_place_in_recep"
).split()
_OBJECTS = "Mug ButterKnife Apple Lettuce Pan Plate SoapBar Towel CellPhone Book Vase Pencil".split()
_RECEPTACLES = "CounterTop Fridge Cabinet SinkBasin DiningTable Shelf Desk Drawer".split()
_STEPS = "Walk to the {};Turn left at the {};Open the {};Pick up what lies by the {};Put it down on the {} ".split(";")
_ACTIONS: Final = {"GotoLocation": 1, "PickupObject": 1, "CleanObject": 1, "ToggleObject": 1, "PutObject": 2}
"""Verbs of a plan in its order, with the number of arguments: the object, then where to."""
_IMAGE = '{\n            "high_idx": %d,\n            "image_name": "%09d.png",\n            "low_idx": %d\n        }'


def write_alfred(folder: Path, files: int, *, seed: int = 0, kilobytes: int = 8) -> GeneratedInput:
    """A folder of trials in five splits, the tests without plans; one file is cut off, one lies in another's folder.

    ``images`` bring the files with plans up to ``kilobytes`` each (10 at the least), and half as much again in every
    ninth.
    """
    pick = _Picker(seed, "alfred")
    home = folder / "json_2.1.0"
    images = ",\n        ".join(_IMAGE % (number // 9, number, number // 5) for number in range(kilobytes * 14))
    shares = _shares(_SPLITS, files)
    number = 0
    for split, count in shares.items():
        for _ in range(count):
            trial = f"trial_T2019{number % 12 + 1:02}{number % 28 + 1:02}_{number % 86_400:06}_{number:06}"
            task = _alfred_task(pick, number, trial, tests=split.startswith("tests"))
            text = json.dumps(task, indent=4)
            place = home / split / trial
            if "plan" in task:
                kind, scene = task["task_type"], number % 30 + 1
                place = home / split / f"{kind}-{pick(_OBJECTS)}-None-{pick(_RECEPTACLES)}-{scene}" / trial
                room = (kilobytes * 1024 - len(text)) * (3 if number % 9 == 0 else 2) // 2
                end = images.rfind("},\n", 0, max(room, 200)) + 1
                text = f'{{\n    "images": [\n        {images[:end]}\n    ],{text[1:]}'
            if number == files - 2:
                place = place.with_name(trial.replace("trial_T2019", "trial_T2018"))
            elif number == files - 1:
                text = text[: len(text) // 2]
            place.mkdir(parents=True)
            (place / "traj_data.json").write_text(text, encoding="ascii")
            number += 1
    return GeneratedInput(home, files - 2, rejects=2)


def _alfred_task(pick: _Picker, number: int, trial: str, *, tests: bool) -> dict[str, object]:
    thing, goal = pick(_OBJECTS), pick(_RECEPTACLES)
    floor = number % 30 + 1 + pick((0, 200, 300, 400))
    anns: list[dict[str, object]] = []
    for teller in range(3 + number % 3 // 2):
        steps = [step.format(pick(_RECEPTACLES).lower()) for step in _STEPS]
        told = f"Put a {pick(('clean', 'cold', 'warm'))} {thing.lower()} by the {goal.lower()}." + "\n" * (
            number % 300 == 0
        )
        ann: dict[str, object] = {"high_descs": steps, "task_desc": told}
        anns.append(ann if tests else {"assignment_id": f"A{number}_{teller}", **ann, "votes": [1, 1, teller % 2]})
    poses = [
        {
            "objectName": f"{pick(_OBJECTS)}_{number * 31 + place:08x}",
            "position": {"x": place / 7, "y": 0.9, "z": -1.25},
            "rotation": {"x": 0.0, "y": 90.0, "z": 0.0},
        }
        for place in range(6)
    ]
    scene = {
        "dirty_and_empty": number % 2 == 0,
        "floor_plan": f"FloorPlan{floor}",
        "init_action": {"action": "TeleportFull", "horizon": 30, "x": 1.5, "y": 0.9, "z": 2.75},
        "object_poses": poses,
        "object_toggles": [],
        "random_seed": number * 7919,
        "scene_num": floor,
    }
    task: dict[str, object] = {"scene": scene, "task_id": trial, "turk_annotations": {"anns": anns}}
    if tests:
        return task
    plan = [
        {
            "discrete_action": {"action": action, "args": [thing.lower(), goal.lower()][:taken]},
            "high_idx": place,
            "planner_action": {"action": action, "location": f"loc|{place}|{number % 9}|0|30"},
        }
        for place, (action, taken) in enumerate(_ACTIONS.items())
    ]
    plan.append({"discrete_action": {"action": "NoOp", "args": []}, "high_idx": 5, "planner_action": {"action": "End"}})
    params = {
        "mrecep_target": "",
        "object_sliced": False,
        "object_target": thing,
        "parent_target": goal,
        "toggle_target": "",
    }
    low = [
        {"api_action": {"action": "LookDown"}, "discrete_action": {"action": "LookDown_15", "args": {}}, "high_idx": 0}
    ]
    kind = pick(_TASK_TYPES)
    return {"pddl_params": params, "plan": {"high_pddl": plan, "low_actions": low}, **task, "task_type": kind}


def _shares(parts: Mapping[str, int], total: int) -> dict[str, int]:
    """``total`` divided in the proportions of ``parts``; the last gets what is left."""
    whole = sum(parts.values())
    shares = {name: part * total // whole for name, part in parts.items()}
    shares[next(reversed(shares))] += total - sum(shares.values())
    return shares


# ── VirtualHome ──────────────────────────────────────────────────────────────────────────────────────────────

_COLLECTIONS: Final = {
    "results_intentions_march-13-18": 1563,
    "results_text_rebuttal_specialparsed_programs_turk_july": 28,
    "results_text_rebuttal_specialparsed_programs_turk_robot": 196,
    "results_text_rebuttal_specialparsed_programs_turk_third": 342,
    "results_text_rebuttal_specialparsed_programs_upwork_july": 164,
    "results_text_rebuttal_specialparsed_programs_upwork_kellensecond": 111,
    "results_text_rebuttal_specialparsed_programs_upworknturk_second": 403,
}
_TITLES = "Water the ferns;Feed the canary;Air the guest room;Write a postcard;Sort socks;Peel carrots".split(";")
_WHY = "The pot is dry and I want it done before lunch;It is my turn today;Guests come in the evening".split(";")
_HOME = "watering_can canary curtain postcard pen sock basket carrot bowl table chair lamp television".split()
_ROOMS = "kitchen home_office bedroom bathroom".split()


def write_virtualhome(folder: Path, programs: int, *, seed: int = 0) -> GeneratedInput:
    """``initstate`` and ``withoutconds`` of seven collections, whose stems collide.

    One program lacks its initial state, one has a graph in its place.
    """
    pick = _Picker(seed, "virtualhome")
    written = 0
    for collection, count in _shares(_COLLECTIONS, programs).items():
        texts, states = folder / "withoutconds" / collection, folder / "initstate" / collection
        for place in (texts, states):
            place.mkdir(parents=True)
        stem = "file" if collection.startswith("results_intentions") else "split"
        for number in range(count):
            name = f"{stem}{number // 3}_{number % 3 + 1}"
            lines = [f"[Walk] <{pick(_ROOMS)}> (1)"]
            for step in range(pick((1, 3, 4, 5, 8))):
                thing, other = pick(_HOME), pick(_HOME)
                lines += [f"[Find] <{thing}> ({step % 2 + 1})", f"[Grab] <{thing}> ({step % 2 + 1})"]
                lines += [f"[PutBack] <{thing}> ({step % 2 + 1}) <{other}> (1)"] if step % 3 == 2 else []
            lines += ["[Sleep]"] if number % 11 == 0 else []
            text = "\n".join((pick(_TITLES), f"{pick(_WHY)}. ({written})", "", "", *lines, ""))
            (texts / f"{name}.txt").write_text(text, encoding="ascii", newline="\n")
            written += 1
            if written < programs:
                state = {"init_graph": {"nodes": [], "edges": []}} if written == programs - 1 else _state(pick, number)
                (states / f"{name}.json").write_text(json.dumps(state), encoding="ascii")
    return GeneratedInput(folder, programs - 2, rejects=2)


def _state(pick: _Picker, number: int) -> list[dict[str, object]]:
    if number % 17 == 0:
        return []
    state: list[dict[str, object]] = [
        {"location": [[pick(_HOME), "1"], [pick(_ROOMS), "1"]]},
        {"atreach": [[pick(_HOME), "1"], [pick(_HOME), "2"]]},
        {pick(("is_off", "free", "closed", "plugged")): [pick(_HOME), "1"]},
    ]
    return state + ([{"sitting": ["character", 1]}] if number % 54 == 1 else [])


# ── BDDL ─────────────────────────────────────────────────────────────────────────────────────────────────────

_DOING = "arranging rinsing stacking wrapping carrying sorting drying packing".split()
_SYNSETS = "mug.n.04 saucer.n.02 quilt.n.01 tea__towel.n.01 lantern.n.01 crate.n.01 paper__bag.n.01".split()
_FURNITURE = "countertop.n.01 shelf.n.01 table.n.02 cabinet.n.01".split()
_DOMAIN = "(define (domain {})\n    (:requirements :strips :adl)\n    (:predicates (ontop ?a ?b))\n)\n"
_BDDL_REPEATED_LITERALS = 5


def write_bddl(folder: Path, activities: int, *, seed: int = 0) -> GeneratedInput:
    """A folder an activity beside two domain files: seven with an oddity that is warned of, one with two goals."""
    pick = _Picker(seed, "bddl")
    home = folder / "activity_definitions"
    for number in range(activities):
        name = f"{_DOING[number % len(_DOING)]}_the_{'PTA_' if number == 3 else ''}wares_of_shelf_{number}"
        (home / name).mkdir(parents=True)
        text = _problem(pick, name, 2 + number % 9)
        if number < _BDDL_REPEATED_LITERALS:
            text = text.replace("(:init", "(:init\n        (inroom floor.n.01_1 attic)", 1)
        elif number == _BDDL_REPEATED_LITERALS:
            text = text.replace("    (:goal", "    \\\n    (:goal", 1)
        elif number == _BDDL_REPEATED_LITERALS + 1:
            text = text.replace("agent.n.01_1 -", "agent.n.01_1 agent.n.01_1 -", 1)
        elif number == activities - 1:
            text = text.replace("(:goal", "(:goal\n        (not (ontop ?floor.n.01_1 ?agent.n.01_1))", 1)
        text = text.replace("    ", "\t") if number % 7 == 0 else text
        text = f"{text}\n" if number % 4 == 0 else text
        (home / name / "problem0.bddl").write_text(text, encoding="ascii", newline="\n")
    for domain in ("igibson", "omnigibson"):
        (home / f"domain_{domain}.bddl").write_text(_DOMAIN.format(domain), encoding="ascii", newline="\n")
    return GeneratedInput(folder, activities - 1, rejects=1, warned=_BDDL_REPEATED_LITERALS + 2)


def _problem(pick: _Picker, name: str, things: int) -> str:
    types, base = [pick(_SYNSETS) for _ in range(things)], pick(_FURNITURE)
    objects = {f"{synset}_{place}": synset for place, synset in enumerate(types, start=1)}
    declared = "\n".join(f"        {thing} - {synset}" for thing, synset in objects.items())
    initial = "\n".join(f"        (ontop {thing} floor.n.01_1)" for thing in objects)
    wanted = "\n".join(f"            (ontop ?{thing} ?{base}_1)" for thing in objects)
    return f"""(define (problem {name}-0)
    (:domain omnigibson)

    (:objects
{declared}
        {base}_1 - {base}
        floor.n.01_1 - floor.n.01
        agent.n.01_1 - agent.n.01
    )

    (:init
{initial}
        (inroom {base}_1 kitchen)
        (inroom floor.n.01_1 attic)
        (ontop agent.n.01_1 floor.n.01_1)
    )

    (:goal
        (and
{wanted}
            (forall
                (?{types[0]} - {types[0]})
                (not (inside ?{types[0]} ?{base}_1))
            )
        )
    )
)"""


WRITERS: Final[Mapping[str, tuple[Callable[..., GeneratedInput], int]]] = {
    "alfred": (write_alfred, 8_051),
    "bddl": (write_bddl, 1_016),
    "neiss": (write_neiss, 410_201),
    "normbank": (write_normbank, 155_423),
    "virtualhome": (write_virtualhome, 2_807),
}
"""Source to its writer and the items of the public set."""
