from __future__ import annotations

import json
import os
import subprocess
import sys
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import Indel

from hazardmill.errors import InputError
from hazardmill.quality.text import (
    BANDS,
    ROWS,
    THRESHOLD,
    CloseText,
    Spelling,
    Texts,
    fields_of,
    first_near,
    rouge_l,
    words,
)

SOUP = "Bring the hot soup from the kitchen to the table where the child sits."


def kept(*texts: str, threshold: float = THRESHOLD) -> Texts:
    pool = Texts(threshold)
    for text in texts:
        pool.keep(pool.prepare(text))
    return pool


def near(pool: Texts, text: str) -> list[CloseText]:
    return pool.near(pool.prepare(text))


def longest_common(one: list[str], other: list[str]) -> int:
    """Length of the longest common subsequence, as the textbook has it."""
    row = [0] * (len(other) + 1)
    for word in one:
        diagonal = 0
        for place, against in enumerate(other, 1):
            diagonal, row[place] = row[place], diagonal + 1 if word == against else max(row[place], row[place - 1])
    return row[-1]


def test_words_have_no_case_and_no_signs() -> None:
    assert words("The robot's \uff48\uff4f\uff54-plate, living_room; 3°C Straße") == (
        ["the", "robot", "s", "hot", "plate", "living", "room", "3", "c", "strasse"]
    )
    assert words("... --- \n") == []


def test_the_text_of_a_task_is_what_is_said_of_it_once() -> None:
    told = {
        "danger_type": "thermal",
        "robot_role": "waiter",
        "assumptions": "none",
        "result_of_danger": "A burn.",
        "setting": "kitchen",
        "robot_task": "bring the soup",
        "title": "Bring the soup!",
        "cause_of_danger": None,
    }
    assert fields_of(told) == ["Bring the soup!", "kitchen", "A burn."]
    assert fields_of({"setting": " - "}) == []


@given(*[st.lists(st.sampled_from("abcd"), min_size=1, max_size=12)] * 2)
def test_rouge_l_is_that_of_the_longest_common_subsequence(one: list[str], other: list[str]) -> None:
    expected = 2 * longest_common(one, other) / (len(one) + len(other))
    assert rouge_l(" ".join(one), " ".join(other)) == pytest.approx(expected)


@given(st.lists(st.lists(st.sampled_from("abcd"), max_size=12), min_size=1, max_size=6))
def test_the_first_near_text_is_the_first_whose_rouge_l_says_so(texts: list[list[str]]) -> None:
    spelling = Spelling()
    asked, *others = (" ".join(text) for text in texts)
    measured = [(str(place), rouge_l(text, asked)) for place, text in enumerate(others)]
    expected = next((each for each in measured if each[1] is not None and each[1] >= THRESHOLD), None)
    among = {str(place): spelling(words(text)) for place, text in enumerate(others)}
    assert first_near(spelling(words(asked)), among) == expected


def test_rouge_l_of_no_words_is_unknown() -> None:
    assert rouge_l("", SOUP) is None and rouge_l(SOUP, "?!") is None


def test_near_texts_come_in_the_order_in_which_they_were_kept() -> None:
    pool = kept("Mow the lawn behind the house.", SOUP.replace("soup", "stew"), SOUP, "")
    assert len(pool) == 4
    found = near(pool, SOUP.upper())
    assert [each.number for each in found] == [1, 2]
    assert found[0].similarity == pytest.approx(13 / 14) and found[1].similarity == 1
    assert near(pool, "Paint the fence.") == []


def test_a_text_right_at_the_threshold_is_near() -> None:
    one, other = "a b c d e f g h i j", "a b c d e f g x y z"
    assert rouge_l(one, other) == THRESHOLD
    # The index may miss one in 134 of such pairs; this one it finds.
    assert near(kept(one), other) == [CloseText(0, THRESHOLD)]


def test_a_higher_threshold_leaves_fewer() -> None:
    other = SOUP.replace("soup", "stew").replace("child", "guest")
    assert near(kept(SOUP), other) and not near(kept(SOUP, threshold=0.9), other)
    for wrong in (0.69, 1.01):
        with pytest.raises(InputError, match="threshold"):
            Texts(wrong)


def test_no_words_are_near_to_nothing() -> None:
    pool = kept("", "...", SOUP)
    assert near(pool, "") == near(pool, "!") == []
    assert [each.number for each in near(pool, SOUP)] == [2]


def test_what_was_asked_changes_no_later_answer() -> None:
    random = Random(7)
    texts = [edited(SOUP + " Mind the stairs and the sleeping dog.", random.randint(0, 12), random) for _ in range(300)]
    asked, silent = Texts(), Texts()
    for text in texts:
        near(asked, edited(text, 5, random))
        assert near(asked, text) == near(silent, text)
        for pool in (asked, silent):
            pool.keep(pool.prepare(text))


def test_the_vocabulary_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hazardmill.quality.text._CODE_POINTS", 0xE000 + 2)
    pool = Texts()
    last = 0xD800 - 1 + 2
    pool.prepare(" ".join(f"w{number}" for number in range(last)))
    with pytest.raises(InputError, match="a million different words"):
        pool.prepare("another")
    assert not any(0xD800 <= ord(letter) < 0xE000 for letter in pool.prepare("w55294 w55295 w55296").spelled)


def patterned(random: Random) -> str:
    return f"{random.choice(FILLERS)} {SOUP} Mind the {random.choice(NOUNS)} and the sleeping {random.choice(PEOPLE)}."


