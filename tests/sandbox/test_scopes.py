"""Which uses of a name may mean the built-in function: against Python's own table of symbols, and case by case."""

from __future__ import annotations

import symtable
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hazardmill.sandbox.policy import inspect
from hazardmill.sandbox.scopes import names_from_outside
from hazardmill.text.parse import parse

NAMES = frozenset({"eval", "open"})


def reached(code: str) -> list[tuple[str, int]]:
    return sorted((found.id, found.lineno) for found in names_from_outside(parse(code), NAMES))


def tables(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    yield table
    for child in table.get_children():
        yield from tables(child)


def reached_by_symtable(code: str) -> set[str]:
    """The names that some scope looks for among the globals, or in a body that looks on when it has not bound them."""
    return {
        symbol.get_name()
        for table in tables(symtable.symtable(code, "<task>", "exec"))
        for symbol in table.get_symbols()
        if symbol.get_name() in NAMES
        and symbol.is_referenced()
        and (symbol.is_global() or (table.get_type() in ("module", "class") and symbol.is_local()))
    }


@pytest.mark.parametrize(
    "code",
    [
        "def f():\n    open = 1\n    return open",
        "def f(open):\n    return open",
        "def f(*open, **eval):\n    return open, eval",
        "f = lambda eval: eval",
        "x = [open for open in ()]",
        "def f():\n    return {open: 1 for open in () if open}",
        "def f():\n    for open in ():\n        g(open)",
        "def f():\n    if (open := 1):\n        return open",
        "def f():\n    return [(open := y) for y in ()], open",
        "def f():\n    try:\n        g()\n    except ValueError as open:\n        g(open)",
        "def f():\n    open = 1\n    def g():\n        return lambda: [open for y in ()]",
        "def f():\n    open = 1\n    class A:\n        x = open",
        "def f():\n    open: int\n    return open",
        "def f():\n    g(open=1)\n    return g.open",
        "class A:\n    def open(self):\n        return self.open()",
        "def f():\n    from a import b as open\n    return open",
        "def f():\n    def open():\n        return open\n    class eval:\n        pass\n    return eval",
    ],
)
def test_what_a_function_binds_is_its_own(code: str) -> None:
    assert reached(code) == []
    assert reached_by_symtable(code) == set()


@pytest.mark.parametrize(
    ("code", "found"),
    [
        # Bound elsewhere, under another scope.
        ("f = lambda eval: 0\nx = eval", [("eval", 2)]),
        ("def g(eval):\n    pass\ndef f():\n    return eval", [("eval", 4)]),
        ("x = [open for open in ()]\ny = open", [("open", 2)]),
        ("def f():\n    return [1 for y in open if y], [open for open in ()]", [("open", 2)]),
        ("def f():\n    return [open for open in open]", [("open", 2)]),
        # Defaults, decorators and annotations belong to the outside.
        ("def f(open=open):\n    return open", [("open", 1)]),
        ("f = lambda open, *, y=open: open", [("open", 1)]),
        ("@open\ndef f(open: eval) -> eval:\n    pass", [("eval", 2), ("eval", 2), ("open", 1)]),
        ("class open(open, x=eval):\n    pass", [("eval", 1), ("open", 1)]),
        # A module and a class may be asked before they have bound it, or after.
        ("x = open\nopen = 1", [("open", 1)]),
        ("def f():\n    return open\nopen = 1", [("open", 2)]),
        ("class A:\n    x = open\n    open = 1", [("open", 2)]),
        ("class A:\n    open = 1\n    def f(self):\n        return open", [("open", 4)]),
        ("class A:\n    open = 1\n    x = [open for y in ()]", [("open", 3)]),
        ("def f():\n    open = 1\n    class A:\n        x = open\n        open = 2", [("open", 4)]),
        ("try:\n    pass\nexcept ValueError as open:\n    pass\nopen", [("open", 5)]),
        ("open += 1", [("open", 1)]),
        ("class A:\n    open += 1", [("open", 2)]),
        # This looks like a binding and is none.
        ("def f():\n    (open): int\n    return open", [("open", 3)]),
        ("def f():\n    self.open = 1\n    return open", [("open", 3)]),
        ("def f():\n    g(open=open)", [("open", 2)]),
        ("from a import open\nopen", [("open", 2)]),
    ],
)
def test_what_else_is_called_so_is_found_on_its_line(code: str, found: list[tuple[str, int]]) -> None:
    assert reached(code) == found
    if "+=" not in code:  # the table of symbols does not call that a reading
        assert reached_by_symtable(code) == {name for name, _ in found}


def test_the_policy_asks_the_scopes() -> None:
    head = "from hazardmill.formalism.authoring import PlanningTask\nclass Task(PlanningTask):\n"
    body = "    def build(self):\n        open = self.action('open')\n        open.sets(open)\n"
    assert inspect(head + body) == []
    (found,) = inspect(head + body + "        self.x = lambda eval: eval\n        self.y = eval\n")
    assert (found.rule, found.line, found.message) == ("name", 7, "use of eval")


@pytest.mark.parametrize("line", ["global open", "nonlocal open", "match 1:\n            case open: pass", "del open"])
def test_what_the_scopes_do_not_understand_is_refused(line: str) -> None:
    head = "from hazardmill.formalism.authoring import PlanningTask\nclass Task(PlanningTask):\n    def build(self):\n"
    assert "node" in {finding.rule for finding in inspect(head + f"        {line}\n        open('x')\n")}


def test_trees_may_be_deeper_than_python_recurses() -> None:
    code = "x = " + "1 + " * 1_500 + "open"
    assert reached(code) == [("open", 1)]


def indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())


