from __future__ import annotations

import json
import math
import os
import random
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from hazardmill.cli.run.config import override_config
from hazardmill.generation.models import Models
from hazardmill.runs.config import RunConfig, RunInput
from hazardmill.runs.run import Run
from hazardmill.store.store import Store
from hazardmill.testing.llm_server import LlmServer
from tests.sizes import sized

from .conftest import Ended, Hazardmill, OnceASession

RECORDS = 6


@pytest.fixture
def generate(hazardmill: Hazardmill, neiss: Path) -> Hazardmill:
    """Run the first records of the NEISS sample through the offline author."""

    def run(*words: object) -> Ended:
        return hazardmill("run", "generate", "--source", "neiss", "--input", neiss, "--limit", RECORDS, *words)

    return run


@pytest.fixture
def first(generate: Hazardmill, once: OnceASession) -> Ended:
    """A completed run `first` in the store `s`, in two batches."""
    words = ("--store", "s", "--run-id", "first", "--json", "--wave-size", 4)
    ended = once("first run", lambda: generate(*words))
    assert ended.code == 0
    return ended


def test_a_run_goes_through_and_says_what_came_of_it(first: Ended, hazardmill: Hazardmill) -> None:
    ended = first
    assert ended.err == ""
    assert ended.json["run_ids"] == ["first"]
    assert {"funnel", "cost"} <= ended.json.keys()
    by = [{"model": "offline-author", "backend": "offline"}]
    assert ended.json["answered_by"] == by
    store = Store.open("s")
    outcomes = [row["outcome"] for row in store.rows("outcomes")]
    assert len(outcomes) == RECORDS and "accepted" in outcomes
    assert {row["model_answered"] for row in store.rows("llm_calls")} == {"offline-author"}
    assert (store.path / "store.duckdb").is_file()
    (row,) = hazardmill("run", "list", "--store", "s", "--json").json
    assert (row["run_id"], row["kind"], row["state"]) == ("first", "generate", "completed")
    assert row["counts"]["outcomes"]["accepted"] == outcomes.count("accepted")
    listed = hazardmill("run", "list", "--store", "s").out
    assert listed.startswith("first  generate  completed  ")
    assert f"{outcomes.count('accepted')} accepted" in listed and "pending" not in listed
    assert (row["models_asked"], row["answered_by"]) == (["offline-author"], by)
    assert "  answered by offline-author (rules, not a language model)  $0.00, tokens unknown  20" in listed
    assert row["prompt_tokens"] is row["completion_tokens"] is None


def test_a_shard_is_worked_on_and_listed_as_such(generate: Hazardmill, hazardmill: Hazardmill) -> None:
    for number in (1, 2):
        assert generate("--store", "s", "--run-id", f"r{number}", "--shard", f"{number}/2", "--json").code == 0
    store = Store.open("s")
    records = [row["record_id"] for row in store.rows("outcomes", None, ["record_id"])]
    assert len(set(records)) == len(records) == RECORDS == store.count("records")
    listed = {row["run_id"]: row["shard"] for row in hazardmill("run", "list", "--store", "s", "--json").json}
    assert listed == {"r1": "1/2", "r2": "2/2"}
    assert re.search(r"^r2 .* records of shard 2/2: ", hazardmill("run", "list", "--store", "s").out, re.M)
    ended = generate("--store", "s", "--shard", "3/2")
    assert ended.code == 2 and "'3/2' is not a shard" in ended.err


def test_people_see_tables_and_progress_on_the_other_stream(generate: Hazardmill) -> None:
    ended = generate("--store", "s", "--run-id", "first", "--limit", 2)
    assert ended.code == 0
    who = "offline-author (rules, not a language model)"
    assert f"run first: 2 records; asks {who}" in ended.err and f"\nanswered by {who}\n" in ended.out
    assert "2/2 records: " in ended.err
    assert "accepted" in ended.out and "The funnel adds up." in ended.out


