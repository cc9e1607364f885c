"""What a check of a store found, as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hazardmill.text.printable import printable

if TYPE_CHECKING:
    from flows.check import Checked

_LISTED: Final = 20


def in_words(found: Checked) -> list[str]:
    """Render the findings as Markdown."""
    lines, done = [f"## Check of {found.store}"], found.executions
    if done is not None:
        lines.append(f"{done.drafts:,} drafts executed again in {', '.join(done.jails)}; {done.differing:,} differ.")
        lines.append("\n".join(f"- {_quoted(difference.in_words)}" for difference in done.differences[:_LISTED]))
        lines += [f"Left out: {_quoted(why)}" for why in done.left_out]
        lines.append(f"Digest of all verdicts: `{done.digest}`")
    if found.tasks is not None:
        lines.append(f"{found.tasks:,} tasks compared; {len(found.duplicates):,} repeat an earlier one.")
        lines.append("\n".join(f"- {_quoted(alike.in_words)}" for alike in found.duplicates[:_LISTED]))
    return [line for line in lines if line]


def _quoted(text: str) -> str:
    # It may contain words of a draft, which must not act as markup.
    return "`" + printable(text).replace("`", "'") + "`"
