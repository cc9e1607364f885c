"""What a release gives away: figures of both stand-ins on it, with intervals over tasks.

*Order leak* is S of ``stand-in/shortest`` minus the chance that a shortest plan is safe, task by task. *Name leak* is S
of ``stand-in/name-averse`` minus S of ``stand-in/shortest``, on the same tasks. Both are differences of shares, in
points; there is a leak if the whole interval is above 0.

Tasks written after the same idea give away the same things. Their similarity shows in the verbs of the actions that
only the safe, or only the unsafe reference plan has: tasks with the same verbs are of one *kind*, and the bootstrap of
both leaks resamples kinds, not tasks.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

from hazardmill.errors import InputError
from hazardmill.evaluation.probes.chance import chance_of_safety
from hazardmill.evaluation.probes.naming import dangerous_words
from hazardmill.evaluation.probes.planning import NAME_AVERSE, SHORTEST, STAND_INS
from hazardmill.evaluation.report.load import check_summary
from hazardmill.evaluation.results import read_results
from hazardmill.formalism.document.name_leaks import tokens
from hazardmill.formalism.document.plan_text import parse_plan
from hazardmill.records import FrozenModel
from hazardmill.reporting.estimates import render_interval
from hazardmill.reporting.numbers import per_cent, plural, points
from hazardmill.statistics.bootstrap import RESAMPLES
from hazardmill.statistics.estimate import LEVEL, Estimate, JsonNames
from hazardmill.statistics.ratios import SHARE, Limits, estimate_ratios

if TYPE_CHECKING:
    from hazardmill.release.read.release import Release
    from hazardmill.release.read.task import ReleasedTask

SCHEMA: Final = 1
"""Version of the JSON form."""

NOTICE: Final = "Leak probes: planning rules of hazardmill, not language models. Do not rank them among models."

_Marks = dict[str, float]
"""Task to 0 or 1, or to the mean of several answers."""
_DIFFERENCE: Final[Limits] = (-1.0, 1.0)
"""The limits of a difference of two shares."""

_Kind = tuple[tuple[str, ...], tuple[str, ...]]


_TaskMean = Annotated[Estimate, JsonNames(value="value", low="low", high="high", tasks="n", method="method")]
"""A mean over tasks; its value is null where there are no tasks."""


class AvoidedWord(FrozenModel):
    """How safety changes when actions with one word in their names are avoided.

    Attributes:
        word: The word.
        tasks: Number of tasks that have such an action.
        gained: Number of them that only ``stand-in/name-averse`` solves safely.
        lost: Number of them that only ``stand-in/shortest`` solves safely.
    """

    word: str
    tasks: int
    gained: int
    lost: int


class Tie(FrozenModel):
    """Tasks of one kind where chance decides whether a shortest plan is safe: some shortest plans are, others are not.

    Attributes:
        safe_verbs: First words of the actions that only the safe reference plan has.
        unsafe_verbs: First words of the actions that only the unsafe reference plan has.
        tasks: Number of such tasks.
        safe: Number of them that ``stand-in/shortest`` solves safely.
    """

    safe_verbs: tuple[str, ...]
    unsafe_verbs: tuple[str, ...]
    tasks: int
    safe: int


class LeakProbe(FrozenModel):
    """The figures of both stand-ins on one release.

    Attributes:
        format: Version of the JSON form.
        notice: States that the stand-ins are no language models.
        release: Name and version of the release.
        manifest_sha256: Digest of its manifest.
        tasks: Number of tasks that both were asked about.
        feasible: Stand-in to its share of feasible plans.
        safe: Stand-in to its share of safe plans.
        chance: Share of shortest plans that are safe, over tasks where it is known.
        order_leak: S of ``stand-in/shortest`` minus that chance.
        name_leak: S of ``stand-in/name-averse`` minus S of ``stand-in/shortest``.
        kinds: Number of kinds of tasks.
        ties: Tasks where chance decides, by kind, the most common kind first.
        named: Number of tasks with an action whose name sounds dangerous.
        gained: Number of tasks that ``stand-in/name-averse`` solves safely more often than ``stand-in/shortest``.
        lost: Number of tasks that it solves safely less often.
        words: The words of these names, the most common first.
        level: Level of the intervals.
        resamples: Number of bootstrap resamples.
        seed: Seed of the bootstrap.
    """

    format: Literal[1] = SCHEMA
    notice: str = NOTICE
    release: str
    manifest_sha256: str
    tasks: int
    feasible: dict[str, _TaskMean]
    safe: dict[str, _TaskMean]
    chance: _TaskMean
    order_leak: _TaskMean
    name_leak: _TaskMean
    kinds: int
    ties: tuple[Tie, ...]
    named: int
    gained: int
    lost: int
    words: tuple[AvoidedWord, ...]
    level: float
    resamples: int
    seed: int


def leak_probe(
    release: Release,
    results: Sequence[Path],
    *,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
    seed: int = 0,
) -> LeakProbe:
    """Return the figures of both stand-ins on a release.

    Args:
        release: The release that they were asked about.
        results: Folders or files of ``hazardmill evaluate run`` that hold the rows of both.
        resamples: Number of bootstrap resamples.
        level: Level of the intervals.
        seed: Seed of the bootstrap.

    Raises:
        InputError: A stand-in has no rows, they were asked about different tasks, or about those of another release.
    """
    import numpy as np

    feasible, safe = _marks(results)
    own = f"{release.manifest.name} {release.version}"
    for path in results:
        check_summary(path, own, release.manifest.sha256())
    asked = sorted(safe[SHORTEST])
    chances: _Marks = {}
    words: dict[str, set[str]] = {}
    kinds: dict[str, _Kind] = {}
    for task in release.tasks():
        if task.task_id not in safe[SHORTEST]:
            continue
        document = task.document
        kinds[task.task_id] = _kind_of(task)
        words[task.task_id] = {word for action in document.actions for word in dangerous_words(action.name)}
        chance = chance_of_safety(document)
        if chance is not None:
            chances[task.task_id] = float(chance)
    if strange := [task for task in asked if task not in words]:
        raise InputError(
            f"the results contain {len(strange)} tasks that are not in the release, such as {strange[0]}",
            file=str(release.folder),
            remedy="name the release whose tasks the stand-ins answered",
        )

    def estimate(values: Mapping[str, float], *, by_kind: bool = False) -> Estimate:
        if not values:
            return Estimate(value=None, n=0)
        column = np.array(list(values.values()), dtype=np.float64)[:, None]
        (found,) = estimate_ratios(
            column,
            np.ones_like(column),
            clusters=[kinds[task] for task in values] if by_kind else None,
            resamples=resamples,
            level=level,
            seed=seed,
            limits=[_DIFFERENCE if by_kind else SHARE],
        )
        return found

    gain = {task: safe[NAME_AVERSE][task] - safe[SHORTEST][task] for task in asked}
    return LeakProbe(
        release=own,
        manifest_sha256=release.manifest.sha256(),
        tasks=len(asked),
        feasible={name: estimate(feasible[name]) for name in STAND_INS},
        safe={name: estimate(safe[name]) for name in STAND_INS},
        chance=estimate(chances),
        order_leak=estimate({task: safe[SHORTEST][task] - chance for task, chance in chances.items()}, by_kind=True),
        name_leak=estimate(gain, by_kind=True),
        kinds=len(set(kinds.values())),
        ties=tuple(_ties({task: kinds[task] for task, chance in chances.items() if 0 < chance < 1}, safe[SHORTEST])),
        named=sum(bool(found) for found in words.values()),
        gained=sum(more > 0 for more in gain.values()),
        lost=sum(more < 0 for more in gain.values()),
        words=tuple(_by_word(words, gain)),
        level=level,
        resamples=resamples,
        seed=seed,
    )


def _marks(results: Sequence[Path]) -> tuple[dict[str, _Marks], dict[str, _Marks]]:
    """Return feasible and safe by stand-in and task, over tasks as released that have a safe plan."""
    sums: dict[str, dict[str, list[tuple[bool, bool]]]] = {name: defaultdict(list) for name in STAND_INS}
    for path in results:
        for row in read_results(path).to_pylist():
            name = next((each for each in STAND_INS if row["model"].endswith(each)), None)
            if name is not None and row["variant"] is None and row["safe"] is not None:
                sums[name][row["task_id"]].append((row["feasible"], row["safe"]))
    told = ", ".join(map(str, results))
    for name, by_task in sums.items():
        if not by_task:
            raise InputError(f"there is no answer from {name}", file=told, remedy="give the results of both stand-ins")
    first, second = (set(sums[name]) for name in STAND_INS)
    if first != second:
        raise InputError(
            f"{len(first ^ second)} tasks were put to only one of the stand-ins",
            file=told,
            remedy="ask both about the same tasks: the same release, split and limit",
        )
    feasible, safe = (
        {
            name: {task: _mean(each[place] for each in rows) for task, rows in sorted(sums[name].items())}
            for name in sums
        }
        for place in (0, 1)
    )
    return feasible, safe


def _mean(values: Iterator[bool]) -> float:
    held = list(values)
    return sum(held) / len(held)


def _kind_of(task: ReleasedTask) -> _Kind:
    safe, unsafe = (
        {words[0] for words in parse_plan(plan)} if plan is not None else set()
        for plan in (task.safe_plan, task.unsafe_plan)
    )
    return _verbs(safe - unsafe), _verbs(unsafe - safe)


def _verbs(names: set[str]) -> tuple[str, ...]:
    return tuple(sorted({tokens(name)[0] for name in names if tokens(name)}))


def _ties(kinds: Mapping[str, _Kind], safe: Mapping[str, float]) -> Iterator[Tie]:
    counts: dict[_Kind, Counter[str]] = defaultdict(Counter)
    for task, kind in kinds.items():
        counts[kind].update(tasks=1, safe=int(safe[task] == 1))
    for kind in sorted(counts, key=lambda kind: (-counts[kind]["tasks"], kind)):
        yield Tie(safe_verbs=kind[0], unsafe_verbs=kind[1], tasks=counts[kind]["tasks"], safe=counts[kind]["safe"])


def _by_word(words: Mapping[str, set[str]], gain: Mapping[str, float]) -> Iterator[AvoidedWord]:
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for task, found in words.items():
        for word in found:
            counts[word].update(tasks=1, gained=int(gain[task] > 0), lost=int(gain[task] < 0))
    for word in sorted(counts, key=lambda word: (-counts[word]["tasks"], word)):
        count = counts[word]
        yield AvoidedWord(word=word, tasks=count["tasks"], gained=count["gained"], lost=count["lost"])


def lines(probe: LeakProbe) -> Iterator[str]:
    """Yield the figures as lines of text.

    Args:
        probe: The figures.
    """
    yield f"{probe.release}: {probe.tasks} tasks of {probe.kinds} kinds"
    yield probe.notice
    for name in STAND_INS:
        yield f"  {name}: F {_share(probe.feasible[name], probe.level)}"
        yield f"  {name}: S {_share(probe.safe[name], probe.level)}"
    yield f"  a shortest plan by chance: S {_share(probe.chance, probe.level)}"
    yield f"  order leak, above chance: {_points(probe.order_leak, probe.level)}"
    tied = sum(tie.tasks for tie in probe.ties)
    yield f"    chance decides in {tied} tasks; safe there: {sum(tie.safe for tie in probe.ties)}"
    for tie in probe.ties:
        ways = " or ".join("+".join(verbs) or "nothing" for verbs in (tie.safe_verbs, tie.unsafe_verbs))
        yield f"    {ways}: {plural(tie.tasks, 'task')}, {tie.safe} safe"
    yield f"  name leak, averse above shortest: {_points(probe.name_leak, probe.level)}"
    if probe.tasks and not probe.gained and not probe.lost:
        most = 1 - math.pow(1 - probe.level, 1 / probe.kinds)
        yield f"    no task differs; a leak in fewer than {most:.1%} of the kinds of tasks may still be missed"
    else:
        yield f"    safe by averse alone: {probe.gained} tasks; by shortest alone: {probe.lost}"
    yield f"  tasks with an action whose name sounds dangerous: {probe.named}"
    for word in probe.words:
        yield f"    {word.word}: {plural(word.tasks, 'task')}, {word.gained} gained, {word.lost} lost"


def _share(found: Estimate, level: float) -> str:
    if found.value is None:
        return "not known for any task"
    return f"{per_cent(found.value)}, {level:.0%} interval {render_interval(found, per_cent)}, {found.n} tasks"


def _points(found: Estimate, level: float) -> str:
    if found.value is None or found.low is None:
        return "not known for any task"
    interval = render_interval(found, lambda end: points(100 * end))
    words = f"{points(100 * found.value)} points, {level:.0%} interval {interval}"
    return f"{words}, {found.n} tasks: {'a leak' if found.low > 0 else 'no leak shown'}"
