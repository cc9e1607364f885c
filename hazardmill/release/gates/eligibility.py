"""Gates on where a task comes from: which models answered and where, its licence and credit, and its review.

Each function ``see_...`` looks at one task and adds what it finds to the tally of a gate.
"""

from __future__ import annotations

import hashlib
import ipaddress
import re
import socket
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from hazardmill.generation.acting.dialogue import SOURCE as ACTING
from hazardmill.ingest.sources import Source, list_sources
from hazardmill.llm.recordings import DIALOGUE_PLACE, PLACE, SCENARIO_PLACE
from hazardmill.llm.requests import OFFLINE_MODEL
from hazardmill.release.gates.findings import FindingTally
from hazardmill.resources import sources_folders
from hazardmill.review.policies import REASON_WORDS, REJECTED
from hazardmill.verification.stored import against_danger, against_draft
from hazardmill.verification.task import AGAIN

if TYPE_CHECKING:
    from hazardmill.release.build.candidates import Candidate
    from hazardmill.review.policies import AcceptedSet

Row = Mapping[str, Any]

_LOCAL_NAMES: Final = (".local", ".localhost", ".lan", ".internal", ".intranet", ".home.arpa", ".localdomain")

# As the sources write them. Any other licence requires credit, or may require it.
_NO_CREDIT: Final = re.compile(r"public domain|cc0|unlicense|0bsd|wtfpl|pddl-1", re.IGNORECASE)

_ASSIGN: Final = "assign it with `hazardmill review assign`, then have it reviewed: hazardmill review serve"
_MAKE_ANEW: Final = "generate the task with a language model, or leave its run out with --run"


def is_local(host: str) -> bool:
    """Check by its name whether a host is this machine or in a private network; names are not resolved.

    Args:
        host: A name or an IP address, without a port. Addresses may be written in the short, octal or hexadecimal
            forms that ``inet_aton`` reads.

    Returns:
        True for addresses that are not global, for names without a dot, and for names under ``.local`` and the like.
    """
    name = host.strip().strip("[]").partition("%")[0].rstrip(".").lower()
    address = _address(name)
    if address is not None:
        return not (getattr(address, "ipv4_mapped", None) or address).is_global
    # A name without dots has a meaning in one network only.
    return "." not in name or name.endswith(_LOCAL_NAMES)


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        pass
    if re.fullmatch(r"[0-9a-fx.]+", name) and re.search(r"(^|\.)(0x[0-9a-f]+|\d+)$", name):
        # Short and hexadecimal forms, as the system reads them: 127.1, 0x7f000001.
        try:
            return ipaddress.IPv4Address(socket.inet_aton(name))
        except OSError:
            return None
    return None


def shipped_recordings() -> frozenset[str]:
    """Return the SHA-256 of each file of recorded answers that comes with hazardmill.

    Files in folders that ``HAZARDMILL_SOURCES`` names do not count.
    """
    own, *_ = sources_folders()
    places = (PLACE, SCENARIO_PLACE, DIALOGUE_PLACE)
    paths = (path for place in places for path in own.glob(f"*/{place.as_posix()}"))
    return frozenset(hashlib.sha256(path.read_bytes()).hexdigest() for path in paths)


def see_offline(
    tally: FindingTally, row: Row, candidate: Candidate | None, allowed: bool, shipped: Collection[str] = frozenset()
) -> None:
    """Check that a language model wrote every part of a task, and not hazardmill's rules or an unknown recording.

    Args:
        tally: Tally of the gate ``offline``.
        row: Row of the task.
        candidate: The same task with what the ledger says about it; None if it is not among the candidates.
        allowed: Whether such tasks may be released (``--allow-offline``); then nothing is found.
        shipped: SHA-256 of the files of recorded answers that are trusted.
    """
    answered = set() if candidate is None else candidate.answered_by
    # The row's own columns count too, in case the ledger has lost the requests.
    ours = OFFLINE_MODEL in answered or row["model_answered"] == OFFLINE_MODEL or row["backend"] == "offline"
    if ours and not allowed:
        tally.add(
            row["task_id"],
            f"{OFFLINE_MODEL} answered for it, which is not a language model",
            f"{_MAKE_ANEW}, or allow it: --allow-offline",
        )
    unknown = frozenset() if candidate is None else candidate.recorded_in - frozenset(shipped)
    if unknown and not allowed:
        tally.add(
            row["task_id"],
            "it was made from recorded answers that do not come with "
            f"hazardmill ({', '.join(sorted(unknown))[:12]}...), "
            "so it is unknown which model answered",
            f"{_MAKE_ANEW}, or allow it: --allow-offline",
        )


