from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest
from factories.odd_files import ODD_THINGS, OddThing

from hazardmill.files import FileKind, NotARegularFile, kind_of, open_regular, read_regular, walk_folders

KINDS = {
    "pipe": FileKind.PIPE,
    "socket": FileKind.SOCKET,
    "folder": FileKind.FOLDER,
    "device": FileKind.DEVICE,
    "dangling link": FileKind.DANGLING,
    "link to itself": FileKind.LOOP,
    "file of 100 GB": FileKind.REGULAR,
}


@pytest.mark.parametrize("odd", ODD_THINGS, ids=lambda odd: odd.name)
def test_what_stands_under_a_name_is_known_without_opening_it(tmp_path: Path, odd: OddThing) -> None:
    odd.lay(tmp_path / "it")
    assert kind_of(tmp_path / "it") is KINDS[odd.name]


@pytest.mark.parametrize("name", ["nothing", "file/below", "x" * 300, "a\0b"])
def test_what_cannot_be_looked_at_is_no_error(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    assert kind_of(tmp_path / name) in (FileKind.MISSING, FileKind.UNREADABLE)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("odd", ODD_THINGS, ids=lambda odd: odd.name)
def test_only_a_regular_file_is_opened(tmp_path: Path, odd: OddThing) -> None:
    odd.lay(tmp_path / "it")
    if KINDS[odd.name] is FileKind.REGULAR:
        with open_regular(tmp_path / "it") as stream:
            assert stream.read(3) == b"\0\0\0"
        return
    with pytest.raises(OSError) as caught:
        open_regular(tmp_path / "it")
    if isinstance(caught.value, NotARegularFile):
        assert caught.value.kind is KINDS[odd.name]
        assert f"it is {KINDS[odd.name]}" in str(caught.value)
        again = pickle.loads(pickle.dumps(caught.value))
        assert (again.kind, str(again)) == (caught.value.kind, str(caught.value))


def test_a_link_to_a_file_is_one(tmp_path: Path) -> None:
    (tmp_path / "content").write_bytes(b"text")
    (tmp_path / "link").symlink_to("content")
    with open_regular(tmp_path / "link") as stream:
        assert stream.read() == b"text"


@pytest.mark.timeout(20)
def test_a_pipe_put_in_the_place_of_a_file_at_the_last_moment_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "it"
    path.touch()
    looked = os.stat

    def swap(name: Path) -> os.stat_result:
        status = looked(name)
        path.unlink()
        os.mkfifo(path)
        return status

    monkeypatch.setattr("hazardmill.files.os.stat", swap)
    with pytest.raises(NotARegularFile, match="named pipe"):
        open_regular(path)
    assert str(path) not in [os.path.realpath(number) for number in Path("/proc/self/fd").iterdir()]


def test_a_file_is_read_whole_and_no_larger_one(tmp_path: Path) -> None:
    (tmp_path / "it").write_bytes(b"four")
    assert read_regular(tmp_path / "it", 4) == b"four"
    with pytest.raises(OSError, match="it has 4 bytes, and at most 3 are read"):
        read_regular(tmp_path / "it", 3)


def test_a_link_is_followed_unless_it_is_not_to_be(tmp_path: Path) -> None:
    (tmp_path / "it").write_bytes(b"four")
    (tmp_path / "link").symlink_to("it")
    assert read_regular(tmp_path / "link") == b"four"
    with pytest.raises(NotARegularFile, match="it is a link, not a regular file"):
        read_regular(tmp_path / "link", follow=False)


def test_a_link_to_a_folder_is_not_entered_and_not_passed_over_in_silence(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("a/deep", "elsewhere/inside", ".hidden"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "a" / "link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "a" / "back").symlink_to(tmp_path)
    walked = [place.relative_to(tmp_path).as_posix() for place, _, _ in walk_folders(tmp_path)]
    assert walked == [".", "a", "a/deep", "elsewhere", "elsewhere/inside"]
    told = [record.getMessage() for record in caplog.records]
    remedy = "is a symbolic link to a folder, and is not followed: to include that folder, pass its own path"
    assert told == [f"{tmp_path}/a/back {remedy}", f"{tmp_path}/a/link {remedy}"]
