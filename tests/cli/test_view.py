"""``hazardmill view``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from review.app.visitor import Http

from hazardmill.cli.view.view import view
from hazardmill.errors import InputError, UsageError
from hazardmill.viewer.export import LIST
from tests.viewer.conftest import soups as soups
from tests.viewer.conftest import why_folder as why_folder


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The apps that would be served, and where."""
    from hazardmill.review.app import serve

    calls: list[object] = []
    monkeypatch.setattr(serve, "listen", lambda bind, port: calls.append((bind, port)))
    monkeypatch.setattr(serve, "serve", lambda app, listening: calls.append(app))
    return calls


def call(*words: object) -> str:
    return CliRunner().invoke(view, [str(word) for word in words], catch_exceptions=False, standalone_mode=False).output


def test_a_place_is_served_on_loopback_only(soups, served):
    assert json.loads(call(soups, "--port", 8123, "--json")) == {"address": "http://127.0.0.1:8123/"}
    assert served[0] == ("127.0.0.1", 8123) and len(served) == 2
    assert "http://127.0.0.1:8718/" in call(soups)


def test_at_another_address_it_says_that_nobody_signs_in_and_answers_to_given_names_only(soups, served):
    refused = CliRunner().invoke(view, [str(soups), "--bind", "0.0.0.0"])
    assert isinstance(refused.exception, UsageError) and "--name" in str(refused.exception.remedy) and not served
    said = CliRunner().invoke(view, [str(soups), "--bind", "0.0.0.0", "--name", "view.example", "--json"])
    assert json.loads(said.stdout) == {"address": "http://view.example:8718/"}
    assert "reads everything" in said.stderr and served[0] == ("0.0.0.0", 8718)
    pages = Http(served[1], "192.0.2.7")
    assert pages.get("/", headers={"host": "view.example:8718"}).status_code == 200
    for host in ("localhost", "127.0.0.1:8718", "0.0.0.0:8718"):
        assert pages.get("/", headers={"host": host}).status_code == 400, host
    assert "reads everything" not in CliRunner().invoke(view, [str(soups), "--name", "view.example"]).output
    assert Http(served[3], "127.0.0.1").get("/", headers={"host": "view.example"}).status_code == 200


def test_without_a_place_the_store_of_the_settings_is_shown(why_folder, served, monkeypatch):
    monkeypatch.setenv("HAZARDMILL_STORE", str(why_folder / "store"))
    assert "view at" in call()
    assert served


def test_a_folder_that_is_neither_is_refused(tmp_path):
    result = CliRunner().invoke(view, [str(tmp_path)])
    assert isinstance(result.exception, InputError) and result.exception.exit_code == 3


def test_a_release_is_written_as_files_and_a_store_is_not(soups, why_folder, tmp_path):
    out = tmp_path / "site"
    said = json.loads(call(soups, "--static", out, "--json"))
    assert (said["folder"], said["rows"]) == (str(out), 5)
    files = [path for path in Path(out).rglob("*") if path.is_file() and path.name != LIST]
    assert (said["files"], said["bytes"]) == (len(files), sum(path.stat().st_size for path in files))
    result = CliRunner().invoke(view, [str(why_folder / "store"), "--static", str(out)])
    assert isinstance(result.exception, UsageError) and "release build" in str(result.exception.remedy)
