from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Hazardmill, OnceASession


@pytest.fixture
def runs(hazardmill: Hazardmill, neiss: Path, project: Path, once: OnceASession) -> None:
    """Runs `a` and `b`, which is `a` with another draw, and `c`, on a record of another source."""
    bddl = project / "sources" / "bddl" / "sample"

    def three() -> None:
        for run_id, source, path, limit, sample in (
            ("a", "neiss", neiss, 3, 0),
            ("b", "neiss", neiss, 3, 1),
            ("c", "bddl", bddl, 1, 0),
        ):
            words = ("--source", source, "--input", path, "--limit", limit, "--sample", sample, "--run-id", run_id)
            assert hazardmill("run", "generate", *words, "--store", "s", "--json").code == 0

    once("three runs to compare", three)


def test_two_runs_are_compared_in_words_as_json_and_as_a_page(runs: None, hazardmill: Hazardmill) -> None:
    ended = hazardmill("run", "compare", "a", "b", "--store", "s")
    assert ended.code == 0, ended.err
    for said in (
        "3 records of both runs are compared.",
        "Run a was answered by the offline author: rules, not a language model.",
        "Settings that differ",
        "Figures, paired by record",
        "Danger types",
    ):
        assert said in " ".join(ended.out.split()), said
    as_json = hazardmill("run", "compare", "a", "b", "--store", "s", "--json").json
    assert as_json["format"] == "hazardmill-comparison/1" and as_json["pairing"]["pairs"] == 3
    assert [(each["name"], each["old"], each["new"]) for each in as_json["settings"]] == [("sample", "0", "1")]
    page = hazardmill("run", "compare", "a", "b", "--store", "s", "--html", "pages/compared.html")
    assert (page.code, page.out) == (0, "pages/compared.html\n")
    html = Path("pages/compared.html").read_text()
    assert html.startswith("<!doctype html>") and "<caption>Figures, paired by record</caption>" in html
    assert "<script" not in html and "http" not in html
    for pair in as_json["pairs"]:
        assert (pair["record_id"] in html) == bool(pair["differs"])


def test_a_run_and_its_like_differ_in_nothing(runs: None, hazardmill: Hazardmill, neiss: Path) -> None:
    words = ("--source", "neiss", "--input", neiss, "--limit", 3, "--store", "s", "--run-id", "again", "--json")
    assert hazardmill("run", "generate", *words).code == 0
    ended = hazardmill("run", "compare", "a", "again", "--store", "s")
    assert "The runs do not differ.\n" in ended.out
    assert "Settings that differ" not in ended.out and "Records that differ" not in ended.out


def test_wrong_calls(runs: None, hazardmill: Hazardmill) -> None:
    for words, code, said in (
        (("a", "a"), 2, "run a cannot be compared with itself"),
        (("a", "zz"), 2, "there is no generation run zz in this store"),
        (("a", "c"), 3, "runs a and c have no record in common"),
        (("a", "b", "--review", "nowhere"), 3, "the rubric cannot be read"),
        (("a",), 2, "Missing argument 'RUN_B'"),
    ):
        ended = hazardmill("run", "compare", *words, "--store", "s")
        assert ended.code == code and said in ended.err, words
        assert ended.out == ""
