from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from hazardmill.authors import Author
from hazardmill.cli.main import TRACEBACK_VARIABLE
from hazardmill.errors import SettingsError
from hazardmill.resources import SOURCES_VARIABLE
from hazardmill.run_options import ALL_MODELS, read_prices
from hazardmill.settings import NO_SETTINGS, SETTINGS_FILE, Settings, load_settings


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for field in Settings.model_fields:
        monkeypatch.delenv(f"HAZARDMILL_{field.upper()}", raising=False)


def write(text: str | bytes) -> None:
    Path(SETTINGS_FILE).write_bytes(text if isinstance(text, bytes) else text.encode())


def test_defaults_need_no_network_and_no_file() -> None:
    settings = load_settings()
    assert (settings.store, settings.model, settings.jail) == (Path("generated/store"), None, "auto")
    assert (settings.wave_size, settings.cross_check, settings.api_base) == (None, 0.0, None)


def test_the_environment_wins_over_the_file_and_the_file_over_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    write("wave_size: 7\nconcurrency: 3\n")
    monkeypatch.setenv("HAZARDMILL_CONCURRENCY", "5")
    settings = load_settings()
    assert (settings.wave_size, settings.concurrency, settings.jail) == (7, 5, "auto")


def test_other_variables_of_ours_are_no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    assert {SOURCES_VARIABLE, TRACEBACK_VARIABLE} <= NO_SETTINGS
    for variable in NO_SETTINGS:
        monkeypatch.setenv(variable, "anywhere")
    assert load_settings() == Settings()


@pytest.mark.parametrize(
    ("variable", "remedy"),
    [
        ("HAZARDMILL_MODLE", "did you mean HAZARDMILL_MODEL?"),
        ("hazardmill_wavesize", "did you mean HAZARDMILL_WAVE_SIZE?"),
        ("HAZARDMILL_WEATHER_IN_SPRING", "unset it; the settings are HAZARDMILL_API_BASE, "),
    ],
)
def test_a_variable_that_is_no_setting_is_refused(variable: str, remedy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, "openai/gpt-4o")
    with pytest.raises(SettingsError, match=f"{variable} is not a setting") as caught:
        load_settings()
    assert caught.value.remedy.startswith(remedy)
    assert "gpt-4o" not in str(caught.value)


def test_a_variable_set_to_nothing_is_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    write("model: mine\n")
    for variable in ("HAZARDMILL_MODEL", "HAZARDMILL_WAVE_SIZE", "HAZARDMILL_MODLE"):
        monkeypatch.setenv(variable, "")
    settings = load_settings()
    assert (settings.model, settings.wave_size) == ("mine", None)


def test_settings_fill_in_what_was_not_given_and_a_deadline_makes_room_for_longer_attempts() -> None:
    write("deadline_s: 60\nconcurrency: 3\n")
    given = {"concurrency": None, "deadline_s": None, "attempt_timeout": None}
    assert load_settings().fill(given) == {"concurrency": 3, "deadline_s": 60, "attempt_timeout": 300}
    longer = {**given, "attempt_timeout": 100.0}
    assert load_settings().fill(longer) == {"concurrency": 3, "deadline_s": 200, "attempt_timeout": 100}
    assert load_settings().fill({**longer, "deadline_s": 5.0})["deadline_s"] == 5


@pytest.mark.parametrize(
    ("given", "models"),
    [
        (None, {"a": 1, "b": 2}),
        (["a=in=3,out=0"], {"a": 3, "b": 2}),
        (["c=in=3,out=0"], {"a": 1, "b": 2, "c": 3}),
        (["in=3,out=0"], {ALL_MODELS: 3}),
        ([], {}),
    ],
)
def test_a_given_price_replaces_that_of_its_model_and_one_of_all_models_every_price(
    given: list[str] | None, models: dict[str, float]
) -> None:
    write("prices: {a: {input: 1, output: 0}, b: {input: 2, output: 0}}\n")
    filled = load_settings().fill({"prices": given if given is None else read_prices(given)})["prices"]
    assert {model: price.input for model, price in filled.items()} == models


@pytest.mark.parametrize(
    ("given", "channel"),
    [
        ({"batch": None, "exchange": None}, {"batch": True, "exchange": None}),
        ({"batch": None, "exchange": Path("desk")}, {"batch": False, "exchange": Path("desk")}),
        ({"batch": False, "exchange": None}, {"batch": False, "exchange": None}),
        # Both were given; the run refuses that.
        ({"batch": True, "exchange": Path("desk")}, {"batch": True, "exchange": Path("desk")}),
    ],
)
def test_a_given_exchange_replaces_the_batches_of_the_settings(given: dict[str, Any], channel: dict[str, Any]) -> None:
    write("batch: true\n")
    assert load_settings().fill(given) == channel


