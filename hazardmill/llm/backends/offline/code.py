"""The Python module of a task, part by part, and how it is written out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from hazardmill.llm.backends.offline.notation import Step, change, fluent_of, python, split_condition

_WIDTH: Final = 112
_IMPORTABLE: Final = ("And", "Equals", "Exists", "Forall", "Iff", "Implies", "Not", "Or")


@dataclass
class TaskCode:
    """A task under construction. Names are declared once; a second declaration of another kind is an error."""

    class_name: str
    title: str
    notes: tuple[str, ...] = ()
    realised_by: str = ""
    objects: dict[str, list[str]] = field(default_factory=dict)
    """Type to its objects."""
    fluents: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Boolean fluent to the types of its parameters."""
    contexts: dict[str, tuple[str, ...]] = field(default_factory=dict)
    integers: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    """Integer fluent to lower bound, upper bound and first value."""
    acts: list[Step] = field(default_factory=list)
    initial: list[str] = field(default_factory=list)
    goal: list[str] = field(default_factory=list)
    dangers: list[tuple[str, str]] = field(default_factory=list)
    """``(act, condition in Python)``."""
    danger_type: str = ""
    obvious: str = ""
    """Why the unsafe plan is the obvious one; where it is the shorter one, nothing need be said."""

    def fluent(self, name: str, *types: str) -> None:
        """Declare a Boolean fluent."""
        if name not in self.fluents:
            self._new(name)
            self.fluents[name] = types

    def context(self, name: str, *types: str, holds: bool | None = None) -> None:
        """Declare a context fluent; ``holds`` says whether one without parameters is so at the start."""
        if name not in self.contexts:
            self._new(name)
            self.contexts[name] = types
        if holds:
            self.start(name)

    def integer(self, name: str, lower: int, upper: int, first: int = 0) -> None:
        """Declare a bounded integer fluent."""
        self._new(name)
        self.integers[name] = (lower, upper, first)

    def type(self, name: str, *objects: str) -> None:
        """Declare a type with its objects."""
        for each in (name, *objects):
            self._new(each)
        self.objects[name] = list(objects)

    def act(self, what: Step) -> None:
        """Add an act; fluents without parameters that it mentions are declared by the way."""
        self._new(what.act)
        for literal in (*what.needs, *what.does):
            plain, condition = split_condition(literal)
            for part in (plain, condition):
                if part and change(part) is None:
                    self._declare_plain(part)
        self.acts.append(what)

    def start(self, *literals: str) -> None:
        """Say what holds at the start."""
        for literal in literals:
            self._declare_plain(literal)
            if literal not in self.initial:
                self.initial.append(literal)

    def aim(self, *literals: str) -> None:
        """Add to the goal."""
        for literal in literals:
            self._declare_plain(literal)
            if literal not in self.goal:
                self.goal.append(literal)

    def knows(self, name: str) -> bool:
        """Whether the name is taken."""
        declared = {**self.fluents, **self.contexts, **self.integers, **self.objects}
        return name in declared or any(name in names for names in self.objects.values()) or self._is_act(name)

    def find(self, act: str) -> Step:
        """The act of this name."""
        return next(each for each in self.acts if each.act == act)

    def replace(self, act: str, new: Step) -> None:
        """Put another act in the place of one."""
        self.acts = [new if each.act == act else each for each in self.acts]

    def causes(self) -> tuple[list[str], list[str]]:
        """What of the danger's conditions the acts change, and what is fixed.

        Where the acts change nothing of it, the way out is another act: then it is the dangerous one that changes.
        """
        read = set(re.findall(r"\w+", " ".join(condition for _, condition in self.dangers)))
        written = {_written(effect) for each in self.acts for effect in each.does}
        changing = [name for name in (*self.fluents, *self.integers) if name in read & written]
        acts = list(dict.fromkeys(act for act, _ in self.dangers))
        return changing or acts, [name for name in self.contexts if name in read]

    def drop_unread(self) -> None:
        """Drop the plain fluents that nothing reads: left over where a way out was not taken into the task."""
        while unread := {name for name, types in self.fluents.items() if not types and not self._reads(name)}:
            self.fluents = {name: types for name, types in self.fluents.items() if name not in unread}
            self.initial = [literal for literal in self.initial if literal not in unread]
            for each in list(self.acts):
                kept = [e for e in each.does if split_condition(e)[0].removeprefix("!") not in unread]
                self.replace(each.act, replace(each, does=tuple(kept)))

    def _reads(self, name: str) -> bool:
        read = [*self.goal, *(condition for _, condition in self.dangers)]
        for each in self.acts:
            read += [*each.needs, *(condition for e in each.does if (condition := split_condition(e)[1]))]
        return re.search(rf"\b{name}\b", " ".join(read)) is not None

    def _is_act(self, name: str) -> bool:
        return any(each.act == name for each in self.acts)

    def _declare_plain(self, literal: str) -> None:
        name = fluent_of(literal)
        if name and "(" not in literal and not self.knows(name):
            self.fluent(name)

    def _new(self, name: str) -> None:
        if self.knows(name):
            raise ValueError(f"the name {name} is taken")

    # Writing

    def write(self) -> str:
        """The module, as tersely as the prompt's example is written."""
        body = [
            *self._types(),
            *self._fluents(),
            *self._contexts(),
            *(line for each in self.acts for line in self._act(each)),
            *self._ends(),
        ]
        text = "\n".join(f"        {line}" for line in body)
        used = [name for name in _IMPORTABLE if re.search(rf"\b{name}\(", text)]
        head = [
            f"from hazardmill.formalism.authoring import {', '.join([*used, 'PlanningTask'])}",
            "",
            f"class {self.class_name}(PlanningTask):",
            *(f"    # {note}" for note in self.notes),
            f'    title = "{self.title}"',
            f'    realised_by = "{self.realised_by}"',
            *([f'    obvious = "{self.obvious}"'] if self.obvious else []),
            "",
            "    def build(self):",
        ]
        return "\n".join(head) + "\n" + text + "\n"

    def _types(self) -> list[str]:
        lines = []
        for type_, names in self.objects.items():
            lines.append(f'{type_} = self.type("{type_}")')
            quoted = [f'"{name}"' for name in names]
            if len(names) == 1:
                lines.append(f"{names[0]} = self.object({quoted[0]}, {type_})")
            elif names:
                lines += _call(f"{', '.join(names)} = self.objects", [type_, *quoted])
        return lines

    def _fluents(self) -> list[str]:
        lines = [f"{name} = self.fluent({_declared(name, types)})" for name, types in self.fluents.items()]
        for name, (lower, upper, _) in self.integers.items():
            lines.append(f'{name} = self.integer("{name}", lower={lower}, upper={upper})')
        return lines

    def _contexts(self) -> list[str]:
        return [f"{name} = self.context({_declared(name, types)})" for name, types in self.contexts.items()]

    def _act(self, what: Step) -> list[str]:
        """One statement, or two where the act's parameters need a name of it; a name for the act only if it is used."""
        name = what.act
        arguments = ", ".join([f'"{name}"', *(f"{parameter}={type_}" for parameter, type_ in what.parameters)])
        calls = list(_calls(what))
        if what.parameters:
            return [f"{name} = self.action({arguments})", *(_chain(name, calls) if calls else [])]
        named = f"{name} = " if any(name == act for act, _ in self.dangers) else ""
        return _chain(f"{named}self", [("action", [arguments]), *calls])

    def _ends(self) -> list[str]:
        lines = _call("self.initially", self.initial) if self.initial else []
        lines += [f"self.initial_value({name}, {first})" for name, (_, _, first) in self.integers.items() if first]
        lines += _call("self.goal", [python(literal) for literal in self.goal])
        changing, fixed = self.causes()
        named = [_facts("cause", changing), _facts("fixed", fixed)]
        for act, condition in self.dangers:
            arguments = [act, f"when={_joined(condition)}", f'danger_type="{self.danger_type}"', *named]
            lines += _call("self.danger", arguments)
            # Said once, of all entries.
            named = []
        return lines


