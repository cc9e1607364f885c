"""Gates that hold tasks against one another: duplicates, and structures on both sides of a split."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from hazardmill.quality.text import Spelling, first_near
from hazardmill.release.gate_findings import Tally
from hazardmill.release.gate_proofs import Examined

_ONE_OF_THEM = "leave one of the two out: reject it in the review, or release fewer runs with --run"
_SPLIT_ANEW = "assign the splits anew by the structures of the documents, without those of a parent release if need be"


class Likeness:
    """Tasks that repeat another one. A few hundred bytes a task are kept."""

    def __init__(self) -> None:
        self._hashes: dict[str, list[str]] = defaultdict(list)
        self._texts: dict[str, dict[str, str]] = defaultdict(dict)
        """Structure to task to its words."""

    def take(self, document_hash: str, examined: Examined) -> None:
        """Remember one more task."""
        self._hashes[document_hash].append(examined.task_id)
        # As everywhere: a document too regular for a structure id is nobody's duplicate but its own.
        if examined.structure is not None:
            self._texts[examined.structure][examined.task_id] = " ".join(examined.words)

    def tell(self, tally: Tally) -> None:
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


class Structures:
    """Where each structure is. Only what was worked out of the documents counts, no column and no group."""

    def __init__(self) -> None:
        self._tasks: dict[str, dict[str, str]] = defaultdict(dict)
        """Structure to its tasks, each with its split."""
        self._outlines: dict[str, dict[str, str]] = defaultdict(dict)
        self._untold: set[str] = set()
        """Outlines of documents that are too regular for a structure id."""

    def take(self, examined: Examined, split: str) -> None:
        """Remember one more task whose document could be read."""
        assert examined.outline is not None
        self._outlines[examined.outline][examined.task_id] = split
        if examined.structure is None:
            self._untold.add(examined.outline)
        else:
            self._tasks[examined.structure][examined.task_id] = split

    def tell(self, tally: Tally) -> None:
        """Count each task that is elsewhere than the first one, by task id, of its structure."""
        for tasks in self._tasks.values():
            _elsewhere(tally, tasks, "has the same structure")
        # Renamed, such a document may just be told its structure: it must be with all that may be the same.
        for outline in self._untold:
            _elsewhere(tally, self._outlines[outline], "may have the same structure, which nobody can tell")


def _elsewhere(tally: Tally, tasks: Mapping[str, str], says: str) -> None:
    first, *others = sorted(tasks)
    for task_id in others:
        if tasks[task_id] != tasks[first]:
            tally.add(task_id, f"it is in {tasks[task_id]}; {first}, which {says}, is in {tasks[first]}", _SPLIT_ANEW)
