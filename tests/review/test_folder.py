from __future__ import annotations

import pytest

from hazardmill.errors import InputError
from hazardmill.review.analysis.judge_accuracy import IN_THE_RUBRIC
from hazardmill.review.assignments.publish import give_tasks
from hazardmill.review.assignments.sampler import Wish
from hazardmill.review.decisions.folder import ReviewFolder
from hazardmill.review.rubric import CRITERIA, CRITERIA_OF, rubric_version

from .support import APPROVE, answer


def test_the_shipped_rubric_has_a_version_and_asks_for_every_reason(project):
    rubric = project / "review" / "rubric.md"
    assert rubric_version(rubric) == "1.3"
    text = rubric.read_text()
    tasks, _, scenarios = text.partition("## Scenarios")
    assert all(f"| `{criterion}` |" in tasks for criterion in CRITERIA)
    for kind in ("mal", "sit"):
        rows = [line.split("|") for line in scenarios.splitlines() if line.startswith("| `")]
        named = {cells[1].strip(" `") for cells in rows if kind in cells[2]}
        assert named == set(CRITERIA_OF[kind])
    assert "Doubt means reject" in text


def test_the_judge_s_criteria_are_reasons_of_people_too_or_the_judge_s_own(project):
    (template,) = (project / "prompts" / "judge").glob("*")
    rubric = template.read_text().partition("# Rubric")[2].partition("# How sure you are")[0]
    named = {line.partition(":")[0] for line in rubric.splitlines() if line and not line.startswith(" ")}
    named = {name for name in named if name.isidentifier()}
    assert named == set(CRITERIA) - {"other"} | set(IN_THE_RUBRIC)


def test_a_folder_without_a_rubric_is_told_where_ours_is(tmp_path, project):
    with pytest.raises(InputError) as caught:
        ReviewFolder(tmp_path).rubric_version()
    assert str(project / "review" / "rubric.md") in caught.value.remedy
    (tmp_path / "rubric.md").write_text('version: "7"')
    assert ReviewFolder(tmp_path).rubric_version() == "7"


@pytest.mark.parametrize("text", ["# Rubric\n", 'version: "x"\n', ""])
def test_a_rubric_without_a_version_is_refused(tmp_path, text):
    (tmp_path / "rubric.md").write_text(text)
    with pytest.raises(InputError, match="no version") as told:
        ReviewFolder(tmp_path).rubric_version()
    assert told.value.remedy


def test_a_decision_in_another_s_file_is_refused(folder, service, pool):
    give_tasks(folder, pool, Wish(("ada", "ben")))
    answer(service, "ada", lambda slip, sheet: APPROVE, most=1)
    decisions = folder.path / "decisions"
    (decisions / "ben.jsonl").write_bytes((decisions / "ada.jsonl").read_bytes())
    with pytest.raises(InputError, match="a decision of ada in the file of ben") as told:
        ReviewFolder(folder.path).histories()
    assert told.value.line == 1 and told.value.file.endswith("ben.jsonl") and "import" in told.value.remedy


def test_a_round_says_when_and_how_it_was_given_out(folder, pool):
    give_tasks(folder, pool, Wish(("ada", "ben"), seed=7))
    first = folder.assignment_rows()[0]
    assert (first.row, first.seed, first.options["reviewers"]) == ("round", 7, ["ada", "ben"])
    assert give_tasks(folder, pool, Wish(("ada", "ben"), seed=7)).slips == {}
    assert sum(row.row == "round" for row in folder.assignment_rows()) == 1


def test_a_dry_round_is_what_the_real_one_is_and_writes_nothing(folder, pool):
    dry = give_tasks(folder, pool, Wish(("ada", "ben")), dry=True)
    assert not (folder.path / "decisions").exists()
    assert give_tasks(folder, pool, Wish(("ada", "ben"))) == dry


def test_the_files_are_read_by_duckdb_as_the_readme_says(folder, service, pool):
    import duckdb

    give_tasks(folder, pool, Wish(("ada", "ben")))
    for name in ("ada", "ben"):
        answer(service, name, lambda slip, sheet: APPROVE, most=3)
    files = folder.path / "decisions" / "[a-z]*.jsonl"
    asked = f"select reviewer, count(*) from read_json_auto('{files}') group by all order by all"
    assert duckdb.sql(asked).fetchall() == [("ada", 3), ("ben", 3)]
