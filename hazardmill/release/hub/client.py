"""A client for one dataset repository on a hub, built on Hugging Face's own; its errors never contain the token."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from hazardmill.errors import ExtraMissing, HubError, InputError, UsageError
from hazardmill.llm.redact import holds_secret, keep_secret, scrub, secrets_in_address
from hazardmill.release.hub.folder import LocalFile
from hazardmill.release.hub.timeouts import give_up_on_silence
from hazardmill.release.manifest import MANIFEST

if TYPE_CHECKING:
    from huggingface_hub import HfApi, RepoFile

RESUME: Final = "push again: it continues where it stopped"
_KIND: Final = "dataset"
_REMEDIES: Final = {
    401: "the hub does not know the token: set HF_TOKEN, or log in with: hf auth login",
    403: "use a token that may write to this organisation",
    404: "look at the name, and whether the token may see the repository",
    409: "look at what the repository holds, then push again",
    412: "somebody else has committed in the meantime: look at the commit, then push again",
    413: "the hub does not accept files of this size",
}
_COMMIT: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_LONGEST: Final = 500
"""Maximum number of characters of a server's message that an error repeats."""


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file at one revision of the repository.

    Attributes:
        bytes: Its size.
        blob: Git id (SHA-1) of the file; of its pointer if the file is in LFS.
        sha256: Hash of a file in LFS, hex; None for other files.
    """

    bytes: int
    blob: str
    sha256: str | None

    def is_same(self, file: LocalFile) -> bool:
        """Check whether it has the same bytes as a local file."""
        if self.bytes != file.bytes:
            return False
        return self.blob == file.blob if self.sha256 is None else self.sha256 == file.sha256


@dataclass(frozen=True, slots=True)
class RepositoryState:
    """The state of the repository at one moment.

    Attributes:
        private: Whether only its owners can see it.
        head: Id of the latest commit of the branch ``main``.
        tags: Tag to id of the commit that it points to.
    """

    private: bool
    head: str
    tags: dict[str, str]


@dataclass(frozen=True, slots=True)
class RemoteRelease:
    """The release that the repository holds at some revision, according to its manifest.

    Attributes:
        version: Its version; None if the manifest has no version of the form ``X.Y.Z``.
        files: Paths of its files, the manifest included.
    """

    version: str | None
    files: frozenset[str]


class HubClient:
    """A dataset repository on a hub, which may not exist yet.

    Whatever the hub answers is checked before it is used or shown. Each method raises ``HubError`` if the hub cannot be
    reached, refuses, or sends an answer that no hub would send; the error never contains the token.

    Args:
        repository: ``ORG/NAME``.
        token: Token for the hub; by default from ``HF_TOKEN``, otherwise from huggingface_hub's own store.
        endpoint: Address of the hub; by default from ``HF_ENDPOINT``, otherwise huggingface.co.

    Raises:
        UsageError: huggingface_hub is not installed, or no hub can have a repository of this name.
        HubError: There is no token, or it has characters that no token has.
    """

    def __init__(self, repository: str, token: str | None = None, endpoint: str | None = None) -> None:
        try:
            from huggingface_hub import HfApi, get_token
            from huggingface_hub.errors import HFValidationError
            from huggingface_hub.utils._validators import validate_repo_id
        except ImportError as error:
            raise ExtraMissing(f"huggingface_hub is not installed ({error})", extra="hub") from error
        try:
            validate_repo_id(repository)
        except HFValidationError as error:
            raise UsageError(
                f"{repository!r} cannot be the name of a repository: {error}", remedy="choose another name"
            ) from error
        self.repository = repository
        self.token = token or get_token() or ""
        if not self.token:
            raise HubError("there is no token for the hub", remedy="set HF_TOKEN, or log in with: hf auth login")
        if not self.token.isascii():
            raise HubError(
                "the token for the hub contains characters that a token cannot contain",
                remedy="copy it into HF_TOKEN again",
            )
        keep_secret(self.token)
        give_up_on_silence()
        # HF_ENDPOINT is read here, as huggingface_hub reads it only once, when it is imported.
        self._api: HfApi = HfApi(endpoint=endpoint or os.environ.get("HF_ENDPOINT") or None, token=self.token)
        keep_secret(*secrets_in_address(self._api.endpoint))

    @property
    def endpoint(self) -> str:
        """Address of the hub."""
        return self._api.endpoint

    @property
    def url(self) -> str:
        """Web page of the dataset."""
        return f"{self.endpoint}/datasets/{self.repository}"

    def look(self) -> RepositoryState | None:
        """Return the current state of the repository; None if this token cannot see one."""
        from huggingface_hub.errors import RepositoryNotFoundError

        with self._asking("to show the repository"):
            try:
                info = self._api.dataset_info(self.repository)
                refs = self._api.list_repo_refs(self.repository, repo_type=_KIND)
            except RepositoryNotFoundError:
                return None
            heads = [self._commit(ref.target_commit) for ref in refs.branches if ref.name == "main"]
            tags = {self._text(ref.name): self._commit(ref.target_commit) for ref in refs.tags}
            # Only an explicit answer counts as private: an unknown visibility must not pass for a private repository.
            return RepositoryState(
                private=info.private is True, head=heads[0] if heads else self._commit(info.sha), tags=tags
            )

    def files(self, revision: str) -> dict[str, RemoteFile]:
        """List all files at a revision, by path."""
        from huggingface_hub import RepoFile

        with self._asking(f"for the files at {revision}"):
            entries = list(
                self._api.list_repo_tree(self.repository, recursive=True, revision=revision, repo_type=_KIND)
            )
            return {self._text(entry.path): self._file(entry) for entry in entries if isinstance(entry, RepoFile)}

    def _file(self, entry: RepoFile) -> RemoteFile:
        if type(entry.size) is not int or entry.size < 0:
            raise self._lie(f"gives {entry.size!r} as the size of a file")
        sha256 = None if entry.lfs is None else self._text(entry.lfs.sha256)
        return RemoteFile(entry.size, self._text(entry.blob_id), sha256)

    def commits_with(self, word: str) -> Iterator[str]:
        """Find the commits whose title or message contains a word, and return their ids, the latest first."""
        with self._asking("for the history"):
            commits = self._api.list_repo_commits(self.repository, repo_type=_KIND)
            found = [self._commit(each.commit_id) for each in commits if word in f"{each.title}\n{each.message}"]
        return iter(found)

    def read_release(self, revision: str) -> RemoteRelease | None:
        """Read the manifest at a revision; None if the file there is not a manifest."""
        with tempfile.TemporaryDirectory(prefix="hazardmill-hub-") as folder, self._asking("for the manifest there"):
            path = self._api.hf_hub_download(
                self.repository, MANIFEST, repo_type=_KIND, revision=revision, local_dir=folder
            )
            try:
                value: Any = json.loads(Path(path).read_bytes())
            except ValueError:
                return None
        # The manifest may be of a newer hazardmill, which `read_manifest` refuses; version and names are enough here.
        files = value.get("files") if isinstance(value, dict) else None
        if not isinstance(files, dict):
            return None
        version = value.get("version")
        known = isinstance(version, str) and re.fullmatch(r"\d{1,6}\.\d{1,6}\.\d{1,6}", version, re.ASCII)
        return RemoteRelease(version if known else None, frozenset({MANIFEST, *files}))

    def create(self) -> None:
        """Create the repository as a private one; an existing repository stays as it is."""
        from huggingface_hub.errors import HfHubHTTPError

        with self._asking("to make the repository"):
            try:
                self._api.create_repo(self.repository, repo_type=_KIND, private=True)
            except HfHubHTTPError as error:
                if error.response.status_code != 409:
                    raise

    def commit(
        self, files: dict[str, LocalFile], deleted: Iterable[str], *, title: str, message: str, parent: str
    ) -> str:
        """Upload files and make one commit of them.

        Args:
            files: Path in the repository to the local file.
            deleted: Paths of files that the commit removes.
            title: First line of the commit message.
            message: Rest of the commit message.
            parent: Id of the commit that must be the head of ``main``; otherwise the hub refuses.

        Returns:
            Id of the new commit.

        Raises:
            InputError: The hub does not accept the metadata of the card.
            HubError: The commit was not made, or its answer was lost, so that it is unknown whether it was made.
        """  # noqa: DOC501  # `_asking` turns any other ValueError into a HubError
        from huggingface_hub import CommitOperationAdd, CommitOperationDelete

        operations: list[Any] = [
            CommitOperationAdd(path_in_repo=name, path_or_fileobj=file.path) for name, file in files.items()
        ]
        operations += [CommitOperationDelete(path_in_repo=name, is_folder=False) for name in deleted]
        with self._asking("to take the commit"):
            try:
                made = self._api.create_commit(
                    self.repository,
                    operations,
                    commit_message=title,
                    commit_description=message,
                    repo_type=_KIND,
                    parent_commit=parent,
                )
            except ValueError as error:
                if "README.md" not in str(error):
                    raise
                raise InputError(
                    f"the hub does not accept the card: {self._scrub(error)}",
                    file="README.md",
                    remedy="build the release again with another version of hazardmill",
                ) from error
            return self._commit(made.oid)

    def tag(self, tag: str, revision: str) -> None:
        """Set a tag on a commit; if the tag exists already, it is not moved, and ``HubError`` is raised."""
        with self._asking(f"to set the tag {tag}"):
            self._api.create_tag(self.repository, tag=tag, revision=revision, repo_type=_KIND)

    def publish(self) -> None:
        """Make the repository public."""
        with self._asking("to make the repository public"):
            self._api.update_repo_settings(self.repository, private=False, repo_type=_KIND)

    def error(self, message: str, remedy: str) -> HubError:
        """Build an error about this repository, without secrets in its message."""
        return HubError(self._scrub(message), file=self.url, remedy=remedy)

    def _text(self, said: object) -> str:
        """Check a name from an answer of the hub before it is used in further requests or shown.

        Returns:
            The name, unchanged.

        Raises:
            HubError: It is not a text, is empty or too long, or contains the token.
        """
        if not isinstance(said, str) or not said or len(said) > _LONGEST:
            raise self._lie(f"sends {said!r:.80} instead of a name")
        if holds_secret(said):
            raise self._lie("sends the token back instead of a name")
        return said

    def _commit(self, said: object) -> str:
        text = self._text(said)
        if not _COMMIT.fullmatch(text):
            raise self._lie(f"sends {text!r:.80} instead of the id of a commit")
        return text

    def _lie(self, what: str) -> HubError:
        return self.error(f"the hub's answer is not valid: it {what}", "check HF_ENDPOINT, and ask the hub's operator")

    def _scrub(self, text: object) -> str:
        return scrub(" ".join(str(text).split()), self.token)[:_LONGEST]

    @contextmanager
    def _asking(self, what: str) -> Iterator[None]:
        import httpx
        from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled

        try:
            yield
            return
        except (InputError, HubError) as error:
            failure: InputError | HubError = error
        # An invalid answer can fail anywhere in huggingface_hub, with any error: KeyError, TypeError...
        except Exception as error:
            cause = error if isinstance(error, HfHubHTTPError) else error.__cause__
            if isinstance(cause, HfHubHTTPError):
                failure = self._refusal(cause, what)
            elif isinstance(cause, HubError):
                failure = cause
            else:
                remedy, said = RESUME, f"the hub does not answer when asked {what}: {cause or error!r}"
                if isinstance(error, OfflineModeIsEnabled):
                    remedy = "unset HF_HUB_OFFLINE, then push again"
                elif isinstance(error, httpx.UnsupportedProtocol):
                    remedy = "write HF_ENDPOINT with https://, then push again"
                # The error of an upload arrives wrapped in a RuntimeError.
                elif not isinstance(error, httpx.HTTPError | RuntimeError | OSError):
                    said = f"the hub's answer is not valid when asked {what}: {error!r}"
                    remedy = "check HF_ENDPOINT, and ask the hub's operator"
                failure = self.error(said, remedy)
        # Raised outside of the handlers: an error of a library may contain the token, and would become the context.
        failure.message = self._scrub(failure.message)
        failure.__cause__ = failure.__context__ = None
        raise failure

    def _refusal(self, error: Any, what: str) -> HubError:  # noqa: ANN401  # a class of a library that may be missing
        status = error.response.status_code
        said = error.server_message or error.response.reason_phrase
        remedy = _REMEDIES.get(status, RESUME)
        if status == 429:
            after = error.response.headers.get("retry-after")
            remedy = f"wait {f'{after} s' if after else 'a while'}, then {RESUME}"
        return self.error(f"the hub answers with status {status} when asked {what}: {said}", remedy)
