from __future__ import annotations

from pathlib import Path

import pytest
from factories.dialogues import plan

from .conftest import Ended, Hazardmill

MODEL = ("--model", "deepseek/deepseek-chat")


@pytest.fixture
def estimate(hazardmill: Hazardmill, neiss: Path, monkeypatch: pytest.MonkeyPatch) -> Hazardmill:
    """Estimate a run over the first records of the NEISS sample, without a key."""
    monkeypatch.delenv("DEEPSEEK_API_KEY", raising=False)

    def run(*words: object) -> Ended:
        return hazardmill("run", "estimate", "--source", "neiss", "--input", neiss, "--limit", 6, *words)

    return run


def test_it_needs_no_key_and_writes_nothing(estimate: Hazardmill, empty_folder: Path) -> None:
    ended = estimate(*MODEL, "--json")
    assert (ended.code, ended.err) == (0, "")
    assert ended.json["records"] == 6
    assert list(ended.json["stages"]) == ["extract", "author", "judge"]
    total = ended.json["total"]["usd"]
    assert 0 < total["low"] < total["expected"] < total["high"]
    assert sum(stage["usd"]["high"] for stage in ended.json["stages"].values()) == pytest.approx(total["high"])
    assert list(empty_folder.iterdir()) == []


def test_people_see_ranges_and_what_is_assumed(estimate: Hazardmill) -> None:
    out = estimate(*MODEL, "--budget-usd", 5).out
    assert "6 records; each figure: low, expected, high" in out
    assert "a budget of 5 USD suffices even in the dearest case" in out
    assert "  drafts per danger or seed: 1, 2, 5\n" in out and "input from the cache: " in out
    assert "is likely to be reached" in estimate(*MODEL, "--budget-usd", 0.005).out
    assert "will be reached" in estimate(*MODEL, "--budget-usd", 0.0001).out


def test_an_unknown_price_leaves_the_tokens(estimate: Hazardmill) -> None:
    ended = estimate("--model", "openai/some-model", "--json")
    assert ended.json["unknown_prices"] == ["openai/some-model"]
    assert ended.json["total"]["usd"] is None and ended.json["stages"]["judge"]["usd"] is None
    assert ended.json["total"]["prompt_tokens"]["expected"] > 6 * 1_000
    told = estimate(*MODEL, "--judge-model", "openai/some-model")
    assert "cost unknown: no price is known of openai/some-model [give it with --price]" in told.out


def test_both_ways_are_priced_and_timed_and_the_cheaper_one_is_named(estimate: Hazardmill) -> None:
    words = ("--model", "openai/gpt-5-mini")
    found = estimate(*words, "--json").json
    total, (ways,) = found["total"], found["ways"]
    assert 0 < total["batch_usd"]["expected"] < total["usd"]["expected"]
    assert (ways["model"], ways["batches"], ways["cache_holds"], ways["cheaper"]) == (words[1], "priced", True, "batch")
    assert ways["usd"] == pytest.approx(total["usd"]) and ways["batch_usd"] == pytest.approx(total["batch_usd"])
    assert found["hours"]["high"] < found["batch_hours"]["expected"] == found["batch_rounds"]["expected"]
    assert found["batch_hours"]["high"] == 24 * found["batch_rounds"]["high"]
    told = estimate(*words, "--author-format", "document").out
    assert "openai/gpt-5-mini (extract, author as document, judge): batches are cheaper" in told
    assert "; the cache discount holds inside a batch, too" in told
    assert "batches: $" in told and "single requests: $" in told
    assert "  hours per round of batches: 0.1, 1, 24 (providers promise 24;" in told


