from __future__ import annotations

import json
from pathlib import Path

import pytest
from factories.release_store import by_model, rewritten

from hazardmill.release.manifest import read_manifest
from hazardmill.store.store import Store
from tests.once import offline_run

from .conftest import Hazardmill

NOBODY = ("--policy", "none", "--waive", "corpus=a few samples", "--threshold", "enough=1", "--jobs", 1)


@pytest.fixture(scope="module")
def offline(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return offline_run(tmp_path_factory, 2)


@pytest.fixture(scope="module")
def model(offline: Store, tmp_path_factory: pytest.TempPathFactory) -> Store:
    return rewritten(offline, tmp_path_factory.mktemp("model") / "store", by_model)


def test_a_release_is_built_and_told_of(hazardmill: Hazardmill, model: Store) -> None:
    ended = hazardmill("release", "build", "--version", "1.2.3", *NOBODY, "--store", model.path)
    assert ended.code == 0, ended.err
    manifest = read_manifest(Path("releases/hazardmill-1.2.3"))
    tasks = model.count("tasks")
    assert manifest.version == "1.2.3" and manifest.tasks == tasks
    assert "gate corpus waived: a few samples" in ended.out
    assert f"hazardmill 1.2.3, {tasks} tasks, manifest {manifest.sha256()}" in ended.out
    assert "plans_by_sa: " in ended.out and " train" in ended.out
    told = ended.out.index("configs with _by_sa are share-alike, as in CC BY-SA")
    assert told == ended.out.index("_by_sa") - len("configs with ") and ended.out.count("CC BY-SA") == 1


def test_json_has_counts_and_every_gate(hazardmill: Hazardmill, model: Store) -> None:
    words = ("--name", "soups", "--out", "r", "--store", model.path, "--json")
    made = hazardmill("release", "build", "--version", "0.1.0", *NOBODY, *words).json
    manifest = read_manifest(Path("r"))
    assert (made["manifest"], made["counts"]) == (manifest.sha256(), manifest.counts)
    assert manifest.name == "soups"
    gates = {gate["name"]: gate for gate in made["gates"]}
    assert [name for name, gate in gates.items() if not gate["passed"]] == ["corpus"]
    assert gates["corpus"]["waived"] == "a few samples" and gates["corpus"]["findings"]
    assert gates["revalidation"]["looked"] == manifest.tasks


def test_what_a_gate_leaves_out_is_told_with_ids(hazardmill: Hazardmill, model: Store, tmp_path: Path) -> None:
    first = min(row["task_id"] for row in model.rows("tasks"))
    store = rewritten(
        model,
        tmp_path / "store",
        lambda table, row: {**row, "licence": ""} if table == "tasks" and row["task_id"] == first else row,
    )
    words = ("--version", "1.0.0", *NOBODY, "--leave-out", "licence", "--store", store.path)
    ended = hazardmill("release", "build", *words)
    assert ended.code == 0, ended.err
    assert f"left out by the gate licence: 1\n  {first}: it has no licence [" in ended.out
    made = hazardmill("release", "build", *words, "--out", "r", "--json").json
    assert made["left_out_by_gates"] == {"licence": 1} and made["tasks"] == store.count("tasks") - 1
    (gate,) = [gate for gate in made["gates"] if gate["left_out"]]
    assert gate["name"] == "licence" and gate["passed"] and gate["left_out"][0].startswith(f"{first}: ")


def test_authors_of_the_settings_and_a_doi_are_in_every_text(hazardmill: Hazardmill, model: Store) -> None:
    person = "{name: 'Doe, Jane', orcid: 0000-0002-1825-0097}"
    Path("hazardmill.yaml").write_text(f"authors: [{person}]\ndoi: 10.1234/all\n")
    words = ("--version", "1.0.0", *NOBODY, "--store", model.path)
    assert hazardmill("release", "build", *words, "--doi", "doi:10.1234/one", "--out", "r").code == 0
    manifest = read_manifest(Path("r"))
    assert (manifest.doi, [author.name for author in manifest.authors]) == ("10.1234/one", ["Doe, Jane"])
    for name in ("CITATION.cff", "README.md", "croissant.json", ".zenodo.json", "manifest.json"):
        text = Path("r", name).read_text()
        assert "0000-0002-1825-0097" in text and "10.1234/one" in text and "10.1234/all" not in text, name
    assert ".zenodo.json" in manifest.files


def test_a_refusal_ends_with_1_and_lists_what_to_do(hazardmill: Hazardmill, offline: Store) -> None:
    words = ("release", "build", "--version", "1.0.0", *NOBODY, "--out", "r", "--store", offline.path)
    ended = hazardmill(*words)
    assert ended.code == 1 and ended.out == ""
    tasks = offline.count("tasks")
    (line,) = [line for line in ended.err.splitlines() if line.startswith("offline: ")]
    assert tasks > 3 and line.startswith(f"offline: {tasks} of {tasks}; first: ") and "--allow-offline" in line
    assert line.partition("first: ")[2].partition(";")[0].count(", ") == 2
    assert "error: the release is refused by offline" in ended.err
    ended = hazardmill(*words, "--json")
    assert ended.code == 1 and ended.json["refused"] == "the release is refused by offline"
    assert len(ended.json["findings"]) == tasks
    assert not list(Path().iterdir())
    ended = hazardmill(*words, "--allow-offline")
    assert ended.code == 0 and "written by our rules, not by a language model" in ended.out


def test_private_addresses_are_refused_unless_the_model_is_named(
    hazardmill: Hazardmill, offline: Store, tmp_path: Path
) -> None:
    near = rewritten(offline, tmp_path / "near", lambda table, row: by_model(table, row, host="127.0.0.1"))
    words = ("release", "build", "--version", "1.0.0", *NOBODY, "--out", "r", "--store", near.path)
    ended = hazardmill(*words)
    assert ended.code == 1 and "refused by local_model" in ended.err
    assert hazardmill(*words, "--local-model", "test/model-1").code == 0
    assert read_manifest(Path("r")).local_models == ("test/model-1",)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--version", "1.0"), "--version: a version is X.Y.Z"),
        (("--version", "1.0.0", "--name", "A b"), "--name: a name has at most 62 lower-case letters"),
        (("--version", "1.0.0", "--doi", "zenodo"), "--doi: a DOI is written as 10.5281/zenodo.1234567, not 'zenodo'"),
        (
            ("--version", "1.0.0", "--leave-out", "corpus"),
            "--leave-out: the gate 'corpus' speaks of the corpus as a whole",
        ),
        (("--version", "1.0.0", "--waive", "licence=no matter"), "the gate 'licence' cannot be waived; only: corpus"),
        (("--version", "1.0.0", "--waive", "corpus"), "'corpus' gives no reason: write --waive corpus=REASON"),
        (("--version", "1.0.0", "--threshold", "x=1"), "is not NAME=NUMBER"),
        (("--version", "1.0.0", "--policy", "any-reject", "--review", "gone"), "needs a review folder"),
        (("--version", "1.0.0", "--policy", "none", "--out", "there"), "there already exists"),
    ],
)
def test_wrong_words_end_with_2(hazardmill: Hazardmill, model: Store, words: tuple[str, ...], message: str) -> None:
    Path("there").mkdir()
    ended = hazardmill("release", "build", *words, "--store", model.path)
    assert ended.code == 2 and message in ended.err


