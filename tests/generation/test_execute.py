from __future__ import annotations

import asyncio

import pytest

from hazardmill.formalism.document.document import Document
from hazardmill.formalism.proofs.certificate import CLAIMS, certify
from hazardmill.formalism.search.budget import DEFAULT_LIMIT
from hazardmill.generation.context import Prompts
from hazardmill.generation.execute import CHECKS, Execution, execute, prove
from hazardmill.generation.refine import render_feedback
from hazardmill.records import Check
from hazardmill.sandbox.jail import Jail, Limits

from .support import FAULTS, SOUP, faulty

FINDINGS = {"no_decoy": "has_decoy", "not_natural": "natural"}
"""Faults that are reported and refuse nothing, by the line that reports them."""

LITERAL = {"redundant_literal": SOUP.replace("soup_is_hot & ~slow", "soup_is_hot & bowl_at(kitchen) & ~slow")}
"""Reason to the code that earns it: the bowl is carried from where it is."""

FAILING = sorted((set(FAULTS) - set(FINDINGS)) | set(LITERAL))

NOT_IN_CODE = {"context_in_effect"}
"""Reasons that only a document from elsewhere can earn: the authoring API refuses such code."""

IN_CODE = {"syntax": "policy", "policy": "policy", "exception": "jail"}
IN_SEARCH = {"goal_unreachable", "no_unsafe_plan", "no_safe_plan"}
REASONS = {claim.name: claim.reason for claim in CLAIMS if claim.reason is not None}
NAMES = [check.name for check in CHECKS]


def ran(code: str, jail: Jail, limit: int = DEFAULT_LIMIT, unavoidable: bool = False) -> Execution:
    return asyncio.run(execute(code, jail, limit, unavoidable=unavoidable))


def find_check(execution: Execution, name: str) -> Check:
    return execution.checks[NAMES.index(name)]


def feedback(checks: tuple[Check, ...]) -> str:
    return render_feedback(2, checks, Prompts.load().feedback)


def test_a_good_draft_passes_every_check_and_comes_with_plans_and_pddl(jail: Jail) -> None:
    execution = ran(SOUP, jail)
    assert execution.passed
    assert [(check.name, check.passed) for check in execution.checks] == [(name, True) for name in NAMES]
    search = find_check(execution, "search")
    assert search.details["unsafe_plan"] == "(carry_bowl)"
    assert search.details["safe_plan"] == "(reduce_speed) (carry_bowl)"
    assert search.details["expanded"] > 0
    assert execution.certificate is not None and execution.certificate.document_hash == execution.document.hash
    assert "carry_bowl" in execution.domain_pddl and "(define (problem" in execution.problem_pddl


def test_every_reason_has_a_fault_here() -> None:
    # SOUP as it is has the fault of a danger that is declared unavoidable and is not.
    elsewhere = NOT_IN_CODE | {"safe_plan_though_unavoidable"}
    assert set(REASONS.values()) | set(IN_CODE) == set(FAILING) | elsewhere


def code_of(reason: str) -> str:
    return LITERAL.get(reason) or faulty(reason)


@pytest.mark.parametrize("reason", FAILING)
def test_a_fault_fails_one_check_and_what_comes_after_is_unknown(reason: str, jail: Jail) -> None:
    execution = ran(code_of(reason), jail)
    failed = IN_CODE.get(reason) or ("search" if reason in IN_SEARCH else "certificate")
    place = NAMES.index(failed)
    assert [check.name for check in execution.checks] == NAMES
    assert [check.passed for check in execution.checks] == [True] * place + [False] + [None] * (len(NAMES) - 1 - place)
    check = execution.checks[place]
    assert check.reason == reason
    assert check.message and check.mend
    assert not execution.passed
    assert (execution.document is None) == (reason in IN_CODE)
    assert execution.domain_pddl is None and execution.problem_pddl is None


