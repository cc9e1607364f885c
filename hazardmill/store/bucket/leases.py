"""The right to write a run of a store in a bucket: one machine at a time, however machines die.

    locks/<run id>.json    {"run_id", "machine", "held", "owes", "left": {machine: commit}, "nonce"}

The object is only ever changed by puts that demand the version last read, so that of two that want it one gets it. Its
holder puts it anew every third of its term; one that was not put for a whole term, by the server's clock, can be taken
over. Within a machine, the locks of files decide as in any store.

A lease alone keeps nobody from writing who was asleep while it ran out. Commits do: a manifest is put under the number
after all manifests that its writer has read, and who takes a run over from a holder that did not let go begins with an
empty commit. A holder that finds a commit of its run which is not its own has lost it (``SharedManifests.publish``).
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
"""Times that a put may lose to another one of the same moment."""


@dataclass(frozen=True)
class LeaseState:
    """How a lease was come by; the same is found again until it is settled."""

    owes: bool
    """Whether it was another machine's, which did not let go and may still believe that it holds it."""
    left: int | None
    """The last commit there was when others took the run from this machine; none if nobody did."""


class Lease:
    """The lease of one run, for one machine.

    Args:
        bucket: The store's bucket.
        run_id: The run.
        machine: What tells this machine from others.
        term_s: Seconds for which it holds without being renewed.
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
        """Become the holder, and stay it until ``release``; none if another machine is.

        Args:
            commit: The last commit that there is.

        Raises:
            StoreError: If the object store fails.
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
        """Write down that what ``take`` told has been seen to.

        Raises:
            StoreLocked: If another machine has it.
            StoreError: If the object store fails.
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
        """Give up what another machine has taken; the error that says so."""
        self._lost = True
        return StoreLocked(
            f"another machine has taken over run {self.run_id}, because this one did not renew its lock in time",
            file=self._bucket.address.uri(self._name),
            remedy="let that one go on; what this one had committed is in the store, the rest in its journal",
        )

    def check(self, *, now: bool = False) -> None:
        """See that this machine still holds it.

        Args:
            now: Whether to ask the object store even if it was renewed a moment ago.

        Raises:
            StoreLocked: If it does not.
            StoreError: If the object store fails.
        """
        if now or _clock() - self._renewed > self._term_s / 2:
            self._again()
        if self._lost:
            raise self.lose()

    def release(self, *, free: bool) -> None:
        """Renew it no more. Doing so twice is harmless.

        Args:
            free: Whether no other process of this machine goes on with the run: then others need not wait for the term.

        Raises:
            StoreError: If the object store fails; the lease then runs out by itself.
        """
        self._ending.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
            if free and not self._lost:
                # Refused where another process of this machine has put it meanwhile: it goes on, and lets go itself.
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
            # Two puts of the same words would have the same tag.
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
                "the lock of the run does not say who holds it",
                file=self._bucket.address.uri(self._name),
                remedy="see that no machine works on the run, then remove this object",
            ) from error


def _clock() -> float:
    """Seconds that go on while the machine sleeps, where there is such a clock."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))