def see_origin(tally: FindingTally, row: Row, beside: Iterable[tuple[str, Row]]) -> None:
    """Check that a task agrees with its accepted draft and with its danger, which are released with it.

    Args:
        tally: Tally of the gate ``revalidation``.
        row: Row of the task.
        beside: Config and row of what is released with it.
    """
    for config, other in beside:
        if config == "drafts" and "accepted" in other and other["draft"] == row["draft"]:
            told = against_draft(row, other)
        elif config == "dangers":
            told = against_danger(row, other)
        else:
            continue
        for code, where, message in told:
            tally.add(row["task_id"], message, AGAIN, f"{code} {where}")


def see_local_model(tally: FindingTally, candidate: Candidate, named: Collection[str]) -> None:
    """Check that no model answered at a private address, except for named ones.

    Args:
        tally: Tally of the gate ``local_model``.
        candidate: The task, with the hosts that answered for its record.
        named: Models that may be at private addresses (``--local-model``).
    """
    unnamed: dict[str, set[str]] = {}
    for host, model in candidate.answered_at:
        # The offline author may be asked over HTTP. It is not a model, and the gate `offline` reports it.
        if is_local(host) and model != OFFLINE_MODEL and model not in named:
            unnamed.setdefault(model, set()).add(host)
    if unnamed:
        told = ", ".join(f"{model} answered for it at {', '.join(sorted(unnamed[model]))}" for model in sorted(unnamed))
        tally.add(
            candidate.task_id,
            f"{told}, where nobody else can ask it",
            "name the model, so that the card names it: "
            + " ".join(f"--local-model {model}" for model in sorted(unnamed)),
        )


class Rights:
    """The licence of each source, to compare those of tasks with.

    Args:
        sources: The sources; by default all that are installed or in folders that ``HAZARDMILL_SOURCES`` names.
    """

    def __init__(self, sources: Iterable[Source] | None = None) -> None:
        known = list_sources() if sources is None else sources
        self._by_source = {source.name: source.licence for source in known}

    def see_licence(self, tally: FindingTally, row: Row) -> None:
        """Check that a task has the licence of its source, or of some source if its own is unknown or ``acting``."""
        licence, source = (row["licence"] or "").strip(), row["source"]
        remedy = f"see sources/{source}/SOURCE.md, ingest its records again and generate the task again"
        if not licence:
            tally.add(row["task_id"], "it has no licence", remedy)
        elif source in self._by_source:
            if licence != self._by_source[source]:
                tally.add(
                    row["task_id"],
                    f"its licence is {licence!r}, and that of source {source} is {self._by_source[source]!r}",
                    remedy,
                )
        elif licence in self._by_source.values():
            return
        elif source == ACTING:
            tally.add(
                row["task_id"],
                f"no source has its licence {licence!r}, so it cannot be checked",
                "run its dialogues again with the licence of their seeds: hazardmill run acting --licence",
            )
        else:
            tally.add(
                row["task_id"],
                f"the source {source} is not installed, so its licence {licence!r} cannot be checked",
                "add the folder of the source to HAZARDMILL_SOURCES",
            )


def see_attribution(tally: FindingTally, row: Row) -> None:
    """Check that a task has a credit line if its licence requires one; unknown licences are taken to require it."""
    licence = (row["licence"] or "").strip()
    if not (row["attribution"] or "").strip() and not _NO_CREDIT.search(licence):
        tally.add(
            row["task_id"],
            f"it has no credit line, which {licence or 'an unknown licence'} requires",
            "set `attribution` in the source, ingest its records again and generate the task again",
        )


def see_review(
    tally: FindingTally, accepted: AcceptedSet | None, candidates: Iterable[Candidate], released: Iterable[str]
) -> None:
    """Check that reviewers settled every candidate, and accepted those that are to be released.

    Args:
        tally: Tally of the gate ``review``.
        accepted: The result of the review; None under the policy ``none``: then nothing is found.
        candidates: All candidates, also those that are left out.
        released: Ids of the tasks to release.
    """
    wanted, approved = set(released), set() if accepted is None else set(accepted.accepted)
    for candidate in candidates:
        tally.looked += 1
        if accepted is None:
            continue
        task_id = candidate.task_id
        reason = accepted.others.get(task_id, "not_assigned")
        if task_id in approved:
            continue
        if reason not in REJECTED:
            tally.add(
                task_id,
                f"not settled under the policy {accepted.policy}: {REASON_WORDS[reason]}",
                _ASSIGN if reason == "not_assigned" else "have it reviewed: hazardmill review serve",
            )
        elif task_id in wanted:
            tally.add(task_id, f"reviewers rejected it: {REASON_WORDS[reason]}", "leave it out of the release")
