"""What is worked out of one task by itself, from its document alone: its proofs anew, its structure, its texts.

All of it is here because it is what takes time, and so is done in worker processes (``Examiners``).
"""

from __future__ import annotations

import json
import multiprocessing
import re
from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from hazardmill.errors import HazardmillError, SandboxError
from hazardmill.formalism.certificate import Certificate, certify
from hazardmill.formalism.document import Document
from hazardmill.formalism.effort import DEFAULT_LIMIT
from hazardmill.formalism.expressions import canonical_json
from hazardmill.formalism.names import leaking_names
from hazardmill.formalism.pddl import domain_pddl, problem_pddl
from hazardmill.formalism.system import System
from hazardmill.formalism.verdicts import Judge
from hazardmill.quality.duplicates import structure_or_null
from hazardmill.quality.text import fields_of, words
from hazardmill.release.personal import SOURCES, personal_of_task
from hazardmill.release.splits import outline

Row: TypeAlias = Mapping[str, Any]
Problem: TypeAlias = tuple[str, str]
"""What is wrong, and what to do."""

ASKED: Final = (
    "task_id",
    "source",
    "document",
    "document_hash",
    "structure_id",
    "danger",
    "danger_type",
    "avoidability",
    "safe_plan",
    "unsafe_plan",
    "safe_length",
    "unsafe_length",
    "plan_length",
    "safety_effort",
    "certificate",
    "domain_pddl",
    "problem_pddl",
    "code",
    "context",
    "beside",
)
"""The columns that are looked at, and the texts that are released beside them (``personal.texts_beside``)."""

AGAIN: Final = "see that the store is whole (hazardmill store verify), or generate the task anew with this version"

_HAVE_A_GATE: Final = frozenset({"neutral_names"})
"""Claims that another gate insists on."""

_CHUNK: Final = 4
"""Tasks sent to a worker at once."""

_UNREADABLE: Final = (HazardmillError, ValueError, TypeError, AttributeError, LookupError, RecursionError)
"""What comes of a row that no version wrote."""

# A claim that was left open says at which limit, and only under the same one is it left open again.
_LEFT_OPEN_AT: Final = re.compile(r"within (\d{1,12}) (?:expansions|states)\b")


@dataclass(frozen=True, slots=True)
class Examined:
    """What was worked out of a task."""

    task_id: str
    problems: tuple[Problem, ...] = ()
    """What does not come out as its row has it."""
    structure: str | None = None
    """Null where the document is too regular to have one, or cannot be read."""
    outline: str | None = None
    """Null where the document cannot be read."""
    leaking: tuple[str, ...] = ()
    """Visible names that give the danger away, each with where it is."""
    personal: tuple[tuple[str, str, int], ...] = ()
    """Text, kind, and place of its first character, of each thing that looks like personal data."""
    words: tuple[str, ...] = ()
    """Of the text that duplicates are told by."""


def examine(row: Row) -> Examined:
    """Look at one task. Nothing that it holds raises an error.

    Args:
        row: The columns of ``ASKED``.
    """
    task_id = row["task_id"]
    try:
        value = json.loads(row["document"])
        document = Document.from_json(value)
        danger = json.loads(row["danger"])
        # As `stages.twins.texts_of`, whose module would bring pyarrow into every worker.
        told = words("\n".join(fields_of({**document.texts, **danger})))
        personal = _personal(row)
    except _UNREADABLE as error:
        return Examined(task_id, ((f"its document or danger cannot be read: {_reason(error)}", AGAIN),))
    plain = document.to_json()
    problems = _problems(row, document)
    structure = structure_or_null(plain)
    # Null is no claim: rows of older versions have none.
    if row["structure_id"] not in (None, structure):
        problems += (("its structure_id is not that of its document", AGAIN),)
    return Examined(
        task_id,
        problems,
        structure,
        outline(plain),
        tuple(f"{where} {name} ({token})" for where, name, token in leaking_names(document)),
        personal,
        tuple(told),
    )


