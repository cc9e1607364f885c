"""What every jailed process does, however it came to be: put up the walls, run the code, report, end.

Two lines go out, JSON each: which layers stand (written before the code runs, so it can be trusted), then a report
(written after, so it cannot).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, NoReturn

from hazardmill.sandbox import layers, probe, reports


def live(order: dict[str, Any], code: str, output: int, parent: int, run: Callable[[str], bytes]) -> NoReturn:
    """Carry out one order behind walls that this process never leaves.

    Args:
        order: ``layers`` wanted; ``resources``, the grants of the rlimits layer; ``strict``, whether nothing may run
            where a layer is missing; ``probe``, what to try instead of running code, or None.
        code: What nobody trusts.
        output: Descriptor of the pipe that both lines go to.
        parent: Process to die with.
        run: The workload's.
    """
    layers.die_first()
    out = layers.close_descriptors(output)
    standing, missing = layers.apply(order["layers"], layers.Resources(**order["resources"]), parent)
    _write(out, reports.line({"layers": standing, "missing": missing}))
    if order["strict"] and set(standing) != set(order["layers"]):
        os._exit(1)
    if order["probe"] is not None:
        tried = probe.abilities(**order["probe"], parent=parent)
        _write(out, reports.line({"abilities": tried}))
    else:
        _write(out, run(code))
    os._exit(0)


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]
