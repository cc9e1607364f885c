"""Recheck: executes stored drafts again, in chunks, and compares the results with the store.

A verdict is deterministic, so a difference comes from another version, from a machine with other limits (a draft that
ran into a limit of time or memory), or from damage. A chunk consists of a store's path and ids, and its result of
counts, a hash and the differences, so that little is sent between machines.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from hazardmill.errors import InputError, PluginError, UnknownName
from hazardmill.formalism.document.expressions import canonical_json
from hazardmill.generation.checks.added import draft_checks, find_checks
from hazardmill.generation.execute import CHECKS, DraftCheck, Execution, execute
from hazardmill.ingest.intake import RecordReader
from hazardmill.records import Check, FrozenModel, Record, content_hash
from hazardmill.run_options import JailProfile
from hazardmill.runs.config import RunConfig
from hazardmill.sandbox.jail import Jail, Limits
from hazardmill.store.run_ids import known_runs, list_command, unknown_run
from hazardmill.store.store import Store

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

CHUNK: Final = 250
"""Drafts per chunk: at least two seconds of a core, compared with which opening a jail and sending a task are cheap."""

DIFFERENCES: Final = 100
"""The most differences that a chunk lists; all are counted."""

_SHOWN: Final = 200
_ABSENT: Final = "(none)"
_MODULUS: Final = 2**256

# Parts of the verdict on a draft that became a task, beside its checks: everything that was proved.
_OF_A_TASK: Final = ("safe_plan", "unsafe_plan", "certificate", "domain_pddl", "problem_pddl")

_IDS: Final = """
    SELECT drafts.run_id, drafts.record_id, drafts.draft
    FROM drafts JOIN checks USING (run_id, record_id, draft)
    WHERE code IS NOT NULL AND check_name = 'policy' AND checks.passed IS NOT NULL
      AND ($runs IS NULL OR list_contains($runs, drafts.run_id))
    ORDER BY ALL
"""

_DRAFTS: Final = f"""
    SELECT drafts.record_id, drafts.draft, drafts.code, drafts.document_hash, drafts.hazardmill_version,
           coalesce(CASE WHEN drafts.round < dangers.round
                         THEN json_extract_string(dangers.sent_back, '$.danger.instantaneous_avoidability')
                         ELSE instantaneous_avoidability END = 'unavoidable', false) AS unavoidable, tasks.task_id,
           {", ".join(f"tasks.{name}" for name in _OF_A_TASK)}
    FROM drafts
    LEFT JOIN dangers ON (dangers.run_id, dangers.record_id) = (drafts.run_id, drafts.record_id)
    LEFT JOIN tasks ON (tasks.run_id, tasks.record_id, tasks.draft) = (drafts.run_id, drafts.record_id, drafts.draft)
    WHERE drafts.run_id = $run AND list_contains($records, drafts.record_id)
"""

_CHECKS: Final = """
    SELECT record_id, draft, check_name, passed, reason, message, mend, details FROM checks
    WHERE run_id = $run AND list_contains($records, record_id)
