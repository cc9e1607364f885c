"""``hazardmill review serve | token``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from hazardmill.cli.options import json_option, print_json, store_option
from hazardmill.cli.review.review import folder_option
from hazardmill.errors import UsageError
from hazardmill.review.app.tokens import Tokens
from hazardmill.review.decisions.folder import ReviewFolder, reviewer_name
from hazardmill.store_access import open_store

PORT = 8717


@click.command(epilog="Example: hazardmill review serve --store demo-out/store")
@click.option(
    "--bind", default="127.0.0.1", show_default=True, help="IP address; but for loopback, tokens are demanded."
)
@click.option("--port", type=click.IntRange(1, 65535), default=PORT, show_default=True)
@click.option("--name", "names", multiple=True, help="Host name in the address that reviewers type; repeat for each.")
@click.option("--reviewer", "reviewers", multiple=True, help="Let in only these [default: all who were given tasks].")
@click.option("--https", is_flag=True, help="A proxy in front speaks HTTPS: send cookies over that alone.")
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
    """Serve the web app in which people review, one task a screen, by keyboard.

    Tasks are given out before, with `hazardmill review assign`. A decision is on disk before it is acknowledged; stop
    and start the server as you like. Without tokens, whoever reaches it may sign in under any name that was given
    tasks: that is for a machine of your own. With --json the address is printed as JSON; then it serves.
    """
    opened = ReviewFolder(folder)
    opened.rubric_version()
    _check_assignments(opened, reviewers)
    try:
        from hazardmill.review.app.serve import listen, make_app, rules_for
        from hazardmill.review.app.serve import serve as serve_app
    except ImportError as error:
        raise UsageError(
            f"the review app needs what is not installed: {error.name}", remedy="pip install 'hazardmill[review]'"
        ) from error
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
        click.echo("tokens and decisions go over the network in the clear: put a proxy with HTTPS before it", err=True)
    serve_app(app, listening)


@click.command(epilog="Example: hazardmill review token ada")
@click.argument("reviewer")
@click.option("--withdraw", is_flag=True, help="Instead: take the reviewer's token back.")
@folder_option
@json_option
def token(reviewer: str, withdraw: bool, folder: Path, as_json: bool) -> None:
    """Make a token for a reviewer, in place of an old one, and print it: it is kept as a hash and told only now.

    As soon as one was made, everybody needs one to sign in, at whatever address.
    """
    opened = ReviewFolder(folder)
    tokens = Tokens(opened)
    if withdraw:
        done = tokens.withdraw(reviewer)
        said = "their sessions are over" if done else "there was none"
        if as_json:
            print_json({"reviewer": reviewer, "withdrawn": done})
        else:
            click.echo(f"{reviewer}: {said}")
        return
    # A misspelt folder, or name, must not become one that holds a token.
    _check_assignments(opened, (reviewer,))
    made = tokens.make(reviewer)
    if as_json:
        print_json({"reviewer": reviewer, "token": made})
    else:
        click.echo(made)


def _check_assignments(folder: ReviewFolder, reviewers: Sequence[str]) -> None:
    """Refuse reviewers to whom nothing was given, and a review of which nothing was."""
    given = folder.assignments().of
    missing = [reviewer_name(name) for name in reviewers if name not in given]
    if missing or not given:
        raise UsageError(
            f"nothing was given out to {', '.join(missing) or 'anybody'} in {folder.path}",
            remedy="give out tasks first: hazardmill review assign --reviewer NAME",
        )
