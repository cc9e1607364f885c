from __future__ import annotations

from pathlib import Path

import pytest

from hazardmill.generation.models import Models
from hazardmill.runs.config import RunConfig, RunInput
from hazardmill.runs.overview.answering_models import (
    AnsweringModel,
    asked_models,
    describe_answering,
    describe_asked,
    read_answering_models,
)
from hazardmill.store.store import Store
from tests.store.factories import call, row


def config(*names: str, **changes: object) -> RunConfig:
    extract, author, judge = names if len(names) == 3 else names * 3
    return RunConfig.model_validate(
        {
            "inputs": (RunInput(source="x"),),
            "backend": "litellm",
            "models": Models(extract=extract, author=author, judge=judge),
            **changes,
        }
    )


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (config("toy/toy"), "asks toy/toy"),
        (config("a/a", "b/b", "a/a"), "asks a/a (extract, judge), b/b (author)"),
        (config("a/a", "b/b", "c/c", kind="mal"), "asks b/b (author), c/c (judge)"),
        (config("offline-author", backend="offline"), "asks offline-author (rules, not a language model)"),
        (config("recorded", backend="recorded"), "asks no model: replays the answers recorded with the sources"),
        (
            config("toy/toy", backend="replay", replay_store=Path("old")),
            "asks no model: replays answers from the ledger of old",
        ),
        (
            config("toy/toy", api_base="http://127.0.0.1:8000/v1", batch=True, fallback_models=("b/b", "c/c")),
            "asks toy/toy at http://127.0.0.1:8000/v1 in batches or, if it fails, b/b, c/c",
        ),
        (config("toy/toy", exchange=Path("/srv/letters")), "asks toy/toy through files in /srv/letters"),
    ],
)
def test_who_will_answer_is_said_before_the_work(asked: RunConfig, said: str) -> None:
    assert describe_asked(asked) == said


def test_a_configuration_of_any_run_says_which_models_it_asks() -> None:
    assert asked_models(config("a/a", "b/b", "a/a").model_dump(mode="json")) == ("a/a", "b/b")
    assert asked_models({"evaluation": {"model": "toy/toy"}}) == ("toy/toy",)
    assert asked_models(config("recorded", backend="recorded").model_dump(mode="json")) == ()
    assert asked_models({}) == ()


def test_who_answered_is_known_of_answers_that_another_run_paid_for_too(store: Store) -> None:
    with store.writer("paid") as writer:
        answered = {"model_answered": "toy", "backend": "litellm"}
        writer.append_sync({"llm_calls": [call("i", run_id="paid", **answered), call("j", run_id="paid")]})
        writer.append_sync({"dangers": [row("dangers", run_id="reused", **answered)]})
        recorded = {"model_answered": "claude", "backend": "recorded"}
        writer.append_sync({"checks": [row("checks", run_id="reused", **recorded)]})
    toy, claude = AnsweringModel(model="toy", backend="litellm"), AnsweringModel(model="claude", backend="recorded")
    everyone = {"paid": (toy,), "reused": (claude, toy)}
    assert read_answering_models(store) == everyone
    assert read_answering_models(store, ["reused", "none"]) == {"reused": (claude, toy)}
    assert describe_answering(everyone["reused"]) == "answered by claude, recorded earlier; toy"
    assert describe_answering(()) == "answered by nobody"
