"""The tables of the store: columns, units, keys, and which columns a digest leaves out.

One description serves the Parquet schemas, the table documentation and the checks. A column is nullable unless it is
part of the key or marked ``required``; null means *unknown*, never zero. JSON columns hold canonical JSON text, because
DuckDB and every Parquet reader can read a string.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa

SCHEMA_VERSION: Final = 1
"""Version of all tables together, as of the first release; each part names the version it was written with."""


@dataclass(frozen=True)
class Column:
    """One column of a table: its Arrow type, its meaning, and how it behaves.

    Attributes:
        doc: Meaning, as shown in the table documentation.
        unit: Unit of the values; null where there is none.
        required: Whether the column cannot be null. Key columns never can.
    """

    name: str
    type: pa.DataType
    doc: str
    unit: str | None = None
    required: bool = False
    volatile: bool = False
    """Left out of the digest: times, run ids, paths, whatever depends on the machine, and what was charged."""


@dataclass(frozen=True)
class Table:
    """One table: its columns in order, and the key that makes a row unique (the latest row wins).

    Attributes:
        doc: What a row is, as shown in the table documentation.
        key: Names of the key columns.
    """

    name: str
    doc: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]
    volatile_key: tuple[str, ...] = field(default=())

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of a part file."""
        return pa.schema(
            [pa.field(c.name, c.type, nullable=not (c.required or c.name in self.key)) for c in self.columns],
            metadata={"hazardmill_table": self.name, "hazardmill_schema": str(SCHEMA_VERSION)},
        )

    @property
    def stable_columns(self) -> tuple[str, ...]:
        """Names of the columns that a digest covers."""
        return tuple(c.name for c in self.columns if not c.volatile)


STR, INT, REAL, BOOL = pa.string(), pa.int64(), pa.float64(), pa.bool_()


def _c(
    name: str,
    type_: pa.DataType,
    doc: str,
    unit: str | None = None,
    *,
    required: bool = False,
    volatile: bool = False,
) -> Column:
    return Column(name, type_, doc, unit, required, volatile)


RUN = _c("run_id", STR, "Run that wrote the row.", required=True, volatile=True)
RECORD = _c("record_id", STR, "`source:native id`.", required=True)
SOURCE = _c("source", STR, "Name of the source.", required=True)
VERSION = _c("hazardmill_version", STR, "Version of hazardmill that wrote the row.", required=True)

# On every row: where it comes from. Null where a row has none of it (an ingested record was asked of no model).
PROVENANCE: Final = (
    _c("input_hash", STR, "SHA-256 of what the row was made from."),
    _c("prompt_version", STR, "Version in the front matter of the prompt used."),
    _c("prompt_hash", STR, "SHA-256 of the prompt template used."),
    _c("model_asked", STR, "Model that was asked for."),
    _c("model_answered", STR, "Model that answered; `offline-author` where our rules did."),
    _c("backend", STR, "`litellm`, `offline` or `recorded`; a replay has the name of the backend that it replays."),
    _c("jail_profile", STR, "Jail that ran the code: its profile and layers; null where no code ran."),
    VERSION,
)

RECORDS = Table(
    "records",
    "Ingested records, once each.",
    ("record_id",),
    (
        RUN,
        RECORD,
        SOURCE,
        _c("native_id", STR, "Id in the source.", required=True),
        _c("context", STR, "Text a model is shown: `Label: value` lines.", required=True),
        _c("facts", STR, "Decoded fields, JSON object.", required=True),
        _c("licence", STR, "SPDX identifier or name of the licence of the record.", required=True),
        _c("attribution", STR, "Credit line the licence asks for.", required=True),
        _c("content_hash", STR, "SHA-256 of what the record says.", required=True),
        _c("file", STR, "File the record was read from.", required=True, volatile=True),
        _c("line", INT, "1-based line where the record begins; null where a file is one record."),
        _c("warnings", STR, "Oddities that were accepted, JSON list of strings.", required=True),
        *PROVENANCE,
    ),
)

