"""A line of progress now and then."""

from __future__ import annotations

import time

import click

EVERY_S = 3.0
"""Seconds between two lines."""


class Ticker:
    """Prints progress on standard error, at most every few seconds, and not at once."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet
        self._last = time.monotonic()

    def tell(self, text: str) -> None:
        """Print the text if enough time has passed since the last one; otherwise drop it."""
        if not self._quiet and time.monotonic() - self._last >= EVERY_S:
            self._last = time.monotonic()
            click.echo(text, err=True)
