"""Rendering the Markdown of a release's texts, in which foreign text is never interpreted as markup.

A template escapes every value that is inserted, unless it is ``Ready``. So the name of a source or a model, or the
reason for a waiver, cannot open a table, a link, a heading or an HTML element, whatever it contains.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from hazardmill.text.printable import printable, printable_lines

TEMPLATES: Final = Path(__file__).resolve().parents[1] / "templates"

_MARKS: Final = re.compile(r"[\\`*_\[\]|~#>]")
"""Characters with a meaning within a line of Markdown, or at its beginning."""

_ENTITIES: Final = {"&": "&amp;", "<": "&lt;", "$": "&#36;"}
"""Characters that begin HTML, or formulas on some sites; not all renderers respect a backslash before them."""

_OPENING: Final = re.compile(r"[&<$]")

_FIRST: Final = re.compile(r"^(?:\d+[.)](?=\s|$)|[-+=](?!\d))")
"""Beginnings of a line that make it an item of a list, or the line above a heading."""


class Ready(str):
    """Markdown that is inserted without escaping."""

    __slots__ = ()


def words(text: object) -> Ready:
    """Return a text escaped so that Markdown shows it unchanged, on one line.

    Args:
        text: Any value, rendered with ``str``; runs of white space become one space, and unprintable characters are
            written as escapes. A value that is ``Ready`` is returned as it is.
    """
    if isinstance(text, Ready):
        return text
    line = printable(" ".join(str(text).split()))
    marked = _FIRST.sub(lambda found: f"{found[0][:-1]}\\{found[0][-1]}", _MARKS.sub(r"\\\g<0>", line))
    return Ready(_OPENING.sub(lambda found: _ENTITIES[found[0]], marked))


def block(text: str, language: str = "") -> Ready:
    """Return a text of several lines as a fenced block; the fence is longer than any within the text.

    Args:
        text: The text; trailing white space is removed, and unprintable characters are written as escapes.
        language: Language for highlighting, such as ``lisp``.
    """
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return Ready(f"{fence}{language}\n{printable_lines(text).rstrip()}\n{fence}")


def table(head: Sequence[object], rows: Iterable[Sequence[object]], *, left: int = 1) -> Ready:
    """Return a Markdown table.

    Args:
        head: Headings of the columns.
        rows: Cells of each row; values that are not ``Ready`` are escaped.
        left: Number of columns that are aligned left; the others hold figures and are aligned right.
    """
    rule = [Ready("---" if place < left else "---:") for place in range(len(head))]
    return Ready("\n".join("| " + " | ".join(map(words, cells)) + " |" for cells in (head, rule, *rows)))


def render(template: str, **values: object) -> str:
    """Return a filled-in template of this package; it ends with one line feed, and has no two empty lines in a row.

    Args:
        template: Name of the file in ``templates``.
        values: Values for the template; those that are not ``Ready`` are escaped where they are inserted.

    Raises:
        jinja2.UndefinedError: The template uses a value that is missing.
    """
    text = _environment().get_template(template).render(**values)
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


@functools.cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(TEMPLATES),
        finalize=words,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # Inserted values are escaped by ``words``, as Markdown and not as HTML.
        autoescape=False,
    )
