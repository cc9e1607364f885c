from __future__ import annotations

import os
from pathlib import Path

import pytest

from hazardmill.errors import StoreError
from hazardmill.store.files.locks import Lock, is_held, share


def test_a_lock_is_held_until_it_is_released(tmp_path: Path) -> None:
    path = tmp_path / "locks" / "r1.lock"
    lock = Lock.acquire(path)
    assert lock is not None
    assert is_held(path)
    assert Lock.acquire(path) is None
    lock.release()
    lock.release()
    assert not is_held(path)
    again = Lock.acquire(path)
    assert again is not None
    again.release()


def test_a_forked_child_does_not_keep_its_parents_lock(tmp_path: Path) -> None:
    path = tmp_path / "r1.lock"
    lock = Lock.acquire(path)
    assert lock is not None
    told, tell = os.pipe()
    go, let_go = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(let_go)
        os.write(tell, b"x")
        os.read(go, 1)  # lives on until the parent has looked
        os._exit(0)
    os.read(told, 1)
    try:
        assert is_held(path), "the fork itself must not free it"
        lock.release()
        assert not is_held(path)
    finally:
        for descriptor in (told, tell, go, let_go):
            os.close(descriptor)
        os.waitpid(child, 0)


def test_a_lock_that_cannot_be_opened_is_named_and_one_that_is_not_there_was_never_held(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"file/commit\.lock: cannot lock"), share(tmp_path / "file" / "commit.lock"):
        pass
    with share(tmp_path / "commit.lock"):
        pass
    assert not (tmp_path / "commit.lock").exists()
