"""The kinds of fault, and plans that say which attempt meets which.

A plan is any function of a request (``ChatRequest``: identity, attempt, model, messages, key) that gives a fault or
none. As long as it reads nothing else, two runs that ask the same meet the same faults, in whatever order they ask.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

from hazardmill.testing.llm_server.chat_request import ChatRequest
from hazardmill.testing.timed_faults import TimedFault


class ServerFaultKind(StrEnum):
    """What goes wrong with one attempt."""

    RATE_LIMITED = "429"
    """Status 429 without Retry-After."""
    RATE_LIMITED_RETRY_AFTER = "429-retry-after"
    """Status 429 with Retry-After."""
    SERVER_ERROR = "500"
    OVERLOADED = "529"
    SLOW = "slow"
    """The whole answer, late."""
    STALLED = "stalled"
    """Not even headers, until the client hangs up."""
    RESET = "reset"
    """Half of the answer, then the connection is reset."""
    HALF_JSON = "half-json"
    """Half of the answer, properly ended."""
    HTML = "html"
    """A web page with status 200, as from a captive portal."""
    USAGE_MISSING = "usage-missing"
    """The whole answer, with no word on tokens."""
    EMPTY_CHOICES = "empty-choices"
    LENGTH = "length"
    """Half of the text, with ``finish_reason`` ``length``."""
    REFUSAL = "refusal"
    """The model declines."""
    CONTENT_FILTER = "content-filter"
    """A filter of the provider took the answer away."""
    NOT_JSON = "not-json"
    """Text that is neither JSON nor code."""
    WRONG_LANGUAGE = "wrong-language"
    """What is prose in the answer is Chinese."""
    ENDLESS = "endless"
    """A body without end, as fast as it is read."""
    TRICKLE = "trickle"
    """A body without end, a byte at a time."""
    BOMB = "bomb"
    """A packed body of some kilobytes that unpacks to half a gigabyte."""
    ODD_PACKING = "odd-packing"
    """A body that is packed as nobody asked for."""
    REDIRECT = "redirect"
    """A redirect to another host, where the prompt would be answered."""
    ECHO = "echo"
    """The right answer, and the key that came with the request in every form, wherever an answer has text."""
    ECHO_ERROR = "echo-error"
    """Status 400, and in its body and headers the key in every form."""

    @property
    def recoverable(self) -> bool:
        """Whether the request, asked again as it is, still gets its answer."""
        return self not in FATAL


FATAL: Final = (
    ServerFaultKind.EMPTY_CHOICES,
    ServerFaultKind.LENGTH,
    ServerFaultKind.REFUSAL,
    ServerFaultKind.CONTENT_FILTER,
    ServerFaultKind.NOT_JSON,
    ServerFaultKind.WRONG_LANGUAGE,
)
"""An answer came and was counted, but with another text than the right one, or with none."""

HOSTILE: Final = (
    ServerFaultKind.ENDLESS,
    ServerFaultKind.TRICKLE,
    ServerFaultKind.BOMB,
    ServerFaultKind.ODD_PACKING,
    ServerFaultKind.REDIRECT,
    ServerFaultKind.ECHO,
    ServerFaultKind.ECHO_ERROR,
)
"""What no provider does by mistake: it is out for memory, time, prompts or keys. Drawn for each attempt anew."""

RECOVERABLE: Final = tuple(kind for kind in ServerFaultKind if kind not in FATAL + HOSTILE)
"""The right answer came late or uncounted, or no answer came, and asking again may bring it."""

_SECONDS: Final[Mapping[str, float | None]] = {
    ServerFaultKind.RATE_LIMITED_RETRY_AFTER: 1.0,
    ServerFaultKind.SLOW: 2.0,
    ServerFaultKind.STALLED: None,
    ServerFaultKind.TRICKLE: 0.05,
}
"""Kinds that take seconds, and how many if nobody says."""


@dataclass(frozen=True, slots=True)
class ServerFault(TimedFault):
    """One fault.

    Args:
        kind: What goes wrong.
        seconds: Of Retry-After (default 1); what ``slow`` waits beyond the server's latency (default 2); after what
            time ``stalled`` resets the connection (default never); between the bytes of ``trickle`` (default 0.05).
            Other kinds take none.

    Raises:
        ValueError: There is no such kind, or its seconds make no sense.
    """

    kind: ServerFaultKind

    _kinds = ServerFaultKind
    _default_seconds = _SECONDS


FaultPlan: TypeAlias = Callable[[ChatRequest], ServerFault | None]
"""Which fault a request meets; null for none."""


class ScriptedServerFaults:
    """The first attempt at each identity meets the first fault, the second the second; after the last all is well.

    ``None`` stands for an attempt without fault. For faults of one stage only, write a function of your own.
    """

    def __init__(self, *script: ServerFault | ServerFaultKind | str | None) -> None:
        self._script = tuple(_fault(each) for each in script)

    def __call__(self, asked: ChatRequest) -> ServerFault | None:
        """The fault of this attempt."""
        return self._script[asked.attempt - 1] if asked.attempt <= len(self._script) else None


class SeededFaults:
    """Draws faults by hash of seed, identity and attempt.

    Recoverable faults are drawn for each attempt anew. Fatal ones are drawn for each identity, and every attempt at it
    that meets no recoverable fault ends the same way: what a run makes of a record does not depend on how often its
    requests were repeated.

    Args:
        seed: Another seed, other faults.
        rate: Share of attempts that meet a recoverable fault, of those that may: from 0 to 1.
        kinds: What may happen, recoverable and fatal.
        most: Attempts at one identity that may meet a recoverable fault; those beyond do not. Below the number of
            attempts that a client makes at a request, every request gets its answer.
        fatal_rate: Share of identities that meet a fatal fault: from 0 to 1.

    Raises:
        ValueError: A rate is none, or there are no kinds for it.
    """

    def __init__(
        self,
        seed: int = 0,
        *,
        rate: float = 0.3,
        kinds: Iterable[ServerFault | ServerFaultKind | str] = RECOVERABLE,
        most: int = 3,
        fatal_rate: float = 0.0,
    ) -> None:
        faults = [fault for fault in map(_fault, kinds) if fault is not None]
        self._seed = seed
        self._most = most
        self._recoverable = tuple(fault for fault in faults if fault.kind.recoverable)
        self._fatal = tuple(fault for fault in faults if not fault.kind.recoverable)
        self._rate = _rate("rate", rate, self._recoverable)
        self._fatal_rate = _rate("fatal_rate", fatal_rate, self._fatal)

    def __call__(self, asked: ChatRequest) -> ServerFault | None:
        """The fault of this attempt."""
        recoverable = None
        if asked.attempt <= self._most:
            recoverable = self._draw(asked.identity, str(asked.attempt), self._rate, self._recoverable)
        return recoverable or self._draw(asked.identity, "fatal", self._fatal_rate, self._fatal)

    def _draw(self, identity: str, what: str, rate: float, faults: tuple[ServerFault, ...]) -> ServerFault | None:
        digest = hashlib.sha256(f"{self._seed}/{identity}/{what}".encode()).digest()
        if int.from_bytes(digest[:8]) >= rate * 2**64:
            return None
        return faults[int.from_bytes(digest[8:16]) % len(faults)]


_GROUPS: Final = {
    "recoverable": RECOVERABLE,
    "fatal": FATAL,
    "hostile": HOSTILE,
    "all": tuple(ServerFaultKind),
    "ok": (None,),
}


def parse_faults(text: str) -> tuple[ServerFault | None, ...]:
    """Faults from words with commas between: kinds (``429,slow:2.5``), groups (``recoverable``...), ``all``, ``ok``.

    Raises:
        ValueError: A word means nothing.
    """
    faults: list[ServerFault | None] = []
    for word in filter(None, map(str.strip, text.split(","))):
        faults += map(_fault, _GROUPS.get(word, (word,)))
    return tuple(faults)


def _fault(what: ServerFault | ServerFaultKind | str | None) -> ServerFault | None:
    if what is None or isinstance(what, ServerFault):
        return what
    return ServerFault.of_word(str(what))


def _rate(name: str, rate: float, faults: Collection[ServerFault]) -> float:
    if not 0 <= rate <= 1:
        raise ValueError(f"{name} must be between 0 and 1, got {rate:g}")
    if rate and not faults:
        raise ValueError(f"{name} is {rate:g}, but no kind of fault is given for it")
    return rate
