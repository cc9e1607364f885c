"""Small rooms for tests, such as that of the worked example."""

from __future__ import annotations

from typing import Any

from hazardmill.formalism.document.expressions import Expr
from hazardmill.household.actions import fact

Entry = dict[str, Any]
BOTTLE: list[Entry] = [{"class": "Drawer"}, {"class": "Cabinet"}, {"class": "Bottle", "in": "Cabinet (1)"}]
"""The room of the worked example."""
IN_DRAWER: Expr = fact("in", "Bottle_1", "Drawer_1")
CLOSED: Expr = ("and", IN_DRAWER, ("not", fact("open", "Drawer_1")))
"""Its goals: the bottle is in the drawer, and then the drawer is closed again."""
