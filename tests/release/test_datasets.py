"""Every config of a release, and every training file, as the package `datasets` loads them."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pyarrow.parquet as pq
import pytest
from huggingface_hub import DatasetCard

from hazardmill.release.build.configs import SPLITS
from hazardmill.release.manifest import read_manifest
from hazardmill.release.read.exports import FORMATS, export
from hazardmill.release.read.release import load_release

# In a process of its own: datasets and huggingface_hub read where their caches are, and that they are offline, when
# they are imported. A warning is an error.
LOADING = """
import json, sys
import datasets
datasets.disable_progress_bars()
loaded = {}
for config in json.loads(sys.argv[2]):
    splits = datasets.load_dataset(sys.argv[1], config)
    loaded[str(config)] = {
        split: {
            "columns": rows.column_names,
            "rows": rows.to_list(),
            "features": rows.features._to_yaml_list(),
            "bytes": rows.info.splits[split].num_bytes,
        }
        for split, rows in splits.items()
    }
print(json.dumps(loaded))
"""
FILES = """
import json, sys
import datasets
datasets.disable_progress_bars()
loaded = {}
for path in sys.argv[1:]:
    kind = "json" if path.endswith(".jsonl") else "parquet"
    rows = datasets.load_dataset(kind, data_files=path, split="train")
    loaded[path] = {"features": {name: str(rows.features[name]) for name in rows.features}, "rows": rows.to_list()}
print(json.dumps(loaded))
"""


def in_a_child(code, cache, *words):
    environment = {
        **os.environ,
        "HF_HOME": str(cache),
        "HF_HUB_OFFLINE": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "PYTHONWARNINGS": "error",
    }
    ended = subprocess.run(
        [sys.executable, "-c", code, *map(str, words)],
        capture_output=True,
        text=True,
        env=environment,
        cwd=cache,
    )
    assert ended.returncode == 0, ended.stderr
    assert "arning" not in ended.stderr, ended.stderr
    return json.loads(ended.stdout)


@pytest.fixture(scope="module")
def loaded(built, tmp_path_factory):
    """What `datasets` has of every config, and of a release of which nobody names a config."""
    configs = [*read_manifest(built).counts, None]
    return in_a_child(LOADING, tmp_path_factory.mktemp("cache"), built, json.dumps(configs))


def test_every_config_loads_with_the_rows_that_the_manifest_counts(loaded, built):
    counts = read_manifest(built).counts
    found = {config: {split: len(each["rows"]) for split, each in splits.items()} for config, splits in loaded.items()}
    assert found == {**counts, "None": counts["tasks"]}
    # Share-alike rows are there, and where they belong.
    assert {"tasks", "tasks_by_sa", "preference_pairs", "contrast_twins", "plans", "drafts"} <= set(found)


def test_columns_and_rows_are_those_of_the_files(loaded, built):
    for config, counts in read_manifest(built).counts.items():
        for split in counts:
            rows = pq.read_table(built / "data" / config / f"{split}.parquet").to_pylist()
            found = loaded[config][split]
            assert (found["columns"], found["rows"]) == (list(rows[0]), rows)


def test_features_and_sizes_are_those_that_the_card_gives(loaded, built):
    infos = {info["config_name"]: info for info in DatasetCard.load(built / "README.md").data.to_dict()["dataset_info"]}
    files, counts = read_manifest(built).files, read_manifest(built).counts
    assert list(infos) == [config["config_name"] for config in DatasetCard.load(built / "README.md").data.configs]
    for config, info in infos.items():
        assert {split["name"]: split["num_examples"] for split in info["splits"]} == counts[config]
        for split in info["splits"]:
            found = loaded[config][split["name"]]
            assert info["features"] == found["features"]
            # A column that may be null, and never is, has a mask once it was read: one bit per row.
            assert split["num_bytes"] == pytest.approx(found["bytes"], rel=0.002)
        assert info["dataset_size"] == sum(split["num_bytes"] for split in info["splits"])
        assert info["download_size"] == sum(files[f"data/{config}/{split}.parquet"].bytes for split in counts[config])


def test_load_release_gives_the_tasks_of_datasets_in_the_same_order(loaded, built):
    release = load_release(built)
    plain, share_alike = loaded["tasks"], loaded["tasks_by_sa"]
    assert loaded["None"] == plain
    assert [(task.split, task.row) for task in release.tasks(by_sa=False)] == [
        (split, row) for split, some in plain.items() for row in some["rows"]
    ]
    # What load_dataset leaves out is what has a licence of its own, and nothing else.
    assert [(task.split, task.share_alike, task.row) for task in release.tasks()] == [
        (split, of is share_alike, row)
        for split in SPLITS
        for of in (plain, share_alike)
        for row in of.get(split, {"rows": []})["rows"]
    ]
    assert any(task.share_alike for task in release.tasks())


def test_training_files_load_with_the_types_that_trl_documents(built, tmp_path):
    release = load_release(built)
    files = [tmp_path / f"{format_}{suffix}" for format_ in FORMATS for suffix in (".jsonl", ".parquet")]
    for path in files:
        export(release, path, path.stem, by_sa=True)
    found = in_a_child(FILES, tmp_path, *files)
    for lines, parquet in zip(files[::2], files[1::2], strict=True):
        assert found[str(lines)] == found[str(parquet)]
        assert found[str(parquet)]["rows"] == pq.read_table(parquet).to_pylist()
    features = {path.stem: found[str(path)]["features"] for path in files[::2]}
    text = "Value('string')"
    assert {features["sft"][name] for name in ("prompt", "completion")} == {text}
    assert {features["dpo"][name] for name in ("prompt", "chosen", "rejected")} == {text}
    assert {features["dpo"][name] for name in ("shared_prefix", "danger_step", "causal_step")} == {"Value('int64')"}
    assert features["stepwise"]["prompt"] == text
    assert features["stepwise"]["completions"] == f"List({text})"
    assert features["stepwise"]["labels"] == "List(Value('bool'))"
