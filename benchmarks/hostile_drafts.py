"""Drafts as a hostile, careless or extravagant author writes them, for ``fuzz_drafts.py``: each kind by a seed.

Every draft is a legal task with something done to it, so that many of a kind come past the policy and the jail.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field

from tests.sandbox.attacks import ALL as ATTACKS
from tests.sandbox.attacks import PRELUDE

BASE = """\
{top}
from hazardmill.formalism.authoring import And, Equals, Exists, Forall, Iff, Implies, Not, Or, PlanningTask

class Serve{number}(PlanningTask):
    title = {title}
    realised_by = "carry_bowl"
{body}
    def build(self):
{first}
        place = self.type("place")
        kitchen, table = self.objects(place, "kitchen", "table")
        bowl_at = self.fluent("bowl_at", place)
        slow = self.fluent("moving_slowly")
        soup_is_hot = self.context("soup_is_hot_{number}")
        window_is_open = self.context("window_is_open")
        carry = self.action("carry_bowl").requires(bowl_at(kitchen))
        carry.sets(bowl_at(table)).clears(bowl_at(kitchen))
        reduce = self.action("reduce_speed").requires(~slow).sets(slow)
        self.initially(bowl_at(kitchen), soup_is_hot, window_is_open)
        hot = soup_is_hot & ~slow
        wanted = bowl_at(table)
{last}
        self.goal(wanted)
        self.danger(carry, when=hot, danger_type="thermal")
{end}
"""


@dataclass
class Module:
    """A legal task, and what is put in at each place of it."""

    number: int
    title: str = '"Bring the bowl to the table."'
    top: list[str] = field(default_factory=list)
    body: list[str] = field(default_factory=list)
    """Of the class."""
    first: list[str] = field(default_factory=list)
    """Of ``build``."""
    last: list[str] = field(default_factory=list)
    end: list[str] = field(default_factory=list)

    def text(self):
        """The module."""

        def at(parts, depth):
            return textwrap.indent("\n".join(parts), "    " * depth)

        code = BASE.replace("{number}", str(self.number))
        places = {"title": self.title, "top": at(self.top, 0), "body": at(self.body, 1), "end": at(self.end, 0)}
        places |= {"first": at(self.first, 2), "last": at(self.last, 2)}
        for name, text in places.items():
            code = code.replace("{" + name + "}", text)
        return code.strip("\n") + "\n"


def make(kind, number, chance, targets):
    """A draft of a kind, in bytes.

    Args:
        kind: One of ``KINDS``.
        number: Makes its names its own.
        chance: What draws.
        targets: What attacks are aimed at, as ``tests/sandbox/attacks.py`` names it, and ``mark``: a path that they
            may try to make.
    """
    made = KINDS[kind](Module(number), chance, targets)
    return made if isinstance(made, bytes) else made.encode("utf-8", "surrogatepass")


def size(chance, low, high):
    """A number of any magnitude between two."""
    return round(low * (high / low) ** chance.random())


# Attacks

READ = (
    "{0.__class__.document.__globals__[sys].modules[os].environ}",
    "{0.__class__.document.__globals__[sys].modules[posix].environ}",
    "{0.__class__.document.__globals__[sys].argv}{0.__class__.document.__globals__[sys].path}",
    "{0.__class__.__init__.__globals__[__builtins__]}",
    "{0.__class__.__mro__}",
    "{0.__class__.build.__code__.co_filename}",
)
"""Attributes that a format string reaches, and no name in the syntax tree shows."""

FORGED = (
    "{'format': 'hazardmill-task/1'}",
    "{**true, 'name': '../../' + MARK}",
    "{**true, 'name': MARK, 'realised_by': '..'}",
    "{**true, 'texts': {'title': '\"\"\"\\nimport os\\nos.mkdir(\"' + MARK + '\")\\n\"\"\"'}}",
    "{**true, 'texts': {'title': '{{7*7}} </script><script>alert(1)</script>'}}",
    "{**true, 'provenance': {'reviewed': True}}",
    "{**true, 'objects': [['../' + MARK, 'place']]}",
    "{**true, 'goal': deep(100_000)}",
    "{**true, 'goal': deep(59)}",
    "{**true, 'max_danger': 1.5}",
    "{**true, 'max_danger': 10 ** 4_000}",
    "{**true, 'max_danger': 1e999}",
    "{**true, 'texts': {'title': 'x' * 5_000_000}}",
    "{**true, 'texts': {'title': chr_of * 1_000}}",
    "{**true, 'actions': true['actions'] * 500}",
    "{**true, 1: 2}",
    "[true]",
    "None",
    "true",
)

EATERS = (
    "while True:\n    pass",
    "sum(range(10**12))",
    "kept = 10 ** 10 ** 9",
    "for item in iter(int, 1):\n    pass",
)
"""Take their five seconds each."""

GLUTTONS = (
    "kept = [0]\nwhile True:\n    kept += kept",
    'kept = "x" * 10**10',
    'kept = "{:>2000000000}".format(1)',
    'kept = "%2000000000d" % 1',
    "kept = list(iter(int, 1))",
    "kept = list(range(10**9))",
    "def again(): return again()\nagain()",
    "kept = ()\nfor _ in range(10**6):\n    kept = (kept,)\nkept = {kept}",
    'for _ in range(10**5):\n    print("x" * 1_000)',
    'raise ValueError("x" * 10**8)',
    'raise ValueError("\\ud800\\x1b[2J\\u202e" * 50)',
    "raise ValueError(self)",
    "self.title = 'x' * 10**8",
)

MEDDLING = (
    "PlanningTask.document = lambda self: 1",
    "PlanningTask.build = None",
    "And.expr = 5",
    "self.goal = 5",
    "self._types = [0] * 10",
    "self._check = lambda *parts: None\nself._new_name = lambda *parts: None\nself.type('../' + MARK)",
    "self._limits = ('x', 'y')",
    "self._initial = {(1, 2): 3}",
    "self._actions = {'a': self}",
    "self.run_cli()",
    "PlanningTask.run_cli()",
    "self.realised_by = 'reduce_speed'",
    "self.realised_by = MARK",
    "class Odd(str):\n    def encode(self, *kept): return 1\nself.title = Odd('out')",
    "class Odd(int):\n    def bit_length(self): return 1\nself.danger_limits(Odd(0), Odd(0))",
    "self.document()",
)


def attack(module, chance, targets):
    """What tries to get out, with and without the policy's knowing; some swallow that they failed."""
    module.top.append(f"MARK = {targets['mark']!r}")
    form = chance.choice(("script", "script", "read", "read", "forged", "meddling", "meddling", "glutton", "swallowed"))
    if form == "script":
        return script(module, chance, targets)
    if form == "read":
        walk = chance.choice(READ)
        cut = chance.choice(("", "[:200]", "[-200:]", ".encode('utf-8').hex()[:400]"))
        module.last.append(f"self.title = {walk!r}.format(self){cut}")
        if chance.random() < 0.5:
            module.last.append("self.title = self.title.replace(' at 0x', ' ')")
        return module.text()
    if form == "forged":
        module.body += ["def document(self):", *textwrap.indent(forged(chance), "    ").splitlines()]
        return module.text()
    if form == "glutton":
        what = chance.choice(EATERS if chance.random() < 0.2 else GLUTTONS)
    elif form == "meddling":
        what = chance.choice(MEDDLING)
    else:
        what = chance.choice((*MEDDLING, *GLUTTONS[1:4]))
        what = "try:\n" + textwrap.indent(what, "    ") + "\nexcept Exception:\n    pass"
    place = module.first if chance.random() < 0.5 else module.last
    place.extend(what.splitlines())
    return module.text()


