"""Code rendered of a document gives that document again, or the document is refused with a reason."""

from __future__ import annotations

import copy
import hashlib
import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from testing.offline_author.support import CONTEXTS, SOURCES, mill

from hazardmill.errors import DocumentError, NotExpressible
from hazardmill.formalism.authoring import PlanningTask
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.formats.build_writer import build_code
from hazardmill.sandbox.check import check
from hazardmill.sandbox.jail import Jail
from tests.sizes import sized

from .random_tasks import tasks
from .soup import action, boolean, danger, integer, sets, soup, soup_document


@pytest.fixture(scope="module")
def jail() -> Iterator[Jail]:
    with Jail("auto") as jail:
        yield jail


def run(code: str) -> Document:
    names: dict[str, Any] = {"__name__": "task"}
    exec(compile(code, "task.py", "exec"), names)
    (made,) = (
        value
        for value in names.values()
        if isinstance(value, type) and issubclass(value, PlanningTask) and value.__module__ == "task"
    )
    return made().document()


# What a model could have written: the task of the small tests, its parameters of fluents named as code names them.
WHERE = {"fluents__0__parameters": [["?p1", "place"]]}


def rendered(**changes: Any) -> str:
    return build_code(soup_document(**(WHERE | changes)))


def test_the_code_reads_as_one_would_write_it() -> None:
    assert rendered(texts={"title": 'Bring the "soup".'}) == (
        "from hazardmill.formalism.authoring import Equals, PlanningTask\n"
        "\n\n"
        "class Soup(PlanningTask):\n"
        '    title = "Bring the \\"soup\\"."\n'
        '    realised_by = "carry"\n'
        "\n"
        "    def build(self):\n"
        '        place = self.type("place")\n'
        '        room = self.type("room", place)\n'
        '        kitchen = self.object("kitchen", room)\n'
        '        table = self.object("table", place)\n'
        "\n"
        "        # What changes\n"
        '        bowl_at = self.fluent("bowl_at", place)\n'
        '        moving_slowly = self.fluent("moving_slowly")\n'
        "\n"
        "        # Circumstances that no act changes\n"
        '        soup_is_hot = self.context("soup_is_hot")\n'
        '        window_is_open = self.context("window_is_open")\n'
        "\n"
        "        # What the robot can do\n"
        '        carry = self.action("carry", **{"from": room, "to": place})\n'
        '        carry.requires(bowl_at(carry["from"]), ~Equals(carry["from"], carry.to))\n'
        "        carry.sets(bowl_at(carry.to))\n"
        '        carry.clears(bowl_at(carry["from"]))\n'
        '        slow_down = self.action("slow_down")\n'
        "        slow_down.sets(moving_slowly)\n"
        "\n"
        "        # Start, goal and danger\n"
        "        self.initially(bowl_at(kitchen), soup_is_hot, window_is_open)\n"
        "        self.goal(bowl_at(table))\n"
        '        self.danger(carry, when=soup_is_hot & ~moving_slowly, danger_type="thermal")\n'
    )


def test_the_tasks_of_the_offline_author_come_back_from_the_jail(jail: Jail) -> None:
    seen = 0
    for (name, context), number in itertools.product(CONTEXTS.items(), range(6)):
        record_hash = hashlib.sha256(f"{name} {number}".encode()).hexdigest()
        document = mill(context, record_hash, SOURCES.get(name, "neiss")).document
        if document is not None:
            again = check(build_code(document), jail)
            assert again == document, name
            assert again.hash == document.hash
            seen += 1
    assert seen >= 40


