"""Who answers, and what of it is believed."""

from __future__ import annotations

import itertools
import json
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from patience import PATIENCE_S, SHORT_S

from hazardmill.errors import EngineError, SearchLimitReached
from hazardmill.formalism.document.document import ActionDecl, DangerEntry, Document, Effect, FluentDecl
from hazardmill.formalism.search import planner_cascade
from hazardmill.formalism.search.engines.external import EngineAnswer
from hazardmill.formalism.search.exact import solve
from hazardmill.formalism.search.planner_cascade import CHOICES, PlanAnswer, solve_task
from hazardmill.formalism.semantics import ground_size
from hazardmill.formalism.semantics.plan_validator import PlanValidator
from hazardmill.formalism.semantics.transition_system import System

from .soup import danger, soup_document
from .support import kitchen
from .test_engines import gone, processes_in

SAFE = (("slow_down", ()), ("carry", ("kitchen", "table")))
UNSAFE = (("carry", ("kitchen", "table")),)


@pytest.fixture
def asked(monkeypatch):
    """Replaces the engines: answers by (engine, goal), else they are not installed. Holds the questions."""
    questions = []

    def setup(**answers):
        def fake(engine, document, goal, timeout_s):
            questions.append((engine, goal, timeout_s))
            answer = answers.get(f"{engine}_{goal}".replace("-", "_"))
            return answer or EngineAnswer("unavailable", message="not installed")

        monkeypatch.setattr(planner_cascade, "solve_with", fake)
        return questions

    return setup


def solved(plan):
    return EngineAnswer("solved", plan)


# Exact


@pytest.mark.parametrize("engine", ["exact", "auto"])
def test_exact_search_answers_alone_within_its_limit(asked, engine):
    questions = asked()
    result = solve_task(soup_document(), engine)
    assert result.safe == PlanAnswer("(slow_down) (carry kitchen table)", 2, optimal=True, engine="exact")
    assert result.unsafe == PlanAnswer("(carry kitchen table)", 1, optimal=True, engine="exact")
    assert (result.optimal, result.plan_length, result.safety_effort) == (True, 2, 1)
    assert result.expanded == solve(soup_document()).expanded
    assert questions == []
    assert solve_task(System(soup_document()), engine) == result
    written = result.to_json()
    assert json.loads(json.dumps(written)) == written
    assert (written["safe"]["plan"], written["safety_effort"]) == (result.safe.plan, 1)


def test_absence_is_proved_by_exact_search():
    result = solve_task(soup_document(dangers=[danger("carry")]))
    assert result.safe == PlanAnswer(absent="proved", engine="exact")
    assert result.safe.known
    assert (result.optimal, result.plan_length, result.safety_effort) == (True, None, None)


def test_exact_alone_refuses_at_its_limit(asked):
    questions = asked(tamer_safe=solved(SAFE), tamer_unsafe=solved(UNSAFE))
    with pytest.raises(SearchLimitReached, match="the search was stopped after 0 expansions"):
        solve_task(soup_document(), "exact", limit=0)
    assert questions == []


# The engines


def test_beyond_the_limit_a_plan_of_an_engine_is_not_called_optimal(asked):
    questions = asked(tamer_safe=solved(SAFE), tamer_unsafe=solved(UNSAFE))
    result = solve_task(soup_document(), limit=0, timeout_s=7)
    assert (result.safe.plan, result.safe.length, result.safe.engine) == (
        "(slow_down) (carry kitchen table)",
        2,
        "tamer",
    )
    assert (result.safe.optimal, result.optimal) == (False, False)
    assert (result.plan_length, result.safety_effort) == (None, None)
    assert result.safe.message == "exact: the search was stopped after 0 expansions"
    assert questions == [("tamer", "safe", 7), ("tamer", "unsafe", 7)]


