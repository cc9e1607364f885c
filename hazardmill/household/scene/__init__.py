"""Scenes: the objects of a room with their classes, properties and places, read from JSON or YAML.

A scene says how a room is at the start. The format is described in ``docs/household.md``.

    entries.py  files as they are written, with the line of each mistake
    objects.py  objects and their names
    checks.py   entries turned into objects that fit together
    scene.py    the scene, and the rooms that hazardmill ships
"""

from hazardmill.household.scene.checks import STATES
from hazardmill.household.scene.entries import FORMAT
from hazardmill.household.scene.objects import SceneObject, symbol_of
from hazardmill.household.scene.scene import ROOMS, Scene, read_scene, shipped_scene

__all__ = ["FORMAT", "ROOMS", "STATES", "Scene", "SceneObject", "read_scene", "shipped_scene", "symbol_of"]
