"""A session on a run: its waves go through the stages, and their records are committed in order, wave by wave."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hazardmill.errors import InputError, NotRecorded, PluginError, ProviderError, RunStopped, StoreError
from hazardmill.generation.context import StageContext, add_costs
from hazardmill.generation.extract import ExtractResult
from hazardmill.generation.refine import RecordResult, Refinement
from hazardmill.generation.rows import record_rows, task_id_of
from hazardmill.generation.wave import Room, Wave
from hazardmill.ingest.intake import RecordReader
from hazardmill.llm.batches.dispatch import BatchDispatch
from hazardmill.llm.ledger import Ledger
from hazardmill.llm.limits.budget import Budget
from hazardmill.llm.requests import Answer
from hazardmill.quality.duplicates import structure_or_null
from hazardmill.records import Outcome, Record
from hazardmill.runs.commits.hazard_tasks import KeptHazardTasks
from hazardmill.runs.commits.scenarios import KeptScenarios, committed_rows
from hazardmill.runs.cross_check import run_cross_check, wants_cross_check
from hazardmill.runs.duplicates import KeptTasks, texts_of
from hazardmill.runs.malloc import in_one_thread, set_thresholds, trim
from hazardmill.runs.waves import AT_ONCE, WAITING, WaveStages, WaveStep, run_waves
from hazardmill.store.writer import Writer

if TYPE_CHECKING:
    from hazardmill.runs.run import Run

OnRecord = Callable[[str, Outcome], None]
"""Called after each committed record with its id and outcome."""


@dataclass
class Session:
    """A run with its writer, its stages and its ledger open.

    Attributes:
        run: The run.
        writer: Writes its rows.
        context: What the stages work with.
        ledger: Its ledger.
        budget: What it may spend; None for no limit.
    """

    run: Run
    writer: Writer
    context: StageContext
    ledger: Ledger
    budget: Budget | None = None
    dispatch: BatchDispatch | None = None
    """Sends requests together, or books what earlier sessions have sent together; None if there is neither."""

    has_waited: bool = False
    """Whether the last session ended because it had to wait for answers."""

    def __post_init__(self) -> None:
        set_thresholds()
        self.unrecorded: list[NotRecorded] = []
        """Why records without a recorded answer stay pending, in the order of the records."""
        self._shelf = RecordReader(self.run.store)
        self._kept = KeptTasks(self.run.store, self.run.run_id)
        self._kept_scenarios = KeptScenarios(self.run.store, self.run.run_id)
        self._kept_hazard_tasks = KeptHazardTasks(self.run.store, self.run.run_id, self.context)
        self._room = Room(self.run.config.concurrency, self.context.client.close)
        self._waves: dict[int, Wave] = {}
        """The waves under way, by number."""
        self._ordinals: dict[int, Sequence[int]] = {}
        self._counts: Counter[str] = Counter()
        self._seen: set[str] = set()
        """Identities of the answers whose cost a stage has counted."""
        self.on_record: OnRecord | None = None
        """Called after each committed record."""

    async def work_through(self, waves: Sequence[Sequence[int]], on_record: OnRecord | None = None) -> Counter[str]:
        """Work on waves of records, several at once, and commit them in order; then the rows of a wave become parts.

        Args:
            waves: Ordinals of the records of each wave.
            on_record: Called after each committed record.

        Returns:
            Records by outcome. Records without a recorded answer have none; the reasons are in ``unrecorded``.

        Raises:
            ProviderError: The provider cannot be asked; what was committed stays, the rest stays pending.
            RunStopped: There is no money left for the next request; otherwise the same.
            InputError: The store no longer holds the records of a wave; earlier ones are committed.
        """
        self.on_record = on_record
        return await self.run_steps(self.plan(waves), self.stages)

    def plan(self, waves: Sequence[Sequence[int]], first: int = 1) -> list[WaveStep]:
        """Number the waves, and return where each begins.

        Args:
            waves: Ordinals of the records of each wave.
            first: Number of the first wave.

        Returns:
            A step per wave, with the ids of its records.
        """
        self._ordinals = dict(enumerate(waves, first))
        return [
            WaveStep(wave=number, left=[self.run.selection[ordinal] for ordinal in ordinals])
            for number, ordinals in self._ordinals.items()
        ]

    @property
    def stages(self) -> WaveStages:
        """The stages of a wave, for the waves that were planned last."""
        return WaveStages(self.extract, self.author, self.execute, self.judge, self.commit)

    async def run_steps(self, steps: Sequence[WaveStep], stages: WaveStages) -> Counter[str]:
        """Take some of the planned waves through the stages.

        Args:
            steps: Where each wave begins, in order; earlier waves are committed.
            stages: ``stages``, or what is called in place of each.

        Returns:
            As ``work_through``.

        Raises:
            ProviderError: As ``work_through``.
            RunStopped: As ``work_through``.
            RunWaiting: Requests were sent together, and their answers are not there yet.
        """
        self.context.client.reopen()
        self._waves, self._counts = {}, Counter()
        self._room.begin(steps[0].wave if steps else 1)
        await self._refresh_ledger()
        try:
            if self.dispatch is not None and self.context.client.defers:
                await self._run_by_batches(self.dispatch, steps, stages)
            else:
                if self.dispatch is not None:
                    await self.dispatch.finish()
                await run_waves(stages, steps, self._room)
        except (ProviderError, RunStopped, PluginError) as error:
            try:
                await self._commit_finished()
            except StoreError as more:
                # The first error is the one to fix.
                error.add_note(f"what was finished could not be committed: {more}")
            self._add_progress(error)
            raise
        return self._counts

    async def _run_by_batches(self, dispatch: BatchDispatch, steps: Sequence[WaveStep], stages: WaveStages) -> None:
        """Take waves through the stages again and again, each time as far as answers are there.

        In between, what they asked for is sent together. Only as many waves are begun as are under way at once.
        """
        await dispatch.begin()
        if dispatch.open and self.has_waited:
            # The last session left nothing undone: without a new answer, no record can go on.
            await dispatch.round()
        left = list(steps)
        while left or dispatch.open:
            for wave in self._waves.values():
                wave.go_on()
            group = left[:AT_ONCE]
            await run_waves(stages, group, self._room)
            self._room.begin(group[0].wave if group else 1)
            before, left = left, [step for step in left if step not in group or step.wave in self._waves]
            assert dispatch.open or dispatch.has_requests or len(left) < len(before), "records wait for nothing"
            await dispatch.round()

    async def extract(self, step: WaveStep) -> WaveStep:
        """Read the records of a wave, and ask for the danger in each."""
        began = time.monotonic()
        if step.wave not in self._waves:
            records = await asyncio.to_thread(self._records, self._ordinals[step.wave])
            self._waves[step.wave] = Wave(step.wave, records, self.context, self._room)
        wave = self._waves[step.wave]
        await wave.extract()
        found = [work.extraction for work in wave.works if work.extraction is not None]
        return self._following(step, wave, _kinds(found), [each.answers for each in found], began)

    async def author(self, step: WaveStep) -> WaveStep:
        """Ask for the next draft of each record of a wave that needs one."""
        began, wave = time.monotonic(), self._waves[step.wave]
        extracted = [(work, len(_extraction_answers(work))) for work in wave.left]
        await wave.author()
        written = [work.authored for work in wave.drafted if work.authored is not None]
        # Where the judge rejected the danger itself, extraction was asked again.
        again = [_extraction_answers(work)[before:] for work, before in extracted]
        counts = Counter("draft" if each.check.passed else "no_code" for each in written)
        answers = [*again, *(each.answers for each in written)]
        # Where answers are waited for, the drafts of an earlier look are done.
        draft = max((len(work.attempts) + 1 for work in wave.works if work.has_draft), default=step.draft + 1)
        return self._following(step, wave, counts, answers, began, draft=draft)

    async def execute(self, step: WaveStep) -> WaveStep:
        """Run and prove the drafts of a wave."""
        began, wave = time.monotonic(), self._waves[step.wave]
        await wave.execute()
        counts = Counter("passed" if work.passes_so_far else "failed" for work in wave.drafted)
        return self._following(step, wave, counts, None, began)

    async def judge(self, step: WaveStep) -> WaveStep:
        """Ask the judge about the drafts of a wave that passed, and conclude all drafts."""
        began, wave = time.monotonic(), self._waves[step.wave]
        drafted = wave.drafted
        await wave.judge()
        attempts = [work.attempts[-1] for work in drafted if work.authored is None]
        counts = Counter("accepted" if each.draft.accepted else "rejected" for each in attempts)
        return self._following(step, wave, counts, [each.judge_answers for each in attempts], began)

    async def commit(self, step: WaveStep) -> WaveStep:
        """Write the outcomes of a wave in record order; all of its rows become parts.

        Returns:
            The result. A wave with records that wait for answers is left as it is, and so are all later ones.
        """
        began, wave = time.monotonic(), self._waves[step.wave]
        waiting = [work.record.record_id for work in wave.works if work.waits]
        if waiting or min(self._waves) < step.wave:
            return WaveStep(wave=step.wave, draft=step.draft, left=waiting, counts={WAITING: len(waiting)})
        counts = await self._commit_all(step.wave, wave.works)
        # Its drafts are in the store now, and large.
        del self._waves[step.wave]
        await in_one_thread(self.writer.roll)
        await self._refresh_ledger()
        await in_one_thread(trim)
        return WaveStep(wave=step.wave, draft=step.draft, counts=counts, seconds=time.monotonic() - began)

    def _following(
        self,
        step: WaveStep,
        wave: Wave,
        counts: Mapping[str, int],
        answers: Iterable[tuple[Answer, ...]] | None,
        began: float,
        draft: int | None = None,
    ) -> WaveStep:
        """Return the step that a stage ends with."""
        left = [work.record.record_id for work in (wave.drafted or wave.left)]
        return WaveStep(
            wave=step.wave,
            draft=step.draft if draft is None else draft,
            left=left,
            counts=dict(counts),
            usd=None if answers is None else self._cost(answers),
            seconds=time.monotonic() - began,
        )

    def _cost(self, answers: Iterable[tuple[Answer, ...]]) -> float | None:
        """Return what new answers cost; a draft that came back unchanged shares the judge's earlier answers."""
        new = {one.identity: one.usd for each in answers for one in each if one.paid and one.identity not in self._seen}
        self._seen |= new.keys()
        return add_costs(*new.values())

    async def _commit_finished(self) -> None:
        """Commit what is finished of the waves under way, as far as it follows what was committed."""
        for number, wave in sorted(self._waves.items()):
            await self._commit_all(number, wave.finished)
            if len(wave.finished) < len(wave.works):
                break
        await in_one_thread(self.writer.roll)

    async def _commit_all(self, number: int, works: Sequence[Refinement]) -> Counter[str]:
        """Commit the first records of a wave, and return them by outcome."""
        counts: Counter[str] = Counter()
        checks = [asyncio.create_task(self._cross_check(work)) for work in works]
        try:
            for ordinal, work, checking in zip(self._ordinals[number], works, checks, strict=False):
                crossed = await checking
                if work.unrecorded is not None:
                    self.unrecorded.append(work.unrecorded)
                    continue
                outcome = await self._commit(ordinal, work.result(), crossed)
                counts[outcome.value] += 1
                self._counts[outcome.value] += 1
                if self.on_record is not None:
                    self.on_record(work.record.record_id, outcome)
        finally:
            for checking in checks:
                checking.cancel()
            await asyncio.gather(*checks, return_exceptions=True)
        return counts

    async def _refresh_ledger(self) -> None:
        # While the journal is empty, because everything in it is read again each time.
        await in_one_thread(self.ledger.refresh)

    def _add_progress(self, error: PluginError | ProviderError | RunStopped) -> None:
        left = f"{len(self.run.pending())} of {len(self.run.selection)} records are left"
        if self.budget is not None:
            left = f"{self.budget.reserved_usd:.4f} USD are reserved for requests under way; {left}"
        error.message = f"{error.message}; {left}"
        error.args = (error.message,)

    def _records(self, ordinals: Sequence[int]) -> list[Record]:
        wanted = [self.run.selection[ordinal] for ordinal in ordinals]
        found = self._shelf.take({record_id: self.run.content[record_id] for record_id in wanted})
        missing = [record_id for record_id in wanted if record_id not in found]
        if missing:
            raise InputError(
                f"the store no longer holds {len(missing)} record(s) as they were when run {self.run.run_id} began",
                record_id=missing[0],
                remedy="ingest the run's inputs again, unchanged, or start a new run",
            )
        return [found[record_id] for record_id in wanted]

    async def _cross_check(self, work: Refinement) -> dict[str, Any] | None:
        attempt = None if work.unrecorded is not None else work.result().accepted
        if attempt is None or attempt.execution is None or attempt.execution.certificate is None:
            return None
        document = attempt.execution.document
        if document is None or not wants_cross_check(document, self.run.config.cross_check):
            return None
        async with self._room.executing.place(0):
            return await asyncio.to_thread(run_cross_check, document, attempt.execution.certificate.solution)

    async def _commit(self, ordinal: int, result: RecordResult, crossed: dict[str, Any] | None) -> Outcome:
        if self.context.scenarios is not None:
            rows, outcome = committed_rows(
                result, self._kept_scenarios, self.context, run_id=self.run.run_id, ordinal=ordinal
            )
            await self.writer.append(rows)
            return outcome
        if self.context.acting is not None:
            # In a thread, because texts are compared; commits are sequential, so it has one caller at a time.
            rows, outcome = await asyncio.to_thread(self._kept_hazard_tasks.commit, result, ordinal)
            await self.writer.append(rows)
            return outcome
        outcome, reason, message, task_id = result.outcome, result.reason, result.message, None
        structure: str | None = None
        if result.accepted is not None:
            task_id = task_id_of(result)
            assert result.accepted.execution is not None and result.accepted.execution.document is not None
            assert result.extraction.danger is not None  # what was accepted has all of these
            document, danger = result.accepted.execution.document, result.extraction.danger
            # For very regular documents it takes seconds, during which other records go on asking.
            structure = await asyncio.to_thread(structure_or_null, document.to_json())
            texts = texts_of(document.to_json(), danger.model_dump(mode="json"))
            # In a thread, because it may have to read texts; commits are sequential, so it has one caller at a time.
            repeated = await asyncio.to_thread(self._kept.add, task_id, document.hash, structure, texts)
            if repeated is not None:
                outcome, reason, task_id = Outcome.DUPLICATE, repeated.reason, repeated.task_id
                message = repeated.message
        rows = record_rows(
            result,
            self.context,
            run_id=self.run.run_id,
            ordinal=ordinal,
            outcome=outcome,
            task_id=task_id,
            reason=reason,
            message=message,
            cross_check=crossed,
            structure_id=structure,
        )
        await self.writer.append(rows)
        return outcome


def _kinds(found: Iterable[ExtractResult]) -> Counter[str]:
    """Count the results of extraction by kind."""
    return Counter(
        "danger" if each.danger is not None else "no_danger" if each.error is None else "failed" for each in found
    )


def _extraction_answers(work: Refinement) -> tuple[Answer, ...]:
    return () if work.extraction is None else work.extraction.answers