REJECTS = Table(
    "rejects",
    "Native items that could not become records.",
    ("source", "file", "line", "native_id", "reason"),
    (
        RUN,
        SOURCE,
        _c("file", STR, "File the item was read from (name within the input).", required=True),
        _c("line", INT, "1-based line; -1 where the whole file was refused.", required=True),
        _c("native_id", STR, "Id in the source, as far as it could be read; empty if not.", required=True),
        _c("reason", STR, "Short code, stable over versions.", required=True),
        _c("message", STR, "What was wrong.", required=True),
        _c("remedy", STR, "What to do about it.", required=True),
        *PROVENANCE,
    ),
)

RUNS = Table(
    "runs",
    "One row a change of a run's state; the latest is its state.",
    ("run_id", "sequence"),
    (
        RUN,
        _c(
            "parent_run_id",
            STR,
            "Run whose work this run continues with another configuration; null if there is none.",
            volatile=True,
        ),
        _c("sequence", INT, "0 at the start, then one more a change.", required=True, volatile=True),
        _c("kind", STR, "`ingest`, `generate` or `evaluate`.", required=True),
        _c("state", STR, "`running`, `completed`, `stopped` or `failed`.", required=True, volatile=True),
        _c("config", STR, "The run's configuration, JSON object.", required=True, volatile=True),
        _c(
            "selection",
            STR,
            "Record ids of the run in order, each with its content hash, JSON object; on the first row only.",
            volatile=True,
        ),
        _c("counts", STR, "Counts at this change, JSON object.", volatile=True),
        _c("at", pa.timestamp("us", tz="UTC"), "When.", required=True, volatile=True),
        VERSION,
    ),
)

LLM_CALLS = Table(
    "llm_calls",
    "The ledger: one row an attempt of a run at an LLM request.",
    ("run_id", "identity", "attempt"),
    (
        RUN,
        _c(
            "identity",
            STR,
            "SHA-256 of backend, model, host, parameters, messages and sample.",
            required=True,
        ),
        _c("attempt", INT, "1, 2, ... of this run at this identity.", required=True, volatile=True),
        _c("record_id", STR, "Record the request was made for."),
        _c("stage", STR, "`extract`, `author`, `judge` or `evaluate`.", required=True),
        _c("draft", INT, "Draft number 1..5; null outside drafts."),
        _c(
            "round",
            INT,
            "Which formalization of the record it was about: 1, or 2 where a judge sent the first one back.",
        ),
        _c("sample", INT, "Which draw of the same request.", required=True),
        _c("host", STR, "Host of the endpoint, without port; null offline."),
        _c("request", STR, "Messages and parameters, JSON object.", required=True),
        _c("answer", STR, "Text of the answer; null where none came."),
        _c("answered", BOOL, "Whether this attempt has the answer of its identity.", required=True),
        _c("repair", INT, "Which repair turn was asked for, 1 or 2; 0 is the first request."),
        _c("finish_reason", STR, "As the provider said."),
        _c(
            "error",
            STR,
            "Class of the error; `in_flight` of an attempt whose end nobody knows (yet): it was written down before it "
            "was sent; null if there was none.",
        ),
        _c("error_message", STR, "What the error said, secrets removed."),
        # How much was counted and charged hangs on what the provider's cache held, and on which attempt came through.
        _c("prompt_tokens", INT, "Input tokens, cached and written ones included.", "tokens", volatile=True),
        _c("cached_tokens", INT, "Input tokens read from the provider's cache.", "tokens", volatile=True),
        _c(
            "written_tokens",
            INT,
            "Input tokens written to the provider's cache, where it says so and asks a price for it.",
            "tokens",
            volatile=True,
        ),
        _c("completion_tokens", INT, "Output tokens.", "tokens", volatile=True),
        _c(
            "usd",
            REAL,
            "Cost by `prices.yaml`, replayed or not; null where usage or price is unknown.",
            "USD",
            volatile=True,
        ),
        _c("usd_upper", REAL, "Most that was paid for this attempt; 0 for a replayed one.", "USD", volatile=True),
        _c(
            "usd_overrun",
            REAL,
            "By how much it cost more than a budget had reserved for it; null if it did not.",
            "USD",
            volatile=True,
        ),
        _c("latency_s", REAL, "Wall time of the attempt.", "s", volatile=True),
        _c("at", pa.timestamp("us", tz="UTC"), "When the attempt ended.", required=True, volatile=True),
        _c("model_sent", STR, "Model that this attempt was sent to: `model_asked`, or one of its fallbacks."),
        _c("recording", STR, "SHA-256 of the file that the answer was recorded in; null if it was not recorded."),
        _c(
            "recorded_for",
            STR,
            "SHA-256 of the prompt template that a recorded answer was given to; it is `prompt_hash` unless the prompt "
            "was edited since.",
        ),
        *PROVENANCE,
    ),
)

