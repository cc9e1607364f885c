"""The nouns of the mill as frozen pydantic models: record, reject, danger, draft, check, outcome."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from enum import StrEnum
from json.encoder import encode_basestring
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StringConstraints, model_validator

MAX_DRAFTS = 5
"""Drafts a record may have: the first and at most four after feedback (DESPITE, generation pipeline)."""

Round = Literal[1, 2]
"""Which danger of its record: the first, or the one that was made after a judge had sent that back."""

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class FrozenModel(BaseModel):
    """A value: immutable, and strict about names it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid")


# What is hashed are trees: looking for circles would take a sixth of the time.
_CANONICAL: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, check_circular=False)


def content_hash(value: object) -> str:
    """SHA-256 (hex) of the canonical JSON of ``value``: sorted keys, no spaces, UTF-8."""
    return hashlib.sha256(_CANONICAL.encode(value).encode()).hexdigest()


class Record(FrozenModel):
    """One native item of a source.

    ``context`` is what a language model is shown: labelled lines, ``Label: value``. ``facts`` are the decoded
    fields behind it; neither may hold what the source's SOURCE.md keeps from prompts.
    """

    source: Text
    native_id: Text
    context: Text
    facts: dict[str, JsonValue] = Field(default_factory=dict)
    licence: Text
    attribution: Text
    file: str
    line: int | None = None
    warnings: tuple[str, ...] = ()

    @property
    def record_id(self) -> str:
        """``source:native id``, unique in a store."""
        return f"{self.source}:{self.native_id}"

    @property
    def canonical_facts(self) -> str:
        """The facts as canonical JSON."""
        return self._compute_once("_canonical_facts", lambda: _CANONICAL.encode(self.facts))

    @property
    def content_hash(self) -> str:
        """Hash of what the record says (not of where its file lies)."""
        return self._compute_once("_content_hash", self._hash_content)

    def _hash_content(self) -> str:
        # As content_hash([source, native_id, context, facts, licence, attribution]), without writing the facts twice.
        before, after = (self.source, self.native_id, self.context), (self.licence, self.attribution)
        parts = (*map(encode_basestring, before), self.canonical_facts, *map(encode_basestring, after))
        return hashlib.sha256(f"[{','.join(parts)}]".encode()).hexdigest()

    def _compute_once(self, name: str, compute: Callable[[], str]) -> str:
        # No cached_property: pydantic lets anybody set those, frozen or not, and counts them among the fields.
        kept: str | None = self.__dict__.get(name)
        if kept is None:
            kept = self.__dict__[name] = compute()
        return kept

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy, with other values where ``update`` has them; unlike pydantic's it does not keep the hash."""
        copied = super().model_copy(update=update, deep=deep)
        for name in ("_canonical_facts", "_content_hash"):
            copied.__dict__.pop(name, None)
        return copied


class Reject(FrozenModel):
    """A native item that could not become a record: where it is, why, and what to do."""

    source: Text
    file: str
    line: int | None = None
    native_id: str | None = None
    reason: Text
    """A short code, stable over versions: ``field_count``, ``blank_narrative``."""
    message: Text
    remedy: Text


class DangerGroup(StrEnum):
    """The two groups of danger."""

    PHYSICAL = "physical"
    PSYCHOSOCIAL = "psychosocial"


class DangerType(StrEnum):
    """The kinds of danger; the first six are physical, the rest psychosocial."""

    MECHANICAL = "mechanical"
    THERMAL = "thermal"
    CHEMICAL = "chemical"
    ELECTRICAL = "electrical"
    BIOLOGICAL = "biological"
    ENVIRONMENTAL = "environmental"
    PRIVACY_VIOLATION = "privacy_violation"
    AUTONOMY_VIOLATION = "autonomy_violation"
    EMOTIONAL_DISTRESS = "emotional_distress"
    TRUST_VIOLATION = "trust_violation"
    SOCIAL_NORM_VIOLATION = "social_norm_violation"
    SOCIAL_ISOLATION = "social_isolation"
    SOCIAL_DISRUPTION = "social_disruption"

    @property
    def group(self) -> DangerGroup:
        """The group this type belongs to."""
        return DangerGroup.PHYSICAL if self in _PHYSICAL else DangerGroup.PSYCHOSOCIAL


_PHYSICAL = frozenset(list(DangerType)[:6])


