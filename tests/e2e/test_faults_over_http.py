"""Records through litellm over HTTP, where three attempts in ten fail: nothing is lost, doubled or miscounted.

The server and the ledger count apart, on two sides of a wire: what one says is held against what the other says.
"""

from __future__ import annotations

import asyncio
import json
import logging
import traceback
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

import pytest

from e2e.over_http import KEY, hazardmill, inputs, where_it_is
from hazardmill.errors import ProviderError
from hazardmill.llm.backends.litellm import LitellmBackend
from hazardmill.llm.prices import Prices
from hazardmill.llm.requests import OFFLINE_MODEL, Message, Request
from hazardmill.records import Outcome
from hazardmill.store.store import Store
from hazardmill.testing.llm_server import (
    LlmServer,
    ScriptedServerFaults,
    SeededFaults,
    ServedAttempt,
    ServerFaultKind,
    Totals,
)
from tests.sizes import sized

pytestmark = [pytest.mark.full, pytest.mark.timeout(600)]

MODEL = "deepseek/deepseek-chat"
RECORDS = {"neiss": sized(25, 380), "normbank": sized(13, 133)}
ALL = sized(125, 600)
"""With the samples of the three other sources."""
RATE = 0.3

ENDS = {
    "429": "RateLimited",
    "429-retry-after:0.05": "RateLimited",
    "500": "ProviderDown",
    "529": "ProviderDown",
    "html": "ProviderDown",
    "half-json": "ProviderDown",
    "reset": "ConnectionFailed",
    "slow:0.2": "answered",
    "stalled:0.3": "ConnectionFailed",
    "usage-missing": "answered",
    None: "answered",
}
"""Every recoverable fault: how it stands in the ledger."""


@dataclass(frozen=True)
class Ran:
    """A run over HTTP with faults, the same offline without, and what the server counted."""

    folder: Path
    live: Store
    faultless: Store
    attempts: tuple[ServedAttempt, ...]
    shown: dict
    said: dict[str, str]


