"""The leaderboard: one row per model, with its rates, their intervals, and what they were measured on.

Models are ranked among those that answered the same tasks: by S and, where that is equal, by SI of answers with an
action; models that are equal in both share a rank. SI of all answers is in the data, but neither ranked nor shown: an
answer without a plan intends no danger, so that a model which never answers would have an SI of 100 %. Rule-based
stand-ins have a row but no rank: their rates show how much a release gives away about its dangers, and say nothing
about any model.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal

from hazardmill import __version__
from hazardmill.evaluation.report.episodes.section import EpisodesSection, episode_rows
from hazardmill.evaluation.report.model_names import RULES, label_model
from hazardmill.evaluation.report.model_results import ModelResults, ResultPanel
from hazardmill.evaluation.report.safety.section import SafetySection, safety_rows
from hazardmill.evaluation.report.words import last_pass, render_rate
from hazardmill.reporting.markdown import escape_markdown, grid_markdown
from hazardmill.reporting.numbers import NONE, UNKNOWN, count, plural
from hazardmill.reporting.table import Grid
from hazardmill.statistics.estimate import LEVEL

FORMAT: Final = "hazardmill-leaderboard/1"

_RATES: Final = ("F", "S", "SP", "SI", "SI_nonempty", "empty", "refused")
"""Rates of a row in the data."""

_SHOWN: Final = {
    "S": "S, 95 %",
    "F": "F, 95 %",
    "SP": "SP, 95 %",
    "SI_nonempty": "SI with an action, 95 %",
    "pass_k": "pass^k of S, 95 %",
    "empty": "Empty, 95 %",
    "refused": "Refused, 95 %",
}
"""Rates of a row in the table, with their heads; ``pass_k`` only if any model answered tasks several times."""


def leaderboard(
    panel: ResultPanel, safety: SafetySection | None = None, episodes: EpisodesSection | None = None
) -> dict[str, Any]:
    """Return the leaderboard as JSON values; unknown values are null.

    Args:
        panel: The figures of all models.
        safety: The section on harm and success of agents; None without such results.
        episodes: The section on household episodes; None without such results.
    """
    ranks = _ranks(panel)
    release = panel.release
    return {
        "format": FORMAT,
        "hazardmill_version": __version__,
        "ranked_by": "S, then SI_nonempty, among models that answered the same tasks (task_set)",
        "intervals": {
            "level": LEVEL,
            "resamples": panel.how.resamples,
            "seed": panel.how.seed,
            "drawn": "task",
        },
        "release": None
        if release is None
        else {
            "name": release.name,
            "version": release.version,
            "manifest_sha256": release.manifest_sha256,
        },
        "rows": [_row(member, ranks.get(member.model), panel) for member in _members_in_order(panel)],
        "safety": [] if safety is None else safety_rows(safety),
        "episodes": [] if episodes is None else episode_rows(episodes),
    }


def leaderboard_json(
    panel: ResultPanel, safety: SafetySection | None = None, episodes: EpisodesSection | None = None
) -> str:
    """Return the leaderboard as the text of its JSON file."""
    return json.dumps(leaderboard(panel, safety, episodes), indent=2, sort_keys=True, ensure_ascii=True) + "\n"


def leaderboard_markdown(
    panel: ResultPanel, safety: SafetySection | None = None, episodes: EpisodesSection | None = None
) -> str:
    """Return the leaderboard as Markdown: one table per set of tasks, and those of agents."""
    return "\n\n".join(["# Leaderboard", *blocks(panel, safety, episodes)]) + "\n"


def blocks(
    panel: ResultPanel, safety: SafetySection | None = None, episodes: EpisodesSection | None = None
) -> Iterator[str]:
    """Yield the parts of the leaderboard as Markdown, without a title."""
    for sentence in notes(panel):
        yield escape_markdown(sentence)
    for grid in leaderboard_grids(panel):
        yield grid_markdown(grid)
    yield grid_markdown(origin_grid(panel))
    if safety is not None:
        yield grid_markdown(safety.board)
    if episodes is not None:
        yield grid_markdown(episodes.board)


def notes(panel: ResultPanel) -> list[str]:
    """Return what readers of the tables need to know, in sentences."""
    if not panel.members:
        return ["There are no answers on tasks as released: nothing is ranked."]
    found = [
        "Ranked by S among models that answered the same tasks; where S is equal, by SI of answers with an action. "
        f"Intervals are of {100 * LEVEL:.0f} %, a bootstrap over tasks ({panel.how.resamples:,} resamples, seed "
        f"{panel.how.seed}), or Wilson's, where fewer than five tasks differ. Where intervals overlap, the order may "
        "be chance. An empty answer is one without an action, including refusals."
    ]
    if panel.release is None:
        told = all(_values_of_runs(member, "manifest_sha256") for member in panel.members)
        what = "Who wrote the tasks is" if told else "Release, manifest and who wrote the tasks are"
        found.append(f"{what} unknown: name the release with --release.")
    else:
        own = _count_offline(frozenset().union(*(member.tasks for member in panel.members)), panel)
        if own:
            found.append(
                f"{count(own)} of {plural(panel.tasks, 'task')} are offline-authored: written by rules, not by a "
                "language model. Scores on them show that the mill works, but little about models on real tasks."
            )
    if panel.stand_ins:
        found.append(f"Stand-ins ({RULES}) are leak probes of the release, and have no rank.")
    return found


def leaderboard_grids(panel: ResultPanel) -> list[Grid]:
    """Return one table per set of tasks, the largest set first."""
    ranks = _ranks(panel)
    by_set: dict[str, list[ModelResults]] = defaultdict(list)
    for member in _members_in_order(panel):
        by_set[member.task_set].append(member)
    grids = []
    for task_set, members in by_set.items():
        tasks = plural(len(members[0].tasks), "task")
        several = any(last_pass(member.figures, "S") is not None for member in members)
        shown = {name: head for name, head in _SHOWN.items() if name != "pass_k" or several}
        lines = tuple(_line(member, ranks.get(member.model), [*shown]) for member in members)
        head = ("Rank", "Model", "n", *shown.values())
        grids.append(Grid(f"Leaderboard on {tasks} (set {task_set})", head, lines, words=2))
    return grids


def origin_grid(panel: ResultPanel) -> Grid:
    """Return a table of what each row was measured on."""
    head = ("Model", "Release", "Manifest, SHA-256", "Prompt hash", "Offline-authored tasks", "Run")
    release = panel.release
    lines = []
    for member in _members_in_order(panel):
        offline = _count_offline(member.tasks, panel)
        lines.append(
            (
                label_model(member.model),
                f"{release.name} {release.version}"
                if release
                else ", ".join(_values_of_runs(member, "tasks")) or UNKNOWN,
                _of_release(member, "manifest_sha256", panel) or UNKNOWN,
                ", ".join(_values_of_runs(member, "prompt_hash")) or f"none: {_render_asking(member)}",
                UNKNOWN if offline is None else f"{count(offline)} of {count(len(member.tasks))}",
                ", ".join(run.run for run in member.runs),
            )
        )
    return Grid("What was measured, and on what", head, tuple(lines), words=6)


def _line(member: ModelResults, rank: int | None, shown: Sequence[str]) -> tuple[str, ...]:
    last = last_pass(member.figures, "S")
    pass_k = NONE if last is None else f"{render_rate(last[1])}, k = {last[0]}"
    return (
        NONE if rank is None else str(rank),
        label_model(member.model),
        count(member.judged),
        *(pass_k if name == "pass_k" else render_rate(member.figures.rates[name]) for name in shown),
    )


def _row(member: ModelResults, rank: int | None, panel: ResultPanel) -> dict[str, Any]:
    written = member.figures.model_dump(mode="json", include={"rates", "pass_k", "unavoidable"})
    return {
        "rank": rank,
        "model": member.model,
        "rule_based": member.stand_in,
        "task_set": member.task_set,
        "tasks": len(member.tasks),
        "answers": member.judged,
        "answers_on_unavoidable": written["unavoidable"],
        **{name: written["rates"][name] for name in _RATES},
        "pass_k": written["pass_k"],
        "release_version": _of_release(member, "version", panel),
        "manifest_sha256": _of_release(member, "manifest_sha256", panel),
        "offline_authored_tasks": _count_offline(member.tasks, panel),
        "prompt_hash": _values_of_runs(member, "prompt_hash"),
        "plans_sha256": _values_of_runs(member, "plans_sha256"),
        "tasks_digest": _values_of_runs(member, "tasks_digest"),
        "evaluated_on": _values_of_runs(member, "tasks"),
        "runs": [run.run for run in member.runs],
        "digests": _values_of_runs(member, "digest"),
    }


def _values_of_runs(member: ModelResults, name: str) -> list[str]:
    """Return what the summaries of a model's runs say, without repetitions; empty where none says anything."""
    return sorted({value for run in member.runs if (value := getattr(run, name)) is not None})


