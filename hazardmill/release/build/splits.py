"""Assigning tasks to splits: every structure goes as a whole to train, validation or test.

Tasks of one structure are the same problem under other names, so a planner that was trained on one has seen the other.
All tasks of a group are therefore in one split, whatever that does to the shares. As far as the groups allow, every
split has its share of each source, of each danger type, of each pair of the two, and of all tasks.

Guarantees:

- The same members give the same splits, in any order and on every machine.
- A group that ``kept`` names always stays where ``kept`` says. If ``kept`` holds the groups of the parent release, no
  task changes its split from one release to the next, however many are added; new groups restore the shares.
- Tasks that may have the same structure, although this cannot be decided, are in one group too (``groups_of``), unless
  ``kept`` has them in different splits: then the gate on splits refuses the release, and names the task to leave out.
- Groups that ``kept`` does not name may change their split when members are added or removed.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, get_args

from hazardmill.errors import InputError, UsageError
from hazardmill.quality.duplicates import structure_or_null
from hazardmill.records import content_hash

Split = Literal["train", "validation", "test"]

SPLITS: Final[tuple[Split, ...]] = get_args(Split)
"""The splits, in the order of ``SHARES``."""

SHARES: Final = (0.8, 0.1, 0.1)

OUTLINE: Final = "outline:"
"""Prefix of the name of a group whose documents are too regular for a structure id."""

_COMMUTATIVE: Final = frozenset({"and", "or", "+", "="})
_QUANTIFIERS: Final = frozenset({"exists", "forall"})
_SWEEPS: Final = 20
"""Maximum number of passes that try to move groups; on real corpora the third pass changes nothing."""
_LEAST_GAIN: Final = 1e-9

_Label: TypeAlias = tuple[str, ...]
_Expr: TypeAlias = Any


@dataclass(frozen=True, slots=True)
class SplitTask:
    """What decides the split of a task: its group, and the properties that are spread evenly over the splits.

    Attributes:
        task_id: Id of the task.
        group: Its group (``groups_of``).
        source: Source of its record.
        danger_type: Its danger type.
    """

    task_id: str
    group: str
    source: str
    danger_type: str


def group_of(structure_id: str | None, document: Mapping[str, Any]) -> str:
    """Return the name of a task's group; tasks of the same structure have the same name.

    A document that is too regular for a structure id is named by its outline, which documents of another structure may
    share: a group that is too large does less harm than a structure in two splits.

    Args:
        structure_id: Structure id in the store; if None, it is computed from the document.
        document: The document as JSON values; only read if there is no structure id.

    Returns:
        ``structure:`` or ``outline:``, followed by a SHA-256 (hex).
    """
    found = structure_id if structure_id is not None else structure_or_null(document)
    return outline_group(document) if found is None else f"structure:{found}"


def outline_group(document: Mapping[str, Any]) -> str:
    """Return the name of the group of documents that have this document's outline and are too regular."""
    return f"{OUTLINE}{outline(document)}"


@dataclass(frozen=True, slots=True)
class Groups:
    """The group of each task, and the splits in which groups must stay.

    Attributes:
        of: Task id to the name of its group.
        kept: Name of a group to the split that it has in an earlier release. Groups without a task in this release are
            included.
    """

    of: dict[str, str]
    kept: dict[str, str]


