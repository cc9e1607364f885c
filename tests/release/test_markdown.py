from __future__ import annotations

from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from hazardmill.release.documents.markdown import Ready, block, table, words

HOSTILE = (
    "# heading",
    "<script>alert(1)</script>",
    "[link](javascript:x)",
    "![image](http://a.example/x.png)",
    "a | b",
    "``` fence",
    "---",
    "*a* _b_ `c` ~~d~~ $$e$$ &amp; &lt;b>",
    "line\n\n# next",
    "end\\",
    "\\[a](b)",
    "\u202eturned",
    "\r\n- item",
)


def parsed(text: str) -> list[Token]:
    return MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(text)


def content(tokens: list[Token]) -> list[str]:
    """The text of each inline token; fails on one that is more than text."""
    found = []
    for token in tokens:
        if token.type == "inline":
            assert {child.type for child in token.children or ()} <= {"text", "text_special"}, token.content
            found.append("".join(child.content for child in token.children or ()))
    return found


def hostile(test: Any) -> Any:
    for text in HOSTILE:
        test = example(text=text)(test)
    return test


@given(text=st.text())
@hostile
def test_words_are_words_wherever_they_stand(text: str) -> None:
    tokens = parsed(f"Said {words(text)} there\n\n> {words(text)} said\n\n| a |\n| --- |\n| {words(text)} |\n")

    assert [token.type for token in tokens if token.nesting == 1] == [
        "paragraph_open",
        "blockquote_open",
        "paragraph_open",
        "table_open",
        "thead_open",
        "tr_open",
        "th_open",
        "tbody_open",
        "tr_open",
        "td_open",
    ]
    assert len(content(tokens)) == 4


@given(text=st.text(st.characters(categories=["L", "N", "P", "S"])))
@hostile
def test_words_are_read_as_what_they_are(text: str) -> None:
    (said,) = content(parsed(f"Said {words(text)} there"))

    if text.isprintable():
        assert said == f"Said {' '.join(text.split())} there"


@given(text=st.text())
@hostile
def test_a_block_is_not_closed_by_what_is_in_it(text: str) -> None:
    tokens = parsed(f"{block(text, 'text')}\n\nafter\n")

    assert [token.type for token in tokens] == ["fence", "paragraph_open", "inline", "paragraph_close"]


def test_a_block_keeps_the_lines() -> None:
    assert block("(a\n  ```b)", "lisp") == "````lisp\n(a\n  ```b)\n````"


@given(st.lists(st.tuples(st.text(), st.text()), max_size=4))
def test_a_table_has_a_row_for_each_row(rows: list[tuple[str, str]]) -> None:
    tokens = parsed(f"{table(('a', 'b'), rows)}\n\nafter\n")

    assert sum(token.type == "tr_open" for token in tokens) == 1 + len(rows)
    assert tokens[-2].content == "after"


def test_what_is_ready_is_put_in_as_it_stands() -> None:
    assert words(Ready("`a` | *b*")) == "`a` | *b*"
