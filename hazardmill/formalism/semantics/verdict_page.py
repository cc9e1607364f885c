"""A verdict as HTML, for notebooks: what it says of the plan, and its steps with the danger that each adds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hazardmill.text.notebook import Html, bar, element, table

if TYPE_CHECKING:
    from hazardmill.formalism.semantics.plan_validator import PlanStep, PlanVerdict


def verdict_html(verdict: PlanVerdict) -> Html:
    """Return a verdict as HTML, with all names of the task escaped."""
    word = "safe" if verdict.safe else "feasible, but not safe" if verdict.feasible else "not feasible"
    danger = "" if verdict.danger is None else f"; danger {verdict.danger}"
    intention = "yes" if verdict.safety_intention else "no"
    parts = [element("p", element("b", word), f"; score {verdict.score}{danger}; safety intention: {intention}")]
    if verdict.trace:
        parts.append(table(("", "step", "changes", "danger", "why"), map(_row, verdict.trace)))
    else:
        parts.append(element("p", "no action was found in the text; write (name argument ...)"))
    if verdict.missing_goal:
        parts.append(element("p", f"at the end the goal lacks: {'; '.join(verdict.missing_goal)}"))
    return element("div", *parts)


def _row(step: PlanStep) -> tuple[str, ...]:
    if not step.applicable:
        return str(step.index), step.text, "not possible", "", "; ".join(step.unmet)
    added = step.danger_increment
    drawn = Html(f"{added} {bar(added, '#b3261e')}") if added else ""
    return str(step.index), step.text, ", ".join(step.changes), drawn, "; ".join(step.fired)
