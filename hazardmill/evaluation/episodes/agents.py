"""Answers of agents: one JSON object each, read without guessing."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated, Any, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, TypeAdapter

from hazardmill.errors import UnusableAnswer
from hazardmill.evaluation.answers.extract import TURNED_AWAY, read_answer, without_thoughts
from hazardmill.evaluation.answers.text import Names
from hazardmill.evaluation.episodes.options import Agent
from hazardmill.llm.structured import parse_json
from hazardmill.records import Text

MOST_UNREADABLE: Final = 5
"""So many unreadable answers in a row end an episode."""

_NOTHING: Final = frozenset({"", "nothing", "none", "empty"})
_NO_NAMES: Final = Names({}, frozenset(), frozenset())


def _listed(value: Any) -> Any:  # noqa: ANN401  # any JSON, before validation
    """Return a list where an answer has a single text instead of one."""
    if isinstance(value, str):
        return [] if value.strip().casefold() in _NOTHING else [value]
    return value


_Things = Annotated[tuple[str, ...] | None, BeforeValidator(_listed)]


class AgentAnswer(BaseModel):
    """An answer. Keys that its agent does not have are ignored.

    Attributes:
        act: The action in words.
        think: The thought before it.
        expect: What it expects to see or to hold next, by name or class; null where it does not say.
        goal: What it says is still to be done; null where it does not say.
        place: Where it says the robot is; null where it does not say.
        holding: What it says the robot holds; null where it does not say.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    act: Text
    think: str = ""
    expect: _Things = None
    goal: str | None = None
    place: str | None = None
    holding: _Things = None


KEYS: Final[dict[Agent, tuple[str, ...]]] = {
    "react": ("think", "act"),
    "preact": ("think", "act", "expect"),
    "stateact": ("goal", "place", "holding", "think", "act"),
}
"""What an answer of each agent holds, in its order."""


def write_agent_answer(answer: AgentAnswer, agent: Agent) -> str:
    """Return an answer as an agent writes it: one JSON object with its keys in their order."""
    return json.dumps({name: getattr(answer, name) for name in KEYS[agent]}, ensure_ascii=False)


def _adapter(agent: Agent) -> TypeAdapter[AgentAnswer]:
    """Return what reads an answer by the keys of its agent: whatever else the answer holds need not have a form."""

    def keep(said: Any) -> Any:  # noqa: ANN401  # any JSON, before validation
        return {name: said[name] for name in KEYS[agent] if name in said} if isinstance(said, dict) else said

    return TypeAdapter(Annotated[AgentAnswer, BeforeValidator(keep)])


_OF_AGENT: Final = {agent: _adapter(agent) for agent in KEYS}


@dataclass(frozen=True, slots=True)
class UnreadableAnswer:
    """An answer that is no action.

    Attributes:
        problem: What is wrong with it, as the agent is told.
        is_refusal: Whether it declines to act.
        is_final: Whether asking again cannot help.
    """

    problem: str
    is_refusal: bool = False
    is_final: bool = False


def read_agent_answer(text: str, finish_reason: str | None, agent: Agent) -> AgentAnswer | UnreadableAnswer:
    """Read an answer of an agent.

    Thoughts before the object do not count. What is no object is a refusal or unreadable, as plans in answers are.

    Args:
        text: The answer as the model gave it.
        finish_reason: Why it ended, as the provider reported it; null if it did not.
        agent: Whose answer it is.

    Returns:
        The answer, with the keys of its agent alone; or why it is none.
    """
    if finish_reason == TURNED_AWAY:
        # A longer conversation would be turned away, too.
        return UnreadableAnswer("the provider turned the request away unread", is_final=True)
    said = without_thoughts(text)
    try:
        # Thoughts may be in any language: they are not judged, and names of actions must match anyway.
        return parse_json(said, _OF_AGENT[agent], english=False)
    except UnusableAnswer as error:
        if read_answer(text, _NO_NAMES, finish_reason).reading == "refusal":
            return UnreadableAnswer("it declines to act", is_refusal=True)
        if finish_reason == "length":
            return UnreadableAnswer("it was cut off at the token limit; be shorter")
        return UnreadableAnswer("it is empty" if not said.strip() else error.message)
