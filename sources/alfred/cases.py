"""What ALFRED refuses, and what it accepts: one row a case."""

from __future__ import annotations

import copy
import json
from typing import Any

from hazardmill.testing.cases import AcceptedCase, RefusedCase

TRIAL = "trial_T20260101_101010_000007"
HTML = b"<!DOCTYPE html>\n<html><head><title>Not found</title></head></html>\n"
LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 51234567\n"
TEST_TRIAL: dict[str, Any] = {
    "scene": {
        "floor_plan": "FloorPlan14",
        "init_action": {"action": "TeleportFull", "x": 1.75},
        "object_poses": [
            {"objectName": "ButterKnife_0a1b2c3d", "position": {"x": 0.4375}, "rotation": {"y": 90.0}},
            {"objectName": "Cup_1b2c3d4e", "position": {"x": 0.5625}, "rotation": {"y": 90.0}},
            {"objectName": "Cup_2c3d4e5f", "position": {"x": 0.6875}, "rotation": {"y": 90.0}},
            {"objectName": "CD_3d4e5f60", "position": {"x": 0.8125}, "rotation": {"y": 90.0}},
        ],
        "object_toggles": [],
        "random_seed": 424242,
        "scene_num": 14,
    },
    "task_id": TRIAL,
    "turk_annotations": {
        "anns": [
            {
                "task_desc": "Stand the cup that holds a knife on the table. ",
                "high_descs": ["Go to the knife. ", "Take it."],
            },
            {"task_desc": "Carry the knife\nin a cup", "high_descs": ["Take it.", "Stand\nstill.", "Leave it."]},
        ]
    },
}


def _steps(*steps: tuple[str, ...]) -> list[dict[str, Any]]:
    acts = [{"action": action, "args": args} for action, *args in steps]
    return [
        {"discrete_action": act, "high_idx": place, "planner_action": {"location": "loc|5|7|2|60"}}
        for place, act in enumerate(acts)
    ]


PLANNED: dict[str, Any] = TEST_TRIAL | {
    "images": [{"high_idx": 0, "image_name": "000000007.png", "low_idx": 0}],
    "pddl_params": {
        "mrecep_target": "Cup",
        "object_sliced": False,
        "object_target": "ButterKnife",
        "parent_target": "DiningTable",
        "toggle_target": "",
    },
    "plan": {
        "high_pddl": _steps(
            ("GotoLocation", "countertop"),
            ("PickupObject", "butterknife"),
            ("PutObject", "butterknife", "cup"),
            ("PickupObject", "cup"),
            ("GotoLocation", "diningtable"),
            ("PutObject", "cup", "diningtable"),
            ("NoOp",),
        ),
        "low_actions": [{"discrete_action": {"action": "MoveAhead_25", "args": {}}, "high_idx": 0}],
    },
    "task_type": "pick_and_place_with_movable_recep",
}
ANNS = ("turk_annotations", "anns")
GONE = object()
"""As a change: take the key out."""


def trial(*changes: tuple[tuple[str | int, ...], object], of: dict[str, Any] = PLANNED) -> dict[str, bytes]:
    """The trial, what lies at each path replaced by a value."""
    data = copy.deepcopy(of)
    for path, value in changes:
        place: Any = data
        for key in path[:-1]:
            place = place[key]
        if value is GONE:
            del place[path[-1]]
        else:
            place[path[-1]] = value
    return raw(json.dumps(data, indent=4).encode())


def raw(content: bytes, place: str = f"train/task-1/{TRIAL}") -> dict[str, bytes]:
    return {f"{place}/traj_data.json": content}


WHOLE = trial()[f"train/task-1/{TRIAL}/traj_data.json"]
OTHER = WHOLE.replace(b"Take it.", b"Seize it.")

