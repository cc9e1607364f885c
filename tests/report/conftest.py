from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from factories.release_store import SOURCES, run_offline
from factories.scripted import Said, ScriptedBackend

from hazardmill.errors import ProviderError, RequestRefused
from hazardmill.generation.models import Models
from hazardmill.ingest.sources import load_source
from hazardmill.llm.requests import Completion, Request, Usage
from hazardmill.resources import SOURCES_VARIABLE
from hazardmill.runs.config import RunConfig, RunInput
from hazardmill.runs.run import Run
from hazardmill.store.store import Store
from tests.figures_once import _figures_once as _figures_once
from tests.figures_once import drawn_anew as drawn_anew
from tests.generation.support import APPROVED, FOUND, NONE, REJECTED, UNAVOIDABLE, faulty, fenced, soup, write_source
from tests.once import store_once
from tests.running import answering, worked
from tests.shared_jails import _shared_zygotes as _shared_zygotes

from .browsing import chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser

HOSTILE = "<script>alert('x')</script> \x1b[31m"
MODEL = "openai/gpt-4o"
"""A model with a price: each scripted answer costs 0.0035 USD."""


def _extracted(request: Request) -> Said:
    turn = sum(message.role == "user" for message in request.messages)
    return {2: NONE, 6: f"no JSON, turn {turn}", 7: UNAVOIDABLE}.get(_number(request), FOUND)


def _authored(request: Request) -> Said:
    assert request.key is not None
    number, draft = _number(request), request.key.draft
    if number == 1 and draft == 1:
        # Nobody knows what this one cost.
        return Completion(text=fenced(faulty("syntax")), model_answered="toy", finish_reason="stop", usage=Usage())
    if number == 1:
        return fenced(faulty("leaked_name")) if draft == 2 else fenced(soup("bowl"))
    if number == 8:
        return RequestRefused("the credit is used up", remedy="pay")
    code = {
        3: faulty("no_unsafe_plan"),
        4: soup("cup"),
        5: soup("bowl"),
        7: faulty("no_safe_plan").replace("bowl", "mug"),
    }
    return fenced(code[number])


def _judged(request: Request) -> Said:
    return REJECTED if _number(request) == 4 else APPROVED


def _number(request: Request) -> int:
    return int(str(request.record_id).partition(":")[2])


@pytest.fixture(scope="package")
def why_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store of two runs over one file of notes, one for every way to end.

    Run `first`: 1 accepted with the third draft, 2 no danger, 3 execution failed, 4 quality failed, 5 duplicate of 1,
    6 extraction failed, 7 accepted and unavoidable, 8 pending; then run `again` over 1 alone, out of the ledger. Notes
    with a 9 were ingested and met by none, and a line without text was refused.
    """
    folder = tmp_path_factory.mktemp("why")
    write_source(folder / "sources")
    notes = folder / "notes.txt"
    notes.write_text("".join(f"{n} hot soup {n} {HOSTILE}\n" for n in range(1, 10)) + "10\n")
    backend = ScriptedBackend(extract=_extracted, author=_authored, judge=_judged, host="api.example")
    models = Models(extract=MODEL, author=MODEL, judge=MODEL)
    store = Store.open(folder / "store", create=True)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv(SOURCES_VARIABLE, str(folder / "sources"))

        def started(run_id: str, limit: int | None, path: Path | None) -> Run:
            item = RunInput(source="notes", path=path, limit=limit)
            config = RunConfig(inputs=(item,), models=models, wave_size=7)
            return Run.start(store, config, run_id, resources=answering(backend))[0]

        from hazardmill.ingest.intake import ingest_into

        ingest_into(store, "notes", notes)
        with pytest.raises(ProviderError):
            worked(started("first", 8, notes))
        worked(started("again", 1, None))
    return folder


@pytest.fixture
def why_store(why_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """The store of `why_folder`, whose source is known while the test runs."""
    monkeypatch.setenv(SOURCES_VARIABLE, str(why_folder / "sources"))
    yield Store.open(why_folder / "store")


@pytest.fixture(scope="package")
def offline_store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Two runs by the offline author: `all` over ten records of each shipped sample, `few` over three of two."""

    def make(path: Path) -> None:
        for run_id, names, limit in (("all", SOURCES, 10), ("few", ("neiss", "bddl"), 3)):
            run_offline(path, limit, run_id, {name: load_source(name).sample for name in names})

    return store_once(tmp_path_factory, "all-and-few", make)


# Of a module and no longer: tests of other modules run event loops of their own.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as launched:
        yield launched