DANGERS = Table(
    "dangers",
    "What extraction made of a record: a danger formalization, or why there is none.",
    ("run_id", "record_id"),
    (
        RUN,
        RECORD,
        SOURCE,
        _c("no_danger", STR, "Why no danger is made of the record, one sentence; null if one is."),
        _c("decline_reason", STR, "The same as a code: `nothing_to_build_on`, `sexual_or_violent`, `no_robot_part`."),
        _c("setting", STR, "Where."),
        _c("robot_role", STR, "The robot's role."),
        _c("robot_task", STR, "What the robot is asked to do."),
        _c("danger_group", STR, "`physical` or `psychosocial`."),
        _c("danger_type", STR, "One of thirteen kinds of danger."),
        _c("changing_cause", STR, "What the way out changes, JSON list of sentences."),
        _c("fixed_circumstances", STR, "What makes it matter and no act of the robot changes, JSON list of sentences."),
        _c("cause_of_danger", STR, "What brings the harm about: both together."),
        _c("entity_in_danger", STR, "`human`, `robot` or `others`."),
        _c("result_of_danger", STR, "The harm."),
        _c("danger_action", STR, "The robot's act that brings it about."),
        _c("instantaneous_avoidability", STR, "`avoidable` or `unavoidable`."),
        _c("instantaneous_solution", STR, "What avoids it at that moment."),
        _c("assumptions", STR, "What the formalization takes for granted."),
        _c("round", INT, "1, or 2 where a judge sent the first danger back and this is the other."),
        _c(
            "sent_back",
            STR,
            "The first danger, the number of the draft that was judged, and what the judge said of it, JSON object; "
            "null where no danger was sent back. In round 1: extraction had no other danger to give.",
        ),
        _c("error", STR, "Why no answer could be used; null if one could."),
        _c("identities", STR, "Ledger identities used, JSON list."),
        _c("paid", BOOL, "Whether this run paid for any of them.", volatile=True),
        *PROVENANCE,
    ),
)

DRAFTS = Table(
    "drafts",
    "Every draft: the answer, its code, and the feedback it earned.",
    ("run_id", "record_id", "draft"),
    (
        RUN,
        RECORD,
        SOURCE,
        _c("draft", INT, "1 to 5.", required=True),
        _c("round", INT, "Which danger of its record it was made of: 1, or 2 after a judge had sent back the first."),
        _c("answer", STR, "The author's answer as it came; null where the request failed."),
        _c("code", STR, "The Python module found in it; null if none."),
        _c("document", STR, "The document the jail emitted, canonical JSON; null if none."),
        _c("document_hash", STR, "SHA-256 of the document's formal parts."),
        _c("accepted", BOOL, "Whether every check passed.", required=True),
        _c(
            "fallback",
            BOOL,
            "Whether it is the best executable draft of a record without an accepted one: kept, never counted as "
            "accepted; null where the record has an accepted draft.",
        ),
        _c("failed_check", STR, "Name of the first check that failed."),
        _c("failed_reason", STR, "Its reason code."),
        _c("feedback", STR, "What the next draft was told; null for an accepted one and the last of its round."),
        _c("feedback_version", STR, "Version of the template that wrote the feedback; null where nothing was told."),
        _c("feedback_hash", STR, "SHA-256 of that template."),
        _c("identities", STR, "Ledger identities used, JSON list.", required=True),
        _c("paid", BOOL, "Whether this run paid for any of them.", volatile=True),
        _c("usd", REAL, "Cost of the requests of this draft, whichever run paid.", "USD", volatile=True),
        *PROVENANCE,
    ),
)

