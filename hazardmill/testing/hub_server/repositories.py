"""The content of a hub: objects by their SHA-256, and repositories with commits, branches and tags, all in a folder.

    objects/ab/abcd...        the bytes of a file, under their SHA-256
    repositories/ORG/NAME.json   visibility, commits with their trees, tags

An object exists whole or not at all, and a repository's file is replaced atomically. Therefore everything that a server
acknowledged is available to the next one on the same folder, however it ended.
"""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict

MAIN: Final = "main"
"""The only branch."""
ATTRIBUTES: Final = ".gitattributes"
"""The file in a new repository."""

_ATTRIBUTES_TEXT: Final = b"*.parquet filter=lfs diff=lfs merge=lfs -text\n"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}")
_OID: Final = re.compile(r"[0-9a-f]{64}")


class HubRefusal(Exception):
    """A request that is answered with an error. The message goes to the client, so it must not repeat a secret.

    Args:
        status: HTTP status.
        message: What is wrong, in one sentence.
        code: Code by which clients distinguish errors (``X-Error-Code``); null for none.
    """

    def __init__(self, status: int, message: str, code: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = code


class TreeEntry(BaseModel):
    """A file in a tree.

    Attributes:
        sha256: SHA-256 (hex) of the content.
        size: Size in bytes.
        lfs: Whether the file is in LFS.
    """

    model_config = ConfigDict(frozen=True)

    sha256: str
    size: int
    blob: str
    """Git's id of the file, or of its pointer if it is in LFS."""
    lfs: bool

    @property
    def etag(self) -> str:
        """Identifies the content: the SHA-256 of a file in LFS, git's id of any other."""
        return self.sha256 if self.lfs else self.blob


class Commit(BaseModel):
    """A commit with its whole tree.

    Attributes:
        id: Id of 40 hex digits.
        parent: Id of the commit before; null for the first.
        title: First line of the message.
        message: The rest of the message.
        tree: Path to file.
    """

    model_config = ConfigDict(frozen=True)

    id: str
    parent: str | None
    title: str
    message: str
    tree: dict[str, TreeEntry]


class Repository(BaseModel):
    """The repository of a dataset.

    Attributes:
        id: ``ORG/NAME``.
        private: Whether only accounts may read it.
    """

    id: str
    private: bool
    commits: list[Commit]
    """From the first to the head of ``main``."""
    tags: dict[str, str] = {}
    """Tag to the id of its commit."""

    @property
    def head(self) -> Commit:
        """The last commit."""
        return self.commits[-1]

    def at(self, revision: str) -> Commit:
        """Return the commit that a branch, a tag or an id names; the first seven characters of an id suffice.

        Raises:
            HubRefusal: There is no such commit.
        """
        if revision in (MAIN, f"refs/heads/{MAIN}"):
            return self.head
        wanted = self.tags.get(revision.removeprefix("refs/tags/"), revision)
        for commit in reversed(self.commits):
            if commit.id == wanted or (len(wanted) >= 7 and commit.id.startswith(wanted)):
                return commit
        raise HubRefusal(404, f"there is no revision {revision!r}", "RevisionNotFound")


class Hub:
    """All repositories and objects in a folder.

    Args:
        folder: The folder; created if missing.
    """

    def __init__(self, folder: Path) -> None:
        self._objects = folder / "objects"
        self._repositories = folder / "repositories"
        for each in (self._objects, self._repositories):
            each.mkdir(parents=True, exist_ok=True)

    def object_path(self, oid: str) -> Path:
        """Return the path of an object, whether or not it exists.

        Raises:
            HubRefusal: The oid is not a SHA-256.
        """
        if not _OID.fullmatch(oid):
            raise HubRefusal(422, "an oid must be a SHA-256 in lower-case hexadecimal digits")
        return self._objects / oid[:2] / oid

    def has(self, oid: str) -> bool:
        """Whether an object exists."""
        return self.object_path(oid).is_file()

    async def receive(self, oid: str, size: int, chunks: AsyncIterator[bytes]) -> None:
        """Store an object.

        Raises:
            HubRefusal: The content does not match the oid or the size.
        """
        target = self.object_path(oid)
        target.parent.mkdir(exist_ok=True)
        digest, seen = hashlib.sha256(), 0
        with tempfile.NamedTemporaryFile(dir=target.parent, delete=False) as file:
            try:
                async for chunk in chunks:
                    digest.update(chunk)
                    seen += len(chunk)
                    file.write(chunk)
                if seen != size or digest.hexdigest() != oid:
                    raise HubRefusal(400, f"these {seen} bytes are not the {size} bytes that were announced")
                file.flush()
                Path(file.name).replace(target)
            except BaseException:
                Path(file.name).unlink()
                raise

    def keep(self, content: bytes) -> TreeEntry:
        """Store a file that is not an LFS object."""
        oid = hashlib.sha256(content).hexdigest()
        _replace(self.object_path(oid), content)
        return TreeEntry(sha256=oid, size=len(content), blob=_blob(content), lfs=False)

    def entry(self, oid: str) -> TreeEntry:
        """Return the entry of an existing LFS object."""
        size = self.object_path(oid).stat().st_size
        return TreeEntry(sha256=oid, size=size, blob=_blob(pointer(oid, size)), lfs=True)

    def create(self, repository: str, *, private: bool) -> Repository:
        """Make a repository with its first commit.

        Returns:
            The repository, as saved.

        Raises:
            HubRefusal: There is one with that name, or the name is invalid.
        """
        if not _is_name(repository):
            raise HubRefusal(400, "a repository's name must be ORG/NAME of letters, digits, '-', '_' and '.'")
        if self._path(repository).exists():
            raise HubRefusal(409, "a dataset of that name already exists")
        tree = {ATTRIBUTES: self.keep(_ATTRIBUTES_TEXT)}
        first = _commit(None, "initial commit", "", tree)
        made = Repository(id=repository, private=private, commits=[first])
        self._save(made)
        return made

    def repository(self, repository: str) -> Repository:
        """Return a repository.

        Raises:
            HubRefusal: There is none with that name.
        """
        path = self._path(repository)
        # Check the name first: it comes from an address, and may try to leave the folder.
        if not _is_name(repository) or not path.is_file():
            raise HubRefusal(404, "there is no such repository", "RepoNotFound")
        return Repository.model_validate_json(path.read_bytes())

    def commit(self, repository: str, title: str, message: str, changes: Mapping[str, TreeEntry | None]) -> Commit:
        """Commit to ``main``.

        Args:
            repository: ``ORG/NAME``.
            title: First line of the message.
            message: The rest of the message.
            changes: Files by path; null deletes a file.

        Returns:
            The new head of ``main``.

        Raises:
            HubRefusal: A file to be deleted does not exist.
        """
        found = self.repository(repository)
        tree = dict(found.head.tree)
        for path, entry in changes.items():
            if entry is not None:
                tree[path] = entry
            elif tree.pop(path, None) is None:
                raise HubRefusal(404, "there is no file with this name to delete", "EntryNotFound")
        made = _commit(found.head.id, title, message, tree)
        self._save(found.model_copy(update={"commits": [*found.commits, made]}))
        return made

    def tag(self, repository: str, tag: str, revision: str) -> None:
        """Set a tag.

        Raises:
            HubRefusal: The tag exists, or the revision does not.
        """
        found = self.repository(repository)
        if tag in found.tags:
            raise HubRefusal(409, "this tag exists already")
        self._save(found.model_copy(update={"tags": found.tags | {tag: found.at(revision).id}}))

    def untag(self, repository: str, tag: str) -> None:
        """Delete a tag.

        Raises:
            HubRefusal: There is no such tag.
        """
        found = self.repository(repository)
        found.at(f"refs/tags/{tag}")
        self._save(found.model_copy(update={"tags": {name: at for name, at in found.tags.items() if name != tag}}))

    def set_private(self, repository: str, *, private: bool) -> None:
        """Make a repository private or public."""
        self._save(self.repository(repository).model_copy(update={"private": private}))

    def read(self, entry: TreeEntry, begin: int = 0, end: int | None = None) -> bytes:
        """Return bytes of a file."""
        with self.object_path(entry.sha256).open("rb") as file:
            file.seek(begin)
            return file.read() if end is None else file.read(max(end - begin, 0))

    def _path(self, repository: str) -> Path:
        return self._repositories / f"{repository}.json"

    def _save(self, repository: Repository) -> None:
        _replace(self._path(repository.id), repository.model_dump_json().encode())


def pointer(oid: str, size: int) -> bytes:
    """What git keeps of a file in LFS: https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md."""
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize {size}\n".encode()


def _is_name(repository: str) -> bool:
    organization, _, name = repository.partition("/")
    return bool(_NAME.fullmatch(organization) and _NAME.fullmatch(name))


def _commit(parent: str | None, title: str, message: str, tree: dict[str, TreeEntry]) -> Commit:
    what = [parent, title, message, {path: entry.etag for path, entry in sorted(tree.items())}]
    name = hashlib.sha1(json.dumps(what).encode(), usedforsecurity=False).hexdigest()
    return Commit(id=name, parent=parent, title=title, message=message, tree=tree)


def _blob(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def _replace(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        file.write(content)
        file.flush()
        Path(file.name).replace(path)
