"""The JSON schema of recipes, for editors: ``python -m hazardmill.runs.recipes.schema > recipe.schema.json``."""

from __future__ import annotations

import json

from hazardmill.runs.recipes.recipe import Recipe


def recipe_schema() -> str:
    """Return the JSON schema of recipes, with a description for each key."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **Recipe.model_json_schema()}
    for described in (schema, *schema["$defs"].values()):
        # Of a docstring, the first sentence is for people who write recipes.
        described["description"] = described["description"].partition("\n")[0]
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    print(recipe_schema(), end="")
