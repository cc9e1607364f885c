"""A process for a single draft, where there is no zygote: it loads the workload, then goes behind the walls.

Started by ``process.py`` in an isolated interpreter, with an order (JSON) as argument and the code on standard input.
"""

from __future__ import annotations

import importlib
import json
import os
import sys

# The compiler needs it for identifiers and escapes beyond ASCII, and cannot load it once the walls stand.
import unicodedata
from typing import NoReturn

from hazardmill.sandbox.process import child_main, isolation


def main(order_json: str) -> NoReturn:
    """Carry out one order, and end the process.

    Args:
        order_json: The JSON of a ``child_main.Order``, with ``workload`` (name of a module), ``output`` (descriptor)
            and ``parent`` (process id).
    """
    order = json.loads(order_json)
    unicodedata.normalize("NFKC", "")
    code = sys.stdin.buffer.read().decode("utf-8")
    isolation.redirect_standard_streams()
    workload = importlib.import_module(order["workload"])
    workload.prepare()
    # A draft may import what is loaded and nothing else, whether or not Landlock stands.
    sys.path.clear()
    os.environ.clear()
    child_main.live(child_main.Order.from_json(order), code, order["output"], order["parent"], workload.run)
