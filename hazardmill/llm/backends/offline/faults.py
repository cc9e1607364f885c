"""The mistakes that models make, made on purpose on a share of records, and mended when the feedback names them."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from hazardmill.llm.backends.offline.code import TaskCode
from hazardmill.llm.backends.offline.draws import Draws
from hazardmill.llm.backends.offline.notation import Step
from hazardmill.llm.backends.offline.nouns import ANIMALS, MACHINES, PEOPLE
from hazardmill.llm.backends.offline.outline import write_outline
from hazardmill.records import MAX_DRAFTS

FAULTY_SHARE: Final = 0.55
"""Share of records whose first draft has a fault."""

_LENGTHS: Final = ((1, 50), (2, 22), (3, 12), (4, 8), (MAX_DRAFTS, 8))
"""Weights of the numbers of faulty drafts in a row; five exhaust the drafts a record may have."""


@dataclass(frozen=True)
class Fault:
    """One kind of mistake.

    Exactly one of ``in_code``, ``in_text`` and ``in_answer`` makes it: in the task, in its Python text, or in the
    answer around that. What is made in a text has its like for outlines: ``in_outline`` is given the module without
    the fault, and the outline. ``reasons`` are the words of the feedback by which it counts as named.
    """

    name: str
    weight: int
    reasons: frozenset[str]
    in_code: Callable[[TaskCode], None] | None = None
    in_text: Callable[[str], str] | None = None
    in_outline: Callable[[str, str], str] | None = None
    in_answer: Callable[[str, str], str] | None = None
    """Given the language of the block, and the text."""


def answer_of(code: TaskCode, fault: Fault | None, *, outline: bool = False) -> tuple[str, str]:
    """``(the module or the outline, the whole answer)`` with a fault, or with none."""
    flawed = copy.deepcopy(code)
    if fault and fault.in_code:
        fault.in_code(flawed)
    text = flawed.write()
    if outline:
        written = write_outline(flawed)
        text = fault.in_outline(text, written) if fault and fault.in_outline else written
    elif fault and fault.in_text:
        text = fault.in_text(text)
    language = "json" if outline else "python"
    if fault and fault.in_answer:
        return text, fault.in_answer(language, text)
    return text, text if outline else f"```{language}\n{text}```"


def fault_plan(draws: Draws, code: TaskCode) -> list[Fault]:
    """The faults of a record's first drafts, one a draft, none twice; empty for the records done at once."""
    if not draws.chance("faulty", FAULTY_SHARE):
        return []
    length = draws.weighted("length", _LENGTHS)
    clean = answer_of(code, None)
    pool = list(FAULTS.values())
    chosen: list[Fault] = []
    if length == MAX_DRAFTS and draws.chance("ends with the judge", 0.5):
        # Those records end as rejected by the judge, the others as failed in execution.
        chosen.append(FAULTS["wrong_entity"])
    while len(chosen) < length:
        fault = draws.weighted(f"fault {len(chosen)} of {len(pool)}", [(each, each.weight) for each in pool])
        pool.remove(fault)
        # A fault that has nothing to take hold of in this task would be no fault.
        if fault not in chosen and answer_of(code, fault) != clean:
            chosen.insert(0, fault)
    return chosen


def named(feedback: str) -> frozenset[str]:
    """The checks and reasons that a feedback names."""
    found = re.findall(r"^\s*(?:check|reason):\s*(\S+)", feedback, re.MULTILINE)
    return frozenset(found)


# In the answer


def _prose_around(language: str, text: str) -> str:
    said = "Sure! The robot is asked to do something ordinary here, so I kept the acts small.\n\n"
    said += f"```{language}\n{text}```\n\n"
    if language == "json":
        return said + "I can explain each act if you wish.\n"
    return (
        said + "To run it, put this at the end:\n\n    task = " + _class_of(text) + "()\n    print(task.document())\n"
    )


def _cut_off(language: str, text: str) -> str:
    return f"```{language}\n{text[: len(text) * 3 // 5]}"


# In the text


def _class_of(text: str) -> str:
    found = re.search(r"class (\w+)\(", text)
    return found[1] if found else "Task"


def _syntax_error(text: str) -> str:
    return text.replace("    def build(self):", "    def build(self)", 1)


def _unbalanced_outline(_: str, outline: str) -> str:
    return outline.replace('"actions": [', '"actions": ', 1)


def _undeclared_fluent(text: str) -> str:
    return re.sub(r"^        \w+ = self\.context\([^\n]*\n", "", text, count=1, flags=re.MULTILINE)


def _undeclared_in_outline(_: str, outline: str) -> str:
    """Without the declaration of a circumstance that is spoken of elsewhere."""
    context = json.loads(outline)["context"].split(", ")
    elsewhere = outline.replace(_context_line(context), "", 1)
    names = (re.split(r"\W", part)[0] for part in context)
    read = (part for part, name in zip(context, names, strict=True) if re.search(rf"\b{name}\b", elsewhere))
    left_out = next(read, context[0])
    kept = [part for part in context if part != left_out]
    return outline.replace(_context_line(context), _context_line(kept), 1)


def _context_line(parts: list[str]) -> str:
    return f'"context": {json.dumps(", ".join(parts))}'


