"""The store that a caller or the settings name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hazardmill.store.store import Store


def open_store(path: Path | None, *, create: bool = False) -> Store:
    """The store at ``path``, or the one of the settings; with ``create`` its first row makes it, if it is not there."""
    # Every command imports this module, and these take half a second.
    from hazardmill.settings import load_settings
    from hazardmill.store.store import Store

    place = path if path is not None else load_settings().store
    # A command that fails before it writes leaves no empty store behind.
    return Store(place) if create else Store.open(place)
