"""The chain of commits: each manifest names the one before it, and the journal names the last.

A store whose last commits were deleted whole is as consistent as it was before them. It differs only from what
``journal/last.json`` says, which is written right after each manifest. A crash in between leaves it one commit behind,
never ahead. If the files of two histories of a store are mixed, a manifest follows another one than the one that is
there. A manifest that names no predecessor begins a chain: the first one, and those of stores written before chains.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from hazardmill.errors import CorruptStore
from hazardmill.records import content_hash
from hazardmill.store.files.fsync_io import make_folder, rename, store_error, write_file
from hazardmill.store.files.layout import Layout
from hazardmill.store.maintenance.findings import Finding, history_remedy

if TYPE_CHECKING:
    from hazardmill.store.files.manifests import CommitManifest

LAST: Final = "journal/last.json"
"""The file that names the last commit, relative to the store."""


@dataclass(frozen=True)
class CommitLink:
    """What names a commit: in the manifest after it, and in the journal.

    Attributes:
        sequence: Number of the commit.
        sha256: SHA-256 (hex) of the body of its manifest.
    """

    sequence: int
    file: str
    """Name of its manifest."""
    sha256: str


def seal(body: dict[str, Any]) -> bytes:
    """Return the bytes of a JSON file that carries the checksum of its body."""
    return json.dumps({"body": body, "sha256": content_hash(body)}, indent=1).encode()


def unseal(data: bytes) -> dict[str, Any] | None:
    """Return the body in the bytes of a file that ``seal`` made; null if it does not match its checksum."""
    try:
        wrapped = json.loads(data)
        body: dict[str, Any] = wrapped["body"]
        return body if wrapped["sha256"] == content_hash(body) and isinstance(body, dict) else None
    except (ValueError, KeyError, TypeError):
        return None


def read_last(layout: Layout) -> CommitLink | None:
    """Return the last commit as the journal names it; null if it names none.

    Args:
        layout: The store's paths.

    Raises:
        CorruptStore: The file was changed after it was written.
        StoreError: It cannot be read.
    """  # noqa: DOC501  # the helper makes a StoreError
    path = layout.root / LAST
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise store_error(error, path, "read which commit is the last") from error
    body = unseal(data)
    if body is None:
        message = "the file that names the last commit does not match its checksum"
        raise CorruptStore(message, file=str(path), remedy=history_remedy(layout.root))
    return CommitLink(**body)


def write_last(layout: Layout, link: CommitLink) -> None:
    """Let the journal name this commit as the last. The caller holds the commit lock.

    Raises:
        StoreError: The disk refuses.
    """
    make_folder(layout.staging)
    staged = layout.staging / Path(LAST).name
    write_file(staged, seal(asdict(link)))
    rename(staged, layout.root / LAST)


def find_lost_end(layout: Layout, manifests: Sequence[CommitManifest], last: CommitLink | None) -> Iterator[Finding]:
    """Yield a finding if the last commits are gone, or if the last one is not the one that the journal names.

    Args:
        layout: The store's paths.
        manifests: The manifests that count, in commit order.
        last: The last commit as the journal names it.
    """
    if last is None:
        return
    end, remedy = max((manifest.sequence for manifest in manifests), default=0), history_remedy(layout.root)
    if end < last.sequence:
        gone = f"commit {last.sequence} is" if end + 1 == last.sequence else f"commits {end + 1} to {last.sequence} are"
        message = (
            f"{gone} gone, although the journal names commit {last.sequence} as the last: its files were deleted, or "
            "an older copy was put in the place of the store"
        )
        yield Finding("last_missing", f"manifests/{last.file}", message, remedy)
    known = [link for manifest in manifests for link in manifest.links if link.sequence == last.sequence]
    if known and last not in known:
        message = (
            f"the journal names another commit {last.sequence}, {last.file}: an older copy was put in the place of the "
            "store, and continued"
        )
        yield Finding("chain_broken", f"manifests/{known[0].file}", message, remedy)


def find_breaks(layout: Layout, manifests: Sequence[CommitManifest]) -> Iterator[tuple[int, Finding]]:
    """Yield a finding for each manifest that follows another one than the one that is there.

    Missing manifests are not among these findings.

    Args:
        layout: The store's paths.
        manifests: The manifests that count, in commit order.

    Yields:
        The number of the commit whose manifest, as it was then, is not there, and the finding.
    """
    remedy = history_remedy(layout.root)
    ends: dict[int, list[CommitManifest]] = defaultdict(list)
    for manifest in manifests:
        ends[manifest.sequence].append(manifest)
    for number, several in ends.items():
        for manifest in several[1:]:
            message = f"there is another commit {number}, {several[0].file}: two histories of the store are mixed"
            yield number, Finding("chain_broken", f"manifests/{manifest.file}", message, remedy)
    for manifest in manifests:
        previous = manifest.previous
        if previous is None or not ends[previous.sequence]:
            continue
        if all(previous not in before.links for before in ends[previous.sequence]):
            message = (
                f"it follows {previous.file} with another content than commit {previous.sequence} has here: two "
                "histories of the store are mixed"
            )
            yield previous.sequence, Finding("chain_broken", f"manifests/{manifest.file}", message, remedy)
