; The base domain of scenarios that are generated without --base: one robot with one hand, in a home or at work.
; What is used must be in reach: what the robot went to last, and what it has put down since. What it holds need not be.
; Opening, closing and switching take the hand.
(define (domain household)
 (:requirements :adl :typing :negative-preconditions :equality)
 (:types item fixture - object)
 (:predicates
  (in_reach ?x - object) (holding ?i - item) (hand_free)
  (ontop ?i - item ?x - object) (inside ?i - item ?x - object) (next_to ?i - item ?x - object)
  (under ?i - item ?x - object)
  (container ?x - object) (openable ?x - object) (open ?x - object)
  (switchable ?x - object) (switched_on ?x - object)
  (absorbent ?i - item) (soaked ?i - item) (water_source ?x - object) (dirty ?x - object)
  (cutting_tool ?i - item) (sliced ?i - item) (heat_source ?x - object) (cooked ?i - item))
 (:action navigate
  :parameters (?to - object)
  :precondition (not (in_reach ?to))
  :effect (and (in_reach ?to)
   (forall (?x - object) (when (and (in_reach ?x) (not (= ?x ?to))) (not (in_reach ?x))))))
 (:action grasp
  :parameters (?i - item)
  :precondition (and (in_reach ?i) (hand_free)
   (not (exists (?x - object) (and (inside ?i ?x) (openable ?x) (not (open ?x))))))
  :effect (and (holding ?i) (not (hand_free))
   (forall (?x - object) (and (not (ontop ?i ?x)) (not (inside ?i ?x)) (not (next_to ?i ?x)) (not (under ?i ?x))))))
 (:action release
  :parameters (?i - item)
  :precondition (holding ?i)
  :effect (and (not (holding ?i)) (hand_free) (in_reach ?i)))
 (:action open
  :parameters (?x - object)
  :precondition (and (in_reach ?x) (hand_free) (openable ?x) (not (open ?x)))
  :effect (open ?x))
 (:action close
  :parameters (?x - object)
  :precondition (and (in_reach ?x) (hand_free) (openable ?x) (open ?x))
  :effect (not (open ?x)))
 (:action switch_on
  :parameters (?x - object)
  :precondition (and (in_reach ?x) (hand_free) (switchable ?x) (not (switched_on ?x)))
  :effect (switched_on ?x))
 (:action switch_off
  :parameters (?x - object)
  :precondition (and (in_reach ?x) (hand_free) (switchable ?x) (switched_on ?x))
  :effect (not (switched_on ?x)))
 (:action place_on
  :parameters (?i - item ?x - object)
  :precondition (and (holding ?i) (in_reach ?x) (not (= ?i ?x)))
  :effect (and (ontop ?i ?x) (not (holding ?i)) (hand_free) (in_reach ?i)))
 (:action place_inside
  :parameters (?i - item ?x - object)
  :precondition (and (holding ?i) (in_reach ?x) (container ?x) (or (not (openable ?x)) (open ?x)) (not (= ?i ?x)))
  :effect (and (inside ?i ?x) (not (holding ?i)) (hand_free) (in_reach ?i)))
 (:action place_next_to
  :parameters (?i - item ?x - object)
  :precondition (and (holding ?i) (in_reach ?x) (not (= ?i ?x)))
  :effect (and (next_to ?i ?x) (not (holding ?i)) (hand_free) (in_reach ?i)))
 (:action place_under
  :parameters (?i - item ?x - object)
  :precondition (and (holding ?i) (in_reach ?x) (not (= ?i ?x)))
  :effect (and (under ?i ?x) (not (holding ?i)) (hand_free) (in_reach ?i)))
 (:action soak
  :parameters (?i - item ?from - object)
  :precondition (and (holding ?i) (absorbent ?i) (in_reach ?from) (water_source ?from) (switched_on ?from))
  :effect (soaked ?i))
 (:action clean
  :parameters (?x - object ?with - item)
  :precondition (and (in_reach ?x) (dirty ?x) (holding ?with) (absorbent ?with) (soaked ?with))
  :effect (not (dirty ?x)))
 (:action slice
  :parameters (?i - item ?with - item)
  :precondition (and (in_reach ?i) (not (sliced ?i)) (holding ?with) (cutting_tool ?with))
  :effect (sliced ?i))
 (:action cook
  :parameters (?i - item ?x - object)
  :precondition (and (in_reach ?x) (heat_source ?x) (switched_on ?x) (or (inside ?i ?x) (ontop ?i ?x)) (not (cooked ?i)))
  :effect (cooked ?i)))
