"""Fixtures that every test may use.

Tests on real records read the reference data: the folder that ``HAZARDMILL_REFERENCE`` names, else ``shared`` beside
the checkout. Where neither is there (a stranger's clone) they are not collected, and the run says so. A variable that
names a folder without the data is a failure, so that CI cannot pass by looking at nothing.

No test fails because the machine is slow. Property tests have no deadline, and their seed is told at the end. A timeout
higher than that of ``pyproject.toml`` raises those of single tests in proportion: ``PYTEST_TIMEOUT=1200 make test``.
"""

from __future__ import annotations

import gc
import os
import random
import re
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.authorities import TRUSTED

PROJECT = Path(__file__).resolve().parent.parent
VARIABLE = "HAZARDMILL_REFERENCE"
TIMEOUT = "PYTEST_TIMEOUT"

# A random task is many draws. How long they take says something of the machine, and nothing of the law. Where `CI`
# is set, Hypothesis draws the same examples whatever the seed; here each run draws its own, by the seed that it prints.
settings.register_profile(
    "hazardmill",
    deadline=None,
    derandomize=False,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
)
settings.load_profile("hazardmill")

_ALL_FULL = re.compile(r"^pytestmark = .*mark\.full\b", re.MULTILINE)


def reference_folder() -> Path | None:
    """Where the reference data should be; None if nobody says there is any."""
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named)
    beside = PROJECT.parent / "shared"
    return beside if beside.is_dir() else None


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Choose the seed of property tests, and say how long a test may take and whom to trust; workers are told all."""
    if config.option.hypothesis_seed is None:
        config.option.hypothesis_seed = str(random.SystemRandom().getrandbits(32))
    # Runs of a test that names no model are by our rules.
    os.environ.setdefault("HAZARDMILL_MODEL", "offline-author")
    os.environ.update(TRUSTED)
    if config.option.timeout is not None:
        os.environ[TIMEOUT] = str(config.option.timeout)
    os.environ.setdefault(TIMEOUT, config.getini("timeout"))
    # A script that starts the tests with ``&`` leaves Ctrl-C ignored, and tests that send it would wait for ever.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Of a session that wants none but ``full`` tests, or none of them, import only the modules that have some for it.

    To import all of them takes longer than many a folder's tests. A module says in its own text that tests of it are
    ``full``: by ``mark.full`` somewhere, or in a ``pytestmark`` if all are.
    """
    wanted = config.option.markexpr
    if wanted not in ("full", "not full") or not collection_path.match("test_*.py"):
        return None
    text = collection_path.read_text(encoding="utf-8")
    without = "mark.full" not in text if wanted == "full" else _ALL_FULL.search(text) is not None
    return True if without else None


def pytest_collection_finish() -> None:
    """Leave modules and tests that are there for good out of every collection of garbage: 7 % of the time of tests."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Raise the timeouts of single tests as pytest's own was raised; leave out what needs reference data."""
    patience = float(os.environ[TIMEOUT]) / float(config.getini("timeout"))
    if config.option.markexpr == "full":
        _begin_with_long_modules(items)
    texts: dict[Path, str] = {}
    for item in items:
        if item.get_closest_marker("full") is not None:
            text = texts.setdefault(item.path, item.path.read_text(encoding="utf-8"))
            if "mark.full" not in text:
                raise pytest.UsageError(f"{item.path} has a test that is full and does not say mark.full itself")
        marker = item.get_closest_marker("timeout")
        if marker is not None and patience != 1:
            item.add_marker(pytest.mark.timeout(marker.args[0] * patience), append=False)
    if reference_folder() is not None:
        return
    out = [item for item in items if "reference" in getattr(item, "fixturenames", ())]
    if out:
        config.hook.pytest_deselected(items=out)
        items[:] = [item for item in items if item not in set(out)]


def _begin_with_long_modules(items: list[pytest.Item]) -> None:
    """Put the modules first that allow their tests most time: one begun last would leave all workers but one idle."""
    longest: dict[Path, float] = {}
    for item in items:
        marker = item.get_closest_marker("timeout")
        allowed = 0.0 if marker is None else float(marker.args[0])
        longest[item.path] = max(longest.get(item.path, 0.0), allowed)
    items.sort(key=lambda item: -longest[item.path])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how the same examples are drawn again, and what was left out."""
    seed = terminalreporter.config.option.hypothesis_seed
    terminalreporter.write_line(f"property tests drew by seed {seed}: repeat them with --hypothesis-seed={seed}")
    if reference_folder() is None:
        terminalreporter.write_line(f"tests on real records were left out: set {VARIABLE} to the reference data")


@pytest.fixture(scope="session", autouse=True)
def _no_waiting_for_the_disk() -> Iterator[None]:
    """Sync nothing in this process: no test cuts the power, and what a killed process wrote is there without it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", os.fstat)
        yield


@pytest.fixture(scope="session")
def reference() -> Path:
    """The folder of reference data."""
    folder = reference_folder()
    if folder is None or not (folder / "data").is_dir():
        pytest.fail(
            f"no reference data at {folder}: set {VARIABLE} to the folder that holds data/ and verdicts/",
            pytrace=False,
        )
    return folder.resolve()


@pytest.fixture(scope="session")
def project() -> Path:
    """The root of the checkout."""
    return PROJECT


@pytest.fixture(scope="session")
def prefect_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """An ephemeral Prefect server, quiet, and with nothing of the user's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PREFECT_HOME", str(tmp_path_factory.mktemp("prefect")))
        patch.setenv("PREFECT_SERVER_ANALYTICS_ENABLED", "false")
        patch.setenv("DO_NOT_TRACK", "1")
        patch.setenv("PREFECT_SERVER_LOGGING_LEVEL", "CRITICAL")
        # As `make server` sets it: with five connections the server may stand still.
        patch.setenv("PREFECT_SERVER_DATABASE_SQLALCHEMY_POOL_SIZE", "50")
        from patience import PATIENCE_S
        from prefect.testing import utilities

        from tests.prefect_database import empty_database

        # Where the harness puts its database: there is one already.
        folder = tmp_path_factory.mktemp("prefect-database")
        shutil.copyfile(empty_database(tmp_path_factory), folder / "prefect-test.db")
        patch.setattr(utilities, "mkdtemp", lambda: str(folder))
        with utilities.prefect_test_harness(server_startup_timeout=int(PATIENCE_S)):
            yield