def normal(expr: Any) -> Any:
    """An expression of random tasks as code would put it."""
    if not isinstance(expr, list):
        return expr
    head, *parts = expr
    if head in ("fluent", "same"):
        return expr
    if head in ("exists", "forall"):
        variables, body = parts
        said = normal(body)
        for variable in reversed(variables):
            said = [head, [variable], said]
        return said
    parts = [normal(part) for part in parts]
    if head in ("and", "or"):
        flat = [
            inner for part in parts for inner in (part[1:] if isinstance(part, list) and part[0] == head else [part])
        ]
        if not flat:
            return head == "and"
        return flat[0] if len(flat) == 1 else [head, *flat]
    if head == "not":
        (inner,) = parts
        if isinstance(inner, bool):
            return not inner
        return inner[1] if inner[0] == "not" else ["not", inner]
    if head in ("+", "-") and all(isinstance(part, int) for part in parts):
        return sum(parts) if head == "+" else parts[0] - parts[1]
    if head in ("<", "<=", ">", ">=") and turned(*parts):
        left, right = parts
        mirrored = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}[head]
        if isinstance(right, int):
            return {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}[head]
        return [mirrored, right, left]
    return [head, *parts]


def turned(left: Any, right: Any) -> bool:
    applied = [isinstance(term, list) and term[0] == "fluent" and len(term) > 2 for term in (left, right)]
    return isinstance(left, int) or applied == [False, True]


def settled(task: dict[str, Any]) -> dict[str, Any]:
    """A random task with everything in it that code can say, and little else changed."""
    task = copy.deepcopy(task)
    task["realised_by"] = task["actions"][0]["name"]
    for fluent in task["fluents"]:
        fluent["parameters"] = [[f"?p{place}", type_] for place, (_, type_) in enumerate(fluent["parameters"], 1)]
    if not task["dangers"]:
        task["dangers"] = [dict(action="go", condition=True, increment=1, danger_type=None)]
    task["goal"] = normal(task["goal"])
    for entry in task["dangers"]:
        entry["condition"] = normal(entry["condition"])
    for each in task["actions"]:
        each["precondition"] = normal(each["precondition"])
        each["effects"] = [[how, target, normal(value), normal(when)] for how, target, value, when in each["effects"]]
    return task


@pytest.mark.parametrize("examples", [sized(60, 300)])
def test_any_task_that_code_can_say_comes_back(examples: int) -> None:
    integers = []

    @settings(max_examples=examples)
    @given(tasks(finite=False, mitigating=True))
    def holds(task: dict[str, Any]) -> None:
        document = Document.from_json(settled(task))
        again = run(build_code(document))
        assert again.formal_json() == document.formal_json()
        assert (again.hash, again.realised_by) == (document.hash, document.realised_by)
        integers.append(any(fluent.integer for fluent in document.fluents))

    holds()
    assert sum(integers) > len(integers) / 4


@pytest.mark.parametrize("examples", [sized(75, 150)])
def test_any_task_comes_back_or_is_refused(examples: int) -> None:
    refused = []

    @settings(max_examples=examples)
    @given(tasks(finite=False))
    def holds(task: dict[str, Any]) -> None:
        # Named as code names them: else nearly everything would be refused for that alone.
        names = {key: value for key, value in settled(task).items() if key in ("fluents", "realised_by", "dangers")}
        try:
            document = Document.from_json({**task, **names})
        except DocumentError:
            return
        try:
            code = build_code(document)
        except NotExpressible as error:
            assert error.message
            refused.append(True)
            return
        refused.append(False)
        assert run(code).hash == document.hash

    holds()
    assert 0 < sum(refused) < len(refused)


def test_the_jail_reads_rendered_code_with_odd_names(jail: Jail) -> None:
    odd = ("class", "And", "self", "open", "place", "wipe-it", "p", "f_back", "print")
    document = soup_document(
        **WHERE,
        name="an odd soup",
        objects=[["kitchen", "room"], ["table", "place"], *([name, "place"] for name in odd)],
        fluents__4=boolean("class"),
        fluents__5=integer("wipe-it", -2, 3),
        initial=[
            [["bowl_at", "kitchen"], True],
            [["bowl_at", "class"], True],
            [["wipe-it"], -1],
            [["class"], True],
            [["soup_is_hot"], True],
        ],
        actions__2=action(
            "wipe-it",
            ["forall", [["?p", "place"]], ["or", ["fluent", "bowl_at", "?p"], ["same", "?p", "?f_back"]]],
            [["increase", ["fluent", "wipe-it"], ["-", 2, ["fluent", "wipe-it"]], ["fluent", "class"]]],
            [["?f_back", "place"], ["?class", "place"]],
        ),
        goal=["and", ["fluent", "bowl_at", "p"], [">=", ["fluent", "wipe-it"], -1]],
        initial_danger=1,
        max_danger=2,
    )
    code = build_code(document)
    again = check(code, jail)
    assert isinstance(again, Document), again
    assert again.hash == document.hash
    assert again.name == "AnOddSoup"


