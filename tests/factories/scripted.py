"""A backend that answers from a script: what to say at each stage and draft, and a count of what was asked.

    backend = ScriptedBackend(
        extract='{"no_danger": "a blank", "decline_reason": "nothing_to_build_on"}',
        author=[first_code, second_code],
        judge=lambda request: APPROVED if request.record_id != "neiss:7" else REVISE,
    )

Give it to a ``Client``, or let it stand in for the backend of a run. It is deterministic as far as its script is, and
it never waits unless the script does.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeAlias

from hazardmill.llm.requests import Completion, Request, Stage, Usage

Said: TypeAlias = str | Completion | Exception
"""Text of an answer, a whole completion, or an error to be raised."""

Line: TypeAlias = Said | Callable[[Request], Said | Awaitable[Said]]
"""What is said once: outright, or worked out from the request, which may be awaited."""

Script: TypeAlias = Line | Sequence[Line]
"""One line for all requests of a stage, or one line a draft, of which the last repeats. For requests that belong to no
draft it is one line a turn: the first question, then each repair."""

DEFAULT_USAGE: Final = Usage(prompt_tokens=1000, cached_tokens=0, completion_tokens=100)


class ScriptedBackend:
    """Answers by stage and draft.

    Args:
        extract: Script of the extract stage.
        author: Script of the author stage.
        judge: Script of the judge stage.
        classify: Script of the second query about a scenario.
        evaluate: Script of the evaluate stage.
        name: Name of the backend, part of every identity.
        host: Host of its endpoint; null for none.
        model_answered: What the answering model calls itself; by default, what was asked for.
        usage: Tokens of every answer that is given as text.
    """

    def __init__(
        self,
        *,
        extract: Script | None = None,
        author: Script | None = None,
        judge: Script | None = None,
        classify: Script | None = None,
        evaluate: Script | None = None,
        name: str = "scripted",
        host: str | None = None,
        model_answered: str | None = None,
        usage: Usage = DEFAULT_USAGE,
    ) -> None:
        self.name = name
        self.host = host
        self.asked: list[Request] = []
        """Every request that came, in order."""
        self.closed = 0
        self._scripts: dict[Stage, Script | None] = {
            "extract": extract,
            "author": author,
            "judge": judge,
            "classify": classify,
            "evaluate": evaluate,
        }
        self._model_answered = model_answered
        self._usage = usage

    def count(self, stage: Stage | None = None, record_id: str | None = None) -> int:
        """Requests that came, of one stage or record if named."""
        return sum(stage in (None, asked.stage) and record_id in (None, asked.record_id) for asked in self.asked)

    async def complete(self, request: Request) -> Completion:
        """Say what the script says.

        Raises:
            LookupError: The script has nothing for this stage.
        """
        self.asked.append(request)
        line = self._line(request)
        said = line(request) if callable(line) else line
        if inspect.isawaitable(said):
            said = await said
        if isinstance(said, Exception):
            raise said
        if isinstance(said, Completion):
            return said
        return Completion(
            text=said, model_answered=self._model_answered or request.model, finish_reason="stop", usage=self._usage
        )

    async def close(self) -> None:
        """Count it: ``closed`` says how often."""
        self.closed += 1

    def _line(self, request: Request) -> Line:
        script = self._scripts[request.stage]
        if script is None:
            raise LookupError(f"the script has nothing for stage {request.stage} (record {request.record_id})")
        if isinstance(script, str | Completion | Exception) or callable(script):
            return script
        return script[min(_turn(request), len(script) - 1)]


def _turn(request: Request) -> int:
    """Which line of a script is meant, from 0."""
    draft = request.key.draft if request.key is not None else None
    if draft is not None:
        return draft - 1
    # Each repair comes with one more question.
    return sum(message.role == "user" for message in request.messages) - 1
