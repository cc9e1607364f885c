"""``hazardmill review serve | token``."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from hazardmill.cli.main import main
from hazardmill.review.app import serve
from hazardmill.review.app.tokens import Tokens

from ..test_commands import Ended
from .visitor import Visitor


@pytest.fixture
def hazardmill(monkeypatch, capsys, store, given):
    """Run a command on the store and the folder of the test; where it would serve, give the app instead."""
    served: list[Any] = []
    addresses: list[tuple[str, int]] = []
    monkeypatch.setattr(serve, "serve", lambda app, listening: served.append(app))
    monkeypatch.setattr(serve, "listen", lambda bind, port: addresses.append((bind, port)))

    def run(verb, *words):
        folder = [] if "--review" in words else ["--review", str(given.path)]
        where = [*folder, *(["--store", str(store.path)] if verb == "serve" else [])]
        monkeypatch.setattr(sys, "argv", ["hazardmill", "review", verb, *words, *where])
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main()
        out, err = capsys.readouterr()
        return Ended(left.value.code or 0, out, err)

    run.served, run.addresses = served, addresses
    return run


def test_serve_says_where_it_is_and_serves_what_was_given_out(hazardmill):
    ended = hazardmill("serve")
    assert (ended.code, ended.out) == (0, "review at http://127.0.0.1:8717/\n")
    (app,) = hazardmill.served
    assert hazardmill.addresses == [("127.0.0.1", 8717)]
    assert "Hot soup." in Visitor(app, "ada").page().text
    hazardmill("serve", "--reviewer", "ben", "--port", "9000")
    assert hazardmill.addresses[1] == ("127.0.0.1", 9000)
    assert Visitor(hazardmill.served[1]).sign_in("ada").status_code == 403


def test_where_nothing_was_given_out_nothing_is_served(hazardmill):
    ended = hazardmill("serve", "--reviewer", "eva")
    assert ended.code == 2 and "assigned to eva" in ended.err and "review assign" in ended.err
    assert hazardmill("serve", "--reviewer", "../x").code == 2
    assert not hazardmill.served


def test_another_address_demands_tokens(hazardmill, given):
    refused = hazardmill("serve", "--bind", "0.0.0.0", "--name", "review.example")
    assert refused.code == 2 and "no token for ada, ben" in refused.err and not hazardmill.served
    token = hazardmill("token", "ada").out.strip()
    made = json.loads(hazardmill("token", "ben", "--json").out)
    assert made.keys() == {"reviewer", "token"} and Tokens(given).fits("ben", made["token"])
    served = hazardmill("serve", "--bind", "0.0.0.0", "--name", "127.0.0.1")
    assert served.out == "review at http://127.0.0.1:8717/\n" and "unencrypted" in served.err
    app = hazardmill.served[0]
    assert Visitor(app).sign_in("ada").status_code == 403
    assert Visitor(app, "ada", token).page().status_code == 200
    told = json.loads(hazardmill("serve", "--bind", "0.0.0.0", "--name", "review.example", "--json").out)
    assert told == {"address": "http://review.example:8717/", "tokens_demanded": True}
    https = hazardmill("serve", "--bind", "0.0.0.0", "--name", "review.example", "--https")
    assert https.out == "review at https://review.example/\n" and not https.err


def test_a_token_is_taken_back(hazardmill):
    assert hazardmill("token", "ada", "--withdraw").out == "ada: there was no token\n"
    hazardmill("token", "ada")
    assert hazardmill("token", "ada", "--withdraw").out == "ada: token revoked, sessions ended\n"
    assert json.loads(hazardmill("token", "ada", "--withdraw", "--json").out)["withdrawn"] is False


def test_a_misspelt_name_or_folder_gets_no_token(hazardmill, given, tmp_path):
    for words in (("token", "eva"), ("token", "../ada"), ("token", "ada", "--review", str(tmp_path / "reviw"))):
        ended = hazardmill(*words)
        assert ended.code == 2 and not (given.path / ".private").exists(), words
    assert not (tmp_path / "reviw").exists()


def test_without_its_libraries_it_says_what_to_install(hazardmill, monkeypatch):
    monkeypatch.setitem(sys.modules, "hazardmill.review.app.serve", None)
    ended = hazardmill("serve")
    assert ended.code == 2 and "hazardmill[review]" in ended.err
