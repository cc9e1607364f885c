"""What every page is made with: shared templates, escaping, and a file that is whole or not there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from hazardmill.errors import StoreError
from hazardmill.text.printable import STEERING, printable

TEMPLATES: Final = Path(__file__).resolve().parent / "templates"

UNSEEN: Final = re.compile(f"{STEERING.pattern}|[\ud800-\udfff]")
"""What nobody sees, or no file can hold. Other kinds of blanks are left: a page shows them as what they are."""


def environment(*folders: Path) -> Environment:
    """The templates of ``folders``, then the shared ones.

    All that is put into them is escaped, and what would steer a reader's screen is written out.
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
    """Text with steering characters and half surrogates as escapes of Python; what is HTML already is left alone."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return UNSEEN.sub(lambda found: printable(found[0]), value.replace("\r\n", "\n"))


def write_text(path: Path, text: str, what: str = "report") -> None:
    """Write a file whole or not at all; its folder is made.

    Args:
        path: The file.
        text: What it is to hold.
        what: What an error calls it.

    Raises:
        StoreError: The file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f".{path.name}.partial")
        partial.write_text(text, encoding="utf-8", newline="\n")
        partial.replace(path)
    except OSError as error:
        raise StoreError(
            f"cannot write the {what}: {error.strerror or error}",
            file=str(path),
            remedy="name a file in a folder that can be written",
        ) from error
