from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hazardmill.sandbox.output import MAX_DEPTH, MalformedOutput, parse, printable

text = st.text(st.characters(exclude_categories=["Cs"]))
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**15), 10**15) | text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(text, values, max_size=4))
def test_reads_back_what_an_honest_child_writes(value: dict[str, object]) -> None:
    assert parse(json.dumps(value).encode() + b"\n") == value


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "one line"),
        (b"{}", "one line"),
        (b"{}\n{}\n", "one line"),
        (b"[]\n", "not a JSON object"),
        (b"{]\n", "not JSON"),
        (b'{"a": "\xff"}\n', "not JSON"),
        (b'{"a": 1, "a": 2}\n', "twice"),
        (b'{"a": 1.5}\n', "not an integer"),
        (b'{"a": NaN}\n', "not an integer"),
        (b'{"a": -Infinity}\n', "not an integer"),
        (b'{"a": ' + b"9" * 21 + b"}\n", "giant"),
        (b'{"a": ' + b"9" * 9_000 + b"}\n", "giant"),
        (b'{"a": "\\ud800"}\n', "not Unicode"),
        (b'{"\\udfff": 1}\n', "not Unicode"),
        (b'{"a": ' + b"[" * MAX_DEPTH + b"]" * MAX_DEPTH + b"}\n", "deeper"),
        (b'{"a": ' + b"[" * 400_000 + b"]" * 400_000 + b"}\n", "not JSON"),
    ],
)
def test_refuses_everything_else(data: bytes, words: str) -> None:
    with pytest.raises(MalformedOutput, match=words):
        parse(data)


@given(st.text())
def test_printable_text_is_short_and_cannot_steer_a_terminal(said: str) -> None:
    shown = printable(said * 300)
    assert len(shown) < 2_100
    assert not {"\x1b", "\x00", "\r", "\x9b", "\u202e", "\u2066"} & set(shown)


def test_printable_keeps_lines_and_letters() -> None:
    assert printable("tab\tline\nnaïve 語") == "tab\tline\nnaïve 語"
