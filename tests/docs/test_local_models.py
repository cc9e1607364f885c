"""docs/local-models.md: each command line of ours makes the run that the page promises, free and without a key."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import click
import pytest

from hazardmill.cli.run.config import new_config
from hazardmill.cli.run.options import generation_options
from hazardmill.errors import SettingsError
from hazardmill.llm.charged_prices import ON_THIS_MACHINE, prices_used
from hazardmill.llm.prices import Prices
from hazardmill.llm.requests import Message, Request
from hazardmill.runs.backend import open_backend
from hazardmill.runs.config import RunConfig
from hazardmill.runs.recipes.reading import read_recipe
from hazardmill.store.store import Store

PAGE = (Path(__file__).parents[2] / "docs" / "local-models.md").read_text()
COMMANDS = [
    text.replace("\\\n", " ") for text in re.findall(r"^    hazardmill run generate ((?:.*\\\n)*.*)$", PAGE, re.M)
]


def configured(command: str) -> RunConfig:
    """What a command line of the page comes to."""
    found: list[RunConfig] = []

    @click.command()
    @generation_options
    def generate(sources: Any, inputs: Any, wheres: Any, limits: Any, replay: Any, **given: Any) -> None:
        found.append(new_config(sources, inputs, wheres, limits, replay, given))

    generate.main(shlex.split(command), standalone_mode=False)
    return found[0]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_model_on_this_machine_costs_nothing(command: str) -> None:
    config = configured(command)
    used = prices_used(config, Prices.load())
    assert {price["origin"] for price in used.values()} == {ON_THIS_MACHINE}
    assert list(used) == [config.models.author]


@pytest.mark.parametrize("command", COMMANDS)
def test_it_needs_no_key_which_the_same_model_needs_elsewhere(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    config, store = configured(command), Store.open(tmp_path / "store", create=True)
    assert open_backend(config, store).name == "litellm"
    with pytest.raises(SettingsError, match="OPENAI_API_KEY"):
        open_backend(config.model_copy(update={"api_base": "https://models.example/v1"}), store)


@pytest.mark.parametrize(("key", "sent"), [(None, "Bearer none"), ("sk-planted", "Bearer sk-planted")])
def test_the_key_that_is_sent_is_none_or_that_of_the_environment(
    key: str | None, sent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    if key is not None:
        monkeypatch.setenv("OPENAI_API_KEY", key)
    seen: list[str | None] = []

    class Answering(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            seen.append(self.headers["Authorization"])
            self.rfile.read(int(self.headers["Content-Length"]))
            choice = {"index": 0, "message": {"role": "assistant", "content": "yes"}, "finish_reason": "stop"}
            body = json.dumps({"id": "1", "object": "chat.completion", "model": "mine", "choices": [choice]}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *values: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        config = configured(COMMANDS[0])
        config = config.model_copy(update={"api_base": f"http://127.0.0.1:{server.server_port}/v1"})
        backend = open_backend(config, Store.open(tmp_path / "store", create=True))
        request = Request(stage="judge", model=config.models.author, messages=(Message(role="user", content="?"),))

        async def ask() -> None:
            try:
                await backend.complete(request)
            finally:
                await backend.close()

        asyncio.run(ask())
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    assert seen == [sent]


def test_the_page_has_a_command_for_each_server_and_a_recipe(tmp_path: Path) -> None:
    assert len(COMMANDS) == len(re.findall(r"^\| [\w.]+ \| (?:yes|no): ", PAGE, re.M)) == 4
    (recipe,) = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.M | re.S)
    (tmp_path / "recipe.yaml").write_text(recipe)
    (tmp_path / "neiss2019.tsv").touch()
    assert read_recipe(tmp_path / "recipe.yaml").api_base == "http://127.0.0.1:8080/v1"
