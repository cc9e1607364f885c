"""Reads and checks a ``traj_data.json``: what people said, where, with which objects, and the plan if there is one."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Final

from hazardmill.ingest.sources import InputRefusal

from .wording import NOTHING, TASK_TYPES, act, readable

SHORTEST: Final = 8
"""Minimum number of characters of a task_desc; shorter ones in the published files are truncated sentences."""

_LONGEST_ID: Final = 255

# First and last number of the floor plans of each kind of room (SCENE_TYPE in ALFRED's gen/constants.py).
_ROOMS: Final = {"kitchen": (1, 30), "living room": (201, 230), "bedroom": (301, 330), "bathroom": (401, 430)}

_KEYS: Final = ("images", "pddl_params", "plan", "scene", "task_id", "task_type", "turk_annotations")
_AS_PUBLISHED = "give the file as it was published"
_CORRECT = "correct the annotation, or remove the trial"


class AlfredError(Exception):
    """A file is refused; says why. Never leaves this source."""

    def __init__(self, reason: str, message: str, remedy: str = _AS_PUBLISHED, task_id: str | None = None) -> None:
        super().__init__(message)
        self.refusal = InputRefusal(reason, message, remedy)
        self.task_id = task_id


@dataclass(frozen=True, slots=True)
class Target:
    """What to do with which objects; null if a kind of task has no such part, or if the file does not say."""

    what: str | None = None
    into: str | None = None
    at: str | None = None
    light: str | None = None
    sliced: bool | None = None


@dataclass(frozen=True, slots=True)
class Trajectory:
    """One trial. ``task_type``, ``target`` and ``plan`` are unknown in the test splits."""

    task_id: str
    task_type: str | None
    instructions: list[str]
    steps: list[str]
    room: str | None
    objects: list[str]
    target: Target
    plan: list[str] | None
    warnings: tuple[str, ...]


def read_trajectory(text: str, folder: str) -> Trajectory:
    """Parse the trial in a file.

    Args:
        text: The file.
        folder: Name of the folder it lies in, which must be the trial's id.

    Raises:
        AlfredError: It is not usable, for one of the reasons in SOURCE.md.
    """
    root = _root(text)
    task_id = _task_id(root)
    try:
        if task_id != folder:
            raise AlfredError(
                "folder_id",
                f"the task_id is {task_id!r}, but the folder is named {folder!r}",
                "put the file into the folder of its trial",
            )
        warnings: list[str] = []
        instructions, steps = _annotations(root, warnings)
        room, objects = _scene(root, warnings)
        return Trajectory(
            task_id=task_id,
            task_type=_task_type(root),
            instructions=instructions,
            steps=steps,
            room=room,
            objects=objects,
            target=_target(root),
            plan=_plan(root, warnings),
            warnings=tuple(warnings),
        )
    except AlfredError as error:
        error.task_id = task_id
        raise


def _root(text: str) -> dict[str, Any]:
    if text.startswith("\ufeff"):
        raise AlfredError(
            "byte_order_mark",
            "the file begins with a byte order mark, which no published file does",
            "download the file again, or save it as UTF-8 without the mark",
        )
    try:
        root = json.loads(text)
    except json.JSONDecodeError as error:
        early = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated")
        what = "the file ends early" if early else "the file is not JSON"
        raise AlfredError(
            "not_json", f"{what}: {error.msg} at line {error.lineno}, column {error.colno}", "download the file again"
        ) from error
    except (ValueError, RecursionError) as error:
        raise AlfredError("not_json", f"the file is not usable JSON: {error}", "download the file again") from error
    if not isinstance(root, dict):
        raise AlfredError("not_object", f"the file holds {_kind(root)}, not an object")
    if not any(key in root for key in _KEYS):
        own = ", ".join(map(_quoted, sorted(root)[:3]))
        raise AlfredError(
            "foreign_json",
            "this is not an ALFRED trial: it has none of the keys of a trial"
            + (f"; its own keys are, for example, {own}" if own else " and no others"),
            "give traj_data.json files; other files, such as the lists in splits/, are not read",
        )
    return root


def _task_id(root: dict[str, Any]) -> str:
    if "task_id" not in root:
        raise AlfredError("task_id", "there is no task_id")
    value = root["task_id"]
    if not isinstance(value, str) or not value.strip():
        raise AlfredError("task_id", f"task_id is {_kind(value)}, not a name")
    if len(value) > _LONGEST_ID:
        raise AlfredError("task_id", f"task_id has {len(value)} characters, more than the name of a folder can have")
    return _line(value, "task_id")


def _task_type(root: dict[str, Any]) -> str | None:
    if "task_type" not in root:
        return None
    value = root["task_type"]
    if not isinstance(value, str) or value not in TASK_TYPES:
        raise AlfredError(
            "task_type", f"there is no task type {_quoted(value)}", f"known task types: {', '.join(TASK_TYPES)}"
        )
    return value


# ── what people said ─────────────────────────────────────────────────────────────────────────────────────────


def _annotations(root: dict[str, Any], warnings: list[str]) -> tuple[list[str], list[str]]:
    """Return instructions and steps without duplicates, in order."""
    turk = root.get("turk_annotations")
    if not isinstance(turk, dict):
        what = f"turk_annotations is {_kind(turk)}" if "turk_annotations" in root else "there are no turk_annotations"
        raise AlfredError("turk_annotations", what)
    anns = turk.get("anns")
    if not isinstance(anns, list) or not anns:
        what = f"this one is {_kind(anns)}" if "anns" in turk else "the key is missing"
        raise AlfredError("anns", f"turk_annotations must contain a non-empty list `anns`; {what}")
    for number, ann in enumerate(anns, 1):
        if not isinstance(ann, dict):
            raise AlfredError("anns", f"annotation {number} is {_kind(ann)}, not an object")
    instructions = _instructions(anns)
    steps: list[str] = []
    for number, ann in enumerate(anns, 1):
        said = _steps(ann, number)
        if not all(said):
            warnings.append(f"annotation {number}: {said.count('')} blank steps are left out")
        steps.extend(filter(None, said))
    return list(dict.fromkeys(instructions)), list(dict.fromkeys(steps))


def _instructions(anns: list[dict[str, Any]]) -> list[str]:
    texts = []
    for number, ann in enumerate(anns, 1):
        value = ann.get("task_desc")
        if not isinstance(value, str):
            what = f"has {_kind(value)} for a task_desc" if "task_desc" in ann else "has no task_desc"
            raise AlfredError("task_desc", f"annotation {number} {what}", _CORRECT)
        texts.append(_line(value, f"the task_desc of annotation {number}"))
    if not any(texts):
        raise AlfredError("blank_task_desc", "every task_desc is blank", _CORRECT)
    for number, text in enumerate(texts, 1):
        if not text:
            raise AlfredError("blank_task_desc", f"the task_desc of annotation {number} is blank", _CORRECT)
        if len(text) < SHORTEST:
            message = f"the task_desc of annotation {number} is cut off: {text!r} has fewer than {SHORTEST} characters"
            raise AlfredError("truncated_task_desc", message, _CORRECT)
    return texts


def _steps(ann: dict[str, Any], number: int) -> list[str]:
    value = ann.get("high_descs")
    if not isinstance(value, list):
        what = f"{_kind(value)} for" if "high_descs" in ann else "no"
        raise AlfredError("high_descs", f"annotation {number} has {what} high_descs; a list is needed", _CORRECT)
    texts = []
    for place, step in enumerate(value, 1):
        if not isinstance(step, str):
            message = f"annotation {number}: high_descs holds {_kind(step)} at place {place}, where a text is needed"
            raise AlfredError("high_descs", message, _CORRECT)
        texts.append(_line(step, f"step {place} of annotation {number}"))
    return texts


# ── where, with what, how ────────────────────────────────────────────────────────────────────────────────────


def _scene(root: dict[str, Any], warnings: list[str]) -> tuple[str | None, list[str]]:
    """Return the kind of room, and the kinds of movable objects in it."""
    scene = root.get("scene")
    if scene is None:
        warnings.append("there is no scene: room and objects are not known")
        return None, []
    if not isinstance(scene, dict):
        raise AlfredError("scene", f"scene is {_kind(scene)}, not an object")
    poses = scene.get("object_poses") or []
    if not isinstance(poses, list):
        raise AlfredError("scene", f"object_poses is {_kind(poses)}, not a list")
    names = []
    for pose in poses:
        name = pose.get("objectName") if isinstance(pose, dict) else None
        if not isinstance(name, str):
            raise AlfredError("scene", f"object_poses holds {_quoted(pose)}, which names no object")
        names.append(readable(_line(re.split(r"[_|(]", name)[0], "an objectName")))
    plan = scene.get("floor_plan")
    room = _room(plan)
    if room is None:
        warnings.append(f"no kind of room is known for floor plan {_quoted(plan)}")
    return room, list(dict.fromkeys(filter(None, names)))


def _room(floor_plan: object) -> str | None:
    match = re.fullmatch(r"FloorPlan([0-9]{1,6})", floor_plan) if isinstance(floor_plan, str) else None
    number = int(match[1]) if match else 0
    return next((room for room, (first, last) in _ROOMS.items() if first <= number <= last), None)


def _target(root: dict[str, Any]) -> Target:
    params = root.get("pddl_params")
    if params is None:
        return Target()
    if not isinstance(params, dict):
        raise AlfredError("pddl_params", f"pddl_params is {_kind(params)}, not an object")
    sliced = params.get("object_sliced")
    if not isinstance(sliced, bool | None):
        raise AlfredError("pddl_params", f"object_sliced is {_kind(sliced)}, neither true nor false")
    return Target(
        what=_name(params, "object_target"),
        into=_name(params, "mrecep_target"),
        at=_name(params, "parent_target"),
        light=_name(params, "toggle_target"),
        sliced=sliced,
    )


def _name(params: dict[str, Any], key: str) -> str | None:
    value = params.get(key) or ""
    if not isinstance(value, str):
        raise AlfredError("pddl_params", f"{key} is {_kind(value)}, not a name")
    return readable(_line(value, key)) or None


def _plan(root: dict[str, Any], warnings: list[str]) -> list[str] | None:
    plan = root.get("plan")
    if plan is None:
        return None
    steps = plan.get("high_pddl") if isinstance(plan, dict) else None
    if not isinstance(steps, list):
        raise AlfredError("plan", "the plan has no list high_pddl")
    said = []
    for number, step in enumerate(steps, 1):
        action, args = _action(step, number)
        if action == NOTHING:
            continue
        words = act(action, args)
        if words is None:
            words = " ".join(filter(None, map(readable, [action, *args])))
            warnings.append(f"step {number} of the plan is no act that is known: {action}({', '.join(args)})")
        said.append(words)
    return said


def _action(step: object, number: int) -> tuple[str, list[str]]:
    discrete = step.get("discrete_action") if isinstance(step, dict) else None
    action = discrete.get("action") if isinstance(discrete, dict) else None
    args = discrete.get("args") if isinstance(discrete, dict) else None
    if not isinstance(action, str) or not action.strip() or not isinstance(args, list):
        raise AlfredError("plan", f"step {number} of the plan has no discrete_action with an action and args")
    if not all(isinstance(arg, str) for arg in args):
        raise AlfredError("plan", f"step {number} of the plan has arguments that are not names")
    what = f"step {number} of the plan"
    return _line(action, what), [_line(arg, what) for arg in args]


# ── values ───────────────────────────────────────────────────────────────────────────────────────────────────


def _line(text: str, what: str) -> str:
    """Put a text on one line, with runs of blanks and newlines collapsed."""
    line = " ".join(text.split())
    wrong = re.search("[\0\ud800-\udfff]", line)
    if wrong:
        raise AlfredError("no_character", f"{what} contains {wrong[0]!r}, which is not a valid character", _CORRECT)
    return line


def _kind(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, list) and not value:
        return "an empty list"
    names = {dict: "an object", list: "a list", str: "a text", bool: "true or false"}
    return names.get(type(value), "a number")


def _quoted(value: object) -> str:
    if not isinstance(value, str):
        return _kind(value)
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
