"""Reading what came out of the jail: bytes that an attacker may have chosen, into plain JSON values with caps."""

from __future__ import annotations

import json
from typing import Any, Final, NoReturn

from hazardmill.text.printable import ADDRESS, STEERING

MAX_DEPTH: Final = 100
_MAX_DIGITS: Final = 20
_MAX_TEXT: Final = 2_000


class MalformedOutput(ValueError):
    """What came out of the jail is not the one line of JSON that an honest child writes.

    Its text says what is wrong; it may quote the output, so it is not printable as it is.
    """


def parse(data: bytes) -> dict[str, Any]:
    """Return the JSON object that fills one line.

    Refused are repeated keys, numbers other than integers of at most 20 characters, lone surrogates, and nesting
    beyond ``MAX_DEPTH``.

    Raises:
        MalformedOutput: It is anything else.
    """
    if data.count(b"\n") != 1 or not data.endswith(b"\n"):
        raise MalformedOutput("it is not one line")
    try:
        value = json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_object,
            parse_int=_integer,
            parse_float=_no_number,
            parse_constant=_no_number,
        )
    except MalformedOutput:
        raise
    except (ValueError, RecursionError) as error:
        raise MalformedOutput(f"it is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise MalformedOutput("it is not a JSON object")
    _check_leaves(value)
    return value


def printable(text: str) -> str:
    """Return a text from the jail, fit to be shown and stored: the same draft has the same words in each process.

    Control and direction marks are replaced, addresses in memory dropped, and the length is capped at 2,000 characters.
    """
    shown = ADDRESS.sub("", STEERING.sub("\N{REPLACEMENT CHARACTER}", text))
    return shown if len(shown) <= _MAX_TEXT else f"{shown[:_MAX_TEXT]} [...]"


def _check_leaves(value: object) -> None:
    level = [value]
    for _ in range(MAX_DEPTH):
        following: list[object] = []
        for item in level:
            if isinstance(item, dict):
                following.extend(item)
                following.extend(item.values())
            elif isinstance(item, list):
                following.extend(item)
            elif isinstance(item, str) and not _encodable(item):
                raise MalformedOutput("it holds text that is not Unicode")
        if not following:
            return
        level = following
    raise MalformedOutput(f"it is nested deeper than {MAX_DEPTH}")


def _encodable(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise MalformedOutput("a key appears twice in an object")
    return value


def _integer(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        raise MalformedOutput("it holds a giant integer")
    return int(digits)


def _no_number(text: str) -> NoReturn:
    raise MalformedOutput(f"it holds {text[:_MAX_DIGITS]}, which is not an integer")
