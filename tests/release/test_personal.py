"""Personal data in injury reports: what was planted is found, and what is only written like it is not."""

from __future__ import annotations

import datetime
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from factories.generated import write_neiss
from hypothesis import given
from hypothesis import strategies as st

from hazardmill.ingest.sources import load_source
from hazardmill.records import Record
from hazardmill.release.build.configs import DANGER_FIELDS, DANGERS, DRAFTS, REVIEWS
from hazardmill.release.gates.pii import (
    _NO_NAMES,
    personal_in,
    personal_of_task,
    texts_beside,
    texts_of_task,
)

NARRATIVES = (
    "45YOF SLIPPED OFF A STEPLADDER @ HOME, PAIN 8/10 L WRIST. {} DX: SPRAIN",
    "7 YOM TOUCHED THE KETTLE 2 DAYS AGO {} BLISTERS TO 3 FINGERS. DX BURN",
    "The person (32) cut a thumb on a tin lid; {} nobody else was hurt.",
)


def kinds(text: str) -> list[str]:
    return [found.kind for found in personal_in(text)]


def planted(text: str) -> st.SearchStrategy[str]:
    return st.sampled_from(NARRATIVES).map(lambda narrative: narrative.format(text))


def cased(text: str) -> st.SearchStrategy[str]:
    return st.sampled_from([text, text.upper()])


@pytest.mark.parametrize("narrative", NARRATIVES)
def test_the_narratives_hold_nothing_by_themselves(narrative: str) -> None:
    assert kinds(narrative.format("")) == []


# Planted


@given(st.data())
def test_email_addresses_are_found(data: st.DataObject) -> None:
    name = data.draw(st.from_regex(r"[a-z][a-z0-9]{0,12}([._-][a-z0-9]{1,12})?", fullmatch=True))
    host = data.draw(st.from_regex(r"[a-z][a-z0-9]{1,12}(\.[a-z]{2,8})?", fullmatch=True))
    top = data.draw(st.sampled_from(["com", "org", "net", "edu", "gov"]))
    assert "e-mail address" in kinds(data.draw(planted(data.draw(cased(f"{name}@{host}.{top}")))))


DIGITS = st.integers(0, 9999)


@given(st.data(), st.integers(200, 999), st.integers(200, 999), DIGITS)
def test_telephone_numbers_are_found(data: st.DataObject, area: int, exchange: int, line: int) -> None:
    local = f"{exchange}-{line:04}"
    written = data.draw(
        st.sampled_from(
            [
                f"({area}) {local}",
                f"({area}){local}",
                f"{area}-{local}",
                f"{area}.{exchange}.{line:04}",
                f"{area} {exchange} {line:04}",
                f"+1 {area} {local}",
                f"1-{area}-{local}",
                local,
                f"PHONE {area}{exchange}{line:04}",
                f"cell: +44 20 {exchange}0 {line:04}",
            ]
        )
    )
    assert "telephone number" in kinds(data.draw(planted(written)))


@given(st.data(), st.integers(1, 899), st.integers(1, 99), DIGITS)
def test_social_security_numbers_are_found(data: st.DataObject, area: int, group: int, serial: int) -> None:
    plain = f"{area:03}{group:02}{serial:04}"
    dashed = f"{area:03}-{group:02}-{serial:04}"
    written = data.draw(st.sampled_from([dashed, f"SSN {plain}", f"ssn: {dashed}", f"Social Security number {plain}"]))
    assert "SSN" in kinds(data.draw(planted(written)))


