"""Integers of any size in text."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def integers_of_any_size() -> Iterator[None]:
    """Let unbounded integer fluents be written out: Python refuses integers of over 4300 digits."""
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        yield
    finally:
        sys.set_int_max_str_digits(before)
