"""A run goes on only as it began; what is otherwise goes into a child run, which reuses what is not."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from factories.scripted import ScriptedBackend

from hazardmill import resources
from hazardmill.errors import InputError, RequestRefused, SettingsError, UsageError
from hazardmill.generation.models import Models
from hazardmill.ingest.intake import ingest_into
from hazardmill.llm import prompts as prompts_module
from hazardmill.llm.requests import Request
from hazardmill.runs import run as module
from hazardmill.runs.config import RunConfig, RunInput
from hazardmill.runs.run import Run
from hazardmill.runs.status import latest_states
from hazardmill.store.store import Store
from tests.generation.support import APPROVED, FOUND, REJECTED, THINGS, faulty, fenced, soup
from tests.running import Use, worked

RECORDS = 6
TOY = Models(extract="toy", author="toy", judge="toy")

Edit = Callable[..., None]


@pytest.fixture
def edit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Edit:
    """Edit prompt templates, as somebody would who restarts the command afterwards."""
    edits: list[Path] = [resources.prompts_folder()]

    def edited(*names: str) -> None:
        folder = shutil.copytree(edits[-1], tmp_path / f"prompts{len(edits)}")
        for name in names:
            template = folder / f"{name}.md.j2"
            template.write_text(template.read_text() + "\nThink twice.\n")
        edits.append(folder)
        monkeypatch.setattr(prompts_module, "prompts_folder", lambda: folder)

    return edited


def number_of(request: Request) -> int:
    return int(str(request.record_id).partition(":")[2])


def model(stops_at: int | None = None, **script: Any) -> ScriptedBackend:
    """Every record ends with a task of its own; of one record, the judge is refused."""

    def judge(request: Request) -> str | Exception:
        return RequestRefused("no credit") if number_of(request) == stops_at else APPROVED

    default = {"extract": FOUND, "author": lambda r: fenced(soup(THINGS[number_of(r) - 1])), "judge": judge}
    return ScriptedBackend(**(default | script))


def config(notes: Path | None, **fields: Any) -> RunConfig:
    return RunConfig(
        inputs=(RunInput(source="notes", path=notes),), **({"models": TOY, "wave_size": 4, "concurrency": 1} | fields)
    )


@pytest.fixture
def stopped(store: Store, notes: Path, use: Use) -> Run:
    """A run that stopped at its third record."""
    use(model(stops_at=3))
    run, _ = Run.start(store, config(notes), "run", resources=use.resources)
    with pytest.raises(RequestRefused):
        worked(run)
    return Run.load(store, "run", use.resources)


def changed(run: Run, **fields: Any) -> RunConfig:
    return run.config.model_copy(update=fields)


def stages(backend: ScriptedBackend) -> dict[str, int]:
    return {stage: backend.count(stage) for stage in ("extract", "author", "judge")}


def calls(store: Store, run_id: str) -> list[str]:
    return [row["stage"] for row in store.rows("llm_calls", {"run_id": run_id})]


# Going on


def test_with_nothing_changed_it_goes_on(stopped: Run, use: Use) -> None:
    use(model())
    assert worked(stopped.resume())["accepted"] == RECORDS
    assert stopped.made.unknown == ()


def test_another_format_of_the_author_is_another_prompt_as_well(stopped: Run) -> None:
    with pytest.raises(UsageError) as caught:
        stopped.resume(changed(stopped, author_format="document", structured=True))
    changes = [line.strip().partition(": ") for line in caught.value.message.strip().splitlines()[1:]]
    assert [change[0] for change in changes] == [
        "author format",
        "structured",
        "prompt author/task",
        "prompt author/document",
    ]
    assert changes[0][2] == "python -> document"


def test_what_alters_no_result_is_taken(stopped: Run, store: Store, use: Use, tmp_path: Path, notes: Path) -> None:
    use(model())
    free = {"requests_per_minute": 1000, "tokens_per_minute": 10**7, "deadline_s": 60.0}
    resumed = stopped.resume(changed(stopped, wave_size=1, concurrency=3, cross_check=0.0, **free))
    assert len(resumed.waves()) == 4
    worked(resumed)
    assert [json.loads(row["config"])["concurrency"] for row in store.rows("runs")] == [1, 1, 3, 3]
    whole = Store.open(tmp_path / "whole", create=True)
    worked(Run.start(whole, config(notes), "whole", resources=use.resources)[0])
    assert store.digest() == whole.digest()
    # The next one goes on so.
    assert Run.load(store, "run", use.resources).config == resumed.config != stopped.config


def test_another_port_of_the_same_host_is_no_change(store: Store, notes: Path, use: Use) -> None:
    use(model())
    asked = config(notes, backend="litellm", api_base="http://127.0.0.1:8000/v1")
    run, _ = Run.start(store, asked, "run", resources=use.resources)
    there = changed(run, api_base="http://127.0.0.1:9000/v1")
    assert run.resume(there).config.api_base == there.api_base
    with pytest.raises(UsageError, match=r"host of the API: 127\.0\.0\.1 -> localhost"):
        run.resume(changed(run, api_base="http://localhost:8000/v1"))


# Refusing


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"sample": 1}, "sample: 0 -> 1"),
        ({"search_limit": 77}, "search limit: "),
        ({"models": Models(extract="toy", author="big", judge="toy")}, "author model: toy -> big"),
        ({"models": Models(extract="toy", author="toy", judge="big")}, "judge model: toy -> big"),
        ({"backend": "litellm"}, "backend: offline -> litellm"),
        ({"fallback_models": ("spare", "other")}, "fallback models: (none) -> spare, other"),
        ({"inputs": (RunInput(source="notes", limit=2),)}, "input 1 (notes) limit: (none) -> 2"),
        ({"inputs": (RunInput(source="notes", where={"words": "5"}),)}, "where: (none) -> words=5"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_setting_that_alters_results_is_refused_with_old_and_new(
    fields: dict[str, Any], said: str, stopped: Run, store: Store
) -> None:
    before = store.count("runs")
    with pytest.raises(UsageError, match="run run was started under different conditions") as caught:
        stopped.resume(changed(stopped, **fields))
    assert said in caught.value.message.strip().splitlines()[-1]
    assert "--child" in caught.value.remedy and "undo these changes" in caught.value.remedy
    assert caught.value.exit_code == 2
    assert store.count("runs") == before


def test_every_change_is_told_template_by_template(stopped: Run, edit: Edit, monkeypatch: pytest.MonkeyPatch) -> None:
    old = stopped.made.prompts
    assert old is not None and set(old) == {"extract/danger", "author/task", "author/feedback", "judge/task"}
    edit("judge/task", "author/feedback")
    monkeypatch.setattr(module, "__version__", "9.9")
    with pytest.raises(UsageError) as caught:
        stopped.resume(changed(stopped, sample=2))
    first, *lines = caught.value.message.strip().splitlines()
    assert first.startswith("run run was started under different conditions")
    assert [line.strip().partition(":")[0] for line in lines] == [
        "sample",
        "hazardmill",
        "prompt author/feedback",
        "prompt judge/task",
    ]
    assert lines[1].endswith("-> 9.9")
    assert f"version {old['judge/task'].version} ({old['judge/task'].hash[:12]}) -> version " in lines[3]


def test_another_jail_is_told_by_its_layers(stopped: Run) -> None:
    assert stopped.made.jail is not None and stopped.made.jail.startswith("fork:")
    # By another name it is the same jail.
    assert stopped.resume(changed(stopped, jail="full")).config.jail == "full"
    with pytest.raises(UsageError, match=rf"jail layers: {stopped.made.jail.replace('+', '[+]')} -> minimal:rlimits"):
        stopped.resume(changed(stopped, jail="minimal"))


def test_an_address_with_a_secret_is_refused_unseen(stopped: Run) -> None:
    asked = changed(stopped, backend="litellm", api_base="http://me:hunter2-of-mine@host/v1")
    for go_on in (stopped.resume, stopped.child):
        with pytest.raises(SettingsError) as caught:
            go_on(asked)
        assert "hunter2" not in str(caught.value)


def test_nobody_mixes_results_by_another_way_in(stopped: Run, store: Store, edit: Edit, use: Use) -> None:
    """A flow loads a run and works on it without asking."""
    backend = use(model())
    edit("extract/danger")
    with pytest.raises(UsageError, match="prompt extract/danger"):
        worked(stopped)

    async def a_batch() -> None:
        async with stopped.session():
            pytest.fail("it was opened")

    with pytest.raises(UsageError, match="prompt extract/danger"):
        asyncio.run(a_batch())
    assert backend.count() == 0
    assert [row["state"] for row in store.rows("runs")] == ["running", "stopped"]


def test_where_nothing_is_left_there_is_nothing_to_mix(store: Store, notes: Path, use: Use, edit: Edit) -> None:
    use(model())
    worked(Run.start(store, config(notes), "run", resources=use.resources)[0])
    edit("extract/danger")
    with Run.load(store, "run", use.resources).under_way():
        pass
    assert next(latest_states(store))["state"] == "completed"
    # Who asks to resume it wants something, and is told.
    with pytest.raises(UsageError, match="prompt extract/danger"):
        Run.load(store, "run", use.resources).resume()


def forget(store: Store, *names: str) -> None:
    """Make the run one that an older version started."""
    row = next(row for row in store.rows("runs") if row["sequence"] == 0)
    asked = json.loads(row["config"])
    for name in names:
        del asked["made_with"][name]
    with store.writer("run") as writer:
        writer.append_sync({"runs": [{**row, "config": json.dumps(asked)}]})


def test_what_an_older_version_did_not_write_down_is_not_compared(
    stopped: Run, store: Store, use: Use, edit: Edit
) -> None:
    forget(store, "prompts", "jail")
    edit("judge/task")
    use(model())
    old = Run.load(store, "run", use.resources)
    assert old.made.unknown == ("prompts", "jail")
    assert worked(old.resume())["accepted"] == RECORDS
    with pytest.raises(UsageError, match="sample: 0 -> 1"):
        old.resume(changed(old, sample=1))


def test_what_was_made_with_something_strange_is_refused_in_words(stopped: Run, store: Store) -> None:
    row = next(row for row in store.rows("runs") if row["sequence"] == 0)
    asked = json.loads(row["config"])
    asked["made_with"]["oven"] = "hot"
    with store.writer("run") as writer:
        writer.append_sync({"runs": [{**row, "config": json.dumps(asked)}]})
    with pytest.raises(InputError, match=r"cannot read: oven: "):
        Run.load(store, "run")


# Child runs


def test_a_child_has_a_name_a_parent_and_the_same_records(
    stopped: Run, store: Store, notes: Path, use: Use, edit: Edit
) -> None:
    notes.write_text("".join(f"{n} cold tea {n}\n" for n in range(1, 9)))
    ingest_into(store, "notes", notes)
    edit("judge/task")
    use(model())
    child, intakes = stopped.child(run_id="child")
    assert (child.run_id, child.parent_run_id, child.content, intakes) == ("child", "run", stopped.content, ())
    assert Run.load(store, "child", use.resources).parent_run_id == "run"
    assert worked(child)["accepted"] == RECORDS
    parents = {row["run_id"]: row["parent_run_id"] for row in latest_states(store) if row["kind"] == "generate"}
    assert parents == {"run": None, "child": "run"}
    # The parent is as it was, and can still be resumed once the prompt is put back.
    assert stopped.counts()["pending"] == 4


@pytest.mark.parametrize(
    ("edited", "asked"),
    [
        ("judge/task", {"extract": 0, "author": 0, "judge": 6}),
        ("author/task", {"extract": 0, "author": 6, "judge": 0}),
        ("extract/danger", {"extract": 6, "author": 0, "judge": 0}),
        ("author/feedback", {"extract": 0, "author": 0, "judge": 0}),
    ],
)
def test_a_child_pays_only_for_the_stages_that_changed(
    edited: str, asked: dict[str, int], store: Store, notes: Path, use: Use, edit: Edit
) -> None:
    use(model())
    worked(Run.start(store, config(notes), "run", resources=use.resources)[0])
    edit(edited)
    backend = use(model())
    child, _ = Run.load(store, "run", use.resources).child(run_id="child")
    assert worked(child)["accepted"] == RECORDS
    assert stages(backend) == asked
    assert len(calls(store, "child")) == sum(asked.values())
    paid = {row["paid"] for row in store.rows("dangers", {"run_id": "child"})}
    assert paid == {asked["extract"] > 0}
    paid = {row["paid"] for row in store.rows("drafts", {"run_id": "child"})}
    assert paid == {asked["author"] + asked["judge"] > 0}


def test_edited_feedback_costs_the_drafts_that_it_was_given_for(
    store: Store, notes: Path, use: Use, edit: Edit
) -> None:
    def author(request: Request) -> str:
        first_of_two = number_of(request) == 2 and request.key is not None and request.key.draft == 1
        return fenced(faulty("no_safe_plan") if first_of_two else soup(THINGS[number_of(request) - 1]))

    use(model(author=author))
    worked(Run.start(store, config(notes), "run", resources=use.resources)[0])
    edit("author/feedback")
    backend = use(model(author=author))
    child, _ = Run.load(store, "run", use.resources).child(run_id="child")
    worked(child)
    # The second draft was told otherwise. What it came to is what it came to before, and the judge has seen it.
    assert stages(backend) == {"extract": 0, "author": 1, "judge": 0}
    told = {
        (row["run_id"], row["draft"]): (row["feedback"] is None, row["feedback_version"], row["feedback_hash"])
        for row in store.rows("drafts", {"record_id": "notes:2"})
    }
    used = {run_id: Run.load(store, run_id).made.prompts["author/feedback"] for run_id in ("run", "child")}
    assert used["run"].hash != used["child"].hash
    assert told == {
        **{(run_id, 1): (False, prompt.version, prompt.hash) for run_id, prompt in used.items()},
        **{(run_id, 2): (True, None, None) for run_id in used},
    }


def test_a_child_of_another_sample_reuses_nothing_and_one_of_another_judge_all_but_the_judge(
    stopped: Run, store: Store, use: Use
) -> None:
    use(model())
    worked(stopped.resume())
    backend = use(model())
    worked(stopped.child(changed(stopped, sample=1), "other-sample")[0])
    assert stages(backend) == {"extract": 6, "author": 6, "judge": 6}
    backend = use(model(judge=REJECTED))
    judged = changed(stopped, models=Models(extract="toy", author="toy", judge="big"))
    child, _ = stopped.child(judged, "other-judge")
    assert worked(child)["quality_failed"] == 6
    assert backend.count("extract") == 0
    # First drafts are there already; what the new judge has them changed for is new.
    assert {request.key.draft for request in backend.asked if request.stage == "author"} == {2, 3, 4, 5}


def test_a_child_with_other_inputs_reads_them(stopped: Run, store: Store, notes: Path, use: Use) -> None:
    use(model())
    inputs = (RunInput(source="notes", path=notes, limit=2),)
    child, (intake,) = stopped.child(changed(stopped, inputs=inputs), "child")
    assert child.selection == ("notes:1", "notes:2") == intake.record_ids
    assert intake.new_records == 0
    backend = use(model())
    worked(child)
    assert backend.count() == 0


def test_a_killed_child_is_resumed_as_a_run_of_its_own(stopped: Run, store: Store, use: Use, edit: Edit) -> None:
    edit("judge/task")
    use(model(stops_at=2))
    with pytest.raises(RequestRefused):
        worked(stopped.child(run_id="child")[0])
    use(model())
    assert worked(Run.load(store, "child", use.resources).resume())["accepted"] == RECORDS
    assert {row["parent_run_id"] for row in store.rows("runs", {"run_id": "child"})} == {"run"}
    grandchild, _ = Run.load(store, "child", use.resources).child(changed(stopped, sample=1), "grandchild")
    assert grandchild.parent_run_id == "child"


def test_a_child_without_a_change_is_refused_and_writes_nothing(stopped: Run, store: Store) -> None:
    with pytest.raises(UsageError, match="nothing changed since run run was started") as caught:
        stopped.child(changed(stopped, concurrency=7), "child")
    assert "without --child" in caught.value.remedy
    assert store.count("runs", {"run_id": "child"}) == 0
    # Where nobody knows whether it changed, it may be started.
    forget(store, "prompts")
    assert Run.load(store, "run").child(run_id="child")[0].parent_run_id == "run"


def test_a_child_takes_no_name_that_is_taken(stopped: Run) -> None:
    with pytest.raises(UsageError, match="run run already exists"):
        stopped.child(changed(stopped, sample=1), "run")
