"""docs/formalism.md and docs/data-flow.md have a row per claim, and the reason codes of each check."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from hazardmill.generation.execute import CHECKS

PROJECT = Path(__file__).resolve().parents[2]
RENEW = "python scripts/claim_tables.py renews it"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = spec_from_file_location("claim_tables_of_the_project", PROJECT / "scripts" / "claim_tables.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_on_certificates_has_every_claim(script: ModuleType) -> None:
    page = (PROJECT / "docs" / "formalism.md").read_text()
    assert page == script.renew_claims(page), RENEW


def test_the_page_on_checks_has_every_reason_code(script: ModuleType) -> None:
    page = (PROJECT / "docs" / "data-flow.md").read_text()
    assert page == script.renew_checks(page), RENEW
    assert {check.name for check in CHECKS} <= {name for name, _ in script.CHECK_ROW.findall(page)}


def test_a_reason_code_that_is_missing_is_put_back(script: ModuleType) -> None:
    page = (PROJECT / "docs" / "data-flow.md").read_text()
    damaged = page.replace("`dead_action`, ", "")
    assert damaged != page and script.renew_checks(damaged) == page
