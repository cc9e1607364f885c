"""The command ``python -m hazardmill.testing.llm_server``."""

from __future__ import annotations

import os
from pathlib import Path

import click

from hazardmill.errors import HazardmillError
from hazardmill.testing.llm_server.batch_faults import SeededBatchFaults, parse_batch_faults
from hazardmill.testing.llm_server.faults import FaultPlan, ScriptedServerFaults, SeededFaults, parse_faults
from hazardmill.testing.llm_server.server import LlmServer
from hazardmill.testing.llm_server.tokens import TOKENIZERS, Dialect, open_tokenizer
from hazardmill.testing.serving import serve_until_ended


@click.command(epilog="Example: python -m hazardmill.testing.llm_server --port 8040 --faults recoverable --rate 0.3")
@click.option("--port", type=click.IntRange(0, 65535), default=0, show_default=True, help="0: any free port.")
@click.option("--latency", type=click.FloatRange(0), default=0.0, show_default=True, help="Seconds to an answer.")
@click.option("--faults", help="Kinds to draw from: 429,slow:2.5,... or recoverable, fatal, all.")
@click.option("--rate", type=click.FloatRange(0, 1), default=0.3, show_default=True, help="Rate of recoverable faults.")
@click.option("--fatal-rate", type=click.FloatRange(0, 1), default=0.0, show_default=True, help="Rate of fatal faults.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the draws.")
@click.option("--most", type=click.IntRange(0), default=3, show_default=True, help="Failing attempts per request.")
@click.option("--script", help="Instead of --faults: those of the 1st, 2nd... attempt: 429,ok,reset.")
@click.option("--dialect", type=click.Choice([each.value for each in Dialect]), default="openai", show_default=True)
@click.option("--tokenizer", type=click.Choice(TOKENIZERS), default=TOKENIZERS[0], show_default=True)
@click.option("--key-env", metavar="NAME", help="Environment variable with the API key to require.")
@click.option(
    "--log", type=click.Path(path_type=Path, dir_okay=False), help="File for the journal; an existing one is continued."
)
@click.option(
    "--max-body",
    type=click.IntRange(1),
    default=8 * 1024 * 1024,
    show_default=True,
    help="Maximum bytes of a request's body.",
)
@click.option("--batch-faults", help="Kinds of fault of batches to draw from: create-lost,line-500,... or all.")
@click.option("--batch-rate", type=click.FloatRange(0, 1), default=0.3, show_default=True, help="Rate of these faults.")
@click.option(
    "--batch-seconds", type=click.FloatRange(0), default=0.0, show_default=True, help="Seconds that a batch takes."
)
def main(
    port: int,
    latency: float,
    faults: str | None,
    rate: float,
    fatal_rate: float,
    seed: int,
    most: int,
    script: str | None,
    dialect: str,
    tokenizer: str,
    key_env: str | None,
    log: Path | None,
    max_body: int,
    batch_faults: str | None,
    batch_rate: float,
    batch_seconds: float,
) -> None:
    """Serve the offline author as an OpenAI-compatible model on this machine, with faults.

    Prints the address for clients as its first line, and serves until it is interrupted or terminated.
    """  # noqa: DOC501  # it exits, as commands do
    try:
        plan = _plan(faults, script, seed=seed, rate=rate, fatal_rate=fatal_rate, most=most)
        batch_plan = None
        if batch_faults is not None:
            batch_plan = SeededBatchFaults(seed, rate=batch_rate, kinds=parse_batch_faults(batch_faults), most=most)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    try:
        server = LlmServer(
            faults=plan,
            latency=latency,
            api_key=_key(key_env),
            dialect=dialect,
            tokenizer=open_tokenizer(tokenizer),
            log=log,
            max_body=max_body,
            batch_faults=batch_plan,
            batch_seconds=batch_seconds,
            port=port,
        )
        serve_until_ended(server)
    except (HazardmillError, OSError) as error:
        click.echo(f"Error: {error}", err=True)
        raise SystemExit(getattr(error, "exit_code", 1)) from error


def _plan(
    faults: str | None, script: str | None, *, seed: int, rate: float, fatal_rate: float, most: int
) -> FaultPlan | None:
    if faults is not None and script is not None:
        raise ValueError("give --faults or --script, not both")
    if script is not None:
        return ScriptedServerFaults(*parse_faults(script))
    if faults is None:
        return None
    kinds = [fault for fault in parse_faults(faults) if fault is not None]
    if not any(fault.kind.recoverable for fault in kinds):
        rate = 0.0
    return SeededFaults(seed, rate=rate, fatal_rate=fatal_rate, kinds=kinds, most=most)


def _key(name: str | None) -> str | None:
    if name is None:
        return None
    if not (key := os.environ.get(name)):
        raise click.UsageError(f"the environment variable {name} is not set")
    return key


if __name__ == "__main__":
    main()
