"""Tests of the names of runs."""

from __future__ import annotations

import shlex

from hazardmill.store.run_ids import unknown_run


def test_the_remedy_for_an_unknown_run_lists_the_runs_of_the_same_store() -> None:
    error = unknown_run("generate-1", [], "/data/my store")
    assert error.remedy is not None
    typed = error.remedy.removeprefix("see: ")
    assert shlex.split(typed) == ["hazardmill", "run", "list", "--store", "/data/my store"]
