"""Maps of hazards: what they say, and what is wrong with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from hazardmill.errors import PlanningInputError
from hazardmill.hazards.map_reader import DEFAULT_MAP, load_map, read_map

from .kitchen import MAP

HEAD = "format: hazardmill-hazards/1\ncategories: [{name: broken, definition: It is damaged., origin: paper}]\n"
PROCESS = "process: [{action: pour, categories: [broken]}]"
TERMINATION = "termination: [{fluent: on, categories: [broken]}]"


def written(folder: Path, text: str) -> Path:
    path = folder / "map.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_shipped_map_has_the_four_categories_of_the_paper_and_four_of_ours() -> None:
    hazards = load_map(DEFAULT_MAP)
    assert [category.name for category in hazards.categories if category.origin == "paper"] == [
        "slip, trip and fall",
        "fire and heat",
        "broken",
        "water hazard",
    ]
    assert [category.name for category in hazards.categories if category.origin == "ours"] == [
        "electric shock",
        "poisoning and contamination",
        "cuts and punctures",
        "trapping and crushing",
    ]
    assert {name for rule in hazards.rules for name in rule.categories} == {each.name for each in hazards.categories}


def test_no_code_knows_a_category(project: Path) -> None:
    names = [category.name for category in load_map(DEFAULT_MAP).categories if " " in category.name]
    assert len(names) == 7
    for path in (project / "hazardmill").rglob("*.py"):
        if "scenarios" not in path.parts:
            text = path.read_text(encoding="utf-8")
            assert not [name for name in names if f'"{name}"' in text], path


def test_words_are_read_as_they_are_written(tmp_path: Path) -> None:
    hazards = load_map(written(tmp_path, MAP))
    assert hazards.termination[0].fluent == "on"
    assert hazards.termination[1].condition == "(open fridge)"
    assert (hazards.termination[1].place, hazards.termination[1].line) == ("termination[2]", 8)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 1, "the map is not a YAML mapping"),
        ("- a", 1, "the map is not a YAML mapping"),
        ("a: [", 1, "the map is not YAML"),
        ("format: other", 1, "the format is 'other', but this version reads 'hazardmill-hazards/1'"),
        ("categories: []", 1, "the format is None"),
        (f"{HEAD}rules: []", 3, "the map has the unknown key 'rules'"),
        (f"{HEAD}process: 7", 3, "process is not a list"),
        (f"{HEAD}{PROCESS}\n{PROCESS}", 4, "the map has the key 'process' twice"),
    ],
)
def test_what_is_no_map_is_refused(text: str, line: int, message: str, tmp_path: Path) -> None:
    with pytest.raises(PlanningInputError) as caught:
        read_map(written(tmp_path, text))
    assert message in caught.value.message and caught.value.remedy
    assert (caught.value.file, caught.value.line) == (str(tmp_path / "map.yaml"), line)


def test_a_file_that_is_not_there_or_is_not_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PlanningInputError, match="the map cannot be read"):
        read_map(tmp_path / "none.yaml")
    (tmp_path / "map.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(PlanningInputError, match="the map is not YAML"):
        read_map(tmp_path / "map.yaml")
    (tmp_path / "map.yaml").write_bytes(b"#" * 1_000_001)
    with pytest.raises(PlanningInputError, match="over 1000000 bytes"):
        read_map(tmp_path / "map.yaml")


BAD_RULES = {
    "no categories": ("process: [{action: fly}]", "process[1] has no categories"),
    "empty categories": ("process: [{action: fly, categories: []}]", "process[1] has no categories"),
    "undeclared": (
        "process: [{action: fly, categories: [burned]}]",
        "process[1].categories: the category 'burned' is not declared",
    ),
    "no action": ("process: [{categories: [broken]}]", "process[1] has no action"),
    "unknown key": ("process: [{action: fly, categories: [broken], if: x}]", "process[1] has the unknown key 'if'"),
    "no mapping": ("process: [fly]", "process[1] is not a mapping"),
    "no parentheses": ("process: [{action: fly, categories: [broken], when: wet}]", "process[1].when: 'wet' has no"),
    "no PDDL": (
        'process: [{action: fly, categories: [broken], when: "(not)"}]',
        "process[1].when: not takes 1 part(s), got 0",
    ),
    "free variable": (
        'process: [{action: fly, categories: [broken], when: "(wet ?x)"}]',
        "process[1].when: the variable ?x is not declared",
    ),
    "free variable at the end": (
        'termination: [{condition: "(wet ?1)", categories: [broken]}]',
        "termination[1].condition: the variable ?1 is not declared",
    ),
    "many arguments": (
        f"process: [{{action: fly, categories: [broken], arguments: [{', '.join('a' * 13)}]}}]",
        "process[1].arguments has 13 items",
    ),
    "arguments": ("process: [{action: fly, categories: [broken], arguments: {a: b}}]", "arguments is not a list"),
    "half a character": (
        'process: [{action: "fly\\ud800", categories: [broken]}]',
        "process[1].action contains an unpaired surrogate",
    ),
    "nested": ("process: [{action: fly, categories: [[broken]]}]", "process[1].categories[1] is not text"),
    "both": (
        'termination: [{condition: "(wet)", fluent: on, categories: [broken]}]',
        "termination[1] has a condition, but also counts facts",
    ),
    "neither": ("termination: [{categories: [broken]}]", "termination[1] has neither condition nor fluent"),
    "at least nothing": (
        "termination: [{fluent: on, at_least: 0, categories: [broken]}]",
        "termination[1].at_least is '0'",
    ),
}


@pytest.mark.parametrize(("text", "message"), BAD_RULES.values(), ids=BAD_RULES)
def test_a_wrong_rule_is_named_and_the_others_are_read(text: str, message: str, tmp_path: Path) -> None:
    other = TERMINATION if text.startswith("process") else PROCESS
    path = written(tmp_path, f"{HEAD}{text}\n{other}\n")
    reading = read_map(path)
    (problem,) = reading.problems
    assert message in problem.message and problem.remedy
    assert (problem.file, problem.line) == (str(path), 3)
    assert len(reading.hazards.rules) == 1
    with pytest.raises(PlanningInputError):
        load_map(path)


@pytest.mark.parametrize(
    ("category", "message"),
    [
        ("{name: a, definition: b}", "categories[2] has no origin"),
        ("{name: a, definition: b, origin: theirs}", "categories[2].origin is 'theirs'"),
        ("{name: broken, definition: b, origin: ours}", "categories[2]: the category 'broken' is declared twice"),
        (f"{{name: {'a' * 81}, definition: b, origin: ours}}", "categories[2].name has over 80 characters"),
    ],
)
def test_a_wrong_category_is_named(category: str, message: str, tmp_path: Path) -> None:
    reading = read_map(written(tmp_path, f"{HEAD[:-2]}, {category}]\n{PROCESS}\n"))
    assert [message in problem.message for problem in reading.problems] == [True]
    assert len(reading.hazards.rules) == 1
