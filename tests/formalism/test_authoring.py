from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

from hazardmill.errors import AuthoringError
from hazardmill.formalism import authoring
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.search.exact import solve

HERE = "# <- here"

TEMPLATE = """\
from hazardmill.formalism.authoring import *

class Task(PlanningTask):
    realised_by = "carry"

    def build(self):
        place = self.type("place")
        room = self.type("room", place)
        kitchen = self.object("kitchen", room)
        table = self.object("table", place)
        bowl_at = self.fluent("bowl_at", place)
        slowly = self.fluent("slowly")
        hot = self.context("hot")
        battery = self.integer("battery", lower=0, upper=9)
        carry = self.action("carry", start=room, to=place)
        carry.requires(bowl_at(carry.start), battery >= 1)
        carry.sets(bowl_at(carry.to)).clears(bowl_at(carry.start)).decreases(battery)
        slow = self.action("slow")
        slow.sets(slowly)
        self.initially(bowl_at(kitchen), hot)
        self.initial_value(battery, 5)
        self.goal(bowl_at(table))
        self.danger(carry, when=hot & ~slowly, danger_type="thermal")
"""


def run(source: str) -> Document:
    names: dict = {}
    exec(compile(source, "code.py", "exec"), names)
    return names["Task"]().document()


def with_lines(lines: str, before: str = "        self.goal(") -> str:
    body = textwrap.indent(textwrap.dedent(lines).strip("\n"), "        ")
    assert TEMPLATE.count(before) == 1
    return TEMPLATE.replace(before, body + "\n" + before)


def line_of(source: str) -> int:
    return next(number for number, line in enumerate(source.splitlines(), 1) if HERE in line)


