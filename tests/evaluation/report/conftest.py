from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from report.browsing import chromium

from hazardmill.evaluation.report.contents import EvaluationReport, gather
from hazardmill.evaluation.report.load import ReleaseFacts, read
from hazardmill.evaluation.report.model_results import IntervalOptions, ResultPanel, panel_of
from tests.figures_once import _figures_once as _figures_once
from tests.figures_once import drawn_anew as drawn_anew

from .evaluations import SIZES, everything, sizes, written

if TYPE_CHECKING:
    from playwright.sync_api import Browser

PanelOf = Callable[..., ResultPanel]

HOW = IntervalOptions(resamples=200, seed=0, least=20)


@pytest.fixture
def panel_from(tmp_path: Path) -> PanelOf:
    """Rows to the panel of a folder that holds them."""

    def made(rows: Iterable[Mapping[str, Any]], release: ReleaseFacts | None = None, **summary: Any) -> ResultPanel:
        return panel_of(read([written(tmp_path / "rows", rows, **summary)]), [], SIZES, release, HOW)

    return made


@pytest.fixture(scope="package")
def whole(tmp_path_factory: pytest.TempPathFactory) -> EvaluationReport:
    """Something for every figure."""
    folder = tmp_path_factory.mktemp("whole")
    results = everything(folder / "results")
    return gather([results], sizes(folder / "sizes.csv"), None, HOW)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as launched:
        yield launched
