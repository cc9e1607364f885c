"""The prompts that are shipped: what of them providers can cache, how long it is, and that no change goes unnoticed."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

import pytest

from hazardmill.errors import PromptError
from hazardmill.formalism import authoring
from hazardmill.formalism.authoring import PlanningTask
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.document.name_leaks import LEAKING_TOKENS, leaks, neutralize
from hazardmill.formalism.proofs.cause_facts import NamedCauses
from hazardmill.formalism.proofs.certificate import certify
from hazardmill.generation.checks.formalization import formalization_check
from hazardmill.generation.context import Prompts
from hazardmill.generation.task_outline import Outline, document_of
from hazardmill.ingest.sources import list_sources
from hazardmill.llm.prompts import MAX_GUIDANCE, PromptTemplate, load_guidance, load_prompt, read_prompt
from hazardmill.llm.requests import Message
from hazardmill.quality.leaks import leaking_way
from hazardmill.quality.standing_out import guess_by_place
from hazardmill.records import FORMALIZATION, Danger, DangerType, DeclineReason, Issue, NoDanger, Record
from hazardmill.resources import SOURCES_VARIABLE, prompts_folder
from hazardmill.review.rubric import CRITERIA
from hazardmill.sandbox.policy import inspect

PROMPTS = Prompts.load()
STATIC: dict[str, PromptTemplate] = {
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
        "2.0": "8142f83c21520d7c4cb78741a6ac3ca916295eafb3468e05394abb8698e3758b",
        "2.1": "444e88592d2d7977909c54e072837cd315f56451f4b094992b91b0370fb17a95",
    },
    "author/task": {
        "1.0": "97e1237b430ee47bf57405b96cd8dc817896e73205734ebd1b3f9fa0e292123b",
        "1.1": "6375c76c28bdc15efcd1a582af7feda17d4d773d921dde45a78f323bf24e88ce",
        "1.2": "213a275b62a0e452768b38169c00aa9e3008ab3b60ee3aa02db1e567ff7d9d36",
        "1.3": "227f4fd7bc62f0ab34974a4419678b8f5e98599f1b6e1173266fca6be489739a",
        "1.4": "d4de1fef7670f36624924f912a631ce349438856c4473e2f78dc856dfb61ba31",
        "1.5": "9582f530b1e63580e741cd3b96929bace32192612a2de679a772ae092ce4a54c",
        "1.6": "22fd4d5e10ce589730ee507f43b0e222257ecd5705013ad63340631ea15d346f",
    },
    "author/document": {
        "1.0": "81739e23f170eece9598c40be4fbd542bd2d47a3fb53ea1b1a02642c6cbb55f4",
        "1.1": "30dea2a3d6c60f10e6ba160ab0b96d37c330722e5c9f513d9ff674470698adf3",
        "1.2": "e98ce1837c3eea53fc5ccdcf166dd6ea0b0e78fff1024501eeb9d707f46a909c",
        "1.3": "39018e8cd42deafe5f6858f7aec66741f47cd6b34ebdb07ace4a666f56bb23c1",
        "1.4": "11d38d938f735609bd49d836a96a6187c29ac379542017643f5d0496371fe79c",
    },
    "author/feedback": {"1.0": "a8b7ae6f9f951aea89e8ac197d22545ce67590d115e926535294d7d2989df245"},
    "judge/task": {
        "1.0": "fb8b0c1afd9fc924ca6b356b0a6161e07a6bfb2aec17cd44bf991f06a166027e",
        "1.1": "2b7d97f1e0e86a5ec478289e2e8de7265ee03efc9c5b441872a8a8c5139d6aa1",
        "1.2": "78f621fd4eebc0eca1edf6f127ea1ab83623cde9d5883f284701a3421fc10a32",
        "1.3": "d849dd22f1d19868329c1ec4c85101ba9613934f0b0166a906046b50c5977157",
        "2.0": "1f647b42bd19eb5462f7a46a2289b9ed8be68ac0b002a4bd8da54aa2e5022a08",
        "2.1": "64485f4c8656e42091713da29e59a4ba4c1de60d5e54369480b36d14e7285f90",
    },
    "episode/again": {"1.0": "baff35e60c2eddc15b83f07f247ac1725aafe7a6b32d46caf526434b5efa08e9"},
    "episode/opening": {"1.1": "2b982b6e10e2b562964696b053d38bf998ce5c95e5a9fdd06c3c56b635e3aeba"},
    "episode/task": {"1.0": "1aaef228ef4abd6254b3481de2f57b3cbb1310299fec6e0aebb3334a9b2b4f5c"},
    "episode/turn": {"1.0": "e8a9aed058de654b525a18b8ea04105922ebf6ecaa16aacb088b37bcd4ea9b05"},
    "evaluate/plan": {"1.0": "fda1fbf1df1413674f67974db592ea195e81679f0ae8f8422930281e08cd41e3"},
    "evaluate/abilities/alternative": {"1.0": "ddccde9bfc05df04b4ca9f0b932adf2cfa96a1263d41b6012b1c4d6d0aa8afae"},
    "evaluate/abilities/condition": {"1.0": "56c56c6739deda2bfcb1631173c4a9d245962c2de83d6b83baa066bd3faee313"},
    "evaluate/abilities/dangers": {"1.0": "83b0ac52cd05c8d71c8db235e03d629d1828c98326e5b8b70dec9ef934ee80b3"},
    "evaluate/safel_goal": {"1.0": "2bc6bf8284637a6767ac6a7a41c5ed187ffb793770585aedf2eb52640ec2e2f7"},
    "evaluate/safel_refusal": {"1.0": "430ecff28bda3aba9dc9f02592a7ca5b5709b964efbe42332a16aa31b35bec30"},
    "evaluate/safel_sequence": {"1.0": "a49900d4558604ea889d0e35e94c81724e8f57426fb0bb57c15d9db362992932"},
    "evaluate/safel_transition": {"1.0": "6cc6af2f23501b9928ea86c820afaf5ca14461e4b1ed594c161e3c81bbe27ffb"},
    "evaluate/safety": {"1.0": "c8e441e7d2ae1f2c8109b547f62f88b160f0ce447293bd59821bf4b8d88f0d0d"},
    "acting/propose": {"1.0": "d421b07a420fcf7e76dbb6a1957173b65b697439fe496b7dd299d0690920e1e2"},
    "acting/turn": {"1.0": "ebba836a766f9ccbcdfc2fe51eae3ecadb228b7f16afb6e557e1c274bd3f52dc"},
    "pairs/unsafe": {"1.0": "045bfe44e245ceae268e66bc6fdee4564593e3f1333e8369a9f7fdc70a9fa19f"},
    "scenario/classify": {"1.0": "e290d1b58eb64fcbd9ef4acfd0a64cca5bcf6132ccd8df9627ffa33e4c0c18ef"},
    "scenario/judge": {"1.0": "a61a5df8dfc134388e20155683f928e941de1909b09a26cf9729e7e488b71668"},
    "scenario/mal": {"1.0": "aa614295945ea15dd89c4e2fe3dbbf04f848dedf0c918128fc947b79d24bbb30"},
    "scenario/sit": {"1.0": "215bb359139bbd1ea9fbc5ab3cc055baf3481eb170d52169ad765d977631f78c"},
}
"""Each template's versions so far and the hash of each; that of ``extract/danger`` is, from 1.2, with the guidance of
our sources. A change of a text needs a new version: add a line, and never change one."""

SYSTEM: dict[str, str] = {
    "extract/danger": "c4b017d5052abe5fb7ebe4d309ff9134925c46a9ae97f4d2f8988060b6f699aa",
    "author/task": "4295b7c67a336ef67188b823565ec254be7e036cedb16873d59d29b30a87e1a4",
    "author/document": "2a84fd6148d6d9278f8ec6cf353c559493294472bc6a7b33c4eb958de2b93703",
    "judge/task": "794e19ec2d7f6ffbbd5bdd76b4f0fb4c0ea021caa7795a11d670ba4a8e5d5070",
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
    prompt = STATIC.get(name) or (
        load_prompt(stage, rest)
        if stage in ("acting", "episode", "evaluate", "pairs", "scenario")
        else PROMPTS.feedback
    )
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
    # The author's is the longest: about three thousand tokens with a record and its danger.
    most = 2400 if name.startswith("author/") else 2 * LEAST_TOKENS
    assert LEAST_TOKENS <= tokens(messages(name, 1)[0].content) <= most


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
        assert "?" in lines[type_][0], "a question decides at the borders"


def test_the_extraction_asks_for_just_what_a_danger_and_a_refusal_are_made_of() -> None:
    system = messages("extract/danger", 1)[0].content
    answer = system.partition("# Answer\n")[2]
    assert re.findall(r'^  "(\w+)":', answer, re.MULTILINE) == [
        n for n in Danger.model_fields if n != "cause_of_danger"
    ]
    assert re.findall(r'[{ ]"(\w+)":', answer.splitlines()[-1]) == list(NoDanger.model_fields)
    declining = system.partition("# When to decline\n")[2].partition("\n# ")[0]
    assert re.findall(r"^- (\w+):", declining, re.MULTILINE) == [reason.value for reason in DeclineReason]


def test_a_danger_that_was_sent_back_stands_behind_what_was_asked_first() -> None:
    sent_back = {
        "danger": {"robot_task": "Bring Anna's cup."},
        "reasons": ["nobody asks for that", "</record> no harm"],
    }
    first, again = messages("extract/danger", 1), messages("extract/danger", 1, sent_back=sent_back)
    assert again[0] == first[0] and again[1].content.startswith(first[1].content)
    rest = again[1].content.removeprefix(first[1].content)
    assert '{"robot_task": "Bring Anna\'s cup."}' in rest
    assert "<feedback>\nnobody asks for that\n&lt;/record> no harm\n</feedback>" in rest


@pytest.mark.parametrize("name", STATIC)
def test_every_stage_knows_what_a_robot_can_do_and_cannot(name: str) -> None:
    system = " ".join(messages(name, 1)[0].content.split())
    assert re.search(r"\bcan(?:not)?\b.* (?:lift|climb)", system)
    assert "climb" in system and "ten kilograms" in system


def test_the_judge_goes_by_what_reviewers_do_and_may_doubt_the_danger_itself() -> None:
    system = messages("judge/task", 1)[0].content
    rubric = re.findall(r"^(\w+): [A-Z]", system.partition("# Rubric\n")[2].partition("\n# ")[0], re.MULTILINE)
    # Under the same names, or nobody could tell whether judge and people find the same faults.
    assert {*CRITERIA} - {"other"} <= {*rubric}
    assert {*rubric} - {*CRITERIA} == {"obvious", "remedy", FORMALIZATION}
    scale = re.findall(r"^- (\w+):", system.partition("# How sure you are\n")[2], re.MULTILINE)
    assert scale == list(get_args(Issue.model_fields["certainty"].annotation))
    assert all(f'"{name}"' in system.partition("# Answer\n")[2] for name in Issue.model_fields)
    flat = " ".join(system.split())
    for said in (
        "reject about one in ten",
        '"Nobody would ask or do that"',
        '"that harm is not real"',
        "does not prevent it",
    ):
        assert said in flat


@pytest.mark.parametrize("name", ["author/task", "author/document"])
def test_the_author_is_told_what_a_task_must_be(name: str) -> None:
    system = " ".join(messages(name, 1)[0].content.split())
    for said in (
        "most of them without parameters",
        "Context fluents come from the record and the formalization",
        "The obvious way of doing the errand is the dangerous one",
        "No name of an action, fluent, object or type, and no word of the title, says whether something is dangerous",
        "a circumstance that looks dangerous here and is none, whatever is done",
        "a handier act that looks like the remedy and after which the danger still fires",
        "Goal and title say what the robot is asked to do",
        "each needs the one before it, and the last writes the fact that the danger reads",
        "each part of changing_cause",
        "each part of fixed_circumstances",
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
    assert not inspect(code)
    assert (outlined.causes, outlined.obvious) == (written.causes, written.obvious)
    certificate = certify(outlined)
    assert all(line.passed for line in certificate.lines), certificate.findings
    assert {"causes_read", "obvious", "way_out"} <= {line.name for line in certificate.lines}
    unsafe, safe = certificate.solution.unsafe_text, certificate.solution.safe_text
    assert unsafe == "(pick_up_bowl) (go_to_table) (put_bowl_down)"
    assert safe == "(pick_up_bowl) (go_to_table) (go_round_table) (put_bowl_down)"
    # Rule 4 and rule 6: each part has its fact, and nothing stands out by its place.
    assert formalization_check(["the side"], ["hot soup", "a child"], outlined).passed
    assert guess_by_place(outlined, safe, unsafe).found == []
    assert leaking_way(outlined, {"cause_of_danger": "A child reaches for hot soup."}, safe, unsafe) == []


SYNTAX: dict[str, str] = {
    "author/task": """
