"""Reading a task folder: only regular files of limited size, and JSON without repeated keys."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from hazardmill.errors import InputError
from hazardmill.files import read_regular
from hazardmill.formalism.document.expressions import canonical_json
from hazardmill.llm.requests import OFFLINE_LABEL
from hazardmill.verification.findings import Code, TaskFinding, render_value

REQUIRED: Final = ("code.py", "task.json", "domain.pddl", "problem.pddl", "metadata.json", "certificate.json")
"""Files that every task folder has."""

TWIN: Final = "twin.json"
SIDECAR: Final = "dangers.json"
"""A file, as is ``TWIN``, that some task folders have."""

WRITE_AGAIN: Final = "write the folder again from its store: hazardmill report"

_MOST_DIFFERENCES: Final = 20


@dataclass
class FolderContent:
    """The content of a task folder, as far as it can be read.

    Attributes:
        texts: File name to text.
        json: File name to JSON object, of the JSON files.
        findings: Files that are missing, unknown or unreadable.
    """

    texts: dict[str, str] = field(default_factory=dict)
    json: dict[str, dict[str, Any]] = field(default_factory=dict)
    findings: list[TaskFinding] = field(default_factory=list)


def read_folder(folder: Path) -> FolderContent:
    """Return the content of a task folder; a file that cannot be read is a finding.

    Links are not followed.

    Raises:
        InputError: The folder itself cannot be read.
    """
    content = FolderContent()
    try:
        names = sorted(path.name for path in folder.iterdir())
    except OSError as error:
        raise InputError(
            f"the folder cannot be read: {error.strerror or error}", file=str(folder), remedy="name a task folder"
        ) from error
    known = {*REQUIRED, TWIN, SIDECAR}
    for name in names:
        if name not in known:
            content.findings.append(_stray(folder, name, "this file does not belong in a task folder"))
            continue
        try:
            text = read_regular(folder / name, follow=False).decode("utf-8")
            content.texts[name] = text
            if name.endswith(".json"):
                content.json[name] = _json_object(text)
        except (OSError, ValueError, RecursionError) as error:
            why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            content.findings.append(
                TaskFinding("unreadable", str(folder), name, f"it cannot be read: {why}", WRITE_AGAIN)
            )
    for name in REQUIRED:
        if name not in names:
            content.findings.append(_missing(folder, name))
    return content


def _stray(folder: Path, name: str, message: str) -> TaskFinding:
    return TaskFinding("stray", str(folder), name, message, "remove it, or keep it elsewhere")


def _missing(folder: Path, name: str) -> TaskFinding:
    return TaskFinding("missing", str(folder), name, "it is missing", WRITE_AGAIN)


def _json_object(text: str) -> dict[str, Any]:
    value = json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)
    if not isinstance(value, dict):
        raise ValueError("it is not a JSON object")
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for key, part in pairs:
        if key in value:
            raise ValueError(f"the key {key!r} occurs twice")
        value[key] = part
    return value


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


def held_against(folder: Path, content: FolderContent, expected: Mapping[str, str]) -> Iterator[TaskFinding]:
    """Compare the content of a task folder with the expected files.

    JSON is compared by value, other files by their text.

    Args:
        folder: The folder.
        content: Its content; what ``read_folder`` reported is not reported again.
        expected: File name to text, for every file that the folder must have.

    Yields:
        One finding per difference; at most some twenty per file.
    """
    for name in (TWIN, SIDECAR):
        if name in content.texts and name not in expected:
            yield _stray(folder, name, "this task has no such file")
        elif name in expected and name not in content.texts and not any(f.where == name for f in content.findings):
            yield _missing(folder, name)
    for name, text in expected.items():
        if name in content.json:
            differences = _differences(json.loads(text), content.json[name], "")
            for found, (code, place, message) in enumerate(differences):
                if found == _MOST_DIFFERENCES:
                    yield TaskFinding("altered", str(folder), name, "there are further differences", WRITE_AGAIN)
                    break
                where = f"{name}: {place.removeprefix('.')}"
                yield TaskFinding(code, str(folder), where, message, WRITE_AGAIN)
        elif name in content.texts and not name.endswith(".json") and content.texts[name] != text:
            yield _text_differs(folder, name, text, content.texts[name])


def _text_differs(folder: Path, name: str, wanted: str, text: str) -> TaskFinding:
    label = wanted.partition("\n")[0]
    if OFFLINE_LABEL in label and not text.startswith(f"{label}\n"):
        return TaskFinding("unlabelled", str(folder), name, f"it does not begin with the line: {label}", WRITE_AGAIN)
    pairs = zip(wanted.split("\n"), text.split("\n"), strict=False)
    line = next((number for number, (one, other) in enumerate(pairs, 1) if one != other), None)
    place = "in its last line" if line is None else f"from line {line} on"
    if name == "code.py":
        return TaskFinding(
            "altered", str(folder), name, f"code is not the rendering of the document: it differs {place}", WRITE_AGAIN
        )
    message = f"{name} differs from what hazardmill writes for the document, {place}"
    return TaskFinding("altered", str(folder), name, message, WRITE_AGAIN)


def _differences(wanted: object, value: object, place: str) -> Iterator[tuple[Code, str, str]]:
    """Yield code, place and message of each difference; objects, and lists of equal length, are compared in depth."""
    if isinstance(wanted, dict) and isinstance(value, dict):
        for key in wanted:
            if key in value:
                yield from _differences(wanted[key], value[key], f"{place}.{key}")
            else:
                yield "missing", f"{place}.{key}", "is missing"
        for key in value:
            if key not in wanted:
                yield "stray", f"{place}.{key}", "is a part that no task has"
    elif isinstance(wanted, list) and isinstance(value, list) and len(wanted) == len(value):
        for number, (one, other) in enumerate(zip(wanted, value, strict=True)):
            yield from _differences(one, other, f"{place}[{number}]")
    elif canonical_json(wanted) != canonical_json(value):
        code: Code = "unlabelled" if place.endswith("provenance.label") and wanted is not None else "altered"
        yield code, place, f"is {render_value(value)}; the rest of the task gives {render_value(wanted)}"
