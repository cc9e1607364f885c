"""What gates are shown in tests: tasks of a run, to be changed, rows of changed tasks; and all texts of a release."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from hazardmill.formalism.document.document import Document
from hazardmill.formalism.document.expressions import canonical_json
from hazardmill.formalism.formats.pddl.writer import domain_pddl, problem_pddl
from hazardmill.formalism.formats.python_writer import task_code
from hazardmill.formalism.proofs.certificate import certify
from hazardmill.generation.rows import provenance
from hazardmill.quality.corpus_thresholds import Thresholds
from hazardmill.quality.structure import structure_id
from hazardmill.records import Danger
from hazardmill.release.build.candidates import Candidate, gather
from hazardmill.release.build.options import Options
from hazardmill.release.gates.findings import GateResult
from hazardmill.release.gates.gates import Gates
from hazardmill.release.gates.proofs import examine
from hazardmill.review.policies import AcceptedSet
from hazardmill.store.store import Store

Row: TypeAlias = dict[str, Any]

FEW = Thresholds(
    neutral_names=1,
    leaking_ways=1,
    standing_out=1,
    commonest_way_out=1,
    commonest_structures=1,
    effective_structures=1,
    largest_source=1,
    largest_type=1,
    enough=1,
)
"""What any few tasks are within."""


@dataclass
class Release:
    """What the gates are shown; a test changes it."""

    rows: list[Row]
    candidates: list[Candidate]
    splits: dict[str, str]
    options: Options = field(default_factory=lambda: Options(version="1.0.0", policy="none", thresholds=FEW))
    accepted: AcceptedSet | None = None
    beside: dict[str, list[tuple[str, Row]]] = field(default_factory=dict)
    """Task to config and row of what is released with it."""

    def gates(self) -> Gates:
        return Gates(self.options, self.candidates, self.splits, self.accepted)

    def results(self) -> dict[str, GateResult]:
        with self.gates() as gates:
            for row in self.rows:
                gates.see(row, self.beside.get(row["task_id"], ()))
            return {result.name: result for result in gates.results()}

    def stopped(self) -> dict[str, GateResult]:
        return {name: result for name, result in self.results().items() if result.stops}

    def row(self, source: str, place: int = 0) -> Row:
        return [row for row in self.rows if row["source"] == source][place]

    def set(self, old: Row, new: Row) -> None:
        """Put another task in the place of one."""
        self.rows[self.rows.index(old)] = new
        self.splits[new["task_id"]] = self.splits.pop(old["task_id"])
        self.candidate(old["task_id"], task_id=new["task_id"], structure_id=new["structure_id"])

    def add(self, row: Row, like: Row, split: str) -> None:
        """Add a task by the record of another one."""
        self.rows.append(row)
        self.splits[row["task_id"]] = split
        found = next(each for each in self.candidates if each.task_id == like["task_id"])
        self.candidates.append(replace(found, task_id=row["task_id"]))

    def candidate(self, task_id: str, /, **changes: Any) -> None:
        places = [place for place, each in enumerate(self.candidates) if each.task_id == task_id]
        self.candidates[places[0]] = replace(self.candidates[places[0]], **changes)

    def copy(self) -> Release:
        """One that can be changed."""
        return replace(
            self,
            rows=[dict(row) for row in self.rows],
            candidates=[*self.candidates],
            splits={**self.splits},
            beside={**self.beside},
        )


def gathered(store: Store, working: Path) -> Release:
    """Every task of a store, all in one split."""
    found = gather(store, None, Options(version="1.0.0", policy="none"), working)
    rows = list(found.whole(candidate.task_id for candidate in found.candidates))
    found.close()
    return Release(rows, list(found.candidates), {row["task_id"]: "train" for row in rows})


def ten_of(every: Release) -> Release:
    """Two tasks of every source, of different structures, with no personal data and both plans, in all splits."""
    kept: list[Row] = []
    structures: set[str] = set()
    for row in every.rows:
        if row["structure_id"] in structures or row["safe_plan"] is None or examine(row).personal:
            continue
        if sum(each["source"] == row["source"] for each in kept) < 2:
            structures.add(row["structure_id"])
            kept.append(row)
    assert len(kept) == 10
    splits = {row["task_id"]: ("train", "validation", "test")[place % 3] for place, row in enumerate(kept)}
    return Release(kept, [each for each in every.candidates if each.task_id in splits], splits)


def document_of(row: Row) -> Document:
    return Document.from_json(json.loads(row["document"]))


def renamed(row: Row, table: Callable[[str], str]) -> Document:
    """The task under other names of objects, fluents and actions."""
    plain = json.loads(row["document"])
    names = {each["name"] for kind in ("fluents", "actions") for each in plain[kind]}
    names |= {name for name, _ in plain["objects"]}

    def told(value: Any) -> Any:
        if isinstance(value, str):
            return table(value) if value in names else value
        if isinstance(value, list):
            return [told(each) for each in value]
        return {key: told(each) for key, each in value.items()} if isinstance(value, dict) else value

    formal = {key: told(value) for key, value in plain.items() if key not in ("texts", "provenance")}
    return Document.from_json({**plain, **formal})


def remade(row: Row, document: Document, *, limit: int = 200_000) -> Row:
    """The row of a task with this document instead: all that follows from it is worked out anew."""
    certificate = certify(replace(document, provenance={}), limit, row["avoidability"] == "unavoidable")
    solution = certificate.solution
    assert solution.unsafe is not None
    return {
        **row,
        "task_id": f"{row['source']}-{document.hash[:12]}",
        "document": canonical_json(document.to_json()),
        "document_hash": document.hash,
        "code": task_code(document),
        "structure_id": structure_id(document.to_json()),
        "safe_plan": solution.safe_text,
        "unsafe_plan": solution.unsafe_text,
        "safe_length": None if solution.safe is None else len(solution.safe),
        "unsafe_length": len(solution.unsafe),
        "plan_length": solution.plan_length,
        "safety_effort": solution.safety_effort,
        "certificate": canonical_json(certificate.to_json()),
        "domain_pddl": domain_pddl(document),
        "problem_pddl": problem_pddl(document),
    }


def told_by(row: Row, **changes: Any) -> Row:
    """The row of a task of another origin, as its document says too."""
    told = {**row, **changes}
    return {**told, "document": canonical_json({**json.loads(row["document"]), "provenance": provenance(told)})}


def other_words(row: Row) -> Row:
    """The same task told in other words."""
    words = {"changing_cause": [" ".join(f"word{n}" for n in range(200))]}
    danger = Danger.model_validate({**json.loads(row["danger"]), **words})
    return {**row, "danger": canonical_json(danger.model_dump(mode="json"))}


def texts_of(folder: Path) -> Iterator[str]:
    """All text of a release: of its files, of every cell, and of the members of its archives."""
    for path in sorted(folder.rglob("*")):
        if path.suffix == ".parquet":
            yield json.dumps(pq.read_table(path).to_pylist(), ensure_ascii=False)
        elif path.name.endswith(".tar.zst"):
            with (
                pa.CompressedInputStream(pa.OSFile(str(path)), "zstd") as stream,
                tarfile.open(fileobj=stream, mode="r|") as archive,
            ):
                for member in archive:
                    content = archive.extractfile(member)
                    yield member.name + ("" if content is None else content.read().decode())
        elif path.is_file():
            yield path.read_text(encoding="utf-8")
