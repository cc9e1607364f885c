"""What BDDL refuses, and what it accepts: one row a case."""

from __future__ import annotations

from hazardmill.testing.cases import AcceptedCase, RefusedCase

HTML = b"<!DOCTYPE html>\n<html><head><title>Not found</title></head></html>\n"
LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 51234567\n"
PROBLEM = """(define (problem mop_up-0)
    (:domain omnigibson)
    (:objects
        water.n.06_1 - water.n.06
        red__mop.n.01_1 red__mop.n.01_2 - red__mop.n.01
        floor.n.01_1 - floor.n.01
        agent.n.01_1 - agent.n.01
    )
    (:init
        (covered floor.n.01_1 water.n.06_1)
        (not (saturated red__mop.n.01_1 water.n.06_1))
        (ontop red__mop.n.01_2 floor.n.01_1)
        (inroom floor.n.01_1 utility_room)
        (ontop agent.n.01_1 floor.n.01_1)
    )
    (:goal
        (and (not (covered ?floor.n.01_1 ?water.n.06_1)))
    )
)"""
HEAD = b"(define (problem mop_up-0) (:domain omnigibson) "
GOAL = "(and (not (covered ?floor.n.01_1 ?water.n.06_1)))"


def activity(*changes: tuple[str, str], folder: str = "mop_up") -> dict[str, bytes]:
    """The problem, each ``old`` replaced by ``new`` once."""
    text = PROBLEM
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    return {f"{folder}/problem0.bddl": text.encode()}


def raw(content: bytes) -> dict[str, bytes]:
    return {"mop_up/problem0.bddl": content}


def beside(table: bytes) -> dict[str, bytes]:
    """The problem as the package lays it out, with a table of properties."""
    return {f"activity_definitions/{name}": content for name, content in activity().items()} | {
        "generated_data/synsets.csv": table,
        "activity_definitions/domain_omnigibson.bddl": b"(",
        "activity_manifest.txt": b"mop_up\n",
    }


_COLUMNS = b"synset,hypernyms,prune,breakable,fillable,flammable,heatSource,coldSource,slicer,objectType,\n"
_WATER = b'water.n.06,"liquid.n.01,food.n.01",0,0,0,0,0,0,0,liquid,0\n'
_MOP = b"red__mop.n.01,mop.n.01,0,1,0,1,0,,0,rigidBody,0\n"


