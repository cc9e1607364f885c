"""The answers of each endpoint of https://huggingface.co/docs/hub/api, as far as its own client uses them."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar
from urllib.parse import parse_qs, urlencode

import yaml

from hazardmill.testing.hub_server.answers import Account, HubAnswer, RoutedRequest, as_json
from hazardmill.testing.hub_server.faults import Endpoint
from hazardmill.testing.hub_server.repositories import Hub, HubRefusal, TreeEntry, pointer

T = TypeVar("T")

LFS_ABOVE: Final = 10 * 1024 * 1024
"""Size in bytes above which every file goes to LFS."""

_LFS_SUFFIXES: Final = (".parquet", ".arrow", ".zst", ".gz", ".zip", ".tar", ".png", ".jpg", ".pdf")
_FRONT_MATTER: Final = re.compile(r"\A---\s*\n(.*?)^---\s*$", re.DOTALL | re.MULTILINE)
_RANGE: Final = re.compile(r"bytes=(\d*)-(\d*)")
_WHEN: Final = "2026-01-01T00:00:00.000Z"
"""Date of every commit: this hub has no clock."""
_OPEN: Final = frozenset({Endpoint.VALIDATE_YAML, Endpoint.LFS_PUT})
"""Endpoints without authentication; the address of an upload is signed instead."""
_WRITES: Final = frozenset(
    {
        Endpoint.CREATE,
        Endpoint.PREUPLOAD,
        Endpoint.LFS_BATCH,
        Endpoint.LFS_VERIFY,
        Endpoint.COMMIT,
        Endpoint.TAG,
        Endpoint.SETTINGS,
    }
)


class Endpoints:
    """The endpoints of a hub.

    Args:
        hub: The repositories.
        secret: Signs the addresses of uploads.
        page: Maximum number of entries of a list per answer.
    """

    def __init__(self, hub: Hub, secret: bytes, page: int) -> None:
        self._hub = hub
        self._secret = secret
        self._page = page
        self._answers: Mapping[Endpoint, Callable[[RoutedRequest], HubAnswer]] = {
            Endpoint.WHOAMI: self._whoami,
            Endpoint.CREATE: self._create,
            Endpoint.VALIDATE_YAML: self._validate_yaml,
            Endpoint.INFO: self._info,
            Endpoint.PREUPLOAD: self._preupload,
            Endpoint.LFS_BATCH: self._lfs_batch,
            Endpoint.LFS_VERIFY: self._lfs_verify,
            Endpoint.COMMIT: self._commit,
            Endpoint.COMMITS: self._commits,
            Endpoint.TAG: self._tag,
            Endpoint.SETTINGS: self._settings,
            Endpoint.REFS: self._refs,
            Endpoint.TREE: self._tree,
            Endpoint.PATHS_INFO: self._paths_info,
            Endpoint.RESOLVE: self._resolve,
        }

    def answer(self, asking: RoutedRequest) -> HubAnswer:
        """Return the answer to any request except an upload.

        Raises:
            HubRefusal: The request is rejected.
        """
        return self._answers[asking.route.endpoint](asking)

    def admit(self, endpoint: Endpoint, repository: str | None, account: Account | None) -> None:
        """Check that an account may use an endpoint.

        Raises:
            HubRefusal: It may not.
        """
        if endpoint in _OPEN:
            return
        if account is None and (endpoint in _WRITES or endpoint is Endpoint.WHOAMI):
            raise HubRefusal(401, "this needs a token")
        if endpoint in _WRITES and account is not None and not account.writes:
            raise HubRefusal(403, "this token may read but not write")
        if account is None and repository is not None:
            # A client without access is not told whether the repository exists.
            try:
                hidden = self._hub.repository(repository).private
            except HubRefusal:
                hidden = True
            if hidden:
                raise HubRefusal(401, "there is no such repository, or it is private", "RepoNotFound")

    def signature(self, repository: str, oid: str, size: int) -> str:
        """Return the signature in the address of an upload."""
        return hmac.new(self._secret, f"{repository}/{oid}/{size}".encode(), hashlib.sha256).hexdigest()

    def _whoami(self, asking: RoutedRequest) -> HubAnswer:
        assert asking.account is not None, "nobody else was admitted"
        role = "write" if asking.account.writes else "read"
        token = {"displayName": "token", "role": role}
        name = asking.account.name
        return as_json({"type": "user", "name": name, "fullname": name, "orgs": [], "auth": {"accessToken": token}})

    def _create(self, asking: RoutedRequest) -> HubAnswer:
        sent = asking.json()
        if sent.get("type") != "dataset":
            raise HubRefusal(400, "this hub has datasets only")
        assert asking.account is not None, "nobody else was admitted"
        name = f"{sent.get('organization') or asking.account.name}/{sent.get('name')}"
        private = bool(sent.get("private")) or sent.get("visibility") == "private"
        made = self._hub.create(name, private=private)
        url = f"{asking.address}/datasets/{name}"
        return as_json({"url": url, "name": made.id, "private": made.private}, changed=True)

    def _validate_yaml(self, asking: RoutedRequest) -> HubAnswer:
        text = _of(asking.json(), "content", str)
        found = _FRONT_MATTER.match(text)
        warnings = [] if found else [{"message": "there is no metadata at the beginning of the card"}]
        try:
            metadata = yaml.safe_load(found[1]) if found else {}
        except yaml.YAMLError:
            metadata = None
        if not isinstance(metadata, dict):
            said = {"message": "the metadata of the card is not a YAML mapping"}
            return as_json({"errors": [said], "warnings": warnings}, status=400)
        return as_json({"errors": [], "warnings": warnings})

    def _info(self, asking: RoutedRequest) -> HubAnswer:
        found = self._hub.repository(asking.repository)
        commit = found.at(asking.revision)
        return as_json(
            {
                "_id": hashlib.sha256(found.id.encode()).hexdigest()[:24],
                "id": found.id,
                "author": found.id.partition("/")[0],
                "sha": commit.id,
                "lastModified": _WHEN,
                "createdAt": _WHEN,
                "private": found.private,
                "gated": False,
                "disabled": False,
                "tags": [],
                "downloads": 0,
                "likes": 0,
                "siblings": [{"rfilename": path} for path in sorted(commit.tree)],
            }
        )

    def _preupload(self, asking: RoutedRequest) -> HubAnswer:
        tree = self._hub.repository(asking.repository).at(asking.revision).tree
        answered = []
        for file in _of(asking.json(), "files", list):
            path, size = _of(file, "path", str), _of(file, "size", int)
            lfs = path.endswith(_LFS_SUFFIXES) or size > LFS_ABOVE
            known = tree.get(path)
            mode = "lfs" if lfs else "regular"
            oid = known and known.etag
            answered.append({"path": path, "uploadMode": mode, "shouldIgnore": False, "oid": oid})
        return as_json({"files": answered})

    def _lfs_batch(self, asking: RoutedRequest) -> HubAnswer:
        sent = asking.json()
        if "basic" not in sent.get("transfers", ["basic"]):
            raise HubRefusal(400, "this hub takes whole files only (transfer basic)")
        self._hub.repository(asking.repository)
        objects = []
        for each in _of(sent, "objects", list):
            oid, size = _of(each, "oid", str), _of(each, "size", int)
            answered: dict[str, Any] = {"oid": oid, "size": size}
            if not self._hub.has(oid):
                signed = urlencode({"size": size, "signature": self.signature(asking.repository, oid, size)})
                verify = f"{asking.address}/datasets/{asking.repository}.git/info/lfs/verify"
                answered["actions"] = {
                    "upload": {"href": f"{asking.address}/lfs/{asking.repository}/{oid}?{signed}"},
                    "verify": {"href": verify},
                }
            objects.append(answered)
        return as_json({"transfer": "basic", "objects": objects})

    def _lfs_verify(self, asking: RoutedRequest) -> HubAnswer:
        sent = asking.json()
        oid = _of(sent, "oid", str)
        if not self._hub.has(oid) or self._hub.entry(oid).size != sent.get("size"):
            raise HubRefusal(404, "this file has not arrived")
        return as_json({})

    def _commit(self, asking: RoutedRequest) -> HubAnswer:
        if asking.revision != "main":
            raise HubRefusal(400, "this hub has the branch main only")
        header: dict[str, Any] | None = None
        changes: dict[str, TreeEntry | None] = {}
        tree = self._hub.repository(asking.repository).head.tree
        for number, line in enumerate(asking.body.splitlines(), start=1):
            key, value = _operation(number, line)
            if key == "header":
                header = value
            elif key == "deletedFolder":
                folder = _of(value, "path", str).rstrip("/") + "/"
                changes |= {path: None for path in tree if path.startswith(folder)}
            else:
                changes[_of(value, "path", str)] = self._apply_change(key, value)
        if header is None:
            raise HubRefusal(400, "a commit needs a header")
        parent, head = header.get("parentCommit"), self._hub.repository(asking.repository).head
        if parent is not None and not head.id.startswith(str(parent)):
            raise HubRefusal(412, "somebody has committed in the meantime: read the branch again, then retry")
        made = self._hub.commit(
            asking.repository, _of(header, "summary", str), str(header.get("description", "")), changes
        )
        url = f"{asking.address}/datasets/{asking.repository}/commit/{made.id}"
        return as_json({"success": True, "commitOid": made.id, "commitUrl": url, "hookOutput": ""}, changed=True)

    def _apply_change(self, key: str, value: dict[str, Any]) -> TreeEntry | None:
        if key == "deletedFile":
            return None
        if key == "file":
            try:
                return self._hub.keep(base64.b64decode(_of(value, "content", str), validate=True))
            except binascii.Error as error:
                raise HubRefusal(400, "the content of a file must be base64") from error
        if key == "lfsFile":
            oid = _of(value, "oid", str)
            if not self._hub.has(oid):
                raise HubRefusal(400, "a file in LFS must have been uploaded first")
            return self._hub.entry(oid)
        raise HubRefusal(400, f"a commit has no {key[:40]!r}")

    def _commits(self, asking: RoutedRequest) -> HubAnswer:
        found = self._hub.repository(asking.repository)
        last = found.commits.index(found.at(asking.revision))
        commits = [
            {"id": each.id, "title": each.title, "message": each.message, "authors": [], "date": _WHEN}
            for each in reversed(found.commits[: last + 1])
        ]
        return self._one_page(asking, commits)

    def _tag(self, asking: RoutedRequest) -> HubAnswer:
        if asking.method == "DELETE":
            self._hub.untag(asking.repository, asking.revision)
        else:
            self._hub.tag(asking.repository, _of(asking.json(), "tag", str), asking.revision)
        return as_json({}, changed=True)

    def _settings(self, asking: RoutedRequest) -> HubAnswer:
        sent = asking.json()
        visibility = sent.get("visibility", "private" if sent.get("private") is True else None)
        if visibility not in ("private", "public"):
            raise HubRefusal(400, "this hub has one setting: visibility, private or public")
        self._hub.set_private(asking.repository, private=visibility == "private")
        return as_json({}, changed=True)

    def _refs(self, asking: RoutedRequest) -> HubAnswer:
        found = self._hub.repository(asking.repository)
        tags = [_ref(f"refs/tags/{name}", name, at) for name, at in sorted(found.tags.items())]
        branches = [_ref("refs/heads/main", "main", found.head.id)]
        return as_json({"branches": branches, "tags": tags, "converts": [], "pullRequests": []})

    def _tree(self, asking: RoutedRequest) -> HubAnswer:
        tree = self._hub.repository(asking.repository).at(asking.revision).tree
        under = "".join(f"{word}/" for word in asking.route.rest[1:])
        deep = asking.query.get("recursive", "").lower() in ("true", "1")
        files = [path for path in sorted(tree) if path.startswith(under)]
        if under and not files:
            raise HubRefusal(404, f"there is nothing at {under}", "EntryNotFound")
        folders = {
            f"{under}{'/'.join(inner[:depth])}"
            for inner in (path.removeprefix(under).split("/") for path in files)
            for depth in (range(1, len(inner)) if deep else range(1, min(len(inner), 2)))
        }
        entries = [_folder(path) for path in sorted(folders)]
        entries += [_file(path, tree[path]) for path in files if deep or "/" not in path.removeprefix(under)]
        return self._one_page(asking, entries)

    def _paths_info(self, asking: RoutedRequest) -> HubAnswer:
        tree = self._hub.repository(asking.repository).at(asking.revision).tree
        entries = []
        # huggingface_hub sends a form, other clients JSON.
        is_form = asking.headers.get("content-type", "").startswith("application/x-www-form-urlencoded")
        sent = parse_qs(asking.body.decode("latin-1")) if is_form else asking.json()
        for path in map(str, _of(sent, "paths", list)):
            if path in tree:
                entries.append(_file(path, tree[path]))
            elif any(each.startswith(f"{path}/") for each in tree):
                entries.append(_folder(path))
        return as_json(entries)

    def _resolve(self, asking: RoutedRequest) -> HubAnswer:
        revision, path = asking.route.rest
        commit = self._hub.repository(asking.repository).at(revision)
        entry = commit.tree.get(path)
        if entry is None:
            raise HubRefusal(404, f"there is no file {path!r} here", "EntryNotFound")
        headers = {"x-repo-commit": commit.id, "etag": f'"{entry.etag}"', "accept-ranges": "bytes"}
        if entry.lfs:
            headers |= {"x-linked-etag": f'"{entry.etag}"', "x-linked-size": str(entry.size)}
        stretch, status = (0, entry.size), 200
        wanted = _RANGE.fullmatch(asking.headers.get("range", ""))
        if wanted and any(wanted.groups()):
            stretch, status = _stretch(wanted[1], wanted[2], entry.size), 206
            headers["content-range"] = f"bytes {stretch[0]}-{stretch[1] - 1}/{entry.size}"
        return HubAnswer(
            status,
            file=self._hub.object_path(entry.sha256),
            stretch=stretch,
            kind="application/octet-stream",
            headers=headers,
        )

    def _one_page(self, asking: RoutedRequest, entries: list[dict[str, Any]]) -> HubAnswer:
        begin = int(asking.query.get("cursor", "0"))
        end = begin + self._page
        if end >= len(entries):
            return as_json(entries[begin:])
        query = urlencode({**asking.query, "cursor": end})
        return as_json(entries[begin:end], headers={"link": f'<{asking.address}{asking.path}?{query}>; rel="next"'})


def interfere(hub: Hub, asking: RoutedRequest) -> None:
    """Make a request come too late: commit something else first, or set the same tag on the first commit.

    Args:
        hub: The repositories.
        asking: The request; other endpoints than commit and tag are not affected.
    """
    if asking.route.endpoint is Endpoint.COMMIT:
        name = f"elsewhere-{len(hub.repository(asking.repository).commits)}.txt"
        hub.commit(asking.repository, "Somebody else's", "", {name: hub.keep(b"somebody else was here\n")})
    elif asking.route.endpoint is Endpoint.TAG and asking.method == "POST":
        found = hub.repository(asking.repository)
        hub.tag(asking.repository, _of(asking.json(), "tag", str), found.commits[0].id)


def _of(value: object, name: str, kind: type[T]) -> T:
    found = value.get(name) if isinstance(value, dict) else None
    if not isinstance(found, kind):
        raise HubRefusal(400, f"{name} is missing, or is not of type {kind.__name__}")
    return found


def _operation(number: int, line: bytes) -> tuple[str, dict[str, Any]]:
    try:
        sent = json.loads(line)
        return _of(sent, "key", str), _of(sent, "value", dict)
    except ValueError as error:
        raise HubRefusal(400, f"line {number} of the commit is not JSON") from error


def _stretch(first: str, last: str, size: int) -> tuple[int, int]:
    if first:
        begin, end = int(first), min(int(last) + 1, size) if last else size
    else:
        begin, end = max(size - int(last), 0), size
    if begin >= end:
        raise HubRefusal(416, f"the file has {size} bytes")
    return begin, end


def _ref(ref: str, name: str, commit: str) -> dict[str, str]:
    return {"name": name, "ref": ref, "targetCommit": commit}


def _folder(path: str) -> dict[str, Any]:
    return {
        "type": "directory",
        "path": path,
        "size": 0,
        "oid": hashlib.sha1(path.encode(), usedforsecurity=False).hexdigest(),
    }


def _file(path: str, entry: TreeEntry) -> dict[str, Any]:
    told: dict[str, Any] = {"type": "file", "path": path, "size": entry.size, "oid": entry.blob}
    if entry.lfs:
        told["lfs"] = {"oid": entry.sha256, "size": entry.size, "pointerSize": len(pointer(entry.sha256, entry.size))}
    return told
