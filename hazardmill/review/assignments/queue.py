"""The queue of one reviewer, updated decision by decision.

Sorting 20,000 tasks again for each page would be too slow.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Container, Mapping

from hazardmill.review.analysis.time_left import minutes_left
from hazardmill.review.assignments.model import ReviewAssignment
from hazardmill.review.candidates import ReviewItem
from hazardmill.review.decisions.effective import Opinion, State, opinion
from hazardmill.review.decisions.folder import Assignments
from hazardmill.review.decisions.history import DecisionHistory


class Queue:
    """The slips of one reviewer: which comes next, and how many are in each state.

    Not safe for use from several threads at once.

    Args:
        reviewer: Name of the reviewer.
        given: Assignments of the review.
        items: All items by id.
        history: Decisions of the reviewer, which may grow.

    Attributes:
        states: Number of slips by state.
    """

    def __init__(
        self, reviewer: str, given: Assignments, items: Mapping[str, ReviewItem], history: DecisionHistory
    ) -> None:
        self.given = given
        self.items = items
        self.history = history
        self.states: Counter[State] = Counter()
        self._taken = len(history.touched)
        self._state: dict[str, State] = {}
        self._seconds: dict[str, float] = {}
        """Seconds of each decision whose time is known, by slip."""
        self._waiting: list[tuple[int, str]] = []
        """Place and id of open and stale slips, sorted."""
        self._skipped: list[tuple[str, str]] = []
        """Time and id of skipped slips, sorted."""
        for slip in given.of.get(reviewer, ()):
            self._put(slip)

    def catch_up(self) -> None:
        """Take into account what was decided since the last call."""
        touched = self.history.touched
        for slip_id in touched[self._taken :]:
            slip = self.given.by_id.get(slip_id)
            # An imported decision may be on a slip that is not in the assignments; it stays in the history only.
            if slip is not None and slip_id in self._state:
                self._take(slip)
                self._put(slip)
        self._taken = len(touched)

    def next(self, without: Container[str] = ()) -> ReviewAssignment | None:
        """Return the slip to look at next; ``None`` if nothing is left.

        Open and stale slips come in the order of their places, then skipped ones in the order in which they were
        skipped. Repeats of a slip that is not decided come last.

        Args:
            without: Ids of slips to leave out.
        """
        for _, slip_id in self._waiting:
            if slip_id in without:
                continue
            slip = self.given.by_id[slip_id]
            # A repeat must come after the slip that it repeats, which may have been skipped.
            if slip.of is None or self._state.get(slip.of) == "decided":
                return slip
        waits = [*(slip_id for _, slip_id in self._skipped), *(slip_id for _, slip_id in self._waiting)]
        return next((self.given.by_id[slip_id] for slip_id in waits if slip_id not in without), None)

    def minutes_left(self, shown: int) -> float | None:
        """Return how many minutes the reviewer will need for what is left; None while too few times are known.

        Args:
            shown: Number of slips that are left to decide and can be shown.
        """
        return minutes_left(shown, self._seconds.values())

    def state(self, slip_id: str) -> State:
        """Return the state of one of the reviewer's slips."""
        return self._state[slip_id]

    def _put(self, slip: ReviewAssignment) -> None:
        held = self.opinion(slip)
        self.states[held.state] += 1
        self._state[slip.id] = held.state
        if held.state in ("decided", "stale") and held.decision is not None and held.decision.seconds is not None:
            self._seconds[slip.id] = held.decision.seconds
        if held.state in ("open", "stale"):
            insort(self._waiting, (slip.place, slip.id))
        elif held.state == "skipped":
            insort(self._skipped, (self._when(held), slip.id))

    def _take(self, slip: ReviewAssignment) -> None:
        state = self._state.pop(slip.id)
        self.states[state] -= 1
        self._seconds.pop(slip.id, None)
        if state in ("open", "stale"):
            del self._waiting[bisect_left(self._waiting, (slip.place, slip.id))]
        elif state == "skipped":
            self._skipped = [each for each in self._skipped if each[1] != slip.id]

    def opinion(self, slip: ReviewAssignment) -> Opinion:
        """Return what the reviewer decided on a slip, as it counts now."""
        return opinion(slip, self.history, self.items, self.given.plans)

    @staticmethod
    def _when(held: Opinion) -> str:
        return "" if held.decision is None else held.decision.at.isoformat(timespec="microseconds")
