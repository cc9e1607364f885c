"""The objects of a store in a bucket: parts through pyarrow's file system, small ones through an S3 client.

pyarrow has no conditional put, which a commit needs: "put this manifest if its number is still free". Both take keys,
region and endpoint from the standard AWS environment, and neither retries for ever.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from hazardmill.errors import ExtraMissing, StoreError
from hazardmill.store.address import Address
from hazardmill.store.bucket.errors import object_errors, status_of
from hazardmill.store.files.fsync_io import disk_errors

_CHUNK: Final = 2**23
"""Bytes of a part held in memory at a time."""

_TAKEN: Final = {409, 412}
"""HTTP statuses of a put whose condition fails, or whose object is being put by another client."""


@dataclass(frozen=True)
class BucketTimeouts:
    """How long to wait for an object store before giving up.

    Attributes:
        connect_s: Seconds to establish a connection.
    """

    attempts: int = 5
    """Maximum number of attempts per request, with growing pauses in between."""
    connect_s: float = 10.0
    answer_s: float = 30.0
    """Maximum seconds without receiving a byte."""


@dataclass(frozen=True)
class Object:
    """A small object as it was read.

    Attributes:
        data: The content.
    """

    data: bytes
    tag: str
    """ETag; a later put can demand that the object still has it."""
    age_s: float
    """Seconds since the object was put, by the server's clock."""


