"""Markdown of the texts of a release, in which nothing that others wrote can be more than words.

A template escapes whatever is put into it, unless it is ``Ready``. So what a source calls itself, the name of a model
or a reason for a waiver can open no table, link, heading or HTML element, whatever it says.
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
"""Signs that mean something within a line of Markdown, or at its beginning."""

_ENTITIES: Final = {"&": "&amp;", "<": "&lt;", "$": "&#36;"}
"""Signs that begin HTML, or formulas where a site shows them; a backslash does not stop all readers."""

_OPENING: Final = re.compile(r"[&<$]")

_FIRST: Final = re.compile(r"^(?:\d+[.)](?=\s|$)|[-+=](?!\d))")
"""What makes an item of a list, or a heading of the line above, at the beginning of a line."""


class Ready(str):
    """Markdown that is put in as it stands."""

    __slots__ = ()


def words(text: object) -> Ready:
    """Text that Markdown shows as it is, on one line."""
    if isinstance(text, Ready):
        return text
    # Any kind of blank is a blank; what is no character that prints is written out.
    line = printable(" ".join(str(text).split()))
    marked = _FIRST.sub(lambda found: f"{found[0][:-1]}\\{found[0][-1]}", _MARKS.sub(r"\\\g<0>", line))
    return Ready(_OPENING.sub(lambda found: _ENTITIES[found[0]], marked))


def block(text: str, language: str = "") -> Ready:
    """Text of several lines as it is, in a fence that it cannot close."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return Ready(f"{fence}{language}\n{printable_lines(text).rstrip()}\n{fence}")


def table(head: Sequence[object], rows: Iterable[Sequence[object]], *, left: int = 1) -> Ready:
    """A table; the first ``left`` columns are words, the others figures."""
    rule = [Ready("---" if place < left else "---:") for place in range(len(head))]
    return Ready("\n".join("| " + " | ".join(map(words, cells)) + " |" for cells in (head, rule, *rows)))


def render(template: str, **values: object) -> str:
    """A template of this package, filled in; it ends with one line end.

    Args:
        template: Name of the file in ``templates``.
        values: What the template asks for; what is not ``Ready`` is escaped where it is put in.
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
        # What is put in is escaped by ``words``, as Markdown and not as HTML.
        autoescape=False,
    )
