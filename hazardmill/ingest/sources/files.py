"""Looks for the files of a source in a folder: every entry is an input, a folder to enter, or refused."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from hazardmill.files import FileKind, NotARegularFile, kind_of

DOWNLOAD_AGAIN: Final = "download the file again, from the address in the source's SOURCE.md"


class InputRefusal(NamedTuple):
    """Why something cannot be used: a short stable code, a sentence, and what to do.

    Attributes:
        reason: Reason code of the reject.
        message: What is wrong.
        remedy: What to do about it.
    """

    reason: str
    message: str
    remedy: str


@dataclass(frozen=True, slots=True)
class InputFile:
    """One file to read.

    Attributes:
        path: Where it is.
        name: Its name within the input, which rejects and ids may use.
        refusal: Why it cannot be read, if that is already known: it is a pipe, for example, or a folder that nobody may
            enter.
    """

    path: Path
    name: str
    refusal: InputRefusal | None = None

    def __post_init__(self) -> None:
        # A file name may be any bytes, but only UTF-8 can be shown and stored.
        told = self.name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
        if told != self.name:
            object.__setattr__(self, "name", told)
            object.__setattr__(self, "refusal", self.refusal or _NAME)


_NAME: Final = InputRefusal("file_name", "the name is not UTF-8", "rename the file or folder")


@dataclass
class InputFolder:
    """One folder of an input, as ``walk`` visits it. Hidden entries (``.name``) are left out.

    Attributes:
        path: Where it is.
    """

    path: Path
    name: str
    """Its path within the input, with slashes; empty for the input itself."""
    folders: list[str] = field(default_factory=list)
    """Names of its folders, sorted, including links to folders. A caller may remove names to skip these folders."""
    files: list[str] = field(default_factory=list)
    """Names of its regular files, sorted, including links to files."""
    refused: list[InputFile] = field(default_factory=list)
    """Everything else: pipes, sockets, devices, broken links; and the folder itself if it cannot be listed."""

    def input(self, name: str, refusal: InputRefusal | None = None) -> InputFile:
        """Return the file with this name in the folder."""
        return InputFile(self.path / name, f"{self.name}/{name}" if self.name else name, refusal)


def walk(root: Path) -> Iterator[InputFolder]:
    """Visit a folder and all folders below it, from the top, each once, however many links lead to it.

    Links to folders are entered last, so that a folder keeps its own name if it has one.

    Args:
        root: The folder.

    Yields:
        Each folder; its ``folders`` may be changed before the next one is requested.
    """
    entered: dict[tuple[int, int] | Path, str] = {}
    waiting: list[tuple[Path, str]] = [(root, "")]
    linked: list[tuple[Path, str]] = []
    while waiting or linked:
        path, name = waiting.pop() if waiting else linked.pop(0)
        before = entered.setdefault(_identity(path), name or ".")
        if before == (name or "."):
            folder = list_folder(path, name)
        else:
            folder = InputFolder(path, name, refused=[InputFile(path, name, _refuse_folder(before))])
        yield folder
        # Last in, first out.
        for below in reversed(folder.folders):
            place = path / below
            is_link = os.path.islink(place)  # noqa: PTH114  that of pathlib raises over a path that is too long
            (linked if is_link else waiting).append((place, f"{name}/{below}" if name else below))


def list_folder(path: Path, name: str = "") -> InputFolder:
    """List one folder.

    Args:
        path: The folder.
        name: Its path within the input.

    Returns:
        The listing. If the folder cannot be listed, it is among its own ``refused``.
    """
    folder = InputFolder(path, name)
    try:
        with os.scandir(path) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                if not entry.name.startswith("."):
                    _sort(folder, entry)
    except OSError as error:
        folder.refused.append(InputFile(path, name or path.name or ".", refusal_of(path, error)))
    return folder


def find_files(path: Path, wanted: Callable[[Path], bool]) -> list[InputFile]:
    """Return the input in a file or folder: the file itself, or the wanted entries of the folder, sorted by name.

    Entries of the folder that are not files are included with their refusal.

    Args:
        path: A file or folder.
        wanted: Whether a file is input, judged by its name.
    """
    if kind_of(path) is not FileKind.FOLDER:
        return [InputFile(path, path.name)]
    folder = list_folder(path)
    named = [folder.input(name) for name in (*folder.files, *folder.folders) if wanted(path / name)]
    return sorted([*named, *folder.refused], key=lambda file: file.name)


def refusal_of(path: Path, error: OSError) -> InputRefusal:
    """Return why a file or folder cannot be read, given the error from trying.

    Args:
        path: The file or folder.
        error: What was raised.
    """
    kind = error.kind if isinstance(error, NotARegularFile) else kind_of(path)
    if kind is FileKind.MISSING:
        return InputRefusal("missing_file", f"{path.name} does not exist", DOWNLOAD_AGAIN)
    if kind in (FileKind.REGULAR, FileKind.FOLDER, FileKind.UNREADABLE) and not isinstance(error, NotARegularFile):
        hint = "give it a shorter path" if error.errno == errno.ENAMETOOLONG else "check its permissions"
        return InputRefusal("unreadable", f"it cannot be read: {error.strerror or error}", hint)
    return _refusal(kind)


def _identity(path: Path) -> tuple[int, int] | Path:
    try:
        status = path.stat()
    except OSError:  # listing it will report the error
        return path
    return status.st_dev, status.st_ino


def _sort(folder: InputFolder, entry: os.DirEntry[str]) -> None:
    kind = _kind(entry)
    if kind is FileKind.FOLDER:
        folder.folders.append(entry.name)
    elif kind is FileKind.REGULAR:
        folder.files.append(entry.name)
    else:
        folder.refused.append(folder.input(entry.name, _refusal(kind)))


def _kind(entry: os.DirEntry[str]) -> FileKind:
    # The listing mostly distinguishes files from folders; where it does not, a closer look may be forbidden.
    with contextlib.suppress(OSError):
        if entry.is_file(follow_symlinks=False):
            return FileKind.REGULAR
        if entry.is_dir(follow_symlinks=False):
            return FileKind.FOLDER
    return kind_of(Path(entry.path))


def _refuse_folder(before: str) -> InputRefusal:
    return InputRefusal("folder_again", f"it is a link to a folder that is already read as {before}", "remove the link")


def _refusal(kind: FileKind) -> InputRefusal:
    message, remove = f"it is {kind}", "put a regular file in its place, or remove it"
    if kind is FileKind.DANGLING:
        return InputRefusal("dangling_link", message, "fetch the file that the link should lead to, or remove the link")
    if kind is FileKind.LOOP:
        return InputRefusal("link_loop", message, remove)
    if kind is FileKind.UNREADABLE:
        return InputRefusal("unreadable", message, "check the permissions of the file or folder that it leads to")
    return InputRefusal("not_a_file", f"{message}, not a regular file", remove)