def test_of_each_kind_the_first_is_told_though_all_texts_are_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hazardmill.quality.text._AT_FIRST", 4)
    random, pool, kinds = Random(3), Texts(), []
    for _ in range(400):
        text = pool.prepare(patterned(random) if random.random() < 0.7 else invented(random))
        every = pool.near(text)
        first = {kinds[each.number]: each for each in reversed(every)}
        told = pool.near(text, lambda numbers: np.array(kinds, dtype=np.intp)[numbers])
        assert told == sorted(first.values(), key=lambda each: each.number)
        pool.keep(text)
        kinds.append(random.randrange(5))
    assert len(first) == 5 < len(every)


def test_where_all_share_bands_all_are_measured_and_none_is_missed() -> None:
    random = Random(4)
    assert recall_of([patterned(random) for _ in range(300)]) == (1.0, 300 * 299 // 2)


@given(*[st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=40)] * 2, st.sampled_from([0.7, 0.85, 1.0]))
def test_what_is_left_out_by_its_words_is_not_near(one: list[str], other: list[str], threshold: float) -> None:
    pool = kept(" ".join(one), threshold=threshold)
    asked = pool.prepare(" ".join(other))
    possible = pool._by_their_words(asked, np.arange(1, dtype=np.intp))
    likeness = Indel.normalized_similarity(one, other)
    assert len(possible) or likeness < threshold


def test_texts_of_other_words_are_left_out_before_they_are_measured() -> None:
    pool = kept("a b c d e f g h i j", "a b c d e k l m n o", "k l m n o p q r s t")
    asked = pool.prepare("a b c d e f g x y z")
    assert pool._by_their_words(asked, np.arange(3, dtype=np.intp)).tolist() == [0]


def test_bands_and_rows_keep_the_recall_whatever_the_texts() -> None:
    least = THRESHOLD / (2 - THRESHOLD)
    assert 1 - (1 - least**ROWS) ** BANDS >= 0.98


NOUNS = "soup bowl knife box ladder lamp plate crate kettle rug toy bottle vase drill cable".split()
PEOPLE = "child guest resident nurse toddler visitor colleague neighbour dog cat".split()
PLACES = "kitchen hallway bedroom stairs garage bathroom terrace corridor workshop pantry".split()
SENTENCES = (
    "Bring the {0} from the {2} to the {3}.",
    "A {1} walks through the {3} without looking.",
    "The {0} stands where the {1} reaches it.",
    "Carry the {0} past the {1} in the {2}.",
    "The {1} is hurt by the {0}.",
    "Put the {0} away first, or wait until the {1} has left the {3}.",
    "In the {2} nobody hears the {1}.",
    "Set the {0} down at the edge of the {3}.",
)
FILLERS = "slowly again very old left right two small heavy wet near early late quietly".split()


def invented(random: Random) -> str:
    chosen = random.sample(SENTENCES, random.randint(4, 6))
    return " ".join(
        sentence.format(random.choice(NOUNS), random.choice(PEOPLE), *random.sample(PLACES, 2)) for sentence in chosen
    )


def edited(text: str, edits: int, random: Random) -> str:
    """A text with so many words put in, left out or replaced."""
    parts = text.split()
    for _ in range(edits):
        place = random.randrange(len(parts))
        kind = random.randrange(3)
        parts[place : place + (kind > 0)] = [] if kind == 1 and len(parts) > 5 else [random.choice(FILLERS)]
    return " ".join(parts)


def recall_of(texts: list[str]) -> tuple[float, int]:
    """Share of near pairs found, against brute force, and how many there are."""
    pool, found = Texts(), set()
    for number, text in enumerate(texts):
        found |= {(number, each.number) for each in near(pool, text)}
        pool.keep(pool.prepare(text))
    split = [words(text) for text in texts]
    true = {
        (number, other)
        for number, one in enumerate(split)
        for other in range(number)
        if Indel.normalized_similarity(one, split[other]) >= THRESHOLD
    }
    assert found <= true, "a pair was said to be near that is not"
    return len(found) / len(true), len(true)


def test_recall_against_brute_force_on_invented_texts() -> None:
    random = Random(98)
    texts = [invented(random) for _ in range(300)]
    texts += [edited(text, random.randint(1, 12), random) for text in texts]
    random.shuffle(texts)
    recall, pairs = recall_of(texts)
    assert pairs > 200 and recall >= 0.98


def test_recall_against_brute_force_on_tasks(run_texts: list[str]) -> None:
    random = Random(99)
    texts = [edited(text, edits, random) for text in run_texts for edits in (0, 3, 8, 12)]
    recall, pairs = recall_of(texts)
    assert pairs > 200 and recall >= 0.98


@pytest.mark.full
def test_every_hash_seed_gives_the_same_answers(project) -> None:
    script = """
import json
from random import Random
from quality.test_text import Texts, edited, invented, near
random = Random(5)
texts = [edited(invented(random), random.randint(0, 3), random) for _ in range(60)]
pool, told = Texts(), []
for text in texts + [edited(text, 6, random) for text in texts]:
    told.append([[each.number, each.similarity] for each in near(pool, text)])
    pool.keep(pool.prepare(text))
print(json.dumps(told))
"""
    told = [
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(project / "tests")},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert told[0] == told[1] and sum(map(len, json.loads(told[0]))) > 40
