"""Lines of answers as OpenAI's batches and ``vllm run-batch`` write them."""

from __future__ import annotations

import json
from typing import Any


def answer_line(custom_id: str, text: str, model: str, *, tokens: tuple[int, int] | None = None) -> str:
    """A line with its line end; ``tokens`` are those of prompt and answer."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    body: dict[str, Any] = {"id": "1", "object": "chat.completion", "created": 1, "model": model, "choices": [choice]}
    if tokens is not None:
        prompt, answer = tokens
        body["usage"] = {"prompt_tokens": prompt, "completion_tokens": answer, "total_tokens": prompt + answer}
    return response_line(custom_id, body)


def response_line(custom_id: str, body: object, status: int = 200) -> str:
    """A line around a whole body, of an answer or of an error."""
    response = {"status_code": status, "request_id": "1", "body": body}
    return json.dumps({"id": "1", "custom_id": custom_id, "response": response, "error": None}) + "\n"
