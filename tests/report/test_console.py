from __future__ import annotations

import io

import pytest
from rich.console import Console

from hazardmill.report.console import cost_markdown, funnel_markdown, print_cost, print_funnel
from hazardmill.report.cost import cost
from hazardmill.report.funnel import funnel

from .support import call, connect, mill, outcome


def table_of(markdown: str, title: str) -> list[list[str]]:
    lines = markdown.split(f"### {title}\n\n")[1].split("\n\n")[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_markdown_tables_have_at_most_six_columns_and_the_figures() -> None:
    text = funnel_markdown(funnel(connect(**mill()), ["r"])) + "\n" + cost_markdown(cost(connect(**mill()), ["r"]))
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert max(row.count("|") for row in rows) - 1 <= 6
    by_source = {row[0]: row[1:] for row in table_of(text, "Funnel")}
    assert by_source["neiss"] == ["5", "4", "10", "2 (40.0 %)", "0"]
    assert by_source["total"] == ["10", "7", "14", "3 (37.5 %)", "2"]
    assert table_of(text, "Yield by draft")[2] == ["1", "7", "2", "1", "28.6 %"]
    assert table_of(text, "Cost of a validated task")[2][:3] == ["at least $0.0333", "3", "$0.100 + 1 unknown"]
    assert table_of(text, "Cost of these runs")[-1][:3] == ["all", "5 (1 failed)", "700 + 1 unknown"]
    assert "- The funnel adds up." in text


def test_what_failed_and_what_is_in_flight_stand_beside_the_attempts() -> None:
    unanswered = {"answered": False, "usd": None, "usd_upper": 0.5}
    calls = [
        call("a", "neiss:1", "author", **unanswered, error="ProviderDown"),
        call("b", "neiss:1", "author", **unanswered, error="in_flight"),
        call("c", "neiss:1", "judge", **unanswered, error="in_flight"),
    ]
    rows = table_of(cost_markdown(cost(connect(llm_calls=calls), ["r"])), "Cost of these runs")
    assert [row[1] for row in rows if row[0] in ("stage author", "stage judge", "all")] == [
        "2 (1 failed, 1 in flight)",
        "1 (1 in flight)",
        "3 (1 failed, 2 in flight)",
    ]


def test_markdown_shows_odd_names_as_they_are() -> None:
    tables = mill()
    tables["outcomes"].append(outcome("a|b_c<i>:1", "no_danger", "x"))
    assert "| a\\|b\\_c&lt;i> |" in funnel_markdown(funnel(connect(**tables), ["r"]))


@pytest.mark.parametrize("width", [80, 200])
def test_the_terminal_shows_every_figure_whatever_its_width(width: int) -> None:
    console = Console(file=io.StringIO(), width=width)
    tables = mill()
    tables["outcomes"].append(outcome("[red]x[/red]:1", "no_danger", "[bold]"))
    print_funnel(funnel(connect(**tables), ["r"]), console)
    print_cost(cost(connect(**tables), ["r"]), console)
    text = console.file.getvalue()
    for words in ("[bold]", "same document", "drafts written", "stage author", "$0.0400"):
        assert words in text


@pytest.mark.parametrize("width", [80, 200])
def test_a_long_reason_is_folded_and_takes_no_figure_away(width: int) -> None:
    console = Console(file=io.StringIO(), width=width)
    tables = mill()
    said = "People play a game in which no robot could take part, " * 2 + "whatever it was asked to do at that place"
    tables["outcomes"][2] = outcome("neiss:3", "no_danger", "no_danger", message=said)
    print_funnel(funnel(connect(**tables), ["r"]), console)
    lines = console.file.getvalue().splitlines()
    (line,) = (line for line in lines if line.startswith(" no danger in it") and "People" in line)
    assert line.rstrip().endswith("10.0 %") and max(map(len, lines)) <= width
    assert "a game in which no robot could take part" in " ".join(console.file.getvalue().split())


def test_a_funnel_that_does_not_add_up_says_so() -> None:
    tables = mill()
    tables["tasks"] = []
    assert "does NOT add up: 3 records accepted, but 0 tasks" in funnel_markdown(funnel(connect(**tables), ["r"]))
