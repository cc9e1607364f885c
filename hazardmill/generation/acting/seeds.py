"""Seeds of dialogues: plans that did harm in tasks of existing sources, one JSON object per line."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import ConfigDict, Field, JsonValue, ValidationError

from hazardmill.errors import InputError
from hazardmill.files import read_regular
from hazardmill.records import FrozenModel, Text

_REMEDY: Final = (
    "write one object per line as `hazardmill hazards seeds` does: task_id, instruction and harm, a list with plan,"
    " categories, violations and confidence (a number from 0 to 1, or null) of each harmful script"
)


class HazardSeed(FrozenModel):
    """A task in which a plan did harm.

    Attributes:
        task_id: The task.
        instruction: What the planner was asked to do.
        plan: Its plan, as a plan string; may be empty, because harm can also be left behind by doing nothing.
        categories: The categories of the harm; one or more.
        violations: The rules that fired, as ``hazards detect`` gives them.
        confidence: How sure the planner was, 0 to 1; null if it was not asked.
        licence: Licence of the task; null if the line does not say.
        attribution: Whom to credit for the task; null likewise.
    """

    # Whoever writes seeds may say more about them.
    model_config = ConfigDict(frozen=True, extra="ignore")

    task_id: Text
    instruction: Text
    plan: str
    categories: Annotated[tuple[Text, ...], Field(min_length=1)]
    violations: tuple[dict[str, JsonValue], ...]
    confidence: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] | None
    licence: Text | None = None
    attribution: Text | None = None


def read_seeds(path: Path, declared: Collection[str], *, need_licence: bool = False) -> tuple[HazardSeed, ...]:
    """Read a file of seeds.

    Args:
        path: JSON lines, as ``hazards seeds`` writes them: a line has ``harm``, of whose scripts the one with the most
            categories is taken, the first of equal ones; or the line has plan, categories, violations and confidence
            itself. Empty lines are skipped, and keys other than those of ``HazardSeed`` are ignored.
        declared: The categories of the map of hazards.
        need_licence: Whether each seed must have a licence, because what is made of it gets that licence.

    Returns:
        The seeds, in order.

    Raises:
        InputError: The file cannot be read or has no seed, or a line is no seed, names a category that the map does
            not have, or lacks a licence that it must have; with the line.
    """
    try:
        # Only line feeds end a line: texts in JSON may hold what else Unicode takes for one.
        lines = read_regular(path).decode("utf-8-sig").split("\n")
    except OSError as error:
        raise InputError(
            f"the seeds cannot be read: {error.strerror or error}", file=str(path), remedy="check the path"
        ) from error
    except UnicodeDecodeError as error:
        raise InputError("the seeds are not UTF-8", file=str(path), remedy="save the file as UTF-8") from error
    numbered = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    seeds = [_read(str(path), number, line, declared) for number, line in numbered]
    if not seeds:
        raise InputError("the file has no seed", file=str(path), remedy="make some with: hazardmill hazards seeds")
    for (number, _), seed in zip(numbered, seeds, strict=True):
        if need_licence and seed.licence is None:
            raise InputError(
                "the seed has no licence, and a release refuses tasks without one",
                file=str(path),
                line=number,
                record_id=seed.task_id,
                remedy="write the licence of its task into the line as licence (and whom to credit as attribution), or "
                "give --licence for all tasks of the run",
            )
    return tuple(seeds)


def _read(file: str, number: int, line: str, declared: Collection[str]) -> HazardSeed:
    try:
        value: Any = json.loads(line)
        if not isinstance(value, dict):
            raise InputError("the line is not a JSON object", file=file, line=number, remedy=_REMEDY)
        seed = HazardSeed.model_validate({**value, **_worst(value.get("harm"))})
    except ValidationError as error:
        wrong = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, wrong["loc"]))
        raise InputError(f"{place}: {wrong['msg']}", file=file, line=number, remedy=_REMEDY) from error
    except InputError:
        raise
    except (ValueError, RecursionError) as error:
        raise InputError(f"the line is not JSON: {error}", file=file, line=number, remedy=_REMEDY) from error
    unknown = next((name for name in seed.categories if name not in declared), None)
    if unknown is not None:
        raise InputError(
            f"categories: the map of hazards has no category {unknown!r}",
            file=file,
            line=number,
            record_id=seed.task_id,
            remedy="give --map the map that the seeds were made with",
        )
    return seed


def _worst(harm: object) -> Mapping[str, Any]:
    """Return the script with the most categories, the first of equal ones; nothing if none is listed."""
    scripts = [each for each in harm if isinstance(each, dict)] if isinstance(harm, list) else []
    return max(scripts, key=_count_categories, default={})


def _count_categories(script: Mapping[str, Any]) -> int:
    categories = script.get("categories")
    return len(categories) if isinstance(categories, list) else 0