@given(st.data(), st.dates(datetime.date(1900, 1, 1), datetime.date(2099, 12, 31)))
def test_full_dates_are_found(data: st.DataObject, day: datetime.date) -> None:
    written = data.draw(
        st.sampled_from(
            [
                f"{day.month}/{day.day}/{day.year}",
                f"{day:%m/%d/%y}",
                f"{day:%m-%d-%Y}",
                f"{day:%d.%m.%Y}",
                day.isoformat(),
                f"{day:%B} {day.day}, {day.year}",
                f"{day:%b} {day.day} {day.year}",
                f"{day:%b}. {day.day}, {day.year}",
                f"{day.day} {day:%B} {day.year}",
                f"on the {day.day}th of {day:%B}, {day.year}",
            ]
        )
    )
    assert "date" in kinds(data.draw(planted(data.draw(cased(written)))))


@given(st.data(), st.dates(datetime.date(1900, 1, 1), datetime.date(2099, 12, 31)))
def test_of_a_birth_less_is_enough(data: st.DataObject, day: datetime.date) -> None:
    label = data.draw(st.sampled_from(["DOB", "DOB:", "D.O.B.", "date of birth:", "BIRTHDAY IS", "Birthdate"]))
    written = data.draw(st.sampled_from([f"{day.month}/{day.day}", f"{day:%B} {day.day}", str(day.year)]))
    assert "date" in kinds(data.draw(planted(f"{label} {written}")))


# One word of the reports is spelled like a name: "DR WANTS AN X-RAY".
SURNAMES = st.from_regex(r"[B-DF-HJ-NP-TV-Z][aeiou][lnrst][dkmt][eo]?[nrst]", fullmatch=True).filter(
    lambda name: name.lower() not in _NO_NAMES
)


@given(st.data(), SURNAMES)
def test_names_after_titles_are_found(data: st.DataObject, name: str) -> None:
    title = data.draw(st.sampled_from(["Mr", "Mrs", "Ms", "Dr", "Prof", "Doctor"]))
    dot = data.draw(st.sampled_from(["", "."]))
    initial = data.draw(st.sampled_from(["", "J. ", "K "]))
    assert "name" in kinds(data.draw(planted(data.draw(cased(f"{title}{dot} {initial}{name}")))))


@pytest.mark.parametrize("name", ["SMITH", "JONES", "Lee", "O'BRIEN", "Garcia-Lopez", "NGUYEN"])
@pytest.mark.parametrize("title", ["MR", "MRS.", "Ms", "DR.", "Dr"])
def test_usual_names_are_found(title: str, name: str) -> None:
    assert "name" in kinds(f"34YOF WAS HELPED BY {title} {name} AFTER SHE FELL")


@given(st.data(), st.integers(1, 99999))
def test_addresses_are_found(data: st.DataObject, number: int) -> None:
    written = data.draw(
        st.sampled_from(
            [
                f"{number} Maple Street",
                f"{number} N. Elm Avenue",
                f"{number} 5th Ave",
                f"{number} Old Mill Road",
                f"{number} Sunset Blvd",
                f"{number} Quarry Lane",
                f"P.O. Box {number}",
                f"PO Box {number}",
                f"{number + 10} Oak St, Apt 4",
                f"{number + 10} Birch Dr.",
            ]
        )
    )
    assert "address" in kinds(data.draw(planted(data.draw(cased(written)))))


def test_the_end_of_an_address_is_no_title_of_a_name() -> None:
    assert kinds("TOUCHED THE KETTLE 2 DAYS AGO 11 Birch Dr. BLISTERS TO 3 FINGERS") == ["address"]
    assert kinds("SEEN BY Dr. BIRCH AT 11 Birch Dr. BLISTERS") == ["name", "address"]


@given(st.data(), st.integers(1000, 10**12))
def test_record_numbers_are_found(data: st.DataObject, number: int) -> None:
    label = data.draw(st.sampled_from(["MRN", "MRN:", "MR#", "medical record number", "CHART NO.", "acct #", "PT ID"]))
    prefix = data.draw(st.sampled_from(["", "A", "HX-"]))
    assert "record number" in kinds(data.draw(planted(f"{label} {prefix}{number}")))


@given(st.data(), st.integers(10**6, 10**15))
def test_long_numbers_are_found_without_a_label(data: st.DataObject, number: int) -> None:
    assert kinds(data.draw(planted(str(number)))) != []


