"""Hubs that lie: whatever an endpoint answers, a push or a load ends in an error of ours, without the token."""

from __future__ import annotations

import traceback
from pathlib import Path

import pytest

from hazardmill.errors import HazardmillError, HubError, InputError
from hazardmill.llm.redact import holds_secret
from hazardmill.release.hub import timeouts
from hazardmill.release.hub.push import push
from hazardmill.release.read.release import load_release
from hazardmill.testing.echoes import traces
from hazardmill.testing.hub_server import Account, HubServer, ScriptedHubFaults
from hazardmill.testing.hub_server.faults import LIES, HubFaultKind

from .pushable import pushable

pytestmark = [
    pytest.mark.full,
    # Of httpx, on how huggingface_hub hands it an upload without Xet.
    pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning"),
]

TOKEN = "hf_planted3f9c1d7b5aKeyOfSomebody"
REPO = "acme/hazards"
PUSHED = ("create", "info", "refs", "tree", "preupload", "lfs-batch", "lfs-put", "lfs-verify", "commit", "tag")
LOADED = ("info", "tree", "resolve")
KINDS = sorted(LIES)


@pytest.fixture(autouse=True)
def client(monkeypatch, tmp_path):
    """huggingface_hub with nothing of the user's, no Xet, and no waiting between its own attempts."""
    import huggingface_hub.constants
    import huggingface_hub.utils
    from huggingface_hub.utils import _http

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_TOKEN_PATH", str(tmp_path / "no-token"))
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "home" / "cache"))
    monkeypatch.setattr(_http.time, "sleep", lambda seconds: None)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.setattr(timeouts, "MOST_BYTES", 4_000_000)
    huggingface_hub.utils.disable_progress_bars()
    yield
    huggingface_hub.utils.enable_progress_bars()
    huggingface_hub.close_session()


@pytest.fixture
def server(tmp_path, monkeypatch):
    with HubServer(tmp_path / "hub", tokens={TOKEN: Account("mill", writes=True)}) as server:
        # Both are made when the library is imported; files come from the second.
        monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", server.address)
        files = f"{server.address}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
        monkeypatch.setattr("huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE", files)
        yield server


@pytest.fixture
def folder(tmp_path):
    return pushable(tmp_path / "1.0.0")


def pushed(server, folder: Path):
    return push(folder, REPO, endpoint=server.address, rows_of=lambda client, revision, local: local.manifest.counts)


def without_token(error: HazardmillError) -> bool:
    shown = "".join(traceback.format_exception(error))
    return not holds_secret(f"{error} {error.args} {error.__dict__}", TOKEN) and not any(
        trace in shown.encode() for trace in traces(TOKEN)
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("endpoint", PUSHED)
def test_a_push_to_a_hub_that_lies_ends_in_a_typed_error_and_goes_on_later(server, folder, endpoint, kind):
    server.faults = ScriptedHubFaults({endpoint: f"{kind}*"})
    try:
        pushed(server, folder)
    except HazardmillError as error:
        assert isinstance(error, HubError | InputError) and error.remedy
        assert error.__cause__ is None and without_token(error)
    server.faults = None
    pushed(server, folder)
    assert server.hub.repository(REPO).tags.keys() == {"v1.0.0"}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("endpoint", LOADED)
@pytest.mark.parametrize("revision", [None, "v1.0.0", "commit"])
def test_loading_from_a_hub_that_lies_is_a_release_or_a_typed_error(server, folder, tmp_path, endpoint, kind, revision):
    result = pushed(server, folder)
    before = sorted(path for path in tmp_path.iterdir())
    server.faults = ScriptedHubFaults({endpoint: f"{kind}*"})
    try:
        release = load_release(REPO, revision=result.revision if revision == "commit" else revision)
    except HazardmillError as error:
        assert isinstance(error, HubError | InputError) and error.remedy
        assert error.__cause__ is None and without_token(error)
    else:
        assert release.version == "1.0.0"
    # Who names a commit has nothing to look up.
    assert any(request.fault == kind for request in server.requests) is ((revision, endpoint) != ("commit", "info"))
    assert sorted({*tmp_path.iterdir()} - {tmp_path / "home"}) == before, "nothing is written outside of the cache"


@pytest.mark.parametrize("endpoint", ["info", "refs", "tree"])
def test_an_answer_without_end_is_left_off(server, folder, endpoint):
    server.faults = ScriptedHubFaults({endpoint: "endless*"})
    with pytest.raises(HubError, match=r"an answer of the hub at .* is too large"):
        pushed(server, folder)


@pytest.mark.parametrize("endpoint", LOADED)
def test_a_load_without_end_is_left_off(server, folder, endpoint):
    pushed(server, folder)
    server.faults = ScriptedHubFaults({endpoint: "endless*"})
    with pytest.raises(HubError):
        load_release(REPO)


@pytest.mark.parametrize("endpoint", PUSHED)
def test_a_token_that_a_hub_echoes_to_a_push_is_not_shown(server, folder, endpoint, caplog, capfd):
    server.faults = ScriptedHubFaults({endpoint: "echo*"})
    with pytest.raises(HazardmillError) as caught:
        pushed(server, folder)
    assert without_token(caught.value)
    shown = capfd.readouterr()
    assert not holds_secret(caplog.text + shown.out + shown.err, TOKEN)


@pytest.mark.parametrize("endpoint", LOADED)
def test_a_token_that_a_hub_echoes_to_a_load_is_in_no_traceback(server, folder, endpoint, caplog, capfd):
    pushed(server, folder)
    server.faults = ScriptedHubFaults({endpoint: "echo*"})
    with pytest.raises(HazardmillError) as caught:
        load_release(REPO)
    assert without_token(caught.value)
    shown = capfd.readouterr()
    assert not holds_secret(caplog.text + shown.out + shown.err, TOKEN)


def test_every_kind_of_lie_is_tried_here():
    assert {*KINDS} == {*LIES} and HubFaultKind.ECHO not in LIES
