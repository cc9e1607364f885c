"""All examples name one release, so that the commands of one page work on what those of another wrote."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hazardmill.cli.main import hazardmill
from hazardmill.release.build.options import Options

RELEASE = f"releases/{Options(version='1.0.0').name}-1.0.0"
"""Where ``hazardmill release build --version 1.0.0`` writes to."""
NEXT = RELEASE.replace("1.0.0", "1.1.0")
"""Only what compares two releases names another one."""

PATH = re.compile(r"\breleases?/[\w.-]*\d+\.\d+\.\d+")
OPTION = re.compile(r"(?:--release|load_release\(|load_dataset\(|release (?:push|export))[ \"']+([\w./-]+/[\w./-]+)")
"""What takes a release, with a path. A name on a hub has no digits."""


def pages(project: Path) -> list[Path]:
    """Everything that a user reads: pages, modules (helps and docstrings), examples and notebooks."""
    found = [project / "README.md", *project.glob("docs/*.md")]
    for folder, kind in (("hazardmill", "py"), ("flows", "py"), ("examples", "py"), ("notebooks", "ipynb")):
        found += (project / folder).rglob(f"*.{kind}")
    # What was compared with TRL must stay byte for byte what was compared (checked.json).
    return sorted(page for page in found if page.parent.name != "safe_align")


def test_every_page_and_help_names_the_same_release(project: Path) -> None:
    named = 0
    for page in pages(project):
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
            paths = [*PATH.findall(line), *(path for path in OPTION.findall(line) if re.search(r"\d", path))]
            named += len(paths)
            wanted = {RELEASE, NEXT} if "release diff" in line else {RELEASE}
            assert set(paths) <= wanted, f"{page.relative_to(project)}:{number}: {line.strip()}"
    assert named > 50


def test_build_writes_there_by_default(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        hazardmill(["release", "build", "--help"])
    assert "[default: releases/NAME-X.Y.Z]" in " ".join(capsys.readouterr().out.split())
