from __future__ import annotations

import json
from collections.abc import Iterator

from formalism.soup import action, boolean, danger, integer, soup, soup_document

from hazardmill.errors import DocumentError, SearchLimitReached
from hazardmill.formalism.document.document import Document
from hazardmill.quality.lint import Linter, LintItem, Report, lint
from hazardmill.quality.structure import structure_id

HOT, SLOWLY = ["fluent", "soup_is_hot"], ["fluent", "moving_slowly"]
UNAVOIDABLE = soup_document(goal=["and", ["fluent", "bowl_at", "table"], SLOWLY], dangers=[danger("carry", HOT)])
COMMON = {("short_unsafe_plan", "finding"), ("one_action_apart", "finding")}
"""What is said of every soup."""


def renamed(old: str, new: str) -> Document:
    return Document.from_json(json.loads(json.dumps(soup()).replace(old, new)))


def run(*items: LintItem, **how: int) -> Report:
    return lint(items, Linter(structure=structure_id), **how)


def counts(report: Report) -> dict[tuple[str, str], int]:
    return {(row.rule, row.level): row.tasks for row in report.rows if (row.rule, row.level) not in COMMON}


def test_lines_that_fail_or_are_open_are_findings_of_their_rule():
    report = run(
        LintItem("leaks", soup_document(objects__2=["risky_corner", "place"], objects__3=["safe", "place"])),
        LintItem("plain", soup_document(realised_by=None)),
        LintItem("no way", UNAVOIDABLE),
    )
    assert counts(report) == {
        ("neutral_names", "refusal"): 1,
        ("safe_plan_exists", "refusal"): 1,
        ("realised_by", "undecided"): 1,
        ("natural", "undecided"): 1,
        ("way_out", "undecided"): 1,
        ("point_of_no_return", "undecided"): 1,
    }
    assert report.has_refusals and report.tasks == 3
    (leak,) = next(row.examples for row in report.rows if row.rule == "neutral_names")
    assert leak.task == "leaks" and "risky_corner" in leak.message


def test_what_is_declared_or_imported_is_no_refusal():
    bad = soup_document(objects__2=["risky_corner", "place"])
    report = run(LintItem("no way", UNAVOIDABLE, unavoidable=True), LintItem("theirs", bad, imported=True))
    assert ("safe_plan_exists", "finding") in counts(report) and ("neutral_names", "finding") in counts(report)
    assert report.has_findings and not report.has_refusals


def test_a_task_that_cannot_be_read_is_a_refusal_and_the_rest_goes_on():
    report = run(LintItem("broken", DocumentError("goal: there is no fluent hot")), LintItem("soup", soup_document()))
    assert counts(report) == {("unreadable", "refusal"): 1}
    assert report.rows[0].examples[0].message == "goal: there is no fluent hot"


def test_the_corpus_is_of_the_tasks_that_can_be_read_and_knows_their_plans():
    danger = {"cause_of_danger": "It is carried without having slowed.", "danger_type": "thermal"}
    report = run(
        LintItem("broken", DocumentError("no")),
        LintItem("one", soup_document(), source="neiss", danger=danger),
        LintItem("twin", renamed("bowl_at", "plate_at"), source="bddl"),
    )
    corpus = report.corpus
    assert (corpus.tasks, corpus.structures.kinds, corpus.by_source) == (2, 1, {"bddl": 1, "neiss": 1})
    (ways,) = (gate for gate in corpus.gates if gate.name == "leaking_ways")
    assert (ways.figure, ways.tasks, ways.unknown, ways.examples) == (1.0, 1, 1, ("one: slow_down",))


def test_a_structure_that_cannot_be_told_is_not_known():
    def too_large(document):
        raise SearchLimitReached("too regular")

    report = lint(
        [LintItem("soup", soup_document()), LintItem("soup too", renamed("bowl_at", "x_at"))],
        Linter(structure=too_large),
    )
    assert ("same_structure", "finding") not in counts(report)
    assert report.corpus.structures.things == 0
    assert {gate.name: gate.unknown for gate in report.corpus.gates}["commonest_structures"] == 2


def test_a_task_too_large_is_undecided():
    counting = soup_document(
        fluents__4=integer("n", 0),
        actions__2=action("count", True, [["increase", ["fluent", "n"], 1, True]]),
        goal=["and", ["fluent", "bowl_at", "table"], ["fluent", "bowl_at", "kitchen"]],
    )
    report = lint([LintItem("large", counting, danger={"cause_of_danger": "slow"})], Linter(limit=200))
    assert report.corpus.gates[1].unknown == 1
    assert [(row.rule, row.level) for row in report.rows] == [("too_large", "undecided")]
    assert not report.has_refusals and not report.has_findings and report.clean == 0


