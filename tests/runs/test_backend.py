from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from hazardmill.errors import AnswerTooLarge, ConnectionFailed, ReplayMiss, SettingsError, StoreError
from hazardmill.generation.models import Models
from hazardmill.llm.client import Client
from hazardmill.llm.ledger import Ledger
from hazardmill.llm.limits.limiter import Limiter
from hazardmill.llm.requests import Answer, Backend, Completion, Message, Request
from hazardmill.runs.backend import answering_backend, open_backend, open_limiter
from hazardmill.runs.config import RunConfig, RunInput
from hazardmill.store.store import Store
from hazardmill.testing.llm_server import LlmServer, ScriptedServerFaults
from tests.generation.support import PRICES


class Paid:
    """A backend that answers as the offline author does, under its name."""

    name = "offline"
    host = None

    async def complete(self, request: Request) -> Completion:
        return Completion(text="an answer", model_answered="toy")

    async def close(self) -> None:
        pass


def ask(store: Store, backend: Backend, run_id: str, text: str = "?") -> Answer:
    async def main() -> Answer:
        with store.writer(run_id) as writer:
            client = Client(backend, Ledger(store, writer, run_id), limiter=Limiter(), prices=PRICES)
            return await client.ask(
                Request(stage="extract", model="toy", messages=(Message(role="user", content=text),))
            )

    return asyncio.run(main())


def replaying(store: Store, replay_store: Path | None = None) -> Backend:
    config = RunConfig(inputs=(RunInput(source="notes"),), backend="replay", replay_store=replay_store)
    return open_backend(config, store)


def test_another_store_is_replayed_into_this_one(tmp_path: Path) -> None:
    theirs, ours = Store(tmp_path / "theirs"), Store(tmp_path / "ours")
    paid = ask(theirs, Paid(), "first")
    answer = ask(ours, replaying(ours, theirs.path), "again")
    assert answer == paid.model_copy(update={"paid": False})
    [row] = ours.rows("llm_calls")
    assert (row["run_id"], row["backend"], row["usd_upper"]) == ("again", "offline", 0.0)
    assert theirs.count("llm_calls") == 1


def test_replaying_its_own_store_a_run_misses_what_is_not_there(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    paid = ask(store, Paid(), "first")
    backend = replaying(store)
    assert ask(store, backend, "again") == paid.model_copy(update={"paid": False})
    with pytest.raises(ReplayMiss, match="no answer to this extract request to toy"):
        ask(store, backend, "again", "something else")


def test_a_store_to_replay_that_is_not_there_is_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="nowhere"):
        replaying(Store(tmp_path / "store"), tmp_path / "nowhere")


def asking(model: str = "deepseek/deepseek-chat", **fields: Any) -> RunConfig:
    models = Models(extract=model, author=model, judge=model)
    return RunConfig(inputs=(RunInput(source="notes"),), backend="litellm", models=models, **fields)


@pytest.fixture
def keyless(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in ("DEEPSEEK_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def test_a_key_that_is_not_set_is_named_with_the_model_that_needs_it(keyless: pytest.MonkeyPatch, store: Store) -> None:
    with pytest.raises(SettingsError, match="deepseek/deepseek-chat needs DEEPSEEK_API_KEY") as caught:
        open_backend(asking(), store)
    assert "export DEEPSEEK_API_KEY=..." in str(caught.value.remedy)
    keyless.setenv("DEEPSEEK_API_KEY", "planted-key-of-nobody")
    assert open_backend(asking(), store).name == "litellm"
    # A fallback may be asked as well.
    with pytest.raises(
        SettingsError, match=r"gemini/gemini-2\.5-flash needs GOOGLE_API_KEY or GEMINI_API_KEY"
    ) as caught:
        open_backend(asking(fallback_models=("gemini/gemini-2.5-flash",)), store)
    assert "deepseek" not in str(caught.value) and "planted" not in str(caught.value)


@pytest.mark.usefixtures("keyless")
def test_a_server_on_this_machine_and_a_replay_need_no_key(store: Store) -> None:
    for address in ("http://127.0.0.1:8000/v1", "http://localhost:8000/v1", "http://[::1]:8000/v1"):
        assert open_backend(asking(api_base=address), store).host
    with pytest.raises(SettingsError, match="OPENAI_API_KEY"):
        open_backend(asking("openai/toy", api_base="https://models.example/v1"), store)
    replayed = asking().model_copy(update={"backend": "replay", "replay_backend": "litellm"})
    assert open_backend(replayed, store).name == "litellm"
    # Such servers are reached by an address or a cloud's own way of signing in.
    for model in ("ollama/llama3", "vertex_ai/gemini-2.5-flash", "hosted_vllm/some-model"):
        assert open_backend(asking(model), store).name == "litellm"


def test_a_model_without_a_provider_is_refused(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    for fields in ({"model": "deepseek-chat"}, {"fallback_models": ("nobody/knows-it",)}):
        with pytest.raises(SettingsError, match=r"is known for model '(deepseek-chat|nobody/knows-it)'") as caught:
            open_backend(asking(**fields, api_base="http://127.0.0.1:8000/v1"), store)
        assert "deepseek/deepseek-chat" in str(caught.value.remedy)
    assert capsys.readouterr() == ("", "")


def test_sessions_that_ask_the_same_of_one_provider_share_its_limits() -> None:
    async def opened(*configs: RunConfig) -> list[Limiter]:
        return [open_limiter(config) for config in configs]

    address = {"api_base": "http://127.0.0.1:8000/v1", "requests_per_minute": 100}
    mine, same, slower, other, elsewhere = asyncio.run(
        opened(
            asking(**address),
            asking(**address, wave_size=3),
            asking(**address, concurrency=2),
            asking("openai/toy", **address),
            asking(requests_per_minute=100),
        )
    )
    assert mine is same
    assert len({id(limiter) for limiter in (mine, slower, other, elsewhere)}) == 4
    assert asyncio.run(opened(asking(**address))) == [mine], "also in a session that follows"
    # Nobody else's limits are at stake.
    offline = RunConfig(inputs=(RunInput(source="notes"),))
    one, two = asyncio.run(opened(offline, offline))
    assert one is not two
    assert one.in_flight_limit == offline.concurrency


@pytest.mark.full
def test_the_limits_of_a_run_hold_for_its_answers() -> None:
    asked = Request(stage="extract", model="openai/x", messages=(Message(role="user", content="?"),))
    said = {"backend": "litellm", "inputs": [{"source": "bddl"}]}
    with LlmServer(lambda _: "word " * 400, faults=ScriptedServerFaults(None, "trickle", "trickle")) as server:
        config = RunConfig.model_validate({**said, "api_base": server.address, "max_answer_bytes": 2000})
        with pytest.raises(AnswerTooLarge, match="2,000 bytes"):
            asyncio.run(complete(answering_backend(config), asked))
        config = config.model_copy(update={"attempt_timeout": 0.5})
        with pytest.raises(ConnectionFailed, match=r"within 0\.5 s"):
            asyncio.run(complete(answering_backend(config), asked))


async def complete(backend: Backend, request: Request) -> Completion:
    try:
        return await backend.complete(request)
    finally:
        await backend.close()
