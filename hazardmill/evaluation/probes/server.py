"""The stand-ins over HTTP. Each answers under its own name, and under no other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from hazardmill.errors import InputError
from hazardmill.evaluation.probes.planning import STAND_INS, answer_of
from hazardmill.evaluation.probes.problem_reader import problem_in
from hazardmill.formalism.search.budget import DRAFT_LIMIT
from hazardmill.testing.llm_server.asked import ChatRefusal, ChatRequest
from hazardmill.testing.llm_server.faults import FaultPlan
from hazardmill.testing.llm_server.journal import ServedAttempt
from hazardmill.testing.llm_server.server import LlmServer


def stand_in_answer(asked: ChatRequest, *, limit: int = DRAFT_LIMIT) -> str:
    """The answer to a request, by the rule that it names.

    Raises:
        Refused: It names none, or asks for something else than a plan of one problem in PDDL.
    """
    if asked.model not in STAND_INS:
        raise ChatRefusal(404, f"there is no such model here: ask one of {', '.join(STAND_INS)}", "model_not_found")
    try:
        problem = problem_in("\n".join(each.content for each in asked.messages if each.role == "user"))
    except InputError as error:
        raise ChatRefusal(400, error.message, "no_problem") from error
    return answer_of(problem, asked.model, limit=limit)


class StandInServer(LlmServer):
    """``LlmServer`` with the stand-ins behind it, whose answers say which of them answered.

    Args:
        limit: Most expansions of each search.
        faults: Who meets which fault; by default nobody meets any.
        latency: Seconds from the arrival of a request to its answer, as far as the search does not take longer.
        log: File for the journal.
        on_change: Told of each attempt, as by ``LlmServer``.
        port: Port to listen on; 0 for any that is free.

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
            # What is cached depends on when it was asked, and would be told.
            dialect="none",
            log=log,
            on_change=on_change,
            port=port,
        )