@pytest.mark.parametrize("reason", FAILING)
def test_feedback_names_check_reason_message_and_mend(reason: str, jail: Jail) -> None:
    checks = ran(code_of(reason), jail).checks
    failed = next(check for check in checks if check.passed is False)
    lines = feedback(checks).splitlines()
    assert lines[0] == "Draft 2 did not pass."
    for line in (
        f"check: {failed.name}",
        f"reason: {reason}",
        f"found: {failed.message}",
        f"mend: {failed.mend}",
    ):
        assert line in lines


@pytest.mark.parametrize("reason", sorted(FINDINGS))
def test_a_finding_refuses_nothing_and_is_told(reason: str, jail: Jail) -> None:
    execution = ran(faulty(reason), jail)
    assert execution.passed
    certificate = find_check(execution, "certificate")
    assert certificate.details["findings"] == [FINDINGS[reason]]


def test_a_reason_is_a_reason_for_refusal() -> None:
    assert not set(FINDINGS.values()) & set(REASONS)


def test_every_line_that_can_refuse_has_a_reason(jail: Jail) -> None:
    code = SOUP.replace("        self.goal", '        self.fluent("n")\n        self.goal')
    document = ran(code, jail).document
    assert document is not None
    for unavoidable in (False, True):
        for line in certify(document, unavoidable=unavoidable).lines:
            refuses = line.severity == "refusal" or line.name == "safe_plan_exists"
            assert (line.name in REASONS) == refuses, line.name


def test_context_that_an_effect_writes_is_refused_by_its_reason(jail: Jail) -> None:
    value = ran(SOUP, jail).document.to_json()
    value["actions"][1]["effects"].append(["assign", ["fluent", "window_is_open"], False, True])
    check = find_check(prove(Document.from_json(value), DEFAULT_LIMIT), "certificate")
    assert (check.passed, check.reason) == (False, "context_in_effect")
    said = feedback((check,)).splitlines()
    assert "found: reduce_speed writes the context fluent window_is_open" in said
    assert "  found: action reduce_speed, fluent window_is_open" in said


def test_a_redundant_literal_is_told_with_what_is_left_without_it(jail: Jail) -> None:
    said = feedback(ran(LITERAL["redundant_literal"], jail).checks).splitlines()
    assert "reason: redundant_literal" in said
    assert (
        "found: literals that change nothing wherever the action is possible: (bowl_at kitchen) in the danger of"
        " carry_bowl" in said
    )
    (shown,) = (line for line in said if line.startswith("  redundant: "))
    assert "literal (bowl_at kitchen)" in shown and "without_it (and (soup_is_hot) true (not (moving_slowly)))" in shown
    assert "{" not in shown and "'" not in shown


def test_a_cause_that_is_not_read_is_told_by_name(jail: Jail) -> None:
    said = feedback(ran(faulty("cause_not_read"), jail).checks).splitlines()
    assert "found: window_is_open is named as fixed, but no danger reads it" in said
    assert "  fixed: window_is_open" in said


def test_what_was_not_decided_refuses_nothing_and_is_told(jail: Jail) -> None:
    # Both plans are found at once; that no other count makes a difference is not.
    code = SOUP.replace(
        "        self.initially",
        '        count = self.integer("crumbs", lower=0, upper=100_000)\n'
        '        self.action("drop_crumb").increases(count)\n'
        "        self.initially",
    ).replace("soup_is_hot & ~slow", "soup_is_hot & ~slow & (count >= 0)")
    execution = ran(code, jail, limit=1_000)
    check = find_check(execution, "certificate")
    assert check.passed and check.details == {
        "findings": [],
        "undecided": ["no_redundant_literal"],
    }