def test_the_same_task_twice_and_the_same_but_for_names():
    items = [
        LintItem("first", soup_document()),
        LintItem("other hash", soup_document(max_danger=1, dangers__0__increment=2)),
        LintItem("renamed", renamed("bowl_at", "plate_at")),
        LintItem("again", soup_document(name="Another")),
        LintItem("renamed again", renamed("bowl_at", "plate_at")),
    ]
    report = run(*items)
    assert counts(report) == {("same_document", "refusal"): 2, ("same_structure", "finding"): 1}
    shown = {row.rule: [(each.task, each.message) for each in row.examples] for row in report.rows}
    assert shown["same_document"] == [
        ("again", "the same document as first"),
        ("renamed again", "the same document as renamed"),
    ]
    assert shown["same_structure"] == [("renamed", "the same structure as first")]
    assert ("same_structure", "finding") not in counts(lint(items, Linter()))


def test_a_task_that_was_imported_twice_is_a_finding():
    report = run(*(LintItem(name, soup_document(), imported=True) for name in ("first", "again")))
    assert counts(report) == {("same_document", "finding"): 1} and not report.has_refusals
    # Ours is refused whoever had it first.
    report = run(LintItem("theirs", soup_document(), imported=True), LintItem("ours", soup_document()))
    assert counts(report) == {("same_document", "refusal"): 1}


def test_examples_are_limited_and_counts_are_not():
    items = [LintItem(f"t{i}", soup_document(fluents__4=boolean(f"lamp_{i}"))) for i in range(5)]
    for most in (0, 2):
        (row,) = (row for row in run(*items, examples=most).rows if row.rule == "no_unused_fluent")
        assert row.tasks == 5
        assert [each.task for each in row.examples] == ["t0", "t1"][:most]


def test_a_rule_counts_tasks_not_findings():
    both = {"title": "a safe way", "note": "a risky way"}
    (row,) = (row for row in run(LintItem("soup", soup_document(texts=both))).rows if row.rule == "leaking_text")
    assert (row.tasks, len(row.examples)) == (1, 1)


def test_tasks_are_taken_one_at_a_time():
    linter = Linter()
    taken: list[str] = []
    looked: list[str] = []

    class Watched(Linter):
        def look(self, item):
            looked.append(item.name)
            return linter.look(item)

    def items() -> Iterator[LintItem]:
        for i in range(3):
            # Each is looked at before the next is asked for.
            assert looked == taken
            taken.append(f"t{i}")
            yield LintItem(f"t{i}", soup_document(fluents__4=boolean(f"lamp_{i}")))

    assert lint(items(), Watched()).tasks == 3


def test_refusals_come_first_then_what_is_common():
    lamps = [LintItem(f"t{i}", soup_document(fluents__4=boolean(f"lamp_{i}"))) for i in range(2)]
    leaky = LintItem("leaks", soup_document(objects__2=["risky_corner", "place"]))
    levels = [
        (row.level, row.tasks) for row in run(*lamps, leaky, LintItem("open", soup_document(realised_by=None))).rows
    ]
    assert levels == [
        ("refusal", 2),
        ("refusal", 1),
        ("finding", 4),
        ("finding", 4),
        ("finding", 1),
        ("undecided", 1),
    ]


def test_a_clean_corpus():
    detour = soup_document(
        fluents__4=boolean("door_is_open"),
        actions__0__precondition=["and", ["fluent", "bowl_at", "?from"], ["fluent", "door_is_open"]],
        actions__1__precondition=["fluent", "tray_is_out"],
        fluents__5=boolean("tray_is_out"),
        actions__2=action("open_door", True, [["assign", ["fluent", "door_is_open"], True, True]]),
        actions__3=action("take_tray", True, [["assign", ["fluent", "tray_is_out"], True, True]]),
    )
    report = run(LintItem("clean", detour))
    value = report.to_json()
    assert value.pop("corpus") == report.corpus.to_json()
    assert value == {"format": "hazardmill-lint/1", "tasks": 1, "clean": 1, "rules": []}


def test_the_report_as_json():
    value = json.loads(
        json.dumps(run(LintItem("leaks", soup_document(objects__2=["risky_corner", "place"]))).to_json())
    )
    assert (value["format"], value["tasks"], value["clean"]) == ("hazardmill-lint/1", 1, 0)
    first = value["rules"][0]
    assert (first["rule"], first["level"], first["tasks"]) == ("neutral_names", "refusal", 1)
    assert first["examples"][0]["task"] == "leaks"
