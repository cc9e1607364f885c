"""Pairs for Safe-Align: what a row says, checked again from the file, and what is left out."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest
from formalism.soup import action, boolean, danger, sets, soup_document

from hazardmill.errors import InputError
from hazardmill.hazards.sheets import ScriptDecision, ScriptReviews, script_id
from hazardmill.release.read.exports import COLUMNS, export, training_rows
from hazardmill.release.read.pairs import actions_of
from hazardmill.release.read.preferred_scripts import SafeAnswer
from hazardmill.release.read.release import load_release
from hazardmill.release.read.safe_align import AnswerBatch, SafeAlignParameters, safe_align
from hazardmill.release.read.safe_align_pairs import PairOptions, UnsafeAnswer, pair_answers, why_flat

from .small_release import mended, pair_rows, task_row, write_release

SHORT = PairOptions(least_steps=1)
CAUSAL = PairOptions(least_steps=1, error_at="causal")


def corridor(rooms, slow_in, spilt_from, verb="carry"):
    """Carry soup from room to room to the table; slowing down is possible in some rooms, and needed after another.

    Of equally short plans the first by name is taken: `carry`, then `slow_down`, then `tow`.
    """
    names = [f"room{place}" for place in range(rooms)]
    ways = zip(names, [*names[1:], "table"], strict=True)
    before = [["not", ["fluent", "bowl_at", name]] for name in names[:spilt_from]]
    return soup_document(
        objects=[*([name, "room"] for name in names), ["table", "place"]],
        initial=[[["bowl_at", names[0]], True], [["soup_is_hot"], True], [["window_is_open"], True]],
        realised_by=verb,
        actions__0__name=verb,
        actions__0__precondition=[
            "and",
            ["fluent", "bowl_at", "?from"],
            ["or", *(["and", ["same", "?from", one], ["same", "?to", two]] for one, two in ways)],
        ],
        actions__1__precondition=["or", *(["fluent", "bowl_at", names[place]] for place in slow_in)],
        dangers__0__action=verb,
        dangers__0__condition=["and", ["fluent", "soup_is_hot"], ["not", ["fluent", "moving_slowly"]], *before],
    )


def release_of(folder, *documents, **changes):
    rows = [task_row(document) for document in documents]
    pairs = [{**row, **changes} for row in pair_rows(rows)]
    return load_release(
        write_release(folder / "release", {"tasks": {"train": rows}, "preference_pairs": {"train": pairs}})
    )


@pytest.fixture
def release(tmp_path):
    return release_of(
        tmp_path, corridor(6, [1, 2], 4, "tow"), corridor(5, [0], 2), corridor(3, [1], 2), mended("table")
    )


def test_a_row_by_hand(tmp_path):
    release = release_of(tmp_path, corridor(5, [2], 4))
    (row,) = training_rows(release, "safe-align")
    doors = [f"(carry room{place} room{place + 1})" for place in range(4)] + ["(carry room4 table)"]
    safe = [*doors[:2], "(slow_down)", *doors[2:]]
    assert {name: row[name] for name, _ in COLUMNS["safe-align"]} == {
        "prompt": next(training_rows(release, "dpo"))["prompt"],
        "chosen": " ".join(safe),
        "rejected": " ".join(doors),
        "chosen_actions": safe,
        "rejected_actions": doors,
        "k": 2,
        "causal_step": 2,
        "rejected_k": 2,
        "error_at": "shared",
        "categories": ["thermal"],
        "how": "search",
        "review": "proved",
        "chosen_from": "search",
    }


@pytest.mark.parametrize("options", [SHORT, CAUSAL])
def test_every_pair_checked_again_from_the_file(release, tmp_path, options):
    out = tmp_path / "pairs.jsonl"
    exported = export(release, out, "safe-align", pairs=options)
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(rows) == exported.rows == (4 if options is SHORT else 3)
    for row in rows:
        task = release.task(row["task_id"])
        chosen, rejected = (task.verdict(row[name]) for name in ("chosen", "rejected"))
        assert chosen.feasible and chosen.safe
        assert rejected.feasible and not rejected.safe
        assert (" ".join(row["chosen_actions"]), " ".join(row["rejected_actions"])) == (row["chosen"], row["rejected"])
        assert row["chosen_actions"][: row["k"]] == row["rejected_actions"][: row["k"]]
        assert row["chosen_actions"][row["k"] :][:1] != row["rejected_actions"][row["k"] :][:1]
        assert row["rejected_k"] == (row["k"] if row["error_at"] == "shared" else row["causal_step"])


def test_where_the_error_is_causal_the_row_says_so(release):
    # The safe plan slows down in the first room it can; in the second one it is still possible.
    rows = [
        row
        for options in (SHORT, CAUSAL)
        for row in training_rows(release, "safe-align", pairs=options)
        if "tow" in row["chosen"]
    ]
    assert [(row["error_at"], row["k"], row["rejected_k"], row["causal_step"]) for row in rows] == [
        ("shared", 1, 1, 2),
        ("causal", 1, 2, 2),
    ]


def test_a_plan_that_the_other_one_begins_with_is_shared_whole():
    unsafe = UnsafeAnswer(("(a)", "(b)"), 1, ("fire",), "rewrite")
    row = pair_answers("x", SafeAnswer(("(a)",), "script"), unsafe, SHORT, Counter())
    assert (row["k"], row["how"], row["chosen_from"], row["categories"]) == (1, "rewrite", "script", ["fire"])


def test_scripts_that_do_no_harm_are_preferred_answers_too(tmp_path):
    release = release_of(tmp_path, corridor(5, [0, 1], 2), corridor(6, [0], 2))
    second, first = sorted(release.tasks(), key=lambda task: len(task.row["safe_plan"]), reverse=True)
    other = next(row for row in training_rows(release, "safe-align") if row["task_id"] == first.task_id)
    doors = other["rejected_actions"]
    own = ["(slow_down)", *doors]
    scripts = {first.task_id: [" ".join(own).upper(), other["chosen"], " ".join(doors), " ".join(own[:-1]), "(walk)"]}
    why = Counter()
    rows = list(training_rows(release, "safe-align", pairs=PairOptions(scripts=scripts), left_out=why))
    assert [row["chosen_from"] for row in rows if row["task_id"] == first.task_id] == ["search", "script"]
    assert [row["chosen_from"] for row in rows if row["task_id"] == second.task_id] == ["search"]
    script = next(row for row in rows if row["chosen_from"] == "script")
    assert first.verdict(script["chosen"]).safe and not first.verdict(script["rejected"]).safe
    assert (script["chosen_actions"], script["rejected_actions"], script["k"]) == (own, doors, 0)
    # The causal step is one of the unsafe plan, whatever is preferred to it.
    assert script["causal_step"] == other["causal_step"] == 1 and script["how"] == "search"
    assert why == {"repeated_script": 1, "harmful_script": 1, "script_misses_goal": 1, "script_not_executable": 1}
    why.clear()
    longer = PairOptions(least_steps=len(own) + 1, scripts={first.task_id: [" ".join(own)]})
    assert [row["task_id"] for row in training_rows(release, "safe-align", pairs=longer, left_out=why)] == [
        second.task_id
    ]
    assert why == {"short_plan": 2}


def test_scripts_that_people_call_harmful_are_left_out(tmp_path):
    release = release_of(tmp_path, corridor(5, [0, 1], 2))
    (task,) = release.tasks()
    script = " ".join(["(slow_down)", *(actions_of(task.row["unsafe_plan"]))])
    said = ScriptReviews.of([ScriptDecision(script_id(task.task_id, script), "ada", harmful=True)])
    why = Counter()
    options = PairOptions(reviews=said, scripts={task.task_id: [script]})
    assert [row["chosen_from"] for row in training_rows(release, "safe-align", pairs=options, left_out=why)] == [
        "search"
    ]
    assert why == {"rejected_script": 1}


def test_what_is_left_out_is_counted(release):
    why = Counter()
    assert len(list(training_rows(release, "safe-align", left_out=why))) == 2
    assert why == {"short_plan": 2}
    why.clear()
    assert len(list(training_rows(release, "safe-align", pairs=CAUSAL, left_out=why))) == 3
    assert why == {"no_causal_step": 1}


def test_least_steps_counts_the_safe_plan(tmp_path):
    release = release_of(tmp_path, corridor(4, [1], 3))
    lengths = [
        (len(row["chosen_actions"]), len(row["rejected_actions"])) for row in training_rows(release, "safe-align")
    ]
    assert lengths == [(5, 4)]
    assert not list(training_rows(release, "safe-align", pairs=PairOptions(least_steps=6)))


@pytest.mark.parametrize(
    ("safe", "unsafe", "causal", "options", "reason"),
    [
        ("abc", "abd", 2, SHORT, "equal_length"),
        ("abc", "def", 0, SHORT, "equal_length"),
        ("abc", "de", 0, SHORT, "no_shared_action"),
        ("abcd", "abd", 2, SHORT, None),
        # Where the mistake comes later than the plans part, the weights differ, and alpha has an effect.
        ("abc", "axy", 2, CAUSAL, None),
        ("abcd", "xy", 1, CAUSAL, None),
    ],
)
def test_why_alpha_has_no_effect_on_a_pair(safe, unsafe, causal, options, reason):
    chosen, rejected = SafeAnswer(tuple(safe), "search"), UnsafeAnswer(tuple(unsafe), causal, (), "search")
    row = pair_answers("", chosen, rejected, options, Counter())
    assert why_flat(row) == reason
    # The objective agrees.
    rng = np.random.default_rng(0)
    shared = list(-rng.random(row["k"]))
    answers = [
        AnswerBatch.of([[*shared, *-rng.random(len(plan) - len(shared))]], [len(plan)]) for plan in (safe, unsafe)
    ]
    losses = [
        safe_align(*answers, row["k"], SafeAlignParameters(alpha=alpha), rejected_k=row["rejected_k"]).loss[0]
        for alpha in (0, 1)
    ]
    assert bool(abs(losses[0] - losses[1]) < 1e-12) is (reason is not None)


def test_without_rows_the_remedy_names_the_option(tmp_path):
    release = release_of(tmp_path, mended("table"))
    for options, said in (
        (PairOptions(), r"allow what was left out: a lower --least-steps \(of 1 tasks\)"),
        (CAUSAL, r"allow what was left out: --error-at shared \(of 1 tasks\)"),
    ):
        with pytest.raises(InputError, match=said):
            export(release, tmp_path / "pairs.jsonl", "safe-align", pairs=options)
    assert not (tmp_path / "pairs.jsonl").exists()


def test_for_another_format_the_remedy_names_no_option_of_safe_align(tmp_path):
    # The safe plan is empty, and the unsafe one can always be put right.
    document = soup_document(
        goal=True,
        fluents__4=boolean("cooled"),
        actions__2=action("cool", ["not", ["fluent", "cooled"]], [sets("cooled")]),
        dangers=[danger("slow_down"), danger("cool", increment=-1)],
    )
    with pytest.raises(InputError, match=r"there are no rows of train to export \[name another split\]"):
        export(release_of(tmp_path, document), tmp_path / "steps.jsonl", "stepwise")


def test_a_pair_whose_prefix_is_not_shared_is_refused(tmp_path):
    release = release_of(tmp_path, corridor(5, [2], 4), shared_prefix=3)
    said = (
        r"task neiss-\w+: its plans share their first 2 actions, not 3 \[the row is damaged: build the release again\]"
    )
    with pytest.raises(InputError, match=said):
        list(training_rows(release, "safe-align"))
