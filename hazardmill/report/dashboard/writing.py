"""Write the Markdown of pages that Prefect's UIs show.

Both UIs make links of what merely looks like an address, and strip SVG elements. Text of records and models must not
become a link, an image or a heading.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from hazardmill.reporting.markdown import escape_markdown, grid_markdown
from hazardmill.reporting.numbers import NONE
from hazardmill.reporting.svg.drawing import Figure
from hazardmill.reporting.table import Grid

_LONGEST_NAME: Final = 120
_ADDRESS: Final = re.compile(r"(?i)[a-z](?=://)|www(?=\.)|[^\s@](?=@)")


@dataclass(frozen=True)
class DashboardPanel:
    """One page, which becomes an artifact with a key.

    Attributes:
        key: Key of the artifact: lower-case letters, digits and dashes.
        markdown: The page.
        description: What the page shows, in one line of Markdown.
    """

    key: str
    markdown: str
    description: str


def join_blocks(blocks: Iterable[str]) -> str:
    """Return blocks of Markdown as one page."""
    return "\n\n".join(blocks) + "\n"


def describe_offline(offline: int, runs: int) -> str:
    """Return the first line of a page with figures of the offline author.

    Args:
        offline: In how many of the runs the offline author answered.
        runs: How many runs the page shows.
    """
    if runs == 1:
        which = "This run has answers of the offline author"
    else:
        which = f"{offline} of these {runs} runs {'has' if offline == 1 else 'have'} answers of the offline author"
    return (
        f"**{which}**, hazardmill's rule-based stand-in (`offline-author`), not of a language model:"
        " what they yield says nothing about any model."
    )


def write_grid(grid: Grid) -> str:
    """Return a table, with its title if it has one."""
    return _keep_signs(_break_links(grid_markdown(grid, titled=bool(grid.title))))


def write_table(head: Sequence[str], rows: Iterable[Sequence[str]], words: int = 1) -> str:
    """Return a table whose cells are Markdown already, such as links.

    Args:
        head: Headings of the columns, as text.
        rows: Cells of the rows; text in them was written by ``write_text`` or ``write_code``.
        words: How many columns, from the left, hold words; the others are set flush right.
    """
    rule = ["---" if place < words else "---:" for place in range(len(head))]
    return "\n".join(_keep_signs(f"| {' | '.join(cells)} |") for cells in (head, rule, *rows))


def write_picture(figure: Figure) -> str:
    """Return a figure as an image with a ``data:`` address, and its note."""
    shown = f"![{write_text(' '.join(figure.alt.split()))}]({figure.data_address})"
    return "\n\n".join([shown, *([write_text(figure.note)] if figure.note else [])])


def write_text(text: str) -> str:
    """Return text in which nothing has a meaning, on one line."""
    return _break_links(escape_markdown(text))


def write_code(text: str, *, longest: int | None = _LONGEST_NAME) -> str:
    """Return text as code on one line, in which no character has a meaning.

    Args:
        text: The text; blank text becomes a dash.
        longest: Most characters that are shown; null for all.
    """
    shown = "".join(sign if sign.isprintable() and sign != "`" else " " for sign in text).strip()
    if longest is not None and len(shown) > longest:
        shown = f"{shown[: longest - 4]} ..."
    return f"`{shown}`" if shown else NONE


def write_command(command: str) -> str:
    """Return a command as a block of code, which can be copied as a whole."""
    shown = "".join(sign if sign.isprintable() and sign != "`" else " " for sign in command).strip()
    return f"```\n{shown}\n```"


def _keep_signs(markdown: str) -> str:
    # A no-break space: in a narrow column the sign would go to the next line.
    return markdown.replace(" %", "\u00a0%")


def _break_links(markdown: str) -> str:
    """Insert a word joiner into everything that a page would take for an address."""
    return _ADDRESS.sub("\\g<0>\u2060", markdown)
