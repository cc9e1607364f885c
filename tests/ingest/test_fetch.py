"""Fetching from a real HTTP server on this machine."""

from __future__ import annotations

import contextlib
import errno
import gzip
import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from hazardmill.errors import SourceError
from hazardmill.ingest.fetch import download
from hazardmill.ingest.fetch.catalogue import PublishedFile
from hazardmill.ingest.fetch.download import ATTEMPTS
from hazardmill.ingest.fetch.fetch import NOTES, FetchedFile, fetch
from hazardmill.store.files.locks import Lock

CONTENT = b"".join(b"%06d\trow of an invented table\n" % number for number in range(20_000))
SHA256 = hashlib.sha256(CONTENT).hexdigest()
PAGE = b"<!DOCTYPE html>\n<html><body>Please tell us your affiliation.</body></html>\n"


@dataclass
class Site:
    """What the server serves, and what was asked of it. ``cuts``: bytes after which each next answer breaks off."""

    content: bytes = CONTENT
    etag: str | None = '"v1"'
    modified: str | None = None
    ranges: bool = True
    if_range: bool = True
    told: str | None = None
    """What Content-Range says of the size of the whole, if not the truth."""
    most: int | None = None
    """Bytes a 206 brings at the most; it says that it brings no more."""
    kind: str = "application/octet-stream"
    statuses: list[int] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    rest: dict[str, str] = field(default_factory=dict)
    """Headers of a 206 only."""
    sized: bool = True
    """Whether answers say how long they are."""
    redirect: str | None = None
    cuts: list[int] = field(default_factory=list)
    hold: threading.Event | None = None
    asked: list[str | None] = field(default_factory=list)
    """The Range header of each request."""
    served: int = 0
    address: str = ""


class Answers(BaseHTTPRequestHandler):
    """Answers as its site says."""

    site: Site

    def log_message(self, format: str, *args: Any) -> None:
        return

    def do_GET(self) -> None:
        site = self.site
        if site.redirect is not None and self.path == "/moved":
            self.send_response(302)
            self.send_header("Location", site.redirect)
            self.end_headers()
            return
        wanted = self.headers.get("Range")
        site.asked.append(wanted)
        start = 0
        confirmed = not site.if_range or self.headers.get("If-Range") in (site.etag, site.modified)
        if site.statuses:
            self._answer(site.statuses.pop(0), b"sorry", site.headers)
            return
        if wanted is not None and site.ranges and confirmed:
            start = int(wanted.removeprefix("bytes=").removesuffix("-"))
            if start >= len(site.content):
                self._answer(416, b"", {"Content-Range": f"bytes */{len(site.content)}"})
                return
        size = len(site.content)
        version = {"ETag": site.etag, "Last-Modified": site.modified, "Content-Type": site.kind}
        headers = {name: value for name, value in version.items() if value is not None}
        end = size
        if start:
            end = size if site.most is None else min(size, start + site.most)
            headers |= site.rest
            headers["Content-Range"] = f"bytes {start}-{end - 1}/{site.told or size}"
        self._answer(206 if start else 200, site.content[start:end], headers | site.headers)

    def _answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        site = self.site
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if site.sized:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if site.cuts and status in (200, 206):
            body = body[: site.cuts.pop(0)]
        # Before it is sent: a client that has all of it may look at once.
        site.served += len(body)
        # Who refuses the size leaves before the end.
        with contextlib.suppress(ConnectionError):
            self.wfile.write(body)
            self.wfile.flush()
        if site.hold is not None:
            site.hold.wait()


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site()
    handler = type("Handler", (Answers,), {"site": site})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    site.address = f"http://127.0.0.1:{server.server_port}"
    yield site
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data" / "invented"


class Waits(list[float]):
    """Stands in for sleep, and remembers."""

    def __call__(self, seconds: float) -> None:
        self.append(seconds)


def offer(site: Site, **fields: Any) -> PublishedFile:
    return PublishedFile(
        **{"name": "rows.tsv", "address": f"{site.address}/rows.tsv", "terms": "Invented; free.", **fields}
    )


