"""What the offline author makes of the records that a run is measured on."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path

import pytest

from hazardmill.records import DangerGroup, DangerType, Record
from hazardmill.report.structure import structure_key
from hazardmill.stages.sources import load_source

from .support import Run, mill


def records(source_name: str, path: Path, limit: int) -> list[Record]:
    source = load_source(source_name)
    read = (item for file in source.discover(path) for item in source.read(file))
    return list(itertools.islice((item for item in read if isinstance(item, Record)), limit))


@pytest.fixture(scope="module")
def runs(reference) -> list[tuple[str, Run]]:
    chosen = records("neiss", reference / "data" / "neiss" / "neiss2019.tsv", 300)
    chosen += records("bddl", reference / "data" / "bddl", 50)
    return [(record.source, mill(record.context, record.content_hash, record.source)) for record in chosen]


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
    documents = [run.document for _, run in runs if run.outcome == "accepted"]
    assert len({document.hash for document in documents}) == len(documents)
    # Without the circumstances that no danger reads, which would make nearly equal tasks look different.
    structures = Counter(structure_key(without_decoys(document.to_json())) for document in documents)
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
