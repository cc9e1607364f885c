"""``hazardmill query``."""

from __future__ import annotations

import glob
from pathlib import Path

import click

from hazardmill.commands.options import json_option, open_store, print_json, store_option
from hazardmill.errors import InputError

_CUT = ("…", " shown)")
"""Signs that DuckDB left out rows or columns, or cut values, of a table."""


@click.command(epilog="""Example: hazardmill query "select outcome, count(*) n from outcomes group by all" """)
@click.argument("sql")
@store_option
@json_option
def query(sql: str, store_path: Path | None, as_json: bool) -> None:
    """Run one SQL query on views of the store's tables; it can change nothing, and read nothing but the store."""
    import duckdb

    store = open_store(store_path)
    connection = store.connect()
    # The views read the parts when they are asked, so the store's folder stays open, also under its name in patterns.
    folder = str(store.path.absolute())
    places = ", ".join("'{}/'".format(name.replace("'", "''")) for name in (folder, glob.escape(folder)))
    connection.execute(f"SET allowed_directories = [{places}]; SET enable_external_access = false")
    try:
        statements = connection.extract_statements(sql)
        # COPY and EXPORT would write files, ATTACH could open a store's DuckDB file.
        if any(statement.type is not duckdb.StatementType.SELECT for statement in statements):
            raise InputError("the query does something else than read", remedy="use select, from, describe or show")
        if len(statements) != 1:
            raise InputError(
                f"one query is wanted, and {len(statements) or 'none'} given", remedy="ask one after the other"
            )
        answer = connection.sql(sql)
        if as_json:
            print_json(answer.to_arrow_table().to_pylist())
            return
        table = str(answer)
        click.echo(table)
        if any(sign in table for sign in _CUT):
            click.echo("the table is cut to fit; --json prints all of it", err=True)
    except duckdb.Error as error:
        raise InputError(f"the query failed: {error}", remedy="see `show tables`, and generated/README.md") from error
