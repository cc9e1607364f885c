from __future__ import annotations

import builtins
import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest

from hazardmill import errors
from hazardmill.errors import HazardmillError, ProviderError, RateLimited, SourceError


def subclasses(cls: type[HazardmillError]) -> set[type[HazardmillError]]:
    return {cls}.union(*(subclasses(sub) for sub in cls.__subclasses__() if sub.__module__ == errors.__name__))


ALL = sorted(subclasses(HazardmillError), key=lambda cls: cls.__name__)


@pytest.mark.parametrize(
    ("where", "text"),
    [
        ({}, "broken"),
        ({"remedy": "mend it"}, "broken [mend it]"),
        ({"file": "a.tsv"}, "a.tsv: broken"),
        ({"file": "a.tsv", "line": 3}, "a.tsv:3: broken"),
        ({"line": 3}, "line 3: broken"),
        ({"record_id": "x:1"}, "record x:1: broken"),
        (
            {"file": "a.tsv", "line": 3, "record_id": "x:1", "remedy": "mend it"},
            "a.tsv:3 (record x:1): broken [mend it]",
        ),
    ],
)
def test_an_error_says_what_where_and_what_to_do(where: dict[str, object], text: str) -> None:
    assert str(SourceError("broken", **where)) == text


@pytest.mark.parametrize("cls", ALL, ids=lambda cls: cls.__name__)
def test_an_error_survives_the_way_between_processes(cls: type[HazardmillError]) -> None:
    error = cls("broken", file="a", line=3, record_id="x:1", remedy="mend it")
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is cls and str(copy) == str(error)
    assert copy.__dict__ == error.__dict__ and copy.args == ("broken",)


def test_a_pickled_provider_error_still_says_how_long_to_wait() -> None:
    assert pickle.loads(pickle.dumps(RateLimited("slow", retry_after=2.5))).retry_after == 2.5


def test_the_drawing_shows_every_error_with_its_bases_and_exit_code() -> None:
    drawn = re.findall(r"^[ │├└─]*(\w+(?:, \w+)*)", errors.__doc__.partition("Every error")[0], re.MULTILINE)
    names = [name for group in drawn[1:] for name in group.split(", ")]
    assert sorted(names[names.index("HazardmillError") :]) == [cls.__name__ for cls in ALL]
    codes = dict(re.findall(r"(\w+)(?: \(\w+\))? .*\(exit (\d)\)", errors.__doc__))
    for cls in ALL:
        # A class without a code of its own in the drawing has that of the nearest one above it.
        drawn_code = next((codes[above.__name__] for above in cls.__mro__ if above.__name__ in codes), 1)
        assert cls.exit_code == int(drawn_code), cls.__name__
    for name, base in re.findall(r"(\w+) \((\w+Error)\)", errors.__doc__):
        assert issubclass(getattr(errors, name), getattr(builtins, base)), name


def test_only_what_may_pass_is_asked_again() -> None:
    assert {cls.__name__ for cls in ALL if cls.retryable} == {
        "AnswerTooLarge",
        "ConnectionFailed",
        "NothingListens",
        "ProviderDown",
        "RateLimited",
    }
    assert all(issubclass(cls, ProviderError) for cls in ALL if cls.retryable)


def test_errors_need_nothing_but_the_standard_library(project: Path) -> None:
    code = "import sys; sys.path.append(sys.argv[1]); import hazardmill.errors; print(hazardmill.errors.__name__)"
    # Without site-packages, as in the jail.
    command = [sys.executable, "-I", "-S", "-c", code, str(project)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "hazardmill.errors\n"
