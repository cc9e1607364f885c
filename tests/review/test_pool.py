from __future__ import annotations

import json

import pytest

from hazardmill.errors import DocumentError
from hazardmill.generation.extract import RejectedDanger
from hazardmill.records import Danger
from hazardmill.review.candidates import load_pool

from .support import danger_of, make_store, proved, rows_of, scenario_rows, write


def test_tasks_and_drafts_that_only_the_judge_sent_back_are_there(pool):
    tasks = [item for item in pool.values() if item.kind == "task"]
    drafts = [item for item in pool.values() if item.kind == "audit"]
    assert len(tasks) == 12 and all(item.judged is True and item.judge_criteria == () for item in tasks)
    assert sorted(item.judge_criteria for item in drafts) == [("entity",), ("hints",), ("hints",)]
    assert all(item.judged is False and item.has_safe_plan for item in pool.values() if item.kind == "audit")
    assert len({item.stratum for item in tasks}) == 6


def test_a_draft_is_not_shown_with_a_danger_that_came_after_it(tmp_path):
    store = make_store(tmp_path / "store", 0)
    rows = rows_of(0, sent_back="formalization")
    for draft, danger, shown in ((1, 1, 1), (2, 2, 1), (1, 2, 0)):
        rows["drafts"][-1]["round"], rows["dangers"][0]["round"] = draft, danger
        write(store, rows)
        assert len(load_pool(store)) == shown, (draft, danger)


def test_a_draft_of_a_danger_that_was_sent_back_is_shown_with_that_danger(tmp_path):
    store = make_store(tmp_path / "store", 0)
    rows, (second,) = rows_of(0, sent_back="formalization"), rows_of(1)["dangers"]
    (known,) = rows["dangers"]
    first = Danger.model_validate(danger_of(0, known["danger_type"]))
    sent_back = RejectedDanger(first, 1, ({"reason": "judge:formalization", "message": "m", "mend": "n"},))
    told = {"round": 2, "sent_back": json.dumps(sent_back.to_json())}
    rows["dangers"] = [second | {"run_id": known["run_id"], "record_id": known["record_id"]} | told]
    rows["drafts"][0]["round"] = 1
    write(store, rows)
    pool = load_pool(store)
    (item,) = pool
    assert (pool[item].danger_type, pool[item].judge_criteria) == (first.danger_type, ("formalization",))
    assert pool.content(item).danger == first.model_dump(mode="json")
    # As it would be shown had there been no second danger.
    other = make_store(tmp_path / "other", 0)
    write(other, rows | {"dangers": [known | {"round": 1}]})
    assert load_pool(other)[item].seen == pool[item].seen


def test_content_is_the_same_kept_or_looked_up(store):
    kept = load_pool(store, keep=True)
    looked_up = load_pool(store)
    assert dict(kept) == dict(looked_up)
    assert [kept.content(item) for item in kept] == [looked_up.content(item) for item in looked_up]


def test_content_that_changed_since_is_not_shown_as_what_it_was(tmp_path):
    store = make_store(tmp_path / "store", 1)
    looked_up, kept = load_pool(store), load_pool(store, keep=True)
    (item,) = looked_up
    write(store, rows_of(0, context="Cold soup.", run="s"), run="s")
    with pytest.raises(DocumentError, match="no longer in the store as it was"):
        looked_up.content(item)
    assert kept.content(item).context == "Hot soup."


def test_content_is_whole_of_both_kinds(pool):
    for item in pool.values():
        content = pool.content(item.item)
        assert content.context == "Hot soup." and content.danger["danger_type"] == item.danger_type
        assert content.unsafe_plan == "(carry table)" and content.safe_plan == "(reduce_speed) (carry table)"
        assert content.document["texts"]["title"].startswith("Carry bowl")


@pytest.mark.parametrize("part", ["context", "danger", "texts", "plan", "code"])
def test_whatever_is_shown_in_words_counts_as_seen(tmp_path, part):
    store = make_store(tmp_path / "store", 1)
    (before,) = load_pool(store).values()
    rows = rows_of(0, run="s")
    if part == "context":
        rows["records"][0]["context"] = "Cold soup."
    elif part == "danger":
        rows["tasks"][0]["danger"] = rows["tasks"][0]["danger"].replace("A scald.", "A burn.")
    elif part == "texts":
        rows["tasks"][0]["document"] = rows["tasks"][0]["document"].replace("Carry bowl", "Bring bowl")
    elif part == "plan":
        rows["tasks"][0]["safe_plan"] = "(reduce_speed) (reduce_speed) (carry table)"
    else:
        rows["tasks"][0]["code"] = "other code, the same task"
    write(store, rows, run="s")
    (after,) = load_pool(store).values()
    # How the code is written is nobody's judgement: it gives the same document.
    assert (after.seen == before.seen) == (part == "code")
    assert after.run_id == "s"


