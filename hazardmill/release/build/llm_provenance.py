"""Which models answered for the records of released tasks, where, with which prompts, and at what cost.

All of it is read from the ledger of requests (table ``llm_calls``) and from the tables of the stages.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from hazardmill.llm.charged_prices import PRICES_KEY
from hazardmill.release.manifest import Model, PriceUsed, ReleasedPrompt
from hazardmill.store.schemas import CHECKS, DANGERS, DRAFTS, LLM_CALLS, RUNS
from hazardmill.store.snapshot import Snapshot, read_table

RecordKey = tuple[str, str]
"""Id of a run and id of a record."""

_CALL: Final = ("identity", "stage", "model_asked", "model_answered", "backend", "host", "recording")
_STAGES: Final = ("extract", "author", "judge")


@dataclass(frozen=True, slots=True)
class Call:
    """An answered request, as the ledger has it.

    Attributes:
        stage: ``extract``, ``author`` or ``judge``.
        model_asked: Model that was asked for.
        model_answered: Model that answered according to the provider.
        backend: Backend that sent the request.
        host: Host that answered, without its port; None offline.
        recording: SHA-256 of the file of recorded answers that the answer came from; None if it was not recorded.
    """

    stage: str
    model_asked: str | None
    model_answered: str | None
    backend: str | None
    host: str | None
    recording: str | None


@dataclass
class RecordCalls:
    """The requests behind the records of some tasks, and what the whole runs cost.

    A request has an identity (a hash of all that decides its answer); records of several runs may share it, and it is
    then counted once.
    """

    usd_known: float
    """Cost of all attempts of the runs in USD, as the ledger has it, as far as it is known."""
    usd_unknown: int
    """Number of attempts whose cost is not known."""
    prices_used: frozenset[PriceUsed] = frozenset()
    """The prices by which the runs booked their costs, of every model that they might have asked."""
    _calls: dict[str, Call] = field(repr=False, default_factory=dict)
    _identities: dict[RecordKey, set[str]] = field(repr=False, default_factory=lambda: defaultdict(set))
    _named: dict[RecordKey, set[str]] = field(repr=False, default_factory=lambda: defaultdict(set))
    """Models that the rows of each record name, whether or not the ledger still has their answers."""
    _prompts: dict[RecordKey, set[tuple[str, str, str]]] = field(repr=False, default_factory=lambda: defaultdict(set))
    """Stage, version and hash of the prompts of each record."""

    @property
    def usd(self) -> float | None:
        """Cost of all attempts of the runs in USD; None if the cost of any attempt is unknown."""
        return None if self.usd_unknown else self.usd_known

    def answered_by(self, record: RecordKey) -> frozenset[str]:
        """Return every model that answered for a record at any stage."""
        answered = {call.model_answered for call in self._of(record) if call.model_answered is not None}
        return frozenset(answered | self._named.get(record, set()))

    def answered_at(self, record: RecordKey) -> frozenset[tuple[str, str]]:
        """Return pairs of host and model: every host that answered for a record, with each model there."""
        at = ((call.host, call.model_answered or call.model_asked) for call in self._of(record))
        return frozenset((host, model) for host, model in at if host is not None and model is not None)

    def recorded_in(self, record: RecordKey) -> frozenset[str]:
        """Return the SHA-256 of every file of recorded answers that was used for a record."""
        return frozenset(call.recording for call in self._of(record) if call.recording is not None)

    def models(self, records: Iterable[RecordKey]) -> tuple[Model, ...]:
        """Count requests by stage, backend and model; a request that several records used counts once."""
        counted: dict[tuple[Any, ...], int] = defaultdict(int)
        identities = {identity for record in records for identity in self._identities.get(record, ())}
        for identity in identities & self._calls.keys():
            call = self._calls[identity]
            counted[(call.stage, call.model_asked, call.model_answered, call.backend)] += 1
        return tuple(
            Model(stage=stage, asked=asked, answered=answered, backend=backend, calls=counted[key])
            for key in sorted(counted, key=lambda key: (_place(key[0]), *(part or "" for part in key)))
            for stage, asked, answered, backend in [key]
        )

    def prices(self, models: Iterable[Model]) -> tuple[PriceUsed, ...]:
        """Return the prices that the runs used for models that they asked, sorted by name.

        Today's price list does not count: it may differ from that of a run, and a run may have been given its prices.

        Args:
            models: Models of a release; those whose price no run knew are left out.
        """
        asked = {model.asked for model in models}
        used = (price for price in self.prices_used if price.model in asked)
        return tuple(sorted(used, key=lambda price: (price.model, price.model_dump_json())))

    def prompts(self, records: Iterable[RecordKey]) -> dict[str, tuple[ReleasedPrompt, ...]]:
        """Return the prompts that were used for some records, by stage."""
        used = {prompt for record in records for prompt in self._prompts.get(record, ())}
        stages: dict[str, list[ReleasedPrompt]] = {}
        for stage, version, hash_ in sorted(used, key=lambda each: (_place(each[0]), each)):
            stages.setdefault(stage, []).append(ReleasedPrompt(version=version, hash=hash_))
        return {stage: tuple(prompts) for stage, prompts in stages.items()}

    def _of(self, record: RecordKey) -> list[Call]:
        return [self._calls[identity] for identity in self._identities.get(record, ()) if identity in self._calls]


def calls_of(snapshot: Snapshot, records: set[RecordKey], runs: Iterable[str]) -> RecordCalls:
    """Read the requests behind some records, and the cost of whole runs.

    Args:
        snapshot: The store at one moment.
        records: Run and record of each released task.
        runs: The runs whose whole cost counts, records without a task included.

    Returns:
        The answered requests of these records, and what the attempts of the runs cost in USD.

    Raises:
        StoreError: The store cannot be read.
    """
    calls = RecordCalls(*_cost(snapshot, set(runs)), _prices(snapshot, set(runs)))
    for table, stage in ((DANGERS, "extract"), (DRAFTS, "author"), (CHECKS, "judge")):
        _take_in(calls, snapshot, table.name, stage, records)
    wanted = {identity for identities in calls._identities.values() for identity in identities}
    # Several attempts may have the same identity, and so the same answer: the last row is kept.
    rows = read_table(snapshot, LLM_CALLS, {"answered": True}, _CALL)
    rows = rows.filter(pc.is_in(rows["identity"], value_set=pa.array(sorted(wanted), pa.string())))
    for identity, *parts in zip(*(rows[name].to_pylist() for name in _CALL), strict=True):
        calls._calls[identity] = Call(*parts)
    return calls


def _take_in(calls: RecordCalls, snapshot: Snapshot, table: str, stage: str, records: set[RecordKey]) -> None:
    """Add the identities, models and prompts that the rows of a table name."""
    known = {DANGERS.name: DANGERS, DRAFTS.name: DRAFTS, CHECKS.name: CHECKS}[table]
    has_identities = known is not CHECKS
    columns = ["run_id", "record_id", "model_answered", "prompt_version", "prompt_hash"]
    where = None if has_identities else {"check_name": "judge"}
    data = read_table(snapshot, known, where, [*columns, *(["identities"] if has_identities else ["passed"])])
    for run_id, record_id, model, version, hash_, last in zip(
        *(data[name].to_pylist() for name in data.column_names), strict=True
    ):
        record = (run_id, record_id)
        if record not in records or (not has_identities and last is None):
            continue
        if model is not None:
            calls._named[record].add(model)
        if version is not None and hash_ is not None:
            calls._prompts[record].add((stage, version, hash_))
        if has_identities:
            calls._identities[record].update(json.loads(last or "[]"))


def _cost(snapshot: Snapshot, runs: set[str]) -> tuple[float, int]:
    """Return the known cost of the attempts of runs in USD, and the number of attempts whose cost is unknown."""
    data = read_table(snapshot, LLM_CALLS, None, ["run_id", "usd", "usd_upper"])
    data = data.filter(pc.is_in(data["run_id"], value_set=pa.array(sorted(runs), pa.string())))
    usd, upper = data["usd"].to_pylist(), data["usd_upper"].to_pylist()
    # An attempt that certainly cost nothing (upper bound 0) does not count as unknown.
    unknown = sum(known is None and most != 0 for known, most in zip(usd, upper, strict=True))
    return math.fsum(known for known in usd if known is not None), unknown


def _prices(snapshot: Snapshot, runs: set[str]) -> frozenset[PriceUsed]:
    """Return the prices that runs have kept with their configurations, each time that they were begun or resumed."""
    data = read_table(snapshot, RUNS, {"kind": "generate"}, ["run_id", "config"])
    rows = zip(data["run_id"].to_pylist(), data["config"].to_pylist(), strict=True)
    used = (json.loads(config).get(PRICES_KEY, {}) for run_id, config in rows if run_id in runs)
    return frozenset(
        PriceUsed(model=model, **{name: value for name, value in price.items() if name in PriceUsed.model_fields})
        for prices in used
        for model, price in prices.items()
    )


def _place(stage: str) -> int:
    return _STAGES.index(stage) if stage in _STAGES else len(_STAGES)
