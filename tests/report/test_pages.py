from __future__ import annotations

import json

import pytest
from markupsafe import Markup

from hazardmill.report.html import render_report
from hazardmill.report.markdown import render_markdown
from hazardmill.reporting.html import UNSEEN, environment

from .support import DANGER, connect, mill, task

STEERING = "a\x1b[2J\u202eb\x00\u2066c\u200bd\x85"


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (STEERING, "a\\x1b[2J\\u202eb\\x00\\u2066c\\u200bd\\x85"),
        ("half \ud83d", "half \\ud83d"),
        ("one\r\ntwo\n\tthree\rfour", "one\ntwo\n\tthree\\rfour"),
        ("3\u00a0°C, caf\u00e9 \u4e2d \U0001f600 <b>", "3\u00a0°C, caf\u00e9 \u4e2d \U0001f600 &lt;b&gt;"),
        (12, "12"),
        # What is HTML was made by us, and what is in it was seen to.
        (Markup("<b>\u2066</b>"), "<b>\u2066</b>"),
    ],
)
def test_what_would_steer_a_screen_is_written_out(given: object, shown: str) -> None:
    assert environment().from_string("{{ it }}").render(it=given) == shown
    in_a_macro = "{% macro m(x) %}[{{ x }}]{% endmacro %}{{ m(it) }}"
    assert environment().from_string(in_a_macro).render(it=given) == f"[{shown}]"


def test_nothing_of_a_record_steers_the_screen_of_who_reads_the_report() -> None:
    tables = mill()
    tables["records"][0]["context"] = STEERING
    tables["tasks"][0] = task(
        "neiss:1",
        "neiss-1",
        danger=json.dumps({**DANGER, "setting": STEERING, "entity_in_danger": STEERING}),
        code=STEERING,
        attribution=STEERING,
        model_answered=STEERING,
    )
    tables["runs"][0]["config"] = json.dumps({"note": STEERING})
    tables["outcomes"][2]["reason"] = STEERING
    page = render_report(connect(**tables), ["r"])
    assert not UNSEEN.search(page)
    assert page.count("\\x1b[2J\\u202eb") >= 4
    text, figures = render_markdown(connect(**tables), ["r"], [f"neiss{STEERING}", "neiss"])
    assert not any(map(UNSEEN.search, [text, *figures.values()]))
    assert "`neiss" + "a\\x1b[2J" in text