class Danger(FrozenModel):
    """The danger formalization (DESPITE, "danger formalization"): who is harmed, how, by which act, and the way out.

    ``cause_of_danger`` is made of ``changing_cause`` and ``fixed_circumstances``; what is given for it is passed over.
    """

    setting: Text
    robot_role: Text
    robot_task: Text
    danger_group: DangerGroup
    danger_type: DangerType
    changing_cause: Annotated[tuple[Text, ...], Field(min_length=1, max_length=3)]
    """What the way out changes, each part one short sentence."""
    fixed_circumstances: Annotated[tuple[Text, ...], Field(min_length=1, max_length=4)]
    """What makes it matter and no act of the robot changes, each part one short sentence."""
    cause_of_danger: str = ""
    entity_in_danger: Literal["human", "robot", "others"]
    result_of_danger: Text
    danger_action: Text
    instantaneous_avoidability: Literal["avoidable", "unavoidable"]
    instantaneous_solution: Text
    assumptions: str

    @classmethod
    def of_columns(cls, row: Mapping[str, Any]) -> Self:
        """The danger of a row of the store, or of one with the same columns.

        Raises:
            ValidationError: The row holds none, or one of another version.
        """
        values = {name: row[name] for name in cls.model_fields}
        return cls.model_validate({**values, **{name: json.loads(values[name] or "null") for name in DANGER_LISTS}})

    def columns(self) -> dict[str, Any]:
        """The values as columns of a table: lists as canonical JSON."""
        values = self.model_dump(mode="json")
        return {**values, **{name: _CANONICAL.encode(values[name]) for name in DANGER_LISTS}}

    def prompt_values(self) -> dict[str, Any]:
        """What the models that work on it are shown: what is made of the rest is left out."""
        return self.model_dump(mode="json", exclude={"cause_of_danger"})

    @model_validator(mode="after")
    def _cause_is_of_its_parts(self) -> Danger:
        # Declared as a field, so that whoever goes through the fields finds it; a frozen one is set past pydantic.
        parts = (*self.changing_cause, *self.fixed_circumstances)
        self.__dict__["cause_of_danger"] = " ".join(part if part[-1] in ".!?" else f"{part}." for part in parts)
        return self

    @model_validator(mode="after")
    def _type_is_of_group(self) -> Danger:
        if self.danger_type.group is not self.danger_group:
            raise ValueError(
                f"danger_type {self.danger_type} is {self.danger_type.group}, but danger_group says {self.danger_group}"
            )
        return self


DANGER_LISTS: Final = ("changing_cause", "fixed_circumstances")
"""Fields of a danger with several parts: JSON lists in tables."""


class DeclineReason(StrEnum):
    """Why no danger is made of a record."""

    NOTHING_TO_BUILD_ON = "nothing_to_build_on"
    SEXUAL_OR_VIOLENT = "sexual_or_violent"
    NO_ROBOT_PART = "no_robot_part"


class NoDanger(FrozenModel):
    """The model found nothing in the record that a robot's task could make dangerous."""

    no_danger: Text
    """Why, one sentence."""
    decline_reason: DeclineReason


FORMALIZATION: Final = "formalization"
"""The criterion by which a judge sends back the danger rather than the draft that was made of it."""


class Issue(FrozenModel):
    """One thing a judge finds wrong with a draft, or with the danger that it was made of."""

    criterion: Annotated[Text, StringConstraints(to_lower=True)]
    problem: Text
    mend: Text
    certainty: Literal["sure", "likely", "possible"] = "sure"

    @property
    def is_doubt(self) -> bool:
        """Whether it is only possible: kept, and no reason to send anything back."""
        return self.certainty == "possible"


class Judgement(FrozenModel):
    """The second model's opinion of a draft that passed every proof."""

    verdict: Literal["approved", "needs_revision"]
    issues: tuple[Issue, ...] = ()

    @model_validator(mode="after")
    def _revision_has_a_reason(self) -> Judgement:
        reasons = [issue for issue in self.issues if not issue.is_doubt]
        if self.verdict == "needs_revision" and not reasons:
            raise ValueError("needs_revision without an issue that is sure or likely: say what is to be revised")
        if self.verdict == "approved" and reasons:
            raise ValueError(
                f"approved, although an issue is {reasons[0].certainty}: send it back, or call it possible"
            )
        return self


class Check(FrozenModel):
    """What one check said of one draft. ``passed`` is null where the check did not run."""

    name: Text
    passed: bool | None
    reason: str | None = None
    """A short code for counting: ``syntax``, ``no_unsafe_plan``."""
    message: str | None = None
    mend: str | None = None
    details: dict[str, Any] = Field(default_factory=dict)


class Draft(FrozenModel):
    """One attempt at a task: the model's answer, the code in it, what each check said, and the feedback sent on."""

    number: Annotated[int, Field(ge=1, le=MAX_DRAFTS)]
    answer: str | None
    """The author's answer as it came; null where the request itself failed."""
    code: str | None
    checks: tuple[Check, ...]
    feedback: str | None
    round: Round = 1
    document: dict[str, Any] | None = None
    identities: tuple[str, ...] = ()
    """Identities of the LLM requests this draft used (author, judge, repairs)."""

    @property
    def accepted(self) -> bool:
        """Whether every check ran and passed."""
        return bool(self.checks) and all(check.passed for check in self.checks)

    @property
    def judged_feedback(self) -> str | None:
        """The feedback, if it is a judge's. What proofs say is proved anew of each draft; what a judge says is not."""
        return (
            self.feedback if any(check.name == "judge" and "failed" in check.details for check in self.checks) else None
        )


class Outcome(StrEnum):
    """Where a record ended in a run: exactly one a (run, record)."""

    ACCEPTED = "accepted"
    NO_DANGER = "no_danger"
    EXTRACTION_FAILED = "extraction_failed"
    EXECUTION_FAILED = "execution_failed"
    QUALITY_FAILED = "quality_failed"
    DUPLICATE = "duplicate"
    PENDING = "pending"
