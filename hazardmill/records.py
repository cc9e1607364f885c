"""The values that all stages share, as frozen pydantic models: record, reject, danger, draft, check, outcome."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from json.encoder import encode_basestring
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StringConstraints, model_validator

MAX_DRAFTS = 5
"""Drafts per record at the most: the first, and up to four after feedback (DESPITE, generation pipeline)."""

ProductKind = Literal["task", "mal", "sit", "hazard_task"]
"""What is made of a record: a task, or a scenario of either kind; of a dialogue, tasks in which plans do harm."""

Round = Literal[1, 2]
"""Which danger of a record: the first, or the second, asked for after a judge sent the first one back."""

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class FrozenModel(BaseModel):
    """Base of immutable values.

    Assignment raises, and so does a field that the model does not have (``ValidationError``).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")


# Only trees are hashed: the check for circular references would take a sixth of the time.
_CANONICAL: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, check_circular=False)


def content_hash(value: object) -> str:
    """Return the SHA-256 of the canonical JSON of a value: sorted keys, no spaces, UTF-8.

    Args:
        value: JSON data without circular references.

    Returns:
        64 lower-case hexadecimal digits.

    Raises:
        TypeError: The value holds something that JSON cannot express.
    """
    return hashlib.sha256(_CANONICAL.encode(value).encode()).hexdigest()


