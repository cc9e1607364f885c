"""A draft has a fact for every part of the cause in the formalization."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from hazardmill.formalism.document.document import Document
from hazardmill.generation.checks.formalization import formalization_check
from hazardmill.generation.context import Prompts
from hazardmill.generation.refine import render_feedback
from hazardmill.records import Check

from .support import SOUP

TOY, HOT, CHILD = "A toy lies on the floor.", "The soup is hot.", "A child sits at the table."


def task(changing: Sequence[str] | None, fixed: Sequence[str] = ()) -> Document:
    names: dict[str, Any] = {"__name__": "task"}
    exec(compile(SOUP, "task.py", "exec"), names)
    causes = None if changing is None else {"changing": list(changing), "fixed": list(fixed)}
    return Document.from_json({**names["ServeSoup"]().document().to_json(), "causes": causes})


def checked(changing: Sequence[str], fixed: Sequence[str], document: Document) -> Check:
    return formalization_check(changing, fixed, document)


@pytest.mark.parametrize(
    ("changing", "fixed", "document"),
    [
        ([], [], task(None)),
        ([TOY], [HOT], task(["moving_slowly"], ["soup_is_hot"])),
        # More facts than parts, and one fact for two.
        ([TOY], [HOT], task(["moving_slowly", "bowl_at"], ["soup_is_hot", "window_is_open"])),
        ([TOY], [HOT, CHILD], task(["moving_slowly"], ["soup_is_hot", "soup_is_hot"])),
    ],
)
def test_a_fact_for_each_part_passes(changing: list[str], fixed: list[str], document: Document) -> None:
    check = checked(changing, fixed, document)
    assert (check.name, check.passed, check.reason) == ("formalization", True, None)


@pytest.mark.parametrize(
    ("changing", "fixed", "document", "left"),
    [
        ([TOY], [HOT], task(None), [("cause", TOY), ("fixed", HOT)]),
        ([TOY], [HOT, CHILD], task(["moving_slowly"], ["soup_is_hot"]), [("fixed", CHILD)]),
        # What is fixed cannot stand for what changes.
        ([TOY], [HOT], task([], ["soup_is_hot", "window_is_open"]), [("cause", TOY)]),
    ],
)
def test_parts_without_a_fact_are_named(
    changing: list[str], fixed: list[str], document: Document, left: list[tuple[str, str]]
) -> None:
    check = checked(changing, fixed, document)
    assert (check.passed, check.reason) == (False, "cause_not_named")
    assert [(part["keyword"], part["part"]) for part in check.details["unnamed"]] == left
    assert check.message is not None and all(text in check.message for _, text in left)
    told = render_feedback(1, [check], Prompts.load().feedback)
    assert "check: formalization" in told and left[0][1] in told and f"mend: {check.mend}" in told
