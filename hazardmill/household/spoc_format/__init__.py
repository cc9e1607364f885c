"""SPOC's task files, read and written: a JSON object with scene, instruction, rule, sub-goals and initial actions.

Reading is strict: keys and classes that are not known are refused, so that no part of a task is lost in silence. What
is read and written again has the same values in the same order. The format is that of the published task files
(Apache-2.0); classes and ``objectId`` are AI2-THOR's.

    task.py        task files
    conditions.py  the rules, sub-goals and conditions in them
    values.py      JSON values of a given form
"""

from hazardmill.household.spoc_format.conditions import FLAG_KEYS, condition_json
from hazardmill.household.spoc_format.task import (
    InitialAction,
    Room,
    SpocTask,
    parse_spoc_task,
    read_spoc_folder,
    read_spoc_task,
    write_spoc_task,
)

__all__ = [
    "FLAG_KEYS",
    "InitialAction",
    "Room",
    "SpocTask",
    "condition_json",
    "parse_spoc_task",
    "read_spoc_folder",
    "read_spoc_task",
    "write_spoc_task",
]
