"""Serve the stand-ins over HTTP. Each answers under its own name only."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from hazardmill.errors import InputError
from hazardmill.evaluation.probes.planning import STAND_INS, answer_of
from hazardmill.evaluation.probes.problem_reader import problem_in
from hazardmill.formalism.search.budget import DRAFT_LIMIT
from hazardmill.testing.llm_server.chat_request import ChatRefusal, ChatRequest
from hazardmill.testing.llm_server.faults import FaultPlan
from hazardmill.testing.llm_server.journal import ServedAttempt
from hazardmill.testing.llm_server.server import LlmServer


def stand_in_answer(asked: ChatRequest, *, limit: int = DRAFT_LIMIT) -> str:
    """Return the answer to a request, by the rule that it names as its model.

    Args:
        asked: The request.
        limit: Maximum number of expansions of each search.

    Raises:
        ChatRefusal: The request names no stand-in (404), or does not hold exactly one PDDL problem (400).
    """
    if asked.model not in STAND_INS:
        raise ChatRefusal(404, f"there is no such model here: ask one of {', '.join(STAND_INS)}", "model_not_found")
    try:
        problem = problem_in("\n".join(each.content for each in asked.messages if each.role == "user"))
    except InputError as error:
        raise ChatRefusal(400, error.message, "no_problem") from error
    return answer_of(problem, asked.model, limit=limit)


class StandInServer(LlmServer):
    """An ``LlmServer`` that answers with the stand-ins; every answer states which of them gave it.

    Args:
        limit: Maximum number of expansions of each search.
        faults: Which requests meet which fault; None for no faults.
        latency: Seconds from the arrival of a request to its answer, unless the search takes longer.
        log: File for the journal; None for none.
        on_change: Called on each change of an attempt, as by ``LlmServer``.
        port: Port to listen on; 0 for any free port.

    Raises:
        OSError: The port is taken, or the log cannot be written.
    """

    def __init__(
        self,
        *,
        limit: int = DRAFT_LIMIT,
        faults: FaultPlan | None = None,
        latency: float = 0.0,
        log: Path | None = None,
        on_change: Callable[[ServedAttempt], None] | None = None,
        port: int = 0,
    ) -> None:
        super().__init__(
            lambda asked: stand_in_answer(asked, limit=limit),
            models=STAND_INS,
            faults=faults,
            latency=latency,
            # Without a dialect no cached tokens are reported: they depend on when a request was sent.
            dialect="none",
            log=log,
            on_change=on_change,
            port=port,
        )
