"""Downloads one address into one file over HTTP, continuing where an earlier attempt broke off.

A note next to the partial file says whose bytes it holds: the address, and the server's name for that version (ETag or
Last-Modified). Bytes are appended only if the server confirms the version (If-Range).
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Final

import httpx
from pydantic import ValidationError
from tenacity import RetryCallState, Retrying, retry_if_exception

from hazardmill import __version__
from hazardmill.errors import SourceError
from hazardmill.records import FrozenModel

ATTEMPTS: Final = 5
"""Consecutive attempts without progress before a download is given up."""
_LONGEST_WAIT_S: Final = 300.0
_TIMEOUT_S: Final = 30.0
_BUSY: Final = frozenset({408, 425, 429})
_CONTENT_RANGE: Final = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")
_MOST_REDIRECTS: Final = 20
_MOST_UNTOLD: Final = 4 * 2**30
"""Maximum number of bytes if neither SOURCE.md nor the server gives a size: some servers never end."""

Watch = Callable[[int, int | None], None]
"""Called with the number of bytes so far and, if the server gives it, the total number; otherwise null."""


class _Origin(FrozenModel):
    """Whose bytes a partial file holds."""

    address: str
    version: str | None


class _Passing(Exception):
    """An answer that may be different the next time."""

    def __init__(self, what: str, wait_s: float | None = None) -> None:
        super().__init__(what)
        self.wait_s = wait_s


class Download:
    """A file that is being downloaded.

    Args:
        address: http or https. Redirects are followed only to such addresses, and from https only to https.
        part: File for the bytes.
        note: File for the origin of the bytes.
        size: Published size in bytes; null if unknown. Any other size is refused as soon as it shows.
        watch: Called with the progress.
        sleep: Waits between attempts.
    """

    def __init__(
        self,
        address: str,
        part: Path,
        note: Path,
        *,
        size: int | None = None,
        watch: Watch | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.received = 0
        self._address, self._part, self._note, self._size = address, part, note, size
        self._watch, self._sleep = watch, sleep
        self._furthest = self._have if self._origin() else 0
        self._stalled = 0
        self._client: httpx.Client

    def run(self) -> None:
        """Download the whole file.

        Raises:
            SourceError: The server refuses, sends a web page or another size than was published, or cannot be reached.
                Bytes received are kept, unless the server sent too many.
            OSError: The disk refuses.
        """
        retrying = Retrying(
            retry=retry_if_exception(_may_pass),
            stop=lambda _: self._stalled >= ATTEMPTS,
            wait=self._wait,
            sleep=self._sleep,
            reraise=True,
        )
        try:
            with httpx.Client(timeout=_TIMEOUT_S, headers={"User-Agent": f"hazardmill/{__version__}"}) as self._client:
                retrying(self._attempt)
        except (httpx.HTTPError, httpx.InvalidURL, _Passing) as error:
            what = str(error) or type(error).__name__
            kept = f"; it will continue after the {self._have} bytes that are kept" if self._origin() else ""
            raise SourceError(
                f"the download failed: {what}", file=self._address, remedy=f"run the same command again later{kept}"
            ) from error

    def forget(self) -> None:
        """Remove the partial file and its note."""
        self._part.unlink(missing_ok=True)
        self._note.unlink(missing_ok=True)

    @property
    def _have(self) -> int:
        return self._part.stat().st_size if self._part.is_file() else 0

    def _wait(self, state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome is not None else None
        if isinstance(error, _Passing) and error.wait_s is not None:
            return error.wait_s
        return float(min(2 ** (self._stalled - 1), _LONGEST_WAIT_S))

    def _attempt(self) -> None:
        try:
            self._request()
        except Exception:
            # Count from the last attempt that made progress, so that a bad connection does not end a long download.
            self._stalled = 1 if self._have > self._furthest else self._stalled + 1
            self._furthest = max(self._furthest, self._have)
            raise

    def _request(self) -> None:
        origin = self._origin()
        have = self._have if origin else 0
        headers = {"Accept-Encoding": "identity"}
        if origin is not None and origin.version is not None and have:
            headers |= {"Range": f"bytes={have}-", "If-Range": origin.version}
        with contextlib.closing(self._answer(headers)) as response:
            status = response.status_code
            if status == 416 and have:
                if response.headers.get("content-range") == f"bytes */{have}":
                    return  # It broke off between the last byte and the end of the answer.
                self.forget()
                raise _Passing("the file on the server is smaller than it was before", 0.0)
            self._refuse(response)
            packed = response.headers.get("content-encoding", "identity") != "identity"
            if status == 206:
                total = self._continues(response, have, origin, packed=packed)
                self._check_size(total)
            else:
                length = response.headers.get("content-length", "")
                total = int(length) if length.isascii() and length.isdigit() and not packed else None
                self._check_size(total)
                self._begin(None if packed else _version(response))
            self._receive(response.iter_bytes() if packed else response.iter_raw(), total)

    def _answer(self, headers: Mapping[str, str]) -> httpx.Response:
        """Return the answer at the end of the redirects, with its body unread. Bodies of redirects are never read."""
        request = self._client.build_request("GET", self._address, headers=headers)
        for _ in range(_MOST_REDIRECTS):
            response = self._client.send(request, stream=True)
            if response.next_request is None:
                return response
            response.close()
            request = response.next_request
            if response.url.scheme == "https" and request.url.scheme != "https":
                raise SourceError(
                    f"the server redirects from https to {request.url.scheme}, where anybody could change the file",
                    file=_public_address(response.url),
                    remedy="look for an https address on the publisher's page, and correct SOURCE.md",
                )
        raise httpx.TooManyRedirects(f"more than {_MOST_REDIRECTS} redirects", request=request)

    def _origin(self) -> _Origin | None:
        """Return whose bytes the partial file holds; null if there is nothing to continue."""
        try:
            origin = _Origin.model_validate_json(self._note.read_bytes())
        except (FileNotFoundError, ValidationError):
            return None
        return origin if origin.address == self._address and origin.version and self._have else None

    def _refuse(self, response: httpx.Response) -> None:
        """Raise unless the answer brings bytes. Existing bytes are kept."""
        status = response.status_code
        if status in _BUSY or status >= 500:
            wait = _retry_after(response)
            if wait is not None and wait > _LONGEST_WAIT_S:
                raise SourceError(
                    f"the server answers {status} and asks to wait {wait:.0f} seconds",
                    file=self._address,
                    remedy="run the same command again after that",
                )
            raise _Passing(f"the server answers {status} {response.reason_phrase}", wait)
        if status not in (200, 206):
            raise SourceError(
                f"the server answers {status} {response.reason_phrase}",
                file=_public_address(response.url),
                remedy="check the address in the source's SOURCE.md: the publisher may have moved the file",
            )
        kind = response.headers.get("content-type", "").lower()
        if kind.startswith(("text/html", "application/xhtml")):
            raise SourceError(
                "the server sends a web page instead of the file",
                file=_public_address(response.url),
                remedy="open the address in a browser: the publisher may require a confirmation first (see SOURCE.md)",
            )

    def _continues(self, response: httpx.Response, have: int, origin: _Origin | None, *, packed: bool) -> int | None:
        """Return the total size if the answer continues exactly where the part ends, in the same version."""
        match = _CONTENT_RANGE.fullmatch(response.headers.get("content-range", ""))
        total = None if match is None or match[2] == "*" else int(match[2])
        # A part may end before the file does, which only the total size can show.
        endless = total is None and self._size is None
        changed = origin is not None and _is_other(_version(response), origin.version)
        if not have or packed or match is None or int(match[1]) != have or endless or changed:
            self.forget()
            raise _Passing("the server sent a different part of the file than requested", 0.0)
        return total

    def _begin(self, version: str | None) -> None:
        # Remove the old bytes before changing the note: no crash leaves bytes under another version's name.
        self._part.write_bytes(b"")
        staged = self._note.with_name(self._note.name + ".new")
        staged.write_text(_Origin(address=self._address, version=version).model_dump_json(), encoding="utf-8")
        staged.replace(self._note)

    def _receive(self, chunks: Iterator[bytes], total: int | None) -> None:
        expected = self._size if total is None else total
        with self._part.open("ab") as file:
            have = file.tell()
            self._tell(have, total)
            for chunk in chunks:
                file.write(chunk)
                file.flush()
                have += len(chunk)
                self.received += len(chunk)
                self._tell(have, total)
                if have > (_MOST_UNTOLD if expected is None else expected):
                    self.forget()
                    self._check_size(have)
                    raise self._too_much(have, expected)
            if expected is not None and have < expected:
                raise _Passing(f"the connection ended after {have} of {expected} bytes")
            os.fsync(file.fileno())

    def _tell(self, have: int, total: int | None) -> None:
        if self._watch is not None:
            self._watch(have, total)

    def _too_much(self, have: int, expected: int | None) -> SourceError:
        limit = (
            f"is accepted for a file of unknown size ({_MOST_UNTOLD} bytes)"
            if expected is None
            else f"the {expected} that it announced"
        )
        return SourceError(
            f"the server sent {have} bytes, more than {limit}; the download was stopped",
            file=self._address,
            remedy="check the address; if the file really has this size, give it as `size` in SOURCE.md",
        )

    def _check_size(self, size: int | None) -> None:
        if size is not None and self._size is not None and size != self._size:
            raise SourceError(
                f"the file on the server has {size} bytes or more, but SOURCE.md gives {self._size}",
                file=self._address,
                remedy="the publisher may have replaced the file: compare it with the publisher's page, then correct "
                "SOURCE.md",
            )


def _may_pass(error: BaseException) -> bool:
    return isinstance(error, httpx.TransportError | _Passing) and not isinstance(error, httpx.UnsupportedProtocol)


def _public_address(address: httpx.URL) -> str:
    """Return an address without parts that the server may have added to authorize this one request."""
    return str(address.copy_with(userinfo=b"", query=None, fragment=None))


def _is_other(version: str | None, before: str | None) -> bool:
    """Whether two versions differ. Only two tags or two dates can be compared."""
    return None not in (version, before) and version != before and _is_tag(version) == _is_tag(before)


def _is_tag(version: str | None) -> bool:
    return version is not None and version.startswith('"')


def _version(response: httpx.Response) -> str | None:
    """Return what If-Range may name: a strong ETag, or else the date."""
    headers: Mapping[str, str] = response.headers
    etag = headers.get("etag", "")
    return etag if _is_tag(etag) else headers.get("last-modified")


def _retry_after(response: httpx.Response) -> float | None:
    """Seconds in the Retry-After header, which is a number or a date; null if it is missing or invalid."""
    value = response.headers.get("retry-after", "").strip()
    if value.isascii() and value.isdigit():
        return float(value)
    try:
        date = parsedate_to_datetime(value)
    except ValueError:
        return None
    return max(0.0, (date.replace(tzinfo=date.tzinfo or UTC) - datetime.now(UTC)).total_seconds())
