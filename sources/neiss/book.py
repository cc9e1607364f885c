"""The code book: code to label, and label back to code for files that hold labels."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any, Final

from .values import label_key

PRODUCT: Final = "product"


@functools.cache
def code_book() -> dict[str, dict[int, str | None]]:
    """Field to code to label; a null label is a code that means "not known"."""
    return {
        field: {int(code): label for code, label in labels.items()}
        for field, labels in _file().items()
        if field != "published"
    }


@functools.cache
def codes_by_label(field: str) -> dict[str, int | None]:
    """``label_key`` of every label of a field to its code: as we word it, as CPSC does, and with the code before it.

    Null where a label belongs to several products. Old and new codes of one body part, say, mean the same to us.
    """
    worded = [(code, label) for code, label in code_book()[field].items() if label is not None]
    worded += [(int(code), label) for code, label in _file()["published"].get(field, {}).items()]
    found: dict[str, int | None] = {}
    for code, label in worded:
        key = label_key(label)
        found[key] = None if field == PRODUCT and found.get(key, code) != code else found.get(key, code)
        found[label_key(f"{code} - {label}")] = code
    return found


@functools.cache
def _file() -> dict[str, Any]:
    book = json.loads((Path(__file__).parent / "codes.json").read_text(encoding="utf-8"))
    return {field: entries for field, entries in book.items() if field != "note"}
