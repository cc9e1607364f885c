"""``scripts/check_tree.py`` on planted files, whose words are in two parts: the script reads this file too."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ADDRESS = "https:" + "//packages.example"
LOCK, INDEX, PATH = "an address in a lock file", "names a package index", "names a path of a machine"


def found(folder: Path, project: Path) -> set[str]:
    """What the script says of a folder, less what it says of this environment."""
    subprocess.run(["git", "init", "--quiet", folder], check=True)
    done = subprocess.run(
        [sys.executable, str(project / "scripts" / "check_tree.py")],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    lines = {line for line in done.stdout.splitlines() if ".pth file" not in line}
    assert done.returncode == (lines != {"the tree is clean"})
    return lines


@pytest.mark.parametrize(
    "name",
    """
    requirements.lock tests/oracles.lock uv.lock poetry.lock Pipfile.lock yarn.lock requirements-dev.txt requirements.in
    constraints.txt pylock.dev.toml Pipfile package-lock.json npm-shrinkwrap.json pnpm-lock.yaml conda-lock.yml
    """.split(),
)
def test_a_lock_file_has_no_address(name, tmp_path, project):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f'numpy==2\n"resolved": "{ADDRESS}/numpy.tgz"\n')
    assert found(tmp_path, project) == {f"{name}:2: {LOCK}"}


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("requirements.txt", "--in" + "dex-url packages.example"),
        ("requirements.txt", "--extra-index" + "-url packages.example"),
        ("requirements.txt", "-" + "i packages.example"),
        ("requirements.lock", "-" + "f wheels"),
        ("requirements.lock", "--find" + "-links wheels"),
        ("requirements.lock", "--trusted" + "-host packages.example"),
        ("pip.conf", "index" + "_url = packages.example"),
        ("uv.toml", "[[" + "index]]"),
        ("pyproject.toml", "[[" + "tool.uv.index]]"),
        ("pyproject.toml", "[[" + "tool.poetry.source]]"),
        (".npmrc", "registry" + "=packages.example"),
        (".npmrc", "@acme:registry" + " = packages.example"),
        ("package.json", '"registry"' + ': "packages.example"'),
        (".yarnrc.yml", "npmRegistry" + "Server: packages.example"),
        ("Makefile", "\tpython -m pip install -" + "i packages.example numpy"),
        ("run.sh", "uv pip install --" + "index packages.example numpy"),
        ("run.sh", "uv pip install --" + "default-index=packages.example numpy"),
        ("run.sh", "export PIP_INDEX" + "_URL=packages.example"),
        ("run.sh", "export UV_" + "INDEX=packages.example"),
        ("run.sh", "pip config set global.index" + "-url packages.example"),
        ("run.sh", "npm install --" + "registry packages.example"),
        ("run.sh", "npm con" + "fig set registry packages.example"),
        ("Dockerfile", "ENV npm_config_" + "registry=packages.example"),
        ("packages.list", f"de{'b'} {ADDRESS} stable main"),
        ("notes.md", f"Packages are at {ADDRESS}/sim" + "ple/."),
    ],
)
def test_nothing_names_a_package_index(name, line, tmp_path, project):
    (tmp_path / name).write_text(f"\n{line}\n")
    assert f"{name}:2: {INDEX}" in found(tmp_path, project)


def test_a_path_of_a_machine_and_a_lock_file_that_cannot_be_read_are_found(tmp_path, project):
    (tmp_path / "notes.md").write_text("See /ro" + "ot/notes.\n")
    (tmp_path / "uv.lock").write_text(ADDRESS, encoding="utf-16")
    assert found(tmp_path, project) == {f"notes.md:1: {PATH}", "uv.lock: a lock file that is not UTF-8"}


def test_what_only_looks_like_it_is_left_alone(tmp_path, project):
    (tmp_path / "notes.md").write_text(f"The index of {ADDRESS}/simple-things, a registry of sources, the work.\n")
    (tmp_path / "code.py").write_text("registry = {}\nindex = registry.get('source')\n")
    (tmp_path / "run.sh").write_text("pip install --require-hashes -r requirements.lock\ngit diff --index-info\n")
    (tmp_path / "requirements.lock").write_text("numpy==2 \\\n    --hash=sha256:00\n")
    assert found(tmp_path, project) == {"the tree is clean"}


def test_the_script_is_among_what_it_reads_and_names_no_host(tmp_path, project):
    script = tmp_path / "check_tree.py"
    shutil.copy(project / "scripts" / "check_tree.py", script)
    assert found(tmp_path, project) == {"the tree is clean"}
    assert not re.search(r"\w\.(?:org|com|net|io|dev)\b", script.read_text().replace("\\", ""))
