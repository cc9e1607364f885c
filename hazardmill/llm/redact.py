"""Removes secrets from text that came from outside, before it is raised, logged or stored.

A secret is searched for as it is. If it is long enough to be distinguished from ordinary text, it is also searched for
in the forms in which a server can echo it: in other case, in base64 and base64url at each alignment, in hex,
percent-encoded, as JSON escapes, reversed, with blanks, line breaks, hyphens or zero-width characters in between, and
in combinations of these.

All forms are found in the same way. The text is converted to a normal form, in which escapes are decoded, letters are
lower case, and separators are removed. The secret and its encodings are normalized too, and searched for there. This
takes one pass over the text and one search per encoding, so the cost is linear in the length of the text.
"""

from __future__ import annotations

import base64
import logging
import os
import re
import traceback
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import accumulate, chain
from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit

SCRUBBED: Final = "[secret]"
"""Replaces a secret."""

_SECRET_NAMES: Final = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL|(?:^|_)(?:AUTH|SIG|SIGNATURE)$")
_SHORTEST_SECRET: Final = 6
"""A shorter value is not a credential, and removing every ``1`` or ``true`` would ruin the message."""
_SHORTEST_IN_FORMS: Final = 8
"""Minimum number of letters and digits of a secret that is searched for in other forms: ordinary text contains shorter
ones by chance."""
_SHORTEST_WORD: Final = 16
"""The same minimum for a secret of lower-case letters only, which may be an ordinary word."""

_LOOKS_SECRET: Final = re.compile(
    r"(?<=Bearer )[^\s\"',;]+|\bsk-[A-Za-z0-9_\-]{8,}|\bAIza[A-Za-z0-9_\-]{20,}|\bhf_[A-Za-z0-9]{20,}"
)
"""Patterns of keys that providers and hubs echo, even if the key is in no environment variable here."""

_ESCAPE: Final = re.compile(
    # Percent-encoded UTF-8, one character per match, however often the percent sign itself was encoded.
    r"%(?:25)*(?:[0-7][0-9A-Fa-f]|[C-Fc-f][0-9A-Fa-f](?:%(?:25)*[89ABab][0-9A-Fa-f]){1,3})"
    # JSON in JSON doubles the backslashes.
    r"|\\+(?:u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2}|[nrtbfv/])"
)
_INVISIBLE: Final = (
    "\x00\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u3164\ufeff\uffa0"
    "\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e"
    "\u2060\u2061\u2062\u2063\u2064\u2066\u2067\u2068\u2069\u206a\u206b\u206c\u206d\u206e\u206f"
)
_SEPARATORS: Final = "-+\u2010\u2011\u2012\u2013\u2014\u2015\u2212" + _INVISIBLE
"""Characters left out of the normal form, besides white space. The plus sign is a blank in forms; in base64 it is what
the hyphen is in base64url."""
_LETTERS: Final = rf"[^\s%\\{re.escape(_SEPARATORS)}]+|[%\\]"
_TOKEN: Final = re.compile(rf"(?P<escape>{_ESCAPE.pattern})|(?P<letters>{_LETTERS})")
_HALF_ESCAPE: Final = re.compile(r"(?:%(?:25)*2?[0-9A-Fa-f]?|\\+(?:u[0-9A-Fa-f]{0,3}|x[0-9A-Fa-f]?)?)?\Z")
_CHUNK: Final = re.compile(r"(?s:.){1,65536}[%\\/0-9A-Za-z]*")
"""Never ends within an escape."""


_kept: set[str] = set()


def keep_secret(*secrets: str | None) -> None:
    """Register secrets that are in no environment variable, so that this process removes them from now on.

    Args:
        secrets: The secrets; null and empty ones are ignored.
    """
    _kept.update(filter(None, secrets))


class ScrubbedLog(logging.Filter):
    """Removes secrets from a library's log lines, which may repeat requests and answers.

    Attach it to a logger with ``addFilter``. It passes every line.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Scrub a log line and its traceback; never hold it back."""
        record.msg, record.args = scrub(record.getMessage()), ()
        if record.exc_info:
            record.exc_text = scrub("".join(traceback.format_exception(*record.exc_info))).rstrip()
            record.exc_info = None
        return True