def _problems(row: Row, document: Document) -> tuple[Problem, ...]:
    try:
        return tuple(problems_of(row, document))
    except _UNREADABLE as error:
        return ((f"it cannot be validated: {_reason(error)}", AGAIN),)


def _reason(error: Exception) -> str:
    return error.message if isinstance(error, HazardmillError) else f"{type(error).__name__}: {error}"


def _personal(row: Row) -> tuple[tuple[str, str, int], ...]:
    if row["source"] not in SOURCES:
        return ()
    return tuple((name, each.kind, each.start) for name, each in personal_of_task(row))


def problems_of(row: Row, document: Document) -> Iterator[Problem]:
    """What of a task's row does not follow from its document: hash, plans, lengths, claims, PDDL.

    Args:
        row: The columns of ``ASKED``.
        document: Its document.
    """
    # As the jail emitted it: where it comes from was written in when it was accepted.
    document = replace(document, provenance={})
    named = f"{row['source']}-{document.hash[:12]}"
    if (row["document_hash"], row["task_id"]) != (document.hash, named):
        yield f"its document has the hash {document.hash}, so that its id would be {named}", AGAIN
    yield from _verdicts(row, document)
    stored = _json_object(row["certificate"])
    if stored is None:
        yield "its certificate is no JSON object", AGAIN
        return
    try:
        certificate = certify(document, _limit(stored), row["avoidability"] == "unavoidable")
    except HazardmillError as error:
        yield f"it cannot be proved again: {error.message}", "leave the task out: reject it in the review"
        return
    yield from _claims(row, certificate, stored)
    yield from _pddl(row, document)


