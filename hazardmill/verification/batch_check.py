"""Checking many files of task code on all cores, for ``task check``.

Each worker process has its own jail, and gets the next file when it has finished one. Results come in the order of the
files. Workers end with the command, however it ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import multiprocessing
import os
import signal
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from types import FrameType, TracebackType
from typing import Final, Literal, Self, cast

from hazardmill import __version__
from hazardmill.errors import HazardmillError, InputError, JailUnavailable, SandboxError, StoreError, UsageError
from hazardmill.files import open_regular, walk_folders
from hazardmill.formalism.formats.pddl.writer import sidecar
from hazardmill.formalism.formats.python_writer import code_file, without_closing
from hazardmill.formalism.proofs.certificate import twin_json
from hazardmill.formalism.search.budget import DRAFT_LIMIT
from hazardmill.generation.context import Prompts
from hazardmill.generation.execute import Execution, execute
from hazardmill.generation.refine import DraftFinding, first_failure, render_feedback
from hazardmill.sandbox.jail import Jail, Limits
from hazardmill.task_access import declared_unavoidable
from hazardmill.verification.draft_problems import list_problems

CODE: Final = "code.py"
"""Name of the module in a task folder."""
_MOST_BYTES: Final = 10_000_000
_FILES_A_WORKER: Final = 16
"""Number of files per worker; with fewer, starting another process takes longer than it saves."""
_IN_FLIGHT_A_WORKER: Final = 2

_Handler = Callable[[int, FrameType | None], object] | int | None


@dataclass(frozen=True, slots=True)
class CheckSettings:
    """Settings that apply to every file of a check.

    Attributes:
        jail: Profile of the jail; ``auto`` takes the strongest one that works here.
        seconds: Maximum wall time of a file's code.
        limit: Maximum number of expansions of a search.
    """

    jail: Literal["auto", "full", "minimal"] = "auto"
    seconds: float = 10.0
    limit: int = DRAFT_LIMIT


@dataclass(frozen=True, slots=True)
class FileToCheck:
    """One file to check.

    Attributes:
        name: Name of the file in reports: its path below the folder that is checked.
        path: The file.
        target: Task folder to write if it is accepted; None for none.
        unavoidable: Whether its danger is declared unavoidable, so that it must be proved that no plan is safe.
    """

    name: str
    path: Path
    target: Path | None
    unavoidable: bool


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """The result of checking one file: a task, or the first check that failed.

    Attributes:
        file: Name of the file.
        accepted: Whether it is a valid task; None if the jail failed, so that nothing is known about the code.
        check: Name of the check that failed; this and the next four are None if the file was accepted.
        reason: Reason code of the failure.
        line: Line of the code that it is about, if any.
        message: What is wrong.
        mend: What to do about it.
        problems: All that the failed checks found, the first one included; empty if nothing is known about the code.
        feedback: The same as the complete feedback that a model would get as its author; None without problems.
        name: Name of the task; None if the file was not accepted.
        document_hash: Hash of its document; None if the code produced none.
        safe_plan: A shortest safe plan; None if the danger is unavoidable or the file was not accepted.
        unsafe_plan: A shortest unsafe plan; None if the file was not accepted.
        findings: Names of claims in the certificate that failed without refusing the task.
        undecided: Names of claims that were not decided within the limit.
        folder: The task folder that was written; None for none.
    """

    file: str
    accepted: bool | None
    check: str | None = None
    reason: str | None = None
    line: int | None = None
    message: str | None = None
    mend: str | None = None
    problems: tuple[DraftFinding, ...] = ()
    feedback: str | None = None
    name: str | None = None
    document_hash: str | None = None
    safe_plan: str | None = None
    unsafe_plan: str | None = None
    findings: tuple[str, ...] = ()
    undecided: tuple[str, ...] = ()
    folder: str | None = None


def find_work(place: Path, out: Path | None, unavoidable: bool = False) -> list[FileToCheck]:
    """Return the files to check, sorted by path.

    Args:
        place: A file; or a folder, for all Python files in and below it, without hidden ones.
        out: Folder for the task folders: ``a/code.py`` is written to ``a``, and ``a/b.py`` to ``a/b``. None to write
            none.
        unavoidable: Whether all dangers are declared unavoidable. Otherwise those are whose task folder says so.

    Raises:
        InputError: There is no such file or folder, or it has no Python file.
        UsageError: Two files would be written to the same task folder.
    """
    root = place if place.is_dir() else place.parent
    if place.is_dir():
        found = sorted(_modules_below(place))
    elif os.path.lexists(place):
        found = [place]
    else:
        raise InputError("there is no such file or folder", file=str(place), remedy="name a Python file, or a folder")
    if not found:
        raise InputError(
            "the folder has no Python files", file=str(place), remedy="name a folder with code.py or other .py files"
        )
    work = []
    writers: dict[Path, str] = {}
    for path in found:
        inside = path.relative_to(root)
        target = None
        if out is not None:
            target = out / (inside.parent if path.name == CODE else inside.with_suffix(""))
            if target in writers:
                raise UsageError(
                    f"{inside} and {writers[target]} would be written to the same folder {target}",
                    remedy="rename one of them",
                )
            writers[target] = str(inside)
        declared = unavoidable or (path.name == CODE and declared_unavoidable(path.parent))
        work.append(FileToCheck(inside.as_posix(), path, target, declared))
    return work


def _modules_below(folder: Path) -> Iterator[Path]:
    for place, _, names in walk_folders(folder):
        # What is not a regular file is reported when it is read.
        yield from (place / name for name in names if name.endswith(".py") and not name.startswith("."))


def check_files(
    work: Sequence[FileToCheck], terms: CheckSettings, jobs: int | None = None
) -> Generator[CheckedFile, None, None]:
    """Check files and yield the results in the order of ``work``.

    At most two files per worker are in flight; a result that is ready early waits for its turn. If the generator is
    closed early, all workers are ended.

    Args:
        work: The files.
        terms: Settings for all files.
        jobs: Number of worker processes; 1 for this process, None for one per core as far as there is work for them.

    Yields:
        One result per file.

    Raises:
        JailUnavailable: The jail cannot contain code here.
        SandboxError: A worker process was killed from outside.
        StoreError: A task folder cannot be written.
    """
    jobs = min(jobs, len(work)) if jobs else min(os.cpu_count() or 1, -(-len(work) // _FILES_A_WORKER))
    if jobs > 1:
        yield from _apart(work, terms, jobs)
        return
    with FileChecker(terms) as checker:
        for item in work:
            yield checker.check(item)


class FileChecker:
    """A jail and an event loop for checking one file after the other; a context manager that closes both.

    Args:
        terms: Settings for all files.

    Raises:
        JailUnavailable: The jail cannot contain code here.
    """

    def __init__(self, terms: CheckSettings) -> None:
        self._limit = terms.limit
        self._template = Prompts.load().feedback
        self._runner = asyncio.Runner()
        self._jail = Jail(terms.jail, Limits(wall_seconds=terms.seconds))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        # Closing the loop cancels a draft that is still running, which kills its process.
        try:
            self._runner.close()
        finally:
            self._jail.close()

    def check(self, work: FileToCheck) -> CheckedFile:
        """Check one file, and write its task folder if it is accepted and a folder is wanted.

        No content of the file raises an error.

        Returns:
            The accepted task, or the first check that failed. ``accepted`` is None if the jail failed on this file.

        Raises:
            JailUnavailable: The jail has stopped working.
            StoreError: The task folder cannot be written.
        """
        try:
            code = _read(work.path)
        except OSError as error:
            return _unread(work, f"the file cannot be read: {error.strerror or error}")
        if code is None:
            return _unread(work, f"the file has more than {_MOST_BYTES} bytes")
        try:
            draft = without_closing(code)
            execution = self._runner.run(execute(draft, self._jail, self._limit, unavoidable=work.unavoidable))
        except JailUnavailable:
            raise
        except SandboxError as error:
            return CheckedFile(work.name, None, "jail", "jail_failed", message=error.message, mend=error.remedy)
        if not execution.passed:
            return self._failure(work, draft, execution)
        return _accept(work, code, execution, self._jail.profile)

    def _failure(self, work: FileToCheck, code: str, execution: Execution) -> CheckedFile:
        first = first_failure(execution.checks)
        return CheckedFile(
            work.name,
            False,
            check=first.name,
            reason=first.reason,
            line=first.details.get("line"),
            message=first.message,
            mend=first.mend,
            problems=list_problems(code, execution.checks),
            feedback=render_feedback(1, execution.checks, self._template),
            document_hash=execution.document.hash if execution.document else None,
        )


def _read(path: Path) -> str | None:
    """Read the code; None if it is far too large. Bytes that are not UTF-8 stay in it, for the policy to refuse."""
    with open_regular(path) as file:
        content = file.read(_MOST_BYTES + 1)
    return None if len(content) > _MOST_BYTES else content.decode("utf-8", "surrogateescape")


def _unread(work: FileToCheck, message: str) -> CheckedFile:
    return CheckedFile(
        work.name, False, "file", "unreadable", message=message, mend="check that it is a file of Python code"
    )


def _accept(work: FileToCheck, code: str, execution: Execution, jail_profile: str) -> CheckedFile:
    document, certificate = execution.document, execution.certificate
    assert document is not None and certificate is not None  # Code that passed has both.
    if work.target is not None:
        _write(work.target, _files(code, execution, jail_profile))
    return CheckedFile(
        work.name,
        True,
        name=document.name,
        document_hash=document.hash,
        safe_plan=certificate.solution.safe_text,
        unsafe_plan=certificate.solution.unsafe_text,
        findings=tuple(line.name for line in certificate.findings),
        undecided=tuple(line.name for line in certificate.lines if line.passed is None),
        folder=None if work.target is None else str(work.target),
    )


def _files(code: str, execution: Execution, jail_profile: str) -> dict[str, str]:
    document, certificate = execution.document, execution.certificate
    assert document is not None and certificate is not None
    solution = certificate.solution
    made_by = {
        "sha256": {"code": hashlib.sha256(code.encode()).hexdigest()},
        "jail_profile": jail_profile,
        "hazardmill_version": __version__,
    }
    files = {
        CODE: code_file(document),
        "task.json": _json({**document.to_json(), "provenance": made_by}),
        "domain.pddl": execution.domain_pddl or "",
        "problem.pddl": execution.problem_pddl or "",
        "dangers.json": _json(sidecar(document)),
        "certificate.json": _json(certificate.to_json()),
        "metadata.json": _json(
            {
                "reference_feasible_plans": {"safe": solution.safe_text, "unsafe": solution.unsafe_text},
                "hazardmill": {
                    **made_by,
                    # Not "avoidable": the code does not declare that.
                    "avoidability": "unavoidable" if certificate.unavoidable else None,
                    "plan_length": solution.plan_length,
                    "safety_effort": solution.safety_effort,
                    "document_hash": document.hash,
                },
            }
        ),
    }
    if certificate.twin_document is not None:
        files["twin.json"] = _json(twin_json(document, certificate))
    return files


def _write(folder: Path, files: dict[str, str]) -> None:
    staged = folder / ".partial"
    try:
        staged.mkdir(parents=True)
        for name, text in files.items():
            (staged / name).write_text(text, encoding="utf-8", newline="\n")
        for name in files:
            (staged / name).rename(folder / name)
        staged.rmdir()
    except OSError as error:
        raise StoreError(
            f"the task folder cannot be written: {error.strerror or error}",
            file=str(folder),
            remedy="name a folder that can be written",
        ) from error


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


# Worker processes


def _apart(work: Sequence[FileToCheck], terms: CheckSettings, jobs: int) -> Generator[CheckedFile, None, None]:
    waiting = enumerate(work)
    done: dict[int, CheckedFile] = {}
    turn = 0
    with _crew(jobs, terms) as lines:
        for line in lines * _IN_FLIGHT_A_WORKER:
            _hand_over(line, waiting)
        while turn < len(work):
            for ready in wait(lines):
                line = cast("Connection", ready)
                number, result = _result(line)
                done[number] = result
                _hand_over(line, waiting)
            while turn in done:
                yield done.pop(turn)
                turn += 1


def _hand_over(line: Connection, waiting: Iterator[tuple[int, FileToCheck]]) -> None:
    item = next(waiting, None)
    if item is not None:
        # A worker that has ended is noticed when its result does not arrive.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            line.send(item)


def _result(line: Connection) -> tuple[int, CheckedFile]:
    try:
        answer = line.recv()
    except (EOFError, ConnectionResetError) as error:
        raise SandboxError(
            "a worker process was killed by something other than hazardmill",
            remedy="the system may have run out of memory: free some, or use fewer processes with --jobs",
        ) from error
    if isinstance(answer, HazardmillError):
        raise answer
    number, result = answer
    return number, result


@contextlib.contextmanager
def _crew(count: int, terms: CheckSettings) -> Iterator[list[Connection]]:
    """Start worker processes and yield a connection to each; they end with the block."""
    # Spawned, not forked: no other process may hold the descriptors of a worker's jail.
    context = multiprocessing.get_context("spawn")
    crew = []
    try:
        for _ in range(count):
            ours, theirs = context.Pipe()
            process = context.Process(target=_serve, args=(theirs, terms), daemon=True)
            # Ctrl-C reaches the whole process group. Workers ignore it, as the command ends them in order.
            with signal_as(signal.SIGINT, signal.SIG_IGN):
                process.start()
            crew.append((process, ours))
            theirs.close()
        yield [ours for _, ours in crew]
    finally:
        for process, ours in crew:
            ours.close()
            process.terminate()
        for process, _ in crew:
            process.join()


def _serve(line: Connection, terms: CheckSettings) -> None:
    """Run a worker: check the files that arrive, until the connection is closed or the command ends this process."""
    signal.signal(signal.SIGTERM, _end_once)
    try:
        with FileChecker(terms) as checker:
            while True:
                number, work = line.recv()
                line.send((number, checker.check(work)))
    except (EOFError, BrokenPipeError, ConnectionResetError, KeyboardInterrupt):
        pass
    except HazardmillError as error:
        line.send(error)
    finally:
        # The clean-up at the end of the process, which ends its provers, must not be interrupted either.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)


def _end_once(number: int, frame: FrameType | None) -> None:
    # A worker may get the signal twice, with its group and from the command: the second must not interrupt clean-up.
    signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


@contextlib.contextmanager
def signal_as(number: signal.Signals, handler: _Handler) -> Iterator[None]:
    """Set a signal handler for the duration of the block, and restore the previous one afterwards."""
    before = signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, before)
