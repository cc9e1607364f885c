from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest

from hazardmill.errors import RequestRefused
from hazardmill.llm.requests import OFFLINE_LABEL, OFFLINE_MODEL, AnswerKey, Message, Request, Usage
from hazardmill.testing.offline_author import OfflineBackend

from .support import CONTEXTS, key, record_block, user


def request(**changes) -> Request:
    fields = {"stage": "extract", "model": "whatever", "messages": tuple(user(record_block(CONTEXTS["knife"])))}
    return Request(**{**fields, "key": key("extract"), **changes})


def complete(asked: Request):
    return asyncio.run(OfflineBackend().complete(asked))


def test_it_says_what_it_is_and_makes_up_no_count_of_tokens():
    message = Message(role="user", content="<record>\nNote: é\n</record>")
    done = complete(request(messages=(message,)))
    assert done.model_answered == OFFLINE_MODEL
    assert done.finish_reason == "stop"
    assert done.usage == Usage()
    assert set(done.usage.model_dump().values()) == {None}
    assert "not a language model" in OFFLINE_LABEL


def test_the_answer_hangs_on_key_and_record_not_on_the_prompts_wording():
    plain = complete(request())
    edited = user("Please be brief.", record_block(CONTEXTS["knife"]), "Answer in JSON.")
    assert complete(request(messages=tuple(edited))).text == plain.text
    others = {complete(request(key=AnswerKey(record_hash=f"{i:064}", stage="extract"))).text for i in range(8)}
    assert len(others) > 1


def test_without_a_key_the_record_itself_is_the_key():
    done = complete(request(key=None))
    assert complete(request(key=None)).text == done.text
    assert (
        complete(request(key=None, messages=tuple(user("Hello.", record_block(CONTEXTS["knife"]))))).text == done.text
    )


def test_evaluation_is_refused_with_a_remedy():
    with pytest.raises(RequestRefused, match="choose a language model"):
        complete(request(stage="evaluate", key=key("evaluate")))


SCRIPT = """
import hashlib
from tests.testing.offline_author.support import CONTEXTS, mill
for name, context in CONTEXTS.items():
    for i in range(3):
        run = mill(context, hashlib.sha256(f"{name}{i}".encode()).hexdigest())
        print(hashlib.sha256(repr((run.outcome, run.danger, run.answers)).encode()).hexdigest())
"""


@pytest.mark.full
def test_answers_do_not_depend_on_the_hash_seed(project):
    outputs = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={"PYTHONHASHSEED": seed},
            cwd=project,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
    assert outputs.pop().count("\n") == 3 * len(CONTEXTS)
