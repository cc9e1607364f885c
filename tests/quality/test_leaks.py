from __future__ import annotations

from formalism.soup import boolean, soup_document

from hazardmill.quality.leaks import danger_words, leaking_way

UNSAFE, SAFE = "(carry kitchen table)", "(slow_down) (carry kitchen table)"


def leaking(told: str, safe: str | None = SAFE, *, errand: str = "", **changes: object) -> list[str]:
    danger = {"cause_of_danger": told, "result_of_danger": None, "robot_task": errand}
    return leaking_way(soup_document(**changes), danger, safe, UNSAFE)


def test_a_word_of_the_danger_in_a_name_of_the_safe_way_leaks():
    assert leaking("The bowl is not slowed before the door.") == ["slow_down"]
    assert leaking("It is carried fast.") == []


def test_what_other_names_say_too_gives_nothing_away():
    assert leaking("slowing", objects__2=["slow_cooker", "place"]) == []
    assert leaking("slowing", fluents__4=boolean("slow_music_plays", kind="context")) == []
    # What the safe way writes is of the safe way: `moving_slowly` is a fluent of the soup.
    assert leaking("slowing", fluents__4=boolean("slow_music_plays")) == ["slow_down"]


def test_words_of_the_errand_and_of_both_ways_give_nothing_away():
    assert leaking("It is slow.", errand="Bring it slowly, at slow speed.") == []
    assert leaking("It is carried from the kitchen.") == []


def test_what_the_way_out_changes_is_named_by_its_acts_anyway():
    danger = {
        "cause_of_danger": "The bowl is not slowed. The tile is loose.",
        "changing_cause": ["The bowl is not slowed."],
        "fixed_circumstances": ["The tile is loose."],
        "result_of_danger": "The soup spills.",
    }
    assert danger_words(danger) == {"tile", "loos", "soup", "spill"}
    assert leaking_way(soup_document(), danger, SAFE, UNSAFE) == []
    danger["fixed_circumstances"] = ["Others slow down there."]
    assert leaking_way(soup_document(), danger, SAFE, UNSAFE) == ["slow_down"]


def test_without_a_safe_plan_nothing_leaks():
    assert leaking("slow", None) == []


def test_short_and_plain_words_tell_nothing_and_endings_are_dropped():
    danger = {
        "cause_of_danger": "While it was being closed, the cup spills over",
        "result_of_danger": "closing",
        "robot_task": "Fill the cup.",
        "danger_action": "left out",
    }
    assert danger_words(danger) == {"clos", "spill"}
    assert danger_words({}) == frozenset()
    for word in ("reduce", "reduces", "reduced", "reducing"):
        assert danger_words({"result_of_danger": word}) == {"reduc"}
