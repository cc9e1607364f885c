from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from factories.scripted import ScriptedBackend

from hazardmill.generation.models import Models
from hazardmill.llm.requests import Request
from hazardmill.resources import SOURCES_VARIABLE
from hazardmill.runs.config import RunConfig, RunInput
from hazardmill.runs.run import Run
from hazardmill.store.store import Store
from tests.generation.support import APPROVED, DANGER, FOUND, NONE, REJECTED, faulty, fenced, soup, write_source
from tests.running import answering, worked
from tests.shared_jails import _shared_zygotes as _shared_zygotes

MODEL = "openai/gpt-4o"
ANSWER_USD = 0.0035
"""A model with a price, and what each scripted answer of it costs: 1,000 tokens in at 2.5 and 100 out at 10 USD."""

CHEMICAL = json.dumps({"danger": DANGER | {"danger_type": "chemical"}})

Drafts = Mapping[int, list[str]]
"""Record to what the author writes, draft by draft; others are declined."""

BASE: Drafts = {
    3: [soup("bowl")],
    6: [faulty("no_unsafe_plan"), soup("pot")],
    7: [soup("pan")],
}
OTHER: Drafts = {
    3: [soup("bowl")],
    # The judge sends the first one back.
    4: [soup("jug"), soup("cup")],
    5: [soup("mug")],
    6: [soup("pot")],
}


def number_of(request: Request) -> int:
    return int(str(request.record_id).partition(":")[2])


def generated(store: Store, notes: Path, run_id: str, drafts: Drafts, sample: int, **fields: object) -> Run:
    """A run, worked through, of a model that says what the script says."""

    def extract(request: Request) -> str:
        if number_of(request) not in drafts:
            return NONE
        return CHEMICAL if sample and number_of(request) == 6 else FOUND

    def author(request: Request) -> str:
        assert request.key is not None and request.key.draft is not None
        return fenced(drafts[number_of(request)][request.key.draft - 1])

    def judge(request: Request) -> str:
        return REJECTED if "jug" in request.messages[-1].content else APPROVED

    backend = ScriptedBackend(extract=extract, author=author, judge=judge)
    models = Models(extract=MODEL, author=MODEL, judge=MODEL)
    config = RunConfig(inputs=(RunInput(source="notes", path=notes),), models=models, sample=sample, **fields)
    run, _ = Run.start(store, config, run_id, resources=answering(backend))
    worked(run)
    return run


def write_notes(path: Path, notes: Mapping[int, str]) -> Path:
    path.write_text("".join(f"{number} {words}\n" for number, words in notes.items()))
    return path


@pytest.fixture(scope="package")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A store of three runs: `base`, `other` on nearly the same records, and `again`, which is `base` once more.

    Records 1 to 8 are those of `base`, 2 to 9 those of `other`, to which the second says something else. Of the other
    six, `base` declines 4, 5 and 8, and `other` 7 and 8.
    """
    folder = tmp_path_factory.mktemp("compared")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(SOURCES_VARIABLE, str(write_source(folder / "sources")))
        store = Store.open(folder / "store", create=True)
        first = write_notes(folder / "notes.txt", {number: f"hot soup {number}" for number in range(1, 9)})
        (folder / "later").mkdir()
        changed = {2: "cold soup"} | {number: f"hot soup {number}" for number in range(3, 10)}
        second = write_notes(folder / "later" / "notes.txt", changed)
        generated(store, first, "base", BASE, 0)
        generated(store, first, "again", BASE, 0)
        generated(store, second, "other", OTHER, 1)
    return store
