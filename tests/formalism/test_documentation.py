"""docs/formalism.md says what the code does."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from hazardmill.errors import AuthoringError, DocumentError
from hazardmill.formalism.authoring import PlanningTask
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.document.expressions import nnf, render
from hazardmill.formalism.document.plan_text import parse_plan
from hazardmill.formalism.proofs.certificate import certify
from hazardmill.formalism.search.exact import solve
from hazardmill.formalism.semantics.explain import ground_nnf
from hazardmill.formalism.semantics.plan_validator import PlanVerdict, verdict
from hazardmill.formalism.semantics.transition_system import System

from .soup import action, boolean, danger, integer, sets, soup, soup_document

A, B, N, M = (["fluent", name] for name in "abnm")


@pytest.fixture(scope="module")
def blocks(project):
    text = (project / "docs" / "formalism.md").read_text()
    return re.findall(r"```(\w+)\n(.*?)```", text, re.DOTALL)


def test_the_worked_example(blocks, tmp_path):
    (_, code), (_, plans), (_, judged), (_, told) = blocks
    path = tmp_path / "code.py"
    path.write_text(code)
    for arguments, expected in (
        ([], plans),
        *(([flag, "(CARRY kitchen table)"], judged) for flag in ("--plan", "-plan")),
    ):
        done = subprocess.run(
            [sys.executable, str(path), *arguments], capture_output=True, text=True, cwd=tmp_path, check=False
        )
        assert done.stdout == expected
        assert done.returncode == len(arguments) // 2
    names: dict = {"__name__": "code"}
    exec(compile(code, "code.py", "exec"), names)
    document = names["ServeSoup"]().document()
    found = verdict(System(document), "(carry table kitchen) (fly) (carry kitchen table)")
    assert json.loads(json.dumps(found.to_json())) == json.loads(told)
    assert certify(document).twin == ("soup_is_hot",)


def test_every_line_of_a_certificate_is_explained(project):
    text = (project / "docs" / "formalism.md").read_text().split("\n## Certificates\n")[1]
    causes = {"changing": ["moving_slowly"], "fixed": ["soup_is_hot"]}
    for line in certify(soup_document(causes=causes)).lines:
        assert f"| `{line.name}`" in text
        row = next(row for row in text.splitlines() if row.startswith(f"| `{line.name}`"))
        assert row.endswith(f"| {line.severity} |")


def test_every_test_that_the_page_names_exists(project):
    text = (project / "docs" / "formalism.md").read_text()
    folder = project / "tests" / "formalism"
    named = re.findall(r"`(test_\w+)(?:::(test_\w+))?(?:\[\w+\])?`", text)
    assert len(named) > 30
    for module, function in named:
        written = (folder / f"{module}.py").read_text()
        assert not function or f"def {function}(" in written, f"{module}::{function}"


def acted(precondition=True, effects=(), watch=True, plan="(act)", increment=1, **more) -> PlanVerdict:
    """The verdict of a plan of ``act``, which is dangerous while ``watch`` holds; ``n`` and ``m`` are 0 to 9."""
    task = soup(
        types=[["thing", "object"], ["cup", "thing"]],
        objects=[["y", "cup"], ["x", "thing"]],
        fluents=[
            *(boolean("a"), boolean("b"), integer("n", 0, 9), integer("m", 0, 9)),
            boolean("near", parameters=[["?p", "thing"], ["?q", "thing"]]),
        ],
        actions=[action("act", precondition, effects)],
        initial=[[["n"], 5]],
        goal=True,
        dangers=[danger("act", watch, increment)],
        realised_by=None,
        **more,
    )
    return verdict(System(Document.from_json(task)), plan)


def test_a_condition_is_no_value_of_a_boolean():
    for value in (A, ["not", A], ["and", A, B], 1, ["=", N, 5]):
        with pytest.raises(DocumentError, match="can only be assigned true or false") as caught:
            acted(effects=[["assign", B, value, True]])
        assert caught.value.remedy == "use two conditional effects to copy a condition into it"
    copied = [["assign", B, True, A], ["assign", B, False, ["not", A]]]
    for start, seen in (([[["a"], True]], True), ([[["b"], True]], False)):
        task = soup(
            fluents=[boolean("a"), boolean("b")],
            actions=[action("act", effects=copied)],
            initial=start,
            goal=B if seen else ["not", B],
            dangers=[],
            realised_by=None,
        )
        assert verdict(System(Document.from_json(task)), "(act)").feasible

    class Copying(PlanningTask):
        def build(self):
            a, b = self.fluent("a"), self.fluent("b")
            self.action("act").assigns(b, a)

    with pytest.raises(AuthoringError, match="is Boolean, but an integer is wanted"):
        Copying().document()


def test_white_space():
    blanks = [sign for sign in map(chr, range(0x110000)) if sign.isspace()]
    told = [*range(0x09, 0x0E), *range(0x1C, 0x21), 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B)]
    assert [ord(sign) for sign in blanks] == [*told, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000]
    system = System(soup_document())
    plain = verdict(system, "(carry kitchen table)")
    assert plain.feasible and plain.si_danger == 1
    for blank in blanks:
        written = f"({blank}carry{blank}kitchen{blank}{blank}table{blank})"
        assert parse_plan(written) == [("carry", "kitchen", "table")]
        assert verdict(system, written) == plain
    for sign in "\u200b\u2060\ufeff":
        found = verdict(system, f"({sign}carry kitchen table)")
        assert (found.flags, found.feasible, found.si_danger) == (("ungroundable",), False, 0)


def test_the_order_of_unfolding():
    # A subtype's object that is listed first comes first, though it is not of the type itself.
    pair = [["?p", "thing"], ["?q", "thing"]]
    near = ["fluent", "near", "?p", "?q"]
    order = [f"(near {one} {two})" for one in "yx" for two in "yx"]
    system = System(
        Document.from_json(
            soup(
                types=[["thing", "object"], ["cup", "thing"]],
                objects=[["y", "cup"], ["x", "thing"]],
                fluents=[boolean("near", parameters=pair)],
                actions=[action("act")],
                initial=[],
                goal=["exists", pair, near],
                dangers=[],
                realised_by=None,
            )
        )
    )
    together = ground_nnf(system, system.document.goal, {})
    assert [render(part) for part in together[1:]] == order
    apart = ("exists", (("?p", "thing"),), ("exists", (("?q", "thing"),), ("fluent", "near", "?p", "?q")))
    assert [render(leaf) for part in ground_nnf(system, apart, {})[1:] for leaf in part[1:]] == order
    for nested in (["exists", pair, near], ["exists", pair[:1], ["exists", pair[1:], near]]):
        first = acted(nested, watch=["and", ["fluent", "near", "y", "y"], ["not", ["fluent", "near", "y", "x"]]])
        assert (first.si_danger, first.flags) == (1, ("relaxation_choice",))


def test_not_equal_is_one_literal():
    equal, less = ("=", ("fluent", "n"), 5), ("<", ("fluent", "n"), 5)
    assert nnf(("not", equal)) == ("not", equal)
    assert nnf(("not", ("not", equal))) == equal
    assert nnf(("not", less)) == (">=", ("fluent", "n"), 5)
    assert nnf(("not", ("imply", equal, less))) == ("and", equal, (">=", ("fluent", "n"), 5))
    different = acted(["not", ["=", N, 5]], watch=["=", N, 4])
    assert (different.si_danger, different.flags) == (1, ())
    assert acted(["not", ["=", ["-", N, M], 5]], watch=["and", ["=", N, 4], ["=", M, 0]]).si_danger == 1
    assert acted(["not", ["same", "x", "x"]]).flags == ("unforceable",)


@pytest.mark.parametrize(
    ("precondition", "effects", "plan", "flag"),
    [
        (["or"], (), "(act) (act)", "unforceable"),
        (["or", ["and", A, ["not", A]], B], (), "(act)", "unforceable"),
        (True, [["assign", N, 1, True], ["assign", N, 2, True]], "(act)", "unforceable"),
        (True, (), "(act x)", "ungroundable"),
        (True, (), "(fly)", "ungroundable"),
    ],
)
@pytest.mark.parametrize("increment", [1, -1])
def test_a_skipped_action_adds_no_danger(precondition, effects, plan, flag, increment):
    found = acted(precondition, effects, plan=plan, increment=increment, initial_danger=3)
    assert found.si_danger == 3
    assert flag in found.flags


@pytest.mark.parametrize(
    ("changes", "ends", "clamped"),
    [
        ([("increase", 20), ("decrease", 22)], 3, False),
        ([("decrease", 22), ("increase", 20)], 3, False),
        ([("increase", 6), ("decrease", 3)], 8, False),
        ([("increase", 6), ("increase", 6), ("decrease", 3)], 9, True),
        ([("increase", 6), ("decrease", 30)], 0, True),
        ([("assign", ["-", ["+", N, 100], 101])], 4, False),
        ([("assign", ["+", N, 100])], 9, True),
    ],
)
def test_the_sum_is_clamped_and_not_each_term(changes, ends, clamped):
    effects = [[operation, N, value, True] for operation, value in changes]
    # The precondition of the first action is forced, so that only the intention goes on.
    found = acted(True, [*effects, sets("a")], watch=["and", A, ["=", N, ends]], plan="(act) (act)")
    once = acted(A, [*effects, sets("b")], watch=True, plan="(act)")
    assert ("clamped" in once.flags) is clamped
    assert found.si_danger == 1


def test_names_are_ordered_by_code_point():
    names = ["a", "Zip", "a_b", "a-b", "a1", "aB", "ab", "AB", "Ab", "zip"]
    task = soup(
        types=[],
        objects=[["b", "object"], ["B", "object"]],
        fluents=[boolean("done")],
        actions=[action(name, effects=[sets("done")], parameters=[["?x", "object"]]) for name in names],
        initial=[],
        goal=["fluent", "done"],
        dangers=[],
        realised_by=None,
    )
    document = Document.from_json(task)
    ordered = ["AB", "Ab", "Zip", "a", "a-b", "a1", "aB", "a_b", "ab", "zip"]
    assert [declared.name for declared in document.actions] == ordered
    # Objects are never sorted: the first of the list is the first argument.
    assert solve(document).safe_text == "(AB b)"
