"""What a browser, or a reader of Markdown, finds in a report."""

from __future__ import annotations

import re
from html.parser import HTMLParser

Table = list[list[str]]

VOID = {"meta", "br", "img", "link", "input", "hr"}


class Tables(HTMLParser):
    """The tables of a page by caption, the head as their first row."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: dict[str, Table] = {}
        self._caption: list[str] | None = None
        self._rows: Table = []
        self._cell: list[str] | None = None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "table":
            self._rows, self._caption = [], None
        elif tag == "caption":
            self._caption = []
            self._cell = self._caption
        elif tag == "tr":
            self._rows.append([])
        elif tag in ("td", "th"):
            self._cell = []

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th") and self._cell is not None:
            self._rows[-1].append(" ".join("".join(self._cell).split()))
            self._cell = None
        elif tag == "caption":
            self._cell = None
        elif tag == "table" and self._caption is not None:
            self.found["".join(self._caption)] = self._rows

    def handle_data(self, data: str) -> None:
        if self._cell is not None:
            self._cell.append(data)


def markdown_tables(text: str) -> dict[str, Table]:
    """The tables by the heading or summary above each."""
    found: dict[str, Table] = {}
    title = ""
    rows: Table = []
    for line in [*text.splitlines(), ""]:
        if line.startswith("### "):
            title = _read(line.removeprefix("### "))
        elif line.startswith("<summary>") and line != "<summary>The numbers</summary>":
            title = line.removeprefix("<summary>").removesuffix("</summary>")
        elif line.startswith("|"):
            rows.append([_read(" ".join(cell.split())) for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
        elif rows:
            found[title] = [rows[0], *rows[2:]]
            rows = []
    return found


def _read(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text).replace("&lt;", "<").replace("&amp;", "&")
