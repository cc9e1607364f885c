from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from hazardmill.errors import SourceError, UnknownName
from hazardmill.ingest.ingest import ingest
from hazardmill.ingest.sources import find_sources, list_sources, load_source
from hazardmill.records import Record
from hazardmill.resources import SOURCES_VARIABLE

MODULE = """
from pathlib import Path
from hazardmill.records import Record
from hazardmill.ingest.sources import InputFile, Source
from .wording import WORD

class Tiny(Source):
    name = {name!r}
    title = licence = attribution = address = description = expects = "tiny"
    facts = ("word",)
    folder = Path(__file__).parent
    def find(self, path):
        return [InputFile(path, path.name)]
    def read(self, file):
        yield Record(source=self.name, native_id="1", context=f"Word: {{WORD}}", facts={{"word": WORD}},
                     licence="x", attribution="x", file=file.name)

SOURCE = Tiny()
"""


def dropped_in(home: Path, name: str, *, called: str | None = None, word: str = "hello") -> Path:
    folder = home / name
    folder.mkdir(parents=True)
    (folder / "source.py").write_text(MODULE.format(name=called or name), encoding="utf-8")
    (folder / "wording.py").write_text(f"WORD = {word!r}\n", encoding="utf-8")
    return folder


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv(SOURCES_VARIABLE, str(folder))
    return folder


def test_our_sources_are_found_by_name() -> None:
    assert {"neiss", "bddl"} <= {source.name for source in list_sources()}
    assert load_source("neiss") is load_source("neiss")


def test_a_folder_dropped_in_is_a_source(home: Path) -> None:
    dropped_in(home, "tiny")
    (home / "notes").mkdir()  # without source.py: no source
    names = [source.name for source in list_sources()]
    assert "tiny" in names
    assert "notes" not in names
    assert names == sorted(names)
    (record,) = ingest(load_source("tiny"), home)
    assert isinstance(record, Record)
    assert record.context == "Word: hello"


def test_equal_module_names_in_two_sources_do_not_meet(home: Path) -> None:
    dropped_in(home, "one", word="first")
    dropped_in(home, "two", word="second")
    words = [next(iter(load_source(name).read(load_source(name).find(home)[0]))) for name in ("one", "two")]
    assert [item.facts["word"] for item in words if isinstance(item, Record)] == ["first", "second"]


def test_an_unknown_name_lists_the_known(home: Path) -> None:
    dropped_in(home, "tiny")
    with pytest.raises(UnknownName, match=r"no source 'nope'.*bddl, neiss.*tiny"):
        load_source("nope")


def test_two_folders_of_one_name_are_refused_where_they_are_asked_for_and_named_elsewhere(home: Path) -> None:
    dropped_in(home, "neiss")
    with pytest.raises(SourceError, match="two sources are called 'neiss'"):
        load_source("neiss")
    listing = find_sources()
    assert "neiss" not in [source.name for source in listing.sources] and len(listing.sources) >= 4
    (error,) = listing.broken
    assert "two sources are called 'neiss'" in str(error)


@pytest.mark.parametrize(
    ("name", "called", "text", "message"),
    [
        ("tiny", None, "SOURCE = 3\n", "does not define SOURCE, a Source named 'tiny'"),
        ("tiny", "other", None, "does not define SOURCE, a Source named 'tiny'"),
        ("tiny", None, "def broken(:\n", "does not load: SyntaxError"),
        ("tiny", None, "import surely_not_installed\n", "does not load: ModuleNotFoundError"),
        ("Tiny-1", None, None, "cannot be the name of a source"),
    ],
)
def test_a_source_that_does_not_load_says_why(
    home: Path, name: str, called: str | None, text: str | None, message: str
) -> None:
    folder = dropped_in(home, name, called=called)
    if text is not None:
        (folder / "source.py").write_text(text, encoding="utf-8")
    with pytest.raises(SourceError, match=re.escape(message)) as caught:
        load_source(name)
    assert caught.value.file == str(folder / "source.py")
    # Nobody asked for it here, so that it stops nothing.
    listing = find_sources()
    assert "neiss" in [source.name for source in listing.sources]
    assert [str(error) for error in listing.broken] == [str(caught.value)]


def test_listing_sources_imports_nothing_heavy(project: Path) -> None:
    heavy = "duckdb pyarrow matplotlib litellm prefect unified_planning pydantic_settings"
    code = (
        "import sys; from hazardmill.ingest.sources import list_sources; list_sources();"
        f"print([name for name in {heavy.split()!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=project, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
