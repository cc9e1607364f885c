from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from factories.scripted import ScriptedBackend

from hazardmill.errors import UnusableAnswer
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.document.expressions import canonical_json
from hazardmill.formalism.formats.python_writer import task_code
from hazardmill.generation.context import StageContext
from hazardmill.generation.models import Models
from hazardmill.generation.refine import RecordResult
from hazardmill.generation.rows import record_rows, task_id_of
from hazardmill.generation.wave import refine
from hazardmill.llm.requests import OFFLINE_LABEL, OFFLINE_MODEL
from hazardmill.records import DANGER_LISTS, Danger, Outcome
from hazardmill.sandbox.jail import Jail
from hazardmill.store.rows import pack
from hazardmill.store.schemas import TABLES
from hazardmill.store.store import Store

from .support import (
    APPROVED,
    CAUSE,
    DANGER,
    FOUND,
    NOBODYS_ERRAND,
    NONE,
    OTHER,
    REJECTED,
    SOUP,
    TOY_USD,
    UNAVOIDABLE,
    again,
    faulty,
    fenced,
    opened,
    record,
)

SCRIPTS: dict[str, dict[str, Any]] = {
    "accepted": {},
    "mended": {"author": ["prose", fenced(faulty("policy")), fenced(faulty("no_safe_plan")), fenced(SOUP)]},
    "unavoidable": {"extract": UNAVOIDABLE, "author": fenced(faulty("no_safe_plan"))},
    "no_danger": {"extract": NONE},
    "extraction_failed": {"extract": "prose"},
    "declined": {"extract": UnusableAnswer("declined")},
    "execution_failed": {"author": fenced(faulty("syntax"))},
    "quality_failed": {"judge": REJECTED},
    "sent_back": {"extract": again(OTHER), "judge": [NOBODYS_ERRAND, APPROVED]},
    "sent_back_and_declined": {"extract": again(NONE), "judge": NOBODYS_ERRAND},
    "draft_declined": {"author": [UnusableAnswer("declined"), fenced(SOUP)]},
}

JSON_COLUMNS = {
    *("identities", "details", "document", "danger", "certificate", "cross_check"),
    *("changing_cause", "fixed_circumstances", "sent_back"),
}


class Case:
    """A record that came to its end, with its rows."""

    def __init__(self, milled: RecordResult, mill: StageContext, **given: Any) -> None:
        self.milled, self.mill = milled, mill
        self.task_id = task_id_of(milled) if milled.accepted else None
        known = {"outcome": milled.outcome, "task_id": self.task_id, "cross_check": None} | given
        self.rows = record_rows(
            milled, mill, run_id="run", ordinal=4, reason=milled.reason, message=milled.message, **known
        )

    def one(self, table: str) -> dict[str, Any]:
        (row,) = self.rows[table]
        return row


def case(name: str, store: Store, jail: Jail, models: Models | None = None, **given: Any) -> Case:
    script = {"extract": FOUND, "author": fenced(SOUP), "judge": APPROVED} | SCRIPTS[name]
    asked = {} if models is None else {"models": models}
    with opened(store, ScriptedBackend(**script), jail, **asked) as mill:
        return Case(asyncio.run(refine(record(), mill)), mill, **given)


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_row_fits_its_table_and_fills_what_is_not_unknown(name: str, store: Store, jail: Jail) -> None:
    made = case(name, store, jail)
    assert {"dangers", "outcomes"} <= made.rows.keys() <= TABLES.keys()
    for table, rows in made.rows.items():
        for row in rows:
            pack(TABLES[table], row)
            # A column that is forgotten would be null, and null says that something is unknown.
            assert row.keys() == {column.name for column in TABLES[table].columns}
            assert row["hazardmill_version"] and row["input_hash"] == record().content_hash
            assert row["prompt_version"] and row["prompt_hash"] and row["model_asked"] == "toy"


@pytest.mark.parametrize("name", SCRIPTS)
def test_json_columns_are_canonical(name: str, store: Store, jail: Jail) -> None:
    for table, rows in case(name, store, jail).rows.items():
        for row in rows:
            for column in JSON_COLUMNS & row.keys():
                if row[column] is not None:
                    assert canonical_json(json.loads(row[column])) == row[column], (table, column)


def test_a_record_is_one_group_of_the_journal(store: Store, jail: Jail) -> None:
    made = case("mended", store, jail)
    other = Store.open(store.path.parent / "other", create=True)
    with other.writer("run") as writer:
        writer.append_sync(made.rows)
        (segment,) = (other.path / "journal").glob("*.jsonl")
        header, *groups = segment.read_text().splitlines()
    assert "journal" in header
    assert len(groups) == 1
    assert {table: other.count(table) for table in made.rows} == {t: len(rows) for t, rows in made.rows.items()}


