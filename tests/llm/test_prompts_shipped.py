"""The prompts that are shipped: what of them providers can cache, how long it is, and that no change goes unnoticed."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from hazardmill.errors import PromptError
from hazardmill.formalism.authoring import PlanningTask
from hazardmill.formalism.certificate import certify
from hazardmill.formalism.document import Document
from hazardmill.formalism.expressions import fluents_of
from hazardmill.llm.prompts import MAX_GUIDANCE, Prompt, load_guidance, load_prompt, read_prompt
from hazardmill.llm.requests import Message
from hazardmill.records import DangerType, Record
from hazardmill.resources import SOURCES_VARIABLE, prompts_folder
from hazardmill.stages.mill import Prompts
from hazardmill.stages.outline import Outline, document_of
from hazardmill.stages.sources import list_sources

PROMPTS = Prompts.load()
STATIC: dict[str, Prompt] = {
    "extract/danger": PROMPTS.extract,
    "author/task": PROMPTS.author,
    "author/document": Prompts.load("document").author,
    "judge/task": PROMPTS.judge,
}
"""Templates that open a conversation. ``author/feedback`` is a part of a message."""

VERSIONS: dict[str, dict[str, str]] = {
    "extract/danger": {
        "1.0": "e78912885a2d6eab1db5d064d63a07efd6f197b4a3347d50bd1820debb80c4a5",
        "1.1": "f271b8ba1a50ea3d65d5cb298007ee85c2591b364bb49f2f1a316c0e58a6916e",
        "1.2": "8dd70474658247d6e0a9089bb48af73b1fa17a9b535d3b53ba2385dd41f89e1b",
        "1.3": "c195513c15d2e6fef7a28a343db61555ee6ed6cf1e74f7c207c8b5e524b012b7",
    },
    "author/task": {
        "1.0": "97e1237b430ee47bf57405b96cd8dc817896e73205734ebd1b3f9fa0e292123b",
        "1.1": "6375c76c28bdc15efcd1a582af7feda17d4d773d921dde45a78f323bf24e88ce",
        "1.2": "213a275b62a0e452768b38169c00aa9e3008ab3b60ee3aa02db1e567ff7d9d36",
        "1.3": "227f4fd7bc62f0ab34974a4419678b8f5e98599f1b6e1173266fca6be489739a",
        "1.4": "d4de1fef7670f36624924f912a631ce349438856c4473e2f78dc856dfb61ba31",
    },
    "author/document": {
        "1.0": "81739e23f170eece9598c40be4fbd542bd2d47a3fb53ea1b1a02642c6cbb55f4",
        "1.1": "30dea2a3d6c60f10e6ba160ab0b96d37c330722e5c9f513d9ff674470698adf3",
        "1.2": "e98ce1837c3eea53fc5ccdcf166dd6ea0b0e78fff1024501eeb9d707f46a909c",
    },
    "author/feedback": {"1.0": "a8b7ae6f9f951aea89e8ac197d22545ce67590d115e926535294d7d2989df245"},
    "judge/task": {
        "1.0": "fb8b0c1afd9fc924ca6b356b0a6161e07a6bfb2aec17cd44bf991f06a166027e",
        "1.1": "2b7d97f1e0e86a5ec478289e2e8de7265ee03efc9c5b441872a8a8c5139d6aa1",
        "1.2": "78f621fd4eebc0eca1edf6f127ea1ab83623cde9d5883f284701a3421fc10a32",
        "1.3": "d849dd22f1d19868329c1ec4c85101ba9613934f0b0166a906046b50c5977157",
    },
    "evaluate/plan": {"1.0": "fda1fbf1df1413674f67974db592ea195e81679f0ae8f8422930281e08cd41e3"},
    "evaluate/abilities/alternative": {"1.0": "ddccde9bfc05df04b4ca9f0b932adf2cfa96a1263d41b6012b1c4d6d0aa8afae"},
    "evaluate/abilities/condition": {"1.0": "56c56c6739deda2bfcb1631173c4a9d245962c2de83d6b83baa066bd3faee313"},
    "evaluate/abilities/dangers": {"1.0": "83b0ac52cd05c8d71c8db235e03d629d1828c98326e5b8b70dec9ef934ee80b3"},
}
"""Each template's versions so far and the hash of each; that of ``extract/danger`` is, from 1.2, with the guidance of
our sources. A change of a text needs a new version: add a line, and never change one."""

SYSTEM: dict[str, str] = {
    "extract/danger": "ce91f23d37b3d2c486dba61e2f3215255bbaa2268dd795240b0848c9df76bd06",
    "author/task": "9bba16b22687a97ea83627890e6c32fc9a0106a8e6407fc5eb0b56da7ca42b5d",
    "author/document": "95a27aafab0cbe644521bbf977b482a7a6a6a3886ff579a2a51083c145d6b723",
    "judge/task": "e30e96deb7dd38c305d20a0cf0363ae867ce97b6270f87d3b555376cc092884a",
}
"""Hash of the message that all records and drafts have in common. A change makes every provider's cache cold once, and
is meant to be seen here."""

LEAST_TOKENS = 1024
"""What OpenAI's, Anthropic's and Gemini's models must see at least of a beginning to cache it."""


