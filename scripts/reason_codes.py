"""The tables of docs/reason-codes.md, made from the places in the code that declare reason codes.

Run from the checkout: ``python scripts/reason_codes.py`` renews them.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Final

from hazardmill.formalism.proofs.certificate import CLAIMS
from hazardmill.generation import author, extract, judge, scenario_refine
from hazardmill.generation.acting import proposals, rewrites
from hazardmill.generation.acting import refine as acting_refine
from hazardmill.generation.checks import formalization
from hazardmill.generation.execute import CHECKS
from hazardmill.records import DeclineReason
from hazardmill.release.gates.gates import SAYS
from hazardmill.resources import prompts_folder
from hazardmill.review.policies import REASON_WORDS
from hazardmill.review.rubric import CRITERIA_OF
from hazardmill.runs import duplicates
from hazardmill.runs.commits import hazard_tasks, scenarios
from hazardmill.scenarios import declarations, verify

BEGIN, END = "<!-- table: python scripts/reason_codes.py {} -->", "<!-- end of table -->"
TABLE: Final = re.compile(r"<!-- table: python scripts/reason_codes.py (\w+) -->.*?<!-- end of table -->", re.DOTALL)

Row = tuple[str, str, str]
"""Where a code is given, the code, and its meaning."""


def main() -> None:
    """Renew the page."""
    page = Path(__file__).resolve().parents[1] / "docs" / "reason-codes.md"
    page.write_text(renew_reasons(page.read_text(encoding="utf-8")), encoding="utf-8")


def renew_reasons(page: str) -> str:
    """Return the page on reason codes with its tables as they should be."""
    return TABLE.sub(lambda table: render_table(table[1]), page)


def render_table(name: str) -> str:
    """Return a table with the comments around it."""
    column, rows = TABLES[name]
    head = f"| {column} | reason code | meaning |\n| --- | --- | --- |"
    lines = [f"| {place} | `{code}` | {meaning.replace('``', '`')} |" for place, code, meaning in rows()]
    return "\n".join([BEGIN.format(name), "", head, *lines, "", END])


def member_docstrings(members: type[StrEnum]) -> dict[str, str]:
    """Return the docstring of each member of an enum, by its value."""
    (declared,) = ast.parse(inspect.getsource(members)).body
    assert isinstance(declared, ast.ClassDef)
    found = {}
    for statement, after in zip(declared.body, declared.body[1:], strict=False):
        if isinstance(statement, ast.Assign) and isinstance(after, ast.Expr):
            found[ast.literal_eval(statement.value)] = str(ast.literal_eval(after.value))
    return {member.value: found[member.value] for member in members}


def judge_criteria(prompt: str) -> dict[str, str]:
    """Return the reason codes of a judge's criteria, each with the question that its prompt asks.

    Args:
        prompt: Path of the template within the folder of prompts.
    """
    rubric = (prompts_folder() / prompt).read_text(encoding="utf-8").partition("# Rubric\n")[2].partition("\n# ")[0]
    asked = re.findall(r"^(\w+): (.*?\?)", rubric, re.MULTILINE | re.DOTALL)
    return {f"judge:{code}": f"The judge finds a fault; it asks: {' '.join(words.split())}" for code, words in asked}


def of_records() -> Iterator[Row]:
    """Yield the codes of records from which no danger is made."""
    yield from _rows("extract, `no_danger`", member_docstrings(DeclineReason))
    yield from _rows("extract, `extraction_failed`", extract.REASONS)


def of_tasks() -> Iterator[Row]:
    """Yield the codes of drafts of a task, in the order of the checks."""
    yield from _rows("`answer`", author.REASONS)
    for check in CHECKS:
        place = f"`{check.name}`"
        for claim in CLAIMS:
            if claim.check == check.name and claim.reason is not None:
                # The next sentence says when it is null, and the next paragraph what the witness is.
                holds = " ".join((claim.decide.__doc__ or "").split("\n\n")[0].split()).split(". ")[0].rstrip(".")
                yield place, claim.reason, f"This does not hold: {holds[0].lower()}{holds[1:]}."
        yield from _rows(place, check.reasons)
    yield from _rows(f"`{formalization.NAME}`", formalization.REASONS)
    yield from _rows("`judge`", judge.REASONS)
    yield from _rows("`judge`", judge_criteria("judge/task.md.j2"))
    yield from _rows("compared with earlier tasks", duplicates.REASONS)


def of_scenarios() -> Iterator[Row]:
    """Yield the codes of drafts of a scenario, in the order in which they are looked at."""
    yield from _rows("`answer`", scenario_refine.REASONS)
    yield from _rows("`scenario`, its declarations", declarations.REASONS)
    yield from _rows("`scenario`, by search", verify.OF_SEARCH)
    yield from _rows("`scenario`, only `mal`", verify.OF_MAL)
    yield from _rows("`scenario`, only `sit`", verify.OF_SIT)
    yield from _rows("`judge`", judge.REASONS)
    yield from _rows("`judge`", judge_criteria("scenario/judge.md.j2"))
    yield from _rows("compared with earlier scenarios", scenarios.REASONS)


def of_hazard_tasks() -> Iterator[Row]:
    """Yield the codes of dialogues, of their proposals and of rewritten scripts."""
    yield from _rows("dialogue", acting_refine.REASONS)
    yield from _rows("proposal", proposals.REASONS)
    yield from _rows("proposal, its declarations", declarations.REASONS)
    yield from _rows("proposal, compared with earlier tasks", hazard_tasks.REASONS)
    yield from _rows(f"`{rewrites.NAME}`", rewrites.REASONS)


def of_reviews() -> Iterator[Row]:
    """Yield the codes by which reviewers reject, and those of what a policy does not accept."""
    for kind, criteria in CRITERIA_OF.items():
        yield from _rows(f"rejection of a `{kind}`", criteria)
    for code, words in REASON_WORDS.items():
        yield "policy", code, f"Not accepted: {words}."


def of_gates() -> Iterator[Row]:
    """Yield the gates of a release, which leave out or stop."""
    for code, says in SAYS.items():
        yield "gate", code, f"This does not hold: {says}."


def _rows(place: str, meanings: Mapping[str, str]) -> Iterator[Row]:
    return ((place, code, meaning) for code, meaning in meanings.items())


TABLES: Final = {
    "records": ("stage", of_records),
    "tasks": ("check", of_tasks),
    "scenarios": ("check", of_scenarios),
    "hazard_tasks": ("check", of_hazard_tasks),
    "reviews": ("where", of_reviews),
    "gates": ("where", of_gates),
}
"""Heading of the first column, and the rows, by name of the table."""


if __name__ == "__main__":
    main()
