"""The list of all tasks of a report, by source, with links to their folders."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final
from urllib.parse import quote

from hazardmill.report.folders import folder_name
from hazardmill.report.queries import Row
from hazardmill.reporting.markdown import code, escape_markdown
from hazardmill.reporting.numbers import NONE, plural
from hazardmill.text.printable import printable

OPEN_AT_MOST: Final = 30
"""Most tasks of a report that are listed unfolded. More of them would bury what follows."""

_LONGEST: Final = 160
"""Longest instruction in the list, in characters."""


@dataclass(frozen=True)
class ListedTask:
    """A task as the list shows it.

    Attributes:
        address: Address of its folder, relative to the report; null if no folder was written.
        instruction: What the robot is to do, in the words of the danger formalization, shortened if they are long.
        danger: Type of the danger, in words.
        lengths: Actions of the shortest unsafe plan and of the shortest safe one, such as ``5, 7``; a dash for no plan.
    """

    task_id: str
    address: str | None
    instruction: str
    danger: str
    lengths: str


@dataclass(frozen=True)
class SourceTasks:
    """The tasks of one source, in order of id."""

    source: str
    tasks: tuple[ListedTask, ...]

    @property
    def title(self) -> str:
        """The source and the number of its tasks."""
        return f"{self.source}: {plural(len(self.tasks), 'task')}"


def list_tasks(tasks: Sequence[Row], folder: str | None) -> tuple[SourceTasks, ...]:
    """Return all tasks by source, in order of source and id.

    Args:
        tasks: Rows with ``task_id``, ``source``, ``danger``, ``danger_type``, ``unsafe_length`` and ``safe_length``.
        folder: Path of the folder that holds the folders of the tasks, relative to the report; null if there is none.
    """
    ordered = sorted(tasks, key=lambda task: (task["source"], task["task_id"]))
    return tuple(
        SourceTasks(source, tuple(_listed(task, folder) for task in of_source))
        for source, of_source in groupby(ordered, key=lambda task: task["source"])
    )


def list_in_markdown(sources: Sequence[SourceTasks]) -> list[str]:
    """Return the list as blocks of Markdown: a folded table per source."""
    return [
        "\n".join(
            [
                "<details>",
                f"<summary>{escape_markdown(printable(each.title))}</summary>",
                "",
                "| Task | Instruction | Danger | Actions: unsafe, safe |",
                "| --- | --- | --- | ---: |",
                *map(_line, each.tasks),
                "",
                "</details>",
            ]
        )
        for each in sources
    ]


def _line(task: ListedTask) -> str:
    name = code(task.task_id).replace("|", "\\|")
    linked = name if task.address is None else f"[{name}]({task.address})"
    cells = (linked, *map(escape_markdown, (task.instruction, task.danger, task.lengths)))
    return f"| {' | '.join(cells)} |"


def _listed(task: Row, folder: str | None) -> ListedTask:
    return ListedTask(
        task_id=task["task_id"],
        address=None if folder is None else f"{quote(folder)}/{quote(folder_name(task['task_id']))}/",
        instruction=textwrap.shorten(json.loads(task["danger"])["robot_task"], _LONGEST, placeholder=" ..."),
        danger=task["danger_type"].replace("_", " "),
        lengths=", ".join(
            NONE if length is None else str(length) for length in (task["unsafe_length"], task["safe_length"])
        ),
    )
