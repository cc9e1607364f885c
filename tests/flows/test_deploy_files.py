"""What runs a server for a lab: services of systemd by their own verifier, and compose.yaml by our rules."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from hazardmill.cli.view.view import view


@pytest.fixture(scope="module")
def compose(project: Path) -> dict[str, Any]:
    return yaml.safe_load((project / "compose.yaml").read_text())


OPTIONAL = {f"HAZARDMILL_{name}" for name in ("PUBLIC_URL", "PAGES_URL", "VIEW_HOST", "BASE")}
UNITS = ("hazardmill-server.service", "hazardmill-view.service", "hazardmill-worker@.service")


@pytest.mark.parametrize("unit", UNITS)
def test_systemd_takes_the_units(project: Path, tmp_path: Path, unit: str) -> None:
    verify = shutil.which("systemd-analyze")
    if verify is None:
        pytest.skip("no systemd-analyze on this machine")
    # Where the checkout is on a machine that runs them; here only the command must be there.
    text = (project / "deploy" / "systemd" / unit).read_text()
    (tmp_path / unit).write_text(re.sub(r"/srv/hazardmill/\.venv/bin/\w+", "/bin/true", text))
    said = subprocess.run([verify, "verify", tmp_path / unit], capture_output=True, text=True, check=False)
    assert said.returncode == 0 and unit.removesuffix(".service") not in said.stderr, said.stderr


def test_no_service_is_reached_from_other_machines(compose: dict[str, Any]) -> None:
    ports = [port for service in compose["services"].values() for port in service.get("ports", ())]
    assert ports and all(port.startswith("127.0.0.1:") for port in ports)


def test_passwords_come_from_the_environment_and_must_be_there(compose: dict[str, Any], project: Path) -> None:
    text = (project / "compose.yaml").read_text()
    asked = set(re.findall(r"\$\{(HAZARDMILL_\w+)", text))
    required = set(re.findall(r"\$\{(HAZARDMILL_\w+):\?", text))
    example = dict(re.findall(r"^#?(HAZARDMILL_\w+)=(.*)$", (project / "deploy/compose.env.example").read_text(), re.M))
    assert asked == set(example) and required == asked - OPTIONAL
    for service in compose["services"].values():
        for name, value in service.get("environment", {}).items():
            secret = re.search("PASSWORD|AUTH|KEY|CONNECTION", name)
            assert not secret or "${HAZARDMILL_" in str(value), name


def test_services_wait_for_what_they_need_and_keep_what_they_write(compose: dict[str, Any]) -> None:
    services = compose["services"]
    for service in services.values():
        needed = service.get("depends_on", {})
        for name in needed:
            assert name in services
            if isinstance(needed, dict) and needed[name]["condition"] == "service_healthy":
                assert services[name]["healthcheck"]["test"]
    named = {volume.split(":")[0] for service in services.values() for volume in service.get("volumes", ())}
    assert named == set(compose["volumes"])
    assert services["worker"]["stop_grace_period"] == "40s"


def test_the_health_of_every_service_is_checked(compose: dict[str, Any]) -> None:
    # The image checks the worker, and no other command.
    unchecked = {name for name, service in compose["services"].items() if "healthcheck" not in service}
    assert unchecked == {"worker"} and "command" not in compose["services"]["worker"]


def test_our_containers_write_to_volumes_only_and_gain_no_rights(compose: dict[str, Any]) -> None:
    ours = {name: service for name, service in compose["services"].items() if service["image"] == "hazardmill"}
    assert set(ours) == {"server", "deploy", "worker", "view"}
    for service in ours.values():
        assert service["read_only"] and service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]


def test_the_view_reads_the_store_and_answers_under_given_names(compose: dict[str, Any]) -> None:
    service = compose["services"]["view"]
    assert service["volumes"] == ["store:/app/generated:ro"]
    command = service["command"]
    # The published port arrives at an address of the container that is not its loopback.
    assert command[:4] == ["hazardmill", "view", "--bind", "0.0.0.0"]
    names = [command[at + 1] for at, word in enumerate(command) if word == "--name"]
    assert names == ["127.0.0.1", "localhost", "${HAZARDMILL_VIEW_HOST:-localhost}"]
    assert view.make_context("view", [*command[2:-1], "localhost"])


def test_flows_may_write_where_they_write_by_default(compose: dict[str, Any], project: Path) -> None:
    folders = ("generated", "evaluations", "releases", "review")
    image = (project / "Dockerfile").read_text()
    # The last one is the server's, for leases.
    assert f"install --directory --owner mill {' '.join(folders)} server\n" in image
    assert compose["services"]["server"]["volumes"] == ["server:/app/server"]
    places = {volume.split(":")[1] for volume in compose["services"]["worker"]["volumes"]}
    assert places == {f"/app/{folder}" for folder in folders}
    unit = (project / "deploy" / "systemd" / "hazardmill-worker@.service").read_text()
    (writable,) = re.findall(r"^ReadWritePaths=(.*)$", unit, re.MULTILINE)
    assert writable.split() == [f"/srv/hazardmill/{folder}" for folder in folders]
    # Without folders of its own for temporary files, nothing runs where all else is read-only.
    assert "PrivateTmp=true" in unit


def test_workers_are_as_patient_with_their_server_as_their_flows(project: Path) -> None:
    file = yaml.safe_load((project / "prefect.yaml").read_text())
    flows = file["definitions"]["mill"]["job_variables"]["env"]
    patience = {name: value for name, value in flows.items() if name.startswith("PREFECT_CLIENT_")}
    assert len(patience) == 2
    for path in ("Makefile", "Dockerfile", "deploy/systemd/hazardmill-worker@.service"):
        text = (project / path).read_text()
        assert dict(re.findall(r"(PREFECT_CLIENT_\w+) ?\??= ?(\w+)", text)) == patience, path


def test_git_leaves_passwords_out(project: Path) -> None:
    said = subprocess.run(["git", "check-ignore", ".env", "worker.env"], cwd=project, check=False, capture_output=True)
    assert said.stdout.decode().split() == [".env", "worker.env"]
