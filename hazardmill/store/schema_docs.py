"""The documentation of every table, made from the schemas: ``python -m hazardmill.store.schema_docs``."""

from __future__ import annotations

from hazardmill.store.maintenance.findings import CODES
from hazardmill.store.rows import TIME
from hazardmill.store.schemas import BOOL, INT, REAL, SCHEMA_VERSION, STR, TABLES, Column, Table

_TYPES = {STR: "string", INT: "integer", REAL: "number", BOOL: "Boolean", TIME: "time (UTC, µs)"}

_CODES = "\n".join(f"| `{code}` | {meaning} |" for code, meaning in CODES.items())

_OPENING = f"""# What a run leaves here

This folder is for the output of runs; git ignores all of it but this page. A store is a folder of tables:

| place | what it is |
| --- | --- |
| `STORE/<table>/*.parquet` | parts: immutable zstd Parquet files, one a table and batch |
| `STORE/manifests/*.json` | one a commit, numbered without gaps; a part counts once a manifest lists it |
| `STORE/manifests/copies/` | second copies of the manifests of compactions |
| `STORE/journal/*.jsonl` | rows on their way: a checksum and a JSON group a line; a batch's end turns them into parts |
| `STORE/quarantine/` | what `hazardmill store rebuild` took out, each with a JSON on what, when and why |
| `STORE/store.duckdb` | optional DuckDB file whose views read the parts |

Any Parquet reader can read `STORE/<table>/*.parquet`. Read so, a key can occur twice if a resumed run wrote it again;
the views, and `Store` in Python, show the row committed last. A compaction makes few parts of many: its manifest stands
for all commits from `first` to `sequence`, and rows are left out only where a later one of the same run replaces them.
While it takes the old parts away, rows lie there twice, in old parts and in new ones; after one that was killed they do
until the next ingest, resume or compaction sweeps. So use the views, or ask `hazardmill store verify` first: it names
such parts (`replaced_left`).

The views of `store.duckdb` know where the store was when it was written. After a move, tell them in DuckDB:
`SET VARIABLE hazardmill_store = 'new folder';`. `latest_tasks` has each `task_id` once, from the latest run that wrote
it, and `parts` lists the part files with the commit, the number of their rows and of the rows of their commit and table
before them, and their schema's version. `at` is a word of SQL: write `"at"`.

- **Null means unknown**, never zero: a price that is not known, a check that did not run.
- JSON columns hold canonical JSON text.
- *Key*: the columns that make a row unique. *Digest*: whether `hazardmill store digest` covers the column; times, run
  ids, places on a disk, what depends on the machine, and what a provider counted and charged (its cache decides, and
  which attempt came through) are left out, so that equal runs have equal digests. Of `llm_calls` the digest takes only
  the answering attempt of each identity (where several runs paid, the first one's), of `runs` only the latest row of
  each run.

Schema version {SCHEMA_VERSION}: each part and each segment of the journal says which it was written with. This page is
made by `python -m hazardmill.store.schema_docs`; do not edit it.

What `hazardmill store verify` can find:

| code | meaning |
| --- | --- |
{_CODES}

The last four are of rows, and are looked for where every file is in order: of files that are damaged the damage is
told, and `hazardmill store rebuild --dry-run` tells what rows went with it.

A commit that is gone whole with everything after it leaves no trace: a store that was put back from an older copy is as
whole as it was then. `store verify` tells the number and time of the last commit that there is, so that whoever knows
of a later one sees the difference. Finding it without that would take a chain of commits, each with the hash of the one
before, whose last hash is kept outside of the store; there is none yet.

A run notices if the folder of its store is removed, moved or replaced, or if commits that it knows of are gone: nothing
more is acknowledged then, and nothing is made in the place of what was there. What lies in a folder that was moved away
can be resumed there.
"""


def describe() -> str:
    """The page on all tables and findings, Markdown."""
    return "\n".join([_OPENING, *(_describe_table(table) for table in TABLES.values())])


def _describe_table(table: Table) -> str:
    lines = [
        f"## {table.name}",
        "",
        f"{table.doc} Key: {', '.join(f'`{name}`' for name in table.key)}.",
        "",
        "| column | type | unit | null | digest | meaning |",
        "| --- | --- | --- | --- | --- | --- |",
        *(_describe_column(table, column) for column in table.columns),
        "",
    ]
    return "\n".join(lines)


def _describe_column(table: Table, column: Column) -> str:
    name = f"**`{column.name}`**" if column.name in table.key else f"`{column.name}`"
    null = "no" if column.required or column.name in table.key else "unknown"
    covered = "no" if column.volatile else "yes"
    doc = column.doc.replace("|", "\\|")
    return f"| {name} | {_TYPES[column.type]} | {column.unit or ''} | {null} | {covered} | {doc} |"


if __name__ == "__main__":
    print(describe(), end="")
