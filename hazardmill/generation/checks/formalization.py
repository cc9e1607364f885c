"""Checks that a draft names a fact for every part of the cause in its danger formalization.

Whether the danger reads these facts is proved (``formalism.proofs.claims.cause``); whether they mean what the
formalization says is for the judge. This check only counts, so that no part is forgotten.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hazardmill.formalism.document.document import Document
from hazardmill.formalism.proofs.cause_facts import NamedCauses
from hazardmill.records import Check

NAME: Final = "formalization"
REASON: Final = "cause_not_named"
REASONS: Final = {REASON: "The draft names no fact for a part of the cause in its danger formalization."}
"""Reason codes of the check, with their meanings."""


def formalization_check(changing: Sequence[str], fixed: Sequence[str], document: Document) -> Check:
    """Compare the facts that the author names as the cause with the formalization, part by part.

    Args:
        changing: The sentences of the changing cause.
        fixed: The sentences of the fixed circumstances.
        document: The draft's task, with its causes in the order of the sentences.

    Returns:
        A check that fails if fewer facts are named than there are sentences; its details list the missing parts.
    """
    causes = document.causes or NamedCauses()
    left = [("cause", text) for text in changing[len(causes.changing) :]]
    left += [("fixed", text) for text in fixed[len(causes.fixed) :]]
    if not left:
        named = {**causes.to_json()}
        return Check(name=NAME, passed=True, details=named if document.causes is not None else {})
    shown = "; ".join(f"{keyword}: {text}" for keyword, text in left)
    return Check(
        name=NAME,
        passed=False,
        reason=REASON,
        message=f"these parts of the formalization have no fact of the task named for them: {shown}",
        mend="for each part, in the order given, name the fact of the task that stands for it: in cause= what the"
        " way out changes, in fixed= the circumstances that stay; make the danger's condition depend on each of these"
        " facts; if one fact stands for two parts, name it twice",
        details={"unnamed": [{"keyword": keyword, "part": text} for keyword, text in left]},
    )
