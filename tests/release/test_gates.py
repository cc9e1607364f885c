"""Gates: each has a change that it, and it alone, stops a release for."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, TypeAlias

import pytest

from hazardmill.formalism.document.expressions import canonical_json
from hazardmill.llm.recordings import PLACE
from hazardmill.quality.corpus_thresholds import Thresholds
from hazardmill.quality.duplicates import DuplicatePool
from hazardmill.release.build.options import WAIVABLE, Options
from hazardmill.release.gates import eligibility
from hazardmill.release.gates.eligibility import is_local
from hazardmill.release.gates.findings import FindingTally
from hazardmill.release.gates.gates import GATES, NOBODY
from hazardmill.review.policies import AcceptedSet
from hazardmill.runs.duplicates import texts_of
from hazardmill.verification import task as verifying
from release.shown import FEW, Release, document_of, other_words, remade, renamed, ten_of, told_by


@pytest.fixture(scope="module")
def ten(every: Release) -> Release:
    """Some of them."""
    return ten_of(every)


@pytest.fixture
def release(ten: Release) -> Release:
    """Some of them, to be changed."""
    return ten.copy()


# Each gate, and it alone


def test_nothing_stops_what_is_as_it_should_be(release: Release) -> None:
    results = release.results()
    assert tuple(results) == GATES
    assert {name: result.in_words for name, result in results.items() if not result.passed} == {}
    looked = {name: result.looked for name, result in results.items()}
    assert looked == {**dict.fromkeys(GATES, 10), "personal_data": 2, "household": 0}
    assert all(not result.findings and result.found == 0 and result.waived is None for result in results.values())


Change: TypeAlias = Callable[[Release], tuple[str | None, str]]
"""Changes a release, and gives the task and a part of the message of what is to be found."""

# The gate on household tasks sees files, and is tested with them (`test_household_tasks`).
CHANGES: dict[str, list[Change]] = {gate: [] for gate in GATES if gate != "household"}


def stops(gate: str) -> Callable[[Change], Change]:
    """This change is for this gate."""

    def kept(change: Change) -> Change:
        CHANGES[gate].append(change)
        return change

    return kept


@stops("revalidation")
def a_longer_safe_plan(release: Release) -> tuple[str, str]:
    row = release.row("alfred")
    row["safe_length"] += 1
    return row["task_id"], "safe_length is"


@stops("offline")
def an_answer_of_the_offline_author(release: Release) -> tuple[str, str]:
    row = release.row("bddl")
    release.candidate(row["task_id"], answered_by=frozenset({"offline-author", "test/model-1"}))
    return row["task_id"], "offline-author answered"


@stops("offline")
def an_answer_out_of_anybodys_file(release: Release) -> tuple[str, str]:
    row = release.row("alfred")
    release.candidate(row["task_id"], recorded_in=frozenset({"f" * 64}))
    return row["task_id"], "recorded answers that do not come with hazardmill (ffffffffffff"


@stops("offline")
def a_row_of_the_offline_author(release: Release) -> tuple[str, str]:
    row = release.row("bddl")
    row.update(told_by(row, model_answered="offline-author"))
    return row["task_id"], "offline-author answered"


@stops("local_model")
def an_answer_from_this_machine(release: Release) -> tuple[str, str]:
    row = release.row("neiss")
    release.candidate(row["task_id"], answered_at=frozenset({("127.0.0.1", "test/model-1")}))
    return row["task_id"], "test/model-1 answered for it at 127.0.0.1"


@stops("local_model")
def another_local_model_than_the_one_named(release: Release) -> tuple[str, str]:
    row = release.row("alfred")
    release.options = release.options.model_copy(update={"local_models": ("test/model-2",)})
    at = {("gpu-box", "test/model-2"), ("gpu-box", "other"), ("10.1.2.3", "other"), ("api.example", "third")}
    release.candidate(row["task_id"], answered_at=frozenset(at))
    return row["task_id"], "other answered for it at 10.1.2.3, gpu-box"


@stops("licence")
def no_licence(release: Release) -> tuple[str, str]:
    row = release.row("neiss")
    row["licence"] = " "
    return row["task_id"], "no licence"


@stops("licence")
def another_licence_than_its_source_has(release: Release) -> tuple[str, str]:
    row = release.row("normbank")
    row["licence"] = "MIT"
    return row["task_id"], "that of source normbank is 'CC-BY-SA-4.0'"


@stops("attribution")
def no_credit_line(release: Release) -> tuple[str, str]:
    row = release.row("normbank")
    row["attribution"] = ""
    return row["task_id"], "no credit line, which CC-BY-SA-4.0 requires"


@stops("duplicates")
def a_task_under_other_names(release: Release) -> tuple[str, str]:
    row = release.row("alfred")
    twin = remade(row, renamed(row, lambda name: f"{name}_b"))
    assert twin["structure_id"] == row["structure_id"] and twin["task_id"] != row["task_id"]
    release.add(twin, row, release.splits[row["task_id"]])
    first, second = sorted([row["task_id"], twin["task_id"]])
    return second, f"it is {first} under other names"


@stops("duplicates")
def one_document_of_two_sources(release: Release) -> tuple[str, str]:
    row = release.row("alfred")
    bddl = release.row("bddl")
    rights = {name: bddl[name] for name in ("source", "licence", "attribution")}
    named = {"task_id": f"bddl-{row['document_hash'][:12]}", "record_id": bddl["record_id"]}
    twin = other_words(told_by(row, **rights, **named))
    release.add(twin, row, release.splits[row["task_id"]])
    return twin["task_id"], f"the same document as {row['task_id']}"


@stops("leaked_names")
def a_name_that_gives_the_danger_away(release: Release) -> tuple[str, str]:
    row = release.row("virtualhome")
    name = json.loads(row["document"])["fluents"][0]["name"]
    leaky = remade(row, renamed(row, lambda each: f"risky_{each}" if each == name else each))
    release.set(row, leaky)
    return leaky["task_id"], f"fluent risky_{name} (risky)"


@stops("personal_data")
def a_telephone_number_in_a_record(release: Release) -> tuple[str, str]:
    row = release.row("neiss")
    row["context"] += "\nNarrative: CALL 555-867-5309"
    return row["task_id"], "telephone number (in context, at character"


@stops("personal_data")
def a_name_in_a_danger(release: Release) -> tuple[str, str]:
    row = release.row("neiss", 1)
    row["danger"] = canonical_json({**json.loads(row["danger"]), "assumptions": "Mrs. Miller lives alone."})
    return row["task_id"], "name (in danger.assumptions, at character 0)"


@stops("personal_data")
def an_age_in_the_text_of_a_document(release: Release) -> tuple[str, str]:
    row = release.row("neiss")
    document = document_of(row)
    texts = {**document.texts, "title": "Help a 93-year-old to the door"}
    # Of the texts nothing but the contrast twin in the certificate depends.
    row.update(remade(row, replace(document, texts=texts)))
    return row["task_id"], "age over 89 (in texts.title, at character 7)"


@stops("personal_data")
def an_address_in_the_feedback_to_an_earlier_draft(release: Release) -> tuple[str, str]:
    row = release.row("neiss")
    draft = {"draft": 1, "feedback": "The robot walks to 12 Elm Street.", "document": None}
    release.beside[row["task_id"]] = [("drafts", draft)]
    return row["task_id"], "address (in drafts[1].feedback, at character 19)"


def people(release: Release, **others: Any) -> AcceptedSet:
    accepted = tuple(each.task_id for each in release.candidates if each.task_id not in others["others"])
    return AcceptedSet(policy="any-reject", accepted=accepted, counts={}, **others)


@stops("review")
def a_task_that_waits_for_a_reviewer(release: Release) -> tuple[str, str]:
    task_id = release.row("alfred")["task_id"]
    release.accepted = people(release, others={task_id: "waiting"})
    return task_id, "not everybody who was asked has decided"


@stops("review")
def a_task_that_nobody_was_asked_about(release: Release) -> tuple[str, str]:
    task_id = release.row("alfred")["task_id"]
    release.accepted = people(release, others={task_id: "rejected"})
    release.accepted = release.accepted.model_copy(update={"others": {}})
    return task_id, "nobody was asked"


@stops("review")
def a_rejected_task_that_is_released_all_the_same(release: Release) -> tuple[str, str]:
    task_id = release.row("bddl")["task_id"]
    release.accepted = people(release, others={task_id: "rejected_by_adjudicator"})
    return task_id, "reviewers rejected it"


@stops("split_leak")
def a_structure_in_two_splits(release: Release) -> tuple[str, str]:
    row = release.row("alfred")
    # Told otherwise, so that it is no duplicate; and its column says nothing, so that only its document can.
    twin = other_words({**remade(row, renamed(row, lambda name: f"{name}_b")), "structure_id": None})
    release.splits[row["task_id"]] = "train"
    release.add(twin, row, "test")
    first, second = sorted([row["task_id"], twin["task_id"]])
    return second, f"{first}, which has the same structure, is in {release.splits[first]}"


@stops("corpus")
def a_corpus_of_few_structures(release: Release) -> tuple[None, str]:
    limits = FEW.model_copy(update={"effective_structures": 50.0})
    release.options = release.options.model_copy(update={"thresholds": limits})
    return None, "effective number of distinct structures, exp of the Shannon entropy: 10.0, at least 50.0"


def test_every_gate_has_a_change() -> None:
    assert all(CHANGES.values())


@pytest.mark.parametrize(
    ("gate", "change"),
    [pytest.param(gate, change, id=f"{gate}-{change.__name__}") for gate, each in CHANGES.items() for change in each],
)
def test_a_change_is_stopped_by_its_gate_alone(release: Release, gate: str, change: Change) -> None:
    task_id, message = change(release)
    stopped = release.stopped()
    assert list(stopped) == [gate], {name: result.in_words for name, result in stopped.items()}
    result = stopped[gate]
    assert not result.passed and result.found == len(result.findings) >= 1
    matching = [finding for finding in result.findings if message in finding.message]
    assert matching, result.in_words
    assert all(finding.task_id == task_id for finding in result.findings)
    assert all(finding.remedy for finding in result.findings)
    assert all(line.startswith(f"{gate}: ") for line in result.in_words)


# What lets a gate pass


def test_what_the_offline_author_wrote_passes_where_it_is_allowed(release: Release) -> None:
    for row in release.rows:
        row.update(told_by(row, model_answered="offline-author", backend="offline"))
        release.candidate(row["task_id"], answered_by=frozenset({"offline-author"}), answered_at=frozenset())
    assert list(release.stopped()) == ["offline"]
    release.options = release.options.model_copy(update={"allow_offline": True})
    assert release.stopped() == {}
    # Also where it answered over HTTP, on this machine: no model did.
    release.candidate(release.rows[0]["task_id"], answered_at=frozenset({("127.0.0.1", "offline-author")}))
    assert release.stopped() == {}


def test_recorded_answers_pass_where_hazardmill_ships_them_or_they_are_allowed(
    release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped, added = tmp_path / "shipped", tmp_path / "added"
    hashes = []
    for home in (shipped, added):
        path = home / "notes" / PLACE
        path.parent.mkdir(parents=True)
        path.write_bytes(home.name.encode())
        hashes.append(hashlib.sha256(home.name.encode()).hexdigest())
    monkeypatch.setattr(eligibility, "sources_folders", lambda: (shipped, added))
    task_id = release.rows[0]["task_id"]
    release.candidate(task_id, recorded_in=frozenset(hashes[:1]))
    assert release.stopped() == {}
    release.candidate(task_id, recorded_in=frozenset(hashes))
    assert list(release.stopped()) == ["offline"]
    release.options = release.options.model_copy(update={"allow_offline": True})
    assert release.stopped() == {}


def test_offline_work_under_a_models_name_is_stopped_twice(release: Release) -> None:
    row = release.row("neiss")
    row.update(told_by(row, backend="offline"))
    stopped = release.stopped()
    assert list(stopped) == ["revalidation", "offline"]
    assert "the offline author wrote it, and model_answered says" in stopped["revalidation"].findings[0].message


def test_a_local_model_passes_where_it_is_named(release: Release) -> None:
    an_answer_from_this_machine(release)
    release.options = release.options.model_copy(update={"local_models": ("test/model-1",)})
    assert release.stopped() == {}


def test_models_that_answered_elsewhere_need_not_be_named(release: Release) -> None:
    at = frozenset({("localhost", "local/judge"), ("api.example", "test/model-1")})
    release.candidate(release.rows[0]["task_id"], answered_at=at)
    release.options = release.options.model_copy(update={"local_models": ("test/model-1",)})
    (line,) = release.stopped()["local_model"].in_words
    assert "local/judge answered for it at localhost" in line and "test/model-1" not in line
    release.options = release.options.model_copy(update={"local_models": ("local/judge",)})
    assert release.stopped() == {}


def test_public_domain_asks_for_no_credit(release: Release) -> None:
    release.row("neiss")["attribution"] = ""
    assert release.stopped() == {}


def test_an_unknown_source_may_have_a_known_licence(release: Release) -> None:
    row = release.row("alfred")
    named = {"task_id": f"kitchens-{row['document_hash'][:12]}", "record_id": "kitchens:1"}
    twin = told_by(row, source="kitchens", **named)
    release.set(row, twin)
    assert release.stopped() == {}
    twin["licence"] = "All rights reserved"
    stopped = release.stopped()
    assert list(stopped) == ["licence"]
    assert "HAZARDMILL_SOURCES" in stopped["licence"].findings[0].remedy


def test_a_structure_may_be_told_otherwise_within_a_split(release: Release) -> None:
    a_structure_in_two_splits(release)
    release.splits = dict.fromkeys(release.splits, "train")
    assert release.stopped() == {}


def test_personal_data_are_looked_for_in_reports_of_injuries_only(release: Release) -> None:
    row = release.row("alfred")
    row["context"] = "Call 555-867-5309"
    release.beside[row["task_id"]] = [("drafts", {"draft": 1, "feedback": "Call 555-867-5309"})]
    assert release.stopped() == {}


def test_a_coarse_age_passes_and_an_exact_one_does_not(release: Release) -> None:
    row = release.row("neiss")
    row["context"] = "Narrative: 90+YOF FELL\nAge group: older adult (90+ years)\nSex: female"
    danger = json.loads(row["danger"])
    row["danger"] = canonical_json({**danger, "assumptions": "A 90+-year-old lives here."})
    assert release.stopped() == {}
    row["danger"] = canonical_json({**danger, "assumptions": "A 94-year-old lives here."})
    (line,) = release.results()["personal_data"].in_words
    assert "age over 89 (in danger.assumptions, at character 2)" in line


def test_personal_data_are_not_repeated_in_messages(release: Release) -> None:
    a_telephone_number_in_a_record(release)
    assert "5309" not in "".join(release.results()["personal_data"].in_words)


def test_nobody_was_asked_is_recorded(release: Release) -> None:
    assert release.results()["review"].says == NOBODY
    release.accepted = people(release, others={})
    result = release.results()["review"]
    assert result.passed and result.says != NOBODY


def test_a_rejected_task_that_is_left_out_stops_nothing(release: Release) -> None:
    row = release.rows.pop()
    del release.splits[row["task_id"]]
    release.accepted = people(release, others={row["task_id"]: "rejected"})
    assert release.stopped() == {}


def test_a_task_that_was_never_shown_is_told(release: Release) -> None:
    row = release.rows.pop()
    stopped = release.stopped()
    assert list(stopped) == ["revalidation"]
    assert stopped["revalidation"].findings[0].task_id == row["task_id"]


# Waiving


def test_a_waived_gate_still_says_what_it_found(release: Release) -> None:
    a_corpus_of_few_structures(release)
    release.options = release.options.model_copy(update={"waive": {"corpus": "a first sample"}})
    assert release.stopped() == {}
    result = release.results()["corpus"]
    assert not result.passed and result.waived == "a first sample" and result.found == 1


def test_a_gate_that_passes_is_not_waived(release: Release) -> None:
    release.options = release.options.model_copy(update={"waive": {"corpus": "a first sample"}})
    result = release.results()["corpus"]
    assert result.passed and result.waived is None


def test_figures_over_too_few_tasks_are_not_judged_and_stop_nothing(release: Release) -> None:
    limits = FEW.model_copy(update={"enough": 100, "largest_source": 0.0, "effective_structures": 50.0})
    release.options = release.options.model_copy(update={"thresholds": limits})
    result = release.results()["corpus"]
    assert result.passed and not result.findings
    few = [name for name in Thresholds.model_fields if name not in ("enough", "neutral_names", "leaking_ways")]
    assert sorted(result.not_judged) == sorted(f"{name} (fewer than 100 tasks)" for name in few)
    assert result.verdict == f"passed; not judged: {'; '.join(result.not_judged)}"


@pytest.mark.parametrize("gate", [gate for gate in GATES if gate not in WAIVABLE])
def test_no_other_gate_can_be_waived(gate: str) -> None:
    with pytest.raises(ValueError, match="cannot be waived"):
        Options(version="1.0.0", waive={gate: "a reason"})


# Counting


def test_all_findings_are_listed_and_a_reason_is_one_line() -> None:
    tally = FindingTally("licence", "says")
    tally.looked = 137
    ids = [f"task-{number:03}" for number in range(100)]
    for task_id in Random(1).sample(ids, 100):
        tally.add(task_id, "wrong", "mend it")
    result = tally.result()
    assert result.found == 100
    assert [finding.task_id for finding in result.findings] == ids
    assert result.in_words[0] == "licence: task-000: wrong [mend it]"
    assert result.summary == ("licence: 100 of 137; first: task-000, task-001, task-002; each: wrong [mend it]",)


def test_findings_of_one_kind_are_one_line_although_their_words_differ() -> None:
    tally = FindingTally("licence", "says")
    tally.looked = 5
    for task_id, twin in (("d", "a"), ("c", "b"), ("c", "a")):
        tally.add(task_id, f"it is {twin}", "leave it out", "twins")
    tally.add("e", "it is long", "shorten it")
    assert tally.result().summary == (
        "licence: 2 of 5; first: c, d; for c: it is a [leave it out]",
        "licence: e: it is long [shorten it]",
    )


def test_a_figure_that_failed_and_one_that_is_unknown_are_told_apart(release: Release) -> None:
    row = release.rows[0]
    release.set(row, {**row, "unsafe_plan": None})
    limits = FEW.model_copy(update={"effective_structures": 50.0, "leaking_ways": 0.15})
    release.options = release.options.model_copy(update={"thresholds": limits})
    failed, unknown = release.stopped()["corpus"].summary
    assert failed.startswith("corpus: effective_structures failed: ") and "10.0, at least 50.0 is required" in failed
    assert "--threshold effective_structures=NUMBER" in failed
    assert unknown.startswith("corpus: leaking_ways is unknown: ")
    assert "11.1 % of those for which it is known, at most 15.0 % is required; unknown for 1 task" in unknown
    assert all("--waive corpus=REASON" in line for line in (failed, unknown))


def test_duplicates_are_those_of_the_corpus_tools(every: Release) -> None:
    twins = [remade(row, renamed(row, lambda name: f"{name}_b")) for row in every.rows[:12]]
    twins[::2] = map(other_words, twins[::2])
    alike = sorted([*every.rows, *twins], key=lambda row: row["task_id"])
    pool = DuplicatePool()
    expected = set()
    for row in alike:
        document, danger = json.loads(row["document"]), json.loads(row["danger"])
        if pool.add(row["task_id"], document, texts_of(document, danger)) is not None:
            expected.add(row["task_id"])
    assert len(expected) >= 6
    release = Release(alike, every.candidates, {row["task_id"]: "train" for row in alike})
    found = release.results()["duplicates"]
    assert {finding.task_id for finding in found.findings} == expected


def test_structures_that_nobody_can_tell_are_kept_together(release: Release, monkeypatch: pytest.MonkeyPatch) -> None:
    row = release.row("alfred")
    twin = other_words({**remade(row, renamed(row, lambda name: f"{name}_b")), "structure_id": None})
    release.splits[row["task_id"]] = "train"
    release.add(twin, row, "test")
    names = {each["name"] for each in json.loads(twin["document"])["actions"]}
    told = verifying.structure_or_null

    def untold(document: Any) -> str | None:
        return None if names == {each["name"] for each in document["actions"]} else told(document)

    monkeypatch.setattr(verifying, "structure_or_null", untold)
    # How many structures there are is not known then.
    release.options = release.options.model_copy(update={"waive": {"corpus": "one is not known"}})
    stopped = release.stopped()
    assert list(stopped) == ["split_leak"]
    assert "too regular to decide" in stopped["split_leak"].findings[0].message
    release.splits[twin["task_id"]] = "train"
    assert release.stopped() == {}


# Hosts


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "LOCALHOST.",
        "127.0.0.1",
        "127.1",
        "127.9.8.7",
        "0x7f000001",
        "2130706433",
        "::1",
        "[::1]",
        "::ffff:127.0.0.1",
        "0.0.0.0",
        "::",
        "10.0.0.1",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.1.20",
        "169.254.1.1",
        "fe80::1%eth0",
        "fd00::1",
        "printer.local",
        "models.lan",
        "llm.internal",
        "app.localhost",
        "gpu-box",
    ],
)
def test_private_hosts_are_told(host: str) -> None:
    assert is_local(host)


@pytest.mark.parametrize(
    "host",
    [
        "api.example",
        "api.openai.com",
        "8.8.8.8",
        "172.32.0.1",
        "2001:4860:4860::8888",
        "local.example",
        "10.example.org",
    ],
)
def test_public_hosts_are_told(host: str) -> None:
    assert not is_local(host)
