"""Reviewers' tokens: shown once, kept as scrypt hashes, one file a reviewer."""

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
"""Characters of what somebody says is a token."""


class TokenHash(FrozenModel):
    """A token as it is kept. ``n``, ``r``, ``p`` are scrypt's: 16 MB and some 50 ms a try."""

    salt: str
    hash: str
    n: int = 2**14
    r: int = 8
    p: int = 1

    @classmethod
    def of(cls, token: str) -> TokenHash:
        """The hash of a token, with a salt of its own."""
        salted = cls(salt=secrets.token_hex(_SALT_BYTES), hash="")
        return salted.model_copy(update={"hash": salted._scrypt(token)})

    def fits(self, token: str) -> bool:
        """Whether it is the token; takes as long if it is not."""
        return hmac.compare_digest(self._scrypt(token[:_LONGEST]), self.hash)

    def _scrypt(self, token: str) -> str:
        salt = bytes.fromhex(self.salt)
        return hashlib.scrypt(token.encode(errors="replace"), salt=salt, n=self.n, r=self.r, p=self.p).hex()


_NOBODY: Final = TokenHash(salt="00" * _SALT_BYTES, hash="00" * 64)


class Tokens:
    """The tokens of one review."""

    def __init__(self, folder: ReviewFolder) -> None:
        self._folder = folder
        # One at a time: a crowd that guesses must not take all memory.
        self._hashing = threading.Lock()

    def names(self) -> list[str]:
        """Who has a token."""
        return sorted(path.stem for path in self._path.glob("[a-z]*.json"))

    def are_used(self) -> bool:
        """Whether one was ever made: taking the last one back must not let everybody in."""
        return self._path.is_dir()

    def make(self, reviewer: str) -> str:
        """A new token in place of the reviewer's old one, whose sessions end; it is told nowhere else.

        Raises:
            UsageError: That is no name.
            StoreError: It cannot be written.
        """
        name, token = reviewer_name(reviewer), secrets.token_urlsafe(_TOKEN_BYTES)
        private_folder(self._folder)
        make_folder(self._path)
        write_private(self._file(name), f"{TokenHash.of(token).model_dump_json()}\n")
        return token

    def withdraw(self, reviewer: str) -> bool:
        """Take a reviewer's token back; false where there was none."""
        path = self._file(reviewer_name(reviewer))
        with disk_errors(path, "remove"):
            try:
                path.unlink()
            except FileNotFoundError:
                return False
        return True

    def fits(self, reviewer: str, token: str) -> bool:
        """Whether that is the reviewer's token; takes as long where there is no such reviewer."""
        kept = self._read_hash(reviewer)
        with self._hashing:
            fits = (kept or _NOBODY).fits(token)
        return fits and kept is not None

    def stamp(self, reviewer: str) -> str:
        """Changes with the reviewer's token, and is no secret; empty where there is none."""
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
                "a token's hash is damaged", file=str(path), remedy=f"hazardmill review token {reviewer}"
            ) from error

    @property
    def _path(self) -> Path:
        return self._folder.path / FOLDER / "tokens"

    def _file(self, reviewer: str) -> Path:
        return self._path / f"{reviewer_name(reviewer)}.json"
