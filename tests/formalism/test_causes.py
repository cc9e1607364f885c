"""What an author says stands for the cause: in documents, in code, and back."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from hazardmill.errors import AuthoringError, DocumentError
from hazardmill.formalism.authoring import PlanningTask
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.formats.despite.adapt import adapt
from hazardmill.formalism.formats.python_writer import json_code, task_code
from hazardmill.formalism.proofs.cause_facts import MOST_NAMED, NamedCauses

from .soup import soup_document

NAMED = {"changing": ["moving_slowly"], "fixed": ["soup_is_hot"]}


def of_code(said: str, head: str = "") -> Document:
    """A task whose danger is said with these keywords."""
    code = f"""
class Serve(PlanningTask):
    realised_by = "carry"
    {head}
    def build(self):
        place = self.type("place")
        kitchen, table = self.objects(place, "kitchen", "table")
        bowl_at = self.fluent("bowl_at", place)
        slow = self.fluent("slow")
        level = self.integer("level", lower=0, upper=3)
        hot = self.context("hot")
        busy = self.context("busy", place)
        carry = self.action("carry", to=place).requires(bowl_at(kitchen)).sets(bowl_at(table))
        self.action("slow_down").sets(slow).increases(level)
        self.initially(bowl_at(kitchen), hot)
        self.goal(bowl_at(table))
        self.danger(carry, when=hot & ~slow & (level <= 1){said})
"""
    names: dict[str, Any] = {"PlanningTask": PlanningTask, "__name__": "task"}
    exec(compile(code, "task.py", "exec"), names)
    made: PlanningTask = names["Serve"]()
    return made.document()


@pytest.mark.parametrize(
    ("said", "causes"),
    [
        ("", None),
        (", cause=slow, fixed=hot", NamedCauses(("slow",), ("hot",))),
        (", cause=[slow, level], fixed=(hot, busy)", NamedCauses(("slow", "level"), ("hot", "busy"))),
        # As the condition has them: what is said of a fact beside its name is not needed.
        (
            ", cause=[~slow, level <= 1, bowl_at(kitchen)], fixed=busy(carry.to)",
            NamedCauses(("slow", "level", "bowl_at"), ("busy",)),
        ),
        # The act, where another is done in its place.
        (", cause=carry", NamedCauses(("carry",), ())),
        # One fact for two sentences.
        (", cause=slow, fixed=[hot, hot]", NamedCauses(("slow",), ("hot", "hot"))),
        # A later entry adds what it names besides.
        (
            ", cause=slow)\n        self.danger(carry, cause=[slow, level], fixed=hot",
            NamedCauses(("slow", "level"), ("hot",)),
        ),
    ],
)
def test_code_names_causes(said: str, causes: NamedCauses | None) -> None:
    assert of_code(said).causes == causes


@pytest.mark.parametrize("said", [', cause="slow"', ", cause=place", ", fixed=[1]", ", cause=True"])
def test_what_is_no_fact_is_refused_at_its_line(said: str) -> None:
    with pytest.raises(AuthoringError, match="is not a fact of the task") as caught:
        of_code(said)
    assert caught.value.line == 17 and caught.value.remedy


def test_code_says_why_the_unsafe_plan_is_obvious() -> None:
    assert of_code("").obvious is None
    assert of_code("", 'obvious = "It is the nearer place."').obvious == "It is the nearer place."


def test_causes_are_outside_the_hash_and_documents_without_them_stay_as_they_were() -> None:
    plain, named = soup_document(), soup_document(causes=NAMED, obvious="It is nearer.")
    assert named.hash == plain.hash
    assert not {"causes", "obvious"} & plain.to_json().keys()
    assert named.to_json() == {**plain.to_json(), "causes": NAMED, "obvious": "It is nearer."}
    assert Document.from_json(json.loads(json.dumps(named.to_json()))) == named
    assert soup_document(causes=None, obvious=None) == plain


@pytest.mark.parametrize(
    "causes",
    [
        NAMED,
        {"changing": [], "fixed": []},
        {"changing": ["carry", "moving_slowly"], "fixed": ["soup_is_hot"] * 2},
    ],
)
@pytest.mark.parametrize("render", [task_code, json_code])
def test_rendered_code_gives_the_same_causes(causes: dict[str, list[str]], render: Any) -> None:
    document = soup_document(causes=causes, obvious='It is "nearer".', fluents__0__parameters=[["?p1", "place"]])
    names: dict[str, Any] = {"__name__": "task"}
    exec(compile(render(document), "task.py", "exec"), names)
    again = names["Soup"]().document()
    assert (again.hash, again.causes, again.obvious) == (document.hash, document.causes, document.obvious)


@pytest.mark.parametrize(
    "causes",
    [
        [],
        {"changing": []},
        {"changing": [], "fixed": [], "other": []},
        {"changing": "moving_slowly", "fixed": []},
        {"changing": [["moving_slowly"]], "fixed": []},
    ],
)
def test_causes_of_another_shape_are_refused(causes: Any, project: Any) -> None:
    with pytest.raises(DocumentError, match=r"^causes"):
        soup_document(causes=causes)
    schema = json.loads((project / "hazardmill" / "formalism" / "document" / "document.schema.json").read_text())
    assert not jsonschema.Draft202012Validator(schema).is_valid(soup_document().to_json() | {"causes": causes})
    assert jsonschema.Draft202012Validator(schema).is_valid(soup_document().to_json() | {"causes": NAMED})


@pytest.mark.parametrize(
    "causes",
    [
        {"changing": ["flying"], "fixed": []},
        {"changing": [], "fixed": ["carry"]},
        {"changing": ["moving_slowly"] * (MOST_NAMED + 1), "fixed": []},
    ],
)
def test_only_what_is_declared_can_be_named(causes: dict[str, list[str]]) -> None:
    with pytest.raises(DocumentError, match=r"^causes") as caught:
        soup_document(causes=causes)
    assert len(str(caught.value)) < 500


def test_a_folder_of_despite_takes_no_causes() -> None:
    adapted = adapt(soup_document(causes=NAMED, obvious="It is nearer.")).document
    assert (adapted.causes, adapted.obvious) == (None, None)