def _written(effect: str) -> str:
    """The name of the fluent that an effect writes."""
    what = split_condition(effect)[0]
    changed = change(what)
    return changed[1] if changed else what.removeprefix("!").partition("(")[0]


def _declared(name: str, types: tuple[str, ...]) -> str:
    return ", ".join([f'"{name}"', *types])


def _call(head: str, arguments: list[str]) -> list[str]:
    line = f"{head}({', '.join(arguments)})"
    if len(line) <= _WIDTH and "\n" not in line:
        return [line]
    # An argument may itself have several lines.
    inner = [f"    {line}" for line in "\n".join(_filled(arguments)).splitlines()]
    return [f"{head}(", *inner, ")"]


def _joined(condition: str) -> str:
    """A condition; a long conjunction as a call of And over several lines."""
    parts = re.split(r" & (?![^()]*(?:\([^()]*\)[^()]*)*\))", condition)
    if len(condition) <= _WIDTH - 30 or len(parts) == 1:
        return condition
    inner = "".join(f"    {part},\n" for part in parts)
    return f"And(\n{inner})"


def _facts(keyword: str, names: list[str]) -> str:
    """A keyword with a list of facts; a long one has a line for each."""
    line = f"{keyword}=[{', '.join(names)}]"
    if len(line) <= _WIDTH // 2:
        return line
    return f"{keyword}=[\n" + "".join(f"    {name},\n" for name in names) + "]"


