"""Callbacks that report the progress on a record while it is worked on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from hazardmill.generation.extract import ExtractResult
    from hazardmill.generation.refine import DraftAttempt
    from hazardmill.records import Record


class Watch(Protocol):
    """Receives each step of each record as it is done; records are interleaved.

    Its methods are called in the event loop and must not raise.
    """

    def on_record(self, record: Record) -> None:
        """Work on a record begins."""

    def on_extraction(self, record: Record, extraction: ExtractResult) -> None:
        """Extraction ended: a danger was found in the record, or none."""

    def on_draft(self, record: Record, attempt: DraftAttempt) -> None:
        """A draft was written and checked."""


class SilentWatch:
    """A ``Watch`` that ignores everything."""

    def on_record(self, record: Record) -> None:
        """Do nothing."""

    def on_extraction(self, record: Record, extraction: ExtractResult) -> None:
        """Do nothing."""

    def on_draft(self, record: Record, attempt: DraftAttempt) -> None:
        """Do nothing."""
