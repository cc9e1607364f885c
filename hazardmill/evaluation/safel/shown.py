"""What the prompts of the four SAFEL tests show of a scenario, and nothing that another test asks for.

| test | shown | asked for |
| --- | --- | --- |
| ``refusal`` | instruction, initial state in words | a decision |
| ``goal`` | instruction, vocabulary, initial state | the literals of the goal |
| ``transition`` | instruction, vocabulary, initial state, goal, one half of an action | its other half |
| ``sequence`` | instruction, domain and problem in PDDL | a plan |

The vocabulary is the types, objects, predicates and functions: nobody can name what was never shown. Actions are no
part of it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from hazardmill.errors import DocumentError
from hazardmill.evaluation.safel.conditions import objects_of_type
from hazardmill.evaluation.safel.refusal import CommandKind
from hazardmill.evaluation.safel.transition import Asked
from hazardmill.formalism.document.document import ActionDecl, Atom, Document, Parameter
from hazardmill.formalism.document.expressions import Expr, render
from hazardmill.formalism.document.lifted_effects import LiftedEffect
from hazardmill.formalism.formats.pddl.plan_names import pddl_texts
from hazardmill.llm.prompts import PromptTemplate, load_prompt
from hazardmill.llm.requests import Message

SafelTest = Literal["refusal", "goal", "transition", "sequence"]
RiskKind = Literal["mal", "sit"]

ASKED: Final[dict[RiskKind, Asked]] = {"mal": "effects", "sit": "preconditions"}
"""Which half of an action is asked for: the *risky effect* or the *safe precondition*."""
GOAL_WORD: Final[dict[RiskKind, str]] = {"mal": "risky", "sit": "safe"}
"""The one word in which the goal prompts of both kinds differ."""


@dataclass(frozen=True)
class SafelQuestion:
    """One question about a scenario or, for refusal, about an ordinary task.

    Attributes:
        test: The test that it belongs to.
        kind: What the instruction belongs to.
        about: Name of the action that was asked about; None for tests that ask about the whole.
        messages: The question as it is sent to a model.
    """

    test: SafelTest
    kind: CommandKind
    about: str | None
    messages: tuple[Message, ...]


def safel_prompt(test: SafelTest) -> PromptTemplate:
    """Return the template of a test.

    Raises:
        PromptError: The template is missing or malformed.
    """
    return load_prompt("evaluate", f"safel_{test}")


def refusal_question(document: Document, instruction: str, kind: CommandKind) -> SafelQuestion:
    """Return the question whether a command should be carried out.

    Args:
        document: The scenario or task, of which the initial state is shown.
        instruction: The command.
        kind: What it belongs to, which is not shown.

    Raises:
        PromptError: The template is missing or malformed.
    """
    messages = safel_prompt("refusal").render(instruction=instruction, state=state_in_words(document))
    return SafelQuestion("refusal", kind, None, messages)


def goal_question(document: Document, instruction: str, kind: RiskKind) -> SafelQuestion:
    """Return the question for the literals of the goal.

    Args:
        document: The scenario.
        instruction: The command.
        kind: ``mal`` asks for the risky goal, ``sit`` for the safe one.

    Raises:
        PromptError: The template is missing or malformed.
    """
    messages = safel_prompt("goal").render(
        instruction=instruction, vocabulary=vocabulary(document), state=initial_state(document), word=GOAL_WORD[kind]
    )
    return SafelQuestion("goal", kind, None, messages)


def transition_question(
    document: Document,
    instruction: str,
    kind: RiskKind,
    action: str,
    lifted: Sequence[LiftedEffect] | None = None,
) -> SafelQuestion:
    """Return the question for the effects (mal) or the precondition (sit) of an action.

    Args:
        document: The scenario.
        instruction: The command.
        kind: Kind of the scenario.
        action: Name of the action.
        lifted: Effects of the action as they were written, where the document has them unfolded.

    Raises:
        DocumentError: There is no such action.
        PromptError: The template is missing or malformed.
    """
    declared = next((each for each in document.actions if each.name == action), None)
    if declared is None:
        known = ", ".join(each.name for each in document.actions)
        raise DocumentError(f"action {action!r} is not declared", remedy=f"name one of the actions: {known or 'none'}")
    asked = ASKED[kind]
    half = effects_text(declared, lifted) if asked == "preconditions" else _conjunction_text(declared.precondition)
    messages = safel_prompt("transition").render(
        instruction=instruction,
        vocabulary=vocabulary(document),
        state=initial_state(document),
        goal=_conjunction_text(document.goal),
        action=f"({_words(declared.name, declared.parameters)})",
        shown="Effects" if asked == "preconditions" else "Precondition",
        half=half,
        word="precondition" if asked == "preconditions" else "effects",
    )
    return SafelQuestion("transition", kind, action, messages)


def sequence_question(document: Document, instruction: str) -> SafelQuestion:
    """Return the question for a plan of a situational scenario.

    Args:
        document: The scenario.
        instruction: The command.

    Raises:
        NotExpressible: PDDL cannot express the scenario, or not with its names of actions and objects.
        PromptError: The template is missing or malformed.
    """
    domain, problem = pddl_texts(document)
    messages = safel_prompt("sequence").render(instruction=instruction, domain=domain.strip(), problem=problem.strip())
    return SafelQuestion("sequence", "sit", None, messages)


def state_in_words(document: Document) -> str:
    """Return the objects and the initial state as lines of words: ``sandwich, box: inside``.

    Underscores become blanks. Of integers every value is given, 0 included.
    """
    things = [f"{_plain(each.name)} ({_plain(each.type)})" for each in document.objects]
    lines = [f"There is: {', '.join(things)}."] if things else []
    facts = [_fact_in_words(atom, value) for atom, value in _initial_values(document)]
    return "\n".join([*lines, "Before the robot begins:", *(f"- {fact}" for fact in facts or ["nothing holds"])])


def vocabulary(document: Document) -> str:
    """Return the types, objects, predicates and functions of a task, one section each: ``inside ?f - food ?a - box``.

    Declarations have no parentheses, so that none looks like a literal, not even one without parameters.
    """
    types = [f"{each.name} - {each.parent}" for each in document.types]
    sections = [
        ("Types", types),
        ("Objects", [f"{each.name} - {each.type}" for each in document.objects]),
        ("Predicates", [_words(each.name, each.parameters) for each in document.fluents if not each.integer]),
        ("Functions", [_words(each.name, each.parameters) for each in document.fluents if each.integer]),
    ]
    return "\n\n".join("\n".join([f"{title}:", *lines]) for title, lines in sections if lines)


def initial_state(document: Document) -> str:
    """Return the initial state in PDDL: the predicates that hold, and the value of every function."""
    lines = [
        f"({' '.join(atom)})" if isinstance(value, bool) else f"(= ({' '.join(atom)}) {value})"
        for atom, value in _initial_values(document)
    ]
    return "\n".join(["Initial state:", *(lines or ["(nothing holds)"])])


def effects_text(action: ActionDecl, lifted: Sequence[LiftedEffect] | None = None) -> str:
    """Return the effects of an action in PDDL, one per line.

    Args:
        action: The action.
        lifted: Its effects as they were written; None to take those of the action.
    """
    given = map(LiftedEffect.of, action.effects) if lifted is None else lifted
    return "\n".join(map(_effect_text, given)) or "(and)"


def _effect_text(effect: LiftedEffect) -> str:
    target = render(effect.target)
    if isinstance(effect.value, bool):
        text = target if effect.value else f"(not {target})"
    else:
        text = f"({effect.operation} {target} {render(effect.value)})"
    if effect.condition is not True:
        text = f"(when {_condition_text(effect.condition)} {text})"
    if effect.variables:
        text = f"(forall ({' '.join(_typed(effect.variables))}) {text})"
    return text


def _condition_text(expr: Expr) -> str:
    # `render` writes constants as words, which are no PDDL.
    return {True: "(and)", False: "(or)"}[expr] if isinstance(expr, bool) else render(expr)


def _conjunction_text(expr: Expr) -> str:
    """Return a condition in PDDL; a conjunction has one line per part."""
    if isinstance(expr, tuple) and expr[0] == "and" and len(expr) > 1:
        return "\n".join(map(_condition_text, expr[1:]))
    return _condition_text(expr)


def _words(name: str, parameters: Iterable[Parameter]) -> str:
    return " ".join((name, *_typed(parameters)))


def _typed(parameters: Iterable[Parameter]) -> list[str]:
    return [f"{each.name} - {each.type}" for each in parameters]


def _plain(name: str) -> str:
    return name.replace("_", " ")


def _fact_in_words(atom: Atom, value: bool | int) -> str:
    name, *things = map(_plain, atom)
    said = f"{', '.join(things)}: {name}" if things else name
    return said if isinstance(value, bool) else f"{said} = {value}"


def _initial_values(document: Document) -> Iterator[tuple[Atom, bool | int]]:
    """Yield what holds at the start, then every ground integer with its value."""
    values = dict(document.initial)
    yield from ((atom, value) for atom, value in document.initial if isinstance(value, bool))
    for fluent in document.fluents:
        if fluent.integer:
            domains = (objects_of_type(document, each.type) for each in fluent.parameters)
            for things in itertools.product(*domains):
                atom = (fluent.name, *things)
                yield atom, values.get(atom, 0)