"""


class Chunk(FrozenModel):
    """Drafts of one run to be checked together: ``drafts`` has the record id and the number of each."""

    run_id: str
    drafts: tuple[tuple[str, int], ...]


class Difference(FrozenModel):
    """One part of a draft's verdict that differs from the store.

    Attributes:
        run_id: The run.
        record_id: The record.
        draft: Number of the draft.
        what: The part: ``search: reason``, ``document_hash``, ``certificate`` and so on.
        stored: Its value in the store; only the beginning if it is long.
        found: Its value now; only the beginning if it is long.
        version: The version of hazardmill that wrote the row.
    """

    run_id: str
    record_id: str
    draft: int
    what: str
    stored: str
    found: str
    version: str

    @property
    def in_words(self) -> str:
        """One line for display."""
        where = f"{self.run_id} {self.record_id} draft {self.draft}"
        return f"{where}, {self.what}: was {self.stored} (version {self.version}), is {self.found}"


class RecheckSummary(FrozenModel):
    """The result of one or more chunks. Two of them can be added.

    Attributes:
        drafts: Drafts executed.
        accepted: Those that pass every check now.
        differing: Those with any difference.
        differences: The differences, at most ``DIFFERENCES`` per chunk.
        digest: Hash of all verdicts, in hexadecimal. Order and chunks do not change it.
        jails: The kinds of jail that the drafts ran in.
        left_out: Why runs were left out: a package that has one of their checks is gone.
    """

    drafts: int = 0
    accepted: int = 0
    differing: int = 0
    differences: tuple[Difference, ...] = ()
    digest: str = f"{0:064x}"
    jails: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    def __add__(self, other: RecheckSummary) -> RecheckSummary:
        return RecheckSummary(
            drafts=self.drafts + other.drafts,
            accepted=self.accepted + other.accepted,
            differing=self.differing + other.differing,
            differences=(*self.differences, *other.differences),
            digest=_join(self.digest, other.digest),
            jails=tuple(sorted({*self.jails, *other.jails})),
            left_out=(*self.left_out, *other.left_out),
        )


def chunks(
    store: Store, run_ids: Sequence[str] | None = None, size: int = CHUNK, *, left_out: list[str] | None = None
) -> list[Chunk]:
    """Return all drafts that were executed, divided into chunks.

    Args:
        store: The store.
        run_ids: Only drafts of these runs; None for all.
        size: Drafts per chunk; the last chunk of each run may be smaller.
        left_out: Where to note why a run that was not named is left out, because a package that has one of its checks
            is gone; None to raise the error.

    Raises:
        UnknownName: There is no such run.
        InputError: There is no such draft.
        PluginError: A check that a run names is of a package that is not installed, or cannot be used.
        StoreError: The store cannot be read.
    """  # noqa: DOC501  # the helper makes an UnknownName
    runs = None if run_ids is None else list(run_ids)
    known = known_runs(store)
    for run_id in runs or ():
        if run_id not in known:
            raise unknown_run(run_id, known, store.address)
    rows = store.query(lambda views: views.execute(_IDS, {"runs": runs}).fetchall(), ["drafts", "checks"])
    if not rows:
        of = "" if runs is None else f" of {', '.join(runs)}"
        remedy = f"see: {list_command(store.address)}"
        raise InputError(f"no draft{of} was executed", file=store.address, remedy=remedy)
    by_run: dict[str, list[tuple[str, int]]] = {}
    for run_id, record_id, draft in rows:
        by_run.setdefault(run_id, []).append((record_id, draft))
    for run_id in tuple(by_run):
        # A missing package is found before hours of work.
        try:
            _read_terms(store, run_id)
        except PluginError as error:
            if runs is not None or left_out is None or len(by_run) == 1:
                raise
            left_out.append(str(error))
            del by_run[run_id]
    return [
        Chunk(run_id=run_id, drafts=tuple(drafts[start : start + size]))
        for run_id, drafts in by_run.items()
        for start in range(0, len(drafts), size)
    ]


@dataclass(frozen=True)
class _Terms:
    """What a run's drafts are executed with, beside the jail."""

    search_limit: int
    checks: tuple[DraftCheck, ...]
    content: Mapping[str, str | None]
    """Record id to the content hash that it had for the run."""

    @property
    def needs_records(self) -> bool:
        """Whether some check is that of a package, which looks at the record too."""
        return len(self.checks) > len(CHECKS)


def recheck(store: Store, chunk: Chunk, *, jail: JailProfile = "auto") -> RecheckSummary:
    """Execute the drafts of a chunk again, one after the other. Nothing is written.

    Args:
        store: The store that holds the drafts.
        chunk: The drafts.
        jail: Profile of the jail to run them in.

    Returns:
        The number of drafts, where their verdicts differ from the stored ones, and a digest of the new verdicts.

    Raises:
        InputError: The store no longer holds a draft of the chunk, or its run.
        JailUnavailable: The jail cannot contain untrusted code here.
        PluginError: A check that the run names is of a package that is not installed, or cannot be used.
        StoreError: The store cannot be read.
    """
    terms = _read_terms(store, chunk.run_id)
    held = store.query(lambda views: _read_drafts(views, chunk), ["drafts", "checks", "dangers", "tasks"])
    records = _read_records(store, terms, chunk)
    # One after the other: further cores are for further chunks.
    with Jail(jail, Limits(concurrency=1)) as opened:
        executions = asyncio.run(_execute(held, opened, terms, records))
        return _compare(chunk.run_id, held, executions, opened.profile, [check.name for check in terms.checks])


async def _execute(
    held: Sequence[Mapping[str, Any]], jail: Jail, terms: _Terms, records: Mapping[str, Record]
) -> list[Execution]:
    return [
        await execute(
            row["code"],
            jail,
            terms.search_limit,
            unavoidable=row["unavoidable"],
            checks=terms.checks,
            record=records.get(row["record_id"]),
        )
        for row in held
    ]


def _read_terms(store: Store, run_id: str) -> _Terms:
    rows = store.rows("runs", {"run_id": run_id, "sequence": 0}, ["config", "selection"])
    if not rows:
        raise unknown_run(run_id, known_runs(store), store.address)
    config = json.loads(rows[0]["config"])
    limit: int = config.get("search_limit", RunConfig.model_fields["search_limit"].default)
    try:
        checks = draft_checks(config.get("checks", ()))
    except UnknownName as error:
        raise _missing_check(run_id, config) from error
    return _Terms(limit, checks, json.loads(rows[0]["selection"] or "{}"))


def _missing_check(run_id: str, config: Mapping[str, Any]) -> PluginError:
    """Return the error for the first check of a run that no installed package has."""
    installed = find_checks().found
    name = next(name for name in config["checks"] if name not in installed)
    origin = config.get("made_with", {}).get("plugins", {}).get(f"check/{name}")
    package, _, version = (origin or "").partition(" ")
    install = f"pip install {package}=={version}" if version else "install the package that has it"
    return PluginError(
        f"run {run_id} was made with the check {name} of {origin or 'a package'}, which is not installed: without it "
        "its drafts cannot be checked again",
        remedy=f"{install}; or name other runs",
    )


