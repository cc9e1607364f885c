"""The only writer of a run: appends groups of rows durably, and converts closed segments to parts."""

from __future__ import annotations

import asyncio
import os
import threading
from concurrent.futures import Future
from types import TracebackType

from hazardmill.errors import StoreError
from hazardmill.store.commit import convert
from hazardmill.store.files.fsync_io import Fault
from hazardmill.store.files.layout import Layout
from hazardmill.store.files.locks import HeldLock
from hazardmill.store.files.manifests import Manifests
from hazardmill.store.journal import SegmentWriter
from hazardmill.store.root import Root, gone_error
from hazardmill.store.rows import Group, encode


class Writer:
    """Writes the rows of one run. Made by ``Store.writer``; a context manager; safe to use from several threads.

    After a failed append or conversion the writer refuses to continue. Everything acknowledged is in the journal, and
    the next writer of the run, or ``Store.recover``, converts it to parts.
    """

    def __init__(
        self, layout: Layout, manifests: Manifests, run_id: str, lock: HeldLock, fault: Fault, root: Root
    ) -> None:
        self.run_id = run_id
        self._layout = layout
        self._root = root
        self._manifests = manifests
        self._lock = lock
        self._fault = fault
        self._segment: SegmentWriter | None = None
        self._failure: StoreError | None = None
        self._closed = False
        self._process = os.getpid()
        self._swapping = threading.Lock()
        self._converting = threading.Lock()

    async def append(self, group: Group) -> None:
        """Commit rows of one or more tables together; they are on disk when this returns.

        A cancelled append still happens, so that what was paid for is kept.

        Raises:
            StoreError: A row does not fit its table, or the disk refuses.
        """
        await asyncio.wrap_future(self.hand_over(group))

    def append_sync(self, group: Group) -> None:
        """Append as ``append`` does, blocking."""
        self.hand_over(group).result()

    def roll(self) -> None:
        """Close the segment, convert its rows to parts, and continue with a new one. Blocks, for about 50 ms per wave.

        Raises:
            StoreError: The disk refuses, or the store's folder was removed or replaced.
        """
        with self._converting:
            with self._swapping:
                segment, self._segment = self._segment, None
            if segment is None:
                return
            try:
                segment.close()
                self._refuse_another_store()
                convert(self._layout, self._manifests, segment.path, self._fault, self._refuse_another_store)
            except BaseException as error:
                # Later segments must not become parts before this one, because then the latest row would no longer win.
                cut = StoreError(
                    f"converting a journal segment to Parquet was interrupted by {type(error).__name__}; its rows are "
                    "still in the journal",
                    remedy="resume the run",
                )
                self._failure = error if isinstance(error, StoreError) else cut
                raise

    def close(self) -> None:
        """Convert the remaining rows to parts and release the run. Closing twice is harmless.

        Raises:
            StoreError: The disk refuses, or refused before.
        """
        if self._closed or os.getpid() != self._process:
            return
        try:
            if self._failure is None:
                self.roll()
        finally:
            self._closed = True
            self._lock.release()

    def __enter__(self) -> Writer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.close()
        except StoreError as failure:
            if error is None:
                raise
            error.add_note(f"closing the store's writer failed too: {failure}")

    def _refuse_another_store(self) -> None:
        """Check that the folder is still the one in which this writer took its lock.

        Raises:
            StoreError: It was removed or replaced.
        """  # noqa: DOC501  # the helper makes a StoreError
        self._root.check()
        if not self._lock.is_in_place():
            raise gone_error(self._layout.root)

    def hand_over(self, group: Group) -> Future[None]:
        """Queue rows as ``append`` does, without waiting: they are part of the next write to disk when this returns.

        Returns:
            A future that is done when the rows are on disk, or fails if the disk refuses.

        Raises:
            StoreError: A row does not fit its table, or the writer is closed or has failed.
        """
        payload = encode(group)
        if payload is None:
            done: Future[None] = Future()
            done.set_result(None)
            return done
        with self._swapping:
            if self._failure is not None:
                raise self._failure
            if self._closed or os.getpid() != self._process:
                raise StoreError(f"the writer of run {self.run_id} is closed", remedy="open one with Store.writer")
            if self._segment is None:
                self._refuse_another_store()
                path = self._layout.journal / f"{self._layout.new_segment(self.run_id)}.jsonl"
                self._segment = SegmentWriter(path, self.run_id, self._fault)
            return self._segment.append(payload)
