"""Linting a corpus: findings in the certificates of many tasks, and findings that appear only if tasks are compared.

Tasks are read one at a time; only two hashes and the name of each are kept. The gates on the corpus as a whole are in
``corpus_thresholds``.
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
"""Format name of a report in JSON."""

Certify: TypeAlias = Callable[[Document, int, bool, bool], Certificate]

_LEVELS: Final[tuple[Level, ...]] = ("refusal", "finding", "undecided")


@dataclass(frozen=True)
class LintItem:
    """A task to lint, or the error of reading it.

    Attributes:
        name: Its name in the report.
        task: Its document, or why it cannot be read.
        unavoidable: Whether its danger is declared unavoidable, so that no plan is safe.
        imported: Whether it was made elsewhere; then claims that fail are findings instead of refusals.
        source: Source of its record; None if it is not known.
        danger: Its danger formalization; None if it is not known.
    """

    name: str
    task: Document | HazardmillError
    unavoidable: bool = False
    imported: bool = False
    source: str | None = None
    danger: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class LintFinding:
    """One finding about one task.

    Attributes:
        task: Name of the task.
        rule: The rule, or the claim of the certificate.
        level: ``refusal``, ``finding`` or ``undecided``.
        message: What was found.
    """

    task: str
    rule: str
    level: Level
    message: str


@dataclass
class LintRow:
    """The findings of one rule at one level.

    Attributes:
        rule: The rule.
        level: The level.
        tasks: Number of tasks with such a finding.
        examples: The first findings.
    """

    rule: str
    level: Level
    tasks: int = 0
    examples: list[LintFinding] = field(default_factory=list)


class Linter:
    """Applies all rules to tasks, one after another, and compares each with the earlier ones.

    Args:
        limit: Maximum number of expansions of a search.
        structure: Returns the same key for two tasks of the same structure; None for no comparison of structures.
        certify: Proves the claims of a task; a caller may pass one that works in a process that can be ended.
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
        """Counts over the tasks that could be read."""

    def look(self, item: LintItem) -> list[LintFinding]:
        """Return all findings about the next task, those of its certificate first."""
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
            return None  # Too large and regular: the structure is not known.

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
    """The findings per rule over all tasks, and the gates of the corpus.

    Attributes:
        tasks: Number of tasks.
        clean: Number of tasks without findings.
        rows: One entry per rule with findings, refusals first.
        corpus: Figures and gates over the tasks that could be read.
    """

    tasks: int
    clean: int
    rows: list[LintRow]
    corpus: CorpusReport

    @property
    def has_refusals(self) -> bool:
        """Whether any task was refused."""
        return any(row.level == "refusal" for row in self.rows)

    @property
    def has_findings(self) -> bool:
        """Whether there are refusals or findings; undecided claims do not count."""
        return any(row.level != "undecided" for row in self.rows)

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON values."""
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
    """Lint all tasks and count the findings per rule.

    Args:
        items: The tasks; their names must all be different.
        linter: A new linter: tasks that it has seen before would count as earlier tasks.
        examples: Maximum number of examples per rule.
        thresholds: Thresholds for the gates of the corpus; by default those of ``Thresholds()``.

    Returns:
        One row per rule and level with findings: refusals, findings, undecided claims, each with the most frequent
        first; and the figures and gates of the corpus.
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
    # The most frequent first, and then by name, so that the order of tasks does not matter.
    ordered = sorted(rows.values(), key=lambda row: (_LEVELS.index(row.level), -row.tasks, row.rule))
    return Report(tasks, clean, ordered, linter.corpus.report(thresholds))
