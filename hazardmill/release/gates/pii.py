"""Searching texts about people who were hurt for personal data: whatever would name, reach or single out one of them.

The kinds are the identifiers that HIPAA's Safe Harbor method removes (45 CFR 164.514(b)(2)), as far as a short text can
contain them. The records are public and were cleared before publication; the search is for what the clearing missed
and for what a language model added.

Ages over 89 are coarsened when reports are read (``hazardmill.ages``); one that is found here was made up, or the store
is older than the coarsening.

The texts are in capitals, abbreviated and full of figures, so each pattern requires what only the real thing has: an
``@`` may mean "at", ``8/10`` the strength of pain, and ``MS`` a disease.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final, Literal

from hazardmill.ages import ages_over_89

Kind = Literal["e-mail address", "telephone number", "SSN", "date", "name", "address", "record number", "age over 89"]

SOURCES: Final = frozenset({"neiss"})
"""Sources whose records are about people who were hurt."""

_MONTH: Final = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_MM: Final = r"(?:0?[1-9]|1[0-2])"
_DD: Final = r"(?:0?[1-9]|[12]\d|3[01])"
_YYYY: Final = r"(?:19|20)\d\d"
_DAY: Final = rf"{_DD}(?:st|nd|rd|th)?"

# What follows a title in capitals is often not a name: "DR OFFICE", "MS FELL", "MR DX". These are function words, verbs
# and nouns of such reports, and their abbreviations.
_NO_NAMES: Final = """
    a about after again ago all also am an and another any appt are as at back be because been before began being
    but by called came can care clinic complains could diag diagnosed did do doctor does due during dx exacerbation
    fall falling fell felt flare for found from fx gave given got had has have he head her here his hit home hx if
    improved in injury into is it just last later left lost made meds more morning needs negative no not notes now
    of ofc office on or order ordered orders out over patient post prescribed presents prior problem pt put ran
    reports returned said saw says seen sent she showed slipped so stated states symptoms that the their them then
    they this to today told took tripped turned twisted two unable until up visit wants was weakness week went were
    when where which while who will with without yesterday
