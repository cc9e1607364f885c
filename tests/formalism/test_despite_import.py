from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hazardmill.errors import PlanningInputError, UsageError
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.formats.despite.read import (
    Claims,
    examine,
    folders,
    plan_findings,
    read_claims,
    read_code,
    write_folder,
)
from hazardmill.formalism.formats.pddl.reader import read_pddl

from .despite_folders import KETTLE, KETTLE_METADATA, make_folder
from .soup import action, boolean, danger, sets, soup_document

CLAIMS = Claims(task_id="invented_7", danger={}, safe_plan="(slow_down) (carry)", unsafe_plan="(carry)")


def soup() -> Document:
    return soup_document(
        types=[],
        objects=[],
        fluents=[boolean("served"), boolean("slow"), boolean("hot", "context"), boolean("open", "context")],
        actions=[action("carry", True, [sets("served")]), action("slow_down", True, [sets("slow")])],
        initial=[[["hot"], True]],
        goal=["fluent", "served"],
        dangers=[danger("carry", ["and", ["fluent", "hot"], ["not", ["fluent", "slow"]]])],
        realised_by=None,
    )


# Folders


def test_a_folder_is_one_with_code(tmp_path: Path) -> None:
    for name in ("b/two", "b/one", "a", "a/inner"):
        make_folder(tmp_path / name) if not (tmp_path / name).exists() else None
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "b")
    assert [str(path.relative_to(tmp_path)) for path in folders(tmp_path)] == ["a", "a/inner", "b/one", "b/two"]
    assert list(folders(tmp_path / "a" / "inner")) == [tmp_path / "a" / "inner"]


def test_a_root_that_is_no_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for root in (tmp_path / "nowhere", tmp_path / "file"):
        with pytest.raises(PlanningInputError, match=r"cannot be read.*name a folder with code\.py"):
            list(folders(root))


def test_code_is_read_whole_or_refused(tmp_path: Path) -> None:
    assert read_code(make_folder(tmp_path / "good")) == KETTLE
    path = make_folder(tmp_path / "odd") / "code.py"
    for content, message in ((b"\xff\xfe", "not UTF-8"), (b"#" * 1_000_001, "at most 1,000,000 are read")):
        path.write_bytes(content)
        with pytest.raises(PlanningInputError, match=message):
            read_code(path.parent)
    for declared in ("unicode_escape", "utf-7", "cp1252", "nonesuch"):
        path.write_text(f"# -*- coding: {declared} -*-\n{KETTLE}")
        with pytest.raises(PlanningInputError, match=rf"not UTF-8: .*{declared.split('-')[0]}"):
            read_code(path.parent)
    path.write_text(f"# -*- coding: utf-8 -*-\n{KETTLE}")
    assert read_code(path.parent).endswith(KETTLE)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(PlanningInputError, match="it is a named pipe"):
        read_code(path.parent)


# Metadata


def test_metadata_of_both_ages(tmp_path: Path) -> None:
    new = read_claims(make_folder(tmp_path / "new"))
    plans = KETTLE_METADATA["reference_feasible_plans"]
    assert isinstance(plans, dict)
    older = {
        "task_id": "invented_7",
        "danger_formalization": KETTLE_METADATA["danger_formalization"],
        "generated_plans": {"safe_plan": plans["safe"], "unsafe_plan": plans["unsafe"]},
    }
    old = read_claims(make_folder(tmp_path / "old", metadata=older, name="result.json"))
    assert new == Claims(
        "invented_7",
        {"setting": "kitchen", "danger_type": "thermal"},
        "thermal",
        "(put_lid_on) (carry stove Pantry)",
        "(carry stove Pantry)",
        (),
        new.digest,
    )
    assert replace(old, digest=new.digest) == new


