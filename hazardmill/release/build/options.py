"""The options of a release."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import Field, field_validator

from hazardmill.authors import Author, Doi
from hazardmill.quality.corpus_thresholds import Thresholds
from hazardmill.records import FrozenModel
from hazardmill.settings import Settings

ReleasePolicy = Literal["any-reject", "majority", "adjudicated", "none"]
"""A policy of the review, or ``none``: no review is needed, and the card says so."""

WAIVABLE: Final = ("corpus",)
"""Gates that may be waived with a reason. The others find tasks that are wrong or that must not be published."""

WAIVER: Final = f"{WAIVABLE[0]}=REASON"
"""What follows ``--waive``, as messages and helps spell it out."""

LEAVABLE: Final = (
    "revalidation",
    "offline",
    "local_model",
    "licence",
    "attribution",
    "duplicates",
    "leaked_names",
    "personal_data",
    "review",
    "split_leak",
    "household",
)
"""Gates that refuse single tasks, which may be left out instead. The others speak of the corpus as a whole."""

_SEMVER: Final = re.compile(r"(0|[1-9]\d{0,5})\.(0|[1-9]\d{0,5})\.(0|[1-9]\d{0,5})")
_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,60}[a-z0-9])?")
_MAX_REASON: Final = 500


class Options(FrozenModel):
    """The options of a release.

    Together with the store, the review, the parent release and the household tasks they decide every byte; ``jobs`` has
    no influence.

    Raises:
        ValidationError: A version is not ``X.Y.Z``, a name has other characters than small letters, digits and inner
            hyphens, a gate that must not be waived is waived, tasks are to be left out by a gate that names none, or an
            author or the DOI is not written as it should be.
    """

    version: str
    """``X.Y.Z``: the first number rises if columns disappear, the second if tasks or columns are added."""
    name: str = "hazardmill"
    policy: ReleasePolicy = "any-reject"
    runs: tuple[str, ...] = ()
    """Runs whose tasks may be released; all runs if empty. If several accepted a task, its latest row counts."""
    allow_offline: bool = False
    """Whether to release tasks that hazardmill's rules wrote, without a language model."""
    local_models: tuple[str, ...] = ()
    """Models at private addresses whose answers may be released; the card names them."""
    with_answers: bool = False
    """Whether drafts include the answer as the model wrote it."""
    waive: dict[str, str] = Field(default_factory=dict)
    """Gate to the reason why its findings do not stop the release."""
    leave_out: tuple[str, ...] = ()
    """Gates that drop the tasks that they refuse, instead of refusing the release."""
    thresholds: Thresholds = Thresholds()
    seed: int = 0
    """Seed of the splits."""
    parent: Path | None = None
    """Folder of the release before this one."""
    authors: tuple[Author, ...] = ()
    """Authors of the release, in the order of the citation; if empty, the citation names the hazardmill developers."""
    doi: Doi | None = None
    """DOI of this version of the dataset, or of all its versions."""
    household: Path | None = None
    """Folder of household tasks to release, as ``household generate`` writes it; None for none."""
    jobs: Annotated[int, Field(ge=1, le=64)] = 1
    """Number of worker processes that validate tasks."""

    def fill_from_settings(self, settings: Settings) -> Options:
        """Return these options with the authors and the DOI of the settings, where they name none."""
        return self.model_copy(update={"authors": self.authors or settings.authors, "doi": self.doi or settings.doi})

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
            raise ValueError(f"a name has at most 62 lower-case letters, digits and inner hyphens, not {name[:80]!r}")
        return name

    @field_validator("waive")
    @classmethod
    def _may_be_waived(cls, waive: dict[str, str]) -> dict[str, str]:
        for gate, reason in waive.items():
            if gate not in WAIVABLE:
                raise ValueError(f"the gate {gate[:40]!r} cannot be waived; only: {', '.join(WAIVABLE)}")
            if not reason.strip() or len(reason) > _MAX_REASON or not reason.isprintable():
                raise ValueError(
                    f"to waive the gate {gate}, give a reason in one line of at most {_MAX_REASON} characters"
                )
        return dict(sorted(waive.items()))

    @field_validator("leave_out")
    @classmethod
    def _names_tasks(cls, leave_out: tuple[str, ...]) -> tuple[str, ...]:
        for gate in leave_out:
            if gate not in LEAVABLE:
                why = "speaks of the corpus as a whole" if gate in WAIVABLE else "does not exist"
                raise ValueError(
                    f"the gate {gate[:40]!r} {why}, so it cannot leave out tasks; these can: {', '.join(LEAVABLE)}"
                )
        return tuple(name for name in LEAVABLE if name in leave_out)

    @field_validator("local_models", "runs")
    @classmethod
    def _each_once(cls, named: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(sorted(set(named)))
