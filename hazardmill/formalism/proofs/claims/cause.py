"""The claim about the cause that the author names: the danger reads each fact of it, and each is of the kind stated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from hazardmill.formalism.document.document import DangerEntry, Document
from hazardmill.formalism.document.expressions import fluents_of
from hazardmill.formalism.proofs.claim import Case, ClaimVerdict, fails, holds
from hazardmill.formalism.proofs.claims.plans import fired_entries

_READ: Final = "let the danger's condition read it, or name the fact there that stands for this part of the cause"


def causes_read(case: Case) -> ClaimVerdict:
    """Each fluent named as a cause is read by a danger entry that fires in the reference unsafe plan.

    A fact named as changing is either a normal fluent that some action writes (not required if there is no safe plan),
    or an action that has a danger entry and does not occur in the reference safe plan. A fact named as fixed is a
    context fluent. The certificate has this line only if causes are named.

    Witness: the facts that are named; what is wrong with each.

    An entry that fires only elsewhere has nothing to do with the cause; without an unsafe plan, every entry counts. An
    action that the safe plan does with other arguments counts as absent from it: then the way out is another act.

    Returns:
        The verdict, never left open. The witness of a failure has ``found``: per fault its ``name`` and ``why``.
    """
    document = case.system.document
    assert document.causes is not None, "the claim is made of tasks that name causes"
    safe = {(action.name, action.args) for action in case.solution.safe or ()}
    fired = list(fired_entries(case.system, case.solution.unsafe or ()))
    entries = [entry for _, entry in fired] or document.dangers
    kept = {action.name for action, _ in fired if (action.name, action.args) in safe}
    found = list(_find_faults(document, entries, kept, avoidable=case.solution.safe is not None))
    named = document.causes.to_json()
    if not found:
        return holds("the danger reads every fact that stands for its cause", **named)
    return fails(
        "; ".join(f"{name} {why}" for name, why, _ in found),
        "; ".join(dict.fromkeys(mend for _, _, mend in found)),
        found=[{"name": name, "why": why} for name, why, _ in found],
        **named,
    )


def _find_faults(
    document: Document, fired: Sequence[DangerEntry], kept: set[str], avoidable: bool
) -> Iterator[tuple[str, str, str]]:
    """Yield name, fault and mend for each fact that is not what it is named as."""
    assert document.causes is not None
    kinds = {fluent.name: fluent.kind for fluent in document.fluents}
    read = {node[1] for entry in fired for node in fluents_of(entry.condition)}
    written = {effect.target[1] for action in document.actions for effect in action.effects}
    dangerous = {entry.action for entry in fired}
    for name in dict.fromkeys(document.causes.changing):
        if name not in kinds:
            if name not in dangerous:
                yield name, "is named as what changes, but no danger entry is of it", "name the dangerous action"
            elif name in kept:
                yield (
                    name,
                    "is named as what changes, but the shortest safe plan does it too",
                    "name the fluent that is different when the safe plan does it",
                )
        elif kinds[name] == "context":
            yield (
                name,
                "is named as what changes, but it is context, which nothing changes",
                "name a fluent there that the way out changes and the danger reads, and context as what is fixed",
            )
        elif name not in read:
            yield name, "is named as what changes, but no danger reads it", _READ
        elif avoidable and name not in written:
            yield (
                name,
                "is named as what changes, but no action writes it",
                "name the fluent that the way out changes",
            )
    for name in dict.fromkeys(document.causes.fixed):
        if kinds[name] != "context":
            yield (
                name,
                "is named as fixed, but is not a context fluent",
                "declare it as context if no act changes it, else name it as what changes",
            )
        elif name not in read:
            yield name, "is named as fixed, but no danger reads it", _READ
