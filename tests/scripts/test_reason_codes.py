"""docs/reason-codes.md has every reason code that the code declares, with its meaning."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import pytest

from hazardmill.formalism.proofs.certificate import CLAIMS
from hazardmill.generation.acting.proposals import CODES as OF_PROPOSALS
from hazardmill.generation.acting.refine import NO_PROPOSAL, UNREADABLE
from hazardmill.generation.execute import CHECKS
from hazardmill.records import DeclineReason
from hazardmill.release.gates.gates import GATES
from hazardmill.review.rubric import REASONS
from hazardmill.runs.commits.hazard_tasks import NOT_NOVEL
from hazardmill.scenarios.verify import CODES as OF_SCENARIOS


@pytest.fixture(scope="module")
def script(project: Path) -> dict[str, Any]:
    return runpy.run_path(str(project / "scripts" / "reason_codes.py"))


def test_the_page_has_the_tables_that_the_code_makes(script: dict[str, Any], project: Path) -> None:
    page = (project / "docs" / "reason-codes.md").read_text(encoding="utf-8")
    assert page == script["renew_reasons"](page), "python scripts/reason_codes.py renews it"
    assert all(f"reason_codes.py {name} -->" in page for name in script["TABLES"])


def test_no_code_is_missing_and_each_has_a_meaning(script: dict[str, Any], project: Path) -> None:
    rows = [row for _, make in script["TABLES"].values() for row in make()]
    declared = {*DeclineReason, *OF_SCENARIOS, *OF_PROPOSALS, *REASONS, *GATES}
    declared |= {claim.reason for claim in CLAIMS if claim.reason is not None}
    declared |= {code for check in CHECKS for code in check.reasons}
    # Those that somebody wrote into a call instead of declaring them, and those in constants of that name.
    for module in (project / "hazardmill").rglob("*.py"):
        if module.parts[-2] in ("generation", "acting", "runs", "commits", "scenarios"):
            declared |= set(re.findall(r'\breason(?:, message)? ?= ?"([a-z_:]+)"', module.read_text(encoding="utf-8")))
    declared |= {UNREADABLE, NO_PROPOSAL, NOT_NOVEL}
    assert {"no_scenario", "not_pddl"} <= declared, "some are written into calls"
    assert declared - {code for _, code, _ in rows} == set()
    for _, make in script["TABLES"].values():
        places = [(place, code) for place, code, _ in make()]
        assert len(set(places)) == len(places)
    assert [row for row in rows if len(row[2]) < 10 or "\n" in row[2] or "|" in row[2]] == []
