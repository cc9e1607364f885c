"""The errors hazardmill raises, all of one tree.

    HazardmillError
    ├── UsageError                     wrong call of a command              (exit 2)
    ├── InputError (ValueError)        what was read is not usable          (exit 3)
    │   ├── SourceError                a source's file or record
    │   ├── DocumentError              a task document
    │   ├── PlanningInputError         PDDL, sidecar or plan file
    │   ├── PromptError                a prompt template or its front matter
    │   └── SettingsError              settings file or environment
    ├── AuthoringError (ValueError)    a mistake in a task's Python code
    ├── FormalismError
    │   ├── SearchLimitReached         the search refused to go on
    │   ├── ProofKilled                proving was ended by memory or time: a bug
    │   ├── NotExpressible             a target format cannot say this task
    │   └── EngineError (RuntimeError) an external planner failed
    ├── SandboxError (RuntimeError)
    │   └── JailUnavailable            the jail cannot contain code here
    ├── StoreError (OSError)           the store cannot be read or written  (exit 3)
    │   ├── StoreLocked                another process writes this run      (exit 4)
    │   ├── CorruptStore               a journal, part or manifest is damaged
    │   │   └── PartGone               a part is not there (any more)
    │   └── SchemaMismatch             written by an incompatible version
    ├── ProviderError                  an LLM request came to nothing       (exit 5)
    │   ├── RateLimited, ProviderDown, ConnectionFailed                     (retryable)
    │   │   └── AnswerTooLarge         more bytes than an answer may have (a ProviderDown)
    │   ├── RequestRefused             authentication, credit
    │   │   ├── RedirectRefused        the provider sends requests to another host
    │   │   ├── ModelRefused           unknown or forbidden model
    │   │   └── PromptRefused          this one request: filtered, too long, not valid
    │   ├── BreakerOpen                the provider does not answer; nothing more is sent
    │   ├── UnusableAnswer             empty, cut, refused or malformed answer
    │   ├── ReplayMiss                 the ledger holds no such request
    │   └── NotRecorded                no answer to this request was recorded; other records go on
    ├── RunStopped                     stopped on purpose, resumable        (exit 4)
    │   └── BudgetReached              no money left for the next request
    ├── ReleaseRefused                 gates stopped a release              (exit 1)
    └── HubError                       a hub cannot be asked, or refuses    (exit 5)

Every error says what was wrong, where, and what to do: ``str(error)`` joins the three, and the parts stay
readable as attributes. Standard library only, because the jail and the verdict path import this module.
"""

from __future__ import annotations

from typing import ClassVar


class HazardmillError(Exception):
    """Base of all errors raised on purpose.

    Args:
        message: What was wrong, one sentence.
        file: The file concerned, if any.
        line: 1-based line in that file, if known.
        record_id: The record concerned, if any.
        remedy: What the reader can do about it.
    """

    retryable: ClassVar[bool] = False
    exit_code: ClassVar[int] = 1

    def __init__(
        self,
        message: str,
        *,
        file: str | None = None,
        line: int | None = None,
        record_id: str | None = None,
        remedy: str | None = None,
    ) -> None:
        self.message = message
        self.file = file
        self.line = line
        self.record_id = record_id
        self.remedy = remedy
        super().__init__(message)

    @property
    def where(self) -> str:
        """``file:line (record id)``, as much of it as is known."""
        place = self.file or ""
        if self.line is not None:
            place = f"{place}:{self.line}" if place else f"line {self.line}"
        if self.record_id is not None:
            place = f"{place} (record {self.record_id})" if place else f"record {self.record_id}"
        return place

    def __str__(self) -> str:
        text = f"{self.where}: {self.message}" if self.where else self.message
        return f"{text} [{self.remedy}]" if self.remedy else text

    def __reduce__(self) -> tuple[object, ...]:
        # Keyword-only arguments do not survive the default pickling between processes.
        return (_rebuild, (type(self), self.message, self.__dict__.copy()))


def _rebuild(cls: type[HazardmillError], message: str, state: dict[str, object]) -> HazardmillError:
    error = cls.__new__(cls)
    Exception.__init__(error, message)
    error.__dict__.update(state)
    return error


class UsageError(HazardmillError):
    """A command was called with words that do not go together."""

    exit_code = 2


class InputError(HazardmillError, ValueError):
    """Something read from outside is not usable."""

    exit_code = 3


class SourceError(InputError):
    """A source's file or record does not have the published format."""


class DocumentError(InputError):
    """A task document breaks its schema or the formalism."""