def test_the_reference_metadata_are_read_without_a_finding(reference: Path) -> None:
    for folder in sorted(path.parent for path in (reference / "verdicts").glob("*/metadata.json")):
        claims = read_claims(folder)
        assert (claims.task_id, claims.findings) == (folder.name, ())
        assert claims.safe_plan and claims.unsafe_plan and claims.danger
        assert claims.danger_type == claims.danger["danger_type"]


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        (None, ["no_metadata"]),
        ("{", ["metadata_unreadable"]),
        ("[" * 100_000, ["metadata_unreadable"]),
        ('{"task_id": NaN}', ["metadata_unreadable"]),
        (r'{"task_id": "\ud800"}', ["metadata_unreadable"]),
        ("[]", ["metadata_unreadable"]),
        ('{"task_id": 7}', ["odd_task_id", "no_danger_formalization"]),
        ('{"task_id": ""}', ["odd_task_id", "no_danger_formalization"]),
        ('{"danger_formalization": {}, "reference_feasible_plans": []}', []),
        ('{"danger_formalization": {}, "reference_feasible_plans": {"safe": 1, "unsafe": null}}', []),
    ],
)
def test_odd_metadata_are_findings(tmp_path: Path, text: str | None, rules: list[str]) -> None:
    folder = make_folder(tmp_path / "task", metadata=None)
    if text is not None:
        (folder / "metadata.json").write_text(text)
    claims = read_claims(folder)
    assert [finding.rule for finding in claims.findings] == rules
    assert (claims.task_id, claims.safe_plan, claims.unsafe_plan) == (None, None, None)


@pytest.mark.parametrize(
    ("said", "known"),
    [
        ("thermal", "thermal"),
        ("Privacy Violation", "privacy_violation"),
        (" social-norm_violation\n", "social_norm_violation"),
        (None, None),
        ("soggy", None),
        ("", None),
        (["thermal"], None),
        (7, None),
    ],
)
def test_danger_types_are_ours_or_a_finding(tmp_path: Path, said: object, known: str | None) -> None:
    metadata = {"danger_formalization": {"danger_type": said}}
    claims = read_claims(make_folder(tmp_path / "task", metadata=metadata))
    assert claims.danger_type == known
    odd = said is not None and known is None
    assert [finding.rule for finding in claims.findings] == (["unknown_danger_type"] if odd else [])
    assert {entry.danger_type for entry in examine(soup(), claims).document.dangers} == {known}


def test_plans_may_be_lists_of_actions(tmp_path: Path) -> None:
    metadata = {"danger_formalization": {}, "reference_feasible_plans": {"safe": ["(a)", "(b c)"], "unsafe": [1]}}
    claims = read_claims(make_folder(tmp_path / "task", metadata=metadata))
    assert (claims.safe_plan, claims.unsafe_plan) == ("(a) (b c)", None)
    metadata["reference_feasible_plans"] = {"safe": "(a) " * 25_000, "unsafe": "(a) " * 25_001}
    claims = read_claims(make_folder(tmp_path / "long", metadata=metadata))
    assert (len(claims.safe_plan or ""), claims.unsafe_plan) == (100_000, None)


# Findings


@pytest.mark.parametrize(
    ("changes", "rules"),
    [
        ({}, []),
        ({"safe_plan": "(carry)"}, ["safe_plan_is_unsafe"]),
        ({"unsafe_plan": "(slow_down) (carry)"}, ["unsafe_plan_is_safe"]),
        ({"safe_plan": "(fly)", "unsafe_plan": ""}, ["safe_plan_infeasible", "unsafe_plan_infeasible"]),
        ({"safe_plan": None, "unsafe_plan": None}, ["no_safe_plan", "no_unsafe_plan"]),
    ],
)
def test_a_plan_that_is_not_what_is_claimed_is_a_finding(changes: dict[str, Any], rules: list[str]) -> None:
    assert [finding.rule for finding in plan_findings(soup(), replace(CLAIMS, **changes))] == rules


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"safe_plan": "(carry)"}, ["the safe plan is unsafe (danger 1)", "insert (slow_down)", "becomes safe by 1"]),
        ({"safe_plan": "(fly) (slow_down) (carry)"}, ["is infeasible: (fly)", "delete step 1 (fly)"]),
        ({"unsafe_plan": ""}, ["the unsafe plan is infeasible", "becomes feasible by 1", "insert (carry)"]),
    ],
)
def test_such_a_finding_says_the_least_change(changes: dict[str, Any], told: list[str]) -> None:
    (finding,) = plan_findings(soup(), replace(CLAIMS, **changes))
    for part in told:
        assert part in finding.message


def test_a_very_long_claim_is_judged_and_not_repaired() -> None:
    (finding,) = plan_findings(soup(), replace(CLAIMS, safe_plan="(fly) " * 5_000))
    assert finding.rule == "safe_plan_infeasible"
    assert "becomes" not in finding.message


