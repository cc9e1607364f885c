"""The kinds of fault of batches, and plans that decide which call, batch or line gets which.

A plan is any function from a ``BatchCall`` to a kind or null. A kind that does not apply to the call has no effect.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias


class BatchStep(StrEnum):
    """What a client asks of the server about batches, or what the server does with a batch."""

    UPLOAD = "upload"
    CREATE = "create"
    STATUS = "status"
    LIST = "list"
    CONTENT = "content"
    CANCEL = "cancel"
    RUN = "run"
    """The server works on a batch."""
    LINE = "line"
    """The server answers one line of a batch."""


@dataclass(frozen=True, slots=True)
class BatchCall:
    """One step with a batch, as plans see it.

    Attributes:
        step: What is done.
        batch: Name in the metadata of the batch, else the SHA-256 of its file of requests; empty for a list.
        attempt: From 1: for a call, how many times it was made about this batch; for a run, one more than the number of
            earlier batches that held one of its lines; for a line, as ``ChatRequest.attempt``.
        number: Number of the batch in the order of creation, from 1; null before there is one.
    """

    step: BatchStep
    batch: str
    attempt: int
    number: int | None = None
    custom_id: str | None = None
    """Id of the line; null for what is not about a line, as is the model."""
    model: str | None = None


class BatchFaultKind(StrEnum):
    """What goes wrong with a batch, with one of its lines, or with a call about it."""

    RATE_LIMITED = "429"
    """Status 429 for any call."""
    UPLOAD_ERROR = "upload-500"
    """Status 500 for an upload; there is no file."""
    CREATE_ERROR = "create-500"
    """Status 500 for the creation of a batch; there is no batch."""
    CREATE_LOST = "create-lost"
    """Status 500 for the creation of a batch, which was made all the same: its id is lost."""
    STATUS_ERROR = "status-500"
    """Status 500 for a question about a batch."""
    CONTENT_ERROR = "content-500"
    """Status 500 for the content of a file."""
    CONTENT_CUT = "content-cut"
    """The first half of a file as if it were all; it ends within a line."""
    INVALID = "invalid"
    """The check of the requests fails; no line is answered."""
    EXPIRED = "expired"
    """Time is up after half of the lines; the others are in the error file."""
    CANCELLED = "cancelled"
    """Somebody cancels the batch after half of the lines; the others are in the error file."""
    UNORDERED = "unordered"
    """The answers come in reverse order."""
    LINE_RATE_LIMITED = "line-429"
    """The line is in the error file with status 429."""
    LINE_ERROR = "line-500"
    """The line is in the error file with status 500."""
    LINE_REFUSED = "line-400"
    """The line is in the error file with status 400."""
    LINE_MISSING = "line-missing"
    """The line is answered, and in neither file."""
    LINE_DOUBLED = "line-doubled"
    """The answer is there twice."""
    LINE_UNKNOWN = "line-unknown"
    """The answer carries an id that no line has."""
    LINE_OTHER_MODEL = "line-other-model"
    """Another model than the one asked gave the answer, and says so."""
    LINE_CUT = "line-cut"
    """The answer's line ends in the middle of its JSON."""

    @property
    def steps(self) -> frozenset[BatchStep]:
        """The steps to which the kind applies."""
        return _STEPS[self]


_CALLS: Final = frozenset(BatchStep) - {BatchStep.RUN, BatchStep.LINE}
_RUN_FAULTS: Final = (
    BatchFaultKind.INVALID,
    BatchFaultKind.EXPIRED,
    BatchFaultKind.CANCELLED,
    BatchFaultKind.UNORDERED,
)


def _steps(kind: BatchFaultKind) -> frozenset[BatchStep]:
    if kind is BatchFaultKind.RATE_LIMITED:
        return _CALLS
    return frozenset({BatchStep.RUN if kind in _RUN_FAULTS else BatchStep(kind.partition("-")[0])})


_STEPS: Final[Mapping[BatchFaultKind, frozenset[BatchStep]]] = {kind: _steps(kind) for kind in BatchFaultKind}

BatchFaultPlan: TypeAlias = Callable[[BatchCall], BatchFaultKind | None]
"""The fault of a step; null for none."""


class ScriptedBatchFaults:
    """A plan with a fixed sequence of faults. Each step takes the kinds that apply to it, one per attempt.

    ``ScriptedBatchFaults("create-lost", "content-500", "content-cut")`` loses the id of each batch once, and spoils
    the first two downloads of each file.

    Args:
        script: The kinds.

    Raises:
        ValueError: There is no such kind.
    """

    def __init__(self, *script: BatchFaultKind | str) -> None:
        kinds = [BatchFaultKind(kind) for kind in script]
        self._script = {step: [kind for kind in kinds if step in kind.steps] for step in BatchStep}

    def __call__(self, call: BatchCall) -> BatchFaultKind | None:
        """Return the fault of this step."""
        script = self._script[call.step]
        return script[call.attempt - 1] if call.attempt <= len(script) else None


class SeededBatchFaults:
    """A plan that draws faults by a hash of seed, step, batch or line, and attempt.

    Args:
        seed: Different seeds give different faults.
        rate: Share of steps with a fault, from 0 to 1, among the first ``most`` attempts, if a kind applies to them.
        kinds: The kinds to draw from; by default all.
        most: Maximum number of attempts at one step with a fault.

    Raises:
        ValueError: The rate is out of range, or there is no such kind.
    """

    def __init__(
        self,
        seed: int = 0,
        *,
        rate: float = 0.3,
        kinds: Iterable[BatchFaultKind | str] = tuple(BatchFaultKind),
        most: int = 3,
    ) -> None:
        if not 0 <= rate <= 1:
            raise ValueError(f"rate must be between 0 and 1, got {rate:g}")
        faults = [BatchFaultKind(kind) for kind in kinds]
        self._seed = seed
        self._rate = rate
        self._most = most
        self._kinds = {step: [kind for kind in faults if step in kind.steps] for step in BatchStep}

    def __call__(self, call: BatchCall) -> BatchFaultKind | None:
        """Return the fault of this step."""
        kinds = self._kinds[call.step]
        if not kinds or call.attempt > self._most:
            return None
        words = f"{self._seed}/{call.step}/{call.custom_id or call.batch}/{call.attempt}"
        digest = hashlib.sha256(words.encode()).digest()
        if int.from_bytes(digest[:8]) >= self._rate * 2**64:
            return None
        return kinds[int.from_bytes(digest[8:16]) % len(kinds)]


def parse_batch_faults(text: str) -> tuple[BatchFaultKind, ...]:
    """Parse kinds separated by commas (``create-lost,line-500``), or ``all``.

    Returns:
        The kinds, with ``all`` expanded.

    Raises:
        ValueError: A word is unknown.
    """
    words = [word for word in map(str.strip, text.split(",")) if word]
    for word in words:
        if word != "all" and word not in list(BatchFaultKind):
            raise ValueError(f"no such fault: {word!r}; name all, or one of {', '.join(BatchFaultKind)}")
    return tuple(kind for word in words for kind in (BatchFaultKind if word == "all" else (BatchFaultKind(word),)))