def scrub(text: str, *secrets: str | None) -> str:
    """Return a message without credentials, encodable as UTF-8, for errors and logs.

    Strings that look like a provider's key are removed too, even if they are not known secrets.

    Args:
        text: Usually the message of an error.
        secrets: Secrets known to the caller. Also removed are those registered with ``keep_secret`` and those in the
            environment: the values of variables whose name contains KEY, TOKEN, SECRET, PASSWORD or CREDENTIAL, or ends
            in AUTH, SIG or SIGNATURE, and the secrets in addresses in any variable.
    """
    return _LOOKS_SECRET.sub(SCRUBBED, scrub_answer(text, *secrets))


def scrub_answer(text: str, *secrets: str | None) -> str:
    """Return an answer without known secrets, encodable as UTF-8.

    Unlike ``scrub``, it keeps what only looks like a key, because it may be prose.

    Args:
        text: What a model or a hub said.
        secrets: As in ``scrub``.
    """
    known = {value for value in chain(secrets, _kept, _in_environment()) if value and len(value) >= _SHORTEST_SECRET}
    # Longest first, because one secret may be the beginning of another.
    for secret in sorted(known, key=len, reverse=True):
        text = text.replace(secret, SCRUBBED)
    return encodable(_remove_forms(text, [form for secret in known for form in _forms(secret)]))


def holds_secret(text: str, *secrets: str | None) -> bool:
    """Return whether a text contains a known secret in any form.

    Args:
        text: Any text.
        secrets: As in ``scrub``.
    """
    return scrub_answer(text, *secrets) != encodable(text)


def secrets_in_address(address: str) -> tuple[str, ...]:
    """Return the secret parts of an address: the user's password, or the user if there is none, and keys in the query.

    Args:
        address: A URL. What cannot be parsed as one has no secret parts.
    """
    try:
        parts = urlsplit(address)
        user = parts.password or parts.username
        query = parse_qsl(parts.query)
    except ValueError:
        return ()
    found = [] if user is None else [user, unquote(user)]
    found += [value for name, value in query if _SECRET_NAMES.search(name.upper())]
    return tuple(dict.fromkeys(found))


