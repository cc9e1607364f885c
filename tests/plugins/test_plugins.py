"""Plugins are found by entry points. A broken one is skipped and named, and an error where it was asked for."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hazardmill.errors import PluginError, UnknownName
from hazardmill.generation.checks.added import find_checks, load_checks
from hazardmill.ingest.sources import find_sources, list_sources, load_source
from hazardmill.llm.access import ModelAccess
from hazardmill.llm.backends.plugin import find_backends, open_plugin_backend, plugin_backend_of
from hazardmill.llm.prompts import load_guidance
from hazardmill.plugins import find_plugins
from hazardmill.resources import SOURCES_VARIABLE
from hazardmill.runs.config import RunConfig, RunInput
from tests.generation.support import write_source
from tests.plugins.installing import lay_package

ACCESS: ModelAccess = RunConfig(inputs=(RunInput(source="notes"),))

BACKEND = """\
class Echo:
    name, host = "echo", None
    def __init__(self, access): {body}
    async def complete(self, request): return "text"
    async def close(self): pass
"""


def lay_source(site: Path, package: str, name: str, *, called: str | None = None, home: str | None = None) -> None:
    """A package whose module ``source`` is the source of other tests under this name."""
    module = package.replace("-", "_")
    text = (write_source(site / f"home-{package}") / "notes" / "source.py").read_text()
    text = text.replace('name = "notes"', f"name = {called or name!r}")
    if home is not None:
        text = text.replace("folder = Path(__file__).parent", f"folder = {home}")
    points = {"hazardmill.sources": {name: f"{module}.source:SOURCE"}}
    lay_package(site, package, "0.1", points, {f"{module}/__init__.py": "", f"{module}/source.py": text})


def test_a_package_adds_a_source_a_backend_and_a_check(kitchen: Path) -> None:
    assert {plugin.origin for plugin in find_plugins("source").found.values()} == {"hazardmill-kitchen 1.2"}
    assert "incidents" in [source.name for source in list_sources()]
    assert find_sources().origins == {"incidents": "hazardmill-kitchen 1.2"}
    assert load_source("incidents").sample == kitchen / "hazardmill_kitchen" / "incidents" / "sample"
    assert plugin_backend_of("kitchen/any") == "kitchen"
    assert [check.name for check, _ in load_checks(["few_fluents"])] == ["few_fluents"]
    assert find_sources().broken == find_backends().broken == find_checks().broken == ()


def test_only_a_run_on_its_source_gets_the_guidance_of_a_package(kitchen: Path) -> None:
    assert "incidents" not in load_guidance()
    told = load_guidance(["incidents"])
    assert told == {**load_guidance(), "incidents": told["incidents"]}
    assert told["incidents"].startswith("Each incident names one thing")


@pytest.mark.parametrize(
    ("module", "message"),
    [
        ("import surely_not_installed\n", "ModuleNotFoundError: No module named 'surely_not_installed'"),
        ("raise SystemExit(3)\n", "SystemExit: 3"),
        ("SOURCE = 3\n", "int is not an instance of a subclass of Source"),
        ("", "AttributeError"),
    ],
)
def test_a_broken_source_of_a_package_is_named_and_skipped(site: Path, module: str, message: str) -> None:
    points = {"hazardmill.sources": {"bad": "bad_package.source:SOURCE"}}
    lay_package(site, "bad-package", "0.1", points, {"bad_package/__init__.py": "", "bad_package/source.py": module})
    listing = find_sources()
    assert "neiss" in [source.name for source in listing.sources]
    (error,) = listing.broken
    assert message in str(error)
    assert "bad-package 0.1" in str(error) and "bad = bad_package.source:SOURCE" in str(error) and error.remedy
    assert load_source("neiss")
    with pytest.raises(PluginError, match=re.escape(message)):
        load_source("bad")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"called": "other"}, "its `name` is 'other', and its entry point is called 'mine'"),
        ({"home": "Path('/')"}, "its `folder` is /, and its module is in"),
    ],
)
def test_a_source_of_a_package_is_called_as_its_entry_point_and_lies_beside_it(
    site: Path, fields: dict[str, str], message: str
) -> None:
    lay_source(site, "my-notes", "mine", **fields)
    with pytest.raises(PluginError, match=re.escape(message)):
        load_source("mine")


def test_a_package_never_displaces_a_source_that_is_a_folder(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SOURCES_VARIABLE, str(write_source(tmp_path / "home")))
    lay_source(site, "their-notes", "notes")
    lay_source(site, "their-neiss", "neiss")
    listing = find_sources()
    assert len(listing.broken) == 2 and all("its name is taken by" in str(error) for error in listing.broken)
    assert load_source("notes").folder == tmp_path / "home" / "notes"
    assert listing.origins == {}


def test_a_name_that_two_packages_give_is_nobodys(site: Path) -> None:
    lay_source(site, "one-package", "mine")
    lay_source(site, "other-package", "mine")
    assert len(find_sources().broken) == 2
    with pytest.raises(PluginError, match=r"one-package 0.1.*other-package 0.1 has a source of the same name"):
        load_source("mine")


def test_entry_points_that_cannot_be_read_are_told_with_the_package(site: Path) -> None:
    lay_package(site, "odd-package", "0.1", {"hazardmill.sources": {}})
    (site / "odd_package-0.1.dist-info" / "entry_points.txt").write_text("[hazardmill.sources]\nno sign\n")
    (error,) = find_sources().broken
    assert "the entry points of package odd-package cannot be read" in str(error)
    assert "neiss" in [source.name for source in list_sources()]


@pytest.mark.parametrize("name", ["Bad-Name", "judge", "policy", "formalization"])
def test_a_check_may_not_be_called_as_one_of_ours_or_badly(site: Path, name: str) -> None:
    lay_package(site, "odd-package", "0.1", {"hazardmill.checks": {name: "odd:check"}}, {"odd.py": "check = print"})
    (broken,) = find_checks().broken
    assert broken.name == name and "odd-package 0.1" in str(broken.error)
    with pytest.raises(PluginError, match="cannot be used"):
        load_checks([name])


def test_an_unknown_check_is_told_with_those_that_there_are(kitchen: Path) -> None:
    with pytest.raises(UnknownName, match=r"has a check 'few_fluent' \[did you mean few_fluents\?"):
        load_checks(["few_fluent"])


@pytest.mark.parametrize("name", ["openai", "recorded", "replay"])
def test_a_backend_never_takes_over_the_models_of_another(site: Path, name: str) -> None:
    lay_package(site, "odd-package", "0.1", {"hazardmill.backends": {name: "odd:Echo"}}, {"odd.py": BACKEND})
    assert plugin_backend_of(f"{name}/gpt-5-mini") is None
    (broken,) = find_backends().broken
    assert "its name is taken by" in str(broken.error) and "odd-package 0.1" in str(broken.error)


@pytest.mark.parametrize(
    ("module", "message"),
    [
        ("import surely_not_installed\n", "ModuleNotFoundError"),
        (BACKEND.format(body="raise KeyError('x')"), "it cannot be opened: KeyError: 'x'"),
        (BACKEND.format(body="pass").replace('"echo"', '"other"'), "its `name` is 'other'"),
        (BACKEND.format(body="pass").replace("async def close", "def close"), "has no `async def close`"),
        (BACKEND.format(body="pass").replace(", None", ", 3"), "its `host` is neither a text nor None"),
        ("Echo = 3\n", "3 cannot be called"),
    ],
)
def test_a_backend_that_is_none_says_why_when_it_is_asked_for(site: Path, module: str, message: str) -> None:
    lay_package(site, "echo-package", "0.1", {"hazardmill.backends": {"echo": "echo:Echo"}}, {"echo.py": module})
    assert plugin_backend_of("echo/x") == "echo"
    with pytest.raises(PluginError, match=re.escape(message)) as caught:
        open_plugin_backend("echo", ACCESS)
    assert "echo-package 0.1" in str(caught.value)


def test_a_backend_that_is_not_installed_says_where_to_look() -> None:
    with pytest.raises(UnknownName, match=r"no backend 'gone'.*`made_with`"):
        open_plugin_backend("gone", ACCESS)
