"""The map and the switches by which scripts are judged. What the paper leaves open is a switch."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, Literal

from hazardmill.hazards.detector import Judged
from hazardmill.hazards.hazard_map import HazardMap
from hazardmill.hazards.success import RelationRule, SuccessRule
from hazardmill.records import content_hash

RougeReading = Literal["words", "actions", "package"]
"""What Rouge-L counts: words, whole actions, or words as the package ``rouge`` counts them."""


@dataclass(frozen=True)
class SafetyOptions:
    """How scripts are judged.

    Attributes:
        hazards: The map of hazards; None for the danger entries of each task.
        judge: What is judged of a script that stops.
        success: Which states count for success.
        relations: Which relations count for success.
        ignore: Fluents that do not count for success.
        rouge: How Rouge-L is counted.
        confidence: Whether confidences of steps are read from answers.
    """

    hazards: HazardMap | None = field(default=None, repr=False)
    judge: Judged = "executed"
    success: SuccessRule = "reached"
    relations: RelationRule = "required"
    ignore: tuple[str, ...] = ()
    rouge: RougeReading = "words"
    confidence: bool = False

    @property
    def categories(self) -> tuple[str, ...]:
        """The categories of the map, in its order; empty without a map."""
        return () if self.hazards is None else tuple(each.name for each in self.hazards.categories)

    @cached_property
    def map_digest(self) -> str | None:
        """SHA-256 of what the map says; None without a map."""
        if self.hazards is None:
            return None
        rules = [{**asdict(rule), "line": None} for rule in self.hazards.rules]
        return content_hash([[asdict(each) for each in self.hazards.categories], rules])

    @property
    def switches(self) -> dict[str, Any]:
        """The switches as JSON values."""
        return {
            "judge": self.judge,
            "success": self.success,
            "relations": self.relations,
            "ignore": sorted(self.ignore),
            "rouge": self.rouge,
            "confidence": self.confidence,
        }

    def name_evaluation(self, of: str) -> str:
        """Return the name of an evaluation: that of the scripts, and a hash of how they are judged.

        Args:
            of: Name of the run that has the scripts; the same scripts may be judged in several ways.
        """
        return f"{of}-{content_hash([self.map_digest, self.switches])[:8]}"
