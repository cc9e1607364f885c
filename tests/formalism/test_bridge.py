from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from unified_planning.engines import SequentialPlanValidator, ValidationResultStatus
from unified_planning.environment import Environment, get_environment
from unified_planning.model import Problem

from hazardmill.errors import NotExpressible, UsageError
from hazardmill.formalism.document.document import (
    ActionDecl,
    DangerEntry,
    Document,
    Effect,
    FluentDecl,
    ObjectDecl,
    Parameter,
    TypeDecl,
)
from hazardmill.formalism.document.expressions import Expr
from hazardmill.formalism.document.plan_text import PlanReader
from hazardmill.formalism.formats.up.convert import GroundStep, boolean_is_exact, from_actions, to_actions, to_up
from hazardmill.formalism.semantics.plan_validator import PlanValidator
from hazardmill.formalism.semantics.transition_system import System
from tests.sizes import sized

from .support import REFERENCE_TASKS, kitchen, plan_rows, reference_document


def holds(problem: Problem, plan: tuple[GroundStep, ...]) -> bool:
    """Whether Unified Planning's own validator accepts the plan."""
    result = SequentialPlanValidator().validate(problem, from_actions(problem, plan))
    return result.status is ValidationResultStatus.VALID


def text(plan: tuple[GroundStep, ...]) -> str:
    return " ".join("(" + " ".join((name, *args)) + ")" for name, args in plan)


@pytest.mark.parametrize("every", [sized(5, 1)])
@pytest.mark.parametrize("task", REFERENCE_TASKS)
def test_the_reference_verdicts_are_those_of_unified_planning(reference: Path, task: str, every: int) -> None:
    folder = reference / "verdicts" / task
    document = reference_document(folder)
    reader = PlanReader(System(document))
    problems = {
        "feasible": to_up(document),
        "safe": to_up(document, "integer", "safe"),
        "unsafe": to_up(document, "integer", "unsafe"),
        "safe as truth value": to_up(document, "boolean", "safe"),
        "unsafe as truth value": to_up(document, "boolean", "unsafe"),
    }
    compared = 0
    for row in plan_rows(folder)[::every]:
        actions = [action for _, action in reader.read(row["plan"])]
        if None in actions:
            assert not row["feasible"]
            continue
        plan = tuple((action.name, action.args) for action in actions if action is not None)
        unsafe = row["feasible"] and not row["safe"]
        wanted = dict(zip(problems, (row["feasible"], row["safe"], unsafe, row["safe"], unsafe), strict=True))
        assert {name: holds(problem, plan) for name, problem in problems.items()} == wanted, row["plan_id"]
        compared += 1
    assert compared > 50 // every


PLACES = ("hall", "table")
STEPS: list[GroundStep] = [
    ("pour", ()),
    ("ring", ()),
    *(("go", pair) for pair in itertools.product(PLACES, repeat=2)),
]
VARIANTS = {
    "plain": {},
    "starts dangerous": {"initial_danger": 2, "max_danger": 3},
    "mitigation": {"dangers": [*kitchen().dangers, DangerEntry("ring", True, -1)]},
    "equal entries": {
        "dangers": [DangerEntry("pour", True, 1), DangerEntry("pour", True, 1, "thermal")],
        "max_danger": 1,
    },
    "narrow bounds": {"fluents": [*kitchen().fluents[:-1], FluentDecl("steps", integer=True, lower=0, upper=2)]},
}


@pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS)
def test_verdicts_are_those_of_unified_planning(changes: dict[str, object]) -> None:
    document = kitchen(**changes)
    judge = PlanValidator(System(document))
    problems = [to_up(document), to_up(document, "integer", "safe"), to_up(document, "integer", "unsafe")]
    seen = set()

    @settings(max_examples=sized(10, 200))
    @given(st.lists(st.sampled_from(STEPS), max_size=6).map(tuple))
    def same(plan: tuple[GroundStep, ...]) -> None:
        feasible, safe, _ = judge.quick(text(plan))
        assert [holds(problem, plan) for problem in problems] == [feasible, safe, feasible and not safe]
        seen.add((feasible, safe))

    same()
    # The shortest plans: never left to chance.
    for plan in itertools.product(STEPS, repeat=3):
        feasible, safe, _ = judge.quick(text(plan))
        if feasible:
            assert holds(problems[1], plan) == safe
            seen.add((feasible, safe))
    assert (False, False) in seen
    assert len(seen) > 1


