"""The structure id against BLISS, which canonises graphs by other means, on documents both ordinary and regular."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterable, Iterator
from random import Random
from typing import Any

import igraph
import pytest
from formalism.random_tasks import Maker
from formalism.soup import action, boolean, danger, soup

from hazardmill.errors import SearchLimitReached
from hazardmill.formalism.document.document import Document
from hazardmill.quality.structure import structure_id
from tests.sizes import sized

Task = dict[str, Any]

UNORDERED = {"and", "or", "+", "=", "same"}


# What BLISS says


COLOURS: dict[str, int] = {}
"""Shared by all drawings, so that equal labels have equal colours."""


class Drawing:
    """A document as an undirected graph with coloured vertices, made for this test alone."""

    def __init__(self, document: Task) -> None:
        self.colours: list[int] = []
        self.edges: list[tuple[int, int]] = []
        self.names: dict[tuple[str, str], int] = {}
        self.root("danger", document["initial_danger"], document["max_danger"])
        self.under(self.root("goal"), 0, self.expr(document["goal"], []))
        for part in ("types", "objects"):
            for name, type_ in document[part]:
                self.row(self.root(part), [(part, name), ("types", type_)])
        for fluent in document["fluents"]:
            facts = [fluent[name] for name in ("kind", "value", "lower", "upper")]
            self.row(self.root("fluent", *facts), [("fluents", fluent["name"]), *self.types(fluent)])
        parameters = {}
        for each in document["actions"]:
            parameters[each["name"]] = [name for name, _ in each["parameters"]]
            scope, owner = parameters[each["name"]], ("actions", each["name"])
            self.row(self.root("action"), [owner, *self.types(each)])
            self.condition(self.root("precondition"), owner, [each["precondition"]], scope)
            for operation, *parts in each["effects"]:
                self.condition(self.root("effect", operation), owner, parts, scope)
        for entry in document["dangers"]:
            owner, scope = ("actions", entry["action"]), parameters[entry["action"]]
            self.condition(self.root("entry", entry["increment"]), owner, [entry["condition"]], scope)
        for (fluent, *objects), value in document["initial"]:
            self.row(self.root("initial", value), [("fluents", fluent), *(("objects", name) for name in objects)])

    def vertex(self, *label: object) -> int:
        self.colours.append(COLOURS.setdefault(repr(label), len(COLOURS)))
        return len(self.colours) - 1

    def root(self, *label: object) -> int:
        return self.vertex("root", *label)

    def under(self, parent: int, place: int | None, child: int) -> None:
        # Two vertices between, so that an edge has a direction.
        one, other = self.vertex("from", place), self.vertex("to")
        self.edges += [(parent, one), (one, other), (other, child)]

    def name(self, kind: str, name: str) -> int:
        if (kind, name) not in self.names:
            self.names[kind, name] = self.vertex("root type" if (kind, name) == ("types", "object") else kind)
        return self.names[kind, name]

    def types(self, declared: Task) -> list[tuple[str, str]]:
        return [("types", type_) for _, type_ in declared["parameters"]]

    def row(self, root: int, named: Iterable[tuple[str, str]]) -> None:
        for place, each in enumerate(named):
            self.under(root, place, self.name(*each))

    def condition(self, root: int, owner: tuple[str, str], parts: Iterable[Any], scope: list[str]) -> None:
        self.under(root, 0, self.name(*owner))
        for place, part in enumerate(parts, 1):
            self.under(root, place, self.expr(part, scope))

    def argument(self, name: str, scope: list[str]) -> int:
        if name in scope:
            # The last of that name is meant.
            return self.vertex("parameter", len(scope) - 1 - scope[::-1].index(name))
        return self.name("objects", name)

    def expr(self, expr: Any, scope: list[str]) -> int:
        if not isinstance(expr, list):
            return self.vertex("constant", expr)
        head, *rest = expr
        node = self.vertex("node", head)
        if head == "fluent":
            below = [self.name("fluents", rest[0]), *(self.argument(name, scope) for name in rest[1:])]
        elif head == "same":
            below = [self.argument(name, scope) for name in rest]
        elif head in ("exists", "forall"):
            inner = [*scope, *(name for name, _ in rest[0])]
            below = [*(self.name("types", type_) for _, type_ in rest[0]), self.expr(rest[1], inner)]
        else:
            below = [self.expr(part, scope) for part in rest]
        for place, child in enumerate(below):
            self.under(node, None if head in UNORDERED else place, child)
        return node

    def canonical(self) -> tuple[object, ...]:
        graph = igraph.Graph(n=len(self.colours), edges=self.edges)
        # The vertex at each place, or the place of each vertex: releases differ. Colours say which, being in order.
        order = graph.canonical_permutation(color=self.colours)
        coloured = [self.colours[vertex] for vertex in order]
        assert coloured == sorted(coloured), "this igraph numbers the other way round"
        place = {vertex: number for number, vertex in enumerate(order)}
        edges = sorted(tuple(sorted((place[a], place[b]))) for a, b in self.edges)
        return tuple(coloured), tuple(edges)


def judged_alike(documents: Iterable[Task]) -> dict[object, str]:
    """BLISS's canonical form to our id; that each has one of the other is what is tested."""
    ids: dict[object, str] = {}
    forms: dict[str, object] = {}
    for document in documents:
        form, key = Drawing(document).canonical(), structure_id(document)
        assert ids.setdefault(form, key) == key, "the same structure, and two ids"
        assert forms.setdefault(key, form) == form, "two structures, and the same id"
    return ids


