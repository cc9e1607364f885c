"""Answers, and the requests they are made from, once routed and read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from hazardmill.testing.hub_server.faults import Endpoint
from hazardmill.testing.hub_server.repositories import HubRefusal

_CHUNK: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class HubAnswer:
    """What is sent back: some bytes, or a stretch of a file."""

    status: int = 200
    body: bytes = b""
    file: Path | None = None
    stretch: tuple[int, int] = (0, 0)
    """Of the file: the first byte, and the one behind the last."""
    kind: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    changed: bool = False
    """Whether something was changed."""

    @property
    def length(self) -> int:
        """Bytes of the body."""
        return len(self.body) if self.file is None else self.stretch[1] - self.stretch[0]

    def chunks(self) -> Iterator[bytes]:
        """The body, piece by piece."""
        if self.file is None:
            if self.body:
                yield self.body
            return
        begin, end = self.stretch
        with self.file.open("rb") as opened:
            opened.seek(begin)
            while begin < end and (chunk := opened.read(min(_CHUNK, end - begin))):
                begin += len(chunk)
                yield chunk


def as_json(
    value: object, *, status: int = 200, changed: bool = False, headers: Mapping[str, str] | None = None
) -> HubAnswer:
    """A JSON value."""
    return HubAnswer(status, json.dumps(value).encode(), headers=headers or {}, changed=changed)


def as_error(status: int, message: str, code: str | None = None, headers: Mapping[str, str] | None = None) -> HubAnswer:
    """An error as the Hub tells it: in the body, and in headers that clients look at."""
    named = {"x-error-message": " ".join(message.encode("ascii", "replace").decode().split())}
    named |= {"x-error-code": code} if code else {}
    return as_json({"error": message}, status=status, headers={**named, **(headers or {})})


@dataclass(frozen=True, slots=True)
class Account:
    """Who asks."""

    name: str
    writes: bool


@dataclass(frozen=True, slots=True)
class Route:
    """Where a request goes."""

    endpoint: Endpoint
    repository: str | None = None
    rest: tuple[str, ...] = ()
    """The words of the path behind the endpoint's own: a revision, a path, a tag, an oid."""


@dataclass(frozen=True, slots=True)
class RoutedRequest:
    """A request, routed and read."""

    route: Route
    method: str
    address: str
    """Of this server, with nothing behind the port."""
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes
    account: Account | None

    @property
    def repository(self) -> str:
        """The repository that the path names."""
        assert self.route.repository is not None, "only routes with a repository ask for it"
        return self.route.repository

    @property
    def revision(self) -> str:
        """The first word behind the endpoint's own."""
        return self.route.rest[0] if self.route.rest else "main"

    def json(self) -> dict[str, Any]:
        """The body as a JSON object.

        Raises:
            Refused: It is none.
        """
        try:
            value = json.loads(self.body)
        except (ValueError, RecursionError) as error:
            raise HubRefusal(400, "the body is not JSON") from error
        if not isinstance(value, dict):
            raise HubRefusal(400, "the body is no JSON object")
        return value


_OF_A_DATASET: Final = {
    ("GET", "revision"): Endpoint.INFO,
    ("POST", "preupload"): Endpoint.PREUPLOAD,
    ("POST", "commit"): Endpoint.COMMIT,
    ("GET", "commits"): Endpoint.COMMITS,
    ("POST", "tag"): Endpoint.TAG,
    ("DELETE", "tag"): Endpoint.TAG,
    ("PUT", "settings"): Endpoint.SETTINGS,
    ("GET", "refs"): Endpoint.REFS,
    ("GET", "tree"): Endpoint.TREE,
    ("POST", "paths-info"): Endpoint.PATHS_INFO,
}


def find_route(method: str, parts: tuple[str, ...]) -> Route | None:
    """Where a request goes; null where there is no such address."""
    match (method, *parts):
        case ("GET", "api", "whoami-v2"):
            return Route(Endpoint.WHOAMI)
        case ("POST", "api", "repos", "create"):
            return Route(Endpoint.CREATE)
        case ("POST", "api", "validate-yaml"):
            return Route(Endpoint.VALIDATE_YAML)
        case ("GET", "api", "datasets", organization, name):
            return Route(Endpoint.INFO, f"{organization}/{name}")
        case (_, "api", "datasets", organization, name, verb, *rest) if (method, verb) in _OF_A_DATASET:
            return Route(_OF_A_DATASET[method, verb], f"{organization}/{name}", tuple(rest))
        case ("PUT", "lfs", organization, name, oid):
            return Route(Endpoint.LFS_PUT, f"{organization}/{name}", (oid,))
        case ("POST", "datasets", organization, name, "info", "lfs", *rest) if name.endswith(".git"):
            endpoint = {("objects", "batch"): Endpoint.LFS_BATCH, ("verify",): Endpoint.LFS_VERIFY}.get(tuple(rest))
            repository = f"{organization}/{name.removesuffix('.git')}"
            return None if endpoint is None else Route(endpoint, repository)
        case ("GET" | "HEAD", "datasets", organization, name, "resolve", revision, *path) if path:
            return Route(Endpoint.RESOLVE, f"{organization}/{name}", (revision, "/".join(path)))
    return None
