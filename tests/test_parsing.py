"""Parsing from several threads at once."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from hazardmill.parsing import parse

NESTED = (
    "x = " + "(" * 40 + "1" + ")" * 40 + "\n" + "\n".join(f"y{i} = [a.b(c)[{i}] for a in d if e]" for i in range(50))
)


def test_threads_do_not_disturb_each_other():
    with ThreadPoolExecutor(4) as pool:
        trees = list(pool.map(parse, [NESTED] * 200))
    assert {len(tree.body) for tree in trees} == {51}


def test_a_doubtful_escape_is_read_and_a_mistake_is_not():
    assert parse("x = '\\d'").body
    with pytest.raises(SyntaxError):
        parse("x = (")
