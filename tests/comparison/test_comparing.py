from __future__ import annotations

import json
import shutil
from collections import defaultdict
from pathlib import Path

import pytest
from review.support import APPROVE, REJECT, answer, make_folder

from hazardmill.comparison.compare import RunComparison, compare
from hazardmill.comparison.figures import ComparisonOptions, PairedFigure
from hazardmill.errors import InputError, UsageError
from hazardmill.resources import SOURCES_VARIABLE
from hazardmill.review.assignments.publish import give_tasks
from hazardmill.review.assignments.sampler import Wish
from hazardmill.review.candidates import load_pool
from hazardmill.review.service import ReviewService
from hazardmill.runs.config import RunConfig, RunInput
from hazardmill.runs.run import Run
from hazardmill.store.store import Store
from tests.generation.support import REJECTED, write_source
from tests.rates import check_rates
from tests.running import worked

from .conftest import ANSWER_USD, write_notes

HOW = ComparisonOptions(resamples=500)


@pytest.fixture(scope="module")
def found(compared: Store) -> RunComparison:
    return compare(compared, "base", "other", how=HOW)


def named(found: RunComparison, name: str) -> PairedFigure:
    (figure,) = [each for each in found.figures if each.name == name]
    return figure


def test_every_rate_has_an_interval_of_some_width(found: RunComparison, compared: Store) -> None:
    for each in (found, compare(compared, "base", "again", how=HOW)):
        check_rates(each.model_dump(mode="json"), least=3)


def test_records_are_paired_that_both_have_and_that_did_not_change(found: RunComparison) -> None:
    pairing = found.pairing
    assert (pairing.pairs, pairing.only_a, pairing.only_b, pairing.changed, pairing.unfinished) == (6, 1, 1, 1, 0)
    assert [pair.record_id for pair in found.pairs] == [f"notes:{number}" for number in range(3, 9)]
    assert (found.a.records, found.a.finished, found.b.records, found.b.finished) == (8, 8, 8, 8)
    assert [(each.name, each.old, each.new) for each in found.settings if each.name == "sample"] == [
        ("sample", "0", "1")
    ]


@pytest.mark.parametrize(
    ("name", "a", "b", "only_a", "only_b", "p"),
    [
        # Of 3 that changed at least 2 changed one way or the other: 2 * (1 + 3) / 8.
        ("declined", 3 / 6, 2 / 6, 2, 1, 1.0),
        ("accepted", 3 / 6, 4 / 6, 1, 2, 1.0),
        ("accepted at draft 1", 2 / 6, 3 / 6, 1, 2, 1.0),
    ],
)
def test_shares_are_those_counted_by_hand(
    name: str, a: float, b: float, only_a: int, only_b: int, p: float, found: RunComparison
) -> None:
    figure = named(found, name)
    assert (figure.a, figure.b, figure.difference) == pytest.approx((a, b, b - a))
    assert (figure.only_a, figure.only_b, figure.p) == (only_a, only_b, pytest.approx(p))
    assert figure.low is not None and figure.high is not None and figure.low < b - a < figure.high
    assert (figure.pairs, figure.unknown) == (6, 0)


REQUESTS_A, REQUESTS_B = 3 + 1 + 1 + 4 + 3 + 1, 3 + 5 + 3 + 3 + 1 + 1
"""Of records 3 to 8: one to extract, then an author for each draft, and a judge for each that can be executed."""


@pytest.mark.parametrize(
    ("name", "a", "b"),
    [
        ("drafts per record", 4 / 6, 5 / 6),
        ("drafts per task", 4 / 3, 5 / 4),
        ("USD per record", REQUESTS_A * ANSWER_USD / 6, REQUESTS_B * ANSWER_USD / 6),
        ("USD per task", REQUESTS_A * ANSWER_USD / 3, REQUESTS_B * ANSWER_USD / 4),
    ],
)
def test_means_and_prices_are_those_worked_out_by_hand(name: str, a: float, b: float, found: RunComparison) -> None:
    figure = named(found, name)
    assert (figure.a, figure.b, figure.difference) == pytest.approx((a, b, b - a))
    assert (figure.pairs, figure.only_a, figure.p) == (6, None, None)
    # Only four records differ.
    assert figure.low is figure.high is None and figure.why is not None and "fewer than 5 pairs" in figure.why


