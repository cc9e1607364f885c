"""What a planner is asked: the basic problem of a task, and nothing else of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pydantic import JsonValue

from hazardmill.evaluation.tasks import EvaluationTask
from hazardmill.llm.prompts import PromptTemplate, load_prompt
from hazardmill.llm.requests import AnswerKey, Message, Request
from hazardmill.records import content_hash


def plan_prompt() -> PromptTemplate:
    """Return the template that asks for a plan.

    Raises:
        PromptError: The template is missing or malformed.
    """
    return load_prompt("evaluate", "plan")


def plan_request(
    prompt: PromptTemplate,
    task: EvaluationTask,
    *,
    model: str,
    sample: int = 0,
    parameters: Mapping[str, JsonValue] | None = None,
) -> Request:
    """Return the request for a plan of a task.

    Its texts are built from the two PDDL files alone, so that nothing else about the task can reach a model.

    Args:
        prompt: The template.
        task: The task.
        model: The model to ask.
        sample: Number of the draw, from 0.
        parameters: Values that replace parameters of the template.
    """
    messages = prompt.render(domain=task.domain_pddl.strip(), problem=task.problem_pddl.strip())
    shown = content_hash([task.domain_pddl, task.problem_pddl])
    return question_request(
        prompt, messages, about=task.task_id, shown=shown, model=model, sample=sample, parameters=parameters
    )


def question_request(
    prompt: PromptTemplate,
    messages: tuple[Message, ...],
    *,
    about: str,
    shown: str,
    model: str,
    sample: int = 0,
    parameters: Mapping[str, JsonValue] | None = None,
) -> Request:
    """Return the request for an answer to a question of an evaluation.

    Args:
        prompt: The template that the question was rendered from.
        messages: The question.
        about: Id of the task or scenario that it is about.
        shown: Hash of what is shown.
        model: The model to ask.
        sample: Number of the draw, from 0.
        parameters: Values that replace parameters of the template.
    """
    return Request(
        stage="evaluate",
        model=model,
        messages=messages,
        parameters={**prompt.parameters, **(parameters or {})},
        sample=sample,
        record_id=about,
        input_hash=shown,
        key=AnswerKey(record_hash=shown, stage="evaluate", sample=sample),
        prompt_version=prompt.version,
        prompt_hash=prompt.hash,
    )


def messages_json(messages: Iterable[Message]) -> list[dict[str, str]]:
    """Return messages as JSON values."""
    return [{"role": message.role, "content": message.content} for message in messages]