""".split()

_UNITS: Final = (
    r"(?:y\w*|mos?|months?|wks?|weeks?|days?|hrs?|hours?|mins?|minutes?|ft|feet|foot|inch(?:es)?|lbs?|pounds?|kg|mg|ml"
    r"|mph|km|miles?|steps?|stairs?|times?|x|of|on|in|to|the|a|an|and|at|from|down|off|by|with|her|his|dx|for)"
)

_PATTERNS: Final[Mapping[Kind, tuple[str, ...]]] = {
    "e-mail address": (
        # In capitals only under domains that are not words of a report: "PAIN@HOME.NO LOC" is a sentence.
        r"[\w.%+-]{1,64}@(?:[a-z0-9-]{1,63}\.){1,8}(?:com|org|net|edu|gov|mil|info|biz)\b",
        r"(?-i:(?=\S{0,200}[a-z])[\w.%+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24})\b",
    ),
    "telephone number": (
        r"(?<![\d.-])(?:\+?1[ .-]?)?(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[ .-]\d{4}(?![\d-])",
        r"(?<![\d.-])\d{3}-\d{4}(?![\d-])",
        r"\b(?:phone|telephone|tel|cell|mobile|fax)\b(?: (?:no|number|is))?[ .:#]{0,3}\+?\d[\d ().-]{5,18}\d",
    ),
    "SSN": (
        r"(?<![\d-])\d{3}[-\u2013]\d{2}[-\u2013]\d{4}(?![\d-])",
        r"\b(?:ssn|social security(?: (?:no|number))?)\b[ .:#]{0,3}\d{3}[ \u2013-]?\d{2}[ \u2013-]?\d{4}(?!\d)",
    ),
    "date": (
        rf"(?<![\d/]){_MM}/{_DD}/(?:{_YYYY}|\d\d)(?![\d/])",
        rf"(?<![\d.-])(?:{_MM}([.-]){_DD}\1|{_DD}([.-]){_MM}\2){_YYYY}(?!\d)",
        rf"(?<!\d){_YYYY}([/.-]){_MM}\1{_DD}(?!\d)",
        rf"\b{_MONTH} ?{_DAY},? ?{_YYYY}\b",
        rf"\b{_DAY} (?:of )?{_MONTH},? ?{_YYYY}\b",
        # For a birth, a day without its year is enough.
        rf"\b(?:dob|d\.o\.b\.?|date of birth|birth ?date|birthday)[ .:#]{{0,3}}(?:is )?"
        rf"(?:{_MM}[/.-]{_DD}|{_MONTH} ?{_DAY}|{_DAY} {_MONTH}|{_YYYY})",
    ),
    "name": (
        rf"\b(?:mrs?|ms|dr|prof|doctor|professor|mister)\b\.? (?:[a-z]\.? )?"
        rf"(?!(?:{'|'.join(_NO_NAMES)})\b)(?-i:[A-Z])[a-z'\u2019-]+",
    ),
    "address": (
        rf"(?<![\d./-])\d{{1,6}} (?!{_UNITS}\b)(?:[nsew]\.? )?(?:[a-z][a-z'-]*|\d{{1,3}}(?:st|nd|rd|th))"
        rf"(?: (?!{_UNITS}\b)[a-z]{{2,}})? (?:street|avenue|ave|boulevard|blvd|rd|road|lane|drive|highway|hwy|parkway"
        rf"|pkwy|terrace|court|circle)\b(?! (?:with|when|while|who))",
        # "CT" is also a scan, "DR" a doctor, and "ST" soft tissue.
        rf"(?<![\d./-])\d{{2,6}} (?!{_UNITS}\b)[a-z][a-z'-]+ (?:st|ct|dr|pl|ln)\b(?= ?(?:[,.;]|apt|unit|#|$))",
        r"\bp\.? ?o\.? box \d+",
    ),
    "record number": (
        r"\b(?:mrn|mr#|medical record|med rec|record|chart|account|acct|case|visit|encounter|patient id|pt id|policy"
        r"|licen[cs]e|claim)(?: (?:number|num|no|id))?[ .:#]{0,3}[a-z]{0,3}-?\d{4,}",
        # No count or measurement has so many digits, except for the limit in the message of a search.
        r"(?<![\d.,])\d{7,}(?!\d| (?:expansions|states)\b)",
    ),
}

_SAID: Final = ("texts", "obvious")
"""Keys of a document that hold texts of its author."""

_NO_TEXTS: Final = frozenset(
    """
    task_id record_id source document_hash kind reviewer verdict rubric licence attribution prompt_version prompt_hash
    model_asked model_answered backend jail_profile hazardmill_version run_id
    """.split()
)
"""Columns on the origin of a row, which hold no text of a record or of a model."""

_COMPILED: Final = tuple(
    (kind, re.compile(pattern, re.IGNORECASE)) for kind, patterns in _PATTERNS.items() for pattern in patterns
)


@dataclass(frozen=True, slots=True)
class PersonalDataSpan:
    """One place in a text that looks like personal data. The data itself is not repeated, as findings are logged.

    Attributes:
        kind: What it looks like.
        start: Index of its first character in the text after Unicode normalization (NFKC).
        end: Index after its last character.
    """

    kind: Kind
    start: int
    end: int


def personal_in(text: str) -> list[PersonalDataSpan]:
    """Find everything in a text that looks like personal data.

    Args:
        text: The text; it is normalized (NFKC) first, and places refer to the normalized text.

    Returns:
        The places in the order of the text, without overlaps: the longer of two overlapping places is kept.
    """
    text = unicodedata.normalize("NFKC", text)
    found = [PersonalDataSpan("age over 89", match.start(), match.end()) for match in ages_over_89(text)]
    for kind, pattern in _COMPILED:
        found += [PersonalDataSpan(kind, match.start(), match.end()) for match in pattern.finditer(text)]
    # "11 Birch Dr. BLISTERS": what looks like the title of a name is the end of an address.
    streets = [each for each in found if each.kind == "address"]
    found = [
        each
        for each in found
        if each.kind != "name" or not any(street.start < each.start < street.end for street in streets)
    ]
    found.sort(key=lambda each: (each.start - each.end, each.start, each.kind))
    kept: list[PersonalDataSpan] = []
    for each in found:
        if all(each.end <= other.start or other.end <= each.start for other in kept):
            kept.append(each)
    return sorted(kept, key=lambda each: each.start)


def personal_of_task(row: Mapping[str, Any]) -> Iterator[tuple[str, PersonalDataSpan]]:
    """Find everything that looks like personal data in the texts of a task and of the rows released with it.

    Args:
        row: As for ``texts_of_task``, with ``beside``: names and texts from ``texts_beside``, if there are any.

    Yields:
        Name of a text and a place in it. If the same text is in several places, as the accepted code is, only the
        first is reported.
    """
    yield from _personal_in_each((*texts_of_task(row), *(row.get("beside") or ())))


def personal_of_scenario(row: Mapping[str, Any]) -> Iterator[tuple[str, PersonalDataSpan]]:
    """Find everything that looks like personal data in the texts of a scenario.

    Args:
        row: Row of the table ``scenarios``, with ``context``, the text of its record.

    Yields:
        Name of a text and a place in it.

    Raises:
        ValueError: The scenario is not JSON.
    """
    scenario = json.loads(row["scenario"])
    texts = [("context", row["context"])] if isinstance(row.get("context"), str) else []
    # Whatever an origin says is released, whoever wrote it there.
    origin = {name: part for name, part in scenario.get("origin", {}).items() if name not in _NO_TEXTS}
    said = _strings("risk", scenario.get("risk")), _strings("origin", origin)
    yield from _personal_in_each((*texts, *chain.from_iterable(said)))


def personal_of_hazard_task(row: Mapping[str, Any]) -> Iterator[tuple[str, PersonalDataSpan]]:
    """Find everything that looks like personal data in the texts of a hazard task.

    Args:
        row: Row of the table ``hazard_tasks``, with ``context``, the seeds that its dialogue was shown. What else was
            said in the dialogue is not released.

    Yields:
        Name of a text and a place in it.

    Raises:
        ValueError: The document is not JSON.
    """
    texts = ((name, row.get(name)) for name in ("context", "instruction", "harm"))
    told = [(name, text) for name, text in texts if isinstance(text, str)]
    yield from _personal_in_each((*told, *_texts_of_document(row)))


def _personal_in_each(texts: Iterable[tuple[str, str]]) -> Iterator[tuple[str, PersonalDataSpan]]:
    seen = set()
    for name, text in texts:
        if text not in seen:
            seen.add(text)
            for each in personal_in(text):
                yield name, each


def texts_of_task(row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield name and text of each published text of a task: from its record, code, danger and document.

    Args:
        row: Row of the table ``tasks``, with ``context``, the text of its record.

    Yields:
        Pairs such as ``("danger.setting", "A kitchen ...")``.

    Raises:
        ValueError: The danger or the document is not JSON.
    """
    for name in ("context", "code"):
        if isinstance(row.get(name), str):
            yield name, row[name]
    yield from _strings("danger", json.loads(row["danger"]))
    yield from _texts_of_document(row)


