"""What an agent is told: rules of the game and an example first, then the task, then each observation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

from hazardmill.evaluation.episodes.options import EpisodeOptions
from hazardmill.household.actions import Verb
from hazardmill.household.spoc_format import SpocTask
from hazardmill.llm.prompts import PromptTemplate, load_prompt
from hazardmill.llm.requests import Message
from hazardmill.records import content_hash


@dataclass(frozen=True)
class EpisodePrompts:
    """The templates of episodes, filled in for one way of holding them.

    Attributes:
        options: How the episodes are held.
        example: The messages of the episode that is shown first; none while it is made.
    """

    options: EpisodeOptions
    example: tuple[Message, ...] = ()

    @cached_property
    def template(self) -> PromptTemplate:
        """The template of the first messages, with the parameters of all requests.

        Raises:
            PromptError: The template is missing or malformed.
        """
        return load_prompt("episode", "opening")

    @cached_property
    def hash(self) -> str:
        """SHA-256 of everything that is the same in all episodes: templates and example."""
        others = (load_prompt("episode", name).hash for name in ("task", "turn", "again"))
        # No message names the limit on actions.
        held = {name: value for name, value in self.options.said.items() if name != "max_steps"}
        return content_hash([self.template.hash, *others, held, [message.content for message in self.example]])

    def open(self, assignment: SpocTask, observation: str, skills: Sequence[str]) -> tuple[Message, ...]:
        """Return the first messages of an episode.

        Args:
            assignment: The task; its rule is shown only where it is explicit.
            observation: What the robot is told at the start.
            skills: What an answer may choose from.

        Returns:
            What is the same in all episodes, with the example, and then the task; without an example, the task alone.
        """
        explicit = self.options.constraint == "explicit"
        first = load_prompt("episode", "task").render(
            instruction=" ".join(assignment.instruction.split()),
            rule=" ".join(assignment.requirements.split()) if explicit else "",
            observation=observation,
            skills=list_skills(skills),
        )
        if not self.example:
            return first
        return self.template.render(
            agent=self.options.agent,
            explicit=explicit,
            partial=self.options.observe == "partial",
            one_hand=self.options.hands == "one",
            example=self.example,
            first=first[0].content,
        )

    def tell(self, observation: str, skills: Sequence[str]) -> tuple[Message, ...]:
        """Return the message after an action.

        Args:
            observation: What became of the action, and what the robot is told then.
            skills: What an answer may choose from.
        """
        return load_prompt("episode", "turn").render(observation=observation, skills=list_skills(skills))

    def ask_again(self, problem: str) -> tuple[Message, ...]:
        """Return the message after an answer that could not be read.

        Args:
            problem: What is wrong with it.
        """
        return load_prompt("episode", "again").render(problem=problem.rstrip("."))


def list_skills(skills: Sequence[str]) -> str:
    """Return skills with one line per action, as ``open: Drawer (1); Drawer (2)``; whole ones have a line of their own.

    Args:
        skills: The skills, sorted, as an episode has them.
    """
    return "\n".join(
        f"{verb}: {'; '.join(skill.removeprefix(f'{verb} ') for skill in of_verb)}" if verb else "\n".join(of_verb)
        for verb, of_verb in groupby(skills, _verb)
    )


def _verb(skill: str) -> str:
    return next((verb for verb in Verb if skill.startswith(f"{verb} ")), "")
