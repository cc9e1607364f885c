"""Memory of a build, its workers included, must not hang on how many tasks there are: 12,279 have to fit into 2 GB."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from factories.release_store import multiplied

from hazardmill.store.store import Store
from tests.sizes import sized

pytestmark = [pytest.mark.full, pytest.mark.timeout(600)]

# Peaks of equal builds differ by some 70 MB, which is extrapolated.
FEW, MANY, ALL = *sized((700, 2_200), (1_000, 2_500)), 12_279
LIMIT = 2e9

BUILD = """
import sys
from pathlib import Path
from hazardmill.release.build.build import build
from hazardmill.release.build.options import Options
from hazardmill.store.store import Store
if __name__ == "__main__":
    options = Options(version="1.0.0", policy="none", waive={"corpus": "few"}, jobs=2)
    print(build(Store.open(sys.argv[1]), None, options, Path(sys.argv[2])).manifest.tasks)
"""


def test_all_tasks_fit_into_two_gigabytes(model_store: Store, tmp_path: Path) -> None:
    (tmp_path / "build_it.py").write_text(BUILD)
    peaks = {tasks: peak_of(model_store, tmp_path / str(tasks), tasks) for tasks in (FEW, MANY)}
    a_task = max(0.0, peaks[MANY] - peaks[FEW]) / (MANY - FEW)
    # With fewer, what grows is rows that wait until a row group is full, which says nothing of many.
    assert peaks[MANY] + (ALL - MANY) * a_task < LIMIT, json.dumps(peaks)


def peak_of(store: Store, folder: Path, tasks: int) -> int:
    folder.mkdir()
    large = multiplied(store, folder / "store", tasks)
    command = [sys.executable, str(folder.parent / "build_it.py"), str(large.path), str(folder / "release")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        peak = 0
        while child.poll() is None:
            peak = max(peak, sum(map(resident_bytes, family(child.pid))))
            time.sleep(0.05)
        assert child.stdout is not None
        assert child.stdout.read() == f"{tasks}\n"
    assert child.returncode == 0
    return peak


def family(pid: int) -> list[int]:
    found = [pid]
    for each in found:
        try:
            for thread in Path(f"/proc/{each}/task").iterdir():
                found += map(int, (thread / "children").read_text().split())
        except OSError:
            continue
    return found


def resident_bytes(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        return 0
