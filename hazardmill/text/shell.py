"""Commands of hazardmill as a person types them."""

from __future__ import annotations

import shlex


def command(*words: object) -> str:
    """A command of ours as it is to be typed."""
    return shlex.join(["hazardmill", *map(str, words)])