def test_seconds_are_those_of_all_answers_for_a_record(found: RunComparison, compared: Store) -> None:
    seconds: dict[tuple[str, str], float] = defaultdict(float)
    for call in compared.rows("llm_calls"):
        seconds[call["run_id"], call["record_id"]] += call["latency_s"]
    for pair in found.pairs:
        assert pair.a.seconds == pytest.approx(seconds["base", pair.record_id])
        assert pair.b.seconds == pytest.approx(seconds["other", pair.record_id])
    whole = sum(seconds["base", pair.record_id] for pair in found.pairs)
    assert named(found, "seconds per record").a == pytest.approx(whole / 6)


def test_tallies_are_of_the_paired_records(found: RunComparison) -> None:
    told = {name: {each.value: (each.a, each.b) for each in beside} for name, beside in found.tallies.items()}
    # What a decline is called is the extraction's affair.
    assert [*told.pop("losses").values()] == [(3, 2)]
    assert told == {
        "outcomes": {"accepted": (3, 4), "no_danger": (3, 2)},
        "danger_types": {"thermal": (3, 3), "chemical": (0, 1)},
        "judge_reasons": {f"judge:{issue['criterion']}": (0, 1) for issue in json.loads(REJECTED)["issues"]},
        "ways_out": {"inserted": (3, 4)},
        "verdicts": {},
    }
    moved = {(each.a, each.b): each.records for each in found.moved}
    assert moved == {("no_danger", "accepted"): 2, ("accepted", "no_danger"): 1}


def test_each_record_says_in_what_it_differs(found: RunComparison) -> None:
    differs = {pair.record_id: set(pair.differs) for pair in found.pairs}
    assert differs["notes:3"] == differs["notes:8"] == set() and found.differing == 4
    assert differs["notes:4"] == {"outcome", "reason", "drafts", "danger_type", "judge_reasons", "task_id", "way_out"}
    assert differs["notes:6"] == {"drafts", "danger_type"}
    assert found.model_dump(mode="json")["pairs"][3]["differs"] == ["drafts", "danger_type"]


def test_identical_runs_differ_in_nothing(compared: Store) -> None:
    found = compare(compared, "base", "again", how=HOW)
    assert found.is_nothing and found.settings == () and found.moved == () and found.differing == 0
    assert found.pairing.pairs == 8
    for figure in found.figures:
        if figure.pairs:
            assert figure.difference == 0 and figure.p in (None, 1), figure.name
            if figure.unit == "share":
                # Nothing changed among eight records at most, which leaves room for changes among others.
                assert figure.low == -figure.high and figure.high > 0.3 and figure.method == "wilson", figure.name
            else:
                assert (figure.low, figure.high) == (None, None) and "no spread" in figure.why, figure.name
    assert all(each.a == each.b for beside in found.tallies.values() for each in beside)


def test_the_other_way_round_each_difference_has_the_other_sign(found: RunComparison, compared: Store) -> None:
    back = compare(compared, "other", "base", how=HOW)
    for figure, turned in zip(found.figures, back.figures, strict=True):
        assert (turned.a, turned.b) == (figure.b, figure.a)
        if figure.difference is not None:
            assert turned.difference == pytest.approx(-figure.difference)
            ends = (None, None) if figure.low is None else (-figure.high, -figure.low)
            assert (turned.low, turned.high) == pytest.approx(ends, abs=1e-9), figure.name


