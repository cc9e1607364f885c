from __future__ import annotations

import pytest

from hazardmill.formalism.document.name_leaks import (
    LEAKING_TOKENS,
    NEUTRAL_NOUNS,
    leaking_names,
    leaks,
    neutralize,
    tokens,
)

from .soup import action, boolean, soup, soup_document


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("move_safely", ["safely"]),
        ("SafetyPin", ["safety"]),
        ("safety-pin", ["safety"]),
        ("is_UNSAFE", ["unsafe"]),
        ("grab2safe", ["safe"]),
        ("hot_risky_careful_path", ["risky", "careful"]),
        ("HazardZone1", ["hazard"]),
        ("safari", []),
        ("asterisk", []),
        ("brisk_walk", []),
        ("harmonica", []),
        ("endangerment_free", []),
        ("goods", []),
        ("charm", []),
    ],
)
def test_tokens_not_substrings(name, found):
    assert leaks(name) == found


def test_tokens():
    assert tokens("PutDown_the-HTTPServer2") == ["put", "down", "the", "http", "server", "2"]


@pytest.mark.parametrize("token", ["safe", "unsafe", "danger", "risky", "careful"])
def test_the_tokens_that_the_design_names(token):
    assert token in LEAKING_TOKENS


@pytest.mark.parametrize(("noun", "name"), NEUTRAL_NOUNS.items())
def test_the_table_gives_neutral_names(noun, name):
    assert not leaks(name)
    assert neutralize(noun) == name
    assert neutralize(noun.replace("_", " ").upper()) == name
    # Applied twice it changes nothing more.
    assert neutralize(name) == name


def test_other_nouns_keep_their_tokens():
    assert neutralize("Coffee Table (2)") == "coffee_table_2"


VISIBLE = {
    "type": soup(types__2=["safe_spot", "object"]),
    "object": soup(objects__2=["risky_corner", "place"]),
    "fluent": soup(fluents__4=boolean("is_dangerous")),
    "parameter of bowl_at": soup(fluents__0__parameters__0=["?safe_place", "place"]),
    "action": soup(actions__2=action("carefully")),
    "parameter of put": soup(actions__2=action("put", parameters=[["?safe_spot", "place"]])),
    "variable in put": soup(actions__2=action("put", ["exists", [["?harmful", "place"]], True])),
    "variable in wipe": soup(
        actions__2=action(
            "wipe", effects=[["assign", ["fluent", "moving_slowly"], True, ["forall", [["?unsafe", "place"]], True]]]
        )
    ),
    "variable in the goal": soup(goal=["exists", [["?safest", "place"]], ["fluent", "bowl_at", "?safest"]]),
}


@pytest.mark.parametrize("where", VISIBLE)
def test_every_visible_name_is_looked_at(where):
    from hazardmill.formalism.document.document import Document

    ((place, _, _),) = leaking_names(Document.from_json(VISIBLE[where]))
    assert place == where


def test_what_is_hidden_may_say_so():
    hidden = ["exists", [["?unsafe", "place"]], ["fluent", "bowl_at", "?unsafe"]]
    assert leaking_names(soup_document(dangers__0__condition=hidden, name="UnsafeSoup")) == []