def forged(chance):
    """A method that gives a document of its own."""
    sign = chance.choice((r"\ud800", r"\x00", r"\u202e", r"\n"))
    return f"""\
true = super().document().to_json()
chr_of = '{sign}'
def deep(levels):
    kept = []
    for _ in range(levels):
        kept = ["not", kept]
    return kept
class Forged:
    def to_json(self):
        return {chance.choice(FORGED)}
return Forged()"""


def script(module, chance, targets):
    """One of the attacks on the jail, at any place of a module, also where the policy might not look."""
    code = chance.choice(ATTACKS).code.replace("HAZARDMILL_PLANTED", "PLANTED")
    lines = (PRELUDE.format(targets=targets) + code).splitlines()
    inside = textwrap.indent("\n".join(lines), "    ").splitlines()
    if chance.random() < 0.3:
        shadows = ", ".join(chance.sample(("open", "eval", "exec", "SystemExit", "next", "bytes", "getattr"), 3))
        module.first.append(f"shadow = lambda {shadows}: 0")
    place = chance.choice(("top", "end", "first", "last", "body", "main", "method", "swallowed", "text"))
    if place == "main":
        module.end += ['if __name__ == "__main__":', *inside]
    elif place == "method":
        module.body += ["def run_cli(self):", *inside]
    elif place == "swallowed":
        module.first += ["try:", *inside, "except Exception:", "    pass"]
    elif place == "text":
        module.title = repr("\n".join(lines))
    else:
        getattr(module, place).extend(lines)
    return module.text()


