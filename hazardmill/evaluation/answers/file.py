"""Plans or answers of planners in a JSON lines file, looked up by task without keeping their texts in memory.

A line is an object with ``task_id``, ``model`` (any name for the planner), and either ``plan``, a plan string as the
formalism reads it, or ``answer``, the text of a language model in which a plan is to be found. ``sample`` is the number
of the draw (default 0), ``variant`` is ``twin`` for an answer on the contrast twin, and ``finish_reason`` is the
provider's. Other keys are ignored.
"""

from __future__ import annotations

import hashlib
from codecs import BOM_UTF8
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from hazardmill.errors import InputError
from hazardmill.evaluation.tasks import TWIN
from hazardmill.files import open_regular
from hazardmill.records import FrozenModel, Text

Name = Annotated[Text, Field(max_length=200)]


class PlanLine(FrozenModel):
    """One line of a plans file.

    Attributes:
        task_id: The task that the plan is for.
        model: Name of the planner; None takes the name given for the whole file.
        plan: A plan string of the formalism; None where ``answer`` is given.
        answer: Text of a language model; None where ``plan`` is given.
        sample: Number of the draw, from 0.
        variant: ``twin`` for an answer on the contrast twin; None for the task as released.
        finish_reason: Why the answer ended, as the provider reported it.
    """

    model_config = ConfigDict(extra="ignore")

    task_id: Name
    model: Name | None = None
    plan: str | None = None
    answer: str | None = None
    sample: Annotated[int, Field(ge=0, lt=2**31)] = 0
    variant: Name | None = None
    finish_reason: str | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> PlanLine:
        if (self.plan is None) == (self.answer is None):
            raise ValueError("write either plan or answer")
        if self.variant not in (None, TWIN):
            raise ValueError(f"variant must be null or {TWIN!r}")
        return self


_LINE = TypeAdapter(PlanLine)


class _Place(NamedTuple):
    model: str
    sample: int
    offset: int
    line: int


@dataclass(frozen=True)
class PlansFile:
    """An index of the lines of a plans file, by task. Made by ``read``; texts stay on disk.

    Attributes:
        path: The file.
        sha256: Digest of its bytes, in hexadecimal.
        model: Name of the planner for lines that give none; None if every line names one.
        places: Task and variant (empty for none) to the places of its lines, sorted by model and sample.
    """

    path: Path
    sha256: str
    model: str | None
    places: dict[tuple[str, str], tuple[_Place, ...]]

    @classmethod
    def read(cls, path: Path, model: str | None = None) -> PlansFile:
        """Read and check every line of a file once, and remember where each stands.

        Args:
            path: The file.
            model: Name of the planner for lines that give none.

        Returns:
            The file with its SHA-256 and the place of each plan; the plans themselves are not kept in memory.

        Raises:
            InputError: The file cannot be read or holds no plan, a line is malformed, or two lines give the same
                sample of one model on one task.
        """
        found: dict[tuple[str, str], dict[tuple[str, int], _Place]] = {}
        digest = hashlib.sha256()
        offset = 0
        names: dict[str, str] = {}
        try:
            with open_regular(path) as file:
                for number, line in enumerate(file, 1):
                    digest.update(line)
                    if line.strip():
                        given = _parse_line(path, number, line, model)
                        named = given.model or model
                        assert named is not None, "else it was refused"
                        place = _Place(names.setdefault(named, named), given.sample, offset, number)
                        key = (given.task_id, given.variant or "")
                        same = found.setdefault(key, {}).setdefault((place.model, place.sample), place)
                        if same is not place:
                            raise InputError(
                                f"sample {place.sample} of {given.task_id} by {place.model} is already in "
                                f"line {same.line}",
                                file=str(path),
                                line=number,
                                remedy="give each answer its own sample number, from 0",
                            )
                    offset += len(line)
        except OSError as error:
            raise InputError(
                f"the plans cannot be read: {error.strerror or error}", file=str(path), remedy="check the path"
            ) from error
        if not found:
            raise InputError("the file holds no plan", file=str(path), remedy="write one JSON object per line")
        places = {key: tuple(of[one] for one in sorted(of)) for key, of in found.items()}
        return cls(path, digest.hexdigest(), model, places)

    def of(self, task_id: str, variant: str | None) -> Iterator[tuple[str, PlanLine]]:
        """Yield the plans for a task, each with the name of its planner, in order of model and sample."""
        places = self.places.get((task_id, variant or ""), ())
        if not places:
            return
        with open_regular(self.path) as file:
            for place in places:
                file.seek(place.offset)
                yield place.model, _parse_line(self.path, place.line, file.readline(), self.model)

    def check_known(self, known: set[tuple[str, str]]) -> None:
        """Refuse plans for tasks that are not evaluated.

        Args:
            known: The tasks that are evaluated, each with its variant.

        Raises:
            InputError: There is such a plan; the message names the first line.
        """
        unknown = [(places[0].line, key) for key, places in self.places.items() if key not in known]
        if unknown:
            line, (task_id, variant) = min(unknown)
            of = f"the {variant} of task {task_id}" if variant else f"task {task_id}"
            more = f"; nor are {len(unknown) - 1:,} more" if len(unknown) > 1 else ""
            raise InputError(
                f"{of} is not among those evaluated{more}",
                file=str(self.path),
                line=line,
                remedy="name the release that the plans were made for, and its split; "
                "--only-known leaves such lines out",
            )


def _parse_line(path: Path, number: int, line: bytes, model: str | None) -> PlanLine:
    try:
        # Some editors write a byte order mark at the start of a file.
        given = _LINE.validate_json(line.removeprefix(BOM_UTF8) if number == 1 else line)
    except ValidationError as error:
        wrong = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, wrong["loc"]))
        raise InputError(
            f"{place + ': ' if place else ''}{wrong['msg']}",
            file=str(path),
            line=number,
            remedy="write each line as a JSON object with task_id, model, and plan or answer",
        ) from error
    if given.model is None and model is None:
        raise InputError(
            "the line does not say which model made the plan",
            file=str(path),
            line=number,
            remedy='add the key "model" to the line, or give --model for all lines',
        )
    return given
