"""The folder of what must not get into git: the key that signs sessions, and hashes of reviewers' tokens."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Final

from hazardmill.errors import InputError
from hazardmill.review.decisions.folder import ReviewFolder
from hazardmill.review.regular import read_regular
from hazardmill.store.files.fsync_io import disk_errors, make_folder, rename, sync_file, sync_folder

FOLDER: Final = ".private"
_IGNORED: Final = "# Keys and hashes of tokens: they belong to this machine and to no repository.\n*\n"
_KEY_BYTES: Final = 32


def private_folder(folder: ReviewFolder) -> Path:
    """Return the folder of secrets; it is made if it does not exist, readable by its owner alone and ignored by git.

    Raises:
        StoreError: It cannot be written.
        InputError: It is a link.
    """
    path = folder.path / FOLDER
    if path.is_symlink():
        raise InputError(
            "the folder of keys is a link, so the keys would be created elsewhere",
            file=str(path),
            remedy="remove the link",
        )
    make_folder(path)
    with disk_errors(path, "close to others"):
        path.chmod(0o700)
    ignored = path / ".gitignore"
    if not ignored.exists():
        write_private(ignored, _IGNORED)
    return path


def write_private(path: Path, text: str) -> None:
    """Write a file that its owner alone may read; it appears whole or not at all.

    Raises:
        StoreError: It cannot be written.
    """
    staged = path.with_name(f"{path.name}.{secrets.token_hex(4)}.new")
    with disk_errors(path, "write"):
        descriptor = os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        sync_file(staged)
    rename(staged, path)


def session_key(folder: ReviewFolder) -> bytes:
    """Return the key that signs the sessions of this review, 32 bytes; it is made at the first call.

    The key survives restarts, so that nobody has to sign in again.

    Raises:
        StoreError: It cannot be read or written.
        InputError: It is damaged, or a link.
    """
    path = private_folder(folder) / "session-key"
    if not os.path.lexists(path):
        staged = path.with_name(f"session-key.{secrets.token_hex(4)}.new")
        write_private(staged, secrets.token_hex(_KEY_BYTES))
        # A hard link, not a rename: if two servers start at once, both use the key of the first.
        with disk_errors(path, "write"):
            try:
                path.hardlink_to(staged)
            except FileExistsError:
                pass
            finally:
                staged.unlink()
        sync_folder(path.parent)
    with disk_errors(path, "read"):
        text = read_regular(path).decode("ascii", errors="replace")
    try:
        key = bytes.fromhex(text)
    except ValueError:
        key = b""
    if len(key) != _KEY_BYTES:
        raise InputError(
            "the key that signs sessions is damaged",
            file=str(path),
            remedy="delete this file; every reviewer then has to sign in again",
        )
    return key
