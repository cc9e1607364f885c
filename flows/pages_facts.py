"""Flow runs and schedules of a Prefect server, as pages show them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from prefect.client.schemas.objects import StateType

from hazardmill.report.dashboard.writing import write_text

DAYS: Final = 7
"""Flow runs that ended in so many days are read."""


@dataclass(frozen=True)
class FlowRunFacts:
    """A flow run, as pages show it.

    Attributes:
        id: Its id at the server.
        name: Its name.
        flow: Name of its flow.
        deployment: ``FLOW/DEPLOYMENT``; null for a run without one, such as one within another.
        state: Name of its state.
        kind: Type of its state.
        message: Message of its state; may be empty.
        began: When it began; null if it has not.
        ended: When it ended; null if it has not.
        expected: When it should begin.
        run_ids: The runs of a store that it works on, by its tags.
        progress_id: Id of its progress artifact; null if there is none.
        progress: What that artifact says.
        is_nested: Whether it runs within another flow run.
    """

    id: str
    name: str
    flow: str
    deployment: str | None
    state: str
    kind: StateType
    message: str = ""
    began: datetime | None = None
    ended: datetime | None = None
    expected: datetime | None = None
    run_ids: tuple[str, ...] = ()
    progress_id: str | None = None
    progress: str = ""
    is_nested: bool = False

    @property
    def link(self) -> str:
        """A link to its page, by its name."""
        return f"[{write_text(self.name)}](../../runs/flow-run/{self.id})"

    @property
    def retry(self) -> str | None:
        """What to type to try it again.

        Without a deployment, Prefect asks where the code of the flow is, and runs it at once: the command is for the
        folder of this project. Null for a flow of other code.
        """
        command = f"prefect flow-run retry {self.id}"
        if self.deployment is not None:
            return command
        name = self.flow.replace("-", "_")
        known = (Path(__file__).parent / f"{name}.py").is_file()
        return f"{command} --entrypoint flows/{name}.py:{name}" if known else None


@dataclass(frozen=True)
class ScheduleFacts:
    """A schedule of a deployment.

    Attributes:
        deployment: ``FLOW/DEPLOYMENT``.
        deployment_id: Id of the deployment.
        says: The schedule in words, such as ``30 * * * * (UTC)``.
        active: Whether it starts runs.
        paused: Whether the whole deployment is paused.
    """

    deployment: str
    deployment_id: str
    says: str
    active: bool
    paused: bool

    @property
    def link(self) -> str:
        """A link to the page of the deployment, by its name."""
        return f"[{write_text(self.deployment)}](../../deployments/deployment/{self.deployment_id})"


@dataclass(frozen=True)
class ServerFacts:
    """Flow runs and schedules of a server.

    Attributes:
        under_way: Flow runs that run, are about to, are being cancelled, or wait for a person; the oldest first.
        scheduled: Flow runs that will begin, the next one first.
        not_done: Flow runs of the last week that failed, crashed, were cancelled, reached their budget or wait for
            answers; the latest first.
        schedules: Schedules of all deployments, in order of name.
    """

    under_way: Sequence[FlowRunFacts] = ()
    scheduled: Sequence[FlowRunFacts] = ()
    not_done: Sequence[FlowRunFacts] = ()
    schedules: Sequence[ScheduleFacts] = field(default_factory=tuple)


def say_time(at: datetime | None) -> str:
    """Return a time as ``2026-01-31 23:59``, in UTC; a dash if there is none."""
    return "-" if at is None else f"{at.astimezone(UTC):%Y-%m-%d %H:%M}"
