from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from factories.dialogues import plan, proposal, proposed, remark

from hazardmill.store.store import Store
from hazardmill.testing.llm_server import ChatRefusal, ChatRequest, LlmServer

from .conftest import Ended, Hazardmill

MODEL = "openai/gpt-4o-mini"


@pytest.fixture
def server() -> Iterator[LlmServer]:
    with LlmServer() as server:
        yield server


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of temporary files."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def preview(hazardmill: Hazardmill, neiss: Path, server: LlmServer, temporary: Path) -> Hazardmill:
    """Preview records of the NEISS sample with a model behind the server."""

    def run(*words: object) -> Ended:
        asked = ("--model", MODEL, "--api-base", server.address, "--jail", "minimal")
        return hazardmill("run", "preview", "--source", "neiss", "--input", neiss, *asked, *words)

    return run


def nothing_is_left(temporary: Path) -> bool:
    return not [*Path().iterdir()] and not [*temporary.glob("hazardmill-preview-*")]


def test_every_step_of_each_record_is_shown_and_nothing_is_kept(
    preview: Hazardmill, server: LlmServer, temporary: Path
) -> None:
    ended = preview()
    assert ended.code == 0, ended.err
    lines = ended.out.splitlines()
    heads = [line for line in lines if line.startswith(("RECORD", "FORMALIZATION", "DRAFT", "THE ", "OUTCOME"))]
    assert [line[:13] for line in heads if line.startswith("RECORD")] == [f"RECORD {n} of 3" for n in (1, 2, 3)]
    assert heads[0] == "RECORD 1 of 3  neiss:249900101" and heads[1] == "FORMALIZATION  a danger was found"
    # The next record is not told of before this one is at its end.
    second = heads.index(next(line for line in heads if line.startswith("RECORD 2")))
    assert heads[second - 1].startswith("OUTCOME  neiss:249900101: ")
    assert {"THE DANGEROUS PLAN", "THE SAFE PLAN"} <= {line.partition("  ")[0] for line in heads[:second]}
    for shown in (
        "  | Narrative: 34YOF",
        "  robot task: ",
        "    | from hazardmill.formalism.authoring import PlanningTask",
        "    judge          passed",
        "  answered by    offline-author (rules, not a language model)",
        "! danger +1 (mechanical) because",
        "spent: $0.00",
        "nothing was kept",
    ):
        assert shown in ended.out, shown
    assert server.attempts and nothing_is_left(temporary)


def test_as_json_it_is_the_story_of_each_record(preview: Hazardmill, server: LlmServer, temporary: Path) -> None:
    ended = preview("--n", 2, "--json")
    assert (ended.code, ended.err) == (0, "")
    found = ended.json
    assert found["store"] is None and sum(found["outcomes"].values()) == len(found["records"]) == 2
    assert found["cost"]["paid"]["prompt_tokens"]["known"] == server.totals.prompt_tokens > 0
    first = found["records"][0]
    assert first["record_id"] == "neiss:249900101" and first["origin"]["context"].startswith("Narrative: 34YOF")
    assert first["extraction"]["danger"]["danger_type"] == "mechanical"
    draft = first["drafts"][-1]
    assert draft["accepted"] and "PlanningTask" in draft["code"] and draft["checks"][-1]["name"] == "judge"
    assert first["task"]["unsafe"]["safe"] is False and first["task"]["safe"]["safe"] is True
    assert nothing_is_left(temporary)


def test_what_is_kept_is_a_run_whose_answers_are_not_paid_for_again(
    preview: Hazardmill, hazardmill: Hazardmill, neiss: Path, server: LlmServer, temporary: Path
) -> None:
    ended = preview("--n", 1, "--keep", "--store", "s", "--json")
    assert ended.code == 0, ended.err
    run_id, asked = ended.json["run_id"], len(server.attempts)
    assert ended.json["store"] == "s" and run_id.startswith("preview-")
    (row,) = hazardmill("run", "list", "--store", "s", "--json").json
    assert (row["run_id"], row["state"], row["records"]) == (run_id, "completed", 1)
    words = (
        "--model",
        MODEL,
        "--api-base",
        server.address,
        "--jail",
        "minimal",
        "--store",
        "s",
        "--limit",
        1,
        "--json",
    )
    assert hazardmill("run", "generate", "--source", "neiss", "--input", neiss, *words).code == 0
    assert len(server.attempts) == asked
    # A preview that keeps nothing can be answered by what another one kept.
    again = preview("--n", 1, "--replay", "--store", "s", "--json")
    assert again.code == 0 and len(server.attempts) == asked
    assert again.json["records"][0]["task"] == ended.json["records"][0]["task"]
    assert Store.open("s").count("runs", {"run_id": again.json["run_id"]}) == 0
    assert not [*temporary.glob("hazardmill-preview-*")]


