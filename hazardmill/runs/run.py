"""A generation run on a store: its records in order, wave by wave, resumable at any point.

Files are the progress: a record is done when its outcome is committed, in one atomic group with all its rows.
Records of a wave are worked on together and committed in record order, so that which of two equal tasks is the
``duplicate`` never depends on timing. LLM answers reach the ledger as they come, so what a killed wave had asked is
not asked again.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Literal

from pydantic import ValidationError

from hazardmill import __version__
from hazardmill.errors import (
    InputError,
    PluginError,
    ProviderError,
    RunStopped,
    RunWaiting,
    SettingsError,
    StoreError,
    StoreLocked,
    UsageError,
)
from hazardmill.formalism.document.expressions import canonical_json
from hazardmill.generation.checks.added import draft_checks
from hazardmill.generation.context import ActingSettings, Prompts, ScenarioSettings, StageContext
from hazardmill.generation.prompt_cache import Prefix, Warmup
from hazardmill.generation.watch import SilentWatch, Watch
from hazardmill.hazards.map_reader import parse_map
from hazardmill.ingest.intake import Intake, take_in, write_records
from hazardmill.llm.charged_prices import PRICES_KEY, prices_used
from hazardmill.llm.client import Retry
from hazardmill.records import Outcome, Record
from hazardmill.runs.asking import open_asking
from hazardmill.runs.budgets import check_budget
from hazardmill.runs.config import ALTER_NOTHING, RunConfig
from hazardmill.runs.inputs import find_records, ingestion_of, stored_of
from hazardmill.runs.reproducibility import (
    ReproducibilityInfo,
    config_changes,
    plugins_used,
    prompts_used,
    refusal,
    reproducibility_changes,
)
from hazardmill.runs.resources import REAL, RunResources
from hazardmill.runs.session import Session
from hazardmill.runs.waves import wave_size
from hazardmill.sandbox.jail import Jail
from hazardmill.scenarios.reading import read_domain
from hazardmill.store.run_ids import known_runs, new_run_id, unknown_run
from hazardmill.store.store import Store
from hazardmill.store.writer import Writer

_MADE: Final = "made_with"
"""Key in the stored configuration for what else decides a run's results."""

_CACHED_FOR: Final = timedelta(minutes=5)
"""How long every provider keeps the beginning of a prompt in its cache."""

RunState = Literal["running", "completed", "waiting", "stopped", "failed"]


