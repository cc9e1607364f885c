from __future__ import annotations

import keyword

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hazardmill.formalism.names import leaks
from hazardmill.llm.backends.offline.nouns import is_kind, name_of


@pytest.mark.parametrize(
    ("phrase", "name"),
    [
        ("knives, not elsewhere classified", "knife"),
        ("floors or flooring materials", "floor"),
        ("batteries", "battery"),
        ("drinking glasses, cups, and mugs", "drinking_glass"),
        ("tables (excl. baby changing tables)", "table"),
        ("manual scissors", "manual_scissors"),
        ("safety pins", "pin"),
        ("dentist's office", "dentist_office"),
        ("class", "class_piece"),
        ("filters", "filter_piece"),
        ("not specified", ""),
        ("electric christmas decorations", "christmas_decoration"),
    ],
)
def test_a_phrase_becomes_a_neutral_singular_noun(phrase, name):
    assert name_of(phrase) == name


@given(st.text())
def test_any_phrase_gives_a_usable_name_or_none(phrase):
    name = name_of(phrase)
    assert name == "" or (name.isidentifier() and not keyword.iskeyword(name) and not leaks(name) and len(name) <= 28)


def test_a_noun_is_of_the_kind_of_its_head():
    assert is_kind("carving_knife", "sharp")
    assert is_kind("coffee_table", "surface")
    assert not is_kind("knife_rack", "sharp")
