"""Pushing a release to a hub of datasets: one commit, a check of it, one tag, and only then public access.

The progress of a push is not recorded on this machine; the hub itself is asked. A push that was interrupted at any
point, even killed, is simply started again, and finds what exists already: the repository, uploaded files, the commit
(by the hash of the manifest in its message, and by the hash of each file), the tag. It never makes a second commit of
the same release, and never moves a tag.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

from hazardmill.errors import HubError, InputError, ReleaseRefused, UsageError
from hazardmill.records import FrozenModel
from hazardmill.release.build.configs import default_config
from hazardmill.release.hub.client import RESUME, HubClient, RemoteFile, RepositoryState
from hazardmill.release.hub.folder import LocalRelease, read_folder
from hazardmill.release.hub.verify_load import CountRows, count_rows
from hazardmill.release.manifest import MANIFEST

_REPOSITORY: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}/[A-Za-z0-9][A-Za-z0-9._-]{0,95}")
_NOT_OURS: Final = frozenset({".gitattributes"})
"""Files that a hub creates in a new repository."""
_MAY_BE_REPLACED: Final = _NOT_OURS | {"README.md"}
"""Files that a repository may hold before its first release, if it was created by hand."""


class PushSummary(FrozenModel):
    """What a push did, or what a dry run found that a push would do.

    Attributes:
        repository: ``ORG/NAME``.
        url: Web page of the dataset.
        version: Version of the release.
        tag: Its tag.
        manifest_sha256: Hash of its manifest.
        revision: Id of the commit that has the release; None if a dry run found no such commit.
        files: Number of files of the release.
        bytes: Size of all these files together.
        created: Whether this push created the repository.
        committed: Whether this push made the commit; False if it existed already.
        tagged: Whether this push set the tag.
        published: Whether this push made the repository public.
        private: Whether only its owners can see the repository afterwards.
        changed: Files that the commit adds or replaces.
        deleted: Files of the previous release that the commit removes.
        kept: Files that belong to no release, and stay.
        rows: Number of rows that ``datasets`` loaded, by config and split; None if nothing was loaded.
        config: The config that is loaded if none is named; None if the release has no rows.
        dry_run: Whether nothing was changed.
    """

    repository: str
    url: str
    version: str
    tag: str
    manifest_sha256: str
    revision: str | None
    files: int
    bytes: int
    created: bool
    committed: bool
    tagged: bool
    published: bool
    private: bool
    changed: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    rows: dict[str, dict[str, int]] | None = None
    config: str | None = None
    dry_run: bool = False


class _Change(FrozenModel):
    """What the commit will change in the head of the repository."""

    changed: tuple[str, ...]
    deleted: tuple[str, ...]
    kept: tuple[str, ...]


def push(
    folder: Path,
    repository: str,
    *,
    public: bool = False,
    dry_run: bool = False,
    allow_offline: bool = False,
    manifest_sha256: str | None = None,
    token: str | None = None,
    endpoint: str | None = None,
    rows_of: CountRows = count_rows,
    say: Callable[[str], object] = lambda line: None,
) -> PushSummary:
    """Push the release in a folder to a hub, or continue an interrupted push.

    Args:
        folder: Folder of the release.
        repository: ``ORG/NAME``; it is created as a private repository if it does not exist.
        public: Whether to make the repository public at the end. A public repository is never made private.
        dry_run: Whether only to look what a push would do.
        allow_offline: Whether the release may contain tasks that no language model wrote.
        manifest_sha256: Hash (SHA-256, hex) of the manifest of the release that is meant; None takes any release.
        token: Token for the hub; by default from ``HF_TOKEN``, otherwise from huggingface_hub's own store.
        endpoint: Address of the hub; by default from ``HF_ENDPOINT``, otherwise huggingface.co.
        rows_of: Loads the release from the hub and counts its rows.
        say: Called before each step with a line that describes it.

    Returns:
        What the push did; in a dry run, what a push would do.

    Raises:
        UsageError: The name of the repository is not of the form ``ORG/NAME``, or huggingface_hub is not installed.
        InputError: The folder has no release, a damaged one or not the one that is meant, or the hub does not accept
            its card.
        ReleaseRefused: The release has tasks that no language model wrote, and ``allow_offline`` is not set.
        HubError: The hub cannot be reached or refuses, the tag is on other content, ``main`` has a newer release or
            files of somebody else, or the hub does not have what was sent.
    """
    if not _REPOSITORY.fullmatch(repository):
        raise UsageError(f"{repository[:200]!r} cannot be the name of a repository", remedy="write it as ORG/NAME")
    say(f"checking {folder} against its manifest")
    local = read_folder(folder)
    if manifest_sha256 not in (None, local.sha256):
        raise InputError(
            f"its manifest is {local.sha256}, not {manifest_sha256}: it has changed since it was approved",
            file=str(folder),
            remedy="retry, and look at the release as it is now",
        )
    _admit(local, allow_offline)
    client = HubClient(repository, token, endpoint)
    seen = client.look()
    revision = None if seen is None else _find_commit(client, local, seen)
    change = _plan_commit(client, local, seen) if revision is None else _Change(changed=(), deleted=(), kept=())
    tagged = seen is not None and local.tag in seen.tags
    result = PushSummary(
        repository=repository,
        url=client.url,
        version=local.manifest.version,
        tag=local.tag,
        manifest_sha256=local.sha256,
        revision=revision,
        files=len(local.files),
        bytes=local.bytes,
        created=seen is None,
        committed=revision is None,
        tagged=not tagged,
        published=public and (seen is None or seen.private),
        private=not public and (seen is None or seen.private),
        changed=change.changed,
        deleted=change.deleted,
        kept=change.kept,
        config=default_config(local.manifest.counts),
        dry_run=dry_run,
    )
    if dry_run:
        return result
    if seen is None:
        say(f"creating {repository} as a private repository")
        client.create()
        seen = _there(client)
        # Somebody else may have created it in the meantime, and may even have pushed this release to it.
        change = _plan_commit(client, local, seen)
        revision = None if change.changed else seen.head
    if revision is None:
        say(f"committing {len(change.changed)} files, {len(change.deleted)} deleted")
        revision = _commit(client, local, change, seen)
    rows = None
    if not tagged:
        say(f"checking the hub's files at {revision}")
        rows = _check_upload(client, local, revision, rows_of)
        say(f"tagging it {local.tag}")
        _tag(client, local, revision)
    if result.published:
        say("making it public")
        _publish(client)
    return result.model_copy(update={"revision": revision, "rows": rows})


def _admit(local: LocalRelease, allow_offline: bool) -> None:
    offline, recorded = local.manifest.offline, local.manifest.recorded
    if (offline or recorded) and not allow_offline:
        told = {
            f"{offline} tasks of this release were written by hazardmill's rules, and not by a language model": offline,
            f"{recorded} were made of recorded answers that do not come with hazardmill": recorded,
        }
        raise ReleaseRefused(
            "; ".join(text for text, tasks in told.items() if tasks),
            findings=tuple(
                f"{name}: {tasks} tasks" for name, tasks in (("offline", offline), ("recorded", recorded)) if tasks
            ),
            remedy="leave them out of the release, or push with --allow-offline",
        )


def _find_commit(client: HubClient, local: LocalRelease, seen: RepositoryState) -> str | None:
    """Find the commit that has the release: by its tag, at the head, or by the hash in its message.

    Returns:
        Id of the commit; None if there is none.

    Raises:
        HubError: The tag is on other content.
    """  # noqa: DOC501  # the helper makes a HubError
    if (at := seen.tags.get(local.tag)) is not None:
        if not _has(client.files(at), local):
            raise _tag_conflict(client, local, at)
        return at
    if _has(client.files(seen.head), local):
        return seen.head
    for commit in client.commits_with(local.sha256):
        if _has(client.files(commit), local):
            return commit
    return None


def _has(files: dict[str, RemoteFile], local: LocalRelease) -> bool:
    """Check whether a tree has every file of a release; the manifest comes first, as it differs between releases."""
    names = [MANIFEST, *local.files]
    return all(name in files and files[name].is_same(local.files[name]) for name in names)


def _tag_conflict(client: HubClient, local: LocalRelease, at: str) -> HubError:
    return client.error(
        f"the tag {local.tag} is on other content (commit {at}), and a tag is never moved",
        "build the release under another version",
    )


def _plan_commit(client: HubClient, local: LocalRelease, seen: RepositoryState | None) -> _Change:
    """Compare the release with the head of the repository, and decide which files the commit changes.

    Returns:
        Sorted names of the files that the commit adds or replaces, of those that it deletes, and of those that belong
        to no release and stay.

    Raises:
        HubError: The head has files of somebody else, or a newer release.
    """
    files = {} if seen is None else client.files(seen.head)
    changed = [name for name, file in sorted(local.files.items()) if name not in files or not files[name].is_same(file)]
    others = files.keys() - local.files.keys() - _NOT_OURS
    before = client.read_release(seen.head) if seen is not None and MANIFEST in files else None
    if before is None and not files.keys() <= _MAY_BE_REPLACED:
        raise client.error(
            "the repository holds something that is not a release of hazardmill",
            "choose another repository, or empty it first",
        )
    if before is not None and before.version is not None and _is_newer(before.version, local.manifest.version):
        raise client.error(
            f"main has release {before.version}, and {local.manifest.version} is older",
            f"build it under a version above {before.version}, or push it to another repository",
        )
    deleted = others & (frozenset() if before is None else before.files)
    return _Change(changed=tuple(changed), deleted=tuple(sorted(deleted)), kept=tuple(sorted(others - deleted)))


def _is_newer(one: str, other: str) -> bool:
    return [int(part) for part in one.split(".")] > [int(part) for part in other.split(".")]


def _there(client: HubClient) -> RepositoryState:
    seen = client.look()
    if seen is None:
        raise client.error("the repository was created, but cannot be seen", "check whether the token may read it")
    return seen


def _again(client: HubClient, error: HubError) -> RepositoryState:
    """Return the state of the repository after an error; if it cannot be seen, raise that first error."""
    try:
        return _there(client)
    except HubError:
        raise error from None


def _commit(client: HubClient, local: LocalRelease, change: _Change, seen: RepositoryState) -> str:
    """Make the commit and return its id; if the hub reports an error, check whether it was made all the same."""
    manifest = local.manifest
    try:
        return client.commit(
            local.files,
            change.deleted,
            title=f"{manifest.name} {manifest.version} (manifest {local.sha256[:12]})",
            message=f"Release {manifest.version} of {manifest.name}.\n\nmanifest sha256: {local.sha256}",
            parent=seen.head,
        )
    except HubError as error:
        # The hub may have made the commit and its answer got lost, or another push of this release was faster.
        found = _find_commit(client, local, _again(client, error))
        if found is None:
            raise
        return found


def _check_upload(
    client: HubClient, local: LocalRelease, revision: str, rows_of: CountRows
) -> dict[str, dict[str, int]]:
    """Compare what the hub has with the folder: file hashes, and numbers of rows as ``datasets`` loads them.

    Returns:
        Number of rows by config and split.

    Raises:
        HubError: A file is missing or differs, or other rows are loaded than the manifest counts.
    """
    files = client.files(revision)
    wrong = [name for name, file in local.files.items() if name not in files or not files[name].is_same(file)]
    if wrong:
        raise client.error(
            f"files at {revision} are missing or differ from what was sent: {', '.join(sorted(wrong)[:5])}", RESUME
        )
    rows = rows_of(client, revision, local)
    if rows != local.manifest.counts:
        other = sorted(name for name in local.manifest.counts if rows.get(name) != local.manifest.counts[name])
        named = ", ".join(f"{name}: {rows.get(name)} not {local.manifest.counts[name]}" for name in other[:5])
        raise client.error(
            f"the rows that datasets loads at {revision} differ from the counts in the manifest: {named}",
            "nothing was tagged: build the release again",
        )
    return rows


def _tag(client: HubClient, local: LocalRelease, revision: str) -> None:
    """Set the tag; if the hub reports an error, check where the tag is."""
    try:
        client.tag(local.tag, revision)
    except HubError as error:
        at = _again(client, error).tags.get(local.tag)
        if at is None:
            raise
        if at != revision and not _has(client.files(at), local):
            raise _tag_conflict(client, local, at) from None


def _publish(client: HubClient) -> None:
    """Make the repository public; if the hub reports an error, check whether it is."""
    try:
        client.publish()
    except HubError as error:
        if _again(client, error).private:
            raise
