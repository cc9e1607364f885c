"""The recipe for TRL in examples/safe_align: checked without PyTorch by what is recorded, and with it by running it.

For whoever installs it: ``pip install torch trl``. Continuous integration does not.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import re
import subprocess
import sys
from dataclasses import asdict

import numpy as np
import pytest

from hazardmill.release.read.safe_align import AnswerBatch, SafeAlignParameters, safe_align

TOLERANCE = 1e-5
AGAIN = "it has changed since it was checked: python examples/safe_align/check.py, where torch and trl are installed"


@pytest.fixture(scope="module")
def folder(project):
    return project / "examples" / "safe_align"


@pytest.fixture(scope="module")
def objective(folder):
    spec = importlib.util.spec_from_file_location("safe_align_objective", folder / "objective.py")
    module = importlib.util.module_from_spec(spec)
    # A dataclass looks its module up.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def assert_agrees(checked):
    """The reference gives the losses that the trainer gave."""
    batches = [
        AnswerBatch.of(
            [pair[f"{which}_log_probs"] for pair in checked["pairs"]],
            [pair[f"{which}_tokens"] for pair in checked["pairs"]],
        )
        for which in ("chosen", "rejected")
    ]
    k, rejected_k = ([pair[name] for pair in checked["pairs"]] for name in ("k", "rejected_k"))
    assert {True, False} == {one == other for one, other in zip(k, rejected_k, strict=True)}
    assert {case["parameters"].get("length", "tokens") for case in checked["cases"]} == {"tokens", "actions"}
    for case in checked["cases"]:
        found = safe_align(*batches, k, SafeAlignParameters(**case["parameters"]), rejected_k=rejected_k)
        assert case["losses"] == pytest.approx(found.loss, abs=TOLERANCE)
    assert checked["greatest_difference"] <= TOLERANCE
    assert checked["greatest_difference_of_gradients"] <= TOLERANCE
    assert checked["greatest_difference_of_steps"] <= TOLERANCE < checked["greatest_change_by_a_step"]
    before, after = checked["mean_loss_before_and_after_10_epochs"]
    assert after < before


# Without PyTorch


def test_what_was_checked_agrees_and_is_what_lies_there(folder):
    checked = json.loads((folder / "checked.json").read_text())
    assert_agrees(checked)
    names = {path.name for path in folder.glob("*.py")}
    assert {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names} == checked["files"], AGAIN


def test_the_page_names_the_versions_and_differences(folder, project):
    checked = json.loads((folder / "checked.json").read_text())
    page = (project / "docs" / "safe-align.md").read_text()
    assert all(version.partition("+")[0] in page for version in checked["versions"].values())
    assert f"{checked['weights']:,} random weights" in page
    for name in ("", "_of_gradients", "_of_steps"):
        assert f"| {checked['greatest_difference' + name]:.0e} |" in page


def test_the_page_names_every_parameter_with_its_default(project):
    page = (project / "docs" / "safe-align.md").read_text()
    for name, default in asdict(SafeAlignParameters()).items():
        assert re.search(rf"^\| `{name}` \| `?{default}`? \|", page, re.MULTILINE), name


def log_sigmoid(values):
    return -np.logaddexp(np.float32(0), -values)


@pytest.mark.parametrize("length", ["tokens", "actions"])
def test_the_loss_of_the_recipe_is_that_of_the_reference(objective, length):
    rng = np.random.default_rng(0)
    pairs, width = 1_000, 30
    prompt = rng.integers(1, 5, pairs)
    prefix = rng.integers(0, 10, pairs)
    more = rng.integers(0, 5, pairs)
    rest = rng.integers(1, 10, (2, pairs)) + np.array([np.zeros(pairs, int), more])
    log_probs = -rng.exponential(1.0, (2, pairs, width))
    shared = np.arange(width) < (prompt + prefix)[:, None]
    log_probs[1] = np.where(shared, log_probs[0], log_probs[1])
    begins, ends = prompt[:, None], (prompt + prefix + rest)[..., None]
    weighed = np.array([prompt + prefix, prompt + prefix + more])[..., None]
    place = np.arange(width)
    masks = [(place >= begins) & (place < weighed), (place >= weighed) & (place < ends)]
    # A token is an action here: the reference knows no smaller part.
    batches = [
        AnswerBatch.of(
            [row[first:last] for row, first, last in zip(log_probs[each], prompt, ends[each, :, 0], strict=True)],
            prefix + rest[each],
        )
        for each in (0, 1)
    ]
    given = {"alpha": 0.3, "beta": 2.5, "gamma_beta_ratio": 0.3, "sft_weight": 0.2, "length": length}
    wanted = safe_align(*batches, prefix, SafeAlignParameters(**given), rejected_k=prefix + more).loss
    single = log_probs.reshape(2 * pairs, width).astype(np.float32)
    found = objective.pair_losses(
        single,
        *(mask.reshape(2 * pairs, width).astype(np.float32) for mask in masks),
        (prefix + rest).reshape(-1).astype(np.float32),
        objective.SafeAlignParameters(**given),
        log_sigmoid,
    )
    assert found.dtype == np.float32
    assert found == pytest.approx(wanted, abs=TOLERANCE)


class WordTokenizer:
    """Splits before spaces and after brackets, as byte-level tokenizers do, or by another pattern."""

    eos_token_id = 0

    def __init__(self, pattern=r" ?\(|\)| ?[^\s()]+|\s", begin=(), end=()):
        self.pattern, self.begin, self.end = pattern, list(begin), list(end)
        self.known = {}

    def __call__(self, text, return_offsets_mapping=False):
        found = list(re.finditer(self.pattern, text))
        assert "".join(match[0] for match in found) == text
        ids = [self.known.setdefault(match[0], len(self.known) + 2) for match in found]
        spans = [(0, 0)] * len(self.begin) + [match.span() for match in found] + [(0, 0)] * len(self.end)
        return {"input_ids": self.begin + ids + self.end, "offset_mapping": spans}

    def text(self, ids):
        names = {value: key for key, value in self.known.items()} | {0: "<end>", 1: "<begin>"}
        return [names[each] for each in ids]


ROW = {
    "task_id": "egg-1",
    "prompt": "Fry an egg.\n",
    "chosen_actions": ["(open)", "(take egg)", "(close)"],
    "rejected_actions": ["(open)", "(take egg)", "(cook)"],
    "k": 2,
    "rejected_k": 2,
}


@pytest.mark.parametrize("ends", [(), (0,)])
@pytest.mark.parametrize("begins", [(), (1,)])
def test_tokens_of_a_pair_are_told_apart_at_its_borders(objective, begins, ends):
    tokenizer = WordTokenizer(begin=begins, end=ends)
    pair = objective.tokenize_pair(ROW, tokenizer)
    for which, last in (("chosen", "close"), ("rejected", "cook")):
        ids, answer, rest = (pair[f"{which}_{name}"] for name in ("ids", "answer", "rest"))
        assert tokenizer.text(ids[answer:rest]) == ["(", "open", ")", " (", "take", " egg", ")"]
        assert tokenizer.text(ids[rest:]) == [" (", last, ")", "<end>"]
        assert len(ids[:answer]) == len(begins) + 4
        assert pair[f"{which}_actions"] == 4


def test_a_plan_that_the_other_one_begins_with_still_has_its_end(objective):
    tokenizer = WordTokenizer()
    pair = objective.tokenize_pair({**ROW, "rejected_actions": ["(open)", "(take egg)"]}, tokenizer)
    assert tokenizer.text(pair["rejected_ids"][pair["rejected_rest"] :]) == ["<end>"]


def test_the_unsafe_plan_may_have_a_longer_part_of_weight_alpha(objective):
    tokenizer = WordTokenizer()
    pair = objective.tokenize_pair({**ROW, "rejected_k": 3}, tokenizer)
    assert tokenizer.text(pair["rejected_ids"][pair["rejected_rest"] :]) == ["<end>"]
    assert pair["chosen_rest"] == objective.tokenize_pair(ROW, tokenizer)["chosen_rest"]


@pytest.mark.parametrize(
    ("changes", "tokenizer", "said"),
    [
        ({"k": 3}, WordTokenizer(), "the pair of task egg-1 does not share its first 3 actions: export it again"),
        ({"k": 4}, WordTokenizer(), "the pair of task egg-1 does not share its first 4 actions"),
        ({"rejected_actions": []}, WordTokenizer(), "the pair of task egg-1 has an answer without an action: leave it"),
        ({}, WordTokenizer(r"\S*\s\S*|\S+|\s"), r"one token spans the border after 'Fry an egg.\\n': end the prompt"),
        ({}, WordTokenizer(r"\) |[^)\s]+|\s|\)"), r"one token spans the border after .*\(take egg\)': end the prompt"),
        (
            {"rejected_actions": ["(open)", "(take egg)"]},
            WordTokenizer(r" egg\)$| ?\(|\)| ?[^\s()]+|\s"),
            "the pair of task egg-1 shares its first 2 actions, but not their tokens: leave it out",
        ),
    ],
)
def test_what_is_no_pair_is_refused(objective, changes, tokenizer, said):
    with pytest.raises(ValueError, match=said):
        objective.tokenize_pair({**ROW, **changes}, tokenizer)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"alpha": 1.5}, "alpha is 1.5, which is outside 0 to 1"),
        ({"length": "words"}, "length is 'words': count it in"),
    ],
)
def test_parameters_of_the_recipe_outside_their_range_are_refused(objective, changes, said):
    with pytest.raises(ValueError, match=said):
        objective.SafeAlignParameters(**changes)


def test_the_recipe_has_the_defaults_of_the_reference(objective):
    ours, theirs = SafeAlignParameters(), objective.SafeAlignParameters()
    assert {name: getattr(ours, name) for name in vars(theirs)} == vars(theirs)


# With PyTorch


@pytest.mark.full
@pytest.mark.timeout(600)
def test_the_trainer_agrees_with_the_reference(folder, project, tmp_path):
    for library in ("torch", "trl"):
        if importlib.util.find_spec(library) is None:
            pytest.skip(f"{library} is not installed, so the recipe is not run: pip install torch trl")
    ended = subprocess.run(
        [sys.executable, folder / "check.py", tmp_path / "checked.json"],
        capture_output=True,
        text=True,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(project), *sys.path]),
            "HF_HOME": str(tmp_path / "cache"),
        },
    )
    assert ended.returncode == 0, ended.stderr
    assert_agrees(json.loads((tmp_path / "checked.json").read_text()))
