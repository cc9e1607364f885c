"""Opening the store that a caller or the settings name."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hazardmill.store.store import Store


def open_store(path: str | os.PathLike[str] | None = None, *, create: bool = False) -> Store:
    """Return the store at a path, or that of the settings.

    Args:
        path: Folder or address of the store; None for the store of the settings.
        create: Whether the store may not exist yet; it is then created with its first row.

    Raises:
        StoreError: There is no store and ``create`` is not set, or it cannot be read.
        SettingsError: The settings cannot be read.
    """
    # Imported here: every command imports this module, and these imports take half a second.
    from hazardmill.settings import load_settings
    from hazardmill.store.store import Store

    place = os.fspath(path) if path is not None else load_settings().store
    # A command that fails before it writes leaves no empty store behind.
    return Store(place) if create else Store.open(place)
