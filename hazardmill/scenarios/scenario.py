"""A scenario: a draft, its risk and where both come from, and the file that holds them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from hazardmill.errors import DocumentError, PlanningInputError
from hazardmill.files import read_regular
from hazardmill.formalism.document.document import Document
from hazardmill.scenarios.draft import ProblemDraft
from hazardmill.scenarios.risk import Risk

FORMAT: Final = "hazardmill-scenario/1"
SUFFIX: Final = ".scenario.json"
ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}\Z")
"""An id is the name of a file, too."""

_KEYS: Final = ("format", "id", "draft", "risk", "origin")


@dataclass(frozen=True)
class Scenario:
    """A planning problem with caution in its preconditions and goal instead of danger entries.

    Attributes:
        id: A name that is unique in its set; also that of its file.
        draft: The problem, checked or not.
        risk: What is risky; None for a problem that was imported without one.
        origin: JSON values about where it comes from: ``base``, ``task_id``, ``record_id``, ``backend`` and so on.
    """

    id: str
    draft: ProblemDraft
    risk: Risk | None = None
    origin: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def document(self) -> Document:
        """The draft as a document.

        Raises:
            DocumentError: It is not well formed.
        """
        return self.draft.document()

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values: the content of its file."""
        return {
            "format": FORMAT,
            "id": self.id,
            "draft": self.draft.to_json(),
            "risk": None if self.risk is None else self.risk.to_json(),
            "origin": dict(self.origin),
        }

    def to_text(self) -> str:
        """Return the text of its file: JSON with one part per line, so that differences can be read."""
        value = self.to_json()
        draft, risk = value.pop("draft"), value.pop("risk")
        parts = [f"{_json(key)}: {_json(item)}" for key, item in value.items() if key != "origin"]
        parts.append(f'"draft": {_lines(draft)}')
        parts.append(f'"risk": {"null" if risk is None else _lines(risk)}')
        parts.append(f'"origin": {_json(value["origin"])}')
        return "{\n" + ",\n".join(parts) + "\n}\n"

    @classmethod
    def from_json(cls, value: object) -> Scenario:
        """Return the scenario that JSON values describe.

        Raises:
            DocumentError: Their shape is wrong.
        """
        if not isinstance(value, dict) or value.get("format") != FORMAT:
            raise DocumentError(
                f"it is not a scenario in the format {FORMAT!r}",
                remedy="give a file that hazardmill scenario has written",
            )
        if value.keys() != set(_KEYS) or not isinstance(value["id"], str) or not isinstance(value["origin"], dict):
            raise DocumentError(f"a scenario must have exactly the keys {', '.join(_KEYS)}")
        if ID.match(value["id"]) is None:
            raise DocumentError(
                f"{value['id'][:80]!r} is not a valid id of a scenario",
                remedy="use letters, digits, '.', '_' and '-' only",
            )
        risk = None if value["risk"] is None else Risk.from_json(value["risk"])
        return cls(value["id"], ProblemDraft.from_json(value["draft"]), risk, value["origin"])


def read_scenario(path: Path) -> Scenario:
    """Read the file of a scenario.

    Returns:
        The scenario; its draft is not checked.

    Raises:
        PlanningInputError: It cannot be read, is no JSON (with the line), or has another shape.
    """
    try:
        return Scenario.from_json(json.loads(read_regular(path).decode("utf-8")))
    except OSError as error:
        raise PlanningInputError(
            f"the scenario cannot be read: {error.strerror}", file=str(path), remedy="check the path"
        ) from error
    except DocumentError as error:
        raise PlanningInputError(error.message, file=str(path), remedy=error.remedy) from error
    except UnicodeDecodeError as error:
        raise PlanningInputError("it is not UTF-8", file=str(path), remedy="save it as UTF-8") from error
    except (ValueError, RecursionError) as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else None
        raise PlanningInputError(
            f"it is not JSON: {error}", file=str(path), line=line, remedy="correct it, or write it again"
        ) from error


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _lines(value: Mapping[str, Any]) -> str:
    """Return an object with a line per key, and a line per item of its longer lists."""
    lines = []
    for key, item in value.items():
        if isinstance(item, list | tuple) and item and key in ("actions", "fluents", "initial"):
            inner = ",\n  ".join(map(_json, item))
            lines.append(f"{_json(key)}: [\n  {inner}\n ]")
        else:
            lines.append(f"{_json(key)}: {_json(item)}")
    return "{\n " + ",\n ".join(lines) + "\n}"