@pytest.fixture(scope="module")
def ran(reference, project, tmp_path_factory):
    folder = tmp_path_factory.mktemp("faults")
    data = reference / "data"
    paths = {"neiss": data / "neiss" / "neiss2019.tsv", "normbank": data / "normbank" / "NormBank_layout.csv"}
    paths |= {name: project / "sources" / name / "sample" for name in ("alfred", "bddl", "virtualhome")}
    words = ["run", "generate", *inputs(paths, RECORDS), "--json", "--run-id", "r", "--wave-size", ALL // 2]
    faultless = hazardmill(*words, "--model", OFFLINE_MODEL, "--store", folder / "faultless")
    assert faultless.returncode == 0, faultless.stderr
    faults = SeededFaults(seed=8, rate=RATE, kinds=[kind for kind in ENDS if kind])
    with LlmServer(faults=faults, dialect="deepseek", api_key=KEY, log=folder / "attempts.jsonl") as server:
        asked = ["--model", MODEL, "--api-base", server.address, "--concurrency", 64]
        live = hazardmill(*words, "--store", folder / "live", *asked, DEEPSEEK_API_KEY=KEY)
        attempts = server.attempts
    assert live.returncode == 0, live.stderr
    stores = Store.open(folder / "live"), Store.open(folder / "faultless")
    said = {"output": live.stdout, "errors": live.stderr}
    return Ran(folder, *stores, attempts, json.loads(live.stdout), said)


def test_every_record_has_one_outcome(ran):
    rows = ran.live.rows("outcomes")
    assert len(rows) == len({row["record_id"] for row in rows}) == ALL
    assert Outcome.PENDING.value not in {row["outcome"] for row in rows}
    assert ran.live.verify() == []


def test_the_accepted_tasks_are_those_of_the_faultless_run(ran):
    def of(store, table, *columns):
        return sorted(tuple(row.values()) for row in store.rows(table, None, list(columns)))

    tasks = of(ran.live, "tasks", "record_id", "task_id", "document_hash", "code")
    assert tasks == of(ran.faultless, "tasks", "record_id", "task_id", "document_hash", "code")
    assert len(tasks) > ALL / 2
    ended = ["record_id", "outcome", "drafts"]
    assert of(ran.live, "outcomes", *ended) == of(ran.faultless, "outcomes", *ended)


def test_every_attempt_is_in_the_ledger_under_what_became_of_it(ran):
    calls = ran.live.rows("llm_calls")
    failed = sum(attempt.fault is not None for attempt in ran.attempts)
    print(f"{len(ran.attempts)} attempts, {failed} with a fault")
    assert 0.25 < failed / len(ran.attempts) < 0.35
    ours = Counter((row["stage"], "answered" if row["answered"] else row["error"]) for row in calls)
    assert ours == Counter((attempt.stage, ENDS[attempt.fault]) for attempt in ran.attempts)
    # The two sides call an identity by different hashes, but see it as often.
    times = [Counter(each) for each in ([row["identity"] for row in calls], [a.identity for a in ran.attempts])]
    assert sorted(times[0].values()) == sorted(times[1].values())
    numbers = defaultdict(list)
    for row in calls:
        numbers[row["identity"]].append(row["attempt"])
    assert all(sorted(given) == list(range(1, len(given) + 1)) for given in numbers.values())


def test_tokens_and_cost_add_up_over_what_the_client_was_told(ran):
    calls = ran.live.rows("llm_calls")
    told = [row for row in calls if row["prompt_tokens"] is not None]
    assert len(told) > 5 * ALL / 3
    for stage in ("extract", "author", "judge"):
        theirs = Totals.of(attempt for attempt in ran.attempts if attempt.stage == stage)
        rows = [row for row in told if row["stage"] == stage]
        sums = [sum(row[f"{kind}_tokens"] for row in rows) for kind in ("prompt", "cached", "completion")]
        assert [len(rows), *sums] == [
            theirs.attempts,
            theirs.prompt_tokens,
            theirs.cached_tokens,
            theirs.completion_tokens,
        ]
    everything, price = Totals.of(ran.attempts), Prices.load()[MODEL]
    usd = (everything.prompt_tokens - everything.cached_tokens) * price.input
    usd = (usd + everything.cached_tokens * price.cached_input + everything.completion_tokens * price.output) / 1e6
    assert sum(row["usd"] for row in told) == pytest.approx(usd, rel=1e-9)
    assert all(row["usd_upper"] == row["usd"] for row in told)


def test_what_the_client_was_not_told_is_listed_with_an_upper_bound(ran):
    calls = ran.live.rows("llm_calls")
    untold = [row for row in calls if row["prompt_tokens"] is None]
    assert len(untold) == sum(not attempt.usage_went_out for attempt in ran.attempts) > ALL / 6
    assert {row["usd"] for row in untold} == {None}
    turned_away = [row for row in untold if row["error"] == "RateLimited"]
    assert {row["usd_upper"] for row in turned_away} == {0.0}, "that costs nothing"
    bounds = [row["usd_upper"] for row in untold if row["error"] != "RateLimited"]
    # No call is dearer than its output limit and a token for each byte of its prompt.
    assert min(bounds) > 0.0004 and max(bounds) < 0.02
    # What answers whose usage is missing did cost in truth is within what is reserved for them.
    price = Prices.load()[MODEL]
    hidden = [attempt for attempt in ran.attempts if attempt.fault == "usage-missing"]
    truth = sum(a.prompt_tokens * price.input + a.completion_tokens * price.output for a in hidden) / 1e6
    assert 0 < truth < sum(row["usd_upper"] for row in untold if row["answered"])


def test_the_key_is_in_no_file_and_no_output(ran):
    assert where_it_is(KEY, ran.folder, ran.said) == []


@pytest.mark.parametrize("model", [MODEL, "openai/some-model"])
def test_the_key_is_in_no_exception_and_no_log(model, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    kinds = [*(kind for kind in ENDS if kind), *(kind for kind in ServerFaultKind if not kind.recoverable)]
    asked = [
        Request(stage="extract", model=model, messages=(Message(role="user", content=str(kind)),)) for kind in kinds
    ]

    async def ask(server):
        told = []
        backend = LitellmBackend(server.address, KEY, timeout_s=0.5)
        for request in asked:
            try:
                told.append(repr(await backend.complete(request)))
            except ProviderError as error:
                told += [*traceback.format_exception(error), repr(vars(error))]
        server.api_key = "another"
        with pytest.raises(ProviderError) as refused:
            await backend.complete(asked[0])
        await backend.close()
        return [*told, *traceback.format_exception(refused.value), repr(vars(refused.value))]

    plans = {
        request.messages[0].content: ScriptedServerFaults(kind) for request, kind in zip(asked, kinds, strict=True)
    }
    with LlmServer(lambda _: "Yes.", faults=lambda a: plans[a.messages[0].content](a), api_key=KEY) as server:
        told = asyncio.run(ask(server))

    assert len(told) > len(kinds) + 10
    shown = capfd.readouterr()
    assert KEY not in "".join([*told, caplog.text, shown.out, shown.err])
