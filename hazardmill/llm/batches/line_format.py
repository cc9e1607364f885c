"""Lines of batches in OpenAI's format: a request as one line of JSON, and the answers read back.

The format is that of the files of OpenAI's batch API, https://platform.openai.com/docs/api-reference/batch. The body of
a request is what litellm would send for the request alone, and an answer is read as litellm's answer to it would be.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import IO, Any, Final

from hazardmill.errors import AnswerTooLarge, ProviderError
from hazardmill.llm.backends.litellm import load_litellm
from hazardmill.llm.backends.litellm_errors import translate, translate_call
from hazardmill.llm.backends.litellm_format import (
    check_parameters,
    messages_for,
    parameters_for,
    provider_of,
    read_completion,
)
from hazardmill.llm.batches.provider import BatchLine, LineResult
from hazardmill.llm.redact import scrub
from hazardmill.llm.requests import Completion, Request

ENDPOINT: Final = "/v1/chat/completions"
"""What each line asks."""

BATCH_NAME: Final = "hazardmill_batch"
"""Key of our name of a batch in its metadata."""

LINE_KEY: Final = "hazardmill_key"
"""Field of a request's line with the answer key, which only a server on this machine is sent. The offline author reads
it there, as it reads the header of a single request."""

_SENT_AS_OPENAI: Final = frozenset({"openai", "hosted_vllm", "azure", "xai", "litellm_proxy"})
"""Providers whose lines are sent as they are. For others, litellm rewrites the parameters when it uploads the file."""

_NAMED_WITH_PROVIDER: Final = frozenset({"litellm_proxy"})
"""Providers whose name litellm puts before that of the model that answered."""

_LONGEST_ID: Final = 200
"""Maximum length of an id in characters; ours have 64."""
_HEAD: Final = 64 * 1024
"""Bytes at the beginning of a line that is too long, in which its id is looked for."""
_ID: Final = re.compile(rb'"custom_id"\s*:\s*"((?:[^"\\]|\\.)*)"')
_NOTE: Final = "send the request again in another batch"


def request_line(line: BatchLine, *, with_key: bool = False) -> bytes:
    """Return a request as a line of JSON in UTF-8, with its line end.

    Args:
        line: The request.
        with_key: Whether to add the answer key, which is for servers on this machine only.

    Raises:
        RequestRefused: The request sets a parameter that it must not set, or litellm refuses one.
    """
    sent: dict[str, Any] = {
        "custom_id": line.custom_id,
        "method": "POST",
        "url": ENDPOINT,
        "body": _body(line.request),
    }
    if with_key and line.request.key is not None:
        sent[LINE_KEY] = line.request.key.model_dump(mode="json")
    # Escaped, because a lone surrogate has no UTF-8.
    return json.dumps(sent, separators=(",", ":")).encode() + b"\n"


def _body(request: Request) -> dict[str, Any]:
    check_parameters(request)
    model = request.model.partition("/")[2] or request.model
    if provider_of(request.model) not in _SENT_AS_OPENAI:
        return {"model": model, "messages": messages_for(request), **parameters_for(request)}
    load_litellm()
    from litellm.types.utils import LlmProviders
    from litellm.utils import ProviderConfigManager, get_optional_params

    provider = provider_of(request.model)
    failure: ProviderError | None = None
    try:
        # The same two steps that litellm takes before it sends a single request.
        parameters = get_optional_params(model=model, custom_llm_provider=provider, **parameters_for(request))
        format_: Any = ProviderConfigManager.get_provider_chat_config(model=model, provider=LlmProviders(provider))
        body: dict[str, Any] = format_.transform_request(
            model=model, messages=messages_for(request), optional_params=parameters, litellm_params={}, headers={}
        )
    except Exception as error:
        failure = translate(error, request)
    if failure is not None:
        raise failure
    # OpenAI's library merges this field into the body.
    body |= body.pop("extra_body", None) or {}
    if not body.get("stream"):
        body.pop("stream", None)
    return body


class ResultReader:
    """Reads files of results. What cannot be read is left out and counted.

    Args:
        model: The model that was asked, ``provider/model``.
        max_answer_bytes: Maximum size of a line in bytes; a longer one is an ``AnswerTooLarge`` for its request.
    """

    def __init__(self, model: str, *, max_answer_bytes: int) -> None:
        self._model = model
        self._most = max_answer_bytes
        self.unreadable = 0
        """Number of lines that could not be read."""

    def read(self, file: IO[bytes]) -> Iterator[LineResult]:
        """Yield the results in a file of answers or of errors, holding one line at a time in memory.

        Args:
            file: The file; it is read from where it stands.
        """
        for _, result, _ in self.entries(file):
            if result is None:
                self.unreadable += 1
            else:
                yield result

    def entries(self, file: IO[bytes]) -> Iterator[tuple[int, LineResult | None, bool]]:
        """Yield the number of each line that is not blank, from 1, with its result and whether the line has its end.

        Args:
            file: The file; it is read from where it stands.

        Yields:
            Number, result, and whether the line has its end. The result of a line that cannot be read is null.
        """
        number = 0
        while line := file.readline(self._most + 1):
            number += 1
            is_whole = line.endswith(b"\n")
            too_long = len(line) > self._most and not is_whole
            while too_long and not is_whole and (rest := file.readline(_HEAD)):
                is_whole = rest.endswith(b"\n")
            if line.strip():
                yield number, self._too_large(line) if too_long else read_result(line, self._model), is_whole

    def _too_large(self, line: bytes) -> LineResult | None:
        if (found := _ID.search(line[:_HEAD])) is None:
            return None
        try:
            custom_id = result_id(json.loads(b'"' + found[1] + b'"'))
        except ValueError:
            return None
        error = AnswerTooLarge(
            f"{self._model}: the answer in the batch is longer than {self._most:,} bytes",
            remedy="if such long answers are wanted, raise --max-answer-bytes",
        )
        return LineResult(custom_id, error=error, charged=True)


def read_result(line: bytes, model: str) -> LineResult | None:
    """Return what a line of results says; null if it cannot be read.

    Args:
        line: One line of a file of answers or of errors.
        model: The model that was asked, ``provider/model``. If another one answered, the completion says so.
    """
    try:
        said = json.loads(line)
        custom_id = said["custom_id"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    if not isinstance(custom_id, str):
        return None
    response, error = said.get("response"), said.get("error")
    if not isinstance(response, dict):
        return LineResult(result_id(custom_id), error=_no_response(error, model))
    status, body = response.get("status_code"), response.get("body")
    if status not in (None, 200):
        return LineResult(result_id(custom_id), error=_error(status, body, model))
    if isinstance(completion := _completion(body, model), ProviderError):
        # It was answered, if in a way that nobody can read.
        return LineResult(result_id(custom_id), error=completion, charged=True)
    return LineResult(result_id(custom_id), completion=completion)


def result_id(said: str) -> str:
    """Return an id that somebody else wrote, without secrets and not too long."""
    return scrub(said)[:_LONGEST_ID]


def _completion(body: object, model: str) -> Completion | ProviderError:
    load_litellm()
    from litellm.litellm_core_utils.llm_response_utils.convert_dict_to_response import (
        convert_to_model_response_object,
    )
    from litellm.types.utils import ModelResponse

    try:
        if not isinstance(body, dict) or not isinstance(body.get("choices"), list):
            raise _LineError("the answer is not a chat completion", None)
        empty = ModelResponse(model=model if provider_of(model) in _NAMED_WITH_PROVIDER else None)
        response = convert_to_model_response_object(response_object=body, model_response_object=empty)
        return read_completion(response, model)
    except Exception as error:
        # What is no completion breaks anywhere. Its status was 200, which says that it is no refusal.
        return translate_call(error, model, 200)


class _LineError(Exception):
    """Carries an error of a line in the form in which litellm's errors are translated."""

    def __init__(self, message: str, status: int | None, code: str | None = None) -> None:
        super().__init__(message)
        self.status_code = status
        self.code = code


