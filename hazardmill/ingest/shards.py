"""Shards: the records of a run divided among several runs, each working on one range of hashes of record ids.

The shard of an id depends only on the id and the number of shards. Therefore the shards of one count are disjoint and
complete whenever and wherever records are ingested, and a new record moves no other record.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Final

from hazardmill.errors import UsageError

MOST: Final = 9_999
"""Maximum number of shards."""

_SHARD: Final = re.compile(r"([1-9][0-9]{0,3})/([1-9][0-9]{0,3})")
_BITS: Final = 64


@dataclass(frozen=True, slots=True)
class Shard:
    """One of several equal ranges of hashes: the ``number``-th of ``count``, from 1."""

    number: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Return the shard that a text names: ``2/8`` is the second of eight.

        Raises:
            UsageError: The text does not have this form.
        """
        found = _SHARD.fullmatch(text)
        number, count = (int(part) for part in found.groups()) if found else (0, 0)
        if not 1 <= number <= count:
            raise UsageError(
                f"{text!r} is not a shard",
                remedy=f"write K/N, such as 2/8 for the second of eight; N is at most {MOST:,}",
            )
        return cls(number, count)

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    def holds(self, record_id: str) -> bool:
        """Whether the record belongs to this shard."""
        digest = hashlib.sha256(record_id.encode()).digest()[: _BITS // 8]
        return int.from_bytes(digest, "big") * self.count >> _BITS == self.number - 1


def holds(shard: str | None, record_id: str) -> bool:
    """Return whether a record belongs to a shard given as text.

    Args:
        shard: Text such as ``2/8``; null if there are no shards, in which case every record belongs.
        record_id: The record.

    Raises:
        UsageError: The text is not a shard.
    """
    return shard is None or Shard.parse(shard).holds(record_id)
