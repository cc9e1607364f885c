"""Release: builds a dataset, lets a person look at it, and pushes it only if that person approves."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Final
from uuid import uuid4

from prefect import flow, task
from prefect.artifacts import acreate_markdown_artifact
from prefect.client.schemas.objects import State
from prefect.exceptions import FlowPauseTimeout
from prefect.flow_runs import apause_flow_run
from prefect.input import RunInput
from prefect.states import Cancelled, Completed
from pydantic import BaseModel, Field

from flows.pages_links import PAGE_LINKS
from hazardmill.errors import HubError, InputError, ReleaseRefused, RunStopped
from hazardmill.release.build.build import build
from hazardmill.release.build.configs import BY_SA, BY_SA_MEANS
from hazardmill.release.build.options import Options
from hazardmill.release.hub.folder import read_folder
from hazardmill.release.hub.push import PushSummary, push
from hazardmill.release.manifest import ReleaseManifest
from hazardmill.settings import load_settings
from hazardmill.store_access import open_store
from hazardmill.text.printable import printable

LOOK_EVERY_S: Final = 10

Repository = Annotated[str, Field(pattern=r"^[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*$")]


class Approval(RunInput):
    """The form in which a person decides on a release."""

    reviewer: str = Field(min_length=1, description="Your name.")
    approve: bool = Field(default=False, description="Push it. Otherwise nothing is pushed, and the folder stays.")
    public: bool = Field(default=False, description="Make the repository public.")
    note: str = Field(default="", description="Why, or what to fix.")


class Released(BaseModel):
    """The outcome for a release."""

    folder: Path
    reviewer: str
    note: str
    pushed: PushSummary | None = Field(description="Null if it was turned down.")


@task(name="build-release", persist_result=False)
async def build_release(store: Path | None, folder: Path, options: Options, out: Path) -> ReleaseManifest:
    """Build the release unless it exists, so that a retried flow run continues with what it built."""
    if not out.exists():
        return (await asyncio.to_thread(build, open_store(store), folder, options, out)).manifest
    manifest = (await asyncio.to_thread(read_folder, out)).manifest
    if (manifest.name, manifest.version, manifest.policy) != (options.name, options.version, options.policy):
        raise InputError("the folder holds another release", file=str(out), remedy="choose another folder, or move it")
    return manifest


# A push resumes where it stopped, so a second try is harmless.
@task(
    name="push-release",
    retries=2,
    retry_delay_seconds=5,
    retry_condition_fn=lambda task, run, state: isinstance(state.data, HubError),
    persist_result=False,
)
async def push_release(out: Path, repo: str, public: bool, allow_offline: bool) -> PushSummary:
    """Push the release, or resume a push."""
    return await asyncio.to_thread(push, out, repo, public=public, allow_offline=allow_offline)


DESCRIPTION: Final = f"""\
Builds a release, waits for a person's **approval**, and pushes it: private, one commit, one tag.

- If gates refuse it, nobody is asked and the flow fails; it also fails if nobody answers.

{PAGE_LINKS}
"""


@flow(name="release", flow_run_name="{options.name} {options.version}", description=DESCRIPTION)
async def release(
    options: Options,
    repo: Repository,
    store: Path | None = None,
    folder: Path = Path("review"),
    out: Path | None = None,
    wait_hours: Annotated[float, Field(gt=0, le=24 * 30)] = 72,
) -> State[Released]:
    """Build a release, wait for a person's approval, and push it: private, one commit, one tag.

    If gates refuse it, nobody is asked and the flow fails; it also fails if nobody answers.

    Args:
        options: Options of the release: `{"version": "1.0.0"}` at least. Authors and DOI that they lack are those of
            the worker's settings.
        repo: Where to push it, `ORG/NAME`; created as private if missing. The token is the worker's `HF_TOKEN`.
        store: Folder of the store; null is that of the worker's settings.
        folder: Folder of the review, on the worker's machine.
        out: Folder to build in; null is `releases/<name>-<version>`. An existing release is not built again.
        wait_hours: How long to wait for the form.
    """
    options = options.fill_from_settings(load_settings())
    place = out or Path("releases") / f"{options.name}-{options.version}"
    try:
        manifest = await build_release(store, folder, options, place)
    except ReleaseRefused as refused:
        # Indented, so that reasons are shown verbatim and never rendered as Markdown.
        found = "\n".join(f"    {printable(line)}" for line in refused.summary)
        await _show(options.version, f"### Gates refuse\n\n    {printable(refused.message)}\n{found}")
        raise
    told = in_words(manifest, place, repo)
    await _show(options.version, told)
    answer = await _ask_approval(told, wait_hours)
    said = f"{'approved' if answer.approve else 'turned down'} by {answer.reviewer}: {answer.note or 'no reason given'}"
    result = Released(folder=place, reviewer=answer.reviewer, note=answer.note, pushed=None)
    told = f"{told}\n\n    {printable(said)}"
    if not answer.approve:
        await _show(options.version, told)
        # Without a name of our own: automations/lost.yaml would take a state it does not know for a lost flow.
        return Cancelled(message=f"{place}: {said}; nothing was pushed", data=result)
    pushed = await push_release(place, repo, answer.public, options.allow_offline)
    await _show(options.version, f"{told}\n\nPushed: {pushed.url} at `{pushed.revision}`")
    said = f"{repo} {pushed.tag} at {pushed.revision}, {'private' if pushed.private else 'public'}; {said}"
    return Completed(message=said, data=result.model_copy(update={"pushed": pushed}))


async def _ask_approval(told: str, wait_hours: float) -> Approval:
    form, seconds = Approval.with_initial_data(description=told), max(1, round(wait_hours * 3600))
    # A new key each time: with the key of an earlier pause, answered or killed, the flow would not wait.
    key, answer = uuid4().hex, None
    with suppress(FlowPauseTimeout):
        answer = await apause_flow_run(wait_for_input=form, timeout=seconds, poll_interval=LOOK_EVERY_S, key=key)
    if answer is None:
        raise RunStopped(
            f"nobody approved within {wait_hours:g} hours; nothing was pushed", remedy="retry this flow run"
        )
    return answer


def in_words(manifest: ReleaseManifest, place: Path, repo: str) -> str:
    """Render what a person sees before the push, as Markdown."""
    rows = [
        f"| {config} | {split} | {rows:,} |" for config, by in manifest.counts.items() for split, rows in by.items()
    ]
    told = f"{manifest.tasks:,} tasks in `{place}`, policy {manifest.policy}. Read `README.md` there."
    if manifest.offline:
        told += f" **{manifest.offline:,} of them were written by our rules, not by a language model.**"
    lines = [f"### {manifest.name} {manifest.version} for {repo}", "", told, ""]
    lines += [f"    waived: gate {gate}: {printable(reason)}\n" for gate, reason in manifest.waived.items()]
    lines += [f"    left out by gate {gate}: {count:,}\n" for gate, count in manifest.left_out_by_gates.items()]
    if any(config.endswith(BY_SA) for config in manifest.counts):
        lines += [f"`{BY_SA}`: {BY_SA_MEANS}.", ""]
    return "\n".join([*lines, "| config | split | rows |", "| --- | --- | ---: |", *rows])


async def _show(version: str, markdown: str) -> None:
    await acreate_markdown_artifact(key="release", markdown=markdown, description=f"Release {version}")
