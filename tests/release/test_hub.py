"""Pushing releases to a hub on loopback through huggingface_hub: one commit and one tag, whatever goes wrong."""

from __future__ import annotations

import hashlib
import logging
import sys
import time as clock
from pathlib import Path
from types import SimpleNamespace

import pytest

from hazardmill.errors import HubError, InputError, ReleaseRefused, UsageError
from hazardmill.release.hub import timeouts, verify_load
from hazardmill.release.hub.push import push
from hazardmill.release.hub.verify_load import count_rows
from hazardmill.testing.hub_server import READ_TOKEN, Account, HubServer, ScriptedHubFaults

from .pushable import COUNTS, card, pushable

# Of httpx, on how huggingface_hub hands it an upload without Xet.
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")

REPO = "acme/soups"
TOKEN = "hf_planted-" + "x3f9c1d7b5a"


@pytest.fixture(autouse=True)
def client(monkeypatch, tmp_path):
    """huggingface_hub with nothing of the user's, no Xet, and no waiting between its own attempts."""
    import huggingface_hub.constants
    import huggingface_hub.utils
    from huggingface_hub.utils import _http

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_TOKEN_PATH", str(tmp_path / "no-token"))
    waits = SimpleNamespace(sleep=lambda seconds: None, time=clock.time, monotonic=clock.monotonic)
    monkeypatch.setattr(_http, "time", waits)
    for name in ("HF_TOKEN", "HF_ENDPOINT", "HF_OIDC_RESOURCE", "HUGGING_FACE_HUB_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    huggingface_hub.utils.disable_progress_bars()
    yield
    huggingface_hub.utils.enable_progress_bars()
    huggingface_hub.close_session()


@pytest.fixture
def server(tmp_path):
    tokens = {TOKEN: Account("mill", writes=True), READ_TOKEN: Account("reader", writes=False)}
    with HubServer(tmp_path / "hub", tokens=tokens) as server:
        yield server


@pytest.fixture
def folder(tmp_path):
    return pushable(tmp_path / "1.0.0")


def as_counted(client, revision, local):
    """Stands for loading: the rows that the release should have."""
    return local.manifest.counts


@pytest.fixture
def pushed(server):
    """Push as a user does, with rows that are as they should be."""

    def run(folder: Path, **more):
        given = {"token": TOKEN, "endpoint": server.address, "rows_of": as_counted} | more
        return push(folder, REPO, **given)

    return run


def there(server):
    """``(commits after the first, tags, files at the head)``."""
    repository = server.hub.repository(REPO)
    return [each.id for each in repository.commits[1:]], repository.tags, repository.head.tree


def is_there_once(server, folder, tag="v1.0.0"):
    """Whether the hub has a release in exactly one commit and one tag, byte by byte."""
    commits, tags, tree = there(server)
    here = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    return (
        len(commits) == 1
        and tags == {tag: commits[0]}
        and tree.keys() == here.keys() | {".gitattributes"}
        and all(server.hub.read(tree[name]) == path.read_bytes() for name, path in here.items())
    )


def test_a_release_is_one_private_commit_and_one_tag(server, folder, pushed):
    told = []
    result = pushed(folder, say=told.append)
    assert is_there_once(server, folder)
    assert (result.created, result.committed, result.tagged, result.published, result.private) == (
        True,
        True,
        True,
        False,
        True,
    )
    manifest = hashlib.sha256((folder / "manifest.json").read_bytes()).hexdigest()
    assert result.manifest_sha256 == manifest and result.rows == COUNTS
    assert result.revision == server.hub.repository(REPO).head.id
    assert server.hub.repository(REPO).private
    head = server.hub.repository(REPO).head
    assert "1.0.0" in head.title and manifest[:12] in head.title and manifest in head.message
    assert [line.split()[0] for line in told] == ["checking", "creating", "committing", "checking", "tagging"]


def test_a_release_that_is_there_is_left_alone(server, folder, pushed):
    first = pushed(folder)
    before, asked = server.hub.repository(REPO), len(server.requests)
    again = pushed(folder)
    assert not (again.created or again.committed or again.tagged or again.published)
    assert again.revision == first.revision and again.rows is None
    assert server.hub.repository(REPO) == before
    assert not any(request.changes for request in server.requests[asked:])


def test_public_comes_last_and_only_when_asked_for(server, folder, pushed):
    result = pushed(folder, public=True)
    assert (result.published, result.private) == (True, False)
    changed = [request.endpoint for request in server.requests if request.done]
    assert changed == ["create", "lfs-put", "lfs-put", "lfs-put", "lfs-put", "commit", "tag", "settings"]
    assert pushed(folder).private is False, "a push never closes what is open"
    assert not pushed(folder, public=True).published


def test_a_release_that_is_there_is_opened_afterwards(server, folder, pushed):
    pushed(folder)
    later = pushed(folder, public=True)
    assert (later.committed, later.tagged, later.published) == (False, False, True)
    assert not server.hub.repository(REPO).private


def test_the_next_release_replaces_the_one_before_it(server, tmp_path, pushed):
    old = pushable(tmp_path / "old", "1.0.0", more={"figures/old.svg": b"<svg/>", "LICENSES.md": b"MIT\n"})
    new = pushable(tmp_path / "new", "1.1.0", {"tasks": {"train": 5, "test": 2}}, {"LICENSES.md": b"MIT\n"})
    pushed(old)
    result = pushed(new)
    assert result.deleted == ("data/plans/train.parquet", "figures/old.svg")
    assert "LICENSES.md" not in result.changed and "README.md" in result.changed
    commits, tags, tree = there(server)
    assert len(commits) == 2 and tags == dict(zip(("v1.0.0", "v1.1.0"), commits, strict=True))
    assert tree.keys() == {*(p.relative_to(new).as_posix() for p in new.rglob("*") if p.is_file()), ".gitattributes"}
    assert not pushed(old).committed, "the one before is found in the history"
    assert there(server)[:2] == (commits, tags)


def test_what_belongs_to_no_release_stays(server, tmp_path, pushed):
    pushed(pushable(tmp_path / "old", "1.0.0"))
    server.hub.commit(REPO, "By hand", "", {"NOTES.md": server.hub.keep(b"notes\n")})
    result = pushed(pushable(tmp_path / "new", "1.0.1"))
    assert result.kept == ("NOTES.md",)
    assert "NOTES.md" in there(server)[2]


def test_a_repository_of_something_else_is_left_alone(server, folder, pushed):
    server.hub.create(REPO, private=True)
    server.hub.commit(REPO, "Pictures", "", {"cats.png": server.hub.keep(b"cat")})
    with pytest.raises(HubError, match="holds something that is not a release"):
        pushed(folder)
    assert not any(request.changes for request in server.requests)


def test_a_repository_made_by_hand_is_used(server, folder, pushed):
    server.hub.create(REPO, private=False)
    server.hub.commit(REPO, "A card", "", {"README.md": server.hub.keep(b"# To come\n")})
    result = pushed(folder)
    assert (result.created, result.private) == (False, False)
    assert server.hub.read(there(server)[2]["README.md"]) == (folder / "README.md").read_bytes()


def test_a_tag_on_other_content_is_never_moved(server, tmp_path, pushed):
    pushed(pushable(tmp_path / "one"))
    before, asked = server.hub.repository(REPO), len(server.requests)
    with pytest.raises(HubError, match=r"the tag v1\.0\.0 is on other content \(commit .*never moved.*another version"):
        pushed(pushable(tmp_path / "two", more={"LICENSES.md": b"MIT\n"}))
    assert server.hub.repository(REPO) == before
    assert not any(request.changes for request in server.requests[asked:]), "refused before anything is sent"


def test_a_tag_that_somebody_sets_meanwhile_is_not_moved_either(server, folder, pushed):
    server.faults = ScriptedHubFaults({"tag": "overtaken"})
    for _ in range(2):
        with pytest.raises(HubError, match="is on other content"):
            pushed(folder)
    commits, tags, _ = there(server)
    assert len(commits) == 1 and tags == {"v1.0.0": server.hub.repository(REPO).commits[0].id}


def test_a_dry_run_asks_for_nothing_that_changes(server, tmp_path, folder, pushed):
    missing = pushed(folder, dry_run=True, public=True)
    assert (missing.created, missing.committed, missing.tagged, missing.published) == (True,) * 4
    assert missing.revision is None and len(missing.changed) == missing.files == 6
    pushed(folder)
    asked = len(server.requests)
    assert not pushed(folder, dry_run=True).committed
    new = pushed(pushable(tmp_path / "new", "1.1.0", {"tasks": {"train": 5}}), dry_run=True)
    assert new.deleted == ("data/plans/train.parquet", "data/tasks/test.parquet")
    assert {request.method for request in server.requests[asked:]} <= {"GET", "HEAD"}
    assert is_there_once(server, folder)


# One fault or several, and how many times a push is made until it comes to its end. The release has four files in LFS,
# and huggingface_hub tries each six times.
RESUMED = {
    "info=503": 2,
    "refs=500": 2,
    "create=500": 2,
    "create=500-after": 2,
    "create=cut": 2,
    "create=cut-after": 2,
    "tree=500": 2,
    "tree=cut": 2,
    "commit=500*2 commits=500": 3,
    "validate-yaml=500": 2,
    "preupload=503": 1,
    "preupload=503*6": 2,
    "lfs-batch=429:1": 1,
    "lfs-batch=429:1*6": 2,
    "lfs-put=cut": 1,
    "lfs-put=cut*24": 2,
    "lfs-put=cut-after*24": 2,
    "lfs-put=500-after*24": 2,
    "lfs-put=ok,ok,cut*12": 2,
    "commit=500": 2,
    "commit=500*3": 4,
    "commit=503": 2,
    "commit=429:3": 2,
    "commit=412": 2,
    "commit=cut": 2,
    "commit=500-after": 1,
    "commit=cut-after": 1,
    "commit=slow:0.05": 1,
    "tag=409": 2,
    "tag=500": 2,
    "tag=cut": 2,
    "tag=500-after": 1,
    "tag=cut-after": 1,
    "settings=500": 2,
    "settings=500-after": 1,
    "settings=cut-after": 1,
    "commit=500-after tag=500 settings=cut": 3,
    "create=cut-after lfs-put=cut*24 commit=cut-after tag=cut": 4,
}


@pytest.mark.parametrize("script", RESUMED)
def test_a_push_that_met_a_fault_is_made_again(server, folder, pushed, script):
    server.faults = ScriptedHubFaults(dict(word.split("=") for word in script.split()))
    for _ in range(RESUMED[script] - 1):
        with pytest.raises(HubError) as stopped:
            pushed(folder, public=True)
        assert TOKEN not in f"{stopped.value!r} {stopped.value}"
    if script.startswith("lfs-put") and RESUMED[script] > 1:
        # How many of them the first push meets before it gives up hangs on how fast its uploads are beside each other.
        server.faults = ScriptedHubFaults({})
    result = pushed(folder, public=True)
    assert is_there_once(server, folder)
    assert not server.hub.repository(REPO).private and not result.private
    assert sum(request.done for request in server.requests if request.endpoint == "commit") == 1
    assert sum(request.done for request in server.requests if request.endpoint == "tag") == 1


def test_a_lost_answer_with_no_hub_afterwards_is_found_next_time(server, folder, pushed):
    server.faults = ScriptedHubFaults({"commit": "500-after", "info": "ok*2,503"})
    with pytest.raises(HubError, match="the hub answers with status 500 when asked to take the commit"):
        pushed(folder)
    assert not pushed(folder).committed
    assert is_there_once(server, folder)


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("commit=412", "status 412.*somebody else has committed in the meantime"),
        ("commit=429:7", "status 429.*wait 7 s, then push again"),
        ("commit=429", "status 429.*wait a while, then push again"),
        ("commit=503", "status 503.*push again: it continues where it stopped"),
        ("info=cut", "the hub does not answer.*push again"),
    ],
)
def test_an_error_says_what_to_do(server, folder, pushed, script, said):
    server.faults = ScriptedHubFaults(dict([script.split("=")]))
    with pytest.raises(HubError, match=said) as stopped:
        pushed(folder)
    assert stopped.value.file == f"{server.address}/datasets/{REPO}"


