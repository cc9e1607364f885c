"""Every number of every figure's table, worked out again from the rows of a store that the offline author filled."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

import pytest

from hazardmill.formalism.document.name_leaks import LEAKING_TOKENS
from hazardmill.quality.structure import structure_id
from hazardmill.report.html import render_report
from hazardmill.report.markdown import render_markdown
from hazardmill.store.store import Store

from .pages import Table, Tables, markdown_tables

Rows = list[dict[str, Any]]

ENDED = {
    "no_danger": ("no danger in it", "extraction: no danger in it"),
    "extraction_failed": ("extraction failed", "extraction: failed"),
    "execution_failed": ("execution failed", "execution"),
    "quality_failed": ("quality failed", "judging"),
    "duplicate": ("duplicate", "duplicates"),
}
PUBLISHED = {"alfred": "43.8", "bddl": "44.2", "neiss": "44.9", "normbank": "47.2", "virtualhome": "29.7"}


@pytest.fixture(scope="module", params=[(), ("neiss",), ("neiss", "bddl")], ids=["all", "one", "two"])
def sources(request: pytest.FixtureRequest) -> tuple[str, ...]:
    chosen: tuple[str, ...] = request.param
    return chosen


@pytest.fixture(scope="module")
def shown(offline_store: Store, sources: tuple[str, ...]) -> dict[str, Table]:
    with offline_store.connect() as connection:
        return Tables(render_report(connection, ["all"], sources)).found


@pytest.fixture(scope="module")
def rows(offline_store: Store, sources: tuple[str, ...]) -> Callable[[str], Rows]:
    def read(table: str) -> Rows:
        every = offline_store.rows(table, {"run_id": "all"})
        return [row for row in every if not sources or (row.get("source") or row["record_id"].split(":")[0]) in sources]

    return read


def table(shown: dict[str, Table], title: str) -> Table:
    """The numbers of the figure whose title begins so, without their head."""
    (name,) = (name for name in shown if name.startswith(title))
    return shown[name][1:]


def n_of(shown: dict[str, Table], title: str) -> int:
    (name,) = (name for name in shown if name.startswith(title))
    (n,) = re.findall(r"n = ([\d,]+)", name)
    return int(n.replace(",", ""))


def share(part: int, whole: int) -> str:
    return f"{float(Fraction(100 * part, whole)):.1f} %" if whole else "-"


def test_the_funnel(shown: dict[str, Table], rows: Callable[[str], Rows]) -> None:
    ended = Counter(row["outcome"] for row in rows("outcomes"))
    total = sum(ended.values())
    assert n_of(shown, "Where the records went") == total > 0
    assert table(shown, "Where the records went") == [
        [words, str(number), share(number, total)]
        for words, number in [
            ("records", total),
            *((words, ended[outcome]) for outcome, (words, _) in ENDED.items()),
            ("pending", 0),
            ("accepted", ended["accepted"]),
        ]
    ]


def test_the_losses(shown: dict[str, Table], rows: Callable[[str], Rows]) -> None:
    outcomes = rows("outcomes")
    counted = Counter(
        (
            ENDED[row["outcome"]][1],
            row["message"].rstrip(".") if row["outcome"] == "no_danger" else row["reason"].replace("_", " "),
        )
        for row in outcomes
        if row["outcome"] != "accepted"
    )
    lost = sum(counted.values())
    assert n_of(shown, "Losses by stage and reason") == lost
    found = table(shown, "Losses by stage and reason")
    assert {(stage, why): (number, *shares) for stage, why, number, *shares in found} == {
        key: (str(number), share(number, lost), share(number, len(outcomes))) for key, number in counted.items()
    }
    assert len(found) == len(counted)


def test_the_yield_by_draft(shown: dict[str, Table], rows: Callable[[str], Rows]) -> None:
    drafts = rows("drafts")
    made, passed = Counter(d["draft"] for d in drafts), Counter(d["draft"] for d in drafts if d["accepted"])
    tasks = Counter(t["draft"] for t in rows("tasks"))
    assert n_of(shown, "Yield by draft") == len(drafts)
    assert table(shown, "Yield by draft") == [
        [str(n), str(made[n]), str(passed[n]), str(tasks[n]), share(passed[n], made[n])] for n in range(1, 6)
    ]


def test_the_cost(shown: dict[str, Table], rows: Callable[[str], Rows]) -> None:
    calls = rows("llm_calls")
    assert n_of(shown, "Cost by stage in tokens") == len(calls)
    found = table(shown, "Cost by stage")
    assert [line[0] for line in found] == ["extract", "author", "judge", "all"]
    for stage, attempts, failed, in_flight, prompt, completion, usd in found:
        mine = [call for call in calls if stage in ("all", call["stage"])]
        assert (attempts, failed) == (f"{len(mine):,}", str(sum(not call["answered"] for call in mine)))
        assert in_flight == "0" and not any(call["error"] == "in_flight" for call in mine)
        # The offline author answered, which counts no tokens.
        assert (prompt, completion) == ("unknown", "unknown")
        assert {(call["prompt_tokens"], call["completion_tokens"]) for call in mine} == {(None, None)}
        assert usd == "$0.00" and not any(call["usd"] for call in mine)


def test_groups_and_types_by_source(shown: dict[str, Table], rows: Callable[[str], Rows]) -> None:
    tasks = rows("tasks")
    names = sorted({task["source"] for task in tasks})
    for title, part, kinds in (
        ("Danger groups by source", "danger_group", ("physical", "psychosocial")),
        ("Danger types by source", "danger_type", sorted({task["danger_type"] for task in tasks})),
    ):
        cells = Counter((task["source"], task[part]) for task in tasks)
        (name,) = (name for name in shown if name.startswith(title))
        assert n_of(shown, title) == len(tasks)
        head, *lines = shown[name]
        found = {}
        for row, *numbers, total in lines:
            assert sum(map(int, numbers)) == int(total)
            found |= {(row, column): int(number) for column, number in zip(head[1:-1], numbers, strict=True)}
        for source in names:
            for kind in kinds:
                where = (source, kind) if part == "danger_group" else (kind.replace("_", " "), source)
                assert found[where] == cells[source, kind]
        assert lines[-1][0] == "all" and lines[-1][-1] == str(len(tasks))


def test_length_by_effort(shown: dict[str, Table], rows: Callable[[str], Rows]) -> None:
    tasks = [task for task in rows("tasks") if task["safe_plan"] is not None]
    cells: Counter[tuple[int, int]] = Counter()
    for task in tasks:
        safe, unsafe = (task[plan].count("(") for plan in ("safe_plan", "unsafe_plan"))
        cells[safe - unsafe, round(Fraction(safe + unsafe, 2))] += 1
    assert n_of(shown, "Plan length by safety effort") == len(tasks)
    assert table(shown, "Plan length by safety effort") == [
        [f"{effort:+d}", str(length), str(number)] for (effort, length), number in sorted(cells.items())
    ]


def test_the_flows(shown: dict[str, Table], rows: Callable[[str], Rows]) -> None:
    tasks = rows("tasks")
    ways = []
    for task in tasks:
        danger = json.loads(task["danger"])
        kind = danger["danger_type"].replace("_", " ")
        setting = danger["setting"].split(":")[0]
        ways.append((task["source"], setting, danger["danger_group"], kind, danger["entity_in_danger"]))
    assert len({way[1] for way in ways}) <= 8, "else some would be folded"
    steps = ("source", "setting", "danger group", "danger type", "entity in danger")
    links = Counter(
        (f"{steps[step]} to {steps[step + 1]}", way[step], way[step + 1]) for way in ways for step in range(4)
    )
    assert n_of(shown, "From source to entity in danger") == len(tasks)
    found = table(shown, "From source to entity in danger")
    assert {tuple(line[:3]): int(line[3]) for line in found} == links and len(found) == len(links)


def test_the_losses_beside_the_published_ones(
    shown: dict[str, Table], rows: Callable[[str], Rows], sources: tuple[str, ...]
) -> None:
    outcomes, drafts = rows("outcomes"), rows("drafts")

    def ours(name: str | None) -> list[str]:
        finished = [
            row["outcome"]
            for row in outcomes
            if name in (None, row["source"]) and row["outcome"] not in ("no_danger", "extraction_failed")
        ]
        lost = finished.count("execution_failed")
        made = [d for d in drafts if name in (None, d["source"])]
        failed = sum(not d["accepted"] and d["failed_check"] != "judge" for d in made)
        return [
            f"{share(part, whole)} ({part} of {whole})" for part, whole in ((lost, len(finished)), (failed, len(made)))
        ]

    wanted = [[name, f"{PUBLISHED[name]} %", *ours(name)] for name in sorted(sources or PUBLISHED)]
    if not sources:
        wanted.insert(0, ["all sources", "46.0 %", *ours(None)])
    assert table(shown, "Lost at execution") == wanted
    others = {line[0]: line[1:] for line in table(shown, "Other published figures")}
    assert others["Tasks through automation"][:2] == ["18,219", str(len(rows("tasks")))]
    assert others["Drafts, or records with a danger"][:2] == [
        "33,728",
        str(sum(row["danger_type"] is not None for row in rows("dangers"))),
    ]
    assert others["Lost at human review"][:2] == ["32.6 % (normbank 55.1 %)", "unknown"]
    assert others["USD per validated task"][0] == "$0.0110" and "does not hold" in others["USD per validated task"][2]


def test_the_gates(shown: dict[str, Table], rows: Callable[[str], Rows]) -> None:
    tasks = rows("tasks")
    found = {line[0]: line for line in table(shown, "Gates of the corpus")}
    keys = Counter(structure_id(json.loads(task["document"])) for task in tasks)
    n = len(tasks)
    ten = sum(number for _, number in keys.most_common(10))
    assert found["commonest_structures"][3] == share(ten, n)
    entropy = -sum(number / n * math.log(number / n) for number in keys.values())
    assert found["effective_structures"][3] == f"{math.exp(entropy):.1f}"
    for name, part in (("largest_source", "source"), ("largest_type", "danger_type")):
        ((_, most),) = Counter(task[part] for task in tasks).most_common(1)
        assert found[name][3] == share(most, n)
        assert found[name][1] == "unknown: fewer than 100 tasks"
    assert not any(set(_words(task["document"])) & LEAKING_TOKENS for task in tasks)
    assert found["neutral_names"][1:2] + found["neutral_names"][3:] == ["passed", "0.0 %", "at most 0.0 %", str(n), "0"]
    spreads = {line[0]: line for line in table(shown, "How varied the tasks are")}
    kinds = Counter(task["danger_type"] for task in tasks)
    assert spreads["danger type"][1:3] == [str(n), str(len(kinds))]
    assert spreads["danger type"][4] == f"{n * n / sum(number * number for number in kinds.values()):.1f}"


def _words(document: str) -> Iterable[str]:
    """The words of all names that a planner sees, and of some more."""
    value = json.loads(document)
    names = [*(name for name, _ in value["types"] + value["objects"])]
    for part in value["fluents"] + value["actions"]:
        names += [part["name"], *(name for name, _ in part["parameters"])]
    for name in names:
        yield from re.findall(r"[a-z]+", name.lower())


def test_markdown_says_the_same(offline_store: Store, sources: tuple[str, ...], shown: dict[str, Table]) -> None:
    with offline_store.connect() as connection:
        text, figures = render_markdown(connection, ["all"], sources)
    said = markdown_tables(text)
    # The lists of tasks are no tables with a caption on the page; tests/report/test_task_list.py compares them.
    lists = {title: said.pop(title) for title in set(said) - set(shown)}
    assert said == shown
    assert lists and all(title.endswith(f": {len(rows) - 1} tasks") for title, rows in lists.items())
    assert sorted(re.findall(r"\]\((report-figures/[a-z]+\.svg)\)", text)) == sorted(figures)
