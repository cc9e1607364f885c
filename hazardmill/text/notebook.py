"""HTML for notebooks: elements whose text is escaped, so that nothing in a record or an answer becomes markup.

Standard library only, because verdicts show themselves with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from hazardmill.text.printable import printable


class Html(str):
    """Text that is HTML already, and is not escaped again."""

    __slots__ = ()


def element(tag: str, *content: str, style: str = "") -> Html:
    """Return an HTML element.

    Args:
        tag: Its name.
        content: What is in it, in order. All but ``Html`` is escaped.
        style: Value of its attribute ``style``; empty for none.
    """
    inside = "".join(part if isinstance(part, Html) else escape(printable(part, "\n")) for part in content)
    styled = f' style="{escape(style)}"' if style else ""
    return Html(f"<{tag}{styled}>{inside}</{tag}>")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Html:
    """Return a table.

    Args:
        head: Headings of the columns; empty for none.
        rows: The cells of each row. All but ``Html`` is escaped.
    """
    left = "text-align:left;vertical-align:top"
    heads = element("tr", *(element("th", cell, style=left) for cell in head)) if head else Html()
    lines = (element("tr", *(element("td", cell, style=left) for cell in row)) for row in rows)
    return element("table", heads, *lines)


def bar(length: float, colour: str) -> Html:
    """Return a bar in the line of text.

    Args:
        length: How long it is, in widths of a letter M; at most 30 of them are drawn.
        colour: A colour of CSS.
    """
    width = min(max(length, 0.0), 30.0)
    return element("span", style=f"display:inline-block;height:.8em;width:{width:.2f}em;background:{colour}")
