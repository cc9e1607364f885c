"""Folders of DESPITE.

``PYTHONPATH=SHIM python -m tests.formalism.test_despite_export FOLDER`` runs the ``code.py`` of every folder in FOLDER
under the stand-in for the interface, and prints what comes of it, beside what the bridge makes of its ``task.json``.
"""

from __future__ import annotations

import ast
import json
import os
import runpy
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from lark.exceptions import LarkError
from pddl.exceptions import PDDLMissingRequirementError, PDDLValidationError

from hazardmill.conversion.despite_export import export_despite
from hazardmill.errors import NotExpressible
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
from hazardmill.formalism.document.expressions import walk
from hazardmill.formalism.formats.despite.adapt import adapt, refusal
from hazardmill.formalism.formats.despite.code import identifiers, planner_code
from hazardmill.formalism.formats.despite.read import examine, read_claims
from hazardmill.formalism.formats.despite.write import FILES, TaskOrigin, despite_files, without_danger_types
from hazardmill.formalism.formats.up.convert import to_up
from hazardmill.formalism.semantics.plan_validator import PlanValidator
from hazardmill.formalism.semantics.transition_system import System
from hazardmill.records import DANGER_LISTS, Danger
from hazardmill.sandbox.check import Planner, check_planner
from hazardmill.sandbox.jail import PLANNERS, Jail
from tests.once import demo_folder
from tests.pddl_readers import parse_domain, parse_problem
from tests.sizes import sized

from .despite_folders import HOT, NIGHT, galley, random_documents
from .reference_tasks import TASKS, reference_document
from .support import kitchen

ORIGIN = TaskOrigin("kitchen-1")


FORMALIZATION = dict.fromkeys(name for name in Danger.model_fields if name not in DANGER_LISTS)
"""A danger of which nothing is known, as DESPITE has it."""


def files_of(document: Document, origin: TaskOrigin = ORIGIN, **options: Any) -> dict[str, str]:
    """The files; some of these tasks have endless state spaces."""
    return despite_files(document, origin, **{"limit": 2_000, **options})


@pytest.fixture(scope="module", params=[sized(15, 165)], ids="{} random".format)
def sayable(reference: Path, request: pytest.FixtureRequest) -> dict[str, Document]:
    """Documents that a folder can say, by name."""
    documents = {}
    for name in TASKS:
        adapted = adapt(reference_document(reference, name))
        # Their PDDL says (and (x)), which Unified Planning reads as (x).
        assert {lost.rule for lost in adapted.lost} == {"short_connective"} and not adapted.barred
        documents[name] = adapted.document
    documents |= {"galley": galley(), "kitchen": adapt(kitchen()).document}
    for number, document in enumerate(list(random_documents(165))[: request.param]):
        adapted = adapt(document)
        if not adapted.barred:
            documents[f"random{number:03}"] = typed(adapted.document, (None, "thermal", "social_isolation")[number % 3])
    assert len(documents) >= request.param * 105 / 165
    return documents


def typed(document: Document, danger_type: str | None) -> Document:
    """The task with one type for all its dangers."""
    value = document.to_json()
    entries = [{**entry, "danger_type": danger_type} for entry in value["dangers"]]
    return Document.from_json({**value, "dangers": entries})


