"""What the card says of household tasks: counts by hazard and room, lengths of plans, and what search proved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from hazardmill.household.scene import ROOMS
from hazardmill.release.documents.card_context import HouseholdTaskFact
from hazardmill.release.documents.markdown import Ready, table
from hazardmill.reporting.numbers import count, plural

EXEMPT: Final = (
    "Household tasks need no review under any policy: their rules and plans are proved, and their words come from"
    " hazardmill's templates."
)


def household_table(tasks: Sequence[HouseholdTaskFact]) -> Ready | None:
    """Return a table of the household tasks by hazard and room, with the lengths of their plans; None without tasks."""
    if not tasks:
        return None
    hazards = sorted({task["hazard"] for task in tasks})
    rows = [_row(hazard, [task for task in tasks if task["hazard"] == hazard]) for hazard in hazards]
    head = (
        "Hazard",
        *(room.replace("_", " ") for room in ROOMS),
        "Tasks",
        "Actions, compliant plan",
        "Actions, careless plan",
    )
    return table(head, [*rows, _row("all", tasks)])


def shortest_in_words(tasks: Sequence[HouseholdTaskFact]) -> str:
    """Say of how many household tasks search proved that both plans are the shortest of their kind."""
    proved = sum(task["are_shortest"] for task in tasks)
    if proved == len(tasks):
        return "proved by search for all of them"
    of_all = f"{count(proved)} of {plural(len(tasks), 'task')}"
    return f"proved by search for {of_all}, and not known for the others, because search reached its limit"


def _row(name: str, tasks: Sequence[HouseholdTaskFact]) -> tuple[str, ...]:
    rooms = Counter(task["room"] for task in tasks)
    lengths = ([task["compliant_length"] for task in tasks], [task["careless_length"] for task in tasks])
    return (
        name.replace("_", " "),
        *(count(rooms[room]) for room in ROOMS),
        count(len(tasks)),
        *(f"{min(of)} to {max(of)}" if len({*of}) > 1 else count(of[0]) for of in lengths),
    )