@pytest.mark.parametrize("endpoint", ["info", "refs", "tree", "create", "preupload", "lfs-put"])
def test_a_hub_that_says_nothing_is_not_waited_for_for_ever(server, tmp_path, pushed, monkeypatch, endpoint):
    """With every kind of call that has no limit of huggingface_hub's own."""
    if endpoint == "tree":
        pushed(pushable(tmp_path / "old"))
    server.faults = ScriptedHubFaults({endpoint: "slow:60*"})
    new = pushable(tmp_path / "new", "1.0.1")
    with monkeypatch.context() as patch:
        for name in ("LOOK_S", "SEND_S"):
            patch.setattr(timeouts, name, 0.2)
        with pytest.raises(HubError, match=r"the hub does not answer when asked .*: .*Timeout"):
            pushed(new)
    # Patient again: a slow machine may take longer than that to answer.
    server.faults = None
    assert pushed(new).tagged


def test_a_hub_that_falls_silent_over_the_history_is_not_waited_for(server, folder, pushed, monkeypatch):
    server.faults = ScriptedHubFaults({"tag": "500"})
    with pytest.raises(HubError):
        pushed(folder)
    server.hub.commit(REPO, "By hand", "", {"README.md": server.hub.keep(b"# Nicer\n")})
    monkeypatch.setattr(timeouts, "LOOK_S", 0.2)
    server.faults = ScriptedHubFaults({"commits": "slow:60*"})
    with pytest.raises(HubError, match="the hub does not answer when asked for the history: ReadTimeout"):
        pushed(folder)


