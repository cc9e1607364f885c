from __future__ import annotations

import hashlib
import json
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from hazardmill.records import (
    DANGER_LISTS,
    FORMALIZATION,
    Check,
    Danger,
    DangerGroup,
    DangerType,
    DeclineReason,
    Draft,
    Issue,
    Judgement,
    NoDanger,
    Outcome,
    Record,
    content_hash,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.text(st.characters(codec="utf-8"), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


def record(**fields: Any) -> Record:
    base = {"source": "s", "native_id": "1", "context": "c", "licence": "l", "attribution": "a", "file": "f"}
    return Record(**(base | fields))


def test_a_hash_covers_canonical_json() -> None:
    assert content_hash({"b": "ü", "a": [1, None]}) == hashlib.sha256('{"a":[1,null],"b":"ü"}'.encode()).hexdigest()


@given(value=st.dictionaries(st.text(max_size=4), JSON, max_size=5))
def test_the_order_of_keys_is_no_part_of_a_hash(value: dict[str, Any]) -> None:
    assert content_hash(dict(reversed(value.items()))) == content_hash(json.loads(json.dumps(value)))


@pytest.mark.parametrize(
    "change",
    [
        {"source": "t"},
        {"native_id": "2"},
        {"context": "d"},
        {"facts": {"a": 1}},
        {"licence": "m"},
        {"attribution": "b"},
    ],
)
def test_what_a_record_says_is_in_its_hash(change: dict[str, Any]) -> None:
    assert record(**change).content_hash != record().content_hash


@pytest.mark.parametrize("change", [{"file": "g"}, {"line": 7}, {"warnings": ("odd",)}])
def test_where_a_record_lies_is_not_in_its_hash(change: dict[str, Any]) -> None:
    assert record(**change).content_hash == record().content_hash


TEXT = st.text(min_size=1).filter(str.strip)


@given(fields=st.fixed_dictionaries(dict.fromkeys(("source", "native_id", "context", "licence", "attribution"), TEXT)))
def test_a_record_is_hashed_as_the_list_of_what_it_says(fields: dict[str, str]) -> None:
    one = record(**fields, facts={"b": ["\u00fc", None], "a": 0.1})
    said = [one.source, one.native_id, one.context, one.facts, one.licence, one.attribution]
    assert one.content_hash == content_hash(said)
    assert json.loads(one.canonical_facts) == one.facts


def test_a_changed_copy_has_a_hash_of_its_own() -> None:
    one = record(facts={"a": 1})
    assert one.content_hash == record(facts={"a": 1}).content_hash
    for change in ({"context": "d"}, {"facts": {"a": 2}}):
        changed = one.model_copy(update=change)
        assert changed.content_hash == record(**({"facts": {"a": 1}} | change)).content_hash != one.content_hash
    assert one == record(facts={"a": 1})
    assert dict(one) == dict(record(facts={"a": 1})) and one.model_dump() == record(facts={"a": 1}).model_dump()
    assert pickle.loads(pickle.dumps(one)).content_hash == one.content_hash


def test_a_hash_cannot_be_set() -> None:
    one = record()
    for name in ("content_hash", "canonical_facts"):
        with pytest.raises(ValidationError, match="frozen"):
            setattr(one, name, "0" * 64)


def test_facts_are_the_records_own() -> None:
    given_list = ["a"]
    facts: dict[str, Any] = {"words": given_list}
    one = record(facts=facts)
    facts["more"] = 1
    given_list.append("b")
    assert one.facts == {"words": ["a"]}


@pytest.mark.parametrize("field", ["source", "native_id", "context", "licence", "attribution"])
def test_a_record_has_no_blank_parts(field: str) -> None:
    with pytest.raises(ValidationError):
        record(**{field: "  "})


def test_values_are_immutable_and_know_their_names() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        record().context = "d"
    with pytest.raises(ValidationError, match="extra"):
        record(contxt="c")


def test_there_are_six_physical_and_seven_psychosocial_dangers() -> None:
    groups = [kind.group for kind in DangerType]
    assert groups == [DangerGroup.PHYSICAL] * 6 + [DangerGroup.PSYCHOSOCIAL] * 7


def danger_but(*names: str) -> dict[str, Any]:
    texts = dict.fromkeys(Danger.model_fields, "text") | {name: ["text"] for name in DANGER_LISTS}
    texts |= {"entity_in_danger": "human", "instantaneous_avoidability": "avoidable"}
    texts |= {"danger_type": "thermal", "danger_group": "physical"}
    return {name: value for name, value in texts.items() if name not in names}


@pytest.mark.parametrize("kind", DangerType)
@pytest.mark.parametrize("group", DangerGroup)
def test_a_danger_is_of_the_group_of_its_type(kind: DangerType, group: DangerGroup) -> None:
    given_ = danger_but("danger_group", "danger_type")
    if kind.group is group:
        assert Danger(**given_, danger_type=kind, danger_group=group).danger_type is kind
    else:
        with pytest.raises(ValidationError, match=f"{kind} is {kind.group}"):
            Danger(**given_, danger_type=kind, danger_group=group)


def test_a_cause_is_made_of_what_changes_and_what_makes_it_matter() -> None:
    given_ = danger_but(*DANGER_LISTS, "cause_of_danger")
    danger = Danger(**given_, changing_cause=["The toy lies there"], fixed_circumstances=["The soup is hot.", "Why?"])
    assert danger.cause_of_danger == "The toy lies there. The soup is hot. Why?"
    assert "cause_of_danger" not in danger.prompt_values()
    # Whatever somebody says of the cause, the parts count: else the two could contradict each other.
    again = Danger.model_validate(danger.model_dump(mode="json") | {"cause_of_danger": "Nobody knows."})
    assert again == danger and again.cause_of_danger == danger.cause_of_danger
    assert danger.columns()["changing_cause"] == '["The toy lies there"]'
    assert Danger.of_columns({**danger.columns(), "run_id": "r"}) == danger


@pytest.mark.parametrize(("name", "most"), [("changing_cause", 3), ("fixed_circumstances", 4)])
def test_a_cause_has_a_part_of_each_kind_and_not_too_many(name: str, most: int) -> None:
    Danger(**danger_but(name), **{name: ["text"] * most})
    for parts in ([], ["text"] * (most + 1), ["text", " "], "text"):
        with pytest.raises(ValidationError, match=name):
            Danger(**danger_but(name), **{name: parts})


def test_a_record_is_declined_for_a_named_reason() -> None:
    assert {reason.value for reason in DeclineReason} == {"nothing_to_build_on", "sexual_or_violent", "no_robot_part"}
    for given_ in ({"no_danger": "Sport."}, {"no_danger": "Sport.", "decline_reason": "sport"}):
        with pytest.raises(ValidationError, match="decline_reason"):
            NoDanger.model_validate(given_)


def test_a_judge_who_wants_a_revision_says_which() -> None:
    assert Judgement(verdict="approved").issues == ()
    with pytest.raises(ValidationError, match="no issue is rated"):
        Judgement(verdict="needs_revision")


@pytest.mark.parametrize(
    ("passed", "accepted"), [((), False), ((True, True), True), ((True, None), False), ((True, False), False)]
)
def test_a_draft_is_accepted_if_every_check_ran_and_passed(passed: tuple[bool | None, ...], accepted: bool) -> None:
    checks = tuple(Check(name=f"c{n}", passed=value) for n, value in enumerate(passed))
    assert Draft(number=1, answer=None, code=None, checks=checks, feedback=None).accepted is accepted


@pytest.mark.parametrize("number", [0, 6])
def test_there_are_at_most_five_drafts(number: int) -> None:
    with pytest.raises(ValidationError):
        Draft(number=number, answer=None, code=None, checks=(), feedback=None)


def test_the_outcomes_of_the_design() -> None:
    assert {str(outcome) for outcome in Outcome} == {
        "accepted",
        "no_danger",
        "extraction_failed",
        "execution_failed",
        "quality_failed",
        "duplicate",
        "pending",
    }


def test_a_criterion_is_the_same_however_it_is_written() -> None:
    assert Issue(criterion=" Formalization ", problem="nobody's errand", mend="another").criterion == FORMALIZATION
