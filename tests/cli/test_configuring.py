from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest

from hazardmill.cli.run.config import new_config, override_config
from hazardmill.cli.run.options import generation_options
from hazardmill.errors import UsageError
from hazardmill.run_options import ALL_MODELS, GivenPrice
from hazardmill.runs.config import RunConfig
from hazardmill.runs.config_from_settings import change_config
from hazardmill.settings import SETTINGS_FILE, Settings

MODEL = ["--model", "openai/gpt-4o"]

CASES: dict[str, tuple[list[str], str, str, Any, Any, Any]] = {
    # Setting: option, text of the variable, text in the file; then what each comes to.
    "fallback_models": (
        ["--fallback-model", "a", "--fallback-model", "b"],
        "c, d",
        "[e]",
        ("a", "b"),
        ("c", "d"),
        ("e",),
    ),
    "api_base": (["--api-base", "http://a"], "http://b", "http://c", "http://a", "http://b", "http://c"),
    "kind": (["--kind", "task"], "sit", "mal", "task", "sit", "mal"),
    "prompts": (["--prompts", "/"], "/b", "/a", Path("/"), Path("/b"), Path("/a")),
    "author_format": (["--author-format", "python"], "document", "document", "python", "document", "document"),
    "structured": (["--no-structured"], "true", "yes", False, True, True),
    "prices": (
        ["--price", "in=1,out=2", "--price", "openai/gpt-4o=in=3,out=4,cached_in=1"],
        "in=0,out=0 a=b=in=1,out=1",
        "{all: {input: 5, output: 6.5}}",
        {ALL_MODELS: GivenPrice(input=1, output=2), "openai/gpt-4o": GivenPrice(input=3, output=4, cached_input=1)},
        {ALL_MODELS: GivenPrice(input=0, output=0), "a=b": GivenPrice(input=1, output=1)},
        {ALL_MODELS: GivenPrice(input=5, output=6.5)},
    ),
    "budget_usd": (["--budget-usd", "3"], "2", "1.5", 3.0, 2.0, 1.5),
    "budget_id": (["--budget-id", "a"], "b", "c", "a", "b", "c"),
    "batch": (["--no-batch"], "true", "false", False, True, False),
    "exchange": (["--exchange", "/c"], "/b", "/a", Path("/c"), Path("/b"), Path("/a")),
    "exchange_format": (["--exchange", "/c", "--exchange-format", "openai"], "eai", "eai", "openai", "eai", "eai"),
    "batch_max_age": (["--batch-max-age", "3"], "2.5", "1", 3.0, 2.5, 1.0),
    "requests_per_minute": (["--requests-per-minute", "3"], "2", "1", 3, 2, 1),
    "tokens_per_minute": (["--tokens-per-minute", "3"], "2", "1", 3, 2, 1),
    "deadline_s": (["--deadline", "3"], "2.5", "1", 3.0, 2.5, 1.0),
    "attempt_timeout": (["--attempt-timeout", "3"], "2.5", "1", 3.0, 2.5, 1.0),
    "max_answer_bytes": (["--max-answer-bytes", "3"], "2", "1", 3, 2, 1),
    "jail": (["--jail", "auto"], "minimal", "full", "auto", "minimal", "full"),
    "checks": (["--check", "a", "--check", "b"], "c, d", "[e]", ("a", "b"), ("c", "d"), ("e",)),
    "wave_size": (["--wave-size", "3"], "2", "1", 3, 2, 1),
    "concurrency": (["--concurrency", "3"], "2", "1", 3, 2, 1),
    "cross_check": (["--cross-check", "0.3"], "0.2", "0.1", 0.3, 0.2, 0.1),
    "search_limit": (["--search-limit", "3"], "2", "1", 3, 2, 1),
}

MODELS: dict[str, tuple[str, str]] = {
    "model": ("--model", "author"),
    "extract_model": ("--extract-model", "extract"),
    "judge_model": ("--judge-model", "judge"),
}

ELSEWHERE = {"store", "dask_address", "pages_url", "reports_days", "authors", "doi"}
"""Settings that are no part of a run's configuration."""


def configuration(*words: str) -> RunConfig:
    """What the options of a new run come to."""
    found: list[RunConfig] = []

    @click.command()
    @generation_options
    def command(sources: Any, inputs: Any, wheres: Any, limits: Any, replay: Any, **given: Any) -> None:
        found.append(new_config(sources, inputs, wheres, limits, replay, given))

    command.main(["--source", "neiss", *words], standalone_mode=False)
    return found[0]


def write(name: str, text: str) -> None:
    Path(SETTINGS_FILE).write_text(f"{name}: {text}\n")


def test_every_setting_is_one_of_these() -> None:
    # A base goes with a kind only, and must be there: tests/runs/test_scenario_runs.py.
    assert set(Settings.model_fields) == {*CASES, *MODELS, *ELSEWHERE, "base"}


