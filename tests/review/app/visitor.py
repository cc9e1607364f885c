"""A reviewer without a browser: follows links, fills in forms, and knows what hidden fields say."""

from __future__ import annotations

import asyncio
import re
from html import unescape
from typing import Any

from httpx import ASGITransport, AsyncClient, Cookies, Response

HOST = "http://127.0.0.1:8717"


def hidden(page: str, form_id: str | None = None) -> dict[str, str]:
    """The hidden fields of a form."""
    start = rf'<form id="{form_id}".*?</form>' if form_id else r"<form.*?</form>"
    found = re.search(start, page, re.DOTALL)
    assert found, page
    fields = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', found[0])
    return {name: unescape(value) for name, value in fields}


class Http:
    """Asks an app in this process, and keeps its cookies; redirects are not followed."""

    def __init__(self, app: Any, address: str) -> None:
        self.cookies = Cookies()
        self._transport = ASGITransport(app, raise_app_exceptions=False, client=(address, 50000))

    def get(self, path: str, **options: Any) -> Response:
        return self.request("GET", path, **options)

    def post(self, path: str, **options: Any) -> Response:
        return self.request("POST", path, **options)

    def request(self, method: str, path: str, **options: Any) -> Response:
        async def ask() -> Response:
            async with AsyncClient(transport=self._transport, base_url=HOST, cookies=self.cookies) as client:
                answer = await client.request(method, path, **options)
                self.cookies = client.cookies
                return answer

        return asyncio.run(ask())


class Visitor:
    """One browser, signed in or not."""

    def __init__(
        self, app: Any, name: str | None = None, token: str | None = None, *, address: str = "127.0.0.1"
    ) -> None:
        self.app = app
        self.http = Http(app, address)
        if name is not None:
            response = self.sign_in(name, token)
            assert response.status_code == 303, response.text

    def sign_in(self, name: str, token: str | None = None) -> Response:
        door = self.http.get("/sign-in")
        fields = hidden(door.text) | {"reviewer": name} | ({} if token is None else {"token": token})
        return self.http.post("/sign-in", data=fields)

    def page(self, path: str = "/") -> Response:
        """The page at a path, and behind its redirects."""
        response = self.http.get(path)
        while response.status_code == 303:
            response = self.http.get(response.headers["location"])
        return response

    def decide(self, page: Response | str, verdict: str, **fields: Any) -> Response:
        """Send the form of a task's page."""
        text = page if isinstance(page, str) else page.text
        filled = hidden(text, "decision") | {"verdict": verdict} | fields
        return self.http.post(f"/slip/{slip_of(text)}/decide", data=filled)

    def undo(self, page: Response, **fields: str) -> Response:
        return self.http.post("/undo", data=hidden(page.text, "undo") | fields)

    def try_plan(self, page: Response, plan: str, **fields: str) -> Response:
        return self.http.post(
            f"/slip/{slip_of(page.text)}/try", data=hidden(page.text, "try") | {"plan": plan} | fields
        )


def slip_of(text: str) -> str:
    found = re.search(r'data-slip="(\w+)"', text)
    assert found, text[:2000]
    return found[1]
