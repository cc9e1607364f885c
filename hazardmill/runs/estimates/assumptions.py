"""What is assumed about a run where its store's ledger has measured nothing."""

from __future__ import annotations

from typing import Final, Literal, get_args

from hazardmill.llm.requests import Stage
from hazardmill.records import MAX_DRAFTS, FrozenModel

STAGES: Final[tuple[Stage, ...]] = ("extract", "author", "judge")
"""The stages of a run of tasks that ask."""
SCENARIO_STAGES: Final[tuple[Stage, ...]] = ("author", "judge", "classify")
"""The same of a run of scenarios."""

Case = Literal["low", "expected", "high"]
CASES: Final[tuple[Case, ...]] = get_args(Case)


class Range(FrozenModel):
    """One figure in the cheapest, the most likely and the dearest case."""

    low: float
    expected: float
    high: float

    def of(self, case: Case) -> float:
        """Return the figure for one case."""
        return {"low": self.low, "expected": self.expected, "high": self.high}[case]


class Assumption(FrozenModel):
    """A figure that cannot be known beforehand.

    Attributes:
        what: Its name and unit, for display.
        figures: The values to assume if nothing was measured.
        measured: The stages, or kinds of turns of a dialogue, whose ledger can provide it; empty if none can.
        attribute: The attribute of ``ModelHistory`` with the measured value; empty if there is none.
        basis: Where the values come from; empty if they are guesses from experience.
    """

    what: str
    figures: Range
    measured: tuple[str, ...]
    attribute: str
    basis: str


def _assumption(
    what: str,
    low: float,
    expected: float,
    high: float,
    measured: tuple[str, ...] = (),
    attribute: str = "",
    *,
    basis: str = "",
) -> Assumption:
    figures = Range(low=low, expected=expected, high=high)
    return Assumption(what=what, figures=figures, measured=measured, attribute=attribute, basis=basis)


ASSUMED: Final = {
    "dangers": _assumption("share of records that hold a danger", 0.25, 0.7, 1.0, ("extract",), "danger_share"),
    "drafts": _assumption("drafts per danger or seed", 1.0, 2.0, MAX_DRAFTS, ("author",), "drafts"),
    "judged": _assumption("share of drafts that reach the judge", 0.8, 0.7, 1.0, ("author",), "judged_share"),
    "density": _assumption("UTF-8 bytes per token of input", 4.8, 4.0, 3.2, (*STAGES, "classify"), "bytes_a_token"),
    "cached": _assumption("share of input from the cache, of what an earlier request began with", 1.0, 0.7, 0.0),
    "extract": _assumption("tokens per answer of extract", 150, 300, 450, ("extract",), "answer_tokens"),
    "python": _assumption("tokens per answer of author", 400, 750, 1600, ("author",), "answer_tokens"),
    "document": _assumption("tokens per answer of author", 250, 450, 1000, ("author",), "answer_tokens"),
    "scenario": _assumption("tokens per answer of author", 250, 450, 1000, ("author",), "answer_tokens"),
    "judge": _assumption("tokens per answer of judge", 15, 80, 250, ("judge",), "answer_tokens"),
    "classify": _assumption("tokens per answer of classify", 8, 15, 40, ("classify",), "answer_tokens"),
    "repairs": _assumption(
        "repair turns per question, except to the author",
        0,
        0.1,
        0.5,
        ("extract", "judge", "classify"),
        "repairs",
    ),
    "described": _assumption("tokens that describe a task or scenario to the judge", 150, 300, 700),
    "feedback": _assumption("tokens per feedback on a draft", 60, 150, 500),
    "seconds": _assumption("seconds per answer to a single request", 2, 8, 30, (*STAGES, "classify"), "answer_seconds"),
}
"""What is assumed of single requests, and of their answers in batches too."""

ASSUMED_IN_BATCHES: Final = {
    "cached": _assumption(
        "input from the cache inside a batch, as a share of what single requests would have",
        1.0,
        0.92,
        0.3,
        basis="OpenAI's cookbook (Prompt Caching 201) saw 1.085 times as many hits outside of batches as in them; "
        "Anthropic reports hits from 30% to 98%; what an earlier draft left in the cache is taken to be gone",
    ),
    "hours": _assumption(
        "hours per round of batches",
        0.1,
        1,
        24,
        basis="providers promise 24; Anthropic says that most batches end within 1; 0.1 is a guess, and we have "
        "measured none",
    ),
}
"""What is assumed of batches. No ledger has measured it."""

_TRIAL: Final = "the first trial of dialogues had 107 to 136 per remark and 825 to 1,216 per turn of proposals"

ASSUMED_OF_DIALOGUES: Final = {
    "turn": _assumption("tokens per remark", 90, 120, 200, ("turn",), "answer_tokens", basis=_TRIAL),
    "propose": _assumption(
        "tokens per turn of proposals", 800, 1000, 2000, ("propose",), "answer_tokens", basis=_TRIAL
    ),
    "rewrite": _assumption("tokens per rewritten script", 60, 150, 400, ("rewrite",), "answer_tokens"),
    "proposed": _assumption("tokens of a turn of proposals that later turns are shown", 40, 60, 120),
    "rewrites": _assumption("requests for rewritten scripts per turn of proposals", 0, 2, 9),
}
"""What is assumed of dialogues besides: three proposals per turn, each rewritten three times at most."""
