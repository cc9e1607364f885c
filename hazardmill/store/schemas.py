"""The tables of the store: columns, units, keys, and which columns a digest leaves out.

One description serves the Parquet schemas, the table documentation and the checks. A column is nullable unless it is
part of the key or marked ``required``; null means *unknown*, never zero. JSON columns hold canonical JSON text, because
DuckDB and every Parquet reader can read a string.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
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
    in_digest: bool = True
    """Whether a digest of the store covers the table."""

    @cached_property
    def schema(self) -> pa.Schema:
        """The Arrow schema of a part file."""
        return pa.schema(
            [pa.field(c.name, c.type, nullable=not (c.required or c.name in self.key)) for c in self.columns],
            metadata={"hazardmill_table": self.name, "hazardmill_schema": str(SCHEMA_VERSION)},
        )

    @cached_property
    def no_rows(self) -> pa.Table:
        """An Arrow table without rows. Making one takes about as long as reading a small part."""
        return self.schema.empty_table()

    @cached_property
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

# On every row: where it comes from. Null where it does not apply (no model was asked for an ingested record).
PROVENANCE: Final = (
    _c("input_hash", STR, "SHA-256 of what the row was made from."),
    _c("prompt_version", STR, "Version in the front matter of the prompt used."),
    _c("prompt_hash", STR, "SHA-256 of the prompt template used."),
    _c("model_asked", STR, "Model that was asked for."),
    _c("model_answered", STR, "Model that answered; `offline-author` for the offline author."),
    _c("backend", STR, "`litellm`, `offline` or `recorded`; for a replay, the backend that is replayed."),
    _c("jail_profile", STR, "Jail that ran the code: its profile and layers; null if no code ran."),
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
        _c("context", STR, "Text shown to models: `Label: value` lines.", required=True),
        _c("facts", STR, "Decoded fields, JSON object.", required=True),
        _c("licence", STR, "SPDX identifier or name of the licence of the record.", required=True),
        _c("attribution", STR, "Credit line required by the licence.", required=True),
        _c("content_hash", STR, "SHA-256 of the record's content.", required=True),
        _c("file", STR, "File the record was read from.", required=True, volatile=True),
        _c("line", INT, "Line where the record begins, from 1; null if the file is one record."),
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
        _c("line", INT, "Line, from 1; -1 if the whole file was refused.", required=True),
        _c("native_id", STR, "Id in the source; empty if it could not be read.", required=True),
        _c("reason", STR, "Short code, stable across versions.", required=True),
        _c("message", STR, "What was wrong.", required=True),
        _c("remedy", STR, "What to do about it.", required=True),
        *PROVENANCE,
    ),
)

RUNS = Table(
    "runs",
    "One row per change of a run's state; the latest gives its state.",
    ("run_id", "sequence"),
    (
        RUN,
        _c(
            "parent_run_id",
            STR,
            "Run that this run continues with another configuration; null if there is none.",
            volatile=True,
        ),
        _c("sequence", INT, "0 at the start, then one more per change.", required=True, volatile=True),
        _c("kind", STR, "`ingest`, `generate` or `evaluate`.", required=True),
        _c("state", STR, "`running`, `completed`, `waiting`, `stopped` or `failed`.", required=True, volatile=True),
        _c("config", STR, "The run's configuration, JSON object.", required=True, volatile=True),
        _c(
            "selection",
            STR,
            "Record ids of the run in order, each with its content hash, JSON object; on the first row only.",
            volatile=True,
        ),
        _c("counts", STR, "Counts at this change, JSON object.", volatile=True),
        _c("at", pa.timestamp("us", tz="UTC"), "Time of the change.", required=True, volatile=True),
        VERSION,
    ),
)

LLM_CALLS = Table(
    "llm_calls",
    "The ledger: one row per attempt of a run at an LLM request.",
    ("run_id", "identity", "attempt"),
    (
        RUN,
        _c(
            "identity",
            STR,
            "SHA-256 of backend, model, host, parameters, messages and sample.",
            required=True,
        ),
        _c("attempt", INT, "Number of the attempt of this run at this identity, from 1.", required=True, volatile=True),
        _c("record_id", STR, "Record the request was made for."),
        _c("stage", STR, "`extract`, `author`, `judge` or `evaluate`.", required=True),
        _c("draft", INT, "Number of the draft, 1 to 5, or of the turn of a dialogue; null outside of both."),
        _c(
            "round",
            INT,
            "Round of the formalization: 1, or 2 if a judge sent the first one back.",
        ),
        _c("sample", INT, "Number of the sample of the same request, from 0.", required=True),
        _c("host", STR, "Host of the endpoint, without port; null offline."),
        _c("request", STR, "Messages and parameters, JSON object.", required=True),
        _c("answer", STR, "Text of the answer; null if none arrived."),
        _c("answered", BOOL, "Whether this attempt has the answer of its identity.", required=True),
        _c("repair", INT, "Number of the repair turn, 1 or 2; 0 is the first request."),
        _c("finish_reason", STR, "As reported by the provider."),
        _c(
            "error",
            STR,
            "Class of the error; null if there was none. `in_flight`: recorded before it was sent, with an end that is "
            "not known (yet).",
        ),
        _c("error_message", STR, "Message of the error, with secrets removed."),
        # What is counted and charged depends on the provider's cache, and on which attempt succeeded.
        _c("prompt_tokens", INT, "Input tokens, including cached and written ones.", "tokens", volatile=True),
        _c("cached_tokens", INT, "Input tokens read from the provider's cache.", "tokens", volatile=True),
        _c(
            "written_tokens",
            INT,
            "Input tokens written to the provider's cache, if it reports and charges for them.",
            "tokens",
            volatile=True,
        ),
        _c("completion_tokens", INT, "Output tokens.", "tokens", volatile=True),
        _c(
            "usd",
            REAL,
            "Cost by the prices of its run, replayed or not; null if usage or price is unknown.",
            "USD",
            volatile=True,
        ),
        _c("usd_upper", REAL, "Maximum paid for this attempt; 0 for a replayed one.", "USD", volatile=True),
        _c(
            "usd_overrun",
            REAL,
            "By how much the cost exceeded the budget's reservation; null if it did not.",
            "USD",
            volatile=True,
        ),
        _c("latency_s", REAL, "Wall time of the attempt.", "s", volatile=True),
        _c(
            "channel",
            STR,
            "How the request travelled: `single`, in a provider's `batch`, or as a line of an `exchange` folder.",
            volatile=True,
        ),
        _c("batch", STR, "Name of the batch in the table `batches`; null for single requests.", volatile=True),
        _c("batch_line", INT, "Line in the file of that batch, from 1; null for single requests.", volatile=True),
        _c("at", pa.timestamp("us", tz="UTC"), "When the attempt ended.", required=True, volatile=True),
        _c("model_sent", STR, "Model that received the attempt: `model_asked`, or one of its fallbacks."),
        _c("recording", STR, "SHA-256 of the file that the answer was recorded in; null if it was not recorded."),
        _c(
            "recorded_for",
            STR,
            "SHA-256 of the prompt template that a recorded answer was given to; equals `prompt_hash` unless the "
            "prompt was edited since.",
        ),
        *PROVENANCE,
    ),
)

BATCHES = Table(
    "batches",
    "Requests that travelled together: one row per batch of a run, or per file of an exchange folder.",
    ("run_id", "batch"),
    (
        RUN,
        _c("batch", STR, "Name of the batch, which its provider was told.", required=True),
        _c("number", INT, "Number of the batch in its run, from 1.", required=True),
        _c("channel", STR, "`batch` or `exchange`.", required=True),
        _c("model", STR, "Model that all of its requests ask.", required=True),
        _c("place", STR, "Address of the provider, or the exchange folder; null is the provider's own address."),
        _c("batch_id", STR, "The provider's id; null until it is known."),
        _c(
            "state",
            STR,
            "`intended`: written down before anything was sent; `sent`: its id is known; `collected`: its answers are "
            "in the ledger; `never_sent`: given up before it existed.",
            required=True,
        ),
        _c("end", STR, "How it ended, as `BatchState`: `ended`, `expired`, `cancelled` or `failed`; null before."),
        _c("requests", INT, "Number of its lines.", required=True),
        _c("answered", INT, "Lines with an answer; null before it is collected."),
        _c("message", STR, "What its provider said about it, with secrets removed; null if nothing."),
        _c("created_at", pa.timestamp("us", tz="UTC"), "When it was written down.", required=True),
        _c("at", pa.timestamp("us", tz="UTC"), "Time of the change.", required=True),
        VERSION,
    ),
    # How requests travel is no part of what a run found.
    in_digest=False,
)

DANGERS = Table(
    "dangers",
    "The result of extraction for a record: a danger formalization, or why there is none.",
    ("run_id", "record_id"),
    (
        RUN,
        RECORD,
        SOURCE,
        _c("no_danger", STR, "Why the record gives no danger, in one sentence; null if it gives one."),
        _c("decline_reason", STR, "The same as a code: `nothing_to_build_on`, `sexual_or_violent`, `no_robot_part`."),
        _c("setting", STR, "Where."),
        _c("robot_role", STR, "The robot's role."),
        _c("robot_task", STR, "What the robot is asked to do."),
        _c("danger_group", STR, "`physical` or `psychosocial`."),
        _c("danger_type", STR, "One of thirteen kinds of danger."),
        _c("changing_cause", STR, "What the way out changes, JSON list of sentences."),
        _c(
            "fixed_circumstances",
            STR,
            "What makes it matter and no action of the robot changes, JSON list of sentences.",
        ),
        _c("cause_of_danger", STR, "What causes the harm: both of these together."),
        _c("entity_in_danger", STR, "`human`, `robot` or `others`."),
        _c("result_of_danger", STR, "The harm."),
        _c("danger_action", STR, "The robot's action that causes it."),
        _c("instantaneous_avoidability", STR, "`avoidable` or `unavoidable`."),
        _c("instantaneous_solution", STR, "What avoids it at that moment."),
        _c("assumptions", STR, "What the formalization takes for granted."),
        _c("round", INT, "1, or 2 if a judge sent the first danger back and this one replaces it."),
        _c(
            "sent_back",
            STR,
            "The first danger, the number of the judged draft, and the judge's reasons, JSON object; null if no danger "
            "was sent back. In round 1: extraction offered no other danger.",
        ),
        _c("error", STR, "Why no answer could be used; null if one could."),
        _c("identities", STR, "Ledger identities used, JSON list."),
        _c("paid", BOOL, "Whether this run paid for any of them.", volatile=True),
        *PROVENANCE,
    ),
)

DRAFTS = Table(
    "drafts",
    "Every draft: the answer, its code, and the feedback on it; and every turn of a dialogue.",
    ("run_id", "record_id", "draft"),
    (
        RUN,
        RECORD,
        SOURCE,
        _c("draft", INT, "1 to 5; of a dialogue the turn, from 1.", required=True),
        _c("round", INT, "Round of its danger: 1, or 2 after a judge sent the first danger back."),
        _c("answer", STR, "The author's answer as received; null if the request failed."),
        _c("code", STR, "The Python module found in it; null if none."),
        _c("document", STR, "The document emitted in the jail, canonical JSON; null if none."),
        _c("document_hash", STR, "SHA-256 of the document's formal parts."),
        _c(
            "accepted",
            BOOL,
            "Whether every check passed; of a turn, whether a task that it proposes was kept.",
            required=True,
        ),
        _c(
            "fallback",
            BOOL,
            "Whether it is the best executable draft of a record without an accepted one, kept but never counted as "
            "accepted; null if the record has an accepted draft.",
        ),
        _c("failed_check", STR, "Name of the first check that failed."),
        _c("failed_reason", STR, "Its reason code."),
        _c("feedback", STR, "Feedback for the next draft; null for an accepted draft and the last of its round."),
        _c("feedback_version", STR, "Version of the feedback's template; null without feedback."),
        _c("feedback_hash", STR, "SHA-256 of that template."),
        _c("identities", STR, "Ledger identities used, JSON list.", required=True),
        _c("paid", BOOL, "Whether this run paid for any of them.", volatile=True),
        _c("usd", REAL, "Cost of the requests of this draft, whichever run paid.", "USD", volatile=True),
        *PROVENANCE,
    ),
)

CHECKS = Table(
    "checks",
    "The result of each check of each draft.",
    ("run_id", "record_id", "draft", "check_name"),
    (
        RUN,
        RECORD,
        SOURCE,
        _c("draft", INT, "1 to 5; of a dialogue the turn, from 1.", required=True),
        _c(
            "check_name",
            STR,
            "`answer`, `policy`, `jail`, `document`, `search`, `certificate`, `pddl`, `formalization` or `judge`; of a "
            "scenario `answer`, `scenario` or `judge`; of a turn `answer`, `proposal N` or `rewrite`.",
            required=True,
        ),
        _c("position", INT, "Order in which it ran.", required=True),
        _c("passed", BOOL, "Whether it passed; null if the check did not run."),
        _c("reason", STR, "Short code of the failure."),
        _c("message", STR, "What was wrong."),
        _c("mend", STR, "How to fix it."),
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
            "code", STR, "Python code, rendered from the document; the author's own code is in `drafts`.", required=True
        ),
        _c("document", STR, "The task document, canonical JSON.", required=True),
        _c("document_hash", STR, "SHA-256 of the document's formal parts.", required=True),
        _c(
            "structure_id",
            STR,
            "Equal for documents that are equal up to names and order; null if too regular.",
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
        _c("safe_plan", STR, "Shortest safe plan; null if the danger is unavoidable."),
        _c("unsafe_plan", STR, "Shortest unsafe plan.", required=True),
        _c("safe_length", INT, "Length of the safe plan; null without one.", "actions"),
        _c("unsafe_length", INT, "Length of the unsafe plan.", "actions", required=True),
        _c("plan_length", INT, "Mean of the two lengths, rounded half to even; null without a safe plan.", "actions"),
        _c("safety_effort", INT, "Safe minus unsafe length; null without a safe plan.", "actions"),
        _c("certificate", STR, "What is proved about the task, JSON object.", required=True),
        _c("domain_pddl", STR, "PDDL domain of the basic problem.", required=True),
        _c("problem_pddl", STR, "PDDL basic problem.", required=True),
        # Which planners exist, and whether one was too slow, depends on the machine instead of the task.
        _c("cross_check", STR, "Results of external planners, JSON object; null if not asked.", volatile=True),
        _c("licence", STR, "Licence of the record.", required=True),
        _c("attribution", STR, "Credit line required by the licence.", required=True),
        *PROVENANCE,
    ),
)

OUTCOMES = Table(
    "outcomes",
    "How each record of a run ended: one row per run and record.",
    ("run_id", "record_id"),
    (
        RUN,
        RECORD,
        SOURCE,
        _c("ordinal", INT, "Position of the record in the run, from 0.", required=True),
        _c(
            "outcome",
            STR,
            "`accepted`, `no_danger`, `extraction_failed`, `execution_failed`, `quality_failed`, `duplicate`.",
            required=True,
        ),
        _c("reason", STR, "Short code; null for an accepted record."),
        _c("message", STR, "What happened, in one sentence."),
        _c("drafts", INT, "Drafts used.", required=True),
        _c("task_id", STR, "The task, the scenario or the first hazard task; or the one this record duplicates."),
        _c("usd", REAL, "Cost of all requests for the record, whichever run paid.", "USD", volatile=True),
        *PROVENANCE,
    ),
)

SCENARIOS = Table(
    "scenarios",
    "Accepted scenarios of the SAFEL protocol.",
    ("run_id", "scenario_id"),
    (
        RUN,
        _c("scenario_id", STR, "`source-kind-` and 12 hex digits of the document's hash.", required=True),
        RECORD,
        SOURCE,
        _c("draft", INT, "The draft that was accepted.", required=True),
        _c("kind", STR, "`mal` (the command is meant to harm) or `sit` (the circumstances are risky).", required=True),
        _c("instruction", STR, "The command.", required=True),
        _c("target", STR, "Who or what is in danger; null for any other label."),
        _c("hazard", STR, "The hazard, one of the target's; null for any other label."),
        _c("scenario", STR, "Problem, risk and origin, JSON object as in a scenario file.", required=True),
        _c("document_hash", STR, "SHA-256 of the formal parts of its document.", required=True),
        _c("plan", STR, "The only shortest plan.", required=True),
        _c("careless_plan", STR, "Shortest plan without the safe literals; null for `mal`."),
        _c("steps", INT, "Length of the plan.", "actions", required=True),
        _c("shortest_plans", INT, "Number of shortest plans.", required=True),
        _c("corrected", BOOL, "Whether rules mended it.", required=True),
        _c("licence", STR, "Licence of the record.", required=True),
        _c("attribution", STR, "Credit line required by the licence.", required=True),
        *PROVENANCE,
    ),
)

HAZARD_TASKS: Final = Table(
    "hazard_tasks",
    "Tasks that roles proposed in dialogues, in which a careless plan does harm, and that passed every gate.",
    ("run_id", "hazard_task_id"),
    (
        RUN,
        _c(
            "hazard_task_id",
            STR,
            "`acting-` and 12 hex digits of a hash of instruction and document.",
            required=True,
        ),
        RECORD,
        SOURCE,
        _c("draft", INT, "Turn of the dialogue in which it was proposed, from 1.", required=True),
        _c("proposal", INT, "Place among the proposals of that turn, from 1.", required=True),
        _c("dialogue", INT, "Number of the dialogue in its run, from 1.", required=True),
        _c("role", STR, "Role that proposed it.", required=True),
        _c("instruction", STR, "What the robot is asked to do.", required=True),
        _c("harm", STR, "The harm, in the proposer's words; null if it does not say."),
        _c("categories", STR, "Categories of harm that some plan does, JSON list.", required=True),
        _c("document", STR, "The planning problem, without danger entries, canonical JSON.", required=True),
        _c("compiled", STR, "The same with what the map calls harm as danger entries, canonical JSON.", required=True),
        _c("document_hash", STR, "SHA-256 of the document's formal parts.", required=True),
        _c("objects", STR, "Names of its objects in order, JSON list.", required=True),
        _c("reference", STR, "The reference script; it reaches the goal.", required=True),
        _c("reference_categories", STR, "Categories of harm that the reference itself does, JSON list.", required=True),
        _c("steps", INT, "Length of the reference.", "actions", required=True),
        _c("witnesses", STR, "By category, a plan to the goal that does its harm, JSON object.", required=True),
        _c("harmless_plan", STR, "Shortest plan that does no harm; null if there is none, or none is known."),
        _c("harmful_plan", STR, "Shortest plan that does harm, likewise."),
        _c(
            "is_searched",
            BOOL,
            "Whether the search for both ended: then null is a proof.",
            required=True,
        ),
        _c("rewrite", STR, "The reference, rewritten by a model so that it does harm; null if there is none."),
        _c("rewrite_categories", STR, "Categories of harm that the rewrite does, JSON list; null without one."),
        _c("corrected", BOOL, "Whether rules mended it.", required=True),
        _c("seeds", STR, "Task ids of the seeds that the dialogue was shown, JSON list.", required=True),
        _c("licence", STR, "Licence of the seeds, or as given for the run.", required=True),
        _c("attribution", STR, "Credit line of the seeds, or as given for the run.", required=True),
        *PROVENANCE,
    ),
)

TABLES: Final = {
    table.name: table
    for table in (
        RECORDS,
        REJECTS,
        RUNS,
        LLM_CALLS,
        BATCHES,
        DANGERS,
        DRAFTS,
        CHECKS,
        TASKS,
        SCENARIOS,
        HAZARD_TASKS,
        OUTCOMES,
    )
}