def test_an_accepted_record(store: Store, jail: Jail) -> None:
    made = case("accepted", store, jail)
    task, outcome, draft, danger = (made.one(table) for table in ("tasks", "outcomes", "drafts", "dangers"))
    execution = made.milled.accepted.execution
    assert task["task_id"] == outcome["task_id"] == f"notes-{execution.document.hash[:12]}"
    assert (task["safe_plan"], task["unsafe_plan"]) == ("(reduce_speed) (carry_bowl)", "(carry_bowl)")
    assert (task["safe_length"], task["unsafe_length"], task["plan_length"], task["safety_effort"]) == (2, 1, 2, 1)
    assert json.loads(task["danger"]) == DANGER | {"cause_of_danger": CAUSE} and task["danger_type"] == "thermal"
    assert task["avoidability"] == "avoidable"
    assert json.loads(task["document"]) == {
        **execution.document.to_json(),
        "provenance": {"record_id": "notes:1", "model_answered": "toy", "backend": "scripted", "label": None},
    }
    assert Document.from_json(json.loads(task["document"])).hash == task["document_hash"]
    assert task["document_hash"] == draft["document_hash"] == execution.document.hash
    assert (task["domain_pddl"], task["problem_pddl"]) == (execution.domain_pddl, execution.problem_pddl)
    assert (task["licence"], task["attribution"], task["cross_check"]) == ("CC0-1.0", "nobody", None)
    assert (outcome["outcome"], outcome["ordinal"], outcome["drafts"]) == ("accepted", 4, 1)
    assert outcome["usd"] == pytest.approx(3 * TOY_USD) and draft["usd"] == pytest.approx(2 * TOY_USD)
    assert draft["accepted"] is True and draft["feedback"] is None and draft["failed_check"] is None
    lists = {name: json.dumps(DANGER[name]) for name in DANGER_LISTS}
    expected = {**DANGER, **lists, "cause_of_danger": CAUSE, "decline_reason": None}
    assert {name: danger[name] for name in expected} == expected
    assert (danger["no_danger"], danger["error"], danger["paid"]) == (None, None, True)


def test_the_code_of_a_task_is_rendered_and_that_of_a_draft_as_it_came(store: Store, jail: Jail) -> None:
    made = case("accepted", store, jail)
    task, draft = made.one("tasks"), made.one("drafts")
    assert task["code"] == task_code(Document.from_json(json.loads(task["document"])))
    assert draft["code"] == made.milled.accepted.draft.code != task["code"]


def test_a_task_without_a_safe_plan_has_nulls_for_it(store: Store, jail: Jail) -> None:
    task = case("unavoidable", store, jail).one("tasks")
    assert (task["avoidability"], task["unsafe_plan"], task["unsafe_length"]) == ("unavoidable", "(carry_bowl)", 1)
    assert [task[name] for name in ("safe_plan", "safe_length", "plan_length", "safety_effort")] == [None] * 4
    (line,) = (line for line in json.loads(task["certificate"])["lines"] if line["name"] == "unavoidable")
    assert line["passed"] is True and line["witness"]["expanded"] > 0


def test_what_the_offline_author_wrote_says_so_in_the_document(store: Store, jail: Jail) -> None:
    backend = ScriptedBackend(
        extract=FOUND, author=fenced(SOUP), judge=APPROVED, name="offline", model_answered=OFFLINE_MODEL
    )
    with opened(store, backend, jail) as mill:
        made = Case(asyncio.run(refine(record(), mill)), mill)
    said = json.loads(made.one("tasks")["document"])["provenance"]
    assert said == {
        "record_id": "notes:1",
        "model_answered": "offline-author",
        "backend": "offline",
        "label": OFFLINE_LABEL,
    }


def test_identities_lead_to_the_ledger(store: Store, jail: Jail) -> None:
    made = case("mended", store, jail)
    ledger = {row["identity"] for row in store.rows("llm_calls")}
    listed = [
        identity
        for table in ("dangers", "drafts")
        for row in made.rows[table]
        for identity in json.loads(row["identities"])
    ]
    assert len(listed) == 6 and set(listed) == ledger


def test_each_draft_says_what_failed_first(store: Store, jail: Jail) -> None:
    drafts = case("mended", store, jail).rows["drafts"]
    assert [(row["draft"], row["failed_check"], row["failed_reason"]) for row in drafts] == [
        (1, "answer", "no_code"),
        (2, "policy", "policy"),
        (3, "search", "no_safe_plan"),
        (4, None, None),
    ]
    assert [row["code"] is None for row in drafts] == [True, False, False, False]
    assert [row["document"] is None for row in drafts] == [True, True, False, False]


def test_checks_are_in_order_and_unknown_where_they_did_not_run(store: Store, jail: Jail) -> None:
    checks = [row for row in case("mended", store, jail).rows["checks"] if row["draft"] == 3]
    assert [row["position"] for row in checks] == list(range(9))
    assert [row["passed"] for row in checks] == [True, True, True, True, False, None, None, True, None]
    assert [row["check_name"] for row in checks] == (
        ["answer", "policy", "jail", "document", "search", "certificate", "pddl", "formalization", "judge"]
    )


def test_the_jail_is_named_where_code_ran_and_nowhere_else(store: Store, jail: Jail) -> None:
    made = case("mended", store, jail)
    assert [row["jail_profile"] for row in made.rows["drafts"]] == [None, None, jail.profile, jail.profile]
    assert made.one("outcomes")["jail_profile"] == made.one("tasks")["jail_profile"] == jail.profile
    assert made.one("dangers")["jail_profile"] is None


