"""The kinds of fault, and plans that decide which attempt gets which.

A plan is any function from a request (``ChatRequest``: identity, attempt, model, messages, key) to a fault or null. If
it depends on nothing else, two runs that send the same requests get the same faults, in whatever order.
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
    """Nothing, not even headers, until the client hangs up."""
    RESET = "reset"
    """Half of the answer, then the connection is reset."""
    HALF_JSON = "half-json"
    """Half of the answer, ended in good order."""
    HTML = "html"
    """A web page with status 200, as from a captive portal."""
    USAGE_MISSING = "usage-missing"
    """The whole answer, without token counts."""
    EMPTY_CHOICES = "empty-choices"
    LENGTH = "length"
    """Half of the text, with ``finish_reason`` ``length``."""
    REFUSAL = "refusal"
    """The model declines."""
    CONTENT_FILTER = "content-filter"
    """A filter of the provider removed the answer."""
    NOT_JSON = "not-json"
    """Text that is neither JSON nor code."""
    WRONG_LANGUAGE = "wrong-language"
    """The prose of the answer is Chinese."""
    ENDLESS = "endless"
    """An endless body, as fast as it is read."""
    TRICKLE = "trickle"
    """An endless body, one byte at a time."""
    BOMB = "bomb"
    """A compressed body of some kilobytes that unpacks to half a gigabyte."""
    ODD_PACKING = "odd-packing"
    """A body with a content encoding that was not requested."""
    REDIRECT = "redirect"
    """A redirect to another host, where the prompt would be answered."""
    ECHO = "echo"
    """The correct answer, with the request's key in every form, wherever an answer has text."""
    ECHO_ERROR = "echo-error"
    """Status 400, with the request's key in every form in body and headers."""

    @property
    def recoverable(self) -> bool:
        """Whether repeating the same request can still bring its answer."""
        return self not in FATAL


FATAL: Final = (
    ServerFaultKind.EMPTY_CHOICES,
    ServerFaultKind.LENGTH,
    ServerFaultKind.REFUSAL,
    ServerFaultKind.CONTENT_FILTER,
    ServerFaultKind.NOT_JSON,
    ServerFaultKind.WRONG_LANGUAGE,
)
"""An answer was sent and counted, but with a wrong text or none."""

HOSTILE: Final = (
    ServerFaultKind.ENDLESS,
    ServerFaultKind.TRICKLE,
    ServerFaultKind.BOMB,
    ServerFaultKind.ODD_PACKING,
    ServerFaultKind.REDIRECT,
    ServerFaultKind.ECHO,
    ServerFaultKind.ECHO_ERROR,
)
"""Attacks on memory, time, prompts or keys, which no provider makes by mistake. Drawn anew for each attempt."""

RECOVERABLE: Final = tuple(kind for kind in ServerFaultKind if kind not in FATAL + HOSTILE)
"""The correct answer came late or uncounted, or no answer came; repeating the request may bring it."""

_SECONDS: Final[Mapping[str, float | None]] = {
    ServerFaultKind.RATE_LIMITED_RETRY_AFTER: 1.0,
    ServerFaultKind.SLOW: 2.0,
    ServerFaultKind.STALLED: None,
    ServerFaultKind.TRICKLE: 0.05,
}
"""Kinds that take seconds, and their defaults."""


@dataclass(frozen=True, slots=True)
class ServerFault(TimedFault):
    """One fault of an attempt.

    Args:
        kind: What goes wrong.
        seconds: For ``429-retry-after``, the value of Retry-After (default 1); for ``slow``, the delay in addition to
            the server's latency (default 2); for ``stalled``, the time until the connection is reset (default never);
            for ``trickle``, the time between bytes (default 0.05). Other kinds take none.

    Raises:
        ValueError: There is no such kind, or it does not take these seconds.
    """

    kind: ServerFaultKind

    _kinds = ServerFaultKind
    _default_seconds = _SECONDS


FaultPlan: TypeAlias = Callable[[ChatRequest], ServerFault | None]
"""The fault of a request; null for none."""


class ScriptedServerFaults:
    """A plan with a fixed sequence of faults for the attempts at each identity; later attempts have none.

    For faults of one stage only, write a function of your own.

    Args:
        script: The faults; null for an attempt without fault.
    """

    def __init__(self, *script: ServerFault | ServerFaultKind | str | None) -> None:
        self._script = tuple(_fault(each) for each in script)

    def __call__(self, asked: ChatRequest) -> ServerFault | None:
        """Return the fault of this attempt."""
        return self._script[asked.attempt - 1] if asked.attempt <= len(self._script) else None


class SeededFaults:
    """A plan that draws faults by a hash of seed, identity and attempt.

    Recoverable faults are drawn anew for each attempt. Fatal ones are drawn per identity, and every attempt that has no
    recoverable fault then ends in the same way. Therefore the result of a record does not depend on how often its
    requests were repeated.

    Args:
        seed: Different seeds give different faults.
        rate: Share of attempts with a recoverable fault, from 0 to 1, among the first ``most`` at an identity.
        kinds: The kinds to draw from, recoverable and fatal.
        most: Maximum number of attempts at one identity with a recoverable fault. If it is below the client's number of
            attempts, every request gets its answer.
        fatal_rate: Share of identities with a fatal fault, from 0 to 1.

    Raises:
        ValueError: A rate is out of range, or there are no kinds for it.
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
        """Return the fault of this attempt."""
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
    """Parse faults separated by commas: kinds (``429,slow:2.5``), groups (such as ``recoverable``), ``all``, or ``ok``.

    Returns:
        The faults, with groups expanded; null for ``ok``, an answer without a fault.

    Raises:
        ValueError: A word is unknown.
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
