"""Asking the offline author without the stages, and what a checker would say of its answers."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any, NamedTuple

from hazardmill.errors import AuthoringError
from hazardmill.formalism.authoring import PlanningTask
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.proofs.certificate import CLAIM_BY_NAME, certify
from hazardmill.formalism.proofs.claim import Certificate
from hazardmill.generation.judge import describe
from hazardmill.llm.requests import AnswerKey, Message, Stage
from hazardmill.testing.offline_author import answer

CONTEXTS = {
    "knife": "Narrative: 32 YOF CUT LEFT INDEX FINGER WITH KNIFE WHILE CUTTING CORN AT HOME\n"
    "Products: knives, not elsewhere classified\nDiagnosis: laceration\nBody part: finger\nLocation: home\n"
    "Disposition: treated and released\nAge group: adult (32 years)\nSex: female",
    "floor": "Narrative: 81 YOM AT THE NH SLIPPED ON WET BATHROOM FLOOR AND FELL\n"
    "Products: floors or flooring materials\nDiagnosis: fracture\nBody part: neck\n"
    "Location: public place\nAge group: older adult (81 years)\nSex: male",
    "toddler": "Narrative: 14 MOF SWALLOWED A BATTERY OUT OF A TOY IN THE LIVING ROOM\n"
    "Products: toys, not elsewhere classified; batteries\nDiagnosis: ingestion\nBody part: internal\nLocation: home\n"
    "Age group: baby (14 months)\nSex: female",
    "school": "Narrative: 12YOM IN SCHOOL DROPPED BOOK ON HAND\nProducts: books, magazines, albums or scrapbooks\n"
    "Diagnosis: contusion or abrasion\nBody part: hand\nLocation: school\nAge group: child (12 years)\nSex: male",
    "laundry": "Activity: sorting laundry\nObjects: undergarment; hamper; sock; jersey; floor; cabinet; bed\n"
    "Rooms: utility room; bedroom\nStart: sock 1 is on top of the floor; the hamper is on top of the bed\n"
    "Goal: each sock is inside the cabinet and the jersey is folded and the bed is not covered with dust",
    "mouse": "Activity: set up a mouse cage\n"
    "Objects: floor; petfood; petfood bag; hand towel; hamster wheel; hutch; bowl\n"
    "Rooms: living room\nStart: the bowl is on top of the floor\n"
    "Goal: the bowl is filled with petfood and the hamster wheel is inside the hutch",
    "ironing": "Title: Press a blouse\n"
    "Description: I plug in the iron in the bedroom, press the blouse and answer the door.\n"
    "Steps: walk to bedroom; find ironing board; unfold ironing board; grab iron; plug in iron; switch on iron;"
    " find clothes shirt; spread clothes shirt on ironing board; push iron; sit on chair\n"
    "Objects: bedroom; ironing board; iron; clothes shirt; chair 1; chair 2; hands both\n"
    "Start: the iron is off; the clothes shirt is in the laundry room",
    "potato": "Task type: pick, heat, then place in receptacle\n"
    "Instructions: Warm a potato and set it on the table.; Put a hot potato on the dining table.\n"
    "Steps: Turn left and head to the counter.; Pick up the potato.; Open the microwave and heat the potato.;"
    " Bring the potato to the dining table.\nRoom: kitchen\n"
    "Objects: potato; butter knife; kettle; soap bottle; dish sponge\n"
    "Target: potato; at: dining table; sliced: no\nPlan: go to counter top; pick up potato; heat potato",
    "reading room": "Setting: reading room\nBehavior: hum a march loudly\n"
    "Constraints: the person's role is librarian; the other person's role is student; lighting is not dark\n"
    "Norm: taboo",
    "bare": "Note: something was carried somewhere",
}
"""Records of the five sources and of none, invented for these tests."""

SOURCES = {"laundry": "bddl", "mouse": "bddl", "ironing": "virtualhome", "potato": "alfred", "reading room": "normbank"}
"""Which source a record of ``CONTEXTS`` is like, if not NEISS."""


class Run(NamedTuple):
    """What became of a record that was asked about until it was accepted or five drafts were spent."""

    outcome: str
    danger: dict[str, Any] | None
    answers: list[str]
    reasons: list[str]
    """The first reason of each draft that did not pass."""
    document: Document | None
    certificate: Certificate | None


def user(*blocks: str) -> list[Message]:
    return [
        Message(role="system", content="<record>not this one</record>"),
        Message(role="user", content="\n".join(blocks)),
    ]


def record_block(context: str, source: str = "neiss") -> str:
    return f'<record source="{source}" id="{source}:1">\n{context}\n</record>'


def danger_block(danger: dict[str, Any]) -> str:
    return f"<danger>\n{json.dumps(danger, indent=1)}\n</danger>"


def key(stage: Stage, record_hash: str = "0" * 64, draft: int | None = None, sample: int = 0) -> AnswerKey:
    return AnswerKey(record_hash=record_hash, stage=stage, draft=draft, sample=sample)


def module_in(text: str) -> str:
    blocks = re.findall(r"```python\n(.*?)(?:```|\Z)", text, re.DOTALL)
    assert len(blocks) == 1
    return blocks[0]


def build(code: str) -> Document:
    """Run the code of a task and return its document."""
    names: dict[str, Any] = {"__name__": "task"}
    exec(compile(code, "task.py", "exec"), names)
    tasks = [v for v in names.values() if isinstance(v, type) and issubclass(v, PlanningTask) and v is not PlanningTask]
    assert len(tasks) == 1
    return tasks[0]().document()


@lru_cache(maxsize=8)
def proved(code: str) -> tuple[Document, Certificate]:
    """The document of a task's code, and what is proved of it."""
    document = build(code)
    return document, certify(document, 20_000)