MISTAKES = {
    # what is written: (the message, the mend)
    "place2 = self.type('a place')": ("type 'a place'", "use an ASCII letter"),
    "self.type('place')": ("type place is declared twice", "another name"),
    "self.type('spot', 'place')": ("'place' is not a type of this task", "self.type"),
    "self.type('spot', kitchen)": ("kitchen is not a type of this task", "self.type"),
    "self.type('object')": ("the type `object` is built in and cannot be declared", "without a parent"),
    "self.object('cup', 'item')": ("'item' is not a type of this task", "self.type"),
    "self.object('cup', table)": ("table is not a type of this task", "self.type"),
    "self.object('table', place)": ("object table is declared twice", "another name"),
    "self.object(3, place)": ("3 is not a valid name", "ASCII letter"),
    "self.objects(place, ['a', 'b'])": ("is not a valid name", "ASCII letter"),
    "self.fluent('bowl_at')": ("fluent bowl_at is declared twice", "another name"),
    "self.fluent('dirty', 'place')": ("'place' is not a type of this task", "self.type"),
    "self.context('hot')": ("fluent hot is declared twice", "another name"),
    "self.integer('load', lower=3, upper=1)": ("lower bound 3 is over upper bound 1", None),
    "self.integer('load', lower='0')": ("'0' is not an integer", None),
    "self.action('carry')": ("action carry is declared twice", "another name"),
    "self.action('put down')": ("'put down' is not a valid name", "ASCII letter"),
    "self.action('put', requires=place)": ("a parameter of put cannot be called 'requires'", "another name"),
    "self.action('put', _to=place)": ("'_to' is not a valid name", "ASCII letter"),
    "self.action('put', to='place')": ("'place' is not a type of this task", "self.type"),
    "self.action('put', **{f'p{i}': place for i in range(13)})": ("has 13 parameters, at most 12", None),
    "bowl_at(kitchen, table)": ("bowl_at takes 1 argument(s) (place), got 2", None),
    "bowl_at()": ("bowl_at takes 1 argument(s) (place), got 0", None),
    "bowl_at('table')": ("bowl_at: 'table' is neither an object nor a parameter", "self.object"),
    "bowl_at(table)(table)": ("(bowl_at table) has its arguments already", "without brackets"),
    "slow.requires(bowl_at)": ("bowl_at takes 1 argument(s) (place), got 0", None),
    "slow.requires(bowl_at(carry.to))": ("parameter '?to' is not declared", "known: none"),
    "slow.requires(bowl_at(place))": ("object 'place' is not declared", "kitchen"),
    "carry.requires(bowl_at(carry.too))": ("carry has no parameter or method 'too'", "start, to"),
    "carry.requires(bowl_at(carry['too']))": ("carry has no parameter or method 'too'", "start, to"),
    "carry.require(hot)": ("carry has no parameter or method 'require'", "requires, sets"),
    "bowl_at.initially(kitchen)": ("a fluent has no attribute 'initially'", "self.initially"),
    "carry.requires('hot')": ("'hot' is not a condition", "Boolean fluent"),
    "carry.requires(battery)": ("(battery) is an integer, but a condition is wanted", "compare it"),
    "carry.requires(battery + 1)": ("is not a condition", "Boolean fluent"),
    "carry.requires(hot > 1)": ("(hot) is Boolean, but an integer is wanted", "Iff"),
    "carry.requires(battery > 'x')": ("'x' is not an integer term", "integer fluent"),
    "carry.requires(battery > 1.5)": ("1.5 is not an integer term", "integer fluent"),
    "carry.requires(hot and slowly)": ("no truth value", "& | ~"),
    "carry.requires(not hot)": ("no truth value", "& | ~"),
    "carry.requires(1 < battery < 5)": ("no truth value", "& | ~"),
    "x = 1 if hot else 2": ("no truth value", "& | ~"),
    "carry.requires(battery == 3)": ("== compares nothing here", "Equals"),
    "carry.requires(carry.to != table)": ("== compares nothing here", "Equals"),
    "Equals(carry.to, battery)": ("cannot be compared", "two objects"),
    "Equals(hot, slowly)": ("(hot) is Boolean, but an integer is wanted", "Iff"),
    "And(hot, None)": ("None is not a condition", "Boolean fluent"),
    "Or(hot, battery)": ("(battery) is an integer", "compare it"),
    "Not(kitchen)": ("kitchen is not a condition", "Boolean fluent"),
    "Exists('place', lambda p: bowl_at(p))": ("exists takes a type and a function", "Exists(place, lambda p"),
    "Forall(place, hot & slowly)": ("has its arguments already", "without brackets"),
    "Forall(place, True)": ("forall takes a type and a function", "Forall(place, lambda p"),
    "Forall(place, lambda p: bowl_at(p, p))": ("bowl_at takes 1 argument(s)", None),
    "carry.requires(Forall(place, lambda to: bowl_at(to)))": ("?to is in use already", "another name"),
    "carry.requires(Exists(room, lambda r: Exists(place, lambda r: bowl_at(r))))": ("?r is in use already", "another"),
    "carry.requires(Exists(table, lambda x: hot))": ("type 'table' is not declared", "known: place, room"),
    "slow.sets(hot)": ("action slow writes the context fluent hot", "self.fluent"),
    "slow.sets(battery)": ("a truth value stands where an integer is wanted", None),
    "slow.sets(~slowly)": ("(not (slowly)) is not a fluent", "robot_at(kitchen)"),
    "slow.sets('slowly')": ("'slowly' is not a fluent", "robot_at(kitchen)"),
    "slow.sets(bowl_at(carry.to))": ("parameter '?to' is not declared", "none"),
    "slow.assigns(slowly, 1)": ("(slowly) is Boolean and can only be assigned true or false", None),
    "slow.assigns(battery, True)": ("True is not an integer term", "integer"),
    "slow.increases(slowly)": ("(slowly) is Boolean and can only be assigned", None),
    "slow.decreases(battery, hot)": ("(hot) is Boolean, but an integer is wanted", "Iff"),
    "slow.sets(slowly, when='hot')": ("'hot' is not a condition", "Boolean fluent"),
    "slow.sets(slowly, when=bowl_at(carry.to))": ("parameter '?to' is not declared", "none"),
    "self.initially(kitchen)": ("kitchen is not a fluent", "robot_at(kitchen)"),
    "self.initially(~hot)": ("(not (hot)) is not a fluent", "robot_at(kitchen)"),
    "self.initially(battery)": ("(battery) is an integer", "initial_value"),
    "self.initially(bowl_at(carry.to))": ("parameter '?to' is not declared", "none"),
    "self.initial_value(battery, 6)": ("(battery) has two initial values", None),
    "self.initial_value(battery, 10)": ("10 is out of the bounds of (battery)", None),
    "self.initial_value(battery, True)": ("(battery) cannot start as True", "initially for Booleans"),
    "self.initial_value(hot, 1)": ("(hot) cannot start as 1", "initially for Booleans"),
    "self.goal()": ("the goal is empty", "at the end"),
    "self.goal(bowl_at(carry.to))": ("parameter '?to' is not declared", "none"),
    "self.goal('served')": ("'served' is not a condition", "Boolean fluent"),
    "self.danger('carry', when=hot)": ("'carry' is not an action", "self.action"),
    "self.danger(slow, when=bowl_at(carry.to))": ("parameter '?to' is not declared", "none"),
    "self.danger(carry, when='hot')": ("'hot' is not a condition", "Boolean fluent"),
    "self.danger(carry, increment=0)": ("0 is not a valid increment", "non-zero"),
    "self.danger(carry, increment='1')": ("'1' is not a valid increment", "non-zero"),
}


