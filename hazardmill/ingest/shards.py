"""Shards: the records of a run divided among several runs, each of which works on one range of hashes of record ids.

Where an id falls depends on nothing but the id and the number of shards. So shards of one number are disjoint and
complete whatever is ingested when, on every machine, and a record that comes later moves no other one.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Final

from hazardmill.errors import UsageError

MOST: Final = 9_999
"""Shards that records can be divided into."""

_SHARD: Final = re.compile(r"([1-9][0-9]{0,3})/([1-9][0-9]{0,3})")
_BITS: Final = 64


@dataclass(frozen=True, slots=True)
class Shard:
    """One of several ranges of hashes, all of one size: the ``number``-th of ``count``, from 1."""

    number: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Read ``2/8``: the second of eight.

        Raises:
            UsageError: It is nothing of the kind.
        """
        found = _SHARD.fullmatch(text)
        number, count = (int(part) for part in found.groups()) if found else (0, 0)
        if not 1 <= number <= count:
            raise UsageError(
                f"{text!r} is no shard",
                remedy=f"write K/N, such as 2/8 for the second of eight; N is at most {MOST:,}",
            )
        return cls(number, count)

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    def holds(self, record_id: str) -> bool:
        """Whether the record is of this shard."""
        digest = hashlib.sha256(record_id.encode()).digest()[: _BITS // 8]
        return int.from_bytes(digest, "big") * self.count >> _BITS == self.number - 1


def holds(shard: str | None, record_id: str) -> bool:
    """Whether a record is of a shard as it is written; where there are no shards, every record is."""
    return shard is None or Shard.parse(shard).holds(record_id)
