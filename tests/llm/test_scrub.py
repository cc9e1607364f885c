from __future__ import annotations

import pytest

from hazardmill.llm.scrub import encodable, scrub


@pytest.mark.parametrize(
    "name", ["DEEPSEEK_API_KEY", "hf_token", "CLIENT_SECRET", "DB_PASSWORD", "X_CREDENTIALS", "basic_auth"]
)
def test_values_of_secret_variables_are_taken_out(monkeypatch, name):
    monkeypatch.setenv(name, "hunter22-credential")
    assert scrub("refused: hunter22-credential!") == "refused: [secret]!"


def test_an_author_is_no_secret(monkeypatch):
    monkeypatch.setenv("GIT_AUTHOR_NAME", "somebody")
    assert scrub("by somebody") == "by somebody"


def test_the_longer_of_two_secrets_goes_first(monkeypatch):
    monkeypatch.setenv("A_KEY", "abcdefgh")
    monkeypatch.setenv("B_KEY", "abcdefgh-and-more")
    assert scrub("x abcdefgh-and-more y") == "x [secret] y"


def test_what_no_variable_holds_is_known_by_its_looks_or_by_the_caller():
    assert scrub("key sk-abcdEFGH1234 and Bearer qwertz.uiop") == "key [secret] and Bearer [secret]"
    assert scrub("at https://x.example/?key=AIzaSyA1234567890_abcdefgh") == "at https://x.example/?key=[secret]"
    assert scrub("passed by hand: topsecret", "topsecret", None) == "passed by hand: [secret]"


def test_short_values_and_other_variables_are_left_alone(monkeypatch):
    monkeypatch.setenv("USE_TOKEN", "1")
    monkeypatch.setenv("EDITOR_OF_CHOICE", "hunter22-credential")
    assert scrub("1 error with hunter22-credential") == "1 error with hunter22-credential"


def test_lone_surrogates_become_encodable():
    assert encodable("a\ud83d b") == "a\ufffd b"
    assert encodable("\ud83d\ude00 plain ☂") == "😀 plain ☂"
