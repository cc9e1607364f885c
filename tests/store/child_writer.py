"""A process that writes a run, says what was acknowledged, and may kill itself at a named point.

python -m store.child_writer STORE RUN_ID GROUPS GROUPS_A_BATCH [POINT OCCURRENCE [LIMIT]]
python -m store.child_writer STORE compact|rebuild 0 0 [POINT OCCURRENCE]

``POINT`` ``journal.torn`` stops in the middle of a write; ``LIMIT`` is the size in bytes no file may exceed.
"""

from __future__ import annotations

import os
import resource
import signal
import sys

from hazardmill.errors import StoreError
from hazardmill.store import Store
from store.factories import call, outcome


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def main(place: str, run_id: str, groups: int, batch: int, fatal: str = "", occurrence: int = 0, limit: int = 0) -> int:
    passed: dict[str, int] = {}
    real_write = os.write

    def reached(point: str) -> bool:
        passed[point] = passed.get(point, 0) + 1
        return point == fatal and passed[point] == occurrence

    def fault(point: str) -> None:
        if reached(point):
            die()

    def write(descriptor: int, data: bytes) -> int:
        if descriptor != 1 and reached("journal.torn"):
            real_write(descriptor, bytes(data)[: len(data) // 2])
            die()
        return real_write(descriptor, data)

    os.write = write
    if limit:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    if run_id in ("compact", "rebuild"):
        getattr(Store(place, fault=fault), run_id)()
        return 0
    try:
        with Store(place, fault=fault).writer(run_id) as writer:
            for number in range(groups):
                name = f"{run_id}:{number}"
                group = {
                    "llm_calls": [call(name, run_id=run_id, answer="a" * 500)],
                    "outcomes": [outcome(name, run_id=run_id)],
                    "records": [],
                }
                writer.append_sync(group)
                os.write(1, f"{name}\n".encode())
                if number % batch == batch - 1:
                    writer.roll()
    except StoreError as error:
        print(error, file=sys.stderr)
        return 3
    return 0


def run(place: str, run_id: str, groups: str, batch: str, *rest: str) -> int:
    """The same with the words of a command."""
    return main(place, run_id, int(groups), int(batch), *rest[:1], *map(int, rest[1:]))


if __name__ == "__main__":
    sys.exit(run(*sys.argv[1:]))