# Huge grounds


def huge(module, chance, targets):
    """Objects by parameters by fluents, near the limits and far beyond them; one to three such things in each draft."""
    del targets
    objects = size(chance, 2, chance.choice((12, 60, 400, 1_200)))
    module.last += [
        'spot = self.type("spot")',
        f'spots = self.objects(spot, *[f"spot_{{n}}" for n in range({objects})])',
    ]
    for part in chance.sample(PARTS, chance.choice((1, 1, 2, 3))):
        module.last += part(chance, objects)
    return module.text()


def _pairs(chance, objects):
    count = chance.choice((1, 1, 2, 3, 5, 12))
    types, names = ", ".join(["spot"] * count), ", ".join(f"p{n}=spot" for n in range(count))
    used = ", ".join(f"pairs.p{n}" for n in range(count))
    first = ", ".join(["spots[0]"] * count)
    return [
        f'marked = self.fluent("marked", {types})',
        f'pairs = self.action("mark_it", {names})',
        f"pairs.requires(~marked({used})).sets(marked({used}))",
        f"wanted = And(wanted, marked({first}))",
    ]


def _integers(chance, objects):
    count = chance.choice((0, 0, 1, 1, 2, 3))
    upper = chance.choice((2, 9, 10**9, None))
    types = "".join([", spot"] * count)
    names, used = "".join(f", p{n}=spot" for n in range(count)), ", ".join(f"fill.p{n}" for n in range(count))
    first = ", ".join(["spots[0]"] * count)
    more = chance.choice(("1", "2", f"level({used})"))
    return [
        f'level = self.integer("level"{types}, lower=0, upper={upper})',
        f'fill = self.action("fill_it"{names})',
        f"fill.increases(level({used}), {more})",
        f"wanted = And(wanted, level({first}) >= {chance.choice((1, 1, 5, 10**6))})",
        *([f"self.initial_value(level({first}), 1)"] if upper != 2 else []),
    ]


def _quantifiers(chance, objects):
    depth = size(chance, 1, 9)
    body = " & ".join(f"wet(v{n})" for n in range(0, depth, 2))
    for n in reversed(range(depth)):
        body = f"{chance.choice(('Exists', 'Forall'))}(spot, lambda v{n}: {body})"
    where = chance.choice(("wanted = And(wanted, ~{})", "reduce.requires(~{})", "hot = hot & ~{}"))
    return [
        'wet = self.fluent("wet", spot)',
        'pour = self.action("pour", where=spot)',
        "pour.requires(~wet(pour.where)).sets(wet(pour.where))",
        where.format(f"({body})"),
    ]


def _conditional(chance, objects):
    count = min(size(chance, 1, 400), objects)
    return [
        'lit = self.fluent("lit", spot)',
        'switch = self.action("switch_it", where=spot)',
        f"for one in spots[:{count}]:",
        f"    switch.sets(lit(one), when={chance.choice(('~lit(one)', '~lit(switch.where)', 'Exists(spot, lit)'))})",
        f"wanted = And(wanted, lit(spots[{chance.choice((0, -1))}]))",
    ]


def _dangers(chance, objects):
    count = size(chance, 1, 900)
    return [
        'held = self.fluent("held", spot)',
        'hold = self.action("hold_it", where=spot).requires(~slow)',
        "hold.sets(held(hold.where))",
        f"for n in range({count}):",
        "    self.danger(hold, when=soup_is_hot & held(spots[n % len(spots)]),"
        f" increment={chance.choice(('1', 'n + 1', '-1', '10**8'))})",
        "wanted = And(wanted, held(spots[0]))",
    ]


def _switches(chance, objects):
    count = min(size(chance, 2, 40), objects)
    return [
        'on = self.fluent("on", spot)',
        'turn = self.action("turn_it", where=spot)',
        "turn.requires(~on(turn.where)).sets(on(turn.where))",
        'back = self.action("turn_it_back", where=spot)',
        "back.requires(on(back.where)).clears(on(back.where))",
        f"wanted = And(wanted, *[on(one) for one in spots[:{count}]])",
    ]


