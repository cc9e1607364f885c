from __future__ import annotations

import os
from pathlib import Path

import pytest
from factories.odd_files import ODD_THINGS

from hazardmill.ingest.sources import InputFile, find_files, walk
from hazardmill.testing.cases import lay_out


def reasons(files: list[InputFile]) -> dict[str, str]:
    return {file.name: file.refusal.reason for file in files if file.refusal is not None}


def test_a_walk_meets_everything_once_from_the_top(tmp_path: Path) -> None:
    lay_out(tmp_path, {name: b"" for name in ("b/2.txt", "b/c/3.txt", "a/1.txt", ".hidden/4.txt", "b/.5.txt")})
    met = [(folder.name, folder.folders, folder.files) for folder in walk(tmp_path)]
    assert met == [("", ["a", "b"], []), ("a", [], ["1.txt"]), ("b", ["c"], ["2.txt"]), ("b/c", [], ["3.txt"])]


def test_what_the_caller_takes_out_is_not_entered(tmp_path: Path) -> None:
    lay_out(tmp_path, {"a/1.txt": b"", "b/2.txt": b""})
    met = []
    for folder in walk(tmp_path):
        met.append(folder.name)
        folder.folders[:] = [name for name in folder.folders if name != "a"]
    assert met == ["", "b"]


def test_links_to_folders_are_entered_once_and_never_in_a_circle(tmp_path: Path) -> None:
    lay_out(tmp_path, {"in/z/1.txt": b"", "elsewhere/2.txt": b""})
    root = tmp_path / "in"
    (root / "a").symlink_to("z")
    (root / "b").symlink_to(tmp_path / "elsewhere")
    (root / "z" / "up").symlink_to("..")
    (tmp_path / "elsewhere" / "round").symlink_to(root)
    folders = list(walk(root))
    files = [f"{folder.name}/{name}" for folder in folders for name in folder.files]
    assert files == ["z/1.txt", "b/2.txt"]
    told = reasons([file for folder in folders for file in folder.refused])
    assert told == {"a": "folder_again", "z/up": "folder_again", "b/round": "folder_again"}


def test_links_do_not_multiply_folders(tmp_path: Path) -> None:
    for number in range(12):
        (tmp_path / str(number)).mkdir()
        for other in range(12):
            (tmp_path / str(number) / f"to{other}").symlink_to(f"../{other}")
    assert len(list(walk(tmp_path))) == 1 + 12 + 12 * 12


def test_whatever_is_neither_file_nor_folder_is_told(tmp_path: Path) -> None:
    for number, odd in enumerate(ODD_THINGS):
        odd.lay(tmp_path / f"{number}.csv")
    expected = {f"{number}.csv": odd.reasons[0] for number, odd in enumerate(ODD_THINGS) if odd.name not in _READ_LATER}
    (folder, *_) = walk(tmp_path)
    assert reasons(folder.refused) == expected
    found = find_files(tmp_path, lambda file: file.suffix == ".csv")
    assert [file.name for file in found] == [f"{number}.csv" for number in range(len(ODD_THINGS))]


_READ_LATER = ("folder", "file of 100 GB")
"""What only reading it refuses."""


def test_a_folder_deeper_than_a_path_may_be_is_told(tmp_path: Path) -> None:
    here = os.open(tmp_path, os.O_RDONLY)
    for _ in range(30):
        os.mkdir("d" * 200, dir_fd=here)
        below = os.open("d" * 200, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    folders = list(walk(tmp_path))
    (told,) = [file for folder in folders for file in folder.refused]
    assert told.refusal is not None
    assert told.refusal.reason == "unreadable" and "too long" in told.refusal.message


@pytest.mark.parametrize("name", [b"caf\xe9.csv", b"\xff"])
def test_a_name_that_is_no_text_is_told_as_one(tmp_path: Path, name: bytes) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name))
    path.touch()
    (file,) = find_files(tmp_path, lambda file: True)
    assert file.refusal is not None and file.refusal.reason == "file_name"
    assert file.name.encode() == name.decode("utf-8", "backslashreplace").encode()
