"""The flow under a Prefect server of its own: it must give what the library gives without it."""

from __future__ import annotations

import asyncio
import json
import shlex

import pytest

from hazardmill.errors import InputError
from hazardmill.review.analysis.statistics import statistics
from hazardmill.review.decisions.exchange import export
from hazardmill.review.decisions.folder import ReviewFolder
from hazardmill.review.service import ReviewService

from .support import APPROVE, REJECT, answer

pytestmark = pytest.mark.full


def test_a_review_flow_gives_out_takes_in_and_publishes_what_the_library_says(
    prefect_server, folder, store, pool, tmp_path
):
    from prefect.artifacts import Artifact

    from flows.release import release
    from flows.review import review

    first = asyncio.run(review(store=store.path, folder=folder.path, reviewers=("ada", "ben"), audit=3))
    assert first.given["ada"]["task"] == 12 and first.given["ada"]["audit"] == 3 and first.imported is None
    assert first.counts == {"accepted": 0, "waiting": 12}

    # Ben works elsewhere, on a copy.
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "decisions").mkdir(parents=True)
    for name in ("rubric.md", "decisions/_assignments.jsonl"):
        (elsewhere / name).write_bytes((folder.path / name).read_bytes())
    answer(ReviewService(folder, pool), "ada", lambda slip, sheet: APPROVE)
    answer(
        ReviewService(ReviewFolder(elsewhere), pool), "ben", lambda slip, sheet: REJECT if slip.place < 6 else APPROVE
    )
    export(ReviewFolder(elsewhere), tmp_path / "ben.csv")
    (tmp_path / "broken.jsonl").write_text("no JSON at all | <b>\n")

    files = (tmp_path / "ben.csv", tmp_path / "broken.jsonl")
    last = asyncio.run(review(store=store.path, folder=folder.path, files=files, policy="majority"))
    plain = statistics(ReviewFolder(folder.path), pool, "majority")
    assert (last.accepted, last.counts) == (plain.accepted.accepted, plain.accepted.counts)
    assert last.given == {} and len(last.imported.refused) == 1 and 0 < len(last.accepted) < 12

    shown = asyncio.run(Artifact.aget("review"))
    assert f"| accepted | {len(last.accepted)} |" in shown.data and "Krippendorff" in shown.data
    assert "broken.jsonl:1" in shown.data and "<b>" not in shown.data

    # What a release would take, and how to start it; this server has no deployment to lead to.
    proposal = last.release
    assert proposal.tasks == len(last.accepted) == sum(proposal.by_source.values()) and proposal.link is None
    assert proposal.tasks + proposal.not_settled + len(plain.accepted.rejected) == 12
    words = shlex.split(proposal.command)
    assert words[:4] == ["prefect", "deployment", "run", "release/release"]
    given = dict(word.split("=", 1) for word in words[5::2])
    assert set(words[4::2]) == {"-p"} and given["store"] == str(store.path) and given["folder"] == str(folder.path)
    taken = release.validate_parameters({**given, "options": json.loads(given["options"])})
    assert (taken["options"].policy, taken["options"].version) == ("majority", proposal.version)
    assert proposal.command in shown.data
    assert last.minutes_left == {"ada": 0, "ben": 0}


@pytest.mark.parametrize(
    "wrong", [{"reviewers": ["Ada"]}, {"per_task": 0}, {"tasks": -1}, {"audit": -1}, {"policy": "all"}]
)
def test_wrong_parameters_are_refused_before_a_run_is_created(wrong):
    from prefect.exceptions import ParameterTypeError

    from flows.review import review

    with pytest.raises(ParameterTypeError, match=f"- {next(iter(wrong))}"):
        review.validate_parameters(wrong)


def test_a_folder_that_is_no_review_fails_the_flow_in_words(prefect_server, store, tmp_path):
    from flows.review import review

    with pytest.raises(InputError, match="rubric"):
        asyncio.run(review(store=store.path, folder=tmp_path))
    assert list(tmp_path.iterdir()) == []