class Record(FrozenModel):
    """One item of a source, decoded.

    Neither ``context`` nor ``facts`` may hold what the source's SOURCE.md keeps out of prompts.

    Attributes:
        source: Name of the source.
        native_id: The item's id within the source.
        context: What a language model is shown: lines of the form ``Label: value``.
        facts: The decoded fields behind the context.
        licence: Licence of the item.
        attribution: Whom to credit for the item.
        file: Name of the file, within the input that it was read from.
        line: 1-based line in that file; null where a file is one record.
        warnings: Doubts about the item that do not stop it from being a record.
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
        """The record's id, ``source:native id``, unique in a store."""
        return f"{self.source}:{self.native_id}"

    @property
    def canonical_facts(self) -> str:
        """The facts as canonical JSON, encoded once."""
        return self._compute_once("_canonical_facts", lambda: _CANONICAL.encode(self.facts))

    @property
    def content_hash(self) -> str:
        """SHA-256 of the content: of everything except file, line and warnings. Computed once."""
        return self._compute_once("_content_hash", self._hash_content)

    def _hash_content(self) -> str:
        # Equals content_hash([source, native_id, context, facts, licence, attribution]); facts are encoded only once.
        before, after = (self.source, self.native_id, self.context), (self.licence, self.attribution)
        parts = (*map(encode_basestring, before), self.canonical_facts, *map(encode_basestring, after))
        return hashlib.sha256(f"[{','.join(parts)}]".encode()).hexdigest()

    def _compute_once(self, name: str, compute: Callable[[], str]) -> str:
        # Not a cached_property: pydantic lets callers set those even on a frozen model, and takes them for fields.
        kept: str | None = self.__dict__.get(name)
        if kept is None:
            kept = self.__dict__[name] = compute()
        return kept

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy with the values of ``update``.

        Unlike pydantic's own method it drops the cached hash and facts, which may no longer be right.
        """
        copied = super().model_copy(update=update, deep=deep)
        for name in ("_canonical_facts", "_content_hash"):
            copied.__dict__.pop(name, None)
        return copied


class Reject(FrozenModel):
    """An item of a source that could not become a record: where it is, why, and what to do.

    ``line`` is 1-based and null where it is not known; so is ``native_id``.
    """

    source: Text
    file: str
    line: int | None = None
    native_id: str | None = None
    reason: Text
    """A short code that is stable across versions, such as ``field_count`` or ``blank_narrative``."""
    message: Text
    remedy: Text


class DangerGroup(StrEnum):
    """The two groups of danger types (DESPITE)."""

    PHYSICAL = "physical"
    PSYCHOSOCIAL = "psychosocial"


class DangerType(StrEnum):
    """The types of danger (DESPITE): the first six are physical, the rest psychosocial.

    The order matters: ``group`` depends on it, and figures show the types in it.
    """

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
    """A danger formalization (DESPITE): who is harmed, how, by which act of the robot, and what avoids it.

    Attributes:
        cause_of_danger: The sentences of ``changing_cause`` and ``fixed_circumstances``, joined. It is always computed
            from the two: a value that is passed in is ignored.
        danger_action: The act of the robot that brings the danger about.
        instantaneous_avoidability: ``unavoidable`` if no plan that reaches the goal is safe.
        instantaneous_solution: What the robot does instead, or why nothing helps.
        assumptions: What the record does not say; may be empty.
    """

    setting: Text
    robot_role: Text
    robot_task: Text
    danger_group: DangerGroup
    danger_type: DangerType
    changing_cause: Annotated[tuple[Text, ...], Field(min_length=1, max_length=3)]
    """The part of the cause that the safe way changes: one short sentence per entry."""
    fixed_circumstances: Annotated[tuple[Text, ...], Field(min_length=1, max_length=4)]
    """The part of the cause that no act of the robot changes: one short sentence per entry."""
    cause_of_danger: str = ""
    entity_in_danger: Literal["human", "robot", "others"]
    result_of_danger: Text
    danger_action: Text
    instantaneous_avoidability: Literal["avoidable", "unavoidable"]
    instantaneous_solution: Text
    assumptions: str

    @classmethod
    def of_columns(cls, row: Mapping[str, Any]) -> Self:
        """Return the danger in a row of the table ``dangers``, or in one with the same columns.

        Raises:
            ValidationError: The row holds no danger, or one of an incompatible version.
            KeyError: The row lacks a column.
        """
        values = {name: row[name] for name in cls.model_fields}
        return cls.model_validate({**values, **{name: json.loads(values[name] or "null") for name in DANGER_LISTS}})

    def columns(self) -> dict[str, Any]:
        """Return the values as columns of a table, with lists as canonical JSON."""
        values = self.model_dump(mode="json")
        return {**values, **{name: _CANONICAL.encode(values[name]) for name in DANGER_LISTS}}

    def prompt_values(self) -> dict[str, Any]:
        """Return the fields that prompts show; ``cause_of_danger`` is left out because it repeats two others."""
        return self.model_dump(mode="json", exclude={"cause_of_danger"})

    @model_validator(mode="after")
    def _cause_is_of_its_parts(self) -> Danger:
        # A declared field, so that code that walks the fields finds it; set through __dict__, as the model is frozen.
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
"""The fields of a danger that are lists, stored as JSON in tables."""


class DeclineReason(StrEnum):
    """Why extraction declined to make a danger from a record."""

    NOTHING_TO_BUILD_ON = "nothing_to_build_on"
    """The record names no place, thing or person."""
    SEXUAL_OR_VIOLENT = "sexual_or_violent"
    """The record is about sex, or about violence that was meant."""
    NO_ROBOT_PART = "no_robot_part"
    """In every scene with a robot nothing of the record would be left, or nobody would be harmed by its act."""


class NoDanger(FrozenModel):
    """The answer of extraction where a record offers no danger for a robot's task."""

    no_danger: Text
    """Why, in one sentence."""
    decline_reason: DeclineReason


FORMALIZATION: Final = "formalization"
"""The criterion under which a judge sends back the danger itself, and not only the draft made from it."""


class Issue(FrozenModel):
    """One problem that a judge finds in a draft, or in the danger that it was made from.

    Attributes:
        criterion: Which criterion of the judge it violates, in lower case.
        problem: What is wrong.
        mend: What would repair it.
        certainty: How sure the judge is; ``possible`` alone sends nothing back.
    """

    criterion: Annotated[Text, StringConstraints(to_lower=True)]
    problem: Text
    mend: Text
    certainty: Literal["sure", "likely", "possible"] = "sure"

    @property
    def is_doubt(self) -> bool:
        """Whether the issue is only possible: it is kept, but does not send anything back."""
        return self.certainty == "possible"


