"""Errors of the object store, as one error that names the object and the remedy.

Messages of the libraries are neither repeated nor chained, because logs would print them, and they might contain keys.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from hazardmill.errors import StoreError

_RESUME: Final = "then resume the run: its journal on this machine has every row"

_KINDS: Final[dict[str, tuple[str, str]]] = {
    "no_bucket": ("there is no such bucket", "create the bucket, or correct the address; " + _RESUME),
    "no_keys": (
        "there are no credentials for the object store",
        "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE; " + _RESUME,
    ),
    "refused": (
        "the object store refuses access",
        "make sure that the credentials in the environment may list, read and write below this prefix; " + _RESUME,
    ),
    "unreachable": (
        "the object store cannot be reached",
        "check the network and AWS_ENDPOINT_URL; " + _RESUME,
    ),
    "cut": ("the connection to the object store was cut, or it was too slow", "try again; " + _RESUME),
    "busy": ("the object store is overloaded, after several tries", "wait for it to recover, " + _RESUME),
    "setting": ("the AWS settings cannot be used", "correct the region, profile or endpoint in the environment"),
    "other": ("the object store answers with an error", "look up the code, and see the server's log; " + _RESUME),
}

_CODES: Final = {
    "no_bucket": {"NoSuchBucket"},
    "no_keys": {"NoCredentialsError", "PartialCredentialsError", "CredentialRetrievalError", "TokenRetrievalError"},
    "refused": {
        "AccessDenied",
        "AllAccessDisabled",
        "ExpiredToken",
        "InvalidAccessKeyId",
        "InvalidClientTokenId",
        "InvalidToken",
        "RequestTimeTooSkewed",
        "SignatureDoesNotMatch",
        "UnrecognizedClient",
        "401",
        "403",
    },
    "unreachable": {"EndpointConnectionError", "ConnectTimeoutError", "SSLError", "ProxyConnectionError"},
    "cut": {
        "ConnectionClosedError",
        "ConnectionError",
        "HTTPClientError",
        "IncompleteReadError",
        "NetworkConnection",
        "ReadTimeoutError",
        "RequestTimeout",
        "ResponseStreamingError",
    },
    "busy": {"InternalError", "InternalFailure", "ServiceUnavailable", "SlowDown", "Throttling", "ThrottlingException"},
    "setting": {"ProfileNotFound", "InvalidRegionError", "NoRegionError", "InvalidEndpoint", "InvalidConfigError"},
}

_ARROW_CODE: Final = re.compile(r"AWS Error ([A-Z][A-Z_0-9]*)")
_ARROW_STATUS: Final = re.compile(r"HTTP status (\d{3})|HTTP response code: (\d{3})|response code (\d{3})")


@contextmanager
def object_errors(place: str, doing: str) -> Iterator[None]:
    """Convert what boto3 and pyarrow raise in the block to a ``StoreError`` about one object.

    Args:
        place: Address of the object.
        doing: What is attempted, to follow "cannot".

    Raises:
        FileNotFoundError: Passed on, because a missing object may be an answer.
        StoreError: The object store failed in any other way.
    """  # noqa: DOC501  # the helper makes a StoreError
    from botocore.exceptions import (  # type: ignore[import-untyped]  # published without types
        BotoCoreError,
        ClientError,
    )

    try:
        yield
    except (StoreError, FileNotFoundError):
        raise
    except ClientError as error:
        raise _error(place, doing, _client_code(error)) from None
    except BotoCoreError as error:
        raise _error(place, doing, type(error).__name__) from None
    except OSError as error:
        raise _error(place, doing, _arrow_code(error)) from None


def status_of(error: Exception) -> int:
    """Return the HTTP status of an error of boto3; 0 if it has none."""
    response = getattr(error, "response", None) or {}
    return int(response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))


def _client_code(error: Exception) -> str:
    code = str(getattr(error, "response", {}).get("Error", {}).get("Code", ""))
    status = status_of(error)
    return "ServiceUnavailable" if status >= 500 else code or str(status)


def _arrow_code(error: OSError) -> str:
    """Return the code in a message of pyarrow, in S3's spelling."""
    status = _ARROW_STATUS.search(str(error))
    number = next((group for group in status.groups() if group), "") if status else ""
    found = _ARROW_CODE.search(str(error))
    code = "".join(word.capitalize() for word in found[1].split("_")) if found else ""
    if number.startswith("5"):
        return "ServiceUnavailable"
    if code in ("", "Unknown"):
        return number or type(error).__name__
    return {"NetworkConnection": _network_code(str(error))}.get(code, code)


def _network_code(message: str) -> str:
    # curl's codes 6 and 7: no such host, and connection refused.
    return "EndpointConnectionError" if re.search(r"curlCode: [67]\b", message) else "NetworkConnection"


def _error(place: str, doing: str, code: str) -> StoreError:
    kind = next((kind for kind, codes in _CODES.items() if code in codes), "other")
    message, remedy = _KINDS[kind]
    return StoreError(f"cannot {doing}: {message} ({code})", file=place, remedy=remedy)