# Documents


class Drawn(Maker):
    """The random tasks of the formalism's tests, without Hypothesis."""

    def number(self, low: int, high: int) -> int:
        return self.draw.randint(low, high)


def drawn(random: Random) -> Task:
    task = Drawn(random, random.random() < 0.5, mitigating=random.random() < 0.3, reachable=True).task()
    return Document.from_json(task).to_json()


def scrambled(document: Task, random: Random) -> Task:
    """Every symbol and parameter renamed, every declaration and every commutative operand somewhere else."""
    names: dict[tuple[str, str], str] = {("types", "object"): "object"}
    fresh = (f"n{number}" for number in random.sample(range(10**6), 4000))

    def named(kind: str, name: str) -> str:
        if (kind, name) not in names:
            names[kind, name] = ("?" if name.startswith("?") else "") + next(fresh)
        return names[kind, name]

    def thing(name: str) -> str:
        return named("parameters" if name.startswith("?") else "objects", name)

    def typed(pairs: list[list[str]]) -> list[list[str]]:
        return [[thing(name), named("types", type_)] for name, type_ in pairs]

    def shuffled(items: Iterable[Any]) -> list[Any]:
        items = list(items)
        random.shuffle(items)
        return items

    def expr(value: Any) -> Any:
        if not isinstance(value, list):
            return value
        head, *rest = value
        if head == "fluent":
            return [head, named("fluents", rest[0]), *map(thing, rest[1:])]
        if head in ("exists", "forall"):
            return [head, typed(rest[0]), expr(rest[1])]
        parts = [thing(part) if head == "same" else expr(part) for part in rest]
        return [head, *(shuffled(parts) if head in UNORDERED else parts)]

    actions = [
        {
            "name": named("actions", each["name"]),
            "parameters": typed(each["parameters"]),
            "precondition": expr(each["precondition"]),
            "effects": shuffled([operation, *map(expr, parts)] for operation, *parts in each["effects"]),
        }
        for each in document["actions"]
    ]
    realised_by = document["realised_by"]
    declared = {fluent["name"] for fluent in document["fluents"]}
    causes = {
        part: [named("fluents" if name in declared else "actions", name) for name in facts]
        for part, facts in (document.get("causes") or {}).items()
    }
    return {
        **document,
        "realised_by": realised_by and named("actions", realised_by),
        "causes": causes or None,
        "types": shuffled([named("types", name), named("types", parent)] for name, parent in document["types"]),
        "objects": shuffled(typed(document["objects"])),
        "fluents": shuffled(
            {**each, "name": named("fluents", each["name"]), "parameters": typed(each["parameters"])}
            for each in document["fluents"]
        ),
        "actions": shuffled(actions),
        "initial": shuffled(
            [[named("fluents", fluent), *map(thing, objects)], value]
            for (fluent, *objects), value in document["initial"]
        ),
        "goal": expr(document["goal"]),
        "dangers": shuffled(
            {**each, "action": named("actions", each["action"]), "condition": expr(each["condition"])}
            for each in document["dangers"]
        ),
    }


