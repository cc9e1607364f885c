from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from hazardmill.runs.recipes.schema import recipe_schema
from tests.runs.recipes.test_reading import WRONG

SEEN_BY_EDITORS = {"unknown key", "unknown key of a source", "a secret", "no sources", "empty sources", "wrong type"}


def test_the_published_schema_is_that_of_the_recipes(project: Path) -> None:
    written = (project / "docs" / "recipe.schema.json").read_text()
    assert written == recipe_schema(), "python -m hazardmill.runs.recipes.schema > docs/recipe.schema.json"


@pytest.mark.parametrize("name", sorted(SEEN_BY_EDITORS))
def test_an_editor_sees_mistakes(name: str) -> None:
    validator = Draft202012Validator(json.loads(recipe_schema()))
    assert validator.is_valid(yaml.safe_load("sources: [{source: neiss, where: {age_years: 3}}]"))
    assert not validator.is_valid(yaml.safe_load(WRONG[name][0]))


def test_every_key_says_what_it_is() -> None:
    schema = json.loads(recipe_schema())
    for described in (schema, *schema["$defs"].values()):
        assert all(field.get("description") for field in described["properties"].values())
