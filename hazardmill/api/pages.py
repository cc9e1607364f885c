"""A task and a run as HTML, for notebooks. All text of records and models is escaped."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from hazardmill.formalism.formats.infix_writer import effect_in_words, in_words, write_call, write_declaration
from hazardmill.text.notebook import Html, bar, element, table

if TYPE_CHECKING:
    from hazardmill.api.run import GenerationRun, RunUpdate
    from hazardmill.api.task import Task
    from hazardmill.formalism.document.document import ActionDecl, Document

_MOST: Final = 40
"""Rows shown of a list."""
_LONGEST_BAR: Final = 20


def task_html(task: Task) -> Html:
    """Return what a task declares: start, goal, actions, and when an action is dangerous."""
    document = task.document
    title = document.texts.get("title", "")
    start = [
        write_call(*atom) if value is True else f"{write_call(*atom)} = {value}" for atom, value in document.initial
    ]
    facts = [
        ("objects", ", ".join(f"{thing.name}: {thing.type}" for thing in document.objects[:_MOST])),
        ("at the start", ", ".join(start[:_MOST]) + _more(len(start))),
        ("goal", in_words(document.goal)),
    ]
    actions = document.actions[:_MOST]
    return element(
        "div",
        element("p", element("b", task.name), f": {title}" if title else ""),
        table((), facts),
        table(("action", "needs", "does", "danger"), [_action_row(document, action) for action in actions]),
        element("p", _more(len(document.actions)).strip()),
    )


def _action_row(document: Document, action: ActionDecl) -> tuple[str, ...]:
    dangers = [
        f"{entry.increment:+} if {in_words(entry.condition)}" + (f" ({entry.danger_type})" if entry.danger_type else "")
        for entry in document.dangers
        if entry.action == action.name
    ]
    return (
        write_declaration(action.name, [(parameter.name, parameter.type) for parameter in action.parameters]),
        "" if action.precondition is True else in_words(action.precondition),
        "; ".join(map(effect_in_words, action.effects)),
        "; ".join(dangers),
    )


def _more(count: int) -> str:
    return f", and {count - _MOST} more" if count > _MOST else ""


def run_html(run: GenerationRun) -> Html:
    """Return how a run ended: its records by outcome, and its number of tasks."""
    told = element("p", f"{run.error}") if run.error is not None else Html()
    return element("div", _head(run.run_id, run.state), _outcomes(run.outcomes), told)


def update_html(update: RunUpdate) -> Html:
    """Return how far a run is."""
    words = f"{update.done:.0f} of {update.total} records" + (f", {update.spent}" if update.spent else "")
    share = update.done / update.total if update.total else 1.0
    drawn = element("p", bar(_LONGEST_BAR * share, "#1a73e8"), f" {words}")
    return element("div", _head(update.run_id, "running"), drawn, _outcomes(update.outcomes))


def _head(run_id: str, state: str) -> Html:
    return element("p", "run ", element("b", run_id), f": {state}")


def _outcomes(outcomes: Mapping[str, int]) -> Html:
    rows, total = {name: count for name, count in outcomes.items() if count}, sum(outcomes.values())
    return table((), [(name, str(count), bar(_LONGEST_BAR * count / total, "#5f6368")) for name, count in rows.items()])


class NotebookProgress:
    """Shows the progress of a run below the cell of a notebook, and renews it in place.

    Args:
        display: ``IPython.display.display``.
    """

    def __init__(self, display: Any) -> None:  # noqa: ANN401  # IPython is not a dependency
        self._display = display
        self._shown: Any = None

    @classmethod
    def here(cls) -> NotebookProgress | None:
        """Return one for the notebook that this code runs in; None where there is none."""
        # A notebook has imported IPython long before; nothing else has to.
        ipython = sys.modules.get("IPython")
        shell = None if ipython is None else ipython.get_ipython()
        return None if getattr(shell, "kernel", None) is None else cls(sys.modules["IPython"].display.display)

    def __call__(self, update: RunUpdate) -> None:
        """Show an update."""
        shown = _Shown(update)
        if self._shown is None:
            self._shown = self._display(shown, display_id=True)
        else:
            self._shown.update(shown)


class _Shown:
    def __init__(self, update: RunUpdate) -> None:
        self._update = update

    def __repr__(self) -> str:
        return f"run {self._update.run_id}: {self._update.done:.0f} of {self._update.total} records"

    def _repr_html_(self) -> str:
        return update_html(self._update)
