"""The SQL of ``hazardmill.report.dashboard.history``, on one view per table."""

from __future__ import annotations

from typing import Final

USD: Final = "CASE WHEN NOT answered AND usd_upper = 0 THEN 0.0 ELSE usd END"
"""The cost of an attempt: one that was turned away is known to have cost nothing, without a price in the ledger."""

PAID: Final = "NOT coalesce(answered AND usd_upper = 0 AND usd IS DISTINCT FROM 0, false)"
"""Whether a run made an attempt itself: an answer that was replayed has a price, known or not, and cost nothing."""

# Selections are large: they are not read if the first row has counts, which say how many records there are.
RUNS: Final = """
    SELECT run_id, arg_max(state, sequence) AS state, arg_max(config, sequence) AS config,
           max(sequence) AS changes, arg_min(counts, sequence) AS counts,
           CASE WHEN arg_min(counts, sequence) IS NULL THEN any_value(selection) END AS selection,
           strftime(make_timestamp(epoch_us(min("at"))), '%Y-%m-%d %H:%M') AS began
    FROM runs WHERE kind = 'generate' GROUP BY run_id ORDER BY min("at"), run_id
"""
PREPARED: Final = (
    f"""
    CREATE TEMP TABLE made AS
    SELECT run_id, identity, attempt, stage, nullif(split_part(record_id, ':', 1), '') AS source, answered,
           prompt_tokens, cached_tokens, completion_tokens, usd_upper, epoch_us("at") AS moment, model_answered,
           {USD} AS usd, {PAID} AS paid
    FROM llm_calls
    """,
    """
    CREATE TEMP TABLE answers AS
    SELECT run_id, model_answered, identities FROM drafts WHERE list_contains($runs, run_id)
    UNION ALL SELECT run_id, model_answered, identities FROM dangers WHERE list_contains($runs, run_id)
    """,
    """
    CREATE TEMP TABLE used AS
    SELECT DISTINCT run_id, unnest(from_json(identities, '["VARCHAR"]')) AS identity FROM answers
    WHERE identities IS NOT NULL
    """,
    # Attempts of other runs, without answers that were not used: a run uses its own answer, else the earliest.
    """
    CREATE TEMP TABLE reused AS
    WITH others AS (
        SELECT used.run_id AS run_id, made.run_id AS payer, made.* EXCLUDE (run_id)
        FROM used JOIN made ON made.identity = used.identity AND made.run_id <> used.run_id
    ), answering AS (
        SELECT run_id, identity, payer,
               row_number() OVER (PARTITION BY run_id, identity ORDER BY min((moment, payer, attempt))) AS place
        FROM others WHERE answered GROUP BY run_id, identity, payer
    ), own AS (
        SELECT DISTINCT run_id, identity FROM made WHERE answered
    )
    SELECT others.run_id, others.source, others.stage, others.usd
    FROM others
    LEFT JOIN answering USING (run_id, identity, payer)
    LEFT JOIN own ON own.run_id = others.run_id AND own.identity = others.identity
    WHERE answering.place IS NULL OR (answering.place = 1 AND own.run_id IS NULL)
    """,
)
_SUMS: Final = """
    count(*) FILTER (paid) AS attempts,
    sum(usd) FILTER (paid) AS usd, count(usd) FILTER (paid) AS usd_known,
    sum(usd_upper) FILTER (paid) AS usd_upper, count(usd_upper) FILTER (paid) AS usd_upper_known,
    sum(prompt_tokens + completion_tokens) FILTER (paid) AS tokens,
    count(prompt_tokens + completion_tokens) FILTER (paid) AS tokens_known,
    sum(prompt_tokens) FILTER (paid AND cached_tokens IS NOT NULL) AS prompt,
    sum(cached_tokens) FILTER (paid AND prompt_tokens IS NOT NULL) AS cached,
    sum(usd) AS whole, count(usd) AS whole_known, count(*) AS behind
"""
SPENT: Final = f"""
    SELECT run_id, source, stage, {_SUMS} FROM (
        SELECT run_id, source, stage, paid, usd, usd_upper, prompt_tokens, cached_tokens, completion_tokens
        FROM made WHERE list_contains($runs, run_id)
        UNION ALL BY NAME SELECT run_id, source, stage, usd, false AS paid FROM reused
    ) GROUP BY run_id, source, stage
"""
ALL_SPENT: Final = f"SELECT '' AS run_id, source, stage, {_SUMS} FROM made GROUP BY source, stage"
ENDED: Final = """
    SELECT run_id, source, count(*) AS finished, count(*) FILTER (outcome = 'accepted') AS accepted
    FROM outcomes WHERE outcome <> 'pending' GROUP BY run_id, source
"""
# Of tasks, scenarios and hazard tasks.
_ACCEPTED: Final = """(
    SELECT run_id, source, draft, task_id FROM tasks
    UNION ALL SELECT run_id, source, draft, scenario_id FROM scenarios
    UNION ALL SELECT run_id, source, draft, hazard_task_id FROM hazard_tasks
)"""
TASKS: Final = f"SELECT run_id, source, count(*) AS tasks FROM {_ACCEPTED} GROUP BY run_id, source"
DISTINCT: Final = f"SELECT source, count(DISTINCT task_id) AS tasks FROM {_ACCEPTED} GROUP BY source"
DRAFTS: Final = f"""
    SELECT run_id, source, draft AS number, sum(made)::BIGINT AS made, sum(passed)::BIGINT AS passed,
           sum(accepted)::BIGINT AS accepted
    FROM (
        SELECT run_id, source, draft, count(*) AS made, count(*) FILTER (accepted) AS passed, 0 AS accepted
        FROM drafts GROUP BY run_id, source, draft
        UNION ALL SELECT run_id, source, draft, 0, 0, count(*) FROM {_ACCEPTED} GROUP BY run_id, source, draft
    ) GROUP BY run_id, source, draft
"""
OFFLINE: Final = """
    SELECT run_id FROM made WHERE model_answered = $offline AND list_contains($runs, run_id)
    UNION SELECT run_id FROM answers WHERE model_answered = $offline
"""
LINE: Final = """
    WITH line AS (
        SELECT row_number() OVER way AS number, sum(coalesce(usd, 0)) OVER way AS usd,
               sum(coalesce(usd_upper, 0)) OVER way AS upper,
               coalesce(bool_or(usd_upper IS NULL) OVER way, false) AS unbounded, count(*) OVER () AS attempts
        FROM made WHERE paid AND ($run IS NULL OR run_id = $run) AND ($source IS NULL OR source = $source)
        WINDOW way AS (ORDER BY moment, run_id, identity, attempt ROWS UNBOUNDED PRECEDING)
    )
    SELECT number, usd, upper, unbounded FROM line
    WHERE number = attempts OR number % greatest(1, attempts // $points) = 0 ORDER BY number
"""
