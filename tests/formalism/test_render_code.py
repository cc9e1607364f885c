"""What people are given is a function of the document alone: total, of the same hash, and closed to what names say."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hazardmill.errors import AuthoringError, DocumentError
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.formats.python_writer import code_file, is_too_large, json_code, task_code, without_closing
from hazardmill.formalism.json_task import JsonTask
from hazardmill.sandbox import policy
from hazardmill.sandbox.check import CheckFailure, check
from hazardmill.sandbox.jail import Jail
from hazardmill.text.parse import MAX_BYTES
from tests.sizes import sized

from .random_tasks import tasks
from .soup import action, boolean, soup, soup_document
from .test_render_build import run

SOUP = {"fluents__0__parameters": [["?p1", "place"]]}
"""So that a build can say it."""

UNSAID: dict[str, dict[str, Any]] = {
    "and in and": {"goal": ["and", ["and", ["fluent", "moving_slowly"], True], ["fluent", "bowl_at", "table"]]},
    "double negation": {"goal": ["not", ["not", ["fluent", "bowl_at", "table"]]]},
    "two variables": {"goal": ["exists", [["?x", "place"], ["?y", "room"]], ["fluent", "bowl_at", "?x"]]},
    "turned round": {"goal": ["<", 1, 2]},
    "sum of numbers": {"goal": ["=", ["+", 1, 2, 3], 6]},
    "name of a parameter": {"fluents__0__parameters": [["?where", "place"]]},
    "root type": {"objects__2": ["bell", "object"]},
    "context written": {"actions__1__effects__1": ["assign", ["fluent", "soup_is_hot"], True, True]},
    "parameter called name": {"actions__2": action("wait", parameters=[["?name", "place"]])},
    "variable called lambda": {"goal": ["forall", [["?lambda", "place"]], True]},
    "no realised_by": {"realised_by": None},
    "no dangers": {"dangers": []},
    "nothing": {"actions": [], "dangers": [], "realised_by": None},
}


@pytest.fixture(scope="module")
def jail() -> Iterator[Jail]:
    with Jail("auto") as jail:
        yield jail


@pytest.mark.parametrize("name", UNSAID)
def test_what_no_build_can_say_comes_back_from_the_jail_whole(jail: Jail, name: str) -> None:
    texts = {"title": "Bring 'it' \"all\" \\N{BULLET}\n\u2028\0 é \U0001f600", "note": "kept"}
    document = soup_document(**SOUP | {"name": "soup\n!", "texts": texts} | UNSAID[name])
    again = check(task_code(document), jail)
    assert again == document
    assert again.hash == document.hash


@pytest.mark.parametrize("examples", [sized(50, 200)])
def test_any_task_comes_back_whatever_it_says(examples: int) -> None:
    forms = set()

    @settings(max_examples=examples)
    @given(tasks(finite=False, mitigating=True))
    # Few of those that are drawn can be said by a `build`.
    @example(soup_document(**SOUP).to_json())
    def holds(task: dict[str, Any]) -> None:
        try:
            document = Document.from_json(task)
        except DocumentError:
            return
        for each in (document, Document.from_json(with_realised_by(task))):
            code = task_code(each)
            forms.add("JsonTask" in code)
            assert policy.inspect(code) == []
            again = run(code)
            assert again.formal_json() == each.formal_json()
            assert (again.hash, again.realised_by) == (each.hash, each.realised_by)

    holds()
    assert forms == {True, False}


def with_realised_by(task: dict[str, Any]) -> dict[str, Any]:
    fluents = [
        {**fluent, "parameters": [[f"?p{place}", type_] for place, (_, type_) in enumerate(fluent["parameters"], 1)]}
        for fluent in task["fluents"]
    ]
    return {**task, "realised_by": task["actions"][0]["name"], "fluents": fluents}


HOSTILE = st.one_of(
    st.text(),
    st.text(alphabet="\"'\\\n\r\t #;:={}()nNuUx0\u2028\u2029\x85\f\0\u202e\ufeff", max_size=30),
    st.sampled_from(
        [
            '"""',
            '"\nimport os',
            "\\N{BULLET}",
            "\\",
            '\\"',
            '")\nraise SystemExit("out")\n("',
            "# coding: utf-7 +AAo-raise SystemExit-",
            "+AAo-",
            "\\x0araise SystemExit",
            "__main__",
            "eval",
            "class",
            "\uff45val",
            "a\u2028b\u2029c\x85d",
        ]
    ),
)


@given(HOSTILE, HOSTILE, HOSTILE, st.booleans())
@example("__debug__", "x", "x", False)
@example("PlanningTask", "x", "x", True)
def test_no_text_is_more_than_data(title: str, name: str, danger_type: str, as_json: bool) -> None:
    changes: dict[str, Any] = {} if as_json else SOUP
    try:
        document = soup_document(**changes | {"name": name, "texts": {"title": title}})
        entries = [{**entry, "danger_type": danger_type} for entry in document.to_json()["dangers"]]
        document = Document.from_json({**document.to_json(), "dangers": entries})
    except DocumentError:
        return  # half a surrogate pair, or no danger type
    code = code_file(document)
    assert ("JsonTask" in code) == as_json
    # Nothing stands in it beside the import, one class and the two lines that run it.
    kinds = [type(node) for node in ast.parse(code).body]
    assert kinds == [ast.ImportFrom, ast.ClassDef, ast.If]
    assert policy.inspect(without_closing(code)) == []
    # The same to every reader: no other lines, and no other encoding.
    assert code.splitlines() == code.removesuffix("\n").split("\n")
    again = run(code)
    assert (again.hash, again.texts) == (document.hash, {"title": title} if title or as_json else {})


