"""The jail that forks from a zygote with Unified Planning loaded: the same walls, and a zygote that nothing harms."""

from __future__ import annotations

import asyncio
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hazardmill.errors import JailUnavailable, SandboxError
from hazardmill.sandbox.check import CheckFailure, Planner, check_planner
from hazardmill.sandbox.jail import PLANNERS, Jail, JailFailure, JailResult, Limits
from hazardmill.sandbox.process import isolation
from hazardmill.sandbox.process.probe import ABILITIES
from tests.formalism.despite_folders import KETTLE

from .attacks import ALL, Attack
from .conftest import children_of, zygote_of
from .test_attacks import assert_untouched, listener, targets
from .test_zygote import ATTACKS as ON_ZYGOTES

__all__ = ["listener", "targets"]  # fixtures

HANG = "while True:\n    pass\n"


@pytest.fixture(scope="module")
def planners() -> Iterator[Jail]:
    """A full jail with the workload for planners."""
    with Jail("full", workload=PLANNERS) as jail:
        yield jail


@pytest.fixture
def own() -> Iterator[Jail]:
    """Another one, for tests that end its zygote or threads."""
    with Jail("full", workload=PLANNERS) as jail:
        yield jail


@pytest.mark.parametrize("attack", ALL, ids=lambda attack: attack.name)
def test_is_contained(
    attack: Attack,
    planners: Jail,
    targets: dict[str, Any],
    listener: socket.socket,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    zygote = zygote_of(planners)
    monkeypatch.setattr(planners, "limits", Limits(wall_seconds=attack.wall_seconds))
    answer = planners.run(attack.script({**targets, "zygote": zygote}))
    assert isinstance(answer, JailFailure)
    assert "LOOT" not in answer.message
    assert answer.reason == attack.reason, answer
    # Not because a module was missing, which would say nothing of the walls.
    assert "ModuleNotFoundError" not in answer.message or attack.name == "import a module from disk"
    assert_untouched(targets, listener)
    monkeypatch.setattr(planners, "limits", Limits())
    assert isinstance(planners.run(KETTLE), JailResult)
    assert (zygote_of(planners), children_of(zygote)) == (zygote, [])


@pytest.mark.full
def test_all_are_contained_for_an_ordinary_user(
    targets: dict[str, Any], listener: socket.socket, project: Path
) -> None:
    script = Path(__file__).with_name("planners_as_ordinary_user.py")
    run = subprocess.run(
        [sys.executable, str(script)],
        input=json.dumps(targets),
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(project)},
    )
    assert run.returncode == 0, run.stderr
    report = json.loads(run.stdout)
    assert (report["user"] != 0, "uid" in report["profile"], report["afterwards"]) == (True, False, "JailResult")
    reasons = {attack.name: attack.reason for attack in (*ALL, *ON_ZYGOTES)}
    assert {name: reason for name, (reason, _) in report["outcomes"].items()} == reasons
    assert [name for name, (_, message) in report["outcomes"].items() if "LOOT" in message] == []
    assert_untouched(targets, listener)


# Profile, abilities, failing closed


def test_no_ability_is_left_and_the_profile_says_that_it_forks(planners: Jail) -> None:
    assert planners.abilities() == dict.fromkeys(ABILITIES, False)
    kind, _, names = planners.profile.partition(":")
    assert kind == "fork"
    assert set(names.split("+")) == set(planners.layers)


def test_without_walls_there_is_no_jail_and_no_zygote(monkeypatch: pytest.MonkeyPatch) -> None:
    before = children_of(os.getpid())
    monkeypatch.setattr(isolation, "ORDER", ("rlimits",))
    with pytest.raises(JailUnavailable, match="could still read, write, connect"):
        Jail("full", workload=PLANNERS)
    assert children_of(os.getpid()) == before


def test_the_probe_succeeds_where_nothing_forbids_it() -> None:
    with Jail("minimal", workload=PLANNERS) as minimal:
        found = minimal.abilities()
    assert minimal.profile == "minimal:rlimits"
    assert {"read": True, "connect": True, "signal": True}.items() <= found.items()


def test_a_child_whose_layers_differ_runs_no_code(planners: Jail, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planners, "layers", (*planners.layers, "moat"))
    with pytest.raises(SandboxError, match="no code was run"):
        planners.run(KETTLE)


