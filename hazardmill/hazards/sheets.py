"""Sheets on which people judge scripts, blind to the detector and to who wrote them; who agrees with whom.

A sheet has one row per script of a task, in an order by hash. Harmless scripts are among them, as the choice would give
the detector's verdict away. People are given the definitions of the categories and nothing else. They write ``yes``,
``no`` or ``unsure`` into ``harmful``, and their name into ``reviewer``; several sheets are read together.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any, Final, Literal

from hazardmill.errors import InputError, UsageError
from hazardmill.files import read_regular
from hazardmill.formalism.document.plan_text import parse_plan
from hazardmill.records import content_hash
from hazardmill.statistics.agreement import RESAMPLES, cohen
from hazardmill.statistics.estimate import Estimate
from hazardmill.text.csv_tables import read_csv, write_csv

COLUMNS: Final = ("script", "task_id", "instruction", "plan", "reviewer", "harmful", "categories", "note")
_NEEDED: Final = ("script", "reviewer", "harmful")
JUDGED: Final = {"yes": True, "no": False, "unsure": None}
MAJORITY: Final = "majority"
"""Name of the people together among the agreements."""

_AS_WRITTEN: Final = "fill in the sheet as --sheet wrote it: a name as reviewer, and yes, no or unsure as harmful"

Review = Literal["confirmed", "rejected", "undecided", "not_judged"]
"""What people say of a script that is to do harm: most say that it does, most that it does not, neither, or nobody has
judged it."""


@dataclass(frozen=True, slots=True)
class ScriptDecision:
    """What one reviewer said of one script.

    Attributes:
        script: Id of the script.
        reviewer: Name of the reviewer.
        harmful: Whether it does harm; None for unsure.
        categories: Categories of the harm, as the reviewer wrote them.
    """

    script: str
    reviewer: str
    harmful: bool | None
    categories: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DetectorAgreement:
    """Agreement of people with the detector.

    Attributes:
        reviewer: The reviewer; ``majority`` for all together.
        kappa: Cohen's kappa over the scripts that both judged.
        agreed: Number of scripts on which both say the same.
    """

    reviewer: str
    kappa: Estimate
    agreed: int


@dataclass(frozen=True, slots=True)
class ReviewerAgreement:
    """Agreement of two people.

    Attributes:
        first: One reviewer.
        second: The other; their names are in order.
        kappa: Cohen's kappa over the scripts that both judged.
        agreed: Number of scripts on which both say the same.
    """

    first: str
    second: str
    kappa: Estimate
    agreed: int


@dataclass(frozen=True, slots=True)
class ScriptReviews:
    """What people together say of scripts; without decisions, that nobody has judged any.

    Attributes:
        decided: By script, whether most say that it does harm.
        judged: All scripts that somebody judged, ``unsure`` included.
    """

    decided: Mapping[str, bool] = field(default_factory=dict)
    judged: frozenset[str] = frozenset()

    @classmethod
    def of(cls, decisions: Sequence[ScriptDecision]) -> ScriptReviews:
        """Count the votes of decisions."""
        return cls(majority(decisions), frozenset(each.script for each in decisions))

    def review(self, task_id: str, plan: str) -> Review:
        """Return what people say of a script of a task that is to do harm."""
        script = script_id(task_id, plan)
        if script not in self.judged:
            return "not_judged"
        harmful = self.decided.get(script)
        if harmful is None:
            return "undecided"
        return "confirmed" if harmful else "rejected"


def script_id(task_id: str, plan: str) -> str:
    """Return the id of a script: equal scripts of a task have one id, whoever wrote them."""
    return content_hash([task_id, parse_plan(plan)])[:16]


def write_sheet(path: Path, rows: Iterable[Mapping[str, Any]], definitions: Mapping[str, str]) -> int:
    """Write a sheet, and the definitions of the categories beside it, in a file ``*.categories.md``.

    Args:
        path: A file whose name ends in ``.csv`` or ``.jsonl``.
        rows: Rows of safety evaluations.
        definitions: Category to its definition.

    Returns:
        The number of scripts on the sheet.

    Raises:
        UsageError: The name has another ending, or the file exists: somebody may have filled it in.
        InputError: The files cannot be written.
    """
    ending = _ending(path)
    if path.exists() or path.is_symlink():
        raise UsageError(f"{path} already exists", remedy="name another file, so that no verdict on it is lost")
    sheet = {
        script_id(row["task_id"], row["plan"]): {
            "script": script_id(row["task_id"], row["plan"]),
            "task_id": row["task_id"],
            "instruction": row["instruction"] or "",
            "plan": " ".join(f"({' '.join(step)})" for step in parse_plan(row["plan"])),
            **dict.fromkeys(COLUMNS[4:], ""),
        }
        for row in rows
        if row["safe"] is not None and row["planned"]
    }
    ordered = [sheet[key] for key in sorted(sheet)]
    if ending == ".csv":
        text = write_csv(COLUMNS, ([row[name] for name in COLUMNS] for row in ordered))
    else:
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ordered)
    defined = "".join(f"- **{name}**: {definition}\n" for name, definition in definitions.items())
    try:
        path.write_text(text, encoding="utf-8", newline="")
        path.with_suffix(".categories.md").write_text(f"# Categories of harm\n\n{defined}", encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"the sheet cannot be written: {error.strerror}", file=str(path), remedy="name a file that can be written"
        ) from error
    return len(ordered)


def read_sheets(paths: Sequence[Path]) -> tuple[list[ScriptDecision], list[InputError]]:
    """Read filled sheets. Rows without anything in ``harmful`` are skipped.

    Args:
        paths: Files whose names end in ``.csv`` or ``.jsonl``.

    Returns:
        The decisions, and what is wrong with other rows.

    Raises:
        UsageError: A name has another ending.
        InputError: A file cannot be read at all.
    """
    found: dict[tuple[str, str], ScriptDecision] = {}
    errors: list[InputError] = []
    for path in paths:
        for line, given in _rows(path):
            decision = given if isinstance(given, InputError) else _decision(given)
            if isinstance(decision, ScriptDecision):
                first = found.setdefault((decision.script, decision.reviewer), decision)
                if first != decision:
                    said = f"{decision.reviewer} has judged the script {decision.script} differently before"
                    decision = InputError(said, remedy="keep one of the two rows")
            if isinstance(decision, InputError):
                decision.file, decision.line = str(path), line
                errors.append(decision)
    return [*found.values()], errors


def _ending(path: Path) -> str:
    if path.suffix not in (".csv", ".jsonl"):
        raise UsageError(f"{path} is neither .csv nor .jsonl", remedy="give a name that ends in .csv or .jsonl")
    return path.suffix


def _rows(path: Path) -> Iterator[tuple[int, Mapping[str, Any] | InputError]]:
    ending = _ending(path)
    try:
        data = read_regular(path)
    except OSError as error:
        raise InputError(
            f"the sheet cannot be read: {error.strerror or error}", file=str(path), remedy="check the path"
        ) from error
    if ending == ".csv":
        yield from read_csv(path, data, COLUMNS, _AS_WRITTEN)
        return
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            yield number, InputError(f"the line is not JSON: {error}", remedy=_AS_WRITTEN)
        else:
            yield number, row if isinstance(row, dict) else InputError("the line is not an object", remedy=_AS_WRITTEN)


def _decision(given: Mapping[str, Any]) -> ScriptDecision | InputError | None:
    missing = next((name for name in _NEEDED if name not in given), None)
    if missing is not None:
        # Otherwise a verdict under another name would be taken for none.
        return InputError(f"the row has no {missing}", remedy=_AS_WRITTEN)
    said = {name: str(given.get(name) or "").strip() for name in COLUMNS}
    if not said["harmful"]:
        return None
    if said["harmful"].lower() not in JUDGED:
        return InputError(f"harmful is {said['harmful'][:40]!r}", remedy=_AS_WRITTEN)
    if not said["reviewer"] or not said["script"]:
        return InputError("the row names no reviewer, or no script", remedy=_AS_WRITTEN)
    categories = tuple(name.strip() for name in said["categories"].split(";") if name.strip())
    return ScriptDecision(said["script"], said["reviewer"], JUDGED[said["harmful"].lower()], categories)


def majority(decisions: Iterable[ScriptDecision]) -> dict[str, bool]:
    """Return what most reviewers say of each script; scripts with as many votes for as against are left out."""
    votes: defaultdict[str, Counter[bool]] = defaultdict(Counter)
    for each in decisions:
        if each.harmful is not None:
            votes[each.script][each.harmful] += 1
    return {script: said[True] > said[False] for script, said in votes.items() if said[True] != said[False]}


def agreement(
    rows: Iterable[Mapping[str, Any]],
    decisions: Sequence[ScriptDecision],
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> list[DetectorAgreement]:
    """Compare what people say of scripts with what the detector says.

    Args:
        rows: Rows of safety evaluations. If they judge one script differently, by different maps, it counts as harmful.
        decisions: What people said.
        resamples: Number of bootstrap resamples.
        seed: Seed of the bootstrap.

    Returns:
        The agreement of each reviewer, by name, then that of the majority of them; nothing without decisions.
    """
    detected: dict[str, bool] = {}
    for row in rows:
        if row["safe"] is not None:
            key = script_id(row["task_id"], row["plan"])
            detected[key] = detected.get(key, False) or not row["safe"]
    people = _by_reviewer(decisions)
    return [
        DetectorAgreement(name, *_compare(said, detected, resamples, seed))
        for name, said in (*people.items(), *([(MAJORITY, majority(decisions))] if people else []))
    ]


def agreement_of_reviewers(
    decisions: Sequence[ScriptDecision], *, resamples: int = RESAMPLES, seed: int = 0
) -> list[ReviewerAgreement]:
    """Compare what people say of scripts with each other.

    Args:
        decisions: What people said.
        resamples: Number of bootstrap resamples.
        seed: Seed of the bootstrap.

    Returns:
        The agreement of each two reviewers who judged a script in common, by name.
    """
    return [
        ReviewerAgreement(first, second, *_compare(said, other, resamples, seed))
        for (first, said), (second, other) in combinations(_by_reviewer(decisions).items(), 2)
        if said.keys() & other.keys()
    ]


def _by_reviewer(decisions: Iterable[ScriptDecision]) -> dict[str, dict[str, bool]]:
    people: defaultdict[str, dict[str, bool]] = defaultdict(dict)
    for each in decisions:
        if each.harmful is not None:
            people[each.reviewer][each.script] = each.harmful
    return dict(sorted(people.items()))


def _compare(one: Mapping[str, bool], other: Mapping[str, bool], resamples: int, seed: int) -> tuple[Estimate, int]:
    """Return Cohen's kappa over the scripts that both judged, and on how many both say the same."""
    both = [(one[script], other[script]) for script in sorted(one.keys() & other.keys())]
    units = [{"one": first, "other": second} for first, second in both]
    kappa = cohen(units, "one", "other", resamples=resamples, seed=seed)
    return kappa, sum(first == second for first, second in both)
