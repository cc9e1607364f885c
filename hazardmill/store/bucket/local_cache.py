"""The working folder of a store in a bucket: what is read and written here is mirrored in the bucket.

    BUCKET/PREFIX/store.json                      which store this is
    BUCKET/PREFIX/manifests/<n>.json              commit n, put only where none exists
    BUCKET/PREFIX/<table>/<segment>.<hash>.parquet  parts; the hash is of their content
    BUCKET/PREFIX/locks/<run id>.json             which machine writes a run

The folder has the layout of any store. Its journal and locks are local. Its manifests and parts are copies, downloaded
when needed and checked on arrival. They never change, so a copy is never out of date.
"""

from __future__ import annotations

import json
import re
import secrets
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from hazardmill.errors import CorruptStore, SchemaMismatch, StoreError
from hazardmill.store.address import MARKER, Address
from hazardmill.store.bucket.objects import Bucket
from hazardmill.store.files.fsync_io import make_folder, remove, rename, sync_file, write_file
from hazardmill.store.files.layout import Layout
from hazardmill.store.files.locks import exclusive
from hazardmill.store.files.manifests import CommitManifest, ManifestListing, Part, encode_manifest, parse_manifest

BUCKET_FORMAT: Final = 1

IDENTITY: Final = "store.json"
"""Object that identifies the store."""

_AT_ONCE: Final = 8
"""Number of objects downloaded at the same time."""

_CHUNK: Final = 64
"""Number of manifests downloaded before they are written to the folder in order."""

_MANIFEST: Final = re.compile(r"(\d{10})\.json")


def manifest_name(sequence: int) -> str:
    """Return the object name of a commit. It contains only the number, so that two commits cannot share a number."""
    return f"manifests/{sequence:010d}.json"


def part_name(part: Part) -> str:
    """Return the object name of a part. It contains a hash of the content, so that uploading it again is harmless."""
    return f"{part.table}/{part.file.removesuffix('.parquet')}.{part.sha256[:16]}.parquet"


