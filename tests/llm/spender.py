"""A worker that spends from a shared budget until it is reached; run as a process of its own.

Writes a line a reservation before it is used, and one when it is settled, as the ledger does, to standard output.
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
from pathlib import Path

from hazardmill.errors import BudgetReached
from hazardmill.llm.limits.budget import Budget
from hazardmill.llm.limits.shared_budget import SharedBudgetFile


def say(number: int, usd: float) -> None:
    """One line in one system call: a kill leaves all of it or nothing."""
    os.write(sys.stdout.fileno(), f"{number} {usd}\n".encode())


async def spend(folder: Path, worker: str, limit_usd: float, spent_usd: float, dearest_usd: float, seed: int) -> None:
    draw = random.Random(seed)
    with SharedBudgetFile(folder, "shared", worker, limit_usd, spent_usd) as shared:
        budget = Budget(limit_usd, spent_usd, shared=shared)

        async def one(number: int) -> None:
            upper = dearest_usd * draw.random()
            reservation = await budget.reserve(upper)
            say(number, upper)
            for _ in range(draw.randrange(4)):
                await asyncio.sleep(0)
            cost = draw.choice([None, upper * draw.random()])
            say(number, upper if cost is None else cost)
            reservation.settle(cost)

        number = 0
        while True:
            ends = await asyncio.gather(*(one(number + n) for n in range(4)), return_exceptions=True)
            number += 4
            unexpected = [end for end in ends if isinstance(end, Exception) and not isinstance(end, BudgetReached)]
            if unexpected:
                raise unexpected[0]
            if any(ends):
                break
        budget.close()


if __name__ == "__main__":
    folder, worker, *numbers, seed = sys.argv[1:]
    asyncio.run(spend(Path(folder), worker, *map(float, numbers), int(seed)))
