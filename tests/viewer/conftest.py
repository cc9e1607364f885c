from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from release.small_release import OFFLINE, SHARE_ALIKE, bowl, spilt, task_row, write_release

from hazardmill.store.store import Store
from hazardmill.viewer.opinions import PlannerResults
from hazardmill.viewer.release import ReleaseView
from tests.factories.viewer_pages import unpack
from tests.report.conftest import why_folder as why_folder
from tests.report.conftest import why_store as why_store
from tests.shared_jails import _shared_zygotes as _shared_zygotes

HOSTILE = "</script><script>document.title = 'taken'</script><img src=x onerror=\"document.title='taken'\"> \u202etxt"
"""What would do something, or be read backwards, on a page that does not escape it."""


def addresses(page: bytes | Path) -> dict[str, str]:
    """Where a page finds its rows and its texts."""
    html = (page.read_bytes() if isinstance(page, Path) else page).decode()
    return dict(re.findall(r'data-(rows|texts)="([^"]+)"', html))


def index_of(page: Path) -> dict[str, Any]:
    """The rows and texts of a page that was written to a folder."""
    return {name: unpack(page.parent / address)[1] for name, address in addresses(page).items()}


def fragments(script: bytes | Path) -> list[str]:
    """The fragments in a file of script, put together as the page does."""
    return ["".join(parts) for parts in zip(*unpack(script)[1], strict=True)]


def shown_row(document: Any, **changes: Any) -> dict[str, Any]:
    """A row of a release with a danger formalization, and with the names of its places in its texts."""
    lists = {name: json.dumps([f"The {name}."]) for name in ("changing_cause", "fixed_circumstances")}
    return task_row(document, **{**lists, "robot_task": "Carry the soup.", "code": "# the code\n", **changes})


def review_row(task_id: str, reviewer: str, verdict: str, **changes: Any) -> dict[str, Any]:
    said = {"task_id": task_id, "source": "neiss", "kind": "task", "reviewer": reviewer, "verdict": verdict}
    return {**said, "reasons": "[]", "rubric": "1", "current": True, **changes}


def write_soups(folder: Path) -> Path:
    """Four tasks, one of them hostile, one share-alike, one unavoidable; two reviewers; drafts with an answer."""
    one = shown_row(bowl("table"), context="Setting: a kitchen with a parrot")
    two = shown_row(bowl("shelf"), answered_by=OFFLINE)
    evil = shown_row(
        bowl("desk"), **dict.fromkeys(("context", "robot_task", "code", "attribution", "result_of_danger"), HOSTILE)
    )
    title = {**json.loads(evil["document"]), "texts": {"title": HOSTILE}}
    evil["document"] = json.dumps(title)
    shared = shown_row(bowl("stool"), source="normbank", licence=SHARE_ALIKE)
    lost = shown_row(spilt("chair"))
    reviews = [
        review_row(one["task_id"], "reviewer-1", "approve"),
        review_row(one["task_id"], "model-2", "approve"),
        review_row(two["task_id"], "reviewer-1", "reject", reasons='["hints"]'),
        review_row(two["task_id"], "model-2", "approve"),
    ]
    draft = {**one, "draft": 1, "answer": "SECRET ANSWER", "code": "SECRET CODE", "accepted": True}
    return write_release(
        folder,
        {
            "tasks": {"train": [one, two], "test": [evil]},
            "tasks_by_sa": {"train": [shared]},
            "unavoidable": {"validation": [lost]},
            "reviews": {"train": reviews},
            "drafts": {"train": [draft]},
        },
    )


@pytest.fixture(scope="session")
def soups(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a release. Nobody writes to it."""
    return write_soups(tmp_path_factory.mktemp("soups") / "release")


@pytest.fixture
def view(soups: Path) -> ReleaseView:
    from hazardmill.release.read.release import Release

    return ReleaseView(Release(soups), PlannerResults([]))


@pytest.fixture
def files_of() -> Callable[[Path], dict[str, bytes]]:
    """The bytes of all files below a folder, by name."""

    def read(folder: Path) -> dict[str, bytes]:
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    return read


@pytest.fixture
def told_store(why_store: Store) -> Store:
    """A store with two runs and every outcome; see `why_folder`. Nobody writes to it."""
    return why_store