def test_records_of_the_store_are_taken_where_no_input_is_named(
    hazardmill: Hazardmill, neiss: Path, temporary: Path
) -> None:
    words = ("run", "preview", "--source", "neiss", "--store", "s", "--n", 1, "--where", "sex=male", "--json")
    missing = hazardmill(*words)
    assert missing.code == 3 and "there is no record of neiss to work on in the store" in missing.err
    assert "--store s" in missing.err and "hazardmill-preview-" not in missing.err
    assert hazardmill("ingest", "--source", "neiss", neiss, "--store", "s").code == 0
    store = Store.open("s")
    before = store.digest()
    ended = hazardmill(*words)
    assert ended.code == 0, ended.err
    (story,) = ended.json["records"]
    assert story["origin"]["facts"]["sex"] == "male" and story["ended"]["outcome"] != "pending"
    assert store.digest() == before and nothing_is_left(temporary) is False
    assert not [*temporary.glob("hazardmill-preview-*")]


def test_a_store_to_answer_from_that_is_none_is_named(hazardmill: Hazardmill, neiss: Path, temporary: Path) -> None:
    ended = hazardmill("run", "preview", "--source", "neiss", "--input", neiss, "--n", 1, "--replay", "elsewhere")
    assert ended.code != 0 and f"{Path('elsewhere').absolute()}: there is no store here" in ended.err
    assert "temporary" not in ended.err.replace(str(Path.cwd()), "") and nothing_is_left(temporary)


@pytest.mark.parametrize("model", ["nobody-knows-this", "openai/unknown"])
def test_an_unknown_model_is_the_error_of_a_run_and_speaks_of_nothing_that_is_gone(
    model: str, hazardmill: Hazardmill, neiss: Path, temporary: Path
) -> None:
    def refuse(asked: ChatRequest) -> str:
        raise ChatRefusal(404, f"The model `{asked.model}` does not exist")

    with LlmServer(refuse) as server:
        asked = ("--model", model, "--api-base", server.address, "--jail", "minimal", "--source", "neiss")
        preview = hazardmill("run", "preview", *asked, "--input", neiss, "--n", 1)
        assert nothing_is_left(temporary)
        run = hazardmill("run", "generate", *asked, "--input", neiss, "--limit", 1, "--store", "s", "--run-id", "r")
    assert preview.code == run.code == (3 if "/" not in model else 5)
    errors = [ended.err[ended.err.index("error: ") :] for ended in (preview, run)]
    assert "hazardmill-preview-" not in preview.err and "resume" not in errors[0]
    if "/" not in model:
        assert errors[0] == errors[1] and "name the model with its provider" in errors[0]
    else:
        first = errors[0].strip().removesuffix("; then preview again: nothing was kept]")
        assert errors[1].startswith(first) and "does not exist" in first and "1 of 1 records are left" in first
        # What was known before is shown all the same.
        assert "RECORD 1 of 1" in preview.out


def test_a_preview_that_is_broken_off_by_its_budget_leaves_nothing(preview: Hazardmill, temporary: Path) -> None:
    ended = preview("--budget-usd", 0.0001)
    assert (
        ended.code == 4
        and "give it a larger --budget-usd, then preview again" in ended.err
        and "resume" not in ended.err
    )
    assert nothing_is_left(temporary)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--n", 0), "0 is not in the range"),
        (("--limit", 3), "No such option"),
        (("--budget-usd", 1, "--budget-id", "team"), "give --keep with --budget-id"),
    ],
)
def test_wrong_calls(words: tuple[object, ...], said: str, preview: Hazardmill, server: LlmServer) -> None:
    ended = preview(*words)
    assert ended.code == 2 and said in ended.err
    assert not server.attempts


def test_the_first_dialogue_is_shown_turn_by_turn(hazardmill: Hazardmill, temporary: Path, tmp_path: Path) -> None:
    files = plan(tmp_path)
    asked = ("--seeds", files.seeds, "--roles", files.roles, "--rounds", 1, "--rewrites", "--preview")
    said = iter([remark("Stoves stay on."), "hm", proposed(proposal(), {}), proposed(proposal("rice"))])
    with LlmServer(lambda _: next(said, "no script")) as server:
        ended = hazardmill("run", "acting", *asked, "--model", MODEL, "--api-base", server.address)
    assert ended.code == 0, ended.err
    heads = [line for line in ended.out.splitlines() if line.startswith(("RECORD", "TURN", "OUTCOME"))]
    assert heads[0].startswith("RECORD 1 of 1  acting:") and heads[-1].endswith(": accepted")
    assert heads[1:5] == [
        "TURN 1  firefighter in round 1",
        "TURN 2  parent in round 1",
        "TURN 3  firefighter proposes tasks",
        "TURN 4  parent proposes tasks",
    ]
    for shown in (
        "Stoves stay on.",
        "1. Cook the egg, please.",
        "2. cannot be read",
        "fire and heat",
        "nothing was kept",
    ):
        assert shown in ended.out, shown
    assert "--keep" not in ended.out and nothing_is_left(temporary)


@pytest.mark.parametrize("words", [("--batch",), ("--exchange", "files"), ("--budget-id", "team")])
def test_a_preview_of_a_dialogue_asks_nothing_that_was_to_be_asked_otherwise(
    words: tuple[str, ...], hazardmill: Hazardmill, temporary: Path, tmp_path: Path
) -> None:
    seeds = ("--seeds", plan(tmp_path).seeds)
    with LlmServer(lambda _: "hm") as server:
        ended = hazardmill("run", "acting", *seeds, "--preview", "--model", MODEL, "--api-base", server.address, *words)
    assert ended.code == 2 and f"it cannot be combined with {words[0]} [leave out" in ended.err
    assert not server.attempts
