"""The tables of a report as text, independent of where they are shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hazardmill.report.cost import Cost, Spend
from hazardmill.report.funnel import LOSSES, DraftYield, Funnel, FunnelCounts
from hazardmill.report.wording import OUTCOME_WORDS, reason, token_sum, usd_per_task, usd_sum
from hazardmill.reporting.numbers import count, plural, share, share_of
from hazardmill.reporting.table import Grid

WAY: Final = (
    ("records", "records"),
    ("no_danger", "- no danger in it"),
    ("extraction_failed", "- extraction failed"),
    ("dangers", "dangers"),
    ("drafts", "  drafts written"),
    ("execution_failed", "- execution failed"),
    ("quality_failed", "- quality failed"),
    ("duplicate", "- duplicates"),
    ("pending", "- pending"),
    ("accepted", "accepted"),
)
"""The rows of the funnel from top to bottom: field of ``FunnelCounts``, and words; losses begin with ``-``."""


def funnel_table(funnel: Funnel) -> Grid:
    """Return the funnel with one column per source, and a total.

    The last rows are the share accepted and, outside the funnel, the items that were refused when read.
    """
    columns = [*funnel.sources.values(), funnel.total]
    named = {"dangers": _dangers_in_words(funnel)}
    rows = [(named.get(field, words), *(count(getattr(counts, field)) for counts in columns)) for field, words in WAY]
    rows.append(("share accepted", *(share(counts.share_accepted) for counts in columns)))
    rows.append(("refused, in this store", *(count(counts.rejects) for counts in columns)))
    return Grid("Funnel", ("", *funnel.sources, "total"), tuple(rows))


def funnel_table_by_source(funnel: Funnel) -> Grid:
    """Return the funnel with one row per source, so that the number of columns does not grow with the sources."""
    rows = (*((name, counts) for name, counts in funnel.sources.items()), ("total", funnel.total))
    head = ("Source", "Records", _dangers_in_words(funnel).capitalize(), "Drafts", "Accepted", "Pending")
    return Grid("Funnel", head, tuple(_summary(name, counts) for name, counts in rows))


def losses(funnel: Funnel) -> Grid:
    """Return the losses with their reasons, in the order of the stages, the commonest reason first.

    Shares are of all records. The last row has the sum of all losses.
    """
    records = funnel.total.records
    rows = [
        (OUTCOME_WORDS[outcome], reason(code), count(number), share_of(number, records))
        for outcome in LOSSES
        for code, number in funnel.reasons(outcome)
    ]
    lost = sum(funnel.total.of(outcome) for outcome in LOSSES)
    rows.append(("all losses", "", count(lost), share_of(lost, records)))
    return Grid("Losses", ("Lost as", "Reason", "Records", "Share"), tuple(rows), words=2)


def draft_failures(funnel: Funnel) -> Grid:
    """Return what drafts failed, whether or not a later draft of the record passed."""
    rows = [(reason(row.check), reason(row.reason), count(row.count)) for row in funnel.draft_failures]
    return Grid("Drafts that failed", ("Check", "Reason", "Drafts"), tuple(rows), words=2)


def yields(drafts: Sequence[DraftYield]) -> Grid:
    """Return the yield by draft number: drafts made, passed, and accepted; of dialogues, turns.

    The yield is the share of the drafts with that number that passed every check.
    """
    rows = [
        (str(d.number), count(d.made), count(d.passed), count(d.accepted), share_of(d.passed, d.made)) for d in drafts
    ]
    return Grid("Yield by draft", ("Draft", "Made", "Passed", "Accepted", "Yield"), tuple(rows))


def cost_of_task(cost: Cost) -> Grid:
    """Return the headline: USD per validated task, and what it is made of."""
    row = (
        usd_per_task(cost),
        count(cost.accepted),
        usd_sum(cost.paid.usd),
        usd_sum(cost.reused.usd),
        share(cost.paid.cache_hit_share),
    )
    head = ("USD per task", "Tasks", "USD paid now", "USD paid before", "Cached input")
    return Grid("Cost of a validated task", head, (row,), words=0)


def spend(cost: Cost) -> Grid:
    """Return attempts, tokens and USD by stage, by source and by draft; the last row has the sums."""
    rows = [(f"stage {stage}", spent) for stage, spent in cost.by_stage.items()]
    rows += [(f"source {source}" if source else "no single record", spent) for source, spent in cost.by_source.items()]
    rows += [(f"draft {n}" if n else "outside drafts", spent) for n, spent in cost.by_draft.items()]
    rows.append(("all", cost.paid))
    head = ("Requests of", "Attempts", "Tokens in", "Cached", "Tokens out", "USD")
    return Grid("Cost of these runs", head, tuple(_spend_row(label, spent) for label, spent in rows))


def notes(funnel: Funnel) -> list[str]:
    """Return sentences about a funnel: shares, the variety of tasks, and, last, whether it adds up."""
    declined = share(funnel.total.share_declined)
    # Nothing is extracted for scenarios and dialogues.
    said = [] if _only_seeds(funnel) else [f"Declined as holding no danger: {declined} of finished records."]
    structures = funnel.structures
    if structures.tasks:
        tasks = structures.tasks + structures.unknown
        if funnel.tasks > tasks:
            said.append(
                f"Several runs accepted the same task: a record counts once per run, but a task only once;"
                f" there are {plural(tasks, 'task')}."
            )
        said.append(
            f"The ten commonest structures (apart from names) account for {share(structures.share_commonest)}"
            f" of {plural(structures.tasks, 'task')}; distinct structures: {count(structures.distinct)},"
            f" effective number {structures.effective or 0:.1f} (exp of the Shannon entropy)."
        )
        if structures.unknown:
            said.append(f"The structure of {plural(structures.unknown, 'task')} is unknown: too large to compute.")
    if funnel.dialogues:
        said.append(f"{plural(funnel.dialogues, 'dialogue')} gave {plural(funnel.hazard_tasks, 'hazard task')}.")
    wrong = funnel.balance()
    said.append(f"The funnel does NOT add up: {'; '.join(wrong)}." if wrong else "The funnel adds up.")
    return said


def _only_seeds(funnel: Funnel) -> bool:
    return bool(funnel.scenarios + funnel.dialogues) and not funnel.tasks


def made_in_words(funnel: Funnel, *, plural: bool = False) -> str:
    """Return what was made of the records: ``task``, ``scenario`` or ``task or scenario``, or these in the plural."""
    made = [noun for noun, number in (("task", funnel.tasks), ("scenario", funnel.scenarios)) if number] or ["task"]
    return " and ".join(f"{noun}s" for noun in made) if plural else " or ".join(made)


def _dangers_in_words(funnel: Funnel) -> str:
    """Return what drafts are written for: dangers, or the seeds of scenarios and dialogues."""
    has_seeds = bool(funnel.scenarios + funnel.dialogues)
    return "seeds" if _only_seeds(funnel) else "dangers and seeds" if has_seeds else "dangers"


def _summary(name: str, counts: FunnelCounts) -> tuple[str, ...]:
    accepted = f"{count(counts.accepted)} ({share(counts.share_accepted)})"
    before = (count(counts.records), count(counts.dangers), count(counts.drafts))
    return (name, *before, accepted, count(counts.pending))


def _spend_row(label: str, spent: Spend) -> tuple[str, ...]:
    # Not a separate column: an artifact has room for six.
    ended = [f"{count(spent.failed)} failed"] if spent.failed else []
    ended += [f"{count(spent.in_flight)} in flight"] if spent.in_flight else []
    return (
        label,
        count(spent.attempts) + (f" ({', '.join(ended)})" if ended else ""),
        token_sum(spent.prompt_tokens),
        share(spent.cache_hit_share),
        token_sum(spent.completion_tokens),
        usd_sum(spent.usd),
    )