def _error(status: object, body: object, model: str) -> ProviderError:
    said = body.get("error", body) if isinstance(body, dict) else body
    code = said.get("code") if isinstance(said, dict) else None
    known = status if isinstance(status, int) and not isinstance(status, bool) else None
    message = said if isinstance(said, str) else json.dumps(said)
    text = f"status {known} for a line of the batch: {message}"
    return translate_call(_LineError(text, known, code if isinstance(code, str) else None), model, known)


_STATUS: Final[Mapping[str, int]] = {
    "request_timeout": 408,
    "rate_limit_exceeded": 429,
    "insufficient_quota": 429,
    "invalid_api_key": 401,
    "model_not_found": 404,
    "invalid_request": 400,
    "invalid_request_error": 400,
    "content_filter": 400,
    "content_policy_violation": 400,
    "context_length_exceeded": 400,
    # https://github.com/googleapis/googleapis/blob/master/google/rpc/code.proto
    "3": 400,
    "5": 404,
    "7": 403,
    "8": 429,
    "16": 401,
}
"""The status that a single request would have got, by the code of an error without response. All other codes, such as
``batch_expired`` and ``batch_cancelled``, say that nobody worked on the request."""


def _no_response(error: object, model: str) -> ProviderError:
    said = error if isinstance(error, dict) else {}
    code = str(said.get("code") or "no code")
    status = int(code) if re.fullmatch("[45][0-9]{2}", code) else _STATUS.get(code, 500)
    message = f"no response to a line of the batch: {code}: {said.get('message') or 'no reason given'}"
    failure = translate_call(_LineError(message, status, code), model, status)
    if failure.retryable:
        failure.remedy = _NOTE
    return failure
