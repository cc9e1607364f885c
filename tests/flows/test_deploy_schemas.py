"""The files of deploy/ and compose.yaml by their published schemas, and a Kubernetes Job as Prefect's worker makes it.

The tools are in a folder of their own, which ``make validators`` fills: Prefect imports its integrations wherever they
are installed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

pytestmark = pytest.mark.full

# Renders the template with the variables of a deployment, as the worker does before it asks Kubernetes for the Job, and
# checks what came out by the schemas of Kubernetes' own API. The client is never asked: the template names no block.
RENDER = """
import asyncio, json, sys, uuid
import kubernetes_validate
from prefect.client.orchestration import PrefectClient
from prefect.client.schemas.actions import WorkPoolCreate
from prefect.client.schemas.objects import FlowRun
from prefect_kubernetes.worker import KubernetesWorkerJobConfiguration

template, variables, others = json.load(sys.stdin)
WorkPoolCreate(name="mill", type="kubernetes", base_job_template=template)
client = PrefectClient("http://127.0.0.1:9/api")
configuration = asyncio.run(
    KubernetesWorkerJobConfiguration.from_template_and_values(template, variables, client=client)
)
configuration.prepare_for_flow_run(FlowRun(flow_id=uuid.uuid4(), name="neat-otter"))
job = configuration.job_manifest
version = kubernetes_validate.latest_version()
# Prefect refuses a template without these two, which Kubernetes knows one level higher only, and ignores here.
misplaced = {name: job["spec"]["template"]["spec"].pop(name) for name in ("completions", "parallelism")}
assert misplaced == {"completions": 1, "parallelism": 1}, misplaced
for manifest in (job, *others):
    kubernetes_validate.validate(manifest, version, strict=True)
print(json.dumps(job))
"""


@pytest.fixture(scope="module")
def tools() -> dict[str, str]:
    """An environment in which the tools are found."""
    folder = Path(sys.prefix) / "deploy"
    if not folder.is_dir():
        pytest.fail("the tools are not there: make validators installs them in a folder of their own", pytrace=False)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT_", "HAZARDMILL_"))}
    return kept | {"PYTHONPATH": os.pathsep.join([str(folder), *filter(None, [kept.get("PYTHONPATH")])])}


def run(tools: dict[str, str], *words: str | Path, given: str = "", home: Path) -> subprocess.CompletedProcess[str]:
    environment = tools | {"PREFECT_HOME": str(home), "DO_NOT_TRACK": "1"}
    return subprocess.run(
        [sys.executable, *words], input=given, env=environment, capture_output=True, text=True, check=False
    )


def test_the_compose_specification_takes_the_services(project: Path, tools: dict[str, str], tmp_path: Path) -> None:
    check = ("-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec")
    said = run(tools, *check, project / "compose.yaml", home=tmp_path)
    assert said.returncode == 0, said.stdout
    wrong = tmp_path / "compose.yaml"
    wrong.write_text((project / "compose.yaml").read_text().replace("healthcheck:", "healthchecks:"))
    said = run(tools, *check, wrong, home=tmp_path)
    assert said.returncode == 1 and "healthchecks" in said.stdout


@pytest.fixture(scope="module")
def pod(project: Path, tools: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The pod of a Job that was rendered with the variables that ``prefect.yaml`` gives every deployment."""
    folder = project / "deploy" / "kubernetes"
    template = json.loads((folder / "base-job-template.json").read_text())
    variables = yaml.safe_load((project / "prefect.yaml").read_text())["definitions"]["mill"]["job_variables"]
    claim = yaml.safe_load((folder / "volume-claim.yaml").read_text())
    given = json.dumps([template, variables, [claim]])
    said = run(tools, "-c", RENDER, given=given, home=tmp_path_factory.mktemp("home"))
    assert said.returncode == 0, said.stderr
    found: dict[str, Any] = json.loads(said.stdout)["spec"]["template"]["spec"]
    return found


def test_a_job_of_the_kubernetes_pool_is_what_kubernetes_takes(pod: dict[str, Any], project: Path) -> None:
    (container,) = pod["containers"]
    assert container["args"] == ["prefect", "flow-run", "execute"]
    # Keys come from a Secret, and what deployments set from prefect.yaml.
    assert container["envFrom"] == [{"secretRef": {"name": "hazardmill", "optional": True}}]
    environment = {each["name"]: each["value"] for each in container["env"]}
    assert environment["PREFECT_FLOWS_HEARTBEAT_FREQUENCY"] == "30" and "PREFECT__FLOW_RUN_ID" in environment
    # Flows write where the image lets them, and have half a minute to save their progress.
    image = (project / "Dockerfile").read_text()
    places = {mount["mountPath"] for mount in container["volumeMounts"]} - {"/tmp"}
    assert all(f'"{place}"' in image for place in places) and len(places) == 4
    assert pod["terminationGracePeriodSeconds"] >= 40


def test_its_container_has_no_rights_and_the_user_of_the_image(pod: dict[str, Any], project: Path) -> None:
    (container,) = pod["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    context = pod["securityContext"]
    assert context["runAsNonRoot"] and context["seccompProfile"] == {"type": "RuntimeDefault"}
    assert f"USER {context['runAsUser']}:{context['runAsGroup']}\n" in (project / "Dockerfile").read_text()
    assert not pod["automountServiceAccountToken"]
