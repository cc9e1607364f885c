"""``hazardmill query``."""

from __future__ import annotations

from pathlib import Path

import click

from hazardmill.commands.options import json_option, open_store, print_json, store_option
from hazardmill.errors import InputError


@click.command(epilog="""Example: hazardmill query "select outcome, count(*) n from outcomes group by all" """)
@click.argument("sql")
@store_option
@json_option
def query(sql: str, store_path: Path | None, as_json: bool) -> None:
    """Run SQL on views of the store's tables; nothing can be changed by it."""
    import duckdb

    connection = open_store(store_path).connect()
    try:
        # COPY and EXPORT would write files, ATTACH could open a store's DuckDB file.
        if any(statement.type is not duckdb.StatementType.SELECT for statement in connection.extract_statements(sql)):
            raise InputError("the query does something else than read", remedy="use select, from, describe or show")
        answer = connection.sql(sql)
        if answer is None:
            return
        if as_json:
            print_json(answer.to_arrow_table().to_pylist())
        else:
            click.echo(str(answer))
    except duckdb.Error as error:
        raise InputError(f"the query failed: {error}", remedy="see `show tables`, and generated/README.md") from error
