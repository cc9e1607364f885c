"""Effects on all objects are told as one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hazardmill.formalism.document.document import Document
from hazardmill.formalism.document.lifted_effects import LiftedEffect
from hazardmill.formalism.semantics.transition_system import System
from hazardmill.review import wording
from hazardmill.review.folded_effects import fold_effects
from hazardmill.scenarios.reading import read_domain, read_problem

DOMAIN = """
(define (domain room)
 (:requirements :typing :negative-preconditions :conditional-effects :equality)
 (:types place thing - object)
 (:predicates (near ?x - place) (inside ?i - thing ?x - place) (held ?i - thing))
 (:action take :parameters (?i - thing) :precondition (not (held ?i))
  :effect (and (held ?i) (forall (?x - place) (not (inside ?i ?x)))))
 (:action walk :parameters (?to - place) :precondition (not (near ?to))
  :effect (and (near ?to) (forall (?x - place) (when (and (near ?x) (not (= ?x ?to))) (not (near ?x)))))))
"""
PROBLEM = """
(define (problem p) (:domain room)
 (:objects bed sofa table - place cup hat - thing)
 (:init (near bed) (inside cup table)) (:goal (held cup)))
"""


@pytest.fixture(scope="module")
def document() -> Document:
    return read_problem(read_domain(DOMAIN), PROBLEM).document()


def told(document: Document, name: str) -> tuple[str, ...]:
    action = next(each for each in document.actions if each.name == name)
    return wording.effects(fold_effects(System(document), action.effects))


def test_an_effect_on_every_object_is_told_once_with_its_condition(document: Document) -> None:
    assert told(document, "take") == ("now held: i", "for every any (place): no longer inside: i, any")
    moved = "for every any (place): no longer near: any, if near: any and not any is to"
    assert told(document, "walk") == ("now near: to", moved)


def test_nothing_is_folded_if_an_object_is_spared(document: Document) -> None:
    take = next(each for each in document.actions if each.name == "take")
    spared = replace(take, effects=tuple(each for each in take.effects if "sofa" not in each.target))
    found = wording.effects(fold_effects(System(document), spared.effects))
    assert found == ("now held: i", "no longer inside: i, bed", "no longer inside: i, table")


def test_what_is_folded_unfolds_into_what_it_was(document: Document) -> None:
    system = System(document)
    for action in document.actions:
        unfolded = [
            effect
            for each in fold_effects(system, action.effects)
            for effect in (each.unfold(system.objects_of) if isinstance(each, LiftedEffect) else [each])
        ]
        assert sorted(map(repr, unfolded)) == sorted(map(repr, action.effects))
