"""What a person sees before a release is pushed: the decision, card and differences to read, and the counts."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Final

from markupsafe import escape

from flows.earlier_releases import Differences
from hazardmill.release.build.configs import BY_SA, BY_SA_MEANS
from hazardmill.release.hub.folder import LocalRelease
from hazardmill.reporting.html import write_out_unseen, write_text
from hazardmill.settings import load_settings
from hazardmill.text.printable import printable

_PAGE: Final = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<h1>{title}</h1>
<h2 id="differences">Differences</h2>
<pre>{differences}</pre>
<h2 id="card">Card</h2>
<pre style="white-space: pre-wrap">{card}</pre>
</html>
"""


def write_page(path: Path, local: LocalRelease, place: Path, differences: Differences) -> None:
    """Write the page on a release: how it differs from the one before, and its card.

    Raises:
        StoreError: It cannot be written.
    """
    title = f"{local.manifest.name} {local.manifest.version}"
    parts = {
        "title": title,
        "differences": differences.text or differences.summary,
        "card": (place / "README.md").read_text(encoding="utf-8"),
    }
    write_text(path, _PAGE.format(**{name: escape(write_out_unseen(text)) for name, text in parts.items()}))


def ask_words(local: LocalRelease, repo: str, until: datetime, *, again: bool) -> str:
    """Render the decision, as Markdown.

    Args:
        local: The release.
        repo: Where it would be pushed.
        until: When the form ends, UTC.
        again: Whether somebody has answered about another release.
    """
    told = [f"### Push {local.manifest.name} {local.manifest.version} to {repo}?"]
    if again:
        told += ["**The release has changed since somebody was asked. That answer does not count for this one.**"]
    told += [
        f"Nothing is pushed unless you approve. If nobody answers by {until:%Y-%m-%d %H:%M} UTC, this flow run ends "
        "without a push; whoever retries it is asked again."
    ]
    return "\n\n".join(told)


def in_words(local: LocalRelease, place: Path, differences: Differences, page: Path) -> str:
    """Render what would be pushed, as Markdown: card and differences as links, or as paths if no page is served.

    Args:
        local: The release.
        place: Its folder.
        differences: How it differs from the release before it.
        page: The page with these differences and the card.
    """
    manifest = local.manifest
    card = _link(page, "card") or f"`{place / 'README.md'}`"
    told = [
        f"- Card: {card}",
        f"- Differences from {differences.previous or 'an earlier release'}: {differences.summary}"
        f" ({_link(page, 'differences') or f'`{page}`'})",
        f"- Release: {manifest.contents} in `{place}`, policy {manifest.policy}, manifest `{local.sha256}`",
    ]
    if manifest.offline:
        told += [f"- **{manifest.offline:,} of them were written by our rules, not by a language model.**"]
    if any(config.endswith(BY_SA) for config in manifest.counts):
        told += [f"- `{BY_SA}`: {BY_SA_MEANS}."]
    told += ["", *(f"    waived: gate {gate}: {printable(why)}\n" for gate, why in manifest.waived.items())]
    told += [f"    left out by gate {gate}: {count:,}\n" for gate, count in manifest.left_out_by_gates.items()]
    rows = [
        f"| {config} | {split} | {rows:,} |" for config, by in manifest.counts.items() for split, rows in by.items()
    ]
    return "\n".join([*told, "| config | split | rows |", "| --- | --- | ---: |", *rows])


def _link(page: Path, part: str) -> str | None:
    """Return a link to a part of a page; None if no address is set at which pages are served."""
    address = load_settings().pages_url
    return None if address is None else f"[{part}]({address.rstrip('/')}/reports/{page.name}#{part})"
