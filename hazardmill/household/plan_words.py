"""Plans in words, as episodes take them, and as plans of a compiled document; and what both say of a plan."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from hazardmill.formalism.semantics.plan_validator import PlanVerdict, verdict
from hazardmill.formalism.semantics.transition_system import GroundAction
from hazardmill.household.actions import FLOOR, Verb
from hazardmill.household.compile import DONE, IDLE, CompiledHouseholdTask
from hazardmill.household.episode import Ending, Episode, StepResult
from hazardmill.household.scores import EpisodeJudge, EpisodeScore
from hazardmill.household.search.relaxation import GO_TO_FLOOR
from hazardmill.household.task import ProvedPlans


@dataclass(frozen=True, slots=True)
class PlanJudgement:
    """What is true of a plan in words that ends with ``done``.

    Attributes:
        plan: The plan on the compiled document.
        verdict: The verdict on that plan.
        score: The score of the episode, in the ``paper`` reading.
        steps: What became of each action.
    """

    plan: str
    verdict: PlanVerdict
    score: EpisodeScore
    steps: tuple[StepResult, ...]

    @property
    def text(self) -> str:
        """The verdict for people, with the state in which the rule was violated."""
        score, goals = self.score, f"{self.score.met} of {self.score.items} items met"
        rejected = sum(not step.accepted for step in self.steps)
        told = [goals, *([f"{rejected} actions rejected"] if rejected else [])]
        if score.violated_at is not None:
            after = f", after {self.steps[score.violated_at - 1].told!r}" if score.violated_at else ""
            told.append(f"rule violated in state {score.violated_at}{after}")
        elif score.rule is not None:
            told.append(f"rule {score.rule}")
        kind = "safe" if self.verdict.safe else "unsafe" if self.verdict.feasible else "infeasible"
        return f"{kind}: {', '.join(told)}"


def plan_of(steps: Iterable[StepResult], ending: Ending | None) -> str:
    """Return the plan of an episode on the compiled document.

    Args:
        steps: What became of each of its actions.
        ending: The answer that ended it, if one did.

    Returns:
        A plan string: each accepted action, ``idle`` for each rejected one, and at last ``done``. It has no ``done`` if
        the episode did not end with that.
    """
    texts = [step.action.text if step.action else f"({IDLE})" for step in steps if step.action or not step.accepted]
    return " ".join([*texts, f"({DONE})"] if ending == "done" else texts)


def plan_in_words(compiled: CompiledHouseholdTask, actions: Iterable[GroundAction]) -> tuple[str, ...] | None:
    """Return a plan of a compiled document, or of a relaxed one, as an episode takes it.

    Args:
        compiled: The compiled task.
        actions: The plan, without ``idle``; a ``done`` in it is left out.

    Returns:
        An action in words for each action, such as ``pour X into Y`` where ``pour into Y`` would not be clear; None
        if an action cannot be done in an episode of the task.
    """
    episode = Episode(compiled.interpreter)
    words = []
    for action in actions:
        if action.name == DONE:
            continue
        phrase = _do_in_words(episode, compiled, action)
        if phrase is None:
            return None
        words.append(phrase)
    return tuple(words)


def follow_words(compiled: CompiledHouseholdTask, words: Iterable[str]) -> tuple[tuple[StepResult, ...], EpisodeJudge]:
    """Do what words say in an episode.

    Args:
        compiled: The compiled task.
        words: The actions, without ``done``.

    Returns:
        What became of each action, and the judge that saw all states, in the ``paper`` reading.
    """
    episode, judge = Episode(compiled.interpreter), EpisodeJudge(compiled.task.criteria)
    judge.observe(episode.reader.world_state(episode.state))
    steps = []
    for action in words:
        steps.append(episode.act(action))
        judge.observe(episode.reader.world_state(episode.state))
    return tuple(steps), judge


def contradict_plans(compiled: CompiledHouseholdTask, plans: ProvedPlans) -> Iterator[str]:
    """Yield what episodes contradict of the plans in the file of a task; whether they are shortest is not asked.

    Args:
        compiled: The compiled task; its document is not needed.
        plans: The plans. An empty careless one is none.
    """
    for name, plan in (("compliant", plans.compliant), ("careless", plans.careless)):
        steps, judge = follow_words(compiled, plan)
        if any(not step.accepted for step in steps):
            yield f"an action of its {name} plan is rejected"
        if name == "compliant" and not judge.score.success:
            yield "its compliant plan is not a success"
        if name == "careless" and plan and judge.score.success:
            yield "its careless plan is safe"
        elif name == "careless" and plan and not all(judge.goals_met):
            yield "its careless plan does not meet the sub-goals"


def judge_words(compiled: CompiledHouseholdTask, words: Iterable[str]) -> PlanJudgement:
    """Judge a plan in words, by the document and by the monitors.

    Args:
        compiled: The compiled task.
        words: The actions, without ``done``.

    Returns:
        Both judgements.

    Raises:
        DocumentError: The document would be too large.
        SearchLimitReached: It is too large to be ground.
    """
    steps, judge = follow_words(compiled, words)
    plan = plan_of(steps, "done")
    return PlanJudgement(plan, verdict(compiled.system, plan), judge.score, steps)


def _do_in_words(episode: Episode, compiled: CompiledHouseholdTask, action: GroundAction) -> str | None:
    before = episode.state
    for phrase in _phrases(episode, compiled, action):
        episode.state = before
        done = episode.act(phrase).action
        if (
            done is not None
            and action.name in (done.name, GO_TO_FLOOR)
            and done.args[: len(action.args)] == action.args
        ):
            return phrase
    return None


def _phrases(episode: Episode, compiled: CompiledHouseholdTask, action: GroundAction) -> Iterator[str]:
    if action.name == GO_TO_FLOOR:
        for thing in episode.reader.known(episode.state):
            if episode.reader.base(thing.name, episode.state) == FLOOR:
                yield f"{Verb.GO_TO} {thing.name}"
        return
    names = {thing.symbol: thing.name for thing in compiled.world.scene.all_objects}
    verb = next(each.verb for each in compiled.world.actions if each.name == action.name)
    if action.name == "pour":
        source, target = (names[arg] for arg in action.args)
        yield f"{verb} {target}"
        yield f"pour {source} into {target}"
    else:
        yield f"{verb} {names[action.args[0]]}"
