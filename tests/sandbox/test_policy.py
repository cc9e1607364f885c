from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hazardmill.formalism import authoring
from hazardmill.sandbox.policy import inspect
from hazardmill.text import parse

HEAD = "from hazardmill.formalism.authoring import PlanningTask\n\n\nclass Task(PlanningTask):\n"


def task(*lines: str) -> str:
    return HEAD + "    def build(self):\n" + "".join(f"        {line}\n" for line in lines or ("pass",))


@pytest.mark.parametrize(
    "code",
    [
        task(),
        '"""A task."""\nfrom __future__ import annotations\n'
        + "ROOMS: list[str] = ['hall', *NAMES]\nMOST, = (-2 + 3,)\n\n\ndef near(task, room):\n    return task\n\n\n"
        + task(),
        HEAD + "    def __init__(self):\n        super().__init__()\n",
        task("open = self.action('open')", "open.requires(self.fluent('is_closed'))"),
        task("for name in sorted({'a', 'b'}):", "    self.fluent(f'near_{name}')"),
        task("x = [self.fluent(str(i)) for i in range(3)]", "self.goal(*x)"),
        task("x = '\\d'"),
        task("x = 'zwischen\u00a0den Zeilen é \u4e2d'").replace("\n", "\r\n"),
        HEAD.replace("PlanningTask\n", "PlanningTask as Base, And, Not\n").replace("(PlanningTask)", "(Base)")
        + "    pass\n",
    ],
    ids=[
        "plain",
        "constants and functions",
        "init",
        "action called open",
        "loop",
        "comprehension",
        "doubtful escape",
        "texts",
        "alias",
    ],
)
def test_lets_a_task_pass(code: str) -> None:
    assert inspect(code) == []


def test_knows_every_name_that_authoring_offers() -> None:
    code = f"from hazardmill.formalism.authoring import {', '.join(authoring.__all__)}\n"
    assert inspect(code + "class Task(PlanningTask):\n    pass\n") == []


@pytest.mark.parametrize(
    ("line", "rule", "words"),
    [
        ("import os", "import", "import of os"),
        ("from os import path", "import", "import from os"),
        ("from . import authoring", "import", "import from ."),
        ("from .authoring import And", "import", "import from .authoring"),
        ("from hazardmill.formalism.authoring import sys", "import", "offers no sys"),
        ("from hazardmill.formalism.authoring import *", "import", "import of everything"),
        ("exec('x = 1')", "name", "use of exec"),
        ("x = eval", "name", "use of eval"),
        ("x = open('/etc/passwd')", "name", "use of open"),
        ("x = getattr(self, 'y')", "name", "use of getattr"),
        ("x = globals()", "name", "use of globals"),
        ("x = __import__('os')", "name", "use of __import__"),
        ("x = ().__class__", "name", "use of __class__"),
        ("x = __builtins__", "name", "use of __builtins__"),
        ("x = self.__loader__", "name", "use of __loader__"),
        ("x = lambda __import__: 0", "name", "use of __import__"),
        ("x = __name__", "name", "use of __name__"),
        ("x = (i for i in ()).gi_frame", "name", "use of .gi_frame"),
        ("def __getattr__(self, name): pass", "name", "use of __getattr__"),
        ("f(__class__=1)", "name", "use of __class__"),
        ("global x", "node", "Global has no place"),
        ("with x: pass", "node", "With has no place"),
        ("yield 1", "node", "Yield has no place"),
        ("del x", "node", "Delete has no place"),
        ("async def f(): await x", "node", "AsyncFunctionDef has no place"),
        ("match 1:\n            case _: pass", "node", "Match has no place"),
    ],
)
def test_finds_on_its_line(line: str, rule: str, words: str) -> None:
    finding = inspect(task("pass", line))[0]
    assert (finding.rule, finding.line) == (rule, 7)
    assert words in finding.message
    assert finding.mend


@pytest.mark.parametrize(
    ("code", "line", "words"),
    [
        ("class Task(PlanningTask:\n    pass\n", 1, "invalid syntax"),
        ("Here is the task:\n```python\nx = 1\n```\n", 1, "invalid syntax"),
        ("x = 1\ny = '\ud800'\n", 2, "not Unicode"),
        ("x = 1\0\n", None, "null byte"),
        ("x = " + "-" * 150_000 + "1\n", None, "cannot be parsed"),
        ("x = a" + ".a" * 90_000 + "\n", None, "cannot be parsed"),
    ],
    ids=["unclosed", "prose", "surrogate", "null byte", "unary tower", "attribute tower"],
)
def test_code_that_does_not_parse(code: str, line: int | None, words: str) -> None:
    (finding,) = inspect(code)
    assert finding.rule == "syntax"
    assert words in finding.message
    assert line is None or finding.line == line


