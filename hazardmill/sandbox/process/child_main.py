"""What every jailed process does, however it was started: put up the walls, run the code, report, end.

Two lines go out, JSON each: which layers stand (written before the code runs, so it can be trusted), then a report
(written after, so it cannot).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn, Self

from hazardmill.sandbox.process import isolation, probe, reports


@dataclass(frozen=True, slots=True)
class Order:
    """What a jailed process has to do, apart from the code.

    Attributes:
        resources: What the rlimits layer grants.
    """

    wanted: tuple[str, ...]
    """The layers to put up."""
    resources: isolation.Resources
    strict: bool
    """Whether the process ends without running anything if a layer is missing."""
    probe: dict[str, Any] | None
    """What to try instead of running code, as arguments of ``probe.abilities``; None to run code."""

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Self:
        """Read an order as ``Jail`` wrote it: ``layers``, ``resources``, ``strict``, ``probe``."""
        return cls(tuple(value["layers"]), isolation.Resources(**value["resources"]), value["strict"], value["probe"])


def live(order: Order, code: str, output: int, parent: int, run: Callable[[str], bytes]) -> NoReturn:
    """Carry out one order behind walls that this process never leaves; then end the process.

    Args:
        order: What to do.
        code: The untrusted code.
        output: Descriptor of the pipe that both lines go to.
        parent: Id of the process to die with.
        run: The workload's ``run``.
    """
    isolation.die_first()
    out = isolation.close_descriptors(output)
    standing, missing = isolation.apply(order.wanted, order.resources, parent)
    _write(out, reports.line({"layers": standing, "missing": missing}))
    if order.strict and set(standing) != set(order.wanted):
        os._exit(1)
    if order.probe is not None:
        tried = probe.abilities(**order.probe, parent=parent)
        _write(out, reports.line({"abilities": tried}))
    else:
        _write(out, run(code))
    os._exit(0)


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]