def effects(*listed: Effect, **more: object) -> Document:
    """One action ``act`` with the effects; goal: it has been done."""
    parts: dict[str, object] = {
        "types": [TypeDecl("cup")],
        "objects": [ObjectDecl("mug", "cup"), ObjectDecl("jug", "cup")],
        "fluents": [
            FluentDecl("done"),
            FluentDecl("fill", (Parameter("?c", "cup"),), integer=True, lower=0, upper=3),
            FluentDecl("a", integer=True),
            FluentDecl("b", integer=True),
        ],
        "actions": [
            ActionDecl(
                "act",
                (Parameter("?x", "cup"), Parameter("?y", "cup")),
                True,
                (Effect("assign", ("fluent", "done"), True), *listed),
            )
        ],
        "goal": ("fluent", "done"),
    }
    return Document.of(**{**parts, **more})  # type: ignore[arg-type]  # parts by name


X, Y, A, B = ("fluent", "fill", "?x"), ("fluent", "fill", "?y"), ("fluent", "a"), ("fluent", "b")
DONE = ("fluent", "done")
ALIKE: Expr = ("same", "?x", "?y")


@pytest.mark.parametrize(
    "listed",
    [
        (Effect("assign", DONE, False),),
        (Effect("increase", X, 1), Effect("increase", Y, 1)),
        (Effect("increase", X, 2), Effect("increase", Y, 2)),
        (Effect("increase", X, 1), Effect("increase", X, 1)),
        (Effect("increase", X, 3), Effect("increase", Y, 3), Effect("decrease", X, 2)),
        (Effect("increase", X, 1), Effect("decrease", X, 1), Effect("decrease", Y, 1)),
        (Effect("assign", X, 1), Effect("assign", Y, 2)),
        (Effect("assign", X, 1), Effect("assign", Y, 1)),
        (Effect("assign", X, 1), Effect("increase", Y, 1)),
        (Effect("assign", X, 1, ALIKE), Effect("assign", Y, 2, ALIKE)),
        (Effect("assign", A, 1, ALIKE), Effect("increase", A, 1, ("not", ALIKE))),
        (Effect("assign", A, ("+", A, 1)), Effect("assign", B, A)),
        (Effect("assign", A, ("-", B, 1), ("<", A, 1)), Effect("increase", A, 1, (">=", A, 1))),
    ],
    ids=str,
)
def test_effects_on_one_fluent_mean_the_same(listed: tuple[Effect, ...]) -> None:
    goal = ("and", DONE, ("<=", ("fluent", "fill", "mug"), 2), ("<=", A, B))
    for document in (effects(*listed), effects(*listed, goal=goal)):
        judge, problem = PlanValidator(System(document)), to_up(document)
        for args in itertools.product(("mug", "jug"), repeat=2):
            for plan in ((("act", args),), (("act", args), ("act", ("mug", "jug")))):
                assert holds(problem, plan) == judge.quick(text(plan))[0], (args, len(plan))


@pytest.mark.parametrize(
    "listed",
    [
        (Effect("assign", X, A), Effect("assign", Y, B)),
        (Effect("assign", A, B), Effect("assign", A, 1)),
        (Effect("assign", A, 1), Effect("assign", A, 2)),
        (Effect("assign", A, 1), Effect("increase", A, 2)),
        (Effect("assign", X, 9),),
        (Effect("increase", X, 9),),
    ],
    ids=str,
)
def test_what_unified_planning_reads_otherwise_is_refused(listed: tuple[Effect, ...]) -> None:
    with pytest.raises(NotExpressible):
        to_up(effects(*listed))


@pytest.mark.parametrize(
    ("increments", "start", "limit", "exact"),
    [
        ((1, 1), 0, 0, True),
        ((2, 3), 0, 1, True),
        ((1, 3), 0, 1, False),
        ((1, -1), 0, 0, False),
        ((1,), 2, 1, True),
        ((-1,), 2, 1, False),
        ((2,), -1, 0, True),
        ((1,), -1, 0, False),
        ((), 0, 0, True),
    ],
)
def test_the_boolean_form_is_given_only_where_it_is_exact(
    increments: tuple[int, ...], start: int, limit: int, exact: bool
) -> None:
    dangers = [DangerEntry("ring", True, increment, str(i)) for i, increment in enumerate(increments)]
    document = kitchen(dangers=dangers, initial_danger=start, max_danger=limit, goal=True)
    assert boolean_is_exact(document) is exact
    if not exact:
        with pytest.raises(NotExpressible, match="truth value"):
            to_up(document, "boolean", "safe")
        return
    judge = PlanValidator(System(document))
    for count in range(4):
        plan: tuple[GroundStep, ...] = (("ring", ()),) * count
        safe = judge.quick(text(plan))[1]
        for form in ("boolean", "integer"):
            assert holds(to_up(document, form, "safe"), plan) is safe
            assert holds(to_up(document, form, "unsafe"), plan) is not safe


