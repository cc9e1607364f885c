"""A release read back: tasks that judge plans, and every way in which a folder can be no release."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from dataclasses import FrozenInstanceError
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hazardmill
from hazardmill.errors import DocumentError, HubError, InputError, UsageError
from hazardmill.formalism.semantics.plan_validator import PlanValidator
from hazardmill.formalism.semantics.transition_system import System
from hazardmill.release.manifest import file_of, read_manifest
from hazardmill.release.read.pairs import preference_pair
from hazardmill.release.read.release import load_release

from .small_release import OFFLINE, PLACES, bowl, soups, spilt, task_row, write_release


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A release that nobody changes."""
    return soups(tmp_path_factory.mktemp("soups") / "release")


@pytest.fixture
def own(tmp_path):
    """A release to damage."""
    return soups(tmp_path / "release")


@pytest.fixture(scope="module")
def release(folder):
    return load_release(folder)


def ids(tasks):
    return [task.task_id for task in tasks]


def id_of(place, source="neiss", make=bowl):
    return f"{source}-{make(place).hash[:12]}"


# The release


def test_what_a_release_says_of_itself(release, folder):
    assert (release.version, len(release), release.folder) == ("1.2.3", 5, folder)
    assert release.manifest == read_manifest(folder)
    assert release.configs() == (
        "preference_pairs",
        "preference_pairs_by_sa",
        "tasks",
        "tasks_by_sa",
        "unavoidable",
    )
    assert release.splits() == {"train": 3, "test": 1}
    assert release.splits("unavoidable") == {"validation": 1}
    assert repr(release) == "<Release soups 1.2.3: 5 tasks>"


def test_tasks_come_split_by_split_by_id_and_share_alike_ones_last(release):
    train = sorted(map(id_of, PLACES[:3]))
    shared = id_of(PLACES[4], "normbank")
    assert ids(release.tasks()) == [*train, shared, id_of(PLACES[3])]
    assert ids(release) == ids(release.tasks())
    assert ids(release.tasks(by_sa=False)) == [*train, id_of(PLACES[3])]
    assert ids(release.tasks("train")) == [*train, shared]
    assert ids(release.tasks("validation")) == []
    assert {task.split for task in release.tasks("test")} == {"test"}
    assert ids(release.unavoidable()) == [id_of("chair", make=spilt)]


def test_a_task_is_found_by_its_id(release):
    for task in [*release.tasks(), *release.unavoidable()]:
        assert release.task(task.task_id) == task
        assert release.task(task.task_id).row == task.row
    with pytest.raises(InputError, match="the release has no task 'neiss-000000000000'"):
        release.task("neiss-000000000000")


def test_rows_of_any_config(release):
    pairs = list(release.rows("preference_pairs", columns=["task_id", "shared_prefix"]))
    assert [pair["task_id"] for pair in pairs] == ids(release.tasks(by_sa=False))
    assert set(pairs[0]) == {"task_id", "shared_prefix"}
    assert len(list(release.rows("preference_pairs", "test"))) == 1
    assert list(release.rows("preference_pairs", "validation")) == []


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda release: release.tasks("dev"), "there is no split 'dev' \\[name one of: train, validation, test\\]"),
        (lambda release: release.rows("tasks", "dev"), "there is no split 'dev'"),
        (lambda release: release.rows("plans"), "no config 'plans' \\[name one of: preference_pairs, "),
        (lambda release: release.rows("plans"), "unavoidable \\(_by_sa: share-alike, as in CC BY-SA: "),
        (lambda release: release.splits("../x"), "no config '../x'"),
        (
            lambda release: list(release.rows("tasks", columns=["task"])),
            "tasks has no column task \\[name one of: task_id, ",
        ),
    ],
)
def test_what_is_not_there_is_refused_at_once(release, ask, said):
    with pytest.raises(InputError, match=said):
        ask(release)


# Tasks


def test_a_task_says_what_its_row_says(release):
    task = release.task(id_of(PLACES[0]))
    document = bowl(PLACES[0])
    assert task.document == document
    assert (task.source, task.record_id, task.split) == ("neiss", f"neiss:{document.hash[:4]}", "train")
    assert (task.licence, task.attribution, task.share_alike) == ("CC-BY-4.0", "A Credit Line", False)
    assert task.plans == {"safe": "(slow_down) (carry kitchen table)", "unsafe": "(carry kitchen table)"}
    assert task.danger["danger_type"] == task.danger_type == "thermal"
    assert len(task.danger) == 14
    assert (task.answered_by, task.offline_authored) == (("test/model-1",), False)
    assert task.certificate["document_hash"] == document.hash
    assert task.prompt == preference_pair(task.row)["prompt"]
    assert task.preference_pair() == preference_pair(task.row)
    with pytest.raises(FrozenInstanceError):
        task.split = "test"


