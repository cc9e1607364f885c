"""What `make deploy` creates at the server besides pool and deployments: ``python -m flows.deploying``."""

from __future__ import annotations

import asyncio
import sys

from flows.automations import deploy_automations
from flows.source_defaults import create_variables


async def deploy() -> list[str]:
    """Create variables that are missing, create or update automations, and return what was done, in lines."""
    return [*await create_variables(), *await deploy_automations()]


if __name__ == "__main__":
    sys.stdout.writelines(f"{line}\n" for line in asyncio.run(deploy()))
