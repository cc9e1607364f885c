"""``hazardmill release push``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from hazardmill.cli.options import json_option, print_json
from hazardmill.release.hub.push import PushSummary
from hazardmill.release.hub.push import push as push_release
from hazardmill.text.printable import printable


@click.command(epilog="Example: hazardmill release push releases/hazardmill-1.0.0 --repo my-lab/hazards --dry-run")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--repo", required=True, metavar="ORG/NAME", help="The dataset's repository; if missing, a private one is created."
)
@click.option("--public", is_flag=True, help="Make the repository public, as the last step.")
@click.option("--dry-run", is_flag=True, help="Report what would be done; change nothing.")
@click.option(
    "--allow-offline",
    is_flag=True,
    help="Also push tasks that were not written by a known language model (see `release build`).",
)
@json_option
def push(folder: Path, repo: str, public: bool, dry_run: bool, allow_offline: bool, as_json: bool) -> None:
    """Publish a release on a dataset hub, in one commit and one tag.

    The commit has the release in FOLDER; it is checked, and then gets the tag vX.Y.Z. FOLDER is checked against its
    manifest first. Before the tag is set, the hub's copy is compared by hashes, and each config is loaded with the
    library datasets. If a push stops or fails, the same command resumes it: it finds what is already there, makes no
    second commit, and never moves a tag.

    The token comes from HF_TOKEN or, if that is not set, from `hf auth login`. The hub is the one at HF_ENDPOINT; if
    that is not set, huggingface.co.

    Exit code 1 if the release has tasks that need --allow-offline, 3 if FOLDER is damaged, 5 if the hub cannot be
    reached or refuses, or the tag points to something else.
    """
    if not sys.stderr.isatty():
        _without_bars()
    pushed = push_release(
        folder,
        repo,
        public=public,
        dry_run=dry_run,
        allow_offline=allow_offline,
        say=lambda line: click.echo(printable(line), err=True),
    )
    if as_json:
        print_json(pushed.model_dump(mode="json"))
        return
    for line in in_words(pushed):
        click.echo(printable(line))


def in_words(pushed: PushSummary) -> list[str]:
    """Render what a push did or would do, line by line."""
    would = "would be " if pushed.dry_run else ""
    lines = [f"{pushed.repository} {pushed.tag}: {pushed.files} files, {pushed.bytes:,} bytes"]
    lines.append(f"repository: {f'{would}created, private' if pushed.created else 'already there'}")
    if pushed.committed:
        counts = f"{len(pushed.changed)} files new or changed, {len(pushed.deleted)} deleted"
        lines.append(f"commit: {would}made{f' ({pushed.revision})' if pushed.revision else ''}, {counts}")
    else:
        lines.append(f"commit: already there ({pushed.revision})")
    if pushed.kept:
        lines.append(f"kept, not part of a release: {', '.join(pushed.kept)}")
    if pushed.rows is not None:
        rows = sum(sum(splits.values()) for splits in pushed.rows.values())
        lines.append(f"checked: all hashes; datasets loads {rows:,} rows of {len(pushed.rows)} configs")
    lines.append(f"tag {pushed.tag}: {f'{would}set' if pushed.tagged else 'already there'}")
    seen_by = "its owners" if pushed.private else "everybody"
    lines.append(f"visible to {seen_by}{f' ({would}opened now)' if pushed.published else ''}")
    if not pushed.dry_run:
        config = "" if pushed.config is None else f"{pushed.config!r}, "
        lines.append(f"load it with: datasets.load_dataset({pushed.repository!r}, {config}revision={pushed.tag!r})")
    return lines


def _without_bars() -> None:
    # If the package is missing, the push itself reports it.
    try:
        from huggingface_hub.utils.tqdm import disable_progress_bars
    except ImportError:
        return
    disable_progress_bars()
