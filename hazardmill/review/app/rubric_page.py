"""The rubric as HTML. It is ours, but what is in the folder may be anything: no HTML in it is passed on."""

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
    """The rubric as it is now, without its first heading: the page has its own.

    Raises:
        InputError: It is a link: what that leads to is no rubric, and nothing to be shown.
        StoreError: It cannot be read.
    """
    with disk_errors(folder.rubric, "read"):
        text = read_regular(folder.rubric).decode("utf-8", errors="replace")
    return _render(text)


@lru_cache(maxsize=4)
def _render(text: str) -> Markup:
    # Without links and images: a page of ours leads nowhere, and loads nothing.
    reader = MarkdownIt("commonmark", {"html": False}).enable("table").disable(["link", "image", "autolink"])
    body = re.sub(r"\A\s*# .*\n", "", _FRONT.sub("", text))
    return Markup(reader.render(body))  # escaped by the reader: HTML is off
