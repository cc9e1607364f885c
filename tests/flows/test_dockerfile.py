"""The Dockerfile is not built in tests; these are the rules that a linter would hold it to, and ours."""

from __future__ import annotations

import fnmatch
import json
import re
from pathlib import Path
from typing import NamedTuple

import pytest


class Instruction(NamedTuple):
    word: str
    rest: str


@pytest.fixture(scope="module")
def instructions(project: Path) -> list[Instruction]:
    lines = (project / "Dockerfile").read_text().splitlines()
    text = "\n".join(line for line in lines if not line.lstrip().startswith("#")).replace("\\\n", " ")
    split = [line.split(maxsplit=1) for line in text.splitlines() if line.strip()]
    return [Instruction(word, re.sub(r"\s+", " ", rest).strip()) for word, rest in split]


def rests(instructions: list[Instruction], word: str) -> list[str]:
    return [each.rest for each in instructions if each.word == word]


def test_only_known_instructions_in_capitals(instructions: list[Instruction]) -> None:
    known = {"FROM", "ENV", "RUN", "WORKDIR", "COPY", "USER", "VOLUME", "STOPSIGNAL", "CMD"}
    assert {each.word for each in instructions} <= known


def test_one_base_image_with_a_version_and_no_host(instructions: list[Instruction], project: Path) -> None:
    (base,) = rests(instructions, "FROM")
    assert re.fullmatch(r"python:3\.11[\w.-]*", base)
    assert "://" not in (project / "Dockerfile").read_text()


def test_all_is_installed_by_hash_or_from_the_checkout(instructions: list[Instruction]) -> None:
    installs = [run for run in rests(instructions, "RUN") if "pip install" in run]
    assert len(installs) == 2
    assert all("--no-deps" in run and ("--require-hashes" in run or "--editable ." in run) for run in installs)
    assert not re.search(r"curl|wget|apt|sudo|chmod 777", " ".join(rests(instructions, "RUN")))


def test_it_runs_as_an_ordinary_user_from_an_absolute_folder(instructions: list[Instruction]) -> None:
    words = [each.word for each in instructions]
    assert rests(instructions, "USER") == ["mill"] and words.index("USER") < words.index("CMD")
    assert "RUN" not in words[words.index("USER") :] and "COPY" not in words[words.index("USER") :]
    assert rests(instructions, "WORKDIR") == ["/app"] and "PWD=/app" in rests(instructions, "ENV")


def test_the_command_is_the_worker_of_the_pool_without_a_shell(instructions: list[Instruction]) -> None:
    (command,) = rests(instructions, "CMD")
    assert json.loads(command) == ["prefect", "worker", "start", "--pool", "mill", "--type", "process"]


def test_no_secret_is_set(instructions: list[Instruction]) -> None:
    assert not re.search(r"key|secret|token|password", " ".join(rests(instructions, "ENV")), re.IGNORECASE)


def test_what_is_copied_is_there_and_not_ignored(instructions: list[Instruction], project: Path) -> None:
    lines = (project / ".dockerignore").read_text().splitlines()
    ignored = [line for line in lines if line and not line.startswith("#")]
    sources = [source for copy in rests(instructions, "COPY") for source in copy.split()[:-1]]
    assert {"hazardmill", "flows", "prompts", "sources", "requirements.lock"} <= set(sources)
    # Engines under the GPL, and Tamer, are in a lock of their own.
    assert [source for source in sources if source.endswith(".lock")] == ["requirements.lock"]
    for source in sources:
        assert (project / source).exists()
        assert not any(fnmatch.fnmatch(source, pattern) for pattern in ignored), source


def test_nothing_private_goes_into_an_image(project: Path) -> None:
    ignored = set((project / ".dockerignore").read_text().splitlines())
    assert {".git", ".venv", ".prefect", "generated", "review", ".env", "hazardmill.yaml"} <= ignored
