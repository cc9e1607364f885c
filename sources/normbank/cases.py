"""What NormBank refuses, and what it accepts: one row a case."""

from __future__ import annotations

from hazardmill.testing.cases import AcceptedCase, RefusedCase

COLUMNS = "setting behavior setting-behavior constraints constraints_given constraint_predict norm label split".split()
GOOD = {
    "setting": "ward kitchen",
    "behavior": "taste the soup",
    "setting-behavior": "ward kitchen [BEHAVIOR] taste the soup",
    "constraints": "[PERSON]'s role is 'cook' [AND] noise is 'loud'",
    "constraints_given": "noise is 'loud' [AND] ",
    "constraint_predict": "[PERSON]'s role is 'cook'",
    "norm": "taboo",
    "label": "0",
    "split": "train",
}
CONTEXT = (
    "Setting: ward kitchen\nBehavior: taste the soup\n"
    "Constraints: the person's role is cook; noise is loud\nNorm: taboo",
)


def row(separator: str = ",", **changes: str) -> str:
    """A good row, some cells changed; nothing is quoted."""
    return separator.join({**GOOD, **changes}.values())


def table(*rows: str, columns: list[str] | None = None, separator: str = ",", end: str = "\n") -> bytes:
    """A file of these rows under the header."""
    return (end.join([separator.join(columns or COLUMNS), *rows]) + end).encode()


def csv(*rows: str) -> dict[str, bytes]:
    return {"NormBank.csv": table(*rows)}


def without(*names: str) -> dict[str, bytes]:
    columns = [name for name in COLUMNS if name not in names]
    return {"NormBank.csv": table(",".join(GOOD[name] for name in columns), columns=columns)}


def constrained(constraints: str) -> dict[str, bytes]:
    return csv(row(constraints=constraints))


OTHER = row(behavior="lick the ladle")
HTML = b"<!DOCTYPE html>\n<html><head><title>Virus scan warning</title></head></html>\n"
LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 51234567\n"
FORGOTTEN = row(behavior='"taste, and say so')
LONG = "a" * 3000

