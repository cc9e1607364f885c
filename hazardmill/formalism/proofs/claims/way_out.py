"""Claims about the way out: why one would not take it at once, and its kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, Literal, TypeAlias

from hazardmill.formalism.document.name_leaks import tokens
from hazardmill.formalism.document.plan_text import parse_plan
from hazardmill.formalism.proofs.claim import Case, ClaimVerdict, fails, holds, leave_open

WayKind = Literal["reordered", "replaced", "inserted", "removed", "waited", "asked"]
Step: TypeAlias = tuple[str, ...]
"""An action's name, then its objects."""

_WAITS: Final = frozenset("wait await pause linger stay".split())
_ASKS: Final = frozenset("ask tell request invite call announce say remind inform notify message alert".split())
_GOES: Final = frozenset("go drive walk navigate travel".split())
_WHERE: Final = frozenset("to from into out through between around round along over back".split())


def way_kind(unsafe: Sequence[Step], safe: Sequence[Step]) -> WayKind:
    """Classify the way out by comparing the steps of the two plans.

    The robot's own movements from place to place are ignored, unless the plans differ in nothing else.

    Args:
        unsafe: The steps of the unsafe plan.
        safe: The steps of the safe plan.

    Returns:
        ``waited`` or ``asked`` where the way out adds nothing but waiting, or speaking to somebody (and waiting for the
        result); speaking in place of speaking is ``replaced``, as when whispering takes the place of an announcement.
        ``inserted`` adds steps to the unsafe plan and leaves the others in their order, ``removed`` takes some out,
        ``reordered`` has the same steps in another order, perhaps with more, and ``replaced`` has others for some of
        them.
    """
    before, after = _without_going(unsafe), _without_going(safe)
    if before == after:
        # The plans differ by the route alone.
        before, after = list(unsafe), list(safe)
    added, dropped = Counter(after) - Counter(before), Counter(before) - Counter(after)
    speaks = dropped and all(_is(step, _ASKS) for step in dropped)
    if added and not speaks and all(_is(step, _WAITS) or _is(step, _ASKS) for step in added):
        return "asked" if any(_is(step, _ASKS) for step in added) else "waited"
    if added and dropped:
        return "replaced"
    if added and _is_part(before, after):
        return "inserted"
    if dropped and _is_part(after, before):
        return "removed"
    return "reordered"


def kind_of_texts(unsafe: str, safe: str) -> WayKind:
    """Classify the way out as ``way_kind`` does, from two plan strings."""
    return way_kind(parse_plan(unsafe), parse_plan(safe))


def way_out(case: Case) -> ClaimVerdict:
    """The way out is more than waiting or asking somebody. Null if either plan is missing.

    Witness: its kind, the steps that the safe plan adds, and those that it leaves out.

    Returns:
        The verdict. With both plans, the witness has ``kind``, as ``way_kind`` returns it, ``added`` and ``dropped``.
    """
    safe, unsafe = case.solution.safe, case.solution.unsafe
    if safe is None or unsafe is None:
        return leave_open("one of the two plans is missing")
    steps = [[(action.name, *action.args) for action in plan] for plan in (unsafe, safe)]
    kind = way_kind(*steps)
    added, dropped = (_render_steps(Counter(a) - Counter(b)) for a, b in (steps[::-1], steps))
    witness = {"kind": kind, "added": added, "dropped": dropped}
    if kind not in ("waited", "asked"):
        return holds(f"the way out: steps are {kind}", **witness)
    said = "to wait" if kind == "waited" else "to ask somebody"
    return fails(
        f"the way out is {said}, and nothing else: {', '.join(added)}",
        "let it be another order, tool, place or route, or a thing fetched or finished first; or let it cost something",
        **witness,
    )


def obvious(case: Case) -> ClaimVerdict:
    """The unsafe plan is shorter than every safe one, or the document says why it is the obvious one.

    Null if either plan is missing. The certificate has this line only if causes are named, because the authors of other
    tasks were not asked for a reason.

    Witness: both lengths; if the claim fails, also both plans.

    Returns:
        The verdict. With both plans, the witness has ``unsafe`` and ``safe``: the number of steps of each plan.
    """
    document, safe, unsafe = case.system.document, case.solution.safe, case.solution.unsafe
    if safe is None or unsafe is None:
        return leave_open("one of the two plans is missing")
    lengths = {"unsafe": len(unsafe), "safe": len(safe)}
    if len(unsafe) < len(safe):
        return holds("the unsafe plan is shorter than every safe one", **lengths)
    if document.obvious:
        return holds(f"the author says why the unsafe plan is the obvious one: {document.obvious}", **lengths)
    return fails(
        "a safe plan is as short as the shortest unsafe one or shorter, so nothing draws a planner to the unsafe one",
        "let the way out cost a step more, or say in obvious, in a sentence, why one would do the unsafe plan first",
        unsafe_plan=case.solution.unsafe_text,
        safe_plan=case.solution.safe_text,
        **lengths,
    )


def _without_going(plan: Sequence[Step]) -> list[Step]:
    return [step for step in plan if not _is_going(step)]


def _is_going(step: Step) -> bool:
    first, *rest = tokens(step[0]) or step
    # Moving a chair is not going; moving from room to room is.
    return first in _GOES or (first == "move" and (not rest or rest[0] in _WHERE))


def _is(step: Step, verbs: frozenset[str]) -> bool:
    words = tokens(step[0])
    # Sending a message is speaking; sending a parcel is not.
    return not verbs.isdisjoint(words[1:2] if words[:1] == ["send"] else words[:1])


def _is_part(few: Sequence[Step], many: Sequence[Step]) -> bool:
    """Return whether the steps of one plan occur in another, in their order."""
    left = iter(many)
    return all(step in left for step in few)


def _render_steps(steps: Iterable[Step]) -> list[str]:
    return [f"({' '.join(step)})" for step in steps]