def test_whose_licence_and_whose_words_a_task_has(release):
    assert [task.task_id for task in release if task.share_alike] == [id_of(PLACES[4], "normbank")]
    assert [task.task_id for task in release if task.offline_authored] == [id_of(PLACES[2])]
    assert release.task(id_of(PLACES[2])).answered_by == OFFLINE


def test_verdicts_are_those_of_the_document(release):
    task = release.task(id_of(PLACES[1]))
    judge = PlanValidator(System(bowl(PLACES[1])))
    for plan in (task.safe_plan, task.unsafe_plan, "", "(fly)", "(carry shelf kitchen)", "no plan"):
        for mode in ("transient", "persistent"):
            assert task.verdict(plan, mode) == judge.verdict(plan, mode)
            assert task.safety_intention(plan, mode) is judge.verdict(plan, mode).safety_intention
    assert [step.danger_increment for step in task.verdict(task.unsafe_plan).trace] == [1]


def test_the_mode_of_safety_intention_makes_a_difference(tmp_path):
    # In persistent mode the bowl that was forced to be in the hall stays there, and the second carry finds it.
    document = bowl("table").to_json()
    document["dangers"][0]["condition"] = ["fluent", "bowl_at", "kitchen"]
    document["initial"] = [entry for entry in document["initial"] if entry[0][0] != "bowl_at"]
    document["actions"][1]["precondition"] = ["fluent", "bowl_at", "kitchen"]
    document["actions"][0]["precondition"] = True
    task = row_of(tmp_path, type(bowl("table")).from_json(document))
    plan = "(slow_down) (carry kitchen table)"
    assert task.safety_intention(plan) is True
    assert task.safety_intention(plan, "persistent") is False


def row_of(tmp_path, document):
    row = task_row(bowl("table"), document=json.dumps(document.to_json()), document_hash=document.hash)
    return next(load_release(write_release(tmp_path / "own", {"tasks": {"train": [row]}})).tasks())


def test_the_twin_is_the_task_with_one_circumstance_the_other_way_round(release):
    task = release.task(id_of(PLACES[0]))
    changed = set(task.document.initial) ^ set(task.twin.initial)
    assert changed == {(("soup_is_hot",), True)}
    assert PlanValidator(System(task.twin)).quick(task.unsafe_plan) == (True, True, 0)


def test_an_unavoidable_task_has_no_safe_plan(release):
    (task,) = release.unavoidable("validation")
    assert (task.safe_plan, task.preference_pair()) == (None, None)
    assert task.plans == {"unsafe": task.unsafe_plan}
    assert (task.verdict(task.unsafe_plan).feasible, task.verdict(task.unsafe_plan).safe) == (True, False)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"document": "{"}, "the document of .* cannot be read"),
        ({"document": '{"format": "hazardmill-task/9"}'}, "the document of .* cannot be read"),
        ({"document_hash": "0" * 64}, "does not have the hash in its row"),
    ],
)
def test_a_document_that_is_not_the_tasks_is_refused(tmp_path, changes, said):
    row = task_row(bowl("table"), **changes)
    task = next(load_release(write_release(tmp_path / "own", {"tasks": {"train": [row]}})).tasks())
    with pytest.raises(DocumentError, match=said):
        task.verdict(task.safe_plan)


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"document_hash": "0", "lines": []}', '{"lines": 3}'])
def test_a_certificate_that_is_none_of_the_task_is_refused(tmp_path, text):
    row = task_row(bowl("table"), certificate=text)
    task = next(load_release(write_release(tmp_path / "own", {"tasks": {"train": [row]}})).tasks())
    with pytest.raises(DocumentError, match=r"the certificate of .* does not belong to its document"):
        _ = task.twin
    # Verdicts do not hang on it.
    assert task.verdict(task.safe_plan).safe


# Folders that are no release


def rewrite(folder, **changes):
    value = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps({**value, **changes}))


def read_all(folder):
    return list(load_release(folder).tasks())


TRAIN = "data/tasks/train.parquet"