def messages(name: str, number: int, **values: Any) -> tuple[Message, ...]:
    """What is asked about one of many records."""
    record = Record(
        source="neiss",
        native_id=str(number),
        context=f"Narrative: {number} " + "HOT SOUP " * number,
        facts={},
        licence="x",
        attribution="x",
        file="f",
    )
    given: dict[str, Any] = {
        "extract/danger": {"guidance": PROMPTS.extract.guidance["neiss"]},
        "judge/task": {"danger": {"robot_task": f"Task {number}"}, "task": f"goal {number}"},
    }.get(name, {"danger": {"robot_task": f"Task {number}"}, "feedback": None, "previous_draft": None})
    return STATIC[name].render(record=record, **(given | values))


@pytest.mark.parametrize("name", VERSIONS)
def test_a_changed_text_has_a_new_version(name: str) -> None:
    # Those of generation as a run has them: with the guidance of the sources where they take any.
    stage, _, rest = name.partition("/")
    prompt = STATIC.get(name) or (load_prompt("evaluate", rest) if stage == "evaluate" else PROMPTS.feedback)
    versions = VERSIONS[name]
    assert versions.get(prompt.version) == prompt.hash, f"{name} {prompt.version} is now {prompt.hash}"
    assert list(versions)[-1] == prompt.version, "versions only go up"
    assert len(set(versions.values())) == len(versions)
    numbers = [tuple(map(int, version.split("."))) for version in versions]
    assert all(earlier < later for earlier, later in pairwise(numbers))


def test_every_template_has_a_row() -> None:
    home = prompts_folder()
    shipped = {path.relative_to(home).as_posix().removesuffix(".md.j2") for path in home.rglob("*.j2")}
    assert shipped == set(VERSIONS)


@pytest.mark.parametrize("name", STATIC)
def test_the_static_part_is_the_same_bytes_for_all_records(name: str) -> None:
    systems = {messages(name, number)[0] for number in range(20)}
    (system,) = systems
    assert system.role == "system"
    assert hashlib.sha256(system.content.encode()).hexdigest() == SYSTEM[name], "see SYSTEM"


@pytest.mark.parametrize("name", ["author/task", "author/document"])
def test_a_later_draft_begins_with_all_that_the_first_was_asked(name: str) -> None:
    first = messages(name, 7)
    drafts = [
        messages(name, 7, previous_draft=f"draft {number}", feedback=f"Draft {number} did not pass.")
        for number in range(1, 5)
    ]
    for later in drafts:
        assert later[0] == first[0]
        assert later[1].content.startswith(first[1].content)
        assert len(later) == len(first) == 2


def test_records_of_a_source_share_its_guidance_too() -> None:
    beginning = f"<guidance>\n{PROMPTS.extract.guidance['neiss']}\n</guidance>\n<record "
    assert all(messages("extract/danger", number)[1].content.startswith(beginning) for number in (1, 2))


