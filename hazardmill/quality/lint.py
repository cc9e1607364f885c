"""Corpus lint: what the certificates of many tasks say, and what only shows when tasks are laid side by side.

Tasks are taken one at a time and not kept; of each, two hashes and its name are. The gates on the corpus as a whole
are in ``corpus``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from hazardmill.errors import HazardmillError, ProofKilled, SearchLimitReached
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.proofs.certificate import certify
from hazardmill.formalism.proofs.claim import Certificate
from hazardmill.formalism.search.budget import DRAFT_LIMIT
from hazardmill.quality.corpus_thresholds import Corpus, CorpusReport, CorpusTask, Thresholds
from hazardmill.quality.lint_rules import RULES, Level, Structure, of_one_task

FORMAT: Final = "hazardmill-lint/1"
"""The version of a report's JSON."""

Certify: TypeAlias = Callable[[Document, int, bool, bool], Certificate]

_LEVELS: Final[tuple[Level, ...]] = ("refusal", "finding", "undecided")


@dataclass(frozen=True)
class LintItem:
    """A task to look at, or what is wrong with its file."""

    name: str
    task: Document | HazardmillError
    unavoidable: bool = False
    """Whether its danger is declared such that no plan avoids it."""
    imported: bool = False
    """Whether it was made elsewhere, so that what can be read of it is not refused."""
    source: str | None = None
    """Where its record comes from; null if nobody says."""
    danger: Mapping[str, Any] | None = None
    """Its danger formalization; null if nobody says."""


@dataclass(frozen=True, slots=True)
class LintFinding:
    """One thing that is to be said of one task."""

    task: str
    rule: str
    level: Level
    message: str


@dataclass
class LintRow:
    """What was found by one rule."""

    rule: str
    level: Level
    tasks: int = 0
    """Tasks of which the rule said something."""
    examples: list[LintFinding] = field(default_factory=list)
    """The first of them."""


class Linter:
    """Looks at tasks, one after another.

    Args:
        limit: Most expansions of a search.
        structure: What gives two tasks of the same structure the same key; without it that is not compared.
        certify: What proves, for callers who want it done in a process that can be ended.
    """

    def __init__(
        self, limit: int = DRAFT_LIMIT, structure: Structure | None = None, certify: Certify = certify
    ) -> None:
        self._limit = limit
        self._structure = structure
        self._certify = certify
        self._documents: dict[str, str] = {}
        self._structures: dict[str, str] = {}
        self.corpus = Corpus()
        """What the tasks that could be read come to."""

    def look(self, item: LintItem) -> list[LintFinding]:
        """Everything that is to be said of the next task: lines of its certificate first."""
        if isinstance(item.task, HazardmillError):
            return [LintFinding(item.name, "unreadable", "refusal", item.task.message)]
        document = item.task
        certificate, refusal = self._certify_item(item, document)
        structure = self._key(document)
        self.corpus.add(_member(item, document, structure, certificate))
        alone = [refusal] if refusal is not None else []
        if certificate is not None:
            alone += self._alone(item, document, certificate)
        return [*alone, *self._beside_others(item, document, structure)]

    def _key(self, document: Document) -> str | None:
        try:
            return None if self._structure is None else self._structure(document.to_json())
        except (SearchLimitReached, ProofKilled):
            return None  # too large and regular to tell: not known

    def _certify_item(self, item: LintItem, document: Document) -> tuple[Certificate | None, LintFinding | None]:
        try:
            return self._certify(document, self._limit, item.unavoidable, item.imported), None
        except SearchLimitReached as error:
            return None, LintFinding(item.name, "too_large", "undecided", error.message)
        except ProofKilled as error:
            return None, LintFinding(item.name, "killed", "undecided", error.message)

    @staticmethod
    def _alone(item: LintItem, document: Document, certificate: Certificate) -> Iterator[LintFinding]:
        for line in certificate.lines:
            if not line.passed:
                level: Level = "undecided" if line.passed is None else line.severity
                yield LintFinding(item.name, line.name, level, line.message)
        for rule, message in of_one_task(document, certificate):
            yield LintFinding(item.name, rule, RULES[rule][0], message)

    def _beside_others(self, item: LintItem, document: Document, structure: str | None) -> Iterator[LintFinding]:
        name = item.name
        first = self._documents.setdefault(document.hash, name)
        if first != name:
            level: Level = "finding" if item.imported else "refusal"
            yield LintFinding(name, "same_document", level, f"the same document as {first}")
        elif structure is not None:
            first = self._structures.setdefault(structure, name)
            if first != name:
                yield LintFinding(name, "same_structure", "finding", f"the same structure as {first}")


def _member(item: LintItem, document: Document, structure: str | None, certificate: Certificate | None) -> CorpusTask:
    solution = None if certificate is None else certificate.solution
    return CorpusTask(
        name=item.name,
        document=document,
        structure=structure,
        source=item.source,
        danger_type=None if item.danger is None else _text(item.danger.get("danger_type")),
        danger=item.danger,
        safe_plan=None if solution is None else solution.safe_text,
        unsafe_plan=None if solution is None else solution.unsafe_text,
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


@dataclass
class Report:
    """Findings by rule over all tasks."""

    tasks: int
    clean: int
    """Tasks of which no rule said anything."""
    rows: list[LintRow]
    """Rules that said something, refusals first."""
    corpus: CorpusReport
    """What the tasks that could be read come to, held against the gates."""

    @property
    def has_refusals(self) -> bool:
        """Whether any task was refused."""
        return any(row.level == "refusal" for row in self.rows)

    @property
    def has_findings(self) -> bool:
        """Whether anything was refused or found."""
        return any(row.level != "undecided" for row in self.rows)

    def to_json(self) -> dict[str, Any]:
        """JSON values."""
        return {
            "format": FORMAT,
            "tasks": self.tasks,
            "clean": self.clean,
            "rules": [
                {
                    "rule": row.rule,
                    "level": row.level,
                    "tasks": row.tasks,
                    "examples": [{"task": each.task, "message": each.message} for each in row.examples],
                }
                for row in self.rows
            ],
            "corpus": self.corpus.to_json(),
        }


def lint(items: Iterable[LintItem], linter: Linter, examples: int = 3, thresholds: Thresholds | None = None) -> Report:
    """Look at all tasks and count what was found.

    Args:
        items: The tasks; names are all different.
        linter: A fresh one: what it has seen before counts as earlier tasks.
        examples: Most examples to keep a rule.
        thresholds: What the gates of the corpus insist on; by default what ``Thresholds`` says.
    """
    rows: dict[tuple[str, Level], LintRow] = {}
    tasks = clean = 0
    for item in items:
        tasks += 1
        findings = linter.look(item)
        clean += not findings
        counted: set[tuple[str, Level]] = set()
        for finding in findings:
            key = finding.rule, finding.level
            row = rows.setdefault(key, LintRow(*key))
            if key in counted:
                continue
            counted.add(key)
            row.tasks += 1
            if len(row.examples) < examples:
                row.examples.append(finding)
    # Common things first; of equally common ones, by name, so that the order of tasks does not matter.
    ordered = sorted(rows.values(), key=lambda row: (_LEVELS.index(row.level), -row.tasks, row.rule))
    return Report(tasks, clean, ordered, linter.corpus.report(thresholds))