def test_what_exact_search_has_found_is_not_asked_again(asked):
    questions = asked(tamer_safe=solved(SAFE))
    # The shortest unsafe plan is met on the way to the limit, the safe one is not.
    result = solve_task(soup_document(), limit=1)
    assert result.unsafe == PlanAnswer("(carry kitchen table)", 1, optimal=True, engine="exact")
    assert result.safe.engine == "tamer"
    assert [goal for _, goal, _ in questions] == ["safe"]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (UNSAFE, "tamer: its plan is not safe"),
        ((("slow_down", ()),), "tamer: its plan is not feasible"),
        ((("fly", ()),), "tamer: its plan is not feasible"),
        ((), "tamer: its plan is not feasible"),
    ],
)
def test_a_plan_that_our_verdicts_deny_is_not_believed(asked, wrong, words):
    questions = asked(tamer_safe=solved(wrong), tamer_unsafe=solved(UNSAFE), enhsp_safe=solved(SAFE))
    result = solve_task(soup_document(), limit=0)
    assert (result.safe.engine, result.unsafe.engine) == ("enhsp", "tamer")
    assert words in result.safe.message
    assert "fast-downward: unavailable: not installed" in result.safe.message
    assert [engine for engine, goal, _ in questions if goal == "safe"] == ["tamer", "fast-downward", "enhsp"]
    asked(tamer_safe=solved(SAFE), tamer_unsafe=solved(SAFE), enhsp_unsafe=solved(UNSAFE))
    assert "tamer: its plan is not unsafe" in solve_task(soup_document(), limit=0).unsafe.message


def test_a_claim_that_there_is_no_plan_stays_a_claim(asked):
    asked(tamer_safe=EngineAnswer("unsolvable"), tamer_unsafe=solved(UNSAFE))
    result = solve_task(soup_document(), limit=0)
    assert (result.safe.plan, result.safe.absent, result.safe.engine) == (None, "claimed", "tamer")
    assert not result.optimal
    # A plan that is confirmed outweighs it.
    asked(tamer_safe=EngineAnswer("unsolvable"), tamer_unsafe=solved(UNSAFE), enhsp_safe=solved(SAFE))
    result = solve_task(soup_document(), limit=0)
    assert (result.safe.absent, result.safe.engine) == (None, "enhsp")


def test_one_answer_is_better_than_none(asked):
    asked(enhsp_unsafe=solved(UNSAFE), enhsp_safe=EngineAnswer("timeout", message="no answer within 7 s"))
    result = solve_task(soup_document(), limit=0, timeout_s=7)
    assert (result.safe.known, result.safe.plan, result.safe.absent) == (False, None, None)
    assert "enhsp: timeout: no answer within 7 s" in result.safe.message
    assert result.unsafe.engine == "enhsp"


def test_no_answer_at_all_is_a_typed_refusal(asked):
    asked(tamer_safe=EngineAnswer("error"))
    with pytest.raises(SearchLimitReached) as caught:
        solve_task(soup_document(), limit=0)
    assert "exact: the search was stopped after 0 expansions; tamer: error: it does not say why" in caught.value.message
    assert "enhsp: unavailable: not installed" in caught.value.message
    assert caught.value.remedy


def test_a_task_too_large_to_be_ground_goes_to_the_engines_and_is_not_believed_unjudged(asked, monkeypatch):
    monkeypatch.setattr(ground_size, "MOST_ACTIONS", 1)
    asked(tamer_safe=EngineAnswer("unsolvable"))
    result = solve_task(soup_document())
    assert (result.safe.absent, result.expanded) == ("claimed", None)
    assert "3 ground actions; the limit is 1" in result.safe.message


def test_engines_are_asked_by_the_kind_of_the_task(asked):
    questions = asked(enhsp_safe=EngineAnswer("unsolvable"))
    solve_task(kitchen(dangers=[*kitchen().dangers, DangerEntry("go", True, -1)]), limit=0)
    assert [engine for engine, goal, _ in questions if goal == "safe"] == ["enhsp"]
    questions.clear()
    solve_task(kitchen(), limit=0)
    assert [engine for engine, goal, _ in questions if goal == "safe"] == ["enhsp", "tamer"]


def test_one_engine_can_be_asked_alone(asked):
    questions = asked(enhsp_safe=solved(SAFE), enhsp_unsafe=EngineAnswer("unsolvable"))
    result = solve_task(soup_document(), "enhsp")
    assert (result.safe.engine, result.safe.optimal, result.expanded) == ("enhsp", False, None)
    assert (result.unsafe.absent, result.unsafe.message) == ("claimed", None)
    assert {engine for engine, _, _ in questions} == {"enhsp"}


