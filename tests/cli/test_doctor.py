from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from hazardmill import __version__
from hazardmill.cli import doctor
from hazardmill.errors import JailUnavailable
from hazardmill.extras import EXTRAS
from tests.plugins.installing import lay_package

from .conftest import Hazardmill


def test_doctor_says_what_works(hazardmill: Hazardmill) -> None:
    ended = hazardmill("doctor", "--json")
    assert ended.code == 0
    found = ended.json
    assert (found["hazardmill"], found["jail_holds"], found["prompts"]) == (__version__, True, "ok")
    assert "rlimits" in found["jail"] and {"neiss", "bddl"} <= set(found["sources"])
    assert list(found["extras"]) == [extra.name for extra in EXTRAS]
    out = hazardmill("doctor").out
    assert all(f"{name}:" in out for name in found)


def test_it_says_of_each_missing_extra_what_needs_it_and_how_to_install_it(
    hazardmill: Hazardmill, monkeypatch: pytest.MonkeyPatch
) -> None:
    lacks = {"boto3", "matplotlib"}
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *more: None if name in lacks else find(name))
    ended = hazardmill("doctor", "--json")
    assert ended.code == 0
    found = {line.partition(":")[0]: line for line in ended.json["missing"]}
    assert {"s3", "mill", "evaluation"} <= set(found) and "llm" not in found
    assert found["mill"].startswith("mill: demo, run, report") and "(lacks matplotlib)" in found["mill"]
    assert found["s3"].endswith("(lacks boto3) [pip install 'hazardmill[s3]']")
    assert not ended.json["extras"]["s3"] and ended.json["extras"]["llm"]
    assert f"\n  {found['s3']}\n" in hazardmill("doctor").out


def test_a_package_that_does_not_import_is_named(
    hazardmill: Hazardmill, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    points = {"hazardmill.backends": {"gone": "gone_package.missing:make"}}
    lay_package(tmp_path, "gone-package", "0.1", points, {"gone_package/__init__.py": ""})
    monkeypatch.syspath_prepend(str(tmp_path))
    found = hazardmill("doctor", "--json").json
    assert found["plugins"] == []
    assert ["gone" in line and "it does not load: ModuleNotFoundError" in line for line in found["broken"]] == [True]


def test_a_jail_that_does_not_hold_is_a_failure(hazardmill: Hazardmill, monkeypatch: pytest.MonkeyPatch) -> None:
    class Open:
        def __init__(self, profile: str) -> None:
            raise JailUnavailable("jailed code could still connect")

    monkeypatch.setattr(doctor, "Jail", Open)
    ended = hazardmill("doctor", "--json")
    assert ended.code == 1
    assert ended.json["jail_holds"] is False and "could still connect" in ended.json["jail"]