@pytest.fixture
def workload(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    def write(code: str) -> str:
        (tmp_path / "modules").mkdir()
        (tmp_path / "modules" / "made_for_this_test.py").write_text(code)
        monkeypatch.syspath_prepend(tmp_path / "modules")
        return "made_for_this_test"

    return write


def test_a_workload_that_cannot_be_prepared_is_no_jail(workload: Callable[[str], str]) -> None:
    with pytest.raises(JailUnavailable, match="ZeroDivisionError: division by zero"):
        Jail("full", workload=workload("def prepare():\n    1 / 0\n"))
    with pytest.raises(JailUnavailable, match="No module named 'nowhere'"):
        Jail("full", workload="nowhere")


def test_a_workload_with_threads_is_no_jail(workload: Callable[[str], str]) -> None:
    code = (
        "import threading\ndef prepare():\n    threading.Thread(target=threading.Event().wait, daemon=True).start()\n"
    )
    with pytest.raises(JailUnavailable, match="left 2 threads running"):
        Jail("full", workload=workload(code + "def run(code):\n    return b''\n"))


def test_any_workload_can_be_served_and_is_prepared_once(
    workload: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HAZARDMILL_PLANTED", "planted")
    code = """\
import json, os, sys
seen = []
def prepare():
    seen.append("prepared")
def run(code):
    seen.append(code)
    value = {"seen": seen, "environment": dict(os.environ), "path": sys.path}
    return json.dumps({"document": value}).encode() + b"\\n"
"""
    with Jail("full", workload=workload(code)) as jail:
        zygote = zygote_of(jail)
        answers = [jail.run(text) for text in ("one", "two")]
        block = Path(f"/proc/{zygote}/environ").read_bytes()
        assert list(Path(f"/proc/{zygote}/cwd").iterdir()) == []
    values = [answer.value for answer in answers if isinstance(answer, JailResult)]
    assert [value["seen"] for value in values] == [["prepared", "one"], ["prepared", "two"]]
    assert all(value["environment"] == {} and value["path"] == [] for value in values)
    assert block == b"PYTHONHASHSEED=0\0"


# What one child does is nothing to the next


def test_what_one_child_changes_no_other_sees(planners: Jail) -> None:
    spoiled = (
        "import unified_planning.model as m, builtins, src.planner.solver as s\n"
        "m.Fluent.name = 'x'\nbuiltins.len = None\ns.BasePlanner.run_cli = None\nraise ValueError('done')"
    )
    before = planners.run(KETTLE)
    assert isinstance(planners.run(spoiled), JailFailure)
    assert planners.run(KETTLE) == before


def test_a_zygote_that_dies_is_replaced(own: Jail) -> None:
    pid = zygote_of(own)
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert isinstance(own.run(KETTLE), JailResult)
    assert zygote_of(own) != pid


def test_a_zygote_that_dies_takes_its_child_along(own: Jail) -> None:
    async def killed() -> None:
        running = asyncio.create_task(own.run_async(HANG))
        zygote = zygote_of(own)
        while not (child := children_of(zygote)):
            await asyncio.sleep(0)
        watched = os.pidfd_open(child[0])
        os.kill(zygote, signal.SIGKILL)
        assert select.select([watched], [], [])[0] == [watched]
        os.close(watched)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(killed())
    assert isinstance(own.run(KETTLE), JailResult)


def test_cancelling_kills_the_child_and_not_the_zygote(own: Jail) -> None:
    async def cancelled() -> None:
        zygote = zygote_of(own)
        running = asyncio.create_task(own.run_async(HANG))
        while not children_of(zygote):
            await asyncio.sleep(0)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        while children_of(zygote):
            await asyncio.sleep(0)
        assert isinstance(await own.run_async(KETTLE), JailResult)
        assert zygote_of(own) == zygote

    asyncio.run(cancelled())


def test_many_at_once_get_each_their_own_answer(own: Jail) -> None:
    async def many() -> list[JailResult | JailFailure]:
        return await asyncio.gather(*(own.run_async(f"raise ValueError({i})") for i in range(12)))

    answers = asyncio.run(many())
    assert [answer.message for answer in answers if isinstance(answer, JailFailure)] == [
        f"ValueError: {i}" for i in range(12)
    ]
    own.close()
    assert own._zygotes is not None and own._zygotes.pids == []
    assert isinstance(own.run(KETTLE), JailResult)


# Forged output


def forged(report: object) -> str:
    line = json.dumps(report).encode() + b"\n"
    return f"import os\nos.write(3, {line!r})\nos._exit(0)"


def test_a_forged_document_is_another_task_and_never_more(planners: Jail) -> None:
    honest = check_planner(KETTLE, planners)
    assert isinstance(honest, Planner)
    value = honest.document.to_json()
    assert check_planner(forged({"document": value, "notes": []}), planners) == honest
    cases = [
        {"document": {**value, "provenance": {"certified": True}}},
        {"document": {**value, "texts": {"verdict": "safe"}}},
        {"document": value, "verdict": "safe"},
        {"document": value, "notes": [["rule", "text", "more"]]},
        {"document": value, "notes": [["Contextual! ", "text"]]},
        {"document": value, "notes": [["a", "b"]] * 1_001},
    ]
    answers = [check_planner(forged(case), planners) for case in cases]
    assert [answer.reason for answer in answers if isinstance(answer, CheckFailure)] == ["forged_output"] * len(cases)
    broken = check_planner(forged({"document": {**value, "goal": ["fluent", "nowhere"]}}), planners)
    assert isinstance(broken, CheckFailure)
    assert (broken.reason, broken.message) == ("not_a_document", "goal: fluent 'nowhere' is not declared")


def test_notes_come_out_printable(planners: Jail) -> None:
    honest = check_planner(KETTLE, planners)
    assert isinstance(honest, Planner)
    report = {"document": honest.document.to_json(), "notes": [["some_rule", "red \x1b[31m"]]}
    answer = check_planner(forged(report), planners)
    assert isinstance(answer, Planner)
    assert answer.notes == (("some_rule", "red \N{REPLACEMENT CHARACTER}[31m"),)


def test_code_too_large_or_not_unicode_never_reaches_the_jail(planners: Jail) -> None:
    large = check_planner("#" * 200_001, planners)
    assert isinstance(large, CheckFailure)
    assert (large.stage, large.reason) == ("policy", "size")
    odd = check_planner("x = 1\ny = '\ud800'", planners)
    assert isinstance(odd, CheckFailure)
    assert (odd.reason, odd.line) == ("syntax", 2)
