"""Which task of a run repeats an earlier one, and that a run goes on deciding so however it was interrupted."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from factories.scripted import ScriptedBackend
from formalism.soup import soup as document
from quality.test_structure import scrambled
from quality.test_text import edited
from store.factories import row

from hazardmill.errors import RequestRefused
from hazardmill.formalism.document.document import Document
from hazardmill.generation.models import Models
from hazardmill.llm.requests import Request
from hazardmill.quality.duplicates import DuplicatePool, structure_or_null
from hazardmill.runs import duplicates
from hazardmill.runs import session as session_module
from hazardmill.runs.config import RunConfig, RunInput
from hazardmill.runs.duplicates import DuplicateReason, KeptTasks, texts_of
from hazardmill.runs.run import Run
from hazardmill.store.store import Store
from tests.generation.support import APPROVED, DANGER, FOUND, fenced, renamed, soup
from tests.running import Use

SPILT = {"robot_task": "a b c d e f g h i j", "danger_type": "thermal"}
DRIPPED = {"robot_task": "a b c d e f g h x y"}
BURNT = {"robot_task": "k l m n o p q r s t"}
CUP = json.loads(json.dumps(document()).replace("bowl_at", "cup_at").replace("carry", "take_cup"))
BOUND = document(max_danger=1)


def add(kept: KeptTasks, task_id: str, value: dict[str, Any], texts: dict[str, Any]) -> DuplicateReason | None:
    return kept.add(task_id, Document.from_json(value).hash, structure_or_null(value), texts)


def commit(store: Store, task_id: str, value: dict[str, Any], texts: dict[str, Any], **fields: Any) -> None:
    """Write a task that was kept."""
    columns = {
        "record_id": task_id,
        "task_id": task_id,
        "document": json.dumps(value),
        "document_hash": Document.from_json(value).hash,
        "structure_id": structure_or_null(value),
        "danger": json.dumps(texts),
    }
    with store.writer("r1") as writer:
        writer.append_sync({"tasks": [row("tasks", **columns | fields)]})


# One task after another


def test_a_task_is_a_duplicate_by_its_document_or_by_structure_and_text_together(store: Store) -> None:
    kept = KeptTasks(store, "r1")
    assert add(kept, "a", document(), SPILT) is None
    assert add(kept, "same structure, other text", CUP, BURNT) is None
    assert add(kept, "near text, other structure", BOUND, SPILT) is None
    same = add(kept, "same document, other text", document(), {"robot_task": "u v w"})
    assert same is not None and (same.task_id, same.reason) == ("a", "same_document")
    near = add(kept, "both", scrambled(document(), Random(1)), DRIPPED)
    assert near is not None and (near.task_id, near.reason) == ("a", "near_duplicate")
    assert "a, which an earlier record gave" in near.message and "Rouge-L 0.80" in near.message


def test_a_duplicate_is_not_kept(store: Store) -> None:
    kept = KeptTasks(store, "r1")
    add(kept, "a", document(), SPILT)
    assert add(kept, "b", CUP, DRIPPED) is not None
    # It is near to b, and even its document, but b is not there.
    assert add(kept, "c", CUP, {"robot_task": "a b c d e f u v x y"}) is None
    found = add(kept, "d", CUP, SPILT)
    assert found is not None and (found.task_id, found.reason) == ("c", "same_document")


def test_labels_that_contradict_those_of_the_twin_are_told_before_and_after_a_resumption(store: Store) -> None:
    told = SPILT | {"entity_in_danger": "human"}
    commit(store, "a", document(), told)
    fresh = KeptTasks(store, "r2")
    assert add(fresh, "a", document(), told) is None
    for kept in (KeptTasks(store, "r1"), fresh):
        # What one of them does not say contradicts nothing.
        near = add(kept, "b", CUP, DRIPPED | {"danger_type": "chemical", "danger_group": "physical"})
        assert near is not None and near.reason == "near_duplicate"
        assert near.message.endswith("(Rouge-L 0.80); contradictory labels: danger_type chemical against thermal")
        same = add(kept, "c", document(), BURNT | {"entity_in_danger": "robot"})
        assert same is not None and same.reason == "same_document"
        assert same.message.endswith("gave; contradictory labels: entity_in_danger robot against human")
        agreed = add(kept, "d", document(), told)
        assert agreed is not None and "contradictory" not in agreed.message


def test_of_several_twins_the_first_is_named(store: Store) -> None:
    middle = {"robot_task": "a b c d e f g k l m"}
    for texts, number in ((SPILT, "a"), ({"robot_task": "a b c d e k l m n o"}, "b")):
        commit(store, number, scrambled(document(), Random(ord(number))), texts)
    for kept in (KeptTasks(store, "r1"), KeptTasks(Store.open(store.path), "r1")):
        # Nearer to b.
        found = add(kept, "c", CUP, middle)
        assert found is not None and found.task_id == "a"


def test_without_a_structure_or_words_only_the_document_counts(store: Store) -> None:
    kept = KeptTasks(store, "r1")
    for task_id, document_hash in (("a", "1"), ("b", "2")):
        assert kept.add(task_id, document_hash, None, SPILT) is None
    found = kept.add("c", "2", None, BURNT)
    assert found is not None and found.task_id == "b"
    assert add(kept, "d", document(), {}) is None
    assert add(kept, "e", CUP, {}) is None


def test_the_tasks_of_other_runs_do_not_count(store: Store) -> None:
    commit(store, "a", document(), SPILT, run_id="r1")
    assert add(KeptTasks(store, "r2"), "b", CUP, SPILT) is None
    assert add(KeptTasks(store, "r1"), "b", CUP, SPILT) is not None


def test_a_row_from_before_there_were_structures_is_nobodys_twin(store: Store) -> None:
    commit(store, "old", document(), SPILT, structure_id=None)
    kept = KeptTasks(store, "r1")
    assert add(kept, "new", CUP, SPILT) is None
    same = add(kept, "again", document(), BURNT)
    assert same is not None and (same.task_id, same.reason) == ("old", "same_document")
    near = add(kept, "third", scrambled(document(), Random(2)), SPILT)
    assert near is not None and near.task_id == "new"


@pytest.mark.full
def test_it_decides_as_a_pool_does_and_goes_on_so_from_the_store_at_any_point(store: Store) -> None:
    """The definition of ``hazardmill dedupe``: what a run kept has no duplicates by it."""
    random = Random(11)
    values = [document(), BOUND, document(initial_danger=1, max_danger=2)]
    texts = [" ".join(random.choices("abcdefghijklmn", k=12)) for _ in range(4)]
    pool, found = DuplicatePool(), []
    kept = KeptTasks(store, "r1")
    for number in range(120):
        value = scrambled(random.choice(values), random)
        told = {"robot_task": edited(random.choice(texts), random.randint(0, 6), random)}
        task_id = f"t{number}"
        if random.random() < 0.2:
            kept = KeptTasks(Store.open(store.path), "r1")
        repeated = add(kept, task_id, value, told)
        if repeated is None:
            commit(store, task_id, value, told)
        if repeated is None or repeated.reason == "near_duplicate":
            twin = pool.add(task_id, value, told)
            assert (twin and twin.task_id) == (repeated and repeated.task_id)
            found.append(twin)
    assert 20 < sum(twin is not None for twin in found) < 110


@pytest.mark.parametrize(("one_by_one", "readings"), [(2, 2), (0, 1)])
def test_texts_are_read_once_and_only_where_another_of_a_known_structure_comes(
    one_by_one: int, readings: int, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(duplicates, "_ONE_BY_ONE", one_by_one)
    monkeypatch.setattr(duplicates, "_AT_A_TIME", 1)
    commit(store, "a", document(), SPILT)
    commit(store, "b", BOUND, BURNT)
    commit(store, "c", document(max_danger=2), BURNT, run_id="another")
    asked: list[object] = []
    rows, query = store.rows, store.query
    monkeypatch.setattr(store, "rows", lambda *given: asked.append(given[2]) or rows(*given))
    monkeypatch.setattr(store, "query", lambda *given: asked.append("texts") or query(*given))
    kept = KeptTasks(store, "r1")
    add(kept, "d", document(max_danger=2), SPILT)
    assert asked == [["document_hash", "task_id", "structure_id"]]
    for number in range(3):
        assert add(kept, f"e{number}", scrambled(document(), Random(number)), {"robot_task": f"{number} only"}) is None
    assert asked[1:] == ["texts"]
    for number in range(2):
        found = add(kept, f"f{number}", json.loads(json.dumps(BOUND).replace("bowl_at", "cup_at")), BURNT)
        assert found is not None and found.task_id == "b"
    assert asked[1:] == ["texts"] * readings


def test_at_first_the_documents_of_one_structure_alone_are_read(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    commit(store, "a", document(), SPILT)
    commit(store, "b", BOUND, BURNT)
    read: list[str] = []
    texts_in = KeptTasks._texts_in

    def looked(self: KeptTasks, *given: Any) -> Any:
        found = texts_in(self, *given)
        read.extend(task_id for task_id, *_ in found)
        return found

    monkeypatch.setattr(KeptTasks, "_texts_in", looked)
    assert add(KeptTasks(store, "r1"), "c", CUP, DRIPPED) is not None
    assert read == ["a"]


def test_texts_are_read_though_a_compaction_takes_their_parts_away(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(store, "a", document(), SPILT)
    commit(store, "b", BOUND, BURNT)
    kept = KeptTasks(store, "r1")
    texts_in = KeptTasks._texts_in

    def looked(self: KeptTasks, *given: Any) -> Any:
        monkeypatch.setattr(KeptTasks, "_texts_in", texts_in)
        Store.open(store.path).compact()
        return texts_in(self, *given)

    monkeypatch.setattr(KeptTasks, "_texts_in", looked)
    found = add(kept, "c", CUP, DRIPPED)
    assert found is not None and found.task_id == "a"


def test_the_texts_compared_are_those_of_the_document_and_of_its_danger() -> None:
    assert texts_of({"texts": {"title": "Serve."}}, {"setting": "kitchen"}) == {"title": "Serve.", "setting": "kitchen"}
    assert texts_of({}, {"setting": "kitchen"}) == {"setting": "kitchen"}


# In a run

TOLD_OTHERWISE = json.dumps(
    {
        "danger": DANGER
        | {
            "setting": "a hospital ward at night",
            "robot_task": "Serve lunch in room seven, please.",
            "changing_cause": ["What comes, comes too quickly."],
            "fixed_circumstances": ["A patient who has just woken reaches for it."],
            "danger_action": "Rushing past beds.",
            "result_of_danger": "Burnt hands, perhaps for life.",
            "instantaneous_solution": "Go gently among sleepers.",
        }
    }
)
CODE = {1: soup("bowl"), 2: renamed("cup"), 3: renamed("mug"), 4: soup("pot"), 5: renamed("pan"), 6: soup("bowl")}
OTHERWISE = (3, 5, 6)
ENDS = {
    "notes:1": ("accepted", None, "notes:1"),
    "notes:2": ("duplicate", "near_duplicate", "notes:1"),
    "notes:3": ("accepted", None, "notes:3"),  # the structure of the first, told otherwise
    "notes:4": ("accepted", None, "notes:4"),  # told as the first, but of another structure
    "notes:5": ("duplicate", "near_duplicate", "notes:3"),
    "notes:6": ("duplicate", "same_document", "notes:1"),
}
"""Record to outcome, reason, and the record whose task its row points to."""

UseModel = Callable[..., None]


def number_of(request: Request) -> int:
    return int(str(request.record_id).partition(":")[2])


@pytest.fixture
def use_model(use: Use) -> UseModel:
    """Put six records' answers in the place of a model; of one record, the judge is refused."""

    def place(stops_at: int | None = None) -> None:
        def author(request: Request) -> str:
            return fenced(CODE[number_of(request)])

        def judge(request: Request) -> str | Exception:
            return RequestRefused("no credit") if number_of(request) == stops_at else APPROVED

        def extract(request: Request) -> str:
            return TOLD_OTHERWISE if request.record_id in {f"notes:{n}" for n in OTHERWISE} else FOUND

        use(ScriptedBackend(extract=extract, author=author, judge=judge))

    return place