def get(
    site: Site, folder: Path, *, force: bool = False, sleep: Callable[[float], None] | None = None, **fields: Any
) -> FetchedFile:
    return fetch(offer(site, **fields), folder, force=force, sleep=Waits() if sleep is None else sleep)


def left_over(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name != NOTES)


def assert_whole(folder: Path) -> None:
    assert (folder / "rows.tsv").read_bytes() == CONTENT
    assert left_over(folder) == ["rows.tsv"]
    assert sorted(path.name for path in (folder / NOTES).iterdir()) == ["lock", "rows.tsv.seen"]


def test_a_file_is_fetched_checked_and_not_fetched_again(site: Site, folder: Path) -> None:
    seen: list[tuple[int, int | None]] = []
    fetched = fetch(
        offer(site, size=len(CONTENT), sha256=SHA256), folder, watch=lambda have, total: seen.append((have, total))
    )
    assert_whole(folder)
    assert (fetched.size, fetched.sha256, fetched.received) == (len(CONTENT), SHA256, len(CONTENT))
    assert fetched.size_checked and fetched.sha256_checked and not fetched.already_there
    assert seen[0] == (0, len(CONTENT)) and seen[-1] == (len(CONTENT), len(CONTENT))
    again = get(site, folder, size=len(CONTENT), sha256=SHA256)
    assert (again.already_there, again.received, again.sha256) == (True, 0, SHA256)
    forced = get(site, folder, size=len(CONTENT), sha256=SHA256, force=True)
    assert forced.already_there
    assert len(site.asked) == 1


def test_what_is_not_published_is_not_checked_but_remembered(site: Site, folder: Path) -> None:
    fetched = get(site, folder)
    assert (fetched.size_checked, fetched.sha256_checked) == (False, False)
    assert get(site, folder).already_there
    site.content, site.etag = CONTENT.replace(b"000007", b"700000"), '"v2"'
    (folder / "rows.tsv").unlink()
    with pytest.raises(SourceError, match=rf"same file had {SHA256}.*its publisher has changed it") as caught:
        get(site, folder)
    assert hashlib.sha256(site.content).hexdigest() in str(caught.value)
    assert left_over(folder) == ["rows.tsv.bad"]
    assert not get(site, folder, force=True).already_there
    assert (folder / "rows.tsv").read_bytes() == site.content
    assert get(site, folder).already_there


def test_a_connection_that_breaks_off_is_taken_up_where_it_ended(site: Site, folder: Path) -> None:
    site.cuts = [100_000, 70_000]
    waits = Waits()
    fetched = get(site, folder, sleep=waits, sha256=SHA256)
    assert_whole(folder)
    assert site.asked == [None, "bytes=100000-", "bytes=170000-"]
    assert site.served == fetched.received == len(CONTENT)
    assert waits == [1.0, 1.0]


def test_a_bad_line_ends_no_download_as_long_as_it_gets_further(site: Site, folder: Path) -> None:
    site.cuts = [50_000] * (2 * ATTEMPTS)
    get(site, folder, sha256=SHA256)
    assert len(site.asked) == 2 * ATTEMPTS + 1
    assert_whole(folder)


def test_a_line_that_gets_no_further_is_given_up_and_what_came_is_kept(site: Site, folder: Path) -> None:
    site.cuts = [90_000] + [0] * ATTEMPTS
    waits = Waits()
    with pytest.raises(SourceError, match=r"download failed.*it will continue after the 90000 bytes that are kept"):
        get(site, folder, sleep=waits)
    assert len(site.asked) == ATTEMPTS
    assert waits == [1.0, 2.0, 4.0, 8.0][: ATTEMPTS - 1]
    assert left_over(folder) == ["rows.tsv.part"]
    site.cuts = []
    fetched = get(site, folder)
    assert fetched.received == len(CONTENT) - 90_000
    assert_whole(folder)


def test_a_server_without_ranges_that_always_ends_early_is_given_up(site: Site, folder: Path) -> None:
    site.ranges, site.cuts = False, [90_000] * 50
    with pytest.raises(SourceError, match="download failed"):
        get(site, folder)
    assert len(site.asked) == ATTEMPTS


