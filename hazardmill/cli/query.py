"""``hazardmill query``."""

from __future__ import annotations

from pathlib import Path

import click

from hazardmill.cli.options import json_option, print_json, store_option
from hazardmill.store.read_only_sql import query_rows, query_table
from hazardmill.store_access import open_store
from hazardmill.text.printable import printable_lines

_CUT = ("…", " shown)")
"""Signs in a rendered table that DuckDB left out rows or columns, or cut values."""


@click.command(epilog="""Example: hazardmill query "select outcome, count(*) n from outcomes group by all" """)
@click.argument("sql")
@store_option
@json_option
def query(sql: str, store_path: Path | None, as_json: bool) -> None:
    """Run one SQL query on views of the store's tables.

    The query cannot change anything, and can read only the store.
    """
    store = open_store(store_path)
    if as_json:
        print_json(query_rows(store, sql))
        return
    table = query_table(store, sql)
    click.echo(printable_lines(table))
    if any(sign in table for sign in _CUT):
        click.echo("the table is cut to fit; --json prints all of it", err=True)
