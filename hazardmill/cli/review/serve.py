"""``hazardmill review serve | token``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from hazardmill.cli.options import json_option, print_json, store_option
from hazardmill.cli.review.review import folder_option, open_review
from hazardmill.errors import ExtraMissing, UsageError
from hazardmill.review.app.tokens import Tokens
from hazardmill.review.decisions.folder import ReviewFolder, reviewer_name
from hazardmill.store_access import open_store

PORT = 8717


@click.command(epilog="Example: hazardmill review serve --store demo-out/store")
@click.option(
    "--bind",
    default="127.0.0.1",
    show_default=True,
    help="IP address to listen on; any address but loopback requires tokens.",
)
@click.option("--port", type=click.IntRange(1, 65535), default=PORT, show_default=True, help="Port to listen on.")
@click.option(
    "--name", "names", multiple=True, help="Host name in the address that reviewers type; repeat for several."
)
@click.option(
    "--reviewer",
    "reviewers",
    multiple=True,
    help="Admit only this reviewer; repeat for several [default: all with assigned tasks].",
)
@click.option("--https", is_flag=True, help="Send cookies over HTTPS only; for use behind a proxy that serves HTTPS.")
@folder_option
@store_option
@json_option
def serve(
    bind: str,
    port: int,
    names: tuple[str, ...],
    reviewers: tuple[str, ...],
    https: bool,
    folder: Path,
    store_path: Path | None,
    as_json: bool,
) -> None:
    """Serve the web app for reviewing: one task per screen, by keyboard.

    Assign tasks first, with `hazardmill review assign`. Every decision is on disk before it is acknowledged, so the
    server can be stopped and started at will. Without tokens, anyone who can reach the server may sign in under any
    name that has assigned tasks, so work without tokens only on your own machine. With --json the address is printed
    as JSON before serving.
    """  # noqa: DOC501  # the docstring is the command's help
    opened = open_review(folder)
    try:
        from hazardmill.review.app.serve import listen, make_app, rules_for
        from hazardmill.review.app.serve import serve as serve_app
    except ImportError as error:
        message = f"the review app needs a package that is not installed: {error.name}"
        raise ExtraMissing(message, extra="review") from error
    _check_assignments(opened, reviewers)
    rules = rules_for(opened, bind, names, reviewers, https=https)
    app = make_app(open_store(store_path), opened, rules)
    listening = listen(bind, port)
    shown = names[0] if names else f"[{bind}]" if ":" in bind else bind
    address = f"{'https' if https else 'http'}://{shown}{'' if https else f':{port}'}/"
    if as_json:
        print_json({"address": address, "tokens_demanded": rules.tokens_demanded})
    else:
        click.echo(f"review at {address}")
    if rules.tokens_demanded and not https:
        click.echo("tokens and decisions are sent unencrypted: put an HTTPS proxy in front", err=True)
    serve_app(app, listening)


@click.command(epilog="Example: hazardmill review token ada")
@click.argument("reviewer")
@click.option("--withdraw", is_flag=True, help="Instead, revoke the reviewer's token.")
@folder_option
@json_option
def token(reviewer: str, withdraw: bool, folder: Path, as_json: bool) -> None:
    """Make a token for a reviewer, and print it.

    It replaces any earlier one. Only a hash of it is stored, so it cannot be shown again. Once any token exists,
    everybody needs one to sign in, at whatever address.
    """
    opened = ReviewFolder(folder)
    tokens = Tokens(opened)
    if withdraw:
        done = tokens.withdraw(reviewer)
        said = "token revoked, sessions ended" if done else "there was no token"
        if as_json:
            print_json({"reviewer": reviewer, "withdrawn": done})
        else:
            click.echo(f"{reviewer}: {said}")
        return
    # A misspelt folder or name must not get a token.
    _check_assignments(opened, (reviewer,))
    made = tokens.make(reviewer)
    if as_json:
        print_json({"reviewer": reviewer, "token": made})
    else:
        click.echo(made)


def _check_assignments(folder: ReviewFolder, reviewers: Sequence[str]) -> None:
    """Refuse reviewers who have no tasks, and a review in which nothing is assigned."""
    given = folder.assignments().of
    missing = [reviewer_name(name) for name in reviewers if name not in given]
    if missing or not given:
        raise UsageError(
            f"no task is assigned to {', '.join(missing) or 'anybody'} in {folder.path}",
            remedy="assign tasks first: hazardmill review assign --reviewer NAME",
        )
