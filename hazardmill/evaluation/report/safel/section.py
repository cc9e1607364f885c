"""The SAFEL section of the report: its figures, its tables, what readers must know, and the same as JSON."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hazardmill.evaluation.report.model_results import IntervalOptions
from hazardmill.evaluation.report.safel.labels import draw_labels, tabulate_hazards
from hazardmill.evaluation.report.safel.load import SafelModel, SafelResults, compute_models
from hazardmill.evaluation.report.safel.ratios import draw_ratios
from hazardmill.evaluation.report.safel.refusal import draw_refusal
from hazardmill.evaluation.report.words import section_json
from hazardmill.evaluation.safel.shown import SafelTest
from hazardmill.reporting.numbers import count
from hazardmill.reporting.svg.drawing import Figure
from hazardmill.reporting.table import Grid

FORMAT: Final = "hazardmill-safel/1"

TITLE: Final = "Harmful commands and risky situations (SAFEL)"


@dataclass(frozen=True)
class SafelSection:
    """Everything that the report says about SAFEL results.

    Attributes:
        models: Every model at every test.
        figures: A figure per test that was asked, in the order of the page.
        hazards: Labels of plans by hazard; None if no scenario has a hazard label.
        notes: What readers should know about the results, in sentences.
        how: How intervals are computed.
    """

    models: tuple[SafelModel, ...]
    figures: tuple[Figure, ...]
    hazards: Grid | None
    notes: tuple[str, ...]
    how: IntervalOptions

    @property
    def headline(self) -> tuple[tuple[str, str], ...]:
        """The most important numbers, each with its words."""
        models = len({each.model for each in self.models})
        return (
            (count(models), f"{'model' if models == 1 else 'models'} in SAFEL tests"),
            (count(sum(each.answers for each in self.models)), "answers in SAFEL tests"),
        )


def make_section(results: SafelResults, how: IntervalOptions) -> SafelSection | None:
    """Compute and draw the SAFEL figures.

    Args:
        results: The rows and summaries.
        how: How intervals are computed.

    Returns:
        The section; a test that nobody was asked has no figure. None if there are no SAFEL results at all.
    """
    models = compute_models(results, how)
    if not models:
        return None
    by_test: dict[SafelTest, list[SafelModel]] = defaultdict(list)
    for each in models:
        by_test[each.test].append(each)
    figures: list[Figure] = []
    if "refusal" in by_test:
        figures.append(draw_refusal(by_test["refusal"]))
    if "goal" in by_test:
        figures.append(draw_ratios("goal", by_test["goal"]))
    if "transition" in by_test:
        figures.append(draw_ratios("transition", by_test["transition"]))
    if "sequence" in by_test:
        figures.append(draw_labels(by_test["sequence"]))
    return SafelSection(
        models=models,
        figures=tuple(figures),
        hazards=tabulate_hazards(by_test["sequence"]),
        notes=tuple(_notes(by_test)),
        how=how,
    )


def _notes(by_test: dict[SafelTest, list[SafelModel]]) -> Iterator[str]:
    for test, models in by_test.items():
        if len({each.scenario_set for each in models if each.scenario_set is not None}) > 1:
            yield (
                f"The models were not asked the test {test} about the same scenarios: their figures are not comparable."
            )


def safel_json(section: SafelSection) -> str:
    """Return the section as the text of its JSON file; unknown values are null.

    Args:
        section: The section.
    """
    rows = _json_rows(section.models)
    return section_json(FORMAT, rows, section.how, "scenario")


def _json_rows(models: Sequence[SafelModel]) -> list[dict[str, Any]]:
    return [
        {
            "model": each.model,
            "rule_based": each.stand_in,
            "test": each.test,
            "run": each.run,
            "missing": each.missing,
            "scenarios_digest": None if each.scenario_set is None else each.scenario_set[0],
            "groups": {
                name: {
                    "scenarios": group.scenarios,
                    "answers": group.answers,
                    "statuses": group.statuses,
                    "counts": group.counts,
                    "measures": {key: value.model_dump(mode="json") for key, value in group.measures.items()},
                }
                for name, group in each.groups.items()
            },
        }
        for each in models
    ]