def test_a_commit_whose_answer_never_comes_is_found(server, folder, pushed, monkeypatch):
    monkeypatch.setattr(timeouts, "SEND_S", 0.5)
    server.faults = ScriptedHubFaults({"commit": "slow:60"})
    assert pushed(folder).committed
    assert is_there_once(server, folder)


def test_a_client_that_somebody_set_stays_in_use(server, folder, pushed):
    """Such as one with a proxy; and it is wrapped once, however often one pushes."""
    import httpx
    import huggingface_hub
    from huggingface_hub.utils import _http

    made = []

    def make():
        made.append(httpx.Client(timeout=None, headers={"x-from": "the lab"}))
        return made[-1]

    huggingface_hub.set_client_factory(make)
    try:
        pushed(folder)
        limited = _http._GLOBAL_CLIENT_FACTORY
        pushed(folder)
        assert made and _http._GLOBAL_CLIENT_FACTORY is limited
    finally:
        huggingface_hub.set_client_factory(_http.default_client_factory)


@pytest.mark.parametrize("dry_run", [False, True])
def test_main_is_never_taken_back_to_an_older_release(server, tmp_path, pushed, dry_run):
    pushed(pushable(tmp_path / "1.9.0", "1.9.0"))
    pushed(pushable(tmp_path / "1.10.0", "1.10.0"))
    before, asked = server.hub.repository(REPO), len(server.requests)
    with pytest.raises(HubError, match=r"main has release 1\.10\.0, and 1\.9\.1 is older .*above 1\.10\.0") as refused:
        pushed(pushable(tmp_path / "1.9.1", "1.9.1"), dry_run=dry_run)
    assert refused.value.exit_code == 5
    assert server.hub.repository(REPO) == before
    assert not any(request.changes for request in server.requests[asked:])


