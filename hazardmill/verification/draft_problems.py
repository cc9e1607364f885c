"""All problems of a draft's code, one by one."""

from __future__ import annotations

from itertools import islice
from typing import Final

from hazardmill.generation.refine import DraftFinding, draft_findings, first_failure
from hazardmill.records import Check
from hazardmill.sandbox import policy

_MOST: Final = 20
"""Most findings of the policy that are listed: a large file that is no task could have one per word."""


def list_problems(code: str, checks: tuple[Check, ...]) -> tuple[DraftFinding, ...]:
    """Return all that the failed checks of a draft found, each with its own line and remedy.

    The check ``policy`` joins its findings to one message, which is stored and sent to a model as it is; here they are
    apart.

    Args:
        code: The code that was checked.
        checks: All of its checks, of which one has failed.
    """
    failed = first_failure(checks)
    findings = policy.inspect(code) if failed.name == "policy" else []
    if len(findings) < 2:
        return tuple(draft_findings(checks))
    listed = [
        DraftFinding(
            failed.name,
            failed.reason,
            f"line {each.line}: {each.message}" if each.line is not None else each.message,
            each.mend,
        )
        for each in islice(findings, _MOST)
    ]
    if len(findings) > _MOST:
        left = len(findings) - _MOST
        more = f"{left:,} more {'place breaks' if left == 1 else 'places break'} the policy"
        listed.append(DraftFinding(failed.name, failed.reason, more, "correct these first, and check the file again"))
    return tuple(listed)
