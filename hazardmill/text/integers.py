"""Write and read integers of any size as text."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def integers_of_any_size() -> Iterator[None]:
    """Lift Python's limit of 4300 digits on integers in text while the block runs.

    Integer fluents are unbounded. The limit is a setting of the interpreter, so that it is lifted for all threads.

    Yields:
        Nothing.
    """
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        yield
    finally:
        sys.set_int_max_str_digits(before)