def test_an_older_release_that_was_committed_before_is_still_tagged(server, tmp_path, pushed):
    old = pushable(tmp_path / "1.0.0")
    server.faults = ScriptedHubFaults({"tag": "500"})
    with pytest.raises(HubError):
        pushed(old)
    pushed(pushable(tmp_path / "2.0.0", "2.0.0"))
    assert not pushed(old).committed
    commits, tags, _ = there(server)
    assert tags == {"v1.0.0": commits[0], "v2.0.0": commits[1]}


def test_a_release_that_names_no_version_is_replaced(server, folder, pushed):
    """By a hazardmill that this one does not know: nothing can be compared."""
    server.hub.create(REPO, private=True)
    other = {"manifest.json": b'{"schema": 9, "version": "next", "files": {"old.txt": {}}}', "old.txt": b"x"}
    server.hub.commit(REPO, "Another", "", {name: server.hub.keep(content) for name, content in other.items()})
    assert pushed(folder).deleted == ("old.txt",)


def test_a_repository_that_somebody_fills_meanwhile_is_looked_at_again(server, tmp_path, pushed):
    """Between looking and making it: what was planned for an empty one is not done."""
    new = pushable(tmp_path / "2.0.0", "2.0.0")

    def overtake(change):
        if change.endpoint == "create" and change.status is None and change.ended_at is None:
            server.hub.create(REPO, private=True)
            entries = {p.relative_to(new).as_posix(): server.hub.keep(p.read_bytes()) for p in new.rglob("*.*")}
            server.hub.commit(REPO, "theirs", "", entries)

    server._journal._on_change = overtake
    with pytest.raises(HubError, match=r"main has release 2\.0\.0"):
        pushed(pushable(tmp_path / "1.0.0"))
    assert len(there(server)[0]) == 1


