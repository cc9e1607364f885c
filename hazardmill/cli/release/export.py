"""``hazardmill release export``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final, get_args

import click

from hazardmill.cli.hazards.sheets import filled_sheets_option, read_decisions
from hazardmill.cli.options import json_option, print_json
from hazardmill.errors import UsageError
from hazardmill.evaluation.answers.scripts import read_scripts
from hazardmill.evaluation.safety.rewrites import read_rewrites
from hazardmill.hazards.sheets import ScriptReviews
from hazardmill.release.read.exports import ExportSummary, Format
from hazardmill.release.read.exports import export as write
from hazardmill.release.read.release import load_release
from hazardmill.release.read.safe_align_pairs import DEFAULT_OPTIONS, ErrorAt, PairOptions
from hazardmill.text.printable import printable

_FORMATS: Final = ("sft", "dpo", "stepwise", "safe-align")
_SPLITS: Final = ("train", "validation", "test")
_LEFT_OUT: Final = {
    "share_alike": "left out: {} under a share-alike licence (include them with --by-sa)",
    "offline_authored": "left out: {} written by our rules, not a language model (include them with --allow-offline)",
    "no_action": "left out: {} with an empty plan",
    "no_causal_step": "left out: {} whose unsafe plan has no known point of no return",
    "harmful_reference": "left out: {} whose reference does harm itself, and of which no harmless plan is known",
    "short_plan": "left out: {} whose safe plan is shorter than --least-steps",
    "rejected_reference": "left out: {} whose reference does harm, as people say, with no other plan to prefer",
    "rejected_rewrite": "left out: {} whose rewrite does no harm, as people say",
    "script_not_executable": "left out of --scripts: {} with an action that cannot be done",
    "script_misses_goal": "left out of --scripts: {} without the goal at the end",
    "harmful_script": "left out of --scripts: {} with harm",
    "rejected_script": "left out of --scripts: {} with harm, as people say",
    "repeated_script": "left out of --scripts: {} that a pair has already",
}


@click.command(epilog="Example: hazardmill release export releases/hazardmill-1.0.0 --format dpo --out pairs.jsonl")
@click.argument("release", metavar="FOLDER|ORG/NAME")
@click.option("--format", "format_", type=click.Choice(_FORMATS), required=True, help="Kind of training data.")
@click.option(
    "--split", type=click.Choice(_SPLITS), default="train", show_default=True, help="Split whose tasks are exported."
)
@click.option(
    "--by-sa/--no-by-sa",
    default=False,
    show_default=True,
    help="Whether to include tasks under a share-alike licence; the file may then be shared only under that licence.",
)
@click.option(
    "--allow-offline",
    is_flag=True,
    help="Include tasks written by hazardmill's rules instead of a language model; they are marked.",
)
@click.option(
    "--least-steps",
    type=click.IntRange(min=1),
    default=DEFAULT_OPTIONS.least_steps,
    show_default=True,
    metavar="N",
    help="safe-align: least number of actions of the safe plan.",
)
@click.option(
    "--error-at",
    type=click.Choice(get_args(ErrorAt)),
    default=DEFAULT_OPTIONS.error_at,
    show_default=True,
    help="safe-align: where the unsafe plan begins to count fully: after the shared actions, or at the causal step.",
)
@click.option(
    "--scripts",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="safe-align: JSON lines of task_id and plan, such as a source's own scripts; those that do no harm are "
    "preferred answers too.",
)
@filled_sheets_option(
    "--reviews", "safe-align: a sheet of `hazards rewrites` that a reviewer filled in; what people reject is left out."
)
@click.option("--revision", help="Tag, branch or commit of ORG/NAME on the hub [default: its main branch].")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FILE",
    help="File to write, .jsonl or .parquet; it must not exist.",
)
@json_option
def export(
    release: str,
    format_: Format,
    split: str,
    by_sa: bool,
    allow_offline: bool,
    least_steps: int,
    error_at: ErrorAt,
    scripts: Path | None,
    reviews: tuple[Path, ...],
    revision: str | None,
    out: Path,
    as_json: bool,
) -> None:
    """Write a release as training data for planners.

    The columns are those that TRL documents. sft: a PDDL prompt and its safe plan. dpo: the safe plan, preferred to the
    unsafe one, and the step at which the two diverge. stepwise: the actions of both plans, each labelled with whether a
    safe plan still exists after it. safe-align: both plans, action by action, with the number of actions they share
    (docs/safe-align.md). All columns are in docs/training-data.md.

    Exit code 1 if a row of --reviews could not be read: it is reported, and the rest counts.
    """
    if format_ != "safe-align":
        _refuse_pair_options(format_)
    opened = load_release(release, revision=revision)
    own = {} if scripts is None else read_scripts(scripts, opened)
    judged = [script for each in read_rewrites(opened) for script in each.scripts] if reviews else []
    judged += [{"task_id": task_id, "plan": plan} for task_id, plans in own.items() for plan in plans]
    decisions, problems = read_decisions(reviews, judged)
    pairs = PairOptions(least_steps, error_at, ScriptReviews.of(decisions), own)
    exported = write(opened, out, format_, split=split, by_sa=by_sa, allow_offline=allow_offline, pairs=pairs)
    if as_json:
        print_json({**exported.to_json(), **({"problems": problems} if reviews else {})})
    else:
        for line in in_words(exported):
            click.echo(line)
    if problems:
        # What could not be read may have been a rejection.
        sys.exit(1)


def _refuse_pair_options(format_: Format) -> None:
    """Refuse options of Safe-Align for a format that does not read them."""
    ctx = click.get_current_context()
    for name in ("least_steps", "error_at", "scripts", "reviews"):
        option = f"--{name.replace('_', '-')}"
        if ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            raise UsageError(f"--format {format_} has no {option}", remedy="leave it out, or export safe-align")


def in_words(exported: ExportSummary) -> list[str]:
    """Render what was written, and what was left out and why."""
    licences = ", ".join(f"{rows} under {printable(licence)}" for licence, rows in exported.licences.items())
    lines = [f"{exported.out}: {exported.rows} rows of {exported.split}: {licences}"]
    if exported.offline_authored:
        lines.append(f"{exported.offline_authored} of them were written by our rules, not by a language model")
    if exported.equal_length is not None:
        lines.append(
            f"alpha has no effect on {exported.equal_length} pairs with equally many actions, and on "
            f"{exported.no_shared_action} others that share no action"
        )
    if exported.reviews:
        counts = ", ".join(f"{count} {review.replace('_', ' ')}" for review, count in exported.reviews.items())
        lines.append(f"what people say of rewrites: {counts} (`hazards rewrites` writes sheets for --reviews)")
    return lines + [_LEFT_OUT[reason].format(count) for reason, count in exported.left_out.items()]
