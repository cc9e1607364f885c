"""Commands of hazardmill as people type them."""

from __future__ import annotations

import shlex


def command(*words: object) -> str:
    """Return a ``hazardmill`` command line, quoted for a POSIX shell.

    Args:
        words: What comes after ``hazardmill``; each is converted with ``str``.
    """
    return shlex.join(["hazardmill", *map(str, words)])