def _types(chance, objects):
    count = size(chance, 1, 990)
    return [
        "kinds = [self.type('kind_0')]",
        f"for n in range(1, {count}):",
        f"    kinds.append(self.type(f'kind_{{n}}', kinds[{chance.choice(('-1', '0'))}]))",
        "self.object('some_thing', kinds[-1])",
        "near = self.fluent('near', kinds[0], kinds[0])",
        "look = self.action('look_at', a=kinds[0], b=kinds[-1])",
        "look.sets(near(look.a, look.b))",
        "wanted = And(wanted, Exists(kinds[0], lambda one: near(one, one)))",
    ]


def _declared(chance, objects):
    count = size(chance, 10, 1_100)
    return [
        f'flags = [self.fluent(f"flag_{{n}}") for n in range({count})]',
        "for n, flag in enumerate(flags):",
        '    self.action(f"raise_{n}").requires(*flags[max(0, n - 2):n]).sets(flag)',
        f"wanted = And(wanted, {chance.choice(('*flags', 'flags[0]', 'flags[-1]', 'Or(*flags)'))})",
    ]


PARTS = (_pairs, _integers, _quantifiers, _conditional, _dangers, _switches, _types, _declared)


# Deep nests


def nested(module, chance, targets):
    """Nesting of every sort, written out or made by the code, from a few levels to a hundred thousand."""
    del targets
    depth = size(chance, 2, chance.choice((30, 90, 1_500, 60_000)))
    written = {
        "parentheses": "hot = " + "(" * depth + "hot" + ")" * depth,
        "not": "hot = " + "~~" * depth + "hot",
        "calls": "hot = " + "And(" * depth + "hot" + ")" * depth,
        "or": "hot = " + "(slow & " * depth + "slow" + ")" * depth + " | hot",
        "chain": "hot = hot" + " & soup_is_hot" * depth,
        "quantifiers": "hot = hot & " + "Exists(place, lambda p: " * depth + "bowl_at(p)" + ")" * depth,
        "lists": "kept = " + "[" * depth + "]" * depth,
        "dicts": "kept = " + "{1: " * depth + "1" + "}" * depth,
        "lambdas": "kept = " + "lambda: " * depth + "1",
        "comprehensions": "kept = " + "[a for a in " * depth + "(1,)" + "]" * depth,
        "subscripts": "kept = [[1]]" + "[0]" * depth,
        "attributes": "carry" + ".requires(hot | ~hot)" * depth,
        "minus": "kept = " + "-" * depth + "1",
        "conditional": "kept = " + "1 if 1 else " * depth + "1",
        "concatenation": "kept = " + "+".join(["1"] * depth),
        "strings": "kept = " + '"x" ' * depth,
        "power": "kept = " + "0 ** " * depth + "1",
        "blocks": "\n".join(" " * n + "if True:" for n in range(min(depth, 600))) + "\n" + " " * 600 + "pass",
        "functions": "\n".join(" " * n + f"def f{n}():" for n in range(min(depth, 300))) + "\n" + " " * 300 + "pass",
    }
    made = {
        "made not": f"for _ in range({depth}):\n    hot = ~hot",
        "made and": f"for _ in range({depth}):\n    hot = And(hot, soup_is_hot)",
        "made both": f"for _ in range({depth}):\n    hot = Or(And(hot, slow), hot)",
        "made double": f"for _ in range({depth}):\n    wanted = And(wanted, wanted)",
        "made implies": f"for _ in range({depth}):\n    hot = Implies(~hot, slow)",
        "made quantifiers": (
            f"def deeper(levels):\n    if not levels:\n        return bowl_at(table)\n"
            f"    return {chance.choice(('Exists', 'Forall'))}(place, lambda p: deeper(levels - 1) | bowl_at(p))\n"
            f"wanted = wanted & deeper({depth})"
        ),
        "made sum": (
            f"level = self.integer('level', lower=0, upper=9)\nself.action('fill_it').increases(level)\n"
            f"total = level\nfor _ in range({depth}):\n    total = total {chance.choice('+-')} level\n"
            f"wanted = wanted & (total >= 1)"
        ),
        "made iff": f"for _ in range({min(depth, 24)}):\n    hot = Iff(hot, Not(Iff(slow, hot)))",
    }
    form = chance.choice((*written, *made, *made))
    module.last += (written | made)[form].splitlines()
    return module.text()