def started(store: Store, notes: Path, use: Use) -> Run:
    models = Models(extract="toy", author="toy", judge="toy")
    asked = RunConfig(inputs=(RunInput(source="notes", path=notes),), models=models, wave_size=2, concurrency=2)
    return Run.start(store, asked, "run", resources=use.resources)[0]


def worked(run: Run) -> None:
    async def work() -> None:
        for batch in run.waves():
            async with run.session() as session:
                await session.work_through([batch])

    with run.under_way():
        asyncio.run(work())


def ends(store: Store) -> dict[str, tuple[str, str | None, str]]:
    gave = {each["task_id"]: each["record_id"] for each in store.rows("tasks")}
    return {
        each["record_id"]: (each["outcome"], each["reason"], gave[each["task_id"]]) for each in store.rows("outcomes")
    }


_WHOLE: list[Store] = []


@pytest.fixture
def whole(tmp_path_factory: pytest.TempPathFactory, notes: Path, use: Use, use_model: UseModel) -> Store:
    """Of a run that nobody disturbed: worked through for the first test, and only read afterwards."""
    if not _WHOLE:
        use_model()
        store = Store.open(tmp_path_factory.mktemp("whole") / "store", create=True)
        worked(started(store, notes, use))
        _WHOLE.append(store)
    return _WHOLE[0]


