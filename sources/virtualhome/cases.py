"""What VirtualHome refuses, and what it accepts: one row a case."""

from __future__ import annotations

from hazardmill.testing.cases import AcceptedCase, RefusedCase

HTML = b"<!DOCTYPE html>\n<html><head><title>Not found</title></head></html>\n"
LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 51234567\n"
PROGRAM = """Warm the milk
I warm a pot of milk.


[Walk] <kitchen> (1)
[Find] <milk> (1)
[Pour] <milk> (1) <pot> (1)
[SwitchOn] <stove> (1)
[Wait]
"""
STATE = '[{"is_off": ["stove", "1"]}, {"location": [["stove", "1"], ["kitchen", "1"]]}]'
STEPS = "Steps: walk to kitchen; find milk; pour milk into pot; switch on stove; wait\n"
START = "\nStart: the stove is off; the stove is in the kitchen"
TXT = "withoutconds/evenings/milk.txt"
JSON = "initstate/evenings/milk.json"


def pair(program: str | bytes = PROGRAM, state: str | bytes = STATE) -> dict[str, bytes]:
    """Both halves, in the layout of the public files."""
    return {TXT: _bytes(program), JSON: _bytes(state)}


def changed(old: str, new: str) -> dict[str, bytes]:
    """The pair, ``old`` in its program replaced by ``new`` once."""
    assert old in PROGRAM, old
    return pair(PROGRAM.replace(old, new, 1))


def begun(entry: str) -> dict[str, bytes]:
    """The pair, its initial state being this one entry."""
    return pair(state=f"[{entry}]")


