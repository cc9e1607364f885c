"""The errors that hazardmill raises, all in one tree.

    HazardmillError
    ├── UsageError                     a command was called wrongly         (exit 2)
    │   ├── UnknownName (ValueError)   nothing has the name that was given (an InputError too)
    │   └── ExtraMissing               an optional package is not installed
    ├── InputError (ValueError)        input from outside is not usable     (exit 3)
    │   ├── SourceError                a source's file or record
    │   ├── DocumentError              a task document
    │   ├── PlanningInputError         PDDL, sidecar or plan file
    │   ├── PluginError                a plugin of an installed package
    │   ├── PromptError                a prompt template or its front matter
    │   └── SettingsError              settings file or environment
    ├── AuthoringError (ValueError)    a mistake in a task's Python code
    ├── FormalismError
    │   ├── SearchLimitReached         the task is too large for the search
    │   ├── ProofKilled                the prover ran out of memory or time: a bug
    │   ├── NotExpressible             a target format cannot express this task
    │   └── EngineError (RuntimeError) an external planner failed
    ├── SandboxError (RuntimeError)
    │   └── JailUnavailable            the jail cannot contain code here
    ├── StoreError (OSError)           the store cannot be read or written  (exit 3)
    │   ├── NoStore                    there is no store in this folder
    │   ├── StoreLocked                another process writes this run      (exit 4)
    │   ├── CorruptStore               a journal, part or manifest is damaged
    │   │   └── PartGone               a part is missing
    │   └── SchemaMismatch             written by an incompatible version
    ├── ProviderError                  an LLM request failed                (exit 5)
    │   ├── RateLimited, ProviderDown, ConnectionFailed                     (retryable)
    │   │   ├── AnswerTooLarge         the answer exceeds the byte limit (a ProviderDown)
    │   │   └── NothingListens         this machine refuses the connection (a ConnectionFailed)
    │   ├── RequestRefused             authentication, credit
    │   │   ├── RedirectRefused        the provider redirects to another host
    │   │   ├── ModelRefused           unknown or forbidden model
    │   │   └── PromptRefused          only this request: filtered, too long, not valid
    │   ├── BreakerOpen                the provider seems to be down; nothing more is sent
    │   ├── UnusableAnswer             the answer is empty, cut off, refused or malformed
    │   ├── AnswerPending              the request waits to be sent with others
    │   ├── ReplayMiss                 the ledger does not hold the request
    │   └── NotRecorded                no answer to this request was recorded
    ├── RunStopped                     stopped on purpose; can be resumed   (exit 4)
    │   ├── BudgetReached              the budget does not cover the next request
    │   └── RunWaiting                 answers are under way; resume to look for them
    ├── ReleaseRefused                 a release may not go out             (exit 1)
    └── HubError                       a hub cannot be reached, or refuses  (exit 5)

Every error says what was wrong, where, and what to do: ``str(error)`` joins the three, and the parts can be read
as attributes. Exit codes are inherited; a class without one above it exits with 1. This module imports only the
standard library, because the jail and the code that judges plans import it.
"""

from __future__ import annotations

from typing import ClassVar


