"""Release: builds a dataset, lets a person look at it, and pushes it only if that person approves."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Final

from prefect import flow, task
from prefect.artifacts import acreate_markdown_artifact
from prefect.client.schemas.objects import State
from prefect.states import Cancelled, Completed
from pydantic import BaseModel, Field

from flows.approval import ask_approval, find_approval, use_up
from flows.earlier_releases import Differences, compare, find_previous
from flows.pages_links import PAGE_LINKS
from flows.publishing import key, report_path
from flows.release_form import ask_words, in_words, write_page
from hazardmill.errors import HubError, InputError, ReleaseRefused
from hazardmill.release.build.build import build
from hazardmill.release.build.options import Options
from hazardmill.release.hub.folder import LocalRelease, read_folder
from hazardmill.release.hub.push import PushSummary, push
from hazardmill.settings import load_settings
from hazardmill.store_access import open_store
from hazardmill.text.printable import printable

DESCRIPTION: Final = f"""\
Builds a release, and **waits for a person** before it is pushed. While it waits, it holds no process.

- Set `options` (a version at least) and `repo`; `HF_TOKEN` is in the worker's environment.
- The form shows what would be pushed, with its card and how it differs from the release before.
- Answer with *Resume*, within `wait_hours`. If you turn it down, or nobody answers, nothing is pushed.

{PAGE_LINKS}
"""

Repository = Annotated[str, Field(pattern=r"^[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*$")]


class Released(BaseModel):
    """The outcome for a release."""

    folder: Path
    manifest_sha256: str = Field(description="Hash of the manifest of the release that was decided on.")
    reviewer: str
    note: str
    pushed: PushSummary | None = Field(description="Null if it was turned down.")


@task(name="build-release", persist_result=False)
async def build_release(store: Path | None, folder: Path, options: Options, out: Path) -> LocalRelease:
    """Build the release unless it exists, so that a flow run that begins anew continues with what it built."""
    if not out.exists():
        await asyncio.to_thread(build, open_store(store), folder, options, out)
    local = await asyncio.to_thread(read_folder, out)
    manifest = local.manifest
    if (manifest.name, manifest.version, manifest.policy) != (options.name, options.version, options.policy):
        raise InputError("the folder holds another release", file=str(out), remedy="choose another folder, or move it")
    return local


@task(name="compare-release", persist_result=False)
async def compare_release(local: LocalRelease, previous: Path | None, out: Path, page: Path) -> Differences:
    """Compare the release with the one before it, and write the page that the form leads to."""
    differences = await asyncio.to_thread(compare, previous, out)
    await asyncio.to_thread(write_page, page, local, out, differences)
    return differences


# A push resumes where it stopped, so a second try is harmless.
@task(
    name="push-release",
    retries=2,
    retry_delay_seconds=5,
    retry_condition_fn=lambda task, run, state: isinstance(state.data, HubError),
    persist_result=False,
)
async def push_release(out: Path, repo: str, public: bool, allow_offline: bool, manifest: str) -> PushSummary:
    """Push the release that was approved, or resume its push."""
    return await asyncio.to_thread(
        push, out, repo, public=public, allow_offline=allow_offline, manifest_sha256=manifest
    )


@flow(name="release", flow_run_name="{options.name} {options.version}", description=DESCRIPTION)
async def release(
    options: Options,
    repo: Repository,
    store: Path | None = None,
    folder: Path = Path("review"),
    out: Path | None = None,
    wait_hours: Annotated[float, Field(gt=0, le=24 * 60)] = 24 * 14,
) -> State[Released]:
    """Build a release, wait for a person's approval, and push it: private, one commit, one tag.

    If gates refuse it, nobody is asked and the flow fails. It waits suspended, and begins anew when its form is
    answered: what was built is found again, and pushed if its manifest is the one that was approved
    (``flows/approval.py``). If nobody answers, the server fails it, and ``automations/release-unanswered.yaml`` says
    so.

    Args:
        options: Options of the release: `{"version": "1.0.0"}` at least. Authors and DOI that they lack are those of
            the worker's settings.
        repo: Where to push it, `ORG/NAME`; created as private if missing. The token is the worker's `HF_TOKEN`.
        store: Folder of the store; null is that of the worker's settings.
        folder: Folder of the review, on the worker's machine.
        out: Folder to build in; null is `releases/<name>-<version>`. An existing release is not built again.
        wait_hours: How many hours the form may stay unanswered, up to 60 days.
    """
    options = options.fill_from_settings(load_settings())
    place = out or Path("releases") / f"{options.name}-{options.version}"
    try:
        local = await build_release(store, folder, options, place)
    except ReleaseRefused as refused:
        # Indented, so that reasons are shown verbatim and never rendered as Markdown.
        found = "\n".join(f"    {printable(line)}" for line in refused.summary)
        await _show(options.version, f"### Gates refuse\n\n    {printable(refused.message)}\n{found}")
        raise
    answer, again = await find_approval(local.sha256)
    page = report_path(open_store(store), key("release", options.name, options.version))
    previous = options.parent or find_previous(place, options.name, options.version)
    differences = await compare_release(local, previous, place, page)
    told = in_words(local, place, differences, page)
    if answer is None:
        wait_s = max(1, round(wait_hours * 3600))
        question = ask_words(local, repo, datetime.now(UTC) + timedelta(seconds=wait_s), again=again)
        await _show(options.version, f"{question}\n\n{told}")
        answer = await ask_approval(local.sha256, f"{question}\n\n{told}", wait_s)
    said = f"{'approved' if answer.approve else 'turned down'} by {answer.reviewer}: {answer.note or 'no reason given'}"
    result = Released(
        folder=place, manifest_sha256=local.sha256, reviewer=answer.reviewer, note=answer.note, pushed=None
    )
    told = f"### {options.name} {options.version} for {repo}\n\n    {printable(said)}\n\n{told}"
    if not answer.approve:
        await _show(options.version, told)
        await use_up(answer)
        # Without a name of our own: automations/lost.yaml would take a state it does not know for a lost flow.
        return Cancelled(message=f"{place}: {said}; nothing was pushed", data=result)
    pushed = await push_release(place, repo, answer.public, options.allow_offline, local.sha256)
    await _show(options.version, f"Pushed: {pushed.url} at `{pushed.revision}`\n\n{told}")
    said = f"{repo} {pushed.tag} at {pushed.revision}, {'private' if pushed.private else 'public'}; {said}"
    return Completed(message=said, data=result.model_copy(update={"pushed": pushed}))


async def _show(version: str, markdown: str) -> None:
    await acreate_markdown_artifact(key="release", markdown=markdown, description=f"Release {version}")
