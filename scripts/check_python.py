"""Refuse, in words, a Python that hazardmill cannot be installed on."""

import sys

if not (3, 11) <= sys.version_info[:2] <= (3, 13):
    sys.exit(
        "hazardmill needs Python 3.11 (3.12 and 3.13 are allowed, untested); this is "
        + sys.version.split()[0]
        + ". Name another: make PYTHON=/path/to/python3.11 ..."
    )