def test_each_row_names_the_model_that_it_stands_on(store: Store, jail: Jail) -> None:
    models = Models(extract="small", author="large", judge="strict")
    made = case("mended", store, jail, models)
    answered = {table: {(r["model_asked"], r["model_answered"]) for r in rows} for table, rows in made.rows.items()}
    assert answered == {
        "dangers": {("small", "small")},
        "drafts": {("large", "large")},
        "outcomes": {("large", "large")},
        "tasks": {("large", "large")},
        # A judge who was not asked did not answer.
        "checks": {("large", "large"), ("strict", None), ("strict", "strict")},
    }
    assert made.one("outcomes")["prompt_hash"] == made.mill.prompts.author.hash


def test_a_danger_that_was_sent_back_is_kept_with_what_the_judge_said(store: Store, jail: Jail) -> None:
    made = case("sent_back", store, jail)
    danger, first = made.one("dangers"), made.milled.attempts[0].draft
    said = first.checks[-1].details["failed"]
    first_danger = Danger.model_validate(DANGER).model_dump(mode="json")
    expected = {"danger": first_danger, "draft": 1, "issues": said[:1]}
    assert danger["round"] == 2 and json.loads(danger["sent_back"]) == expected
    drafts = [(row["draft"], row["round"], row["feedback"]) for row in made.rows["drafts"]]
    assert drafts == [(1, 1, None), (2, 2, None)]
    assert len(json.loads(danger["identities"])) == 2 and made.one("outcomes")["drafts"] == 2
    plain = case("accepted", Store.open(store.path.parent / "plain", create=True), jail)
    danger, draft = plain.one("dangers"), plain.one("drafts")
    assert (danger["round"], danger["sent_back"], draft["round"]) == (1, None, 1)


def test_of_a_record_that_was_declined_after_a_draft_the_extraction_has_the_last_word(store: Store, jail: Jail) -> None:
    made = case("sent_back_and_declined", store, jail)
    outcome, danger = made.one("outcomes"), made.one("dangers")
    assert (outcome["outcome"], outcome["drafts"], outcome["task_id"]) == ("no_danger", 1, None)
    assert outcome["prompt_hash"] == made.mill.prompts.extract.hash
    assert (danger["danger_type"], danger["decline_reason"], danger["round"]) == (None, "no_robot_part", 2)


@pytest.mark.parametrize("name", ["no_danger", "extraction_failed", "declined"])
def test_a_record_without_drafts(name: str, store: Store, jail: Jail) -> None:
    made = case(name, store, jail)
    assert made.rows["drafts"] == made.rows["checks"] == [] and "tasks" not in made.rows
    outcome, danger = made.one("outcomes"), made.one("dangers")
    assert (outcome["drafts"], outcome["task_id"]) == (0, None)
    assert outcome["prompt_hash"] == danger["prompt_hash"] == made.mill.prompts.extract.hash
    assert all(danger[field] is None for field in DANGER)
    assert (danger["no_danger"] is None) == (name != "no_danger") and (danger["error"] is None) == (name == "no_danger")
    assert danger["decline_reason"] == ("no_robot_part" if name == "no_danger" else None)
    assert (outcome["reason"] == "no_robot_part") == (name == "no_danger")


def test_the_cost_of_a_declined_request_is_unknown_and_not_nothing(store: Store, jail: Jail) -> None:
    made = case("declined", store, jail)
    assert made.one("outcomes")["usd"] is None
    assert (made.one("dangers")["identities"], made.one("dangers")["paid"]) == ("[]", False)
    assert made.one("outcomes")["model_answered"] is None


def test_a_duplicate_names_the_task_it_repeats_and_adds_none(store: Store, jail: Jail) -> None:
    made = case("accepted", store, jail, outcome=Outcome.DUPLICATE, task_id="notes-of-another")
    assert "tasks" not in made.rows
    assert (made.one("outcomes")["outcome"], made.one("outcomes")["task_id"]) == ("duplicate", "notes-of-another")
    assert made.one("drafts")["accepted"] is True


def test_what_other_planners_said_is_kept(store: Store, jail: Jail) -> None:
    made = case("accepted", store, jail, cross_check={"engines": {}, "agrees": None})
    assert made.one("tasks")["cross_check"] == '{"agrees":null,"engines":{}}'


@pytest.mark.parametrize(
    ("name", "marks"),
    [
        # The judge refused them all, and each holds every line: the latest counts.
        ("quality_failed", [False, False, False, False, True]),
        # None can be executed.
        ("execution_failed", [False] * 5),
        # There is a task.
        ("mended", [None] * 4),
    ],
)
def test_the_best_executable_draft_of_a_record_without_a_task_is_marked(
    name: str, marks: list[bool | None], store: Store, jail: Jail
) -> None:
    rows = case(name, store, jail).rows
    assert [row["fallback"] for row in rows["drafts"]] == marks
    assert [row["accepted"] for row in rows["drafts"]] == [*[False] * (len(marks) - 1), name == "mended"]
