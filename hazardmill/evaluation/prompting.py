"""What a planner is asked: the basic problem of a task, and nothing else of it."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from hazardmill.evaluation.tasks import EvaluationTask
from hazardmill.llm.prompts import PromptTemplate, load_prompt
from hazardmill.llm.requests import AnswerKey, Request
from hazardmill.records import content_hash


def plan_prompt() -> PromptTemplate:
    """The template.

    Raises:
        PromptError: It is missing or wrong.
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
    """The request for a plan of a task.

    Its texts are made of the two PDDL files alone, so that nothing that they do not tell can reach a model.

    Args:
        prompt: The template.
        task: The task.
        model: Who is asked.
        sample: Number of the draw.
        parameters: What takes the place of the template's parameters.
    """
    shown = content_hash([task.domain_pddl, task.problem_pddl])
    return Request(
        stage="evaluate",
        model=model,
        messages=prompt.render(domain=task.domain_pddl.strip(), problem=task.problem_pddl.strip()),
        parameters={**prompt.parameters, **(parameters or {})},
        sample=sample,
        record_id=task.task_id,
        input_hash=shown,
        key=AnswerKey(record_hash=shown, stage="evaluate", sample=sample),
        prompt_version=prompt.version,
        prompt_hash=prompt.hash,
    )
