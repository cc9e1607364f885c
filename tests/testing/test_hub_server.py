"""The hub over real HTTP, asked by a client that hides nothing: what it answers, whom, and how it fails."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import socket
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import httpx
import pytest

from hazardmill.errors import InputError, StoreLocked
from hazardmill.testing.hub_server import (
    READ_TOKEN,
    WRITE_TOKEN,
    Endpoint,
    HubFault,
    HubFaultKind,
    HubServer,
    JournaledRequest,
    ScriptedHubFaults,
    read_journal,
)
from hazardmill.testing.hub_server.faults import LIES, PlannedRequest, parse_script

REPO = "acme/hazards"
CARD = "---\nlicense: mit\n---\n# Hazards\n"
LARGE = b"rows" * 20_000


class Asker:
    """Asks one hub, by default as somebody who may write."""

    def __init__(self, server: HubServer) -> None:
        self.server = server
        self.http = httpx.Client(base_url=server.address, trust_env=False, verify=False, timeout=None)

    def __call__(self, method: str, path: str, token: str | None = WRITE_TOKEN, **more) -> httpx.Response:
        headers = more.pop("headers", {}) | ({} if token is None else {"authorization": f"Bearer {token}"})
        return self.http.request(method, path, headers=headers, **more)

    def create(self, name: str = "hazards", visibility: str = "private") -> httpx.Response:
        body = {"type": "dataset", "organization": "acme", "name": name, "visibility": visibility}
        return self("POST", "/api/repos/create", json=body)

    def batch(self, *contents: bytes) -> list[dict]:
        objects = [{"oid": hashlib.sha256(each).hexdigest(), "size": len(each)} for each in contents]
        sent = {"operation": "upload", "transfers": ["basic"], "objects": objects}
        return self("POST", f"/datasets/{REPO}.git/info/lfs/objects/batch", json=sent).json()["objects"]

    def upload(self, content: bytes) -> str:
        """Bring up an LFS object; its oid."""
        (told,) = self.batch(content)
        if "actions" in told:
            self.http.put(told["actions"]["upload"]["href"], content=content).raise_for_status()
        return told["oid"]

    def commit(self, *operations: tuple[str, dict], parent: str | None = None, **more) -> httpx.Response:
        header = {"summary": "a title", "description": "a message"} | ({"parentCommit": parent} if parent else {})
        lines = [("header", header), *operations]
        body = "".join(json.dumps({"key": key, "value": value}) + "\n" for key, value in lines)
        return self("POST", f"/api/datasets/{REPO}/commit/main", content=body, **more)

    def head(self) -> str:
        return self("GET", f"/api/datasets/{REPO}").json()["sha"]


def file(path: str, content: bytes) -> tuple[str, dict]:
    return "file", {"path": path, "content": base64.b64encode(content).decode(), "encoding": "base64"}


def lfs(path: str, oid: str) -> tuple[str, dict]:
    return "lfsFile", {"path": path, "algo": "sha256", "oid": oid}


@pytest.fixture
def ask(tmp_path):
    """Makes a hub with one private repository and gives something that asks it."""
    opened = []

    def make(script: dict[str, str] | None = None, *, empty: bool = False, **settings) -> Asker:
        faults = ScriptedHubFaults(script or {})
        asker = Asker(HubServer(tmp_path / f"hub-{len(opened)}", faults=faults, **settings).__enter__())
        opened.append(asker)
        if not empty:
            asker.server.hub.create(REPO, private=True)
        return asker

    yield make
    for asker in opened:
        asker.http.close()
        asker.server.__exit__(None, None, None)


def test_a_repository_is_made_once(ask):
    asker = ask(empty=True)
    assert asker.create().json()["url"].endswith("/datasets/acme/hazards")
    again = asker.create(visibility="public")
    assert again.status_code == 409 and "already" in again.json()["error"]
    info = asker("GET", f"/api/datasets/{REPO}").json()
    assert info["private"] is True and [each["rfilename"] for each in info["siblings"]] == [".gitattributes"]
    assert asker.create("open", "public").status_code == 200
    assert asker("GET", "/api/datasets/acme/open", None).json()["private"] is False


@pytest.mark.parametrize("name", ["..", "a/b", "", "-x", "a" * 200])
def test_a_name_that_is_none_is_refused(ask, tmp_path, name):
    asker = ask(empty=True)
    assert asker.create(name).status_code == 400
    assert not list((tmp_path / "hub-0" / "repositories").rglob("*.json"))


def test_an_address_does_not_lead_out_of_the_folder(ask, tmp_path):
    asker = ask()
    (tmp_path / "outside.json").write_text(asker.server.hub.repository(REPO).model_dump_json())
    assert asker("GET", "/api/datasets/..%2F../outside").status_code == 404
    assert asker("GET", "/api/datasets/..%2F..%2F..%2F/outside").status_code == 404


@pytest.mark.parametrize(
    ("token", "status", "code"),
    [(None, 401, "RepoNotFound"), ("hf_unknown", 401, None), (READ_TOKEN, 200, None), (WRITE_TOKEN, 200, None)],
)
def test_a_private_repository_is_for_those_with_a_token(ask, token, status, code):
    reply = ask()("GET", f"/api/datasets/{REPO}", token)
    assert (reply.status_code, reply.headers.get("x-error-code")) == (status, code)
    assert "hf_" not in reply.text


def test_a_private_and_a_missing_repository_look_the_same_to_strangers(ask):
    asker = ask()
    there, missing = (asker("GET", f"/api/datasets/acme/{name}", None) for name in ("hazards", "nothing"))
    assert (there.status_code, there.text) == (missing.status_code, missing.text)
    known = asker("GET", "/api/datasets/acme/nothing")
    assert (known.status_code, known.headers["x-error-code"]) == (404, "RepoNotFound")


WRITING = [
    ("POST", "/api/repos/create"),
    ("POST", f"/api/datasets/{REPO}/preupload/main"),
    ("POST", f"/datasets/{REPO}.git/info/lfs/objects/batch"),
    ("POST", f"/api/datasets/{REPO}/commit/main"),
    ("POST", f"/api/datasets/{REPO}/tag/main"),
    ("DELETE", f"/api/datasets/{REPO}/tag/v1"),
    ("PUT", f"/api/datasets/{REPO}/settings"),
]


@pytest.mark.parametrize(("method", "path"), WRITING)
def test_writing_needs_a_token_that_may(ask, method, path):
    asker = ask()
    before = asker.server.hub.repository(REPO)
    replies = [asker(method, path, token, json={"tag": "v1", "visibility": "public"}) for token in (None, READ_TOKEN)]
    assert [reply.status_code for reply in replies] == [401, 403]
    assert asker.server.hub.repository(REPO) == before
    assert not any(request.done for request in asker.server.requests)


def test_who_one_is(ask):
    asker = ask()
    assert asker("GET", "/api/whoami-v2").json()["name"] == "mill"
    assert asker("GET", "/api/whoami-v2", READ_TOKEN).json()["auth"]["accessToken"]["role"] == "read"
    assert asker("GET", "/api/whoami-v2", None).status_code == 401


@pytest.mark.parametrize(
    ("card", "status", "warnings"),
    [(CARD, 200, 0), ("# No metadata\n", 200, 1), ("---\nlicense: [mit\n---\n", 400, 0), ("---\n- a\n---\n", 400, 0)],
)
def test_the_metadata_of_a_card_is_looked_at(ask, card, status, warnings):
    reply = ask()("POST", "/api/validate-yaml", json={"content": card, "repoType": "dataset"})
    assert (reply.status_code, len(reply.json()["warnings"])) == (status, warnings)
    assert bool(reply.json()["errors"]) is (status == 400)


def test_large_and_binary_files_go_to_lfs(ask):
    asker = ask()
    asker.commit(file("README.md", b"x"), lfs("a.parquet", asker.upload(LARGE)))
    sizes = {"README.md": 1, "new.txt": 5, "a.parquet": 3, "large.txt": 11 * 2**20}
    sent = {"files": [{"path": path, "size": size, "sample": ""} for path, size in sizes.items()]}
    answered = asker("POST", f"/api/datasets/{REPO}/preupload/main", json=sent).json()["files"]
    modes = {each["path"]: each["uploadMode"] for each in answered}
    assert modes == {"README.md": "regular", "new.txt": "regular", "a.parquet": "lfs", "large.txt": "lfs"}
    oids = {each["path"]: each["oid"] for each in answered}
    assert oids["a.parquet"] == hashlib.sha256(LARGE).hexdigest()
    assert oids["README.md"] == hashlib.sha1(b"blob 1\0x").hexdigest()
    assert oids["new.txt"] is None


def test_what_was_uploaded_is_not_asked_for_again(ask):
    asker = ask()
    oid = asker.upload(LARGE)
    assert asker.batch(LARGE) == [{"oid": oid, "size": len(LARGE)}]
    assert asker.server.hub.object_path(oid).read_bytes() == LARGE
    verify = f"/datasets/{REPO}.git/info/lfs/verify"
    assert asker("POST", verify, json={"oid": oid, "size": len(LARGE)}).status_code == 200
    assert asker("POST", verify, json={"oid": oid, "size": 1}).status_code == 404


def test_an_upload_must_be_what_was_announced_and_where_it_was_told(ask):
    asker = ask()
    (told,) = asker.batch(LARGE)
    href = told["actions"]["upload"]["href"]
    assert asker.http.put(href, content=LARGE[:-1] + b"?").status_code == 400
    assert asker.http.put(href, content=LARGE[:-1]).status_code == 400
    assert asker.http.put(re.sub("signature=..", "signature=zz", href), content=LARGE).status_code == 403
    assert asker.http.put(href.replace(told["oid"], "0" * 64), content=LARGE).status_code == 403
    assert not asker.server.hub.has(told["oid"])
    assert list(asker.server.hub.object_path(told["oid"]).parent.glob("*")) == [], "half an object is left"
    assert asker.http.put(href, content=LARGE).status_code == 200


def test_a_commit_adds_replaces_and_deletes(ask):
    asker = ask()
    oid = asker.upload(LARGE)
    first = asker.commit(file("a.txt", b"1"), file("x/b.txt", b"2"), file("x/y/c.txt", b"3"), lfs("d.parquet", oid))
    assert first.json()["commitOid"] == asker.head()
    gone = ("deletedFile", {"path": "d.parquet"})
    second = asker.commit(file("a.txt", b"4"), ("deletedFolder", {"path": "x/"}), gone, parent=asker.head())
    repository = asker.server.hub.repository(REPO)
    assert sorted(repository.head.tree) == [".gitattributes", "a.txt"]
    assert sorted(repository.commits[1].tree) == [".gitattributes", "a.txt", "d.parquet", "x/b.txt", "x/y/c.txt"]
    assert [each.id for each in repository.commits[1:]] == [first.json()["commitOid"], second.json()["commitOid"]]
    assert (repository.head.title, repository.head.message) == ("a title", "a message")
    assert repository.head.parent == repository.commits[1].id


def test_a_commit_on_a_head_that_has_moved_is_refused(ask):
    asker = ask()
    before = asker.head()
    assert asker.commit(file("a.txt", b"1"), parent=before[:7]).status_code == 200
    late = asker.commit(file("a.txt", b"2"), parent=before)
    assert late.status_code == 412
    assert len(asker.server.hub.repository(REPO).commits) == 2
    assert asker.commit(file("a.txt", b"2")).status_code == 200, "without a parent nobody asks"


@pytest.mark.parametrize(
    ("operation", "status"),
    [
        (("deletedFile", {"path": "nothing.txt"}), 404),
        (lfs("a.parquet", "0" * 64), 400),
        (lfs("a.parquet", "short"), 422),
        (("file", {"path": "a.txt", "content": "???"}), 400),
        (("file", {"path": 3}), 400),
        (("elephant", {"path": "a.txt"}), 400),
    ],
)
def test_a_commit_that_makes_no_sense_changes_nothing(ask, operation, status):
    asker = ask()
    head = asker.head()
    assert asker.commit(file("b.txt", b"x"), operation).status_code == status
    assert asker.head() == head
    assert asker("POST", f"/api/datasets/{REPO}/commit/main", content=b"{").status_code == 400
    assert asker("POST", f"/api/datasets/{REPO}/commit/main", content=b"").status_code == 400
    assert asker("POST", f"/api/datasets/{REPO}/commit/other", content=b"").status_code == 400


def test_a_tag_is_set_once_and_never_moved(ask):
    asker = ask()
    first = asker.head()
    tag = f"/api/datasets/{REPO}/tag"
    assert asker("POST", f"{tag}/{first}", json={"tag": "v1"}).status_code == 200
    asker.commit(file("a.txt", b"1"))
    assert asker("POST", f"{tag}/main", json={"tag": "v1"}).status_code == 409
    assert asker("POST", f"{tag}/0000000", json={"tag": "v2"}).status_code == 404
    refs = asker("GET", f"/api/datasets/{REPO}/refs").json()
    assert refs["tags"] == [{"name": "v1", "ref": "refs/tags/v1", "targetCommit": first}]
    assert [each["targetCommit"] for each in refs["branches"]] == [asker.head()]
    assert asker("DELETE", f"{tag}/v1").status_code == 200
    assert asker("DELETE", f"{tag}/v1").status_code == 404
    assert asker("GET", f"/api/datasets/{REPO}/refs").json()["tags"] == []


def test_visibility_is_changed_and_nothing_else(ask):
    asker = ask()
    settings = f"/api/datasets/{REPO}/settings"
    assert asker("PUT", settings, json={"gated": "auto"}).status_code == 400
    assert asker("PUT", settings, json={"visibility": "public"}).status_code == 200
    assert asker("GET", f"/api/datasets/{REPO}", None).json()["private"] is False
    assert asker("PUT", settings, json={"private": True}).status_code == 200
    assert asker("GET", f"/api/datasets/{REPO}", None).status_code == 401


def tree(asker: Asker, path: str) -> list[dict]:
    entries, url = [], f"/api/datasets/{REPO}/tree/{path}"
    while url:
        reply = asker("GET", url)
        entries += reply.json()
        url = reply.links.get("next", {}).get("url")
    return entries


@pytest.mark.parametrize("page", [1, 2, 1000])
def test_trees_and_histories_come_in_pages(ask, page):
    asker = ask(page=page)
    asker.commit(file("a.txt", b"1"), file("x/b.txt", b"2"), file("x/y/c.txt", b"3"))
    names = [(each["type"], each["path"]) for each in tree(asker, "main?recursive=true")]
    files = [("file", ".gitattributes"), ("file", "a.txt"), ("file", "x/b.txt"), ("file", "x/y/c.txt")]
    assert names == [("directory", "x"), ("directory", "x/y"), *files]
    assert [each["path"] for each in tree(asker, "main")] == ["x", ".gitattributes", "a.txt"]
    assert [each["path"] for each in tree(asker, "main/x")] == ["x/y", "x/b.txt"]
    assert asker("GET", f"/api/datasets/{REPO}/tree/main/zz").headers["x-error-code"] == "EntryNotFound"
    commits = asker("GET", f"/api/datasets/{REPO}/commits/main").json()
    assert [each["title"] for each in commits] == ["a title", "initial commit"][:page]


def test_paths_info_tells_files_and_folders(ask):
    asker = ask()
    oid = asker.upload(LARGE)
    asker.commit(file("x/b.txt", b"2"), lfs("a.parquet", oid))
    sent = {"paths": ["x", "x/b.txt", "a.parquet", "nothing"]}
    told = asker("POST", f"/api/datasets/{REPO}/paths-info/main", json=sent).json()
    assert [(each["type"], each["path"]) for each in told] == [
        ("directory", "x"),
        ("file", "x/b.txt"),
        ("file", "a.parquet"),
    ]
    assert told[1]["oid"] == hashlib.sha1(b"blob 1\0" + b"2").hexdigest() and "lfs" not in told[1]
    assert told[2]["lfs"]["oid"] == oid and told[2]["size"] == told[2]["lfs"]["size"] == len(LARGE)


@pytest.mark.parametrize(
    ("wanted", "begin", "end"),
    [("bytes=10-19", 10, 20), ("bytes=79990-", 79990, 80000), ("bytes=-5", 79995, 80000), ("bytes=5-99999", 5, 80000)],
)
def test_a_stretch_of_a_file(ask, wanted, begin, end):
    asker = ask()
    asker.commit(lfs("a.parquet", asker.upload(LARGE)))
    reply = asker("GET", f"/datasets/{REPO}/resolve/main/a.parquet", headers={"range": wanted})
    assert (reply.status_code, reply.content) == (206, LARGE[begin:end])
    assert reply.headers["content-range"] == f"bytes {begin}-{end - 1}/{len(LARGE)}"


def test_a_file_at_a_revision(ask):
    asker = ask()
    oid = asker.upload(LARGE)
    asker.commit(lfs("x/a.parquet", oid), file("README.md", CARD.encode()))
    old = asker.head()
    asker.commit(file("README.md", b"new"))
    path = f"/datasets/{REPO}/resolve"
    head = asker("HEAD", f"{path}/{old}/x/a.parquet")
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == head.headers["x-linked-size"] == str(len(LARGE))
    assert head.headers["etag"] == head.headers["x-linked-etag"] == f'"{oid}"'
    assert head.headers["x-repo-commit"] == old
    assert asker("GET", f"{path}/{old}/x/a.parquet").content == LARGE
    assert asker("GET", f"{path}/{old}/README.md").text == CARD
    assert asker("GET", f"{path}/main/README.md").text == "new"
    missing = asker("GET", f"{path}/main/nothing"), asker("GET", f"{path}/v9/README.md")
    assert [each.headers["x-error-code"] for each in missing] == ["EntryNotFound", "RevisionNotFound"]
    assert asker("GET", f"{path}/main/README.md", headers={"range": "bytes=9-"}).status_code == 416
    assert asker("GET", "/somewhere/else").status_code == 404


def test_a_later_server_on_the_same_folder_goes_on(ask, tmp_path):
    asker = ask()
    oid = asker.upload(LARGE)
    asker.commit(lfs("a.parquet", oid))
    asker("POST", f"/api/datasets/{REPO}/tag/main", json={"tag": "v1"})
    before = asker.server.hub.repository(REPO)
    with HubServer(tmp_path / "hub-0") as server:
        other = Asker(server)
        with other.http:
            assert other("GET", f"/api/datasets/{REPO}/revision/v1").json()["sha"] == before.head.id
            assert "actions" not in other.batch(LARGE)[0]
            assert other("GET", f"/datasets/{REPO}/resolve/v1/a.parquet").content == LARGE


# What a commit's answer is, and whether the commit is there, for each fault that leaves an answer.
ANSWERED = {
    "409": (409, False),
    "412": (412, False),
    "429": (429, False),
    "429:7": (429, False),
    "500": (500, False),
    "503": (503, False),
    "500-after": (500, True),
    "slow:0.1": (200, True),
    "overtaken": (200, True),
}
CUT = {"cut": False, "cut-after": True}


def test_every_kind_of_fault_is_shown_here():
    # Lies have tests of their own: tests/release/test_hub_lies.py.
    elsewhere = LIES | {HubFaultKind.ECHO, HubFaultKind.ENDLESS}
    assert {word.partition(":")[0] for word in ANSWERED} | set(CUT) == set(HubFaultKind) - elsewhere


@pytest.mark.parametrize("fault", ANSWERED)
def test_a_fault_that_leaves_an_answer(ask, fault):
    status, done = ANSWERED[fault]
    asker = ask({"commit": fault})
    reply = asker.commit(file("a.txt", b"1"))
    assert reply.status_code == status
    assert reply.headers.get("retry-after") == ("7" if fault == "429:7" else None)
    repository = asker.server.hub.repository(REPO)
    assert ("a.txt" in repository.head.tree) is done
    assert len(repository.commits) == 1 + done + (fault == "overtaken")
    first = next(each for each in asker.server.requests if each.endpoint == "commit")
    expected = HubFault(*_parsed(fault))
    assert (first.fault, first.status, first.done, first.written) == (str(expected), status, done, True)
    assert asker.commit(file("a.txt", b"2")).status_code == 200, "the next one is as it should be"


def _parsed(word: str) -> tuple[HubFaultKind, float | None]:
    kind, colon, seconds = word.partition(":")
    return HubFaultKind(kind), float(seconds) if colon else None


@pytest.mark.parametrize("fault", CUT)
def test_a_fault_that_cuts_the_connection(ask, fault):
    asker = ask({"commit": fault, "info": fault, "lfs-put": fault})
    with pytest.raises(httpx.TransportError):
        asker.commit(file("a.txt", b"1"))
    with pytest.raises(httpx.TransportError):
        asker.head()
    (told,) = asker.batch(LARGE)
    with pytest.raises(httpx.TransportError):
        asker.http.put(told["actions"]["upload"]["href"], content=LARGE)
    assert ("a.txt" in asker.server.hub.repository(REPO).head.tree) is CUT[fault]
    assert asker.server.hub.has(told["oid"]) is CUT[fault]
    requests = {each.endpoint: each for each in asker.server.requests}
    assert [requests[name].done for name in ("commit", "info", "lfs-put")] == [CUT[fault], False, CUT[fault]]
    assert not any(requests[name].written for name in ("commit", "info", "lfs-put"))


def test_an_upload_that_is_cut_has_sent_half(ask):
    asker = ask({"lfs-put": "cut"})
    (told,) = asker.batch(LARGE)
    address = urlsplit(told["actions"]["upload"]["href"])
    with socket.create_connection((address.hostname, address.port)) as connection:
        head = f"PUT {address.path}?{address.query} HTTP/1.1\r\nhost: x\r\ncontent-length: {len(LARGE)}\r\n\r\n"
        connection.sendall(head.encode() + LARGE[: len(LARGE) // 2 - 1])
        connection.settimeout(0.2)
        with pytest.raises(TimeoutError):
            connection.recv(1)
        connection.settimeout(None)
        connection.sendall(LARGE[len(LARGE) // 2 - 1 : -10])
        with pytest.raises(ConnectionResetError):
            connection.recv(1)


def test_who_is_overtaken_meets_what_the_other_did(ask):
    asker = ask({"commit": "overtaken", "tag": "overtaken"})
    head = asker.head()
    assert asker.commit(file("a.txt", b"1"), parent=head).status_code == 412
    repository = asker.server.hub.repository(REPO)
    assert sorted(repository.head.tree) == [".gitattributes", "elsewhere-1.txt"]
    assert asker("POST", f"/api/datasets/{REPO}/tag/main", json={"tag": "v1"}).status_code == 409
    assert asker.server.hub.repository(REPO).tags == {"v1": head}


def test_faults_come_in_the_order_of_the_script(ask):
    asker = ask({"info": "500*2,ok,503"})
    codes = [asker("GET", f"/api/datasets/{REPO}").status_code for _ in range(6)]
    assert codes == [500, 500, 200, 503, 200, 200]
    assert asker("GET", f"/api/datasets/{REPO}/refs").status_code == 200
    for_ever = ScriptedHubFaults({"tag": "ok,409*"})
    met = [for_ever(PlannedRequest(Endpoint.TAG, time, REPO)) for time in range(1, 9)]
    assert met == [None, *[HubFault(HubFaultKind.CONFLICT)] * 7]


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ({"comit": "500"}, "no such endpoint: 'comit'"),
        ({"commit": "elephant"}, "no such fault: 'elephant'"),
        ({"commit": "500*x"}, "whole number"),
        ({"commit": "500:3"}, "does not take a number of seconds"),
        ({"commit": "slow:-1"}, "0 or more"),
        ({"commit": "slow:x"}, "slow:x"),
    ],
)
def test_a_script_that_means_nothing_is_refused(script, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        ScriptedHubFaults(script)
    with pytest.raises(ValueError, match="ENDPOINT=FAULT"):
        parse_script(("commit",))


def test_the_journal_holds_every_request_and_no_secret(ask, tmp_path):
    log = tmp_path / "log"
    asker = ask(log=log)
    asker.upload(LARGE)
    asker("GET", f"/api/datasets/{REPO}", "hf_planted-token")
    asker("GET", "/nowhere")
    requests = asker.server.requests
    assert [(each.endpoint, each.status, each.user, each.done) for each in requests] == [
        ("lfs-batch", 200, "mill", False),
        ("lfs-put", 200, None, True),
        ("info", 401, None, False),
        (None, 404, "mill", False),
    ]
    assert [each.changes for each in requests] == [False, True, False, False]
    assert all(each.written and each.ended_at >= each.asked_at for each in requests)
    assert read_journal(log) == requests
    for secret in (WRITE_TOKEN, "planted", "signature"):
        assert secret not in log.read_text()


def test_a_log_is_gone_on_with_by_one_server_at_a_time(ask, tmp_path):
    log = tmp_path / "log"
    with HubServer(tmp_path / "a", log=log) as server, Asker(server).http as http:
        http.get("/api/whoami-v2")
        with pytest.raises(StoreLocked, match="another server"), HubServer(tmp_path / "b", log=log):
            pass
    asker = ask(log=log)
    asker("GET", "/api/whoami-v2")
    assert [(each.number, each.time) for each in asker.server.requests] == [(1, 1), (2, 2)]
    (tmp_path / "foreign").write_text("{}\n")
    with (
        pytest.raises(InputError, match="does not belong to a hub_server log"),
        HubServer(tmp_path / "b", log=tmp_path / "foreign"),
    ):
        pass


def test_many_at_once_are_all_answered(ask):
    asker = ask()

    def put(number: int) -> int:
        with httpx.Client(base_url=asker.server.address, trust_env=False, verify=False, timeout=None) as http:
            asked = Asker(asker.server)
            asked.http.close()
            asked.http = http
            return asked.commit(file(f"{number}.txt", b"x")).status_code

    with ThreadPoolExecutor(8) as executor:
        assert list(executor.map(put, range(24))) == [200] * 24
    repository = asker.server.hub.repository(REPO)
    assert len(repository.commits) == 25 and len(repository.head.tree) == 25


def test_what_is_too_large_or_no_http_is_refused(ask):
    asker = ask(max_body=1000)
    assert asker.commit(file("a.txt", b"x" * 2000)).status_code == 413
    port = urlsplit(asker.server.address).port
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(b"what?\r\n\r\n")
        assert connection.recv(64).startswith(b"HTTP/1.1 400")


def test_the_python_of_the_page_runs_and_its_tables_are_whole(project, capsys):
    page = (project / "docs" / "hub-server.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(block, {})
    assert capsys.readouterr().out == "0\n"
    first_cells = " ".join(re.findall(r"^\| (.*?) \|", page, re.MULTILINE))
    named = set(re.findall(r"`([^`]+)`", first_cells))
    assert {each.value for each in (*Endpoint, *HubFaultKind)} <= named
    assert set(JournaledRequest.__slots__) <= named