def test_size_is_limited_in_bytes_and_nodes() -> None:
    assert [f.rule for f in inspect(task() + "#" + "é" * (parse.MAX_BYTES // 2))] == ["size"]
    assert [f.rule for f in inspect(task("x = [" + "1, " * parse.MAX_NODES + "]"))] == ["size"]


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize(
    "comment",
    [
        "# -*- coding: unicode_escape -*-",
        "# coding=utf-7",
        "#coding:latin-1",
        " \t# vim: set fileencoding=utf-8 :",
        "#!/usr/bin/python # encoding=\tcp037",
        "# no encoding: at all",
    ],
)
def test_no_comment_declares_an_encoding(comment: str, number: int) -> None:
    code = "#\n" * (number - 1) + comment + "\n" + task()
    (finding,) = inspect(code)
    assert (finding.rule, finding.line, finding.mend) == ("syntax", number, "leave the comment out: code is UTF-8")
    assert inspect("#\n#\n" + comment.strip() + "\n" + task()) == []


@pytest.mark.parametrize(
    ("sign", "words"),
    [
        ("\ufeff", "a byte order mark"),
        ("\0", "a null byte"),
        ("\f", "U+000C"),
        ("\v", "U+000B"),
        ("\r", "a carriage return without a line feed"),
        ("\x1a", "U+001A"),
        ("\x85", "U+0085"),
        ("\u2028", "line separator"),
        ("\u202e", "right-to-left override"),
        ("\u2066", "left-to-right isolate"),
        ("\u200b", "zero width space"),
        ("\u00ad", "soft hyphen"),
        ("\U000e0041", "tag latin capital letter a"),
    ],
)
@pytest.mark.parametrize(
    "place", ["{}" + HEAD, "#\n# {} a comment\n" + HEAD, HEAD + "    x = '{}'\n", HEAD + "    {}pass"]
)
def test_nothing_is_read_otherwise_by_an_editor(sign: str, words: str, place: str) -> None:
    code = place.format(sign)
    (finding,) = inspect(code + "\n")
    assert (finding.rule, finding.line) == ("syntax", place[: place.index("{}")].count("\n") + 1)
    assert words in finding.message
    assert "leave it out" in finding.mend


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("if __name__ == '__main__':\n    Task.run_cli()", "`If` is not allowed at the top"),
        ("if True:\n    x = 1", "`If` is not allowed"),
        ("for x in ():\n    pass", "`For` is not allowed"),
        ("while 0:\n    pass", "`While` is not allowed"),
        ("try:\n    x = 1\nexcept Exception:\n    x = 2", "`Try` is not allowed"),
        ("assert True", "`Assert` is not allowed"),
        ("raise ValueError", "`Raise` is not allowed"),
        ("print(1)", "`Expr` is not allowed"),
        ("Task.run_cli()", "`Expr` is not allowed"),
        ("x += 1", "`AugAssign` is not allowed"),
        ("x: str", ""),
        ("x = print()", "uses more than literals"),
        ("f = lambda eval: 0", "uses more than literals"),
        ("x = [y for y in ()]", "uses more than literals"),
        ("x = f'{1}'", "uses more than literals"),
        ("x = 1 if 2 else 3", "uses more than literals"),
        ("x: print() = 1", "uses more than literals"),
        ("Task.build = None", "uses more than literals"),
        ("x = (y := 1)", "uses more than literals"),
    ],
)
def test_the_top_of_a_module_only_declares(statement: str, words: str) -> None:
    found = [finding for finding in inspect(task() + statement + "\n") if finding.rule == "top"]
    assert [finding.line for finding in found] == ([7] if words else [])
    assert all(words in finding.message and "hazardmill adds one" in finding.mend for finding in found)


def test_exactly_one_task() -> None:
    (none,) = inspect("x = 1\n")
    assert (none.rule, none.line) == ("class", None)
    (second,) = inspect(task() + "\n\nclass Other(PlanningTask):\n    pass\n")
    assert (second.rule, second.line) == ("class", 9)
    (beside,) = inspect("class Other:\n    pass\n" + task())
    assert (beside.rule, beside.line) == ("class", 1) and "is a second class" in beside.message
    (own,) = inspect("class PlanningTask:\n    pass\n\n\nclass Task(PlanningTask):\n    pass\n")
    assert "no class subclasses" in own.message


def test_findings_come_in_the_order_of_lines() -> None:
    lines = [finding.line for finding in inspect("import os\n" + task("exec('')", "import sys", "x = eval"))]
    assert lines == sorted(lines, key=lambda line: line or 0)
    assert len(lines) == 4


def test_a_task_may_be_given_by_its_document() -> None:
    head = "from hazardmill.formalism.json_task import JsonTask\n\n\nclass Task(JsonTask):\n    document_json = '{}'\n"
    assert inspect(head) == []
    (other,) = inspect(head.replace("import JsonTask", "import JsonTask, json"))
    assert "hazardmill.formalism.json_task offers no json" in other.message


@given(st.text())
def test_never_fails_on_any_text(code: str) -> None:
    assert inspect(code)