def test_a_run_keeps_no_task_of_a_known_structure_in_nearly_the_same_words(whole: Store) -> None:
    assert ends(whole) == ENDS
    rows = {each["record_id"]: each for each in whole.rows("outcomes")}
    assert f"its task is {rows['notes:1']['task_id']}, which" in rows["notes:2"]["message"]
    assert "Rouge-L 0.9" in rows["notes:2"]["message"]
    # What they were made with and checked by is there all the same.
    assert whole.count("drafts") == whole.count("dangers") == 6


def test_the_row_of_a_task_has_its_structure(whole: Store) -> None:
    tasks = {each["record_id"]: each for each in whole.rows("tasks")}
    assert {name: each["structure_id"] for name, each in tasks.items()} == {
        name: structure_or_null(json.loads(each["document"])) for name, each in tasks.items()
    }
    assert tasks["notes:1"]["structure_id"] == tasks["notes:3"]["structure_id"] != tasks["notes:4"]["structure_id"]


def test_nothing_that_a_run_kept_is_a_duplicate_by_dedupe(whole: Store) -> None:
    pool = DuplicatePool()
    for each in whole.rows("tasks"):
        value, danger = json.loads(each["document"]), json.loads(each["danger"])
        assert pool.add(each["task_id"], value, texts_of(value, danger)) is None
    assert len(pool) == 3


