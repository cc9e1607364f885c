"""Working through a run, as the commands do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from factories.scripted import ScriptedBackend

from hazardmill.llm.access import ModelAccess
from hazardmill.llm.client import Client
from hazardmill.llm.requests import Backend
from hazardmill.runs.backend import open_backend
from hazardmill.runs.resources import RunResources
from hazardmill.runs.run import Run
from hazardmill.store.store import Store


class Use:
    """Gives runs a scripted backend, another one as often as a test wants, in the place of that of their configuration.

    ``resources`` is what runs are started and loaded with.
    """

    def __init__(self) -> None:
        self.backend: Backend | None = None
        self.client: Callable[..., Client] = Client
        self.resources = RunResources(backend=self._open, client=lambda *given, **more: self.client(*given, **more))

    def __call__(self, backend: ScriptedBackend) -> ScriptedBackend:
        self.backend = backend
        return backend

    def _open(self, access: ModelAccess, store: Store) -> Backend:
        return open_backend(access, store) if self.backend is None else self.backend


def answering(backend: Backend, client: Callable[..., Client] = Client) -> RunResources:
    """What a run is started with that asks ``backend``."""
    return RunResources(backend=lambda access, store: backend, client=client)


def worked(run: Run, waves: Sequence[Sequence[int]] | None = None, *, wait: bool = False) -> dict[str, int]:
    """Work on all that is pending, or on those waves of it, and give the records by outcome."""

    async def work() -> None:
        async with run.session(wait=wait) as session:
            await session.work_through(run.waves() if waves is None else waves)

    with run.under_way():
        asyncio.run(work())
    return run.counts()