def groups_of(
    structures: Mapping[str, str], outlines: Callable[[], Mapping[str, str]], kept: Mapping[str, str]
) -> Groups:
    """Put all tasks that may have the same structure into one group.

    The search for a structure id gives up on a document that is too regular, but under other names it may just succeed
    on the same structure. So all tasks with the outline of such a document join its group, in this release and in
    every later one.

    Args:
        structures: Task id to the result of ``group_of``.
        outlines: Returns task id to the result of ``outline_group`` for all tasks; called only if some document, now
            or in an earlier release, is too regular.
        kept: Group to split in earlier releases.

    Returns:
        The group of each task; and ``kept``, to which each outline is added whose tasks already had one common split.
    """
    regular = {group for group in (*structures.values(), *kept) if group.startswith(OUTLINE)}
    groups, kept = dict(structures), dict(kept)
    if not regular:
        return Groups(groups, kept)
    joining: dict[str, set[str]] = {}
    for task_id, outlined in outlines().items():
        if outlined in regular:
            joining.setdefault(outlined, set()).add(structures[task_id])
    joined = {}
    for outlined, members in joining.items():
        places = {kept[group] for group in (outlined, *members) if group in kept}
        divided = len(places) > 1
        if len(places) == 1:
            kept[outlined] = places.pop()
        # Earlier releases put these groups into different splits: those stay apart, and the others join the outline.
        joined.update({group: outlined for group in members if not (divided and group in kept)})
    return Groups({task_id: joined.get(group, group) for task_id, group in groups.items()}, kept)


def outline(document: Mapping[str, Any]) -> str:
    """Return the SHA-256 (hex) of a document without its names: documents of the same structure have the same outline.

    Documents of different structure may share an outline. It takes less than a millisecond for any document, because
    it does not search for a canonical naming as a structure id does.

    Args:
        document: The document as JSON values.
    """
    entries: dict[str, list[Any]] = {}
    for entry in document["dangers"]:
        entries.setdefault(entry["action"], []).append([entry["increment"], _shape(entry["condition"])])
    actions = [
        [
            len(action["parameters"]),
            _shape(action["precondition"]),
            _sort_by_hash([operation, *map(_shape, parts)] for operation, *parts in action["effects"]),
            _sort_by_hash(entries.get(action["name"], ())),
        ]
        for action in document["actions"]
    ]
    fluents = [
        [each["kind"], each["value"], each["lower"], each["upper"], len(each["parameters"])]
        for each in document["fluents"]
    ]
    return content_hash(
        {
            "danger": [document["initial_danger"], document["max_danger"]],
            "types": len(document["types"]),
            "objects": sorted(Counter(type_ for _, type_ in document["objects"]).values()),
            "fluents": _sort_by_hash(fluents),
            "actions": _sort_by_hash(actions),
            # False and 0 are the defaults, and may be left out of a document.
            "initial": _sort_by_hash([len(atom), value] for atom, value in document["initial"] if value),
            "goal": _shape(document["goal"]),
        }
    )


def _shape(expr: _Expr) -> _Expr:
    """Return an expression without names; operands of commutative operators are sorted by what is left of them."""
    if not isinstance(expr, list | tuple):
        return expr
    head, *rest = expr
    if head in ("fluent", "same"):
        return [head, len(rest)]
    if head in _QUANTIFIERS:
        variables, body = rest
        return [head, len(variables), _shape(body)]
    shapes = [_shape(child) for child in rest]
    return [head, *(_sort_by_hash(shapes) if head in _COMMUTATIVE else shapes)]


def _sort_by_hash(values: Iterable[Any]) -> list[Any]:
    # Lists, numbers and texts cannot be compared with one another, but their hashes can.
    return sorted(values, key=content_hash)