class PlanningInputError(InputError):
    """A PDDL file, danger sidecar or plan file cannot be read."""


class PromptError(InputError):
    """A prompt template or its front matter is wrong."""


class SettingsError(InputError):
    """The settings file or an environment variable is wrong."""


class AuthoringError(HazardmillError, ValueError):
    """A mistake in the Python code of a task; ``line`` is the line in that code."""


class FormalismError(HazardmillError):
    """Base of what search, writers and engines refuse."""


class SearchLimitReached(FormalismError):
    """The exact search met its expansion limit before it had an answer."""


class ProofKilled(FormalismError):
    """Proving took more memory or processor time than it may, though no bound had refused the task: a bug."""


class NotExpressible(FormalismError):
    """The target format has no way to say this task."""


class EngineError(FormalismError, RuntimeError):
    """An external planner crashed, timed out or answered nonsense."""


class SandboxError(HazardmillError, RuntimeError):
    """The jail itself failed; says nothing of the code that was to run in it."""


class JailUnavailable(SandboxError):
    """The jail cannot contain untrusted code on this machine."""


class StoreError(HazardmillError, OSError):
    """The store on disk cannot be read or written."""

    exit_code = 3


class StoreLocked(StoreError):
    """Another process writes what this one wants to write."""

    exit_code = 4


class CorruptStore(StoreError):
    """A journal, part or manifest is damaged."""


class PartGone(CorruptStore):
    """A part is not there: lost, or replaced by a compaction since the store was looked at."""


class SchemaMismatch(StoreError):
    """The store was written by an incompatible version."""


class ProviderError(HazardmillError):
    """A request to a language model came to nothing.

    Args:
        retry_after: Seconds the provider asked to wait, if it did.
    """

    exit_code = 5

    def __init__(self, message: str, *, retry_after: float | None = None, **where: str | int | None) -> None:
        super().__init__(message, **where)  # type: ignore[arg-type]  # passed through by name
        self.retry_after = retry_after


class RateLimited(ProviderError):
    """HTTP 429: too many requests or tokens."""

    retryable = True


class ProviderDown(ProviderError):
    """HTTP 5xx, overloaded, or an answer that is not from the API (an HTML page, half a body)."""

    retryable = True


class AnswerTooLarge(ProviderDown):
    """An answer with more bytes than any may have; it was not read to its end."""


class ConnectionFailed(ProviderError):
    """No connection, a reset one, or a timeout."""

    retryable = True


class RequestRefused(ProviderError):
    """Authentication or credit is wrong: asking again cannot help, and no other request would fare better."""


class RedirectRefused(RequestRefused):
    """The provider redirects to another host, which nobody chose to show prompts and key to: nothing was sent there."""


class ModelRefused(RequestRefused):
    """This model cannot be asked: unknown, or forbidden to this key. Another one may."""


class PromptRefused(RequestRefused):
    """This one request is turned away before anything is generated. Another model may take it, and this one others.

    Args:
        filtered: Whether the provider's filter did it; else it calls the request too long, or not valid.
    """

    def __init__(self, message: str, *, filtered: bool = False, **where: str | int | None) -> None:
        super().__init__(message, **where)  # type: ignore[arg-type]  # passed through by name
        self.filtered = filtered


class BreakerOpen(ProviderError):
    """Too many attempts in a row came to nothing: the provider is taken for down, and nothing more is sent."""


class UnusableAnswer(ProviderError):
    """The model answered, but with nothing the stage can use (empty, cut off, refused, wrong shape)."""


class ReplayMiss(ProviderError):
    """The replay backend was asked for a request that the ledger does not hold."""


class NotRecorded(ProviderError):
    """There is no recorded answer to this one request: its record stays pending, and others go on."""


class RunStopped(HazardmillError):
    """The run was stopped on purpose and can be resumed."""

    exit_code = 4


class BudgetReached(RunStopped):
    """What is left of the budget cannot pay for the next request. A normal end: the run goes on with more money."""


class ReleaseRefused(HazardmillError):
    """Gates stopped a release.

    Args:
        findings: What they found, one line each, in the order of the gates.
    """

    def __init__(self, message: str, *, findings: tuple[str, ...] = (), **where: str | int | None) -> None:
        super().__init__(message, **where)  # type: ignore[arg-type]  # passed through by name
        self.findings = findings


class HubError(HazardmillError):
    """A hub of datasets cannot be asked, or refuses what it was asked."""

    exit_code = 5
