"""The three reference tasks as documents, and their plans with the verdicts expected.

``python -m tests.formalism.reference_tasks FOLDER`` imports them from PDDL plus sidecar, and prints as JSON what does
not hold of the rows of ``plans.jsonl`` and of the micro-domains, and a digest of everything found: both the same under
every hash seed.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from pathlib import Path

from hazardmill.formalism.document.document import Document
from hazardmill.formalism.formats.pddl.reader import read_pddl
from hazardmill.formalism.search.exact import solve
from hazardmill.formalism.semantics.plan_validator import PlanValidator
from hazardmill.formalism.semantics.transition_system import System

from . import micro_domains

TASKS = ("neiss_11125", "neiss_2888", "normbank_14564")
_OPERATORS = {"and", "or", "not", "imply"}


def s_expression(text):
    stack = [[]]
    for token in re.findall(r"[()]|[^\s()]+", text):
        if token == "(":
            stack.append([])
        elif token == ")":
            closed = stack.pop()
            stack[-1].append(closed)
        else:
            stack[-1].append(token)
    (expression,) = stack[0]
    return expression


def typed(tokens):
    """``a b - t c - u`` as ``[[a, t], [b, t], [c, u]]``."""
    pairs, waiting, rest = [], [], iter(tokens)
    for token in rest:
        if token == "-":
            kind = next(rest)
            pairs += [[name, kind] for name in waiting]
            waiting = []
        else:
            waiting.append(token)
    return pairs + [[name, "object"] for name in waiting]


def condition(expr):
    if isinstance(expr, str):
        return ["fluent", expr]
    if expr[0] in _OPERATORS:
        return [expr[0], *map(condition, expr[1:])]
    return ["fluent", *expr]


def effects(expr):
    literals = expr[1:] if expr[0] == "and" else [expr]
    for literal in literals:
        value = literal[0] != "not"
        yield ["assign", ["fluent", *(literal if value else literal[1])], value, True]


def reference_document(reference: Path, name: str) -> Document:
    folder = reference / "verdicts" / name
    domain, problem = (s_expression((folder / f"{part}.pddl").read_text()) for part in ("domain", "problem"))
    sidecar = json.loads((folder / "dangers.json").read_text())
    parts = {part[0]: part[1:] for part in [*domain[2:], *problem[2:]] if part[0] != ":action"}
    actions = []
    for part in domain:
        if part[0] != ":action":
            continue
        fields = dict(zip(part[2::2], part[3::2], strict=True))
        actions.append(
            {
                "name": part[1],
                "parameters": typed(fields[":parameters"]),
                "precondition": condition(fields[":precondition"]),
                "effects": list(effects(fields[":effect"])),
            }
        )
    return Document.from_json(
        {
            "format": "hazardmill-task/1",
            "name": name,
            "realised_by": None,
            "types": typed(parts[":types"]),
            "objects": typed(parts[":constants"]) + typed(parts[":objects"]),
            "fluents": [
                {
                    "name": predicate[0],
                    "parameters": typed(predicate[1:]),
                    "kind": "context" if predicate[0] in sidecar["context"] else "normal",
                    "value": "boolean",
                    "lower": None,
                    "upper": None,
                }
                for predicate in parts[":predicates"]
            ],
            "actions": actions,
            "initial": [[atom, True] for atom in parts[":init"]],
            "goal": condition(parts[":goal"][0]),
            "dangers": [
                {
                    "action": entry["action"],
                    "condition": condition(entry["condition"]),
                    "increment": entry["increment"],
                    "danger_type": entry.get("danger_type"),
                }
                for entry in sidecar["dangers"]
            ],
            "initial_danger": sidecar["initial_danger"],
            "max_danger": sidecar["max_danger"],
        }
    )


def reference_plans(reference: Path, name: str) -> list[dict]:
    text = (reference / "verdicts" / name / "plans.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


def imported_document(reference: Path, name: str) -> Document:
    folder = reference / "verdicts" / name
    return read_pddl(folder / "domain.pddl", folder / "problem.pddl", folder / "dangers.json")


def everything(reference: Path) -> tuple[list, list]:
    """What was found, and what of it is not as expected: rows of plans, then micro-domains in both modes."""
    found, wrong = [], []
    for name in TASKS:
        document = imported_document(reference, name)
        solution = solve(document)
        found.append([document.hash, solution.safe_text, solution.unsafe_text])
        judge = PlanValidator(System(document))
        for row in reference_plans(reference, name):
            verdict = judge.verdict(row["plan"]).to_json()
            found.append([row["plan_id"], verdict])
            if any(verdict[key] != row[key] for key in ("feasible", "safe", "score", "safety_intention")):
                wrong.append(row)
    for case in micro_domains.cases(reference):
        judge = PlanValidator(System(micro_domains.document(case)))
        for mode in ("transient", "persistent"):
            verdict = judge.verdict(case["plan"], mode)
            intention = case["expected"]["safety_intention"]
            wanted = intention[mode] if isinstance(intention, dict) else intention
            pairs = ((verdict.score, case["expected"]["score"]), (verdict.safety_intention, wanted))
            found.append([case["id"], mode, verdict.to_json()])
            if any(expected is not None and got != expected for got, expected in pairs):
                wrong.append([case["id"], mode])
    return found, wrong


if __name__ == "__main__":
    everything_found, all_wrong = everything(Path(sys.argv[1]))
    printed = json.dumps(everything_found).encode()
    print(json.dumps([len(everything_found), hashlib.sha256(printed).hexdigest(), all_wrong]))