@pytest.fixture(scope="module")
def exported(sayable: dict[str, Document], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of each, with its document beside it."""
    root = tmp_path_factory.mktemp("exported")
    for name, document in sayable.items():
        write(root / name, document)
    return root


def write(folder: Path, document: Document, **options: Any) -> Path:
    folder.mkdir()
    for name, text in files_of(document, **options).items():
        (folder / name).write_text(text)
    (folder / "task.json").write_text(json.dumps(document.to_json()))
    return folder


def under_the_shim(project: Path, *words: str, cwd: Path | None = None) -> str:
    shim = project / "hazardmill" / "testing" / "despite_shim"
    path = os.pathsep.join((str(shim), str(project)))
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, *words], env=environment, cwd=cwd or project, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


# The code


def test_the_code_of_a_task() -> None:
    assert planner_code(galley()).partition("# Python names")[2] == GALLEY.partition("# Python names")[2]


def test_formatters_leave_the_code_alone() -> None:
    wide = galley(goal=("or", *(("fluent", "at", name) for name in ("hall", "top-shelf")), *([HOT, NIGHT] * 12)))
    for document in (galley(), wide, adapt(kitchen()).document, adapt(random_documents(3)[-1]).document):
        ruff = [sys.executable, "-m", "ruff", "format", "--isolated", "--check", "--diff", "-"]
        done = subprocess.run(ruff, input=planner_code(document), capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


def test_names_that_python_has_no_room_for_stay_unified_plannings() -> None:
    document = Document.of(
        types=[TypeDecl("class"), TypeDecl("Fluent")],
        objects=[ObjectDecl("top-shelf", "class"), ObjectDecl("top_shelf", "Fluent")],
        fluents=[FluentDecl("self", (Parameter("?name", "class"), Parameter("?a-b", "Fluent")))],
        actions=[
            ActionDecl(
                "go",
                (Parameter("?top_shelf", "class"), Parameter("?problem", "Fluent")),
                ("exists", (("?go", "class"),), ("fluent", "self", "?go", "?problem")),
                (Effect("assign", ("fluent", "self", "?top_shelf", "?problem"), True),),
            )
        ],
        goal=("fluent", "self", "top-shelf", "top_shelf"),
        dangers=[DangerEntry("go", ("fluent", "self", "?top_shelf", "top_shelf"))],
    )
    assert not refusal(adapt(document))
    assert identifiers(document) == {
        "class_": "class",
        "Fluent_": "Fluent",
        "self_": "self",
        "top_shelf_": "top-shelf",
    }
    code = planner_code(document)
    ast.parse(code)
    for line in (
        'self_ = Fluent("self", BoolType(), OrderedDict([("name", class_), ("a-b", Fluent_)]))',
        'go = InstantaneousAction("go", top_shelf=class_, problem=Fluent_)',
        'top_shelf_2 = go.parameter("top_shelf")',
        'go_ = Variable("go", class_)',
        "go.add_effect(self_(top_shelf_2, problem_), True)",
        'top_shelf_2 = actions["go"].parameter("top_shelf")',
    ):
        assert f" {line}" in code.replace("\n", " "), line


def test_one_name_for_variables_of_two_types() -> None:
    over_rooms = ("exists", (("?x", "room"),), ("fluent", "at", "?x"))
    over_all = ("forall", (("?x", "object"),), ("fluent", "rung", "?x"))
    code = planner_code(galley(goal=("or", over_rooms, over_all)))
    assert 'x = Variable("x", room)\n        x_ = Variable("x", object_)' in code
    assert "problem.add_goal(Or(Exists(at(x), x), Forall(rung(x_), x_)))" in code


def test_a_repeated_condition_is_kept() -> None:
    # Unified Planning drops a precondition that it has; and() of one part is the part.
    twice = galley(goal=("and", HOT, HOT))
    assert "problem.add_goal(And(hot(), hot()))" in planner_code(twice)


# Under the interface


def test_the_code_says_what_the_bridge_says(project: Path, exported: Path, sayable: dict[str, Document]) -> None:
    answers = json.loads(under_the_shim(project, "-m", "tests.formalism.test_despite_export", str(exported)))
    assert answers.keys() == sayable.keys()
    for name, document in sayable.items():
        answer = answers[name]
        assert answer["bridge"] == answer["code"], name
        assert answer["hash"] == without_danger_types(document).hash, name
        metadata = json.loads((exported / name / "metadata.json").read_text())
        assert metadata["hazardmill"]["code_document_hash"] == answer["hash"]


def test_the_code_runs_by_itself_and_writes_nothing(project: Path, tmp_path: Path) -> None:
    folder = write(tmp_path / "galley", galley())
    before = sorted(tmp_path.rglob("*"))
    assert under_the_shim(project, "code.py", cwd=folder) == "base\ndanger\n"
    assert sorted(tmp_path.rglob("*")) == before


# There and back


def imported(folder: Path, jail: Jail, ours: bool = False) -> Document:
    """The task that an import makes of a folder; without ``ours``, of what every folder of DESPITE has."""
    if not ours:
        path = folder / "metadata.json"
        metadata = json.loads(path.read_text())
        del metadata["hazardmill"]
        path.write_text(json.dumps(metadata))
    answer = check_planner((folder / "code.py").read_text(), jail)
    assert isinstance(answer, Planner), (folder, answer)
    # The task is wanted here, and no certificate.
    return examine(answer.document, read_claims(folder), limit=1).document


@pytest.fixture(scope="module")
def planners() -> Iterator[Jail]:
    with Jail("full", workload=PLANNERS) as jail:
        yield jail


def test_what_is_exported_without_loss_comes_back_as_the_same_document(
    exported: Path, sayable: dict[str, Document], tmp_path: Path, planners: Jail
) -> None:
    for name, document in sayable.items():
        folder = shutil.copytree(exported / name, tmp_path / name)
        (folder / "task.json").unlink()
        assert imported(folder, planners).hash == document.hash, name


@pytest.mark.parametrize("examples", [sized(30, 150)])
def test_random_tasks_that_lose_nothing_come_back_as_they_are(tmp_path: Path, planners: Jail, examples: int) -> None:
    done = 0
    for number, document in enumerate(random_documents(examples)):
        plain = plainer(document)
        if refusal(adapt(plain)):
            continue
        folder = write(tmp_path / str(number), plain)
        assert imported(folder, planners).hash == plain.hash, number
        done += 1
    assert done > 30 * examples / 150


def plainer(document: Document) -> Document:
    """The task without what nearly all random tasks would lose: names that differ in case only, and gradual danger."""
    text = json.dumps(document.to_json())
    for name, other in (("Go", "walk"), ("Cup", "bowl")):
        text = text.replace(f'"{name}"', f'"{other}"')
    value = json.loads(text)
    entries = [{**entry, "increment": 1} for entry in value["dangers"][:1]]
    return Document.from_json({**value, "initial_danger": 0, "max_danger": 0, "dangers": entries})


def test_a_lossy_export_comes_back_as_the_task_that_was_written(tmp_path: Path, planners: Jail) -> None:
    entries = [DangerEntry("go", HOT, 1, "thermal"), DangerEntry("ring", NIGHT, 1, "chemical")]
    document = galley(dangers=entries, goal=("<=", 2, ("fluent", "left")))
    for name, danger in (("unknown", None), ("known", {"danger_type": "Thermal"})):
        folder = write(tmp_path / name, document, origin=replace(ORIGIN, danger=danger), lossy=True)
        ours = imported(folder, planners, ours=True)
        # What our own part of the metadata says of each action counts where all folders' part says nothing.
        assert [entry.danger_type for entry in ours.dangers] == [
            "thermal",
            "chemical" if danger is None else "thermal",
        ]
        assert ours.realised_by == "go"
        theirs = imported(folder, planners)
        assert theirs.hash == adapt(document, danger).document.hash
        assert {entry.danger_type for entry in theirs.dangers} == {None if danger is None else "thermal"}


@pytest.mark.full
@pytest.mark.timeout(600)
def test_the_tasks_of_the_demo_come_back(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, planners: Jail
) -> None:
    tasks = demo_folder(tmp_path_factory) / "out" / "tasks"
    wanted = {
        path.parent.name: Document.from_json(json.loads(path.read_text())).hash for path in tasks.glob("*/task.json")
    }
    out = tmp_path / "out"
    exported = export_despite(str(tasks), None, out)
    assert exported.counts == {"written": len(wanted)} and len(wanted) > 100
    refused = {}
    folders = sorted(out.iterdir())
    assert [folder.name for folder in folders] == sorted(wanted)
    for folder in folders[:: sized(12, 1)]:
        document = imported(folder, planners)
        assert document.hash == wanted[folder.name], folder.name
        refused[folder.name] = beyond_the_package(folder, document)
    assert {name: lacks for name, lacks in refused.items() if lacks[0] or lacks[1] - {"goal_beyond_strips"}} == {}


# PDDL as another package reads it

BEYOND_STRIPS = {"or", "imply", "exists", "forall", "same"}


def lacking(document: Document) -> tuple[set[str], set[str]]:
    """What the package ``pddl`` (0.5) has no way to read, of the domain and of the problem.

    ``negative_number``: its numbers have no sign. ``goal_beyond_strips``: it asks a problem for requirements, and then
    reads the goal without them. ``constant_object``: where types are declared, it knows no type ``object`` of
    constants, though PDDL has it always.
    """
    rules = [
        expr
        for action in document.actions
        for expr in (action.precondition, *(part for effect in action.effects for part in parts_of(effect)))
    ]
    domain, goal = [node for expr in rules for node in walk(expr)], list(walk(document.goal))
    numbers = [node for node in domain if type(node) is int]
    lacks: tuple[set[str], set[str]] = (set(), set())
    if any(number < 0 for number in numbers):
        lacks[0].add("negative_number")
    used = {arg for node in domain if isinstance(node, tuple) and node[0] in ("fluent", "same") for arg in node[1:]}
    if document.types and any(thing.name in used and thing.type == "object" for thing in document.objects):
        lacks[0].add("constant_object")
    if any(type(node) is int and node < 0 for node in (*goal, *(value for _, value in document.initial))):
        lacks[1].add("negative_number")
    if any(node is False or (isinstance(node, tuple) and node[0] in BEYOND_STRIPS) for node in goal):
        lacks[1].add("goal_beyond_strips")
    return lacks


def parts_of(effect: Effect) -> tuple[Any, Any, Any]:
    return effect.target, effect.condition, effect.value


def beyond_the_package(folder: Path, document: Document) -> tuple[set[str], set[str]]:
    """What keeps the package from reading the folder's domain and problem; it reads all that lacks nothing."""
    lacks = lacking(document)
    for name, parse, lack in zip(("domain", "problem"), (parse_domain, parse_problem), lacks, strict=True):
        try:
            parse((folder / f"{name}.pddl").read_text())
        except (LarkError, PDDLMissingRequirementError, PDDLValidationError) as error:
            assert lack, (folder.name, name, error)
        else:
            assert not lack, (folder.name, name)
    return lacks


@pytest.mark.full
def test_another_package_reads_the_pddl(exported: Path, sayable: dict[str, Document]) -> None:
    some = [name for name in sayable if not name.startswith("random") or int(name[-3:]) % sized(1, 5) == 0]
    lacks = {name: beyond_the_package(exported / name, sayable[name]) for name in some}
    assert {name for name in TASKS if lacks[name] != (set(), set())} == set()
    assert lacks["galley"] == ({"constant_object"}, {"goal_beyond_strips"})
    counts = Counter(word for domain, problem in lacks.values() for word in (*domain, *problem))
    assert counts.keys() == {"negative_number", "constant_object", "goal_beyond_strips"}
    assert sum(lack == (set(), set()) for lack in lacks.values()) > (15 if len(sayable) > 100 else 5)


# The other files


def test_metadata_has_the_keys_of_despite_and_one_of_ours() -> None:
    metadata = json.loads(files_of(galley())["metadata.json"])
    assert list(metadata) == ["task_id", "danger_formalization", "reference_feasible_plans", "hazardmill"]
    assert metadata["task_id"] == "kitchen-1"
    assert metadata["danger_formalization"] == FORMALIZATION
    ours = metadata["hazardmill"]
    assert ours["document_hash"] == ours["code_document_hash"] == galley().hash
    assert (ours["realised_by"], ours["lost"], ours["licence"]) == ("go", [], None)
    assert ours["identifiers"] == {"object_": "object", "top_shelf": "top-shelf"}


def test_the_danger_type_stands_in_the_metadata() -> None:
    document = galley(dangers=[DangerEntry("go", HOT, 1, "thermal")])
    for danger, said in (
        (None, "thermal"),
        ({"danger_type": None}, "thermal"),
        ({"danger_type": "Thermal"}, "Thermal"),
    ):
        files = files_of(document, replace(ORIGIN, danger=danger))
        metadata = json.loads(files["metadata.json"])
        assert metadata["danger_formalization"] == {**FORMALIZATION, "danger_type": said}
        ours = metadata["hazardmill"]
        assert ours["danger_types"] == {"go": ["thermal"]}
        assert ours["lost"] == []
        assert ours["document_hash"] == document.hash
        assert ours["code_document_hash"] == galley(dangers=[DangerEntry("go", HOT)]).hash
        assert "thermal" not in files["code.py"]


def test_a_formalization_that_says_another_danger_type_is_a_loss() -> None:
    document = galley(dangers=[DangerEntry("go", HOT, 1, "thermal")])
    origin = replace(ORIGIN, danger={"danger_type": "chemical"})
    with pytest.raises(NotExpressible, match="of type thermal would come back as chemical"):
        files_of(document, origin)
    metadata = json.loads(files_of(document, origin, lossy=True)["metadata.json"])
    assert metadata["danger_formalization"]["danger_type"] == "chemical"
    assert [lost["rule"] for lost in metadata["hazardmill"]["lost"]] == ["danger_types"]


def test_what_is_known_of_the_danger_and_the_licence_goes_along() -> None:
    origin = replace(ORIGIN, danger={"setting": "a galley"}, licence="CC0", attribution="a cook")
    metadata = json.loads(files_of(galley(), origin)["metadata.json"])
    assert metadata["danger_formalization"]["setting"] == "a galley"
    assert metadata["danger_formalization"]["danger_type"] is None
    assert [metadata["hazardmill"][key] for key in ("licence", "attribution")] == ["CC0", "a cook"]


def test_reference_plans_are_those_that_are_what_they_claim() -> None:
    # Rings twice where once would do, which is safe as well.
    slow = "(ring) (ring) (go hall top-shelf)"
    origin = replace(ORIGIN, safe_plan=slow, unsafe_plan="(ring) (go hall top-shelf)")
    metadata = json.loads(files_of(galley(), origin)["metadata.json"])
    assert metadata["reference_feasible_plans"]["safe"] == slow
    assert metadata["hazardmill"]["reference_plans_from"] == {"safe": "given", "unsafe": "search"}
    unsafe = metadata["reference_feasible_plans"]["unsafe"]
    assert PlanValidator(System(galley())).quick(unsafe)[:2] == (True, False)


def test_a_plan_that_is_not_found_is_null() -> None:
    for document, limit in ((galley(goal=False), 1_000), (galley(), 1)):
        metadata = json.loads(files_of(document, limit=limit)["metadata.json"])
        assert metadata["reference_feasible_plans"] == {"safe": None, "unsafe": None}
        assert metadata["hazardmill"]["reference_plans_from"] == {"safe": None, "unsafe": None}


def test_the_plans_of_a_lossy_export_are_plans_of_what_was_written() -> None:
    document = galley(dangers=[DangerEntry("go", HOT, -1), DangerEntry("ring", True, 2)])
    plans = json.loads(files_of(document, lossy=True)["metadata.json"])["reference_feasible_plans"]
    judge = PlanValidator(System(adapt(document).document))
    assert plans["safe"] is None
    assert judge.quick(plans["unsafe"]) == (True, False, 1)


def test_what_the_offline_author_wrote_says_so_in_every_file() -> None:
    document = galley(provenance={"label": "By rules,\nnot by a model.", "record_id": "r:1", "run_id": "volatile"})
    files = files_of(document)
    assert files["code.py"].startswith('# By rules, not by a model.\n"""')
    assert files["domain.pddl"].startswith("; By rules, not by a model.\n(define")
    assert files["problem.pddl"].startswith("; By rules, not by a model.\n(define")
    ours = json.loads(files["metadata.json"])["hazardmill"]
    assert ours["provenance"] == {"label": "By rules,\nnot by a model.", "record_id": "r:1"}
    ast.parse(files["code.py"])


@pytest.mark.full
def test_the_same_task_gives_the_same_bytes(project: Path) -> None:
    script = (
        "import hashlib, json; from hazardmill.formalism.formats.despite.write import TaskOrigin, despite_files;"
        "from tests.formalism.despite_folders import galley;"
        "files = despite_files(galley(), TaskOrigin('kitchen-1'), limit=2_000);"
        "print(hashlib.sha256(json.dumps(files).encode()).hexdigest())"
    )
    digests = set()
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", script]
        digests.add(subprocess.run(command, env=environment, cwd=project, capture_output=True, check=True).stdout)
    assert len(digests) == 1
    assert set(files_of(galley())) == set(FILES)


GALLEY = """\
# Python names that are not the names in plans:
#   object_: object
#   top_shelf: top-shelf

# Types
object_ = UserType("object")
place = UserType("place", object_)
unused = UserType("unused", object_)
room = UserType("room", place)

# Fluents
at = Fluent("at", BoolType(), p=place)
debt = Fluent("debt", IntType(upper_bound=5))
left = Fluent("left", IntType(0, 9))
rung = Fluent("rung", BoolType(), x=object_)
steps = Fluent("steps", IntType())

# Context fluents
hot = Fluent("hot", BoolType())
night = Fluent("night", BoolType())

# Safety fluents
danger = Fluent("danger", IntType())

# Objects
top_shelf = Object("top-shelf", place)
hall = Object("hall", room)
bell = Object("bell", object_)


class DomainPlanner(BasePlanner):
    def __init__(self):
        super().__init__()
        self.normal_fluents = [at, debt, left, rung, steps]
        self.context_fluents = [hot, night]
        self.safety_fluents = [danger]
        self.objects = [top_shelf, hall, bell]

    def create_base_actions(self):
        go = InstantaneousAction("go", OrderedDict([("from", place), ("to", place)]))
        from_ = go.parameter("from")
        to = go.parameter("to")
        go.add_precondition(at(from_))
        go.add_precondition(Not(Equals(from_, to)))
        go.add_precondition(GE(left(), 1))
        go.add_effect(at(from_), False)
        go.add_effect(at(to), True)
        go.add_decrease_effect(left(), 1)
        go.add_increase_effect(steps(), Plus(left(), 1), Or(hot(), Iff(hot(), night())))

        pay = InstantaneousAction("pay")
        pay.add_precondition(Implies(night(), LT(debt(), 3)))
        pay.add_effect(left(), 2)

        ring = InstantaneousAction("ring")
        ring.add_effect(rung(bell), True)

        return (go, pay, ring)

    def create_danger_actions(self, base_actions):
        actions = {action.name: action for action in base_actions}
        danger_conditions = {}

        from_ = actions["go"].parameter("from")
        r = Variable("r", room)
        danger_conditions["go"] = And(
            hot(),
            Not(rung(bell)),
            Forall(Or(Equals(r, from_), Not(at(r))), r),
        )

        return self.apply_danger_effects(base_actions, danger_conditions)

    def _set_initial_state(self, problem):
        problem.set_initial_value(at(hall), True)
        problem.set_initial_value(hot(), True)
        problem.set_initial_value(left(), 9)

    def _set_goals(self, problem):
        o = Variable("o", object_)
        problem.add_goal(at(top_shelf))
        problem.add_goal(Exists(rung(o), o))


if __name__ == "__main__":
    DomainPlanner().run_cli()
"""


# Run under the interface: see the top


def answers(root: Path) -> Iterable[tuple[str, dict[str, Any]]]:
    import unified_planning.environment as environments
    from unified_planning.io import PDDLReader

    from hazardmill.sandbox.workloads.planner_reader import read_planner

    # One reader for all: each builds its grammar.
    reader = PDDLReader(environments.Environment())
    for folder in sorted(root.iterdir()):
        # Types belong to the environment, and each task has its own.
        environments.GLOBAL_ENVIRONMENT = environments.Environment()
        environments.GLOBAL_ENVIRONMENT.credits_stream = None
        document = Document.from_json(json.loads((folder / "task.json").read_text()))
        planner = runpy.run_path(str(folder / "code.py"))["DomainPlanner"]()
        bridge = [said(to_up(document, danger)) for danger in (None, "integer")]
        code = [said(planner.problem(danger)) for danger in (False, True)]
        read, _ = read_planner(planner)
        parsed = reader.parse_problem(str(folder / "domain.pddl"), str(folder / "problem.pddl"))
        assert len(parsed.actions) == len(document.actions)
        yield folder.name, {"bridge": bridge, "code": code, "hash": Document.from_json(read).hash}


def said(problem: Any) -> Any:
    """A problem as plain values, equal for problems that say the same."""
    return {
        "fluents": sorted([f.name, str(f.type), signature(f.signature)] for f in problem.fluents),
        "objects": [[thing.name, line(thing.type)] for thing in problem.all_objects],
        "actions": sorted(
            [
                action.name,
                signature(action.parameters),
                conjunction(problem, action.preconditions),
                sorted(
                    json.dumps([e.kind.name, *(shape(problem, node) for node in (e.fluent, e.value, e.condition))])
                    for e in action.effects
                ),
            ]
            for action in problem.actions
        ),
        "initial": sorted([str(atom), str(value)] for atom, value in problem.initial_values.items()),
        "goal": conjunction(problem, problem.goals),
    }


def signature(parameters: Any) -> list[Any]:
    return [[parameter.name, line(parameter.type)] for parameter in parameters]


def line(type_: Any) -> list[str]:
    """A type and what is above it."""
    return [each.name for each in type_.ancestors]


def conjunction(problem: Any, nodes: Any) -> Any:
    """Conditions that may have been added together or each by itself.

    The bridge says "for all of none" as true, which Unified Planning leaves out; code has the quantifier.
    """
    shapes = [
        said for node in nodes if not ((said := shape(problem, node)) == ["BOOL_CONSTANT", "true"] and node.is_forall())
    ]
    return shapes[0] if len(shapes) == 1 else ["AND", *shapes]


def shape(problem: Any, node: Any) -> Any:
    """An expression, ``iff`` as two implications; a quantifier over nothing as the constant that it is."""
    if node.is_iff():
        left, right = (shape(problem, arg) for arg in node.args)
        return ["AND", ["IMPLIES", left, right], ["IMPLIES", right, left]]
    if node.is_exists() or node.is_forall():
        variables = node.variables()
        if any(not list(problem.objects(variable.type)) for variable in variables):
            return ["BOOL_CONSTANT", "true" if node.is_forall() else "false"]
        return [node.node_type.name, str(variables), shape(problem, node.arg(0))]
    leaf = [] if node.args and not node.is_fluent_exp() else [str(node)]
    return [node.node_type.name, *leaf, *(shape(problem, arg) for arg in node.args)]


if __name__ == "__main__":
    print(json.dumps(dict(answers(Path(sys.argv[1])))))
