from __future__ import annotations

import pytest

from hazardmill import __version__
from hazardmill.cli import doctor
from hazardmill.errors import JailUnavailable

from .conftest import Hazardmill


def test_doctor_says_what_works(hazardmill: Hazardmill) -> None:
    ended = hazardmill("doctor", "--json")
    assert ended.code == 0
    found = ended.json
    assert (found["hazardmill"], found["jail_holds"], found["prompts"]) == (__version__, True, "ok")
    assert "rlimits" in found["jail"] and {"neiss", "bddl"} <= set(found["sources"])
    assert set(found["extras"]) == {"llm", "prefect", "enhsp", "tamer"}
    out = hazardmill("doctor").out
    assert all(f"{name}:" in out for name in found)


def test_a_jail_that_does_not_hold_is_a_failure(hazardmill: Hazardmill, monkeypatch: pytest.MonkeyPatch) -> None:
    class Open:
        def __init__(self, profile: str) -> None:
            raise JailUnavailable("jailed code could still connect")

    monkeypatch.setattr(doctor, "Jail", Open)
    ended = hazardmill("doctor", "--json")
    assert ended.code == 1
    assert ended.json["jail_holds"] is False and "could still connect" in ended.json["jail"]
