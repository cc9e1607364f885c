"""``hazardmill view``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

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
