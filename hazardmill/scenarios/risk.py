"""What is risky in a scenario, and the closed list of hazards per target."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias, cast

from hazardmill.errors import DocumentError
from hazardmill.formalism.document.expressions import Expr, freeze
from hazardmill.scenarios.shapes import check_condition_shape

Kind = Literal["mal", "sit"]
"""``mal``: the command is meant to harm; ``sit``: it is harmless, and the circumstances are not."""

KINDS: Final[tuple[Kind, ...]] = ("mal", "sit")

HAZARDS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "human": (
            "fire hazard",
            "electrical shock",
            "poisoning ingestion",
            "slip hazard",
            "sharp object injury",
            "falling object",
            "overheat exposure",
        ),
        "animal": (
            "poisoning ingestion",
            "falling object",
            "trapping or containment",
            "fire hazard",
            "neglect or overheat",
        ),
        "embodied agent": (
            "collision",
            "overload malfunction",
            "environmental misjudgment",
            "wrong grasp or slip",
            "task loop failure",
        ),
        "property": (
            "breakage or dropping",
            "misuse of appliance",
            "overheat explosion",
            "spill contamination",
            "decor furniture damage",
            "burned object",
            "structural damage",
        ),
    }
)
"""The 24 hazards by target, as the SAFEL paper lists them."""

UNLABELLED: Final = "unlabelled"
"""What stands for a target or hazard that nobody knows, where scenarios are counted by label."""

ReadLiteral: TypeAlias = Callable[[object, str, str | None], Expr]
"""Turns a written literal, with its path and the action it belongs to, into an expression."""

_KEYS: Final = (
    "kind",
    "instruction",
    "target",
    "hazard",
    "primitive",
    "new",
    "risk_literals",
    "hazardous_actions",
    "mitigation",
    "safe_literals",
)
_OPTIONAL: Final = frozenset(_KEYS) - {"kind", "instruction", "primitive", "new"}


def is_leaf(target: str | None, hazard: str | None) -> bool:
    """Return whether a hazard is one of its target's."""
    return hazard in HAZARDS.get(target or "", ())


@dataclass(frozen=True)
class Risk:
    """What is risky in a scenario.

    Attributes:
        kind: ``mal`` or ``sit``.
        instruction: The command in words.
        target: Who or what is in danger, a key of ``HAZARDS``; None if nobody knows.
        hazard: One of the target's hazards; None for any other label.
        primitive: Names of the actions of the base domain.
        new: Names of the actions that this scenario adds; with ``primitive`` they are all actions, each once.
        risk_literals: Literals of a ``mal`` goal that are the harm.
        hazardous_actions: Names of the new actions that do the harm (``mal``).
        mitigation: Names of the new actions that deal with the risk (``sit``).
        safe_literals: Parts of preconditions, by action, that demand that the risk is dealt with (``sit``).
    """

    kind: Kind
    instruction: str
    target: str | None = None
    hazard: str | None = None
    primitive: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    risk_literals: tuple[Expr, ...] = ()
    hazardous_actions: tuple[str, ...] = ()
    mitigation: tuple[str, ...] = ()
    safe_literals: Mapping[str, tuple[Expr, ...]] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values, in the form that ``from_json`` reads."""
        return {
            "kind": self.kind,
            "instruction": self.instruction,
            "target": self.target,
            "hazard": self.hazard,
            "primitive": list(self.primitive),
            "new": list(self.new),
            "risk_literals": list(self.risk_literals),
            "hazardous_actions": list(self.hazardous_actions),
            "mitigation": list(self.mitigation),
            "safe_literals": {name: list(parts) for name, parts in sorted(self.safe_literals.items())},
        }

    @classmethod
    def from_json(cls, value: object, read: ReadLiteral | None = None) -> Risk:
        """Return the risk that JSON values describe.

        Whether its names exist in a scenario is for ``declarations`` to say. A label that is no leaf is kept as None.

        Args:
            value: An object with at least ``kind``, ``instruction``, ``primitive`` and ``new``.
            read: Turns a literal into an expression, given its path and the action whose parameters it may name;
                without it a literal is in the form of documents.

        Raises:
            DocumentError: Its shape is wrong, or an action is both primitive and new; the message begins with the
                path.
        """  # noqa: DOC501  # the helper makes a DocumentError
        top = _object(value)
        read = read or _stored
        primitive, new = _names(top, "primitive"), _names(top, "new")
        both = sorted(set(primitive) & set(new))
        if both:
            raise DocumentError(
                f"risk.new: {both[0]} is also in risk.primitive", remedy="list each action in one of the two"
            )
        target, hazard = _optional_text(top, "target"), _optional_text(top, "hazard")
        safe = top.get("safe_literals", {})
        if not isinstance(safe, dict):
            raise _shape_error("safe_literals", "an object: a list of literals by action", safe)
        return cls(
            kind=cast("Kind", top["kind"]),
            instruction=cast("str", top["instruction"]),
            target=target if target in HAZARDS else None,
            hazard=hazard if is_leaf(target, hazard) else None,
            primitive=primitive,
            new=new,
            risk_literals=_literals(top.get("risk_literals", []), "risk_literals", read),
            hazardous_actions=_names(top, "hazardous_actions"),
            mitigation=_names(top, "mitigation"),
            safe_literals={
                str(name): _literals(parts, f"safe_literals.{name}", read, str(name)) for name, parts in safe.items()
            },
        )


def _stored(value: object, path: str, _: str | None) -> Expr:
    if not isinstance(value, bool | list | tuple):
        raise DocumentError(f"{path}: a literal is a list such as ['fluent', name, argument]")
    literal = freeze(value)
    check_condition_shape(literal, path)
    return literal


def _object(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _shape_error("", "an object", value)
    unknown, missing = sorted(value.keys() - set(_KEYS)), sorted(set(_KEYS) - _OPTIONAL - value.keys())
    if unknown or missing:
        wrong = f"unknown key {unknown[0]!r}" if unknown else f"missing key {missing[0]!r}"
        raise DocumentError(f"risk: {wrong}", remedy=f"use the keys {', '.join(_KEYS)}")
    if value["kind"] not in KINDS:
        raise _shape_error("kind", "'mal' or 'sit'", value["kind"])
    if not _is_text(value["instruction"]):
        raise _shape_error("instruction", "a text", value["instruction"])
    return value


def _is_text(value: object) -> bool:
    # A lone surrogate cannot be written to a file.
    return isinstance(value, str) and bool(value.strip()) and value.encode("utf-8", "replace").decode() == value


def _names(top: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = top.get(key, [])
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise _shape_error(key, "a list of names", value)
    return tuple(dict.fromkeys(value))


def _optional_text(top: Mapping[str, Any], key: str) -> str | None:
    value = top.get(key)
    if value is not None and not isinstance(value, str):
        raise _shape_error(key, "a string or null", value)
    return value


def _literals(value: object, key: str, read: ReadLiteral, action: str | None = None) -> tuple[Expr, ...]:
    if not isinstance(value, list):
        raise _shape_error(key, "a list of literals", value)
    return tuple(read(part, f"risk.{key}[{i}]", action) for i, part in enumerate(value))


def _shape_error(key: str, wanted: str, got: object) -> DocumentError:
    shown = repr(got)
    path = f"risk.{key}" if key else "risk"
    return DocumentError(f"{path}: wanted {wanted}, got {shown if len(shown) <= 80 else shown[:77] + '...'}")
