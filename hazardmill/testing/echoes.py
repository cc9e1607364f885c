"""The forms in which a server can echo a secret: sent by test servers, and searched for in files by tests."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from typing import Final

_BETWEEN: Final = {"blank": " ", "line-break": "\n", "hyphen": "-", "zero-width": "\u200b", "joiner": "\u2060"}
_ALIGNMENTS: Final = ("", "a", "ab")


def echoes(secret: str) -> dict[str, str]:
    """Return a secret in each form, by the name of the form.

    Args:
        secret: In ASCII, as in headers.
    """
    data = secret.encode()
    forms = {
        "plain": secret,
        "upper-case": secret.upper(),
        "lower-case": secret.lower(),
        "swapped-case": secret.swapcase(),
        "reversed": secret[::-1],
        "hex": data.hex(),
        "upper-hex": data.hex().upper(),
        "percent": "".join(f"%{byte:02X}" for byte in data),
        "lower-percent": "".join(f"%{byte:02x}" for byte in data),
        "percent-twice": "".join(f"%25{byte:02X}" for byte in data),
        "percent-some": re.sub("[^A-Za-z]", lambda found: f"%{ord(found[0]):02X}", secret),
        "json-escapes": "".join(f"\\u{byte:04x}" for byte in data),
        "json-escapes-twice": "".join(f"\\\\u{byte:04X}" for byte in data),
        "json-slashes": secret.replace("/", "\\/"),
    }
    for place, before in enumerate(_ALIGNMENTS):
        shifted = before.encode() + data
        forms[f"base64-{place}"] = base64.b64encode(shifted + b"z").decode()
        forms[f"base64url-{place}"] = base64.urlsafe_b64encode(shifted + b"\xff\xfe").decode()
    for name, between in _BETWEEN.items():
        forms[f"{name}-after-each"] = "".join(letter + between for letter in secret)
        forms[f"{name}-after-one"] = secret[: len(secret) // 2] + between + secret[len(secret) // 2 :]
    forms["blank-in-hex"] = data.hex(" ")
    forms["upper-reversed"] = secret.upper()[::-1]
    return forms


def traces(secret: str) -> Iterator[bytes]:
    """Yield the byte strings of which no file may contain any, if the secret is to be in none of its forms.

    Args:
        secret: In ASCII, as in headers.
    """
    for name, form in echoes(secret).items():
        if name.startswith("base64"):
            # The letters at both ends also encode neighbouring bytes.
            form = form[2:-4]
        yield form.encode()
        if (escaped := form.encode("unicode_escape")) != form.encode():
            yield escaped