_BDDL_REFUSED = [
    ("a parenthesis never closed", activity((")))\n    )", ")))\n    ")), ("unbalanced",), ("never closed",)),
    ("a parenthesis never opened", raw(PROBLEM.encode() + b"\n)"), ("unbalanced",), ("line 20", "not open")),
    ("only a comment", raw(b"; nothing yet\n"), ("empty",), ("no expression",)),
    ("no byte", raw(b""), ("empty_file",), ("empty",)),
    ("no define", activity(("(define", "(defined")), ("not_define",), ("(define",)),
    ("no parenthesis", raw(b"define problem"), ("not_define",), ("'define'",)),
    ("no problem", activity(("(problem mop_up-0)", "")), ("no_problem",), ("problem",)),
    ("no objects", raw(HEAD + b"(:init (hot a.n.01_1)) (:goal (hot ?a.n.01_1)))"), ("no_objects",), (":objects",)),
    ("no init", raw(HEAD + b"(:objects a.n.01_1 - a.n.01) (:goal (hot ?a.n.01_1)))"), ("no_init",), (":init",)),
    ("no goal", activity((f"(:goal\n        {GOAL}\n    )", "")), ("no_goal",), (":goal",)),
    ("empty goal", activity((GOAL, "")), ("no_goal",), ("empty",)),
    ("empty objects", raw(HEAD + b"(:objects) (:init) (:goal (and)))"), ("no_objects",), ("empty",)),
    ("another domain", activity(("omnigibson", "igibson")), ("domain",), ("'igibson'",)),
    (
        "undeclared in init",
        activity(("(ontop red__mop.n.01_2", "(ontop broom.n.01_1")),
        ("undeclared_object",),
        ("line 12", "broom.n.01_1"),
    ),
    ("undeclared in goal", activity(("?floor.n.01_1", "?wall.n.01_1")), ("undeclared_object",), ("wall.n.01_1",)),
    (
        "dash without type",
        activity(("agent.n.01_1 - agent.n.01", "agent.n.01_1 -")),
        ("dangling_type",),
        ("without a type",),
    ),
    ("object without type", activity(("agent.n.01_1 - agent.n.01", "agent.n.01_1")), ("dangling_type",), ("no type",)),
    (
        "dash without object",
        activity(("agent.n.01_1 - agent.n.01", "- agent.n.01")),
        ("dangling_type",),
        ("without objects",),
    ),
    (
        "an object of two types",
        activity(("agent.n.01_1 - agent.n.01", "agent.n.01_1 water.n.06_1 - agent.n.01")),
        ("conflicting_type",),
        ("water.n.06",),
    ),
    (
        "two goals",
        activity((GOAL, GOAL + " (not (open ?floor.n.01_1))")),
        ("two_goals",),
        ("second expression", "open"),
    ),
    (
        "unknown predicate in init",
        activity(("(ontop red", "(beside red")),
        ("unknown_predicate",),
        ("line 12", "beside"),
    ),
    (
        "unknown predicate in goal",
        activity(("(not (covered ?", "(not (sprinkled ?")),
        ("unknown_predicate",),
        ("sprinkled",),
    ),
    (
        "too few arguments",
        activity(("(ontop agent.n.01_1 floor.n.01_1)", "(ontop agent.n.01_1)")),
        ("arity",),
        ("takes 2",),
    ),
    ("malformed quantifier", activity((GOAL, "(forall (?x red__mop.n.01) (hot ?x))")), ("malformed",), ("forall",)),
    ("not of nothing", activity((GOAL, "(not)")), ("malformed",), ("negate",)),
    ("an implication of one", activity((GOAL, "(imply (hot ?floor.n.01_1))")), ("malformed",), ("imply",)),
    (
        "a section twice",
        activity(("(:domain omnigibson)", "(:domain omnigibson) (:domain omnigibson)")),
        ("duplicate_section",),
        (":domain",),
    ),
    ("an unknown section", activity(("(:domain", "(:metric minimize) (:domain")), ("unknown_section",), (":metric",)),
    (
        "folder without its file",
        activity() | {"empty/readme.md": b"x"},
        ("no_problem_file",),
        ("empty", "problem0.bddl"),
    ),
    ("another name", activity(folder="mopping"), ("problem_name",), ("'mop_up-0'", "'mopping-0'")),
    ("a domain file", raw(b"(define (domain omnigibson) (:requirements :strips))"), ("domain_file",), ("domain",)),
    ("not UTF-8", raw(PROBLEM.replace("utility", "caf~").encode().replace(b"~", b"\xe9")), ("encoding",), ("0xe9",)),
    (
        "text after the end",
        raw(PROBLEM.encode() + b"\n(and)"),
        ("trailing_text",),
        ("follows the end of the definition",),
    ),
    ("nested without end", raw(b"(define " + b"(" * 5000 + b")" * 5001), ("too_deep",), ("deeper",)),
    ("too large", raw(PROBLEM.encode() + b" " * (1 << 20)), ("too_large",), ("exceeds",)),
    ("web page", raw(HTML), ("html_page",), ("web page",)),
    ("LFS pointer", raw(LFS), ("lfs_pointer",), ("Git LFS",)),
]
_BDDL_GOOD_BESIDE = {"folder without its file": 1}

