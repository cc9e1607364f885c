"""How far the work is: a line now and then."""

from __future__ import annotations

import time

import click

EVERY_S = 3.0
"""Seconds between two lines."""


class Ticker:
    """Says on standard error how far the work is, every few seconds; the first time after as many."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet
        self._last = time.monotonic()

    def tell(self, text: str) -> None:
        """Say it if it is time."""
        if not self._quiet and time.monotonic() - self._last >= EVERY_S:
            self._last = time.monotonic()
            click.echo(text, err=True)