def test_what_is_not_there_is_refused(hazardmill: Hazardmill, model: Store) -> None:
    words = ("release", "build", "--version", "1.0.0", *NOBODY)
    for more, code, message in (
        (("--store", "gone"), 3, "there is no store here"),
        (("--store", model.path, "--run", "gone"), 2, "there is no generation run gone in this store"),
        (("--store", model.path, "--parent", "gone"), 3, "there is no manifest of a release"),
    ):
        ended = hazardmill(*words, *more)
        assert ended.code == code and message in ended.err


def test_thresholds_and_answers_are_as_asked(hazardmill: Hazardmill, model: Store) -> None:
    import pyarrow.parquet as pq

    limits = [word for name in ("enough", "effective_structures") for word in ("--threshold", f"{name}=1")]
    limits += [
        word
        for name in (
            *("largest_source", "largest_type", "commonest_structures", "leaking_ways"),
            *("standing_out", "commonest_way_out"),
        )
        for word in ("--threshold", f"{name}=1")
    ]
    words = ("--policy", "none", "--with-answers", "--out", "r", "--store", model.path, "--json")
    made = hazardmill("release", "build", "--version", "1.0.0", *words, *limits)
    assert made.code == 0, made.err
    assert all(gate["passed"] and gate["waived"] is None for gate in made.json["gates"])
    for path in Path("r/data").glob("drafts*/*.parquet"):
        assert None not in pq.read_table(path, columns=["answer"])["answer"].to_pylist()


def test_the_group_lists_its_verbs_without_importing_them(hazardmill: Hazardmill) -> None:
    listed = hazardmill("release", "--help")
    assert listed.code == 0
    for verb in ("build", "diff", "export", "push"):
        assert f"\n  {verb} " in listed.out


def test_a_release_has_no_place_of_this_machine_in_it(hazardmill: Hazardmill, model: Store, tmp_path: Path) -> None:
    assert (
        hazardmill(
            "release", "build", "--version", "1.0.0", *NOBODY, "--out", tmp_path / "r", "--store", model.path
        ).code
        == 0
    )
    places = [str(place).encode() for place in (tmp_path, model.path, Path.home(), Path.cwd())]
    for path in (tmp_path / "r").rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            assert not [place for place in places if len(place) > 1 and place in content], path
    assert json.loads((tmp_path / "r" / "manifest.json").read_bytes())["parent"] is None