class Run:
    """A generation run on a store.

    Make a new one with ``Run.start``; for an existing one, ``Run.load`` and then ``resume`` or ``child``.

    Attributes:
        store: Where everything is written.
        run_id: Its name.
        config: What decides its result.
        made: What else decided its results when it was started: version, prompts, jail and plugins.
        parent_run_id: The run that this is a child of; None if it has no parent.
        resources: How it opens what it works with.
        content: Record id to the content hash it had when the run was started, in order; None where that is unknown.
        selection: Ids of its records, in order.
    """

    def __init__(
        self,
        store: Store,
        run_id: str,
        config: RunConfig,
        content: Mapping[str, str | None],
        *,
        made: ReproducibilityInfo | None = None,
        parent_run_id: str | None = None,
        resources: RunResources = REAL,
    ) -> None:
        self.store = store
        self.run_id = run_id
        self.config = config
        self.made = made or ReproducibilityInfo(version=__version__)
        self.parent_run_id = parent_run_id
        self.resources = resources
        self.content = dict(content)
        self.selection = tuple(content)

    @classmethod
    def start(
        cls,
        store: Store,
        config: RunConfig,
        run_id: str | None = None,
        *,
        parent: Run | None = None,
        records: Sequence[Record] = (),
        resources: RunResources = REAL,
    ) -> tuple[Run, tuple[Intake, ...]]:
        """Read the inputs and write down what the run is going to do.

        Nothing is written before it is certain that the run can begin: everything it needs has been opened once, and
        some input holds a record.

        Args:
            store: Where everything is written.
            config: What decides the run.
            run_id: Its name; by default made from the time.
            parent: The run whose work this one repeats with other settings. If the inputs are equal, the parent's
                records are taken as they were when it began, and no input is read.
            records: The records of the run, such as dialogues; then no input is read. Empty for those of the inputs.
            resources: How the run opens what it works with.

        Returns:
            The run, and what was read from each input with a path.

        Raises:
            InputError: An input cannot be read, or none holds a record (of the shard, if there is one).
            SettingsError: The configuration cannot work: no key, or no price of a model for which a budget must be
                kept.
            JailUnavailable: The jail cannot contain untrusted code here.
            PluginError: What an installed package adds was asked for, and cannot be used.
            UsageError: A run of that id exists, or an input's ``where`` makes no sense for its source.
            StoreError: The store cannot be written.
        """
        config.check()
        run_id = run_id or new_run_id("generate")
        if store.rows("runs", {"run_id": run_id}, ["run_id"]):
            raise UsageError(f"run {run_id} already exists", remedy="resume it, or choose another id")
        _check_models(store, config, resources)
        made = made_now(config, resources)
        inherited = parent.content if parent is not None and parent.config.inputs == config.inputs else None
        reads_inputs = inherited is None and not records
        if reads_inputs:
            find_records(store, config)
        inputs = [(ingestion_of(item), item) for item in config.inputs] if reads_inputs else []
        intakes: list[Intake] = []
        content: dict[str, str | None] = dict(inherited or {})
        with store.writer(run_id) as writer:
            if records:
                content = write_records(writer, records)
            for ingestion, item in inputs:
                if ingestion is not None:
                    intakes.append(take_in(store, writer, ingestion, item.shard))
                    content |= intakes[-1].content
                else:
                    content |= stored_of(store, item)
            parent_run_id = None if parent is None else parent.run_id
            run = cls(store, run_id, config, content, made=made, parent_run_id=parent_run_id, resources=resources)
            writer.append_sync({"runs": [run._state_row("running", 0, run.counts(), content)]})
        return run, tuple(intakes)

    @classmethod
    def load(cls, store: Store, run_id: str, resources: RunResources = REAL) -> Run:
        """Return a run of the store, as it was started.

        Settings that do not alter results are those it was last resumed with.

        Args:
            store: The store of the run.
            run_id: Its name.
            resources: How it opens what it works with.

        Raises:
            UnknownName: There is no such generation run.
            InputError: Another version of hazardmill wrote a configuration that this one cannot read.
        """  # noqa: DOC501  # the helper makes an UnknownName
        rows = store.rows("runs", {"run_id": run_id})
        first = next((row for row in rows if row["sequence"] == 0), None)
        if first is None or first["kind"] != "generate":
            raise unknown_run(run_id, known_runs(store, "generate"), store.address, kind="generation run")
        try:
            newest = json.loads(max(rows, key=lambda row: row["sequence"])["config"])
            written = json.loads(first["config"]) | {name: newest[name] for name in ALTER_NOTHING & newest.keys()}
            made = ReproducibilityInfo.model_validate(
                {"version": first["hazardmill_version"], **written.pop(_MADE, {})}
            )
            written.pop(PRICES_KEY, None)
            config = RunConfig.model_validate(written)
        except ValidationError as error:
            wrong = error.errors(include_url=False, include_input=False)[0]
            raise InputError(
                f"run {run_id} was started by hazardmill {first['hazardmill_version']}, whose configuration this "
                f"version cannot read: {'.'.join(map(str, wrong['loc']))}: {wrong['msg']}",
                remedy="resume it with that version, or start a new run: the answers paid for are in the ledger",
            ) from error
        content = json.loads(first["selection"])
        parent_run_id = first["parent_run_id"]
        return cls(store, run_id, config, content, made=made, parent_run_id=parent_run_id, resources=resources)

    def resume(self, config: RunConfig | None = None) -> Run:
        """Return the run, ready to be continued, after checking that nothing that decides its results has changed.

        Args:
            config: The configuration to continue with; by default the one it was started with.

        Raises:
            UsageError: Something that decides results has changed since the run was started; the message lists it.
            SettingsError: The settings cannot work: no key, or no price of a model for which a budget must be kept.
            JailUnavailable: The jail cannot contain untrusted code here.
        """  # noqa: DOC501  # the helper makes a UsageError
        config = config or self.config
        config.check()
        changes = [
            *config_changes(self.config, config),
            *reproducibility_changes(self.made, made_now(config, self.resources)),
        ]
        if changes:
            raise refusal(self.run_id, changes)
        _check_models(self.store, config, self.resources)
        return Run(
            self.store,
            self.run_id,
            config,
            self.content,
            made=self.made,
            parent_run_id=self.parent_run_id,
            resources=self.resources,
        )

    def child(self, config: RunConfig | None = None, run_id: str | None = None) -> tuple[Run, tuple[Intake, ...]]:
        """Start a run that repeats this one's work with other settings, and reuses every answer to an equal request.

        Args:
            config: Its settings; by default this run's, for use after prompts, jail or hazardmill have changed.
            run_id: Its name; by default made from the time.

        Returns:
            As ``start``.

        Raises:
            UsageError: Nothing has changed, or a run of that id exists.
            HazardmillError: As ``start``.
        """
        config = config or self.config
        config.check()
        changed = config_changes(self.config, config) or reproducibility_changes(
            self.made, made_now(config, self.resources)
        )
        if not changed and not self.made.unknown:
            raise UsageError(
                f"nothing changed since run {self.run_id} was started: a child run would repeat it",
                remedy="resume it without --child, or give the options that are to change",
            )
        return Run.start(self.store, config, run_id, parent=self, resources=self.resources)

    def pending(self) -> list[int]:
        """Return the ordinals of the records without an outcome."""
        done = {row["record_id"] for row in self.store.rows("outcomes", {"run_id": self.run_id}, ["record_id"])}
        return [ordinal for ordinal, record_id in enumerate(self.selection) if record_id not in done]

    def waves(self) -> list[list[int]]:
        """Return the pending ordinals, divided into waves."""
        pending = self.pending()
        size = self.config.wave_size or wave_size(len(self.selection))
        return [pending[start : start + size] for start in range(0, len(pending), size)]

    def counts(self) -> dict[str, int]:
        """Return the number of records by outcome, including pending ones."""
        rows = self.store.rows("outcomes", {"run_id": self.run_id}, ["outcome"])
        counts = Counter(row["outcome"] for row in rows)
        result = {outcome.value: counts.get(outcome.value, 0) for outcome in Outcome}
        result[Outcome.PENDING.value] = len(self.selection) - sum(counts.values())
        return result

    def finish(self, state: RunState) -> dict[str, int]:
        """Write down how the run ended, and return its counts."""
        with self.store.writer(self.run_id) as writer:
            return self._change(state, writer)

    @contextmanager
    def under_way(self) -> Iterator[None]:
        """Lock the run while it is worked on, then write down how it ended, whatever ended it.

        Its state is ``completed`` if no record is pending; ``waiting`` if answers are under way; ``stopped`` after an
        interruption, a deliberate stop, a provider that cannot be asked, or settings that cannot work; and ``failed``
        after any other error, including bugs. If another process works on the run, its state is left alone.

        Raises:
            StoreLocked: Another process works on this run.
            UsageError: Prompts or hazardmill have changed since the run was started, and records are pending.
        """
        if self.pending():
            self._refuse_changes(ReproducibilityInfo(version=__version__, prompts=prompts_used(_prompts(self.config))))
        present = self.store.hold(self.run_id)
        try:
            yield
            self.finish("stopped" if self.pending() else "completed")
        except StoreLocked:
            raise
        except BaseException as error:
            resumable = ProviderError | RunStopped | PluginError | SettingsError | asyncio.CancelledError
            failed = isinstance(error, Exception) and not isinstance(error, resumable)
            try:
                self.finish("failed" if failed else "waiting" if isinstance(error, RunWaiting) else "stopped")
            except StoreError as more:
                # The first error is the one to fix.
                error.add_note(f"how the run ended could not be written down: {more}")
            raise
        finally:
            present.release()

    @asynccontextmanager
    async def session(
        self,
        on_retry: Callable[[Retry], None] | None = None,
        watch: Watch | None = None,
        *,
        wait: bool = False,
    ) -> AsyncIterator[Session]:
        """Open everything the run needs, and close it afterwards, with all rows in parts.

        Args:
            on_retry: Called before each pause after which a request is sent again.
            watch: Notified of each step of each record.
            wait: Whether to wait for the answers to batches, instead of ending with ``RunWaiting``.

        Yields:
            The session, which works on waves.

        Raises:
            StoreLocked: Another process works on this run.
            JailUnavailable: The jail cannot contain untrusted code here.
            UsageError: Prompts, jail or hazardmill have changed since the run was started.
            SettingsError: There is no key, or a budget cannot be kept.
        """
        config, resources = self.config, self.resources
        prompts = _prompts(config)
        check_budget(config, resources.prices())
        with resources.jail(profile=config.jail) as jail, self.store.writer(self.run_id) as writer:
            self._refuse_changes(_info(config, prompts, jail))
            backend = resources.backend(config, self.store)
            async with open_asking(
                self.store, writer, backend, config, resources, on_retry=on_retry, wait=wait
            ) as asking:
                before = self._as_written()
                if before != ("running", self._written_config()):
                    self._change("running", writer)
                context = StageContext(
                    client=asking.client,
                    prompts=prompts,
                    models=config.models,
                    jail=jail,
                    sample=config.sample,
                    options=config,
                    checks=draft_checks(config.checks),
                    warmup=Warmup(warm=self._warm()),
                    fallbacks=config.fallback_models,
                    scenarios=_scenario_settings(config),
                    acting=_acting_settings(config),
                    watch=watch or SilentWatch(),
                )
                has_waited = before is not None and before[0] == "waiting"
                yield Session(self, writer, context, asking.ledger, asking.budget, asking.dispatch, has_waited)

    def _warm(self) -> Iterator[Prefix]:
        """Yield the prompts that a provider still caches for this run, which may be continued soon after a stop."""
        asked = ("stage", "model_asked", "prompt_hash", "record_id", "prompt_tokens", "at")
        rows = self.store.rows("llm_calls", {"run_id": self.run_id, "answered": True}, asked)
        since = datetime.now(UTC) - _CACHED_FOR
        for row in rows:
            # A request that was turned away has no tokens, and its prompt was never computed.
            if row["at"] >= since and row["prompt_tokens"] != 0:
                yield Prefix.of_call(row["stage"], row["model_asked"], row["prompt_hash"], row["record_id"])

    def _refuse_changes(self, now: ReproducibilityInfo) -> None:
        changes = reproducibility_changes(self.made, now)
        if changes:
            raise refusal(self.run_id, changes)

    def _as_written(self) -> tuple[str, str] | None:
        """Return state and configuration of the run as last written; None if there are none."""
        rows = self.store.rows("runs", {"run_id": self.run_id}, ["sequence", "state", "config"])
        last = max(rows, key=lambda row: row["sequence"]) if rows else None
        return None if last is None else (last["state"], last["config"])

    def _written_config(self) -> str:
        made = self.made.model_dump(mode="json", exclude={"version"}, exclude_none=True)
        prices = prices_used(self.config, self.resources.prices())
        also = {name: value for name, value in ((_MADE, made), (PRICES_KEY, prices)) if value}
        return canonical_json({**self.config.model_dump(mode="json"), **also})

    def _change(self, state: RunState, writer: Writer) -> dict[str, int]:
        counts = self.counts()
        # Not the number of rows: a rebuild of the store may have left fewer.
        rows = self.store.rows("runs", {"run_id": self.run_id}, ["sequence"])
        sequence = 1 + max((row["sequence"] for row in rows), default=-1)
        writer.append_sync({"runs": [self._state_row(state, sequence, counts, None)]})
        return counts

    def _by_source(self) -> dict[str, int]:
        return dict(Counter(record_id.partition(":")[0] for record_id in self.selection))

    def _state_row(
        self, state: RunState, sequence: int, counts: dict[str, int], content: Mapping[str, str | None] | None
    ) -> dict[str, Any]:
        return {
            "run_id": self.run_id,
            "parent_run_id": self.parent_run_id,
            "sequence": sequence,
            "kind": "generate",
            "state": state,
            "config": self._written_config(),
            # Not sorted, to keep the order of the run.
            "selection": None if content is None else json.dumps(content, separators=(",", ":"), ensure_ascii=False),
            "counts": canonical_json({"records": self._by_source(), "outcomes": counts}),
            "at": datetime.now(UTC),
            "hazardmill_version": __version__,
        }


