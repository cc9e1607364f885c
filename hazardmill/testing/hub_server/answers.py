"""Requests after routing and reading, and the answers to them."""

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
    """An answer: some bytes, or a range of a file.

    Attributes:
        status: HTTP status.
        body: The bytes, unless ``file`` is set.
        file: The file to send from; null for ``body``.
        kind: Content type.
        headers: Further headers.
    """

    status: int = 200
    body: bytes = b""
    file: Path | None = None
    stretch: tuple[int, int] = (0, 0)
    """Range of the file: the first byte, and one past the last."""
    kind: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    changed: bool = False
    """Whether the request changed something."""

    @property
    def length(self) -> int:
        """Length of the body in bytes."""
        return len(self.body) if self.file is None else self.stretch[1] - self.stretch[0]

    def chunks(self) -> Iterator[bytes]:
        """Yield the body in pieces."""
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
    """Return an answer with a JSON value.

    Args:
        value: The value.
        status: HTTP status.
        changed: Whether the request changed something.
        headers: Further headers.
    """
    return HubAnswer(status, json.dumps(value).encode(), headers=headers or {}, changed=changed)


def as_error(status: int, message: str, code: str | None = None, headers: Mapping[str, str] | None = None) -> HubAnswer:
    """Return an error as the Hub sends it: in the body, and in headers that clients read.

    Args:
        status: HTTP status.
        message: What is wrong.
        code: Code of the error (``X-Error-Code``); null for none.
        headers: Further headers.
    """
    named = {"x-error-message": " ".join(message.encode("ascii", "replace").decode().split())}
    named |= {"x-error-code": code} if code else {}
    return as_json({"error": message}, status=status, headers={**named, **(headers or {})})


@dataclass(frozen=True, slots=True)
class Account:
    """The account that sends a request.

    Attributes:
        name: Name of the user.
        writes: Whether it may write.
    """

    name: str
    writes: bool


@dataclass(frozen=True, slots=True)
class Route:
    """The endpoint and repository that a request is for.

    Attributes:
        repository: ``ORG/NAME``; null if the path names none.
    """

    endpoint: Endpoint
    repository: str | None = None
    rest: tuple[str, ...] = ()
    """The rest of the path after the endpoint: a revision, a path, a tag, or an oid."""


@dataclass(frozen=True, slots=True)
class RoutedRequest:
    """A request after routing and reading.

    Attributes:
        path: The path as sent, without the query.
        account: The account; null for an anonymous request.
    """

    route: Route
    method: str
    address: str
    """Address of this server, up to the port."""
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
        """The first word after the endpoint; ``main`` if there is none."""
        return self.route.rest[0] if self.route.rest else "main"

    def json(self) -> dict[str, Any]:
        """Return the body as a JSON object.

        Raises:
            HubRefusal: The body is not a JSON object.
        """
        try:
            value = json.loads(self.body)
        except (ValueError, RecursionError) as error:
            raise HubRefusal(400, "the body is not JSON") from error
        if not isinstance(value, dict):
            raise HubRefusal(400, "the body is not a JSON object")
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
    """Return the route of a request; null if there is no such address.

    Args:
        method: HTTP method.
        parts: The words of the path, unescaped.
    """
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