def test_who_is_overtaken_looks_again(server, tmp_path, pushed):
    pushed(pushable(tmp_path / "old", "1.0.0"))
    new = pushable(tmp_path / "new", "1.0.1")
    server.faults = ScriptedHubFaults({"commit": "overtaken"})
    with pytest.raises(HubError, match="somebody else has committed"):
        pushed(new)
    result = pushed(new)
    assert result.kept == ("elsewhere-2.txt",)
    assert there(server)[1].keys() == {"v1.0.0", "v1.0.1"}


def test_a_commit_that_somebody_committed_on_is_found_in_the_history(server, folder, pushed):
    server.faults = ScriptedHubFaults({"tag": "500"})
    with pytest.raises(HubError):
        pushed(folder)
    ours = server.hub.repository(REPO).head
    server.hub.commit(REPO, "By hand", "", {"README.md": server.hub.keep(b"# Nicer\n")})
    result = pushed(folder)
    assert (result.committed, result.revision) == (False, ours.id)
    assert there(server)[1] == {"v1.0.0": ours.id}


@pytest.mark.parametrize(
    ("token", "said"),
    [("hf_unknown-token", "status 401.*HF_TOKEN"), (READ_TOKEN, "status 403.*may write")],
)
def test_a_token_that_may_not_is_told_without_it(server, folder, pushed, token, said):
    with pytest.raises(HubError, match=said) as stopped:
        pushed(folder, token=token)
    assert token not in str(stopped.value)


def test_without_a_token_nobody_is_asked(server, folder, pushed):
    with pytest.raises(HubError, match="there is no token for the hub"):
        pushed(folder, token=None)
    assert server.requests == ()


