"""Exact search for tasks with much that does not matter: shortest plans by refining a projection of the task.

A breadth-first search of the task itself meets every combination of what can be moved, opened or switched. This search
begins with the fluents of the goal and finds a shortest plan of that projection (``projection.py``). Where the task
itself does not do what the plan says, what the plan did not see is seen from then on. A plan that the task can do is
as short as any, because no plan of the task is shorter than the projection's; that is counterexample-guided abstraction
refinement (Clarke et al. 2000; Seipp and Helmert 2013 for planning). The projection's distances to the goal then lead a
breadth-first search of the task to the lexicographically least of its shortest plans, which is the plan of ``solve``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from hazardmill.errors import SearchLimitReached
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.search.budget import DEFAULT_LIMIT, Effort
from hazardmill.formalism.search.projection import ProjectedAction, Projection
from hazardmill.formalism.semantics.condition_compiler import Numbers
from hazardmill.formalism.semantics.transition_system import GroundAction, System

_Node: TypeAlias = tuple[int, Numbers, int, int]
"""Bits, numbers, danger, and the remainder that spreads the hashes (``System.mixing``)."""
_Step: TypeAlias = tuple[ProjectedAction, _Node]
