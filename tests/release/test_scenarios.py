"""Releases of scenarios of the SAFEL protocol: gates, rows, splits, texts, and what reads them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from factories.release_store import rewritten
from factories.scenario_store import changed_scenario, scenario_runs, scenario_store

from hazardmill.errors import InputError, ReleaseRefused
from hazardmill.evaluation.safel.scenario_set import read_set
from hazardmill.formalism.document.expressions import canonical_json
from hazardmill.formalism.formats.pddl.plan_names import pddl_texts
from hazardmill.formalism.search.plan_count import count_shortest_plans
from hazardmill.generation.scenario_answer import read_scenario_answer
from hazardmill.release.build.build import build
from hazardmill.release.build.configs import SCENARIOS
from hazardmill.release.build.options import Options
from hazardmill.release.diff.compare import diff_folders
from hazardmill.release.read.exports import export
from hazardmill.release.read.release import Release, load_release
from hazardmill.review.candidates import load_pool
from hazardmill.scenarios.reading import read_domain, read_problem
from hazardmill.scenarios.scenario import Scenario
from hazardmill.scenarios.verify import plan_text
from hazardmill.store.store import Store
from tests.scenarios.written import BASE, answer, sit

from .test_build import all_rows, files_of

Row = dict[str, Any]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Twelve scenarios of each kind, of three sources. Nobody writes to it."""
    return scenario_store(tmp_path_factory.mktemp("scenarios") / "store")


@pytest.fixture(scope="module")
def options() -> Options:
    return Options(version="1.0.0", policy="none")


