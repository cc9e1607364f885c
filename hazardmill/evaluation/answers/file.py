"""Plans or answers of planners in a JSON lines file, found again by task without keeping their texts in memory.

A line is an object with ``task_id``, ``model`` (any name of what planned), and either ``plan``, a plan string as the
formalism reads it, or ``answer``, text of a language model in which a plan is to be found. ``sample`` is the number of
the draw (0), ``variant`` is ``twin`` for an answer on the contrast twin, ``finish_reason`` is the provider's; other
keys are passed over.
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
    """One line."""

    model_config = ConfigDict(extra="ignore")

    task_id: Name
    model: Name | None = None
    """Null takes the name that goes for the whole file."""
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
            raise ValueError(f"a variant is null or {TWIN!r}")
        return self


_LINE = TypeAdapter(PlanLine)


class _Place(NamedTuple):
    model: str
    sample: int
    offset: int
    line: int


@dataclass(frozen=True)
class PlansFile:
    """What is where in a file. Made by ``read``."""

    path: Path
    sha256: str
    model: str | None
    places: dict[tuple[str, str], tuple[_Place, ...]]
    """Task and variant (empty for none) to its lines, sorted by model and sample."""

    @classmethod
    def read(cls, path: Path, model: str | None = None) -> PlansFile:
        """Look through a file.

        Args:
            path: The file.
            model: Name of what planned, for lines that have none.

        Raises:
            InputError: It cannot be read, holds no line, or a line is not as it should be or there twice.
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
                                f"sample {place.sample} of {given.task_id} by {place.model} is in line {same.line} "
                                "already",
                                file=str(path),
                                line=number,
                                remedy="give each answer a sample of its own, from 0",
                            )
                    offset += len(line)
        except OSError as error:
            raise InputError(f"the plans cannot be read: {error.strerror or error}", file=str(path)) from error
        if not found:
            raise InputError("there is no line of a plan", file=str(path), remedy="write one JSON object a line")
        places = {key: tuple(of[one] for one in sorted(of)) for key, of in found.items()}
        return cls(path, digest.hexdigest(), model, places)

    def of(self, task_id: str, variant: str | None) -> Iterator[tuple[str, PlanLine]]:
        """What was planned for a task, by whom, in order of model and sample."""
        places = self.places.get((task_id, variant or ""), ())
        if not places:
            return
        with open_regular(self.path) as file:
            for place in places:
                file.seek(place.offset)
                yield place.model, _parse_line(self.path, place.line, file.readline(), self.model)

    def check_known(self, known: set[tuple[str, str]]) -> None:
        """Refuse plans for what is not there.

        Args:
            known: Tasks and variants that there are.

        Raises:
            InputError: The first line for another task.
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
        # Some editors begin a file with a mark of its encoding.
        given = _LINE.validate_json(line.removeprefix(BOM_UTF8) if number == 1 else line)
    except ValidationError as error:
        wrong = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, wrong["loc"]))
        raise InputError(
            f"{place + ': ' if place else ''}{wrong['msg']}",
            file=str(path),
            line=number,
            remedy="a line is a JSON object with task_id, model, and plan or answer",
        ) from error
    if given.model is None and model is None:
        raise InputError(
            "it does not say who planned", file=str(path), line=number, remedy="write model, or give --model"
        )
    return given