class HazardmillError(Exception):
    """Base of all errors that hazardmill raises on purpose.

    Args:
        message: What was wrong, in one sentence.
        file: The file, folder or address concerned, if any.
        line: 1-based line in that file, if known.
        record_id: The record concerned, if any.
        remedy: What the reader can do about it.

    Attributes:
        retryable: Whether the same request may succeed if it is sent again; true only for some ``ProviderError``.
        exit_code: Exit code of a command that ends with this error.
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
        """The place as ``file:line (record id)``, without the parts that are not known; empty if none is."""
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
    """A command or function was called with arguments that do not fit together.

    The remedy names the argument to change.
    """

    exit_code = 2


class InputError(HazardmillError, ValueError):
    """Input from outside hazardmill cannot be used: a file, a record, a template or a setting.

    Also a ``ValueError``, so that callers who do not know this tree can catch it. Raised directly where no subclass
    fits, such as for an id that the store does not hold.
    """

    exit_code = 3


class UnknownName(UsageError, InputError):
    """Nothing has the name that was given: no source, run, record, task or fact.

    The remedy suggests names that are spelled alike (``hazardmill.text.suggestions``). Also an ``InputError``, for
    callers of the library.
    """


class ExtraMissing(UsageError):
    """A package is needed that hazardmill installs only with an extra.

    Args:
        message: What needs which package.
        extra: The extra in ``pyproject.toml``, which the remedy then says how to install.
        where: ``file``, ``line``, ``record_id`` and ``remedy``, as for ``HazardmillError``.
    """

    def __init__(self, message: str, *, extra: str | None = None, **where: str | int | None) -> None:
        if extra is not None:
            where["remedy"] = f"pip install 'hazardmill[{extra}]'"
        super().__init__(message, **where)  # type: ignore[arg-type]  # passed through by name


class SourceError(InputError):
    """A source does not load, or its input or download cannot be used.

    A single item of the wrong format raises nothing: it becomes a ``Reject``.
    """


class DocumentError(InputError):
    """A task document violates its schema or a rule of the formalism.

    Raised when a document is read or built, for example by ``Document.from_json``.
    """


class PlanningInputError(InputError):
    """A PDDL file, danger sidecar or plan file cannot be read.

    ``file`` and ``line`` point at the place where reading failed.
    """


class PluginError(InputError):
    """A plugin cannot be used: it does not load, is not what it should be, or failed while it worked.

    The message names its package and its entry point (``hazardmill.plugins``).
    """


class PromptError(InputError):
    """A prompt template, its front matter or a guidance file is not valid.

    ``file`` names it.
    """


class SettingsError(InputError):
    """The settings file or an environment variable is not valid, or settings rule each other out.

    Also raised where an installation lacks files of its own (see ``hazardmill.resources``).
    """


class AuthoringError(HazardmillError, ValueError):
    """A mistake in the Python code of a task.

    ``line`` is the 1-based line in that code. The message goes back to the author of the code as feedback.
    """


class FormalismError(HazardmillError):
    """Base of the errors of search, of the writers of formats, and of planning engines."""


class SearchLimitReached(FormalismError):
    """A search, a grounding or a structure id exceeded its effort limit before it had an answer.

    It means "not decided", never "there is no plan". A higher limit, a smaller task or another engine may help.
    """


class ProofKilled(FormalismError):
    """The proving process was ended because it exceeded its memory or processor time.

    Bounds on the size of a task should have refused it earlier, so that this is a bug of hazardmill.
    """


class NotExpressible(FormalismError):
    """The target format cannot express this task.

    The remedy names the construct to avoid, or another format.
    """


class EngineError(FormalismError, RuntimeError):
    """An external planner crashed, timed out or gave an answer that cannot be used.

    Also a ``RuntimeError``.
    """


class SandboxError(HazardmillError, RuntimeError):
    """The jail or the proving process itself failed, which says nothing about the code that was to run in it.

    Also a ``RuntimeError``. Catch ``JailUnavailable`` first where both matter.
    """


class JailUnavailable(SandboxError):
    """The jail cannot contain untrusted code on this machine, so it runs none.

    ``hazardmill doctor`` lists what is missing.
    """


class StoreError(HazardmillError, OSError):
    """The store, another output folder or standard output cannot be read or written.

    Also an ``OSError``.
    """

    exit_code = 3


class NoStore(StoreError):
    """There is no store in this folder, which may not exist either.

    Commands that take a store or another folder then read the folder.
    """


class StoreLocked(StoreError):
    """Another process holds the lock of what this one wants to write.

    It passes when that process ends; nothing is damaged.
    """

    exit_code = 4


class CorruptStore(StoreError):
    """A journal, part, manifest or shared budget is damaged.

    The remedy names the command that repairs it where there is one.
    """


class PartGone(CorruptStore):
    """A part of a table is missing: lost, or replaced by a compaction since the snapshot was taken.

    ``Store.read`` takes a new snapshot and tries again, so that callers see this only if the part is lost.
    """


class SchemaMismatch(StoreError):
    """The store was written by an incompatible version of hazardmill."""


class ProviderError(HazardmillError):
    """A request to a language model brought no usable answer.

    Args:
        message: What was wrong, in one sentence, without secrets.
        retry_after: Seconds that the provider asked to wait; null if it did not.
        where: ``file``, ``line``, ``record_id`` and ``remedy``, as for ``HazardmillError``.
    """

    exit_code = 5

    def __init__(self, message: str, *, retry_after: float | None = None, **where: str | int | None) -> None:
        super().__init__(message, **where)  # type: ignore[arg-type]  # passed through by name
        self.retry_after = retry_after


class RateLimited(ProviderError):
    """HTTP 429: too many requests or tokens in a period.

    Retried until the deadline, with no limit on the number of attempts, and counted as having cost nothing.
    """

    retryable = True


class ProviderDown(ProviderError):
    """The provider is down or overloaded (HTTP 5xx), or what it sent is not an answer of its API.

    An HTML page and half a body count as such.
    """

    retryable = True


class AnswerTooLarge(ProviderDown):
    """The answer has more bytes than ``--max-answer-bytes`` allows, so it was not read to its end.

    It may have cost money: the budget counts the most that it can have cost.
    """


class ConnectionFailed(ProviderError):
    """No connection could be made, it was reset, or the answer did not arrive in time.

    Whether the request cost anything is not known.
    """

    retryable = True


class NothingListens(ConnectionFailed):
    """A port of this machine refuses the connection, because no server listens there.

    Retried once only: a server here that is not running will not come back by itself, unlike one elsewhere.
    """


class RequestRefused(ProviderError):
    """The provider refuses the request for a reason that holds for all of them, such as a wrong key or no credit.

    Neither another attempt nor another request would fare better, so the run stops. The subclasses are refusals of
    one model or one request.
    """


class RedirectRefused(RequestRefused):
    """The provider redirects to another host, port or scheme; nothing was sent there.

    Nobody chose that host, so it must not see prompts and keys. A redirect from http to https on the same host passes.
    """


class ModelRefused(RequestRefused):
    """This model cannot be asked: it is unknown, or this key may not use it.

    The next fallback model is asked instead, if there is one.
    """


class PromptRefused(RequestRefused):
    """The provider turns this one request away before it generates anything.

    Another model may accept the request, and this model may accept others.

    Args:
        message: What was wrong, in one sentence, without secrets.
        filtered: Whether the provider's content filter refused it; otherwise it is too long or not valid.
        where: ``file``, ``line``, ``record_id`` and ``remedy``, as for ``HazardmillError``.
    """

    def __init__(self, message: str, *, filtered: bool = False, **where: str | int | None) -> None:
        super().__init__(message, **where)  # type: ignore[arg-type]  # passed through by name
        self.filtered = filtered


class BreakerOpen(ProviderError):
    """Too many attempts in a row failed, so the model is taken to be down and nothing more is sent to it.

    The next fallback model is asked instead, if there is one.
    """


class UnusableAnswer(ProviderError):
    """The model answered, but with nothing that the stage can use: empty, cut off, refused or of the wrong shape.

    docs/answers.md lists what becomes of each kind of answer.
    """


class AnswerPending(ProviderError):
    """The request was put among those that are sent together. Its answer may come hours later.

    The record goes on when the answer is there. Nothing has failed.
    """


class ReplayMiss(ProviderError):
    """The replay backend was asked for a request whose answer the ledger does not hold.

    A prompt, a model or a parameter differs from those of the run that is replayed.
    """


class NotRecorded(ProviderError):
    """The recordings hold no answer to this request.

    The record stays pending, and the run continues with the others.
    """


class RunStopped(HazardmillError):
    """The run was stopped on purpose and can be resumed.

    What was paid for or downloaded so far is kept.
    """

    exit_code = 4


class BudgetReached(RunStopped):
    """What is left of the budget does not cover the most that the next request can cost.

    This is a normal end of a run: resume it with a larger budget.
    """


class RunWaiting(RunStopped):
    """Everything that can be done is done; the rest needs answers that are under way.

    Nothing has failed: resuming the run looks whether the answers are there.
    """


class ReleaseRefused(HazardmillError):
    """A release may not be written or pushed: a gate did not pass, its version is too low, or its tasks are no dataset.

    Args:
        message: What was wrong, in one sentence.
        findings: What was found, one line per finding, in the order of the gates.
        summary: The same for people, one line per reason; by default the findings.
        where: ``file``, ``line``, ``record_id`` and ``remedy``, as for ``HazardmillError``.
    """

    def __init__(
        self,
        message: str,
        *,
        findings: tuple[str, ...] = (),
        summary: tuple[str, ...] | None = None,
        **where: str | int | None,
    ) -> None:
        super().__init__(message, **where)  # type: ignore[arg-type]  # passed through by name
        self.findings = findings
        self.summary = findings if summary is None else summary


class HubError(HazardmillError):
    """A dataset hub cannot be reached, or refuses a request.

    The message never holds the token.
    """

    exit_code = 5
