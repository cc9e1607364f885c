"""Models that answer by a script, for runs of an evaluation."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pyarrow as pa
from factories.scripted import Script, ScriptedBackend

from hazardmill.evaluation.abilities.run import AbilityRun
from hazardmill.evaluation.runner import Evaluation
from hazardmill.store.store import Store
from tests.running import Use


class ScriptedModels(Use):
    """Gives evaluations a model that answers by a script, another one as often as a test wants.

    Args:
        script: What a model answers by for which no other script is named.
    """

    def __init__(self, script: Script | None = None) -> None:
        super().__init__()
        self._script = script

    def answer(self, script: Script | None = None) -> ScriptedBackend:
        """Have a model answer by a script from now on."""
        return self(ScriptedBackend(evaluate=script or self._script, name="litellm", host="127.0.0.1"))

    def work(self, run: Evaluation | AbilityRun, store: Store, **how: object) -> pa.Table:
        """Ask the model that answers now, and give the rows."""
        return asyncio.run(replace(run, resources=self.resources).run(store, **how))
