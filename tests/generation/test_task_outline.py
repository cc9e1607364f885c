from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from hazardmill.errors import DocumentError
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.proofs.cause_facts import NamedCauses
from hazardmill.generation.task_outline import OUTLINE_FORMAT, Outline, document_of

SERVING: dict[str, Any] = {
    "title": "Bring the cups to the tables.",
    "realised_by": "carry",
    "types": ["place: counter, shelf", "table(place): left, right", "cup: mug"],
    "fluents": "robot_at(place), cup_at(cup, place), slow, level(c: cup): 0..3, steps: integer",
    "context": "mug_is_hot = true, busy(table)",
    "initially": "robot_at(counter), cup_at(mug, counter), busy(right), level(mug) = 2",
    "actions": [
        "go(start: place, end: place): robot_at(start) and start != end"
        " -> robot_at(end), not robot_at(start), steps += 1",
        "slow_down: -> slow",
        "carry(to: table): cup_at(mug, counter) and level(mug) >= 1"
        " -> cup_at(mug, to), not cup_at(mug, counter), level(mug) -= 1 if not slow",
    ],
    "goal": "any(cup_at(mug, t) for t in table)",
    "dangers": ["carry: mug_is_hot and busy(to) and not slow"],
    "danger_type": "thermal",
}


def outlined(**changes: Any) -> Document:
    return document_of(Outline.model_validate(SERVING | changes))


def test_an_outline_says_the_whole_document() -> None:
    document = outlined()
    assert Document.from_json(document.to_json()) == document
    assert document.name == "BringCupsToTables"
    assert dict(document.texts) == {"title": "Bring the cups to the tables."}
    assert document.formal_json() == {
        "types": [["cup", "object"], ["place", "object"], ["table", "place"]],
        "objects": [["counter", "place"], ["shelf", "place"], ["left", "table"], ["right", "table"], ["mug", "cup"]],
        "fluents": [
            fluent("busy", "table", kind="context"),
            fluent("cup_at", "cup", "place"),
            fluent("level", "cup", value="integer", lower=0, upper=3),
            fluent("mug_is_hot", kind="context"),
            fluent("robot_at", "place"),
            fluent("slow"),
            fluent("steps", value="integer"),
        ],
        "actions": [
            {
                "name": "carry",
                "parameters": [["?to", "table"]],
                "precondition": [
                    "and",
                    ["fluent", "cup_at", "mug", "counter"],
                    [">=", ["fluent", "level", "mug"], 1],
                ],
                "effects": [
                    ["assign", ["fluent", "cup_at", "mug", "?to"], True, True],
                    ["assign", ["fluent", "cup_at", "mug", "counter"], False, True],
                    ["decrease", ["fluent", "level", "mug"], 1, ["not", ["fluent", "slow"]]],
                ],
            },
            {
                "name": "go",
                "parameters": [["?start", "place"], ["?end", "place"]],
                "precondition": ["and", ["fluent", "robot_at", "?start"], ["not", ["same", "?start", "?end"]]],
                "effects": [
                    ["assign", ["fluent", "robot_at", "?end"], True, True],
                    ["assign", ["fluent", "robot_at", "?start"], False, True],
                    ["increase", ["fluent", "steps"], 1, True],
                ],
            },
            {
                "name": "slow_down",
                "parameters": [],
                "precondition": True,
                "effects": [["assign", ["fluent", "slow"], True, True]],
            },
        ],
        "initial": [
            [["busy", "right"], True],
            [["cup_at", "mug", "counter"], True],
            [["level", "mug"], 2],
            [["mug_is_hot"], True],
            [["robot_at", "counter"], True],
        ],
        "goal": ["exists", [["?t", "table"]], ["fluent", "cup_at", "mug", "?t"]],
        "dangers": [
            {
                "action": "carry",
                "condition": [
                    "and",
                    ["fluent", "mug_is_hot"],
                    ["fluent", "busy", "?to"],
                    ["not", ["fluent", "slow"]],
                ],
                "increment": 1,
                "danger_type": "thermal",
            }
        ],
        "initial_danger": 0,
        "max_danger": 0,
    }


