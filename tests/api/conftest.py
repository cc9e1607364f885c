from __future__ import annotations

from tests.shared_jails import _shared_zygotes as _shared_zygotes
