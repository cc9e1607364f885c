"""What a store's ledger says about a model: length of answers, bytes per token, and how often things succeed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from hazardmill.llm.prices import prompt_bytes
from hazardmill.llm.requests import Request, Stage
from hazardmill.records import FrozenModel

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

LEAST: Final = 10
"""The fewest answers, records or drafts whose mean is used."""

_WEIGHED: Final = 200
"""The most requests whose length is compared with the provider's count of tokens."""

HISTORY_TABLES: Final = ("llm_calls", "dangers", "drafts", "checks", "outcomes")
"""The tables that ``measure_history`` reads."""


class ModelHistory(FrozenModel):
    """Means over all runs of a store; None where there are fewer than ``LEAST`` to average.

    Attributes:
        model: The model, as it was asked for.
        answers: Answers in the ledger.
        answer_tokens: Tokens per answer.
        answer_seconds: Median wall time of an answer to a single request, in seconds.
        bytes_a_token: UTF-8 bytes per token of its prompts.
        cached_share: The cached part of all tokens of its prompts.
        repairs: Repair turns per first request.
        danger_share: For extract: the share of records in which a danger was found.
        drafts: For author: drafts per danger.
        judged_share: For author: the share of drafts that were judged.
    """

    model: str
    answers: int = 0
    answer_tokens: float | None = None
    answer_seconds: float | None = None
    bytes_a_token: float | None = None
    cached_share: float | None = None
    repairs: float | None = None
    danger_share: float | None = None
    drafts: float | None = None
    judged_share: float | None = None


def measure_history(connection: DuckDBPyConnection, stage: Stage, model: str, prompt_hash: str) -> ModelHistory:
    """Return means over one stage's requests to a model with one template.

    Other templates are left out, because their answers have other lengths.

    Args:
        connection: A connection with one view per table.
        stage: The stage.
        model: The model, as it was asked for.
        prompt_hash: Hash of the stage's template, which also determines the author's format.
    """
    asked = {"stage": stage, "model": model, "prompt": prompt_hash}

    def one(sql: str, *, least: int = LEAST) -> Any:  # noqa: ANN401  # whatever the query gives
        number, value = connection.execute(sql, asked).fetchall()[0]
        return value if number is not None and number >= least else None

    found = {
        "answers": one(f"SELECT 0, count(*) {_ANSWERS}", least=0),
        "answer_tokens": one(f"SELECT count(completion_tokens), avg(completion_tokens) {_ANSWERS}"),
        # The median, because an answer that took minutes delays its own record only.
        "answer_seconds": one(f"SELECT count(latency_s), median(latency_s) {_ANSWERS}"),
        "cached_share": one(
            f"SELECT count(*), sum(cached_tokens) / sum(prompt_tokens) {_ANSWERS} "
            "AND cached_tokens IS NOT NULL AND prompt_tokens > 0"
        ),
        "repairs": one(f"SELECT {_FIRST}, (count(*) - {_FIRST}) / {_FIRST} {_ANSWERS}"),
        "bytes_a_token": _density(connection, stage, asked),
    }
    if stage == "extract":
        found["danger_share"] = one(_DANGERS)
    if stage == "author":
        found |= {"drafts": one(_DRAFTS), "judged_share": one(_JUDGED)}
    return ModelHistory(model=model, **found)


# Answers of another model, and requests that were turned away, say nothing about this one.
_ANSWERS: Final = (
    "FROM llm_calls WHERE stage = $stage AND model_asked = $model AND prompt_hash = $prompt AND answered"
    " AND coalesce(model_sent, model_asked) = model_asked AND coalesce(prompt_tokens, 1) > 0"
)
_FIRST: Final = "nullif(count(*) FILTER (coalesce(repair, 0) = 0), 0)"
_DANGERS: Final = (
    "SELECT count(*), avg((danger_type IS NOT NULL)::INT) FROM dangers"
    " WHERE $stage = 'extract' AND model_asked = $model AND prompt_hash = $prompt AND error IS NULL"
)
_DRAFTS: Final = (
    "SELECT count(*), avg(drafts) FROM outcomes"
    " WHERE $stage = 'author' AND model_asked = $model AND prompt_hash = $prompt AND drafts > 0"
)
_JUDGED: Final = (
    "SELECT count(*), avg((checks.passed IS NOT NULL)::INT) FROM checks JOIN drafts USING (run_id, record_id, draft)"
    " WHERE $stage = 'author' AND checks.check_name = 'judge' AND drafts.model_asked = $model"
    " AND drafts.prompt_hash = $prompt"
)


def _density(connection: DuckDBPyConnection, stage: Stage, asked: dict[str, str]) -> float | None:
    rows = connection.execute(
        f"SELECT request, prompt_tokens {_ANSWERS} AND prompt_tokens > 0 LIMIT {_WEIGHED}",
        asked,
    ).fetchall()
    if len(rows) < LEAST:
        return None
    length = sum(prompt_bytes(Request(stage=stage, model=asked["model"], **json.loads(request))) for request, _ in rows)
    return length / sum(int(tokens) for _, tokens in rows)
