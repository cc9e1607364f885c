"""Which language model each stage asks."""

from __future__ import annotations

from hazardmill.records import FrozenModel


class Models(FrozenModel):
    """The model asked at each stage, as ``provider/model``; or ``offline-author``, or ``recorded``."""

    extract: str
    author: str
    judge: str
