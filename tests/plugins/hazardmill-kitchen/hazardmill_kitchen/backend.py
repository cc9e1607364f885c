"""Asks a model server of one's own, which speaks the chat completions of OpenAI."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import httpx

from hazardmill.errors import ConnectionFailed, ProviderDown, RateLimited, RequestRefused, SettingsError
from hazardmill.llm.access import ModelAccess
from hazardmill.llm.requests import Completion, Request, Usage


class KitchenBackend:
    """Answers for the models ``kitchen/...`` at the address given with --api-base."""

    name = "kitchen"

    def __init__(self, access: ModelAccess) -> None:
        if access.api_base is None:
            raise SettingsError("the backend kitchen needs an address", remedy="give --api-base, up to /v1")
        self.host = urlsplit(access.api_base).hostname
        self._client = httpx.AsyncClient(base_url=access.api_base, timeout=access.attempt_timeout)

    async def complete(self, request: Request) -> Completion:
        body = {
            "model": request.model.partition("/")[2],
            "messages": [message.model_dump() for message in request.messages],
            **request.parameters,
        }
        # Only the packaged server of docs/llm-server.md reads it: it says which answer of the offline author is wanted.
        headers = {} if request.key is None else {"X-Hazardmill-Key": request.key.model_dump_json()}
        try:
            reply = await self._client.post("/chat/completions", json=body, headers=headers)
        except httpx.TransportError as error:
            raise ConnectionFailed(f"no answer: {type(error).__name__}", remedy="is the server running?") from None
        if reply.status_code == 429:
            raise RateLimited("too many requests", remedy="lower --concurrency")
        if reply.status_code >= 500:
            raise ProviderDown(f"the server is in trouble: HTTP {reply.status_code}", remedy="look at its log")
        if reply.status_code != 200:
            raise RequestRefused(f"refused: HTTP {reply.status_code}", remedy="look at the server's log")
        answer: dict[str, Any] = reply.json()
        choice, usage = answer["choices"][0], answer.get("usage") or {}
        return Completion(
            text=choice["message"]["content"] or "",
            model_answered=answer["model"],
            finish_reason=choice["finish_reason"],
            usage=Usage(prompt_tokens=usage.get("prompt_tokens"), completion_tokens=usage.get("completion_tokens")),
        )

    async def close(self) -> None:
        await self._client.aclose()
