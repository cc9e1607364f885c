"""How long a test waits for what comes at once on an idle machine.

A wait says nothing of the code, so it ends with the test: by pytest's own timeout, which ``--timeout`` or
``PYTEST_TIMEOUT`` raises for a busy machine. ``PATIENCE_S`` is for what wants a number.
"""

from __future__ import annotations

import os
from typing import Final

_DAY_S: Final = 86_400.0

# The fixtures write it, so that the modules and processes of a run read one number. 0 is no timeout.
PATIENCE_S: Final = float(os.environ.get("PYTEST_TIMEOUT", "120")) or _DAY_S

SHORT_S: Final = PATIENCE_S / 15
"""Enough for a process to start; what is meant to end by its time has no more."""
