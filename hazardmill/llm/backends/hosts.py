"""The hosts of APIs, as their addresses name them."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from hazardmill.errors import SettingsError
from hazardmill.llm.redact import scrub, secrets_in_address


def host_of(api_base: str) -> str:
    """Return the host of the address of an API, without port.

    Raises:
        SettingsError: It is not an address.
    """
    try:
        parts = urlsplit(api_base)
        host = parts.hostname
    except ValueError:
        parts, host = urlsplit(""), None
    if parts.scheme not in ("http", "https") or not host:
        raise SettingsError(
            f"{scrub(api_base, *secrets_in_address(api_base))!r} is not the address of an API",
            remedy="give it with scheme, host and path, up to /v1",
        )
    return host


def is_loopback(host: str) -> bool:
    """Whether a host is this machine: ``localhost`` or a loopback address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