class Bucket:
    """The objects below the prefix of one address. Names are relative to it. Safe to use from several threads.

    If the object store fails, every method raises ``StoreError``, which names the object and the remedy.

    Args:
        address: Bucket and prefix.
        patience: Timeouts and retries; null for the defaults.

    Raises:
        ExtraMissing: boto3 is not installed.
    """

    def __init__(self, address: Address, patience: BucketTimeouts | None = None) -> None:
        if find_spec("boto3") is None:
            raise ExtraMissing(f"the store {address} is in a bucket, which needs boto3: not installed", extra="s3")
        self.address = address
        self.patience = patience or BucketTimeouts()
        self._client: Any = None
        self._files: Any = None
        self._opening = threading.RLock()

    def __getstate__(self) -> dict[str, object]:
        # Connections are not pickled: another process opens its own.
        return {**self.__dict__, "_client": None, "_files": None, "_opening": None}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self._opening = threading.RLock()

    def get(self, name: str) -> Object | None:
        """Read a small object; null if it does not exist."""
        from botocore.exceptions import ClientError  # type: ignore[import-untyped]  # published without types

        with object_errors(self.address.uri(name), "read"):
            try:
                answer = self._s3().get_object(Bucket=self.address.bucket, Key=self.address.key(name))
                data = answer["Body"].read()
            except ClientError as error:
                if error.response["Error"]["Code"] == "NoSuchKey":
                    return None
                raise
            sent = answer["ResponseMetadata"]["HTTPHeaders"].get("date")
            now = parsedate_to_datetime(sent) if sent else datetime.now(UTC)
            return Object(data, answer["ETag"], (now - answer["LastModified"]).total_seconds())

    def put(self, name: str, data: bytes, *, over: str | None = None) -> str | None:
        """Put a small object where none exists, or, with ``over``, replace the one with this tag.

        Returns:
            The new tag; null if the condition fails, because there is one already or one with another tag.

        Raises:
            StoreError: The object store fails.
        """  # noqa: DOC501  # converted to a StoreError
        from botocore.exceptions import ClientError

        condition = {"IfNoneMatch": "*"} if over is None else {"IfMatch": over}
        with object_errors(self.address.uri(name), "write"):
            try:
                answer = self._s3().put_object(
                    Bucket=self.address.bucket, Key=self.address.key(name), Body=data, **condition
                )
            except ClientError as error:
                gone = over is not None and error.response["Error"]["Code"] == "NoSuchKey"
                if gone or status_of(error) in _TAKEN:
                    return None
                raise
            tag: str = answer["ETag"]
            return tag

    def names(self, folder: str, after: str = "") -> Iterator[tuple[str, int]]:
        """Yield name within ``folder`` and size in bytes of each object there, sorted, after the name ``after``."""
        start = self.address.key(f"{folder}/")
        with object_errors(self.address.uri(f"{folder}/"), "list the objects"):
            pages = (
                self._s3()
                .get_paginator("list_objects_v2")
                .paginate(Bucket=self.address.bucket, Prefix=start, StartAfter=start + after)
            )
            for page in pages:
                for found in page.get("Contents", ()):
                    yield found["Key"].removeprefix(start), found["Size"]

    def upload(self, path: Path, name: str) -> None:
        """Upload a file, unless an object of this size exists: names of parts identify their content."""
        size = path.stat().st_size
        if self.size(name) == size:
            return
        with disk_errors(path, "read the part"):
            source = path.open("rb")
        with (
            source,
            object_errors(self.address.uri(name), "write"),
            self._arrow().open_output_stream(self._place(name)) as sink,
        ):
            while data := source.read(_CHUNK):
                sink.write(data)
        found = self.size(name)
        if found != size:
            raise StoreError(
                f"cannot write: {found or 0} of {size} bytes arrived",
                file=self.address.uri(name),
                remedy="try again: no manifest lists the part yet, and its rows are in the journal",
            )

    def download(self, name: str, path: Path) -> tuple[int, str]:
        """Download an object to a file.

        Returns:
            Its size in bytes and its SHA-256 (hex).

        Raises:
            FileNotFoundError: The object does not exist.
        """
        size, digest = 0, hashlib.sha256()
        with disk_errors(path, "write"):
            sink = path.open("wb")
        with (
            sink,
            object_errors(self.address.uri(name), "read"),
            self._arrow().open_input_stream(self._place(name)) as source,
        ):
            while data := source.read(_CHUNK):
                with disk_errors(path, "write"):
                    sink.write(data)
                digest.update(data)
                size += len(data)
            with disk_errors(path, "write"):
                sink.flush()
        return size, digest.hexdigest()

    def size(self, name: str) -> int | None:
        """Return the size of an object in bytes; null if it does not exist."""
        from botocore.exceptions import ClientError

        # Not with pyarrow, which looks for a missing object a second time, as a folder.
        with object_errors(self.address.uri(name), "look for it"):
            try:
                answer = self._s3().head_object(Bucket=self.address.bucket, Key=self.address.key(name))
            except ClientError as error:
                if status_of(error) == 404:
                    return None
                raise
        size: int = answer["ContentLength"]
        return size

    def _place(self, name: str) -> str:
        return f"{self.address.bucket}/{self.address.key(name)}"

    def _s3(self) -> Any:  # noqa: ANN401 - boto3 makes the class of its client at run time
        with self._opening:
            if self._client is None:
                with object_errors(str(self.address), "open the store"):
                    self._client = self._new_client()
            return self._client

    def _new_client(self) -> Any:  # noqa: ANN401 - as above
        import boto3  # type: ignore[import-untyped]  # published without type information
        from botocore.config import Config  # type: ignore[import-untyped]  # as above

        endpoint = _endpoint()
        config = Config(
            connect_timeout=self.patience.connect_s,
            read_timeout=self.patience.answer_s,
            retries={"total_max_attempts": self.patience.attempts, "mode": "standard"},
            # Few servers other than Amazon's support bucket.host addresses.
            s3={"addressing_style": "path"} if endpoint else None,
        )
        session = boto3.session.Session(region_name=os.environ.get("AWS_REGION") or None)
        return session.client("s3", endpoint_url=endpoint, config=config)

    def _arrow(self) -> Any:  # noqa: ANN401 - pyarrow has no type information
        with self._opening:
            if self._files is None:
                with object_errors(str(self.address), "open the store"):
                    self._files = self._new_files()
            return self._files

    def _new_files(self) -> Any:  # noqa: ANN401 - as above
        from pyarrow import fs

        return fs.S3FileSystem(
            region=self._region(),
            endpoint_override=_endpoint(),
            connect_timeout=self.patience.connect_s,
            request_timeout=self.patience.answer_s,
            retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=self.patience.attempts),
            # A part that fits is uploaded in one put, which is atomic.
            allow_delayed_open=True,
        )

    def _region(self) -> str:
        client = self._s3()
        named: str | None = client.meta.region_name
        if named and named != "aws-global":
            return named
        if _endpoint():
            return "us-east-1"
        headers = client.head_bucket(Bucket=self.address.bucket)["ResponseMetadata"]["HTTPHeaders"]
        return str(headers.get("x-amz-bucket-region", "us-east-1"))


def _endpoint() -> str | None:
    """Return the address of the object store, if the environment gives one.

    Raises:
        StoreError: The address is not plain, for example because it carries a user name or password.
    """
    for variable in ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"):
        address = os.environ.get(variable)
        if address:
            parts = urlsplit(address)
            if parts.scheme not in ("http", "https") or "@" in parts.netloc or parts.query:
                raise StoreError(
                    f"{variable} is not a plain server address",
                    remedy="write http(s)://host:port; keys belong in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
                )
            return address.rstrip("/")
    return None
