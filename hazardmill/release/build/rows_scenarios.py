"""Building the rows of ``scenarios`` from rows of the store."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from hazardmill.errors import DocumentError
from hazardmill.formalism.document.expressions import canonical_json
from hazardmill.formalism.formats.pddl.plan_names import pddl_texts
from hazardmill.release.build.candidates import Candidate
from hazardmill.release.build.configs import SCENARIOS
from hazardmill.release.build.rows_reviews import Votes, reviewed_columns
from hazardmill.scenarios.scenario import Scenario

Row = dict[str, Any]


def scenario_row(
    row: Mapping[str, Any], candidate: Candidate, *, group: str, drafts: int, policy: str, votes: Votes | None
) -> Row:
    """Return the row of a scenario in ``scenarios``.

    Args:
        row: Row of the table ``scenarios``, with ``context``, the text of its record.
        candidate: The candidate of the same scenario.
        group: Its structural group.
        drafts: Number of drafts that its record took.
        policy: The policy of the review.
        votes: How reviewers voted on it; None under the policy ``none``.

    Raises:
        ValueError: The scenario is not JSON.
        DocumentError: It is no scenario, or says nothing about its risk.
        NotExpressible: PDDL cannot express it.
    """
    scenario = Scenario.from_json(json.loads(row["scenario"]))
    if scenario.risk is None:
        raise DocumentError(f"the scenario {row['scenario_id']} says nothing about its risk")
    domain, problem = pddl_texts(scenario.document)
    filled = {
        **row,
        "risk": canonical_json(scenario.risk.to_json()),
        "group": group,
        "domain_pddl": domain,
        "problem_pddl": problem,
        "drafts": drafts,
        **reviewed_columns(policy, votes),
        "answered_by": canonical_json(sorted(candidate.answered_by)),
    }
    return {column.name: filled[column.name] for column in SCENARIOS.columns}
