"""Which language model each stage asks."""

from __future__ import annotations

from hazardmill.records import FrozenModel


class Models(FrozenModel):
    """The model asked at each stage."""

    extract: str
    author: str
    judge: str
