"""What keeps a flow run alive while its server, or the server's database, is away."""

from __future__ import annotations

import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml

from e2e.prefect_server import serving
from tests.authorities import TRUSTED
from tests.prefect_database import empty_database

pytestmark = [pytest.mark.full, pytest.mark.timeout(300)]

ASK = """
import asyncio
from prefect.client.orchestration import get_client

async def ask():
    async with get_client() as client:
        print((await client.hello()).json())

asyncio.run(ask())
"""


def test_a_flow_run_keeps_its_lease_when_the_server_starts_again(
    tmp_path_factory: pytest.TempPathFactory, tmp_path: Path, project: Path
) -> None:
    with serving(tmp_path, project, {}, empty_database(tmp_path_factory)) as prefect:
        flow = prefect.post("/flows/", name="leased")["id"]
        deployment = prefect.post("/deployments/", name="one", flow_id=flow, concurrency_limit=1)["id"]
        run = prefect.post(f"/deployments/{deployment}/create_flow_run")["id"]
        prefect.set_state(run, "PENDING")
        lease = prefect.flow_run(run)["state"]["state_details"]["deployment_concurrency_lease_id"]
    with serving(tmp_path, project, {}) as prefect:
        # As the flow does it. It is cancelled if the server does not know the lease.
        prefect.post(f"/v2/concurrency_limits/leases/{lease}/renew", lease_duration=300)


class Away(BaseHTTPRequestHandler):
    """Answers as a server whose database is away, and well the second time."""

    asked = 0

    def do_GET(self) -> None:
        type(self).asked += 1
        self.send_response(500 if self.asked == 1 else 200)
        self.end_headers()
        self.wfile.write(b'"well"')

    def log_message(self, *_: object) -> None:
        pass


def test_a_flow_asks_again_when_the_database_of_its_server_is_away(tmp_path: Path, project: Path) -> None:
    file = yaml.safe_load((project / "prefect.yaml").read_text())
    settings = {
        name: value for name, value in file["definitions"]["mill"]["job_variables"]["env"].items() if "CLIENT" in name
    }
    with ThreadingHTTPServer(("127.0.0.1", 0), Away) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        environment = {
            "PREFECT_API_URL": f"http://127.0.0.1:{server.server_port}/api",
            "PREFECT_HOME": str(tmp_path),
            "PREFECT_CLIENT_CSRF_SUPPORT_ENABLED": "false",
            "PREFECT_CLIENT_SERVER_VERSION_CHECK_ENABLED": "false",
        }
        said = subprocess.run(
            [sys.executable, "-c", ASK],
            env={**TRUSTED, **environment, **settings},
            capture_output=True,
            text=True,
            check=False,
        )
        server.shutdown()
    assert (said.stdout, Away.asked) == ("well\n", 2), said.stderr
