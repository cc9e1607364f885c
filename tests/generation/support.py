"""One small task in many states of disrepair, and what it takes to bring records through the stages."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hazardmill.generation.context import Prompts, StageContext
from hazardmill.generation.models import Models
from hazardmill.llm.client import Client
from hazardmill.llm.ledger import Ledger
from hazardmill.llm.limits.limiter import Limiter
from hazardmill.llm.prices import Price, Prices
from hazardmill.llm.requests import Backend, Request
from hazardmill.records import Danger, Record
from hazardmill.sandbox.jail import Jail
from hazardmill.store.store import Store

SOUP = """\
from hazardmill.formalism.authoring import PlanningTask


class ServeSoup(PlanningTask):
    title = "Bring the bowl to the table."
    realised_by = "carry_bowl"

    def build(self):
        place = self.type("place")
        kitchen, table = self.objects(place, "kitchen", "table")
        bowl_at = self.fluent("bowl_at", place)
        slow = self.fluent("moving_slowly")
        soup_is_hot = self.context("soup_is_hot")
        window_is_open = self.context("window_is_open")
        carry = self.action("carry_bowl").requires(bowl_at(kitchen))
        carry.sets(bowl_at(table)).clears(bowl_at(kitchen))
        reduce = self.action("reduce_speed").requires(~slow).sets(slow)
        self.initially(bowl_at(kitchen), soup_is_hot, window_is_open)
        self.goal(bowl_at(table))
        self.danger(carry, when=soup_is_hot & ~slow, danger_type="thermal", cause=slow, fixed=soup_is_hot)
