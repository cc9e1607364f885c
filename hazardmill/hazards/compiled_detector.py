"""Finds the harm of plans by a compiled document alone, without the map that it was made of."""

from __future__ import annotations

from hazardmill.formalism.document.document import Document
from hazardmill.formalism.semantics.transition_system import System
from hazardmill.hazards.compiled import closing_of
from hazardmill.hazards.detector import HazardDetector, HazardReport
from hazardmill.hazards.rules import danger_rules


class CompiledDetector:
    """Finds violations in plans of a task of which a map was written into another document (``compile_rules``).

    Args:
        document: The task.
        compiled: The compiled document.

    Attributes:
        closing: The action that ends each plan of the compiled document; None without one.
    """

    def __init__(self, document: Document, compiled: Document) -> None:
        self.closing = closing_of(document, compiled)
        system = System(compiled)
        self._detector = HazardDetector(system, danger_rules(system))

    def detect(self, plan: str) -> HazardReport:
        """Return the violations of a plan string of the task; the closing action counts as its last one.

        Raises:
            SearchLimitReached: An action of the plan is too large to be ground.
        """
        return self._detector.detect(plan if self.closing is None else f"{plan} ({self.closing})")