AGES = [
    "{}YOF",
    "{} YOM",
    "{} YO F",
    "{}YF",
    "{} Y/O",
    "{} Y.O. M",
    "{}-YOF",
    "{} YR OLD",
    "{} years old",
    "{}-year-old",
    "HIP PAIN.{}YOF",
    "WRIST FX/{}YOWM",
    "L-{} YOBF",
    "aged {}",
    "AGE {}",
    "older adult ({} years)",
]


@given(st.data(), st.integers(90, 120))
def test_ages_over_89_are_found(data: st.DataObject, age: int) -> None:
    assert "age over 89" in kinds(data.draw(planted(data.draw(st.sampled_from(AGES)).format(age))))


@given(st.data(), st.integers(0, 89))
def test_other_ages_are_not(data: st.DataObject, age: int) -> None:
    assert kinds(data.draw(planted(data.draw(st.sampled_from(AGES)).format(age)))) == []


@pytest.mark.parametrize("text", ["a ninety-two-year-old", "a man in his late 90s", "a centenarian", "nonagenarians"])
def test_ages_in_words_are_found(text: str) -> None:
    assert "age over 89" in kinds(text)


# Written alike


@pytest.mark.parametrize(
    "text",
    [
        "PAIN@HOME.NO LOC",
        "FELL@SCHOOL.DX SPRAIN",
        "PAIN 10/10, WAS 8/10",
        "2/2 FALL 3 DAYS AGO",
        "TOOK 1-2 TABS AT 0830, 500 MG EACH",
        "A 3-1/2 INCH CUT",
        "GCS 4/5/6 X 2",
        "BP 120/80, HR 92, O2 98%",
        "CT OF 2 RIBS, 12 STAIRS, ON THE WAY",
        "5 YOM PLAYING IN STREET",
        "RODE 30 MPH ON ROAD",
        "10 FOOT DROP, CT NEG",
        "SENT BY DR OFFICE, MS FLARE, MR DX",
        "HX OF MS FELL FROM CHAIR",
        "TRIED TO MISS A CURB",
        "CASE OF SODA 2015 MODEL",
        "IN 2019 MAY 1 OF THEM",
        "100 YARD DASH, 95 DEGREES, 90 MINUTES",
        "95 % OF THE TIME",
        "CALLED 911",
        "90 YARDS FROM HOME",
        "older adult (90 years or over)",
        "AGED 90 OR OLDER",
        "90 YO AND OVER",
        "over 90+",
    ],
)
def test_what_is_written_like_it_is_not_found(text: str) -> None:
    assert kinds(text) == []


@pytest.mark.parametrize("text", ["95 years or older", "aged 93 or over", "a 90 year old tripped over a rug"])
def test_single_ages_are_found_however_they_go_on(text: str) -> None:
    assert kinds(text) == ["age over 89"]


def test_of_two_that_overlap_the_longer_is_told() -> None:
    (found,) = personal_in("SSN: 123-45-6789")
    assert found.kind == "SSN"
    assert (found.start, found.end) == (0, 16)


def test_compatibility_characters_hide_nothing() -> None:
    assert kinds("write to jane.doe\uff20mail.example.com") == ["e-mail address"]
    assert kinds("\uff19\uff15YOF FELL") == ["age over 89"]


@pytest.mark.parametrize("text", ["1" * 50_000, "a" * 50_000, "a@" * 20_000, "1 a " * 20_000, "9/" * 30_000])
def test_no_text_takes_long(text: str) -> None:
    # The test's own limit of time ends what backtracks without end.
    assert len(personal_in(text)) <= 1