def fluent(name: str, *types: str, kind: str = "normal", value: str = "boolean", **bounds: int) -> dict[str, Any]:
    parameters = [[f"?p{place}", type_] for place, type_ in enumerate(types, 1)]
    none = {"lower": None, "upper": None}
    return {"name": name, "parameters": parameters, "kind": kind, "value": value, **none, **bounds}


@pytest.mark.parametrize(
    "changes",
    [
        {"realised_by": "carry(to: table)"},
        {"dangers": ["carry(to): mug_is_hot and busy(to) and not slow"]},
        {"dangers": ["carry ( to: table ) : mug_is_hot and busy(to) and not slow"]},
        {"initially": f"{SERVING['initially']}, mug_is_hot, not slow, busy(left) = false"},
        {"context": "mug_is_hot, busy(table)", "initially": f"mug_is_hot, {SERVING['initially']}"},
        {"fluents": "robot_at(place), cup_at(cup, place), slow = false, level(cup): 0..3, steps: integer = 0"},
        {
            "actions": [
                SERVING["actions"][0],
                "slow_down->slow",
                SERVING["actions"][2].replace(":", " : ").replace(",", " ,"),
            ]
        },
        {"types": ["place: counter,shelf,", " table ( place ):left, right", "cup :mug"]},
        {"fluents": ["robot_at(place)", "cup_at(cup,place)", "slow", "level(cup): 0 .. 3", "steps: .."]},
        {"fluents": SERVING["fluents"].replace(", ", ",\n "), "initially": SERVING["initially"] + ","},
    ],
)
def test_the_same_said_a_little_otherwise(changes: dict[str, Any]) -> None:
    assert outlined(**changes) == outlined()


def test_commas_in_brackets_do_not_end_an_effect() -> None:
    effects = "slow if implies(mug_is_hot, cup_at(mug, shelf)), steps += 1, not cup_at(mug, counter)"
    written = outlined(actions=[*SERVING["actions"][:1], f"carry(to: table): -> {effects}"]).actions[0].effects
    assert {(effect.operation, effect.target[1]) for effect in written} == {
        ("assign", "slow"),
        ("increase", "steps"),
        ("assign", "cup_at"),
    }


def test_an_integer_starts_where_its_declaration_says() -> None:
    document = outlined(fluents=SERVING["fluents"].replace("steps: integer", "steps: 0..9 = 4"))
    assert dict(document.initial)["steps",] == 4