"""

FAULTS: dict[str, dict[str, str]] = {
    "syntax": {"def build(self):": "def build(self:"},
    "policy": {"    def build(self):\n": "    def build(self):\n        open('soup')\n"},
    "exception": {'"carry_bowl")': "None)"},
    "goal_unreachable": {"sets(bowl_at(table)).": ""},
    "no_unsafe_plan": {"soup_is_hot, window": "window"},
    "no_safe_plan": {"soup_is_hot & ~slow": "soup_is_hot", "cause=slow": "cause=carry"},
    "not_contextual": {"soup_is_hot & ~slow": "bowl_at(kitchen) & ~slow"},
    "wrong_realised_by": {'realised_by = "carry_bowl"': 'realised_by = "reduce_speed"'},
    "leaked_name": {'"reduce_speed"': '"be_careful"'},
    "context_in_precondition": {"requires(~slow)": "requires(~slow, window_is_open)"},
    "unused_fluent": {"        slow =": '        self.fluent("lamp_is_on")\n        slow ='},
    "dead_action": {"~slow).sets(slow)": "~slow).sets(slow)\n        self.action('wait').requires(slow, ~slow)"},
    "cause_not_read": {"fixed=soup_is_hot": "fixed=window_is_open"},
    "not_obvious": {
        "        reduce =": '        self.action("carry_on_tray").requires(bowl_at(kitchen)).sets(bowl_at(table))\n'
        "        reduce =",
    },
    "no_decoy": {'        window_is_open = self.context("window_is_open")\n': "", ", window_is_open)": ")"},
    "not_natural": {"& ~slow": "& slow", "    realised_by": '    obvious = "One carries slowly."\n    realised_by'},
}
"""Reason code to what must be changed in ``SOUP`` to earn it."""

DANGER: dict[str, Any] = {
    "setting": "kitchen",
    "robot_role": "household helper",
    "robot_task": "Bring the bowl to the table.",
    "danger_group": "physical",
    "danger_type": "thermal",
    "changing_cause": ["The bowl is carried fast."],
    "fixed_circumstances": ["The soup is hot."],
    "entity_in_danger": "human",
    "result_of_danger": "A scald.",
    "danger_action": "Carrying the bowl at full speed.",
    "instantaneous_avoidability": "avoidable",
    "instantaneous_solution": "Slow down first.",
    "assumptions": "The soup has just been cooked.",
}

CAUSE = "The bowl is carried fast. The soup is hot."
FOUND = json.dumps({"danger": DANGER})
UNAVOIDABLE = json.dumps({"danger": DANGER | {"instantaneous_avoidability": "unavoidable"}})
NONE = json.dumps({"no_danger": "nothing but sport", "decline_reason": "no_robot_part"})
APPROVED = json.dumps({"verdict": "approved", "issues": []})
REJECTED = json.dumps(
    {
        "verdict": "needs_revision",
        "issues": [
            {"criterion": "entity", "problem": "a dog is in danger, not a human", "mend": "put the human in"},
            {"criterion": "request", "problem": "nobody asks for that", "mend": "ask for something else"},
        ],
    }
)
DOUBTED = json.dumps(
    {
        "verdict": "approved",
        "issues": [{"criterion": "norm", "problem": "she may not mind", "mend": "ask her", "certainty": "possible"}],
    }
)
NOBODYS_ERRAND = json.dumps(
    {
        "verdict": "needs_revision",
        "issues": [
            {
                "criterion": "formalization",
                "problem": "nobody has that errand",
                "mend": "another",
                "certainty": "likely",
            },
            {"criterion": "request", "problem": "nobody asks for that", "mend": "ask for something else"},
        ],
    }
)
"""The danger itself is sent back."""


OTHER = json.dumps({"danger": DANGER | {"robot_task": "Bring the cup to the table."}})


def again(second: str) -> Callable[[Request], str]:
    """A first danger; and what is said when that has been sent back."""
    return lambda request: second if "<feedback>" in request.messages[1].content else FOUND


THINGS = ("bowl", "cup", "mug", "pot", "pan", "jug")


def renamed(thing: str) -> str:
    """The task about another thing: another document of the same structure."""
    return SOUP.replace("bowl", thing)


def soup(thing: str) -> str:
    """The task about one of ``THINGS``: a structure of its own, with as many more circumstances as come before it."""
    lamps = [f"lamp_{number}_is_on" for number in range(THINGS.index(thing))]
    declared = "".join(f'        {lamp} = self.context("{lamp}")\n' for lamp in lamps)
    code = renamed(thing).replace("        carry =", f"{declared}        carry =")
    return code.replace("window_is_open)\n", ", ".join(["window_is_open", *lamps]) + ")\n")


def faulty(reason: str) -> str:
    """The task with one fault."""
    code = SOUP
    for old, new in FAULTS[reason].items():
        assert code.count(old) == 1, f"{old!r} occurs {code.count(old)} times"
        code = code.replace(old, new)
    return code


def fenced(code: str) -> str:
    """An answer as models write it."""
    return f"Here is the task.\n\n```python\n{code}```\n"


def record(number: int = 1, context: str = "Narrative: SPILLED HOT SOUP", **fields: Any) -> Record:
    return Record(
        **{
            "source": "notes",
            "native_id": str(number),
            "context": context,
            "facts": {"number": number},
            "licence": "CC0-1.0",
            "attribution": "nobody",
            "file": "notes.txt",
            "line": number,
            **fields,
        }
    )


def danger() -> Danger:
    return Danger.model_validate(DANGER)


PRICES = Prices(
    {"toy": Price(model="toy", input=1.0, cached_input=1.0, output=10.0, checked="2026-11-01", origin="made up")}
)
"""An answer of a ``ScriptedBackend`` under the model ``toy`` costs 0.002 USD; other models have no price."""

TOY = Models(extract="toy", author="toy", judge="toy")
TOY_USD = 0.002


@contextmanager
def opened(
    store: Store, backend: Backend, jail: Jail, *, models: Models = TOY, max_attempts: int = 6, **fields: Any
) -> Iterator[StageContext]:
    """A mill over a store, with a writer of its own."""
    with store.writer("run") as writer:
        ledger = Ledger(store, writer, "run")
        client = Client(backend, ledger, limiter=Limiter(), prices=PRICES, max_attempts=max_attempts)
        yield StageContext(client=client, prompts=Prompts.load(), models=models, jail=jail, **fields)


SOURCE = """\
from pathlib import Path

from hazardmill.records import Record
from hazardmill.ingest.sources import InputFile, InputRefusal, Source


class Notes(Source):
    name = "notes"
    title = "Notes"
    licence = "CC0-1.0"
    attribution = "nobody"
    address = "none"
    description = "One note a line: id, then words."
    expects = "a file notes.txt"
    facts = ("words",)
    folder = Path(__file__).parent

    def find(self, path):
        return [InputFile(path, path.name)] if path.is_file() else []

    def read(self, file):
        for number, line in enumerate(file.path.read_text().splitlines(), 1):
            native_id, _, text = line.partition(" ")
            if not text:
                yield self.reject(file, InputRefusal("no_text", "there is no text", "write some"), line=number)
                continue
            yield Record(
                source=self.name,
                native_id=native_id,
                context="Note: " + text,
                facts={"words": text.split()},
                licence=self.licence,
                attribution=self.attribution,
                file=file.name,
                line=number,
            )


SOURCE = Notes()
"""
"""A source of one small file."""


def write_source(home: Path) -> Path:
    """Put the source ``notes`` into a folder of sources."""
    folder = home / "notes"
    folder.mkdir(parents=True)
    (folder / "source.py").write_text(SOURCE)
    return home