def test_a_server_without_ranges_is_asked_for_all_of_it(site: Site, folder: Path) -> None:
    site.ranges, site.cuts = False, [100_000]
    assert get(site, folder, sha256=SHA256).received == len(CONTENT) + 100_000
    assert site.asked == [None, "bytes=100000-"]
    assert_whole(folder)


@pytest.mark.parametrize("if_range", [True, False], ids=["If-Range obeyed", "If-Range ignored"])
def test_a_file_that_changed_meanwhile_is_fetched_from_its_beginning(site: Site, folder: Path, if_range: bool) -> None:
    site.content, site.etag, site.if_range = CONTENT.lower().replace(b"0", b"9"), '"old"', if_range
    site.cuts = [100_000] + [0] * ATTEMPTS
    with pytest.raises(SourceError):
        get(site, folder)
    site.content, site.etag, site.cuts = CONTENT, '"new"', []
    get(site, folder, sha256=SHA256)
    assert_whole(folder)


@pytest.mark.parametrize(
    ("etag", "modified", "headers"),
    [
        (None, "Mon, 02 Mar 2026 10:00:00 GMT", {"Last-Modified": "Tue, 03 Mar 2026 10:00:00 GMT"}),
        ('"v1"', None, {"ETag": '"v2"'}),
        ('"v1"', None, {"Content-Encoding": "gzip"}),
    ],
    ids=["another date", "another tag", "packed"],
)
def test_a_rest_that_is_of_something_else_is_not_added(
    site: Site, folder: Path, etag: str | None, modified: str | None, headers: dict[str, str]
) -> None:
    site.etag, site.modified, site.cuts = etag, modified, [100_000] + [0] * ATTEMPTS
    with pytest.raises(SourceError):
        get(site, folder)
    assert left_over(folder) == ["rows.tsv.part"]
    site.cuts, site.rest = [], headers
    get(site, folder, sha256=SHA256)
    assert site.asked[-2:] == ["bytes=100000-", None]
    assert_whole(folder)


def test_a_tag_is_not_held_against_a_date(site: Site, folder: Path) -> None:
    site.cuts, site.rest = [100_000], {"ETag": 'W/"v1"', "Last-Modified": "Mon, 02 Mar 2026 10:00:00 GMT"}
    get(site, folder, sha256=SHA256)
    assert site.served == len(CONTENT)


@pytest.mark.parametrize("told", [None, "*"], ids=["told", "not told"])
def test_a_rest_that_ends_before_the_file_does_is_not_the_end(site: Site, folder: Path, told: str | None) -> None:
    site.cuts, site.most, site.told = [100_000], 50_000, told
    get(site, folder)
    assert_whole(folder)


def test_a_rest_that_is_longer_than_was_said_is_not_taken(site: Site, folder: Path) -> None:
    site.sized, site.cuts, site.told = True, [100_000] + [0] * ATTEMPTS, "150000"
    with pytest.raises(SourceError, match="download failed"):
        get(site, folder)
    site.sized, site.cuts = False, []
    with pytest.raises(SourceError, match="more than the 150000 that it announced; the download was stopped"):
        get(site, folder)
    assert left_over(folder) == []


def test_an_answer_of_a_wrong_size_costs_nothing_that_was_there(site: Site, folder: Path) -> None:
    site.cuts = [100_000] + [0] * ATTEMPTS
    with pytest.raises(SourceError):
        get(site, folder, size=len(CONTENT))
    site.content, site.etag, site.cuts = b"Back in five minutes.\n", None, []
    with pytest.raises(SourceError, match="the file on the server has 22 bytes or more"):
        get(site, folder, size=len(CONTENT))
    site.content, site.etag = CONTENT, '"v1"'
    assert get(site, folder, size=len(CONTENT)).received == len(CONTENT) - 100_000
    assert_whole(folder)


def test_a_date_does_where_there_is_no_etag(site: Site, folder: Path) -> None:
    site.etag, site.modified, site.cuts = 'W/"weak"', "Mon, 02 Mar 2026 10:00:00 GMT", [100_000]
    get(site, folder, sha256=SHA256)
    assert site.asked == [None, "bytes=100000-"]
    assert_whole(folder)