def _bytes(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode()


FLAT = {"withoutconds/milk.txt": PROGRAM.encode(), "initstate/milk.json": STATE.encode()}
WITHCONDS = "1\nis_off: ('STOVE', '1') --> \n" + PROGRAM
GRAPH = '{"init_graph": {"nodes": [{"id": 7}], "edges": []}, "final_graph": {"nodes": [], "edges": []}}'
ORDERED = "[Find] <milk> (1)"

_PROGRAM_REFUSED = [
    ("no folder initstate", {TXT: PROGRAM.encode()}, "no_initstate_folder", ("no folder initstate",)),
    ("no folder withoutconds", {JSON: b"[]"}, "no_withoutconds_folder", ("no folder withoutconds",)),
    ("no action line", pair("Warm the milk\nI warm it.\n\n\n"), "no_actions", ("no action",)),
    ("only a title", pair("Warm the milk"), "no_actions", ("no action",)),
    ("bracket not closed", changed(ORDERED, "[Find <milk> (1)"), "action", ("line 6", "'[Find <milk> (1)'")),
    ("no instance", changed(ORDERED, "[Find] <milk>"), "action", ("line 6", "'[Find] <milk>'")),
    ("blank instance", changed(ORDERED, "[Find] <milk> ()"), "action", ("line 6",)),
    ("an instance that is a word", changed(ORDERED, "[Find] <milk> (one)"), "action", ("line 6",)),
    ("no name", changed(ORDERED, "[Find] <> (1)"), "action", ("line 6",)),
    ("no verb", changed(ORDERED, "[] <milk> (1)"), "action", ("line 6",)),
    ("text behind an action", changed(ORDERED, ORDERED + " quickly"), "action", ("line 6", "quickly")),
    ("a second line of description", changed("\n\n\n", "\nIn a pot.\n\n"), "action", ("line 3", "'In a pot.'")),
    (
        "three arguments",
        changed(ORDERED, "[Pour] <milk> (1) <pot> (1) <cup> (1)"),
        "arguments",
        ("line 6", "3 arguments"),
    ),
    ("blank title", changed("Warm the milk", "  "), "no_title", ("line 1", "blank")),
    ("an action for a title", pair(PROGRAM.partition("\n\n\n")[2]), "no_title", ("line 1", "[Walk]")),
    ("a file of withconds", pair(WITHCONDS), "withconds_file", ("'1'", "withconds")),
    ("a program not UTF-8", pair(PROGRAM.encode().replace(b"warm a", b"r\xe9chauffe a")), "encoding", ("0xe9",)),
    ("an empty program", pair(b""), "empty_file", ("empty",)),
    ("a program that is a web page", pair(HTML), "html_page", ("web page",)),
    ("a program that is an LFS pointer", pair(LFS), "lfs_pointer", ("Git LFS",)),
    ("a program too large", pair(PROGRAM + " " * (8 << 20)), "too_large", ("exceeds",)),
    ("200,000 steps", pair(PROGRAM + "[Wait]\n" * 200_000), "record_too_long", ("characters",)),
]
_STATE_REFUSED = [
    ("truncated JSON", pair(state=STATE[:-9]), "json", ("not valid JSON",)),
    ("JSON with single quotes", pair(state="[{'is_off': ['stove', '1']}]"), "json", ("not valid JSON",)),
    ("JSON nested without end", pair(state="[" * 200_000), "json", ("not valid JSON",)),
    ("a key twice", begun('{"is_off": ["stove", "1"], "is_off": ["lamp", "1"]}'), "json", ("key twice",)),
    ("a graph", pair(state=GRAPH), "graph_file", ("final_graph, init_graph",)),
    ("a scene", pair(state='{"nodes": [], "edges": []}'), "graph_file", ("edges, nodes",)),
    ("an object for a list", pair(state='{"is_off": ["stove", "1"]}'), "not_a_list", ("an object",)),
    ("a text for a list", pair(state='"is_off"'), "not_a_list", ("'is_off'",)),
    ("null for a list", pair(state="null"), "not_a_list", ("None",)),
    ("an entry of two keys", begun('{"is_off": ["a", "1"], "free": ["b", "1"]}'), "entry", ("entry 1", "one key")),
    ("an entry of no key", begun("{}"), "entry", ("entry 1",)),
    ("an entry that is a text", begun('"is_off"'), "entry", ("entry 1",)),
    ("a predicate that is none", begun('{"is off!": ["stove", "1"]}'), "entry", ("'is off!'",)),
    ("an operand that is a text", begun('{"is_off": "stove"}'), "operands", ("entry 1", "is_off")),
    ("an operand without instance", begun('{"is_off": ["stove"]}'), "operands", ("is_off",)),
    ("two things that are off", begun('{"is_off": [["a", "1"], ["b", "1"]]}'), "operands", ("is_off",)),
    ("a location of nothing else", begun('{"location": ["stove", "1"]}'), "operands", ("location",)),
    ("a location of three", begun('{"location": [["a", "1"], ["b", "1"], ["c", "1"]]}'), "operands", ("location",)),
    ("an instance that is true", begun('{"is_off": ["stove", true]}'), "operands", ("true",)),
    ("an instance that is a fraction", begun('{"is_off": ["stove", 1.5]}'), "operands", ("1.5",)),
    ("half a character in a name", begun('{"is_off": ["\\ud800", "1"]}'), "operands", ("ud800",)),
    ("a state not UTF-8", pair(state=b'[{"is_off": ["po\xe9le", "1"]}]'), "encoding", ("0xe9",)),
    ("an empty state", pair(state=b""), "empty_file", ("empty",)),
    ("a state that is an LFS pointer", pair(state=LFS), "lfs_pointer", ("Git LFS",)),
]

REFUSED = [
    *(
        RefusedCase(case, files, (reason,), parts)
        for case, files, reason, parts in (*_PROGRAM_REFUSED, *_STATE_REFUSED)
    ),
    RefusedCase(
        "a program without its state",
        {**pair(), "withoutconds/second/milk.txt": PROGRAM.encode()},
        ("no_initstate",),
        ("withoutconds/second/milk.txt is there", "initstate/second/milk.json is not"),
        records=1,
    ),
    RefusedCase(
        "a state without its program",
        {**pair(), "initstate/second/milk.json": b"[]"},
        ("no_program",),
        ("initstate/second/milk.json is there", "withoutconds/second/milk.txt is not"),
        records=1,
    ),
    RefusedCase(
        "both halves alone",
        {**FLAT, "withoutconds/tea.txt": PROGRAM.encode(), "initstate/soup.json": b"[]"},
        ("no_program", "no_initstate"),
        ("initstate/soup.json is there",),
        records=1,
    ),
    RefusedCase(
        "a flat and a nested half",
        {"withoutconds/milk.txt": PROGRAM.encode(), JSON: b"[]"},
        ("no_program", "no_initstate"),
        ("evenings/milk.json",),
    ),
    RefusedCase(
        "one id in two datasets",
        {
            f"{home}/{name}": data
            for home, said in (("a", STATE), ("b", "[]"))
            for name, data in pair(state=said).items()
        },
        ("conflicting_repeat",),
        ("evenings/milk", "b/withoutconds", "a/withoutconds"),
        records=1,
    ),
]

_ACCEPTED = [
    ("a pair", pair(), (), ("Title: Warm the milk\nDescription: I warm a pot of milk.\n" + STEPS, START)),
    ("the objects", pair(), (), ("\nObjects: kitchen; milk; pot; stove\n",)),
    ("the flat layout", FLAT, (), (STEPS, START)),
    ("a dataset folder below", {f"repo/dataset/{n}": data for n, data in pair().items()}, (), (STEPS, START)),
    ("no precondition", pair(state="[]"), (), (STEPS, "\nStart: not given")),
    ("an instance that is a number", begun('{"sitting": ["character", 1]}'), (), ("\nStart: the person is sitting",)),
    ("worn", begun('{"in": [["shoes", "1"], ["character", 1]]}'), (), ("\nStart: the shoes are on the person",)),
    ("its own neighbor", begun('{"atreach": [["pot", "1"], ["pot", "1"]]}'), (), ("\nStart: not given",)),
    (
        "numbered where there are several",
        begun('{"inside": [["pot", "2"], ["stove", "1"]]}'),
        (),
        ("pour milk into pot 1;", "; pot 1; stove; pot 2\nStart: the pot 2 is inside the stove"),
    ),
    ("unknown predicate", begun('{"is_dirty": ["pot", "1"]}'), ("predicates: is_dirty",), ("the pot is dirty",)),
    (
        "the older upper case",
        pair(
            PROGRAM.replace("<kitchen>", "<HOME OFFICE>").replace("[SwitchOn] <stove>", "[SWITCHON] <STOVE>"),
            STATE.upper().replace("KITCHEN", "HOME OFFICE"),
        ),
        (),
        ("walk to home office;", "switch on stove;", "; the stove is in the home office"),
    ),
    (
        "executable instances",
        pair(PROGRAM.replace("(1)", "(1.417)").replace("[Pour]", "[POUR]").replace("[Walk]", "[WALK]")),
        (),
        (STEPS, START),
    ),
    ("CR", pair(PROGRAM.replace("\n", "\r"), STATE + "\r"), (), (STEPS, START)),
    ("CRLF", pair(PROGRAM.replace("\n", "\r\n"), STATE + "\r\n"), ("CRLF",), (STEPS, START)),
    (
        "byte order marks",
        pair("\ufeff" + PROGRAM, "\ufeff" + STATE),
        ("program begins with a byte", "initstate begins with a byte"),
        ("Title: Warm the milk\n", STEPS, START),
    ),
    ("blank description", changed("I warm a pot of milk.", ""), (), ("\nDescription: not given\n", STEPS)),
    ("no description", changed("I warm a pot of milk.\n\n\n", ""), ("no description",), (STEPS,)),
    ("no final newline, blanks at the end", pair(PROGRAM.rstrip().replace("\n", "  \n")), (), (STEPS, START)),
    ("a long description", changed("of milk.", "of milk" + " and milk" * 90), (), (" and milk" * 90 + "\nSteps",)),
    ("an endless description", changed("of milk.", "of milk" * 900), ("the first 4000 were kept",), ("...\nSteps",)),
    (
        "what only people do",
        changed("[Wait]", "[Drink] <milk> (1)\n[Sleep]\n[WakeUp]\n[Drink] <milk> (1)"),
        (),
        ("drink milk; sleep; wake up; drink milk\n", "\nOnly people: drink; sleep; wake up"),
    ),
    (
        "into what is open",
        changed("[Wait]", "[PutBack] <pot> (1) <stove> (1)\n[Open] <stove> (1)\n[PutBack] <pot> (1) <stove> (1)"),
        (),
        ("put back pot on stove; open stove; put back pot in stove\n",),
    ),
    (
        "what else lies there",
        {
            **pair(),
            "withconds/evenings/milk.txt": WITHCONDS.encode(),
            "init_and_final_graphs/milk.json": GRAPH.encode(),
            "withoutconds/evenings/._milk.txt": b"\x00",
            "withoutconds/README.md": b"x",
            "__MACOSX/initstate/milk.json": b"x",
        },
        (),
        (STEPS, START),
    ),
]

ACCEPTED = [
    *(AcceptedCase(*row) for row in _ACCEPTED),
    AcceptedCase(
        "the same dataset twice",
        {f"{home}/{name}": data for home in "ab" for name, data in pair().items()},
        repeats=1,
    ),
]
