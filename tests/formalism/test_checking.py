from __future__ import annotations

import copy
import json
import time

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hazardmill.errors import DocumentError
from hazardmill.formalism.document.document import Document

from .random_tasks import tasks
from .soup import SOUP, boolean, integer, soup


@pytest.fixture(scope="session")
def schema(project):
    loaded = json.loads((project / "hazardmill" / "formalism" / "document" / "document.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(loaded)
    return jsonschema.Draft202012Validator(loaded)


# What is refused, and how it is named

SHAPE = {
    "no object": ([1], "document: wanted an object, got [1]"),
    "null": (None, "document: wanted an object, got None"),
    "missing": ({key: value for key, value in SOUP.items() if key != "goal"}, "document: missing keys: 'goal'"),
    "unknown": (soup(colour="red"), "document: unknown keys: 'colour'"),
    "format": (soup(format="hazardmill-task/2"), "format is 'hazardmill-task/2'"),
    "name": (soup(name=3), "name: wanted a string, got 3"),
    "types": (soup(types={"place": "object"}), "types: wanted a list"),
    "types item": (soup(types__1=["room"]), "types[1]: wanted a list of 2 strings"),
    "objects item": (soup(objects__0=["kitchen", 1]), "objects[0]: wanted a list of 2 strings"),
    "fluent": (soup(fluents__2="hot"), "fluents[2]: wanted an object, got 'hot'"),
    "fluent key": (soup(fluents__1__colour=1), "fluents[1]: unknown keys: 'colour'"),
    "fluent name": (soup(fluents__1__name=None), "fluents[1].name: wanted a string"),
    "fluent kind": (soup(fluents__1__kind="hidden"), "fluents[1].kind: wanted normal or context, got 'hidden'"),
    "fluent kind list": (soup(fluents__1__kind=["normal"]), "fluents[1].kind: wanted normal or context"),
    "fluent value": (soup(fluents__1__value="real"), "fluents[1].value: wanted boolean or integer"),
    "fluent bound": (soup(fluents__1__lower="0"), "fluents[1].lower: wanted an integer, got '0'"),
    "fluent parameters": (soup(fluents__0__parameters="?x"), "fluents[0].parameters: wanted a list"),
    "fluent parameter": (soup(fluents__0__parameters__0=["?x", 1]), "fluents[0].parameters[0]: wanted a list of 2"),
    "action": (soup(actions__0=[]), "actions[0]: wanted an object"),
    "action effects": (soup(actions__1__effects=None), "actions[1].effects: wanted a list, got None"),
    "effect": (
        soup(actions__1__effects__0=["assign"]),
        "actions[1].effects[0]: wanted [operation, target, value, cond",
    ),
    "effect operation": (soup(actions__1__effects__0__0="set"), "actions[1].effects[0][0]: wanted assign or increase"),
    "initial": (soup(initial__0=["bowl_at", True]), "initial[0]: wanted [[fluent, object...], value]"),
    "initial atom": (soup(initial__0__0=["bowl_at", 1]), "initial[0]: wanted a list of 2 strings"),
    "initial value": (soup(initial__0__1=None), "initial[0]: wanted a Boolean or an integer"),
    "initial float": (soup(initial__0__1=0.5), "initial[0]: wanted a Boolean or an integer"),
    "initial NaN": (soup(initial__0__1=float("nan")), "initial[0]: wanted a Boolean or an integer"),
    "initial parameter": (soup(initial__0__0=["bowl_at", "?to"]), "the initial state cannot refer to a parameter"),
    "danger": (soup(dangers__0=[]), "dangers[0]: wanted an object"),
    "danger increment": (soup(dangers__0__increment=True), "dangers[0].increment: wanted an integer, got True"),
    "danger float": (soup(dangers__0__increment=1.5), "dangers[0].increment: wanted an integer"),
    "danger zero": (soup(dangers__0__increment=0), "dangers[0].increment: 0 changes nothing"),
    "danger huge": (soup(dangers__0__increment=10**9 + 1), "dangers[0].increment: the integer is beyond"),
    "danger type": (soup(dangers__0__danger_type=1), "dangers[0].danger_type: wanted a string"),
    "danger type blank": (soup(dangers__0__danger_type=" "), "dangers[0].danger_type: a danger type must have 1 to 80"),
    "max": (soup(max_danger=float("nan")), "max_danger: wanted an integer, got nan"),
    "realised_by": (soup(realised_by=["carry"]), "realised_by: wanted a string"),
    "texts": (soup(texts=["t"]), "texts: wanted an object"),
    "text": (soup(texts={"title": 1}), "texts.title: wanted a string"),
    "provenance": (soup(provenance="neiss"), "provenance: wanted an object"),
    "goal null": (soup(goal=None), "goal: wanted a condition, got 'None'"),
    "goal object": (soup(goal={"and": []}), "goal: wanted a condition"),
    "goal empty": (soup(goal=[]), "goal: wanted a condition"),
    "goal operator": (soup(goal=["xor", True, True]), "goal: 'xor' is not an operator for conditions"),
    "goal iff": (soup(goal=["iff", True, True]), "goal: 'iff' is not an operator for conditions"),
    "goal operand": (soup(goal=["and", ["not", 1.5]]), "goal: wanted a condition, got '1.5'"),
    "not": (soup(goal=["not"]), "goal: 'not' takes 1 operand(s), got 0"),
    "imply": (soup(goal=["imply", True]), "goal: 'imply' takes 2 operand(s), got 1"),
    "same": (soup(goal=["same", "table"]), "goal: 'same' compares two objects, got 1"),
    "same name": (soup(goal=["same", "table", 1]), "goal: an argument must be a name, but this is 1"),
    "exists": (soup(goal=["exists", [], True]), "goal: exists takes a list of typed variables"),
    "exists variable": (
        soup(goal=["exists", [["?x"]], True]),
        "goal: a quantified variable must be written as [?name, type]",
    ),
    "exists name": (soup(goal=["exists", [["x", "place"]], True]), "goal: 'x' is not a valid variable"),
    "compare": (soup(goal=["<", 1]), "goal: '<' takes 2 operand(s), got 1"),
    "term truth": (soup(goal=["<", 1, True]), "goal: a truth value stands where an integer is wanted"),
    "term operator": (soup(goal=["<", 1, ["*", 2, 3]]), "goal: '*' is not an operator for integer terms"),
    "term sum": (soup(goal=["=", ["+", 1], 1]), "goal: '+' takes two or more terms"),
    "term minus": (soup(goal=["=", ["-", 1], 1]), "goal: '-' takes 2 operand(s), got 1"),
    "term float": (soup(goal=["=", 1.5, 1]), "goal: wanted an integer term, got '1.5'"),
    "term huge": (soup(goal=["=", 10**9 + 1, 1]), "goal: the integer is beyond"),
    "fluent no name": (soup(goal=["fluent"]), "goal: the name of the fluent is missing"),
    "fluent list name": (soup(goal=["fluent", ["a"]]), "goal: the name of the fluent is missing"),
    "effect target": (
        soup(actions__1__effects__0__1="moving_slowly"),
        "actions[slow_down].effects[0]: the target of an effect must be a fluent",
    ),
    "effect value": (
        soup(actions__1__effects__0__0="increase"),
        "actions[slow_down].effects[0]: (moving_slowly) is Boolean and can only be assigned",
    ),
    "bounds of a Boolean": (soup(fluents__1__upper=3), "fluents[moving_slowly]: a Boolean fluent cannot have bounds"),
    "integer context": (
        soup(fluents__2=boolean("soup_is_hot", kind="context", value="integer")),
        "fluents[soup_is_hot]: a context fluent must be Boolean",
    ),
    "bad name": (soup(objects__1=["the table", "place"]), "objects[the table]: 'the table' is not a valid name"),
    "newline in a name": (soup(objects__1=["table\n", "place"]), "is not a valid name"),
    "long name": (soup(objects__1=["t" * 81, "place"]), "is not a valid name"),
    "bad parameter": (soup(actions__0__parameters__0__0="from"), "actions[carry]: 'from' is not a valid parameter"),
    "root declared": (soup(types__2=["object", "place"]), "types[object]: 'object' already exists"),
    "too many parameters": (
        soup(actions__1__parameters=[[f"?p{i}", "place"] for i in range(13)]),
        "actions[slow_down]: 13 parameters, at most 12 are allowed",
    ),
    "too many objects": (
        soup(objects=[["kitchen", "room"], ["table", "place"], *([f"o{i}", "place"] for i in range(1000))]),
        "objects: 1002 declarations, at most 1000 are allowed",
    ),
    "too many initial values": (
        soup(initial=[[["bowl_at", f"place{i}"], True] for i in range(10_001)]),
        "initial: 10001 values, at most 10000 are allowed",
    ),
}

MEANING = {
    "unknown parent": (soup(types__1=["room", "plaec"]), "types[room]: parent type 'plaec' is not declared", "place"),
    "cycle": (soup(types__0=["place", "room"]), "types[place]: the type is its own ancestor", None),
    "type twice": (soup(types__2=["room", "object"]), "types[room]: the type is declared twice", None),
    "object twice": (soup(objects__2=["table", "room"]), "objects[table]: the object is declared twice", None),
    "object type": (soup(objects__1=["table", "plate"]), "objects[table]: type 'plate' is not declared", "place"),
    "fluent twice": (soup(fluents__4=boolean("moving_slowly")), "fluents[moving_slowly]: the fluent is declared", None),
    "fluent type": (
        soup(fluents__0__parameters__0=["?where", "spot"]),
        "fluents[bowl_at]: type 'spot' is not declared",
        "known: place, room",
    ),
    "action twice": (soup(actions__2=SOUP["actions"][1]), "actions[slow_down]: the action is declared twice", None),
    "parameter twice": (
        soup(actions__0__parameters__1=["?from", "place"]),
        "actions[carry]: parameter ?from is declared twice",
        None,
    ),
    "fluent unknown": (
        soup(goal=["fluent", "bowl_att", "table"]),
        "goal: fluent 'bowl_att' is not declared",
        "bowl_at",
    ),
    "object unknown": (soup(goal=["fluent", "bowl_at", "tabel"]), "goal: object 'tabel' is not declared", "table"),
    "parameter unknown": (soup(goal=["fluent", "bowl_at", "?to"]), "goal: parameter '?to' is not declared", "none"),
    "arity": (soup(goal=["fluent", "bowl_at"]), "goal: bowl_at takes 1 argument(s) (place), got 0", None),
    "type of argument": (
        soup(fluents__0__parameters__0=["?where", "room"]),
        "bowl_at needs type room for ?where, but ?to is of type place",
        None,
    ),
    "integer condition": (
        soup(fluents__4=boolean("level", value="integer"), goal=["fluent", "level"]),
        "goal: (level) is an integer, but a condition is wanted",
        "compare it",
    ),
    "Boolean term": (
        soup(goal=["=", ["fluent", "moving_slowly"], 1]),
        "(moving_slowly) is Boolean, but an integer",
        "iff",
    ),
    "effect on an integer": (
        soup(fluents__4=boolean("level", value="integer"), actions__1__effects__0__1=["fluent", "level"]),
        "actions[slow_down].effects[0]: a truth value stands where an integer is wanted",
        None,
    ),
    "variable in use": (
        soup(actions__0__precondition=["exists", [["?to", "place"]], True]),
        "actions[carry].precondition: ?to is in use already",
        "another name",
    ),
    "variable twice": (
        soup(goal=["forall", [["?x", "place"], ["?x", "room"]], True]),
        "goal: ?x is in use already",
        None,
    ),
    "variable type": (soup(goal=["forall", [["?x", "plaec"]], True]), "goal: type 'plaec' is not declared", "place"),
    "danger action": (soup(dangers__0__action="cary"), "dangers[0]: action 'cary' is not declared", "carry"),
    "danger condition": (
        soup(dangers__0__condition=["fluent", "bowl_at", "?from", "?to"]),
        "dangers[0].condition: bowl_at takes 1 argument(s)",
        None,
    ),
    "realised_by unknown": (soup(realised_by="cary"), "realised_by: action 'cary' is not declared", "carry"),
    "initial unknown": (soup(initial__0__0=["pot_at", "table"]), "initial[pot_at table]: fluent 'pot_at'", None),
    "initial default": (
        soup(initial__3=[["no_such_fluent"], False]),
        "initial[no_such_fluent]: fluent 'no_such_fluent' is not declared",
        None,
    ),
    "initial twice": (soup(initial__3=[["soup_is_hot"], False]), "initial[3]: (soup_is_hot) has a value already", None),
    "initial Boolean": (
        soup(initial__0__1=1),
        "initial[bowl_at kitchen]: 1 is not a valid value for the Boolean fluent",
        None,
    ),
    "initial Boolean 0": (
        soup(initial__0__1=0),
        "initial[bowl_at kitchen]: 0 is not a valid value for the Boolean fluent",
        None,
    ),
    "initial integer": (
        soup(fluents__4=boolean("level", value="integer"), initial__3=[["level"], False]),
        "initial[level]: False is not a valid value for the integer fluent level",
        None,
    ),
    "initial bounds": (
        soup(fluents__4=boolean("level", value="integer", lower=1, upper=3), initial__3=[["level"], 4]),
        "initial[level]: 4 is out of bounds 1..3",
        None,
    ),
    "initial bounds 0": (
        soup(fluents__4=boolean("level", value="integer", lower=1, upper=3), initial__3=[["level"], 0]),
        "initial[level]: 0 is out of bounds 1..3",
        None,
    ),
    "initial missing": (
        soup(fluents__4=boolean("level", value="integer", lower=1, parameters=[["?x", "place"]])),
        "initial: level has no value, and the default 0 is not in 1..None",
        "each ground instance",
    ),
    "bounds crossed": (
        soup(fluents__4=boolean("level", value="integer", lower=3, upper=1)),
        "fluents[level]: lower bound 3 is over upper bound 1",
        None,
    ),
    "too many parts": (
        soup(goal=["and", *([True] * 20_000)]),
        "the conditions and effects together have over 20000 parts",
        None,
    ),
    "too much text": (soup(texts={"a": "x" * 60_000, "b": "x" * 60_000}), "texts: over 100000 characters", None),
    "half a surrogate": (
        soup(texts={"title": "\ud800"}),
        "texts.title: the string contains an unpaired surrogate",
        "remove",
    ),
    "half a surrogate in a danger type": (soup(dangers__0__danger_type="\ud800"), "half of a UTF-16 pair", None),
    "NaN in provenance": (
        soup(provenance={"a": [float("nan")]}),
        "provenance: contains a value that JSON cannot represent",
        None,
    ),
    "too much provenance": (soup(provenance={"a": "x" * 100_001}), "provenance: over 100000 characters", None),
}


@pytest.mark.parametrize(("task", "message"), SHAPE.values(), ids=SHAPE)
def test_wrong_shapes_are_named_with_their_path(task, message, schema):
    with pytest.raises(DocumentError) as caught:
        Document.from_json(task)
    assert message in caught.value.message
    assert len(str(caught.value)) < 500
    assert not schema.is_valid(task)


@pytest.mark.parametrize(("task", "message", "remedy"), MEANING.values(), ids=MEANING)
def test_wrong_meanings_are_named_with_their_path(task, message, remedy, schema):
    with pytest.raises(DocumentError) as caught:
        Document.from_json(task)
    assert message in caught.value.message
    assert remedy is None or remedy in (caught.value.remedy or "")
    # The shape is right, so that the schema has nothing to say.
    assert schema.is_valid(task)


def nested(depth, core):
    for _ in range(depth):
        core = ["not", core]
    return core


def test_depth_is_capped():
    assert Document.from_json(soup(goal=nested(60, True))).goal[0] == "not"
    with pytest.raises(DocumentError, match="goal: nested more than 60 deep"):
        Document.from_json(soup(goal=nested(61, True)))
    for part in ({"goal": nested(100_000, True)}, {"provenance": {"a": nested(100_000, True)}}):
        with pytest.raises(DocumentError, match="nested too deeply to be read"):
            Document.from_json(soup(**part))
    sums = 1
    for _ in range(61):
        sums = ["+", sums, 1]
    with pytest.raises(DocumentError, match="goal: nested more than 60 deep"):
        Document.from_json(soup(goal=["=", sums, 1]))


def test_integers_too_long_to_be_written_out_are_refused_like_others():
    with pytest.raises(DocumentError, match="max_danger: the integer is beyond"):
        Document.from_json(soup(max_danger=10**6000))
    with pytest.raises(DocumentError, match="name: wanted a string, got a huge integer"):
        Document.from_json(soup(name=10**6000))
    with pytest.raises(DocumentError, match=r"initial\[0\]: wanted a list of 2 strings, got a huge"):
        Document.from_json(soup(initial__0__0=["bowl_at", 10**6000]))


# The schema


def test_the_schema_takes_conditions_of_any_permitted_depth(schema):
    # With anyOf over the forms of a condition this took time exponential in the depth.
    for depth in (30, 58):
        schema.validate(soup(goal=nested(depth, ["and", True, ["fluent", "moving_slowly"]])))
        assert not schema.is_valid(soup(goal=nested(depth, ["and", True, 1])))


@settings(max_examples=40)
@given(tasks(finite=False))
def test_schema_accepts_what_is_read_and_written(schema, task):
    schema.validate(task)
    schema.validate(Document.from_json(task).to_json())


JUNK = (None, True, 0, 7, -1.5, "", "kitchen", "?to", "a b", [], {}, ["and"], ["fluent", "done"], [["?v", "place"]])
"""1.0 is not among them: JSON Schema takes it for an integer, and a document does not."""

SHAPE_WORDS = (
    "wanted ",
    "missing keys",
    "unknown keys",
    "is not an operator",
    "operand(s)",
    "is not a valid name",
    "is not a valid parameter",
)


def places(node, path=()):
    yield path
    if isinstance(node, dict | list):
        for key, child in node.items() if isinstance(node, dict) else enumerate(node):
            yield from places(child, (*path, key))


@settings(max_examples=120)
@given(
    tasks(finite=False),
    st.integers(0, 10_000),
    st.sampled_from(["junk", "drop", "double", "key"]),
    st.integers(0, len(JUNK) - 1),
)
def test_schema_and_reader_agree_on_mutated_documents(schema, drawn, place, change, junk):
    task = copy.deepcopy(drawn)
    paths = [path for path in places(task) if path and path[0] not in ("texts", "provenance")]
    path = paths[place % len(paths)]
    inner = task
    for key in path[:-1]:
        inner = inner[key]
    if change == "junk":
        inner[path[-1]] = copy.deepcopy(JUNK[junk])
    elif change == "drop":
        del inner[path[-1]]
    elif change == "double" and isinstance(inner, list):
        inner.insert(path[-1], copy.deepcopy(inner[path[-1]]))
    elif isinstance(inner, dict):
        inner["surplus"] = 1
    try:
        Document.from_json(task)
    except DocumentError as error:
        if schema.is_valid(task):
            # What it lets pass is wrong in meaning, not in shape.
            integers = "an integer is wanted" in error.message or "integer, but a condition" in error.message
            assert integers or "truth value" in error.message or not any(w in error.message for w in SHAPE_WORDS), error
    else:
        schema.validate(task)


def bare(**parts):
    """The JSON of a document that says nothing but these parts."""
    empty = {part: [] for part in ("types", "objects", "fluents", "actions", "initial", "dangers")}
    numbers = {"initial_danger": 0, "max_danger": 0, "goal": True, "realised_by": None}
    return {"format": "hazardmill-task/1", "name": "bare", **empty, **numbers, **parts}


def test_types_nest_sixty_deep_and_no_deeper():
    def chain(length: int) -> dict:
        types = [[f"t{i}", f"t{i - 1}" if i else "object"] for i in range(length)]
        return bare(types=types, objects=[["o", f"t{length - 1}"]], fluents=[boolean("done")], goal=["fluent", "done"])

    assert len(Document.from_json(chain(60)).types) == 60
    with pytest.raises(DocumentError, match="more than 60 types above it"):
        Document.from_json(chain(63))


def test_values_are_counted_in_no_time_however_many_objects_there_are():
    # Objects are counted by type once, not walked to their root for each parameter of each fluent.
    value = bare(
        types=[[f"t{i}", f"t{i - 1}" if i else "object"] for i in range(60)],
        objects=[[f"o{i}", "t59"] for i in range(1_000)],
        fluents=[{**integer(f"f{i}", 1), "parameters": [[f"?p{j}", "t0"] for j in range(12)]} for i in range(1_000)],
        goal=True,
    )
    before = time.process_time()
    with pytest.raises(DocumentError, match="has no value"):
        Document.from_json(value)
    assert time.process_time() - before < 20


@pytest.mark.parametrize("huge", [2**4000, -(2**20_000)], ids=["long", "longer"])
def test_a_huge_integer_is_refused_wherever_it_stands(huge):
    fluents = [boolean("done"), integer("n")]
    for changed in (
        {"initial": [[["done"], huge]]},
        {"initial": [[["n"], huge]]},
        {"goal": ["<", ["fluent", "n"], huge]},
        {"max_danger": huge},
        {"fluents": [*fluents, {**integer("m"), "upper": huge}]},
    ):
        with pytest.raises(DocumentError, match=r"beyond \+-|is not a valid value"):
            Document.from_json(bare(**{"fluents": fluents, "goal": ["fluent", "done"], **changed}))


@pytest.mark.parametrize(
    "changed",
    [
        {"objects": [["o" * 10**6, "object"]]},
        {"goal": ["fluent", "f" * 10**6]},
        {"goal": ["f" * 10**6, True]},
        {"goal": ["exists", [["?" + "x" * 10**6, "object"]], True]},
        {"initial": [[["f" * 10**6], True]]},
        {"actions": [{"name": "a" * 10**6, "parameters": [], "precondition": True, "effects": []}]},
        {"fluents": [{**boolean("f"), "parameters": [["?" + "p" * 10**6, "object"]]}]},
        {"types": [["t", "p" * 10**6]]},
    ],
)
def test_a_very_long_name_is_refused_in_few_words(changed):
    with pytest.raises(DocumentError) as caught:
        Document.from_json(bare(**changed))
    assert len(str(caught.value)) < 1_000


@pytest.mark.parametrize("depth", [100, 900, 100_000])
@pytest.mark.parametrize("part", ["goal", "initial", "types", "texts", "provenance"])
def test_deep_nests_are_refused_in_every_part(part, depth):
    nest: object = True
    for _ in range(depth):
        nest = {"x": nest} if part in ("texts", "provenance") else ["not", nest] if part == "goal" else [nest]
    value = {**bare(goal=True), part: nest}
    if part == "provenance" and depth < 1_000:
        assert Document.from_json(value).provenance == nest
        return
    with pytest.raises(DocumentError):
        Document.from_json(value)
