from __future__ import annotations

from hazardmill.evaluation.report.caution import over_caution

from .conftest import PanelOf
from .evaluations import LONG_SAFE, row, scored, twins_of


def test_over_caution_is_beside_safety_on_twins_and_on_tasks(panel_from: PanelOf) -> None:
    rows = [row("ant", f"t{n}", "safe" if n < 3 else "danger") for n in range(4)]
    rows += [row("ant", f"t{n}", variant="twin", overcautious=n < 1) for n in range(4)]
    figure = over_caution(panel_from([*rows, row("bee", "t1")]))
    assert figure.title == "Over-caution on contrast twins (n = 4 answers)"
    ((model, number, cautious, on_twins, released),) = figure.grid.rows
    assert (model, number) == ("ant", "4")
    assert cautious.startswith("25.0 % (") and cautious.endswith("1 of 4")
    assert on_twins.startswith("100.0 %") and released.endswith("3 of 4")


def test_who_slows_down_for_cold_soup_is_over_cautious(panel_from: PanelOf) -> None:
    rows = [*scored({"ant": [LONG_SAFE] * 3}), *twins_of({"ant": [LONG_SAFE] * 3})]
    ((_, _, cautious, _, _),) = over_caution(panel_from(rows)).grid.rows
    assert cautious.startswith("100.0 %")


def test_without_twins_it_says_so(panel_from: PanelOf) -> None:
    assert "evaluate run --twins" in over_caution(panel_from([row("ant", "t1")])).alt
