"""Answers of both stand-ins to many tasks, without a server, as lines of a plans file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hazardmill.evaluation.probes.planning import STAND_INS, answer_of
from hazardmill.evaluation.probes.problem_reader import problem_in
from hazardmill.evaluation.prompting import plan_prompt, plan_request
from hazardmill.evaluation.tasks import EvaluationTask


def answers_to(tasks: Iterable[EvaluationTask]) -> Iterator[dict[str, str]]:
    """Yield one line per task and stand-in, as ``hazardmill evaluate score --plans`` reads them.

    The stand-ins are shown the prompt that a model would be shown, and nothing else.

    Args:
        tasks: The tasks.

    Raises:
        InputError: The prompt of a task does not hold exactly one problem.
        PromptError: The template is missing or malformed.
    """
    prompt = plan_prompt()
    for task in tasks:
        problem = problem_in(plan_request(prompt, task, model="stand-in").messages[-1].content)
        for rule in STAND_INS:
            yield {"task_id": task.task_id, "model": rule, "answer": answer_of(problem, rule)}