def test_given_batches_replace_the_exchange_of_the_settings() -> None:
    write("exchange: desk\n")
    assert load_settings().fill({"batch": True, "exchange": None}) == {"batch": True, "exchange": None}


ORCID = "0000-0002-1825-0097"


def test_authors_and_doi_come_from_the_file_or_as_json_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (load_settings().authors, load_settings().doi) == ((), None)
    write(
        f"authors:\n  - name: Doe, Jane\n    affiliation: A University\n    orcid: {ORCID}\n  - name: The Group\n"
        "doi: https://doi.org/10.5281/zenodo.1234567\n"
    )
    settings = load_settings()
    person = Author(name="Doe, Jane", affiliation="A University", orcid=ORCID)
    assert settings.authors == (person, Author(name="The Group"))
    assert settings.doi == "10.5281/zenodo.1234567"
    monkeypatch.setenv("HAZARDMILL_AUTHORS", '[{"name": "Roe, Richard"}]')
    assert load_settings().authors == (Author(name="Roe, Richard"),)


def test_a_wrong_author_or_doi_is_told_with_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    write(f"authors:\n  - name: Doe, Jane\n  - name: Roe, Richard\n    orcid: {ORCID[:-1]}8\n")
    with pytest.raises(SettingsError, match=r"authors\.1\.orcid: 0000-0002-1825-0098 is not an ORCID iD") as caught:
        load_settings()
    assert caught.value.file == SETTINGS_FILE
    for variable, value in (("HAZARDMILL_DOI", "zenodo"), ("HAZARDMILL_AUTHORS", "Jane Doe")):
        monkeypatch.setenv("HAZARDMILL_AUTHORS", "[]")
        monkeypatch.setenv(variable, value)
        with pytest.raises(SettingsError, match=f"{variable}: (a DOI is written as|write authors as a JSON list)"):
            load_settings()


@pytest.mark.parametrize("text", ["", "# nothing yet\n"])
def test_an_empty_file_changes_nothing(text: str) -> None:
    write(text)
    assert load_settings().wave_size is None


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("wave_size: 0\n", "wave_size"),
        ("wave_size: many\n", "wave_size"),
        ("attempt_timeout: 0\n", "attempt_timeout"),
        ("deadline_s: .inf\n", "deadline_s"),
        ("cross_check: 1.5\n", "cross_check"),
        ("jail: none\n", "jail"),
        ("store: [a]\n", "store"),
        ("storre: here\n", "storre"),
    ],
)
def test_a_wrong_value_in_the_file_names_file_and_key(text: str, key: str) -> None:
    write(text)
    with pytest.raises(SettingsError) as caught:
        load_settings()
    assert caught.value.file == SETTINGS_FILE
    assert caught.value.message.startswith(f"{key}: ")
    assert key in caught.value.remedy and SETTINGS_FILE in caught.value.remedy
    assert caught.value.exit_code == 3


def test_a_wrong_value_in_the_environment_names_the_variable_and_not_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    write("wave_size: 7\n")
    monkeypatch.setenv("HAZARDMILL_WAVE_SIZE", "x")
    with pytest.raises(SettingsError, match="HAZARDMILL_WAVE_SIZE: ") as caught:
        load_settings()
    assert caught.value.file is None


@pytest.mark.parametrize("text", ["a: [\n", "- wave_size\n", "just words\n", "7\n", b"\xff\xfe\x00", b"a: \x00\n"])
def test_a_file_that_is_no_mapping_is_refused_with_its_name(text: str | bytes) -> None:
    write(text)
    with pytest.raises(SettingsError) as caught:
        load_settings()
    assert caught.value.file == SETTINGS_FILE and caught.value.remedy


def test_a_pipe_of_that_name_is_refused_and_not_waited_for() -> None:
    os.mkfifo(SETTINGS_FILE)
    with pytest.raises(SettingsError, match="named pipe") as caught:
        load_settings()
    assert caught.value.file == SETTINGS_FILE and caught.value.remedy


def test_settings_do_not_change_behind_ones_back() -> None:
    with pytest.raises(ValueError, match="frozen"):
        load_settings().wave_size = 3


@pytest.mark.parametrize("text", ["a, b", "[a, b]", "a,,b,"])
def test_models_are_a_list_or_parted_by_commas(text: str) -> None:
    write(f"fallback_models: {text}\n")
    assert load_settings().fallback_models == ("a", "b")


def test_a_wrong_part_of_a_list_names_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HAZARDMILL_BUDGET_USD", "-1")
    with pytest.raises(SettingsError, match="HAZARDMILL_BUDGET_USD: "):
        load_settings()
