"""A real model, if a tiny one, over HTTP and litellm: the wire, the accounting and the repair turns hold.

What it says is no matter: it has the right shape where a schema holds it to one, and hardly ever where none does.
"""

from __future__ import annotations

import asyncio
import importlib.util
import itertools
import json
import subprocess
import sys
from typing import Literal, get_args

import httpx
import pytest

from e2e.small_model import NAME, PACKAGES
from hazardmill.errors import UnusableAnswer
from hazardmill.evaluation.episodes.dialogue import Ending
from hazardmill.evaluation.episodes.options import EpisodeOptions
from hazardmill.evaluation.episodes.run import EpisodeRun
from hazardmill.evaluation.episodes.task_set import read_tasks
from hazardmill.evaluation.planner_access import configure_planner
from hazardmill.llm.backends.litellm import LitellmBackend
from hazardmill.llm.client import Client
from hazardmill.llm.ledger import Ledger
from hazardmill.llm.limits.limiter import Limiter
from hazardmill.llm.prices import Prices
from hazardmill.llm.requests import MAX_REPAIRS, Message, Request
from hazardmill.llm.structured import ask_structured
from hazardmill.records import FrozenModel
from hazardmill.store.store import Store
from tests.household.small_tasks import OBJECT_DAMAGE, write_small_tasks

pytestmark = [pytest.mark.small_model, pytest.mark.timeout(600)]


class Place(FrozenModel):
    """Something short to answer with."""

    room: Literal["kitchen", "hall", "cellar"]
    floor: Literal[0, 1, 2]


SHAPE = {
    "type": "json_schema",
    "json_schema": {"name": "place", "strict": True, "schema": Place.model_json_schema()},
}
QUESTION = (
    Message(role="system", content="You say where things are. Be brief."),
    Message(role="user", content="A kettle stands on the stove on the ground floor. Where is it?"),
)


@pytest.fixture(scope="module")
def address():
    missing = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        pytest.fail(f"{' and '.join(missing)} not installed: see tests/e2e/small_model.py", pytrace=False)
    command = [sys.executable, "-m", "e2e.small_model"]
    # It says much of itself, and nobody reads it.
    with subprocess.Popen(
        command,
        cwd=__file__.rpartition("/e2e/")[0],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        said = process.stdout.readline().strip()
        assert said.startswith("http://127.0.0.1:"), process.poll()
        yield f"{said}/v1"
        process.stdin.close()
        assert process.wait() == 0


@pytest.fixture
def ask(address, tmp_path):
    """Asks for a place through the client; returns what came of it and the rows of the ledger."""

    def ask(**parameters):
        store = Store.open(tmp_path / "store", create=True)
        request = Request(
            stage="extract",
            model=f"openai/{NAME}",
            messages=QUESTION,
            parameters={"temperature": 0, "max_tokens": 40, **parameters},
            record_id="toy:1",
        )

        async def main(writer):
            backend = LitellmBackend(address, timeout_s=120)
            client = Client(backend, Ledger(store, writer, "run"), limiter=Limiter(), prices=Prices.load())
            try:
                return await ask_structured(client, request, Place)
            except UnusableAnswer as error:
                return error
            finally:
                await backend.close()

        with store.writer("run") as writer:
            came = asyncio.run(main(writer))
        return came, sorted(store.rows("llm_calls"), key=lambda row: row["at"])

    return ask


def counted_by_the_server(address, row):
    """Tokens of a prompt, as the server counts them for a client that uses none of our code."""
    messages = json.loads(row["request"])["messages"]
    body = {"model": NAME, "messages": messages, "max_tokens": 1}
    with httpx.Client(trust_env=False, timeout=120) as client:
        return client.post(f"{address}/chat/completions", json=body).json()["usage"]["prompt_tokens"]


def test_an_answer_that_is_held_to_a_schema_is_used_and_counted(ask, address):
    came, rows = ask(response_format=SHAPE)
    place, answers = came
    print(place)
    assert isinstance(place, Place)
    [row] = rows
    assert [answer.identity for answer in answers] == [row["identity"]]
    assert (row["answered"], row["repair"], row["finish_reason"], row["error"]) == (True, 0, "stop", None)
    assert (row["model_asked"], row["model_answered"], row["host"]) == (f"openai/{NAME}", NAME, "127.0.0.1")
    assert row["prompt_tokens"] == counted_by_the_server(address, row)
    assert 0 < row["completion_tokens"] <= 40
    assert 0 <= row["cached_tokens"] < row["prompt_tokens"]
    # Nobody has set a price for it, so what it costs is not known.
    assert row["usd"] is None and row["usd_upper"] is None


def test_what_it_says_of_its_own_accord_is_repaired_twice_and_each_turn_is_counted(ask, address):
    came, rows = ask(max_tokens=24)
    print([row["answer"] for row in rows])
    assert isinstance(came, UnusableAnswer)
    assert [row["repair"] for row in rows] == list(range(MAX_REPAIRS + 1))
    assert len({row["identity"] for row in rows}) == len(rows)
    assert all(row["answered"] and row["error"] is None for row in rows)
    lengths = [len(json.loads(row["request"])["messages"]) for row in rows]
    assert lengths == [2, 4, 6], "each turn shows the answer before it, and what was wrong with it"
    assert [row["prompt_tokens"] for row in rows] == [counted_by_the_server(address, row) for row in rows]
    assert all(0 < row["completion_tokens"] <= 24 for row in rows)


def test_an_episode_ends_and_each_of_its_messages_is_kept(address, tmp_path):
    options = EpisodeOptions("react", "explicit", max_steps=4)
    tasks = read_tasks(write_small_tasks(tmp_path / "tasks", OBJECT_DAMAGE))
    access = configure_planner(f"openai/{NAME}", api_base=address, concurrency=1)
    run = EpisodeRun(tasks, options, access, parameters={"max_tokens": 60})
    store = Store.open(tmp_path / "store", create=True)
    [row] = asyncio.run(run.run(store)).to_pylist()
    print([(step["action"], step["reason"]) for step in row["steps"]], row["ending"])
    assert row["ending"] in get_args(Ending) and len(row["steps"]) - row["actions"] in (0, 1)
    calls = sorted(store.rows("llm_calls"), key=lambda call: call["at"])
    assert len(calls) == len(row["steps"]) + row["unreadable"]
    # Every message so far is sent, and the first ones come from the cache of prefixes.
    sent = [json.loads(call["request"])["messages"] for call in calls]
    assert all(later[: len(sooner)] == sooner for sooner, later in itertools.pairwise(sent))
    assert all(call["cached_tokens"] > calls[0]["prompt_tokens"] // 2 for call in calls[1:])