@pytest.fixture(scope="module")
def built(store: Store, options: Options, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(store, None, options, tmp_path_factory.mktemp("built") / "release").folder


@pytest.fixture(scope="module")
def release(built: Path) -> Release:
    return load_release(built)


def test_every_scenario_is_released_once_in_the_config_of_its_licence(built: Path, store: Store) -> None:
    stored = {row["scenario_id"]: row for row in store.rows("scenarios")}
    rows = all_rows(built, "scenarios")
    assert sorted(row["scenario_id"] for row in rows) == sorted(stored) and len(rows) == 24
    for row in rows:
        assert list(row) == [column.name for column in SCENARIOS.columns]
        for name in ("kind", "instruction", "scenario", "plan", "careless_plan", "licence", "run_id"):
            assert row[name] == stored[row["scenario_id"]][name]
        scenario = Scenario.from_json(json.loads(row["scenario"]))
        assert scenario.risk is not None and row["risk"] == canonical_json(scenario.risk.to_json())
        assert row["context"] and row["drafts"] == 1 and row["review_policy"] == "none" and row["reviewers"] is None
        assert json.loads(row["answered_by"]) == ["test/model-1"]
    share_alike = {row["scenario_id"] for row in load_release(built).rows("scenarios_by_sa")}
    assert share_alike == {name for name in stored if name.startswith("normbank-")}


def test_the_pddl_of_a_row_has_the_plan_of_the_row(built: Path) -> None:
    for row in all_rows(built, "scenarios")[::5]:
        problem = read_problem(read_domain(row["domain_pddl"]), row["problem_pddl"])
        found = count_shortest_plans(problem.document())
        assert (plan_text(found), found.length, found.count) == (row["plan"], row["steps"], row["shortest_plans"])


def test_scenarios_of_one_structure_are_in_one_split(built: Path, release: Release) -> None:
    splits: dict[str, set[str]] = {}
    for config in release.configs():
        for split in release.splits(config):
            for row in release.rows(config, split):
                splits.setdefault(row["group"], set()).add(split)
    assert len(splits) == 24 and all(len(where) == 1 for where in splits.values())
    assert {split for where in splits.values() for split in where} == {"train", "validation", "test"}


def test_gates_look_at_every_scenario_and_the_funnel_adds_up(release: Release, built: Path) -> None:
    manifest = release.manifest
    assert (manifest.tasks, manifest.scenarios, manifest.contents) == (0, 24, "24 scenarios")
    funnel = manifest.funnel
    ends = [name for name in funnel if name not in ("records", "drafts", "released")]
    # Each record was there for both kinds.
    assert funnel["records"] == sum(funnel[name] for name in ends) == 24 == funnel["released"] == funnel["accepted"]
    card = (built / "README.md").read_text()
    for said in (
        "24 scenarios of the SAFEL protocol",
        "Nobody reviewed these scenarios",
        "| revalidation | every task follows from its document",
        "| mal | property |",
        'load_dataset("ORG/NAME", "scenarios"',
        "release.scenarios(split=",
        "made it in four steps",
    ):
        assert said in card
    for wrong in ("task is in this release", "robot planning task", "tasks.svg", "made it in five steps", "None"):
        assert wrong not in card
    assert "24 scenarios of the SAFEL protocol" in (built / "CITATION.cff").read_text().replace("\n  ", " ")
    assert "First release: 24 scenarios." in (built / "CHANGELOG.md").read_text()


def test_two_builds_give_the_same_bytes(built: Path, store: Store, options: Options, tmp_path: Path) -> None:
    again = build(store, None, options.model_copy(update={"jobs": 2}), tmp_path / "again")
    assert files_of(again.folder) == files_of(built)


def test_a_release_gives_its_scenarios_back_and_is_asked_about(release: Release, built: Path, store: Store) -> None:
    stored = {row["scenario_id"]: Scenario.from_json(json.loads(row["scenario"])) for row in store.rows("scenarios")}
    found = list(release.scenarios())
    assert {each.id for each in found} == set(stored)
    for each in found:
        assert (each.draft, each.risk) == (stored[each.id].draft, stored[each.id].risk)
        assert each.origin["split"] in ("train", "validation", "test") and each.origin["answered_by"]
        assert each.origin["share_alike"] is each.id.startswith("normbank-")
    assert {each.id for each in release.scenarios("test", by_sa=False)} <= {
        each.id for each in release.scenarios("test")
    }
    asked = read_set(str(built))
    assert [item.scenario_id for item in asked.scenarios] == sorted(stored) and asked.left_out == {}
    with pytest.raises(InputError, match="no split"):
        list(release.scenarios("tests"))


def test_tasks_and_scenarios_go_into_one_release(
    model_store: Store, options: Options, tmp_path: Path, built: Path
) -> None:
    store = scenario_runs(rewritten(model_store, tmp_path / "store", lambda table, row: row), 1)
    made = build(store, None, options.model_copy(update={"waive": {"corpus": "few"}}), tmp_path / "both")
    tasks = model_store.count("tasks")
    assert (made.manifest.tasks, made.manifest.scenarios) == (tasks, 6)
    assert made.manifest.contents == f"{tasks} tasks and 6 scenarios"
    assert sum(made.manifest.licences.values()) == tasks + 6
    by_name = {gate.name: gate.looked for gate in made.gates}
    assert by_name["revalidation"] == by_name["split_leak"] == tasks + 6 and by_name["corpus"] == tasks
    card = (made.folder / "README.md").read_text()
    assert "robot planning tasks in which a natural" in card and "6 scenarios of the SAFEL protocol" in card
    # A release of scenarios alone, and one with tasks too, are told apart by id.
    found = diff_folders(built, made.folder)
    assert len(found.added) == tasks and len(found.removed) == 24 - 6
    assert {each.reasons for each in found.changed} <= {("split",)}
    assert {each.value: (each.old, each.new) for each in found.distributions["kind"]}["sit"] == (12, 3)


def of(store: Store, path: Path, changes: Mapping[str, Row]) -> Store:
    """A copy of the store in which the scenarios of these ids have other columns."""

    def change(table: str, row: Row) -> Row:
        if table != "scenarios":
            return row
        changed = changes.get(row["scenario_id"], {})
        return {**row, **{name: value(row) if callable(value) else value for name, value in changed.items()}}

    return rewritten(store, path, change)


def without_risk(row: Row) -> str:
    return str(changed_scenario(row, risk=None)["scenario"])


def with_origin(**parts: str) -> Callable[[Row], str]:
    """The same, with other words about where it comes from."""
    return lambda row: str(changed_scenario(row, origin={**json.loads(row["scenario"])["origin"], **parts})["scenario"])


def easier(row: Row) -> str:
    """The same, with half of its goal."""
    value = json.loads(row["scenario"])
    return str(changed_scenario(row, draft={**value["draft"], "goal": ["fluent", "burnt", "sandwich"]})["scenario"])


REFUSED: list[tuple[Row, str, str]] = [
    ({"plan": "(grasp sandwich)"}, "revalidation", "plan is (grasp sandwich); exact search gives"),
    ({"steps": 4}, "revalidation", "steps is 4; exact search gives 5"),
    ({"careless_plan": "(grasp sandwich)"}, "revalidation", "careless_plan is"),
    ({"document_hash": "0" * 64}, "revalidation", "its document has the hash"),
    ({"kind": "sit"}, "revalidation", "kind is sit; its scenario says mal"),
    ({"instruction": "Burn it."}, "revalidation", "instruction is Burn it.; its scenario says"),
    ({"hazard": "fire hazard"}, "revalidation", "hazard is fire hazard; its scenario says burned object"),
    ({"scenario": "{"}, "revalidation", "its scenario cannot be read"),
    ({"scenario": without_risk}, "revalidation", "it says nothing about its risk"),
    ({"scenario": easier}, "revalidation", "the shortest plan has 4 steps"),
    ({"record_id": "neiss:1"}, "revalidation", "record neiss:1 is not of bddl"),
    (
        {"scenario": with_origin(licence="CC-BY-SA-4.0")},
        "revalidation",
        "licence is MIT; its scenario says CC-BY-SA",
    ),
    ({"scenario": with_origin(attribution="Nobody")}, "revalidation", "its scenario says Nobody"),
    ({"licence": "MIT-0"}, "licence", "its licence is 'MIT-0'"),
    ({"licence": "CC-BY-4.0", "attribution": ""}, "attribution", "it has no credit line"),
    ({"model_answered": "offline-author"}, "offline", "offline-author answered for it"),
]


@pytest.mark.parametrize("part", range(4))
def test_a_scenario_that_does_not_hold_stops_the_release(
    store: Store, options: Options, tmp_path: Path, part: int
) -> None:
    # Each fault is in a scenario of its own, and there are four to a build.
    names = sorted(row["scenario_id"] for row in store.rows("scenarios") if row["scenario_id"].startswith("bddl-mal-"))
    cases = dict(zip(names, REFUSED[part::4], strict=True))
    changed = of(store, tmp_path / "store", {name: changes for name, (changes, _, _) in cases.items()})
    with pytest.raises(ReleaseRefused) as refused:
        build(changed, None, options, tmp_path / "release")
    for name, (_, gate, message) in cases.items():
        assert any(line.startswith(f"{gate}: {name}") and message in line for line in refused.value.findings), message
    assert not (tmp_path / "release").exists()


def test_what_repeats_another_or_gives_people_away_stops_the_release(
    store: Store, options: Options, tmp_path: Path
) -> None:
    rows = {row["scenario_id"]: row for row in store.rows("scenarios")}
    first, second = sorted(name for name in rows if name.startswith("bddl-sit-"))[:2]
    told = next(name for name in rows if name.startswith("neiss-mal-"))
    noted = next(name for name in rows if name.startswith("neiss-sit-"))

    def change(table: str, row: Row) -> Row:
        if table == "scenarios" and row["scenario_id"] == second:
            return {**row, "scenario": rows[first]["scenario"], "document_hash": rows[first]["document_hash"]}
        if table == "records" and row["record_id"] == rows[told]["record_id"]:
            return {**row, "context": "Call 555-867-5309."}
        if table == "scenarios" and row["scenario_id"] == noted:
            return {**row, "scenario": with_origin(note="Ask Mrs. Miller.")(row)}
        return row

    with pytest.raises(ReleaseRefused) as refused:
        build(rewritten(store, tmp_path / "store", change), None, options, tmp_path / "release")
    found = refused.value.findings
    assert any(line.startswith(f"duplicates: {second}: it has the same document as {first}") for line in found)
    assert any(line.startswith(f"personal_data: {told}: ") and "telephone number (in context" in line for line in found)
    assert any(line.startswith(f"personal_data: {noted}: ") and "name (in origin.note" in line for line in found)


def test_a_private_address_must_be_named(store: Store, options: Options, tmp_path: Path) -> None:
    def at_home(table: str, row: Row) -> Row:
        return {**row, "host": "127.0.0.1"} if table == "llm_calls" else row

    local = rewritten(store, tmp_path / "store", at_home)
    with pytest.raises(ReleaseRefused, match="refused by local_model"):
        build(local, None, options, tmp_path / "release")
    named = options.model_copy(update={"local_models": ("test/model-1",)})
    assert build(local, None, named, tmp_path / "release").manifest.local_models == ("test/model-1",)


def test_groups_stay_in_the_split_of_the_parent(store: Store, options: Options, built: Path, tmp_path: Path) -> None:
    copied = rewritten(store, tmp_path / "store", lambda table, row: row)
    more = scenario_runs(copied, 2, ("alfred",), time="100000", first=12)
    later = options.model_copy(update={"version": "1.1.0", "parent": built})
    made = build(more, None, later, tmp_path / "release")
    assert made.manifest.scenarios == 28
    before = {each.id: each.origin["split"] for each in load_release(built).scenarios()}
    after = {each.id: each.origin["split"] for each in load_release(made.folder).scenarios()}
    assert before.items() <= after.items()
    assert "4 added, 0 removed, 0 changed, 24 as they were" in (made.folder / "CHANGELOG.md").read_text()


def test_sit_scenarios_are_preference_pairs(release: Release, store: Store, tmp_path: Path) -> None:
    summary = export(release, tmp_path / "pairs.jsonl", "dpo", by_sa=True)
    rows = [json.loads(line) for line in (tmp_path / "pairs.jsonl").read_text().splitlines()]
    sit = {each.id: each for each in release.scenarios("train") if each.risk and each.risk.kind == "sit"}
    assert [row["task_id"] for row in rows] == [
        *sorted(name for name in sit if "normbank" not in name),
        *sorted(name for name in sit if "normbank" in name),
    ]
    assert summary.rows == len(sit) and summary.left_out == {}
    stored = {row["scenario_id"]: row for row in store.rows("scenarios")}
    for row in rows:
        before = stored[row["task_id"]]
        assert (row["chosen"], row["rejected"]) == (before["plan"], before["careless_plan"])
        # Grasp and then unwrap, or not; a wrapped sandwich must not be toasted.
        assert (row["shared_prefix"], row["danger_step"], row["causal_step"]) == (1, 3, None)
        assert row["prompt"].startswith("Write a plan for this PDDL problem")
        assert (row["danger_group"], row["danger_type"]) == ("property", "burned object")
        assert (row["licence"], row["offline_authored"]) == (before["licence"], False)
    few = export(release, tmp_path / "few.parquet", "dpo")
    assert few.rows == summary.rows - few.left_out["share_alike"] and few.left_out["share_alike"] > 0
    with pytest.raises(InputError, match=r"no rows of train to export.*kind sit have rows, in --format dpo"):
        export(release, tmp_path / "sft.jsonl", "sft")


def test_a_predicate_named_like_an_action_is_renamed_and_plans_keep_their_names() -> None:
    base = BASE.replace("(hand_free)", "(hand_free) (grasp)", 1)
    scenario = read_scenario_answer(answer(sit()), read_domain(base), "sit", "kitchen", {})
    domain, problem = pddl_texts(scenario.document)
    assert "(grasp_fluent)" in domain and "(:action grasp\n" in domain
    again = read_problem(read_domain(domain), problem).document()
    assert plan_text(count_shortest_plans(again)) == plan_text(count_shortest_plans(scenario.document))


def test_of_a_scenario_of_two_runs_the_row_of_the_pool_is_released(
    store: Store, options: Options, tmp_path: Path
) -> None:
    copied = rewritten(store, tmp_path / "store", lambda table, row: row)
    again = rewritten(
        store, tmp_path / "again", lambda table, row: {**row, "run_id": row["run_id"].replace("09", "08")}
    )
    for table in ("scenarios", "runs"):
        rows = again.rows(table)
        for run in {row["run_id"] for row in rows}:
            with copied.writer(run) as writer:
                writer.append_sync({table: [row for row in rows if row["run_id"] == run]})
    pool = {item.item: item.run_id for item in load_pool(copied).values()}
    made = build(copied, None, options, tmp_path / "release")
    assert {row["scenario_id"]: row["run_id"] for row in all_rows(made.folder, "scenarios")} == pool
