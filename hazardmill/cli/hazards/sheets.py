"""Sheets on which people judge scripts: their options, and what people and the detector say of the scripts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click

from hazardmill.hazards.sheets import (
    DetectorAgreement,
    ReviewerAgreement,
    ScriptDecision,
    agreement,
    agreement_of_reviewers,
    read_sheets,
    script_id,
)
from hazardmill.reporting.estimates import render_estimate
from hazardmill.reporting.numbers import decimals
from hazardmill.statistics.estimate import Estimate
from hazardmill.text.printable import printable

_FILE: Final = click.Path(path_type=Path, dir_okay=False)

sheet_option: Final = click.option(
    "--sheet",
    type=_FILE,
    metavar="FILE.csv|FILE.jsonl",
    help="Also write a sheet on which people judge the scripts, blind to the detector.",
)
"""The option that names the sheet to write."""


def filled_sheets_option(name: str, help_text: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return an option that names filled sheets.

    Args:
        name: Its name, with dashes.
        help_text: What is done with them, in sentences.
    """
    return click.option(name, type=_FILE, multiple=True, metavar="FILE", help=f"{help_text} Repeat for several.")


@dataclass(frozen=True)
class Agreements:
    """Agreement of people with the detector, and with each other.

    Attributes:
        detector: With the detector, by reviewer.
        reviewers: Of each two reviewers.
    """

    detector: Sequence[DetectorAgreement]
    reviewers: Sequence[ReviewerAgreement]

    @classmethod
    def of(cls, rows: Sequence[dict[str, Any]], decisions: Sequence[ScriptDecision]) -> Agreements:
        """Compute them for rows of scripts, and what people said of these."""
        return cls(agreement(rows, decisions), agreement_of_reviewers(decisions))

    def to_json(self) -> dict[str, Any]:
        """Return them as JSON values."""
        return {
            "agreement": [
                {"reviewer": each.reviewer, "agreed": each.agreed, "kappa": each.kappa.model_dump(mode="json")}
                for each in self.detector
            ],
            "between_reviewers": [
                {
                    "first": each.first,
                    "second": each.second,
                    "agreed": each.agreed,
                    "kappa": each.kappa.model_dump(mode="json"),
                }
                for each in self.reviewers
            ],
        }

    def in_words(self) -> Iterator[str]:
        """Yield a line for each reviewer, and for each two of them."""
        for each in self.detector:
            yield _line(each.reviewer, "agrees", each.kappa, each.agreed)
        for two in self.reviewers:
            yield _line(f"{two.first} and {two.second}", "agree", two.kappa, two.agreed)


def _line(name: str, verb: str, kappa: Estimate, agreed: int) -> str:
    return printable(f"{name}: kappa {render_estimate(kappa, decimals(2))}; {verb} on {agreed} of {kappa.n} scripts")


def read_decisions(paths: Sequence[Path], rows: Iterable[Mapping[str, Any]]) -> tuple[list[ScriptDecision], list[str]]:
    """Read filled sheets; what is wrong with single rows goes to standard error, and the others count.

    Args:
        paths: The sheets.
        rows: Rows of all scripts that can be judged. A note says how many others were.

    Returns:
        The decisions, and what is wrong with other rows.
    """
    decisions, wrong = read_sheets(paths)
    for error in wrong:
        click.echo(printable(f"error: {error}"), err=True)
    known = {script_id(row["task_id"], row["plan"]) for row in rows} if decisions else set()
    others = sorted({each.script for each in decisions} - known)
    if others:
        note = f"note: {len(others)} of the judged scripts (such as {others[0]}) are not here and count for nothing"
        click.echo(printable(f"{note}; give the sheets that were written for these scripts"), err=True)
    return decisions, [str(error) for error in wrong]