def test_verdicts_of_reviewers_are_compared_where_both_tasks_have_one(
    compared: Store, project: Path, tmp_path: Path
) -> None:
    store = Store.open(shutil.copytree(compared.path, tmp_path / "store"))
    folder, pool = make_folder(tmp_path / "review", project), load_pool(store)
    assert compare(store, "base", "other", folder.path, how=HOW).tallies["verdicts"] == ()
    give_tasks(folder, pool, Wish(("ada", "ben"), calibration=0, repeats=0))
    bad = next(row["task_id"] for row in store.rows("tasks", {"run_id": "other"}) if row["record_id"] == "notes:6")
    for reviewer in ("ada", "ben"):
        answer(ReviewService(folder, pool), reviewer, lambda slip, sheet: REJECT if slip.item == bad else APPROVE)
    found = compare(store, "base", "other", folder.path, how=HOW)
    # Record 6 has the same task in both; 4 and 5 have one in the second run only, and 7 in the first.
    assert {each.value: (each.a, each.b) for each in found.tallies["verdicts"]} == {
        "approved": (2, 3),
        "rejected": (1, 1),
    }
    figure = named(found, "approved by reviewers")
    assert (figure.a, figure.b, figure.pairs, figure.unknown) == (0.5, 0.5, 2, 4)
    assert (figure.only_a, figure.only_b, figure.p) == (0, 0, 1)


def test_a_way_out_is_not_known_where_the_certificate_has_no_line_of_it(compared: Store, tmp_path: Path) -> None:
    store = Store.open(shutil.copytree(compared.path, tmp_path / "store"))
    (row,) = [row for row in store.rows("tasks", {"run_id": "other"}) if row["record_id"] == "notes:5"]
    certificate = json.loads(row["certificate"])
    certificate["lines"] = [line for line in certificate["lines"] if line["name"] != "way_out"]
    with store.writer("other") as writer:
        writer.append_sync({"tasks": [{**row, "certificate": json.dumps(certificate)}]})
    found = compare(store, "base", "other", how=HOW)
    assert {each.value: (each.a, each.b) for each in found.tallies["ways_out"]} == {
        "inserted": (3, 3),
        "not_known": (0, 1),
    }
    assert found.pairs[2].b.way_out is None


def test_an_unknown_price_leaves_out_its_pair_and_is_counted(compared: Store, tmp_path: Path) -> None:
    store = Store.open(shutil.copytree(compared.path, tmp_path / "store"))
    (row,) = store.rows("outcomes", {"run_id": "other", "record_id": "notes:4"})
    with store.writer("other") as writer:
        writer.append_sync({"outcomes": [{**row, "usd": None}]})
    figure = named(compare(store, "base", "other", how=HOW), "USD per task")
    assert (figure.pairs, figure.unknown) == (5, 1)
    assert figure.a == pytest.approx((REQUESTS_A - 1) * ANSWER_USD / 3)
    assert figure.b == pytest.approx((REQUESTS_B - 5) * ANSWER_USD / 3)


# Runs that cannot be compared


def test_a_run_is_not_compared_with_itself_nor_with_one_that_is_not_there(compared: Store) -> None:
    with pytest.raises(UsageError, match="run base cannot be compared with itself") as caught:
        compare(compared, "base", "base")
    assert caught.value.remedy == f"name two runs; see: hazardmill run list --store {compared.address}"
    for names in (("base", "nobody"), ("nobody", "base")):
        with pytest.raises(InputError, match="there is no generation run nobody in this store") as caught_too:
            compare(compared, *names)
        assert f"hazardmill run list --store {compared.address}" in caught_too.value.remedy


@pytest.mark.parametrize(
    ("notes", "done", "said", "remedy"),
    [
        ({20: "hot soup"}, True, "have no record in common; they have 8 and 1 records", "from the same --source"),
        (
            {3: "cold soup"},
            True,
            "the content of all 1 records that runs base and later have in common changed in between",
            "from the same --source",
        ),
        (
            {3: "hot soup 3"},
            False,
            "no record is finished in both runs: runs base and later have 1 in common",
            "hazardmill run resume later",
        ),
    ],
)
def test_runs_without_a_record_to_compare_say_why(
    notes: dict[int, str],
    done: bool,
    said: str,
    remedy: str,
    compared: Store,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(SOURCES_VARIABLE, str(write_source(tmp_path / "sources")))
    store = Store.open(shutil.copytree(compared.path, tmp_path / "store"))
    item = RunInput(source="notes", path=write_notes(tmp_path / "notes.txt", notes))
    later, _ = Run.start(store, RunConfig(inputs=(item,)), "later")
    if done:
        worked(later)
    with pytest.raises(InputError, match=said) as caught:
        compare(store, "base", "later")
    assert remedy in caught.value.remedy and f"--store {store.address}" in caught.value.remedy
