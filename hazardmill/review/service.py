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
from hazardmill.review.assignments.gold_items import plant
from hazardmill.review.assignments.model import ReviewAssignment
from hazardmill.review.assignments.queue import Queue
from hazardmill.review.candidates import ReviewPool, load_pool
from hazardmill.review.decisions.append_log import first_problem
from hazardmill.review.decisions.effective import Opinion, opinions, seen_now
from hazardmill.review.decisions.exchange import about
from hazardmill.review.decisions.folder import APP, Assignments, ReviewFolder, reviewer_name
from hazardmill.review.decisions.history import Decision, DecisionHistory, Undo
from hazardmill.review.rubric import CRITERIA, OF_PLANS, OF_TASKS, ReviewVerdict
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
from hazardmill.review.task_view import ShownPlan, ShownTask, TaskView
from hazardmill.store.store import Store
from hazardmill.text.printable import printable

_TASK_VIEWS: Final = 64
"""Tasks that are kept ready."""

_LOG: Final = logging.getLogger("hazardmill.review")


class ReviewService:
    """A review folder and the tasks of a store."""

    def __init__(self, folder: ReviewFolder, pool: ReviewPool) -> None:
        self.folder = folder
        self.pool = pool
        self._mutex = threading.Lock()
        self._sessions: dict[str, ReviewerSession] = {}
        self._task_views: OrderedDict[tuple[str, str], TaskView] = OrderedDict()
        self._broken: set[tuple[str, str]] = set()

    @classmethod
    def open(cls, store: Store, folder: ReviewFolder) -> ReviewService:
        """Read the tasks of a store, all of them into memory, compressed.

        Raises:
            InputError: The folder has no rubric.
            StoreError: The store cannot be read.
        """
        folder.rubric_version()
        return cls(folder, load_pool(store, keep=True))

    def refresh(self, store: Store) -> None:
        """Read the tasks anew: decisions on tasks that have changed become stale."""
        pool = load_pool(store, keep=True)
        with self._mutex:
            self.pool = pool
            self._task_views.clear()
            self._broken.clear()

    def session(self, reviewer: str) -> ReviewerSession:
        """The session of a reviewer.

        Raises:
            UsageError: That is no name.
            ReviewRefusal: ``not_yours``: nobody of that name was given anything.
        """
        name = reviewer_name(reviewer)
        if name not in self.folder.assignments().of:
            raise ReviewRefusal("not_yours", f"there is nothing to review for {name}", "ask whoever leads the review")
        with self._mutex:
            return self._sessions.setdefault(name, ReviewerSession(self, name))

    def task_view(self, slip: ReviewAssignment) -> TaskView:
        """The task of a slip, as it is to be shown."""
        plan = self.folder.plans().get(slip.item) if slip.kind == "plan" else None
        item = slip.item if plan is None else plan.item
        key = (item, slip.defect or "")
        with self._mutex:
            pool, task_view = self.pool, self._task_views.get(key)
            if task_view is not None:
                self._task_views.move_to_end(key)
                return task_view
        content = pool.content(item)
        task_view = TaskView(content if slip.defect is None else plant(content, slip.defect))
        with self._mutex:
            # Not if the tasks were read anew meanwhile: the view is of an older task then.
            if pool is self.pool:
                self._task_views[key] = task_view
                while len(self._task_views) > _TASK_VIEWS:
                    self._task_views.popitem(last=False)
        return task_view

    def report_broken(self, slip: ReviewAssignment, error: Exception) -> ReviewRefusal:
        """Tell whoever serves the review, once, that a slip cannot be shown; and the reviewer to go on."""
        with self._mutex:
            known = _content_key(slip) in self._broken
            self._broken.add(_content_key(slip))
        if not known:
            told = printable(f"{type(error).__name__}: {error}")
            _LOG.error("%s cannot be shown, and reviewers pass over it: %s", slip.item, told)
        return ReviewRefusal(
            "broken", "this task cannot be shown", "go on with the next one; the server's log says why"
        )

    def broken_slips(self, slips: Iterable[ReviewAssignment]) -> list[ReviewAssignment]:
        """Those among them of which it was found that they cannot be shown."""
        with self._mutex:
            return [slip for slip in slips if _content_key(slip) in self._broken] if self._broken else []