ATOMS = st.sampled_from(["open", "eval", "x", "1"])
VARIABLES = st.sampled_from(["open", "eval", "x"])


def expressions() -> st.SearchStrategy[str]:
    def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        return st.one_of(
            st.builds("({} + {})".format, inner, inner),
            st.builds("(lambda {0}, y={1}: {2})".format, VARIABLES, inner, inner),
            st.builds("[{1} for {0} in {2} if {3}]".format, VARIABLES, inner, inner, inner),
            st.builds("{{{1}: {2} for z in {3} for {0} in {2}}}".format, VARIABLES, inner, inner, inner),
            st.builds("g({}={})".format, VARIABLES, inner),
            st.builds("x.{}".format, VARIABLES),
        )

    return st.recursive(ATOMS, larger, max_leaves=5)


def blocks() -> st.SearchStrategy[str]:
    simple = st.one_of(
        st.builds("{}\n".format, expressions()),
        st.builds("{} = {}\n".format, VARIABLES, expressions()),
        st.builds("{}: {}\n".format, VARIABLES, expressions()),
        st.builds("({}): {}\n".format, VARIABLES, expressions()),
        st.builds("({} := {})\n".format, VARIABLES, expressions()),
        st.builds("from a import b as {}\n".format, VARIABLES),
    )

    def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        body = st.lists(inner, min_size=1, max_size=3).map("".join)
        return st.one_of(
            body,
            st.builds(
                lambda name, v, e, b: f"def {name}({v}={e}):\n{indented(b)}", VARIABLES, VARIABLES, expressions(), body
            ),
            st.builds(lambda name, e, b: f"class {name}({e}):\n{indented(b)}", VARIABLES, expressions(), body),
            st.builds(lambda v, e, b: f"for {v} in {e}:\n{indented(b)}", VARIABLES, expressions(), body),
            st.builds(lambda v, b: f"try:\n{indented(b)}except ValueError as {v}:\n{indented(b)}", VARIABLES, body),
        )

    return st.recursive(simple, larger, max_leaves=6)


@given(blocks())
def test_the_scopes_are_those_of_python(code: str) -> None:
    assert {name for name, _ in reached(code)} == reached_by_symtable(code), code