class Judgement(FrozenModel):
    """A judge's verdict on a draft that passed every proof.

    Raises:
        ValidationError: The verdict contradicts the issues: ``needs_revision`` without an issue that is sure or
            likely, or ``approved`` with one.
    """

    verdict: Literal["approved", "needs_revision"]
    issues: tuple[Issue, ...] = ()

    @model_validator(mode="after")
    def _revision_has_a_reason(self) -> Judgement:
        reasons = [issue for issue in self.issues if not issue.is_doubt]
        if self.verdict == "needs_revision" and not reasons:
            raise ValueError(
                "the verdict is `needs_revision`, but no issue is rated `sure` or `likely`: add an issue that says "
                "what to revise, or approve"
            )
        if self.verdict == "approved" and reasons:
            raise ValueError(
                f"the verdict is `approved`, but an issue is rated `{reasons[0].certainty}`: change the verdict to "
                "`needs_revision`, or rate the issue as `possible`"
            )
        return self


class Check(FrozenModel):
    """The result of one check of one draft.

    Attributes:
        name: Name of the check.
        passed: Null where the check did not run.
        message: What is wrong, for the author and for people; null where the check passed or did not run.
        mend: What would repair it, if the check knows.
        details: Evidence, by name, as JSON data.
    """

    name: Text
    passed: bool | None
    reason: str | None = None
    """A short code for counting, such as ``syntax`` or ``no_unsafe_plan``."""
    message: str | None = None
    mend: str | None = None
    details: dict[str, Any] = Field(default_factory=dict)


class Draft(FrozenModel):
    """One attempt at a task: the author's answer, the code in it, the results of the checks, and the feedback.

    Attributes:
        number: From 1.
        code: The Python module found in the answer; null if there is none.
        checks: In the order in which they ran.
        feedback: What the next draft is asked to repair; null if nothing was sent.
        round: The danger that the draft was made from.
        document: The task document that the code produced, as JSON; null if it produced none.
    """

    number: Annotated[int, Field(ge=1, le=MAX_DRAFTS)]
    answer: str | None
    """The author's answer, unchanged; null where the request failed."""
    code: str | None
    checks: tuple[Check, ...]
    feedback: str | None
    round: Round = 1
    document: dict[str, Any] | None = None
    identities: tuple[str, ...] = ()
    """Identities of the LLM requests that this draft used: author, judge, and their repair turns."""

    @property
    def accepted(self) -> bool:
        """Whether every check ran and passed; false without checks."""
        return bool(self.checks) and all(check.passed for check in self.checks)

    @property
    def judged_feedback(self) -> str | None:
        """The feedback if it is a judge's, else null.

        A later draft is proved again, so that what proofs said can be dropped; a judge's opinion would be lost.
        """
        return (
            self.feedback if any(check.name == "judge" and "failed" in check.details for check in self.checks) else None
        )


class Outcome(StrEnum):
    """Where a record ended in a run: exactly one per run and record.

    All but ``ACCEPTED`` and ``PENDING`` are losses. The values are stored, so they never change.
    """

    ACCEPTED = "accepted"
    NO_DANGER = "no_danger"
    EXTRACTION_FAILED = "extraction_failed"
    EXECUTION_FAILED = "execution_failed"
    QUALITY_FAILED = "quality_failed"
    DUPLICATE = "duplicate"
    PENDING = "pending"


_SHARE_ALIKE: Final = re.compile(r"(?<![a-z])(sa|share-?\s?alike)(?![a-z])", re.IGNORECASE)


def is_share_alike(licence: str) -> bool:
    """Return whether the name of a licence says that derived works must be shared under the same licence.

    Args:
        licence: Name of the licence, such as ``CC-BY-SA-4.0``. A name counts that contains ``SA`` as a word, or
            "share-alike" in any of its spellings.
    """
    return _SHARE_ALIKE.search(licence) is not None
