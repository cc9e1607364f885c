"""What the waves of a flow run did: a line of log per wave, and a table per stage at the end."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Final

from prefect import get_run_logger
from prefect.artifacts import acreate_table_artifact

from flows.publishing import key
from hazardmill.errors import ConnectionFailed, ProviderDown, RateLimited
from hazardmill.llm.call_tally import CallTally
from hazardmill.llm.client import Retry
from hazardmill.records import Outcome
from hazardmill.reporting.numbers import plural, usd
from hazardmill.runs.overview.pace import RunPace
from hazardmill.runs.run import Run
from hazardmill.runs.waves import WAITING, WaveStep

_ASKING: Final = ("extract", "author", "judge")
"""The stages that ask a model."""

_KINDS: Final = {RateLimited: "429", ProviderDown: "5xx", ConnectionFailed: "connection"}
"""What retries are counted under, by the error that caused them."""


class WaveLog:
    """Counts what the stages of each wave did.

    Args:
        run: The run.

    Attributes:
        pace: What follows the steps of the records, for the time that is left; null to leave it out.
        tally: Counts the answers of fallback models; null to leave them out.
    """

    def __init__(self, run: Run) -> None:
        self.committed: list[WaveStep] = []
        """What the stage ``commit`` returned, wave by wave."""
        self.pace: RunPace | None = None
        self.tally: CallTally | None = None
        self._run = run
        self._began = time.monotonic()
        self._stages: dict[str, list[WaveStep]] = defaultdict(list)
        self._costs: dict[int, list[float | None]] = defaultdict(list)
        self._planned: dict[int, int] = {}
        """Records of the waves that are not committed."""
        self._done = 0
        self._retries: Counter[str] = Counter()
        self._fallbacks = 0

    def begin(self, steps: Sequence[WaveStep]) -> None:
        """Count from here on what the stages of these waves do; an earlier try at their records counts no more."""
        numbers = {step.wave for step in self.committed}
        for stage in self._stages.values():
            stage[:] = [step for step in stage if step.wave in numbers]
        self._costs.clear()
        self._planned = {step.wave: len(step.left) for step in steps}

    def on_retry(self, retry: Retry) -> None:
        """Count a request that is sent again, by the reason."""
        self._retries[next((name for kind, name in _KINDS.items() if isinstance(retry.error, kind)), "other")] += 1

    def add(self, stage: str, step: WaveStep) -> None:
        """Count what a stage returned; log a line if its wave is committed.

        Args:
            stage: Name of the stage.
            step: What it returned. Where a run waits for answers, a stage passes by again, and counts once.
        """
        if stage == "commit" and WAITING in step.counts:
            return
        done, place = self._stages[stage], (step.wave, step.draft)
        earlier = [each for each in done if (each.wave, each.draft) == place]
        done[:] = [each for each in done if (each.wave, each.draft) != place]
        done.append(_joined(stage, [*earlier, step]))
        if stage in _ASKING:
            self._costs[step.wave].append(step.usd)
        if stage == "commit":
            self.committed.append(step)
            self._done += sum(step.counts.values())
            get_run_logger().info(self._line(step))

    def _line(self, step: WaveStep) -> str:
        """Return what became of a wave, with the pace of the run so far."""
        costs, records = self._costs.pop(step.wave), self._planned.pop(step.wave)
        spent = "cost unknown" if None in costs else usd(sum(cost for cost in costs if cost is not None))
        rate = self._done / max(time.monotonic() - self._began, 1e-9)
        left, pace = sum(self._planned.values()), "" if self.pace is None else self.pace.text
        counts = {Outcome.ACCEPTED.value: 0, **step.counts}
        parts = [
            f"run {self._run.run_id}, wave {step.wave}: {plural(records, 'record')}",
            *(f"{count} {name}" for name, count in counts.items() if count or name == Outcome.ACCEPTED.value),
            spent,
            *self._retried(),
            *self._fallen_back(),
            f"{rate:.1f} records/s",
            (pace or "time left unknown") if left else "none left",
        ]
        return ", ".join(parts)

    def _retried(self) -> list[str]:
        """Return the retries since the last line, by reason."""
        if not self._retries:
            return []
        kinds = ", ".join(f"{kind}: {count}" for kind, count in self._retries.most_common())
        said = f"{self._retries.total()} {'retry' if self._retries.total() == 1 else 'retries'} ({kinds})"
        self._retries.clear()
        return [said]

    def _fallen_back(self) -> list[str]:
        """Return the answers of fallback models since the last line."""
        total = 0 if self.tally is None else self.tally.fallbacks
        new, self._fallbacks = total - self._fallbacks, total
        return [f"{plural(new, 'answer')} of fallback models"] if new else []

    async def publish(self) -> None:
        """Write a table per stage: what it did for each wave and draft. Failures are logged."""
        names = sorted({item.source for item in self._run.config.inputs})
        for stage, steps in self._stages.items():
            rows = [
                {
                    "wave": step.wave,
                    "draft": step.draft or "",
                    **step.counts,
                    **({"usd": "unknown" if step.usd is None else step.usd} if stage in _ASKING else {}),
                    "seconds": round(step.seconds or 0.0, 1),
                }
                for step in sorted(steps, key=lambda step: (step.wave, step.draft))
            ]
            try:
                await acreate_table_artifact(
                    rows, key=key("stage", stage, *names), description=f"Run {self._run.run_id}"
                )
            except Exception as error:
                get_run_logger().warning("there is no table of the stage %s: %r", stage, error)


def _joined(stage: str, steps: Sequence[WaveStep]) -> WaveStep:
    """Return one step for several passages of a wave: each counts only new costs, and all but the judge the whole."""
    *_, last = steps
    counts = sum((Counter(step.counts) for step in steps), Counter[str]()) if stage == "judge" else last.counts
    usd_of = None if any(step.usd is None for step in steps) else sum(step.usd or 0.0 for step in steps)
    seconds = sum(step.seconds or 0.0 for step in steps)
    return last.model_copy(update={"counts": dict(counts), "usd": usd_of, "seconds": seconds})
