"""The certificates that clients trust while tests run: one, instead of the 140 of an installation.

Every client of HTTP reads all of them when it is made, which takes 17 ms, and libraries make a client for each request
or two. Servers of tests are on loopback and have no certificate.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

TRUSTED: Final = {"SSL_CERT_FILE": str(Path(__file__).with_name("nobody.pem"))}
"""The variable that Python's ssl, httpx, litellm and Prefect read, for environments of processes."""
