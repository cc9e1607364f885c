"""The documentation of every table, made from the schemas: ``python -m hazardmill.store.describe``."""

from __future__ import annotations

from hazardmill.store.rows import TIME
from hazardmill.store.schemas import BOOL, INT, REAL, SCHEMA_VERSION, STR, TABLES, Column, Table

_TYPES = {STR: "string", INT: "integer", REAL: "number", BOOL: "Boolean", TIME: "time (UTC, µs)"}

_OPENING = f"""# What a run leaves here

This folder is for the output of runs; git ignores all of it but this page. A store is a folder of tables:

| place | what it is |
| --- | --- |
| `STORE/<table>/*.parquet` | parts: immutable zstd Parquet files, one a table and batch |
| `STORE/manifests/*.json` | one a commit, numbered without gaps; a part counts once a manifest lists it |
| `STORE/journal/*.jsonl` | rows on their way: a checksum and a JSON group a line; a batch's end turns them into parts |
| `STORE/store.duckdb` | optional DuckDB file whose views read the parts |

Any Parquet reader can read `STORE/<table>/*.parquet`. Read so, a key can occur twice if a resumed run wrote it again;
the views, and `Store` in Python, show the row committed last.

The views of `store.duckdb` know where the store was when it was written. After a move, tell them in DuckDB:
`SET VARIABLE hazardmill_store = 'new folder';`. `latest_tasks` has each `task_id` once, from the latest run that wrote
it, and `parts` lists the part files. `at` is a word of SQL: write `"at"`.

- **Null means unknown**, never zero: a price that is not known, a check that did not run.
- JSON columns hold canonical JSON text.
- *Key*: the columns that make a row unique. *Digest*: whether `hazardmill store digest` covers the column; times, run
  ids, places on a disk and what depends on the machine are left out, so that equal runs have equal digests. Of
  `llm_calls` the digest takes only the answering attempt of each identity (where several runs paid, the first one's),
  of `runs` only the latest row of each run.

Schema version {SCHEMA_VERSION}. This page is made by `python -m hazardmill.store.describe`; do not edit it.
"""


def describe() -> str:
    """The page on all tables, Markdown."""
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
