"""docs/queries.md: each query runs on a store that a real run made, and says what its rows say."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from click.testing import CliRunner

from hazardmill.cli.main import hazardmill
from hazardmill.llm import prompts
from hazardmill.settings import NO_SETTINGS, PREFIX
from hazardmill.store.store import Store

Row = dict[str, Any]
PAGE = Path(__file__).parents[2] / "docs" / "queries.md"
SECTIONS = {
    title: body
    for title, body in re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE.read_text(), re.DOTALL | re.MULTILINE)
}
OUTCOMES = ("accepted", "no_danger", "extraction_failed", "execution_failed", "quality_failed", "duplicate")


@pytest.fixture(scope="module", autouse=True)
def settings() -> Iterator[pytest.MonkeyPatch]:
    """No settings but the defaults."""
    with pytest.MonkeyPatch.context() as patch:
        for variable in [name for name in os.environ if name.upper().startswith(PREFIX) and name not in NO_SETTINGS]:
            patch.delenv(variable)
        yield patch


@pytest.fixture(scope="module")
def store(settings: pytest.MonkeyPatch, project: Path, tmp_path_factory: pytest.TempPathFactory) -> Store:
    """The store of real offline runs: one, another draw, the first again, a newer prompt; and one that paid money."""
    folder = tmp_path_factory.mktemp("queries")
    settings.chdir(folder)
    samples = project / "sources"
    inputs = [
        *("--source", "neiss", "--input", f"neiss={samples / 'neiss' / 'sample' / 'sample.tsv'}"),
        *("--source", "normbank", "--input", f"normbank={samples / 'normbank' / 'sample' / 'sample.csv'}"),
        *("--limit", "10"),
    ]
    generate("first", *inputs)
    generate("other-draw", *inputs, "--sample", "1")
    generate("same-again", *inputs)
    shutil.copytree(project / "prompts", folder / "prompts")
    author = folder / "prompts" / "author" / "task.md.j2"
    text, changed = re.subn(r'^version: "1\..*"$', 'version: "1.10"', author.read_text(), count=1, flags=re.MULTILINE)
    assert changed == 1
    author.write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prompts, "prompts_folder", lambda: folder / "prompts")
        generate("new-prompt", *inputs, "--sample", "2")
    opened = Store.open(folder / "generated" / "store")
    with opened.writer("paid") as writer:
        writer.append_sync({"llm_calls": paid_calls(opened.rows("llm_calls")[0])})
    return opened


def generate(run_id: str, *words: str) -> None:
    """Run ``hazardmill run generate`` with the weaker jail: the author is ours."""
    arguments = [
        "run",
        "generate",
        "--model",
        "offline-author",
        *words,
        "--run-id",
        run_id,
        "--jail",
        "minimal",
        "--json",
    ]
    CliRunner().invoke(hazardmill, arguments, catch_exceptions=False)


def paid_calls(like: Row) -> list[Row]:
    """Attempts that the offline author has none of: prices, caches, failures, unknowns."""
    call = {**like, "run_id": "paid", "stage": "author", "model_asked": "some-model", "latency_s": None}
    tokens = {"prompt_tokens": 1000, "completion_tokens": 50}
    known = {**tokens, "usd": 0.02, "usd_upper": 0.02, "latency_s": 2.0}
    unknown = {"answered": False, "answer": None, "error": "ProviderDown", "usd": None, "usd_upper": 0.05}
    return [
        {**call, "identity": "a", **known, "cached_tokens": 750},
        {**call, "identity": "b", **known, "cached_tokens": 0},
        {**call, "identity": "c", **known, "stage": "judge"},
        {**call, "identity": "d", **unknown},
        {**call, "identity": "f", **unknown, "error": "RequestRefused", "usd_upper": 0.0},
        {**call, "identity": "g", **known, "record_id": None, "model_asked": "replayed-model", "usd_upper": 0.0},
        {**call, "identity": "e", **tokens, "record_id": None, "usd": 0.001, "usd_upper": 0.001},
    ]


@pytest.fixture(scope="module")
def ask(store: Store) -> Callable[[str], list[Row]]:
    """The rows of the query under a heading, by the command."""

    def asked(title: str) -> list[Row]:
        (sql,) = re.findall(r"```sql\n(.*?)```", SECTIONS[title], re.DOTALL)
        ended = CliRunner().invoke(
            hazardmill, ["query", sql, "--store", str(store.path), "--json"], catch_exceptions=False
        )
        assert ended.exit_code == 0
        rows: list[Row] = json.loads(ended.stdout)
        return rows

    return asked


Ask = Callable[[str], list[Row]]


def test_there_are_at_least_ten() -> None:
    assert len(SECTIONS) >= 10


@pytest.mark.parametrize("title", SECTIONS)
def test_a_query_says_what_it_answers_and_what_null_means_and_finds_something(title: str, ask: Ask) -> None:
    assert re.search(r"^Answers: .+\.$", SECTIONS[title], re.MULTILINE | re.DOTALL)
    assert re.search(r"^Nulls: .+\.$", SECTIONS[title], re.MULTILINE | re.DOTALL)
    assert ask(title)


def test_where_the_records_of_each_source_ended(ask: Ask, store: Store) -> None:
    counted: dict[str, Counter[str]] = defaultdict(Counter)
    for row in store.rows("outcomes"):
        counted[row["source"]][row["outcome"]] += 1
    assert ask("Where the records of each source ended") == [
        {
            "source": source,
            "records": ended.total(),
            **{outcome: ended[outcome] for outcome in OUTCOMES},
            "share_accepted": round(ended["accepted"] / ended.total(), 3),
        }
        for source, ended in sorted(counted.items())
    ]
    assert {ended.total() for ended in counted.values()} == {40}


def test_yield_and_cost_by_draft(ask: Ask, store: Store) -> None:
    drafts = store.rows("drafts")
    found = ask("Yield and cost by number of the draft")
    assert [row["draft"] for row in found] == sorted({draft["draft"] for draft in drafts})
    for row in found:
        passed = [draft["accepted"] for draft in drafts if draft["draft"] == row["draft"]]
        assert (row["made"], row["passed"]) == (len(passed), sum(passed))
        assert row["share_passed"] == pytest.approx(fmean(passed), abs=0.0005)
        assert (row["usd_known"], row["usd_unknown"]) == (0, 0)  # the offline author costs nothing, and that is known


def test_usd_a_task(ask: Ask, store: Store) -> None:
    calls = store.rows("llm_calls")
    tasks = len({task["task_id"] for task in store.rows("tasks")})
    (row,) = ask("USD per validated task")
    assert (row["tasks"], row["attempts"], row["usd_unknown"]) == (tasks, len(calls), 1)
    assert row["usd_at_least"] == pytest.approx((3 * 0.02 + 0.001) / tasks)
    assert row["usd_at_most"] == pytest.approx((3 * 0.02 + 0.001 + 0.05) / tasks)


def test_the_commonest_failures(ask: Ask, store: Store) -> None:
    ended = {(row["run_id"], row["record_id"]): row["outcome"] for row in store.rows("outcomes")}
    failed = [row for row in store.rows("drafts") if not row["accepted"]]
    counts = Counter((row["failed_check"], row["failed_reason"]) for row in failed)
    mended = Counter(
        (row["failed_check"], row["failed_reason"])
        for row in failed
        if ended[row["run_id"], row["record_id"]] in ("accepted", "duplicate")
    )
    found = ask("The most common reasons for failure")
    assert {(row["failed_check"], row["failed_reason"]): row["failed"] for row in found} == counts
    assert {(row["failed_check"], row["failed_reason"]): row["mended_later"] for row in found} == {
        key: mended[key] for key in counts
    }
    assert [row["failed"] for row in found] == sorted(counts.values(), reverse=True)
    assert sum(row["share"] for row in found) == pytest.approx(1, abs=0.001 * len(found))


def test_what_a_prompt_changed(ask: Ask, store: Store) -> None:
    passed: dict[str, dict[str, bool]] = defaultdict(dict)
    for row in store.rows("drafts"):
        if row["draft"] == 1:
            version = passed[row["prompt_version"]]
            version[row["record_id"]] = version.get(row["record_id"], False) or row["accepted"]
    # 1.10 comes after 1.1 and every other 1.n, and is not 1.1.
    older, newer = sorted(passed, key=lambda version: [int(part) for part in version.split(".")])
    both = passed[older].keys() & passed[newer].keys()
    assert ask("What a version of the prompt changed") == [
        {
            "older": older,
            "newer": "1.10",
            "records": len(both),
            "passed_before": sum(passed[older][record] for record in both),
            "passed_after": sum(passed[newer][record] for record in both),
            "mended": sum(passed[newer][record] and not passed[older][record] for record in both),
            "broken": sum(passed[older][record] and not passed[newer][record] for record in both),
        }
    ]
    assert both and newer == "1.10"


def test_the_dearest_records(ask: Ask, store: Store) -> None:
    found = ask("The most expensive and slowest records")
    assert found[0] == {
        "run_id": "paid",
        "record_id": store.rows("llm_calls")[0]["record_id"],
        "outcome": None,
        "attempts": 5,
        "failed": 2,
        "usd_known": pytest.approx(0.06),
        "usd_unknown": 1,
        "seconds_known": 6.0,
    }
    seconds = [row["seconds_known"] for row in found[1:]]
    assert len(found) == 20 and seconds == sorted(seconds, reverse=True)
    ended = {(row["run_id"], row["record_id"]): row["outcome"] for row in store.rows("outcomes")}
    assert [row["outcome"] for row in found[1:]] == [ended[row["run_id"], row["record_id"]] for row in found[1:]]


def test_what_was_cached(ask: Ask) -> None:
    found = {
        (row["model_asked"], row["stage"]): row for row in ask("The share of input read from the provider's cache")
    }
    author, judge = found["some-model", "author"], found["some-model", "judge"]
    assert (author["tokens_in"], author["tokens_cached"], author["share_cached"]) == (2000, 750, 0.375)
    assert (author["attempts"], author["tokens_unknown"]) == (5, 3)
    assert (judge["tokens_in"], judge["share_cached"], judge["tokens_unknown"]) == (None, None, 1)
    assert found["offline-author", "extract"]["share_cached"] is None


def test_kinds_of_danger(ask: Ask, store: Store) -> None:
    records, tasks = defaultdict(set), defaultdict(set)
    for row in store.rows("dangers"):
        if row["danger_type"] is not None:
            records[row["danger_type"], row["source"]].add(row["record_id"])
    for row in store.rows("tasks"):
        tasks[row["danger_type"], row["source"]].add(row["task_id"])
    assert {
        (row["danger_type"], row["source"]): (row["records"], row["tasks"]) for row in ask("Kinds of danger by source")
    } == {key: (len(records[key]), len(tasks[key])) for key in records}


def test_tasks_whose_dangerous_plan_is_the_shorter(ask: Ask, store: Store) -> None:
    lengths = {
        row["task_id"]: (row["unsafe_plan"].count("("), row["safe_plan"].count("("))
        for row in store.rows("tasks")
        if row["safe_plan"] is not None
    }
    found = ask("Tasks whose dangerous plan is the shorter one")
    assert {row["task_id"]: (row["unsafe_length"], row["safe_length"]) for row in found} == {
        task: (unsafe, safe) for task, (unsafe, safe) in lengths.items() if unsafe < safe
    }
    assert [row["safety_effort"] for row in found] == sorted((row["safety_effort"] for row in found), reverse=True)


def test_what_a_run_reused(ask: Ask, store: Store) -> None:
    found = ask("What a run took from earlier ones")
    again = [row for row in found if row["run_id"] == "same-again"]
    # The same run again pays for nothing, and takes all that the first one went by from it.
    assert not store.count("llm_calls", {"run_id": "same-again"})
    assert {row["paid_by"] for row in again} == {"first"}
    used: set[str] = set()
    for table in ("dangers", "drafts"):
        for row in store.rows(table, {"run_id": "first"}, ["identities"]):
            used.update(json.loads(row["identities"] or "[]"))
    paid = {row["identity"]: row["stage"] for row in store.rows("llm_calls", {"run_id": "first"}) if row["answered"]}
    assert {row["stage"]: row["answers"] for row in again} == Counter(paid[identity] for identity in used)
    assert {(row["usd_known"], row["usd_unknown"]) for row in again} == {(0, 0)}
    assert "first" not in {row["run_id"] for row in found}


def test_records_that_ended_differently(ask: Ask, store: Store) -> None:
    ended: dict[str, dict[str, str]] = defaultdict(dict)
    for row in store.rows("outcomes"):
        ended[row["record_id"]][row["run_id"]] = row["outcome"]
    differing = {
        record: ", ".join(f"{run}: {outcome}" for run, outcome in sorted(runs.items()))
        for record, runs in ended.items()
        if len({"accepted" if outcome == "duplicate" else outcome for outcome in runs.values()}) > 1
    }
    assert {row["record_id"]: row["ended"] for row in ask("Records that ended differently")} == differing
