"""Folders of scenarios: one file each, and what is written about them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from hazardmill.errors import DocumentError, HazardmillError, InputError, PlanningInputError, UsageError
from hazardmill.files import read_regular
from hazardmill.formalism.formats.pddl.plan_names import pddl_texts
from hazardmill.scenarios.correct import Correction
from hazardmill.scenarios.reading import WrittenParts, names_of, read_domain, read_problem
from hazardmill.scenarios.risk import Risk
from hazardmill.scenarios.scenario import SUFFIX, Scenario, read_scenario

CORRECTIONS: Final = "corrections.jsonl"


def scenario_files(folder: Path) -> list[Path]:
    """Return the files of scenarios in a folder, sorted by name.

    Raises:
        InputError: It is no folder, or holds none.
    """
    if not folder.is_dir():
        raise InputError("there is no such folder", file=str(folder), remedy="name a folder of scenarios")
    found = sorted(path for path in folder.iterdir() if path.name.endswith(SUFFIX))
    if not found:
        raise InputError(
            f"the folder holds no *{SUFFIX}", file=str(folder), remedy="write some with hazardmill scenario import"
        )
    return found


def read_scenarios(folder: Path) -> Iterator[Scenario | HazardmillError]:
    """Yield the scenarios of a folder; in place of one that cannot be read, its error.

    Raises:
        InputError: It is no folder, or holds none.
    """
    seen: dict[str, Path] = {}
    for path in scenario_files(folder):
        try:
            scenario = read_scenario(path)
        except HazardmillError as error:
            yield error
            continue
        first = seen.setdefault(scenario.id, path)
        if first != path:
            yield PlanningInputError(
                f"the id {scenario.id!r} is also that of {first.name}", file=str(path), remedy="give it another id"
            )
            continue
        yield scenario


def write_scenario(folder: Path, scenario: Scenario) -> Path:
    """Write the file of a scenario, and the folder if there is none yet.

    Returns:
        The file.

    Raises:
        UsageError: There is a file of that name with another content.
        InputError: It cannot be written.
    """
    path, text = folder / f"{scenario.id}{SUFFIX}", scenario.to_text()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if path.exists() and path.read_text(encoding="utf-8") != text:
            raise UsageError(f"{path} exists and holds another scenario", remedy="name another folder with --out")
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"the scenario cannot be written: {error.strerror}",
            file=str(path),
            remedy="name a folder that can be written",
        ) from error
    return path


@dataclass
class Counts:
    """How many scenarios ended in which way.

    Attributes:
        outcomes: Outcome to number.
        reasons: Reason code of the discarded ones to number.
        rules: Rule to number of changes in the corrected ones.
        unread: Number of files that could not be read.
    """

    outcomes: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    rules: Counter[str] = field(default_factory=Counter)
    unread: int = 0

    def add(self, correction: Correction) -> None:
        """Count one scenario."""
        self.outcomes[correction.outcome] += 1
        if correction.reason is not None:
            self.reasons[correction.reason] += 1
        if correction.outcome == "corrected":
            self.rules.update(change.rule for change in correction.changes)

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "scenarios": self.outcomes.total(),
            "outcomes": dict(sorted(self.outcomes.items())),
            "reasons": dict(sorted(self.reasons.items())),
            "changes": dict(sorted(self.rules.items())),
            "unread": self.unread,
        }


def correction_row(correction: Correction) -> dict[str, Any]:
    """Return what became of a scenario as JSON values: outcome, reason, problems at first and now, all changes."""
    verification = correction.verification
    return {
        "id": correction.scenario.id,
        "outcome": correction.outcome,
        "reason": correction.reason,
        "rounds": correction.rounds,
        "problems": [problem.text for problem in correction.first],
        "left": [problem.text for problem in verification.problems],
        "changes": [
            {"rule": change.rule, "path": change.path, "before": change.before, "after": change.after}
            for change in correction.changes
        ],
        "plan": verification.plan,
        "steps": verification.steps,
        "shortest_plans": verification.shortest_plans,
    }


def import_pddl(base: Path, problems: Sequence[Path], risk: Path | None = None) -> Iterator[Scenario | HazardmillError]:
    """Yield a scenario per problem of a domain; in place of one that cannot be read, its error.

    Args:
        base: The domain.
        problems: The problems. A scenario is called like its file; where two files have one name, also like the folder.
        risk: JSON with the risk of the only problem, or with risks by scenario id. Literals are texts of PDDL.

    Raises:
        PlanningInputError: The domain or the file of risks cannot be read.
    """
    domain = read_domain(base)
    risks = {} if risk is None else _read_risks(risk, len(problems))
    stems = Counter(path.stem for path in problems)
    for path in problems:
        named = path.stem if stems[path.stem] == 1 else f"{path.parent.name}-{path.stem}"
        scenario_id = re.sub(r"[^A-Za-z0-9._-]", "_", named).lstrip("._-") or "scenario"
        try:
            draft = read_problem(domain, path)
            given = risks.get(scenario_id, risks.get(""))
            found = None
            if given is not None:
                parts = WrittenParts(names_of(draft), draft.actions)
                found = Risk.from_json(given, parts.condition)
            yield Scenario(scenario_id, draft, found, {"base": domain.name, "problem": path.name})
        except DocumentError as error:
            yield PlanningInputError(f"{scenario_id}: {error.message}", file=str(risk), remedy=error.remedy)
        except HazardmillError as error:
            yield error


def _read_risks(path: Path, problems: int) -> dict[str, Any]:
    """Return risks by scenario id; the risk of the only problem has the key ``""``."""
    try:
        value = json.loads(read_regular(path).decode("utf-8"))
    except OSError as error:
        raise PlanningInputError(
            f"the risks cannot be read: {error.strerror}", file=str(path), remedy="check the path"
        ) from error
    except (ValueError, RecursionError) as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else None
        raise PlanningInputError(f"it is not JSON: {error}", file=str(path), line=line, remedy="correct it") from error
    if not isinstance(value, dict):
        raise PlanningInputError(
            "it is not a JSON object", file=str(path), remedy="write a risk, or risks by scenario id"
        )
    if "kind" not in value:
        return value
    if problems != 1:
        raise PlanningInputError(
            f"it holds one risk for {problems} problems", file=str(path), remedy="write risks by scenario id"
        )
    return {"": value}


def export_pddl(scenario: Scenario, folder: Path) -> None:
    """Write ``domain.pddl``, ``problem.pddl`` and ``risk.json`` of a scenario, with ``forall`` effects unfolded.

    A predicate that has the name of an action is renamed (``pddl_texts``).

    Raises:
        DocumentError: It is not well formed.
        NotExpressible: PDDL cannot express it.
        InputError: The folder cannot be written.
    """
    document = scenario.document
    texts = dict(zip(("domain.pddl", "problem.pddl"), pddl_texts(document), strict=True))
    if scenario.risk is not None:
        texts["risk.json"] = json.dumps(scenario.risk.to_json(), indent=1, ensure_ascii=False) + "\n"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"the folder cannot be written: {error.strerror}",
            file=str(folder),
            remedy="name a folder that can be written",
        ) from error