def test_what_a_certificate_finds_refuses_nothing() -> None:
    good = examine(soup(), CLAIMS)
    assert (good.findings, good.document.name, good.document.hash) == ((), "invented_7", soup().hash)
    bad = replace(soup(), goal=("and",), dangers=())
    found = examine(bad, CLAIMS, [("some_note", "a sentence")])
    rules = [finding.rule for finding in found.findings]
    assert rules[0] == "some_note"
    assert {"danger_reachable", "unsafe_plan_is_safe"} <= set(rules)
    assert found.certificate is not None and found.certificate.refusals == ()


def test_a_search_without_end_is_a_finding() -> None:
    found = examine(soup(), CLAIMS, limit=1)
    assert found.certificate is None
    assert [finding.rule for finding in found.findings] == ["not_certified"]


def test_what_code_cannot_say_is_restored_from_an_export_of_the_same_task() -> None:
    entry = soup().dangers[0]
    full = replace(soup(), dangers=(replace(entry, danger_type="thermal"),), realised_by="carry")
    exported = {"code_document_hash": soup().hash, "danger_types": {"carry": ["thermal"]}, "realised_by": "carry"}
    found = examine(soup(), replace(CLAIMS, exported=exported)).document
    assert (found.hash, found.realised_by) == (full.hash, "carry")
    changes: tuple[dict[str, Any], ...] = (
        {"code_document_hash": full.hash},
        {"realised_by": "fly"},
        {"danger_types": {"carry": [7]}},
        {"danger_types": [], "realised_by": None},
    )
    for change in changes:
        found = examine(soup(), replace(CLAIMS, exported={**exported, **change})).document
        assert (found.hash, found.realised_by) == (soup().hash, None)
    # What every folder has comes first.
    found = examine(soup(), replace(CLAIMS, danger_type="chemical", exported=exported)).document
    assert ([entry.danger_type for entry in found.dangers], found.realised_by) == (["chemical"], "carry")


# Task folders


def test_a_task_folder_holds_the_document_pddl_metadata_and_findings(tmp_path: Path) -> None:
    out = tmp_path / "a" / "b"
    found = examine(soup(), replace(CLAIMS, digest="d" * 64), [("some_note", "a sentence")])
    write_folder(found, out, "c" * 64)
    names = ["dangers.json", "domain.pddl", "findings.json", "metadata.json", "problem.pddl", "task.json"]
    assert sorted(path.name for path in out.iterdir()) == names
    document = Document.from_json(json.loads((out / "task.json").read_text()))
    assert (document.hash, document.name) == (soup().hash, "invented_7")
    digests = {"code": "c" * 64, "metadata": "d" * 64}
    assert document.provenance == {"imported_from": "despite", "sha256": digests}
    assert read_pddl(out / "domain.pddl", out / "problem.pddl", out / "dangers.json").hash == soup().hash
    metadata = json.loads((out / "metadata.json").read_text())
    assert metadata["reference_feasible_plans"] == {"safe": "(slow_down) (carry)", "unsafe": "(carry)"}
    assert metadata["hazardmill"]["document_hash"] == metadata["hazardmill"]["certificate"]["document_hash"]
    assert json.loads((out / "findings.json").read_text()) == [{"rule": "some_note", "message": "a sentence"}]
    # What was written is a folder of DESPITE but for its code.
    assert replace(read_claims(out), digest=None, exported=None) == CLAIMS


def test_a_task_without_pddl_says_so(tmp_path: Path) -> None:
    found = examine(replace(soup(), goal=("and",)), CLAIMS)
    write_folder(found, tmp_path / "out", "c" * 64)
    assert not list((tmp_path / "out").glob("*.pddl"))
    assert json.loads((tmp_path / "out" / "findings.json").read_text())[-1]["rule"] == "no_pddl"


def test_a_folder_is_never_written_over(tmp_path: Path) -> None:
    found = examine(soup(), CLAIMS)
    (tmp_path / "metadata.json").write_text("{}")
    with pytest.raises(UsageError, match=r"already holds metadata\.json"):
        write_folder(found, tmp_path, "c" * 64)
    assert [path.name for path in tmp_path.iterdir()] == ["metadata.json"]
    (tmp_path / "file").touch()
    with pytest.raises(PlanningInputError, match="cannot be written"):
        write_folder(found, tmp_path / "file" / "below", "c" * 64)
