from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from huggingface_hub import DatasetCard, DatasetCardData
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from hazardmill.authors import Author
from hazardmill.release.build.configs import CONFIGS
from hazardmill.release.documents import figures
from hazardmill.release.documents.card import card, front_matter, notice, write_card
from hazardmill.release.documents.card_context import Facts
from hazardmill.release.documents.licences import OTHER, licence_name
from hazardmill.release.gates.findings import GateFinding, GateResult
from hazardmill.release.manifest import Attribution, Model, Parent, ReleasedPrompt, Review
from hazardmill.statistics.estimate import Estimate, Proportion

from .miniature import facts_of, made_up, miniature, task
from .test_markdown import HOSTILE

ROWS = {
    ("tasks", "train"): [task(1), task(2)],
    ("tasks", "test"): [task(3)],
    ("plans", "train"): [{"task_id": "bddl-000000000001", "kind": "safe"}],
    ("tasks_by_sa", "train"): [task(9, source="normbank", licence="CC-BY-SA-4.0")],
}
GATE = GateResult("licence", "every task comes under a licence that is known", 4, ())


def facts(folder: Path, rows: Any = ROWS, *, other: dict[str, Any] | None = None, **manifest: Any) -> Facts:
    said = {"licences": {"MIT": 3, "CC-BY-SA-4.0": 1}, **manifest}
    return facts_of(miniature(folder, "1.2.0", rows, **said), rows, **{"gates": (GATE,), **(other or {})})


