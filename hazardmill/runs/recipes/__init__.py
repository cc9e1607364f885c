"""Recipes: what a run works on and how, in one file of YAML.

recipe.py      the keys of a recipe, and what they make of the settings
reading.py     reads a file, and says on which line it is wrong
repeating.py   finds the run that a recipe has begun already, and what has changed since
exporting.py   writes the recipe of a run
schema.py      the JSON schema for editors
"""
