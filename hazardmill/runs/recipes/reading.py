"""Reads recipes: what is wrong in one is told with its line and what to do."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from hazardmill.errors import HazardmillError, InputError, UsageError
from hazardmill.files import read_regular
from hazardmill.ingest.ingest import check_selection
from hazardmill.ingest.sources import load_source
from hazardmill.llm.access import refuse_credentials
from hazardmill.llm.backends.hosts import host_of
from hazardmill.run_options import GivenPrice, run_options
from hazardmill.runs.recipes.recipe import Recipe, RecipeSource
from hazardmill.text.suggestions import similar_names
from hazardmill.text.yaml_lines import YamlFile, YamlPath

_MOST_BYTES: Final = 1_000_000

_SHAPE: Final = "begin with: sources: [{source: neiss, input: neiss2019.tsv}] (docs/recipes.md has a whole recipe)"

_NOT_TOGETHER: Final = (
    ("batch", "exchange", "requests travel in provider batches or by an exchange folder, not both"),
    ("exchange", "budget_usd", "a budget cannot be kept with an exchange folder: the cost of its answers is unknown"),
    ("exchange", "fallback_models", "fallback models need a network, and an exchange folder needs none"),
    ("replay", "batch", "a replay sends nothing"),
    ("replay", "exchange", "a replay sends nothing"),
)
"""Pairs of keys of which a recipe may have one, and why."""


def read_recipe(path: Path) -> Recipe:
    """Read a recipe.

    Args:
        path: The file.

    Returns:
        The recipe, with absolute paths.

    Raises:
        InputError: The file cannot be read, or something in it is wrong. The message says what is wrong first in the
            file, with its line and what to do.
    """
    try:
        content = read_regular(path, _MOST_BYTES)
    except OSError as error:
        raise InputError(
            f"the recipe cannot be read: {error.strerror or error}",
            file=str(path),
            remedy="name a file of YAML; the name of a source is given with --source",
        ) from error
    found = YamlFile.parse(content, str(path), what="the recipe", texts={"where"}, remedy=_SHAPE)
    try:
        recipe = Recipe.model_validate(found.values)
    except ValidationError as error:
        wrong: InputError = min((_refuse(found, each) for each in _causes(error)), key=_line_of)
        raise wrong from error
    except RecursionError as error:
        raise InputError("the recipe contains itself", file=str(path), remedy="remove the alias") from error
    recipe = _resolve(recipe, path.parent)
    problems = [*_find_pairs(found, recipe), *_find_missing_paths(found, recipe), *_find_misnamed(found, recipe)]
    for problem in sorted(problems, key=_line_of):
        raise problem
    return recipe


def absolute_path(path: Path) -> Path:
    """Return a path that is the same in any working folder: absolute, without ``..``, and with links as they are."""
    return Path(os.path.abspath(path))  # noqa: PTH100  # `resolve` would follow links


def _line_of(error: HazardmillError) -> int:
    return error.line or 0


def _causes(error: ValidationError) -> Iterator[ErrorDetails]:
    """Yield what is wrong, without what is wrong only because of that."""
    errors = error.errors(include_url=False)
    for each in errors:
        deeper = [other for other in errors if len(other["loc"]) > len(each["loc"])]
        inside = any(other["loc"][: len(each["loc"])] == each["loc"] for other in deeper)
        if each["type"] != "default_factory_not_called" and not inside:
            yield each


def _refuse(found: YamlFile, wrong: ErrorDetails) -> InputError:
    """Return the error for one thing that the model refuses."""
    path = wrong["loc"]
    place, above = found.place(path), found.place(path[:-1]) or "the recipe"
    if wrong["type"] == "extra_forbidden":
        return _error(found, path, f"{above} has the unknown key {path[-1]!r}", _remedy_for_key(path), of_key=True)
    if wrong["type"] == "missing":
        remedy = _SHAPE if len(path) == 1 else f"add {path[-1]}: {_description(path)}"
        return _error(found, path, f"{above} has no {path[-1]}", remedy)
    if wrong["type"] == "too_short":
        return _error(found, path, f"{place} is empty", _SHAPE)
    message = wrong["msg"].removeprefix("Value error, ")
    described = _description(path)
    return _error(found, path, f"{place}: {message}", f"{place} is: {described}" if described else _SHAPE)


def _error(found: YamlFile, path: YamlPath, message: str, remedy: str | None, *, of_key: bool = False) -> InputError:
    return InputError(message, file=found.file, line=found.line(path, of_key=of_key), remedy=remedy)


def _remedy_for_key(path: YamlPath) -> str:
    key = str(path[-1])
    if "key" in key.lower() or "token" in key.lower().split("_"):
        return "remove it: keys of providers belong in the environment, and are never written down"
    known = list(_model_of(path).model_fields)
    # People write options as on the command line.
    flags = {option.flag_of(name)[2:]: name for name, _, option in run_options(_model_of(path))}
    named = flags.get(key.replace("_", "-"))
    near = [named] if named else similar_names(key.replace("-", "_"), known)
    return f"did you mean {' or '.join(near)}?" if near else f"the keys are {', '.join(known)}"


def _model_of(path: YamlPath) -> type[BaseModel]:
    """The model whose field the last part of a path names."""
    if path[0] == "sources" and len(path) > 1:
        return RecipeSource
    return GivenPrice if path[0] == "prices" and len(path) > 1 else Recipe


def _description(path: YamlPath) -> str | None:
    for end in range(len(path), 0, -1):
        field = _model_of(path[:end]).model_fields.get(str(path[end - 1]))
        if field is not None:
            return field.description
    return None


def _resolve(recipe: Recipe, folder: Path) -> Recipe:
    """Return a recipe whose paths are absolute."""
    changed: dict[str, Any] = {
        name: absolute_path(folder / value)
        for name in recipe.model_fields_set
        if isinstance(value := getattr(recipe, name), Path)
    }
    sources = tuple(
        each if each.input is None else each.model_copy(update={"input": absolute_path(folder / each.input)})
        for each in recipe.sources
    )
    return recipe.model_copy(update={**changed, "sources": sources})


def _find_pairs(found: YamlFile, recipe: Recipe) -> Iterator[InputError]:
    """Yield the pairs of keys that cannot both hold, at the later of the two."""
    for first, second, why in _NOT_TOGETHER:
        if getattr(recipe, first) and getattr(recipe, second):
            later = max(first, second, key=lambda name: found.line((name,), of_key=True))
            message = f"{first} and {second} cannot be combined: {why}"
            yield _error(found, (later,), message, f"leave out {first} or {second}", of_key=True)


def _find_missing_paths(found: YamlFile, recipe: Recipe) -> Iterator[InputError]:
    """Yield the paths that must be there and are not."""
    paths: Mapping[YamlPath, Path | None] = {
        **{("sources", number, "input"): each.input for number, each in enumerate(recipe.sources)},
        **{(name,): getattr(recipe, name) for name in ("base", "prompts", "recordings")},
    }
    for path, value in paths.items():
        if value is not None and not value.exists():
            remedy = "correct the path, which is relative to the folder of the recipe"
            if path[-1] == "input":
                remedy += ", or leave input out to take the records in the store"
            yield _error(found, path, f"{found.place(path)}: nothing is at {value}", remedy)


def _find_misnamed(found: YamlFile, recipe: Recipe) -> Iterator[InputError]:
    """Yield unknown sources, unknown facts, and addresses that are none or may carry a key."""
    for number, each in enumerate(recipe.sources):
        path: YamlPath = ("sources", number, "source")
        try:
            source = load_source(each.source)
            path = ("sources", number, "where")
            check_selection(source, each.where)
        except (InputError, UsageError) as error:
            yield _error(found, path, f"{found.place(path)}: {error.message}", error.remedy)
    if recipe.api_base is not None:
        try:
            refuse_credentials(recipe.api_base)
            host_of(recipe.api_base)
        except InputError as error:
            yield _error(found, ("api_base",), f"api_base: {error.message}", error.remedy)
