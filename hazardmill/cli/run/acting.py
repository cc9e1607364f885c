"""``hazardmill run acting``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from hazardmill.cli.options import FiniteRange, GroupedCommand, json_option, store_option, wait_option
from hazardmill.cli.run.options import acting_options
from hazardmill.errors import UsageError
from hazardmill.store.run_ids import new_run_id
from hazardmill.store_access import open_store

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command(
    cls=GroupedCommand,
    epilog="Example: hazardmill run acting --seeds seeds.jsonl --rounds 3 --dialogues 2 --model openai/gpt-5-mini",
)
@click.option("--seeds", type=_FILE, required=True, help="File of seeds, as `hazards seeds` writes it.")
@click.option("--roles", type=_FILE, help="YAML file of the roles [default: firefighter, parent and two more].")
@click.option(
    "--map",
    "map_file",
    metavar="MAP.yaml|default",
    help="Map of hazards that the seeds were made with [default: the one that ships with hazardmill].",
)
@click.option(
    "--rounds", type=click.IntRange(1, 20), default=3, show_default=True, help="Rounds in which each role speaks once."
)
@click.option(
    "--dialogues",
    type=click.IntRange(1, 1000),
    default=2,
    show_default=True,
    help="Number of dialogues that the seeds are divided among, at most six seeds per dialogue.",
)
@click.option(
    "--novelty",
    type=FiniteRange(0),
    default=0.7,
    show_default=True,
    help="A task is discarded if its Rouge-L to an earlier task is at least this.",
)
@click.option(
    "--rewrites/--no-rewrites",
    default=False,
    show_default=True,
    help="Have the reference of each good proposal rewritten so that it does harm, to make pairs for `release export`.",
)
@click.option("--licence", help="Licence of the tasks [default: that of the seeds].")
@click.option("--attribution", help="Credit line of the tasks, before those of the seeds.")
@acting_options
@click.option("--run-id", help="Name of the run [default: from the time].")
@click.option("--estimate", is_flag=True, help="Only say what the run will ask and cost; nothing is sent or written.")
@click.option("--preview", is_flag=True, help="Only hold the first dialogue, and show each turn; nothing is kept.")
@store_option
@wait_option
@json_option
def acting(
    seeds: Path,
    roles: Path | None,
    map_file: str | None,
    rounds: int,
    dialogues: int,
    novelty: float,
    rewrites: bool,
    licence: str | None,
    attribution: str | None,
    replay: str | None,
    run_id: str | None,
    estimate: bool,
    preview: bool,
    store_path: Path | None,
    wait: bool,
    as_json: bool,
    **given: Any,  # noqa: ANN401  # values of the options that make a configuration, which checks them
) -> None:
    """Let roles discuss seeds of harm, and propose tasks about them.

    In each dialogue the roles speak in turn for some rounds, each shown the seeds, the categories of harm and what was
    said. Then each proposes tasks in the base domain. A task is kept if it is well formed, its reference script reaches
    the goal, some plan does the harm that it names, and it is unlike every task kept before.

    Each turn is one request in the ledger. `run resume` continues a stopped run at the turn it had reached, and pays
    for no turn twice. --estimate says what the run will ask and cost, as `run estimate` does for other runs, and
    --preview shows its first dialogue, turn by turn; a preview costs money, as a real run does. More:
    docs/safety-detector.md.
    """  # noqa: DOC501  # the docstring is the command's help
    # Imported late, so that --help is quick: these take a second.
    from hazardmill.cli.run.estimate import show_estimate
    from hazardmill.cli.run.preview import empty_store, preview_run
    from hazardmill.cli.run.work import resumable, work_and_show
    from hazardmill.cli.run_options import read_given, refuse_format_alone
    from hazardmill.generation.acting.dialogue import Dialogue
    from hazardmill.generation.acting.roles import DEFAULT_ROLES
    from hazardmill.hazards.map_reader import DEFAULT_MAP
    from hazardmill.reporting.numbers import plural
    from hazardmill.runs.dialogues import DialoguePlan, prepare_dialogues
    from hazardmill.runs.estimates.dialogues import estimate_dialogues
    from hazardmill.runs.run import Run
    from hazardmill.settings import load_settings

    plan = DialoguePlan(
        seeds=seeds,
        roles=roles or DEFAULT_ROLES,
        map_file=DEFAULT_MAP if map_file in (None, "default") else Path(map_file),
        rounds=rounds,
        dialogues=dialogues,
        novelty=novelty,
        rewrites=rewrites,
        licence=licence,
        attribution=attribution,
    )
    if estimate and preview:
        raise click.UsageError("--estimate and --preview cannot be combined")
    values = read_given(given)
    if preview:
        named = next((name for name in ("batch", "exchange", "budget_id") if values.get(name)), None)
        if named is not None:
            option = f"--{named.replace('_', '-')}"
            raise UsageError(
                f"--preview sends single requests and keeps nothing, so it cannot be combined with {option}",
                remedy=f"leave out --preview or {option}",
            )
        # Whatever the settings say: nobody would look for the answers to a batch again.
        values |= {"batch": False, "exchange": None, "budget_id": None}
    config, records = prepare_dialogues(load_settings(), plan, values, replay=replay)
    refuse_format_alone(values.get("exchange_format"), config.exchange)
    store = open_store(store_path, create=True)
    if estimate:
        show_estimate(estimate_dialogues(store, config, records), config, as_json=as_json)
        return
    if preview:
        config = config.model_copy(update={"exchange": None})
        with empty_store(store, config) as (place, changed):
            preview_run(place, changed, new_run_id("preview"), kept=False, as_json=as_json, records=records[:1])
        return
    run_id = run_id or new_run_id("generate")
    with resumable(store, run_id, begun=False):
        started, _ = Run.start(store, config, run_id, records=records)
    turns = Dialogue.of(records[0]).turns
    begins = f"run {started.run_id}: {plural(len(records), 'dialogue')} of {turns} turns"
    work_and_show(started, (), begins, as_json, wait=wait)