def _calls(what: Step) -> Iterator[tuple[str, list[str]]]:
    """The methods that are called on an act, each with its arguments."""
    name = what.act
    if what.needs:
        yield "requires", [python(literal, name) for literal in what.needs]
    plain = [effect for effect in what.does if split_condition(effect)[1] is None and change(effect) is None]
    for method, chosen in (
        ("sets", [effect for effect in plain if not effect.startswith("!")]),
        ("clears", [effect[1:] for effect in plain if effect.startswith("!")]),
    ):
        if chosen:
            yield method, [python(effect, name) for effect in chosen]
    yield from (_other_effect(name, effect) for effect in what.does if effect not in plain)


def _other_effect(name: str, effect: str) -> tuple[str, list[str]]:
    what, condition = split_condition(effect)
    when = [f"when={python(condition, name)}"] if condition else []
    if changed := change(what):
        method, target, value = changed
        return method, [target, value, *when]
    return "clears" if what.startswith("!") else "sets", [python(what.removeprefix("!"), name), *when]


def _chain(head: str, calls: list[tuple[str, list[str]]]) -> list[str]:
    """Calls one behind the other; where the line ends, the arguments of the next stand on one of their own."""
    lines = [head]
    for place, (method, arguments) in enumerate(calls, 1):
        said = ", ".join(arguments)
        # Behind the brackets there is to be room for the next method's name.
        width = _WIDTH if place == len(calls) else _WIDTH - len(".decreases(")
        if len(lines[-1]) + len(method) + len(said) + 3 <= width:
            lines[-1] += f".{method}({said})"
        else:
            lines[-1] += f".{method}("
            lines += [f"    {line}" for line in _filled(arguments)] + [")"]
    return lines


def _filled(arguments: list[str]) -> list[str]:
    """Arguments one behind the other, in as few lines as they fit into."""
    lines = [""]
    for argument in arguments:
        if lines[-1] and len(lines[-1]) + len(argument) + 6 > _WIDTH:
            lines.append("")
        lines[-1] += f"{' ' if lines[-1] else ''}{argument},"
    return lines
