"""The objects themselves, and what goes wrong with an object store."""

from __future__ import annotations

import pickle
import re
import socket
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import boto3
import pytest

from hazardmill.errors import StoreError
from hazardmill.store.address import bucket_address
from hazardmill.store.bucket.objects import Bucket, BucketTimeouts
from store.conftest import SECRET

if TYPE_CHECKING:
    from store.bucket_server import BucketServer

pytestmark = pytest.mark.full

IMPATIENT = BucketTimeouts(attempts=2, connect_s=1, answer_s=1)
Use = Callable[[Bucket, Path], object]


@pytest.fixture
def bucket(address: str) -> Bucket:
    found = bucket_address(address)
    assert found is not None
    return Bucket(found, IMPATIENT)


@pytest.fixture
def part(tmp_path: Path) -> Path:
    path = tmp_path / "part"
    path.write_bytes(b"rows" * 100)
    return path


USES: dict[str, Use] = {
    "get": lambda bucket, part: bucket.get("store.json"),
    "put": lambda bucket, part: bucket.put("store.json", b"{}"),
    "names": lambda bucket, part: list(bucket.names("tasks")),
    "upload": lambda bucket, part: bucket.upload(part, "tasks/new.parquet"),
    "download": lambda bucket, part: bucket.download("tasks/old.parquet", part.with_name("copy")),
}


def refused(use: str, bucket: Bucket, part: Path) -> StoreError:
    with pytest.raises(StoreError) as caught:
        USES[use](bucket, part)
    error = caught.value
    assert str(bucket.address) in str(error.file)
    assert error.remedy
    shown = "".join(traceback.format_exception(error))
    assert SECRET not in shown
    # Nor what the libraries said: nobody knows what is in there.
    assert not re.search(r"^(botocore|OSError|PermissionError|ConnectionError)", shown, re.MULTILINE)
    return error


def test_a_put_is_done_where_nothing_is_and_over_what_was_read(bucket: Bucket) -> None:
    assert bucket.get("a") is None
    first = bucket.put("a", b"1")
    assert first is not None
    assert bucket.put("a", b"2") is None
    assert bucket.put("a", b"2", over='"other"') is None
    second = bucket.put("a", b"2", over=first)
    assert second is not None
    assert bucket.put("a", b"3", over=first) is None
    assert bucket.put("gone", b"3", over=first) is None
    found = bucket.get("a")
    assert found is not None
    assert (found.data, found.tag) == (b"2", second)
    assert 0 <= found.age_s < 60


def test_names_are_those_of_one_folder_after_a_name(bucket: Bucket) -> None:
    for name in ("t/1", "t/2", "t/3", "tt/1", "u/1"):
        bucket.put(name, b"x" * 5)
    assert list(bucket.names("t")) == [("1", 5), ("2", 5), ("3", 5)]
    assert [name for name, _ in bucket.names("t", "1")] == ["2", "3"]


def test_names_go_on_where_the_server_gives_a_few_at_a_time(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    # As a server does with more than 1,000.
    monkeypatch.setenv("MOTO_S3_DEFAULT_MAX_KEYS", "2")
    for number in range(7):
        bucket.put(f"t/{number}", b"x")
    assert [name for name, _ in bucket.names("t")] == [*"0123456"]
    assert [name for name, _ in bucket.names("t", "1")] == [*"23456"]


def test_a_part_goes_up_and_comes_down(bucket: Bucket, part: Path, tmp_path: Path, server: BucketServer) -> None:
    bucket.upload(part, "t/p.parquet")
    size, digest = bucket.download("t/p.parquet", tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == part.read_bytes()
    assert (size, len(digest)) == (part.stat().st_size, 64)
    server.seen.clear()
    bucket.upload(part, "t/p.parquet")
    assert not [path for method, path in server.seen if method in ("PUT", "POST")], "it is there already"
    with pytest.raises(FileNotFoundError):
        bucket.download("t/none.parquet", tmp_path / "copy")


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize(
    ("status", "message"), [(403, "refuses access"), (500, "is overloaded"), (503, "is overloaded")]
)
def test_a_refusal_is_one_clear_error(
    use: str, status: int, message: str, bucket: Bucket, part: Path, server: BucketServer
) -> None:
    with server.trouble(lambda method, path: status):
        assert message in refused(use, bucket, part).message


@pytest.mark.parametrize("use", USES)
def test_nobody_listens(use: str, bucket: Bucket, part: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{closed.getsockname()[1]}")
        assert "cannot be reached" in refused(use, bucket, part).message


@pytest.mark.parametrize("use", USES)
def test_a_server_that_does_not_answer(use: str, bucket: Bucket, part: Path, server: BucketServer) -> None:
    over = threading.Event()

    def wait(method: str, path: str) -> int:
        over.wait()
        return 503

    with server.trouble(wait):
        try:
            assert "too slow" in refused(use, bucket, part).message
        finally:
            over.set()


@pytest.mark.parametrize("use", ["get", "put", "names", "upload"])
def test_there_is_no_such_bucket(use: str, part: Path, server: BucketServer) -> None:
    found = bucket_address("s3://nobody-made-this/a")
    assert found is not None
    assert "no such bucket" in refused(use, Bucket(found, IMPATIENT), part).message


@pytest.mark.parametrize("use", USES)
def test_what_passes_after_a_second_try_is_no_error(use: str, bucket: Bucket, part: Path, server: BucketServer) -> None:
    bucket.upload(part, "tasks/old.parquet")
    counted: dict[tuple[str, str], int] = {}

    def once(method: str, path: str) -> int | None:
        counted[method, path] = counted.get((method, path), 0) + 1
        return 503 if counted[method, path] == 1 else None

    with server.trouble(once):
        USES[use](bucket, part)
    assert max(counted.values()) > 1


def test_half_an_upload_is_an_error_and_is_mended_by_the_next(bucket: Bucket, part: Path, server: BucketServer) -> None:
    server.cuts_uploads = True
    assert "2 of 400 bytes arrived" in refused("upload", bucket, part).message
    server.cuts_uploads = False
    bucket.upload(part, "tasks/new.parquet")
    assert bucket.size("tasks/new.parquet") == 400


def test_without_keys_there_is_a_remedy(
    bucket: Bucket, part: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    assert "AWS_ACCESS_KEY_ID" in str(refused("get", bucket, part))


@pytest.mark.parametrize("endpoint", ["http://somebody:hush@127.0.0.1:9", "http://127.0.0.1:9/?key=hush", "hush"])
def test_an_endpoint_with_a_key_in_it_is_refused_and_not_repeated(
    endpoint: str, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", endpoint)
    with pytest.raises(StoreError, match="AWS_ENDPOINT_URL_S3") as caught:
        bucket.get("a")
    assert "hush" not in str(caught.value)


def test_both_clients_go_where_the_endpoint_of_s3_says(
    address: str, bucket: Bucket, part: Path, server: BucketServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", server.url)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    bucket.put("a", b"1")
    bucket.upload(part, "t/p")
    name = bucket.address.bucket
    keys = [found["Key"] for found in boto3.client("s3").list_objects_v2(Bucket=name)["Contents"]]
    assert keys == ["stores/one/a", "stores/one/t/p"]


def test_another_process_opens_its_own_connections(bucket: Bucket) -> None:
    bucket.put("a", b"1")
    found = pickle.loads(pickle.dumps(bucket)).get("a")
    assert found is not None
    assert found.data == b"1"
