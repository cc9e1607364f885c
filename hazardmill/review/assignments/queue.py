"""A reviewer's queue, kept up to date decision by decision: at 20,000 tasks nobody waits for it to be sorted anew."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Container, Mapping

from hazardmill.review.assignments.model import ReviewAssignment
from hazardmill.review.candidates import ReviewItem
from hazardmill.review.decisions.effective import Opinion, State, opinion
from hazardmill.review.decisions.folder import Assignments
from hazardmill.review.decisions.history import DecisionHistory


class Queue:
    """The slips of one reviewer: what is to be looked at next, and how many are in which state."""

    def __init__(
        self, reviewer: str, given: Assignments, items: Mapping[str, ReviewItem], history: DecisionHistory
    ) -> None:
        self.given = given
        self.items = items
        self.history = history
        self.states: Counter[State] = Counter()
        self._taken = len(history.touched)
        self._state: dict[str, State] = {}
        self._waiting: list[tuple[int, str]] = []
        """Open and stale ones, by place."""
        self._skipped: list[tuple[str, str]] = []
        """By time."""
        for slip in given.of.get(reviewer, ()):
            self._put(slip)

    def catch_up(self) -> None:
        """Take in what was decided since."""
        touched = self.history.touched
        for slip_id in touched[self._taken :]:
            slip = self.given.by_id.get(slip_id)
            # What was imported may be of a slip that is given no more; whoever decided it has it in the history.
            if slip is not None and slip_id in self._state:
                self._take(slip)
                self._put(slip)
        self._taken = len(touched)

    def next(self, without: Container[str] = ()) -> ReviewAssignment | None:
        """What to look at next: in order, then what was skipped, that which waits longest first.

        Args:
            without: Ids of slips to pass over.
        """
        for _, slip_id in self._waiting:
            if slip_id in without:
                continue
            slip = self.given.by_id[slip_id]
            # A repeat comes after the first time, and that may have been skipped.
            if slip.of is None or self._state.get(slip.of) == "decided":
                return slip
        waits = [*(slip_id for _, slip_id in self._skipped), *(slip_id for _, slip_id in self._waiting)]
        return next((self.given.by_id[slip_id] for slip_id in waits if slip_id not in without), None)

    def state(self, slip_id: str) -> State:
        """The state of one of the reviewer's slips."""
        return self._state[slip_id]

    def _put(self, slip: ReviewAssignment) -> None:
        held = self.opinion(slip)
        self.states[held.state] += 1
        self._state[slip.id] = held.state
        if held.state in ("open", "stale"):
            insort(self._waiting, (slip.place, slip.id))
        elif held.state == "skipped":
            insort(self._skipped, (self._when(held), slip.id))

    def _take(self, slip: ReviewAssignment) -> None:
        state = self._state.pop(slip.id)
        self.states[state] -= 1
        if state in ("open", "stale"):
            del self._waiting[bisect_left(self._waiting, (slip.place, slip.id))]
        elif state == "skipped":
            self._skipped = [each for each in self._skipped if each[1] != slip.id]

    def opinion(self, slip: ReviewAssignment) -> Opinion:
        """What the reviewer holds of a slip."""
        return opinion(slip, self.history, self.items, self.given.plans)

    @staticmethod
    def _when(held: Opinion) -> str:
        return "" if held.decision is None else held.decision.at.isoformat(timespec="microseconds")
