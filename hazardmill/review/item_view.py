"""Opens what a slip is about, whatever it is, so that it can be shown and have plans tried on it."""

from __future__ import annotations

from typing import TypeAlias

from hazardmill.review.assignments.gold_items import plant
from hazardmill.review.candidates import AnyContent, HazardTaskContent, ScenarioContent
from hazardmill.review.hazard_task_view import HazardTaskView, ShownHazardTask
from hazardmill.review.scenario_view import ScenarioView, ShownScenario
from hazardmill.review.task_view import ShownTask, TaskView

ItemView: TypeAlias = TaskView | ScenarioView | HazardTaskView
AnyShown: TypeAlias = ShownTask | ShownScenario | ShownHazardTask


def open_item(content: AnyContent, defect: str | None) -> ItemView:
    """Return a view of an item.

    Args:
        content: What is shown of it.
        defect: The defect to plant in it, if it is a task; ``None`` for none.

    Raises:
        DocumentError: It cannot be read.
    """
    if isinstance(content, ScenarioContent):
        return ScenarioView(content)
    if isinstance(content, HazardTaskContent):
        return HazardTaskView(content)
    return TaskView(content if defect is None else plant(content, defect))