def test_a_draft_that_became_a_task_elsewhere_is_no_audit(tmp_path):
    store = make_store(tmp_path / "store", 1, ("hints",))
    assert sorted(item.kind for item in load_pool(store).values()) == ["audit", "task"]
    write(store, rows_of(1, run="s"), run="s")
    pool = load_pool(store)
    assert sorted(item.kind for item in pool.values()) == ["task", "task"]
    assert any(item.item.endswith(proved(1)[0].hash[:12]) for item in pool.values())


def test_a_draft_that_failed_a_proof_is_none(tmp_path):
    store = make_store(tmp_path / "store", 1)
    rows = rows_of(1, sent_back="hints")
    rows["drafts"][0]["failed_check"] = "search"
    write(store, rows)
    assert [item.kind for item in load_pool(store).values()] == ["task"]


def test_a_task_whose_judge_was_not_asked_says_so(tmp_path):
    store = make_store(tmp_path / "store", 0)
    rows = rows_of(0)
    rows["checks"] = rows["checks"][:1]
    write(store, rows)
    (item,) = load_pool(store).values()
    assert item.judged is None


def test_scenarios_are_items_beside_the_tasks(tmp_path):
    store = make_store(tmp_path / "store", 1)
    write(store, scenario_rows(1), scenario_rows(2, "mal", target=None, hazard=None))
    pool = load_pool(store)
    assert [item.kind for item in pool.values()] == ["task", "scenario", "scenario"]
    sit, mal = (item for item in pool.values() if item.kind == "scenario")
    assert (sit.item.startswith("bddl-sit-"), mal.item.startswith("normbank-mal-")) == (True, True)
    assert (sit.run_id, sit.record_id, sit.draft, sit.source) == ("r", "bddl:1", 2, "bddl")
    assert (sit.danger_group, sit.stratum) == ("property", ("bddl", "sit: burned object"))
    assert (mal.danger_group, mal.stratum) == ("unlabelled", ("normbank", "mal: unlabelled"))
    assert (sit.scenario_kind, mal.scenario_kind, sit.slip_kind) == ("sit", "mal", "task")
    assert sit.judged is True and sit.judge_criteria == () and not sit.has_safe_plan
    kept = load_pool(store, keep=True)
    assert dict(kept) == dict(pool)
    assert [kept.content(item) for item in kept] == [pool.content(item) for item in pool]
    content = pool.content(sit.item)
    assert (content.context, content.licence) == ("Lunch.", "CC0-1.0")
    assert "unwrap" in content.plan and "unwrap" not in content.careless_plan
    assert content.scenario["id"] == sit.item and pool.content(mal.item).careless_plan is None


@pytest.mark.parametrize("part", ["context", "instruction", "target", "plan", "harm", "backend"])
def test_whatever_is_shown_of_a_scenario_counts_as_seen(tmp_path, part):
    store = make_store(tmp_path / "store", 0)
    write(store, scenario_rows(0))
    (before,) = load_pool(store).values()
    changes = {
        "context": {"context": "Supper."},
        "instruction": {"instruction": "Toast it."},
        "target": {"target": None},
    }
    rows = scenario_rows(0, run="s", **changes.get(part, {}))
    (scenario,) = rows["scenarios"]
    if part == "plan":
        scenario["plan"] += " (switch_off toaster)"
    scenario["scenario"] = scenario["scenario"].replace(
        *{"harm": ("fire", "rust"), "backend": ("a-backend", "me")}.get(part, ("", ""))
    )
    write(store, rows, run="s")
    (after,) = load_pool(store).values()
    # Who wrote it concerns no reviewer.
    assert (after.seen == before.seen) == (part == "backend")
    assert after.run_id == "s"


def test_a_scenario_that_cannot_be_read_is_named(tmp_path):
    store = make_store(tmp_path / "store", 0)
    rows = scenario_rows(0)
    rows["scenarios"][0]["scenario"] = "[]"
    write(store, rows)
    with pytest.raises(DocumentError, match=r"scenario of neiss-sit-.* is not a JSON object"):
        load_pool(store)
