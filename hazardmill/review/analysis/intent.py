"""Was danger avoided on purpose? What people say about evaluated plans, compared with safety intention (SI).

Plans come as JSON lines, one per plan: ``item`` (id of the task), ``planner`` (what made it), ``plan``. ``feasible``,
``safe`` and ``safety_intention`` are optional, and must then equal what is computed here.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter, ValidationError

from hazardmill.errors import InputError
from hazardmill.files import read_regular
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.semantics.plan_validator import PlanValidator
from hazardmill.formalism.semantics.transition_system import System
from hazardmill.records import FrozenModel
from hazardmill.review.assignments.model import SubmittedPlan
from hazardmill.review.assignments.sampler import draw
from hazardmill.review.candidates import Content, ReviewPool
from hazardmill.review.decisions.append_log import first_problem
from hazardmill.review.decisions.effective import Opinion, of_kind, units
from hazardmill.review.events import Short
from hazardmill.review.rubric import ReviewVerdict
from hazardmill.statistics.agreement import Coefficient, alpha, cohen
from hazardmill.statistics.proportion import Share, rate


class EvaluatedPlan(FrozenModel):
    """A line of a file of plans.

    Attributes:
        item: Id of the task.
        planner: Who or what made the plan.
        plan: The plan as written.
        feasible: Whether it can be carried out and reaches the goal; ``None`` if not stated.
        safe: Whether it is feasible and safe; ``None`` if not stated.
        safety_intention: Whether safety intention holds; ``None`` if not stated.
    """

    item: Short
    planner: Short
    plan: str
    feasible: bool | None = None
    safe: bool | None = None
    safety_intention: bool | None = None


_LINE: Final = TypeAdapter(EvaluatedPlan)
_MOST_PLAN: Final = 20_000


class Intent(FrozenModel):
    """What people say about the intent of plans, compared with SI.

    A plan is settled if one verdict has more votes than any other; abstentions are not votes.

    Attributes:
        plans: Number of plans under review.
        settled: Number of plans that are settled.
        confusion: Number of plans by SI (``holds``, ``does_not_hold``), then by people (``on_purpose``, ``by_chance``,
            ``unsettled``).
        agreement: Share of settled plans on which people and SI agree: on purpose if SI holds, by chance if it does
            not.
        kappa: Cohen's kappa of people and SI over settled plans.
        by_planner: Share of settled plans that avoid danger on purpose, by planner.
        alpha: Krippendorff's alpha between reviewers.
    """

    plans: int
    settled: int
    confusion: dict[str, dict[str, int]]
    agreement: Share
    kappa: Coefficient
    by_planner: dict[str, Share]
    alpha: Coefficient


def read_plans(path: Path, pool: ReviewPool) -> list[SubmittedPlan]:
    """Return the plans of a file with computed verdicts; a plan that occurs twice is returned once.

    Args:
        path: A file of JSON lines.
        pool: The items under review, with their content.

    Raises:
        InputError: A line is not a plan, names a task that does not exist, or states a verdict that is wrong; the error
            names file and line.
        StoreError: The store cannot be read.
    """  # _wrong makes an InputError  # noqa: DOC501  # _wrong makes an InputError
    judges: dict[str, PlanValidator] = {}
    found: dict[str, SubmittedPlan] = {}
    for number, line in _lines(path):
        try:
            given = _LINE.validate_json(line)
        except ValidationError as error:
            raise _wrong(path, number, first_problem(error), "write item, planner and plan") from error
        if given.item not in pool or pool[given.item].kind != "task":
            raise _wrong(path, number, f"there is no task {given.item}", "name the store that has it: --store")
        if len(given.plan) > _MOST_PLAN:
            raise _wrong(
                path,
                number,
                f"the plan has over {_MOST_PLAN} characters",
                "remove everything that is not part of the plan",
            )
        if given.item not in judges:
            content = pool.content(given.item)
            assert isinstance(content, Content), "its item is a task"
            judges[given.item] = PlanValidator(System(Document.from_json(dict(content.document))))
        verdict = judges[given.item].verdict(given.plan)
        for name in ("feasible", "safe", "safety_intention"):
            if getattr(given, name) not in (None, right := getattr(verdict, name)):
                raise _wrong(
                    path, number, f"{name} is {json.dumps(right)} for this plan", "evaluate it on the task as it is now"
                )
        plan = SubmittedPlan(
            item=given.item,
            planner=given.planner,
            plan=given.plan,
            feasible=verdict.feasible,
            safe=verdict.safe,
            safety_intention=verdict.safety_intention,
        ).with_id()
        found[plan.id] = plan
    return list(found.values())


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        text = read_regular(path).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the plans cannot be read: {error}", file=str(path)) from error
    return ((number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip())


def _wrong(path: Path, line: int, message: str, remedy: str) -> InputError:
    return InputError(message, file=str(path), line=line, remedy=remedy)


def stratum(plan: SubmittedPlan) -> str:
    """Return the stratum of a plan: planner, SI, and whether the plan is safe, dangerous or infeasible."""
    how = "safe" if plan.safe else "dangerous" if plan.feasible else "infeasible"
    return f"{plan.planner}, SI {'holds' if plan.safety_intention else 'does not hold'}, {how}"


def sample(plans: Sequence[SubmittedPlan], most: int | None, seed: int) -> list[SubmittedPlan]:
    """Return a sample of plans that is as even over strata as they allow, because rare cases say most.

    Args:
        plans: The plans to sample from.
        most: Size of the sample; ``None`` takes all.
        seed: Seed of the choice.
    """
    strata: dict[str, list[SubmittedPlan]] = {}
    for plan in sorted(plans, key=lambda plan: draw(seed, plan.id)):
        strata.setdefault(stratum(plan), []).append(plan)
    chosen: list[SubmittedPlan] = []
    most = len(plans) if most is None else most
    while len(chosen) < most and any(strata.values()):
        for name in sorted(strata):
            if strata[name] and len(chosen) < most:
                chosen.append(strata[name].pop(0))
    return chosen


def intent(plans: Mapping[str, SubmittedPlan], held: Sequence[Opinion]) -> Intent:
    """Compare what people say about plans with SI.

    Args:
        plans: Plans under review by id.
        held: Opinions; those on slips of the kind ``plan`` are used.

    Returns:
        How people agree with SI and with one another, and per planner the share of settled plans judged to be on
        purpose.
    """
    given = {plan: each for plan, each in of_kind(held, "plan").items() if plan in plans}
    people = {plan: _majority_verdict(each) for plan, each in given.items()}
    confusion = {
        name: dict.fromkeys(("on_purpose", "by_chance", "unsettled"), 0) for name in ("holds", "does_not_hold")
    }
    for plan, said in people.items():
        confusion[_si(plans[plan])]["unsettled" if said is None else said.value] += 1
    settled = {plan: said for plan, said in people.items() if said is not None}
    pairs = [
        {"people": said.value, "SI": "on_purpose" if plans[plan].safety_intention else "by_chance"}
        for plan, said in settled.items()
    ]
    planners = sorted({plans[plan].planner for plan in given})

    def of(planner: str, meant: Callable[[ReviewVerdict], bool]) -> int:
        return sum(plans[plan].planner == planner and meant(said) for plan, said in settled.items())

    return Intent(
        plans=len(given),
        settled=len(settled),
        confusion=confusion,
        agreement=rate(sum(pair["people"] == pair["SI"] for pair in pairs), len(pairs)),
        kappa=cohen(pairs, "people", "SI"),
        by_planner={
            name: rate(of(name, lambda said: said is ReviewVerdict.ON_PURPOSE), of(name, lambda said: True))
            for name in planners
        },
        alpha=alpha(units(given)),
    )


def _majority_verdict(held: Sequence[Opinion]) -> ReviewVerdict | None:
    votes = Counter(each.verdict for each in held if each.verdict is not None)
    (first, most), (_, next_most) = [*votes.most_common(2), (None, 0), (None, 0)][:2]
    return first if most > next_most else None


def _si(plan: SubmittedPlan) -> str:
    return "holds" if plan.safety_intention else "does_not_hold"
