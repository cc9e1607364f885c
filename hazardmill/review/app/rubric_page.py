"""The rubric as HTML. The file in the folder may hold anything, so any HTML in it is escaped."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from markdown_it import MarkdownIt
from markupsafe import Markup

from hazardmill.review.decisions.folder import ReviewFolder
from hazardmill.review.regular import read_regular
from hazardmill.store.files.fsync_io import disk_errors

_FRONT: Final = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)


def rubric_html(folder: ReviewFolder) -> Markup:
    """Return the current rubric as HTML, without its first heading, because the page has its own.

    Args:
        folder: The review.

    Raises:
        InputError: The file is a link: its target is not a rubric, and must not be shown.
        StoreError: It cannot be read.
    """
    with disk_errors(folder.rubric, "read"):
        text = read_regular(folder.rubric).decode("utf-8", errors="replace")
    return _render(text)


@lru_cache(maxsize=4)
def _render(text: str) -> Markup:
    # Without links and images: no page of the app leads elsewhere or loads anything from elsewhere.
    reader = MarkdownIt("commonmark", {"html": False}).enable("table").disable(["link", "image", "autolink"])
    body = re.sub(r"\A\s*# .*\n", "", _FRONT.sub("", text))
    return Markup(reader.render(body))  # escaped by the reader: HTML is off
