"""Refuse, in words, to deploy where no Prefect server answers."""

import asyncio
import sys
from urllib.parse import urlsplit

import httpx
from prefect.client.orchestration import get_client


async def check() -> None:
    """Look whether a server answers at ``PREFECT_API_URL``; exit with status 1 and the remedy if none does."""
    async with get_client() as client:
        error = await client.api_healthcheck()
        # Without a password that it may hold.
        url = urlsplit(str(client.api_url))
    if error is None:
        return
    place = f"{url.scheme}://{url.netloc.rpartition('@')[2]}{url.path}"
    if isinstance(error, httpx.HTTPStatusError):
        sys.exit(f"what answers at {place} is not a usable Prefect server: status {error.response.status_code}")
    sys.exit(
        f"no Prefect server answers at {place} ({type(error).__name__}). Start one in another terminal with "
        "`make server`, and wait until it shows its address; or set PREFECT_API_URL to that of another server."
    )


asyncio.run(check())
