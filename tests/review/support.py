"""Small stores of proved tasks, and reviewers who answer as they are told."""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

from hazardmill.formalism.authoring import PlanningTask
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.document.expressions import canonical_json
from hazardmill.formalism.formats.pddl.writer import domain_pddl, problem_pddl
from hazardmill.formalism.proofs.certificate import certify
from hazardmill.generation.scenario_answer import read_scenario_answer
from hazardmill.records import Danger
from hazardmill.review.assignments.model import ReviewAssignment
from hazardmill.review.candidates import ReviewItem
from hazardmill.review.decisions.folder import ReviewFolder
from hazardmill.review.schemas import ReviewAnswer, ReviewSheet
from hazardmill.review.service import ReviewService
from hazardmill.scenarios.reading import read_domain
from hazardmill.scenarios.scenario import Scenario
from hazardmill.scenarios.verify import Verification, verify
from hazardmill.store.schemas import BOOL, INT, REAL, STR, TABLES
from hazardmill.store.store import Store
from tests.scenarios.written import BASE, mal, sit
from tests.scenarios.written import answer as written

Row = dict[str, Any]

_FILLERS = {STR: "x", INT: 1, REAL: 0.0, BOOL: True}
TYPES = {"thermal": "physical", "privacy_violation": "psychosocial"}
SOURCES = ("neiss", "bddl", "normbank")


class Carry(PlanningTask):
    """Carrying something hot fast is dangerous."""

    realised_by = "carry"
    thing = "bowl"

    def build(self) -> None:
        place = self.type("place")
        kitchen, table = self.objects(place, "kitchen", "table")
        at = self.fluent(f"{self.thing}_at", place)
        slow = self.fluent("moving_slowly")
        trips = self.integer("trips", lower=0, upper=3)
        hot, lamp = self.context("soup_is_hot"), self.context("lamp_is_on")
        carry = self.action("carry", to=place).requires(at(kitchen))
        carry.sets(at(carry.to)).clears(at(kitchen)).increases(trips)
        self.action("reduce_speed").sets(slow)
        self.initially(at(kitchen), hot, lamp)
        self.goal(at(table))
        self.danger(carry, when=hot & ~slow, danger_type="thermal")


@cache
def proved(number: int) -> tuple[Document, str, str]:
    """The task with a thing of its own, its certificate as JSON, and its PDDL domain."""
    names = {"thing": f"bowl_{number}", "title": f"Carry bowl {number} to the table."}
    document = type("Carry", (Carry,), names)().document()
    return document, json.dumps(certify(document).to_json()), domain_pddl(document)


def danger_of(number: int, kind: str) -> Row:
    return {
        "setting": "kitchen",
        "robot_role": "helper",
        "robot_task": f"Carry bowl {number} to the table.",
        "danger_group": TYPES[kind],
        "danger_type": kind,
        "changing_cause": ["Soup spills."],
        "fixed_circumstances": ["The soup is hot."],
        "cause_of_danger": "Soup spills. The soup is hot.",
        "entity_in_danger": "human",
        "result_of_danger": "A scald.",
        "danger_action": "Carrying it fast.",
        "instantaneous_avoidability": "avoidable",
        "instantaneous_solution": "Slow down.",
        "assumptions": "It was just cooked.",
    }


def row(table: str, **given: Any) -> Row:
    known = TABLES[table]
    assert given.keys() <= {column.name for column in known.columns}, given.keys()
    filled: Row = {}
    for column in known.columns:
        if column.required or column.name in known.key:
            filled[column.name] = _FILLERS.get(column.type, datetime(2026, 1, 2, tzinfo=UTC))
    return {**filled, **given}