_MISTAKEN_FOR: Final = ((PEOPLE, "cat"), (ANIMALS, "visitor"), (MACHINES, "visitor"))


def _wrong_entity(text: str) -> str:
    """Put another being into the circumstances that the danger reads, and leave everything else as it is."""
    for context, changed in _mistaken(text):
        text = re.sub(rf"\b{context}\b", changed, text)
    return text


def _wrong_entity_in_outline(text: str, outline: str) -> str:
    for context, changed in _mistaken(text):
        outline = re.sub(rf"\b{context}\b", changed, outline)
    return outline


def _mistaken(text: str) -> list[tuple[str, str]]:
    """The circumstances that the danger of a module reads, each with what it is mistaken for."""
    danger = text[text.rindex("self.danger(") :]
    declared = re.findall(r'^        (\w+) = self\.context\("', text, re.MULTILINE)
    read = [context for context in declared if re.search(rf"\b{context}\b", danger)]
    words = {word for context in read for word in context.split("_")}
    beings, other = next(((kind, noun) for kind, noun in _MISTAKEN_FOR if words & kind), (frozenset(), ""))
    return [(name, "_".join(other if word in beings else word for word in name.split("_"))) for name in read]


# In the task


def _unreachable_goal(code: TaskCode) -> None:
    code.aim("receipt_is_signed")


def _circumstances_read(code: TaskCode) -> list[str]:
    """The context atoms that hold at the start and that the danger wants to hold."""
    read = " ".join(condition for _, condition in code.dangers)
    names = [atom.partition("(")[0] for atom in code.initial]
    return [
        atom
        for atom, name in zip(code.initial, names, strict=True)
        if name in code.contexts and re.search(rf"(?<![~\w]){name}\b", read)
    ]


def _circumstance_not_stated(code: TaskCode) -> None:
    for atom in _circumstances_read(code):
        code.initial.remove(atom)


def _no_way_out(code: TaskCode) -> None:
    condition = _circumstances_read(code)[0]
    last = [each.act for each in code.acts if code.goal[0] in each.does] or [code.realised_by]
    code.dangers += [(act, condition) for act in last]


def _leaked_name(code: TaskCode) -> None:
    decoy = next(name for name in reversed(code.contexts) if not any(name in c for _, c in code.dangers))
    leaking = f"risk_that_{decoy}"
    code.contexts = {leaking if name == decoy else name: types for name, types in code.contexts.items()}
    code.initial = [leaking if atom == decoy else atom for atom in code.initial]


def _context_in_precondition(code: TaskCode) -> None:
    act = code.find(code.realised_by)
    code.replace(act.act, act.needing(_circumstances_read(code)[0]))


def _wrong_realised_by(code: TaskCode) -> None:
    dangerous = {act for act, _ in code.dangers}
    code.realised_by = next(each.act for each in code.acts if each.act not in dangerous)


def _dead_action(code: TaskCode) -> None:
    code.act(Step("recharge_at_dock", ("robot_stands_on_dock",), ("!robot_stands_on_dock",)))


def _unused_fluent(code: TaskCode) -> None:
    code.start("battery_is_charged")


def _fault(
    name: str,
    weight: int,
    reasons: str,
    in_code: Callable[[TaskCode], None] | None = None,
    in_text: Callable[[str], str] | None = None,
    in_outline: Callable[[str, str], str] | None = None,
    in_answer: Callable[[str, str], str] | None = None,
) -> Fault:
    return Fault(name, weight, frozenset(reasons.split()), in_code, in_text, in_outline, in_answer)


FAULTS: Final[Mapping[str, Fault]] = MappingProxyType(
    {
        fault.name: fault
        for fault in (
            _fault(
                "syntax_error", 12, "syntax no_code no_document", in_text=_syntax_error, in_outline=_unbalanced_outline
            ),
            _fault("prose_around", 8, "no_code syntax no_document", in_answer=_prose_around),
            _fault("cut_off", 7, "no_code syntax exception not_a_task no_document", in_answer=_cut_off),
            _fault(
                "undeclared_fluent",
                10,
                "exception not_a_document",
                in_text=_undeclared_fluent,
                in_outline=_undeclared_in_outline,
            ),
            _fault("unreachable_goal", 9, "goal_unreachable", in_code=_unreachable_goal),
            _fault("no_unsafe_plan", 12, "no_unsafe_plan", in_code=_circumstance_not_stated),
            _fault("no_safe_plan", 9, "no_safe_plan", in_code=_no_way_out),
            _fault("leaked_name", 9, "leaked_name", in_code=_leaked_name),
            _fault(
                "context_in_precondition",
                10,
                "context_in_precondition",
                in_code=_context_in_precondition,
            ),
            _fault("wrong_realised_by", 7, "wrong_realised_by", in_code=_wrong_realised_by),
            _fault("dead_action", 5, "dead_action", in_code=_dead_action),
            _fault("unused_fluent", 5, "unused_fluent", in_code=_unused_fluent),
            _fault("wrong_entity", 12, "judge:entity", in_text=_wrong_entity, in_outline=_wrong_entity_in_outline),
        )
    }
)
"""All faults by name."""
