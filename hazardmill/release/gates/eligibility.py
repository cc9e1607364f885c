"""What of a task's origin stops a release: who answered and where, what may be given away, what people said of it."""

from __future__ import annotations

import hashlib
import ipaddress
import re
import socket
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from hazardmill.ingest.sources import Source, list_sources
from hazardmill.llm.recordings import PLACE
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

# As the sources write them. Whatever else there is asks for credit, or nobody knows that it does not.
_NO_CREDIT: Final = re.compile(r"public domain|cc0|unlicense|0bsd|wtfpl|pddl-1", re.IGNORECASE)

_MAKE_ANEW: Final = "generate the task with a language model, or leave its run out with --run"


def is_local(host: str) -> bool:
    """Whether a host is this machine, or in a private network, as far as its name tells."""
    name = host.strip().strip("[]").partition("%")[0].rstrip(".").lower()
    address = _address(name)
    if address is not None:
        return not (getattr(address, "ipv4_mapped", None) or address).is_global
    # A name without dots is known in one network only.
    return "." not in name or name.endswith(_LOCAL_NAMES)


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        pass
    if re.fullmatch(r"[0-9a-fx.]+", name) and re.search(r"(^|\.)(0x[0-9a-f]+|\d+)$", name):
        # As the system reads them: 127.1, 0x7f000001.
        try:
            return ipaddress.IPv4Address(socket.inet_aton(name))
        except OSError:
            return None
    return None


def shipped_recordings() -> frozenset[str]:
    """SHA-256 of the recorded answers that come with hazardmill; those of other folders of sources do not count."""
    own, *_ = sources_folders()
    return frozenset(hashlib.sha256(path.read_bytes()).hexdigest() for path in own.glob(f"*/{PLACE.as_posix()}"))


def see_offline(
    tally: FindingTally, row: Row, candidate: Candidate | None, allowed: bool, shipped: Collection[str] = frozenset()
) -> None:
    """No part of a task was written by our rules, or out of a file that anybody may have written.

    Args:
        tally: Of the gate.
        row: Of the task.
        candidate: What the ledger says of it, where it is at hand.
        allowed: Whether it may be.
        shipped: SHA-256 of the files of recorded answers that are trusted.
    """
    answered = set() if candidate is None else candidate.answered_by
    # What the row says of itself counts too: it needs no ledger.
    ours = OFFLINE_MODEL in answered or row["model_answered"] == OFFLINE_MODEL or row["backend"] == "offline"
    if ours and not allowed:
        tally.add(
            row["task_id"],
            f"{OFFLINE_MODEL} answered for it, which is no model",
            f"{_MAKE_ANEW}, or allow it: --allow-offline",
        )
    unknown = frozenset() if candidate is None else candidate.recorded_in - frozenset(shipped)
    if unknown and not allowed:
        tally.add(
            row["task_id"],
            f"it was made of recorded answers that do not come with hazardmill ({', '.join(sorted(unknown))[:12]}...), "
            "so that nobody knows who answered",
            f"{_MAKE_ANEW}, or allow it: --allow-offline",
        )


def see_origin(tally: FindingTally, row: Row, beside: Iterable[tuple[str, Row]]) -> None:
    """A task is that of the draft and of the danger that are released with it."""
    for config, other in beside:
        if config == "drafts" and "accepted" in other and other["draft"] == row["draft"]:
            told = against_draft(row, other)
        elif config == "dangers":
            told = against_danger(row, other)
        else:
            continue
        for _, _, message in told:
            tally.add(row["task_id"], message, AGAIN)


def see_local_model(tally: FindingTally, candidate: Candidate, named: Collection[str]) -> None:
    """No model answered at a private address, unless it was named."""
    unnamed: dict[str, set[str]] = {}
    for host, model in candidate.answered_at:
        # The offline author may be asked over HTTP, and is no model; another gate tells of it.
        if is_local(host) and model != OFFLINE_MODEL and model not in named:
            unnamed.setdefault(model, set()).add(host)
    if unnamed:
        told = ", ".join(f"{model} answered for it at {', '.join(sorted(unnamed[model]))}" for model in sorted(unnamed))
        tally.add(
            candidate.task_id,
            f"{told}, which nobody else can ask",
            "name the model, so that the card does: " + " ".join(f"--local-model {model}" for model in sorted(unnamed)),
        )


class Rights:
    """What the sources say of their licences.

    Args:
        sources: By default, all that are found.
    """

    def __init__(self, sources: Iterable[Source] | None = None) -> None:
        known = list_sources() if sources is None else sources
        self._by_source = {source.name: source.licence for source in known}

    def see_licence(self, tally: FindingTally, row: Row) -> None:
        """A task comes under the licence that its source has, or, where nobody knows the source, under a known one."""
        licence, source = (row["licence"] or "").strip(), row["source"]
        remedy = f"see sources/{source}/SOURCE.md, ingest its records again and generate the task anew"
        if not licence:
            tally.add(row["task_id"], "it has no licence", remedy)
        elif source in self._by_source:
            if licence != self._by_source[source]:
                tally.add(
                    row["task_id"],
                    f"its licence is {licence!r}, and that of source {source} is {self._by_source[source]!r}",
                    remedy,
                )
        elif licence not in self._by_source.values():
            tally.add(
                row["task_id"],
                f"there is no source {source} here to say whether its licence is {licence!r}",
                "let the source be found: HAZARDMILL_SOURCES names further folders of sources",
            )


def see_attribution(tally: FindingTally, row: Row) -> None:
    """A task has the credit line that its licence asks for."""
    licence = (row["licence"] or "").strip()
    if not (row["attribution"] or "").strip() and not _NO_CREDIT.search(licence):
        tally.add(
            row["task_id"],
            f"it has no credit line, which {licence or 'a licence that is not known'} asks for",
            "set `attribution` in the source, ingest its records again and generate the task anew",
        )


def see_review(
    tally: FindingTally, accepted: AcceptedSet | None, candidates: Iterable[Candidate], released: Iterable[str]
) -> None:
    """Reviewers settled every task, and accept those that are released; where nobody was asked, nothing is found."""
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
                "let it be reviewed: hazardmill review serve",
            )
        elif task_id in wanted:
            tally.add(task_id, f"reviewers are against it: {REASON_WORDS[reason]}", "leave it out of the release")
