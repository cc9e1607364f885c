"""Fixtures that every test may use.

Tests on real records read the reference data: the folder that ``HAZARDMILL_REFERENCE`` names, else ``shared`` beside
the checkout. Where neither is there (a stranger's clone) they are not collected, and the run says so. A variable that
names a folder without the data is a failure, so that CI cannot pass by looking at nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parent.parent
VARIABLE = "HAZARDMILL_REFERENCE"


def reference_folder() -> Path | None:
    """Where the reference data should be; None if nobody says there is any."""
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named)
    beside = PROJECT.parent / "shared"
    return beside if beside.is_dir() else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what needs reference data where there is none."""
    if reference_folder() is not None:
        return
    out = [item for item in items if "reference" in getattr(item, "fixturenames", ())]
    if out:
        config.hook.pytest_deselected(items=out)
        items[:] = [item for item in items if item not in set(out)]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was left out."""
    if reference_folder() is None:
        terminalreporter.write_line(f"tests on real records were left out: set {VARIABLE} to the reference data")


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
        from prefect.testing.utilities import prefect_test_harness

        with prefect_test_harness(server_startup_timeout=120):
            yield
