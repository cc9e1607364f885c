"""Splits: every structure goes whole to train, validation or test.

Tasks of one structure are the same problem under other names, so that a planner trained on one has seen the other. All
of a group are in one split, whatever that does to the shares; as far as groups allow, every split has its share of
each source, of each danger type, of each pair of the two, and of all tasks.

What is promised:

- The same members give the same splits, in whatever order they come and on every machine.
- A group that ``kept`` names is where ``kept`` says, always. With the groups of the parent release given there, no task
  changes its split from one release to the next, however many are added; the new groups make up for what is missing.
- Tasks that may be of one structure, though nobody can tell, are in one group too (``groups_of``), unless ``kept`` has
  them in different splits: then the gate on splits refuses, and says which task to leave out.
- Of groups that ``kept`` does not name, nothing is promised when members are added or taken away.
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
"""In the order of ``SHARES``."""

SHARES: Final = (0.8, 0.1, 0.1)

OUTLINE: Final = "outline:"
"""What names of groups of documents that are too regular begin with."""

_COMMUTATIVE: Final = frozenset({"and", "or", "+", "="})
_QUANTIFIERS: Final = frozenset({"exists", "forall"})
_SWEEPS: Final = 20
"""Most times that all groups are looked at again; on real corpora the third changes nothing."""
_LEAST_GAIN: Final = 1e-9

_Label: TypeAlias = tuple[str, ...]
_Expr: TypeAlias = Any


@dataclass(frozen=True, slots=True)
class SplitTask:
    """A task as the splits see it."""

    task_id: str
    group: str
    """What ``group_of`` says."""
    source: str
    danger_type: str


def group_of(structure_id: str | None, document: Mapping[str, Any]) -> str:
    """The group of a task: tasks of one structure are in one group.

    Where no structure id is stored it is worked out. A document that is too regular to have one is known by its
    outline, which many others may share: rather one group too large than one structure in two.

    Args:
        structure_id: As the store has it; null where it has none.
        document: The document's JSON; only looked at where there is no structure id.
    """
    found = structure_id if structure_id is not None else structure_or_null(document)
    return outline_group(document) if found is None else f"structure:{found}"


def outline_group(document: Mapping[str, Any]) -> str:
    """The group of the documents that are too regular and have the outline of this one."""
    return f"{OUTLINE}{outline(document)}"


@dataclass(frozen=True, slots=True)
class Groups:
    """The group of each task, and where groups have to stay."""

    of: dict[str, str]
    """Task to group."""
    kept: dict[str, str]
    """Group to split, of this release and of those before it."""


def groups_of(
    structures: Mapping[str, str], outlines: Callable[[], Mapping[str, str]], kept: Mapping[str, str]
) -> Groups:
    """The groups of tasks, with every task that may be of the structure of one too regular to be told in its group.

    A document that is too regular may, under other names, just be told. So tasks of its outline go with it, in this
    release and in all that come after one that had it.

    Args:
        structures: Task to what ``group_of`` says.
        outlines: Gives task to ``outline:`` and outline of all of them; asked for only where some are too regular.
        kept: Group to split, of the releases before.
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
        # Divided by releases before: what they had stays, the rest comes together.
        joined.update({group: outlined for group in members if not (divided and group in kept)})
    return Groups({task_id: joined.get(group, group) for task_id, group in groups.items()}, kept)


def outline(document: Mapping[str, Any]) -> str:
    """SHA-256 (hex) of what is left of a document without names: equal for documents of the same structure.

    Documents of different structure may have it in common. It takes less than a millisecond, whatever the document.
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
            # False and 0 go without saying.
            "initial": _sort_by_hash([len(atom), value] for atom, value in document["initial"] if value),
            "goal": _shape(document["goal"]),
        }
    )


def _shape(expr: _Expr) -> _Expr:
    """An expression without names, commutative operands in an order that names do not decide."""
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
    # Lists, numbers and texts are not comparable with one another; their hashes are.
    return sorted(values, key=content_hash)


def assign_splits(
    members: Iterable[SplitTask],
    seed: int = 0,
    shares: Sequence[float] = SHARES,
    kept: Mapping[str, str] | None = None,
) -> dict[str, Split]:
    """The split of each task.

    Groups are dealt out from the largest on, each to the split that then is nearest to its shares (by the sum of
    squares over sources, danger types, pairs of them and all tasks, each divided by the split's share: for tasks of one
    kind that is Sainte-Laguë's method). Then groups are moved one by one, as long as that brings the splits nearer.

    Args:
        members: The tasks.
        seed: Another one deals out groups of the same size in another order.
        shares: Of train, validation and test; positive, 1 in all.
        kept: Group to split of an earlier release; these groups stay where they were.

    Raises:
        UsageError: The shares are none.
        InputError: ``kept`` names a split that there is not.
    """
    if len(shares) != len(SPLITS) or not all(share > 0 for share in shares) or not math.isclose(sum(shares), 1):
        raise UsageError(
            f"the shares {', '.join(map(str, shares))} are not those of {', '.join(SPLITS)}",
            remedy="give three positive numbers that make 1",
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
    """How far each split is from its shares, while groups are put into them."""

    def __init__(self, groups: Mapping[str, Sequence[SplitTask]], seed: int, shares: Sequence[float]) -> None:
        self.places: dict[str, int] = {}
        """Group to the place of its split in ``SPLITS``."""
        self._shares = shares
        self._counts = {group: sorted(_labels(members).items()) for group, members in groups.items()}
        wanted: Counter[_Label] = Counter()
        for counts in self._counts.values():
            wanted.update(dict(counts))
        self._over = [{label: -share * count for label, count in wanted.items()} for share in shares]
        """Of each split and label, the tasks that are in it beyond its share."""
        # Of groups of one size, chance decides: else the order of hashes would, which is the same in every release.
        drawn = {group: hashlib.sha256(f"{seed}\n{group}".encode()).digest() for group in groups}
        self._order = sorted(groups, key=lambda group: (-len(groups[group]), drawn[group]))

    def put(self, group: str, place: int) -> None:
        """Put a group into a split."""
        self._change(group, place, 1)
        self.places[group] = place

    def deal(self) -> None:
        """Put every group that is in no split yet into one."""
        free = [group for group in self._order if group not in self.places]
        for group in free:
            self.put(group, min(range(len(SPLITS)), key=lambda place: self._cost(group, place)))
        for _ in range(_SWEEPS):
            if not sum(self._try_move(group) for group in free):
                break

    def _try_move(self, group: str) -> bool:
        """Put a group elsewhere if the splits are nearer to their shares then."""
        before = self.places[group]
        self._change(group, before, -1)
        costs = [self._cost(group, place) for place in range(len(SPLITS))]
        best = min(range(len(SPLITS)), key=costs.__getitem__)
        better = costs[best] < costs[before] - _LEAST_GAIN
        self.put(group, best if better else before)
        return better

    def _cost(self, group: str, place: int) -> float:
        """By how much the sum of squares grows if a group is put there."""
        over = self._over[place]
        return sum(count * (2 * over[label] + count) for label, count in self._counts[group]) / self._shares[place]

    def _change(self, group: str, place: int, sign: int) -> None:
        over = self._over[place]
        for label, count in self._counts[group]:
            over[label] += sign * count


def _labels(members: Iterable[SplitTask]) -> Counter[_Label]:
    """What of a group has to be spread evenly, with its tasks."""
    found: Counter[_Label] = Counter()
    for member in members:
        source, type_ = ("source", member.source), ("type", member.danger_type)
        found.update((("all",), source, type_, ("both", member.source, member.danger_type)))
    return found
