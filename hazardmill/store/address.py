"""Addresses of stores: a folder, or a bucket for which this machine has a working folder.

``s3://bucket/prefix`` is the address of a store in a bucket. Paths collapse double slashes, so a setting or option of
type path holds ``s3:/bucket/prefix``, which means the same. The working folder contains a marker that names its bucket;
opening the working folder opens the store in the bucket.
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
"""Environment variable that names the folder for the working folders of stores in buckets."""

MARKER: Final = "bucket.json"
"""File in a working folder that names its bucket."""

_BUCKET: Final = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_PREFIX: Final = re.compile(r"[A-Za-z0-9!_.*'()/=@+-]*")
_OTHERS: Final = re.compile(r"(s3a|s3n|gs|gcs|az|abfss?|hdfs|https?):/", re.IGNORECASE)


@dataclass(frozen=True)
class Address:
    """A bucket and the prefix of all objects of a store."""

    bucket: str
    prefix: str
    """Without slashes at either end; empty for the whole bucket."""

    def __str__(self) -> str:
        return f"s3://{self.bucket}/{self.prefix}".rstrip("/")

    def key(self, name: str) -> str:
        """Return the key of one of the store's objects."""
        return f"{self.prefix}/{name}" if self.prefix else name

    def uri(self, name: str) -> str:
        """Return the address of one of the store's objects, for messages."""
        return f"{self}/{name}"


def bucket_address(place: Path | str) -> Address | None:
    """Return the address of a store in a bucket, given the address or its working folder.

    Args:
        place: An address or a folder.

    Returns:
        The address; null for any other folder.

    Raises:
        StoreError: It is an address, but not a valid one of a store.
    """
    text = str(place)
    if _OTHERS.match(text):
        raise StoreError("this is not the address of a store", remedy="give a folder, or a bucket: s3://bucket/prefix")
    if text.startswith("s3:/"):
        return _parse(text.removeprefix("s3:").lstrip("/"))
    return marked_address(Path(place))


def _parse(text: str) -> Address:
    bucket, _, prefix = text.partition("/")
    names = prefix.strip("/").split("/") if prefix.strip("/") else []
    if not _BUCKET.fullmatch(bucket) or "?" in text or ":" in text:
        # Do not show the address: the part before an @ or after a ? may be a key.
        raise StoreError(
            "this is not a valid address of a store in a bucket",
            remedy="write s3://bucket/prefix; keys and endpoint belong in the environment (AWS_ACCESS_KEY_ID, "
            "AWS_SECRET_ACCESS_KEY, AWS_ENDPOINT_URL)",
        )
    if not _PREFIX.fullmatch(prefix) or any(name in ("", ".", "..") for name in names):
        raise StoreError(
            "the prefix of a store in a bucket has characters that are not allowed in a folder's name",
            remedy="use letters, digits and -_.=+@!*'(), separated by single slashes",
        )
    return Address(bucket, "/".join(names))


def marked_address(folder: Path) -> Address | None:
    """Return the address of the bucket whose working folder this is; null for any other folder.

    Raises:
        StoreError: The folder's marker is damaged.
    """
    try:
        text = (folder / MARKER).read_text()
    except OSError:
        return None
    try:
        return _parse(json.loads(text)["address"].removeprefix("s3://"))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoreError(
            "the file does not name the bucket that this working folder belongs to",
            file=str(folder / MARKER),
            remedy="move this folder away, then open the store by its address, s3://bucket/prefix",
        ) from error


def working_folder(address: Address) -> Path:
    """Return this machine's folder for the journal of a store in a bucket, and for copies of its parts and manifests.

    It is in ``$HAZARDMILL_CACHE`` or ``$XDG_STATE_HOME/hazardmill``, by default ``~/.local/state/hazardmill``.
    """
    readable = re.sub(r"[^A-Za-z0-9._-]+", "-", f"{address.bucket}-{address.prefix}").strip("-")[:60]
    unique = hashlib.sha256(str(address).encode()).hexdigest()[:12]
    return _cache() / "stores" / f"{readable}-{unique}"


def _cache() -> Path:
    named = os.environ.get(CACHE_VARIABLE)
    if named:
        return Path(named).absolute()
    # Not a cache folder: those may be emptied, and a journal holds what was paid for.
    state = os.environ.get("XDG_STATE_HOME")
    return (Path(state) if state else Path.home() / ".local" / "state") / "hazardmill"


@lru_cache(maxsize=64)  # called for each file that is checked
def display_name(store: Path) -> str:
    """Return a store's name for messages and commands: its folder, or the address of its bucket.

    Args:
        store: The store's folder, or the working folder of a store in a bucket.
    """
    try:
        return str(marked_address(store) or store)
    except StoreError:
        return str(store)
