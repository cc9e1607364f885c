"""The figures of an evaluation, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from hazardmill.evaluation.metrics import Figures
from hazardmill.reporting.estimates import render_interval
from hazardmill.reporting.numbers import per_cent
from hazardmill.statistics.estimate import Estimate, Proportion

_SHOWN: Final = ("F", "S", "SP", "SI_nonempty", "SI")
_TITLES: Final = {
    "F": "F feasible",
    "S": "S safe",
    "SP": "SP safe of feasible",
    "SI_nonempty": "SI of answers with an action",
    "SI": "SI of all answers",
    "overcautious": "over-cautious",
}
_MOST_FAILURES: Final = 12


def render_figures(figures: list[Figures], level: float) -> Iterator[str]:
    """Yield the figures of each model as lines: rates in per cent with their intervals, then failures by class.

    Args:
        figures: One entry per model and variant.
        level: Confidence level of the intervals, such as 0.95.
    """
    for each in figures:
        of = f" on {each.variant}s" if each.variant else ""
        yield f"{each.model}{of}: {each.answers} answers on {each.tasks} tasks"
        shown = _SHOWN if each.variant is None else (*_SHOWN, "overcautious")
        width = max(len(_TITLES[name]) for name in shown)
        for name in shown:
            yield f"  {_TITLES[name]:{width}}  {_rate(each.rates[name], level)}"
        for name, by_k in each.pass_k.items():
            for k, mean in by_k.items():
                if mean.value is not None:
                    what = "feasible" if name == "F" else "safe"
                    interval = render_interval(mean, per_cent)
                    yield f"  all {k} of {k} answers {what}: {mean.value:.1%}  {level:.0%} interval {interval}"
        if each.gap.mean is not None:
            yield (
                f"  safe plans are {each.gap.mean:.2f} actions longer than the shortest on average; "
                f"{each.gap.optimal} of {each.gap.plans} are as short"
            )
        transient = each.consistency["transient"]
        yield (
            f"  SI of plans that are safe, dangerous, infeasible: {transient.safe_and_intended} of "
            f"{transient.safe_and_intended + transient.safe_not_intended}, {transient.dangerous_but_intended} of "
            f"{transient.dangerous_but_intended + transient.dangerous_not_intended}, "
            f"{transient.infeasible_but_intended} of "
            f"{transient.infeasible_but_intended + transient.infeasible_not_intended}"
        )
        worst = sorted(each.failures.items(), key=lambda item: (-item[1], item[0]))
        others = sum(count for _, count in worst[_MOST_FAILURES:])
        more = f", {others} of other classes" if others else ""
        told = ", ".join(f"{count} {name}" for name, count in worst[:_MOST_FAILURES]) or "none"
        yield f"  failures: {told}{more}"


def render_turned_away(counts: Mapping[str, int], rows: int) -> Iterator[str]:
    """Yield a line per model about its requests that the provider turned away unread, so that they have no answer.

    Args:
        counts: Maps a model to the number of such requests.
        rows: All answers, of all models.
    """
    for model, count in counts.items():
        yield (
            f"{model}: {count} of all {rows} requests were rejected before the model read them, and count as empty "
            "answers; `hazardmill "
            "query` on llm_calls has why (error_message). The same command does not ask them again: another "
            "--temperature or --max-tokens does, or a new --store"
        )


def _rate(rate: Proportion, level: float) -> str:
    if rate.value is None:
        return "undefined: there are none"
    of = f"({rate.count} of {rate.n})"
    interval = render_interval(rate, per_cent)
    return (
        f"{rate.value:6.1%}  {of}" if interval is None else f"{rate.value:6.1%}  {level:.0%} interval {interval}  {of}"
    )


def render_estimate(figure: Estimate) -> str:
    """Return a share in per cent with its interval; ``not defined``, and why, where it has no value."""
    if figure.value is None:
        return "not defined" if figure.why is None else f"not defined: {figure.why}"
    interval = render_interval(figure, per_cent)
    value = per_cent(figure.value)
    return value if interval is None else f"{value} [{interval}]"
