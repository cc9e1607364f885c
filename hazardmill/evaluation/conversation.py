"""What a piece of an evaluation asks, request after request: what is asked next may depend on the answers so far."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TypeAlias

from hazardmill.llm.requests import Answer, Request

Turns: TypeAlias = Generator[Sequence[Request], Sequence[Answer], None]
"""Yields requests that can be sent at the same time, and is sent their answers."""


class Conversation:
    """The requests of a piece with the answers so far.

    Args:
        turns: What is asked.

    Attributes:
        requests: What is asked next; empty when everything is answered.
        answers: The answers so far, in the order of their requests.
    """

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self.requests: Sequence[Request] = next(turns, ())
        self.answers: list[Answer] = []

    def take(self, answers: Sequence[Answer]) -> None:
        """Go on with the answers to what was asked next.

        Args:
            answers: An answer per request, in their order.
        """
        self.answers += answers
        try:
            self.requests = self._turns.send(answers)
        except StopIteration:
            self.requests = ()
