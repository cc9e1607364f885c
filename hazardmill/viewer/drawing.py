"""Drawing the page, and a fragment of HTML per row, with the templates of items and of stories."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from hazardmill import __version__
from hazardmill.errors import HazardmillError
from hazardmill.report.why.page import STYLES, story_context, story_environment
from hazardmill.review.drawing.layout import STATIC, TEMPLATES, lay_out
from hazardmill.review.item_view import open_item
from hazardmill.viewer.collection import Collection, RowDetail, ViewRow

_OWN: Final = Path(__file__).resolve().parent
_STORY: Final = ".story"
"""Selector of the part of a page that has the style sheets of stories."""

POLICY: Final = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self'",
    "base-uri": "'none'",
    "form-action": "'none'",
}
"""What a browser may load for the page: nothing from elsewhere, and no script or style within it."""


class ViewDrawing:
    """Draws the page of a collection and the fragments of its rows.

    Args:
        collection: The collection.
    """

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._templates = story_environment(_OWN / "templates", TEMPLATES)

    def page(self, files: Mapping[str, str]) -> str:
        """Return the page, which has the table and the place for what is shown of a row.

        Args:
            files: Address of each asset by its name, and of the files of the index by theirs.
        """
        return self._templates.get_template("index.html.j2").render(
            it=self._collection,
            files=files,
            policy="; ".join(f"{name} {value}" for name, value in POLICY.items()),
            version=__version__,
        )

    def fragment(self, row: ViewRow, detail: RowDetail) -> str:
        """Return what is shown of a row as HTML, cut into parts by ``pack.CUT``.

        Args:
            row: The row.
            detail: What its place has of it.

        A document that cannot be read is said above the rest.
        """
        layout, troubles = None, detail.troubles
        if detail.content is not None:
            try:
                layout = lay_out(open_item(detail.content, None).show())
            except HazardmillError as error:
                troubles += (f"The task cannot be drawn. {error}",)
        story = {} if detail.story is None else story_context(detail.story)
        return self._templates.get_template("row.html.j2").render(
            row=row, detail=detail, troubles=troubles, layout=layout, has_story=detail.story is not None, **story
        )

    def failure(self, message: str) -> str:
        """Return a fragment that says why a row cannot be shown."""
        return self._templates.get_template("failure.html.j2").render(message=message)


def assets(*, with_stories: bool) -> dict[str, bytes]:
    """Return the style sheets, scripts and icon of the page, by name.

    Args:
        with_stories: Whether the page shows stories, so that it needs their style.
    """
    found = {path.name: path for folder in (STATIC, _OWN / "static") for path in sorted(folder.iterdir())}
    held = {name: path.read_bytes() for name, path in found.items()}
    if with_stories:
        # Nested, so that rules for elements of a story apply to nothing else; its variables are set there too.
        style = "".join(path.read_text(encoding="utf-8") for path in STYLES).replace(":root", "&")
        held["view.css"] += f"\n{_STORY} {{\n{style}}}\n".encode()
    return held
