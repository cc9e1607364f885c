"""Building the rows of ``hazard_tasks`` from rows of the store."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from hazardmill.formalism.document.document import Document
from hazardmill.formalism.document.expressions import canonical_json
from hazardmill.formalism.formats.pddl.plan_names import pddl_texts
from hazardmill.release.build.candidates import Candidate
from hazardmill.release.build.configs import HAZARD_TASKS
from hazardmill.release.build.rows_reviews import Votes, reviewed_columns

Row = dict[str, Any]


def hazard_task_row(
    row: Mapping[str, Any], candidate: Candidate, *, group: str, drafts: int, policy: str, votes: Votes | None
) -> Row:
    """Return the row of a hazard task in ``hazard_tasks``.

    Args:
        row: Row of the table ``hazard_tasks``, with ``context``, the seeds that its dialogue was shown.
        candidate: The candidate of the same task.
        group: Its structural group.
        drafts: Number of turns of its dialogue.
        policy: The policy of the review.
        votes: How reviewers voted on it; None under the policy ``none``.

    Raises:
        ValueError: The document is not JSON.
        DocumentError: It is no document.
        NotExpressible: PDDL cannot express it.
    """
    domain, problem = pddl_texts(Document.from_json(json.loads(row["document"])))
    filled = {
        **row,
        "turn": row["draft"],
        "turns": drafts,
        "group": group,
        "domain_pddl": domain,
        "problem_pddl": problem,
        **reviewed_columns(policy, votes),
        "answered_by": canonical_json(sorted(candidate.answered_by)),
    }
    return {column.name: filled[column.name] for column in HAZARD_TASKS.columns}