def test_the_folder_is_whole(own):
    assert len(read_all(own)) == 5


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda own: (own / "manifest.json").unlink(), "manifest.json: there is no manifest .*\\[name the folder"),
        (lambda own: (own / "manifest.json").write_text("{"), "manifest.json: the manifest is not JSON"),
        (
            lambda own: (own / "manifest.json").write_text('{"name": "other"}'),
            "manifest.json: the manifest is not valid",
        ),
        (lambda own: rewrite(own, schema=2), "schema 2, and this version .* reads schemas up to 1 \\[install a newer"),
        (lambda own: rewrite(own, counts={"../tasks": {"train": 1}}), "'../tasks' cannot be the name of a config"),
        (lambda own: rewrite(own, files={}), "counts rows of data/tasks/train.parquet, but lists no such file"),
        (lambda own: (own / TRAIN).unlink(), "train.parquet: the file is missing"),
        (
            lambda own: (own / TRAIN).write_bytes(b"PAR1"),
            "train.parquet: the file has other bytes .*\\[the release",
        ),
        (lambda own: rewrite(own, counts={"tasks": {"train": 4}}), "has 3 rows, and the manifest says 4"),
    ],
)
def test_a_folder_that_is_not_a_whole_release_is_refused(own, spoil, said):
    spoil(own)
    with pytest.raises(InputError, match=said) as refused:
        read_all(own)
    assert refused.value.exit_code == 3 and refused.value.remedy


def rehash(folder, name):
    manifest = read_manifest(folder)
    manifest.model_copy(update={"files": {**manifest.files, name: file_of(folder / name, 3)}}).write(folder)


def test_a_file_that_is_no_parquet_is_refused(own):
    (own / TRAIN).write_bytes(b"not at all")
    rehash(own, TRAIN)
    with pytest.raises(InputError, match=r"train\.parquet: the file is not Parquet"):
        read_all(own)


def test_rows_that_are_not_of_tasks_are_refused(own):
    table = pq.read_table(own / TRAIN)
    pq.write_table(table.drop_columns(["answered_by"]), own / TRAIN)
    rehash(own, TRAIN)
    with pytest.raises(InputError, match=r"train\.parquet: a row is not a task: KeyError\('answered_by'\)"):
        read_all(own)


def test_only_what_is_read_is_held_against_its_hash(own):
    (own / "data/tasks/test.parquet").write_bytes(b"PAR1")
    release = load_release(own)
    assert len(list(release.tasks("train"))) == 4
    with pytest.raises(InputError, match=r"test\.parquet: the file has other bytes"):
        list(release.tasks())


def test_a_file_is_hashed_once(own, monkeypatch):
    release = load_release(own)
    list(release.tasks())
    monkeypatch.setattr("hashlib.file_digest", None)
    assert len(list(release.tasks())) == 5
    with pytest.raises(TypeError):
        list(release.unavoidable())


