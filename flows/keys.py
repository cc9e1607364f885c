"""Keys of providers: from the environment, else from Prefect's Secret blocks, and no longer than they are needed.

What is taken from a block is put into this process's environment, where the provider's library looks for it. Processes
that run generated code begin with an empty environment; nothing writes the environment down.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from prefect.blocks.system import Secret

from hazardmill.llm.access import ModelAccess
from hazardmill.llm.backends.litellm import load_litellm

_lent: Counter[str] = Counter()
"""Variables that are set for somebody: flows that share a process may need the same key."""


def block_name(variable: str) -> str:
    """Name of the block that holds a variable's value: ``OPENAI_API_KEY`` is in ``hazardmill-openai-api-key``."""
    return f"hazardmill-{variable.lower().replace('_', '-')}"


def needed_keys(models: tuple[str, ...]) -> list[str]:
    """The variables that models need, as litellm knows them, and that are not set."""
    litellm = load_litellm()
    missing = [name for model in models for name in litellm.validate_environment(model)["missing_keys"]]
    return list(dict.fromkeys(missing))


@asynccontextmanager
async def keys_for(access: ModelAccess) -> AsyncIterator[None]:
    """Have the keys of the models that may be asked in the environment while the block runs.

    Where there is neither variable nor block nothing is said: whether a key is needed is for the backend to tell.
    """
    names = await asyncio.to_thread(needed_keys, access.asked) if access.backend == "litellm" else []
    # What another flow of this process was lent is set, and must stay so until this one ends too.
    names += [name for name in _lent if name not in names]
    taken: list[str] = []
    try:
        for name in names:
            if await _lend(name):
                taken.append(name)
        yield
    finally:
        for name in taken:
            _lent[name] -= 1
            if not _lent[name]:
                del _lent[name]
                os.environ.pop(name, None)


async def _lend(name: str) -> bool:
    if name not in _lent:
        try:
            block: Secret[Any] = await Secret.aload(block_name(name))
            value = block.get()
        except ValueError:
            return False
        if name not in _lent:
            if name in os.environ:
                return False
            os.environ[name] = str(value)
    _lent[name] += 1
    return True