def test_every_text_of_a_task_is_looked_at() -> None:
    row = {
        "context": "a",
        "code": "b",
        "danger": json.dumps({"setting": "c", "assumptions": "d"}),
        "document": json.dumps({"texts": {"title": "e", "more": ["f", {"deep": "g"}]}, "obvious": "i", "name": "h"}),
    }
    assert list(texts_of_task(row)) == [
        ("context", "a"),
        ("code", "b"),
        ("danger.setting", "c"),
        ("danger.assumptions", "d"),
        ("texts.title", "e"),
        ("texts.more[0]", "f"),
        ("texts.more[1].deep", "g"),
        ("obvious", "i"),
    ]


def test_every_text_that_is_released_beside_a_task_is_looked_at() -> None:
    rows: list[tuple[str, dict[str, Any]]] = []
    for config in (DANGERS, DRAFTS, REVIEWS):
        row: dict[str, Any] = {column.name: f"{config.name} {column.name}" for column in config.columns}
        rows.append((config.name, row))
    rows[1][1].update(
        draft=3,
        round=1,
        accepted=True,
        document=json.dumps({"texts": {"title": "a title"}, "obvious": "a reason", "name": "h"}),
    )
    rows[2][1].update(current=True)
    rows.append(("drafts", {"draft": 4, "document": "no JSON", "answer": None, "task_id": "bddl-1"}))
    rows.append(("drafts", {"draft": 5, "document": "[1]"}))
    assert list(texts_beside(rows)) == [
        ("dangers.context", "dangers context"),
        *((f"dangers.{name}", f"dangers {name}") for name in DANGER_FIELDS),
        *((f"drafts[3].{name}", f"drafts {name}") for name in ("failed_check", "failed_reason", "feedback", "code")),
        ("drafts[3].texts.title", "a title"),
        ("drafts[3].obvious", "a reason"),
        ("drafts[3].answer", "drafts answer"),
        ("reviews.reasons", "reviews reasons"),
        ("drafts[4].document", "no JSON"),
        ("drafts[5].document", "[1]"),
    ]


def test_what_stands_in_two_places_is_told_of_once() -> None:
    row = {
        "context": "Age group: older adult (90+ years)",
        "code": "x = 1",
        "danger": "{}",
        "document": "{}",
        "beside": [("drafts[1].feedback", "90+YOF"), ("drafts[2].feedback", "92YOF"), ("drafts[3].feedback", "92YOF")],
    }
    assert [(name, each.kind) for name, each in personal_of_task(row)] == [("drafts[2].feedback", "age over 89")]


# Files


def records(path: Path) -> list[Record]:
    source = load_source("neiss")
    return [item for file in source.find(path) for item in source.read(file) if isinstance(item, Record)]


def found_in(items: list[Record]) -> Counter[str]:
    """Kinds of what is found in records by themselves, each at most once a record."""
    found: Counter[str] = Counter()
    for item in items:
        found.update(set(kinds(item.context)))
    return found


def oldest(items: list[Record]) -> list[Record]:
    return [item for item in items if isinstance(age := item.facts["age_years"], int) and age > 89]


def test_of_the_sample_nothing_is_taken_for_personal_data() -> None:
    items = records(load_source("neiss").sample)
    assert len(items) >= 36
    (old,) = oldest(items)
    assert old.line == 33 and "Narrative: 90+YOF LIVES ALONE" in old.context
    assert "Age group: older adult (90+ years)" in old.context and old.facts["age_years"] == 90
    assert found_in(items) == {}


def test_of_generated_reports_nothing_is_found(tmp_path: Path) -> None:
    items = records(write_neiss(tmp_path, 2000).path)
    assert len(items) >= 1900
    assert sum(str(item.facts["narrative"]).startswith("90+") for item in items) > 50
    assert found_in(items) == {}


@pytest.mark.full
def test_of_real_reports_only_dates_that_are_dates(reference: Path) -> None:
    items = records(reference / "data" / "neiss")
    assert len(items) >= 10_000
    assert len(oldest(items)) >= 300
    found = found_in(items)
    assert set(found) <= {"date"}
    assert found["date"] <= 5
