"""Data in files of script: a page reads them from any file host, and from disk, where scripts may not read other files.

A file is one call with a text of base 85, whose digits are neither quotes nor backslashes: whatever the data are, they
stay a text. Base 64 would need a fifteenth more room.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Sequence

CUT = "<!--cut-->"
"""Where templates cut fragments; escaped text cannot have it."""


def pack(name: str, value: object) -> bytes:
    """Return a file of script that hands a value to the page.

    The same value gives the same bytes wherever zlib is the same.

    Args:
        name: The name under which the page waits for it.
        value: Anything that ``json`` can write; strings have no lone surrogates.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    packed = base64.b85encode(zlib.compress(text.encode(), 9)).decode()
    return f'viewer.take({json.dumps(name)},"{packed}");\n'.encode()


def pack_fragments(name: str, fragments: Sequence[str]) -> bytes:
    """Return a file of script with fragments of HTML.

    Parts of fragments that are alike stand beside one another, because deflate finds only what is at most 32 kB away.
    That makes a file a quarter to a third smaller.

    Args:
        name: The name under which the page waits for them.
        fragments: The fragments, each cut into as many parts by ``CUT`` or fewer; the page joins the parts again.
    """
    parts = [fragment.split(CUT) for fragment in fragments]
    columns = range(max(map(len, parts), default=0))
    return pack(name, [[each[column] if column < len(each) else "" for each in parts] for column in columns])
