from __future__ import annotations

import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hazardmill.cli import main
from hazardmill.cli.options import print_json
from hazardmill.errors import InputError
from hazardmill.text.printable import STEERING, escape_in_json, printable, printable_lines

STEERS = "\x00\x07\x1b\r\x7f\x9b\u061c\u200b\u2028\u202e\u2066\ufeff"


@given(st.text())
def test_a_printable_line_is_printable_and_keeps_what_was(text: str) -> None:
    assert printable(text).isprintable()
    assert not STEERING.search(printable_lines(text))
    assert printable_lines(text).count("\n") == text.count("\n")
    plain = "".join(sign for sign in text if sign.isprintable())
    assert printable(plain) == plain


def test_what_is_not_printable_is_written_out() -> None:
    assert printable("\x1b[31mred\t\ud800 naïve 語") == "\\x1b[31mred\\t\\ud800 naïve 語"
    assert printable("a\tb\n", keep="\t") == "a\tb\\n"


@given(st.recursive(st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_json_that_is_escaped_says_the_same(value: object) -> None:
    text = escape_in_json(json.dumps(value, indent=2, ensure_ascii=False))
    assert json.loads(text) == value
    assert not STEERING.search(text)


def test_json_is_printed_without_what_steers_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    value = {f"key {STEERS}": [f"語 {STEERS} \ud800 é"]}
    print_json(value)
    shown = capsys.readouterr().out
    assert all(sign.isprintable() or sign == "\n" for sign in shown)
    assert "語" in shown and "é" in shown
    assert json.loads(shown) == value


def test_an_error_steers_no_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fails(**_: object) -> None:
        raise InputError(f"the record says {STEERS}", file="in\x1b.tsv", remedy="two\nlines")

    monkeypatch.setattr(main.hazardmill, "main", fails)
    monkeypatch.setattr(sys, "argv", ["hazardmill"])
    with pytest.raises(SystemExit) as left:
        main.main()
    assert left.value.code == 3
    shown = capsys.readouterr().err
    assert all(sign.isprintable() or sign == "\n" for sign in shown)
    assert shown.startswith("error: in\\x1b.tsv: the record says \\x00\\x07\\x1b\\r") and shown.endswith("lines]\n")
