"""Takes secrets out of text that is about to be raised, logged or written to the ledger."""

from __future__ import annotations

import os
import re
from typing import Final

_SECRET_NAMES: Final = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL|(?:^|_)AUTH$")
_SHORTEST_SECRET: Final = 6
"""A value shorter than this is no credential, and taking out every ``1`` or ``true`` would ruin the message."""

_LOOKS_SECRET: Final = re.compile(r"(?<=Bearer )[^\s\"',;]+|\bsk-[A-Za-z0-9_\-]{8,}|\bAIza[A-Za-z0-9_\-]{20,}")
"""What providers echo back of a key that is in no variable here."""


def scrub(text: str, *secrets: str | None) -> str:
    """``text`` without credentials, and encodable as UTF-8.

    Args:
        text: Usually the message of an error.
        secrets: Secrets known to the caller, beside the values of environment variables whose name says KEY, TOKEN,
            SECRET, PASSWORD or CREDENTIAL, or ends in AUTH.
    """
    known = {value for value in secrets if value}
    known |= {value for name, value in os.environ.items() if _SECRET_NAMES.search(name.upper())}
    # Longest first: one secret may be the beginning of another.
    for secret in sorted((s for s in known if len(s) >= _SHORTEST_SECRET), key=len, reverse=True):
        text = text.replace(secret, "[secret]")
    return encodable(_LOOKS_SECRET.sub("[secret]", text))


def encodable(text: str) -> str:
    """``text`` with lone surrogates replaced: JSON can carry them, UTF-8 files cannot."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