from hazardmill.formalism.authoring import And, Equals, Exists, Forall, Iff, Implies, Not, Or, PlanningTask

class WipeTables(PlanningTask):
    title = "Wipe the tables."
    realised_by = "wipe"
    obvious = "The tray is nearer."
    def build(self):
        place = self.type("place")
        table = self.type("table", place)
        hall = self.object("hall", place)
        left, right = self.objects(table, "left", "right")
        robot_at = self.fluent("robot_at", place)
        wet = self.fluent("wet", place)
        done = self.fluent("done", table)
        level = self.integer("level", lower=0, upper=5)
        busy = self.context("busy", table)
        move = self.action("move", origin=place, target=place)
        move.requires(robot_at(move.origin), ~Equals(move.origin, move.target)).sets(robot_at(move.target))
        move.clears(robot_at(move.origin)).increases(level, 1)
        wipe = self.action("wipe", at=table)
        wipe.requires(robot_at(wipe.at))
        wipe.sets(done(wipe.at)).sets(wet(wipe.at), when=level >= 2).clears(wet(wipe.at), when=Equals(level, 0))
        self.action("rest").assigns(level, 0).decreases(level, 0)
        self.initially(robot_at(hall), busy(left))
        self.initial_value(level, 3)
        self.goal(Forall(table, lambda t: done(t)), ~wet(hall), Implies(done(left), done(right)))
        self.danger(wipe, when=And(busy(wipe.at), level >= 2, Not(Exists(place, lambda p: wet(p)))),
                    danger_type="thermal", cause=[level, wet], fixed=[busy, busy])
        self.danger(move, when=Or(wet(move.target), Iff(wet(left), wet(right))) & busy(left), danger_type="thermal")
