"""What the files of script of an exported view hold."""

from __future__ import annotations

import base64
import json
import re
import zlib
from pathlib import Path
from typing import Any


def unpack(script: bytes | Path) -> tuple[str, Any]:
    """The name and the value in a file of script."""
    text = (script.read_bytes() if isinstance(script, Path) else script).decode()
    call = re.fullmatch(r'viewer\.take\((".*"),"([^"\\\n]*)"\);\n', text)
    assert call, text[:200]
    return json.loads(call[1]), json.loads(zlib.decompress(base64.b85decode(call[2])))