def test_settings_decide_what_no_option_does(generate: Hazardmill, empty_folder: Path) -> None:
    (empty_folder / "hazardmill.yaml").write_text("store: mine\nwave_size: 2\nconcurrency: 3\njail: full\n")
    words = ("--concurrency", 5, "--where", "sex=female", "--limit", 2)
    assert generate("--run-id", "a", *words, "--json").code == 0
    config = Run.load(Store.open("mine"), "a").config
    assert (config.wave_size, config.concurrency, config.jail) == (2, 5, "full")
    (item,) = config.inputs
    assert (item.source, item.limit, item.where) == ("neiss", 2, {"sex": "female"})


def test_two_runs_have_equal_digests(first: Ended, generate: Hazardmill, hazardmill: Hazardmill) -> None:
    assert generate("--store", "b", "--json", "--wave-size", 1, "--concurrency", 1).code == 0
    digests = [hazardmill("store", "digest", "--store", store, "--json").json for store in "sb"]
    assert digests[0] == digests[1]


def test_a_run_over_the_store_needs_no_input(generate: Hazardmill, hazardmill: Hazardmill, neiss: Path) -> None:
    assert hazardmill("ingest", "--source", "neiss", neiss, "--store", "s").code == 0
    words = ("run", "generate", "--source", "neiss", "--store", "s", "--run-id", "r", "--where", "sex=male", "--json")
    assert hazardmill(*words, "--limit", 2).code == 0
    sexes = {r["record_id"]: json.loads(r["facts"])["sex"] for r in Store.open("s").rows("records")}
    selection = Run.load(Store.open("s"), "r").selection
    assert len(selection) == 2 and {sexes[record_id] for record_id in selection} == {"male"}


# Wrong calls and bad input


def test_the_offline_author_is_not_mixed_with_others(generate: Hazardmill, empty_folder: Path) -> None:
    for words in (
        ("--judge-model", "openai/gpt-4o"),
        ("--model", "openai/gpt-4o", "--extract-model", "offline-author"),
    ):
        ended = generate("--store", "s", *words)
        assert ended.code == 2
        assert "offline-author cannot be mixed with other models" in ended.err
    assert not (empty_folder / "s").exists()