def test_token_and_hub_come_from_the_environment(server, folder, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.setenv("HF_ENDPOINT", server.address)
    assert push(folder, REPO, rows_of=as_counted).committed
    assert {request.user for request in server.requests if request.endpoint == "commit"} == {"mill"}


def test_the_token_comes_from_the_store_of_huggingface_hub(server, folder, monkeypatch, tmp_path):
    (tmp_path / "no-token").write_text(TOKEN)
    assert push(folder, REPO, endpoint=server.address, rows_of=as_counted).committed


def test_the_token_is_in_no_log_and_no_file(server, folder, pushed, caplog, tmp_path):
    (tmp_path / "mine").mkdir()
    server.faults = ScriptedHubFaults({"lfs-put": "500*24", "commit": "500", "tag": "cut"})
    # Named as well: litellm, once a test has imported it, turns that log down for the whole process.
    with caplog.at_level(logging.DEBUG), caplog.at_level(logging.DEBUG, logger="httpx"):
        for _ in range(3):
            with pytest.raises(HubError) as stopped:
                pushed(folder)
            assert TOKEN not in "".join(map(str, (stopped.value, stopped.value.__cause__, stopped.value.__dict__)))
        pushed(folder)
    assert "commit" in caplog.text and TOKEN not in caplog.text
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files and not [path for path in files if TOKEN.encode() in path.read_bytes()]


def _append(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"?")


DAMAGE = {
    "data/plans/train.parquet has other bytes": lambda at: _append(at / "data/plans/train.parquet"),
    "README.md is missing": lambda at: (at / "README.md").unlink(),
    "notes.txt is not part of it": lambda at: (at / "notes.txt").write_text("x"),
    "there is no manifest of a release": lambda at: (at / "manifest.json").unlink(),
    "the manifest is not JSON": lambda at: _append(at / "manifest.json"),
}


@pytest.mark.parametrize("said", DAMAGE)
@pytest.mark.parametrize("allow_offline", [False, True])
def test_a_damaged_release_is_refused_before_anybody_is_asked(server, folder, pushed, said, allow_offline):
    DAMAGE[said](folder)
    with pytest.raises(InputError, match=said):
        pushed(folder, allow_offline=allow_offline)
    assert server.requests == ()


def test_offline_tasks_go_out_only_when_allowed(server, tmp_path, pushed):
    folder = pushable(tmp_path / "offline", offline=3)
    with pytest.raises(ReleaseRefused, match=r"3 tasks .* not by a language model") as refused:
        pushed(folder)
    assert refused.value.findings == ("offline: 3 tasks",) and server.requests == ()
    assert pushed(folder, allow_offline=True).committed


def test_tasks_out_of_anybodys_recordings_go_out_only_when_allowed(server, tmp_path, pushed):
    folder = pushable(tmp_path / "recorded", recorded=2)
    with pytest.raises(ReleaseRefused, match="2 were made of recorded answers that do not come with") as refused:
        pushed(folder)
    assert refused.value.findings == ("recorded: 2 tasks",) and server.requests == ()
    assert pushed(folder, allow_offline=True).committed


@pytest.mark.parametrize(
    "name", ["soups", "a/b/c", "../soups", "acme/", "acme/so ups", "-a/b", "acme/a--b", "acme/a..b"]
)
def test_a_name_that_is_no_repository_is_refused(folder, name):
    with pytest.raises(UsageError, match="cannot be the name of a repository"):
        push(folder, name, token=TOKEN)


def test_a_card_that_the_hub_does_not_take_is_told(server, tmp_path, pushed):
    folder = pushable(tmp_path / "bad", more={"README.md": b"---\nlicense: [mit\n---\n"})
    with pytest.raises(InputError, match="the hub does not accept the card"):
        pushed(folder)
    assert there(server)[0] == []


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ({"tasks": {"train": 5, "test": 1}, "plans": {"train": 9}}, r"tasks: .*'test': 1.* not .*'test': 2"),
        ({"tasks": COUNTS["tasks"]}, "plans: None not"),
    ],
)
def test_rows_that_do_not_agree_leave_the_commit_untagged(server, folder, pushed, rows, said):
    with pytest.raises(HubError, match=said):
        pushed(folder, rows_of=lambda client, revision, local: rows)
    commits, tags, _ = there(server)
    assert len(commits) == 1 and tags == {}
    assert pushed(folder).tagged
    assert is_there_once(server, folder)