def test_a_provider_without_batches_and_one_without_a_price_for_them_are_told_apart(estimate: Hazardmill) -> None:
    told = estimate(*MODEL).out
    assert "deepseek/deepseek-chat (extract, author as python, judge): its provider takes no batches" in told
    assert "batches: " not in told and "rounds" not in told
    found = estimate(*MODEL, "--json").json
    assert found["batch_hours"] is None and found["total"]["batch_usd"] is None
    assert [each["batches"] for each in found["ways"]] == ["none"]
    mixed = estimate("--model", "openai/gpt-4.1-mini", "--judge-model", "openai/some-model").out
    assert "openai/some-model (judge): prices.yaml has no price inside a batch" in mixed
    assert "openai/gpt-4.1-mini (extract, author as python): " in mixed
    assert "; the cache discount does not hold inside a batch" in mixed


def test_it_says_so_where_the_cheaper_way_depends_on_the_case(hazardmill: Hazardmill, neiss: Path) -> None:
    # Over many records most of the input is alike; if all of that is cached, single requests are the cheaper ones.
    words = ("run", "estimate", "--source", "neiss", "--input", neiss)
    told = hazardmill(*words, "--model", "openai/gpt-4.1-mini").out
    assert "batches are cheaper in the expected case, though not in every case: $" in told
    assert "batches are cheaper: $" in hazardmill(*words, "--model", "openai/gpt-5-mini").out


def test_a_replay_and_the_offline_author_cost_nothing(estimate: Hazardmill) -> None:
    for words in ((), (*MODEL, "--replay")):
        ended = estimate(*words, "--json")
        assert ended.json["total"]["usd"] == {"low": 0, "expected": 0, "high": 0}
        assert ended.json["ways"] == [] and ended.json["hours"] is None
        assert "batches" not in estimate(*words).out


def test_a_document_is_shorter_than_a_module_and_a_schema_is_sent_along(estimate: Hazardmill) -> None:
    python, document, structured = (
        estimate(*MODEL, *words, "--json").json["stages"]["author"]
        for words in (
            (),
            ("--author-format", "document"),
            ("--author-format", "document", "--structured"),
        )
    )
    assert document["completion_tokens"]["expected"] < python["completion_tokens"]["expected"]
    assert structured["prompt_tokens"]["expected"] > document["prompt_tokens"]["expected"]


def test_records_of_the_store_are_read_and_the_store_stays_as_it_is(
    hazardmill: Hazardmill, neiss: Path, estimate: Hazardmill
) -> None:
    assert hazardmill("ingest", "--source", "neiss", neiss, "--store", "s").code == 0
    before = sorted((path, path.stat().st_mtime_ns) for path in Path("s").rglob("*"))
    words = ("run", "estimate", "--source", "neiss", "--store", "s", "--limit", 6, *MODEL, "--json")
    stored = hazardmill(*words)
    assert stored.json["records"] == 6
    # The same records as in the file.
    assert stored.json["total"] == estimate(*MODEL, "--json").json["total"]
    assert sorted((path, path.stat().st_mtime_ns) for path in Path("s").rglob("*")) == before


def test_nothing_to_work_on_is_bad_input_and_says_how_to_get_some(hazardmill: Hazardmill) -> None:
    ended = hazardmill("run", "estimate", "--source", "neiss", *MODEL)
    assert ended.code == 3
    assert "hazardmill sources fetch neiss, then hazardmill ingest --source neiss --store" in ended.err
    assert not Path("generated").exists()


def test_a_run_of_dialogues_is_estimated_by_its_own_command(hazardmill: Hazardmill, tmp_path: Path) -> None:
    files = plan(tmp_path)
    words = ("run", "acting", "--seeds", files.seeds, "--roles", files.roles, "--rounds", 2, *MODEL, "--estimate")
    found = hazardmill(*words, "--store", tmp_path / "store", "--json")
    assert (found.code, list(found.json["stages"]), found.json["records"]) == (0, ["turn", "propose"], 2)
    assert found.json["total"]["requests"]["expected"] == 2 * (2 + 1) * 2
    told = hazardmill(*words, "--store", tmp_path / "store", "--budget-usd", 5).out
    assert "2 dialogues; each figure: low, expected, high" in told and "  tokens per remark: 90, 120, 200" in told
    assert "a budget of 5 USD suffices even in the dearest case" in told
    assert not (tmp_path / "store").exists()