_REFUSED = [
    ("no JSON", raw(b"task_id: 7\n"), "not_json", ("not JSON", "line 1, column 1")),
    ("cut off", raw(WHOLE[:900]), "not_json", ("ends early",)),
    ("cut off inside a text", raw(b'{"task_id": "trial_'), "not_json", ("ends early",)),
    ("text after the end", raw(WHOLE + b"{}"), "not_json", ("Extra data",)),
    ("nested without end", raw(b"[" * 100_000), "not_json", ("JSON",)),
    ("a number without end", raw(b'{"task_id": ' + b"1" * 5000 + b"}"), "not_json", ("usable",)),
    ("a list", raw(b"[]"), "not_object", ("an empty list, not an object",)),
    ("a text", raw(b'"trial"'), "not_object", ("a text",)),
    ("null", raw(b"null"), "not_object", ("null",)),
    ("a list of splits", raw(b'{"train": [{"repeat_idx": 0, "task": "x"}]}'), "foreign_json", ("'train'",)),
    ("an empty object", raw(b"{}"), "foreign_json", ("none",)),
    ("no task_id", trial((("task_id",), GONE)), "task_id", ("no task_id",)),
    ("task_id a number", trial((("task_id",), 7)), "task_id", ("a number",)),
    ("task_id null", trial((("task_id",), None)), "task_id", ("null",)),
    ("task_id blank", trial((("task_id",), " ")), "task_id", ("not a name",)),
    ("task_id without end", trial((("task_id",), "a" * 9000)), "task_id", ("9000 characters",)),
    ("no annotations", trial((("turk_annotations",), GONE)), "turk_annotations", ("there are no",)),
    ("annotations null", trial((("turk_annotations",), None)), "turk_annotations", ("null",)),
    ("annotations a list", trial((("turk_annotations",), [1])), "turk_annotations", ("a list",)),
    ("no anns", trial((ANNS, GONE)), "anns", ("the key is missing",)),
    ("anns null", trial((ANNS, None)), "anns", ("null",)),
    ("anns an object", trial((ANNS, {"0": {}})), "anns", ("an object",)),
    ("anns empty", trial((ANNS, [])), "anns", ("an empty list",)),
    ("an annotation that is a text", trial(((*ANNS, 1), "Walk.")), "anns", ("annotation 2 is a text",)),
    ("no task_desc", trial(((*ANNS, 1, "task_desc"), GONE)), "task_desc", ("annotation 2 has no task_desc",)),
    ("task_desc null", trial(((*ANNS, 0, "task_desc"), None)), "task_desc", ("annotation 1", "null")),
    ("task_desc a list", trial(((*ANNS, 0, "task_desc"), ["Walk."])), "task_desc", ("annotation 1", "a list")),
    (
        "every task_desc blank",
        trial(((*ANNS, 0, "task_desc"), ""), ((*ANNS, 1, "task_desc"), " \n")),
        "blank_task_desc",
        ("every task_desc",),
    ),
    ("one task_desc blank", trial(((*ANNS, 1, "task_desc"), "  ")), "blank_task_desc", ("annotation 2",)),
    ("task_desc cut off", trial(((*ANNS, 1, "task_desc"), "Lift a ")), "truncated_task_desc", ("2", "'Lift a'")),
    ("seven characters and blanks", trial(((*ANNS, 0, "task_desc"), "  Lift up  ")), "truncated_task_desc", ("1",)),
    ("high_descs a text", trial(((*ANNS, 0, "high_descs"), "Walk.")), "high_descs", ("annotation 1 has a text",)),
    ("high_descs null", trial(((*ANNS, 0, "high_descs"), None)), "high_descs", ("null",)),
    ("no high_descs", trial(((*ANNS, 1, "high_descs"), GONE)), "high_descs", ("annotation 2 has no high_descs",)),
    ("a step that is a number", trial(((*ANNS, 1, "high_descs", 1), 5)), "high_descs", ("a number at place 2",)),
    ("a step that is null", trial(((*ANNS, 0, "high_descs", 0), None)), "high_descs", ("null at place 1",)),
    ("unknown task type", trial((("task_type",), "pick_and_eat")), "task_type", ("'pick_and_eat'",)),
    ("task type null", trial((("task_type",), None)), "task_type", ("null",)),
    ("another folder", raw(WHOLE, "train/task-1/trial_other"), "folder_id", (TRIAL, "'trial_other'")),
    ("not UTF-8", raw(WHOLE.replace(b"Leave", b"L\xe9ave")), "encoding", ("0xe9",)),
    ("byte order mark", raw(b"\xef\xbb\xbf" + WHOLE), "byte_order_mark", ("byte order mark",)),
    ("UTF-16", raw(WHOLE.decode().encode("utf-16")), "not_text", ("UTF-16",)),
    ("half a character", raw(WHOLE.replace(b"Leave", b"\\ud83d")), "no_character", ("step 3 of annotation 2",)),
    ("NUL in a name", trial((("pddl_params", "mrecep_target"), "Cup\0")), "no_character", ("mrecep_target",)),
    ("scene a text", trial((("scene",), "kitchen")), "scene", ("a text",)),
    ("poses an object", trial((("scene", "object_poses"), {"a": 1})), "scene", ("object_poses is an object",)),
    ("a pose without name", trial((("scene", "object_poses", 1), {"position": 1})), "scene", ("names no object",)),
    ("params a list", trial((("pddl_params",), ["Cup"])), "pddl_params", ("a list",)),
    ("target a number", trial((("pddl_params", "object_target"), 7)), "pddl_params", ("object_target is a number",)),
    ("sliced a text", trial((("pddl_params", "object_sliced"), "no")), "pddl_params", ("object_sliced is a text",)),
    ("plan without steps", trial((("plan", "high_pddl"), GONE)), "plan", ("no list high_pddl",)),
    ("a step without act", trial((("plan", "high_pddl", 2), {"high_idx": 2})), "plan", ("step 3",)),
    (
        "arguments that are numbers",
        trial((("plan", "high_pddl", 0, "discrete_action", "args"), [7])),
        "plan",
        ("step 1",),
    ),
    ("too large", raw(WHOLE + b" " * (1 << 24)), "too_large", ("exceeds",)),
    ("a task_desc of 10 MB", trial(((*ANNS, 0, "task_desc"), "a" * 10_000_000)), "record_too_long", ("characters",)),
    ("no byte", raw(b""), "empty_file", ("empty",)),
    ("web page", raw(HTML), "html_page", ("web page",)),
    ("LFS pointer", raw(LFS), "lfs_pointer", ("Git LFS",)),
    ("still packed", raw(b"7z\xbc\xaf\x27\x1c" + b"0" * 40), "packed", ("7z",)),
]
_GOOD_BESIDE = [
    ("one id twice, saying something else", {**trial(), **raw(OTHER, f"train/task-2/{TRIAL}")}, "conflicting_repeat"),
    ("one id in two splits", {**trial(), **raw(WHOLE, f"valid_seen/task-1/{TRIAL}")}, "conflicting_repeat"),
    ("a trial's folder without its file", {**trial(), "train/task-2/trial_x/readme.md": b"x"}, "missing_file"),
]