@pytest.mark.parametrize("code", MISTAKES)
def test_mistakes_are_named_with_line_and_mend(code):
    message, mend = MISTAKES[code]
    source = with_lines(f"{code}  {HERE}")
    with pytest.raises(AuthoringError) as caught:
        run(source)
    assert message in caught.value.message
    assert caught.value.line == line_of(source)
    assert str(caught.value).startswith(f"line {caught.value.line}: ")
    assert mend is None or mend in (caught.value.remedy or "")


@pytest.mark.parametrize(
    ("old", "new", "message", "line"),
    [
        ("        self.goal(bowl_at(table))\n", "", "the task has no goal", 6),
        ('        self.danger(carry, when=hot & ~slowly, danger_type="thermal")\n', "", "the task has no danger", 6),
        ('realised_by = "carry"', 'realised_by = "Carry"', "realised_by is 'Carry', which is not an action", 6),
        ('    realised_by = "carry"\n', "", "realised_by is '', which is not an action", 5),
        ('realised_by = "carry"', "realised_by = None", "realised_by is None, which is not an action", 6),
        ("def build(self):", "def biuld(self):", "Task has no build method", None),
        ("lower=0, upper=9)", "lower=1)", None, None),
    ],
)
def test_what_is_lacking_is_named_at_the_start_of_build(old, new, message, line):
    source = TEMPLATE.replace(old, new)
    assert source != TEMPLATE
    if message is None:
        assert run(source).fluents[0].lower == 1
        return
    with pytest.raises(AuthoringError) as caught:
        run(source)
    assert message in caught.value.message
    assert caught.value.line == line
    assert caught.value.remedy


def test_a_value_out_of_bounds_by_default_is_refused():
    source = TEMPLATE.replace("lower=0, upper=9", "lower=1").replace("        self.initial_value(battery, 5)\n", "")
    with pytest.raises(AuthoringError, match=r"battery has no value, and the default 0 is not in 1\.\.None"):
        run(source)


@pytest.mark.parametrize("second", ["self.goal(slowly)", "self.goal(bowl_at(kitchen))"])
def test_second_goal_is_refused_at_its_line(second):
    source = TEMPLATE + f"        {second}  {HERE}\n"
    with pytest.raises(AuthoringError, match="the goal is given twice") as caught:
        run(source)
    assert caught.value.line == line_of(source)


def test_mistakes_in_functions_of_the_task_are_named_where_they_are():
    source = with_lines(
        f"""
        def wet(spot):
            return bowl_at(spot, spot)  {HERE}
        carry.requires(Forall(place, wet))
        """
    )
    with pytest.raises(AuthoringError) as caught:
        run(source)
    assert caught.value.line == line_of(source)


@pytest.mark.parametrize(
    ("code", "error", "message"),
    [
        ("self.flunet('wet')", AttributeError, "has no attribute 'flunet'"),
        ("self.initially(botl_at(kitchen))", NameError, "botl_at"),
        ("carry.requires(kitchen & hot)", TypeError, "unsupported operand"),
        ("self.action('put', place)", TypeError, "positional"),
    ],
)
def test_python_itself_is_clear_about_the_rest(code, error, message):
    with pytest.raises(error, match=message):
        run(with_lines(code))


def test_the_document_of_a_task():
    document = run(TEMPLATE)
    assert document.name == "Task" and document.realised_by == "carry"
    assert document.initial == ((("battery",), 5), (("bowl_at", "kitchen"), True), (("hot",), True))
    carry = document.actions[0]
    assert carry.precondition == ("and", ("fluent", "bowl_at", "?start"), (">=", ("fluent", "battery"), 1))
    assert [effect.operation for effect in carry.effects] == ["assign", "assign", "decrease"]
    assert document.goal == ("fluent", "bowl_at", "table")
    assert Document.from_json(document.to_json()) == document


