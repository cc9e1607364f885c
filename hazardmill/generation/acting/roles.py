"""The roles that speak in a dialogue, and the file that they are read from."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import Field, ValidationError

from hazardmill.errors import InputError
from hazardmill.files import read_regular
from hazardmill.records import FrozenModel, Text

DEFAULT_ROLES: Final = Path(__file__).with_name("roles.yaml")
"""The roles that ship with hazardmill."""

MOST_ROLES: Final = 20

_SHAPE: Final = "write format: hazardmill-roles/1, then roles, each with name, concern and categories"


class ActingRole(FrozenModel):
    """Somebody who speaks in a dialogue.

    Attributes:
        name: Unique among the roles of a file.
        concern: What the role thinks of; shown to the model.
        categories: The categories of harm that it looks for; one or more of the map.
    """

    name: Text
    concern: Text
    categories: Annotated[tuple[Text, ...], Field(min_length=1)]


class _RolesFile(FrozenModel):
    format: Literal["hazardmill-roles/1"]
    roles: Annotated[tuple[ActingRole, ...], Field(min_length=1, max_length=MOST_ROLES)]


def read_roles(path: Path, declared: Collection[str]) -> tuple[ActingRole, ...]:
    """Read the roles of a dialogue.

    Args:
        path: A file of YAML in the format ``hazardmill-roles/1``.
        declared: The categories of the map of hazards.

    Returns:
        The roles, in the order in which they speak.

    Raises:
        InputError: The file cannot be read, is no YAML or has another shape, two roles have one name, or a category is
            not declared; with the place, and the line where the YAML is broken.
    """
    found = _parse(path)
    names: set[str] = set()
    for number, role in enumerate(found.roles):
        if role.name.casefold() in names:
            raise InputError(
                f"roles[{number}].name: {role.name!r} is used twice",
                file=str(path),
                remedy="give each role a name of its own",
            )
        names.add(role.name.casefold())
        unknown = next((name for name in role.categories if name not in declared), None)
        if unknown is not None:
            raise InputError(
                f"roles[{number}].categories: the map of hazards has no category {unknown!r}",
                file=str(path),
                remedy=f"name some of its categories ({'; '.join(declared)}), or another map with --map",
            )
    return found.roles


def _parse(path: Path) -> _RolesFile:
    import yaml

    try:
        return _RolesFile.model_validate(yaml.safe_load(read_regular(path).decode("utf-8-sig")))
    except OSError as error:
        raise InputError(
            f"the roles cannot be read: {error.strerror or error}", file=str(path), remedy="check the path"
        ) from error
    except yaml.MarkedYAMLError as error:
        line = None if error.problem_mark is None else error.problem_mark.line + 1
        raise InputError(
            f"the roles are not YAML: {error.problem}", file=str(path), line=line, remedy="put texts in quotes"
        ) from error
    except ValidationError as error:
        wrong = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, wrong["loc"])) or "the file"
        raise InputError(f"{place}: {wrong['msg']}", file=str(path), remedy=_SHAPE) from error
    except (ValueError, yaml.YAMLError, RecursionError) as error:
        # YAML makes dates and numbers of what looks like one, and fails with a ValueError where it is none.
        raise InputError(
            f"the roles are not YAML: {error}",
            file=str(path),
            remedy="save the file as UTF-8, without control characters, and put dates and numbers in quotes",
        ) from error