_LINES = (
    "Task type: pick and place with movable receptacle\n",
    "Instructions: Stand the cup that holds a knife on the table.; Carry the knife in a cup\n",
    "Steps: Go to the knife.; Take it.; Stand still.; Leave it.\n",
    "Room: kitchen\n",
    "Objects: butter knife; cup; cd\n",
    "Target: butter knife; into: cup; at: dining table; sliced: no\n",
    "Plan: go to counter top; pick up butter knife; put butter knife in cup; pick up cup; go to dining table; "
    "put cup on dining table",
)
_WITHHELD = ("000000007", "loc|", "MoveAhead", "0.4375", "90.0", "1.75", "TeleportFull", "424242", "0a1b2c3d", "NoOp")
_PLAN = ("plan", "high_pddl")

REFUSED = [
    *(RefusedCase(case, files, (reason,), parts) for case, files, reason, parts in _REFUSED),
    *(RefusedCase(case, files, (reason,), (), records=1) for case, files, reason in _GOOD_BESIDE),
]
ACCEPTED = [
    AcceptedCase("a planned trial", trial(), (), _LINES, _WITHHELD),
    AcceptedCase(
        "a trial of a test split",
        trial(of=TEST_TRIAL),
        (),
        ("Task type: not given\n", "Target: not given\n", "Plan: not given", "Room: kitchen\n"),
        _WITHHELD,
    ),
    AcceptedCase("one id twice, saying the same", {**trial(), **raw(WHOLE, f"train/task-2/{TRIAL}")}, repeats=1),
    AcceptedCase("lists of splits beside", {**trial(), "splits/oct21.json": b'{"train": []}', "x.json": b"{"}),
    AcceptedCase("a hidden folder beside", {**trial(), **raw(b"{", ".git/trial_1")}),
    AcceptedCase(
        "workers and votes",
        trial(((*ANNS, 0, "assignment_id"), "WORKER7"), ((*ANNS, 0, "votes"), [31, 1])),
        absent=("WORKER7", "31"),
    ),
    AcceptedCase("eight characters", trial(((*ANNS, 0, "task_desc"), "Cool tea")), (), ("Instructions: Cool tea; ",)),
    AcceptedCase(
        "one text twice",
        trial(((*ANNS, 0, "task_desc"), "Lift the cup"), ((*ANNS, 1, "task_desc"), " Lift the cup\n")),
        (),
        ("\nInstructions: Lift the cup\n",),
    ),
    AcceptedCase(
        "characters beyond ASCII", raw(WHOLE.replace(b"Leave it", "Leave the caf\u00e9".encode())), (), ("caf\u00e9",)
    ),
    AcceptedCase(
        "other separators of lines",
        trial(((*ANNS, 0, "task_desc"), "Cool\u2028the\x85tea\tnow\r\n")),
        (),
        ("Instructions: Cool the tea now; ",),
    ),
    AcceptedCase(
        "no steps", trial(((*ANNS, 0, "high_descs"), []), ((*ANNS, 1, "high_descs"), [])), (), ("Steps: not given\n",)
    ),
    AcceptedCase(
        "a blank step", trial(((*ANNS, 1, "high_descs", 1), " ")), ("annotation 2: 1 blank",), ("Take it.; Leave it.",)
    ),
    AcceptedCase("no scene", trial((("scene",), GONE)), ("no scene",), ("Room: not given\nObjects: not given\n",)),
    AcceptedCase(
        "another floor plan",
        trial((("scene", "floor_plan"), "FloorPlan31")),
        ("'FloorPlan31'",),
        ("Room: not given\n",),
    ),
    AcceptedCase("a bathroom", trial((("scene", "floor_plan"), "FloorPlan430")), (), ("Room: bathroom\n",)),
    AcceptedCase(
        "an unknown act",
        trial(((*_PLAN, 1, "discrete_action"), {"action": "FoldObject", "args": ["handtowel"]})),
        ("step 2 of the plan is no act that is known: FoldObject(handtowel)",),
        ("; fold object hand towel; ",),
    ),
    AcceptedCase(
        "an act without its argument",
        trial(((*_PLAN, 0, "discrete_action", "args"), [""])),
        ("step 1 of the plan is no act",),
        ("Plan: goto location; pick up",),
    ),
    AcceptedCase(
        "a lamp and a slice",
        trial(
            (("pddl_params",), {"object_target": "BreadSliced", "toggle_target": "DeskLamp", "object_sliced": True}),
            (("plan", "high_pddl"), _steps(("SliceObject", "bread"), ("ToggleObject", "desklamp"))),
        ),
        (),
        ("Target: bread sliced; with: desk lamp; sliced: yes\n", "Plan: slice bread; toggle desk lamp"),
    ),
]