class ReviewerSession:
    """What one reviewer may see and do."""

    def __init__(self, service: ReviewService, reviewer: str) -> None:
        self._service = service
        self._decision_log = service.folder.decision_log(reviewer)
        self._queue: Queue | None = None
        self._mutex = threading.RLock()
        self.reviewer = reviewer

    def next(self) -> ReviewSheet | None:
        """What to look at next; null where nothing is left. What cannot be shown is passed over."""
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
            # Answered in between, as in another tab: then there is something else to look at.
            if sheet is None or sheet.mine is None or sheet.mine.stale or sheet.mine.verdict is ReviewVerdict.SKIP:
                return sheet

    def sheet(self, slip_id: str) -> ReviewSheet:
        """One of the reviewer's own slips, decided or not.

        Raises:
            ReviewRefusal: ``not_yours``; ``stale``: its task is gone; ``broken``: it cannot be shown.
        """
        return self._sheet(self._own(slip_id))

    def progress(self) -> Progress:
        """How far the reviewer is."""
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
            )

    def history(self, most: int = 50) -> list[Mine]:
        """The reviewer's own decisions in force, the latest first; stale ones say so."""
        with self._mutex:
            queue = self._up_to_date()
            found: list[Mine] = []
            for entry in reversed(queue.history.entries):
                if len(found) >= most:
                    break
                slip = queue.given.by_id.get(entry.slip)
                if slip is not None and isinstance(entry, Decision) and queue.history.current(entry.slip) is entry:
                    found.append(_mine(entry, queue.opinion(slip)))
            return found

    def record(self, slip_id: str, answer: ReviewAnswer, *, seen: str, expects: str | None, submission: str) -> Receipt:
        """Record a decision; it is on disk when this returns.

        Args:
            slip_id: The slip it answers.
            answer: What the reviewer says.
            seen: As the sheet had it.
            expects: Id of the decision that was in force when the sheet was shown (``sheet.mine``), null for none.
            submission: A key of up to 64 letters, digits, ``_`` and ``-``, drawn anew for each answer.

        Raises:
            ReviewRefusal: Nothing was recorded.
            StoreError: It cannot be written; nothing was recorded.
        """
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
                raise ReviewRefusal("invalid", first_problem(error), "answer by the rubric") from error
            before = history.find_submission(submission)
            if before is not None:
                if not (isinstance(before, Decision) and before.says_the_same(decision)):
                    raise _conflict()
            else:
                if seen != seen_now(slip, self._service.pool, folder.plans()):
                    raise ReviewRefusal(
                        "stale", "the task has changed since it was shown", "look at it again as it is now"
                    )
                current = history.current(slip.id)
                if (current.id if current else None) != expects:
                    raise _conflict()
                append([decision])
        # Outside: who holds the file must not wait for a thread that holds the queue and waits for the file.
        return self._receipt(before or decision, slip, repeated=before is not None)

    def undo(self, *, submission: str, decision: str | None = None) -> Receipt:
        """Take back a decision; what was in force before it on its slip is so again.

        Args:
            submission: As for ``record``.
            decision: Id of the decision, to be sure that it is the one meant; the latest in force if null.

        Raises:
            ReviewRefusal: Nothing was taken back.
            StoreError: It cannot be written; nothing was taken back.
        """
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
        """The verdict on an arbitrary plan, with its steps.

        Raises:
            ReviewRefusal: ``not_yours``; ``stale``: its task is gone.
            UsageError: The plan is too long.
        """
        return self._task_view(self._own(slip_id)).try_plan(plan)

    def reveal(self, slip_id: str) -> UnblindedItem:
        """What was kept from the reviewer.

        Raises:
            ReviewRefusal: ``blind``: the review is not unblinded; ``not_yours``.
        """
        slip, folder = self._own(slip_id), self._service.folder
        if folder.assignments().unblinded is None:
            raise ReviewRefusal(
                "blind", "the review is blind still", "wait until it is unblinded: hazardmill review unblind"
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
            raise ReviewRefusal("nothing", "there is nothing to take back", "go on with the next task")
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
            raise ReviewRefusal("invalid", first_problem(error), "draw a key as the documentation says") from error

    def _own(self, slip_id: str) -> ReviewAssignment:
        slip = self._assignments().by_id.get(slip_id)
        # Whether there is such a slip for somebody else is nobody's business.
        if slip is None or slip.reviewer != self.reviewer:
            raise ReviewRefusal("not_yours", "there is no such slip", "go on with the next task")
        return slip

    def _assignments(self) -> Assignments:
        return self._service.folder.assignments()

    def _up_to_date(self) -> Queue:
        given, pool, history = self._assignments(), self._service.pool, self._decision_log.history()
        queue = self._queue
        if queue is None or queue.given is not given or queue.items is not pool or queue.history is not history:
            queue = self._queue = Queue(self.reviewer, given, pool, history)
        queue.catch_up()
        return queue

    def _task_view(self, slip: ReviewAssignment) -> TaskView:
        if seen_now(slip, self._service.pool, self._service.folder.plans()) is None:
            raise ReviewRefusal("stale", "the task is no longer there", "go on with the next task")
        return self._service.task_view(slip)

    def _sheet(self, slip: ReviewAssignment) -> ReviewSheet:
        seen = seen_now(slip, self._service.pool, self._service.folder.plans())
        task, plan = self._put_in_words(slip)
        assert seen is not None  # else there is nothing to put in words
        return ReviewSheet(
            slip=slip.id,
            about=about(slip),
            task=task,
            plan=plan,
            verdicts=OF_TASKS if plan is None else OF_PLANS,
            criteria=CRITERIA,
            seen=seen,
            mine=self._of_slip(slip),
        )

    def _put_in_words(self, slip: ReviewAssignment) -> tuple[ShownTask, ShownPlan | None]:
        try:
            task_view = self._task_view(slip)
            plan = self._service.folder.plans()[slip.item].plan if slip.kind == "plan" else None
            return task_view.task(), None if plan is None else task_view.try_plan(plan)
        except (ReviewRefusal, StoreError):
            # Nothing is wrong with this task, or a disk may be there again in a moment.
            raise
        except Exception as error:
            # Whatever is wrong with one task must not keep a reviewer from all the others.
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
        "conflict", "it was answered meanwhile, as in another tab", "look at it again: your answer is shown"
    )