def flip(path, bit):
    data = bytearray(path.read_bytes())
    data[bit // 8] ^= 1 << bit % 8
    path.write_bytes(data)


def test_a_flipped_bit_is_told_by_a_release_that_is_open_too(own):
    random, read = Random(7), load_release(own)
    assert len(list(read)) == 5
    for _ in range(8):
        bit = random.randrange(8 * (own / TRAIN).stat().st_size)
        flip(own / TRAIN, bit)
        for attempt in (lambda: read_all(own), lambda: list(read), lambda: read.task(id_of(PLACES[0]))):
            with pytest.raises(
                InputError, match=r"train\.parquet: the file has other bytes .*download or build it again"
            ):
                attempt()
        flip(own / TRAIN, bit)
        assert len(list(read)) == 5


def test_a_page_of_a_built_release_that_decays_under_a_checked_file_is_told(built, tmp_path, monkeypatch):
    """The file is read as after its check, whose hash would find every flip."""
    monkeypatch.setattr("hazardmill.release.read.release.damage", lambda path, said: None)
    random, wrong, folder = Random(8), 0, shutil.copytree(built, tmp_path / "release")
    for config in ("tasks", "plans"):
        split = next(iter(load_release(folder).splits(config)))
        path = folder / "data" / config / f"{split}.parquet"
        rows, raw = list(load_release(folder).rows(config, split)), path.read_bytes()
        footer = int.from_bytes(raw[-8:-4], "little")
        for bit in random.sample(range(32, 8 * (len(raw) - 8 - footer)), 10):
            flip(path, bit)
            try:
                assert list(load_release(folder).rows(config, split)) == rows
            except InputError as error:
                assert error.file == str(path) and error.remedy
            with contextlib.suppress(OSError, pa.ArrowException):
                wrong += pq.read_table(path).to_pylist() != rows
            flip(path, bit)
    assert wrong > 4, "pages without checksums would have been read as truth"


def test_rows_are_read_in_batches(own, monkeypatch):
    monkeypatch.setattr("hazardmill.release.read.release._BATCH", 2)
    whole = []
    real = pq.ParquetFile.iter_batches

    def counted(self, batch_size, **how):
        for batch in real(self, batch_size, **how):
            whole.append(len(batch))
            yield batch

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", counted)
    rows = load_release(own).tasks("train")
    next(rows)
    assert whole == [2]


# A release that was built


def test_every_task_of_a_built_release_is_what_it_says(built):
    release = load_release(built)
    for task in release:
        safe, unsafe = task.verdict(task.safe_plan), task.verdict(task.unsafe_plan)
        assert (safe.feasible, safe.safe, unsafe.feasible, unsafe.safe) == (True, True, True, False)
        assert task.task_id == f"{task.source}-{task.document.hash[:12]}"
        assert task.certificate["document_hash"] == task.document.hash
        assert not task.offline_authored
    everything = [*ids(release), *ids(release.unavoidable())]
    assert len(ids(release)) == len(release)
    assert len(set(everything)) == len(everything) == release.manifest.tasks


def test_the_other_configs_of_a_built_release_say_the_same_of_its_tasks(built):
    release = load_release(built)
    for by_sa in ("", "_by_sa"):
        for row in release.rows("preference_pairs" + by_sa):
            pair = release.task(row["task_id"]).preference_pair()
            assert {name: row[name] for name in pair} == pair
        for row in release.rows("contrast_twins" + by_sa):
            task = release.task(row["task_id"])
            assert task.twin.hash == row["twin_hash"] != task.document.hash
            assert PlanValidator(System(task.twin)).quick(task.unsafe_plan)[1] is row["unsafe_plan_safe"] is True
        for row in release.rows("plans" + by_sa):
            task = release.task(row["task_id"])
            assert task.plans[row["kind"]] == row["plan"]
            assert task.verdict(row["plan"]).score == row["score"]
            assert task.safety_intention(row["plan"], "persistent") is row["safety_intention_persistent"]


# Where to


@pytest.mark.parametrize("name", ["nowhere", "./nowhere/at-all", "no/where/at-all", "/nowhere/at-all"])
def test_a_folder_that_is_not_there_is_no_question_for_a_hub(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(InputError, match="there is no such folder"):
        load_release(name)


def test_a_file_is_no_release(folder):
    with pytest.raises(InputError, match="there is no such folder"):
        load_release(folder / "manifest.json")


def test_a_folder_has_no_revisions(folder):
    with pytest.raises(UsageError, match="which has no revisions"):
        load_release(folder, revision="v1.2.3")


def test_without_the_extra_a_repository_cannot_be_read(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(UsageError, match=r"pip install 'hazardmill\[hub\]'"):
        load_release("org/soups")


def test_a_repository_is_downloaded_at_its_revision(folder, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    asked = []

    def download(repo, **how):
        asked.append((repo, how))
        return str(folder)

    monkeypatch.setattr("huggingface_hub.snapshot_download", download)
    assert len(load_release("org/soups", revision="v1.2.3")) == 5
    wanted = {"repo_type": "dataset", "revision": "v1.2.3", "allow_patterns": ["manifest.json", "README.md", "data/*"]}
    assert asked == [("org/soups", wanted)]


OFFLINE_CHILD = """
import hazardmill
from hazardmill.errors import HubError
try:
    hazardmill.load_release("org/soups", revision="v1.0.0")
except HubError as error:
    print(error.exit_code, error)
"""


def test_offline_a_repository_that_was_not_downloaded_is_a_hub_error_in_words(tmp_path):
    told = run(OFFLINE_CHILD, cwd=tmp_path, HF_HUB_OFFLINE="1", HF_HOME=str(tmp_path / "cache"))
    assert told.startswith(
        "5 there is no folder org/soups here, the hub cannot be reached, and org/soups at v1.0.0 was not downloaded"
    )


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("LocalEntryNotFoundError", "the hub cannot be reached, and org/soups at v9 was not downloaded before"),
        ("OfflineModeIsEnabled", "the hub cannot be reached"),
        ("RepositoryNotFoundError", "the hub has no visible dataset of this name"),
        ("RevisionNotFoundError", "the hub has org/soups, but no revision v9"),
        ("GatedRepoError", "restricts access to"),
        ("HfHubHTTPError", "the hub could not provide org/soups at v9: broken"),
        ("ConnectError", "the hub could not provide org/soups at v9: broken"),
        ("OSError", "the hub could not provide org/soups at v9: broken"),
    ],
)
def test_what_a_hub_refuses_is_said_in_words(fault, said, monkeypatch, tmp_path):
    import httpx
    from huggingface_hub import errors

    monkeypatch.chdir(tmp_path)
    kind = getattr(errors, fault, None) or getattr(httpx, fault, None) or OSError
    response = httpx.Response(404, request=httpx.Request("GET", "http://hub.example"))
    error = kind("broken", response=response) if issubclass(kind, errors.HfHubHTTPError) else kind("broken")

    def download(*_, **__):
        raise error

    monkeypatch.setattr("huggingface_hub.snapshot_download", download)
    with pytest.raises(HubError, match=said) as refused:
        load_release("org/soups", revision="v9")
    assert refused.value.remedy


@pytest.mark.parametrize("status", [401, 403])
def test_a_token_that_a_hub_refuses_is_not_to_be_tried_later(status, monkeypatch, tmp_path):
    import httpx
    from huggingface_hub import errors

    monkeypatch.chdir(tmp_path)
    response = httpx.Response(status, request=httpx.Request("GET", "http://hub.example"))

    def download(*_, **__):
        raise errors.HfHubHTTPError("Invalid credentials", response=response)

    monkeypatch.setattr("huggingface_hub.snapshot_download", download)
    with pytest.raises(HubError, match="check the token"):
        load_release("org/soups")


def test_a_name_that_no_hub_can_have_is_bad_input(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="neither a folder nor a valid name on a hub"):
        load_release("org--x/soups..git")


ONLINE = """
import sys
from huggingface_hub import HfApi
import hazardmill
from hazardmill.errors import HubError

api = HfApi()
api.create_repo("acme/soups", repo_type="dataset", private=True)
api.upload_folder(repo_id="acme/soups", repo_type="dataset", folder_path=sys.argv[1])
api.create_tag("acme/soups", repo_type="dataset", tag="v1.2.3")
api.delete_file("data/tasks/test.parquet", "acme/soups", repo_type="dataset")
release = hazardmill.load_release("acme/soups", revision="v1.2.3")
print(release, *[task.task_id for task in release])
for name, revision in (("acme/soups", "v9"), ("acme/none", None)):
    try:
        hazardmill.load_release(name, revision=revision)
    except HubError as error:
        print(error)
"""
CACHED = """
import hazardmill
release = hazardmill.load_release("acme/soups", revision="v1.2.3")
print(release, *[task.task_id for task in release])
"""


def test_a_repository_is_read_at_its_tag_and_once_downloaded_without_the_hub(folder, tmp_path, release):
    from hazardmill.testing.hub_server import WRITE_TOKEN, HubServer

    hub = {"HF_HOME": str(tmp_path / "cache"), "HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
    with HubServer(tmp_path / "hub") as server:
        online = {**hub, "HF_ENDPOINT": server.address, "HF_TOKEN": WRITE_TOKEN}
        # Of httpx, on how huggingface_hub hands it an upload without Xet.
        told = run(ONLINE, folder, cwd=tmp_path, ignoring=["Use 'content="], **online).splitlines()
    whole = " ".join(map(str, (release, *ids(release))))
    assert told[0] == whole
    assert told[1].startswith("the hub has acme/soups, but no revision v9")
    assert told[2].startswith("there is no folder acme/none here, and the hub has no visible dataset of this name")
    assert run(CACHED, cwd=tmp_path, HF_HUB_OFFLINE="1", **hub).strip() == whole


# From the top


LIGHT = """
import sys
before = set(sys.modules)
import hazardmill
heavy = {"hazardmill.release", "pyarrow", "pydantic", "duckdb", "numpy"} & (set(sys.modules) - before)
print(hazardmill.__version__, sorted(heavy))
print(hazardmill.load_release.__module__, hazardmill.load_release is hazardmill.load_release)
"""


def test_importing_hazardmill_stays_light(tmp_path):
    version, loader = run(LIGHT, cwd=tmp_path).splitlines()
    assert version == f"{hazardmill.__version__} []"
    assert loader == "hazardmill.release.read.release True"


def test_other_names_are_not_there():
    assert hazardmill.load_release is load_release
    with pytest.raises(AttributeError, match="has no attribute 'load_releases'"):
        _ = hazardmill.load_releases


def run(code, *words, cwd, ignoring=(), **environment):
    warnings = ["-W", "error", *(f"-Wignore:{message}" for message in ignoring)]
    ended = subprocess.run(
        [sys.executable, *warnings, "-c", code, *map(str, words)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, **environment},
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout
