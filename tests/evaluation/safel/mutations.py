"""Gold plans with one mistake each, and the table of mistake against label that stands in ``docs/safel.md``.

``python -m tests.evaluation.safel.mutations FOLDER`` prints the table, for a folder with the reference data.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from hazardmill.errors import PlanningInputError
from hazardmill.evaluation.safel.sequence import LABELS, TITLES, SequenceLabeller
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.document.plan_text import parse_plan
from hazardmill.formalism.formats.pddl.reader import read_pddl
from hazardmill.formalism.search.exact import solve
from hazardmill.formalism.semantics.transition_system import System
from tests.formalism import reference_tasks

from .worked_plans import plan, toaster

Gold = tuple[str, Document, str]
"""Name of a task, the task, a plan that succeeds."""
MUTATIONS = (
    "one step deleted",
    "one step doubled",
    "two dependent steps swapped",
    "last step dropped",
    "action name broken",
    "object name broken",
    "argument dropped",
    "argument of another type",
)
"""The mistakes, in the order of the table. The last step is dropped only, and not deleted as well."""
NO_DANGERS = {"context": [], "dangers": [], "initial_danger": 0, "max_danger": 0}


def gold_of_tasks(reference: Path) -> Iterator[Gold]:
    """The toaster, and both shortest plans of the three reference tasks."""
    yield "toaster", toaster(), plan("G U I N T F")
    for name in reference_tasks.TASKS:
        document = reference_tasks.imported_document(reference, name)
        solution = solve(document)
        for text in (solution.safe_text, solution.unsafe_text):
            assert text is not None
            yield name, document, text


def gold_of_behavior(reference: Path) -> Iterator[Gold]:
    """The BEHAVIOR problems of EAI with their gold plans, but for the one whose file does not declare an object."""
    folder = reference / "data" / "eai" / "behavior"
    for name, steps in json.loads((folder / "gold_pddl_plan.json").read_text()).items():
        try:
            document = read_pddl(folder / "behavior.pddl", folder / "problem_pddl" / f"{name}.pddl", NO_DANGERS)
        except PlanningInputError:
            continue
        yield name, document, " ".join(f"({step})" for step in steps)


def mutants(document: Document, text: str) -> Iterator[tuple[str, str]]:
    """Yield each mistake that the plan can have, with the plan that has it."""
    steps = parse_plan(text)
    system = System(document)
    last = len(steps) - 1
    for place, (name, *args) in enumerate(steps):
        before, after = steps[:place], steps[place + 1 :]
        yield ("last step dropped" if place == last else "one step deleted"), _text([*before, *after])
        yield "one step doubled", _text([*before, steps[place], *steps[place:]])
        needs = _first_impossible(document, [*before, *after])
        if needs is not None:
            swapped = list(steps)
            swapped[place], swapped[needs + 1] = steps[needs + 1], steps[place]
            yield "two dependent steps swapped", _text(swapped)
        yield "action name broken", _text([*before, (f"{name}_it", *args), *after])
        if not args:
            continue
        yield "object name broken", _text([*before, (name, *args[:-1], f"{args[-1]}_x"), *after])
        yield "argument dropped", _text([*before, (name, *args[:-1]), *after])
        for index, parameter in enumerate(system.actions[name].parameters):
            misfit = next((thing for thing in system.objects if not system.is_of_type(thing, parameter.type)), None)
            if misfit is not None:
                yield (
                    "argument of another type",
                    _text([*before, (name, *args[:index], misfit, *args[index + 1 :]), *after]),
                )


def _first_impossible(document: Document, steps: list[tuple[str, ...]]) -> int | None:
    """The place of the first step that cannot be executed, from 0: it depends on the step that was left out."""
    found = SequenceLabeller(document).label(_text(steps))
    return None if found.step is None else found.step - 1


def _text(steps: list[tuple[str, ...]]) -> str:
    return " ".join("(" + " ".join(step) + ")" for step in steps)


def table_of(gold: Iterator[Gold]) -> dict[str, Counter[str]]:
    """How often each label is given to each mistake."""
    table: dict[str, Counter[str]] = {mutation: Counter() for mutation in MUTATIONS}
    for _, document, text in gold:
        labeller = SequenceLabeller(document)
        for mutation, mutant in mutants(document, text):
            table[mutation][labeller.label(mutant).label] += 1
    return table


def rendered(table: dict[str, Counter[str]]) -> str:
    """The table in Markdown."""
    lines = [f"| mistake | plans | {' | '.join(TITLES.values())} |", "| --- |" + " ---: |" * (len(LABELS) + 1)]
    for mutation, counts in table.items():
        cells = [mutation, *(f"{count:,}" for count in (counts.total(), *(counts[label] for label in LABELS)))]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    for title, of in (("The toaster and the reference tasks", gold_of_tasks), ("BEHAVIOR", gold_of_behavior)):
        print(f"{title}\n\n{rendered(table_of(of(folder)))}\n")
