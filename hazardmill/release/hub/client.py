"""One dataset's repository on a hub, asked through Hugging Face's own client. Errors come without the token."""

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

from hazardmill.errors import HubError, InputError, UsageError
from hazardmill.llm.redact import holds_secret, keep_secret, scrub, secrets_in_address
from hazardmill.release.hub.folder import LocalFile
from hazardmill.release.hub.timeouts import give_up_on_silence
from hazardmill.release.manifest import MANIFEST

if TYPE_CHECKING:
    from huggingface_hub import HfApi, RepoFile

RESUME: Final = "push again: it goes on where it stopped"
_KIND: Final = "dataset"
_REMEDIES: Final = {
    401: "the hub does not know the token: set HF_TOKEN, or log in with: hf auth login",
    403: "use a token that may write to this organisation",
    404: "look at the name, and whether the token may see the repository",
    409: "look at what is there, then push again",
    412: "somebody else has committed in the meantime: look at what, then push again",
    413: "the hub takes no file of this size",
}
_COMMIT: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_LONGEST: Final = 500
"""Characters of a server's own words that an error repeats."""


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file at one revision of the repository."""

    bytes: int
    blob: str
    """The id that git gives the file, or, of one in LFS, its pointer."""
    sha256: str | None
    """Of a file in LFS; null for others."""

    def is_same(self, file: LocalFile) -> bool:
        """Whether it has the bytes of a file here."""
        if self.bytes != file.bytes:
            return False
        return self.blob == file.blob if self.sha256 is None else self.sha256 == file.sha256


@dataclass(frozen=True, slots=True)
class RepositoryState:
    """The repository as it was when it was looked at."""

    private: bool
    head: str
    tags: dict[str, str]
    """Tag to the commit that it names."""


@dataclass(frozen=True, slots=True)
class RemoteRelease:
    """The release that a revision has."""

    version: str | None
    """Null where its manifest names none that can be compared."""
    files: frozenset[str]
    """Its files, the manifest among them."""


class HubClient:
    """A repository, which may not be there yet.

    Args:
        repository: ``ORG/NAME``.
        token: Of the hub; by default that of ``HF_TOKEN``, else of huggingface_hub's own store.
        endpoint: Address of the hub; by default that of ``HF_ENDPOINT``, else huggingface.co.

    Raises:
        UsageError: huggingface_hub is not installed, or no hub can have a repository of this name.
        HubError: There is no token.
    """

    def __init__(self, repository: str, token: str | None = None, endpoint: str | None = None) -> None:
        try:
            from huggingface_hub import HfApi, get_token
            from huggingface_hub.errors import HFValidationError
            from huggingface_hub.utils._validators import validate_repo_id
        except ImportError as error:
            raise UsageError(
                f"huggingface_hub is not installed ({error})", remedy="pip install 'hazardmill[hub]'"
            ) from error
        try:
            validate_repo_id(repository)
        except HFValidationError as error:
            raise UsageError(
                f"{repository!r} is no repository of a hub: {error}", remedy="take another name"
            ) from error
        self.repository = repository
        self.token = token or get_token() or ""
        if not self.token:
            raise HubError("there is no token for the hub", remedy="set HF_TOKEN, or log in with: hf auth login")
        if not self.token.isascii():
            raise HubError("the token for the hub has letters that no token has", remedy="copy it again into HF_TOKEN")
        keep_secret(self.token)
        give_up_on_silence()
        # Read now: huggingface_hub reads its environment once, when it is imported.
        self._api: HfApi = HfApi(endpoint=endpoint or os.environ.get("HF_ENDPOINT") or None, token=self.token)
        keep_secret(*secrets_in_address(self._api.endpoint))

    @property
    def endpoint(self) -> str:
        """Address of the hub."""
        return self._api.endpoint

    @property
    def url(self) -> str:
        """Where people look at the dataset."""
        return f"{self.endpoint}/datasets/{self.repository}"

    def look(self) -> RepositoryState | None:
        """The repository as it is; null if there is none that this token may see."""
        from huggingface_hub.errors import RepositoryNotFoundError

        with self._asking("to show the repository"):
            try:
                info = self._api.dataset_info(self.repository)
                refs = self._api.list_repo_refs(self.repository, repo_type=_KIND)
            except RepositoryNotFoundError:
                return None
            heads = [self._commit(ref.target_commit) for ref in refs.branches if ref.name == "main"]
            tags = {self._text(ref.name): self._commit(ref.target_commit) for ref in refs.tags}
            # A repository that says nothing of its visibility is not to be taken for a closed one.
            return RepositoryState(
                private=info.private is True, head=heads[0] if heads else self._commit(info.sha), tags=tags
            )

    def files(self, revision: str) -> dict[str, RemoteFile]:
        """All files at a revision, by path."""
        from huggingface_hub import RepoFile

        with self._asking(f"for the files at {revision}"):
            entries = list(
                self._api.list_repo_tree(self.repository, recursive=True, revision=revision, repo_type=_KIND)
            )
            return {self._text(entry.path): self._file(entry) for entry in entries if isinstance(entry, RepoFile)}

    def _file(self, entry: RepoFile) -> RemoteFile:
        if type(entry.size) is not int or entry.size < 0:
            raise self._lie(f"says of a file that it has {entry.size!r} bytes")
        sha256 = None if entry.lfs is None else self._text(entry.lfs.sha256)
        return RemoteFile(entry.size, self._text(entry.blob_id), sha256)

    def commits_with(self, word: str) -> Iterator[str]:
        """The ids of the commits whose message has a word, the latest first."""
        with self._asking("for the history"):
            commits = self._api.list_repo_commits(self.repository, repo_type=_KIND)
            found = [self._commit(each.commit_id) for each in commits if word in f"{each.title}\n{each.message}"]
        return iter(found)

    def read_release(self, revision: str) -> RemoteRelease | None:
        """The release at a revision, by its manifest; null if there is no manifest of one."""
        with tempfile.TemporaryDirectory(prefix="hazardmill-hub-") as folder, self._asking("for the manifest there"):
            path = self._api.hf_hub_download(
                self.repository, MANIFEST, repo_type=_KIND, revision=revision, local_dir=folder
            )
            try:
                value: Any = json.loads(Path(path).read_bytes())
            except ValueError:
                return None
        # Of a hazardmill whose manifests this one cannot read, too: version and names are all that matters.
        files = value.get("files") if isinstance(value, dict) else None
        if not isinstance(files, dict):
            return None
        version = value.get("version")
        known = isinstance(version, str) and re.fullmatch(r"\d{1,6}\.\d{1,6}\.\d{1,6}", version, re.ASCII)
        return RemoteRelease(version if known else None, frozenset({MANIFEST, *files}))

    def create(self) -> None:
        """Make the repository, open to nobody else; one that is there stays as it is."""
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
        """Bring files up and make one commit of them; its id.

        Raises:
            InputError: The hub does not take the card's metadata.
            HubError: The commit was not made, or nobody knows.
        """
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
                    f"the hub does not take the card: {self._scrub(error)}",
                    file="README.md",
                    remedy="build the release again with another hazardmill",
                ) from error
            return self._commit(made.oid)

    def tag(self, tag: str, revision: str) -> None:
        """Set a tag; one that is there stays where it is, and is an error."""
        with self._asking(f"to set the tag {tag}"):
            self._api.create_tag(self.repository, tag=tag, revision=revision, repo_type=_KIND)

    def publish(self) -> None:
        """Open the repository to everybody."""
        with self._asking("to make the repository public"):
            self._api.update_repo_settings(self.repository, private=False, repo_type=_KIND)

    def error(self, message: str, remedy: str) -> HubError:
        """An error about this repository."""
        return HubError(self._scrub(message), file=self.url, remedy=remedy)

    def _text(self, said: object) -> str:
        """A text of the hub's that is gone on with, and may be shown.

        Raises:
            HubError: It is none, or holds the token.
        """
        if not isinstance(said, str) or not said or len(said) > _LONGEST:
            raise self._lie(f"says {said!r:.80} where a name belongs")
        if holds_secret(said):
            raise self._lie("repeats the token where a name belongs")
        return said

    def _commit(self, said: object) -> str:
        text = self._text(said)
        if not _COMMIT.fullmatch(text):
            raise self._lie(f"says {text!r:.80} where the id of a commit belongs")
        return text

    def _lie(self, what: str) -> HubError:
        return self.error(f"the hub answers as none does: it {what}", "look at HF_ENDPOINT, and ask its operator")

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
        # Whatever an answer that is none of a hub's breaks in huggingface_hub comes out: KeyError, TypeError...
        except Exception as error:
            cause = error if isinstance(error, HfHubHTTPError) else error.__cause__
            if isinstance(cause, HfHubHTTPError):
                failure = self._refusal(cause, what)
            elif isinstance(cause, HubError):
                failure = cause
            else:
                remedy, said = RESUME, f"asked {what}, the hub does not answer: {cause or error!r}"
                if isinstance(error, OfflineModeIsEnabled):
                    remedy = "unset HF_HUB_OFFLINE, then push again"
                elif isinstance(error, httpx.UnsupportedProtocol):
                    remedy = "write HF_ENDPOINT with https://, then push again"
                # What an upload met comes as a RuntimeError around it.
                elif not isinstance(error, httpx.HTTPError | RuntimeError | OSError):
                    said = f"asked {what}, the hub answers as none does: {error!r}"
                    remedy = "look at HF_ENDPOINT, and ask its operator"
                failure = self.error(said, remedy)
        # Outside of the handler: what a library raised may hold the token, and would travel along as context.
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
        return self.error(f"asked {what}, the hub answers with status {status}: {said}", remedy)