@given(HOSTILE)
@example("coding: utf-7 +AAo-x")
@example("coding=coding:coding= latin-1")
def test_a_label_is_one_comment_and_no_encoding(label: str) -> None:
    document = soup_document(**SOUP)
    code = code_file(document, label)
    first, _, rest = code.partition("\n")
    assert first.startswith("# ") and first.isprintable()
    assert rest == code_file(document)
    assert not policy._CODING.match(first)


@pytest.mark.full
def test_a_file_in_another_encoding_is_not_what_python_reads(tmp_path: Path) -> None:
    path = tmp_path / "code.py"
    escape = "+AAo-import pathlib; pathlib.Path('escaped').touch()+AAo-"
    path.write_text(code_file(soup_document(**SOUP, texts={"title": escape}), f"coding: utf-7 {escape}"))
    done = subprocess.run([sys.executable, path], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert not (tmp_path / "escaped").exists()


@pytest.mark.parametrize("changes", [SOUP, {}], ids=["build", "json"])
def test_the_file_closes_with_two_lines_that_can_be_taken_off(changes: dict[str, Any]) -> None:
    document = soup_document(**changes)
    code = code_file(document)
    assert code.endswith('\n\n\nif __name__ == "__main__":\n    Soup.run_cli()\n')
    assert without_closing(code) == without_closing(task_code(document)) == task_code(document)
    assert without_closing(code.replace("\n", "\r\n")).replace("\r\n", "\n") == task_code(document)


@pytest.mark.parametrize(
    "closing",
    [
        'if __name__ == "__main__":\n    Soup.run_cli()\nprint()\n',
        'if __name__ == "__main__":\n    Soup.run_cli(1)\n',
        'if __name__ == "__main__":\n    Soup.run_cli()\n    print()\n',
        'if __name__ == "__main__" or 1:\n    Soup.run_cli()\n',
        'if __name__ == "__main__":\n    print();Soup.run_cli()\n',
        'if 1:\n  if __name__ == "__main__":\n    Soup.run_cli()\n',
    ],
)
def test_only_those_two_lines_are_taken_off(closing: str) -> None:
    code = task_code(soup_document(**SOUP)) + "\n\n" + closing
    assert without_closing(code) == code
    assert policy.inspect(code)


def test_interpreter_names_are_no_attributes(jail: Jail) -> None:
    parameters = [[f"?{name}", "place"] for name in sorted(policy._INTERPRETER_ATTRIBUTES)]
    for few in (parameters[:6], parameters[6:]):
        condition = ["and", *(["fluent", "bowl_at", name] for name, _ in few)]
        document = soup_document(**SOUP, actions__2=action("wait", condition, parameters=few))
        # ``mro`` is a method of every class, so that no parameter of a build can be called so.
        assert ("JsonTask" in task_code(document)) == (["?mro", "place"] in few)
        again = check(task_code(document), jail)
        assert isinstance(again, Document) and again.hash == document.hash


LONG = "one_of_very_many_places_with_a_long_name_"


def many(objects: int, values: int, prefix: str = LONG) -> Document:
    """A task with many objects, and as many values at the start."""
    names = [f"{prefix}{number:04}" for number in range(objects)]
    task = soup(**SOUP)
    task["objects"] += [[name, "place"] for name in names]
    task["fluents"].append(boolean("linked", parameters=[["?p1", "place"], ["?p2", "place"]]))
    pairs = [(one, two) for one in names for two in names][:values]
    task["initial"] += [[["linked", one, two], True] for one, two in pairs]
    return Document.from_json(task)


@pytest.mark.parametrize(("objects", "values", "form"), [(900, 0, "PlanningTask"), (60, 3_000, "JsonTask")])
def test_a_large_task_is_written_so_that_the_policy_takes_it(jail: Jail, objects: int, values: int, form: str) -> None:
    document = many(objects, values, "p")
    code = task_code(document)
    assert f"({form}):" in code and not is_too_large(document)
    assert len(code) > 20_000
    again = check(code, jail)
    assert isinstance(again, Document), again
    assert again.hash == document.hash


def test_a_task_that_no_module_can_hold_is_refused_with_its_mend(jail: Jail) -> None:
    names = f"[f'{LONG}{{n:04}}' for n in range(60)]"
    code = (
        "from hazardmill.formalism.authoring import PlanningTask\n\n\nclass Soup(PlanningTask):\n"
        "    realised_by = 'wait'\n\n    def build(self):\n        place = self.type('place')\n"
        f"        places = self.objects(place, *{names})\n"
        "        linked = self.fluent('linked', place, place)\n        done = self.fluent('done')\n"
        "        self.initially(*[linked(one, two) for one in places for two in places])\n"
        "        wait = self.action('wait').sets(done)\n        self.goal(done)\n        self.danger(wait)\n"
    )
    failed = check(code, jail)
    assert isinstance(failed, CheckFailure)
    assert (failed.stage, failed.reason) == ("document", "too_large")
    assert str(MAX_BYTES) in failed.message and failed.mend
    few = code.replace("range(60)", "range(20)")
    assert isinstance(check(few, jail), Document)
    whole = many(60, 3_600)
    assert is_too_large(whole) and len(json_code(whole)) > MAX_BYTES


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", "[" * 100_000, json.dumps({"format": 1})])
def test_a_json_task_without_a_document_says_what_is_wrong(text: str) -> None:
    class Broken(JsonTask):
        document_json = text

    with pytest.raises(AuthoringError, match="document"):
        Broken().document()
