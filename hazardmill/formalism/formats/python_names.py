"""How the names and texts of a document are written in Python: as identifiers, and as string literals."""

from __future__ import annotations

import itertools
import keyword
import re
from typing import Final

from hazardmill.formalism import authoring
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.document.expressions import QUANTIFIERS, walk

# Soft keywords as they are now: those of a later Python must not change what is written.
RESERVED: Final = frozenset({*keyword.kwlist, *"_ case match self".split(), *authoring.__all__})
"""Names that no variable of a rendered module may have."""

_LONGEST_CLASS: Final = 80
_CLASS_NAME: Final = re.compile(rf"[A-Za-z][A-Za-z0-9_]{{0,{_LONGEST_CLASS - 1}}}")
# All but the characters that look the same to Python, every editor and a reader, whatever their version of Unicode.
_NOT_PLAIN: Final = re.compile(r"[^ -~\u00a1-\u00ac\u00ae-\u024f\u2010-\u2027]")


def quote(text: str) -> str:
    """Return a text as a string literal of Python.

    Nothing in the text can end the literal or change how it is displayed: backslashes, quotes, control characters and
    characters that look different to Python, an editor and a reader are escaped.
    """
    escaped = text.replace("\\", r"\\").replace('"', r"\"")
    return f'"{_NOT_PLAIN.sub(lambda found: found[0].encode("unicode_escape").decode(), escaped)}"'


def class_name(document: Document) -> str:
    """Return the name of a task's class: the task's own name, where a class can have it.

    Otherwise it is made of the words of the name, with ``Task`` in front if need be.
    """
    name = document.name
    if _CLASS_NAME.fullmatch(name) and name not in RESERVED:
        return name
    words = re.findall(r"[A-Za-z0-9]+", name)
    spelled = "".join(word[0].upper() + word[1:] for word in words)[:_LONGEST_CLASS]
    return spelled if spelled.isidentifier() and spelled not in RESERVED else f"Task{spelled}"


def spell_names(document: Document) -> dict[tuple[str, str], str]:
    """Choose a Python name for each declared name.

    Args:
        document: The task.

    Returns:
        By kind (``fluent``, ``object``, ``type``, ``action``) and name: the name itself where it is a free identifier,
        fluents first, else one with the kind as a suffix.
    """
    names = [("fluent", fluent.name) for fluent in document.fluents]
    names += [("object", thing.name) for thing in document.objects]
    names += [("type", declared.name) for declared in document.types]
    names += [("action", action.name) for action in document.actions]
    used = {*RESERVED, *_variables(document)}
    chosen: dict[tuple[str, str], str] = {}
    for key in names:
        if key[1].isidentifier() and key[1] not in used:
            chosen[key] = key[1]
            used.add(key[1])
    for kind, name in names:
        if (kind, name) not in chosen:
            wanted = f"{name.replace('-', '_')}_{kind}"
            others = (f"{wanted}_{number}" for number in itertools.count(2))
            chosen[kind, name] = next(each for each in itertools.chain((wanted,), others) if each not in used)
            used.add(chosen[kind, name])
    return chosen


def _variables(document: Document) -> frozenset[str]:
    """Return the names of lambda parameters, which nothing else may have where they are read."""
    conditions = [document.goal, *(entry.condition for entry in document.dangers)]
    for action in document.actions:
        conditions += [action.precondition, *(effect.condition for effect in action.effects)]
    nodes = (node for condition in conditions for node in walk(condition) if isinstance(node, tuple))
    return frozenset(name.removeprefix("?") for node in nodes if node[0] in QUANTIFIERS for name, _ in node[1])