def test_an_address_without_a_model_is_a_wrong_call(
    generate: Hazardmill, empty_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = "http://127.0.0.1:9/v1"
    for words in (("--api-base", address), ("--api-base", address, "--model", "offline-author")):
        ended = generate("--store", "s", *words)
        assert ended.code == 2
        assert "offline-author does not use a server" in ended.err
    (empty_folder / "hazardmill.yaml").write_text(f"api_base: {address}\n")
    monkeypatch.delenv("HAZARDMILL_MODEL")
    ended = generate("--store", "s")
    assert ended.code == 2 and "no model is named" in ended.err and "recorded" in ended.err
    assert not (empty_folder / "s").exists()
    # Who names the offline author over a file made for servers means it.
    assert generate("--store", "s", "--run-id", "r", "--model", "offline-author", "--limit", 1, "--json").code == 0
    assert Run.load(Store.open("s"), "r").config.api_base is None


def test_credentials_in_an_address_reach_neither_store_nor_screen(generate: Hazardmill, empty_folder: Path) -> None:
    for address in ("http://me:hunter2-of-mine@host/v1", "https://host/v1?key=hunter2-of-mine"):
        ended = generate("--store", "s", "--model", "openai/x", "--api-base", address)
        assert ended.code == 3
        assert "may be secret" in ended.err and "hunter2" not in ended.err
    assert not (empty_folder / "s").exists()


def test_a_wrong_configuration_writes_no_run(generate: Hazardmill, empty_folder: Path) -> None:
    ended = generate("--store", "s", "--model", "a/b", "--api-base", "foo")
    assert ended.code == 3
    assert "'foo' is not the address of an API" in ended.err
    assert not (empty_folder / "s").exists()


def test_a_page_instead_of_records_is_named_with_remedy_and_writes_nothing(
    hazardmill: Hazardmill, empty_folder: Path
) -> None:
    page = empty_folder / "x.tsv"
    page.write_text("<!DOCTYPE html><html><body>404</body></html>\n")
    ended = hazardmill("run", "generate", "--source", "neiss", "--input", page, "--store", "s")
    assert ended.code == 3
    assert "x.tsv: there are no records of neiss to work on: the file is a web page" in ended.err
    assert "download the file again" in ended.err
    assert not (empty_folder / "s").exists()


def test_rejects_are_shown_with_their_source(hazardmill: Hazardmill, neiss: Path) -> None:
    Path("x.tsv").write_text("".join(neiss.read_text().splitlines(keepends=True)[:3]) + "cut off\n")
    ended = hazardmill("run", "generate", "--source", "neiss", "--input", "x.tsv", "--store", "s")
    rejects = Store.open("s").count("rejects")
    assert rejects and f"  neiss: {rejects} rejects, " in ended.err
    assert "[" in ended.err and '  all of them: hazardmill query "from rejects"\n' in ended.err


def test_records_are_selected_by_source(hazardmill: Hazardmill, neiss: Path, project: Path) -> None:
    bddl = project / "sources" / "bddl" / "sample"
    for source, path in (("neiss", neiss), ("bddl", bddl)):
        assert hazardmill("ingest", "--source", source, path, "--store", "s").code in (0, 1)
    words = ("run", "generate", "--source", "neiss", "--source", "bddl", "--store", "s", "--limit", 1, "--json")
    assert hazardmill(*words, "--where", "neiss:sex=male", "--run-id", "r").code == 0
    assert [item.where for item in Run.load(Store.open("s"), "r").config.inputs] == [{"sex": "male"}, {}]
    # Without a source it is asked of both, and one does not know it.
    assert hazardmill(*words, "--where", "sex=male").code == 2


def test_bad_input_is_exit_3(hazardmill: Hazardmill, neiss: Path) -> None:
    for words, said in (
        (("--source", "neiss", "--input", "gone.tsv"), "gone.tsv: there is no such file"),
        (("--source", "neiss"), "no record of neiss to work on"),
    ):
        ended = hazardmill("run", "generate", "--store", "s", *words)
        assert ended.code == 3, words
        assert said in ended.err
        assert not Path("s").exists()


def test_a_wrong_value_in_the_settings_file_names_file_and_key(generate: Hazardmill, empty_folder: Path) -> None:
    (empty_folder / "hazardmill.yaml").write_text("concurrency: lots\n")
    ended = generate("--store", "s")
    assert ended.code == 3
    assert ended.err.startswith("error: hazardmill.yaml: concurrency: ")


def test_the_same_run_id_twice_is_a_wrong_call(first: Ended, generate: Hazardmill) -> None:
    ended = generate("--store", "s", "--run-id", "first")
    assert ended.code == 2
    assert "resume it" in ended.err


# Models, budgets and limits


def test_a_missing_key_is_told_before_anything_is_taken_in(
    generate: Hazardmill, empty_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DEEPSEEK_API_KEY", raising=False)
    ended = generate("--store", "s", "--model", "deepseek/deepseek-chat", "--budget-usd", 5)
    assert ended.code == 3
    assert "deepseek/deepseek-chat needs DEEPSEEK_API_KEY" in ended.err and "export DEEPSEEK_API_KEY" in ended.err
    assert not (empty_folder / "s").exists()


def test_a_store_without_records_says_how_to_get_them(hazardmill: Hazardmill, neiss: Path) -> None:
    words = ("run", "generate", "--source", "neiss", "--store", "s")
    ended = hazardmill(*words)
    assert ended.code == 3
    fetch = "hazardmill sources fetch neiss, then hazardmill ingest --source neiss --store s data/neiss"
    assert "no record of neiss to work on in the store s" in ended.err and fetch in ended.err
    assert hazardmill("ingest", "--source", "neiss", neiss, "--store", "s").code == 0
    ended = hazardmill(*words, "--where", "diagnosis=nothing-of-the-kind")
    assert ended.code == 3 and "matches --where: change --where" in ended.err


def test_options_of_models_and_money_make_the_configuration(generate: Hazardmill, hazardmill: Hazardmill) -> None:
    with LlmServer() as server:
        asked = ("--model", "openai/gpt-4o-mini", "--fallback-model", "openai/gpt-4o", "--api-base", server.address)
        words = ("--author-format", "document", "--structured", "--budget-usd", 2, "--budget-id", "team")
        limits = ("--requests-per-minute", 600, "--tokens-per-minute", 900_000, "--deadline", 45)
        limits += ("--attempt-timeout", 40, "--max-answer-bytes", 90_000)
        ended = generate("--store", "s", "--run-id", "r", "--limit", 2, "--jail", "minimal", *asked, *words, *limits)
        assert ended.code == 0, ended.err
        last = ended.out.splitlines()[-1]
        assert last.startswith("spent: $0.0") and "; overrun: none; input from the cache: " in last
        config = Run.load(Store.open("s"), "r").config
        assert (config.backend, config.fallback_models) == ("litellm", ("openai/gpt-4o",))
        assert (config.author_format, config.structured) == ("document", True)
        assert (config.budget_usd, config.budget_id) == (2.0, "team")
        limited = (config.requests_per_minute, config.tokens_per_minute, config.deadline_s)
        assert limited == (600, 900_000, 45.0)
        assert (config.attempt_timeout, config.max_answer_bytes) == (40.0, 90_000)
        assert hazardmill("run", "resume", "r", "--store", "s", "--budget-usd", "none").code == 0


def test_a_budget_that_is_reached_is_exit_4_and_its_command_goes_on(
    generate: Hazardmill, hazardmill: Hazardmill
) -> None:
    with LlmServer() as server:
        words = ("--model", "openai/gpt-4o-mini", "--api-base", server.address, "--store", "s", "--jail", "minimal")
        ended = generate(*words, "--run-id", "r", "--budget-usd", 0.008)
        assert ended.code == 4
        assert "the budget of 0.008 USD is reached" in ended.err and " of 6 records are left" in ended.err
        told = re.search(r"^spent: \$0\.00\d+; at most \$0\.00\d+; ", ended.err, re.MULTILINE)
        assert told is not None, ended.err
        sessions = 1
        while ended.code == 4:
            command = re.search(r"hazardmill (run resume r --store s --budget-usd \S+)\]", ended.err)
            assert command is not None and sessions < 5
            ended = hazardmill(*command[1].split())
            sessions += 1
        assert ended.code == 0
    assert Run.load(Store.open("s"), "r").pending() == []


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--budget-usd", "0"), 2, "'0' is neither an amount above 0 nor the word none"),
        (("--budget-usd", "inf"), 2, "'inf' is neither an amount above 0 nor the word none"),
        (("--budget-usd", "lots"), 2, "'lots' is neither an amount above 0 nor the word none"),
        (("--budget-id", "team"), 2, "the size of the budget team is missing"),
        (("--structured",), 2, "--structured needs a JSON schema"),
        (("--deadline", "0"), 2, "--deadline"),
        (("--fallback-model", "openai/gpt-4o"), 2, "offline-author cannot be mixed"),
        (("--model", "gpt-nobody-knows", "--api-base", "http://127.0.0.1:9/v1"), 3, "no provider is known for model"),
        (("--model", "openai/x", "--api-base", "http://192.0.2.1:9/v1", "--budget-usd", "1"), 3, "is unknown"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_settings_that_cannot_work_write_nothing(
    words: tuple[str, ...],
    code: int,
    said: str,
    generate: Hazardmill,
    empty_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "any")
    ended = generate("--store", "s", *words)
    assert ended.code == code and said in ended.err
    assert not (empty_folder / "s").exists()


# Resuming and replaying


def test_resuming_a_completed_run_changes_nothing(first: Ended, hazardmill: Hazardmill) -> None:
    before = Store.open("s").digest()
    again = hazardmill("run", "resume", "first", "--store", "s", "--json")
    assert again.code == 0
    assert again.json["funnel"] == first.json["funnel"]
    assert Store.open("s").digest() == before


def test_a_run_that_does_not_exist_cannot_be_resumed(first: Ended, hazardmill: Hazardmill) -> None:
    ended = hazardmill("run", "resume", "nope", "--store", "s")
    assert ended.code == 2
    assert "no generation run nope" in ended.err and "hazardmill run list" in ended.err


def test_a_run_that_somebody_works_on_is_left_alone(first: Ended, hazardmill: Hazardmill) -> None:
    store = Store.open("s")
    with store.writer("first"):
        ended = hazardmill("run", "resume", "first", "--store", "s")
    assert ended.code == 4
    assert "another process is writing run first" in ended.err
    assert [row["state"] for row in store.rows("runs")] == ["running", "completed"]


def test_replay_answers_from_the_ledger_alone(first: Ended, generate: Hazardmill) -> None:
    paid_for = Store.open("s").count("llm_calls")
    assert generate("--store", "s", "--run-id", "again", "--replay", "--json").code == 0
    store = Store.open("s")
    assert store.digest("first") == store.digest("again")
    assert store.count("llm_calls") == paid_for


def test_replay_answers_from_another_store(first: Ended, generate: Hazardmill, empty_folder: Path) -> None:
    Path("s").rename("theirs")
    words = ("--store", "ours", "--run-id", "again", "--json", "--replay")
    assert generate(*words, "theirs").code == 0
    ours, theirs = Store.open("ours"), Store.open("theirs")
    assert [row["outcome"] for row in ours.rows("outcomes")] == [row["outcome"] for row in theirs.rows("outcomes")]
    assert Run.load(ours, "again").config.replay_store == empty_folder / "theirs"
    ended = generate("--store", "new", "--replay", "nowhere")
    assert ended.code == 3
    assert "nowhere: there is no store here" in ended.err
    assert not Path("new").exists()


def test_a_replay_that_misses_names_stage_and_record_and_stops(
    first: Ended, generate: Hazardmill, hazardmill: Hazardmill
) -> None:
    ended = generate("--store", "s", "--run-id", "again", "--replay", "--sample", 1, "--json")
    assert ended.code == 5
    asked = Run.load(Store.open("s"), "first").selection[0]
    assert f"record {asked}: the ledger holds no answer to this extract request" in ended.err
    assert "hazardmill run resume again --store s" in ended.err
    states = {row["run_id"]: row["state"] for row in hazardmill("run", "list", "--store", "s", "--json").json}
    assert states == {"first": "completed", "again": "stopped"}


def test_a_run_that_was_killed_is_listed_as_stopped(first: Ended, hazardmill: Hazardmill) -> None:
    store = Store.open("s")
    run = Run.load(store, "first")
    with store.writer("first") as writer:
        run._change("running", writer)
        (row,) = hazardmill("run", "list", "--store", "s", "--json").json
        assert row["state"] == "running"
    (row,) = hazardmill("run", "list", "--store", "s", "--json").json
    assert row["state"] == "stopped (killed)"
    assert hazardmill("run", "resume", "first", "--store", "s").code == 0
    (row,) = hazardmill("run", "list", "--store", "s", "--json").json
    assert row["state"] == "completed"


# Resuming otherwise, and child runs


@pytest.fixture
def stopped(generate: Hazardmill, once: OnceASession) -> Store:
    """A run that is half done: a replay that missed."""

    def half() -> None:
        assert generate("--store", "s", "--run-id", "half", "--limit", 3, "--json").code == 0
        assert generate("--store", "s", "--run-id", "r", "--replay", "--json", "--wave-size", 3).code == 5

    once("half a run", half)
    store = Store.open("s")
    assert len(Run.load(store, "r").pending()) == 3
    return store


def test_options_may_repeat_what_a_run_was_started_with(generate: Hazardmill, hazardmill: Hazardmill) -> None:
    assert generate("--store", "s", "--run-id", "r", "--sample", 2, "--json").code == 0
    same = ("--model", "offline-author", "--sample", 2, "--limit", f"neiss={RECORDS}", "--jail", "auto")
    assert hazardmill("run", "resume", "r", "--store", "s", "--json", *same, "--wave-size", 3).code == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--sample", 1), "sample: 0 -> 1"),
        (("--limit", 2), "input 1 (neiss) limit: 6 -> 2"),
        (("--search-limit", 9), "search limit: "),
        (("--jail", "minimal"), "jail layers: "),
        (("--model", "openai/toy"), "author model: offline-author -> openai/toy"),
        (("--model", "openai/toy", "--api-base", "http://host:1/v1"), "host of the API: (none) -> host"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_a_change_that_alters_results_is_refused_with_both_ways_on(
    words: tuple[object, ...], said: str, stopped: Store, hazardmill: Hazardmill
) -> None:
    before = stopped.count("runs")
    ended = hazardmill("run", "resume", "r", "--store", "s", *words)
    assert ended.code == 2
    assert "error: run r was started under different conditions" in ended.err and f"\n  {said}" in ended.err
    assert "add --child" in ended.err and "undo these changes and resume the run" in ended.err
    assert stopped.count("runs") == before


def test_a_child_run_does_it_otherwise_and_is_listed_with_its_parent(stopped: Store, hazardmill: Hazardmill) -> None:
    words = ("--child", "--child-id", "c", "--search-limit", 150_000, "--concurrency", 2, "--store", "s")
    ended = hazardmill("run", "resume", "half", *words)
    assert ended.code == 0
    assert "run c, a child of half: 3 records" in ended.err
    # The search limit is part of no request: all that was answered is reused.
    assert stopped.count("llm_calls", {"run_id": "c"}) == 0
    config = Run.load(stopped, "c").config
    assert (config.search_limit, config.concurrency) == (150_000, 2)
    rows = {row["run_id"]: row for row in hazardmill("run", "list", "--store", "s", "--json").json}
    assert {run_id: row["parent_run_id"] for run_id, row in rows.items()} == {"half": None, "r": None, "c": "half"}
    assert rows["c"]["counts"]["outcomes"] == rows["half"]["counts"]["outcomes"]
    (line,) = (line for line in hazardmill("run", "list", "--store", "s").out.splitlines() if line.startswith("c "))
    assert line.endswith("child of half")


def test_a_child_run_of_more_records_reads_the_input_again(stopped: Store, hazardmill: Hazardmill) -> None:
    ended = hazardmill("run", "resume", "half", "--child", "--limit", RECORDS, "--store", "s", "--json")
    assert ended.code == 0
    (child,) = ended.json["run_ids"]
    assert child.startswith("generate-")
    assert Run.load(stopped, child).selection == Run.load(stopped, "r").selection


def test_wrong_calls_of_a_child_run(stopped: Store, hazardmill: Hazardmill) -> None:
    for words, said in (
        (("--child",), "nothing changed since run half was started"),
        (("--child-id", "c"), "give --child too"),
        (("--child", "--sample", 1, "--child-id", "r"), "run r already exists"),
        (("--judge-model", "openai/toy"), "offline-author cannot be mixed"),
        (("--api-base", "http://host/v1"), "offline-author does not use a server"),
        (("--limit", "bddl=3"), "bddl is not among the requested sources"),
    ):
        ended = hazardmill("run", "resume", "half", "--store", "s", *words)
        assert ended.code == 2, words
        assert said in ended.err
    assert {row["run_id"] for row in stopped.rows("runs")} == {"half", "r"}


def test_stages_that_had_the_author_s_model_have_its_successor() -> None:
    old = RunConfig(
        inputs=(RunInput(source="neiss"),),
        backend="litellm",
        models=Models(extract="a", author="a", judge="j"),
        api_base="http://host/v1",
    )
    for given, models in (
        ({}, ("a", "a", "j")),
        ({"model": "b"}, ("b", "b", "j")),
        ({"model": "b", "judge_model": "k"}, ("b", "b", "k")),
        ({"extract_model": "e"}, ("e", "a", "j")),
    ):
        new = override_config(old, (), {"model": None, "sample": None, **given})
        assert tuple(new.models.model_dump().values()) == models
        assert (new.backend, new.api_base, new.sample) == ("litellm", "http://host/v1", 0)
    limited = old.model_copy(update={"budget_usd": 2.0, "budget_id": "team", "fallback_models": ("f",)})
    kept = override_config(limited, (), {"budget_usd": 3.0, "fallback_models": ()})
    assert (kept.budget_usd, kept.budget_id, kept.fallback_models) == (3.0, "team", ("f",))
    lifted = override_config(limited, (), {"budget_usd": math.inf, "fallback_models": ("g",)})
    assert (lifted.budget_usd, lifted.budget_id, lifted.fallback_models) == (None, None, ("g",))
    for seconds, deadline in ((500.0, 600.0), (900.0, 1800.0)):
        assert override_config(old, (), {"attempt_timeout": seconds}).deadline_s == deadline
    assert override_config(old, (), {"attempt_timeout": 900.0, "deadline_s": 5.0}).deadline_s == 5.0
    offline = override_config(old, (), dict.fromkeys(("model", "judge_model"), "offline-author"))
    assert (offline.backend, offline.replay_backend, offline.api_base) == ("offline", "offline", None)
    replayed = override_config(
        old.model_copy(update={"backend": "replay", "replay_backend": "litellm"}), (), {"sample": 1}
    )
    assert (replayed.backend, replayed.replay_backend, replayed.sample) == ("replay", "litellm", 1)


def test_a_run_that_says_not_what_it_was_made_with_is_resumed_and_that_is_said(
    stopped: Store, hazardmill: Hazardmill
) -> None:
    (row,) = (row for row in stopped.rows("runs", {"run_id": "half"}) if row["sequence"] == 0)
    asked = json.loads(row["config"])
    del asked["made_with"]
    with stopped.writer("half") as writer:
        writer.append_sync({"runs": [{**row, "config": json.dumps(asked)}]})
    ended = hazardmill("run", "resume", "half", "--store", "s")
    assert ended.code == 0
    assert "run half does not record which prompts and jail it was started with, so these are not compared" in ended.err


# Listing


def test_a_run_that_stopped_is_listed_with_what_it_has_so_far(stopped: Store, hazardmill: Hazardmill) -> None:
    rows = {row["run_id"]: row for row in hazardmill("run", "list", "--store", "s", "--json").json}
    half, replay = rows["half"], rows["r"]
    assert (replay["state"], replay["records"], replay["counts"]["outcomes"]["pending"]) == ("stopped", RECORDS, 3)
    assert (half["records"], half["counts"]["outcomes"]["pending"]) == (3, 0)
    assert half["calls"] == stopped.count("llm_calls", {"run_id": "half"})
    assert (half["usd"], half["usd_upper"]) == (0.0, 0.0)
    assert half["duration_s"] >= 0 and half["started"] <= half["changed"]
    lines = hazardmill("run", "list", "--store", "s").out.splitlines()
    assert lines[0].startswith("half  generate  completed  3 records: ")
    assert "  $0.00, tokens unknown  20" in lines[0] and " UTC, 0:0" in lines[0]
    # Nobody has answered it anew, so that it has no tokens of its own.
    assert "  $0.00  20" in lines[1]
    assert "3 pending" in lines[1]


def test_a_cost_that_is_unknown_is_said_to_be_with_the_most_it_can_be(stopped: Store, hazardmill: Hazardmill) -> None:
    call = stopped.rows("llm_calls", {"run_id": "half"})[0]
    with stopped.writer("half") as writer:
        writer.append_sync({"llm_calls": [{**call, "usd": None, "usd_upper": 0.25}]})
    row = hazardmill("run", "list", "--store", "s", "--json").json[0]
    assert (row["usd"], row["usd_upper"], row["completion_tokens"]) == (None, 0.25, None)
    line = hazardmill("run", "list", "--store", "s").out.splitlines()[0]
    assert "  unknown cost, at most $0.250, tokens unknown  20" in line
    known = [{**each, "prompt_tokens": 1200} for each in stopped.rows("llm_calls", {"run_id": "half"})]
    with stopped.writer("half") as writer:
        writer.append_sync({"llm_calls": known})
    line = hazardmill("run", "list", "--store", "s").out.splitlines()[0]
    assert f", {1200 * len(known):,} + unknown tokens  20" in line


# With real processes


def child(*words: object, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "hazardmill.cli.main", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )


@pytest.mark.full
@pytest.mark.parametrize("seed", range(1, sized(2, 6)))
def test_a_killed_run_is_resumed_to_the_same_digest(seed: int, hazardmill: Hazardmill, project: Path) -> None:
    words = ["run", "generate", "--json", "--wave-size", 4]
    for source in ("neiss", "bddl"):
        words += ["--source", source, "--input", f"{source}={project / 'sources' / source / 'sample'}"]
        words += ["--limit", f"{source}={sized(12, 30)}"]
    assert hazardmill(*words, "--store", "whole", "--run-id", "whole").code == 0
    whole = Store.open("whole")
    records = whole.count("outcomes")
    enough = random.Random(seed).randrange(1, records * 3 // 4)

    victim = child(*words, "--store", "killed", "--run-id", "killed")
    store = Store.open("killed", create=True)
    while store.count("outcomes") < enough:
        with pytest.raises(subprocess.TimeoutExpired):
            victim.wait(0.01)
    victim.kill()
    victim.communicate()
    done = store.count("outcomes")
    assert enough <= done < records
    assert len(Run.load(store, "killed").pending()) == records - done

    ended = hazardmill("run", "resume", "killed", "--store", "killed", "--json")
    assert ended.code == 0
    assert store.digest() == whole.digest()
    assert store.digest("killed") == whole.digest("whole")
    assert hazardmill("store", "verify", "--store", "killed").code == 0
    # Nothing was paid for twice: one answering attempt an identity.
    answered = [row["identity"] for row in store.rows("llm_calls") if row["answered"]]
    assert len(answered) == len(set(answered))


@pytest.mark.full
def test_a_run_that_is_told_to_end_stops_and_can_be_resumed(hazardmill: Hazardmill, project: Path) -> None:
    words = ["run", "generate", "--source", "bddl", "--input", project / "sources" / "bddl" / "sample", "--store", "s"]
    run = child(*words, "--run-id", "r", "--concurrency", 1)
    store = Store.open("s", create=True)
    while not store.count("outcomes"):
        with pytest.raises(subprocess.TimeoutExpired):
            run.wait(0.01)
    run.terminate()
    _, err = run.communicate()
    assert run.returncode == 4, err
    assert "run r was interrupted" in err and "hazardmill run resume r --store s" in err
    assert store.rows("runs")[-1]["state"] == "stopped"
    assert hazardmill("run", "resume", "r", "--store", "s", "--json").code == 0
    assert Run.load(store, "r").pending() == []


@pytest.fixture
def refusing_server() -> Iterator[str]:
    """A server that knows no key."""

    class Refuse(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            body = json.dumps({"error": {"message": "no such key", "type": "invalid_request_error"}}).encode()
            self.send_response(401)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Refuse) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()
        thread.join()


@pytest.mark.full
def test_a_provider_that_refuses_is_exit_5_and_leaves_the_run_resumable(neiss: Path, refusing_server: str) -> None:
    run = child(
        *("run", "generate", "--source", "neiss", "--input", neiss, "--limit", 3, "--store", "s", "--run-id", "r"),
        *("--model", "openai/toy", "--api-base", refusing_server),
        OPENAI_API_KEY="sk-not-a-key-at-all",
    )
    out, err = run.communicate()
    assert run.returncode == 5, err
    assert "no such key" in err and "hazardmill run resume r --store s" in err
    assert "sk-not-a-key-at-all" not in out + err
    store = Store.open("s")
    assert Run.load(store, "r").pending() == [0, 1, 2]
    assert store.rows("runs")[-1]["state"] == "stopped"
    assert {row["error"] for row in store.rows("llm_calls")} <= {"RequestRefused", "CancelledError"}