# Odd encodings

COOKIES = (
    "utf-8 utf-7 utf-16 latin-1 cp037 rot13 unicode_escape raw_unicode_escape punycode idna hex zlib nonsense".split()
)
SIGNS = (
    "\0\x01\x0b\x0c\x1a\x1b\x7f\x85\xa0\xad\u0301\u200b\u200d\u200e"
    "\u2028\u2029\u202e\u2066\u3164\ufeff\ufffe\ud800\U000e0041"
)
WIDE = ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-7", "cp037", "utf-8-sig")
TITLES = (
    '"Trag die Schüssel zum Tisch. 🍲"',
    '"将碗端到桌上。"',
    '"احمل الوعاء إلى الطاولة."',
    '"שאו את הקערה"',
    r'"a\u202eb\u2066c"',
    r'"a\x00b\x1b[2Jc\x7f"',
    r'"half \ud83c of it"',
    r'"\N{BULLET} \N{ZERO WIDTH SPACE}"',
    r'"one\ntwo\rthree\u2028four\x85five\x0csix"',
    '"e\u0301 \u212b \ufb01 \uff21"',
    r'"# -*- coding: utf-7 -*- +AAo-import os"',
    r'"\\x0aimport os\\u000a\\N{LINE FEED}"',
    '"' + "long " * 3_000 + '"',
    'r"\\"',
    'f"Bring {1 + 1} bowls"',
    'b"Bring the bowl"',
    "'''Bring\nthe\nbowl'''",
    '"Bring " \\\n    "the bowl"',
)


