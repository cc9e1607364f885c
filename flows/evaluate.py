"""Evaluate: asks a language model for plans of a release's tasks, scores them, and publishes the figures."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from prefect import flow, runtime, task
from prefect.artifacts import acreate_markdown_artifact
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State
from prefect.states import Completed
from pydantic import BaseModel, Field

from flows.endings import BUDGET_REACHED, WAITING
from flows.evaluate_words import SHOWN, in_words, share_of
from flows.keys import keys_for
from flows.labels import label_flow_run
from flows.pages_links import PAGE_LINKS, log_page_links
from flows.parameters import Records, given_parameters, run_parameters
from flows.publishing import key
from hazardmill.errors import BudgetReached, ProviderError, RunStopped, RunWaiting
from hazardmill.evaluation.metrics import Figures, figures
from hazardmill.evaluation.planner_access import configure_planner
from hazardmill.evaluation.released_tasks import ReleasedTasks
from hazardmill.evaluation.report.model_names import label_model
from hazardmill.evaluation.results_files import check_out, write_folder
from hazardmill.evaluation.runner import Evaluation
from hazardmill.evaluation.score_file import check_read, count_missing, count_turned_away
from hazardmill.release.read.release import load_release
from hazardmill.run_options import AccessOptions
from hazardmill.settings import load_settings
from hazardmill.statistics.bootstrap import RESAMPLES
from hazardmill.statistics.estimate import LEVEL
from hazardmill.store.store import Store
from hazardmill.store_access import open_store

_DRAWN: Final = {"level": LEVEL, "resamples": RESAMPLES, "seed": 0, "drawn": "task"}
_NOT_OFFERED: Final = frozenset({"fallback_models", "budget_id"})
_AGAIN: Final = "the answers so far are kept, and the same parameters resume the run"


class Evaluated(BaseModel):
    """The result of an evaluation."""

    run: str
    folder: Path = Field(description="Folder for rows and figures.")
    digest: str | None = Field(description="Digest of the rows; null if the run is not done.")


@task(name="ask-and-score", persist_result=False, cache_policy=NO_CACHE)
async def ask_and_score(evaluation: Evaluation, tasks: ReleasedTasks, store: Store, folder: Path) -> dict[str, Any]:
    """Ask for what the ledger lacks, and write rows and figures; repeated, it asks nothing."""
    table = await evaluation.run(store)

    def write() -> dict[str, Any]:
        check_read(table, store, evaluation.run_id)
        models = [each.model_dump(mode="json") for each in figures(table)]
        said = {"run": evaluation.run_id, "decided_by": evaluation.decided_by, "models": models, "intervals": _DRAWN}
        of: dict[str, Any] = {"release": tasks.release, "tasks": tasks.name, "tasks_digest": tasks.digest}
        of |= {"tasks_in_release": tasks.released, "turned_away": count_turned_away(table)}
        return write_folder(folder, table, {**said, **of, "missing": count_missing(table, tasks.released)})

    return await asyncio.to_thread(write)


def run_name() -> str:
    """Return the name of the flow run: the model and the last part of the release's path."""
    given: dict[str, Any] = runtime.flow_run.parameters
    return f"{given['model']} on {Path(given['release']).name}"


DESCRIPTION: Final = f"""\
Asks a language model for plans of the tasks of a **release**, and scores them by proof, without a judge.

- Equal parameters resume the same run, and pay for no answer twice.
- **Artifact**: `evaluation-<model>` (scores with intervals).

{PAGE_LINKS}
"""


@flow(name="evaluate", flow_run_name=run_name, description=DESCRIPTION)
@run_parameters(AccessOptions, leave_out=_NOT_OFFERED)
async def evaluate(
    release: str,
    model: str,
    split: Literal["train", "validation", "test"] | None = None,
    runs: Annotated[int, Field(ge=1, le=1000)] = 1,
    limit: Records | None = None,
    twins: bool = False,
    *,
    store: Path | None = None,
    out: Path | None = None,
    **given: Any,  # noqa: ANN401  # run options
) -> State[Evaluated]:
    """Ask a language model for plans of the tasks of a release, and score them by proof, without a judge.

    Equal parameters resume the same run, and pay for no answer twice.

    Args:
        release: Folder of a release on the worker's machine, or `ORG/NAME` on a hub.
        model: Model to ask, as litellm names it.
        split: Only the tasks of one split.
        runs: Answers per task.
        limit: Maximum number of tasks to ask about.
        twins: Also ask about each task's contrast twin, to measure over-caution.
        store: Folder of the store; null is that of the worker's settings.
        out: Folder for rows and figures; null is `evaluations/` and the name of the run.
        **given: Options of a run; null leaves it to the worker's settings.
    """
    log_page_links()
    chosen = load_settings().fill({**dict.fromkeys(AccessOptions.model_fields.keys() - _NOT_OFFERED), **given})
    tasks = ReleasedTasks(await asyncio.to_thread(load_release, release), split=split, limit=limit, twins=twins)
    evaluation = Evaluation(tasks, configure_planner(model, **chosen), runs, asked_by=given_parameters())
    run, title = evaluation.run_id, f"{label_model(model)} on {tasks.name}"
    check_out(folder := out or Path("evaluations") / run, run)
    await label_flow_run(f"{model} on {Path(release).name}", models=[model], run_ids=[run])
    try:
        async with keys_for(evaluation.access):
            summary = await ask_and_score(evaluation, tasks, open_store(store, create=True), folder)
    except RunWaiting as waiting:
        told = f"Run {run}: {waiting.message}; the deployment resume-waiting takes it up, or start it again"
        return Completed(name=WAITING, message=told, data=Evaluated(run=run, folder=folder, digest=None))
    except BudgetReached as reached:
        told = f"Run {run}: {reached.message}; {_AGAIN}: give it a larger budget_usd"
        await _show(model, run, f"### {title}\n\n    {told}")
        return Completed(name=BUDGET_REACHED, message=told, data=Evaluated(run=run, folder=folder, digest=None))
    except (ProviderError, RunStopped) as error:
        error.remedy = f"{error.remedy or 'fix the problem'}; {_AGAIN}: retry this flow run"
        raise
    found = [Figures.model_validate(each) for each in summary["models"]]
    await _show(model, run, f"{in_words(title, found)}\n\nRows and figures: `{folder}`, digest `{summary['digest']}`")
    said = ", ".join(f"{name} {share_of(found[0].rates[name])}" for name in SHOWN[:4]) if found else "no task"
    ended = Evaluated(run=run, folder=folder, digest=summary["digest"])
    return Completed(message=f"Run {run}: {title}: {said}", data=ended)


async def _show(model: str, run: str, markdown: str) -> None:
    await acreate_markdown_artifact(key=key("evaluation", model), markdown=markdown, description=f"Run {run}")