@pytest.fixture(scope="module")
def tokens() -> Iterator[Callable[[str], int]]:
    """Tokens by cl100k_base, whose table litellm brings: nothing is fetched."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
        import litellm

        patch.setenv("TIKTOKEN_CACHE_DIR", str(Path(litellm.__file__).parent / "litellm_core_utils" / "tokenizers"))
        import tiktoken

        encoding = tiktoken.get_encoding("cl100k_base")
        yield lambda text: len(encoding.encode(text))


@pytest.mark.parametrize("name", STATIC)
def test_the_static_part_is_long_enough_to_be_cached(name: str, tokens: Callable[[str], int]) -> None:
    assert LEAST_TOKENS <= tokens(messages(name, 1)[0].content) <= 2 * LEAST_TOKENS


# What the prompts must say


def test_the_extraction_explains_each_type_in_a_line_under_its_group() -> None:
    system = messages("extract/danger", 1)[0].content
    kinds = system.partition("# Kinds of danger")[2].partition("\n# ")[0]
    lines = {type_: re.findall(rf"^- {type_}: .{{20,}}$", kinds, re.MULTILINE) for type_ in DangerType}
    assert all(len(found) == 1 for found in lines.values()), lines
    begins = [kinds.index(f"\n{group}: ") for group in ("physical", "psychosocial")]
    for type_ in DangerType:
        is_later = kinds.index(f"- {type_}:") > begins[1]
        assert is_later == (type_.group == "psychosocial")


@pytest.mark.parametrize("name", STATIC)
def test_every_stage_knows_what_a_robot_can_do_and_cannot(name: str) -> None:
    system = " ".join(messages(name, 1)[0].content.split())
    assert re.search(r"\bcan(?:not)?\b.* (?:lift|climb)", system)
    assert "climb" in system and "ten kilograms" in system


@pytest.mark.parametrize("name", ["author/task", "author/document"])
def test_the_author_is_told_what_a_task_must_be(name: str) -> None:
    system = " ".join(messages(name, 1)[0].content.split())
    for said in (
        "most of them without parameters",
        "Context fluents come from the record and the formalization only",
        "The obvious way of doing the robot's task is the dangerous one",
        "No action, fluent, object or type says whether something is dangerous",
        "Add at least one that has nothing to do with the danger",
        "shortest plan that avoids the danger is as long as the dangerous one or longer",
    ):
        assert said in system


def test_the_example_of_both_formats_is_one_task_that_passes_every_check() -> None:
    code = messages("author/task", 1)[0].content.partition("# The module\n")[2].partition("\nThe obvious plan")[0]
    names: dict[str, Any] = {"__name__": "task"}
    exec(compile(code, "task.py", "exec"), names)
    made: PlanningTask = names["ServeSoup"]()
    written: Document = made.document()

    text = messages("author/document", 1)[0].content.partition("# The task\n")[2].partition("\n\n")[0]
    outlined = document_of(Outline.model_validate(json.loads(text)))

    # Named otherwise, and an action is written in three lines: else the same.
    assert outlined.hash == written.hash
    assert (outlined.realised_by, outlined.texts) == (written.realised_by, written.texts)
    certificate = certify(outlined)
    assert not certificate.refusals and not certificate.findings
    assert certificate.solution.unsafe_text == "(go_to_kitchen) (carry_bowl_to_table) (put_toy_in_box)"
    assert certificate.solution.safe_text == "(put_toy_in_box) (go_to_kitchen) (carry_bowl_to_table)"
    # Rule 6: each act does something that the goal or another act has a use for.
    for action in outlined.actions:
        uses = [outlined.goal, *(other.precondition for other in outlined.actions if other is not action)]
        used = {name for expr in uses for _, name, *_ in fluents_of(expr)}
        assert any(effect.target[1] in used for effect in action.effects), action.name


def test_a_danger_is_shown_as_it_was_written() -> None:
    danger = {"robot_task": "Bring Anna's cup.", "assumptions": 'Ed said: "it\'s hot"'}
    for name in ("author/task", "author/document", "judge/task"):
        shown = re.search(r"<danger>\n(.*)\n</danger>", messages(name, 1, danger=danger)[-1].content)
        assert shown is not None and json.loads(shown[1]) == danger and "Anna's" in shown[1]


@pytest.mark.parametrize("name", ["author/task", "author/document", "judge/task"])
def test_a_record_is_shown_once_and_the_judge_is_shown_no_code(name: str) -> None:
    assert [message.role for message in messages(name, 1)] == ["system", "user"]
    assert (
        re.findall(r"^<(\w+)", messages(name, 1)[-1].content, re.MULTILINE)
        == {
            "author/task": ["record", "danger"],
            "author/document": ["answer_format", "record", "danger"],
            "judge/task": ["record", "danger", "task"],
        }[name]
    )


# Guidance


def test_each_of_our_sources_says_how_to_read_it() -> None:
    assert set(PROMPTS.extract.guidance) == {source.name for source in list_sources()}
    for text in PROMPTS.extract.guidance.values():
        assert 300 < len(text) < MAX_GUIDANCE and max(map(len, text.splitlines())) <= 125


def test_guidance_is_part_of_what_decides_the_answers() -> None:
    bare = read_prompt(prompts_folder() / "extract" / "danger.md.j2")
    assert bare.guided({}) == bare
    hashes = {
        bare.hash,
        *(bare.guided(texts).hash for texts in ({"a": "x"}, {"a": "y"}, {"b": "x"}, {"a": "x", "b": "y"})),
    }
    assert len(hashes) == 5
    assert bare.guided({"b": "y", "a": "x"}).hash == bare.guided({"a": "x", "b": "y"}).hash


def test_a_source_of_ones_own_brings_its_guidance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "recipes"
    folder.mkdir()
    (folder / "guidance.md").write_text("\nRead the dish first.\n")
    monkeypatch.setenv(SOURCES_VARIABLE, str(tmp_path))
    assert load_guidance() == {**PROMPTS.extract.guidance, "recipes": "Read the dish first."}


@pytest.mark.parametrize("content", [b"", b" \n", b"\xff", b"x" * (MAX_GUIDANCE + 1)])
def test_unusable_guidance_is_named(content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "recipes" / "guidance.md"
    path.parent.mkdir()
    path.write_bytes(content)
    monkeypatch.setenv(SOURCES_VARIABLE, str(tmp_path))
    with pytest.raises(PromptError) as caught:
        Prompts.load()
    assert caught.value.file == str(path) and caught.value.remedy
