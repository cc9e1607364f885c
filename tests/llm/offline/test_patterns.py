from __future__ import annotations

import hashlib
import itertools
from collections import Counter
from string import Formatter

import pytest

from hazardmill.formalism.expressions import fluents_of
from hazardmill.formalism.names import leaking_names
from hazardmill.llm.backends.offline.author import versions_of
from hazardmill.llm.backends.offline.casting import cast
from hazardmill.llm.backends.offline.draws import Draws
from hazardmill.llm.backends.offline.extraction import formalization
from hazardmill.llm.backends.offline.faults import FAULTS
from hazardmill.llm.backends.offline.motif import Route
from hazardmill.llm.backends.offline.patterns import MOTIFS
from hazardmill.llm.backends.offline.reading import Reading
from hazardmill.llm.backends.offline.selection import Plan
from hazardmill.records import Danger, DangerType

from .redundancy import redundant_literals
from .support import CONTEXTS, SOURCES, examine, judge


def plans(motif):
    for (name, context), i in itertools.product(CONTEXTS.items(), range(4)):
        record_hash = hashlib.sha256(f"{name} {i}".encode()).hexdigest()
        reading = Reading(SOURCES.get(name, "neiss"), name, context)
        yield Plan(motif, cast(motif, reading, Draws(record_hash, "plan"))), reading, record_hash


@pytest.mark.parametrize("motif", MOTIFS, ids=lambda motif: motif.name)
def test_every_pattern_gives_certified_tasks_whatever_the_record(motif):
    structures = Counter()
    for plan, reading, record_hash in plans(motif):
        code = next(v.code for v in versions_of(plan, reading, record_hash) if v.fault is None).write()
        document, certificate, reasons = examine(code)
        assert reasons == [], code
        # Some ways out are a bare word to somebody.
        assert all(line.passed for line in certificate.lines if line.name != "way_out")
        assert leaking_names(document) == []
        assert {entry.danger_type for entry in document.dangers} == {motif.danger_type.value}
        assert 2 <= len(certificate.solution.unsafe) <= 9
        assert certificate.solution.expanded <= 20_000
        assert max(map(len, code.splitlines())) <= 120
        danger = formalization(plan, reading)
        Danger.model_validate(danger)
        assert judge(danger, code) == []
        assert judge(danger, FAULTS["wrong_entity"].in_text(code)) == ["entity"]
        structures[(len(document.actions), len(document.fluents), len(certificate.solution.safe))] += 1
    assert len(structures) >= 5


@pytest.mark.parametrize("motif", MOTIFS, ids=lambda motif: motif.name)
def test_no_literal_of_a_danger_is_redundant(motif):
    for plan, reading, record_hash in itertools.islice(plans(motif), 1, None, 9):
        code = next(v.code for v in versions_of(plan, reading, record_hash) if v.fault is None).write()
        document, _, _ = examine(code)
        assert redundant_literals(document) == []


def test_every_danger_type_has_two_patterns_and_names_are_unique():
    types = Counter(motif.danger_type for motif in MOTIFS)
    assert set(types) == set(DangerType)
    assert min(types.values()) >= 2
    assert {motif.entity for motif in MOTIFS} == {"human", "robot", "others"}
    assert max(Counter(motif.name for motif in MOTIFS).values()) == 1


@pytest.mark.parametrize("motif", MOTIFS, ids=lambda motif: motif.name)
def test_sentences_name_only_roles_that_are_cast(motif):
    known = {"who", "start", "end", "body", "doing", *motif.roles}
    for sentence in (motif.task, motif.cause, motif.result, motif.solution, *motif.decoys):
        assert {name for _, name, _, _ in Formatter().parse(sentence) if name} <= known


@pytest.mark.parametrize("motif", [motif for motif in MOTIFS if isinstance(motif.shape, Route)], ids=lambda m: m.name)
def test_the_act_on_a_route_names_whoever_is_there(motif):
    for plan, reading, _ in plans(motif):
        there = plan.cast.name(motif.shape.occupant).removesuffix("_in").replace("_", " ")
        act = formalization(plan, reading)["danger_action"]
        assert act.partition(" into the room where ")[2].removesuffix(".").replace("the ", "") == there


def test_tasks_use_integers_conditional_effects_quantifiers_and_parameters():
    seen = set()
    for motif in MOTIFS:
        for plan, reading, record_hash in itertools.islice(plans(motif), 0, None, 3):
            document, _, _ = examine(versions_of(plan, reading, record_hash)[-1].code.write())
            seen |= {"integer"} if any(f.integer for f in document.fluents) else set()
            seen |= {"parameter"} if any(a.parameters for a in document.actions) else set()
            seen |= (
                {"condition"} if any(e.condition is not True for a in document.actions for e in a.effects) else set()
            )
            seen |= {entry.condition[0] for entry in document.dangers if isinstance(entry.condition, tuple)}
            seen |= (
                {"context of objects"} if any(f.kind == "context" and f.parameters for f in document.fluents) else set()
            )
            assert all(list(fluents_of(entry.condition)) for entry in document.dangers)
    assert {"integer", "parameter", "condition", "and", "exists", "context of objects"} <= seen
