from __future__ import annotations

import pytest

from hazardmill.generation.extract import ExtractResult, RejectedDanger
from hazardmill.records import Danger, Outcome, Record
from hazardmill.report.preview import Preview

from .support import DANGER

FIRST, SECOND, THIRD = (
    Record(source="notes", native_id=str(n), context=f"Note: {n}", licence="l", attribution="a", file="f", line=n)
    for n in (1, 2, 3)
)


@pytest.fixture
def shown() -> list[str]:
    return []


@pytest.fixture
def preview(shown: list[str]) -> Preview:
    return Preview([record.record_id for record in (FIRST, SECOND, THIRD)], shown.append)


def heads(shown: list[str]) -> list[str]:
    return [text.split("\n")[1] for text in shown]


def test_steps_are_shown_as_they_come_and_records_in_their_order(preview: Preview, shown: list[str]) -> None:
    preview.on_record(SECOND)
    preview.on_extraction(SECOND, ExtractResult((), no_danger="nothing but sport"))
    assert shown == [], "it is not its turn"
    preview.on_record(FIRST)
    assert heads(shown) == ["RECORD 1 of 3  notes:1"]
    preview.on_extraction(FIRST, ExtractResult((), error="there is no JSON object"))
    preview.on_record(THIRD)
    assert heads(shown)[1:] == ["FORMALIZATION  failed: there is no JSON object"]
    preview.ended("notes:1", Outcome.EXTRACTION_FAILED)
    assert heads(shown)[2:] == [
        "OUTCOME  notes:1: extraction failed",
        "RECORD 2 of 3  notes:2",
        "FORMALIZATION  no danger: nothing but sport",
    ]
    assert "answered by    nobody" in shown[-1]
    preview.ended("notes:2", Outcome.NO_DANGER)
    preview.ended("notes:3", Outcome.NO_DANGER)
    assert heads(shown)[5:] == [
        "OUTCOME  notes:2: no danger in it",
        "RECORD 3 of 3  notes:3",
        "OUTCOME  notes:3: no danger in it",
    ]
    preview.broken_off()
    assert len(shown) == 8


def test_a_second_round_says_why_there_is_one(preview: Preview, shown: list[str]) -> None:
    danger = Danger.model_validate(DANGER)
    sent_back = RejectedDanger(
        danger, 1, ({"reason": "judge:formalization", "message": "nobody asks for that", "mend": "m"},)
    )
    preview.on_extraction(FIRST, ExtractResult((), danger))
    preview.on_extraction(FIRST, ExtractResult((), danger, round=2, sent_back=sent_back))
    assert heads(shown) == ["FORMALIZATION  a danger was found", "FORMALIZATION, ROUND 2  another danger was found"]
    assert "the judge of draft 1 sent back the first danger: nobody asks for that" in shown[1]
    assert "sent back" not in shown[0]


def test_what_is_known_of_later_records_is_shown_where_the_first_never_ends(preview: Preview, shown: list[str]) -> None:
    for record in (THIRD, FIRST):
        preview.on_record(record)
    preview.broken_off()
    assert heads(shown) == ["RECORD 1 of 3  notes:1", "RECORD 3 of 3  notes:3"]


def test_text_of_others_does_nothing_to_a_terminal(preview: Preview, shown: list[str]) -> None:
    preview.on_record(FIRST.model_copy(update={"context": "Note: \x1b[2Jgone"}))
    assert "\x1b" not in shown[0] and "gone" in shown[0]
