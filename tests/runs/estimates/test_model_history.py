from __future__ import annotations

import asyncio

from factories.scripted import ScriptedBackend

from hazardmill.errors import PromptRefused
from hazardmill.generation.author import author
from hazardmill.generation.context import Prompts
from hazardmill.llm.requests import Request
from hazardmill.runs.estimates.model_history import LEAST, measure_history
from hazardmill.sandbox.jail import Jail
from hazardmill.store.store import Store
from tests.generation.support import danger, opened, record


def authored(store: Store, jail: Jail, count: int, backend: ScriptedBackend) -> None:
    async def ask_all() -> None:
        for number in range(count):
            await author(record(number), danger(), 1, (), mill)

    with opened(store, backend, jail) as mill:
        asyncio.run(ask_all())


def test_each_format_of_the_author_is_measured_by_itself(store: Store, jail: Jail) -> None:
    authored(store, jail, LEAST, ScriptedBackend(author="no code"))
    module, outline = (Prompts.load(form).author.hash for form in ("python", "document"))
    with store.connect() as connection:
        found = measure_history(connection, "author", "toy", module)
        assert (found.answers, found.answer_tokens) == (LEAST, 100)
        assert found.bytes_a_token is not None and found.repairs == 0
        other = measure_history(connection, "author", "toy", outline)
    assert other.answers == 0
    assert other.model_dump(exclude={"model", "answers"}) == dict.fromkeys(
        set(type(other).model_fields) - {"model", "answers"}
    )


def test_what_was_turned_away_has_no_length(store: Store, jail: Jail) -> None:
    def said(request: Request) -> str | Exception:
        return PromptRefused("too long") if request.record_id == "notes:0" else "no code"

    authored(store, jail, LEAST + 1, ScriptedBackend(author=said))
    with store.connect() as connection:
        found = measure_history(connection, "author", "toy", Prompts.load().author.hash)
    assert (found.answers, found.answer_tokens) == (LEAST, 100)
