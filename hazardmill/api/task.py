"""A task in Python: its plans, verdicts, proofs and repairs; and loading one from wherever it is.

    task = hazardmill.load_task("demo-out/tasks/TASK")
    print(task.verdict("(slow_down) (carry kitchen table)").score)

It imports only the formalism's documents; searches, proofs and the jail are imported when they are first needed.
"""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hazardmill.errors import DocumentError, SearchLimitReached
from hazardmill.files import read_regular
from hazardmill.formalism.authoring import PlanningTask
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.search.budget import DEFAULT_LIMIT
from hazardmill.task_access import TASK_HELP, declared_unavoidable, find_task, is_imported, is_unavoidable, path_exists

if TYPE_CHECKING:
    from hazardmill.api.playthrough import Playthrough
    from hazardmill.conversion.pddl_export import Goal
    from hazardmill.formalism.proofs.claim import Certificate
    from hazardmill.formalism.repair.repair import Repair, Wanted
    from hazardmill.formalism.search.exact import PartialSearch
    from hazardmill.formalism.search.planner_cascade import Choice, TaskSolution
    from hazardmill.formalism.semantics.plan_validator import PlanValidator, PlanVerdict
    from hazardmill.formalism.semantics.safety_intention import Mode


_CODE: Final = "code.py"


class Task:
    """A planning task, and what can be asked about it.

    Verdicts and repairs are computed in this process, searches and proofs in one that can be killed. All follow from
    the document alone: never from a language model, the machine or the hash seed.

    Args:
        task: What the task is: a document, or a class or an instance of ``PlanningTask``.
        task_id: Id of a stored task; None for any other.
        unavoidable: Whether the danger is declared to be one that no plan avoids.

    Attributes:
        document: The formal task, with the texts and the provenance that came with it.

    Raises:
        TypeError: ``task`` is something else.
        AuthoringError: The code of the task has a mistake; ``line`` says where.
    """

    def __init__(
        self,
        task: Document | PlanningTask | type[PlanningTask],
        *,
        task_id: str | None = None,
        unavoidable: bool = False,
    ) -> None:
        if isinstance(task, type) and issubclass(task, PlanningTask):
            task = task()
        if isinstance(task, PlanningTask):
            task = task.document()
        if not isinstance(task, Document):
            raise TypeError(f"a task is made of a PlanningTask or a Document, not of {type(task).__name__}")
        self.document = task
        self.task_id = task_id
        self.unavoidable = unavoidable

    def __repr__(self) -> str:
        return f"<Task {self.name}: document {self.document.hash[:12]}>"

    def _repr_html_(self) -> str:
        from hazardmill.api.pages import task_html

        return task_html(self)

    @property
    def name(self) -> str:
        """Its name for people."""
        return self.document.name

    def solve(self, *, engine: Choice = "auto", limit: int = DEFAULT_LIMIT, timeout_s: float = 30.0) -> TaskSolution:
        """Find the shortest safe and unsafe plans, or prove that there are none.

        Args:
            engine: ``exact`` for exact search only, ``auto`` for the installed planners beyond its limit, or the name
                of one of them.
            limit: Maximum number of expansions of exact search.
            timeout_s: Time limit for each call of a planner and, in ``auto``, for exact search, in seconds.

        Returns:
            The answers for both kinds of plan, at least one of them known: ``solution.safe.plan``.

        Raises:
            SearchLimitReached: Nobody answered for either kind of plan.
            EngineError: The planner that was named failed.
        """
        from hazardmill.formalism.search.exact import attempt_to_solve
        from hazardmill.formalism.search.planner_cascade import solve_task
        from hazardmill.sandbox.proving import provers

        def search(document: Document, most: int, seconds: float | None) -> PartialSearch:
            return provers().run(most, attempt_to_solve, document, most, seconds)

        return solve_task(self.document, engine, limit, timeout_s, search)

    def verdict(self, plan: str, mode: Mode = "transient") -> PlanVerdict:
        """Judge whether a plan is feasible and safe, with its trace.

        Args:
            plan: A plan as text: an action is an innermost ``( ... )``, and all other text is ignored.
            mode: How long forced values last when safety intention is judged: for one action (``transient``), or for
                all later actions, too (``persistent``).

        Returns:
            The verdict; ``docs/formalism.md`` defines each part.

        Raises:
            TypeError: The plan is not text.
            DocumentError: The task is too large for a verdict.
        """
        if not isinstance(plan, str):
            raise TypeError(f"a plan is text, not {type(plan).__name__}")
        return self._judge.verdict(plan, mode)

    def certify(
        self, *, limit: int = DEFAULT_LIMIT, unavoidable: bool | None = None, imported: bool | None = None
    ) -> Certificate:
        """Prove what can be proved about the task, claim by claim.

        Args:
            limit: Maximum number of expansions of a search.
            unavoidable: Whether to treat the danger as declared unavoidable; None for what the task declares.
            imported: Whether to treat the task as made elsewhere, so that a claim that fails refuses nothing; None for
                what the document says.

        Returns:
            One line per claim that applies, with its evidence; ``refusals`` has the failed ones that refuse the task.

        Raises:
            SearchLimitReached: The search had no answer within the limit.
            ProofKilled: The proof took more memory or time than computed beforehand: a bug.
        """
        from hazardmill.formalism.proofs.certificate import certify
        from hazardmill.sandbox.proving import provers

        declared = self.unavoidable if unavoidable is None else unavoidable
        elsewhere = is_imported(self.document) if imported is None else imported
        return provers().run(limit, certify, self.document, limit, declared, elsewhere)

    def repair(
        self, plan: str, *, wanted: Wanted = "safe", limit: int = DEFAULT_LIMIT, timeout_s: float | None = 30.0
    ) -> Repair:
        """Find the smallest change that makes a plan safe, or feasible.

        Args:
            plan: A plan as text, as for ``verdict``.
            wanted: What the plan must become.
            limit: Maximum number of expansions of each search.
            timeout_s: Time limit for the whole repair, in seconds; None for none.

        Returns:
            The edits, each with what would go wrong without it; ``plan`` is None if no change helps.

        Raises:
            SearchLimitReached: It is not known how to repair the plan, nor whether it can be repaired.
        """
        from hazardmill.formalism.repair.repair import repair_plan

        return repair_plan(self.document, plan, wanted, limit, timeout_s)

    def to_pddl(
        self,
        folder: str | os.PathLike[str] | None = None,
        *,
        augmented: bool = False,
        goal: Goal = "safe",
        rename: bool = False,
    ) -> dict[str, str]:
        """Return the task as PDDL, and write it to a folder if one is given.

        Args:
            folder: Where to write the files; it is made if it does not exist.
            augmented: Whether to write the danger into the problem, as a numeric fluent, instead of the sidecar.
            goal: What the goal of an augmented problem requires of the danger: nothing, within the limit, or over it.
            rename: Whether to rename what PDDL cannot distinguish, such as names that differ only in case.

        Returns:
            File name to text: ``domain.pddl``, ``problem.pddl`` and, unless augmented, the sidecar ``dangers.json``.

        Raises:
            NotExpressible: PDDL cannot express the task.
            InputError: The folder cannot be written.
        """
        from hazardmill.conversion.pddl_export import export_pddl, pddl_files

        if folder is not None:
            export_pddl(self.document, Path(folder), augmented=augmented, goal=goal, rename=rename)
        return pddl_files(self.document, augmented=augmented, goal=goal, rename=rename)

    def play(self) -> Playthrough:
        """Begin a plan that is made action by action, with what is possible and true after each.

        Returns:
            The plan, which is empty yet.

        Raises:
            DocumentError: The task is too large for a verdict.
        """
        from hazardmill.api.playthrough import Playthrough

        return Playthrough(self._judge)

    @cached_property
    def _judge(self) -> PlanValidator:
        from hazardmill.formalism.semantics.plan_validator import PlanValidator
        from hazardmill.formalism.semantics.transition_system import System

        try:
            return PlanValidator(System(self.document))
        except SearchLimitReached as error:
            raise DocumentError(
                f"{self.name} is too large for a verdict: {error.message}", remedy="use fewer objects or parameters"
            ) from error


