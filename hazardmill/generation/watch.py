"""Telling of a record while it is worked on, for whoever wants to see more than its end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from hazardmill.generation.extract import ExtractResult
    from hazardmill.generation.refine import DraftAttempt
    from hazardmill.records import Record


class Watch(Protocol):
    """Told of each step of each record as it is done, of several records in turn. It must not raise."""

    def on_record(self, record: Record) -> None:
        """Work on a record begins."""

    def on_extraction(self, record: Record, extraction: ExtractResult) -> None:
        """A danger was found in it, or none."""

    def on_draft(self, record: Record, attempt: DraftAttempt) -> None:
        """A draft was written and checked."""


class SilentWatch:
    """Tells nobody."""

    def on_record(self, record: Record) -> None:
        """Say nothing."""

    def on_extraction(self, record: Record, extraction: ExtractResult) -> None:
        """Say nothing."""

    def on_draft(self, record: Record, attempt: DraftAttempt) -> None:
        """Say nothing."""
