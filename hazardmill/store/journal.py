"""The journal: files of checksummed JSON lines ("segments"), durable before the appender continues.

A line is ``crc32 of the JSON, 8 hex digits`` + space + ``JSON`` + newline. The first line is a header; each other line
is one group of rows over any tables. Appends that wait at the same time share one fsync, so nobody waits longer than
for the fsync under way plus one more. Only the end of a file can be torn: a last line without its newline was never
acknowledged and is dropped. Any other damage is an error.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import zlib
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from hazardmill.errors import CorruptStore, SchemaMismatch, StoreError
from hazardmill.store.files.fsync_io import Fault, is_same, no_fault, store_error, sync_folder
from hazardmill.store.maintenance.findings import UPGRADE, rebuild_remedy
from hazardmill.store.root import gone_error
from hazardmill.store.rows import Packed
from hazardmill.store.schemas import SCHEMA_VERSION, TABLES

JOURNAL_FORMAT: Final = 1


@dataclass(frozen=True)
class Segment:
    """The content of a segment.

    Attributes:
        name: The file's name without ``.jsonl``.
        groups: Groups of (table, packed row), in the order in which they were appended.
    """

    name: str
    groups: tuple[tuple[tuple[str, Packed], ...], ...]
    torn: bool
    """Whether the last line was cut off, because its writer died before it was acknowledged."""

    def rows(self, table: str) -> list[Packed]:
        """Return the rows of one table, in order."""
        return [row for group in self.groups for name, row in group if name == table]

    @property
    def tables(self) -> list[str]:
        """The tables that have rows here, sorted."""
        return sorted({name for group in self.groups for name, _ in group})


def frame(payload: bytes) -> bytes:
    """Return ``payload`` as a line of the journal: checksum, space, payload, newline."""
    return b"%08x %s\n" % (zlib.crc32(payload), payload)


def read_segment(path: Path) -> Segment:
    """Return the content of a segment, which may be one that is being written.

    Args:
        path: The segment.

    Raises:
        FileNotFoundError: It is gone, most likely converted to parts.
        CorruptStore: A line was changed after it was written; names file and line.
        SchemaMismatch: A newer version of hazardmill wrote it.
    """
    *lines, tail = path.read_bytes().split(b"\n")
    payloads = [parse_line(path, number, line) for number, line in enumerate(lines, start=1)]
    if payloads:
        check_header(path, payloads[0])
    groups = tuple(parse_group(path, number, payload) for number, payload in enumerate(payloads[1:], start=2))
    return Segment(path.stem, groups, bool(tail))


def _corrupt(path: Path, line: int, message: str) -> CorruptStore:
    return CorruptStore(
        message,
        file=str(path),
        line=line,
        remedy=rebuild_remedy(path.parents[1]),
    )


def parse_line(path: Path, number: int, line: bytes) -> dict[str, Any]:
    """Return the JSON of one line.

    Args:
        path: The segment, for errors.
        number: Number of the line, from 1, for errors.
        line: The line without its newline.

    Raises:
        CorruptStore: The line does not match its checksum.
    """  # noqa: DOC501  # the helper makes a CorruptStore
    checksum, _, text = line.partition(b" ")
    if checksum != b"%08x" % zlib.crc32(text):
        raise _corrupt(path, number, "the journal line does not match its checksum")
    payload: dict[str, Any] = json.loads(text)
    return payload


def check_header(path: Path, header: dict[str, Any]) -> None:
    """Refuse a header that is invalid or written by a newer hazardmill.

    Args:
        path: The segment, for errors.
        header: The JSON of its first line.

    Raises:
        CorruptStore: It is not a header.
        SchemaMismatch: A newer hazardmill wrote it.
    """  # noqa: DOC501  # the helper makes a CorruptStore
    if "journal" not in header:
        raise _corrupt(path, 1, "the journal segment does not begin with its header")
    if header["journal"] > JOURNAL_FORMAT or header["schema"] > SCHEMA_VERSION:
        raise SchemaMismatch(
            f"the segment has journal format {header['journal']} and schema {header['schema']}; "
            f"this hazardmill reads up to {JOURNAL_FORMAT} and {SCHEMA_VERSION}",
            file=str(path),
            remedy=UPGRADE,
        )


def parse_group(path: Path, number: int, payload: dict[str, Any]) -> tuple[tuple[str, Packed], ...]:
    """Return the rows of a line as (table, packed row).

    Args:
        path: The segment, for errors.
        number: Number of the line, from 1, for errors.
        payload: The JSON of the line.

    Raises:
        CorruptStore: A row belongs to an unknown table.
    """  # noqa: DOC501  # the helper makes a CorruptStore
    group = tuple((name, row) for name, row in payload["rows"])
    unknown = {name for name, _ in group} - TABLES.keys()
    if unknown:
        raise _corrupt(path, number, f"the journal line has rows of an unknown table {sorted(unknown)}")
    return group


SWITCH_S: Final = 0.001
"""Seconds after which a computing thread yields to another one, set when this process writes its first segment;
Python's default is five times as long. Otherwise the thread that writes would wait that long about six times per
commit, after each system call, while the thread that asks models computes."""


class SegmentWriter:
    """Appends to one new segment. A thread of its own writes and syncs; any thread may append.

    Args:
        path: The file to create, in an existing folder: a journal that was removed is not created again.
        run_id: The run that the segment belongs to.
        fault: Called at ``journal.write``, ``journal.written`` and ``journal.synced``.

    Raises:
        StoreError: The file cannot be created.
    """

    def __init__(self, path: Path, run_id: str, fault: Fault = no_fault) -> None:
        self.path = path
        self._fault = fault
        self._wake = threading.Condition()
        self._waiting: list[tuple[bytes, Future[None]]] = []
        self._closing = False
        self._failure: StoreError | None = None
        try:
            self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o644)
            sync_folder(path.parent)
        except OSError as error:
            raise store_error(error, path, "create the journal segment") from error
        sys.setswitchinterval(min(sys.getswitchinterval(), SWITCH_S))
        self._thread = threading.Thread(target=self._work, name=f"journal {path.stem}", daemon=True)
        self._thread.start()
        header = {"journal": JOURNAL_FORMAT, "schema": SCHEMA_VERSION, "run_id": run_id}
        self.append(json.dumps(header).encode())

    def append(self, payload: bytes) -> Future[None]:
        """Queue one line.

        Returns:
            A future that is done when the line is on disk; cancelling it does not undo the write.

        Raises:
            StoreError: The segment failed before, or is closed.
        """
        future: Future[None] = Future()
        future.set_running_or_notify_cancel()
        with self._wake:
            if self._failure is not None:
                raise self._failure
            if self._closing:
                raise StoreError("the journal segment is closed", file=str(self.path))
            self._waiting.append((frame(payload), future))
            self._wake.notify()
        return future

    def close(self) -> None:
        """Write what is queued and close the file.

        Raises:
            StoreError: An append to this segment failed.
        """
        with self._wake:
            self._closing = True
            self._wake.notify()
        self._thread.join()
        if self._failure is not None:
            raise self._failure

    def _work(self) -> None:
        while True:
            with self._wake:
                self._wake.wait_for(lambda: self._waiting or self._closing)
                batch, self._waiting = self._waiting, []
            if not batch:
                break
            self._commit(batch)
        os.close(self._descriptor)

    def _commit(self, batch: list[tuple[bytes, Future[None]]]) -> None:
        failure = self._failure or self._write(b"".join(line for line, _ in batch))
        if failure is not None:
            # After a failed fsync the state on disk is unknown, so nothing more is written to this segment.
            with self._wake:
                self._failure = failure
        for _, future in batch:
            if failure is None:
                future.set_result(None)
            else:
                future.set_exception(failure)

    def _write(self, data: bytes) -> StoreError | None:
        try:
            self._fault("journal.write")
            view = memoryview(data)
            while view:
                view = view[os.write(self._descriptor, view) :]
            self._fault("journal.written")
            os.fsync(self._descriptor)
            self._fault("journal.synced")
            # Do not acknowledge rows in a file that nobody else can find by its name, however durable they are.
            in_place = is_same(self._descriptor, self.path)
        except OSError as error:
            return store_error(error, self.path, "append to the journal")
        return None if in_place else gone_error(self.path.parents[1])