def literals(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where conditions have an application of a fluent."""
    if isinstance(value, dict):
        for key in ("goal", "dangers", "actions", "condition", "precondition"):
            if key in value:
                yield from literals(value[key], (*place, key))
    elif isinstance(value, list):
        if value and value[0] == "fluent":
            yield place
        else:
            for index, item in enumerate(value):
                yield from literals(item, (*place, index))


def changed(document: Task, random: Random) -> Task | None:
    """The document with one literal negated, one bound moved, or one increment raised; None if there is none."""
    other = copy.deepcopy(document)
    numbers = [each for each in other["fluents"] if each["value"] == "integer" and each["upper"] is not None]
    booleans = {each["name"] for each in other["fluents"] if each["value"] == "boolean"}
    what = random.randrange(3)
    if what == 0 and numbers:
        random.choice(numbers)["upper"] += 1
        return other
    if what == 1 and other["dangers"]:
        random.choice(other["dangers"])["increment"] += 1
        return other
    places = list(literals(other))
    if what < 2 or not places:
        return None
    *parents, last = random.choice(places)
    inner: Any = other
    for step in parents:
        inner = inner[step]
    if inner[last][1] not in booleans:
        return None
    inner[last] = ["not", inner[last]]
    return other


# Done when


@pytest.mark.full
def test_two_hundred_tasks_are_found_again_however_they_are_called(run_tasks: list[Task]) -> None:
    random = Random(10)
    tasks = [*run_tasks, *(drawn(random) for _ in range(250 - len(run_tasks)))]
    assert len(run_tasks) >= 40 and len(tasks) >= 200
    for task in tasks:
        again = scrambled(task, random)
        assert again["actions"] != task["actions"]
        assert structure_id(again) == structure_id(Document.from_json(again).to_json()) == structure_id(task)


@pytest.mark.parametrize("count", [sized(200, 2000)])
def test_of_many_distinct_tasks_no_two_are_taken_for_one(run_tasks: list[Task], count: int) -> None:
    random = Random(2000)
    known = {Drawing(task).canonical(): task for task in run_tasks}
    near = 0
    while len(known) < count:
        task = drawn(random)
        known.setdefault(Drawing(task).canonical(), task)
        other = changed(random.choice([task, *run_tasks]), random) if near < count // 10 else None
        if other is not None and known.setdefault(Drawing(other).canonical(), other) is other:
            near += 1
    assert near == count // 10
    assert len({structure_id(task) for task in known.values()}) == len(known)


# Both directions, against BLISS


@pytest.mark.parametrize("count", [sized(30, 500)])
def test_bliss_agrees_on_random_documents(run_tasks: list[Task], count: int) -> None:
    random = Random(4)
    few = [drawn(random) for _ in range(count)]
    nearly = [other for task in [*few, *run_tasks] if (other := changed(task, random)) is not None]
    both = [*few, *nearly, *run_tasks]
    ids = judged_alike([*both, *(scrambled(task, random) for task in both)])
    assert len(ids) < len(both) + 1 and len(both) > 1.4 * count


def linked(edges: Iterable[tuple[int, int]], count: int) -> Task:
    """A document that is a graph: so many places, linked both ways at the start."""
    pairs = sorted({pair for a, b in edges for pair in ((a, b), (b, a))})
    link = boolean("linked", parameters=[["?a", "place"], ["?b", "place"]])
    return soup(
        realised_by=None,
        objects=[[f"p{number}", "place"] for number in range(count)],
        fluents=[link, boolean("done")],
        actions=[action("go", effects=[["assign", ["fluent", "done"], True, True]])],
        initial=[[["linked", f"p{a}", f"p{b}"], True] for a, b in pairs],
        goal=["fluent", "done"],
        dangers=[],
    )


def cycles(*lengths: int) -> Task:
    edges, start = [], 0
    for length in lengths:
        edges += [(start + step, start + (step + 1) % length) for step in range(length)]
        start += length
    return linked(edges, start)


def on_grid(adjacent: Any) -> Task:
    """A graph on 4 times 4 places."""
    places = list(itertools.product(range(4), repeat=2))
    edges = [
        (i, j)
        for (i, a), (j, b) in itertools.combinations(enumerate(places), 2)
        if adjacent((b[0] - a[0]) % 4, (b[1] - a[1]) % 4)
    ]
    return linked(edges, 16)


ROOK = on_grid(lambda x, y: x == 0 or y == 0)
SHRIKHANDE = on_grid(lambda x, y: (x, y) in {(0, 1), (0, 3), (1, 0), (3, 0), (1, 1), (3, 3)})
PETERSEN = linked(
    [(i, (i + 1) % 5) for i in range(5)]
    + [(i, i + 5) for i in range(5)]
    + [(i + 5, (i + 2) % 5 + 5) for i in range(5)],
    10,
)
PRISM = linked(
    [(i, (i + 1) % 5) for i in range(5)]
    + [(i + 5, (i + 1) % 5 + 5) for i in range(5)]
    + [(i, i + 5) for i in range(5)],
    10,
)


def rooms_with_cups(*cups: int) -> Task:
    """Rooms that differ in nothing but how many cups stand in them, if in that."""
    rooms = [[f"r{number}", "room"] for number in range(len(cups))]
    standing = [(f"c{room}_{cup}", f"r{room}") for room, count in enumerate(cups) for cup in range(count)]
    return soup(
        realised_by=None,
        types=[["room", "object"], ["cup", "object"]],
        objects=[*rooms, *([cup, "cup"] for cup, _ in standing)],
        fluents=[boolean("stands", parameters=[["?c", "cup"], ["?r", "room"]]), boolean("done")],
        actions=[action("go", effects=[["assign", ["fluent", "done"], True, True]])],
        initial=[[["stands", cup, room], True] for cup, room in standing],
        goal=["fluent", "done"],
        dangers=[],
    )


def relay(steps: Iterable[int]) -> Task:
    """Actions and fluents in rings: action i needs fluent i and sets the one that ``steps`` has at i."""
    order = list(steps)
    return soup(
        realised_by=None,
        objects=[],
        fluents=[boolean(f"f{number}") for number in range(len(order))],
        actions=[
            action(f"a{i}", ["fluent", f"f{i}"], [["assign", ["fluent", f"f{j}"], True, True]])
            for i, j in enumerate(order)
        ],
        initial=[],
        goal=["or", *(["fluent", f"f{number}"] for number in range(len(order)))],
        dangers=[danger(f"a{i}", ["not", ["fluent", f"f{j}"]]) for i, j in enumerate(order)],
    )


REGULAR = {
    "one ring": cycles(8),
    "two rings": cycles(4, 4),
    "other rings": cycles(3, 5),
    "rings and a place": cycles(3, 3, 1),
    "many rings": cycles(3, 3, 3, 3, 3),
    "many other rings": cycles(3, 4, 3, 5),
    "rook": ROOK,
    "shrikhande": SHRIKHANDE,
    "petersen": PETERSEN,
    "prism": PRISM,
    "complete": linked(itertools.combinations(range(7), 2), 7),
    "bipartite": linked(itertools.product(range(4), range(4, 8)), 8),
    "matching": linked([(2 * i, 2 * i + 1) for i in range(8)], 16),
    "cube": linked([(a, b) for a in range(16) for b in range(a) if (a ^ b).bit_count() == 1], 16),
    "rooms": rooms_with_cups(2, 2, 2, 2, 2),
    "other rooms": rooms_with_cups(3, 1, 2, 2, 2),
    "nothing at all": linked([], 9),
    "relay": relay([1, 2, 3, 4, 5, 0]),
    "two relays": relay([1, 2, 0, 4, 5, 3]),
    "three relays": relay([1, 0, 3, 2, 5, 4]),
}


def test_bliss_agrees_on_regular_documents() -> None:
    random = Random(16)
    again = [scrambled(document, random) for document in REGULAR.values() for _ in range(4)]
    assert len(judged_alike([*REGULAR.values(), *again])) == len(REGULAR)


@pytest.mark.full
def test_bliss_agrees_on_random_graphs_of_equal_degrees() -> None:
    random = Random(3)
    documents = []
    for _ in range(300):
        count, degree = random.choice([(6, 2), (8, 3), (10, 3), (12, 2), (9, 4)])
        graph = igraph.Graph.Realize_Degree_Sequence([degree] * count, method="smallest")
        igraph.set_random_number_generator(random)
        graph.rewire(n=100)
        documents.append(scrambled(linked(graph.get_edgelist(), count), random))
    assert 10 < len(judged_alike(documents)) < 200


# What counts, and what does not


def variants() -> Iterator[tuple[str, Task]]:
    yield "plain", soup()
    yield "increment", soup(dangers__0__increment=2)
    yield "condition", soup(dangers__0__condition=["fluent", "soup_is_hot"])
    yield "kind", soup(fluents__3=boolean("window_is_open"))
    yield "lower bound", soup(fluents__4={**boolean("trips"), "value": "integer", "lower": 0})
    yield "upper bound", soup(fluents__4={**boolean("trips"), "value": "integer", "upper": 0})
    yield "other bound", soup(fluents__4={**boolean("trips"), "value": "integer", "upper": 1})
    yield "initial danger", soup(initial_danger=1)
    yield "greatest danger", soup(max_danger=1)
    yield "initial value", soup(initial=soup()["initial"][:-1])
    yield "goal", soup(goal=["fluent", "bowl_at", "kitchen"])
    yield "effect", soup(actions__1__effects__0__2=False)
    yield (
        "operation",
        soup(
            fluents__4={**boolean("trips"), "value": "integer"},
            actions__1__effects__1=["increase", ["fluent", "trips"], 1, True],
        ),
    )
    yield (
        "other operation",
        soup(
            fluents__4={**boolean("trips"), "value": "integer"},
            actions__1__effects__1=["decrease", ["fluent", "trips"], 1, True],
        ),
    )
    yield "conditional effect", soup(actions__1__effects__0__3=["fluent", "window_is_open"])
    yield "parameters", soup(actions__0__parameters=[["?to", "place"], ["?from", "room"]])
    yield "supertype", soup(types=[["place", "object"], ["room", "object"]])
    yield "object", soup(objects__2=["shelf", "place"])
    yield "type of an object", soup(objects__2=["shelf", "room"])
    yield "implication", soup(goal=["imply", ["fluent", "moving_slowly"], ["fluent", "bowl_at", "table"]])
    yield "its converse", soup(goal=["imply", ["fluent", "bowl_at", "table"], ["fluent", "moving_slowly"]])


def test_every_formal_change_changes_the_id() -> None:
    ids = {name: structure_id(document) for name, document in variants()}
    assert len(set(ids.values())) == len(ids)


@pytest.mark.parametrize(
    "change",
    [
        {"dangers__0__danger_type": "chemical"},
        {"realised_by": "slow_down"},
        {"name": "Other"},
        {"texts": {"title": "Serve."}},
        {"provenance": {"label": "x"}},
        {"initial__3": [["moving_slowly"], False]},
        {"dangers__0__condition": ["and", ["not", ["fluent", "moving_slowly"]], ["fluent", "soup_is_hot"]]},
        {"actions__0__precondition__2": ["not", ["same", "?to", "?from"]]},
    ],
)
def test_labels_and_operands_that_may_be_turned_round_do_not_count(change: Task) -> None:
    assert structure_id(soup(**change)) == structure_id(soup())


def test_variables_count_by_where_they_are_bound() -> None:
    def goal(*names: str) -> str:
        a, b, used = names
        inner = ["exists", [[b, "place"]], ["and", ["fluent", "bowl_at", b], ["fluent", "bowl_at", used]]]
        return structure_id(soup(goal=["exists", [[a, "place"]], inner]))

    assert goal("?a", "?b", "?a") == goal("?x", "?y", "?x") == goal("?b", "?a", "?b")
    assert goal("?a", "?b", "?b") == goal("?a", "?a", "?a")
    assert goal("?a", "?b", "?a") != goal("?a", "?b", "?b")


def test_a_hidden_variable_is_not_mistaken_for_one_bound_later() -> None:
    def goal(used: str) -> str:
        deepest = ["exists", [["?b", "place"]], ["fluent", "bowl_at", used]]
        return structure_id(soup(goal=["exists", [["?a", "place"]], ["exists", [["?a", "place"]], deepest]]))

    assert goal("?a") != goal("?b")


def test_formal_parts_alone_will_do() -> None:
    document = Document.from_json(soup())
    assert structure_id(document.formal_json()) == structure_id(document.to_json())


def test_the_id_is_the_same_in_every_version() -> None:
    assert structure_id(soup()) == "08c36cb3ab5b8bda011ad31a1188d4096ae42242f67ac0decbe3094c51db365a"


def test_what_is_too_regular_for_the_limit_is_refused() -> None:
    for document in (SHRIKHANDE, scrambled(SHRIKHANDE, Random(1))):
        with pytest.raises(SearchLimitReached, match=r"too large and symmetric .* limit of 500 steps"):
            structure_id(document, limit=500)


def test_large_regular_documents_are_within_the_limit() -> None:
    assert structure_id(rooms_with_cups(*[2] * 20)) != structure_id(rooms_with_cups(3, 1, *[2] * 18))
    assert structure_id(linked([], 900)) != structure_id(linked([], 901))
    assert structure_id(cycles(90)) == structure_id(scrambled(cycles(90), Random(1))) != structure_id(cycles(40, 50))