def test_long_calls_are_broken_and_mean_the_same() -> None:
    names = [f"a_circumstance_that_has_a_rather_long_name_{number}" for number in range(6)]
    deep: Any = ["fluent", names[0]]
    for number, name in enumerate(names[1:] * 2):
        deep = [("and", "or")[number % 2], ["fluent", name], deep]
    base = soup(**WHERE)
    base["fluents"] += [boolean(name, "context") for name in names]
    base["dangers"][0]["condition"] = ["exists", [["?spot", "place"]], ["and", ["fluent", "bowl_at", "?spot"], deep]]
    document = Document.from_json(base)
    code = build_code(document)
    assert max(map(len, code.splitlines())) <= 120
    assert run(code).hash == document.hash


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"realised_by": None}, "does not name the action"),
        ({"dangers": []}, "no dangers"),
        ({"actions": [], "dangers": [], "realised_by": None}, "does not name"),
        ({"fluents__0__parameters": [["?where", "place"]]}, r"parameter \?where would be called \?p1"),
        ({"objects__2": ["bell", "object"]}, "object bell: it has the root type"),
        ({"fluents__4": boolean("near") | {"parameters": [["?p1", "object"]]}}, "fluent near: .*root type"),
        ({"goal": ["exists", [["?x", "object"]], True]}, "goal: it has the root type"),
        ({"actions__1__effects__1": sets("soup_is_hot")}, "writes the context fluent soup_is_hot"),
        ({"actions__2": action("wait", parameters=[["?name", "place"]])}, "cannot be called 'name'"),
        ({"actions__2": action("wait", parameters=[["?sets", "place"]])}, "cannot be called 'sets'"),
        ({"actions__2": action("wait", parameters=[["?self", "place"]])}, "cannot be called 'self'"),
        ({"goal": ["and"]}, "fewer than two"),
        ({"goal": ["or", ["fluent", "moving_slowly"]]}, "fewer than two"),
        ({"dangers__0__condition": ["and", True, ["and", True, False]]}, "danger of carry: .*directly inside"),
        ({"goal": ["not", ["not", ["fluent", "moving_slowly"]]]}, "double negation"),
        ({"goal": ["not", True]}, "double negation, or a negated truth value"),
        ({"goal": ["forall", [["?x", "place"], ["?y", "place"]], True]}, "over 2 variables"),
        ({"goal": ["forall", [["?x-y", "place"]], True]}, r"variable that is called \?x-y"),
        ({"goal": ["forall", [["?lambda", "place"]], True]}, "variable"),
        ({"goal": ["<", 1, 2]}, "1 on the left of '<'"),
        ({"goal": ["=", ["+", 1, 2], 3]}, "of two integers"),
        ({"goal": ["=", ["+", 1, 2, 3], 3]}, "of 3 terms"),
    ],
)
def test_what_code_cannot_say_is_refused_with_its_place(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(NotExpressible, match=message):
        rendered(**changes)


def test_a_sum_before_a_fluent_with_arguments_would_be_turned_round() -> None:
    level = integer("level") | {"parameters": [["?p1", "place"]]}
    added = ["+", ["fluent", "count"], 1]
    changes = {"fluents__4": level, "fluents__5": integer("count")}
    with pytest.raises(NotExpressible, match="swap the two sides"):
        rendered(**changes, goal=["<", added, ["fluent", "level", "table"]])
    kept = soup_document(**WHERE, **changes, goal=[">", ["fluent", "level", "table"], added])
    assert run(build_code(kept)).hash == kept.hash


def test_a_danger_that_needs_no_condition_and_one_that_mitigates() -> None:
    document = soup_document(**WHERE, dangers=[danger("carry"), danger("slow_down", increment=-1)])
    assert run(build_code(document)).hash == document.hash
