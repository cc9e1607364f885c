"""The story as one self-contained page: no script, nothing loaded, all of it escaped."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path
from typing import Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from hazardmill import __version__
from hazardmill.errors import StoreError
from hazardmill.formalism.certificate import described
from hazardmill.report import wording
from hazardmill.report.why import saying
from hazardmill.report.why.model import Story

_TEMPLATES: Final = Path(__file__).resolve().parent.parent / "templates"
_STYLES: Final = ("report.css", "why.css")


def write_page(story: Story, path: Path) -> Path:
    """Write the page of a story.

    Args:
        story: The story.
        path: The file to write; its folder is made.

    Returns:
        The path.

    Raises:
        StoreError: The file cannot be written.
    """
    page = render_page(story)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f".{path.name}.partial")
        partial.write_text(page, encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        raise StoreError(
            f"cannot write the page: {error.strerror or error}",
            file=str(path),
            remedy="name a file in a folder that can be written",
        ) from error
    return path


def render_page(story: Story) -> str:
    """The page as HTML."""
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"pretty": _pretty, "capitalize_first": _capitalized}
    style = "\n" + "".join((_TEMPLATES / name).read_text(encoding="utf-8") for name in _STYLES)
    return environment.get_template("why.html.j2").render(
        story=story,
        say=saying,
        words=wording,
        described=described,
        # Ours, and the one thing that is not escaped: the policy lets a browser use this style and nothing else.
        style=Markup(style),
        style_hash=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
        version=__version__,
    )


def _pretty(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def _capitalized(text: str) -> str:
    # Unlike str.capitalize it leaves the rest as it is.
    return text[:1].upper() + text[1:]
