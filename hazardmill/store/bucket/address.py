"""Where a store lies: in a folder, or in a bucket that this machine has a working folder for.

``s3://bucket/prefix`` names a store in a bucket. A path keeps no two slashes, so that a setting or option of a path
holds ``s3:/bucket/prefix``: it means the same. The working folder carries a marker that tells its bucket; whoever opens
the working folder opens the store in the bucket.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from hazardmill.errors import StoreError

CACHE_VARIABLE: Final = "HAZARDMILL_CACHE"
"""Environment variable: the folder in which working folders of stores in buckets are made."""

MARKER: Final = "bucket.json"
"""File in a working folder that tells its bucket."""

_BUCKET: Final = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_PREFIX: Final = re.compile(r"[A-Za-z0-9!_.*'()/=@+-]*")
_OTHERS: Final = re.compile(r"(s3a|s3n|gs|gcs|az|abfss?|hdfs|https?):/", re.IGNORECASE)


@dataclass(frozen=True)
class Address:
    """A bucket and the prefix below which a store has all its objects."""

    bucket: str
    prefix: str
    """Without slashes at its ends; empty for the whole bucket."""

    def __str__(self) -> str:
        return f"s3://{self.bucket}/{self.prefix}".rstrip("/")

    def key(self, name: str) -> str:
        """The key of an object of the store."""
        return f"{self.prefix}/{name}" if self.prefix else name

    def uri(self, name: str) -> str:
        """An object of the store, for people."""
        return f"{self}/{name}"


def bucket_address(place: Path | str) -> Address | None:
    """The address that ``place`` is; none if it is a folder that is not the working folder of one.

    Raises:
        StoreError: If it is an address that cannot be one of a store.
    """
    text = str(place)
    if _OTHERS.match(text):
        raise StoreError("this is no address of a store", remedy="name a folder, or a bucket: s3://bucket/prefix")
    if text.startswith("s3:/"):
        return _parse(text.removeprefix("s3:").lstrip("/"))
    return marked_address(Path(place))


def _parse(text: str) -> Address:
    bucket, _, prefix = text.partition("/")
    names = prefix.strip("/").split("/") if prefix.strip("/") else []
    if not _BUCKET.fullmatch(bucket) or "?" in text or ":" in text:
        # Not shown: what somebody puts before a @ or behind a ? can be a key.
        raise StoreError(
            "the address of a store in a bucket does not name one",
            remedy="write s3://bucket/prefix; keys and endpoint belong in the environment (AWS_ACCESS_KEY_ID, "
            "AWS_SECRET_ACCESS_KEY, AWS_ENDPOINT_URL)",
        )
    if not _PREFIX.fullmatch(prefix) or any(name in ("", ".", "..") for name in names):
        raise StoreError(
            "the prefix of a store in a bucket has characters that cannot be in the name of a folder",
            remedy="use letters, digits and -_.=+@!*'(), and single slashes between",
        )
    return Address(bucket, "/".join(names))


def marked_address(folder: Path) -> Address | None:
    """The bucket whose working folder this is; none if it is any other folder, or none."""
    try:
        text = (folder / MARKER).read_text()
    except OSError:
        return None
    try:
        return _parse(json.loads(text)["address"].removeprefix("s3://"))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoreError(
            "the file does not say which bucket this is the working folder of",
            file=str(folder / MARKER),
            remedy="open the store by its address, s3://bucket/prefix, with this folder out of the way",
        ) from error


def working_folder(address: Address) -> Path:
    """Where this machine has the journal of a store in a bucket, and copies of its parts and manifests."""
    readable = re.sub(r"[^A-Za-z0-9._-]+", "-", f"{address.bucket}-{address.prefix}").strip("-")[:60]
    unique = hashlib.sha256(str(address).encode()).hexdigest()[:12]
    return _cache() / "stores" / f"{readable}-{unique}"


def _cache() -> Path:
    named = os.environ.get(CACHE_VARIABLE)
    if named:
        return Path(named).absolute()
    # No folder of caches: those are emptied, and a journal holds what was paid for.
    state = os.environ.get("XDG_STATE_HOME")
    return (Path(state) if state else Path.home() / ".local" / "state") / "hazardmill"


@lru_cache(maxsize=64)  # asked for with each file that is checked
def display_name(store: Path) -> str:
    """What to call a store by its folder: that, or the address of the bucket it is the working folder of."""
    try:
        return str(marked_address(store) or store)
    except StoreError:
        return str(store)
