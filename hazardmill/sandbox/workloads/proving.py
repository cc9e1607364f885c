"""Inside a proving process: work that arrives over a line, with limits of its own on memory and processor time.

Started by ``sandbox/proving.py`` in an isolated interpreter. Unlike the jail it is not a wall: all it runs is our code,
on documents that have been read, and on the text of drafts, which it parses and never runs. It exists to be killed,
should a bound that is computed beforehand be wrong.
"""

from __future__ import annotations

import gc
import importlib
import json
import math
import os
import pickle
import resource
import sys
import time
from multiprocessing.connection import Connection
from typing import Any, Final, NoReturn

READY: Final = b"ready"
OUT_OF_MEMORY: Final = 3
"""Exit status of a process whose work took too much memory."""
TOO_LONG_AN_ANSWER: Final = 4
"""Exit status of a process whose work gave more than can be handed over."""
MOST_ANSWER: Final = 64 * 2**20
_LEFT: Final = 64 * 2**20
"""Address space that earlier work may leave behind before the process is replaced."""
_OBJECTS_A_COLLECTION: Final = 20_000


def main(settings_json: str) -> NoReturn:
    """Prepare, and work until whoever holds the other end hangs up.

    Args:
        settings_json: ``line`` (descriptor), ``path`` (where to import from), ``modules`` (what to import before the
            first piece of work).
    """
    settings = json.loads(settings_json)
    sys.path += [entry for entry in settings["path"] if entry not in sys.path]
    for module in settings["modules"]:
        importlib.import_module(module)
    gc.collect()
    gc.freeze()
    gc.set_threshold(_OBJECTS_A_COLLECTION)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    room = _virtual_bytes()
    line = Connection(settings["line"])
    line.send_bytes(READY)
    while True:
        try:
            request = line.recv_bytes()
        except (EOFError, OSError):
            os._exit(0)
        try:
            answer = _prove(request, room)
            if len(answer) > MOST_ANSWER:
                os._exit(TOO_LONG_AN_ANSWER)
            line.send_bytes(answer)
        except MemoryError:
            os._exit(OUT_OF_MEMORY)
        except OSError:
            os._exit(0)
        if room is not None and (_virtual_bytes() or 0) > room + _LEFT:
            os._exit(0)


def _prove(request: bytes, room: int | None) -> bytes:
    function, args, memory, seconds = pickle.loads(request)
    _limit(memory, seconds, room)
    answer: tuple[bool, Any]
    try:
        answer = True, function(*args)
    except MemoryError:
        raise
    except Exception as error:
        # The caller gets the exception that it would have had from doing the work itself.
        answer = False, error
    return pickle.dumps(answer, pickle.HIGHEST_PROTOCOL)


def _limit(memory: int, seconds: int, room: int | None) -> None:
    if room is not None:
        resource.setrlimit(resource.RLIMIT_AS, (room + memory, resource.getrlimit(resource.RLIMIT_AS)[1]))
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(time.process_time()) + seconds, hard))


def _virtual_bytes() -> int | None:
    """Return the address space in use; None where the system does not report it, and memory is not limited."""
    try:
        with open("/proc/self/statm") as file:  # noqa: PTH123  # a path object costs as much as the read
            return int(file.read().split()[0]) * resource.getpagesize()
    except OSError:
        return None
