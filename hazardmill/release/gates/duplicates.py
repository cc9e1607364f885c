"""Gates that compare tasks with one another: duplicates, and structures that are in more than one split."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from hazardmill.quality.text import Spelling, first_near
from hazardmill.release.gates.findings import FindingTally
from hazardmill.release.gates.proofs import TaskExamination

_ONE_OF_THEM = "leave one of the two out: reject it in the review, or release fewer runs with --run"
_SPLIT_ANEW = "assign the splits again by the structures of the documents, if necessary without a parent release"
_LEAVE_OUT = "leave it out: reject it in the review; or build without the parent, which has them in different splits"


class DuplicateIndex:
    """The tasks of a release by hash and by structure, to find those that repeat another one.

    It keeps a few hundred bytes per task. The result does not depend on the order in which tasks arrive: of tasks that
    repeat one another, the first by task id counts as the original.
    """

    def __init__(self) -> None:
        self._hashes: dict[str, list[str]] = defaultdict(list)
        self._texts: dict[str, dict[str, str]] = defaultdict(dict)
        """Structure id to task id to the words of its text."""

    def take(self, document_hash: str, examined: TaskExamination) -> None:
        """Add a task."""
        self._hashes[document_hash].append(examined.task_id)
        # As everywhere: a document that is too regular for a structure id has no duplicates except equal documents.
        if examined.structure is not None:
            self._texts[examined.structure][examined.task_id] = " ".join(examined.words)

    def report(self, tally: FindingTally) -> None:
        """Add a finding per task that repeats an earlier one; "earlier" is by task id."""
        repeated = set()
        for task_ids in self._hashes.values():
            first, *others = sorted(task_ids)
            for task_id in others:
                repeated.add(task_id)
                tally.add(task_id, f"it has the same document as {first}", _ONE_OF_THEM, "same document", True)
        for texts in self._texts.values():
            for task_id, twin, likeness in _near(texts):
                if task_id not in repeated:
                    tally.add(
                        task_id,
                        f"it is {twin} under other names and in nearly the same words (Rouge-L {likeness:.2f})",
                        _ONE_OF_THEM,
                        "same structure",
                        True,
                    )


def _near(texts: Mapping[str, str]) -> Iterator[tuple[str, str, float]]:
    """Yield each text that is close to an earlier one, with the earlier task and the similarity.

    Texts that are close to an earlier one are not compared with later ones, as in ``quality.duplicates``.
    """
    if len(texts) < 2:
        return
    spelling = Spelling()
    kept: dict[str, str] = {}
    for task_id in sorted(texts):
        text = spelling(texts[task_id].split())
        near = first_near(text, kept)
        if near is None:
            kept[task_id] = text
        else:
            yield task_id, *near


class StructureIndex:
    """The split of each structure, to find structures that are in more than one.

    It is computed from the documents alone. The columns ``structure_id`` and ``group`` are not trusted.
    """

    def __init__(self) -> None:
        self._tasks: dict[str, dict[str, str]] = defaultdict(dict)
        """Structure id to task id to split."""
        self._outlines: dict[str, dict[str, str]] = defaultdict(dict)
        """Outline to split to the first task there, by task id."""
        self._untold: list[tuple[str, str, str]] = []
        """Task id, outline and split of each document that is too regular for a structure id."""

    def take(self, examined: TaskExamination, split: str) -> None:
        """Add a task whose document could be read."""
        assert examined.outline is not None
        firsts = self._outlines[examined.outline]
        firsts[split] = min(examined.task_id, firsts.get(split, examined.task_id))
        if examined.structure is None:
            self._untold.append((examined.task_id, examined.outline, split))
        else:
            self._tasks[examined.structure][examined.task_id] = split

    def report(self, tally: FindingTally) -> None:
        """Add a finding per task that is in another split than the first task, by task id, of its structure."""
        for tasks in self._tasks.values():
            first, *others = sorted(tasks)
            for task_id in others:
                if tasks[task_id] != tasks[first]:
                    there = f"{first}, which has the same structure, is in {tasks[first]}"
                    tally.add(task_id, f"it is in {tasks[task_id]}; {there}", _SPLIT_ANEW, "same structure", True)
        # Under other names, such a document may just get a structure id: so it must be in the split of every task that
        # may have the same structure.
        for task_id, outline, split in self._untold:
            elsewhere = {other: first for other, first in self._outlines[outline].items() if other != split}
            if elsewhere:
                first, other = min((first, other) for other, first in elsewhere.items())
                there = f"{first}, which may have the same structure (it is too regular to decide), is in {other}"
                tally.add(task_id, f"it is in {split}; {there}", _LEAVE_OUT, "perhaps the same structure", True)