def _texts_of_document(row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    document = json.loads(row["document"])
    for part in _SAID:
        yield from _strings(part, document.get(part))


def texts_beside(rows: Iterable[tuple[str, Mapping[str, Any]]]) -> Iterator[tuple[str, str]]:
    """Yield name and text of each text in the rows released with a task: its danger, its drafts, its reviews.

    Args:
        rows: Pairs of config and row.

    Yields:
        Pairs such as ``("drafts[2].feedback", "...")``, where 2 is the number of the draft. Only the texts of a
        document are searched, as in ``texts_of_task``; if it cannot be read, all of it is.
    """
    for config, row in rows:
        name = f"{config}[{row['draft']}]" if "draft" in row else config
        for column, value in row.items():
            if column in _NO_TEXTS or not isinstance(value, str):
                continue
            if column != "document":
                yield f"{name}.{column}", value
                continue
            try:
                document = json.loads(value)
                # Every document has `texts`; not every one has `obvious`, the reason why the unsafe plan is obvious.
                for part, said in zip(_SAID, (document["texts"], document.get("obvious")), strict=True):
                    yield from _strings(f"{name}.{part}", said)
            except (ValueError, LookupError, TypeError, RecursionError):
                yield f"{name}.document", value


def _strings(name: str, value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from _strings(f"{name}.{key}", part)
    elif isinstance(value, list):
        for place, part in enumerate(value):
            yield from _strings(f"{name}[{place}]", part)