def test_without_a_version_nothing_is_gone_on_with(site: Site, folder: Path) -> None:
    site.etag, site.cuts = None, [100_000]
    get(site, folder, sha256=SHA256)
    assert site.asked == [None, None]
    assert_whole(folder)


def test_a_part_that_is_whole_already_is_taken(site: Site, folder: Path) -> None:
    get(site, folder)
    (folder / "rows.tsv").rename(folder / "rows.tsv.part")
    origin = {"address": f"{site.address}/rows.tsv", "version": site.etag}
    (folder / NOTES / "rows.tsv.part").write_text(json.dumps(origin))
    site.asked.clear()
    assert get(site, folder).received == 0
    assert site.asked == [f"bytes={len(CONTENT)}-"]
    assert_whole(folder)


def test_a_part_longer_than_the_file_is_thrown_away(site: Site, folder: Path) -> None:
    get(site, folder)
    (folder / "rows.tsv").unlink()
    (folder / "rows.tsv.part").write_bytes(CONTENT + b"more")
    origin = {"address": f"{site.address}/rows.tsv", "version": site.etag}
    (folder / NOTES / "rows.tsv.part").write_text(json.dumps(origin))
    get(site, folder, sha256=SHA256)
    assert_whole(folder)


@pytest.mark.parametrize("noted", [b"{", b'{"address": "http://example.org/other.tsv", "version": "\\"v1\\""}'])
def test_a_part_of_unknown_origin_is_not_gone_on_with(site: Site, folder: Path, noted: bytes) -> None:
    (folder / NOTES).mkdir(parents=True)
    (folder / "rows.tsv.part").write_bytes(b"something else")
    (folder / NOTES / "rows.tsv.part").write_bytes(noted)
    get(site, folder, sha256=SHA256)
    assert site.asked == [None]
    assert_whole(folder)


def test_a_wrong_digest_is_told_and_what_came_kept_aside(site: Site, folder: Path) -> None:
    published = "0" * 64
    with pytest.raises(SourceError, match=rf"has sha256 {SHA256}, but SOURCE.md gives {published}") as caught:
        get(site, folder, sha256=published)
    assert "kept as rows.tsv.bad" in str(caught.value) and caught.value.remedy
    assert left_over(folder) == ["rows.tsv.bad"]
    get(site, folder, sha256=SHA256)
    assert left_over(folder) == ["rows.tsv", "rows.tsv.bad"]


@pytest.mark.parametrize("sized", [True, False], ids=["told first", "not told"])
def test_a_wrong_size_is_told(site: Site, folder: Path, sized: bool) -> None:
    site.sized = sized
    with pytest.raises(SourceError, match=r"the file on the server has \d+ bytes or more, but SOURCE.md gives 4711"):
        get(site, folder, size=4711)
    assert left_over(folder) == []
    assert len(site.asked) == 1