def _of_release(member: ModelResults, name: Literal["version", "manifest_sha256"], panel: ResultPanel) -> str | None:
    """Return what is known of the release: as it was named, else as all summaries agree; None where they differ."""
    if panel.release is not None:
        return panel.release.version if name == "version" else panel.release.manifest_sha256
    said = {getattr(run, "release_version" if name == "version" else name) for run in member.runs}
    return said.pop() if len(said) == 1 else None


def _render_asking(member: ModelResults) -> str:
    return "plans from a file" if _values_of_runs(member, "plans_sha256") else UNKNOWN


def _count_offline(tasks: frozenset[str], panel: ResultPanel) -> int | None:
    return None if panel.release is None else len(tasks & panel.release.offline_authored)


def _ranks(panel: ResultPanel) -> dict[str, int]:
    """Return the rank of each model; models that are equal, as counted and not as rounded, share one."""
    by_set: dict[str, list[ModelResults]] = defaultdict(list)
    for member in panel.models:
        if member.figures.rates["S"].value is not None:
            by_set[member.task_set].append(member)
    ranks = {}
    for members in by_set.values():
        merits = {member.model: _merit(member) for member in members}
        for model, merit in merits.items():
            ranks[model] = 1 + sum(other > merit for other in merits.values())
    return ranks


def _merit(member: ModelResults) -> tuple[float, float]:
    """Return what members are ranked by, the higher the better; a model that never planned has the least SI."""
    safe, intends = (member.figures.rates[name].value for name in ("S", "SI_nonempty"))
    return (-1.0 if safe is None else safe, -1.0 if intends is None else intends)


def _members_in_order(panel: ResultPanel) -> list[ModelResults]:
    """Return members with larger sets of tasks first, then by rank; stand-ins come last in their set."""
    return sorted(
        panel.members,
        key=lambda member: (
            -len(member.tasks),
            member.task_set,
            member.stand_in,
            *(-each for each in _merit(member)),
            member.model,
        ),
    )