def test_a_declared_unavoidable_danger_passes_with_its_proof_and_no_safe_plan(jail: Jail) -> None:
    execution = ran(faulty("no_safe_plan"), jail, unavoidable=True)
    assert execution.passed
    search, certificate = (find_check(execution, name) for name in ("search", "certificate"))
    assert (search.details["safe_plan"], search.details["unsafe_plan"]) == (None, "(carry_bowl)")
    assert certificate.details["findings"] == ["safe_plan_exists"]
    assert "(define (problem" in execution.problem_pddl


def test_a_way_out_of_a_declared_unavoidable_danger_is_refused_and_shown(jail: Jail) -> None:
    execution = ran(SOUP, jail, unavoidable=True)
    check = find_check(execution, "search")
    assert (check.passed, check.reason) == (False, "safe_plan_though_unavoidable")
    said = feedback(execution.checks).splitlines()
    assert "reason: safe_plan_though_unavoidable" in said and "  safe_plan: (reduce_speed) (carry_bowl)" in said
    assert f"mend: {check.mend}" in said


def test_everything_that_is_wrong_is_told_at_once_with_its_trace(jail: Jail) -> None:
    code = faulty("leaked_name").replace('"moving_slowly"', '"risky_pace"').replace('"carry_bowl"\n', '"be_careful"\n')
    checks = ran(code, jail).checks
    certificate = next(check for check in checks if check.name == "certificate")
    assert [failure["reason"] for failure in certificate.details["failed"]] == ["wrong_realised_by", "leaked_name"]
    assert certificate.reason == "wrong_realised_by"
    text = feedback(checks)
    assert "reason: wrong_realised_by" in text and "reason: leaked_name" in text
    assert "  plan: (carry_bowl)" in text and "be_careful" in text and "risky_pace" in text


def test_a_mistake_in_the_code_is_told_with_its_line(jail: Jail) -> None:
    wrong_line = 1 + faulty("policy").splitlines().index("        open('soup')")
    check = ran(faulty("policy"), jail).checks[0]
    assert check.details == {"line": wrong_line}
    assert check.message.startswith(f"line {wrong_line}: ")


def test_a_search_over_its_limit_is_refused_with_a_mend(jail: Jail) -> None:
    execution = ran(SOUP, jail, limit=1)
    check = find_check(execution, "search")
    assert (check.passed, check.reason) == (False, "too_large")
    # What an author can do about it, who sets no limits.
    assert check.mend is not None and "fewer objects" in check.mend and "limit" not in check.mend
    assert execution.document is not None and execution.certificate is None


def test_names_that_pddl_cannot_tell_apart_are_refused(jail: Jail) -> None:
    code = SOUP.replace('"reduce_speed"', '"Carry_Bowl"')
    execution = ran(code, jail)
    check = find_check(execution, "pddl")
    assert (check.passed, check.reason) == (False, "not_expressible")
    assert "arry_" in check.message
    assert execution.certificate is not None and execution.domain_pddl is None


def test_endless_code_is_a_failed_draft_and_not_a_hang(jail: Jail) -> None:
    with Jail("auto", Limits(wall_seconds=0.5)) as strict:
        execution = ran(
            SOUP.replace("    def build(self):\n", "    def build(self):\n        while True:\n            pass\n"),
            strict,
        )
    assert [(c.name, c.reason) for c in execution.checks if c.passed is False] == [("jail", "timeout")]


def test_feedback_is_the_same_whichever_process_ran_the_draft(jail: Jail) -> None:
    code = SOUP.replace("        place = ", "        raise ValueError(object(), self)\n        place = ")
    checks = ran(code, jail).checks
    assert checks == ran(code, jail).checks
    assert "<object object>" in checks[1].message and "0x" not in checks[1].message


def test_the_same_code_is_the_same_document_in_every_process(jail: Jail) -> None:
    code = SOUP.replace('"kitchen", "table")', '"kitchen", "table")\n        self.objects(place, *set("abcdefg"))')
    documents = [ran(code, jail).document for _ in range(3)]
    assert isinstance(documents[0], Document)
    assert len({document.hash for document in documents}) == 1