def test_a_server_that_never_ends_is_stopped(site: Site, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site.sized = False
    monkeypatch.setattr(download, "_MOST_UNTOLD", 100_000)
    with pytest.raises(SourceError, match=r"a file of unknown size .*; the download was stopped"):
        get(site, folder)
    assert left_over(folder) == []
    get(site, folder, size=len(CONTENT))
    assert_whole(folder)


def test_without_a_length_the_published_size_tells_when_it_is_whole(site: Site, folder: Path) -> None:
    site.sized, site.cuts = False, [100_000]
    get(site, folder, size=len(CONTENT))
    assert site.asked == [None, "bytes=100000-"]
    assert_whole(folder)


def test_an_answer_packed_unasked_is_unpacked(site: Site, folder: Path) -> None:
    site.content, site.headers = gzip.compress(CONTENT), {"Content-Encoding": "gzip"}
    get(site, folder, size=len(CONTENT), sha256=SHA256)
    assert_whole(folder)


def test_a_missing_file_is_told_at_once(site: Site, folder: Path) -> None:
    site.statuses = [404]
    with pytest.raises(SourceError, match=r"rows.tsv: the server answers 404 Not Found.*SOURCE.md"):
        get(site, folder)
    assert len(site.asked) == 1


@pytest.mark.parametrize(
    ("retry_after", "waited"),
    [(None, [1.0, 2.0]), ("7", [7.0, 7.0]), ("Thu, 01 Jan 2026 00:00:00 GMT", [0.0, 0.0]), ("soon", [1.0, 2.0])],
)
def test_a_busy_server_is_asked_again(site: Site, folder: Path, retry_after: str | None, waited: list[float]) -> None:
    site.statuses = [500, 429]
    site.headers = {} if retry_after is None else {"Retry-After": retry_after}
    waits = Waits()
    get(site, folder, sleep=waits, sha256=SHA256)
    assert waits == waited
    assert_whole(folder)


def test_a_server_that_stays_busy_or_asks_for_an_hour_is_given_up(site: Site, folder: Path) -> None:
    site.statuses = [503] * 50
    with pytest.raises(SourceError, match="the server answers 503 Service Unavailable"):
        get(site, folder)
    assert len(site.asked) == ATTEMPTS
    site.statuses, site.headers = [429], {"Retry-After": "3600"}
    with pytest.raises(SourceError, match="asks to wait 3600 seconds"):
        get(site, folder)
    assert len(site.asked) == ATTEMPTS + 1


def test_a_web_page_is_refused_and_costs_nothing_that_was_there(site: Site, folder: Path) -> None:
    site.cuts = [100_000] + [0] * ATTEMPTS
    with pytest.raises(SourceError):
        get(site, folder)
    site.content, site.kind, site.etag, site.cuts = PAGE, "text/html; charset=utf-8", '"page"', []
    with pytest.raises(SourceError, match=r"a web page instead of the file.*SOURCE.md"):
        get(site, folder)
    assert (folder / "rows.tsv.part").read_bytes() == CONTENT[:100_000]
    site.content, site.kind, site.etag = CONTENT, "text/plain", '"v1"'
    assert get(site, folder, sha256=SHA256).received == len(CONTENT) - 100_000


def test_a_web_page_under_another_name_is_refused_too(site: Site, folder: Path) -> None:
    site.content = PAGE
    with pytest.raises(SourceError, match="instead of the file: the file is a web page"):
        get(site, folder)
    assert left_over(folder) == ["rows.tsv.bad"]


def test_a_packed_file_is_what_was_asked_for(site: Site, folder: Path) -> None:
    site.content = b"7z\xbc\xaf\x27\x1c" + bytes(range(256))
    fetched = get(site, folder, name="rows.7z", unpack="7z x rows.7z")
    assert fetched.unpack == "7z x rows.7z"
    assert (folder / "rows.7z").read_bytes() == site.content


def test_a_redirect_is_followed_to_http_only(site: Site, folder: Path) -> None:
    site.redirect = f"{site.address}/rows.tsv"
    get(site, folder, address=f"{site.address}/moved", sha256=SHA256)
    assert_whole(folder)
    site.redirect = "file:///etc/hostname"
    with pytest.raises(SourceError, match="download failed"):
        get(site, folder, name="other.tsv", address=f"{site.address}/moved")
    site.redirect = f"{site.address}/moved"
    with pytest.raises(SourceError, match=r"(?i)redirects"):
        get(site, folder, name="other.tsv", address=f"{site.address}/moved")


def test_a_redirect_from_https_to_http_is_refused(site: Site, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def handle(transport: httpx.HTTPTransport, request: httpx.Request) -> httpx.Response:
        asked.append(str(request.url))
        to = {"https": "http" if request.url.path == "/open" else "https"}.get(request.url.scheme)
        location = (
            {} if to is None or request.url.path == "/end" else {"Location": f"{to}://example.org/end?key=s3cret"}
        )
        return httpx.Response(302 if location else 200, headers=location, stream=httpx.ByteStream(CONTENT))

    monkeypatch.setattr(httpx.HTTPTransport, "handle_request", handle)
    with pytest.raises(SourceError, match="redirects from https to http,"):
        get(site, folder, address="https://example.org/open")
    assert asked == ["https://example.org/open"]
    get(site, folder, address="https://example.org/safe", sha256=SHA256)
    assert_whole(folder)


def test_what_lets_one_request_in_is_not_told(site: Site, folder: Path) -> None:
    site.redirect, site.statuses = f"{site.address}/rows.tsv?signature=s3cret", [403]
    with pytest.raises(SourceError, match=r"/rows\.tsv: the server answers 403") as caught:
        get(site, folder, address=f"{site.address}/moved")
    assert "s3cret" not in str(caught.value)


def test_nobody_there_is_told(site: Site, folder: Path) -> None:
    with pytest.raises(SourceError, match="download failed"):
        get(site, folder, address="http://127.0.0.1:1/rows.tsv")


def test_a_file_of_the_users_is_not_overwritten_unless_forced(site: Site, folder: Path) -> None:
    folder.mkdir(parents=True)
    own = folder / "rows.tsv"
    own.write_bytes(b"my own notes\n")
    with pytest.raises(SourceError, match=r"nothing shows that it is the published one.*--force"):
        get(site, folder)
    with pytest.raises(SourceError, match=rf"instead of {SHA256}, which SOURCE.md gives"):
        get(site, folder, sha256=SHA256)
    assert own.read_bytes() == b"my own notes\n"
    assert site.asked == []
    get(site, folder, force=True)
    assert_whole(folder)
    own.write_bytes(CONTENT + b"one more\n")
    with pytest.raises(SourceError, match="it had when it was fetched"):
        get(site, folder)


def test_two_at_a_time_do_not_meet(site: Site, folder: Path) -> None:
    lock = Lock.acquire(folder / NOTES / "lock")
    assert lock is not None
    with pytest.raises(SourceError, match="another process is fetching into this folder"):
        get(site, folder)
    lock.release()
    get(site, folder)


def test_a_folder_that_cannot_be_is_told(site: Site, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(SourceError, match=r"cannot be written: .*--to"):
        get(site, tmp_path / "file" / "data")
    (tmp_path / "rows.tsv").mkdir()
    with pytest.raises(SourceError, match="a folder with this name already exists"):
        get(site, tmp_path)


def test_a_full_disk_is_told_and_the_rest_comes_later(
    site: Site, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(SourceError, match=r"cannot be written: No space left.*free some space.*continues"):
            get(site, folder)
    assert left_over(folder) == ["rows.tsv.part"]
    get(site, folder)
    assert_whole(folder)


def test_killed_it_goes_on_with_what_it_had(site: Site, folder: Path) -> None:
    """A fetching process is killed while the server holds the rest back; the next one asks only for that."""
    site.hold, site.cuts = threading.Event(), [300_000]
    script = (
        "import sys; from pathlib import Path\n"
        "from hazardmill.ingest.fetch.fetch import fetch\n"
        "from hazardmill.ingest.fetch.catalogue import PublishedFile\n"
        "file = PublishedFile(name='rows.tsv', address=sys.argv[1], terms='Invented.')\n"
        "def watch(have, total):\n"
        "    if have >= 300_000: print(have, flush=True)\n"
        "fetch(file, Path(sys.argv[2]), watch=watch)\n"
    )
    command = [sys.executable, "-c", script, f"{site.address}/rows.tsv", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline().strip() == "300000"
        os.kill(child.pid, signal.SIGKILL)
        assert child.wait() == -signal.SIGKILL
    site.hold.set()
    assert left_over(folder) == ["rows.tsv.part"]
    site.hold, site.served = None, 0
    fetched = get(site, folder, sha256=SHA256)
    assert fetched.received == site.served == len(CONTENT) - 300_000
    assert_whole(folder)


def test_interrupted_it_keeps_what_came(site: Site, folder: Path) -> None:
    def stop(have: int, total: int | None) -> None:
        if have:
            raise KeyboardInterrupt

    with contextlib.suppress(KeyboardInterrupt):
        fetch(offer(site), folder, watch=stop)
    kept = (folder / "rows.tsv.part").stat().st_size
    assert 0 < kept < len(CONTENT)
    assert get(site, folder, sha256=SHA256).received == len(CONTENT) - kept


def test_what_is_told_goes_into_json(site: Site, folder: Path) -> None:
    fetched = get(site, folder)
    assert FetchedFile.model_validate_json(fetched.model_dump_json()) == fetched
