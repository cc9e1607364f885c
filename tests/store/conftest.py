"""Fixtures of the store's tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from hazardmill.store import Store

if TYPE_CHECKING:
    from store.bucket_server import BucketServer

SECRET = "planted-key-that-nobody-may-see"
Machine = Callable[..., Store]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """An empty store in a folder whose name a glob would misread."""
    return Store(tmp_path / "a store [1]")


@pytest.fixture(scope="session")
def _server() -> Iterator[BucketServer]:
    from store.bucket_server import BucketServer

    server = BucketServer()
    yield server
    server.stop()


@pytest.fixture
def server(_server: BucketServer, monkeypatch: pytest.MonkeyPatch) -> BucketServer:
    """An object store on loopback, which the environment names."""
    for name in ("AWS_PROFILE", "AWS_REGION", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL_S3"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ENDPOINT_URL", _server.url)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "somebody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    _server.seen.clear()
    _server.ignores_conditions = _server.cuts_uploads = False
    return _server


@pytest.fixture
def address(server: BucketServer) -> str:
    """A prefix in a new bucket."""
    import boto3

    bucket = f"mill-{uuid4().hex[:12]}"
    boto3.client("s3").create_bucket(Bucket=bucket)
    return f"s3://{bucket}/stores/one"


@pytest.fixture
def machine(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """The store in the bucket, as a machine of that name has it."""

    def opened(name: str, **options: object) -> Store:
        from hazardmill.store.bucket.objects import BucketTimeouts

        monkeypatch.setenv("HAZARDMILL_CACHE", str(tmp_path / name))
        store = Store(address, **options)  # type: ignore[arg-type]  # passed through by name
        store._place.mirror.bucket.patience = BucketTimeouts(attempts=3, connect_s=2, answer_s=2)
        return store

    return opened