@pytest.mark.parametrize("engine", [choice for choice in CHOICES if choice not in ("auto", "exact")])
def test_an_engine_that_is_not_installed_is_a_typed_refusal(monkeypatch, engine):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(EngineError, match=rf"pip install 'hazardmill\[{engine}\]'"):
        solve_task(soup_document(), engine)


# Ten million states and more, with real engines


def lamps(count: int) -> list[tuple[str, ...]]:
    return [("fluent", f"lamp_{i:02}") for i in range(count)]


def flips(*switched: tuple[str, ...]) -> tuple[Effect, ...]:
    return tuple(
        Effect("assign", lamp, value, ("not", lamp) if value else lamp) for lamp in switched for value in (True, False)
    )


def switchboard(count: int) -> Document:
    """Each lamp has a switch, all are to be on: 2 ** count states, and count steps to go."""
    all_lamps = lamps(count)
    return Document.of(
        fluents=[*(FluentDecl(lamp[1]) for lamp in all_lamps), FluentDecl("hot", kind="context")],
        actions=[ActionDecl(f"flip_{lamp[1]}", (), True, flips(lamp)) for lamp in all_lamps],
        initial={("hot",): True},
        goal=("and", *all_lamps),
        dangers=[DangerEntry("flip_lamp_00", ("and", ("fluent", "hot"), ("not", all_lamps[1])))],
    )


def coupled(count: int) -> Document:
    """Switches flip two lamps at a time, and one lamp is to be on: 2 ** (count - 1) states, no plan."""
    all_lamps = lamps(count)
    pairs = itertools.pairwise(all_lamps)
    return Document.of(
        fluents=[*(FluentDecl(lamp[1]) for lamp in all_lamps), FluentDecl("hot", kind="context")],
        actions=[ActionDecl(f"flip_{one[1]}", (), True, flips(one, other)) for one, other in pairs],
        initial={("hot",): True},
        goal=("and", all_lamps[0], *(("not", lamp) for lamp in all_lamps[1:])),
        dangers=[DangerEntry("flip_lamp_00", ("and", ("fluent", "hot"), ("not", all_lamps[1])))],
    )


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    yield tmp_path
    assert gone(tmp_path), processes_in(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_small_switchboards_are_what_they_are_said_to_be():
    small = solve(switchboard(4))
    assert [len(plan or ()) for plan in (small.safe, small.unsafe)] == [4, 4]
    assert solve(coupled(5)).safe is None
    assert solve(coupled(5)).expanded >= 2**4


@pytest.mark.parametrize("document", [switchboard(24), coupled(25)], ids=["solvable", "unsolvable"])
def test_ten_million_states_are_refused_within_the_limit(document):
    with pytest.raises(SearchLimitReached):
        solve_task(document, "exact", limit=2_000)


@pytest.mark.full
def test_ten_million_states_fall_back_on_an_engine(workplace: Path) -> None:
    document = switchboard(24)
    result = solve_task(document, limit=5_000, timeout_s=PATIENCE_S)
    judge = PlanValidator(System(document))
    for answer, safe in ((result.safe, True), (result.unsafe, False)):
        assert answer.engine in ("tamer", "enhsp")
        assert judge.quick(str(answer.plan))[:2] == (True, safe)
        assert (answer.length, answer.optimal) == (24, False)


@pytest.mark.full
@pytest.mark.parametrize("engine", ["auto", "enhsp"])
def test_ten_million_states_without_a_plan_are_refused_and_leave_no_process(workplace: Path, engine) -> None:
    caught: list[Exception] = []
    # All of it is the work of a processor, twice for each engine.
    timeout_s = SHORT_S / 2

    def ask() -> None:
        try:
            solve_task(coupled(25), engine, limit=5_000, timeout_s=timeout_s)
        except (SearchLimitReached, EngineError) as error:
            caught.append(error)

    asker = threading.Thread(target=ask)
    asker.start()
    seen: set[str] = set()
    while asker.is_alive():
        seen.update(command.split()[0].rpartition("/")[2] for command in processes_in(workplace).values())
        asker.join(0.25)
    assert [type(error) for error in caught] == [SearchLimitReached if engine == "auto" else EngineError]
    assert f"enhsp: timeout: no answer within {timeout_s:g} s" in str(caught[0])
    # Without this the test would pass on an engine that never started.
    assert "java" in seen
    assert gone(workplace)