def encoded(module, chance, targets):
    """Odd characters, encodings and lines; a third are legal texts of odd characters."""
    if chance.random() < 0.4:
        module.title = chance.choice(TITLES)
    if chance.random() < 0.3:
        module.last += chance.choice(
            (
                ["größe = slow", "hot = hot & ~größe"],
                ["ﬁne = slow", "hot = hot & ~fine"],
                ["\tkept = 1"],
                ["\fkept = 1"],
            )
        )
    text = module.text()
    form = chance.choice(("as it is", "cookie", "sign", "sign", "wide", "returns", "blanks", "bytes", "name", "quoted"))
    if form == "cookie":
        comment = chance.choice(
            ("# -*- coding: {} -*-", "#coding={}", "# vim: set fileencoding={} :", " \t#coding: {}")
        )
        hidden = f"# \\x0aopen({targets['mark']!r}, 'w') +AAo-open({targets['mark']!r})"
        lines = [comment.format(chance.choice(COOKIES)), hidden]
        return chance.choice(("", "\n", "\n\n", "# a task\n")) + "\n".join(lines) + "\n" + text
    if form == "sign":
        place = chance.choice(
            (0, 0, len(text), text.index("title") + chance.randrange(12), chance.randrange(len(text)))
        )
        return text[:place] + chance.choice(SIGNS) * chance.choice((1, 1, 2, 500)) + text[place:]
    if form == "wide":
        return text.encode(chance.choice(WIDE), "replace")
    if form == "returns":
        return text.replace("\n", chance.choice(("\r\n", "\r\n", "\r", "\n\r", "\x0b", "\u2028")))
    if form == "blanks":
        return text.replace("    ", chance.choice(("\t", "\t", "  ", "\u3000", "\xa0 ", "    \f"))).rstrip("\n")
    if form == "bytes":
        data, place = text.encode(), chance.randrange(len(text))
        odd = chance.choice((b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\xe2\x82", b"\x80" * 300))
        return data[:place] + odd + data[place:]
    if form == "name":
        window = chance.choice(("\uff57indow", "w\u0131ndow"))
        return text.replace("soup_is_hot =", "\uff45val = soup_is_hot =").replace("window", window)
    if form == "quoted":
        return f"Here it is:\n```python\n{text}```\nEnjoy {chance.choice(SIGNS)}"
    return text


# Scopes

REFUSED = "open eval exec compile getattr vars globals locals input breakpoint type help exit memoryview".split()
LEGAL = (
    "f = lambda {n}: {n}\nf(1)",
    "kept = [{n} for {n} in (1, 2)]",
    "def g({n}, *, k=0): return {n}\ng(1)",
    "def g(*{n}, **k): return {n}\ng(1)",
    "{n} = 1\nkept = {n} + 1",
    "for {n} in (1, 2):\n    kept = {n} + 1",
    "if ({n} := 3):\n    kept = {n}",
    "def g():\n    {n} = 2\n    return [lambda: {n} for _ in (1,)]\ng()",
    "(({n}, *rest), k) = ((1, 2), 3)\nkept = {n}",
    "class Local:\n    def __init__(self, {n}):\n        self.k = {n}\nLocal(1)",
    "kept = {{{n}: k for {n}, k in ((1, 2),)}}",
    "kept = [({n} := k) for k in (1,)]\nkept = {n}",
    "def g({n}):\n    def h(k={n}):\n        return [{n} for _ in (1,) if {n}]\n    return h()\ng(1)",
)
STOLEN = (
    "f = lambda {n}: 0\n{u}",
    "kept = [0 for {n} in (1,)]\n{u}",
    "def g({n}): return 0\n{u}",
    "def g():\n    {n} = 1\n    return 0\n{u}",
    "class Local:\n    {n} = 1\n    def go(self):\n        return {u}\nLocal().go()",
    "class Local:\n    {n} = 1\n    kept = [{u} for _ in (1,)]",
    "class Local:\n    kept = {u}\n    {n} = 1",
    "def g(k={u}, {n}=1): return k\ng()",
    "f = lambda {n}=0, k=lambda: {u}: k()\nf()",
    "kept = [0 for k in [{u}] for {n} in (1,)]",
    "kept = [{n} for {n} in {u}]",
    "@(lambda {n}: {n})\ndef g(): return {u}\ng()",
    "def g(k: {u}, {n}: int = 1): return k",
    "def g({n}) -> {u}: return {n}",
    "class Local(*[k for k in [{u}]]):\n    {n} = 1",
    "try:\n    raise ValueError\nexcept ValueError as {n}:\n    pass\n{u}",
    "try:\n    {n} = 1 / 0\nexcept Exception:\n    {u}",
    "if False:\n    {n} = 1\n{u}",
    "match 1:\n    case {n}:\n        pass\n{u}",
    "def g():\n    global {n}\n    {n} = 1\n{u}",
    "def g():\n    {n} = 1\n    def h():\n        nonlocal {n}\n        {n} = 2\n{u}",
    "f = lambda: (lambda {n}: 0, {u})\nf()",
    "kept = (lambda {n}: lambda: {n})(1)() + {u}",
    "{n} += {u}",
    "with {u} as {n}:\n    pass",
    "def g({n}=({n} := 1)): return {n}\n{u}",
)


def scoped(module, chance, targets):
    """A built-in name bound in one scope, and used in the same one, which is legal, or in another."""
    for number in range(chance.choice((1, 1, 2, 3))):
        name = chance.choice(REFUSED)
        mark = repr(targets["mark"])
        use = {"open": f"open({mark}, 'w')", "eval": f'eval("open({mark}, 1)")', "exec": f'exec("open({mark}, 1)")'}
        used = use.get(name, f"{name}({chance.choice(('', 'self', '1'))})")
        form = chance.choice(LEGAL if chance.random() < 0.6 else STOLEN).format(n=name, u=used)
        form = f"def scope_{number}(self):\n" + textwrap.indent(form, "    ")
        place = chance.choice(("method", "function", "build", "class", "top"))
        if place == "method":
            module.body += form.splitlines()
            module.first.append(f"self.scope_{number}()")
        elif place == "function":
            module.first += [*form.splitlines(), f"scope_{number}(self)"]
        elif place == "build":
            module.first += textwrap.dedent("\n".join(form.splitlines()[1:])).splitlines()
        elif place == "class":
            module.body += textwrap.dedent("\n".join(form.splitlines()[1:])).splitlines()
        else:
            module.top += chance.choice(
                ([f"{name} = 1"], [f"from hazardmill.formalism.authoring import And as {name}"], form.splitlines())
            )
            module.first.append(chance.choice((f"scope_{number}(self)", used, "pass")))
    return module.text()


KINDS = {"attack": attack, "huge": huge, "nested": nested, "encoded": encoded, "scoped": scoped}
ORDER = "attack scoped nested encoded huge scoped attack nested encoded scoped".split()
"""The kinds of ten drafts: the huge take by far the longest."""