def _read_records(store: Store, terms: _Terms, chunk: Chunk) -> dict[str, Record]:
    """Return the records of a chunk as they were for the run, by id; none where no check looks at them."""
    if not terms.needs_records:
        return {}
    wanted = {record_id: terms.content.get(record_id) for record_id, _ in chunk.drafts}
    records = RecordReader(store).take(wanted)
    missing = sorted(wanted.keys() - records.keys())
    if missing:
        raise InputError(
            f"the store no longer contains {len(missing)} of the records that checks of run {chunk.run_id} look at",
            record_id=missing[0],
            remedy="add them again with hazardmill ingest, from the same files",
        )
    return records


def _read_drafts(connection: DuckDBPyConnection, chunk: Chunk) -> list[dict[str, Any]]:
    """Return the drafts of a chunk from the store, in the chunk's order, each with its checks by name."""
    asked = {"run": chunk.run_id, "records": sorted({record_id for record_id, _ in chunk.drafts})}
    found = {(row["record_id"], row["draft"]): {**row, "checks": {}} for row in _rows(connection, _DRAFTS, asked)}
    for row in _rows(connection, _CHECKS, asked):
        if (row["record_id"], row["draft"]) in found:
            found[row["record_id"], row["draft"]]["checks"][row["check_name"]] = row
    missing = [key for key in chunk.drafts if key not in found]
    if missing:
        raise InputError(
            f"the store no longer contains {len(missing)} of the drafts of run {chunk.run_id} that were to be checked",
            record_id=missing[0][0],
            remedy="start the check again",
        )
    return [found[key] for key in chunk.drafts]


def _rows(connection: DuckDBPyConnection, query: str, asked: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    cursor = connection.execute(query, asked)
    names = [column[0] for column in cursor.description or ()]
    for row in cursor.fetchall():
        yield dict(zip(names, row, strict=True))


def _compare(
    run_id: str,
    held: Sequence[Mapping[str, Any]],
    executions: Sequence[Execution],
    profile: str,
    checks: Sequence[str],
) -> RecheckSummary:
    differences: list[Difference] = []
    differing, digest = 0, f"{0:064x}"
    for row, execution in zip(held, executions, strict=True):
        found = _verdict(execution)
        digest = _join(digest, content_hash([row["record_id"], row["draft"], found]))
        said = _stored_figures(row, checks)
        different = [name for name, value in said.items() if value != found.get(name)]
        differing += bool(different)
        differences += [
            Difference(
                run_id=run_id,
                record_id=row["record_id"],
                draft=row["draft"],
                what=name,
                stored=_render(said[name]),
                found=_render(found.get(name)),
                version=row["hazardmill_version"],
            )
            for name in different
        ]
    return RecheckSummary(
        drafts=len(held),
        accepted=sum(execution.passed for execution in executions),
        differing=differing,
        differences=tuple(differences[:DIFFERENCES]),
        digest=digest,
        jails=(profile,),
    )


def _verdict(execution: Execution) -> dict[str, Any]:
    """Return everything that is compared of an execution, by name."""
    document, certificate = execution.document, execution.certificate
    verdict: dict[str, Any] = {"document_hash": document.hash if document is not None else None}
    for check in execution.checks:
        verdict |= _of_check(check.name, check.model_dump(mode="json"))
    if execution.passed and certificate is not None:
        verdict |= {
            "safe_plan": certificate.solution.safe_text,
            "unsafe_plan": certificate.solution.unsafe_text,
            "certificate": canonical_json(certificate.to_json()),
            "domain_pddl": execution.domain_pddl,
            "problem_pddl": execution.problem_pddl,
        }
    return verdict


def _stored_figures(row: Mapping[str, Any], checks: Sequence[str]) -> dict[str, Any]:
    """Return the same from the store, which keeps no proofs of a draft that is not a task, or is a duplicate."""
    said: dict[str, Any] = {"document_hash": row["document_hash"]}
    for name in checks:
        check = row["checks"].get(name)
        if check is not None:
            said |= _of_check(name, {**check, "details": json.loads(check["details"])})
    if row["task_id"] is not None:
        said |= {name: row[name] for name in _OF_A_TASK}
    return said


def _of_check(name: str, check: Mapping[str, Any]) -> dict[str, Any]:
    parts = (part for part in Check.model_fields if part != "name")
    return {f"{name}: {part}": canonical_json(check[part]) if part == "details" else check[part] for part in parts}


def _join(one: str, other: str) -> str:
    # A sum instead of a hash of hashes, so that neither order nor chunks matter.
    return f"{(int(one, 16) + int(other, 16)) % _MODULUS:064x}"


def _render(value: object) -> str:
    text = _ABSENT if value is None else str(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
