from __future__ import annotations

import json
from pathlib import Path

import pytest

from hazardmill.errors import StoreError
from hazardmill.store import Store
from hazardmill.store.address import Address, bucket_address, display_name, working_folder


@pytest.mark.parametrize(
    ("text", "bucket", "prefix"),
    [
        ("s3://mill/a/b", "mill", "a/b"),
        ("s3://mill/a/b/", "mill", "a/b"),
        ("s3://mill", "mill", ""),
        ("s3://mill/", "mill", ""),
        ("s3:/mill/a", "mill", "a"),
        ("s3://my.mill-1/run=2", "my.mill-1", "run=2"),
    ],
)
def test_an_address_and_what_a_path_makes_of_it_are_the_same(text: str, bucket: str, prefix: str) -> None:
    assert bucket_address(text) == bucket_address(Path(text)) == Address(bucket, prefix)


@pytest.mark.parametrize("text", ["generated/store", "/srv/s3:/mill", "./s3", "s3", "a folder"])
def test_a_folder_is_no_address(text: str) -> None:
    assert bucket_address(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "s3://",
        "s3:///a",
        "s3://Mill/a",
        "s3://mill/a//b",
        "s3://mill/../a",
        "s3://mill/a*[1]",
        "gs://mill/a",
        "s3a://m/a",
    ],
)
def test_what_cannot_be_the_address_of_a_store_is_refused_with_a_remedy(text: str) -> None:
    with pytest.raises(StoreError) as caught:
        bucket_address(text)
    assert caught.value.remedy


@pytest.mark.parametrize("text", ["s3://key:hush@mill/a", "s3://mill/a?secret_key=hush", "s3://hush@mill/a"])
def test_a_key_in_an_address_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(StoreError) as caught:
        Store(text)
    assert "hush" not in str(caught.value)
    assert "AWS_SECRET_ACCESS_KEY" in str(caught.value)


def test_each_address_has_its_own_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HAZARDMILL_CACHE", str(tmp_path))
    folders = {working_folder(Address(*pair)) for pair in [("mill", "a/b"), ("mill", "a-b"), ("mill-a", "b")]}
    assert len(folders) == 3
    assert all(folder.is_relative_to(tmp_path) for folder in folders)


def test_without_a_word_working_folders_are_where_nobody_clears_caches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HAZARDMILL_CACHE", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert working_folder(Address("mill", "")).is_relative_to(tmp_path / "state" / "hazardmill")


def test_a_marked_folder_is_shown_as_its_bucket(tmp_path: Path) -> None:
    (tmp_path / "bucket.json").write_text(json.dumps({"address": "s3://mill/a"}))
    assert display_name(tmp_path) == "s3://mill/a"
    assert display_name(tmp_path / "other") == str(tmp_path / "other")


def test_a_marker_that_says_nothing_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "bucket.json").write_text("{}")
    with pytest.raises(StoreError, match=r"bucket\.json"):
        Store(tmp_path)