_START = "Start: the floor is covered with water; red mop 1 is not soaked with water; red mop 2 is on top of the floor"
_BDDL_ACCEPTED = [
    ("a plain problem", activity(), (), (_START, "Rooms: utility room", "Objects: water; red mop; floor\n")),
    ("the agent", activity(), (), ("; the robot is on top of the floor\n",)),
    ("stray token", activity(("    )\n    (:goal", "    )\\\n    (:goal")), ("line 15: stray '\\\\'",), (_START,)),
    ("object twice", activity(("water.n.06_1 -", "water.n.06_1 water.n.06_1 -")), ("declared again",), (_START,)),
    (
        "literal twice",
        activity(("(inroom", "(ontop red__mop.n.01_2 floor.n.01_1) (inroom")),
        ("repeated in :init",),
        (_START,),
    ),
    ("upper case", activity(("water.n.06_1 -", "WATER.n.06_1 -"), ("mop_up-0", "MOP_up-0")), (), (_START,)),
    ("byte order mark", raw(b"\xef\xbb\xbf" + PROBLEM.encode()), ("byte order mark",), (_START,)),
    ("CRLF and tabs", raw(PROBLEM.replace("\n    ", "\r\n\t").encode()), (), (_START,)),
    (
        "CR behind a comment",
        raw(PROBLEM.replace("(:init", "(:init ; as found").replace("\n", "\r").encode()),
        (),
        (_START,),
    ),
    ("a comment", activity(("(:init", "(:init ; as found")), (), (_START,)),
    ("a folder in upper case", activity(folder="MOP_up"), (), ("Activity: MOP up\n", _START)),
    (
        "domain file and hidden folder beside",
        activity() | {"domain_omnigibson.bddl": b"(", ".git/x": b"x"},
        (),
        (_START,),
    ),
]
_PROPERTIES = [
    AcceptedCase(
        "properties of the objects",
        beside(_COLUMNS + _WATER + _MOP),
        context=("floor\nProperties: the red mop is breakable and is flammable\nRooms:", _START),
        absent=("the water is a",),
    ),
    AcceptedCase(
        "properties, columns elsewhere",
        beside(b"slicer,synset\r\n1,red__mop.n.01\r\n"),
        context=("\nProperties: the red mop can cut\n",),
    ),
    AcceptedCase(
        "properties of other objects only", beside(_COLUMNS + _WATER), context=(_START,), absent=("Properties",)
    ),
]
_BAD_TABLES = [
    ("a table that is a web page", HTML, "no properties are told: the file is a web page"),
    ("a table of something else", b"name,size\nmop,3\n", "no column synset"),
    ("a table cut off", _COLUMNS + b'water.n.06,"liquid', "no CSV after line 1"),
    ("a table not UTF-8", _COLUMNS + b"caf\xe9.n.01,,,,,,,,,,\n", "0xe9"),
]
_GOALS = [
    ("(hot ?floor.n.01_1)", "the floor is hot"),
    ("(not (open ?floor.n.01_1))", "the floor is closed"),
    ("(forall (?red__mop.n.01 - red__mop.n.01) (not (hot ?red__mop.n.01)))", "each red mop is not hot"),
    (
        "(forall (?m - red__mop.n.01) (exists (?f - floor.n.01) (ontop ?m ?f)))",
        "each red mop is on top of some floor",
    ),
    (
        "(exists (?f - floor.n.01) (forall (?m - red__mop.n.01) (ontop ?m ?f)))",
        "for some floor, each red mop is on top of that floor",
    ),
    (
        "(and (hot ?floor.n.01_1) (forall (?m - red__mop.n.01) (or (hot ?m) (broken ?m))))",
        "the floor is hot and (for each red mop, that red mop is hot or that red mop is broken)",
    ),
    ("(forn (2) (?m - red__mop.n.01) (hot ?m))", "for exactly 2 objects of kind red mop, that red mop is hot"),
    (
        "(forpairs (?m - red__mop.n.01) (?f - floor.n.01) (ontop ?m ?f))",
        "pairing each red mop with a floor of its own, that red mop is on top of that floor",
    ),
    (
        "(fornpairs (1) (?m - red__mop.n.01) (?f - floor.n.01) (ontop ?m ?f))",
        "for 1 pairs of red mop and floor, that red mop is on top of that floor",
    ),
    ("(imply (hot ?floor.n.01_1) (real ?water.n.06_1))", "if the floor is hot, then the water has been made"),
    (
        "(not (or (hot ?floor.n.01_1) (broken ?floor.n.01_1)))",
        "it is not so that (the floor is hot or the floor is broken)",
    ),
]

REFUSED = [
    RefusedCase(case, files, reasons, parts, None, _BDDL_GOOD_BESIDE.get(case, 0))
    for case, files, reasons, parts in _BDDL_REFUSED
]
ACCEPTED = [
    *(AcceptedCase(*row_) for row_ in _BDDL_ACCEPTED),
    *_PROPERTIES,
    *(
        AcceptedCase(case, beside(table), context=(_START,), absent=("Properties",), notes=(note,))
        for case, table, note in _BAD_TABLES
    ),
    *(AcceptedCase(f"goal {goal}", activity((GOAL, goal)), (), (f"\nGoal: {text}",)) for goal, text in _GOALS),
]
