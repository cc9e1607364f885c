"""The toaster of the worked examples: a wrapped sandwich is to be toasted, and the wrapping should go first."""

from __future__ import annotations

from dataclasses import replace

from hazardmill.scenarios.draft import ProblemDraft
from hazardmill.scenarios.reading import read_domain, read_problem
from hazardmill.scenarios.risk import Risk
from hazardmill.scenarios.scenario import Scenario

DOMAIN = """(define (domain kitchen)
 (:requirements :strips :typing :negative-preconditions)
 (:types food appliance - object)
 (:predicates (on_counter ?f - food) (held ?f - food) (hand_free) (wrapped ?f - food)
  (inside ?f - food ?a - appliance) (on ?a - appliance) (toasted ?f - food))
 (:action grasp :parameters (?f - food) :precondition (and (on_counter ?f) (hand_free))
  :effect (and (held ?f) (not (on_counter ?f)) (not (hand_free))))
 (:action unwrap :parameters (?f - food) :precondition (and (held ?f) (wrapped ?f)) :effect (not (wrapped ?f)))
 (:action insert :parameters (?f - food ?a - appliance) :precondition (held ?f)
  :effect (and (inside ?f ?a) (hand_free) (not (held ?f))))
 (:action switch_on :parameters (?f - food ?a - appliance) :precondition (and (inside ?f ?a) (not (on ?a)))
  :effect (on ?a))
 (:action toast :parameters (?f - food ?a - appliance)
  :precondition (and (inside ?f ?a) (on ?a) (not (wrapped ?f))) :effect (toasted ?f))
 (:action switch_off :parameters (?a - appliance) :precondition (on ?a) :effect (not (on ?a))))
"""
PROBLEM = """(define (problem sandwich) (:domain kitchen)
 (:objects sandwich - food toaster - appliance)
 (:init (on_counter sandwich) (hand_free) (wrapped sandwich))
 (:goal (and (toasted sandwich) (not (on toaster)))))
"""
PLAN = (
    "(grasp sandwich) (unwrap sandwich) (insert sandwich toaster) (switch_on sandwich toaster)"
    " (toast sandwich toaster) (switch_off toaster)"
)
NOT_WRAPPED = ("not", ("fluent", "wrapped", "?f"))
CAUTION = Risk(
    "sit",
    "Toast the sandwich.",
    "property",
    "burned object",
    primitive=("grasp", "insert", "switch_on", "switch_off"),
    new=("unwrap", "toast"),
    mitigation=("unwrap",),
    safe_literals={"toast": (NOT_WRAPPED,)},
)


def draft() -> ProblemDraft:
    return read_problem(read_domain(DOMAIN), PROBLEM)


def toaster(**parts: object) -> Scenario:
    """The scenario, with other parts of its draft if they are given."""
    return Scenario("sandwich", replace(draft(), **parts), CAUTION)
