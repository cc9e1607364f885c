"""Stores to build releases from, with no model asked: a run's rows as though one had answered, and many tasks of few.

    offline = run_offline(folder / "offline")
    model = rewritten(offline, folder / "model", by_model)
    large = multiplied(model, folder / "large", tasks=12_279)

Every task is real: its document is one that our rules wrote, or that with more circumstances which decide nothing, and
plans, lengths, certificate, structure and PDDL are worked out of it as in a run. Texts of the many are invented words.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any, Final

from hazardmill.formalism.authoring import PlanningTask
from hazardmill.formalism.document.document import Document, FluentDecl
from hazardmill.formalism.formats.pddl.writer import domain_pddl, problem_pddl
from hazardmill.formalism.formats.python_writer import task_code
from hazardmill.formalism.proofs.certificate import certify
from hazardmill.generation.rows import provenance
from hazardmill.llm.requests import OFFLINE_MODEL
from hazardmill.quality.structure import structure_id
from hazardmill.records import DANGER_LISTS, Danger, content_hash
from hazardmill.store.schemas import TABLES
from hazardmill.store.store import Store

Row = dict[str, Any]
Change = Callable[[str, Row], Row | None]
"""What is to stand in the place of a table's row; null leaves it out."""

MODEL: Final = "test/model-1"
HOST: Final = "api.example"