@pytest.mark.parametrize("name", CASES)
def test_an_option_wins_over_the_environment_and_that_over_the_file(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    options, variable, written, by_option, by_variable, by_file = CASES[name]
    default = RunConfig.model_fields[name].get_default(call_default_factory=True, validated_data={})
    assert getattr(configuration(*MODEL), name) == default == getattr(Settings(), name) or (name == "search_limit")
    write(name, written)
    assert getattr(configuration(*MODEL), name) == by_file
    monkeypatch.setenv(f"HAZARDMILL_{name.upper()}", variable)
    assert getattr(configuration(*MODEL), name) == by_variable
    assert getattr(configuration(*MODEL, *options), name) == by_option


def test_a_format_is_refused_where_there_is_no_exchange_folder() -> None:
    with pytest.raises(UsageError, match="the format eai is for exchange folders, but no exchange folder is given"):
        configuration(*MODEL, "--exchange-format", "eai")
    started = configuration(*MODEL)
    with pytest.raises(UsageError, match="no exchange folder is given"):
        override_config(started, (), {"exchange_format": "eai"})
    changed = override_config(started, (), {"exchange_format": "eai", "exchange": Path("/c")})
    assert (changed.exchange_format, changed.exchange) == ("eai", Path("/c"))


LONG = ["--attempt-timeout", "900"]


@pytest.mark.parametrize(
    ("options", "variable", "deadline"),
    [
        (["--attempt-timeout", "600"], None, 600),
        (LONG, None, 1800),
        ([*LONG, "--deadline", "700"], None, 700),
        (LONG, ("DEADLINE_S", "60"), 1800),
        (LONG, ("DEADLINE_S", "900"), 900),
        ([], ("DEADLINE_S", "60"), 60),
        ([], ("ATTEMPT_TIMEOUT", "900"), 1800),
        (["--attempt-timeout", "20"], ("ATTEMPT_TIMEOUT", "900"), 600),
        (["--deadline", "30"], ("ATTEMPT_TIMEOUT", "900"), 30),
    ],
)
def test_a_deadline_that_was_said_no_nearer_than_the_attempts_leaves_time_for_them(
    options: list[str], variable: tuple[str, str] | None, deadline: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    if variable is not None:
        monkeypatch.setenv(f"HAZARDMILL_{variable[0]}", variable[1])
    assert configuration(*MODEL, *options).deadline_s == deadline


@pytest.mark.parametrize("option", ["--attempt-timeout", "--deadline"])
@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf", "soon"])
def test_seconds_are_finite_and_above_0(option: str, seconds: str) -> None:
    with pytest.raises(click.BadParameter):
        configuration(*MODEL, option, seconds)


@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_named_by_option_variable_or_file(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    option, stage = MODELS[name]
    monkeypatch.delenv("HAZARDMILL_MODEL")
    base = [] if name == "model" else MODEL
    write(name, "openai/a")
    assert getattr(configuration(*base).models, stage) == "openai/a"
    monkeypatch.setenv(f"HAZARDMILL_{name.upper()}", "openai/b")
    assert getattr(configuration(*base).models, stage) == "openai/b"
    assert getattr(configuration(*base, option, "openai/c").models, stage) == "openai/c"


def test_the_word_none_is_no_budget_wherever_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    write("budget_usd", "5\nbudget_id: all")
    assert (configuration().budget_usd, configuration().budget_id) == (5.0, "all")
    lifted = configuration("--budget-usd", "none")
    assert (lifted.budget_usd, lifted.budget_id) == (None, None)
    monkeypatch.setenv("HAZARDMILL_BUDGET_USD", "none")
    assert configuration().budget_usd is None


def test_the_offline_author_takes_nothing_from_settings_that_is_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HAZARDMILL_MODEL", "openai/gpt-4o")
    monkeypatch.setenv("HAZARDMILL_API_BASE", "http://127.0.0.1:1")
    monkeypatch.setenv("HAZARDMILL_FALLBACK_MODELS", "openai/gpt-4o-mini")
    found = configuration("--model", "offline-author")
    assert (found.backend, found.api_base, found.fallback_models) == ("offline", None, ())
    with pytest.raises(UsageError, match="cannot be mixed"):
        configuration("--model", "offline-author", "--fallback-model", "openai/gpt-4o-mini")


@pytest.mark.parametrize("words", [(), ("--judge-model", "openai/gpt-4o"), ("--api-base", "http://127.0.0.1:1")])
def test_a_run_whose_model_nobody_names_is_refused(words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HAZARDMILL_MODEL")
    with pytest.raises(UsageError, match="no model is named") as caught:
        configuration(*words)
    assert caught.value.remedy is not None
    for choice in ("--model", "setting `model`", "recorded, which answers for the shipped samples"):
        assert choice in caught.value.remedy


def test_one_shard_is_of_every_source() -> None:
    assert [item.shard for item in configuration("--source", "bddl", "--shard", "2/8").inputs] == ["2/8", "2/8"]
    assert configuration().inputs[0].shard is None


def test_what_is_no_shard_is_a_wrong_option() -> None:
    with pytest.raises(click.BadParameter, match="'9/8' is not a shard: write K/N, such as 2/8"):
        configuration("--shard", "9/8")


@pytest.mark.parametrize(
    ("before", "given", "batch", "folder"),
    [
        ({"exchange": Path("/c")}, {"batch": True}, True, None),
        ({"batch": True}, {"exchange": Path("/c")}, False, Path("/c")),
        # To send no batches says nothing about the folder, and a folder that is not used nothing about batches.
        ({"exchange": Path("/c")}, {"batch": False}, False, Path("/c")),
        ({"batch": True}, {"exchange": None}, True, None),
    ],
)
def test_a_resumed_run_takes_the_given_channel_and_sends_no_single_requests_unasked(
    before: dict[str, Any], given: dict[str, Any], batch: bool, folder: Path | None
) -> None:
    started = configuration(*MODEL).model_copy(update=before)
    changed = change_config(started, given)
    assert (changed.batch, changed.exchange) == (batch, folder)
