"""Answers with wrong content."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from hazardmill.testing.hub_server.answers import HubAnswer
from hazardmill.testing.hub_server.faults import HubFaultKind

_OUT: Final = "../../../outside"
_PAGE: Final = b"<!doctype html><html><body><p>Log in to go on.</p></body></html>"
_LEADING: Final = frozenset({"etag", "x-linked-etag", "x-repo-commit"})
"""Headers that clients turn into paths."""


def apply_lie(answer: HubAnswer, kind: HubFaultKind) -> HubAnswer:
    """Return an answer as a lying hub gives it.

    Args:
        answer: The correct answer. Without JSON, its body changes only for ``html`` and ``half-json``.
        kind: One of ``LIES``.
    """
    if kind is HubFaultKind.HTML:
        return HubAnswer(body=_PAGE, kind="text/html", changed=answer.changed)
    if kind is HubFaultKind.OUTSIDE:
        headers = {name: f'"{_OUT}"' if name in _LEADING else value for name, value in answer.headers.items()}
        answer = replace(answer, headers=headers)
    if answer.file is not None:
        begin, end = answer.stretch
        return replace(answer, stretch=(begin, (begin + end) // 2)) if kind is HubFaultKind.HALF_JSON else answer
    if kind is HubFaultKind.HALF_JSON:
        return replace(answer, body=answer.body[: len(answer.body) // 2])
    if kind is HubFaultKind.OTHER_JSON:
        return replace(answer, body=b'[[1], {"a": null}, "b"]')
    value = json.loads(answer.body)
    return replace(answer, body=json.dumps(_alter(value, _LIES[kind])).encode())


def _alter(value: Any, lie: Callable[[Any], Any]) -> Any:  # noqa: ANN401  # any JSON
    if isinstance(value, dict):
        return lie({name: _alter(each, lie) for name, each in value.items()})
    if isinstance(value, list):
        return [_alter(each, lie) for each in value]
    return lie(value)


def _of_another_type(value: Any) -> Any:  # noqa: ANN401  # any JSON
    if isinstance(value, dict):
        return value
    return 7 if isinstance(value, str) else [] if isinstance(value, bool) or value is None else "seven"


_LIES: Final[Mapping[HubFaultKind, Callable[[Any], Any]]] = {
    HubFaultKind.NO_KEYS: lambda value: (
        {} if isinstance(value, dict) and not any(map(_holds, value.values())) else value
    ),
    HubFaultKind.NULLS: lambda value: value if isinstance(value, dict) else None,
    HubFaultKind.WRONG_TYPES: _of_another_type,
    HubFaultKind.OUTSIDE: lambda value: _OUT if isinstance(value, str) else value,
}


def _holds(value: object) -> bool:
    return isinstance(value, list | dict) and bool(value)