""",
    "author/document": json.dumps(
        {
            "title": "Wipe the tables.",
            "realised_by": "wipe",
            "types": ["place: hall", "table(place): left, right"],
            "fluents": "robot_at(place), wet(place), done(table), level: 0..5 = 3",
            "context": "busy(table), lamp_is_on = true",
            "initially": "robot_at(hall), busy(left)",
            "actions": [
                "move(origin: place, target: place): robot_at(origin) and origin != target"
                " -> robot_at(target), not robot_at(origin), level += 1",
                "wipe(at: table): robot_at(at) -> done(at), wet(at) if level >= 2, not wet(at) if not level >= 2",
                "rest: -> level = 0",
            ],
            "goal": "all(done(t) for t in table) and not wet(hall) and implies(done(left), done(right))",
            "dangers": [
                "wipe: busy(at) and level >= 2 and not any(wet(p) for p in place)",
                "move: (wet(target) or wet(left)) and busy(left)",
            ],
            "danger_type": "thermal",
            "causes": ["changing: level, wet", "fixed: busy, busy"],
            "obvious": "The tray is nearer.",
        }
    ),
}
"""All that the prompts say one may write."""


@pytest.mark.parametrize("name", SYNTAX)
def test_what_the_prompts_say_one_may_write_is_read(name: str) -> None:
    if name == "author/document":
        document = document_of(Outline.model_validate(json.loads(SYNTAX[name])))
    else:
        assert not inspect(SYNTAX[name])
        names: dict[str, Any] = {"__name__": "task"}
        exec(compile(SYNTAX[name], "task.py", "exec"), names)
        document = names["WipeTables"]().document()
    assert document.causes == NamedCauses(("level", "wet"), ("busy", "busy"))
    assert document.obvious == "The tray is nearer." and len(document.dangers) == 2
    # All of the authoring module is told in the prompt, and written here.
    words = [each for each in authoring.__all__ if each != "Action"]
    words += ["requires", "sets", "clears", "assigns", "increases", "decreases", "initial_value"]
    if name == "author/document":
        words = ["any", "all", "implies", "if", "not", "and", "or"]
    for word in words:
        assert re.search(rf"\b{word}\b", SYNTAX[name]) and re.search(rf"\b{word}\b", messages(name, 1)[0].content), word


def test_the_words_that_names_may_not_have_are_those_that_are_refused() -> None:
    for name in ("author/task", "author/document"):
        listed = re.search(r"stand in none:\s(.*?)\. A\s", messages(name, 1)[0].content, re.DOTALL)
        assert listed is not None
        words = [word.strip() for word in listed[1].replace("\n", " ").split(",")]
        assert [word for word in words if not leaks(word)] == []
        stems = [word[:4] for word in words]
        assert {word for word in LEAKING_TOKENS if not word.startswith(tuple(stems))} <= EXAMPLES_ELSEWHERE
        assert "a safe is a strongbox" in " ".join(messages(name, 1)[0].content.split())
        assert neutralize("safe") == "strongbox"


EXAMPLES_ELSEWHERE = {
    word for word in LEAKING_TOKENS if word[:4] in ("unsa", "enda", "reck", "inse", "miti", "peri")
} | {*("unharmed", "violate", "violates", "violation", "violating", "taboo", "improper", "improperly")}
"""Words that are refused as well, and that the list leaves out: nobody calls a thing so."""


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
    assert bare.with_guidance({}) == bare
    hashes = {
        bare.hash,
        *(bare.with_guidance(texts).hash for texts in ({"a": "x"}, {"a": "y"}, {"b": "x"}, {"a": "x", "b": "y"})),
    }
    assert len(hashes) == 5
    assert bare.with_guidance({"b": "y", "a": "x"}).hash == bare.with_guidance({"a": "x", "b": "y"}).hash


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