def test_a_document_too_regular_for_a_structure_is_nobodys_twin(
    store: Store, notes: Path, use: Use, use_model: UseModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_module, "structure_or_null", lambda value: None)
    use_model()
    worked(started(store, notes, use))
    assert {each["structure_id"] for each in store.rows("tasks")} == {None}
    assert [name for name, (outcome, _, _) in ends(store).items() if outcome == "duplicate"] == ["notes:6"]


def stopped(store: Store, notes: Path, use: Use, use_model: UseModel, number: int) -> None:
    use_model(stops_at=number)
    with pytest.raises(RequestRefused):
        worked(started(store, notes, use))
    assert store.count("outcomes") == number - 1
    use_model()


@pytest.mark.parametrize(
    ("number", "compacted"),
    [(2, False), (4, True), (5, False), (6, True)]
    + [pytest.param(*each, marks=pytest.mark.full) for each in ((2, True), (4, False), (5, True), (6, False))],
)
def test_a_resumed_run_decides_as_one_that_nobody_disturbed(
    number: int, compacted: bool, store: Store, notes: Path, use: Use, use_model: UseModel, whole: Store
) -> None:
    stopped(store, notes, use, use_model, number)
    if compacted:
        store.compact()
    worked(Run.load(Store.open(store.path), "run", use.resources))
    assert ends(store) == ENDS
    assert store.digest() == whole.digest()
    store.compact()
    assert store.digest() == whole.digest()
