"""Gates that hold tasks against one another: duplicates, and structures on both sides of a split."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from hazardmill.quality.text import Spelling, first_near
from hazardmill.release.gates.findings import FindingTally
from hazardmill.release.gates.proofs import TaskExamination

_ONE_OF_THEM = "leave one of the two out: reject it in the review, or release fewer runs with --run"
_SPLIT_ANEW = "assign the splits anew by the structures of the documents, without those of a parent release if need be"
_LEAVE_OUT = "leave it out: reject it in the review; or build without the parent, whose splits divide them"


class Likeness:
    """Tasks that repeat another one. A few hundred bytes a task are kept."""

    def __init__(self) -> None:
        self._hashes: dict[str, list[str]] = defaultdict(list)
        self._texts: dict[str, dict[str, str]] = defaultdict(dict)
        """Structure to task to its words."""

    def take(self, document_hash: str, examined: TaskExamination) -> None:
        """Remember one more task."""
        self._hashes[document_hash].append(examined.task_id)
        # As everywhere: a document too regular for a structure id is nobody's duplicate but its own.
        if examined.structure is not None:
            self._texts[examined.structure][examined.task_id] = " ".join(examined.words)

    def tell(self, tally: FindingTally) -> None:
        """Count each task that repeats one before it, by task id."""
        repeated = set()
        for task_ids in self._hashes.values():
            first, *others = sorted(task_ids)
            for task_id in others:
                repeated.add(task_id)
                tally.add(task_id, f"it has the same document as {first}", _ONE_OF_THEM)
        for texts in self._texts.values():
            for task_id, twin, likeness in _near(texts):
                if task_id not in repeated:
                    tally.add(
                        task_id,
                        f"it is {twin} under other names, told in nearly the same words (Rouge-L {likeness:.2f})",
                        _ONE_OF_THEM,
                    )


def _near(texts: Mapping[str, str]) -> Iterator[tuple[str, str, float]]:
    """Each text that is near to one kept before it, with that one: as ``quality.duplicates`` decides."""
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
    """Where each structure is. Only what was worked out of the documents counts, no column and no group."""

    def __init__(self) -> None:
        self._tasks: dict[str, dict[str, str]] = defaultdict(dict)
        """Structure to its tasks, each with its split."""
        self._outlines: dict[str, dict[str, str]] = defaultdict(dict)
        """Outline to each split that it is in, with the first task there."""
        self._untold: list[tuple[str, str, str]] = []
        """Task, outline and split of documents that are too regular for a structure id."""

    def take(self, examined: TaskExamination, split: str) -> None:
        """Remember one more task whose document could be read."""
        assert examined.outline is not None
        firsts = self._outlines[examined.outline]
        firsts[split] = min(examined.task_id, firsts.get(split, examined.task_id))
        if examined.structure is None:
            self._untold.append((examined.task_id, examined.outline, split))
        else:
            self._tasks[examined.structure][examined.task_id] = split

    def tell(self, tally: FindingTally) -> None:
        """Count each task that is elsewhere than the first one, by task id, of its structure."""
        for tasks in self._tasks.values():
            first, *others = sorted(tasks)
            for task_id in others:
                if tasks[task_id] != tasks[first]:
                    there = f"{first}, which has the same structure, is in {tasks[first]}"
                    tally.add(task_id, f"it is in {tasks[task_id]}; {there}", _SPLIT_ANEW)
        # Renamed, such a document may just be told its structure: it must be with all that may be the same.
        for task_id, outline, split in self._untold:
            elsewhere = {other: first for other, first in self._outlines[outline].items() if other != split}
            if elsewhere:
                first, other = min((first, other) for other, first in elsewhere.items())
                there = f"{first}, which may have the same structure, which nobody can tell, is in {other}"
                tally.add(task_id, f"it is in {split}; {there}", _LEAVE_OUT)
