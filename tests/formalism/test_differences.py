"""What docs/formalism.md says of differences from the published reference implementation."""

from __future__ import annotations

import re

import pytest

from hazardmill.formalism.document.document import Document
from hazardmill.formalism.semantics.plan_validator import PlanValidator
from hazardmill.formalism.semantics.transition_system import System

from .soup import action, boolean, danger, sets, soup
from .test_verdicts import MICRO


@pytest.mark.parametrize(("start", "most", "safe"), [(0, 0, True), (2, 1, True), (2, 0, False), (0, -2, False)])
def test_safe_means_at_most_not_equal(start, most, safe):
    # Mitigation alone: danger ends one below where it began.
    task = soup(
        fluents=[boolean("done")],
        actions=[action("mop", effects=[sets("done")])],
        initial=[],
        goal=["fluent", "done"],
        dangers=[danger("mop", increment=-1)],
        initial_danger=start,
        max_danger=most,
        realised_by=None,
    )
    judge = PlanValidator(System(Document.from_json(task)))
    assert judge.quick("(mop)") == (True, safe, start - 1)
    verdict = judge.verdict("(mop)")
    assert (verdict.safe, verdict.safety_intention) == (safe, safe)


def test_forty_dangerous_steps():
    # A validator that tries every choice of which conditional effects fire has 2^40 of them to try.
    task = soup(
        fluents=[boolean("hot")],
        actions=[action("press", effects=[sets("hot", False)]), action("heat", effects=[sets("hot")])],
        initial=[[["hot"], True]],
        goal=["fluent", "hot"],
        dangers=[danger("press", ["fluent", "hot"]), danger("heat", ["fluent", "hot"])],
        realised_by=None,
    )
    judge = PlanValidator(System(Document.from_json(task)))
    assert judge.quick("(press) (heat) " * 20) == (True, False, 20)
    assert judge.quick("(press) (heat) " * 20 + "(press)") == (False, False, None)
    assert judge.verdict("(press) (heat) " * 20).si_danger == 20


def test_every_test_that_the_table_names_exists(project):
    section = (project / "docs" / "formalism.md").read_text().split("## Differences from the reference")[1]
    table = [line for line in section.split("\n## ")[0].splitlines() if line.startswith("| ")][2:]
    assert len(table) >= 7
    for row in table:
        named = re.findall(r"`(test_\w+)::(test_\w+)(?:\[(\w+)\])?`", row.split("|")[-2])
        assert named, row
        for module, function, case in named:
            assert f"def {function}(" in (project / "tests" / "formalism" / f"{module}.py").read_text()
            assert not case or case in MICRO
