"""Pushing a release to a hub of datasets: one commit, checked, then one tag, and only then open to everybody.

Nothing is written down here of how far a push is: the hub itself is asked. So a push that was cut off anywhere, killed
or not, is made again from the beginning, and finds what there is: a repository, files that were brought up, the commit
(by the manifest's hash in its message, and by the hash of each file), the tag. It never makes a second commit of the
same release, and never moves a tag.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

from hazardmill.errors import HubError, ReleaseRefused, UsageError
from hazardmill.records import FrozenModel
from hazardmill.release.hub.client import RESUME, HubClient, RemoteFile, RepositoryState
from hazardmill.release.hub.folder import LocalRelease, read_folder
from hazardmill.release.hub.verify_load import CountRows, count_rows
from hazardmill.release.manifest import MANIFEST

_REPOSITORY: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}/[A-Za-z0-9][A-Za-z0-9._-]{0,95}")
_NOT_OURS: Final = frozenset({".gitattributes"})
"""What hubs put into a repository by themselves."""
_MAY_BE_REPLACED: Final = _NOT_OURS | {"README.md"}
"""What a repository may hold that was made by hand for a first release."""


class PushSummary(FrozenModel):
    """What a push did; a dry run: what a push would do."""

    repository: str
    url: str
    version: str
    tag: str
    manifest_sha256: str
    revision: str | None
    """The commit that has the release; null if a dry run found none."""
    files: int
    bytes: int
    created: bool
    """Whether the repository was made now; so for the others."""
    committed: bool
    tagged: bool
    published: bool
    private: bool
    """Whether only its owners can see the repository, afterwards."""
    changed: tuple[str, ...] = ()
    """Files that the commit adds or replaces."""
    deleted: tuple[str, ...] = ()
    """Files of the release before it that the commit takes away."""
    kept: tuple[str, ...] = ()
    """Files that belong to no release, and stay."""
    rows: dict[str, dict[str, int]] | None = None
    """Rows that ``datasets`` loaded, by config and split; null where it was not asked."""
    dry_run: bool = False


class _Change(FrozenModel):
    """What the commit is to do to the head."""

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
    token: str | None = None,
    endpoint: str | None = None,
    rows_of: CountRows = count_rows,
    say: Callable[[str], object] = lambda line: None,
) -> PushSummary:
    """Push the release in a folder, or go on with a push of it.

    Args:
        folder: Of the release.
        repository: ``ORG/NAME``; made, and open to nobody else, if it is missing.
        public: Whether everybody may see it, once all else is done. Never closes a repository.
        dry_run: Look only.
        allow_offline: Whether tasks may be in it that no language model wrote.
        token: Of the hub; by default that of ``HF_TOKEN``, else of huggingface_hub's own store.
        endpoint: Address of the hub; by default that of ``HF_ENDPOINT``, else huggingface.co.
        rows_of: What loads the release from the hub and counts its rows.
        say: Told in words what is done next.

    Raises:
        UsageError: This is no name of a repository, or huggingface_hub is not installed.
        InputError: The release is damaged.
        ReleaseRefused: It has tasks that no language model wrote, and they are not allowed.
        HubError: The hub cannot be asked or refuses; the tag is on something else; main has a newer release; or the hub
            has not what was sent.
    """
    if not _REPOSITORY.fullmatch(repository):
        raise UsageError(f"{repository[:200]!r} is no repository of a hub", remedy="write it as ORG/NAME")
    say(f"checking {folder} against its manifest")
    local = read_folder(folder)
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
        dry_run=dry_run,
    )
    if dry_run:
        return result
    if seen is None:
        say(f"making {repository}, private")
        client.create()
        seen = _there(client)
        # Somebody else may have made it in the meantime, and filled it: even with this release.
        change = _plan_commit(client, local, seen)
        revision = None if change.changed else seen.head
    if revision is None:
        say(f"committing {len(change.changed)} files, {len(change.deleted)} deleted")
        revision = _commit(client, local, change, seen)
    rows = None
    if not tagged:
        say(f"checking what is there at {revision}")
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
            f"{offline} tasks of this release were written by our rules, and by no language model": offline,
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
    """The commit that has the release; null if there is none.

    Raises:
        HubError: The tag is on something else.
    """
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
    """Whether a tree has every file of a release, the manifest first: that alone tells most releases apart."""
    names = [MANIFEST, *local.files]
    return all(name in files and files[name].is_same(local.files[name]) for name in names)


def _tag_conflict(client: HubClient, local: LocalRelease, at: str) -> HubError:
    return client.error(
        f"the tag {local.tag} is on other content (commit {at}), and a tag is never moved",
        "build the release under another version",
    )


def _plan_commit(client: HubClient, local: LocalRelease, seen: RepositoryState | None) -> _Change:
    """What the commit is to do."""
    files = {} if seen is None else client.files(seen.head)
    changed = [name for name, file in sorted(local.files.items()) if name not in files or not files[name].is_same(file)]
    others = files.keys() - local.files.keys() - _NOT_OURS
    before = client.read_release(seen.head) if seen is not None and MANIFEST in files else None
    if before is None and not files.keys() <= _MAY_BE_REPLACED:
        raise client.error(
            "the repository holds something that is no release of hazardmill", "choose another one, or empty it first"
        )
    if before is not None and before.version is not None and _is_newer(before.version, local.manifest.version):
        raise client.error(
            f"main has release {before.version}, and {local.manifest.version} would take it back to an older one",
            f"build it under a version above {before.version}, or push it to a repository of its own",
        )
    deleted = others & (frozenset() if before is None else before.files)
    return _Change(changed=tuple(changed), deleted=tuple(sorted(deleted)), kept=tuple(sorted(others - deleted)))


def _is_newer(one: str, other: str) -> bool:
    return [int(part) for part in one.split(".")] > [int(part) for part in other.split(".")]


def _there(client: HubClient) -> RepositoryState:
    seen = client.look()
    if seen is None:
        raise client.error("the repository was made, and is not to be seen", "look whether the token may read it")
    return seen


def _again(client: HubClient, error: HubError) -> RepositoryState:
    """The repository after something went wrong; where it cannot be seen, that first error is the one to tell."""
    try:
        return _there(client)
    except HubError:
        raise error from None


def _commit(client: HubClient, local: LocalRelease, change: _Change, seen: RepositoryState) -> str:
    """Make the commit; where the answer is lost, look whether it was made."""
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
        # A hub may have made the commit and lost the answer; or another push of the same release was quicker.
        found = _find_commit(client, local, _again(client, error))
        if found is None:
            raise
        return found


def _check_upload(
    client: HubClient, local: LocalRelease, revision: str, rows_of: CountRows
) -> dict[str, dict[str, int]]:
    """Hold what the hub has against the folder: by hashes, and by rows as its users load them."""
    files = client.files(revision)
    wrong = [name for name, file in local.files.items() if name not in files or not files[name].is_same(file)]
    if wrong:
        raise client.error(
            f"at {revision} the hub has other bytes than were sent, or none: {', '.join(sorted(wrong)[:5])}", RESUME
        )
    rows = rows_of(client, revision, local)
    if rows != local.manifest.counts:
        other = sorted(name for name in local.manifest.counts if rows.get(name) != local.manifest.counts[name])
        named = ", ".join(f"{name}: {rows.get(name)} not {local.manifest.counts[name]}" for name in other[:5])
        raise client.error(
            f"datasets loads other rows at {revision} than the manifest counts: {named}",
            "nothing was tagged: build the release again",
        )
    return rows


def _tag(client: HubClient, local: LocalRelease, revision: str) -> None:
    """Set the tag; where the hub refuses or the answer is lost, look where it is."""
    try:
        client.tag(local.tag, revision)
    except HubError as error:
        at = _again(client, error).tags.get(local.tag)
        if at is None:
            raise
        if at != revision and not _has(client.files(at), local):
            raise _tag_conflict(client, local, at) from None


def _publish(client: HubClient) -> None:
    """Open the repository; where the answer is lost, look whether it is."""
    try:
        client.publish()
    except HubError as error:
        if _again(client, error).private:
            raise