def _prompts(config: RunConfig) -> Prompts:
    """Load the templates that a run of this configuration uses."""
    return Prompts.load(config.author_format, config.kind, config.source_names, config.prompts)


def _scenario_settings(config: RunConfig) -> ScenarioSettings | None:
    if config.kind == "task" or config.kind == "hazard_task":
        return None
    assert config.base_domain is not None, "it comes with the kind"
    return ScenarioSettings(config.kind, read_domain(config.base_domain), config.base_domain)


def _acting_settings(config: RunConfig) -> ActingSettings | None:
    acting = config.acting
    if acting is None:
        return None
    assert config.base_domain is not None, "it comes with the kind"
    reading = parse_map(acting.map_text.encode(), acting.map_file)
    return ActingSettings(read_domain(config.base_domain), config.base_domain, reading.hazards, acting.novelty)


def _check_models(store: Store, config: RunConfig, resources: RunResources) -> None:
    """Make sure that the models can be asked, and that a budget can be kept."""
    resources.backend(config, store)
    check_budget(config, resources.prices())


def made_now(config: RunConfig, resources: RunResources = REAL) -> ReproducibilityInfo:
    """Return what decides a run's results here and now, beside its configuration: opens prompts and jail once.

    Args:
        config: The configuration of the run.
        resources: How it opens its jail.

    Raises:
        JailUnavailable: The jail cannot contain untrusted code here.
        PromptError: A prompt is missing or invalid.
    """  # what it opens raises them
    prompts = _prompts(config)
    with resources.jail(profile=config.jail) as jail:
        return _info(config, prompts, jail)


def _info(config: RunConfig, prompts: Prompts, jail: Jail) -> ReproducibilityInfo:
    plugins = plugins_used(config) or None
    return ReproducibilityInfo(version=__version__, jail=jail.profile, prompts=prompts_used(prompts), plugins=plugins)