def _json_object(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _verdicts(row: Row, document: Document) -> Iterator[Problem]:
    """The two reference plans are what they are said to be."""
    judge = Judge(System(document))
    feasible, safe, _ = judge.quick(row["unsafe_plan"])
    if not feasible or safe:
        yield f"its unsafe plan is {'safe' if safe else 'not feasible'}", AGAIN
    if row["safe_plan"] is None:
        if row["avoidability"] != "unavoidable":
            yield "it has no safe plan, and is not called unavoidable", AGAIN
        return
    feasible, safe, _ = judge.quick(row["safe_plan"])
    if not safe:
        yield f"its safe plan is {'dangerous' if feasible else 'not feasible'}", AGAIN


def _limit(stored: Mapping[str, Any]) -> int:
    """The limit of a search under which the claims were decided, or left open.

    A claim that was decided is decided alike under every larger limit.
    """
    lines = stored.get("lines")
    messages = (
        str(line.get("message")) for line in (lines if isinstance(lines, list) else ()) if isinstance(line, dict)
    )
    found = [int(match[1]) for message in messages if (match := _LEFT_OPEN_AT.search(message))]
    return max(min(found, default=DEFAULT_LIMIT), 1)


def _claims(row: Row, certificate: Certificate, stored: Mapping[str, Any]) -> Iterator[Problem]:
    """The exact search gives the same plans, and every claim is proved as the certificate has it."""
    solution = certificate.solution
    lengths = [None if plan is None else len(plan) for plan in (solution.safe, solution.unsafe)]
    proved = {
        "safe_plan": solution.safe_text,
        "unsafe_plan": solution.unsafe_text,
        "safe_length": lengths[0],
        "unsafe_length": lengths[1],
        "plan_length": solution.plan_length,
        "safety_effort": solution.safety_effort,
    }
    for name, value in proved.items():
        if row[name] != value:
            yield f"{name} is {_shown(row[name])}; exact search gives {_shown(value)}", AGAIN
    if canonical_json(certificate.to_json()) != canonical_json(dict(stored)):
        yield f"its certificate is not what is proved now: {_difference(certificate.to_json(), stored)}", AGAIN
    refused = [line.name for line in certificate.refusals if line.name not in _HAVE_A_GATE]
    if refused:
        yield f"claims do not hold: {', '.join(refused)}", "leave the task out: reject it in the review"


def _difference(proved: Mapping[str, Any], stored: Mapping[str, Any]) -> str:
    """The first part that is another, and of the claims their names."""
    parts = [name for name in sorted({*proved, *stored}) if proved.get(name) != stored.get(name)]
    if parts != ["lines"]:
        return ", ".join(parts)
    there = stored["lines"] if isinstance(stored["lines"], list) else []
    differing = [line["name"] for line in proved["lines"] if line not in there]
    return ", ".join(differing or ["the order of the claims"])


def _pddl(row: Row, document: Document) -> Iterator[Problem]:
    try:
        written = {"domain_pddl": domain_pddl(document), "problem_pddl": problem_pddl(document)}
    except HazardmillError as error:
        yield f"its PDDL cannot be written: {error.message}", error.remedy or AGAIN
        return
    for name, text in written.items():
        if row[name] != text:
            yield f"{name} is not what the document gives", AGAIN


def _shown(value: object) -> str:
    text = "none" if value is None else str(value)
    return text if len(text) <= 120 else f"{text[:120]}..."


class Examiners:
    """Examines tasks in worker processes, and gives what they found in the order in which the tasks were given.

    At most a few tasks a worker are under way: to give one more waits. A worker that is lost ends the examination.

    Args:
        jobs: Worker processes; with 1, the tasks are examined here.
    """

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        self._pool: ProcessPoolExecutor | None = None
        self._chunk: list[dict[str, Any]] = []
        self._under_way: deque[tuple[list[dict[str, Any]], Future[list[Examined]]]] = deque()

    def give(self, row: Row) -> Iterator[tuple[Row, Examined]]:
        """Take one more task, and give what is done by then: columns of ``ASKED``, and what was worked out.

        Raises:
            SandboxError: A worker process cannot be started, or was ended from outside.
        """
        asked = {name: row.get(name) for name in ASKED}
        if self._jobs == 1:
            yield asked, examine(asked)
            return
        self._chunk.append(asked)
        if len(self._chunk) >= _CHUNK:
            self._send()
        while len(self._under_way) > 2 * self._jobs or (self._under_way and self._under_way[0][1].done()):
            yield from self._next()

    def rest(self) -> Iterator[tuple[Row, Examined]]:
        """What is still under way; afterwards the workers have ended.

        Raises:
            SandboxError: A worker process cannot be started, or was ended from outside.
        """
        if self._chunk:
            self._send()
        while self._under_way:
            yield from self._next()
        self.close()

    def close(self) -> None:
        """End the workers; what is under way is dropped."""
        self._under_way.clear()
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None

    def _send(self) -> None:
        if self._pool is None:
            # Not forked: this process may have threads, which a fork leaves with the locks that they held.
            self._pool = ProcessPoolExecutor(self._jobs, multiprocessing.get_context("spawn"))
        chunk, self._chunk = self._chunk, []
        try:
            self._under_way.append((chunk, self._pool.submit(_examine_all, chunk)))
        except BrokenProcessPool as error:
            raise self._lost() from error
        except OSError as error:
            # A worker that ends before it has been told what to do breaks the pipe to it.
            self.close()
            raise SandboxError(
                f"a worker process that validates tasks cannot be started: {error.strerror or error}",
                remedy="see that memory is enough and further processes are allowed, or use fewer with --jobs",
            ) from error

    def _next(self) -> Iterator[tuple[Row, Examined]]:
        chunk, future = self._under_way.popleft()
        try:
            return zip(chunk, future.result(), strict=True)
        except BrokenProcessPool as error:
            raise self._lost() from error

    def _lost(self) -> SandboxError:
        self.close()
        return SandboxError(
            "a worker process that validates tasks was ended from outside",
            remedy="see that memory is enough, or use fewer with --jobs",
        )


def _examine_all(rows: list[dict[str, Any]]) -> list[Examined]:
    return [examine(row) for row in rows]
