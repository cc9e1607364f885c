"""Leases: the right to write a run of a store in a bucket, for one machine at a time, however machines die.

    locks/<run id>.json    {"run_id", "machine", "held", "owes", "left": {machine: commit}, "nonce"}

The object is only changed by puts that demand the version last read, so that of two machines that want it only one gets
it. The holder puts it again every third of its term. A lease that was not put for a whole term, by the server's clock,
can be taken over. Within a machine, file locks decide, as in any store.

A lease alone does not stop a writer that was asleep while its lease expired. Commits do: a manifest is put under the
number that follows all manifests its writer has read, and a machine that takes over a run from a holder that did not
release it begins with an empty commit. A holder that finds a commit of its run that is not its own has lost the run
(``SharedManifests.publish``).
"""

from __future__ import annotations

import json
import secrets
import threading
import time
from dataclasses import dataclass
from typing import Any, Final

from hazardmill.errors import StoreError, StoreLocked
from hazardmill.store.bucket.objects import Bucket, Object

TERM_S: Final = 60.0
"""Seconds after which a lease that was not renewed can be taken over."""

_TRIES: Final = 5
"""Maximum number of times that a put may lose against a concurrent one."""


@dataclass(frozen=True)
class LeaseState:
    """The state in which a lease was taken. It is reported again at every ``take`` until ``settle`` is called."""

    owes: bool
    """Whether the lease was taken from another machine that did not release it and may still believe it holds it."""
    left: int | None
    """The last commit at the time when another machine took the run from this one; null if none did."""


class Lease:
    """The lease of one run, for one machine. A thread renews it while it is held.

    Args:
        bucket: The store's bucket.
        run_id: The run.
        machine: Identifies this machine.
        term_s: Seconds for which the lease holds without being renewed.
    """

    def __init__(self, bucket: Bucket, run_id: str, machine: str, term_s: float = TERM_S) -> None:
        self.run_id = run_id
        self._bucket = bucket
        self._name = f"locks/{run_id}.json"
        self._machine = machine
        self._term_s = term_s
        self._tag: str | None = None
        self._left: dict[str, int] = {}
        self._owes = False
        self._renewed = 0.0
        self._lost = False
        self._ending = threading.Event()
        self._putting = threading.Lock()
        self._thread: threading.Thread | None = None

    def take(self, commit: int) -> LeaseState | None:
        """Become the holder until ``release``.

        Args:
            commit: Number of the last commit.

        Returns:
            The state in which it was taken; null if another machine holds it.

        Raises:
            StoreError: The object store fails.
        """
        for _ in range(_TRIES):
            found = self._bucket.get(self._name)
            said = self._contents(found)
            others = said["machine"] != self._machine
            if found is not None and others and said["held"] and found.age_s <= self._term_s:
                return None
            self._left, self._owes = dict(said["left"]), said["owes"] or (others and said["held"])
            if others:
                self._left.setdefault(said["machine"], commit)
            if self._put(held=True, over=found.tag if found else None):
                self._thread = threading.Thread(target=self._renew, name=f"lease {self.run_id}", daemon=True)
                self._thread.start()
                return LeaseState(self._owes, self._left.get(self._machine))
        return None

    def settle(self) -> None:
        """Record that the state reported by ``take`` has been dealt with.

        Raises:
            StoreLocked: Another machine has the lease.
            StoreError: The object store fails.
        """
        self._owes = False
        self._left.pop(self._machine, None)
        self._again()
        if self._lost:
            raise self.lose()

    def is_elsewhere(self) -> bool:
        """Whether another machine holds the lease now."""
        found = self._bucket.get(self._name)
        said = self._contents(found)
        return found is not None and said["machine"] != self._machine and said["held"] and found.age_s <= self._term_s

    def lose(self) -> StoreLocked:
        """Give up the lease because another machine has taken it; return the error that says so."""
        self._lost = True
        return StoreLocked(
            f"another machine has taken over run {self.run_id}, because this one did not renew its lock in time",
            file=self._bucket.address.uri(self._name),
            remedy="let that machine continue; rows committed here are in the store, the rest in the local journal",
        )

    def check(self, *, now: bool = False) -> None:
        """Check that this machine still holds the lease.

        Args:
            now: Whether to ask the object store even if the lease was renewed recently.

        Raises:
            StoreLocked: Another machine has the lease.
            StoreError: The object store fails.
        """
        if now or _clock() - self._renewed > self._term_s / 2:
            self._again()
        if self._lost:
            raise self.lose()

    def release(self, *, free: bool) -> None:
        """Stop renewing the lease. Releasing it twice is harmless.

        Args:
            free: Whether no other process of this machine continues the run. If so, other machines need not wait for
                the term.

        Raises:
            StoreError: The object store fails; the lease then expires on its own.
        """
        self._ending.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
            if free and not self._lost:
                # This fails if another process of this machine has put it meanwhile; that one will release it.
                self._put(held=False, over=self._tag)

    def _renew(self) -> None:
        while not self._ending.wait(self._term_s / 3) and not self._lost:
            try:
                self._again()
            except StoreError:
                continue  # tried again soon, and before the next commit

    def _again(self) -> None:
        for _ in range(_TRIES):
            if self._put(held=True, over=self._tag):
                return
            found = self._bucket.get(self._name)
            said = self._contents(found)
            if found is None or said["machine"] != self._machine:
                self._lost = True
                return
            self._tag = found.tag

    def _put(self, *, held: bool, over: str | None) -> bool:
        body = {
            "run_id": self.run_id,
            "machine": self._machine,
            "held": held,
            "owes": self._owes,
            "left": self._left,
            # Without it, two puts with the same content would have the same tag.
            "nonce": secrets.token_hex(8),
        }
        with self._putting:
            started = _clock()
            tag = self._bucket.put(self._name, json.dumps(body).encode(), over=over)
            if tag is None:
                return False
            self._tag, self._renewed = tag, started
            return True

    def _contents(self, found: Object | None) -> dict[str, Any]:
        if found is None:
            return {"machine": self._machine, "held": False, "owes": False, "left": {}}
        try:
            said: dict[str, Any] = json.loads(found.data)
            return {name: said[name] for name in ("machine", "held", "owes", "left")}
        except (ValueError, KeyError, TypeError) as error:
            raise StoreError(
                "the lock of the run does not name its holder",
                file=self._bucket.address.uri(self._name),
                remedy="make sure that no machine works on the run, then remove this object",
            ) from error


def _clock() -> float:
    """Seconds that continue to count while the machine sleeps, if it has such a clock."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))
