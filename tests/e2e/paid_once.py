"""What a provider that outlives runs must have seen of a run that was killed and resumed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from hazardmill.llm.ledger import IN_FLIGHT


def check_paid_once(
    seen: Counter[str],
    before: Counter[str],
    calls: Iterable[Mapping[str, Any]],
    name: Callable[[Mapping[str, Any]], str],
) -> None:
    """No answer that was on the disk is asked for again; of one in flight nobody knows the answer.

    Args:
        seen: How often each request came, in the end.
        before: The same when the run was killed.
        calls: The rows of the ledger when the run was killed.
        name: What the provider calls the request of a row.
    """
    rows = [*calls]
    twice = {request for request, times in seen.items() if times > 1}
    assert not twice & {name(row) for row in rows if row["answered"]}
    assert twice == {name(row) for row in rows if row["error"] == IN_FLIGHT} & before.keys()
