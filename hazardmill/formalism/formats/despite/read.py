"""A folder of DESPITE as data: the files beside its ``code.py``, the findings about it, and the task folder made of it.

The code itself is read in the jail (``sandbox.check.check_planner``), which this module does not know. Findings are
never refusals: a folder becomes a task whatever its certificate says.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import shutil
import tokenize
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, NoReturn

from hazardmill.errors import DocumentError, NotExpressible, PlanningInputError, SearchLimitReached, UsageError
from hazardmill.files import read_regular, warn_of_links
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.document.validation import MAX_TEXT
from hazardmill.formalism.formats.pddl.reader import TASK_FILES
from hazardmill.formalism.formats.pddl.writer import domain_pddl, problem_pddl, sidecar
from hazardmill.formalism.proofs.certificate import certify
from hazardmill.formalism.proofs.claim import Certificate
from hazardmill.formalism.repair.repair import Wanted, feedback_text, repair_plan
from hazardmill.formalism.search.budget import DRAFT_LIMIT
from hazardmill.formalism.semantics.plan_validator import PlanValidator
from hazardmill.formalism.semantics.transition_system import System

CODE: Final = "code.py"
METADATA: Final = "metadata.json"
OLDER_METADATA: Final = "result.json"
FINDINGS: Final = "findings.json"

_MOST_METADATA: Final = 10_000_000
_MOST_CODE: Final = 1_000_000
_LONGEST_ID: Final = 1_000
_REPAIR_LIMIT: Final = 20_000
_LONGEST_REPAIRED: Final = 10_000
"""Most characters of a claimed plan that repair is tried on, because a plan of any length may be claimed."""


@dataclass(frozen=True, slots=True)
class ImportFinding:
    """Something that a reader of an imported task should know.

    Attributes:
        rule: A short name, for counting; the name of the claim where a line of the certificate failed.
        message: A sentence for people.
    """

    rule: str
    message: str


@dataclass(frozen=True, slots=True)
class Claims:
    """What a folder's metadata says about its task; a part is None where it says nothing.

    Attributes:
        task_id: The name of the task, 1 to 1,000 characters.
        danger: The danger formalization, as in the file.
        safe_plan: The plan string of the reference safe plan.
        unsafe_plan: The plan string of the reference unsafe plan.
    """

    task_id: str | None = None
    danger: dict[str, Any] | None = None
    danger_type: str | None = None
    """The type of every danger entry, from ``danger``, in the spelling of documents."""
    safe_plan: str | None = None
    unsafe_plan: str | None = None
    findings: tuple[ImportFinding, ...] = ()
    """What is wrong with the file of metadata."""
    digest: str | None = None
    """SHA-256 (hex) of that file."""
    exported: dict[str, Any] | None = None
    """What an export of ours says about the task that the code cannot express; None in the folders of others."""


@dataclass(frozen=True, slots=True)
class ImportedTask:
    """A task with everything that was found about it.

    Attributes:
        document: The task.
        findings: What a reader should know, in the order in which it was found.
        claims: What the folder's metadata says.
    """

    document: Document
    findings: tuple[ImportFinding, ...]
    certificate: Certificate | None
    """None if the search reached its limit."""
    claims: Claims = field(default_factory=Claims)


def folders(root: Path) -> Iterator[Path]:
    """Yield the folders at and below ``root`` that hold a ``code.py``, in the order of their names.

    Links are not followed; a warning names them.

    Raises:
        PlanningInputError: ``root``, or a folder below it, cannot be read.
    """
    for place, names, files in os.walk(root, onerror=_refuse):
        names.sort()
        warn_of_links(Path(place), names)
        if CODE in files:
            yield Path(place)


def _refuse(error: OSError) -> None:
    raise PlanningInputError(
        f"the folder cannot be read: {error.strerror or error}",
        file=str(error.filename),
        remedy=f"name a folder with {CODE}, or one above such folders",
    ) from error


def read_code(folder: Path) -> str:
    """Return the code of a folder, at most 1 MB of UTF-8.

    Raises:
        PlanningInputError: It is not a file, is too large, or is not UTF-8. A declaration of another encoding is
            refused too, because Python would read other code than we do.
    """  # noqa: DOC501  # the SyntaxError is caught here
    path = folder / CODE
    remedy = f"{CODE} is one Python module, in UTF-8"
    try:
        content = read_regular(path, _MOST_CODE)
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
        if encoding not in ("utf-8", "utf-8-sig"):
            raise SyntaxError(f"it declares {encoding}")
        return content.decode("utf-8-sig")
    except (SyntaxError, UnicodeDecodeError) as error:
        reason = error.reason if isinstance(error, UnicodeDecodeError) else error.msg
        raise PlanningInputError(f"the code is not UTF-8: {reason}", file=str(path), remedy=remedy) from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise PlanningInputError(f"the code cannot be read: {reason}", file=str(path), remedy=remedy) from error


def read_claims(folder: Path) -> Claims:
    """Return what the metadata of a folder says: ``metadata.json``, else ``result.json`` as older folders have it.

    Nothing in it stops an import: what is missing or odd becomes a finding.
    """
    for name, plans_key, safe_key, unsafe_key in (
        (METADATA, "reference_feasible_plans", "safe", "unsafe"),
        (OLDER_METADATA, "generated_plans", "safe_plan", "unsafe_plan"),
    ):
        path = folder / name
        if not os.path.lexists(path):
            continue
        try:
            content = read_regular(path, _MOST_METADATA)
            value = json.loads(content.decode("utf-8-sig"), parse_constant=_refuse_constant)
            json.dumps(value, ensure_ascii=False).encode()
        except (OSError, ValueError, RecursionError) as error:
            return Claims(findings=(ImportFinding("metadata_unreadable", f"{name} cannot be read: {error}"),))
        digest = hashlib.sha256(content).hexdigest()
        if not isinstance(value, dict):
            return Claims(
                findings=(ImportFinding("metadata_unreadable", f"{name} holds no JSON object"),), digest=digest
            )
        return _claims(value, name, plans_key, (safe_key, unsafe_key), digest)
    return Claims(findings=(ImportFinding("no_metadata", f"there is neither {METADATA} nor {OLDER_METADATA}"),))


def examine(
    document: Document, claims: Claims, notes: Iterable[tuple[str, str]] = (), limit: int = DRAFT_LIMIT
) -> ImportedTask:
    """Name a task as its folder claims, certify it, and judge its reference plans.

    Args:
        document: What the code declares.
        claims: What the folder says about it.
        notes: What was left out or changed on the way to the document: rule and sentence.
        limit: Most expansions of the search for the certificate; reaching it is a finding.

    Returns:
        The task, with danger types and ``realised_by`` restored from the claims, and all findings.
    """
    findings = [*claims.findings, *(ImportFinding(rule, text) for rule, text in notes)]
    document = _restore(document, claims)
    if claims.task_id is not None:
        # Replacing the name checks nothing, but it was checked with the claims.
        document = replace(document, name=claims.task_id)
    certificate = None
    try:
        certificate = certify(document, limit, imported=True)
        findings += [ImportFinding(line.name, line.message) for line in certificate.lines if line.passed is False]
    except SearchLimitReached as error:
        findings.append(ImportFinding("not_certified", error.message))
    findings += plan_findings(document, claims)
    return ImportedTask(document, tuple(findings), certificate, claims)


def known_danger_type(said: object) -> str | None:
    """Return the danger type that a metadata file names, in the spelling of documents; None if it is not one of ours.

    Case does not count, and blanks and hyphens count as ``_``.
    """
    # Pydantic is imported where it is needed: reading a task needs the standard library only.
    from hazardmill.records import DangerType

    spelled = re.sub(r"[\s-]+", "_", said.strip().lower()) if isinstance(said, str) else None
    return spelled if spelled in list(DangerType) else None


def plan_findings(document: Document, claims: Claims) -> list[ImportFinding]:
    """Find where the reference plans are not what the folder claims.

    Args:
        document: The task.
        claims: What the folder says about it.

    Returns:
        Findings, with the smallest repair of an infeasible or unsafe plan where one is found quickly.
    """
    plans = (("safe", claims.safe_plan), ("unsafe", claims.unsafe_plan))
    findings = [
        ImportFinding(f"no_{word}_plan", f"the folder gives no {word} plan that can be read")
        for word, plan in plans
        if plan is None
    ]
    try:
        system = System(document)
        judge = PlanValidator(system)
    except SearchLimitReached as error:
        return [*findings, ImportFinding("plans_not_judged", error.message)]
    for word, plan in plans:
        if plan is None:
            continue
        feasible, safe, danger = judge.quick(plan)
        if not feasible:
            message = f"the {word} plan is infeasible: {_start(plan)}"
            mended = _suggest_plan(system, plan, "safe" if word == "safe" else "feasible")
            findings.append(ImportFinding(f"{word}_plan_infeasible", message + mended))
        elif word == "safe" and not safe:
            message = f"the safe plan is unsafe (danger {danger})"
            findings.append(ImportFinding("safe_plan_is_unsafe", message + _suggest_plan(system, plan, "safe")))
        elif word == "unsafe" and safe:
            findings.append(ImportFinding("unsafe_plan_is_safe", "the unsafe plan is safe"))
    return findings


def _suggest_plan(system: System, plan: str, wanted: Wanted) -> str:
    """Return the end of a finding: how the plan could become what is wanted; empty where that is not known."""
    if len(plan) > _LONGEST_REPAIRED:
        return ""
    try:
        return f". {feedback_text(repair_plan(system, plan, wanted, _REPAIR_LIMIT))}"
    except SearchLimitReached:
        return ""


def write_folder(imported: ImportedTask, out: Path, code_digest: str) -> None:
    """Write a task folder: document, PDDL and sidecar as an import from PDDL does, metadata, and the findings.

    The code is not copied: nothing here runs it again.

    Args:
        imported: The task.
        out: The folder, made if it is not there.
        code_digest: SHA-256 (hex) of the code that the task comes from.

    Raises:
        PlanningInputError: The folder cannot be written.
        UsageError: It holds a task already.
    """
    files = _files(imported, code_digest)
    there = next((name for name in (*TASK_FILES, METADATA, FINDINGS) if os.path.lexists(out / name)), None)
    if there is not None:
        raise UsageError(f"the folder already holds {there}", file=str(out), remedy="name another folder")
    staged = out / ".partial"
    try:
        staged.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (staged / name).write_text(text, encoding="utf-8", newline="\n")
        for name in files:
            (staged / name).rename(out / name)
        staged.rmdir()
    except OSError as error:
        shutil.rmtree(staged, ignore_errors=True)
        raise PlanningInputError(
            f"the folder cannot be written: {error.strerror or error}", file=str(out), remedy="name another folder"
        ) from error


def _files(imported: ImportedTask, code_digest: str) -> dict[str, str]:
    document, claims = imported.document, imported.claims
    findings = [{"rule": finding.rule, "message": finding.message} for finding in imported.findings]
    provenance = {"imported_from": "despite", "sha256": {"code": code_digest, "metadata": claims.digest}}
    certificate = None if imported.certificate is None else imported.certificate.to_json()
    files = {"task.json": _json({**document.to_json(), "provenance": provenance})}
    try:
        files |= {
            "domain.pddl": domain_pddl(document, rename=True),
            "problem.pddl": problem_pddl(document, rename=True),
            "dangers.json": _json(sidecar(document, rename=True)),
        }
    except NotExpressible as error:
        findings.append({"rule": "no_pddl", "message": error.message})
    files[METADATA] = _json(
        {
            "task_id": claims.task_id,
            "danger_formalization": claims.danger,
            "reference_feasible_plans": {"safe": claims.safe_plan, "unsafe": claims.unsafe_plan},
            "hazardmill": {**provenance, "document_hash": document.hash, "certificate": certificate},
        }
    )
    files[FINDINGS] = _json(findings)
    return files


def _claims(value: Mapping[str, Any], name: str, plans_key: str, plan_keys: tuple[str, str], digest: str) -> Claims:
    findings = []
    task_id = value.get("task_id")
    if not isinstance(task_id, str) or not 0 < len(task_id) <= _LONGEST_ID:
        if task_id is not None:
            findings.append(
                ImportFinding("odd_task_id", f"{name}: task_id is not a string of 1 to {_LONGEST_ID} characters")
            )
        task_id = None
    danger = value.get("danger_formalization")
    if not isinstance(danger, dict):
        danger = None
        findings.append(ImportFinding("no_danger_formalization", f"{name} holds no danger_formalization"))
    said = (danger or {}).get("danger_type")
    danger_type = known_danger_type(said)
    if said is not None and danger_type is None:
        shown = _start(json.dumps(said, ensure_ascii=False))
        findings.append(ImportFinding("unknown_danger_type", f"{name}: danger_type is not a known type: {shown}"))
    plans = value.get(plans_key)
    if not isinstance(plans, dict):
        plans = {}
    safe, unsafe = (_plan(plans.get(key)) for key in plan_keys)
    exported = value.get("hazardmill")
    return Claims(
        task_id=task_id,
        danger=danger,
        danger_type=danger_type,
        safe_plan=safe,
        unsafe_plan=unsafe,
        findings=tuple(findings),
        digest=digest,
        exported=exported if isinstance(exported, dict) else None,
    )


def _restore(document: Document, claims: Claims) -> Document:
    """Return the task with what its code cannot express: the type of its dangers, and what an export of ours keeps."""
    typed = _with_declarations(document, claims.danger_type, {}, document.realised_by)
    exported = claims.exported or {}
    if exported.get("code_document_hash") != document.hash:
        return typed
    # A danger type in the part that every folder of DESPITE has takes precedence: it may have been corrected since.
    types = exported.get("danger_types") if claims.danger_type is None else None
    try:
        return _with_declarations(typed, None, types if isinstance(types, dict) else {}, exported.get("realised_by"))
    except DocumentError:
        # Somebody changed it by hand, so what is restored without it has to do.
        return typed


def _with_declarations(
    document: Document, danger_type: str | None, types: Mapping[str, object], realised_by: object
) -> Document:
    """Return the task with one type for all dangers, or one per action; where neither is given, as they were."""
    value = document.to_json()
    entries = [
        {**entry, "danger_type": danger_type or _only_type(types.get(entry["action"])) or entry["danger_type"]}
        for entry in value["dangers"]
    ]
    return Document.from_json({**value, "realised_by": realised_by, "dangers": entries})


def _only_type(types: object) -> object:
    return types[0] if isinstance(types, list) and len(types) == 1 else None


def _plan(value: object) -> str | None:
    if isinstance(value, list) and all(isinstance(step, str) for step in value):
        value = " ".join(value)
    # Judging a plan of megabytes would take minutes.
    return value if isinstance(value, str) and len(value) <= MAX_TEXT else None


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not JSON")


def _start(plan: str) -> str:
    return plan if len(plan) <= 120 else f"{plan[:117]}..."


def _json(value: object) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"