def load_task(place: str | os.PathLike[str], *, store: str | os.PathLike[str] | None = None) -> Task:
    """Load a task from a folder, a file, or a store.

    A stored document is only read. Python code is run in the jail, once, and nothing is taken from it but the document.

    Args:
        place: A task folder, a ``task.json``, a Python file on the authoring API, or the id of a stored task. A folder
            that has code and no document is that of its ``code.py``.
        store: Folder or address of the store with the task; ``place`` is then an id. None for a path, or for the store
            of the settings.

    Returns:
        The task; its danger counts as unavoidable if the store or the folder's metadata declare so.

    Raises:
        InputError: There is no such task.
        DocumentError: There is one, but it cannot be read, or its code gives no document.
        JailUnavailable: It is code, which cannot be contained on this machine.
        StoreError: The store cannot be read.
    """
    name, where = os.fspath(place), None if store is None else Path(store)
    if where is None and (code := _code_at(Path(name))) is not None:
        return Task(_run_code(code), unavoidable=code.name == _CODE and declared_unavoidable(code.parent))
    document = find_task(name, where)
    stored = where is not None or not path_exists(Path(name))
    return Task(document, task_id=name if stored else None, unavoidable=is_unavoidable(name, where))


def _code_at(path: Path) -> Path | None:
    """Return the file of code that a path means; None if it means a document, or nothing that is there."""
    if not path_exists(path):
        return None
    if path.is_dir():
        code = path / _CODE
        return code if path_exists(code) and not path_exists(path / "task.json") else None
    return path if path.suffix == ".py" else None


def _run_code(path: Path) -> Document:
    """Return the document that code gives in the jail."""
    from hazardmill.formalism.formats.python_writer import without_closing
    from hazardmill.sandbox.check import CheckFailure, check
    from hazardmill.sandbox.jail import Jail
    from hazardmill.settings import load_settings

    try:
        code = read_regular(path).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DocumentError(f"the code cannot be read: {error}", file=str(path), remedy=TASK_HELP) from error
    with Jail(profile=load_settings().jail) as jail:
        found = check(without_closing(code), jail)
    if isinstance(found, CheckFailure):
        raise DocumentError(
            f"the code gives no task ({found.stage}: {found.reason}): {found.message}",
            file=str(path),
            line=found.line,
            remedy=found.mend or f"see what is wrong with: hazardmill task check {path}",
        )
    return found
