"""The only way into a review for the app: one service per review folder, one session per reviewer.

A session shows its reviewer their own tasks and decisions and nothing else: not what others decided, not what the judge
said, and not whether a task is a calibration task, a repeat or an audited draft, until the review is unblinded. The app
passes slip ids around; an id reveals nothing about its slip.

    service = ReviewService.open(Store.open(path), ReviewFolder(Path("review")))
    session = service.session("ada")
    sheet = session.next()                 # None: nothing is left
    receipt = session.record(sheet.slip, ReviewAnswer(verdict="reject", reasons=("hints",), seconds=41.5),
                             seen=sheet.seen, expects=None, submission=key)
    session.undo(submission=other_key)
    session.try_plan(sheet.slip, "(reduce_speed) (carry_bowl)")

Every method may be called from several threads, and by several processes on one folder. ``record`` and ``undo`` return
once the decision is on disk. Calling them again with the same submission returns the same receipt and writes nothing.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

from pydantic import ValidationError

from hazardmill.errors import StoreError
from hazardmill.review.assignments.model import ReviewAssignment
from hazardmill.review.assignments.queue import Queue
from hazardmill.review.candidates import ReviewPool, load_pool
from hazardmill.review.decisions.append_log import first_problem
from hazardmill.review.decisions.effective import Opinion, opinions, seen_now
from hazardmill.review.decisions.exchange import about
from hazardmill.review.decisions.folder import APP, Assignments, ReviewFolder, reviewer_name
from hazardmill.review.decisions.history import Decision, DecisionHistory, Undo
from hazardmill.review.document_view import ShownPlan
from hazardmill.review.item_view import AnyShown, ItemView, open_item
from hazardmill.review.rubric import CRITERIA_OF, OF_PLANS, OF_TASKS, ItemKind, ReviewVerdict, describe_wrong_reasons
from hazardmill.review.schemas import (
    Mine,
    Other,
    Progress,
    Receipt,
    ReviewAnswer,
    ReviewRefusal,
    ReviewSheet,
    UnblindedItem,
)
from hazardmill.store.store import Store
from hazardmill.text.printable import printable

_VIEWS: Final = 64
"""Largest number of views that are cached."""

_LOG: Final = logging.getLogger("hazardmill.review")


class ReviewService:
    """A review folder together with the items of a store; hands out one session per reviewer.

    Safe to use from several threads. Several processes may work on the same folder.

    Attributes:
        folder: Files of the review.
        pool: Items under review, as they were when the store was last read.
    """

    def __init__(self, folder: ReviewFolder, pool: ReviewPool) -> None:
        self.folder = folder
        self.pool = pool
        self._mutex = threading.Lock()
        self._sessions: dict[str, ReviewerSession] = {}
        self._views: OrderedDict[tuple[str, str], ItemView] = OrderedDict()
        self._broken: set[tuple[str, str]] = set()

    @classmethod
    def open(cls, store: Store, folder: ReviewFolder) -> ReviewService:
        """Return a service over all tasks of a store, which are held in memory, compressed.

        Raises:
            InputError: The folder has no rubric.
            DocumentError: The store holds a task that cannot be read.
            StoreError: The store cannot be read.
        """
        folder.rubric_version()
        return cls(folder, load_pool(store, keep=True))

    def refresh(self, store: Store) -> None:
        """Read the tasks again; decisions on tasks that have changed become stale.

        Raises:
            DocumentError: The store holds a task that cannot be read; the tasks read before stay.
            StoreError: The store cannot be read; the tasks read before stay.
        """
        pool = load_pool(store, keep=True)
        with self._mutex:
            self.pool = pool
            self._views.clear()
            self._broken.clear()

    def session(self, reviewer: str) -> ReviewerSession:
        """Return the session of a reviewer; the same object for the same name.

        Raises:
            UsageError: This is not a valid name of a reviewer.
            ReviewRefusal: ``not_yours``: nothing was assigned to anybody of that name.
        """
        name = reviewer_name(reviewer)
        if name not in self.folder.assignments().of:
            raise ReviewRefusal("not_yours", f"nothing was assigned to {name}", "ask whoever leads the review")
        with self._mutex:
            return self._sessions.setdefault(name, ReviewerSession(self, name))

    def view(self, slip: ReviewAssignment) -> ItemView:
        """Return the item of a slip as it is to be shown, with its planted defect if it has one.

        The latest ``_VIEWS`` views are cached.

        Raises:
            KeyError: The item is no longer in the store.
            DocumentError: The store holds an item that cannot be read.
            StoreError: The store cannot be read.
        """
        plan = self.folder.plans().get(slip.item) if slip.kind == "plan" else None
        item = slip.item if plan is None else plan.item
        key = (item, slip.defect or "")
        with self._mutex:
            pool, known = self.pool, self._views.get(key)
            if known is not None:
                self._views.move_to_end(key)
                return known
        view = open_item(pool.content(item), slip.defect)
        with self._mutex:
            # Only if the tasks were not read again meanwhile: this view would then be of an older task.
            if pool is self.pool:
                self._views[key] = view
                while len(self._views) > _VIEWS:
                    self._views.popitem(last=False)
        return view

    def report_broken(self, slip: ReviewAssignment, error: Exception) -> ReviewRefusal:
        """Log, once per item, that it cannot be shown.

        Args:
            slip: The slip whose task cannot be shown.
            error: What went wrong.

        Returns:
            The refusal for the reviewer, with the code ``broken``; the caller raises it.
        """
        with self._mutex:
            known = _content_key(slip) in self._broken
            self._broken.add(_content_key(slip))
        if not known:
            problem = printable(f"{type(error).__name__}: {error}")
            _LOG.error("%s cannot be shown, and reviewers pass over it: %s", slip.item, problem)
        return ReviewRefusal(
            "broken", "this task cannot be shown", "continue with the next task; the server's log says why"
        )

    def broken_slips(self, slips: Iterable[ReviewAssignment]) -> list[ReviewAssignment]:
        """Return those of ``slips`` that were found to have a task that cannot be shown."""
        with self._mutex:
            return [slip for slip in slips if _content_key(slip) in self._broken] if self._broken else []


class ReviewerSession:
    """What one reviewer may see and do.

    No method returns anything that is to be kept from this reviewer while the review is blind.

    Attributes:
        reviewer: Name of the reviewer.
    """

    def __init__(self, service: ReviewService, reviewer: str) -> None:
        self._service = service
        self._decision_log = service.folder.decision_log(reviewer)
        self._queue: Queue | None = None
        self._mutex = threading.RLock()
        self.reviewer = reviewer

    def next(self) -> ReviewSheet | None:
        """Return the next sheet to decide; ``None`` if nothing is left.

        Open and stale slips come in the order of the queue, skipped ones after them. Tasks that cannot be shown are
        left out.

        Raises:
            InputError: A file of the review is damaged.
            StoreError: The store or a file of the review cannot be read.
            ReviewRefusal: ``stale``: the task is no longer in the store.
        """
        passed: set[str] = set()
        while True:
            with self._mutex:
                slip = self._up_to_date().next(passed)
            try:
                sheet = None if slip is None else self._sheet(slip)
            except ReviewRefusal as refusal:
                if slip is None or refusal.code != "broken":
                    raise
                passed.add(slip.id)
                continue
            # Another tab may have answered this slip in between: then look for the next one.
            if sheet is None or sheet.mine is None or sheet.mine.stale or sheet.mine.verdict is ReviewVerdict.SKIP:
                return sheet

    def sheet(self, slip_id: str) -> ReviewSheet:
        """Return the sheet of one of the reviewer's own slips, decided or not.

        Raises:
            ReviewRefusal: ``not_yours``; ``stale``: the task is no longer in the store; ``broken``: it cannot be shown.
        """
        return self._sheet(self._own(slip_id))

    def progress(self) -> Progress:
        """Return how many of the reviewer's slips are in each state."""
        with self._mutex:
            queue = self._up_to_date()
            states = queue.states.copy()
            for slip in self._service.broken_slips(queue.given.of.get(self.reviewer, ())):
                if queue.state(slip.id) != "decided":
                    states[queue.state(slip.id)] -= 1
                    states["gone"] += 1
            return Progress(
                total=states.total(),
                decided=states["decided"],
                open=states["open"],
                skipped=states["skipped"],
                stale=states["stale"],
                gone=states["gone"],
                minutes_left=queue.minutes_left(states["open"] + states["skipped"] + states["stale"]),
            )

    def history(self, most: int = 50, *, source: str = "", danger_type: str = "") -> list[Mine]:
        """Return the reviewer's own decisions in force, latest first, with stale ones marked.

        Args:
            most: Largest number of decisions to return.
            source: Only those on items of this source; empty takes all.
            danger_type: Only those on items of this danger type; empty takes all.
        """
        with self._mutex:
            queue = self._up_to_date()
            found: list[Mine] = []
            for entry in reversed(queue.history.entries):
                if len(found) >= most:
                    break
                slip = queue.given.by_id.get(entry.slip)
                if slip is not None and (source or danger_type):
                    own_source, own_type = self._stratum(slip) or ("", "")
                    if source not in ("", own_source) or danger_type not in ("", own_type):
                        continue
                if slip is not None and isinstance(entry, Decision) and queue.history.current(entry.slip) is entry:
                    found.append(_mine(entry, queue.opinion(slip)))
            return found

    def strata(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the sources and the danger types of the reviewer's own items, sorted."""
        found = {each for each in map(self._stratum, self._assignments().of.get(self.reviewer, ())) if each is not None}
        return tuple(sorted({source for source, _ in found})), tuple(sorted({kind for _, kind in found}))

    def record(self, slip_id: str, answer: ReviewAnswer, *, seen: str, expects: str | None, submission: str) -> Receipt:
        """Record a decision; it is on disk when this returns.

        Args:
            slip_id: The slip that is answered.
            answer: What the reviewer says.
            seen: The hash that the answered sheet had as ``seen``.
            expects: Id of the decision that was in force when the sheet was shown (``sheet.mine``); ``None`` for none.
            submission: A key of up to 64 letters, digits, ``_`` and ``-``, drawn anew for each answer.

        Returns:
            What is in force now. A submission that is sent again has the receipt of the first time, marked as repeated.

        Raises:
            ReviewRefusal: ``invalid``, ``not_yours``, ``stale`` or ``conflict``; nothing was recorded.
            InputError: A file of the review is damaged; nothing was recorded.
            StoreError: The file cannot be written; nothing was recorded.
        """  # _conflict makes a ReviewRefusal  # noqa: DOC501  # _conflict makes a ReviewRefusal
        slip = self._own(slip_id)
        folder = self._service.folder
        with self._decision_log.writing() as (history, append):
            try:
                decision = Decision(
                    reviewer=self.reviewer,
                    at=self._decision_log.next_moment(history),
                    slip=slip.id,
                    item=slip.item,
                    about=about(slip),
                    **answer.model_dump(),
                    seen=seen,
                    rubric=folder.rubric_version(),
                    app=APP,
                    submission=submission,
                ).with_id()
            except ValidationError as error:
                raise ReviewRefusal(
                    "invalid", first_problem(error), "choose an answer that the rubric allows"
                ) from error
            before = history.find_submission(submission)
            if before is not None:
                if not (isinstance(before, Decision) and before.says_the_same(decision)):
                    raise _conflict()
            else:
                if seen != seen_now(slip, self._service.pool, folder.plans()):
                    raise ReviewRefusal(
                        "stale", "the task has changed since it was shown", "look at it again as it is now"
                    )
                wrong = describe_wrong_reasons(decision.reasons, self._rubric_kind(slip))
                if wrong is not None:
                    raise ReviewRefusal("invalid", wrong, "choose an answer that the rubric allows")
                current = history.current(slip.id)
                if (current.id if current else None) != expects:
                    raise _conflict()
                append([decision])
        # Outside the file lock: a thread that holds the queue may be waiting for that file, and would block this one.
        return self._receipt(before or decision, slip, repeated=before is not None)

    def undo(self, *, submission: str, decision: str | None = None) -> Receipt:
        """Take back a decision; the one before it on the same slip, if any, is in force again.

        Args:
            submission: A key as for ``record``.
            decision: Id of the decision to take back, refused if another one is the latest; ``None`` takes the latest.

        Returns:
            What is in force now. The receipt of a submission that is sent again is marked as repeated.

        Raises:
            ReviewRefusal: ``nothing``, ``conflict`` or ``invalid``; nothing was taken back.
            InputError: A file of the review is damaged; nothing was taken back.
            StoreError: The file cannot be written; nothing was taken back.
        """  # _conflict makes a ReviewRefusal  # noqa: DOC501  # _conflict makes a ReviewRefusal
        with self._decision_log.writing() as (history, append):
            before = history.find_submission(submission)
            if before is not None:
                if not isinstance(before, Undo) or decision not in (None, before.undoes):
                    raise _conflict()
                undo = before
            else:
                undo = self._undo(history, submission, decision)
                append([undo])
        return self._receipt(undo, self._own(undo.slip), repeated=before is not None)

    def try_plan(self, slip_id: str, plan: str) -> ShownPlan:
        """Return the verdict on any plan for the task of a slip, with the steps of the plan; nothing is recorded.

        Raises:
            ReviewRefusal: ``not_yours``; ``stale``: the task is no longer in the store.
            UsageError: The plan is too long.
        """
        return self._view(self._own(slip_id)).try_plan(plan)

    def reveal(self, slip_id: str) -> UnblindedItem:
        """Return what was kept from the reviewer: the kind of the slip, the judge's verdict, and what others decided.

        Raises:
            ReviewRefusal: ``blind``: the review is not unblinded; ``not_yours``.
        """
        slip, folder = self._own(slip_id), self._service.folder
        if folder.assignments().unblinded is None:
            raise ReviewRefusal(
                "blind", "the review is still blind", "wait until it is unblinded: hazardmill review unblind"
            )
        item = self._service.pool.get(slip.item)
        others = [
            Other(
                reviewer=each.slip.reviewer,
                verdict=each.decision.verdict,
                reasons=each.decision.reasons,
                note=each.decision.note,
            )
            for each in opinions(folder, self._service.pool)
            if (each.slip.item, each.slip.defect) == (slip.item, slip.defect)
            and each.slip.reviewer != self.reviewer
            and each.decision is not None
        ]
        return UnblindedItem(
            kind=slip.kind,
            item=slip.item,
            defect=slip.defect,
            judged=None if item is None else item.judged,
            judge_criteria=() if item is None else item.judge_criteria,
            others=tuple(others),
        )

    def _undo(self, history: DecisionHistory, submission: str, decision: str | None) -> Undo:
        last = history.last()
        if last is None or last.slip not in self._assignments().by_id:
            raise ReviewRefusal("nothing", "there is nothing to take back", "continue with the next task")
        if decision not in (None, last.id):
            raise _conflict()
        try:
            return Undo(
                reviewer=self.reviewer,
                at=self._decision_log.next_moment(history),
                slip=last.slip,
                undoes=last.id,
                app=APP,
                submission=submission,
            ).with_id()
        except ValidationError as error:
            raise ReviewRefusal(
                "invalid", first_problem(error), "generate a key as docs/review-app.md describes"
            ) from error

    def _own(self, slip_id: str) -> ReviewAssignment:
        slip = self._assignments().by_id.get(slip_id)
        # The answer is the same whether the slip belongs to somebody else or does not exist: ids reveal nothing.
        if slip is None or slip.reviewer != self.reviewer:
            raise ReviewRefusal("not_yours", "there is no such assignment", "continue with the next task")
        return slip

    def _stratum(self, slip: ReviewAssignment) -> tuple[str, str] | None:
        """Return source and danger type of the item of a slip; None if it is no longer in the store."""
        plan = self._service.folder.plans().get(slip.item) if slip.kind == "plan" else None
        item = self._service.pool.get(slip.item if plan is None else plan.item)
        return None if item is None else item.stratum

    def _assignments(self) -> Assignments:
        return self._service.folder.assignments()

    def _up_to_date(self) -> Queue:
        given, pool, history = self._assignments(), self._service.pool, self._decision_log.history()
        queue = self._queue
        if queue is None or queue.given is not given or queue.items is not pool or queue.history is not history:
            queue = self._queue = Queue(self.reviewer, given, pool, history)
        queue.catch_up()
        return queue

    def _rubric_kind(self, slip: ReviewAssignment) -> ItemKind:
        item = self._service.pool.get(slip.item)
        # Plans are made for tasks only.
        return "task" if item is None else item.rubric_kind

    def _view(self, slip: ReviewAssignment) -> ItemView:
        if seen_now(slip, self._service.pool, self._service.folder.plans()) is None:
            raise ReviewRefusal("stale", "the task is no longer in the store", "continue with the next task")
        return self._service.view(slip)

    def _sheet(self, slip: ReviewAssignment) -> ReviewSheet:
        seen = seen_now(slip, self._service.pool, self._service.folder.plans())
        shown, plan = self._put_in_words(slip)
        assert seen is not None  # else there would be nothing to put in words
        return ReviewSheet(
            slip=slip.id,
            about=about(slip),
            shown=shown,
            plan=plan,
            verdicts=OF_TASKS if plan is None else OF_PLANS,
            criteria=CRITERIA_OF[self._rubric_kind(slip)],
            seen=seen,
            mine=self._of_slip(slip),
        )

    def _put_in_words(self, slip: ReviewAssignment) -> tuple[AnyShown, ShownPlan | None]:
        try:
            view = self._view(slip)
            plan = self._service.folder.plans()[slip.item].plan if slip.kind == "plan" else None
            return view.show(), None if plan is None else view.try_plan(plan)
        except (ReviewRefusal, StoreError):
            # The task itself is fine, or a disk may be back in a moment.
            raise
        except Exception as error:
            # A fault in one task must not keep a reviewer from all the others.
            raise self._service.report_broken(slip, error) from error

    def _of_slip(self, slip: ReviewAssignment) -> Mine | None:
        with self._mutex:
            held = self._up_to_date().opinion(slip)
        return None if held.decision is None else _mine(held.decision, held)

    def _receipt(self, entry: Decision | Undo, slip: ReviewAssignment, *, repeated: bool) -> Receipt:
        return Receipt(decision=entry.id, slip=slip.id, mine=self._of_slip(slip), repeated=repeated)


def _mine(decision: Decision, held: Opinion) -> Mine:
    return Mine(
        decision=decision.id,
        slip=decision.slip,
        at=decision.at.isoformat(),
        verdict=decision.verdict,
        reasons=decision.reasons,
        note=decision.note,
        stale=held.state in ("stale", "gone"),
    )


def _content_key(slip: ReviewAssignment) -> tuple[str, str]:
    return slip.item, slip.defect or ""


def _conflict() -> ReviewRefusal:
    return ReviewRefusal(
        "conflict",
        "it was answered in the meantime, for instance in another tab",
        "look at it again: your answer is shown",
    )