def examine(code: str) -> tuple[Document | None, Certificate | None, list[str]]:
    """Document, certificate and the reason codes of what is wrong with the code."""
    try:
        document, certificate = proved(code)
    except SyntaxError:
        return None, None, ["syntax"]
    except AuthoringError:
        return None, None, ["exception"]
    except (NameError, AttributeError):
        return None, None, ["exception"]
    return document, certificate, [CLAIM_BY_NAME[line.name].reason for line in certificate.refusals]


def feedback(*reasons: str) -> str:
    return "Draft did not pass.\n" + "\n".join(f"check: some\nreason: {reason}\nfound: this" for reason in reasons)


def extract(context: str, record_hash: str, source: str = "neiss") -> dict[str, Any]:
    """The extraction, after a repair turn if one is needed."""
    messages = user(record_block(context, source))
    text = answer(messages, key("extract", record_hash))
    try:
        return json.loads(re.sub(r"\A.*?```json\n(.*)\n```.*\Z", r"\1", text, flags=re.DOTALL))
    except ValueError:
        messages += [Message(role="assistant", content=text), Message(role="user", content="That cannot be read.")]
        return json.loads(answer(messages, key("extract", record_hash)))


def author(context: str, danger: dict[str, Any], record_hash: str, draft: int = 1, *more: str, sample: int = 0) -> str:
    return answer(user(record_block(context), danger_block(danger), *more), key("author", record_hash, draft, sample))


def again(previous: str, *reasons: str) -> tuple[str, str]:
    """The blocks that a later draft is asked with."""
    return f"<previous_draft>\n{previous}\n</previous_draft>", f"<feedback>\n{feedback(*reasons)}\n</feedback>"


def judge(danger: dict[str, Any], code: str) -> list[str]:
    """The criteria that the judge finds fault with in the task of a module."""
    return judge_told(danger, describe(*proved(code)))


def judge_told(danger: dict[str, Any], task: str) -> list[str]:
    """The criteria that the judge finds fault with in a task as it is told of it."""
    text = answer(user(danger_block(danger), f"<task>\n{task}\n</task>"), key("judge"))
    verdict = json.loads(text)
    assert (verdict["verdict"] == "approved") == (not verdict["issues"])
    return [issue["criterion"] for issue in verdict["issues"]]


def mill(context: str, record_hash: str, source: str = "neiss") -> Run:
    """Bring one record through extraction and at most five drafts."""
    found = extract(context, record_hash, source)
    if "no_danger" in found:
        return Run("no_danger", None, [], [], None, None)
    danger, blocks = found["danger"], ()
    answers: list[str] = []
    first: list[str] = []
    for draft in range(1, 6):
        text = author(context, danger, record_hash, draft, *blocks)
        code = module_in(text)
        document, certificate, reasons = examine(code)
        if not reasons:
            reasons = [f"judge:{criterion}" for criterion in judge(danger, code)]
        answers.append(text)
        if not reasons:
            return Run("accepted", danger, answers, first, document, certificate)
        first.append(reasons[0])
        blocks = again(code, *reasons)
    return Run(
        "quality_failed" if first[-1].startswith("judge") else "execution_failed", danger, answers, first, None, None
    )
