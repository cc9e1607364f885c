"""What `make deploy` creates besides deployments, without a server: automations, defaults of sources; and costs."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from uuid import uuid4

import pytest
from e2e.prefect_server import free_port
from prefect import states
from prefect.client.schemas.objects import BlockDocument, FlowRun, State

from flows import cost_drift, source_defaults
from flows.approval import SUSPENDED
from flows.automations import STARTED, read_automation
from flows.budget import EVENT
from flows.resume_crashed import reason_against
from hazardmill.errors import InputError, UsageError

# Not because of the tests, which are short: importing Prefect takes seconds in every process that collects them.
pytestmark = pytest.mark.full

DEPLOYMENTS = {STARTED: uuid4()}


def test_automations_are_what_prefect_reads(project: Path) -> None:
    paths = sorted((project / "automations").glob("*.yaml"))
    block = BlockDocument.model_construct(id=uuid4(), name="hazardmill-notify", block_type=None)
    read = {path.stem: read_automation(path, {"hazardmill-notify": block}, DEPLOYMENTS) for path in paths}
    assert {name: each.name for name, each in read.items()} == {name: f"hazardmill-{name}" for name in read}
    assert read["budget"].trigger.expect == {EVENT.format(percent=100)}
    assert read["notify-cost"].trigger.expect == {cost_drift.EVENT}
    assert read["lost"].actions[0].deployment_id == DEPLOYMENTS[STARTED]
    with pytest.raises(UsageError, match="no deployment resume-crashed/default"):
        read_automation(project / "automations" / "lost.yaml", {}, {})
    # Without a block to notify with, only what notifies nobody is left.
    alone = {path.stem for path in paths if not isinstance(read_automation(path, {}, DEPLOYMENTS), str)}
    assert alone == {"budget", "lost", "release-unanswered"}
    assert SUSPENDED in read["lost"].trigger.expect
    assert {str(read_automation(path, {}, DEPLOYMENTS)) for path in paths if path.stem not in alone} == {
        "hazardmill-notify"
    }


@pytest.mark.parametrize(
    ("state", "begun", "deployed", "reason"),
    [
        (states.Crashed(), 1, True, None),
        (states.Crashed(), 3, True, None),
        (states.Crashed(), 4, True, "begun 4 times"),
        (states.Crashed(), 1, False, "no deployment"),
        (states.Completed(), 1, True, "it is Completed"),
        (states.AwaitingRetry(), 1, True, "it is AwaitingRetry"),
        (None, 0, True, "without a state"),
    ],
)
def test_a_crashed_flow_run_is_continued_three_times(
    state: State | None, begun: int, deployed: bool, reason: str | None
) -> None:
    run = FlowRun(flow_id=uuid4(), run_count=begun, deployment_id=uuid4() if deployed else None, state=state)
    said = reason_against(run, 3)
    assert said is None if reason is None else reason in str(said)


@pytest.mark.parametrize(
    ("value", "given", "expected"),
    [
        (None, {"limit": 3}, {"limit": 3}),
        ({"model": "a/b", "budget_usd": 5}, {}, {"model": "a/b", "budget_usd": 5}),
        ({"model": "a/b", "budget_usd": 5}, {"model": "c/d"}, {"model": "c/d", "budget_usd": 5}),
        ('{"budget_usd": 0.5}', {}, {"budget_usd": 0.5}),
    ],
)
def test_a_variable_sets_what_was_not_given(
    monkeypatch: pytest.MonkeyPatch, value: object, given: dict[str, object], expected: dict[str, object]
) -> None:
    monkeypatch.setattr(source_defaults.Variable, "aget", _returning({"hazardmill_neiss": value}))
    assert asyncio.run(source_defaults.add_defaults("neiss", given)) == expected


@pytest.mark.parametrize(
    ("value", "said"),
    [("gpt", "it is not JSON"), ({"modell": "a/b"}, "modell: "), ({"budget_usd": 0}, "budget_usd: "), ([1], "")],
)
def test_a_variable_with_something_else_is_refused_with_its_name(
    monkeypatch: pytest.MonkeyPatch, value: object, said: str
) -> None:
    monkeypatch.setattr(source_defaults.Variable, "aget", _returning({"hazardmill_neiss": value}))
    with pytest.raises(InputError, match=f"the Prefect variable hazardmill_neiss cannot be read: {said}") as caught:
        asyncio.run(source_defaults.add_defaults("neiss", {}))
    assert "prefect variable set hazardmill_neiss" in str(caught.value.remedy)


def _returning(values: dict[str, object]) -> Callable[[str], Awaitable[object]]:
    async def aget(name: str) -> object:
        return values.get(name)

    return aget


def test_deploying_where_no_server_answers_says_how_to_start_one(project: Path) -> None:
    address = f"http://127.0.0.1:{free_port()}/api"
    said = subprocess.run(
        [sys.executable, "scripts/check_server.py"],
        cwd=project,
        env=os.environ | {"PREFECT_API_URL": address},
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.returncode == 1 and not said.stdout
    assert said.stderr.startswith(f"no Prefect server answers at {address}") and "`make server`" in said.stderr
    assert "Traceback" not in said.stderr