@pytest.fixture(autouse=True)
def no_drawing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures have tests of their own, and take their time."""
    if "drawn" not in request.fixturenames:
        monkeypatch.setattr(figures, "figures", lambda facts: [])


@pytest.fixture
def drawn() -> None:
    """With figures all the same."""


def text_of(written: str) -> str:
    return written.split("\n---\n", 1)[1]


def section(written: str, title: str) -> str:
    return written.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]


def parsed(text: str) -> list[Token]:
    return MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(text)


# ── front matter ─────────────────────────────────────────────────────────────────────────────────────────────


def test_the_front_matter_is_what_the_hub_reads(tmp_path: Path) -> None:
    assert write_card(tmp_path, facts(tmp_path)) == ["README.md"]

    data = DatasetCard.load(tmp_path / "README.md").data

    assert isinstance(data, DatasetCardData)
    assert data.license == ["mit", "cc-by-sa-4.0"]
    assert (data.language, data.size_categories) == (["en"], ["n<1K"])
    assert data.pretty_name == "hall-tasks 1.2.0"
    assert "pddl" in data.tags
    assert data.to_dict()["configs"] == [
        {
            "config_name": "tasks",
            "data_files": [
                {"split": "train", "path": "data/tasks/train.parquet"},
                {"split": "test", "path": "data/tasks/test.parquet"},
            ],
            "default": True,
        },
        {"config_name": "plans", "data_files": [{"split": "train", "path": "data/plans/train.parquet"}]},
        {"config_name": "tasks_by_sa", "data_files": [{"split": "train", "path": "data/tasks_by_sa/train.parquet"}]},
    ]
    infos = {info["config_name"]: info for info in data.to_dict()["dataset_info"]}
    assert {name: [(it["name"], it["num_examples"]) for it in info["splits"]] for name, info in infos.items()} == {
        "tasks": [("train", 2), ("test", 1)],
        "plans": [("train", 1)],
        "tasks_by_sa": [("train", 1)],
    }
    assert [feature["name"] for feature in infos["plans"]["features"]] == CONFIGS["plans"].schema.names
    # What is not known is left out: no file says how much memory its rows take.
    assert infos["tasks"]["download_size"] > 0 and "dataset_size" not in infos["tasks"]


def test_a_reviewed_release_of_scenarios_alone_loads_scenarios_by_default(tmp_path: Path) -> None:
    rows = {("reviews", "train"): [{"task_id": "bddl-sit-9"}], ("scenarios", "train"): [{"scenario_id": "bddl-sit-9"}]}

    found = facts(tmp_path, rows, scenarios=1)

    assert [each["config_name"] for each in front_matter(found)["configs"] if "default" in each] == ["scenarios"]
    assert 'load_dataset("ORG/NAME", "scenarios", split="train"' in card(found)


def test_a_release_of_share_alike_tasks_alone_has_a_default_too(tmp_path: Path) -> None:
    rows = {("tasks_by_sa", "test"): [task(9, licence="CC-BY-SA-4.0")]}

    (config,) = front_matter(facts(tmp_path, rows, licences={"CC-BY-SA-4.0": 1}))["configs"]

    assert (config["config_name"], config["default"]) == ("tasks_by_sa", True)


def test_a_licence_that_the_hub_does_not_know_is_in_the_file_of_licences(tmp_path: Path) -> None:
    front = front_matter(facts(tmp_path, licences={"Public domain (of a government)": 4}))

    assert (front["license"], front["license_link"]) == (["other"], "LICENSES.md")


@pytest.mark.parametrize(
    ("tasks", "size"), [(999, "n<1K"), (1_000, "1K<n<10K"), (12_279, "10K<n<100K"), (2_000_000, "1M<n<10M")]
)
def test_the_size_has_the_name_that_the_hub_has_for_it(tmp_path: Path, tasks: int, size: str) -> None:
    assert front_matter(facts(tmp_path, tasks=tasks))["size_categories"] == [size]


# ── what must be known first ─────────────────────────────────────────────────────────────────────────────────


def first_line(written: str) -> str:
    return text_of(written).lstrip().splitlines()[0]


def test_the_first_line_says_that_tasks_are_offline_authored(tmp_path: Path) -> None:
    line = first_line(card(facts(tmp_path, offline=3, policy="none", waived={"corpus": "too few"})))

    assert line.startswith("> **Offline-authored: 3 of 4 tasks.**")
    assert "offline-author" in line
    assert "**Nobody reviewed these tasks**" in line
    assert "**Gates waived**: corpus (too few)." in line


def test_the_first_line_says_that_answers_were_recorded_elsewhere(tmp_path: Path) -> None:
    assert first_line(card(facts(tmp_path, recorded=1))).startswith("> **Recorded elsewhere: 1 of 4 tasks.**")


def test_the_first_line_says_that_nobody_reviewed(tmp_path: Path) -> None:
    assert first_line(card(facts(tmp_path, policy="none"))).startswith("> **Nobody reviewed these tasks**")


def test_the_first_line_names_local_models(tmp_path: Path) -> None:
    line = first_line(card(facts(tmp_path, local_models=("home/small", "home/large"))))

    assert line.startswith("> **Local models**: home/small, home/large answered")


def test_without_any_of_it_the_title_is_first(tmp_path: Path) -> None:
    it = facts(tmp_path)

    assert notice(it) is None
    assert first_line(card(it)) == "# hall-tasks 1.2.0"


# ── the text ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_configs_are_told_with_rows_by_split_and_columns_with_types(tmp_path: Path) -> None:
    told = section(card(facts(tmp_path)), "Configs and columns")

    assert "| `tasks` | 3 | 2 | 0 | 1 | " in told
    assert "| `tasks_by_sa` | 1 | 1 | 0 | 0 | " in told
    for column in CONFIGS["plans"].columns:
        assert f"| `{column.name}` | {column.type} | {column.doc} |" in told
    assert re.findall(r"Columns of <code>(\w+)", told) == ["tasks", "plans"]


def test_the_way_of_the_records_is_told_with_figures(tmp_path: Path) -> None:
    told = section(card(facts(tmp_path, left_out={"rejected": 2})), "How it was made")

    assert "| records | 8 | 100.0 % |" in told
    assert "| no danger in it | 4 | 50.0 % |" in told
    assert "| rejected | 2 |" in told


def test_share_alike_rows_have_a_section_of_their_own(tmp_path: Path) -> None:
    told = section(card(facts(tmp_path)), "Licences and credits")

    assert "### Rows under CC BY-SA" in told
    assert "(NormBank: CC BY-SA 4.0): 1." in told
    assert "`tasks_by_sa`" in told


def test_the_suffix_of_share_alike_configs_is_explained_before_it_is_used(tmp_path: Path) -> None:
    said = text_of(card(facts(tmp_path)))
    first = said.index("_by_sa")
    assert said[first:].startswith("_by_sa` in the name of a config means share-alike, as in CC BY-SA: what is made")
    free = {place: held for place, held in ROWS.items() if "by_sa" not in place[0]}
    assert "_by_sa" not in text_of(card(facts(tmp_path / "free", free, licences={"MIT": 3})))


def test_without_share_alike_rows_there_is_no_such_section(tmp_path: Path) -> None:
    rows = {("tasks", "train"): [task(1)]}

    assert "CC BY-SA" not in section(card(facts(tmp_path, rows, licences={"MIT": 1})), "Licences and credits")


def test_gates_say_what_they_found(tmp_path: Path) -> None:
    waived = GateResult("corpus", "figures are in bounds", 4, (GateFinding(None, "m", "r"),) * 3, "four tasks only")

    told = section(card(facts(tmp_path, other={"gates": (GATE, waived)})), "What is proved, and what is not")

    assert "| licence | every task comes under a licence that is known | 4 | passed |" in told
    assert "| corpus | figures are in bounds | 4 | waived: four tasks only; 3 findings |" in told


def test_models_prompts_and_cost_are_told(tmp_path: Path) -> None:
    told = section(card(facts(tmp_path)), "Models, prompts and cost")

    assert "| extract | m/one | m/one | litellm | 8 |" in told
    assert "| extract | 1.0.0 | abababababab |" in told
    assert "cost $0.500 by the prices that the runs used, $0.125 per released task" in told.replace("&#36;", "$")
    assert "| m/one | 0.28 | 0.028 | 0.42 | 2025-12-01 | its price page |" in told
    assert "from its prompt alone" not in told


def test_recorded_answers_are_told_to_be_of_the_model_from_the_prompt_alone(tmp_path: Path) -> None:
    recorded = Model(stage="extract", asked="recorded", answered="claude", backend="recorded", calls=3)
    told = section(card(facts(tmp_path, models=(recorded,))), "Models, prompts and cost")

    assert "| extract | recorded | claude | recorded | 3 |" in told
    assert "answered each request from its prompt alone" in told


def test_thresholds_that_were_set_are_told_first(tmp_path: Path) -> None:
    line = first_line(card(facts(tmp_path, thresholds={"commonest_way_out": 0.8})))

    assert line.startswith("> **Thresholds of the corpus changed for this release**: `commonest_way_out` 0.8.")


@pytest.mark.parametrize(
    ("known", "said"), [(0.3, "the known part, by the prices that the runs used, is $0.300"), (None, "not known")]
)
def test_a_cost_that_is_not_known_is_not_told_as_nothing(tmp_path: Path, known: float | None, said: str) -> None:
    told = section(card(facts(tmp_path, usd=None, usd_known=known)), "Models, prompts and cost").replace("&#36;", "$")

    assert said in told
    assert "$0.00" not in told


def test_the_review_is_told_with_rates_and_agreement_and_without_names(tmp_path: Path) -> None:
    agreement = SimpleNamespace(
        fleiss=Estimate(value=0.71, low=0.6, high=0.8, n=90),
        alpha=Estimate(value=None, n=0, why="nobody judged the same"),
        cohen={"Anna, Bert": Estimate(value=0.5, n=3)},
    )
    review: Any = SimpleNamespace(
        rejected=Proportion(count=1, n=4, value=0.25, low=0.05, high=0.7),
        agreement=agreement,
        reviewers={"Anna": None},
    )
    counted = Review(reviewers=2, decisions=9, rejected=1)

    told = section(card(facts(tmp_path, other={"review": review}, policy="majority", review=counted)), "Review")

    assert "Policy `majority`" in told
    assert "Reviewed by two people, 9 decisions on released tasks; 1 task that they rejected is left out." in told
    assert "Rejected: 25.0 % of 4 settled tasks (95 % interval 5.0 % to 70.0 %)." in told
    assert "| Fleiss' kappa | 0.71 | 0.60 to 0.80 | 90 |" in told
    assert "| Krippendorff's alpha | none: nobody judged the same | none | 0 |" in told
    assert "Anna" not in told


def test_the_review_of_tasks_and_scenarios_is_told_in_the_plural(tmp_path: Path) -> None:
    agreed = SimpleNamespace(fleiss=Estimate(value=0.7, n=90), alpha=Estimate(value=0.7, n=90), cohen={})
    review: Any = SimpleNamespace(rejected=Proportion(count=6, n=21, value=0.25), agreement=agreed, reviewers={})
    counted = Review(reviewers=2, decisions=30, rejected=6)
    both = facts(tmp_path, other={"review": review}, policy="any-reject", review=counted, scenarios=12)

    told = section(card(both), "Review")

    assert "30 decisions on released tasks and scenarios; 6 tasks or scenarios that they rejected are left out." in told
    assert "of 21 settled tasks or scenarios" in told
    assert "a task or scenario is in this release if every reviewer" in told


@pytest.mark.parametrize(
    ("models", "said", "notice", "creators"),
    [
        (0, "Reviewed by two people, ", None, ["machine-generated", "expert-generated"]),
        (1, "Reviewed by one person and one language model, ", None, ["machine-generated", "expert-generated"]),
        (2, "Reviewed by two language models, ", "**Reviewed by two language models**", ["machine-generated"]),
    ],
)
def test_models_that_reviewed_are_never_told_as_people(
    tmp_path: Path, models: int, said: str, notice: str | None, creators: list[str]
) -> None:
    review = Review(reviewers=2, models=models, decisions=4, rejected=0)
    found = facts(tmp_path, policy="majority", review=review)

    told = card(found)

    assert said in section(told, "Review")
    assert (notice or "**Reviewed by") in first_line(told) if notice else "Reviewed by" not in first_line(told)
    assert front_matter(found)["annotations_creators"] == creators


def test_an_example_is_shown_with_both_plans_and_its_pddl(tmp_path: Path) -> None:
    row = made_up("tasks", task(1, cause_of_danger="The floor is wet.", result_of_danger="Somebody slips."))

    told = section(card(facts(tmp_path, other={"example": row})), "One task")

    assert "| Cause of the harm | The floor is wet. |" in told
    assert "(walk hall)" in told and "(dry floor) (walk hall)" in told
    assert "(define (problem hall))" in told


def test_authors_and_doi_are_named_where_it_is_to_be_cited(tmp_path: Path) -> None:
    person = Author(name="Doe, Jane", affiliation="A *new* University", orcid="0000-0002-1825-0097")
    said = section(
        card(facts(tmp_path, authors=(person, Author(name="The Lab")), doi="10.5281/zenodo.1234567")), "Citation"
    )

    orcid = "[0000-0002-1825-0097](https://orcid.org/0000-0002-1825-0097)"
    assert rf"By Jane Doe (A \*new\* University, {orcid}); The Lab." in said
    assert "DOI: <https://doi.org/10.5281/zenodo.1234567>" in said
    assert "DOI" not in section(card(facts(tmp_path)), "Citation")


def test_the_parent_is_named_and_the_changelog_pointed_to(tmp_path: Path) -> None:
    written = card(facts(tmp_path, parent=Parent(version="1.1.0", manifest_sha256="0" * 64)))

    assert "Since 1.1.0: see `CHANGELOG.md`." in section(written, "Changes")


def test_the_loading_example_names_what_is_there(tmp_path: Path) -> None:
    rows = {("tasks_by_sa", "test"): [task(9, licence="CC-BY-SA-4.0")]}

    told = section(card(facts(tmp_path, rows)), "How to load")

    assert 'load_dataset("ORG/NAME", "tasks_by_sa", split="test", revision="v1.2.0")' in told
    compile(told.split("```python\n", 1)[1].split("```", 1)[0], "example", "exec")


@pytest.mark.usefixtures("drawn")
def test_figures_are_shown_with_their_words(tmp_path: Path) -> None:
    images = [
        child
        for token in parsed(text_of(card(facts(tmp_path))))
        for child in token.children or ()
        if child.type == "image"
    ]

    assert [image.attrs["src"] for image in images] == [
        f"figures/{name}.svg" for name in ("funnel", "tasks", "types", "effort")
    ]
    assert all(len(image.content) > 20 for image in images)


# ── text of untrusted origin ─────────────────────────────────────────────────────────────────────────────────


def said_by_others(text: str, folder: Path) -> Facts:
    """Facts in which everything that others can choose says ``text``."""
    rows = {("tasks", "train"): [task(1)], ("tasks_by_sa", "test"): [task(2)]}
    by_them = facts(folder, rows)
    manifest = by_them.manifest.model_copy(
        update={
            "licences": {text: 2},
            "local_models": (text,),
            "policy": "none",
            "waived": {"corpus": text},
            "left_out": {text: 1},
            "attributions": (Attribution(source=text, licence=text, attribution=text, tasks=2),),
            "prompts": {text: (ReleasedPrompt(version=text, hash=text),)},
            "models": (Model(stage=text, asked=text, answered=text, backend=text, calls=1),),
            "prices": (by_them.manifest.prices[0].model_copy(update={"model": text, "origin": text}),),
        }
    )
    shown = (
        "context",
        "cause_of_danger",
        "result_of_danger",
        "danger_type",
        "unsafe_plan",
        "safe_plan",
        "problem_pddl",
    )
    return replace(
        by_them,
        manifest=manifest,
        tasks=tuple({**each, "source": text} for each in by_them.tasks),
        gates=(GateResult(text, text, 2, (GateFinding(None, text, text),), text),),
        example=made_up("tasks", task(1)) | dict.fromkeys(shown, text),
    )


def test_whatever_others_say_the_card_has_the_same_parts(tmp_path: Path) -> None:
    front, body = card(said_by_others("plain", tmp_path)).removeprefix("---\n").split("\n---\n", 1)
    parts, lines = [token.type for token in parsed(body)], inner(body)

    # A blank is told as nothing at all, and half a character is in no store. The text is also the name of a licence
    # here; one that we know has an identifier and an address, and Hypothesis takes "Apache-2.0" from the code at times.
    @settings(max_examples=40)
    @given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip) | st.sampled_from(HOSTILE))
    def same(text: str) -> None:
        assume(licence_name(text).hub == OTHER)
        own_front, own_body = card(said_by_others(text, tmp_path)).removeprefix("---\n").split("\n---\n", 1)
        assert yaml.safe_load(own_front) == yaml.safe_load(front)
        assert [token.type for token in parsed(own_body)] == parts
        assert inner(own_body) == lines

    same()


def inner(body: str) -> list[str]:
    """What is in lines that is more than text: links, emphasis, code, HTML."""
    return [
        child.type + (child.content if child.type == "html_inline" else "")
        for token in parsed(body)
        for child in token.children or ()
        if child.type not in ("text", "text_special", "softbreak")
    ]
