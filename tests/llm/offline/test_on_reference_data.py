"""What the offline author makes of the records that a run is measured on, and of the shipped samples."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path

import pytest

import hazardmill
from hazardmill.llm.backends.offline.draws import Draws
from hazardmill.llm.backends.offline.patterns import MOTIFS
from hazardmill.llm.backends.offline.reading import Reading
from hazardmill.llm.backends.offline.selection import Plan, select
from hazardmill.quality.structure import structure_id
from hazardmill.records import DangerGroup, DangerType, Record
from hazardmill.stages.sources import load_source

from .support import Run, mill

SAMPLES = Path(hazardmill.__file__).parent.parent / "sources"
SOURCES = ("neiss", "bddl", "alfred", "virtualhome", "normbank")
OUTCOMES = {"accepted", "no_danger", "execution_failed", "quality_failed"}


def records(source_name: str, path: Path, limit: int | None = None) -> list[Record]:
    source = load_source(source_name)
    read = (item for file in source.discover(path) for item in source.read(file))
    return list(itertools.islice((item for item in read if isinstance(item, Record)), limit))


def milled(chosen: list[Record]) -> list[tuple[str, Run]]:
    return [(record.source, mill(record.context, record.content_hash, record.source)) for record in chosen]


def of_shared_folder(reference: Path, name: str) -> list[Record]:
    """The records of a source that are its own; of the rows made up for the layout none."""
    path = reference / "data" / name
    return records(name, path / "native_rows.csv" if name == "normbank" else path)


@pytest.fixture(scope="module")
def runs(reference) -> list[tuple[str, Run]]:
    chosen = records("neiss", reference / "data" / "neiss" / "neiss2019.tsv", 300)
    return milled(chosen + records("bddl", reference / "data" / "bddl", 50))


@pytest.fixture(scope="module")
def sample_runs() -> list[tuple[str, Run]]:
    return milled([record for name in SOURCES for record in records(name, SAMPLES / name / "sample")])


def test_shares_of_declined_records(runs):
    outcomes = Counter((source, run.outcome) for source, run in runs)
    totals = Counter(source for source, _ in runs)
    assert totals == {"neiss": 300, "bddl": 50}
    assert 0.15 <= outcomes["neiss", "no_danger"] / 300 <= 0.30
    assert 0.05 <= outcomes["bddl", "no_danger"] / 50 <= 0.15


def test_all_danger_types_occur_and_both_groups_in_both_sources(runs):
    types = Counter((source, run.danger["danger_type"]) for source, run in runs if run.danger)
    assert {type_ for _, type_ in types} == {type_.value for type_ in DangerType}
    groups = Counter()
    for (source, type_), count in types.items():
        groups[source, DangerType(type_).group] += count
    assert groups["neiss", DangerGroup.PHYSICAL] > groups["neiss", DangerGroup.PSYCHOSOCIAL] > 20
    assert groups["bddl", DangerGroup.PSYCHOSOCIAL] >= 3


def test_accepted_at_every_draft_and_some_exhaust_all_five(runs):
    depths = Counter(len(run.answers) for _, run in runs if run.outcome == "accepted")
    assert set(depths) == {1, 2, 3, 4, 5}
    assert 0.4 < depths[1] / sum(depths.values()) < 0.6
    failed = Counter(run.outcome for _, run in runs if run.outcome.endswith("_failed"))
    assert failed["quality_failed"] >= 1
    assert failed["execution_failed"] >= 1
    assert sum(failed.values()) <= 20


def test_every_reason_for_a_draft_to_fail_occurs(runs):
    reasons = Counter(reason for _, run in runs for reason in run.reasons)
    expected = "syntax exception goal_unreachable no_unsafe_plan no_safe_plan leaked_name context_in_precondition"
    expected += " wrong_realised_by dead_action unused_fluent judge:entity"
    assert set(expected.split()) <= set(reasons)


def test_structures_differ_also_where_names_are_put_aside(runs):
    assert_structures_differ(runs)


def assert_structures_differ(runs):
    documents = [run.document for _, run in runs if run.outcome == "accepted"]
    assert len({document.hash for document in documents}) == len(documents)
    # Without the circumstances that no danger reads, which would make nearly equal tasks look different.
    structures = Counter(structure_id(without_decoys(document.to_json())) for document in documents)
    assert sum(count for _, count in structures.most_common(10)) / len(documents) < 0.35


def without_decoys(document):
    read = str([entry["condition"] for entry in document["dangers"]])
    decoys = {f["name"] for f in document["fluents"] if f["kind"] == "context" and f"'{f['name']}'" not in read}
    return {
        **document,
        "fluents": [fluent for fluent in document["fluents"] if fluent["name"] not in decoys],
        "initial": [[atom, value] for atom, value in document["initial"] if atom[0] not in decoys],
    }


def test_many_patterns_are_used(runs):
    verbs = Counter(run.danger["danger_action"].split()[0] for _, run in runs if run.danger)
    assert len(verbs) >= 25
    assert max(verbs.values()) / sum(verbs.values()) < 0.25


def test_a_sample_of_programs_gives_tasks_of_many_kinds(reference):
    # Every eleventh: neighbours come from one batch of writers and are alike.
    runs = milled(of_shared_folder(reference, "virtualhome")[::11])
    outcomes = Counter(run.outcome for _, run in runs)
    assert set(outcomes) <= OUTCOMES
    assert outcomes["accepted"] / len(runs) >= 0.6
    assert outcomes["no_danger"] / len(runs) >= 0.1
    assert len({run.danger["danger_type"] for _, run in runs if run.danger}) >= 8


@pytest.mark.parametrize(("name", "least"), [("alfred", 0.7), ("normbank", 0.4)])
def test_instructions_and_norms_give_tasks(reference, name, least):
    runs = milled(of_shared_folder(reference, name))
    outcomes = Counter(run.outcome for _, run in runs)
    assert set(outcomes) <= OUTCOMES
    assert outcomes["accepted"] / len(runs) >= least


@pytest.mark.full
def test_all_programs_end_in_a_legal_way_and_differ(reference):
    runs = milled(of_shared_folder(reference, "virtualhome"))
    outcomes = Counter(run.outcome for _, run in runs)
    assert len(runs) >= 650
    assert set(outcomes) == OUTCOMES
    assert outcomes["accepted"] / len(runs) >= 0.6
    types = Counter(run.danger["danger_type"] for _, run in runs if run.danger)
    assert set(types) == {type_.value for type_ in DangerType}
    assert max(types.values()) / sum(types.values()) < 0.25
    assert_structures_differ(runs)


def test_every_sample_has_accepted_declined_and_refined_records(sample_runs):
    outcomes = Counter((source, run.outcome) for source, run in sample_runs)
    refined = Counter(source for source, run in sample_runs if run.outcome == "accepted" and len(run.answers) > 1)
    assert {outcome for _, outcome in outcomes} == OUTCOMES
    for name in SOURCES:
        assert outcomes[name, "accepted"] >= 15
        assert outcomes[name, "no_danger"] >= 2
        assert refined[name] >= 5
    assert outcomes["neiss", "accepted"] + outcomes["bddl", "accepted"] >= 45


def test_the_samples_bring_up_every_danger_type_and_whoever_can_be_harmed(sample_runs):
    accepted = [run.danger for _, run in sample_runs if run.outcome == "accepted"]
    assert {danger["danger_type"] for danger in accepted} == {type_.value for type_ in DangerType}
    assert {danger["entity_in_danger"] for danger in accepted} == {"human", "robot", "others"}


# A norm that neither a sample nor the few native rows hold.
BEER = Reading(
    "normbank",
    "invented",
    "Setting: canteen\nBehavior: drink beer\nConstraints: the person's role is driver\nNorm: taboo",
)


def test_every_pattern_is_chosen_for_some_record(reference):
    chosen = [record for name in SOURCES for record in records(name, SAMPLES / name / "sample")]
    for name in ("bddl", "alfred", "virtualhome", "normbank"):
        chosen += of_shared_folder(reference, name)
    chosen += records("neiss", reference / "data" / "neiss" / "neiss2019.tsv", 700)
    readings = [BEER, *(Reading(record.source, record.record_id, record.context) for record in chosen)]
    found = (select(each, Draws(each.record_id, seed)) for each, seed in itertools.product(readings, range(3)))
    assert {each.motif.name for each in found if isinstance(each, Plan)} == {motif.name for motif in MOTIFS}
