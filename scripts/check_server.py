"""Refuse, in words, to deploy where no Prefect server answers."""

import asyncio
import sys

from prefect.client.orchestration import get_client


async def check() -> None:
    """Look whether a server answers at ``PREFECT_API_URL``; exit with status 1 and the remedy if none does."""
    async with get_client() as client:
        error = await client.api_healthcheck()
    if error is not None:
        sys.exit(
            f"no Prefect server answers at {client.api_url} ({error}). Start one in another terminal with "
            "`make server`, and wait until it shows its address; or set PREFECT_API_URL to that of another server."
        )


asyncio.run(check())