def assign_splits(
    members: Iterable[SplitTask],
    seed: int = 0,
    shares: Sequence[float] = SHARES,
    kept: Mapping[str, str] | None = None,
) -> dict[str, Split]:
    """Assign each task to a split.

    Groups are dealt out, the largest first, each to the split where it adds least to the deviation from the shares.
    The deviation is a sum of squares over sources, danger types, pairs of the two and all tasks, each divided by the
    split's share; for tasks of one kind this is Sainte-Laguë's method of apportionment. Afterwards groups are moved
    one by one, as long as a move reduces the deviation.

    Args:
        members: The tasks, in any order.
        seed: Decides the order in which groups of the same size are dealt out.
        shares: Shares of train, validation and test; three positive numbers whose sum is 1.
        kept: Group to split in an earlier release; these groups stay where they were.

    Returns:
        Task id to split.

    Raises:
        UsageError: The shares are not three positive numbers whose sum is 1.
        InputError: ``kept`` names an unknown split.
    """
    if len(shares) != len(SPLITS) or not all(share > 0 for share in shares) or not math.isclose(sum(shares), 1):
        raise UsageError(
            f"{', '.join(map(str, shares))} cannot be the shares of {', '.join(SPLITS)}",
            remedy=f"give {len(SPLITS)} positive numbers whose sum is 1",
        )
    groups: dict[str, list[SplitTask]] = {}
    for member in members:
        groups.setdefault(member.group, []).append(member)
    dealing = _Dealing(groups, seed, shares)
    for group, split in sorted((kept or {}).items()):
        if split not in SPLITS:
            raise InputError(
                f"a group of the parent release is in the split {split[:40]!r}",
                remedy=f"splits are {', '.join(SPLITS)}",
            )
        if group in groups:
            dealing.put(group, SPLITS.index(split))
    dealing.deal()
    return {
        member.task_id: SPLITS[place]
        for group, place in sorted(dealing.places.items())
        for member in sorted(groups[group], key=lambda member: member.task_id)
    }


class _Dealing:
    """The splits while groups are put into them, with the deviation of each from its shares."""

    def __init__(self, groups: Mapping[str, Sequence[SplitTask]], seed: int, shares: Sequence[float]) -> None:
        self.places: dict[str, int] = {}
        """Group to the index of its split in ``SPLITS``."""
        self._shares = shares
        self._counts = {group: sorted(_labels(members).items()) for group, members in groups.items()}
        wanted: Counter[_Label] = Counter()
        for counts in self._counts.values():
            wanted.update(dict(counts))
        self._over = [{label: -share * count for label, count in wanted.items()} for share in shares]
        """Per split and label, the number of tasks in the split minus its share of all tasks."""
        # The seed decides among groups of the same size. Without it, the hashes in their names would: the same order
        # in every release.
        drawn = {group: hashlib.sha256(f"{seed}\n{group}".encode()).digest() for group in groups}
        self._order = sorted(groups, key=lambda group: (-len(groups[group]), drawn[group]))

    def put(self, group: str, place: int) -> None:
        """Put a group into a split."""
        self._change(group, place, 1)
        self.places[group] = place

    def deal(self) -> None:
        """Put every group that is not in a split yet into one, then move groups while that helps."""
        free = [group for group in self._order if group not in self.places]
        for group in free:
            self.put(group, min(range(len(SPLITS)), key=lambda place: self._cost(group, place)))
        for _ in range(_SWEEPS):
            if not sum(self._try_move(group) for group in free):
                break

    def _try_move(self, group: str) -> bool:
        """Move a group to another split if that reduces the deviation, and return whether it moved."""
        before = self.places[group]
        self._change(group, before, -1)
        costs = [self._cost(group, place) for place in range(len(SPLITS))]
        best = min(range(len(SPLITS)), key=costs.__getitem__)
        better = costs[best] < costs[before] - _LEAST_GAIN
        self.put(group, best if better else before)
        return better

    def _cost(self, group: str, place: int) -> float:
        """Return by how much the sum of squares grows if a group is put into a split: (x + n)^2 - x^2 per label."""
        over = self._over[place]
        return sum(count * (2 * over[label] + count) for label, count in self._counts[group]) / self._shares[place]

    def _change(self, group: str, place: int, sign: int) -> None:
        over = self._over[place]
        for label, count in self._counts[group]:
            over[label] += sign * count


def _labels(members: Iterable[SplitTask]) -> Counter[_Label]:
    """Count the tasks of a group by each property that is to be spread evenly over the splits."""
    found: Counter[_Label] = Counter()
    for member in members:
        source, type_ = ("source", member.source), ("type", member.danger_type)
        found.update((("all",), source, type_, ("both", member.source, member.danger_type)))
    return found
