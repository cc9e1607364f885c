"""Read requests from the ledger: what was asked, what came back, what it took and who paid."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from hazardmill.llm.requests import Message
from hazardmill.report.cost import Sum
from hazardmill.report.queries import Row
from hazardmill.report.why.model import AttemptStory, Payer, RequestStory, SpendStory


class CallRows:
    """The ledger's rows about one record, from the point of view of one run.

    Args:
        rows: Attempts of all runs at requests for the record.
        run_id: The run; null if no run has met the record.
    """

    def __init__(self, rows: Iterable[Row], run_id: str | None) -> None:
        self._run_id = run_id
        self._by_identity: dict[str, list[Row]] = {}
        for row in sorted(rows, key=lambda row: (row["at"], row["run_id"], row["attempt"])):
            self._by_identity.setdefault(row["identity"], []).append(row)

    def request(self, identity: str) -> RequestStory:
        """Return one request, with the answer that this run used; without content if the ledger lost it."""
        rows = self._by_identity.get(identity)
        if not rows:
            return _lost_request(identity)
        answers = [row for row in rows if row["answered"]]
        # The same choice as the ledger's: the run's own answer, else the earliest.
        answer = min(answers, key=lambda row: row["run_id"] != self._run_id, default=None)
        shown = answer or next((row for row in rows if row["run_id"] == self._run_id), rows[0])
        shown_runs = {self._run_id, shown["run_id"]}
        payer, payer_run = self._payer(answer)
        request = json.loads(shown["request"])
        return RequestStory(
            identity=identity,
            **{name: shown[name] for name in _SHOWN},
            messages=tuple(Message.model_validate(message) for message in request["messages"]),
            parameters=request["parameters"],
            payer=payer,
            payer_run=payer_run,
            attempts=tuple(_attempt(row) for row in rows if row["run_id"] in shown_runs),
        )

    def other_requests(self, known: Iterable[str]) -> tuple[RequestStory, ...]:
        """Return the requests that the run itself sent, in that order, except those whose identities are given."""
        known = set(known)
        own = [
            identity
            for identity, rows in self._by_identity.items()
            if identity not in known and any(row["run_id"] == self._run_id for row in rows)
        ]
        return tuple(map(self.request, own))

    def _payer(self, answer: Row | None) -> tuple[Payer, str | None]:
        if answer is None:
            return "unknown", None
        if answer["usd_upper"] == 0 and answer["usd"] != 0:
            # It has a price, but nothing was paid: an answer replayed from another store.
            return "nobody", None
        return ("this_run" if answer["run_id"] == self._run_id else "earlier_run"), answer["run_id"]


_SHOWN = (
    "stage",
    "draft",
    "sample",
    "backend",
    "host",
    "model_asked",
    "model_answered",
    "prompt_version",
    "prompt_hash",
    "answer",
    "finish_reason",
    "prompt_tokens",
    "cached_tokens",
    "completion_tokens",
    "usd",
    "latency_s",
)


def _lost_request(identity: str) -> RequestStory:
    nothing = dict.fromkeys((*_SHOWN, "messages", "parameters", "payer_run"))
    return RequestStory.model_validate({**nothing, "identity": identity, "payer": "unknown", "attempts": ()})


def _attempt(row: Row) -> AttemptStory:
    same = ("run_id", "attempt", "answered", "error", "error_message", "latency_s", "usd", "usd_upper")
    return AttemptStory(**{name: row[name] for name in same}, ended=row["at"].isoformat())


def total_spend(requests: Sequence[RequestStory], run_id: str | None) -> SpendStory:
    """Add up what some requests took.

    Args:
        requests: The requests; one that occurs twice counts once.
        run_id: The run whose payments are added up separately; null: there is none.

    Returns:
        Tokens, and US dollars in all and paid by the run; each sum counts its unknown parts.
    """
    once = tuple({request.identity: request for request in requests}.values())
    attempts = [
        attempt for request in once for attempt in request.attempts if attempt.run_id == run_id or attempt.answered
    ]
    answers = [request for request in once if request.answer is not None or not request.attempts]
    failed = [attempt for request in once for attempt in request.attempts if not attempt.answered]
    return SpendStory(
        requests=len(once),
        attempts=len(attempts),
        prompt_tokens=Sum.of(request.prompt_tokens for request in answers),
        cached_tokens=Sum.of(request.cached_tokens for request in answers),
        completion_tokens=Sum.of(request.completion_tokens for request in answers),
        usd=Sum.of([*(request.usd for request in answers), *(_usd_of(attempt) for attempt in failed)]),
        paid_here=Sum.of(_usd_of(attempt) for attempt in attempts if attempt.run_id == run_id),
    )


def _usd_of(attempt: AttemptStory) -> float | None:
    """Return what was paid for an attempt; null if its end or its price is not known."""
    return 0.0 if attempt.usd_upper == 0 else attempt.usd