def test_a_title_of_any_text_names_a_class() -> None:
    for title, name in (("3 cups, and a saucer!", "Task3CupsAndASaucer"), ("Éclairs", "Clairs"), ("!", "Task")):
        assert outlined(title=title).name == name


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"realised_by": "fly"}, "realised_by: action 'fly' is not declared"),
        ({"actions": [], "dangers": []}, "actions: there are none"),
        ({"dangers": []}, "dangers: there are none"),
        ({"types": ["place = counter"]}, r"types\[0\]: 'place = counter' cannot be read"),
        ({"types": ["place(a, b): counter"]}, r"types\[place\]: 2 parents"),
        ({"types": ["object: counter"]}, "`object` is the built-in type of all objects"),
        ({"types": ["place: the counter"]}, r"types\[place\]: 'the counter' is not a valid name"),
        ({"types": ["in: counter"]}, r"types\[0\]: 'in' is not a valid name"),
        ({"fluents": "level: many"}, r"fluents\[level\]: 'many' is not a range"),
        ({"fluents": "level: 3..0"}, "lower bound 3 is over upper bound 0"),
        ({"fluents": "near(object)"}, "fluent near: `object` is the built-in type of all objects"),
        ({"fluents": "slow, slow"}, "declared twice"),
        ({"context": "heat: 0..5"}, r"context\[heat\]: '0..5' has no meaning here"),
        ({"fluents": "slow = "}, r"fluents\[slow\]: .* cannot be read"),
        ({"fluents": "robot_at(place) = true"}, r"fluents\[0\]: .* does not say for which object"),
        ({"context": "busy(table) = true"}, r"context\[0\]: .* does not say for which object"),
        ({"initially": "level(mug) += 1"}, r"initially\[0\]: .* is not a valid initial value"),
        ({"initially": "level(mug) = steps"}, "is not a valid initial value"),
        ({"initially": "slow if mug_is_hot"}, "is not a valid initial value"),
        ({"initially": "slow, not slow"}, r"\(slow\) has a value already"),
        ({"initially": "level(mug) = 9"}, "out of bounds"),
        ({"goal": "cup_at(mug)"}, "goal: cup_at takes 2"),
        ({"goal": "robot_at(moon)"}, "object 'moon' is not declared"),
        ({"goal": "slwo"}, "'slwo' is not declared"),
        ({"goal": "level(mug)"}, "is an integer, but a condition is wanted"),
        ({"dangers": ["fly: mug_is_hot"]}, "action 'fly' is not declared"),
        ({"dangers": ["carry: busy(table)"]}, "object 'table' is not declared"),
        ({"dangers": ["carry(left): mug_is_hot"]}, r"dangers\[0\]: carry\(left\) does not repeat the parameters"),
        (
            {"dangers": ["slow_down(left): mug_is_hot"]},
            r"dangers\[0\]: slow_down\(left\) does not repeat the parameters",
        ),
        ({"actions": ["carry(to): -> slow"]}, "'to' is not a valid parameter"),
        ({"actions": ["carry: mug_is_hot"]}, r"actions\[0\]: .* has no effects"),
        ({"actions": ["carry: fast -> slow"]}, r"'fast' is not declared"),
        ({"actions": ["carry(is: cup): -> slow"]}, "'is' is not a valid name"),
        ({"actions": ["carry(x: object): ->"]}, "`object` is the built-in type"),
        ({"actions": ["carry: -> slow, fly away"]}, r"actions\[carry\]: 'fly away'"),
    ],
)
def test_a_broken_outline_is_refused_with_the_place(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(DocumentError, match=message):
        outlined(**changes)


def test_thousands_of_blanks_are_read_in_no_time() -> None:
    """Models that go astray write them; tried in every way, 2,000 took ten seconds and 8,000 an hour."""
    blanks = " " * 100_000
    for types in (f"place{blanks}x: counter", f"place{blanks}(x){blanks}y", f"place: counter{blanks}y"):
        with pytest.raises(DocumentError, match="types"):
            outlined(types=[types])
    with pytest.raises(DocumentError, match="actions"):
        outlined(actions=[f"carry: -> slow{blanks}down"])
    assert outlined(types=[f"{blanks}{kind}{blanks}" for kind in SERVING["types"]]) == outlined()


def test_the_schema_for_providers_takes_what_the_reader_takes_and_all_of_it_is_asked_for() -> None:
    schema = OUTLINE_FORMAT["json_schema"]["schema"]
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    # Outlines of older versions have no causes; whoever is asked now is asked for them.
    whole = {**SERVING, "causes": ["changing: slow"], "obvious": ""}
    validator.validate(whole)
    for key in Outline.model_fields:
        assert not validator.is_valid({name: value for name, value in whole.items() if name != key})
    # What strict schemas of providers may hold.
    assert schema["required"] == list(Outline.model_fields) == list(whole)
    text = json.dumps(schema)
    assert not any(word in text for word in ("$ref", "anyOf", "minLength", "prefixItems", "pattern"))
    assert text.count('"additionalProperties": false') == text.count('"type": "object"') == 1


# Causes


def test_an_outline_names_causes() -> None:
    plain = outlined()
    assert (plain.causes, plain.obvious) == (None, None)
    named = outlined(causes=["changing: slow", "fixed: mug_is_hot, busy(to)"], obvious=" The counter is near. ")
    assert named.causes == NamedCauses(("slow",), ("mug_is_hot", "busy"))
    assert named.obvious == "The counter is near." and named.hash == plain.hash
    told = outlined(causes=["changing: not slow, level(mug) >= 1, carry"])
    assert told.causes == NamedCauses(("slow", "level", "carry"), ())


@pytest.mark.parametrize("cause", ["slow", "moving: slow", "changing: 3", "changing: flying"])
def test_causes_that_cannot_be_read_are_told_with_their_mend(cause: str) -> None:
    with pytest.raises(DocumentError, match=r"^causes") as caught:
        outlined(causes=[cause])
    assert caught.value.remedy
