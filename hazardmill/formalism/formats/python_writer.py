"""The Python code of a task as it is published: rendered from the document, never what an author wrote.

``task_code`` alone decides what a task's code is. It is made from the document and nothing else, so a draft cannot
smuggle in what the jail did not see; whatever names and texts the document holds, they are data there. Most tasks
come as a class with ``build``; those that no ``build`` can express, or only at great length, hold their document as
JSON.
"""

from __future__ import annotations

import json
import re
from typing import Final

from hazardmill.errors import NotExpressible
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.formats.build_writer import build_code
from hazardmill.formalism.formats.python_names import class_name
from hazardmill.formalism.json_task import JsonTask
from hazardmill.text.parse import MAX_BYTES, MAX_NODES, nodes, parse
from hazardmill.text.printable import comment

_CHARACTERS_A_LINE: Final = 100
# Shorter code cannot have too many nodes: a node takes at least a quarter of a character.
_SURELY_FEW: Final = MAX_NODES // 4
_CLOSING: Final = re.compile(
    r"\s*^if __name__ == (['\"])__main__\1:\r?\n    [A-Za-z]\w*\.run_cli\(\)\s*\Z", re.M | re.A
)


def task_code(document: Document) -> str:
    """Return the module of a task, for any document; run, it gives a document of the same hash.

    It passes the policy of the sandbox, unless even its JSON is too large (``is_too_large``).
    """
    try:
        code = build_code(document)
    except NotExpressible:
        return json_code(document)
    return code if _fits(code) else json_code(document)


def code_file(document: Document, label: str | None = None) -> str:
    """Return the content of ``code.py``: the task's code, and two lines that run it from the command line.

    Args:
        document: The task.
        label: A remark about the author, written as a comment on the first line.
    """
    head = "" if label is None else f"{comment('#', label)}\n"
    return f'{head}{task_code(document)}\n\nif __name__ == "__main__":\n    {class_name(document)}.run_cli()\n'


def without_closing(code: str) -> str:
    """Return the code of a file without the two lines that ``code_file`` ends with, which the policy does not allow."""
    return _CLOSING.sub("\n", code)


def json_code(document: Document) -> str:
    """Return the module that holds the document as JSON text.

    Provenance is left out: code has no place for it.
    """
    text = _json(document)
    starts = range(0, len(text), _CHARACTERS_A_LINE)
    lines = [f"        {text[start : start + _CHARACTERS_A_LINE]!r}" for start in starts]
    return "\n".join(
        [
            f"from {JsonTask.__module__} import {JsonTask.__name__}",
            "",
            "",
            f"class {class_name(document)}({JsonTask.__name__}):",
            "    document_json = (",
            *lines,
            "    )",
            "",
        ]
    )


def is_too_large(document: Document) -> bool:
    """Return whether no module of the size that the policy allows can hold the document."""
    # Escapes and indents turn one character into less than three, so most documents need not be rendered for this.
    return 3 * len(_json(document)) > MAX_BYTES and len(task_code(document)) > MAX_BYTES


def _json(document: Document) -> str:
    # In ASCII, so that each piece of it is a plain literal of Python, which nothing in it can end.
    return json.dumps({**document.to_json(), "provenance": {}}, sort_keys=True, separators=(",", ":"))


def _fits(code: str) -> bool:
    if len(code.encode()) > MAX_BYTES:
        return False
    return len(code) <= _SURELY_FEW or len(nodes(parse(code))) <= MAX_NODES
