"""The workload for drafts, run here and now: the jail's tests run it behind walls."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from hazardmill.sandbox.process import reports
from hazardmill.sandbox.workloads import authoring


@pytest.fixture(autouse=True)
def no_draft_stays() -> Iterator[None]:
    yield
    sys.modules.pop(authoring.MODULE_NAME, None)


def test_trying_it_leaves_no_draft_behind() -> None:
    authoring.prepare()
    assert authoring.MODULE_NAME not in sys.modules


def test_what_does_not_work_is_not_prepared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(authoring, "BASE_CLASS", "NoSuchClass")
    with pytest.raises(RuntimeError, match=r"does not work here: AttributeError: module .* has no attribute"):
        authoring.prepare()


def test_no_memory_is_told_even_where_there_is_none_to_tell_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def exhausted(*parts: object) -> dict[str, object]:
        raise MemoryError

    monkeypatch.setattr(reports, "_report", exhausted)
    assert authoring.run("raise MemoryError") == reports._OUT_OF_MEMORY
