"""Tokens of reviewers: shown once, stored as scrypt hashes, one file per reviewer."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from hazardmill.errors import InputError
from hazardmill.records import FrozenModel
from hazardmill.review.app.keys import FOLDER, private_folder, write_private
from hazardmill.review.decisions.folder import ReviewFolder, reviewer_name
from hazardmill.review.regular import read_regular
from hazardmill.store.files.fsync_io import disk_errors, make_folder

_TOKEN_BYTES: Final = 24
_SALT_BYTES: Final = 16
_LONGEST: Final = 200
"""Largest number of characters that are taken as a token."""


class TokenHash(FrozenModel):
    """A token as it is stored.

    Attributes:
        salt: Random salt, in hex.
        hash: Hash of the token, in hex.
        n: Cost of scrypt; with the default parameters a hash takes 16 MB and about 50 ms.
        r: Block size of scrypt.
        p: Parallelism of scrypt.
    """

    salt: str
    hash: str
    n: int = 2**14
    r: int = 8
    p: int = 1

    @classmethod
    def of(cls, token: str) -> TokenHash:
        """Return the hash of a token, with a salt of its own."""
        salted = cls(salt=secrets.token_hex(_SALT_BYTES), hash="")
        return salted.model_copy(update={"hash": salted._scrypt(token)})

    def fits(self, token: str) -> bool:
        """Return whether this is the hash of a token; takes the same time if it is not."""
        return hmac.compare_digest(self._scrypt(token[:_LONGEST]), self.hash)

    def _scrypt(self, token: str) -> str:
        salt = bytes.fromhex(self.salt)
        return hashlib.scrypt(token.encode(errors="replace"), salt=salt, n=self.n, r=self.r, p=self.p).hex()


_NOBODY: Final = TokenHash(salt="00" * _SALT_BYTES, hash="00" * 64)


class Tokens:
    """The tokens of one review.

    Args:
        folder: The review.
    """

    def __init__(self, folder: ReviewFolder) -> None:
        self._folder = folder
        # One hash at a time, so that a crowd of guesses cannot use up the memory.
        self._hashing = threading.Lock()

    def names(self) -> list[str]:
        """Return the names of all who have a token, sorted."""
        return sorted(path.stem for path in self._path.glob("[a-z]*.json"))

    def are_used(self) -> bool:
        """Return whether a token was ever made; taking back the last one must not let everybody in."""
        return self._path.is_dir()

    def make(self, reviewer: str) -> str:
        """Make a new token for a reviewer.

        It replaces the reviewer's old token and ends the sessions that began with it.

        Returns:
            The token. Only its hash is kept, so it is shown nowhere else.

        Raises:
            UsageError: This is not a valid name of a reviewer.
            InputError: The folder of secrets is a link.
            StoreError: The token cannot be written.
        """
        name, token = reviewer_name(reviewer), secrets.token_urlsafe(_TOKEN_BYTES)
        private_folder(self._folder)
        make_folder(self._path)
        write_private(self._file(name), f"{TokenHash.of(token).model_dump_json()}\n")
        return token

    def withdraw(self, reviewer: str) -> bool:
        """Take a reviewer's token back, which ends its sessions.

        Returns:
            Whether there was one.

        Raises:
            UsageError: This is not a valid name of a reviewer.
            StoreError: The file cannot be removed.
        """
        path = self._file(reviewer_name(reviewer))
        with disk_errors(path, "remove"):
            try:
                path.unlink()
            except FileNotFoundError:
                return False
        return True

    def fits(self, reviewer: str, token: str) -> bool:
        """Return whether a token is the reviewer's; takes the same time if there is no such reviewer.

        Raises:
            UsageError: This is not a valid name of a reviewer.
            InputError: The file of the token is damaged.
        """
        kept = self._read_hash(reviewer)
        with self._hashing:
            fits = (kept or _NOBODY).fits(token)
        return fits and kept is not None

    def stamp(self, reviewer: str) -> str:
        """Return a text that changes with the reviewer's token and is not secret; empty if there is no token."""
        kept = self._read_hash(reviewer)
        return "" if kept is None else hashlib.sha256(kept.salt.encode()).hexdigest()[:16]

    def _read_hash(self, reviewer: str) -> TokenHash | None:
        path = self._file(reviewer)
        try:
            return TokenHash.model_validate_json(read_regular(path))
        except FileNotFoundError:
            return None
        except ValidationError as error:
            raise InputError(
                "the stored hash of a token is damaged",
                file=str(path),
                remedy=f"make a new token: hazardmill review token {reviewer}",
            ) from error

    @property
    def _path(self) -> Path:
        return self._folder.path / FOLDER / "tokens"

    def _file(self, reviewer: str) -> Path:
        return self._path / f"{reviewer_name(reviewer)}.json"