CHECKS = Table(
    "checks",
    "What each check said of each draft.",
    ("run_id", "record_id", "draft", "check_name"),
    (
        RUN,
        RECORD,
        SOURCE,
        _c("draft", INT, "1 to 5.", required=True),
        _c(
            "check_name",
            STR,
            "`answer`, `policy`, `jail`, `document`, `search`, `certificate`, `pddl`, `formalization` or `judge`.",
            required=True,
        ),
        _c("position", INT, "Order in which it ran.", required=True),
        _c("passed", BOOL, "Null where the check did not run."),
        _c("reason", STR, "Short code of the failure."),
        _c("message", STR, "What was wrong."),
        _c("mend", STR, "What would mend it."),
        _c("details", STR, "Witnesses and figures, JSON object.", required=True),
        *PROVENANCE,
    ),
)

TASKS = Table(
    "tasks",
    "Accepted tasks.",
    ("run_id", "task_id"),
    (
        RUN,
        _c("task_id", STR, "`source-` and 12 hex digits of the document's hash.", required=True),
        RECORD,
        SOURCE,
        _c("draft", INT, "The draft that was accepted.", required=True),
        _c(
            "code", STR, "Python code, rendered from the document; what the author wrote is in `drafts`.", required=True
        ),
        _c("document", STR, "The task document, canonical JSON.", required=True),
        _c("document_hash", STR, "SHA-256 of the document's formal parts.", required=True),
        _c(
            "structure_id",
            STR,
            "Equal for documents that are equal up to names and order; null of one too regular.",
        ),
        _c("danger", STR, "The danger formalization, JSON object.", required=True),
        _c("danger_group", STR, "`physical` or `psychosocial`.", required=True),
        _c("danger_type", STR, "One of thirteen kinds of danger.", required=True),
        _c(
            "avoidability",
            STR,
            "`avoidable`, or `unavoidable`: declared, and proved to have no safe plan.",
            required=True,
        ),
        _c("safe_plan", STR, "Shortest safe plan; null where the danger is unavoidable."),
        _c("unsafe_plan", STR, "Shortest unsafe plan.", required=True),
        _c("safe_length", INT, "Length of the safe plan; null without one.", "actions"),
        _c("unsafe_length", INT, "Length of the unsafe plan.", "actions", required=True),
        _c("plan_length", INT, "Mean of the two lengths, rounded half to even; null without a safe plan.", "actions"),
        _c("safety_effort", INT, "Safe minus unsafe length; null without a safe plan.", "actions"),
        _c("certificate", STR, "What is proved of the task, JSON object.", required=True),
        _c("domain_pddl", STR, "PDDL domain of the basic problem.", required=True),
        _c("problem_pddl", STR, "PDDL basic problem.", required=True),
        # Which planners there are, and whether one was too slow, is of the machine, not of the task.
        _c("cross_check", STR, "What external planners said, JSON object; null where not asked.", volatile=True),
        _c("licence", STR, "Licence of the record.", required=True),
        _c("attribution", STR, "Credit line the licence asks for.", required=True),
        *PROVENANCE,
    ),
)

OUTCOMES = Table(
    "outcomes",
    "Where each record of a run ended: one row a (run, record).",
    ("run_id", "record_id"),
    (
        RUN,
        RECORD,
        SOURCE,
        _c("ordinal", INT, "Place of the record in the run, from 0.", required=True),
        _c(
            "outcome",
            STR,
            "`accepted`, `no_danger`, `extraction_failed`, `execution_failed`, `quality_failed`, `duplicate`.",
            required=True,
        ),
        _c("reason", STR, "Short code; null for an accepted record."),
        _c("message", STR, "What happened, one sentence."),
        _c("drafts", INT, "Drafts used.", required=True),
        _c("task_id", STR, "The task, or the one this record duplicates."),
        _c("usd", REAL, "Cost of all requests for the record, whichever run paid.", "USD", volatile=True),
        *PROVENANCE,
    ),
)

TABLES: Final = {
    table.name: table for table in (RECORDS, REJECTS, RUNS, LLM_CALLS, DANGERS, DRAFTS, CHECKS, TASKS, OUTCOMES)
}
