"""Runs that make scenarios instead of tasks: the same stages, drafts, ledger and outcomes."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from factories.scripted import ScriptedBackend
from store.damaging import rebuild

from hazardmill.cli.run.preview import preview
from hazardmill.cli.scenario.collect import collect
from hazardmill.errors import InputError, PlanningInputError, ProviderDown, UsageError
from hazardmill.generation.models import Models
from hazardmill.llm.client import Client
from hazardmill.llm.requests import Request
from hazardmill.report.cost import COST_TABLES, cost
from hazardmill.report.funnel import funnel
from hazardmill.report.report_data import gather
from hazardmill.report.tables import funnel_table, made_in_words
from hazardmill.report.tables import notes as notes_on
from hazardmill.report.why.build import build_story
from hazardmill.report.why.render_text import render_text
from hazardmill.runs.config import RunConfig
from hazardmill.runs.config_from_settings import configure_run
from hazardmill.runs.estimates.estimate import estimate
from hazardmill.runs.recording import record_runs
from hazardmill.runs.run import Run
from hazardmill.scenarios.folder import read_scenarios
from hazardmill.scenarios.scenario import Scenario
from hazardmill.scenarios.verify import verify
from hazardmill.settings import Settings
from hazardmill.store.store import Store
from tests.running import answering
from tests.running import worked as all_counts
from tests.runs.test_run import config
from tests.scenarios.written import BASE, answer, mal, sit

APPROVED = '{"verdict": "approved", "issues": []}'
REVISE = json.dumps(
    {
        "verdict": "needs_revision",
        "issues": [{"criterion": "sense", "problem": "nobody toasts it wrapped", "mend": "wrap it in paper"}],
    }
)
LABEL = '{"target": "Property", "hazard": "burned object"}'
EMPTY_GOAL = answer(sit(goal=["(toasted sandwich)", "(on sandwich)"]))


def numbered(request: Request, make: Callable[..., dict[str, Any]] = sit, **changes: Any) -> str:
    """A scenario of its own for each record: the sandwich has another name."""
    name = f"sandwich{''.join(filter(str.isalnum, str(request.record_id)))}"
    return answer(make(**changes)).replace("sandwich", name)


def backend(author: Any = numbered, judge: Any = APPROVED, classify: Any = LABEL) -> ScriptedBackend:
    return ScriptedBackend(author=author, judge=judge, classify=classify, name="litellm")


def started(
    store: Store,
    notes: Path,
    asked: ScriptedBackend,
    kind: str = "sit",
    run_id: str = "run",
    client: Callable[..., Client] = Client,
) -> Run:
    made = config(notes, backend="litellm", kind=kind, base_domain=BASE)
    run, _ = Run.start(store, made, run_id, resources=answering(asked, client))
    return run


def worked(run: Run) -> dict[str, int]:
    return {outcome: count for outcome, count in all_counts(run).items() if count}


def scenario_of(row: dict[str, Any]) -> Scenario:
    return Scenario.from_json(json.loads(row["scenario"]))


@pytest.mark.parametrize(("kind", "make"), [("sit", sit), ("mal", mal)])
def test_records_become_scenarios_that_pass_their_checks(store: Store, notes: Path, kind: str, make: Any) -> None:
    asked = backend(lambda request: numbered(request, make))
    run = started(store, notes, asked, kind)
    counts = worked(run)
    assert counts == {"accepted": len(run.selection)}
    rows = store.rows("scenarios")
    assert len(rows) == len(run.selection)
    for row in rows:
        scenario = scenario_of(row)
        found = verify(scenario)
        assert (found.problems, found.plan, found.steps) == ((), row["plan"], row["steps"])
        assert scenario.id == row["scenario_id"] and row["scenario_id"].startswith(f"notes-{kind}-")
        assert (row["target"], row["hazard"], row["corrected"]) == ("property", "burned object", False)
        assert scenario.origin["record_id"] == row["record_id"] and row["licence"]
        assert (row["careless_plan"] is None) == (kind == "mal")
    # One query for the scenario, one for the judgement, one for the label; nothing is extracted.
    assert asked.count() == 3 * len(rows) and asked.count("extract") == 0
    for request in asked.asked:
        if request.stage != "author":
            assert "- appliance: toaster" in request.messages[-1].content
    assert store.count("dangers") == 0 and store.count("tasks") == 0
    assert {row["check_name"] for row in store.rows("checks")} == {"answer", "scenario", "judge"}
    outcomes = store.rows("outcomes")
    assert {row["task_id"] for row in outcomes} == {row["scenario_id"] for row in rows}
    assert store.verify() == []


def test_feedback_goes_round_until_it_passes(store: Store, notes: Path) -> None:
    drafts = [
        "I would rather not.",
        answer(sit(goal=["(toasted sandwich"])),
        EMPTY_GOAL,
        numbered,
        lambda request: numbered(request, instruction="Toast it, please."),
    ]
    judged = iter([REVISE, APPROVED])
    asked = backend(drafts, lambda _: next(judged))
    run = started(store, notes, asked)
    assert all_counts(run, [[0]])["accepted"] == 1
    rows = sorted(store.rows("drafts"), key=lambda row: row["draft"])
    assert [(row["failed_check"], row["failed_reason"]) for row in rows] == [
        ("answer", "no_scenario"),
        ("answer", "not_pddl"),
        ("scenario", "argument_type"),
        ("judge", "judge:sense"),
        (None, None),
    ]
    prompts = [request.messages[-1].content for request in asked.asked if request.stage == "author"]
    assert "What was found wrong" not in prompts[0]
    assert "there is no JSON object" in prompts[1]
    assert "goal[0]" in prompts[2]
    assert "on needs type appliance for ?a" in prompts[3]
    assert "nobody toasts it wrapped" in prompts[4] and "Toast the sandwich" in prompts[4]
    (row,) = store.rows("scenarios")
    assert (row["draft"], row["instruction"]) == (5, "Toast it, please.")


@pytest.mark.parametrize(
    ("author", "judge", "outcome", "reason"),
    [
        (EMPTY_GOAL, APPROVED, "execution_failed", "argument_type"),
        (numbered, REVISE, "quality_failed", "judge:sense"),
        ("no", APPROVED, "execution_failed", "no_scenario"),
    ],
)
def test_what_never_passes_ends_with_the_reason_of_its_last_draft(
    store: Store, notes: Path, author: Any, judge: str, outcome: str, reason: str
) -> None:
    run = started(store, notes, backend(author, judge))
    assert worked(run) == {outcome: len(run.selection)}
    assert {row["reason"] for row in store.rows("outcomes")} == {reason}
    assert {row["drafts"] for row in store.rows("outcomes")} == {5}
    assert store.count("scenarios") == 0


def test_what_rules_can_mend_is_mended_and_says_so(store: Store, notes: Path) -> None:
    facts = ["(on_counter sandwich)", "(hand_free)", "(wrapped sandwich)", "(on Toast-er)", "(warm toaster)"]
    spelled = {"objects": {"sandwich": "food", "toaster": "appliance"}, "initial": facts}
    run = started(store, notes, backend(lambda request: numbered(request, sit, **spelled)))
    counts = worked(run)
    # The toaster is on at the start now, which makes the plan a step shorter: five steps.
    assert counts == {"accepted": len(run.selection)}
    row = store.rows("scenarios")[0]
    assert (row["corrected"], row["steps"]) == (True, 5)
    check = next(row for row in store.rows("checks") if row["check_name"] == "scenario")
    assert {change["rule"] for change in json.loads(check["details"])["changes"]} == {"spelling", "stray_predicate"}


def test_the_same_scenario_again_is_a_duplicate(store: Store, notes: Path) -> None:
    run = started(store, notes, backend(answer(sit())))
    counts = worked(run)
    assert counts == {"accepted": 1, "duplicate": len(run.selection) - 1}
    (kept,) = store.rows("scenarios")
    outcomes = sorted(store.rows("outcomes"), key=lambda row: row["ordinal"])
    assert [row["task_id"] for row in outcomes] == [kept["scenario_id"]] * len(outcomes)
    assert outcomes[0]["outcome"] == "accepted" and outcomes[1]["reason"] == "same_document"


@pytest.mark.parametrize(
    ("label", "found"),
    [
        ('{"target": "property", "hazard": "collision"}', ("property", None)),
        ('{"target": "plants", "hazard": "fire hazard"}', (None, None)),
        ('{"target": null, "hazard": null}', (None, None)),
        ("no idea", (None, None)),
    ],
)
def test_a_label_that_is_no_leaf_is_null(store: Store, notes: Path, label: str, found: Any) -> None:
    run = started(store, notes, backend(classify=label))
    assert worked(run) == {"accepted": len(run.selection)}
    assert {(row["target"], row["hazard"]) for row in store.rows("scenarios")} == {found}


def test_a_stopped_run_goes_on_and_pays_for_nothing_twice(store: Store, tmp_path: Path, notes: Path) -> None:
    whole = Store.open(tmp_path / "whole", create=True)
    once = backend()
    worked(started(whole, notes, once))
    calls = iter(range(100))

    def fails(request: Request) -> Any:
        return ProviderDown("gone") if next(calls) > 3 else numbered(request)

    # Asked once: the pauses between attempts would be half a minute.
    run = started(store, notes, backend(fails), client=functools.partial(Client, max_attempts=1))
    with pytest.raises(ProviderDown):
        worked(run)
    second = backend()
    run = Run.load(store, "run", resources=answering(second))
    worked(run)
    assert store.digest() == whole.digest()
    answered = store.count("llm_calls", {"answered": True})
    assert answered == whole.count("llm_calls", {"answered": True})


def test_lost_scenarios_are_made_again_without_asking(store: Store, notes: Path) -> None:
    asked = backend()
    worked(started(store, notes, asked))
    digest, before = store.digest(), asked.count()
    next((store.path / "scenarios").iterdir()).unlink()
    done = rebuild(store)
    # Two waves of four and two records: either part.
    assert done.whole and done.rows_lost in ({"scenarios": 4}, {"scenarios": 2})
    run = Run.load(store, "run", resources=answering(asked))
    worked(run)
    assert (store.digest(), asked.count()) == (digest, before)
    assert store.verify() == []


def test_the_scenarios_of_a_run_are_written_as_files(store: Store, notes: Path, tmp_path: Path) -> None:
    run = started(store, notes, backend())
    worked(run)
    out = tmp_path / "made"
    command = ["run", "--store", str(store.path), "--out", str(out), "--json"]
    ended = CliRunner().invoke(collect, command, catch_exceptions=False)
    assert json.loads(ended.output)["written"] == len(run.selection)
    found = list(read_scenarios(out))
    assert [verify(item).problems for item in found if isinstance(item, Scenario)] == [()] * len(run.selection)
    with pytest.raises(InputError, match="has no accepted scenario"):
        CliRunner().invoke(collect, ["another", *command[1:]], catch_exceptions=False)


def test_what_cannot_be_made_is_refused(notes: Path, tmp_path: Path) -> None:
    made = config(notes, backend="litellm")
    with pytest.raises(UsageError, match="--base applies only to scenarios"):
        made.model_copy(update={"base": tmp_path}).check()
    with pytest.raises(UsageError, match="writes tasks only"):
        RunConfig(inputs=made.inputs, kind="sit", base_domain=BASE).check()
    domain = tmp_path / "domain.pddl"
    domain.write_text("(define (domain empty) (:predicates (on)))")
    given = {"model": "openai/gpt-5-mini", "kind": "sit", "base": domain}
    with pytest.raises(PlanningInputError, match="has no action"):
        configure_run(Settings(), made.inputs, given)
    domain.write_text(BASE)
    assert configure_run(Settings(), made.inputs, given).base_domain == BASE
    ours = configure_run(Settings(), made.inputs, {"model": "openai/gpt-5-mini", "kind": "mal"})
    assert "(domain household)" in str(ours.base_domain)


def test_a_preview_knows_tasks_only_and_says_so(notes: Path) -> None:
    words = ["--source", "notes", "--input", str(notes), "--kind", "sit", "--model", "openai/gpt-5-mini"]
    with pytest.raises(UsageError, match="works for tasks only"):
        CliRunner().invoke(preview, words, catch_exceptions=False)


def test_an_estimate_of_scenarios_extracts_nothing_and_labels_them(store: Store, notes: Path) -> None:
    made = config(notes, backend="litellm", kind="sit", base_domain=BASE, api_base="http://127.0.0.1:1/v1")
    guessed = estimate(store, made)
    assert list(guessed.stages) == ["author", "judge", "classify"]
    requests = {stage: each.requests for stage, each in guessed.stages.items()}
    # Six seeds, at least one draft each, five at most; a label for each that the judge approves.
    assert (requests["author"].low, requests["author"].high) == (6, 30)
    assert all(
        requests["classify"].of(case) <= requests["judge"].of(case) * 1.5 for case in ("low", "expected", "high")
    )
    author = guessed.stages["author"].prompt_tokens
    assert author.expected > 2 * 6 * len(BASE) / 4, "the author is shown the base domain"
    assert any(said.startswith("tokens per answer of classify") for said in guessed.assumptions)
    assert not any("extract:" in said or "a danger" in said for said in guessed.assumptions)
    task = estimate(store, config(notes, backend="litellm", api_base="http://127.0.0.1:1/v1"))
    assert list(task.stages) == ["extract", "author", "judge"]
    assert not any("classify:" in said for said in task.assumptions)


def test_recorded_answers_of_both_kinds_give_the_same_scenarios_again(
    store: Store, notes: Path, tmp_path: Path
) -> None:
    for kind, make in (("mal", mal), ("sit", sit)):
        worked(started(store, notes, backend(lambda request, make=make: numbered(request, make)), kind, kind))
    made = record_runs(store, ["mal", "sit"], tmp_path / "recordings")
    assert [(each.path.name, each.answers, each.records) for each in made] == [("scenarios.jsonl.zst", 36, 6)]
    again = Store.open(tmp_path / "again", create=True)
    models = Models(extract="recorded", author="recorded", judge="recorded")
    for kind in ("mal", "sit"):
        recorded = config(
            notes,
            backend="recorded",
            kind=kind,
            base_domain=BASE,
            models=models,
            recordings=tmp_path / "recordings",
        )
        run, _ = Run.start(again, recorded, kind)
        worked(run)
    for row, before in zip(*(other.rows("scenarios") for other in (again, store)), strict=True):
        named = ("scenario_id", "scenario", "plan", "draft", "kind")
        assert [row[name] for name in named] == [before[name] for name in named]
        assert (row["backend"], row["model_answered"]) == ("recorded", "toy")


def test_the_funnel_and_the_price_of_scenarios_add_up(store: Store, notes: Path) -> None:
    judged = iter([REVISE, *[APPROVED] * 20])
    run = started(store, notes, backend(judge=lambda _: next(judged)))
    worked(run)
    counted = store.query(lambda views: funnel(views, ["run"]))
    assert (counted.tasks, counted.scenarios, counted.total.dangers, counted.balance()) == (0, 6, 6, ())
    assert [(each.made, each.passed, each.accepted) for each in counted.drafts[:2]] == [(6, 5, 5), (1, 1, 1)]
    spent = store.query(lambda views: cost(views, ["run"]), COST_TABLES)
    assert spent.accepted == 6 and list(spent.by_stage) == ["author", "judge", "classify"]
    assert notes_on(counted) == ["The funnel adds up."]
    assert funnel_table(counted).rows[3][0] == "seeds"
    captions = [caption for _, caption in store.query(lambda views: gather(views, ["run"])).headline]
    assert "accepted scenarios" in captions and "USD per validated scenario" in captions
    both = counted.model_copy(update={"tasks": 1})
    assert made_in_words(both) == "task or scenario"
    assert made_in_words(both, plural=True) == "tasks and scenarios"


def test_why_is_told_by_the_id_of_a_scenario(store: Store, notes: Path) -> None:
    worked(started(store, notes, backend()))
    row = store.rows("scenarios")[2]
    story = build_story(store, row["scenario_id"], reread=False)
    assert story.record_id == row["record_id"]
    assert f"accepted as {row['scenario_id']} with draft 1" in render_text(story, full=True)


def test_why_does_not_call_a_scenario_that_repeats_another_a_task(store: Store, notes: Path) -> None:
    worked(started(store, notes, backend(answer(sit()))))
    first = store.rows("scenarios")[0]["scenario_id"]
    repeats = next(row for row in store.rows("outcomes") if row["outcome"] == "duplicate")
    told = render_text(build_story(store, repeats["record_id"], reread=False), full=True)
    assert f"a duplicate of {first}" in told
