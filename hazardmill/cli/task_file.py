"""Writing a document where commands on tasks find it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import click

from hazardmill.errors import StoreError
from hazardmill.formalism.document.document import Document

OUT_FOLDER: Final = click.Path(path_type=Path, file_okay=False)
"""The type of an option that names the folder to write a task to."""


def write_task_file(document: Document, folder: Path) -> Path:
    """Write a document as the ``task.json`` of a folder, which is made if it is not there.

    Args:
        document: The document.
        folder: The folder.

    Returns:
        The path of the file; one that was there is replaced.

    Raises:
        StoreError: It cannot be written.
    """
    target = folder / "task.json"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps(document.to_json(), ensure_ascii=False) + "\n", encoding="utf-8")
    except OSError as error:
        raise StoreError(
            f"the task cannot be written: {error.strerror}",
            file=str(target),
            remedy="name a folder that can be written",
        ) from error
    return target
