"""Solving one task by whatever answers: exact search, and beyond its limit the external planners.

Only exact search proves anything. A plan of another engine is believed only after our own verdicts have judged it, and
is not called optimal; an engine's statement that there is no plan is reported as its claim.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal, TypeAlias, get_args

from hazardmill.errors import EngineError, SearchLimitReached
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.document.plan_text import plan_text
from hazardmill.formalism.formats.up.convert import boolean_is_exact
from hazardmill.formalism.search.budget import DEFAULT_LIMIT
from hazardmill.formalism.search.engines.external import GOALS, Engine, EngineAnswer, EngineGoal, solve_with
from hazardmill.formalism.search.exact import PartialSearch, attempt_to_solve
from hazardmill.formalism.semantics.plan_validator import PlanValidator
from hazardmill.formalism.semantics.transition_system import System

Choice = Literal["auto", "exact", "enhsp", "tamer", "fast-downward"]
Search: TypeAlias = Callable[[Document, int, float | None], PartialSearch]
CHOICES: Final[tuple[Choice, ...]] = get_args(Choice)


@dataclass(frozen=True, slots=True)
class PlanAnswer:
    """What is known about one kind of plan, safe or unsafe.

    With the defaults alone, nobody answered.
    """

    plan: str | None = None
    """A plan string that our verdicts confirm. None: there is no plan, or none is known (see ``absent``)."""
    length: int | None = None
    """Steps of the plan."""
    optimal: bool = False
    """Whether it is proved that no plan of the kind is shorter."""
    absent: Literal["proved", "claimed"] | None = None
    """Whether it is proved (by exact search) or claimed (by an engine) that there is no such plan; None: neither."""
    engine: Choice | None = None
    """Who answered; None if nobody did."""
    message: str | None = None
    """What went wrong before there was an answer, or instead of one."""

    @property
    def known(self) -> bool:
        """Whether anybody answered."""
        return self.engine is not None


@dataclass(frozen=True, slots=True)
class TaskSolution:
    """The answers for both kinds of plan, at least one of them known."""

    safe: PlanAnswer
    unsafe: PlanAnswer
    expanded: int | None = None
    """Expansions of exact search; None if it was not asked or could not start."""

    @property
    def optimal(self) -> bool:
        """Whether both answers are proved: a shortest plan, or that there is none."""
        return all(answer.optimal or answer.absent == "proved" for answer in (self.safe, self.unsafe))

    @property
    def plan_length(self) -> int | None:
        """Mean length of the two optimal plans, rounded half to even; None without them."""
        lengths = self._optimal_lengths()
        return None if lengths is None else round(sum(lengths) / 2)

    @property
    def safety_effort(self) -> int | None:
        """Length of the optimal safe plan minus that of the unsafe one; None without them."""
        lengths = self._optimal_lengths()
        return None if lengths is None else lengths[0] - lengths[1]

    def to_json(self) -> dict[str, Any]:
        """Return both answers and the figures computed from them as JSON values."""
        figures = {"plan_length": self.plan_length, "safety_effort": self.safety_effort, "optimal": self.optimal}
        return {**asdict(self), **figures}

    def _optimal_lengths(self) -> tuple[int, int] | None:
        safe, unsafe = self.safe.length, self.unsafe.length
        return (safe, unsafe) if self.optimal and safe is not None and unsafe is not None else None


def solve_task(
    task: Document | System,
    engine: Choice = "auto",
    limit: int = DEFAULT_LIMIT,
    timeout_s: float = 30.0,
    search: Search = attempt_to_solve,
) -> TaskSolution:
    """Find a safe and an unsafe plan of a task, or that there is none.

    Args:
        task: The task.
        engine: ``exact`` searches within the limit. ``auto`` does so within ``timeout_s`` as well, then asks the
            installed engines that can be asked for what is still not known. Otherwise the name of the one engine to
            ask.
        limit: Most expansions of exact search.
        timeout_s: Seconds of wall time for exact search in ``auto``, and for each question to each engine. All that an
            engine has started is killed when its time is over.
        search: The search to use, for callers who want it done in a process that can be killed.

    Returns:
        The answers for both kinds of plan, at least one of them known.

    Raises:
        SearchLimitReached: ``exact`` reached its limit; or ``auto`` did, and no engine answered either question.
        EngineError: The one engine asked answered neither question (it may not be installed).
    """
    document = task.document if isinstance(task, System) else task
    if engine != "auto" and engine != "exact":
        return _by_engine(document, engine, timeout_s)
    attempt: PartialSearch | None = None
    try:
        attempt = search(document, limit, timeout_s if engine == "auto" else None)
        refusal = attempt.refusal
    except SearchLimitReached as too_large:
        refusal = too_large
    if refusal is not None and engine == "exact":
        raise refusal
    answers = {goal: _exact_answer(attempt, goal) for goal in GOALS}
    if refusal is not None:
        order = _engines_for(document)
        answers = {
            goal: found if found.known else _ask(document, goal, order, timeout_s, f"exact: {refusal.message}")
            for goal, found in answers.items()
        }
        if not any(answer.known for answer in answers.values()):
            raise SearchLimitReached(
                "; ".join(dict.fromkeys(str(answer.message) for answer in answers.values())),
                remedy="use fewer objects, parameters or fluents, raise the limit or the timeout, or install an engine",
            ) from refusal
    return TaskSolution(answers["safe"], answers["unsafe"], None if attempt is None else attempt.expanded)


def _by_engine(document: Document, engine: Engine, timeout_s: float) -> TaskSolution:
    answers = {goal: _ask(document, goal, (engine,), timeout_s) for goal in GOALS}
    if not any(answer.known for answer in answers.values()):
        raise EngineError(
            "; ".join(dict.fromkeys(str(answer.message) for answer in answers.values())),
            remedy="try --engine auto, or give it more time",
        )
    return TaskSolution(answers["safe"], answers["unsafe"])


def _exact_answer(attempt: PartialSearch | None, goal: EngineGoal) -> PlanAnswer:
    if attempt is None or (goal == "safe") not in attempt.found:
        return PlanAnswer()
    plan = attempt.found[goal == "safe"]
    if plan is None:
        return PlanAnswer(absent="proved", engine="exact")
    return PlanAnswer(plan_text(plan), len(plan), optimal=True, engine="exact")


def _engines_for(document: Document) -> tuple[Engine, ...]:
    """Return the engines that can be asked about a task of this kind, the best first."""
    if not boolean_is_exact(document):
        return ("enhsp",)
    if any(fluent.integer for fluent in document.fluents):
        # Tamer searches for ever where numbers have no solution; Fast Downward knows none.
        return ("enhsp", "tamer")
    return ("tamer", "fast-downward", "enhsp")


def _ask(
    document: Document, goal: EngineGoal, engines: tuple[Engine, ...], timeout_s: float, before: str | None = None
) -> PlanAnswer:
    """Return the first plan that our verdicts confirm, else the first claim that there is none."""
    messages = [] if before is None else [before]
    claimed_by: Engine | None = None
    for engine in engines:
        answer = solve_with(engine, document, goal, timeout_s)
        # Further engines are asked after a claim: a plan that is confirmed outweighs it.
        if answer.status == "unsolvable":
            claimed_by = claimed_by or engine
        elif answer.status != "solved":
            messages.append(f"{engine}: {answer.status}: {answer.message or 'it does not say why'}")
        elif wrong := next(_faults(document, goal, answer), None):
            messages.append(f"{engine}: {wrong}")
        else:
            length = None if answer.plan is None else len(answer.plan)
            return PlanAnswer(answer.plan_text, length, engine=engine, message="; ".join(messages) or None)
    message = "; ".join(messages) or None
    return PlanAnswer(absent=None if claimed_by is None else "claimed", engine=claimed_by, message=message)


def _faults(document: Document, goal: EngineGoal, answer: EngineAnswer) -> Iterator[str]:
    """Yield what is wrong with an engine's plan, by our verdicts."""
    try:
        feasible, safe, _ = PlanValidator(System(document)).quick(answer.plan_text or "")
    except SearchLimitReached as too_large:
        yield f"its plan cannot be judged: {too_large.message}"
        return
    if not feasible:
        yield f"its plan is not feasible: {answer.plan_text}"
    elif safe != (goal == "safe"):
        yield f"its plan is not {goal}: {answer.plan_text}"
