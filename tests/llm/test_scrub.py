from __future__ import annotations

import base64
import json
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hazardmill.llm.redact import (
    ScrubbedLog,
    encodable,
    holds_secret,
    keep_secret,
    scrub,
    scrub_answer,
    secrets_in_address,
)
from hazardmill.testing.echoes import echoes

KEY = "Planted-3f9c1d7b5a/Key_x"


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


# A secret in other forms.


@pytest.fixture
def key(monkeypatch):
    monkeypatch.setenv("TOY_API_KEY", KEY)
    return KEY


@pytest.mark.parametrize("form", echoes(KEY))
def test_a_secret_is_taken_out_in_each_form(key, form):
    told = echoes(key)[form]
    left = scrub(f"Refused: {told}. Try again.")
    begin, end = left.split("[secret]")
    # Of base64, the letters at the ends that are shared with the bytes beside may stay.
    assert begin.startswith("Refused: ") and end.endswith(". Try again.")
    assert len(begin + end) <= len("Refused: . Try again.") + (10 if form.startswith("base64") else 1)
    assert scrub_answer(f"Refused: {told}. Try again.") == left


@pytest.mark.parametrize("form", echoes(KEY))
def test_a_text_that_is_cut_off_in_a_secret_ends_before_it(key, form):
    told = echoes(key)[form]
    for length in range(len(told)):
        left = scrub_answer(f"Refused: {told[:length]}")
        # Too few letters to be told from a word may stay, however each of them is written.
        _, secret, end = left.partition("[secret]")
        assert (secret and (not end or form.startswith("base64"))) or length <= 12 * len(told) / len(key), left


LETTER_BY_LETTER = (
    "percent",
    "json-escapes",
    "blank-after-each",
    "hyphen-after-each",
    "zero-width-after-one",
    "reversed",
)
ENCODED = ("hex", "base64-1", "base64url-2")


@pytest.mark.parametrize("outer", LETTER_BY_LETTER)
@pytest.mark.parametrize("inner", ["upper-case", "lower-case", "reversed", *ENCODED])
def test_an_encoded_secret_is_taken_out_however_its_letters_are_written(key, inner, outer):
    assert holds_secret(f"<{echoes(echoes(key)[inner])[outer]}>")


@pytest.mark.parametrize("outer", ENCODED)
@pytest.mark.parametrize("inner", ["upper-case", "lower-case", "reversed"])
def test_a_secret_in_other_case_or_order_is_taken_out_encoded_too(key, inner, outer):
    assert holds_secret(f"<{echoes(echoes(key)[inner])[outer]}>")


@pytest.mark.parametrize("prefix", range(7))
@pytest.mark.parametrize("suffix", range(3))
def test_base64_of_more_than_the_secret_is_found_at_each_alignment(key, prefix, suffix):
    whole = b"u" * prefix + key.encode() + b"v" * suffix
    for encode in (base64.b64encode, base64.urlsafe_b64encode, base64.encodebytes):
        assert "[secret]" in scrub_answer(f"<{encode(whole).decode()}>")


@given(
    st.text(alphabet='Pla3f9c%25\\u004150"n\n -+_/\u200b{}[]:,é機', max_size=200),
    st.sampled_from(sorted(echoes(KEY).values())),
)
def test_what_stands_around_a_secret_stays(text, form):
    left = scrub_answer(f"{text}<{form}>{text}", KEY)
    begin, secret, end = left.partition("[secret]")
    assert secret and begin.startswith(f"{text}<") and end.endswith(f">{text}")


@given(st.text(max_size=300))
def test_a_text_without_secrets_stays_as_it_is(text):
    assert scrub_answer(text, KEY) == encodable(text)


@pytest.mark.parametrize("form", [name for name in echoes(KEY) if not name.startswith("json")])
def test_a_json_answer_stays_json(key, form):
    told = {"where": f"in {echoes(key)[form]} kitchen", echoes(key)[form]: [1, None, True], "path": "C:\\new\\table"}
    for ascii_only in (True, False):
        left = json.loads(scrub_answer(json.dumps(told, ensure_ascii=ascii_only)))
        assert left["path"] == told["path"] and len(left) == 3
        assert not holds_secret(json.dumps(left))


def test_a_json_escape_of_the_secret_leaves_json(key):
    escaped = "".join(f"\\u{ord(letter):04x}" for letter in key)
    assert json.loads(scrub_answer(f'{{"where": "{escaped}", "n": 1}}')) == {"where": "[secret]", "n": 1}


@pytest.mark.parametrize("value", ["password", "production", "off-line", "a-b-c-d"])
def test_what_may_be_a_word_is_taken_out_as_it_is_and_in_no_other_form(monkeypatch, value):
    monkeypatch.setenv("TOY_API_KEY", value)
    assert scrub(f"the {value}!") == "the [secret]!"
    for other in (value.upper(), value[::-1], " ".join(value), value.encode().hex()):
        assert scrub(f"the {other}!") == f"the {other}!"


def test_an_answer_keeps_what_only_looks_like_a_key(key):
    prose = "The stretcher Bearer fell over sk-atingboards"
    assert scrub_answer(prose) == prose


def test_a_secret_that_is_in_no_variable_can_be_made_known():
    assert scrub("with k3pt-by-hand-2") == "with k3pt-by-hand-2"
    keep_secret("k3pt-by-hand-2", None, "")
    assert scrub("with K3PT-BY-HAND-2") == "with [secret]"


def test_a_library_logs_no_secret(key, caplog):
    log = logging.getLogger("some.library")
    log.addFilter(ScrubbedLog())
    log.warning("the provider says %s", key[::-1])
    try:
        raise ValueError(key.encode().hex())
    except ValueError:
        log.exception("so it failed")
    first, second = caplog.records
    assert first.getMessage() == "the provider says [secret]"
    assert "ValueError: [secret]" in caplog.text and "test_scrub.py" in second.exc_text
    assert not holds_secret(caplog.text)


@pytest.mark.parametrize(
    ("address", "secret"),
    [
        ("http://user:pa%73sw0rd@proxy.example:8080", ("pa%73sw0rd", "passw0rd")),
        ("http://t0ken-of-user@proxy.example", ("t0ken-of-user",)),
        ("https://api.example/v1?api-key=abc123def&version=2026-01-01", ("abc123def",)),
        ("https://api.example/v1?sig=abc123def", ("abc123def",)),
        ("postgres://h/db?sslmode=require", ()),
        ("http://[::1", ()),
    ],
)
def test_what_an_address_carries_is_secret(monkeypatch, address, secret):
    assert secrets_in_address(address) == secret
    monkeypatch.setenv("HTTPS_PROXY", address)
    for each in secret:
        assert scrub(f"through {each}, nothing") == "through [secret], nothing"