_REFUSED = [
    *((f"no {name}", without(name), ("missing_column",), (f"called {name};",), None) for name in ("setting", "norm")),
    ("no behavior, no constraints", without("behavior", "constraints"), ("missing_column",), ("behavior or c",), None),
    ("no header", {"NormBank.csv": (row() + "\n").encode()}, ("missing_column",), ("setting or behavior",), None),
    ("web page", {"NormBank.csv": HTML}, ("html_page",), ("web page",), None),
    ("LFS pointer", {"NormBank.csv": LFS}, ("lfs_pointer",), ("Git LFS",), None),
    ("no byte", {"NormBank.csv": b""}, ("empty_file",), ("empty",), None),
    ("gzip", {"NormBank.csv": b"\x1f\x8b\x08\x00abc"}, ("packed",), ("gzip",), None),
    ("blank setting", csv(row(setting="  ")), ("blank_setting",), ("setting is blank",), 2),
    ("blank behavior", csv(row(behavior="")), ("blank_behavior",), ("behavior is blank",), 2),
    ("all cells blank", csv(row(), "," * 8), ("norm",), ("unknown norm ''",), 3),
    ("a typo in the norm", csv(row(norm="tabu")), ("norm",), ("'tabu'",), 2),
    ("another word for a norm", csv(row(norm="okay")), ("norm",), ("'okay'",), 2),
    ("norm NaN", csv(row(norm="NaN", label="")), ("norm",), ("'NaN'",), 2),
    ("norm blank", csv(row(norm=" ")), ("norm",), ("norm ''",), 2),
    ("label of another norm", csv(row(label="2")), ("label",), ("'2'", "'taboo'", "is 0"), 2),
    ("label is none", csv(row(label="taboo")), ("label",), ("label 'taboo'",), 2),
    ("a field too few", csv(row(), "ward,sit,x"), ("field_count",), ("3 fields", "9"), 3),
    ("a field too many", csv(row() + ",x"), ("field_count",), ("10 fields",), 2),
    ("an unquoted comma", csv(row(behavior="taste, then spit")), ("field_count",), ("10 fields",), 2),
    ("a quote never closed", csv(row(), FORGOTTEN, OTHER), ("unterminated_quote",), ("never closed",), 3),
    ("in the last row", csv(row(), FORGOTTEN), ("unterminated_quote",), ("never closed",), 3),
    ("twice running", csv(FORGOTTEN, FORGOTTEN, OTHER), ("unterminated_quote",) * 2, ("never closed",), 2),
    (
        "before a row with quotes of its own",
        csv(FORGOTTEN, row(behavior='"lick, or ""taste"""')),
        ("unterminated_quote",),
        ("never closed",),
        2,
    ),
    (
        "before a row with a quotation mark inside",
        csv(FORGOTTEN, row(behavior='lick 3" of it')),
        ("unterminated_quote",),
        ("never closed",),
        2,
    ),
    (
        "before a row that cannot be decoded",
        {"NormBank.csv": table(FORGOTTEN, "~", row()).replace(b"~", b"\xe9")},
        ("unterminated_quote", "encoding"),
        ("never closed",),
        2,
    ),
    (
        "before many lines that are no rows",
        csv(FORGOTTEN, *["and on"] * 30),
        ("unterminated_quote", *["field_count"] * 30),
        ("never closed",),
        2,
    ),
    ("text after a closing quote", csv(row(behavior='"taste" it')), ("quoting",), ("not valid CSV",), 2),
    ("a carriage return inside", csv(row(behavior="taste\rit")), ("quoting",), ("not valid CSV",), 2),
    ("a quoted row of two lines with a field too many", csv(row(behavior='"a\nb"') + ",x"), ("field_count",), (), 2),
    ("constraints blank", constrained(""), ("blank_constraints",), ("no constraint",), 2),
    ("constraints nan", constrained("nan"), ("blank_constraints",), ("no constraint",), 2),
    ("nothing but an [AND]", constrained(" [AND] "), ("blank_constraints",), ("no constraint",), 2),
    (
        "not UTF-8",
        {"NormBank.csv": table(row(), row(behavior="go to the caf~")).replace(b"~", b"\xe9")},
        ("encoding",),
        ("0xe9",),
        3,
    ),
    ("header not UTF-8", {"NormBank.csv": b"caf\xe9," + table(row())}, ("encoding",), ("0xe9",), None),
    ("byte order mark", {"NormBank.csv": b"\xef\xbb\xbf" + table(row())}, ("byte_order_mark",), ("byte order",), None),
    ("UTF-16", {"NormBank.csv": table(row()).decode().encode("utf-16")}, ("not_text",), ("UTF-16",), None),
    ("tabs", {"a.csv": table(row("\t"), separator="\t")}, ("wrong_separator",), ("tabs", "commas"), None),
    ("semicolons", {"a.csv": table(row(";"), separator=";")}, ("wrong_separator",), ("semicolons",), None),
    ("header again", csv(row(), ",".join(COLUMNS), OTHER), ("repeated_header",), ("header again",), 3),
    (
        "header again, columns in another order",
        csv(row(), ",".join(reversed(COLUMNS)), OTHER),
        ("repeated_header",),
        ("header again",),
        3,
    ),
    (
        "header again, of the extended build",
        csv(row(), ",".join([*COLUMNS, "worker_id"]), OTHER),
        ("repeated_header",),
        ("header again",),
        3,
    ),
    (
        "a column twice",
        {"NormBank.csv": table(row() + ",expected", columns=[*COLUMNS, "Norm "])},
        ("duplicate_column",),
        ("norm",),
        None,
    ),
    (
        "header with a quote never closed",
        {"NormBank.csv": b'"' + table(row())},
        ("header",),
        ("no row of column names",),
        None,
    ),
    ("NUL bytes at once", csv(row(behavior="\0")), ("nul_byte",), ("NUL",), 2),
    (
        "NUL bytes further on",
        csv(row(behavior=LONG), row(behavior="\0"), OTHER),
        ("nul_byte",),
        ("NUL",),
        3,
    ),
    ("a row too long", csv(row(behavior="a" * 100_000), OTHER), ("record_too_long",), ("characters",), 2),
    ("a line too long", csv(row(), row(behavior="a" * (1 << 20))), ("line_too_long",), ("exceeds",), 3),
    ("no rows", csv(), ("no_rows",), ("no rows",), None),
    ("nothing but blank lines", {"NormBank.csv": b"\n \n"}, ("no_rows",), ("blanks",), None),
]
_GOOD_BESIDE = {
    "all cells blank": 1,
    "a field too few": 1,
    "a row too long": 1,
    "a quote never closed": 2,
    "in the last row": 1,
    "twice running": 1,
    "before a row with quotes of its own": 1,
    "before a row with a quotation mark inside": 1,
    "before a row that cannot be decoded": 1,
    "not UTF-8": 1,
    "header again": 2,
    "header again, columns in another order": 2,
    "header again, of the extended build": 2,
    "NUL bytes further on": 2,
    "a line too long": 1,
}
_NORMAL = row(norm="normal", label="1")

