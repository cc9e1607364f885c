"""A hostile draft in a run of 100 ends its record, and costs the run little time and memory."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from factories.scripted import ScriptedBackend

from hazardmill.generation.execute import prove
from hazardmill.records import MAX_DRAFTS
from hazardmill.sandbox.jail import Jail
from hazardmill.store.store import Store
from tests.generation.support import SOUP, fenced, renamed
from tests.generation.test_execute import find_check, ran
from tests.running import Use, worked

from .test_run import a_task_each, ends, number_of, started

HOSTILE = """\
from hazardmill.formalism.authoring import PlanningTask


class FillCups(PlanningTask):
    title = "Fill the cups."
    realised_by = "pour"

    def build(self):
        cup = self.type("cup")
        cups = self.objects(cup, *[f"cup_{i}" for i in range(400)])
        level = self.integer("level", cup, cup)
        done = self.fluent("done")
        hot = self.context("soup_is_hot")
        self.context("window_is_open")
        pour = self.action("pour", a=cup)
        pour.increases(level(pour.a, pour.a), 1)
        self.action("finish").requires(level(cups[0], cups[0]) > 3).sets(done)
        self.initially(hot)
        self.goal(done)
        self.danger(pour, when=hot)
"""


@pytest.mark.full
def test_the_draft_of_750_bytes_passes_the_jail_and_is_refused_at_once(jail: Jail) -> None:
    before = time.process_time()
    execution = ran(HOSTILE, jail, 200_000)
    assert time.process_time() - before < 5
    assert execution.document is not None
    check = find_check(execution, "search")
    assert (check.passed, check.reason) == (False, "too_large")
    assert "160,000 ground integer fluents; the limit is 20,000" in (check.message or "")
    assert check.mend
    assert prove(execution.document, 200_000).checks == execution.checks


@pytest.mark.full
def test_it_ends_one_record_of_a_run(store: Store, notes: Path, use: Use) -> None:
    notes.write_text("".join(f"{n} hot soup {n}\n" for n in range(1, 101)))

    def draft(request: object) -> str:
        number = number_of(request)
        things = [f"{a}{b}" for a in ("bowl", "cup", "mug", "pot") for b in "abcdefghijklmnopqrstuvwxyz"]
        return fenced(HOSTILE if number == 50 else renamed(things[number]))

    backend: ScriptedBackend = use(a_task_each(author=draft))
    counts = worked(started(store, notes, use))
    assert counts["execution_failed"] == 1 and counts["accepted"] + counts["duplicate"] == 99
    assert ends(store)["notes:50"] == "execution_failed"
    (row,) = (row for row in store.rows("outcomes") if row["record_id"] == "notes:50")
    assert row["reason"] == "too_large"
    assert backend.count("author", "notes:50") == MAX_DRAFTS


# A child begins with the peak of whoever started it: here somebody small.
MEASURED = """
import json, resource, subprocess, sys
with open(sys.argv[1], "w") as out:
    subprocess.run(sys.argv[2:], stdout=out)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([used.ru_utime + used.ru_stime, used.ru_maxrss * 1024]))
"""


@pytest.mark.full
def test_it_costs_task_check_less_than_ten_seconds_and_a_gigabyte(tmp_path: Path) -> None:
    seconds: list[float] = []
    peaks: list[int] = []
    for hostile in (False, True):
        folder = tmp_path / str(hostile)
        folder.mkdir()
        for number in range(100):
            (folder / f"{number:03}.py").write_text(HOSTILE if hostile and number == 50 else SOUP)
        command = [sys.executable, "-m", "hazardmill.cli.main", "task", "check", str(folder), "--json", "--jobs", "1"]
        out = tmp_path / "out.json"
        used = subprocess.run([sys.executable, "-c", MEASURED, out, *command], capture_output=True, check=True).stdout
        told = json.loads(out.read_text())
        assert (told["accepted"], told["failed"]) == ((99, 1) if hostile else (100, 0))
        for measured, value in zip((seconds, peaks), json.loads(used), strict=True):
            measured.append(value)
    assert seconds[1] - seconds[0] < 10
    assert max(peaks) < 300_000_000