def encodable(text: str) -> str:
    """Return the text with lone surrogates replaced: JSON can carry them, UTF-8 files cannot."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _in_environment() -> Iterator[str]:
    for variable in os.environ.items():
        yield from _secrets_in_variable(variable)


# Every answer is scrubbed, and the environment hardly ever changes.
@lru_cache(maxsize=1024)
def _secrets_in_variable(variable: tuple[str, str]) -> tuple[str, ...]:
    name, value = variable
    if _SECRET_NAMES.search(name.upper()):
        return (value,)
    return secrets_in_address(value) if "://" in value else ()


@lru_cache(maxsize=256)
def _forms(secret: str) -> tuple[str, ...]:
    """The normal forms of a secret and of its encodings; empty if ordinary text may contain it by chance."""
    plain = _normal(secret)
    letters = sum(map(str.isalnum, plain))
    is_word = plain.isalpha() and secret == secret.lower()
    if letters < (_SHORTEST_WORD if is_word else _SHORTEST_IN_FORMS):
        return ()
    found = [plain]
    for said in (secret, secret.lower(), secret.upper(), secret[::-1]):
        data = said.encode("utf-8", "replace")
        found += [data.hex(), *map(_normal, _base64(data))]
    return tuple(dict.fromkeys([*found, *(form[::-1] for form in found)]))


def _base64(data: bytes) -> Iterator[str]:
    """What base64 makes of some bytes at each alignment, without the letters at the ends that depend on neighbours."""
    for before in range(3):
        text = base64.b64encode(bytes(before) + data).decode()
        # A letter encodes six bits: skip letters that share bits with the padding, and end with our last whole letter.
        yield text[-(-before * 8 // 6) : (before + len(data)) * 8 // 6]


def _normal(text: str) -> str:
    if "%" in text or "\\" in text:
        text = _ESCAPE.sub(lambda found: _unescape(found[0]), text)
    text = "".join(text.split())
    for separator in _SEPARATORS:
        text = text.replace(separator, "")
    return _fold(text)


def _fold(text: str) -> str:
    # The dotted capital I is the one letter whose lower case is two characters; base64url writes _ for /.
    return text.replace("\u0130", "i").lower().replace("_", "/")


@lru_cache(maxsize=4096)
def _unescape(escape: str) -> str:
    """Return the character that an escape stands for."""
    if escape[0] == "%":
        return bytes.fromhex(re.sub("%(?:25)*(?=[0-9A-Fa-f]{2})", "", escape)).decode("utf-8", "replace")
    letters = escape.lstrip("\\")
    return letters if letters == "/" else " " if len(letters) == 1 else chr(int(letters[1:], 16))


def _remove_forms(text: str, forms: Iterable[str]) -> str:
    """Replace every part of a text whose normal form is among the given ones."""
    # An answer may be cut off in the middle of a secret, or even of an escape.
    whole = _NormalForm(_HALF_ESCAPE.sub("", text, count=1))
    found = [whole.origin(place, len(form)) for form in forms for place in _places(form, whole.text)]
    for form in forms:
        if (begun := _find_cut_off(form, whole.text)) is not None:
            found.append((whole.origin(begun, 1)[0], len(text)))
    found.sort()
    kept, end = [], 0
    for begin, stop in found:
        if begin >= end:
            kept += [text[end:begin], SCRUBBED]
        end = max(end, stop)
    return "".join([*kept, text[end:]])


def _places(form: str, text: str) -> Iterator[int]:
    place = text.find(form)
    while place >= 0:
        yield place
        place = text.find(form, place + len(form))


def _find_cut_off(form: str, text: str) -> int | None:
    """Position where a text ends with the beginning of a form; null if too little of it is there."""
    begin = max(len(text) - len(form) + 1, 0)
    while (begin := text.find(form[:_SHORTEST_IN_FORMS], begin)) >= 0:
        if form.startswith(text[begin:]):
            return begin
        begin += 1
    return None


class _NormalForm:
    """The normal form of a text, which can map each of its letters back to its place in the text.

    It is made chunk by chunk. The mapping is computed only for the chunks that are asked about, because nearly all
    texts hold no secret.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._chunks = [chunk.span() for chunk in _CHUNK.finditer(text)]
        normal = [_normal(text[begin:end]) for begin, end in self._chunks]
        self.text = "".join(normal)
        self._starts = list(accumulate(map(len, normal), initial=0))
        self._pieces: dict[int, tuple[list[int], list[tuple[int, int, bool]]]] = {}

    def origin(self, place: int, length: int) -> tuple[int, int]:
        """Return the start and end in the text of some letters of the normal form."""
        begin, _ = self._letter(place)
        _, end = self._letter(place + length - 1)
        return begin, end

    def _letter(self, place: int) -> tuple[int, int]:
        chunk = bisect_right(self._starts, place) - 1
        if chunk not in self._pieces:
            self._pieces[chunk] = self._split_chunk(*self._chunks[chunk])
        starts, origins = self._pieces[chunk]
        place -= self._starts[chunk]
        piece = bisect_right(starts, place) - 1
        begin, end, is_escape = origins[piece]
        if is_escape:
            return begin, end
        begin += place - starts[piece]
        return begin, begin + 1

    def _split_chunk(self, begin: int, end: int) -> tuple[list[int], list[tuple[int, int, bool]]]:
        """Split a chunk into pieces.

        Returns:
            The start of each piece in the chunk's normal form; its span in the text, and whether it is an escape.
        """
        starts, origins, place = [], [], 0
        for token in _TOKEN.finditer(self._text, begin, end):
            is_escape = token["escape"] is not None
            length = len(_normal(_unescape(token[0]))) if is_escape else len(token[0])
            if length:
                starts.append(place)
                origins.append((*token.span(), is_escape))
                place += length
        return starts, origins
