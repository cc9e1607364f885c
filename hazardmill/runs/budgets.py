"""The money of a run: what it may spend, what all its sessions have spent, and which budget would let it finish.

A run's own budget is kept by its ledger alone. A shared one (``ModelAccess.budget_id``) lies in the store, as
``budgets/<name>.json`` (``hazardmill.llm.limits.shared_budget``), and each run leases parts of it under its own id.
Runs that share a budget also keep their limits together (``hazardmill.llm.limits.shared_limits``).
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Final

from hazardmill.errors import SettingsError, StoreLocked
from hazardmill.llm.access import ModelAccess
from hazardmill.llm.charged_prices import charged_prices
from hazardmill.llm.ledger import Ledger
from hazardmill.llm.limits.budget import Budget
from hazardmill.llm.limits.shared_budget import SharedBudgetFile
from hazardmill.llm.limits.shared_limits import SharedLimits
from hazardmill.llm.prices import Prices, check_prices
from hazardmill.store.store import Store

FOLDER: Final = "budgets"
"""Folder of a store for shared budgets and limits."""

_MARGIN: Final = 1.25
"""Factor on what the remaining records would cost at the price of the finished ones."""

_AT_LEAST: Final = 1.5
"""Smallest factor on the budget that was reached, lest the new one be reached at once."""

_BLINDLY: Final = 3.0
"""Factor on a budget that was reached before any record was finished, when there is nothing to judge by."""


def check_budget(access: ModelAccess, prices: Prices) -> None:
    """Refuse a budget that cannot be kept, before anything is sent.

    Args:
        access: How the run reaches its models, and its budget.
        prices: The price list.

    Raises:
        SettingsError: The price of a model that may be asked is unknown.
    """
    if access.budget_usd is not None and not access.paid_before:
        prices = charged_prices(access, prices)
        check_prices(access.primary_models, prices, batch=access.channel == "batch")
        # Fallbacks are asked the ordinary way.
        check_prices(access.fallback_models, prices)


@contextmanager
def open_budget(store: Store, run_id: str, access: ModelAccess, ledger: Ledger) -> Iterator[Budget | None]:
    """Yield the budget of one session of a run, less what earlier sessions spent; None if there is no limit.

    Args:
        store: The store of the run; a shared budget lies in its folder.
        run_id: The run.
        access: Its limit and, if it is shared, the budget's name.
        ledger: The ledger of the run, which knows what it spent.

    Raises:
        SettingsError: The run has attempts without an upper bound of their cost, or the budget is shared and the store
            is in a bucket.
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


@contextmanager
def open_shared_limits(store: Store, run_id: str, access: ModelAccess) -> Iterator[SharedLimits | None]:
    """Yield the limits that a run keeps together with those that share its budget; None if it shares none.

    Args:
        store: The store of the run; the limits lie beside the budget.
        run_id: The run.
        access: Its limits and the budget's name.

    Raises:
        UsageError: The budget's name cannot be part of a file name.
        StoreLocked: Another process keeps the limits as this run.
        StoreError: The file of the limits cannot be read or written.
    """
    if access.budget_id is None or not access.asks_provider or store.is_in_bucket:
        # Without a provider there are no limits to keep.
        yield None
        return
    limits = (access.concurrency, access.requests_per_minute, access.tokens_per_minute)
    with SharedLimits(store.path / FOLDER, access.budget_id, run_id, *limits) as shared:
        yield shared


def _reclaim(store: Store, shared: SharedBudgetFile) -> None:
    """Return to a shared budget what abandoned runs leased and did not spend, once for each."""
    for worker, opening in shared.dead_workers().items():
        # Outside the lock of the budget, because reading a ledger may take long and others go on spending.
        spent = bound_spending(store, worker)
        # A run that has come back meanwhile corrects its own lease.
        with contextlib.suppress(StoreLocked):
            if spent is not None:
                shared.reclaim(worker, spent, opening)


def bound_spending(store: Store, run_id: str) -> float | None:
    """Return the most that a run can have spent, in USD; None if nothing bounds it."""
    uppers = [row["usd_upper"] for row in store.rows("llm_calls", {"run_id": run_id}, ["usd_upper"])]
    return None if None in uppers else math.fsum(uppers)


def suggest_budget(store: Store, run_id: str, limit_usd: float, records: int) -> float:
    """Return a budget, in USD, that should bring a run to its end.

    It is judged by what the finished records cost, and rounded up to two significant figures.

    Args:
        store: The store of the run.
        run_id: The run, which has reached its budget.
        limit_usd: That budget.
        records: All records of the run.
    """
    done = store.count("outcomes", {"run_id": run_id})
    spent = bound_spending(store, run_id)
    wanted = limit_usd * (_AT_LEAST if done else _BLINDLY)
    if done and spent is not None:
        wanted = max(wanted, limit_usd + _MARGIN * spent / done * (records - done))
    unit = 10 ** (math.floor(math.log10(wanted)) - 1)
    # By way of text, because a decimal fraction is not exact in binary.
    return float(f"{math.ceil(round(wanted / unit, 6)) * unit:.12g}")
