"""The money of a run: what it may spend, what it has spent in all its sessions, and what to allow it when that is gone.

A budget of its own is kept by the run's ledger alone. One that is shared (``ModelAccess.budget_id``) lies in the store,
as ``budgets/<name>.json`` (``hazardmill.llm.traffic.shared_budget``), and each run takes slices of it under its own id.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Final

from hazardmill.errors import SettingsError, StoreLocked
from hazardmill.llm.access import ModelAccess
from hazardmill.llm.ledger import Ledger
from hazardmill.llm.prices import Prices, check_prices
from hazardmill.llm.traffic.budget import Budget
from hazardmill.llm.traffic.shared_budget import SharedBudgetFile
from hazardmill.store.store import Store

FOLDER: Final = "budgets"
"""Of a store: where shared budgets lie."""

_MARGIN: Final = 1.25
"""What is suggested for the records left is this many times what they would cost at the price of those done."""

_AT_LEAST: Final = 1.5
"""Times the budget that is reached: a little more than it would be reached again at once."""

_BLINDLY: Final = 3.0
"""Times the budget that is reached before any record was finished: then there is nothing to judge by."""


def check_budget(access: ModelAccess, prices: Prices) -> None:
    """Refuse a budget that cannot be kept, before anything is sent.

    Raises:
        SettingsError: The price of a model that may be asked is unknown.
    """
    if access.budget_usd is not None and not access.paid_before:
        check_prices(access.all_models, prices)


@contextmanager
def open_budget(store: Store, run_id: str, access: ModelAccess, ledger: Ledger) -> Iterator[Budget | None]:
    """The budget of one session of a run, with what earlier ones spent counted; null if there is no limit.

    Raises:
        SettingsError: The run holds attempts that have no upper bound of their cost.
        StoreError: The shared budget cannot be read or written.
    """
    if access.budget_usd is None:
        yield None
        return
    spent = ledger.spent_usd()
    with ExitStack() as stack:
        shared = None
        if access.budget_id is not None:
            if store.is_in_bucket:
                raise SettingsError(
                    f"the budget {access.budget_id} cannot be shared: a shared budget needs a store in a folder",
                    remedy="give each run a budget of its own: --budget-usd without --budget-id",
                )
            folder = store.path / FOLDER
            shared = stack.enter_context(SharedBudgetFile(folder, access.budget_id, run_id, access.budget_usd, spent))
            _reclaim(store, shared)
        budget = Budget(access.budget_usd, spent, shared=shared)
        stack.callback(budget.close)
        yield budget


def _reclaim(store: Store, shared: SharedBudgetFile) -> None:
    """Take back what runs that nobody works on any more leased and did not spend; of each once."""
    for worker, opening in shared.dead_workers().items():
        # Reads the ledger, which may take long: nobody who spends from this budget waits for that.
        spent = bound_spending(store, worker)
        # One that came back meanwhile puts its own lease right.
        with contextlib.suppress(StoreLocked):
            if spent is not None:
                shared.reclaim(worker, spent, opening)


def bound_spending(store: Store, run_id: str) -> float | None:
    """USD that a run spent at most; null where nothing bounds that."""
    uppers = [row["usd_upper"] for row in store.rows("llm_calls", {"run_id": run_id}, ["usd_upper"])]
    return None if None in uppers else math.fsum(uppers)


def suggest_budget(store: Store, run_id: str, limit_usd: float, records: int) -> float:
    """USD that should bring a run to its end, judged by what its finished records took; two figures, rounded up.

    Args:
        store: Its store.
        run_id: The run, which reached its budget.
        limit_usd: That budget.
        records: How many records it has.
    """
    done = store.count("outcomes", {"run_id": run_id})
    spent = bound_spending(store, run_id)
    wanted = limit_usd * (_AT_LEAST if done else _BLINDLY)
    if done and spent is not None:
        wanted = max(wanted, limit_usd + _MARGIN * spent / done * (records - done))
    unit = 10 ** (math.floor(math.log10(wanted)) - 1)
    # Through text, for a tenth is no power of two.
    return float(f"{math.ceil(round(wanted / unit, 6)) * unit:.12g}")
