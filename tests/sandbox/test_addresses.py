"""Nothing that comes out of the jail depends on where the interpreter put a value in memory.

Each fork of a zygote has its layout, so every run here has a zygote of its own.
"""

from __future__ import annotations

import json

import pytest

from hazardmill.formalism.document.document import Document
from hazardmill.sandbox.check import CheckFailure, check
from hazardmill.sandbox.jail import Jail

RUNS = 8

HEAD = """\
from hazardmill.formalism.authoring import And, Equals, Exists, Or, PlanningTask


class TidyRoom(PlanningTask):
    realised_by = "carry"

    def build(self):
        rooms = [self.type(name) for name in "bath hall shed loft yard cave".split()]
        spots = [self.object(f"in_{room.name}", room) for room in rooms]
        flags = [self.fluent(f"seen_{room.name}") for room in rooms]
        wet = [self.fluent(f"wet_{room.name}", room) for room in rooms]
        count = self.integer("count", lower=0, upper=9)
        hot = self.context("hot")
        carry = self.action("carry", one=rooms[0], two=rooms[1], six=rooms[2], ten=rooms[3])
        carry.sets(*flags)
        others = [self.action(f"do_{room.name}").sets(flags[0]) for room in rooms]
        self.initially(hot)
        self.danger(carry, when=hot & ~flags[0])
"""

WALKS = {
    "types": "self.objects(rooms[0], *[f'at_{room.name}' for room in set(rooms)])\nself.goal(flags[0])",
    "objects": "wets = dict(zip(spots, wet))\nself.goal(*[wets[spot](spot) for spot in frozenset(spots)])",
    "fluents": "self.goal(*set(flags))",
    "applications": "self.goal(*{fluent(spot) for fluent, spot in zip(wet, spots)})",
    "conditions": "self.goal(Or(*{~flag for flag in flags}))",
    "connectives": "self.goal(Or(*{flags[i] & flags[i + 1] for i in range(5)}))",
    "quantified": "self.goal(Or(*{Exists(room, fluent) for room, fluent in zip(rooms, wet)}))",
    "comparisons": "self.goal(Or(*{count >= i for i in range(6)}))",
    "terms": "self.goal(Or(*[term > 3 for term in {count + i for i in range(6)}]))",
    "parameters": "ones = {carry.one, carry.two, carry.six, carry.ten}\ncarry.requires(*[Equals(p, p) for p in ones])\n"
    "self.goal(flags[0])",
    "actions": "self.objects(rooms[0], *[f'at_{action.name}' for action in set(others)])\nself.goal(flags[0])",
    "actions by text": "self.objects(rooms[0], *[f'at_{action.name}' for action in sorted(others, key=str)])\n"
    "self.goal(flags[0])",
    "declarations": "by_declaration = {flag.declaration: flag for flag in flags}\n"
    "self.goal(*[by_declaration[declaration] for declaration in set(by_declaration)])",
    "values of several kinds": "mixed = {*rooms, *spots, *others}\n"
    "self.objects(rooms[0], *[f'at_{value}' for value in mixed])\nself.goal(flags[0])",
    "a text in a title": "self.title = f'{self.build} {others[0]} {self}'\nself.goal(flags[0])",
}


def draft(body: str) -> str:
    return HEAD + "".join(f"        {line}\n" for line in body.splitlines())


@pytest.fixture(scope="module")
def outcomes() -> dict[str, list[Document | CheckFailure]]:
    """What each draft gives in each of several zygotes."""
    texts = {name: draft(body) for name, body in (WALKS | TOLD | REFUSED).items()}
    found: dict[str, list[Document | CheckFailure]] = {name: [] for name in texts}
    for _ in range(RUNS):
        with Jail("full") as jail:
            for name, text in texts.items():
                found[name].append(check(text, jail))
    return found


TOLD = {
    "a set in a message": "self.goal(set(spots))",
    "a function in a message": "self.goal(lambda: 1)",
    "a method in a message": "raise ValueError(self.goal, carry.sets, [].append)",
    "an action in a message": "self.goal(set(others))",
}

REFUSED = {
    "a function in a title": "self.title = f'tidy with {(lambda: 1)}'\nself.goal(flags[0])",
    "a type of danger": "self.danger(carry, when=hot, danger_type=str(lambda: 1))\nself.goal(flags[0])",
    "a type of danger with a method": "self.danger(carry, when=hot, danger_type=f'{[].append}')\nself.goal(flags[0])",
}


@pytest.mark.parametrize("name", WALKS)
def test_a_walk_through_a_set_gives_one_document(outcomes, name):
    documents = outcomes[name]
    assert all(isinstance(document, Document) for document in documents), documents[0]
    assert len({json.dumps(document.to_json()) for document in documents}) == 1


@pytest.mark.parametrize("name", TOLD)
def test_a_mistake_is_told_in_the_same_words(outcomes, name):
    failures = outcomes[name]
    assert all(isinstance(failure, CheckFailure) and failure.reason == "exception" for failure in failures), failures[0]
    assert len(set(failures)) == 1
    assert "0x" not in failures[0].message


@pytest.mark.parametrize("name", REFUSED)
def test_an_address_is_refused_as_text(outcomes, name):
    failures = outcomes[name]
    assert all(isinstance(failure, CheckFailure) for failure in failures), failures[0]
    assert len(set(failures)) == 1
    assert "contains the repr of a Python object, with its memory address" in failures[0].message
    assert failures[0].mend and "plain text" in failures[0].mend