def goal_of(expression: str):
    return run(TEMPLATE.replace("self.goal(bowl_at(table))", f"self.goal({expression})")).goal


HOT, SLOWLY, BATTERY = ("fluent", "hot"), ("fluent", "slowly"), ("fluent", "battery")


@pytest.mark.parametrize(
    ("written", "stored"),
    [
        ("hot, slowly", ("and", HOT, SLOWLY)),
        ("hot()", HOT),
        ("hot & slowly & bowl_at(table)", ("and", HOT, SLOWLY, ("fluent", "bowl_at", "table"))),
        ("And([hot, slowly])", ("and", HOT, SLOWLY)),
        ("hot | slowly", ("or", HOT, SLOWLY)),
        ("~~hot", HOT),
        ("Not(hot)", ("not", HOT)),
        ("Implies(hot, slowly)", ("imply", HOT, SLOWLY)),
        ("Iff(hot, slowly)", ("and", ("imply", HOT, SLOWLY), ("imply", SLOWLY, HOT))),
        ("battery > 3", (">", BATTERY, 3)),
        ("3 <= battery", (">=", BATTERY, 3)),
        ("battery + 1 < 2 - battery", ("<", ("+", BATTERY, 1), ("-", 2, BATTERY))),
        ("1 + battery <= battery - 1", ("<=", ("+", 1, BATTERY), ("-", BATTERY, 1))),
        ("Equals(battery, 3)", ("=", BATTERY, 3)),
        ("Equals(kitchen, table)", ("same", "kitchen", "table")),
        ("Exists(place, lambda p: bowl_at(p))", ("exists", (("?p", "place"),), ("fluent", "bowl_at", "?p"))),
        ("Exists(place, bowl_at)", ("exists", (("?x", "place"),), ("fluent", "bowl_at", "?x"))),
        (
            "Forall(room, lambda r: ~Equals(r, kitchen))",
            ("forall", (("?r", "room"),), ("not", ("same", "?r", "kitchen"))),
        ),
        ("True", True),
    ],
)
def test_what_is_written_and_what_is_stored(written, stored):
    assert goal_of(written) == stored


def test_the_example_of_the_docstring_runs():
    source = textwrap.dedent(authoring.__doc__.split("\n\n", 1)[1].split("Every mistake")[0])
    names: dict = {}
    exec(compile(source, "code.py", "exec"), names)
    solution = solve(names["ServeSoup"]().document())
    assert solution.unsafe_text == "(carry_bowl_to_table)"
    assert solution.safe_text == "(reduce_speed) (carry_bowl_to_table)"


WALKS = """
class Walk(PlanningTask):
    realised_by = "carry"

    def build(self):
        rooms = [self.type(name) for name in "bath hall shed loft yard cave".split()]
        for room in set(rooms):
            self.object(f"in_{room.name}", room)
        flags = [self.fluent(f"seen_{room.name}") for room in rooms]
        carry = self.action("carry").sets(*flags)
        self.goal(Or(*{~flag for flag in flags}), *{a & b for a in flags for b in flags})
        self.danger(carry)
"""


def test_a_walk_through_a_set_is_the_same_at_each_turn_and_under_each_hash_seed():
    code = "from hazardmill.formalism.authoring import *\n" + WALKS
    twice = code + "\nfor _ in range(2):\n    print(Walk().document().to_json())\n"
    told = [
        subprocess.run(
            [sys.executable, "-c", twice], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in "0123"
    ]
    assert len({line for text in told for line in text.splitlines()}) == 1


def test_entities_are_told_apart_in_sets_and_dicts():
    """Equal words are no reason to take one for the other: parameters of two actions may have one name."""
    run(
        with_lines(
            """
            move = self.action("move", start=room, to=place)
            assert len({carry.to, move.to, carry.start, carry.to}) == 3
            assert len({place, self.object("place", place)}) == 2
            assert {bowl_at(carry.to): 1, bowl_at(move.to): 2, carry: 3, move: 4}[move] == 4
            assert table in {kitchen, table} and kitchen not in {table}
            """
        )
    )


@pytest.mark.parametrize(("title", "texts"), [("None", {}), ("''", {}), ("'Serve soup'", {"title": "Serve soup"})])
def test_the_title_of_a_document(title, texts):
    assert run(with_lines(f"self.title = {title}")).texts == texts
