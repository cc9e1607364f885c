"""Claims about form: literals that change nothing, names that give the danger away, unused fluents and actions."""

from __future__ import annotations

from hazardmill.formalism.document.expressions import fluents_of
from hazardmill.formalism.document.name_leaks import leaking_names, leaks, neutralize
from hazardmill.formalism.proofs.claim import Case, ClaimVerdict, fails, holds, leave_open
from hazardmill.formalism.proofs.redundancy import redundant_literals
from hazardmill.formalism.search.exact import applicable_actions

_SHOWN = 10


def no_redundant_literal(case: Case) -> ClaimVerdict:
    """Each literal of each danger condition makes a difference to it in some situation (``docs/equivalence.md``).

    Null if this is not decided within the search limit.

    Witness: the literals that do not, and for each the condition without it.

    Returns:
        The verdict. The witness of a failure has ``redundant``, that of an open verdict ``entries``, the places of the
        entries that are not decided.
    """
    entries = redundant_literals(case.system, effort=case.effort)
    never = {each.entry for each in entries if "empty" in each.flags}
    found = [literal for each in entries for literal in each.redundant or ()]
    flags = sorted({flag for each in entries for flag in each.flags})
    if found:
        shown = "; ".join(
            f"{each.literal} in the danger of {each.action}"
            + (", which is never possible" if each.entry in never else "")
            for each in found[:_SHOWN]
        )
        return fails(
            f"literals that change nothing wherever the action is possible: {shown}",
            "leave them out of the condition, or make them matter: let some way lead to the action both with them and"
            " without them",
            redundant=[
                {
                    "entry": each.entry,
                    "action": each.action,
                    "literal": each.literal,
                    "connective": each.connective,
                    "without_it": each.replaced,
                }
                for each in found
            ],
            flags=flags,
        )
    open_entries = [each.entry for each in entries if each.redundant is None]
    if open_entries:
        return leave_open(f"not decided within {case.limit} expansions", entries=open_entries, flags=flags)
    return holds("each literal of the danger's condition matters somewhere", flags=flags)


def neutral_names(case: Case) -> ClaimVerdict:
    """No visible name contains a token such as safe, risky or careful.

    Witness: the names, and a neutral name to use instead for those listed in ``NEUTRAL_NOUNS``
    (``formalism/document/name_leaks.py``).

    Returns:
        The verdict. The witness of a failure has ``names``, each with where it stands and its token, and ``rename``:
        neutral name by leaking name; None if no name has one.
    """
    leaking = leaking_names(case.system.document)
    if not leaking:
        return holds("no visible name says what is dangerous or safe")
    shown = "; ".join(f"{where} {name} ({token!r})" for where, name, token in leaking[:_SHOWN])
    # Nouns of the sources that leak by accident have a name to use instead.
    renamed = {name: neutralize(name) for _, name, _ in leaking if not leaks(neutralize(name))}
    known = "".join(f", {name} as {instead}" for name, instead in renamed.items())
    return fails(
        f"names that give the danger away: {shown}",
        f"rename them after what they are or do, without a word of safety or danger{known}",
        names=[list(item) for item in leaking],
        rename=renamed or None,
    )


def no_unused_fluent(case: Case) -> ClaimVerdict:
    """Each normal fluent is read by a precondition, an effect, a danger entry or the goal.

    Witness: the fluents that are not.

    Returns:
        The verdict. The witness of a failure has ``fluents``: the unused ones by name.
    """
    document = case.system.document
    used = {node[1] for node in fluents_of(document.goal)}
    for entry in document.dangers:
        used |= {node[1] for node in fluents_of(entry.condition)}
    for action in document.actions:
        used |= {node[1] for node in fluents_of(action.precondition)}
        for effect in action.effects:
            used |= {node[1] for part in (effect.condition, effect.value) for node in fluents_of(part)}
    unused = sorted(f.name for f in document.fluents if f.kind == "normal" and f.name not in used)
    if not unused:
        return holds("every normal fluent is read somewhere")
    return fails(
        f"nothing reads the normal fluents {', '.join(unused)}",
        "drop them, or let a precondition, an effect's condition, the goal or the danger read them",
        fluents=unused,
    )


def no_dead_action(case: Case) -> ClaimVerdict:
    """Each action is applicable in some reachable state. Null if this is not decided within the search limit.

    Witness: the actions that are not.

    Returns:
        The verdict. The witness of a failure has ``actions``, that of an open verdict ``unseen``: the actions not
        applicable in any state explored so far.
    """
    seen, complete = applicable_actions(case.system, effort=case.effort)
    dead = sorted(set(case.system.actions) - seen)
    if not dead:
        return holds("every action is possible at some point")
    if not complete:
        return leave_open(f"not decided within {case.limit} states", unseen=dead)
    return fails(
        f"these actions can never be done: {', '.join(dead)}",
        "drop them, or make their preconditions reachable",
        actions=dead,
    )
