"""Checks of drafts that installed packages add, behind those that every draft passes.

A run names those that it wants (``--check NAME``). They see the document, which is built and proved by then, and the
record; the code of the model they never see.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Final

from pydantic import Field

from hazardmill.errors import PluginError
from hazardmill.formalism.document.document import Document
from hazardmill.generation.checks import formalization
from hazardmill.generation.execute import CHECKS, DraftCheck, DraftEvidence
from hazardmill.plugins import Plugin, PluginSearch, find_plugins
from hazardmill.records import Check, FrozenModel, Record, Text
from hazardmill.text.suggestions import unknown_name


class DraftRefusal(FrozenModel):
    """What a check of a package returns for a draft that it refuses. The author is shown message and mend.

    Attributes:
        reason: Short code for counting, in lower case, such as ``sharp_object``; it stays the same across versions.
        message: What is wrong with the task, in a sentence.
        mend: What to change; null if nothing is known to help.
    """

    reason: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,49}$")]
    message: Text
    mend: Text | None = None


CheckFunction = Callable[[Document, Record], DraftRefusal | None]
"""A check of a package: called with document and record, possibly in several threads at once; None if it passes."""

_OWN: Final = (*(check.name for check in CHECKS), formalization.NAME, "answer", "judge", "scenario", "rewrite")


def find_checks() -> PluginSearch:
    """Return the checks of installed packages, without those named like one of hazardmill's."""
    return find_plugins("check", dict.fromkeys(_OWN, "a check of hazardmill"))


def load_checks(names: Sequence[str]) -> tuple[tuple[DraftCheck, Plugin], ...]:
    """Return checks of installed packages, each with where it comes from.

    Args:
        names: Their names, in the order in which they are to run.

    Raises:
        UnknownName: No installed package has such a check.
        PluginError: One of them cannot be used.
    """  # noqa: DOC501  # the helper makes an UnknownName
    if not names:
        return ()
    search = find_checks()
    checks: list[tuple[DraftCheck, Plugin]] = []
    for name in dict.fromkeys(names):
        plugin = search.get(name)
        if plugin is None:
            known = ", ".join(sorted(search.found)) or "none"
            raise unknown_name(
                f"no installed package has a check {name!r}",
                name,
                search.found,
                remedy=f"checks of packages that are installed: {known}; hazardmill's own always run",
            )
        checks.append((_draft_check(plugin), plugin))
    return tuple(checks)


def draft_checks(names: Sequence[str]) -> tuple[DraftCheck, ...]:
    """Return all checks of a draft's code: hazardmill's own, and then the named ones of packages.

    Args:
        names: Names of checks of packages, in the order in which they are to run.

    Raises:
        UnknownName: No installed package has such a check.
        PluginError: One of them cannot be used.
    """
    return (*CHECKS, *(check for check, _ in load_checks(names)))


def _draft_check(plugin: Plugin) -> DraftCheck:
    function = plugin.load()
    if not callable(function):
        raise plugin.error(f"{type(function).__name__} cannot be called with document and record")
    origin = {"package": plugin.package, "version": plugin.version}

    def examine(name: str, evidence: DraftEvidence) -> Check:
        document, record = evidence.outcome, evidence.record
        assert isinstance(document, Document) and record is not None  # earlier checks passed, and the run has records
        try:
            # A copy, because what follows reads the document too.
            refusal = function(Document.from_json(document.to_json()), record)
        except Exception as error:
            # Neither accepting nor refusing the draft would be right, and every further draft would cost money.
            raise _failure(plugin, record, f"it failed: {type(error).__name__}: {error}") from error
        if refusal is None:
            return Check(name=name, passed=True, details=origin)
        if not isinstance(refusal, DraftRefusal):
            raise _failure(plugin, record, f"it returned a {type(refusal).__name__} instead of a DraftRefusal or None")
        return Check(
            name=name,
            passed=False,
            reason=refusal.reason,
            message=refusal.message,
            mend=refusal.mend,
            details=origin,
        )

    return DraftCheck(plugin.name, examine)


def _failure(plugin: Plugin, record: Record, message: str) -> PluginError:
    return plugin.error(
        message,
        record_id=record.record_id,
        remedy=f"update {plugin.package} and resume the run with --child, which pays for nothing twice; "
        f"or leave out --check {plugin.name}",
    )
