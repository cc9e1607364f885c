"""What is asked of a release."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import Field, field_validator

from hazardmill.quality.corpus_thresholds import Thresholds
from hazardmill.records import FrozenModel

ReleasePolicy = Literal["any-reject", "majority", "adjudicated", "none"]
"""A policy of the review, or ``none``: nobody's opinion counts, and the card says so."""

WAIVABLE: Final = ("corpus",)
"""Gates that may be waived with a reason. The others say that a task is wrong, or not ours to give away."""

_SEMVER: Final = re.compile(r"(0|[1-9]\d{0,5})\.(0|[1-9]\d{0,5})\.(0|[1-9]\d{0,5})")
_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,60}[a-z0-9])?")
_MAX_REASON: Final = 500


class Options(FrozenModel):
    """The options of a release. Together with store and review they decide every byte, but for ``jobs``."""

    version: str
    """``X.Y.Z``: the first number changes with columns that are gone, the second with tasks or columns that are new."""
    name: str = "hazardmill"
    policy: ReleasePolicy = "any-reject"
    runs: tuple[str, ...] = ()
    """The runs whose tasks may be in it; all if none. Of a task that several accepted, the latest row counts."""
    allow_offline: bool = False
    """Whether tasks may be in it that our rules wrote, and no language model."""
    local_models: tuple[str, ...] = ()
    """Models behind an address of a private network whose answers may be in it: they are named on the card."""
    with_answers: bool = False
    """Whether drafts come with the answer as the model gave it."""
    waive: dict[str, str] = Field(default_factory=dict)
    """Gate to the reason why its findings do not stop the release."""
    thresholds: Thresholds = Thresholds()
    seed: int = 0
    """Of the splits."""
    parent: Path | None = None
    """Folder of the release before this one."""
    jobs: Annotated[int, Field(ge=1, le=64)] = 1
    """Processes that validate tasks."""

    @field_validator("version")
    @classmethod
    def _is_semver(cls, version: str) -> str:
        if not _SEMVER.fullmatch(version):
            raise ValueError(f"a version is X.Y.Z, three numbers without leading zeros, not {version[:40]!r}")
        return version

    @field_validator("name")
    @classmethod
    def _is_name(cls, name: str) -> str:
        if not _NAME.fullmatch(name):
            raise ValueError(f"a name has small letters, digits and inner hyphens, 62 at the most, not {name[:80]!r}")
        return name

    @field_validator("waive")
    @classmethod
    def _may_be_waived(cls, waive: dict[str, str]) -> dict[str, str]:
        for gate, reason in waive.items():
            if gate not in WAIVABLE:
                raise ValueError(f"the gate {gate[:40]!r} cannot be waived; only: {', '.join(WAIVABLE)}")
            if not reason.strip() or len(reason) > _MAX_REASON or not reason.isprintable():
                raise ValueError(
                    f"to waive the gate {gate}, give a reason in one line of {_MAX_REASON} characters at most"
                )
        return dict(sorted(waive.items()))

    @field_validator("local_models", "runs")
    @classmethod
    def _each_once(cls, named: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(sorted(set(named)))
