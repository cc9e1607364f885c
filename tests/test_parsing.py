"""Parsing from several threads at once."""

import gc
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from hazardmill.text.parse import parse

NESTED = "x = " + "(" * 40 + "1" + ")" * 40 + "\n" + "\n".join(f"y{i} = [a.b(c) for a in d if e]" for i in range(50))


class Cycle:
    """Garbage whose end runs Python code, and so lets other threads in while a tree is made."""

    def __init__(self):
        self.me = self

    def __del__(self):
        sum(range(200))


@pytest.fixture
def restless():
    """Threads that change all the time, and a busy collector: what makes the bare parser fail within a second."""
    interval, thresholds = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(1e-6)
    gc.set_threshold(50)
    yield
    sys.setswitchinterval(interval)
    gc.set_threshold(*thresholds)


def test_threads_do_not_disturb_each_other(restless):
    def parsed(code):
        for _ in range(20):
            Cycle()
        return parse(code)

    with ThreadPoolExecutor(4) as pool:
        trees = list(pool.map(parsed, [NESTED] * 300))
    assert {len(tree.body) for tree in trees} == {51}


def test_a_doubtful_escape_is_read_and_a_mistake_is_not():
    assert parse("x = '\\d'").body
    with pytest.raises(SyntaxError):
        parse("x = (")