def rows_of(number: int, *, sent_back: str | None = None, context: str = "Hot soup.", run: str = "r") -> dict[str, Any]:
    """Everything of one record: an accepted task or, with a criterion, a draft that the judge sent back for it."""
    document, certificate, domain = proved(number)
    source, kind = SOURCES[number % len(SOURCES)], list(TYPES)[number // len(SOURCES) % len(TYPES)]
    same = {"run_id": run, "record_id": f"{source}:{number}", "source": source}
    plans = {"safe_plan": "(reduce_speed) (carry table)", "unsafe_plan": "(carry table)"}
    danger, text = danger_of(number, kind), json.dumps(document.to_json())
    judge = {"passed": sent_back is None, "reason": sent_back and f"judge:{sent_back}"}
    failed = [{"reason": f"judge:{sent_back}", "message": "m", "mend": "n"}] if sent_back else []
    rows = {
        "records": [row("records", **same, native_id=str(number), context=context, facts="{}", warnings="[]")],
        "dangers": [row("dangers", **same, **Danger.model_validate(danger).columns())],
        "checks": [
            row("checks", **same, draft=1, check_name="search", position=3, passed=True, details=json.dumps(plans)),
            row(
                "checks",
                **same,
                draft=1,
                check_name="judge",
                position=6,
                details=json.dumps({"failed": failed}),
                **judge,
            ),
        ],
        "drafts": [
            row(
                "drafts",
                **same,
                draft=1,
                code="code",
                document=text,
                document_hash=document.hash,
                accepted=sent_back is None,
                failed_check=sent_back and "judge",
                identities="[]",
            )
        ],
    }
    if sent_back is None:
        rows["tasks"] = [
            row(
                "tasks",
                **same,
                **plans,
                task_id=f"{source}-{document.hash[:12]}",
                draft=1,
                code="code",
                document=text,
                document_hash=document.hash,
                danger=json.dumps(danger),
                danger_group=danger["danger_group"],
                danger_type=kind,
                avoidability="avoidable",
                certificate=certificate,
                domain_pddl=domain,
                problem_pddl=problem_pddl(document),
            )
        ]
    return rows


@cache
def scenario_of(number: int, kind: str) -> tuple[Scenario, Verification]:
    """The toaster with a sandwich of its own, and what its checks found."""
    text = written({"sit": sit, "mal": mal}[kind](harm="It catches fire.")).replace("sandwich", f"sandwich_{number}")
    scenario = read_scenario_answer(text, read_domain(BASE), kind, f"notes-{kind}", {"backend": "a-backend"})
    return scenario, verify(scenario)


def scenario_rows(number: int, kind: str = "sit", *, context: str = "Lunch.", run: str = "r", **risk: Any) -> Row:
    """Everything of a record that became a scenario.

    Args:
        number: Gives it an object of its own.
        kind: ``sit`` or ``mal``.
        context: Text of the record.
        run: Id of the run.
        risk: Other values of its risk.
    """
    scenario, found = scenario_of(number, kind)
    source = SOURCES[number % len(SOURCES)]
    same = {"run_id": run, "record_id": f"{source}:{number}", "source": source}
    assert scenario.risk is not None
    scenario = replace(
        scenario, id=f"{source}-{kind}-{scenario.document.hash[:12]}", risk=replace(scenario.risk, **risk)
    )
    return {
        "records": [row("records", **same, native_id=str(number), context=context, facts="{}", warnings="[]")],
        "checks": [row("checks", **same, draft=2, check_name="judge", position=3, passed=True, details="{}")],
        "scenarios": [
            row(
                "scenarios",
                **same,
                scenario_id=scenario.id,
                draft=2,
                kind=kind,
                instruction=scenario.risk.instruction,
                target=scenario.risk.target,
                hazard=scenario.risk.hazard,
                scenario=canonical_json(scenario.to_json()),
                document_hash=scenario.document.hash,
                plan=found.plan,
                careless_plan=found.careless_plan,
                licence="CC0-1.0",
                attribution="Credit where it is due.",
            )
        ],
    }


def write(store: Store, *records: dict[str, Any], run: str = "r") -> None:
    with store.writer(run) as writer:
        for rows in records:
            writer.append_sync(rows)


def make_store(path: Path, tasks: int = 12, sent_back: tuple[str, ...] = ()) -> Store:
    """A store of so many tasks, and of one draft for each criterion that the judge named."""
    store = Store.open(path, create=True)
    back = [rows_of(tasks + place, sent_back=criterion) for place, criterion in enumerate(sent_back)]
    write(store, *map(rows_of, range(tasks)), *back)
    return store


def make_scenario_store(path: Path) -> Store:
    """A store of a task, and of two scenarios of each kind."""
    store = make_store(path, 1)
    write(store, *(scenario_rows(number, "mal" if number % 2 else "sit") for number in range(1, 5)))
    return store


def slip_on(service: ReviewService, kind: str, reviewer: str = "ada") -> str:
    slips = service.folder.assignments().of[reviewer]
    return next(slip.id for slip in slips if service.pool[slip.item].rubric_kind == kind)


class Clock:
    """A second later at each look; can be put back."""

    def __init__(self) -> None:
        self.time = datetime(2026, 5, 1, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.time += timedelta(seconds=1)
        return self.time


def make_folder(path: Path, project: Path) -> ReviewFolder:
    path.mkdir()
    shutil.copy(project / "review" / "rubric.md", path)
    return ReviewFolder(path, clock=Clock())


def items(count: int, *, kinds: int = 3, kind: str = "task") -> dict[str, ReviewItem]:
    """Items without a store, in so many strata of unequal size."""
    found = {}
    for number in range(count):
        source = SOURCES[min(number % (kinds + 1), kinds - 1) % len(SOURCES)]
        name = f"{source}-{kind}-{number:05d}"
        found[name] = ReviewItem(
            item=name,
            kind=kind,  # type: ignore[arg-type]  # one of both
            run_id="r",
            record_id=f"{source}:{number}",
            draft=1,
            source=source,
            danger_group="physical",
            danger_type="thermal" if number % 5 < 2 else "mechanical",
            has_safe_plan=True,
            seen=f"{number:064x}",
            judged=kind == "task",
            judge_criteria=() if kind == "task" else ("hints",),
        )
    return found


REJECT = ReviewAnswer(verdict="reject", reasons=("hints",))
APPROVE = ReviewAnswer(verdict="approve")
UNSURE = ReviewAnswer(verdict="unsure")
SKIP = ReviewAnswer(verdict="skip")

_keys = itertools.count()


def key() -> str:
    return f"key-{next(_keys)}"


def answer(
    service: ReviewService,
    reviewer: str,
    say: Callable[[ReviewAssignment, ReviewSheet], ReviewAnswer | None],
    most: int = 10_000,
) -> int:
    """Let a reviewer answer what comes, until nothing does or nothing is said; how often they did."""
    session = service.session(reviewer)
    for number in range(most):
        sheet = session.next()
        said = None if sheet is None else say(service.folder.assignments().by_id[sheet.slip], sheet)
        if sheet is None or said is None:
            return number
        expects = sheet.mine.decision if sheet.mine else None
        session.record(sheet.slip, said, seen=sheet.seen, expects=expects, submission=key())
    return most
