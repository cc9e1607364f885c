"""Names of runs."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime


def new_run_id(kind: str) -> str:
    """Return a new run id such as ``generate-20260131-235959-1a2b3c``.

    Ids of one kind sort by their time (UTC) and never repeat.

    Args:
        kind: First part of the id, such as ``generate``.
    """
    return f"{kind}-{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"