_ATOMS = [
    ("[PERSON]'s behavior is 'hold a spoon'", "the person's behavior is hold a spoon"),
    ("[OTHER]'s role is 'patient'", "the other person's role is patient"),
    ("[OTHER]'s role is not 'patient'", "the other person's role is not patient"),
    ("[PERSON]'s age bracket is over '21'", "the person's age bracket is over 21"),
    ("[PERSON]'s age bracket is less than '21'", "the person's age bracket is less than 21"),
    ("holiday or special day is 'Mother's Day'", "holiday or special day is Mother's Day"),
    ("[PERSON]'s behavior is 'lean on [OTHER]'s chair'", "behavior is lean on the other person's chair"),
    ("[PERSON]'s children is 'None'", "the person's children is None"),
]
_UNPARSED = ["after dark", "noise is loud", "noise is ''", "noise 'loud'", "[PERSON] is 'cook'", "[THEM]'s role is 'x'"]

_ACCEPTED = [
    AcceptedCase("a plain row", csv(row()), context=CONTEXT),
    AcceptedCase("the four columns alone", without(*set(COLUMNS) - {"setting", "behavior", "constraints", "norm"})),
    AcceptedCase(
        "columns in another order",
        {"NormBank.csv": table(",".join(reversed(GOOD.values())), columns=COLUMNS[::-1])},
        context=CONTEXT,
    ),
    AcceptedCase(
        "the extended build",
        {"NormBank.csv": table(row() + ",W7Q,2,shed", columns=[*COLUMNS, "worker_id", "num_constraints", "preset_a"])},
        context=CONTEXT,
        absent=("W7Q", "shed"),
        notes=("3 extra columns ignored: worker_id, num_constraints, preset_a",),
    ),
    AcceptedCase(
        "an index column",
        {"NormBank.csv": table("7," + row(), columns=["", *COLUMNS])},
        context=CONTEXT,
        notes=("1 extra column ignored: (no name)",),
    ),
    AcceptedCase(
        "two columns without a name",
        {"NormBank.csv": table("7," + row() + ",", columns=["", *COLUMNS, ""])},
        context=CONTEXT,
        notes=("2 extra columns ignored: (no name), (no name)",),
    ),
    AcceptedCase(
        "header quoted, upper case", {"a.csv": table(row(), columns=[f'"{name.upper()}"' for name in COLUMNS])}
    ),
    AcceptedCase(
        "blanks at the edges", csv(row(setting="  ward  kitchen ", norm=" taboo ", label=" 0")), context=CONTEXT
    ),
    AcceptedCase("CRLF", {"NormBank.csv": table(row(), end="\r\n")}, context=CONTEXT),
    AcceptedCase("CR", {"NormBank.csv": table(row(), end="\r")}, context=CONTEXT),
    AcceptedCase("no end of line", {"NormBank.csv": table(row()).rstrip()}, context=CONTEXT),
    AcceptedCase("blank lines", {"NormBank.csv": b"\n" + table("", row(), " \t", "\r")}, context=CONTEXT),
    AcceptedCase("all cells quoted", csv(",".join(f'"{cell}"' for cell in GOOD.values())), context=CONTEXT),
    AcceptedCase("a comma", csv(row(behavior='"taste, and nod"')), context=("Behavior: taste, and nod\n",)),
    AcceptedCase("doubled quotes", csv(row(behavior='"say ""yum"""')), context=('Behavior: say "yum"\n',)),
    AcceptedCase(
        "a quotation mark inside", csv(row(behavior='drop 2" of rice')), context=('Behavior: drop 2" of rice\n',)
    ),
    AcceptedCase("a newline", csv(row(behavior='"taste\nthe soup"')), context=CONTEXT),
    AcceptedCase(
        "a newline, then as many commas as before", csv(row(behavior='"taste\nit, say"')), context=("taste it, say\n",)
    ),
    AcceptedCase("several newlines", csv(row(behavior='"taste\n\nthe\r\nsoup"')), context=CONTEXT),
    AcceptedCase(
        "a line like a header's", csv(row(behavior='"taste\nNorm: expected"')), context=("taste Norm: expected\n",)
    ),
    AcceptedCase("label as pandas writes it", csv(row(label="0.0")), context=CONTEXT),
    AcceptedCase("no label", csv(row(label="")), context=CONTEXT),
    *(
        AcceptedCase(
            f"{text} is text", csv(row(setting=text, behavior=text)), context=(f"Setting: {text}\nBehavior: {text}\n",)
        )
        for text in ("None", "NA", "null", "nan")
    ),
    *(
        AcceptedCase(
            f"constraints {text}", constrained(text), (f"{text!r} is not understood",), (f"Constraints: {text}\n",)
        )
        for text in ("None", "NA", "null", *_UNPARSED)
    ),
    *(AcceptedCase(f"constraint {atom}", constrained(atom), (), (f"{words}\nNorm",)) for atom, words in _ATOMS),
    AcceptedCase(
        "an empty constraint",
        constrained(GOOD["constraints"] + " [AND] "),
        ("an empty constraint",),
        CONTEXT,
    ),
    AcceptedCase("a repeat", csv(row(), row(split="dev", constraints_given=" [AND] ")), context=CONTEXT, repeats=1),
    AcceptedCase("another norm", csv(row(), _NORMAL), where={"norm": "normal"}, context=("Norm: normal",)),
    AcceptedCase("the norm of the source", csv(row(), _NORMAL, row(norm="expected", label="2")), context=CONTEXT),
    AcceptedCase("a text beside it", csv(row()) | {"README.md": b"x", ".hidden.csv": b"x"}, context=CONTEXT),
]

REFUSED = [
    *(
        RefusedCase(case, files, reasons, parts, line, _GOOD_BESIDE.get(case, 0))
        for case, files, reasons, parts, line in _REFUSED
    ),
    RefusedCase("more to skip than there is", csv(row(), OTHER), ("range_beyond_end",), ("only 2 records",), skip=3),
    RefusedCase("no row of the norm", csv(_NORMAL), ("nothing_selected",), ("norm=taboo",)),
    RefusedCase(
        "no row of another norm",
        csv(row(), OTHER),
        ("nothing_selected",),
        ("none of 2", "norm=expected"),
        where={"norm": "expected"},
    ),
]
ACCEPTED = _ACCEPTED