class Mirror:
    """One machine's side of a store in a bucket. Nothing is requested or written before it is needed.

    Args:
        bucket: The bucket and prefix.
        folder: The working folder.
    """

    def __init__(self, bucket: Bucket, folder: Path) -> None:
        self.bucket = bucket
        self.layout = Layout(folder)
        self._machine = ""
        self._is_known = False
        self._here: set[tuple[str, str]] = set()
        self._guard = threading.RLock()

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_guard": None}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self._guard = threading.RLock()

    @property
    def machine(self) -> str:
        """Identifies this working folder among all machines; known after ``is_there``."""
        return self._machine

    @property
    def address(self) -> Address:
        """Bucket and prefix."""
        return self.bucket.address

    def is_there(self, *, create: bool = False) -> bool:
        """Return whether the bucket holds a store at this prefix; with ``create`` one is made if there is none.

        Raises:
            StoreError: The object store fails, does not support conditional puts, or holds another store than the one
                this folder was made for.
            SchemaMismatch: A newer hazardmill made the store.
        """
        with self._guard:
            if self._is_known:
                return True
            found = self.bucket.get(IDENTITY)
            if found is None and not (self.layout.root / MARKER).exists():
                if not create:
                    return False
                self._create()
                found = self.bucket.get(IDENTITY)
            self._is_known = self._is_ours(None if found is None else self._identity(found.data))
            return self._is_known

    def _create(self) -> None:
        body = json.dumps({"format": BUCKET_FORMAT, "id": secrets.token_hex(16)}).encode()
        tag = self.bucket.put(IDENTITY, body)
        if tag is None:
            return  # another machine was faster
        if self.bucket.put(IDENTITY, body) is not None or self.bucket.put(IDENTITY, body, over='"none"') is not None:
            raise StoreError(
                "the object store ignores conditional puts, so that two workers could overwrite each other",
                file=self.address.uri(IDENTITY),
                remedy="use one that honours If-None-Match and If-Match, or a store in a folder",
            )

    def _identity(self, data: bytes) -> str:
        try:
            said = json.loads(data)
            number, found = int(said["format"]), str(said["id"])
        except (ValueError, KeyError, TypeError) as error:
            raise CorruptStore(
                "the object does not identify the store",
                file=self.address.uri(IDENTITY),
                remedy="restore it from an older version of the object, or copy the store from elsewhere",
            ) from error
        if number > BUCKET_FORMAT:
            message = f"the store has format {number}; this hazardmill reads up to {BUCKET_FORMAT}"
            raise SchemaMismatch(message, file=self.address.uri(IDENTITY), remedy="upgrade hazardmill")
        return found

    def _is_ours(self, found: str | None) -> bool:
        """Whether the store in the bucket is the one this folder belongs to, which is the first one that was found."""
        make_folder(self.layout.root)
        place = self.layout.root / MARKER
        with exclusive(self.layout.root / f".{MARKER}.lock"):
            own = json.loads(place.read_text()) if place.exists() else {"address": str(self.address)}
            own.setdefault("machine", secrets.token_hex(16))
            self._machine = own["machine"]
            if own.get("store", found) != found:
                what = "no longer a store" if found is None else "now a different store"
                raise StoreError(
                    f"there is {what} at this address; the local working folder {self.layout.root} belongs to the "
                    "earlier one",
                    file=str(self.address),
                    remedy=f"save any rows that you need from {self.layout.journal}, then remove the working folder",
                )
            if found is None:
                return False
            if own.get("store") is None:
                own["store"] = found
                staged = place.with_name(f".{MARKER}.new")
                write_file(staged, json.dumps(own, indent=1).encode())
                rename(staged, place)
        return True

    def pull(self, known: ManifestListing) -> bool:
        """Download manifests that are not known yet.

        Returns:
            Whether there were any.

        Raises:
            CorruptStore: A manifest is damaged.
            StoreError: The object store fails.
        """
        if not self.is_there():
            return False
        have = {manifest.sequence for manifest in known.files.values()}
        listed = self.bucket.names("manifests", f"{known.through:010d}.json")
        new = [name for name, _ in listed if (found := _MANIFEST.fullmatch(name)) and int(found[1]) not in have]
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            for start in range(0, len(new), _CHUNK):
                # In order, so that a reader of the folder never sees a manifest without all earlier ones.
                for manifest in pool.map(self.manifest, new[start : start + _CHUNK]):
                    self.write(manifest)
        return bool(new)

    def manifest(self, name: str) -> CommitManifest:
        """Return a manifest in the bucket, given its name within ``manifests/``.

        Raises:
            CorruptStore: It is gone or damaged.
            SchemaMismatch: A newer hazardmill wrote it.
        """
        place = self.address.uri(f"manifests/{name}")
        found = self.bucket.get(f"manifests/{name}")
        remedy = "restore it from an older version of the object, or from a copy of the store"
        if found is None:
            raise CorruptStore("the manifest was listed, but is gone", file=place, remedy=remedy)
        manifest = parse_manifest(found.data, place, remedy)
        if manifest_name(manifest.sequence) != f"manifests/{name}":
            message = f"the manifest says that it belongs to commit {manifest.sequence}"
            raise CorruptStore(message, file=place, remedy=remedy)
        return manifest

    def write(self, manifest: CommitManifest) -> None:
        """Write a copy of a manifest in the bucket to the folder."""
        staged = self._staging_path(manifest.file)
        write_file(staged, encode_manifest(manifest))
        rename(staged, self.layout.manifests / manifest.file)

    def fetch(self, parts: Sequence[Part]) -> None:
        """Make sure that complete copies of these parts are in the folder.

        Raises:
            CorruptStore: A part is gone, or differs from its manifest.
            StoreError: The object store or the disk fails.
        """
        wanted = [part for part in parts if (part.table, part.file) not in self._here]
        missing = [part for part in wanted if not self._is_here(part)]
        for table in {part.table for part in missing}:
            make_folder(self.layout.root / table)
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            for _ in pool.map(self.bring, missing):
                pass
        self._here.update((part.table, part.file) for part in wanted)

    def _is_here(self, part: Part) -> bool:
        try:
            return (self.layout.root / part.table / part.file).stat().st_size == part.size
        except FileNotFoundError:
            return False

    def bring(self, part: Part) -> None:
        """Download one part, replacing an existing copy.

        Raises:
            CorruptStore: The part is gone, or differs from its manifest.
            StoreError: The object store or the disk fails.
        """
        name = part_name(part)
        remedy = "restore it from an older version of the object, or from a copy of the store"
        staged = self._staging_path(f"{part.table}.{part.file}")
        try:
            size, digest = self.bucket.download(name, staged)
            if (size, digest) != (part.size, part.sha256):
                if size != part.size and self.bucket.size(name) == part.size:
                    raise StoreError(
                        f"cannot read: {size} of {part.size} bytes arrived",
                        file=self.address.uri(name),
                        remedy="try again; the object itself has its full size",
                    )
                message = "the part in the bucket differs from its manifest"
                raise CorruptStore(message, file=self.address.uri(name), remedy=remedy)
            sync_file(staged)
            rename(staged, self.layout.root / part.table / part.file)
        except FileNotFoundError as error:
            message = "a manifest lists this part, but it is not in the bucket"
            raise CorruptStore(message, file=self.address.uri(name), remedy=remedy) from error
        finally:
            remove(staged)

    def _staging_path(self, name: str) -> Path:
        make_folder(self.layout.staging)
        return self.layout.staging / f"{name}.{secrets.token_hex(8)}"