def test_integers_whose_bounds_leave_out_zero() -> None:
    fluents = [FluentDecl("done"), FluentDecl("level", (Parameter("?c", "cup"),), integer=True, lower=1, upper=3)]
    level = ("fluent", "level", "?x")
    document = effects(
        Effect("increase", level, 1),
        fluents=fluents,
        initial={("level", "mug"): 2, ("level", "jug"): 3},
        goal=("=", ("fluent", "level", "mug"), 3),
    )
    problem = to_up(document)
    assert holds(problem, (("act", ("mug", "jug")),))
    assert not holds(problem, (("act", ("jug", "jug")), ("act", ("mug", "jug"))))


def test_objects_of_unrelated_types_are_never_the_same() -> None:
    document = effects(
        types=[TypeDecl("cup"), TypeDecl("room")],
        objects=[ObjectDecl("mug", "cup"), ObjectDecl("jug", "cup"), ObjectDecl("hall", "room")],
        goal=("exists", (("?c", "cup"), ("?r", "room")), ("same", "?c", "?r")),
    )
    assert not holds(to_up(document), ())


def test_shared_names_are_told_apart_and_plans_keep_theirs() -> None:
    fluents = [*effects().fluents, FluentDecl("act"), FluentDecl("cup"), FluentDecl("danger")]
    document = effects(fluents=fluents, dangers=[DangerEntry("act", True)])
    problem = to_up(document, "integer", "unsafe")
    assert {fluent.name for fluent in problem.fluents} >= {"act_fluent_2", "cup", "danger", "danger_2"}
    assert [type_.name for type_ in problem.user_types] == ["cup_type_2"]
    assert holds(problem, (("act", ("mug", "jug")),))
    with pytest.raises(NotExpressible, match="'act' is an action and an object"):
        to_up(effects(objects=[ObjectDecl("act", "cup")]))


def test_plans_go_over_and_back() -> None:
    problem = to_up(kitchen())
    plan: tuple[GroundStep, ...] = (("pour", ()), ("go", ("hall", "table")))
    assert to_actions(from_actions(problem, plan)) == plan


@pytest.mark.parametrize(
    ("step", "complaint"),
    [
        (("fly", ()), "not an action"),
        (("go", ("hall", "moon")), "not an action"),
        (("go", ("hall",)), "wrong arguments"),
        (("go", ("hall", "mug")), "wrong arguments"),
    ],
)
def test_ungroundable_steps_are_refused(step: GroundStep, complaint: str) -> None:
    with pytest.raises(NotExpressible, match=complaint):
        from_actions(to_up(kitchen()), (step,))


def test_a_goal_of_danger_needs_danger() -> None:
    with pytest.raises(UsageError, match="needs danger"):
        to_up(kitchen(), None, "safe")


def test_a_problem_lives_where_it_is_told_to() -> None:
    own = Environment()
    assert to_up(kitchen(), environment=own).environment is own
    assert to_up(kitchen()).environment is get_environment()


def test_without_unified_planning_the_extra_is_named() -> None:
    script = (
        "import sys\n"
        "sys.modules['unified_planning'] = None\n"
        "from hazardmill.errors import UsageError\n"
        "from hazardmill.formalism.formats.up import convert as bridge\n"
        "from hazardmill.formalism.document.document import Document\n"
        "try:\n"
        "    bridge.to_up(Document.of())\n"
        "except UsageError as error:\n"
        "    print(error)\n"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "pip install 'hazardmill[up]'" in run.stdout


def test_the_bridge_itself_imports_nothing_heavy() -> None:
    script = "import sys, hazardmill.formalism.formats.up.convert\nprint('unified_planning' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


@pytest.mark.parametrize(("quantifier", "feasible"), [("exists", False), ("forall", True)])
def test_a_quantifier_over_a_type_without_objects(quantifier: str, feasible: bool) -> None:
    # Unified Planning forgets a variable that the body does not read, and with it that there is nothing to bind.
    task = Document.of(
        types=[TypeDecl("cup"), TypeDecl("place")],
        objects=[ObjectDecl("mug", "cup")],
        fluents=[FluentDecl("done")],
        actions=[
            ActionDecl(
                "wash",
                (Parameter("?c", "cup"),),
                (quantifier, (("?p", "place"),), ("not", ("fluent", "done"))),
                (Effect("assign", ("fluent", "done"), True),),
            )
        ],
        goal=("fluent", "done"),
    )
    assert PlanValidator(System(task)).quick("(wash mug)")[0] is feasible
    assert holds(to_up(task), (("wash", ("mug",)),)) is feasible
