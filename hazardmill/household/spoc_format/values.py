"""Strict reading of JSON values: what has another form is refused, and the error names its place."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from hazardmill.errors import PlanningInputError
from hazardmill.household.object_kinds import KINDS


def object_at(value: object, place: str, needed: Collection[str], other: Collection[str] = ()) -> dict[str, Any]:
    """Return a value that must be an object with certain keys.

    Args:
        value: A JSON value.
        place: Where it stands, for errors.
        needed: Keys that it must have.
        other: Further keys that it may have.

    Raises:
        PlanningInputError: It is no object, or its keys are others.
    """  # noqa: DOC501  # the helper makes the error
    if not isinstance(value, dict):
        raise wrong_at(place, "it is not an object", "write a JSON object")
    for key in value:
        if key not in needed and key not in other:
            raise wrong_at(place, f"the key {str(key)[:40]} is not known", f"use {', '.join((*needed, *other))}")
    for key in needed:
        if key not in value:
            raise wrong_at(place, f"the key {key} is missing", f"add {key}")
    return value


def items_at(said: Mapping[str, Any], key: str) -> Iterator[tuple[object, str]]:
    """Yield the items of a list, each with its place.

    Args:
        said: The object that holds the list.
        key: Its key, which is also its place.

    Raises:
        PlanningInputError: It is no list.
    """  # noqa: DOC501  # the helper makes the error
    if not isinstance(said[key], list):
        raise wrong_at(key, "it is not a list", "write a list of objects")
    for number, each in enumerate(said[key], 1):
        yield each, f"{key}[{number}]"


def classes_at(value: object, place: str) -> tuple[str, ...]:
    """Return a value that must be a list of names of classes.

    Raises:
        PlanningInputError: It is no such list, or is empty.
    """  # noqa: DOC501  # the helper makes the error
    if not isinstance(value, list) or not value:
        raise wrong_at(place, "it is not a list of classes", 'write a list with at least one class, such as ["Box"]')
    return tuple(class_at(each, f"{place}[{number}]") for number, each in enumerate(value, 1))


def class_at(value: object, place: str) -> str:
    """Return a value that must be the name of a class.

    Raises:
        PlanningInputError: It is something else.
    """  # noqa: DOC501  # the helper makes the error
    name = text_at(value, place)
    if name not in KINDS:
        raise wrong_at(place, f"the class {name[:40]} is not known", "use a class of AI2-THOR, such as CounterTop")
    return name


def text_at(value: object, place: str) -> str:
    """Return a value that must be a text.

    Raises:
        PlanningInputError: It is something else.
    """  # noqa: DOC501  # the helper makes the error
    if not isinstance(value, str):
        raise wrong_at(place, "it is not text", "write a text")
    return value


def wrong_at(place: str, message: str, remedy: str) -> PlanningInputError:
    """Return the error that something is wrong at a place, such as ``goal_condition_state[1].child``."""
    return PlanningInputError(f"{place}: {message}", remedy=remedy)
