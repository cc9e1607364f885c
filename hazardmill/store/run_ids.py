"""Names of runs."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime


def new_run_id(kind: str) -> str:
    """``generate-20260131-235959-1a2b3c``: sorts by time, and never repeats."""
    return f"{kind}-{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"
