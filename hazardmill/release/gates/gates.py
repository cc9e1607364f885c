"""The gates of a release: checks that stop it, with a list of what was found about which task, and what to do.

Every gate looks at every task that is to be released, whatever the others find, so that one build reports everything
that has to be fixed. Tasks are passed in one at a time, and little is kept of each. The results do not depend on their
order.

    findings.py   the result of a gate         eligibility.py  who answered, licence and credit, review
    proofs.py     each task on its own         duplicates.py   tasks compared with one another
    pii.py        personal data in texts       leaving_out.py  dropping what gates refuse
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

from hazardmill.formalism.document.document import Document
from hazardmill.quality.corpus_thresholds import Corpus, CorpusTask, Gate
from hazardmill.release.build.options import WAIVER
from hazardmill.release.gates.duplicates import DuplicateIndex, StructureIndex
from hazardmill.release.gates.eligibility import (
    Rights,
    see_attribution,
    see_local_model,
    see_offline,
    see_origin,
    see_review,
    shipped_recordings,
)
from hazardmill.release.gates.findings import FindingTally, GateResult
from hazardmill.release.gates.household_proofs import ExaminedHouseholdTask
from hazardmill.release.gates.pii import SOURCES, texts_beside
from hazardmill.release.gates.proofs import Examiners, TaskExamination, is_hazard_task, is_scenario
from hazardmill.reporting.numbers import UNKNOWN, share

if TYPE_CHECKING:
    from hazardmill.release.build.candidates import Candidate
    from hazardmill.release.build.options import Options
    from hazardmill.review.policies import AcceptedSet

Row = Mapping[str, Any]

SAYS: Final[Mapping[str, str]] = {
    "revalidation": "every task follows from its document: plans, lengths, claims and PDDL come out the same again",
    "offline": "a language model wrote every task, in this run or in a recording of hazardmill, or others are allowed",
    "local_model": "models at private addresses were named",
    "licence": "every task has the licence of its source",
    "attribution": "every task whose licence requires credit has a credit line",
    "duplicates": "no two tasks have the same document, or the same structure in nearly the same words",
    "leaked_names": "no name that a planner sees has a word of safety or danger",
    "personal_data": "no text about people who were hurt gives away who they are",
    "review": "reviewers have settled every task",
    "split_leak": "tasks of one structure are in one split",
    "corpus": "the figures of the whole corpus are within their thresholds",
    "household": "every household task passes its linter, and both its plans are proved anew",
}
"""Gate to what it requires."""

GATES: Final = tuple(SAYS)
"""The gates, in the order in which they are reported."""

LEFT_OUT_BECAUSE: Final[Mapping[str, str]] = {
    "revalidation": "they do not follow from their documents",
    "offline": "no known language model wrote them",
    "local_model": "models at private addresses answered for them",
    "licence": "they lack the licence of their source",
    "attribution": "they lack the credit line that their licence requires",
    "duplicates": "they repeat other tasks",
    "leaked_names": "their names give the danger away",
    "personal_data": "their texts have what looks like personal data",
    "review": "reviewers have not settled them",
    "split_leak": "tasks of their structure are in another split",
    "household": "their files or proofs are faulty",
}
"""Gate that may leave out tasks to why it does so."""

NOBODY: Final = "no task was reviewed, which the policy none allows"
"""What the gate ``review`` requires under the policy ``none``."""

_OF_ROWS: Final = ("offline", "local_model", "licence", "attribution")
_LEAVE_OUT: Final = "reject it in the review, or leave its record out of the run"


class Gates(AbstractContextManager["Gates"]):
    """All gates of one release, which are shown its tasks one after another.

    A context manager: worker processes end with it, or with ``results``.

    Args:
        options: The options of the release.
        candidates: Every task that might be released, also those that are left out.
        splits: Task id to split, of the tasks to release.
        accepted: The result of the review of the candidates; None under the policy ``none``.
    """

    def __init__(
        self,
        options: Options,
        candidates: Iterable[Candidate],
        splits: Mapping[str, str],
        accepted: AcceptedSet | None,
    ) -> None:
        self._options = options
        self._splits = splits
        self._accepted = accepted
        self._candidates = {candidate.task_id: candidate for candidate in candidates}
        says = SAYS if accepted is not None else {**SAYS, "review": NOBODY}
        self._tallies = {name: FindingTally(name, says[name]) for name in GATES}
        self._examiners = Examiners(options.jobs)
        self._unseen = set(splits)
        self._documents: dict[str, Document] = {}
        """Documents of the tasks that the workers have not returned yet, by task id."""
        self._rights = Rights()
        self._shipped = shipped_recordings()
        self._corpus = Corpus()
        self._duplicates = DuplicateIndex()
        self._structures = StructureIndex()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End the workers."""
        self._examiners.close()

    def see(self, row: Row, beside: Iterable[tuple[str, Row]] = (), document: Document | None = None) -> None:
        """Look at a task, scenario or hazard task that is to be released.

        Args:
            row: Row of its table, with ``context``, the text of its record, and ``task_id``.
            beside: Config and row of what is released with it and does not follow from it: danger, drafts, reviews.
            document: Its document, if the caller has read it already.

        Raises:
            SandboxError: A worker process cannot be started, or was killed from outside.
        """
        tallies, options = self._tallies, self._options
        beside = tuple(beside)
        self._unseen.discard(row["task_id"])
        candidate = self._candidates.get(row["task_id"])
        see_offline(tallies["offline"], row, candidate, options.allow_offline, self._shipped)
        if candidate is not None:
            see_local_model(tallies["local_model"], candidate, options.local_models)
        self._rights.see_licence(tallies["licence"], row)
        see_attribution(tallies["attribution"], row)
        see_origin(tallies["revalidation"], row, beside)
        self._count(*_OF_ROWS)
        if document is not None:
            self._documents[row["task_id"]] = document
        # Only for these sources are the texts searched; for others they need not be sent to a worker.
        texts = list(texts_beside(beside)) if row["source"] in SOURCES else []
        for each, examined in self._examiners.give({**row, "beside": texts}):
            self._take(each, examined)

    def see_household(self, examined: ExaminedHouseholdTask) -> None:
        """Look at a household task that is to be released, which no other gate sees."""
        self._count("household")
        for problem in examined.problems:
            self._tallies["household"].add(examined.file, *problem)

    def results(self) -> tuple[GateResult, ...]:
        """Return the result of every gate, in the order of ``GATES``. Call it once, at the end.

        Raises:
            SandboxError: A worker process cannot be started, or was killed from outside.
        """
        tallies = self._tallies
        for row, examined in self._examiners.rest():
            self._take(row, examined)
        for task_id in self._unseen:
            tallies["revalidation"].add(task_id, "it was not checked", "please report this: it is a bug in hazardmill")
        self._duplicates.report(tallies["duplicates"])
        self._structures.report(tallies["split_leak"])
        see_review(tallies["review"], self._accepted, self._candidates.values(), self._splits)
        if not tallies["corpus"].looked:
            tallies["corpus"].leave_open("there is no task")
        for gate in self._corpus.report(self._options.thresholds).gates if tallies["corpus"].looked else ():
            if gate.too_few:
                tallies["corpus"].leave_open(f"{gate.name} ({gate.why})")
            elif not gate.passed:
                tallies["corpus"].add(None, *_miss(gate))
        return tuple(tallies[name].result(self._options.waive.get(name)) for name in GATES)

    def _count(self, *names: str) -> None:
        for name in names:
            self._tallies[name].looked += 1

    def _take(self, row: Row, examined: TaskExamination) -> None:
        """Add the findings of an examined task to the tallies."""
        tallies, task_id = self._tallies, examined.task_id
        document = self._documents.pop(task_id, None)
        self._count("revalidation", "duplicates")
        for problem in examined.problems:
            tallies["revalidation"].add(task_id, *problem)
        self._duplicates.take(row["document_hash"], examined)
        if examined.outline is None:
            return  # The document cannot be read, which the gate `revalidation` reports.
        self._count("split_leak")
        if row["source"] in SOURCES or is_hazard_task(row):
            self._count("personal_data")
        if examined.personal:
            tallies["personal_data"].add(task_id, _places(examined.personal), _LEAVE_OUT, "personal data")
        if task_id in self._splits:
            self._structures.take(examined, self._splits[task_id])
        else:
            tallies["split_leak"].add(task_id, "it is in no split", "please report this: it is a bug in hazardmill")
        if is_scenario(row) or is_hazard_task(row):
            return
        self._count("leaked_names", "corpus")
        if examined.leaking:
            names = ", ".join(examined.leaking)
            message = f"names that give the danger away: {names}"
            tallies["leaked_names"].add(task_id, message, _LEAVE_OUT, "leaking names")
        self._corpus.add(
            CorpusTask(
                name=task_id,
                document=document or Document.from_json(json.loads(row["document"])),
                structure=examined.structure,
                source=row["source"],
                danger_type=row["danger_type"],
                danger=json.loads(row["danger"]),
                safe_plan=row["safe_plan"],
                unsafe_plan=row["unsafe_plan"],
            )
        )


