"""The kinds of fault, and scripts that decide which request gets which.

A plan is any function from a request (``PlannedRequest``: its endpoint, its number at that endpoint, the repository) to
a fault or null.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain, repeat
from typing import Final, TypeAlias

from hazardmill.testing.timed_faults import TimedFault


class Endpoint(StrEnum):
    """What a request asks for.

    The values are the names used in scripts and in the journal.
    """

    WHOAMI = "whoami"
    CREATE = "create"
    VALIDATE_YAML = "validate-yaml"
    INFO = "info"
    """Of a repository, at a revision or at its head."""
    PREUPLOAD = "preupload"
    """How each file is to be uploaded."""
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
    """What goes wrong with one request.

    The values are the words used in scripts.
    """

    CONFLICT = "409"
    """Status 409, and nothing was done."""
    PRECONDITION = "412"
    """Status 412, and nothing was done."""
    RATE_LIMITED = "429"
    """Status 429; with seconds, they are in Retry-After."""
    SERVER_ERROR = "500"
    """Status 500, and nothing was done."""
    SERVER_ERROR_AFTER = "500-after"
    """The request was carried out, but the answer is status 500."""
    UNAVAILABLE = "503"
    """Status 503, and nothing was done."""
    CUT = "cut"
    """The connection is reset after half of the body, and nothing was done."""
    CUT_AFTER = "cut-after"
    """The request was carried out, but the connection is reset instead of an answer."""
    SLOW = "slow"
    """The correct answer, late."""
    OVERTAKEN = "overtaken"
    """Another client is quicker: with a commit of its own, or with the same tag on the first commit."""

    HTML = "html"
    """The request was carried out, but the answer is a web page with status 200."""
    HALF_JSON = "half-json"
    """The request was carried out, but the answer is half of its body, as if it were all."""
    OTHER_JSON = "other-json"
    """The request was carried out, but the answer is JSON of another shape."""
    NO_KEYS = "no-keys"
    """The request was carried out, but objects in the answer lack their keys."""
    NULLS = "nulls"
    """The request was carried out, but every value in the answer is null."""
    WRONG_TYPES = "wrong-types"
    """The request was carried out, but the answer has numbers for texts, texts for numbers, and lists for truth
    values."""
    OUTSIDE = "outside"
    """The request was carried out, but commits, paths and hashes in the answer and its headers lead out of their
    folder."""
    ENDLESS = "endless"
    """The request was carried out, but the answer never ends."""
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
"""Kinds whose answer has wrong content."""

AFTER: Final = frozenset({HubFaultKind.SERVER_ERROR_AFTER, HubFaultKind.CUT_AFTER})
"""Kinds where the request is carried out, but the client is not told."""

STATUS: Final = {
    HubFaultKind.CONFLICT: 409,
    HubFaultKind.PRECONDITION: 412,
    HubFaultKind.RATE_LIMITED: 429,
    HubFaultKind.SERVER_ERROR: 500,
    HubFaultKind.SERVER_ERROR_AFTER: 500,
    HubFaultKind.UNAVAILABLE: 503,
}
"""Kinds that answer with a status, and that status."""

_SECONDS: Final[Mapping[str, float | None]] = {HubFaultKind.RATE_LIMITED: None, HubFaultKind.SLOW: 2.0}
"""Kinds that take seconds, and their defaults."""


@dataclass(frozen=True, slots=True)
class PlannedRequest:
    """The part of a request that a plan may use."""

    endpoint: Endpoint
    time: int
    """Number of the request at its endpoint, from 1."""
    repository: str | None
    """``ORG/NAME``; null if the request names none."""


@dataclass(frozen=True, slots=True)
class HubFault(TimedFault):
    """One fault of a request.

    Args:
        kind: What goes wrong.
        seconds: For ``429``, the value of Retry-After (default none); for ``slow``, the delay (default 2).

    Raises:
        ValueError: There is no such kind, or it does not take these seconds.
    """

    kind: HubFaultKind

    _kinds = HubFaultKind
    _default_seconds = _SECONDS


FaultPlan: TypeAlias = Callable[[PlannedRequest], HubFault | None]
"""The fault of a request; null for none."""


class ScriptedHubFaults:
    """A plan with a sequence of faults per endpoint; later requests have none.

    Args:
        script: By endpoint, words separated by commas: a kind (``500``, ``429:1``, ``slow:0.5``), or ``ok`` for no
            fault. A word is repeated by appending ``*3``, or ``*`` for ever.

    Raises:
        ValueError: There is no such endpoint, or a word is unknown.
    """

    def __init__(self, script: dict[str, str]) -> None:
        unknown = sorted(set(script) - set(Endpoint))
        if unknown:
            raise ValueError(f"no such endpoint: {unknown[0]!r}; name one of {', '.join(Endpoint)}")
        self._left = {Endpoint(name): _faults(words) for name, words in script.items()}

    def __call__(self, asked: PlannedRequest) -> HubFault | None:
        """Return the fault of this request."""
        return next(self._left.get(asked.endpoint, iter(())), None)


def parse_script(lines: tuple[str, ...]) -> dict[str, str]:
    """Parse lines such as ``commit=500-after,ok`` and ``lfs-put=cut*2``.

    Returns:
        The words by endpoint, for ``ScriptedHubFaults``.

    Raises:
        ValueError: A line has no ``=``.
    """
    script = {}
    for line in lines:
        name, sign, words = line.partition("=")
        if not sign:
            raise ValueError(f"{line!r} is not a script: write ENDPOINT=FAULT,FAULT, such as commit=500-after")
        script[name.strip()] = words
    return script


def _faults(words: str) -> Iterator[HubFault | None]:
    # Parse at once, so that a wrong word is reported when the script is made.
    return chain.from_iterable([_read_repetition(word) for word in filter(None, map(str.strip, words.split(",")))])


def _read_repetition(word: str) -> Iterator[HubFault | None]:
    name, star, times = word.partition("*")
    fault = _fault(name)
    if not star:
        return iter((fault,))
    if not times:
        return repeat(fault)
    if not times.isdecimal():
        raise ValueError(f"{word}: the number of times must be a whole number, or empty for always")
    return repeat(fault, int(times))


def _fault(word: str) -> HubFault | None:
    return None if word.partition(":")[0] == "ok" else HubFault.of_word(word, also=["ok"])
