"""What all pages share: templates, escaping, and writing a file whole or not at all."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from hazardmill.errors import StoreError
from hazardmill.text.printable import STEERING, printable

TEMPLATES: Final = Path(__file__).resolve().parent / "templates"

UNSEEN: Final = re.compile(f"{STEERING.pattern}|[\ud800-\udfff]")
"""Characters that nobody sees or that UTF-8 cannot encode. Blanks of other kinds stay: a page shows them as blanks."""


# Each environment compiles the templates anew.
@cache
def environment(*folders: Path) -> Environment:
    """Return the Jinja environment that finds templates in ``folders``, then among the shared ones.

    Everything that a template inserts is escaped, and characters that would steer the reader's screen are written out
    as Python escapes. A name that a template does not get is an error (``jinja2.UndefinedError``), never empty text.

    Args:
        folders: Folders of templates; the first that has a name wins.
    """
    return Environment(
        loader=FileSystemLoader([*folders, TEMPLATES]),
        autoescape=True,
        finalize=_write_out_unseen,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _write_out_unseen(value: object) -> object:
    """Replace unseen characters of a text by Python escapes; other values, and text that is HTML already, stay."""
    return value if not isinstance(value, str) or isinstance(value, Markup) else write_out_unseen(value)


def write_out_unseen(text: str) -> str:
    """Replace the characters of a text that nobody sees by Python escapes, and carriage returns at line ends."""
    return UNSEEN.sub(lambda found: printable(found[0]), text.replace("\r\n", "\n"))


def write_text(path: Path, text: str, what: str = "report") -> None:
    """Write a text file whole or not at all, as UTF-8 with line feeds at line ends.

    The arguments and errors are those of ``write_content``.
    """
    write_content(path, text.encode(), what)


def write_content(path: Path, content: bytes, what: str) -> None:
    """Write a file whole or not at all.

    The content goes to a hidden file beside it first, which then takes its place. Missing folders are created.

    Args:
        path: The file; an existing one is replaced.
        content: Its new content.
        what: What to call it in an error.

    Raises:
        StoreError: The file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f".{path.name}.partial")
        partial.write_bytes(content)
        partial.replace(path)
    except OSError as error:
        raise StoreError(
            f"cannot write the {what}: {error.strerror or error}",
            file=str(path),
            remedy="name a file in a folder that can be written",
        ) from error