def test_other_bytes_on_the_hub_leave_the_commit_untagged(server, folder, pushed, monkeypatch):
    """As if the hub had mixed something up: what is there is not what the manifest says."""
    from hazardmill.release.hub.client import HubClient

    commit = HubClient.commit

    def mixed_up(self, files, deleted, **more):
        made = commit(self, files, deleted, **more)
        server.hub.commit(REPO, "", "", {"data/plans/train.parquet": server.hub.keep(b"other")})
        return server.hub.repository(REPO).head.id if made else made

    monkeypatch.setattr(HubClient, "commit", mixed_up)
    with pytest.raises(HubError, match=r"are missing or differ from what was sent: data/plans/train\.parquet"):
        pushed(folder)
    assert there(server)[1] == {}


def test_two_pushers_make_one_commit(server, folder, pushed):
    """The second comes while the first is between looking and committing: its own commit is refused, and it looks."""
    waiting = []

    def overtake(change):
        if change.endpoint == "preupload" and not waiting and change.status is None:
            waiting.append(change)
            # What the other pusher commits, byte by byte, under the same words.
            entries = {}
            for path in sorted(folder.rglob("*")):
                if path.is_file():
                    entries[path.relative_to(folder).as_posix()] = server.hub.keep(path.read_bytes())
            server.hub.commit(REPO, "the other", "", entries)

    # Set by hand: the server of the fixture runs already.
    server._journal._on_change = overtake
    result = pushed(folder)
    commits, tags, _ = there(server)
    assert waiting and len(commits) == 1 and tags == {"v1.0.0": commits[0]} and result.revision == commits[0]


def test_who_lacks_the_client_is_told_what_to_install(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(UsageError, match=r"huggingface_hub is not installed.*pip install 'hazardmill\[hub\]'"):
        push(folder, REPO, token=TOKEN)


def test_loading_has_an_end(server, folder, pushed, monkeypatch):
    monkeypatch.setattr(verify_load, "PATIENCE_S", 0.05)
    with pytest.raises(HubError, match=r"loading the release took more than \d+ s"):
        pushed(folder, rows_of=count_rows)
    assert there(server)[1] == {}


def test_a_wrong_address_and_a_hub_that_may_not_be_asked_are_told(server, folder, pushed, monkeypatch):
    import huggingface_hub.constants

    with pytest.raises(HubError, match=r"write HF_ENDPOINT with https://"):
        pushed(folder, endpoint="localhost:1")
    with pytest.raises(HubError, match=r"characters that a token cannot contain.*copy it into"):
        pushed(folder, token="hf_\N{LATIN SMALL LETTER SHARP S}")
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(HubError, match=r"unset HF_HUB_OFFLINE"):
        pushed(folder)
    assert server.requests == ()


@pytest.mark.full
def test_a_config_that_datasets_does_not_load_leaves_it_untagged(server, tmp_path, pushed, monkeypatch):
    """By a real load: the child's error is told in one line, without the token that it had."""
    monkeypatch.setenv("HF_HUB_DISABLE_XET", "1")
    # Variables of the user's that would answer in the hub's place are kept from the child.
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "not-used"))
    wrong = pushable(tmp_path / "wrong", more={"README.md": card("1.0.0", {"tasks": COUNTS["tasks"]})})
    with pytest.raises(
        HubError, match=r"datasets cannot load the release at .*: ValueError: .*plans.*tagged"
    ) as stopped:
        pushed(wrong, rows_of=count_rows)
    assert TOKEN not in str(stopped.value) and "\n" not in str(stopped.value)
    assert there(server)[1] == {}
    assert not (tmp_path / "not-used").exists()
    right = pushable(tmp_path / "right", "1.0.1")
    assert pushed(right, rows_of=count_rows).rows == COUNTS
