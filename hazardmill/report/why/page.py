"""Render a story as one self-contained HTML page, which runs no script, loads nothing, and escapes everything."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path
from typing import Final

from jinja2 import Environment
from markupsafe import Markup

from hazardmill import __version__
from hazardmill.errors import HazardmillError
from hazardmill.formalism.proofs.claim import describe_witness
from hazardmill.report import wording
from hazardmill.report.why import words
from hazardmill.report.why.model import Story, TaskStory
from hazardmill.reporting import numbers
from hazardmill.reporting.html import TEMPLATES, environment, write_text
from hazardmill.review.candidates import Content
from hazardmill.review.drawing.layout import STATIC, Layout, lay_out
from hazardmill.review.drawing.layout import TEMPLATES as DRAWING
from hazardmill.review.item_view import open_item

_OWN: Final = Path(__file__).resolve().parents[1] / "templates"
STYLES: Final = (TEMPLATES / "report.css", _OWN / "why.css")
"""The style sheets of a story."""


def write_page(story: Story, path: Path) -> Path:
    """Write a story as an HTML page.

    Args:
        story: The story.
        path: The file to write; missing folders are created.

    Returns:
        The path.

    Raises:
        StoreError: The file cannot be written.
    """
    write_text(path, render_page(story), "page")
    return path


def render_page(story: Story) -> str:
    """Return a story as an HTML page.

    The page's own security policy allows its style sheet, by hash, and nothing else.
    """
    # The drawing of a task comes first and within its own class, so that its rules apply to nothing else.
    drawing = (STATIC / "item.css").read_text(encoding="utf-8").replace(":root", "&")
    style = f"\n.drawn {{\n{drawing}}}\n" + "".join(path.read_text(encoding="utf-8") for path in STYLES)
    layout, trouble = None, None
    if story.task is not None:
        try:
            layout = _lay_out(story.task, story.record_id)
        except HazardmillError as error:
            trouble = f"The plans cannot be drawn. {error}"
    return (
        story_environment(DRAWING)
        .get_template("why.html.j2")
        .render(
            **story_context(story),
            layout=layout,
            trouble=trouble,
            described=describe_witness,
            # Our own style sheet is the only text that is not escaped; the policy of the page allows only its hash.
            style=Markup(style),
            style_hash=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
            version=__version__,
        )
    )


def _lay_out(task: TaskStory, record_id: str) -> Layout:
    """Return the task as every page draws it; the record and the danger are told by the rest of the story."""
    content = Content(
        item=task.task_id,
        source=record_id.partition(":")[0],
        context=None,
        licence=None,
        attribution=None,
        danger={},
        document=task.document,
        safe_plan=None if task.safe is None else task.safe.plan,
        unsafe_plan=task.unsafe.plan,
        code=task.code,
        certificate=task.certificate,
        domain_pddl=task.domain_pddl,
        problem_pddl=task.problem_pddl,
    )
    return lay_out(open_item(content, None).show())


def story_environment(*folders: Path) -> Environment:
    """Return the Jinja environment with the templates of a story.

    Args:
        folders: Further folders of templates, which come first.
    """
    templates = environment(*folders, _OWN)
    # The environment is that of the last page; nobody else has one of these folders.
    templates.filters |= {"pretty": _pretty, "capitalize_first": _capitalize}
    return templates


def story_context(story: Story) -> dict[str, object]:
    """Return what templates of a story are given: the story, and the words for it."""
    return {"story": story, "say": words, "words": wording, "numbers": numbers}


def _pretty(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def _capitalize(text: str) -> str:
    # str.capitalize would lower the rest.
    return text[:1].upper() + text[1:]
