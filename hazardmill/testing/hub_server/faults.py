"""The kinds of fault, and scripts that say which request meets which.

A plan is any function of a request (``PlannedRequest``: its endpoint, which time that is asked, the repository) that
gives a fault or none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain, repeat
from typing import Final, TypeAlias

from hazardmill.testing.timed_faults import TimedFault


class Endpoint(StrEnum):
    """What a request asks for."""

    WHOAMI = "whoami"
    CREATE = "create"
    VALIDATE_YAML = "validate-yaml"
    INFO = "info"
    """Of a repository, at a revision or at its head."""
    PREUPLOAD = "preupload"
    """Which way each file is to be uploaded."""
    LFS_BATCH = "lfs-batch"
    LFS_PUT = "lfs-put"
    LFS_VERIFY = "lfs-verify"
    COMMIT = "commit"
    COMMITS = "commits"
    TAG = "tag"
    SETTINGS = "settings"
    REFS = "refs"
    TREE = "tree"
    PATHS_INFO = "paths-info"
    RESOLVE = "resolve"
    """A file itself."""


class HubFaultKind(StrEnum):
    """What goes wrong with one request."""

    CONFLICT = "409"
    """Status 409, and nothing was done."""
    PRECONDITION = "412"
    """Status 412, and nothing was done."""
    RATE_LIMITED = "429"
    """Status 429; with seconds, they are in Retry-After."""
    SERVER_ERROR = "500"
    """Status 500, and nothing was done."""
    SERVER_ERROR_AFTER = "500-after"
    """It was done, and the answer is a status 500 all the same."""
    UNAVAILABLE = "503"
    """Status 503, and nothing was done."""
    CUT = "cut"
    """The connection is reset when half of the body has arrived, and nothing was done."""
    CUT_AFTER = "cut-after"
    """It was done, and the connection is reset instead of an answer."""
    SLOW = "slow"
    """The right answer, late."""
    OVERTAKEN = "overtaken"
    """Somebody else is quicker: with a commit of theirs, or with the same tag on the first commit."""

    HTML = "html"
    """It was done, and the answer is a web page with status 200."""
    HALF_JSON = "half-json"
    """It was done, and the answer is half of its body, as if it were all."""
    OTHER_JSON = "other-json"
    """It was done, and the answer is JSON of another shape."""
    NO_KEYS = "no-keys"
    """It was done, and the answer has objects without their keys."""
    NULLS = "nulls"
    """It was done, and the answer has null for each of its values."""
    WRONG_TYPES = "wrong-types"
    """It was done, and the answer has numbers for texts, texts for numbers and lists for truth values."""
    OUTSIDE = "outside"
    """It was done, and in text and headers of the answer commits, paths and hashes lead out of their folder."""
    ENDLESS = "endless"
    """It was done, and the answer has no end."""
    ECHO = "echo"
    """Status 400, nothing was done, and body and headers hold the request's token in every form."""


LIES: Final = frozenset(
    {
        HubFaultKind.HTML,
        HubFaultKind.HALF_JSON,
        HubFaultKind.OTHER_JSON,
        HubFaultKind.NO_KEYS,
        HubFaultKind.NULLS,
        HubFaultKind.WRONG_TYPES,
        HubFaultKind.OUTSIDE,
    }
)
"""Kinds that answer something that is not so."""

AFTER: Final = frozenset({HubFaultKind.SERVER_ERROR_AFTER, HubFaultKind.CUT_AFTER})
"""Kinds where what was asked is done, and the client is not told."""

STATUS: Final = {
    HubFaultKind.CONFLICT: 409,
    HubFaultKind.PRECONDITION: 412,
    HubFaultKind.RATE_LIMITED: 429,
    HubFaultKind.SERVER_ERROR: 500,
    HubFaultKind.SERVER_ERROR_AFTER: 500,
    HubFaultKind.UNAVAILABLE: 503,
}
"""Kinds that answer with a status, and which."""

_SECONDS: Final[Mapping[str, float | None]] = {HubFaultKind.RATE_LIMITED: None, HubFaultKind.SLOW: 2.0}
"""Kinds that take seconds, and how many if nobody says."""


@dataclass(frozen=True, slots=True)
class PlannedRequest:
    """A request, as far as a plan may read it."""

    endpoint: Endpoint
    time: int
    """How many requests of this endpoint there have been with it, from 1."""
    repository: str | None
    """``ORG/NAME``; null where the request names none."""


@dataclass(frozen=True, slots=True)
class HubFault(TimedFault):
    """One fault.

    Args:
        kind: What goes wrong.
        seconds: Of Retry-After (``429``; default: there is none), or what ``slow`` waits (default 2).

    Raises:
        ValueError: There is no such kind, or its seconds make no sense.
    """

    kind: HubFaultKind

    _kinds = HubFaultKind
    _default_seconds = _SECONDS


FaultPlan: TypeAlias = Callable[[PlannedRequest], HubFault | None]
"""Which fault a request meets; null for none."""


class ScriptedHubFaults:
    """The first request of an endpoint meets its first fault, the second the second; after the last all is well.

    Args:
        script: By endpoint, words with commas between: a kind (``500``, ``429:1``, ``slow:0.5``), ``ok`` for none;
            ``*3`` behind a word repeats it, ``*`` alone for ever.

    Raises:
        ValueError: There is no such endpoint, or a word means nothing.
    """

    def __init__(self, script: dict[str, str]) -> None:
        unknown = sorted(set(script) - set(Endpoint))
        if unknown:
            raise ValueError(f"no such endpoint: {unknown[0]!r}; there are {', '.join(Endpoint)}")
        self._left = {Endpoint(name): _faults(words) for name, words in script.items()}

    def __call__(self, asked: PlannedRequest) -> HubFault | None:
        """The fault of this request."""
        return next(self._left.get(asked.endpoint, iter(())), None)


def parse_script(lines: tuple[str, ...]) -> dict[str, str]:
    """``("commit=500-after,ok", "lfs-put=cut*2")`` by endpoint.

    Raises:
        ValueError: A line has no ``=``.
    """
    script = {}
    for line in lines:
        name, sign, words = line.partition("=")
        if not sign:
            raise ValueError(f"{line!r} is no script: write ENDPOINT=FAULT,FAULT, such as commit=500-after")
        script[name.strip()] = words
    return script


def _faults(words: str) -> Iterator[HubFault | None]:
    # Read at once, so that a wrong word is told when the script is made.
    return chain.from_iterable([_read_repetition(word) for word in filter(None, map(str.strip, words.split(",")))])


def _read_repetition(word: str) -> Iterator[HubFault | None]:
    name, star, times = word.partition("*")
    fault = _fault(name)
    if not star:
        return iter((fault,))
    if not times:
        return repeat(fault)
    if not times.isdecimal():
        raise ValueError(f"{word}: how often must be a whole number, or nothing for ever")
    return repeat(fault, int(times))


def _fault(word: str) -> HubFault | None:
    return None if word.partition(":")[0] == "ok" else HubFault.of_word(word, also=["ok"])