def _places(personal: Iterable[tuple[str, str, int]]) -> str:
    """List kinds and places of personal data, without the data itself: messages end up in logs."""
    places: dict[tuple[str, str], list[str]] = {}
    for text, kind, start in personal:
        places.setdefault((kind, text), []).append(str(start))
    told = (f"{kind} (in {text}, at character {', '.join(at)})" for (kind, text), at in places.items())
    return f"what looks like personal data: {'; '.join(told)}"


def _miss(gate: Gate) -> tuple[str, str]:
    """Return what is wrong with a figure of the corpus that is not within its threshold, and what to do about it."""
    figure, bound = _render_figure(gate, gate.figure), f"{gate.insists} {_render_figure(gate, gate.threshold)}"
    allow = f"or allow this with --threshold {gate.name}=NUMBER, or any figure with --waive {WAIVER}"
    if gate.passed is None:
        told = f"{gate.name} is unknown: {gate.says}: {figure} of those for which it is known, {bound} is required"
        return f"{told}; {gate.why}", f"leave out the tasks for which it is unknown, {allow}"
    examples = f", such as {'; '.join(gate.examples)}" if gate.examples else ""
    told = f"{gate.name} failed: {gate.says}: {figure}, {bound} is required{examples}"
    return told, f"release other tasks, {allow}"


def _render_figure(gate: Gate, figure: float | None) -> str:
    if figure is None:
        return UNKNOWN
    return share(figure) if gate.unit == "share of tasks" else f"{figure:.1f}"
