"""The Dockerfile is not built in tests (scripts/try_image.sh does that); a linter's rules for it, and ours."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import NamedTuple

import pytest

from hazardmill import __version__


class Instruction(NamedTuple):
    word: str
    rest: str


@pytest.fixture(scope="module")
def stages(project: Path) -> list[list[Instruction]]:
    """What comes before the first stage, then the stages, each beginning with its FROM."""
    lines = (project / "Dockerfile").read_text().splitlines()
    text = "\n".join(line for line in lines if not line.lstrip().startswith("#")).replace("\\\n", " ")
    found: list[list[Instruction]] = [[]]
    for line in text.splitlines():
        if line.strip():
            word, rest = line.split(maxsplit=1)
            if word == "FROM":
                found.append([])
            found[-1].append(Instruction(word, re.sub(r"\s+", " ", rest).strip()))
    return found


@pytest.fixture(scope="module")
def instructions(stages: list[list[Instruction]]) -> list[Instruction]:
    return [instruction for stage in stages for instruction in stage]


@pytest.fixture(scope="module")
def image(stages: list[list[Instruction]]) -> list[Instruction]:
    """The last stage, of which alone something is in the image."""
    return stages[-1]


def rests(instructions: list[Instruction], word: str) -> list[str]:
    return [each.rest for each in instructions if each.word == word]


def copied(instructions: list[Instruction]) -> list[str]:
    """What comes from the checkout."""
    own = [copy for copy in rests(instructions, "COPY") if not copy.startswith("--from=")]
    return [source for copy in own for source in copy.split()[:-1]]


def test_only_known_instructions_in_capitals(instructions: list[Instruction]) -> None:
    known = {
        "ARG",
        "FROM",
        "LABEL",
        "ENV",
        "RUN",
        "WORKDIR",
        "COPY",
        "USER",
        "VOLUME",
        "STOPSIGNAL",
        "HEALTHCHECK",
        "CMD",
    }
    assert {each.word for each in instructions} <= known


def test_one_base_image_for_both_stages_that_a_build_can_pin(stages: list[list[Instruction]], project: Path) -> None:
    (argument,) = stages[0]
    assert argument.word == "ARG" and re.fullmatch(r"BASE=python:3\.11[\w.-]*", argument.rest)
    assert [stage[0].rest for stage in stages[1:]] == ["${BASE} AS build", "${BASE}"]
    assert set(re.findall(r"://([\w.]+)", (project / "Dockerfile").read_text())) == {"127.0.0.1"}


def test_all_is_installed_by_hash_or_from_the_checkout(stages: list[list[Instruction]]) -> None:
    build, image = stages[1:]
    commands = [command for run in rests(build, "RUN") for command in run.split(" && ")]
    installs = [command for command in commands if " install " in command]
    assert len(installs) == 2 and all("--no-deps" in install for install in installs)
    assert "--require-hashes --requirement requirements.lock" in installs[0]
    assert installs[1].rstrip().endswith("--no-build-isolation .")
    assert "pip" not in " ".join(rests(image, "RUN"))
    assert not re.search(r"curl|wget|apt|sudo|chmod 777", " ".join(rests(build, "RUN") + rests(image, "RUN")))


def test_what_only_an_installation_needs_is_not_in_the_image(stages: list[list[Instruction]], project: Path) -> None:
    runs = " ".join(rests(stages[1], "RUN"))
    assert "venv --without-pip /opt/hazardmill" in runs
    gone = re.findall(r"uninstall --yes ([^&]*)", runs)[0].split()
    locked = set(re.findall(r"^([\w.-]+)==", (project / "requirements.lock").read_text(), re.MULTILINE))
    assert {"hatchling", "editables"} <= set(gone) <= locked


def test_it_runs_as_an_ordinary_user_from_an_absolute_folder(image: list[Instruction]) -> None:
    words = [each.word for each in image]
    (user,) = rests(image, "USER")
    # Kubernetes takes no name as a proof that it is not root.
    (number,) = re.findall(r"useradd .*--uid (\d+)", " ".join(rests(image, "RUN")))
    assert user == f"{number}:{number}" and int(number) > 0 and words.index("USER") < words.index("CMD")
    assert "RUN" not in words[words.index("USER") :] and "COPY" not in words[words.index("USER") :]
    assert rests(image, "WORKDIR") == ["/app"] and "PWD=/app" in " ".join(rests(image, "ENV"))


def test_the_command_is_the_worker_of_the_pool_without_a_shell_and_its_health_is_checked(
    image: list[Instruction],
) -> None:
    (command,) = rests(image, "CMD")
    assert json.loads(command) == [
        *["python", "-m", "flows.container"],
        *["prefect", "worker", "start", "--pool", "mill", "--type", "process", "--with-healthcheck"],
    ]
    (check,) = rests(image, "HEALTHCHECK")
    assert "http://127.0.0.1:8080/health" in json.loads(check[check.index("[") :])[-1]
    assert "PREFECT_WORKER_WEBSERVER_HOST=127.0.0.1" in " ".join(rests(image, "ENV"))


def test_the_labels_of_the_image_specification_say_what_it_is(image: list[Instruction], project: Path) -> None:
    labels = dict(re.findall(r'org\.opencontainers\.image\.(\w+)="([^"]*)"', " ".join(rests(image, "LABEL"))))
    package = (project / "pyproject.toml").read_text()
    for name, key in (("title", "name"), ("description", "description"), ("licenses", "license")):
        assert f'\n{key} = "{labels[name]}"\n' in package
    assert [labels[name] for name in ("version", "revision", "source")] == ["${VERSION}", "${REVISION}", "${SOURCE}"]
    assert f"VERSION={__version__}" in rests(image, "ARG")


def test_no_secret_is_set(instructions: list[Instruction]) -> None:
    assert not re.search(r"key|secret|token|password", " ".join(rests(instructions, "ENV")), re.IGNORECASE)


def test_what_is_copied_is_there_and_nothing_else_reaches_the_builder(
    instructions: list[Instruction], project: Path
) -> None:
    sources = set(copied(instructions))
    assert {"hazardmill", "flows", "prompts", "sources", "requirements.lock", "review/rubric.md"} <= sources
    # Engines under the GPL, and Tamer, are in a lock of their own.
    assert [source for source in sources if source.endswith(".lock")] == ["requirements.lock"]
    assert all((project / source).exists() for source in sources)
    ignored = (project / ".dockerignore").read_text().splitlines()
    first, *rest = [line for line in ignored if line and not line.startswith("#")]
    assert first == "*" and set(rest) == {f"!{source}" for source in sources} | {"**/__pycache__"}