def rewritten(store: Store, path: Path, change: Change) -> Store:
    """A new store with the rows of another, each as ``change`` makes it.

    Args:
        store: Is only read.
        path: Where the new one is to be.
        change: Called with the name of the table and a copy of each latest row.
    """
    groups: dict[str, dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for table in TABLES:
        for row in store.rows(table):
            changed = change(table, dict(row))
            if changed is not None:
                groups[changed["run_id"]][table].append(changed)
    made = Store.open(path, create=True)
    for run_id, group in groups.items():
        with made.writer(run_id) as writer:
            writer.append_sync(group)
    return made


def by_model(table: str, row: Row, *, model: str = MODEL, host: str = HOST) -> Row:
    """A row of an offline run as though a model had answered: for ``rewritten``.

    The codes and documents are those of our rules still, so this is for tests of what comes after.
    """
    if "model_answered" in row and row["model_answered"] == OFFLINE_MODEL:
        row = {**row, "model_asked": model, "model_answered": model, "backend": "litellm"}
        if table == "llm_calls":
            row |= {"host": host, "model_sent": model}
        if row.get("document") is not None and table == "tasks":
            row["document"] = _json({**json.loads(row["document"]), "provenance": provenance(row)})
    return row


def _json(value: Mapping[str, Any] | list[str]) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


SOURCES: Final = ("alfred", "bddl", "neiss", "normbank", "virtualhome")
RUN_ID: Final = "generate-20260110-080000-aaaaaa"


def run_offline(path: Path, limit: int = 10, run_id: str = RUN_ID, files: Mapping[str, Path] | None = None) -> Store:
    """A new store with a run of the offline author over the shipped samples, or over other files.

    Args:
        path: Where it is to be.
        limit: Records of each source.
        run_id: Of the run.
        files: Name of a source to a file of it; by default the samples of all in ``SOURCES``.
    """
    from hazardmill.ingest.sources import load_source
    from hazardmill.runs.config import RunConfig, RunInput
    from hazardmill.runs.run import Run

    store = Store.open(path, create=True)
    files = files or {name: load_source(name).sample for name in SOURCES}
    inputs = tuple(RunInput(source=name, path=file, limit=limit) for name, file in files.items())
    run, _ = Run.start(store, RunConfig(inputs=inputs, jail="minimal"), run_id)

    async def work() -> None:
        async with run.session() as session:
            await session.work_through(run.waves())

    with run.under_way():
        asyncio.run(work())
    return store


ROLLED: Final = 500
"""Tasks whose rows are made into parts at a time."""

_MOST_DECOYS: Final = 7
_RESTS: Final = ("shelf", "rug", "lamp", "vase", "clock", "stool", "basket")
_LOOKS: Final = ("a_blue_rim", "a_round_foot", "a_woven_edge", "an_old_label", "a_green_dot", "a_plain_top", "a_line")
_SPOKEN: Final = ("setting", "result_of_danger", "instantaneous_solution", "assumptions")


def multiplied(store: Store, path: Path, tasks: int, *, seed: int = 0, run_id: str = RUN_ID) -> Store:
    """A new store of one run with so many tasks, made of the tasks of another store.

    A task is one of the others with up to seven more circumstances that hold and up to seven that do not, and no
    condition reads: some three tasks in a row of its kind have the same structure. The same arguments give the same
    rows.

    Args:
        store: Its tasks are made many of; it is only read.
        path: Where the new one is to be.
        tasks: How many.
        seed: Another one gives other words.
        run_id: Of the run.
    """
    made = Store.open(path, create=True)
    avoidable = store.rows("tasks", {"avoidability": "avoidable"})
    templates = sorted(avoidable, key=lambda row: str(row["task_id"]))
    known = _known(store)
    say = _Words(Random(seed))
    selection: dict[str, str] = {}
    with made.writer(run_id) as writer:
        for number in range(tasks):
            row = templates[number % len(templates)]
            document = _with_decoys(Document.from_json(json.loads(row["document"])), number // len(templates), say)
            group = _task(number, document, {**row, "run_id": run_id}, known[row["record_id"]], say)
            selection[group["records"][0]["record_id"]] = group["records"][0]["content_hash"]
            writer.append_sync(group)
            if number % ROLLED == ROLLED - 1:
                writer.roll()
        writer.append_sync({"runs": list(_states(run_id, selection, templates[0]["hazardmill_version"]))})
    return made


def with_unavoidable(store: Store) -> Store:
    """The same store with one more task, of a source in the public domain, in which no plan is safe.

    Args:
        store: Has a task of ``neiss``, whose provenance the new one takes; it is written to.
    """
    row = min(store.rows("tasks", {"source": "neiss"}), key=lambda row: str(row["task_id"]))
    formalization = {
        **json.loads(row["danger"]),
        "robot_task": "Open the old crate.",
        "danger_group": "physical",
        "danger_type": "biological",
        "danger_action": "Open crate.",
        "instantaneous_avoidability": "unavoidable",
    }
    labelled = {"danger_group": "physical", "danger_type": "biological", "avoidability": "unavoidable"}
    row = {**row, **labelled, "danger": _json(formalization)}
    group = _task(99_999_999, _OpenOldCrate().document(), row, _known(store)[row["record_id"]], _Words(Random(0)))
    with store.writer(row["run_id"]) as writer:
        writer.append_sync(group)
    return store


class _OpenOldCrate(PlanningTask):
    """A crate is to be opened that is full of dust, while somebody sits beside it."""

    title = "Open the old crate."
    realised_by = "open_crate"

    def build(self) -> None:
        """Two steps, and no other way."""
        at_crate, opened = self.fluent("robot_at_crate"), self.fluent("crate_is_open")
        dusty, near = self.context("crate_is_full_of_dust"), self.context("somebody_sits_beside_it")
        self.context("crate_has_a_blue_rim")
        self.action("go_to_crate").requires(~at_crate).sets(at_crate)
        opening = self.action("open_crate").requires(at_crate).sets(opened)
        self.initially(dusty, near)
        self.goal(opened)
        self.danger(opening, when=dusty & near, danger_type="biological")


_Known = tuple[Row, Row, Row, Row]
"""Of a record: itself, its danger, its outcome, and what the judge said of the draft that passed."""


def _known(store: Store) -> dict[str, _Known]:
    records = {row["record_id"]: row for row in store.rows("records")}
    dangers, outcomes = ({row["record_id"]: row for row in store.rows(name)} for name in ("dangers", "outcomes"))
    judged = {row["record_id"]: row for row in store.rows("checks", {"check_name": "judge"}) if row["passed"]}
    return {each: (records[each], dangers[each], outcomes[each], judged[each]) for each in judged}


class _Words:
    """Invented words, so that no two tasks are told alike."""

    def __init__(self, random: Random) -> None:
        self._random = random
        syllables = [first + second for first in "bdfgklmnprstv" for second in "aeiou"]
        self._words = ["".join(random.choices(syllables, k=random.randint(2, 4))) for _ in range(3000)]

    def __call__(self, count: int) -> str:
        """A sentence of so many words."""
        return " ".join(self._random.choices(self._words, k=count)).capitalize() + "."


def _task(number: int, document: Document, row: Row, known: _Known, say: _Words) -> dict[str, list[Row]]:
    """All rows of one record whose second draft was accepted.

    Args:
        number: Of the record in its source.
        document: The task.
        row: A task whose provenance and danger formalization it takes.
        known: Its record's rows.
        say: Words for the texts.
    """
    native, found, outcome, judged = known
    certificate = certify(replace(document, provenance={}), unavoidable=row["avoidability"] == "unavoidable")
    solution = certificate.solution
    assert not certificate.refusals, certificate.refusals
    assert solution.unsafe is not None
    source = row["source"]
    record_id, task_id = f"{source}:{number:08d}", f"{source}-{document.hash[:12]}"
    context = "\n".join(f"{label}: {say(16)}" for label in ("Seen", "Told", "Place", "Things"))
    told = {"native_id": f"{number:08d}", "context": context, "content_hash": content_hash(context)}
    same = {"run_id": row["run_id"], "record_id": record_id, "input_hash": told["content_hash"]}
    record = {**native, **told, "run_id": row["run_id"], "record_id": record_id}
    spoken = {name: say(14) for name in _SPOKEN} | {name: [say(7)] for name in DANGER_LISTS}
    formalization = Danger.model_validate({**json.loads(row["danger"]), **spoken})
    task = {**row, **same, "task_id": task_id, "draft": 2}
    text = _json({**document.to_json(), "provenance": provenance(task)})
    code = task_code(document)
    task |= {
        "code": code,
        "document": text,
        "document_hash": document.hash,
        "structure_id": structure_id(document.to_json()),
        "danger": _json(formalization.model_dump(mode="json")),
        "safe_plan": solution.safe_text,
        "unsafe_plan": solution.unsafe_text,
        "safe_length": None if solution.safe is None else len(solution.safe),
        "unsafe_length": len(solution.unsafe),
        "plan_length": solution.plan_length,
        "safety_effort": solution.safety_effort,
        "certificate": _json(certificate.to_json()),
        "domain_pddl": domain_pddl(document),
        "problem_pddl": problem_pddl(document),
    }
    asked = (("extract", None), ("author", 1), ("author", 2), ("judge", 2))
    calls = [_call(task, stage, draft, say) for stage, draft in asked]
    identities = [call["identity"] for call in calls]
    danger = {**found, **same, **formalization.columns(), "identities": _json(identities[:1]), "paid": True}
    drafts = [
        {
            **{name: task[name] for name in ("source", *_MADE_BY)},
            **same,
            "draft": draft,
            "answer": f"```python\n{code}```\n",
            "code": code,
            "document": text if draft == 2 else None,
            "document_hash": document.hash if draft == 2 else None,
            "accepted": draft == 2,
            "failed_check": None if draft == 2 else "jail",
            "failed_reason": None if draft == 2 else "exception",
            "feedback": None if draft == 2 else say(40),
            "identities": _json(identities[1:2] if draft == 1 else identities[2:]),
            "paid": True,
            "usd": 0.0,
        }
        for draft in (1, 2)
    ]
    return {
        "records": [record],
        "dangers": [{name: danger[name] for name in _names("dangers")}],
        "drafts": drafts,
        "checks": [{**judged, **same, "draft": 2}],
        "tasks": [task],
        "llm_calls": calls,
        "outcomes": [{**outcome, **same, "ordinal": number, "drafts": 2, "task_id": task_id}],
    }


_MADE_BY: Final = (
    "prompt_version",
    "prompt_hash",
    "model_asked",
    "model_answered",
    "backend",
    "jail_profile",
    "hazardmill_version",
)


def _names(table: str) -> list[str]:
    return [column.name for column in TABLES[table].columns]


def _with_decoys(document: Document, turn: int, say: _Words) -> Document:
    """The document with more circumstances, which nothing reads."""
    taken = {fluent.name for fluent in document.fluents}
    names = [
        name for name in (f"{rest}_has_{look}" for rest, look in itertools.product(_RESTS, _LOOKS)) if name not in taken
    ]
    places = turn % (_MOST_DECOYS + 1) ** 2
    holding, not_holding = divmod(places, _MOST_DECOYS + 1)
    # Of those with as many, other ones: documents differ, and their structure does not.
    start = turn // (_MOST_DECOYS + 1) ** 2 * 3 % len(names)
    chosen = [names[(start + place) % len(names)] for place in range(holding + not_holding + 1)]
    added = [FluentDecl(name, kind="context") for name in chosen]
    initial: dict[tuple[str, ...], bool | int] = dict(document.initial)
    initial |= {(name,): True for name in chosen[: holding + 1]}
    return Document.of(
        types=document.types,
        objects=document.objects,
        fluents=(*document.fluents, *added),
        actions=document.actions,
        initial=initial,
        goal=document.goal,
        dangers=document.dangers,
        initial_danger=document.initial_danger,
        max_danger=document.max_danger,
        name=document.name,
        realised_by=document.realised_by,
        causes=document.causes,
        obvious=document.obvious,
        texts={**document.texts, "summary": say(12)},
    )


def _call(task: Row, stage: str, draft: int | None, say: _Words) -> Row:
    return {
        **{name: task[name] for name in ("run_id", "record_id", "input_hash", *_MADE_BY) if name != "jail_profile"},
        "identity": hashlib.sha256(f"{task['record_id']} {stage} {draft}".encode()).hexdigest(),
        "attempt": 1,
        "stage": stage,
        "draft": draft,
        "sample": 0,
        "host": HOST,
        "request": "{}",
        "answer": say(8),
        "answered": True,
        "usd": 0.0,
        "usd_upper": 0.0,
        "at": datetime(2026, 1, 10, 8, tzinfo=UTC),
        "model_sent": task["model_asked"],
    }


def _states(run_id: str, selection: Mapping[str, str], version: str) -> Iterator[Row]:
    for sequence, state in enumerate(("running", "completed")):
        yield {
            "run_id": run_id,
            "sequence": sequence,
            "kind": "generate",
            "state": state,
            "config": "{}",
            "selection": _json(selection) if sequence == 0 else None,
            "at": datetime(2026, 1, 10, 8 + sequence, tzinfo=UTC),
            "hazardmill_version": version,
        }
