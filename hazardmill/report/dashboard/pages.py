"""The pages on money and yield that answer an operator's questions, drawn from a store.

The other three, on what runs, failed and comes next, need a server of Prefect too: ``flows/pages.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from hazardmill.report.dashboard.history import History
from hazardmill.report.dashboard.links import PAGES, link_artifact, link_pages
from hazardmill.report.dashboard.spending import read_spending, write_spending
from hazardmill.report.dashboard.task_cost import LOOKED_AT, write_task_cost
from hazardmill.report.dashboard.writing import DashboardPanel, join_blocks, write_code
from hazardmill.report.dashboard.yields import write_yields

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from hazardmill.store.store import Store


def draw_store_pages(store: Store, now: datetime | None = None) -> list[DashboardPanel]:
    """Draw ``page-cost``, ``page-task-cost`` and ``page-yield`` of a store.

    Args:
        store: The store, which is only read.
        now: The time that counts as now; null is the time of the call.

    Returns:
        The three pages, in this order.

    Raises:
        StoreError: The store cannot be read.
    """
    from hazardmill.store.address import display_name

    at, name = now or datetime.now(UTC), display_name(store.path)
    return store.query(lambda views: list(_draw(views, at, name)))


def begin_page(key: str, now: datetime, store: str) -> Iterator[str]:
    """Yield the first blocks of a page: its title, links to the other pages, and when it was drawn from what.

    Args:
        key: Key of the page.
        now: When it is drawn.
        store: Address of the store, for people.
    """
    yield f"## {PAGES[key]}"
    yield link_pages(key)
    yield f"Drawn {now.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC from the store {write_code(store, longest=None)}."


def finish_page(key: str, blocks: Iterator[str]) -> DashboardPanel:
    """Return a page of some blocks."""
    return DashboardPanel(key, join_blocks(blocks), PAGES[key])


def _draw(views: DuckDBPyConnection, now: datetime, store: str) -> Iterator[DashboardPanel]:
    spent = read_spending(views, now)
    history = History(views, shown=LOOKED_AT)

    def cost() -> Iterator[str]:
        yield from begin_page("page-cost", now, store)
        yield from write_spending(spent, now)
        yield f"All sources since the beginning: {link_artifact('cost-all')}."

    def task_cost() -> Iterator[str]:
        yield from begin_page("page-task-cost", now, store)
        yield from write_task_cost(history)

    def yields() -> Iterator[str]:
        yield from begin_page("page-yield", now, store)
        yield from write_yields(views, history, now)

    yield finish_page("page-cost", cost())
    yield finish_page("page-task-cost", task_cost())
    yield finish_page("page-yield", yields())
