"""Keys of providers: from the environment, otherwise from Prefect's Secret blocks, for as long as they are needed.

A key from a block is put into this process's environment, where the provider's library looks for it. Processes that run
generated code start with an empty environment; nothing writes the environment down.
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
"""Variables set from a block, with the number of flows in this process that use each."""


def block_name(variable: str) -> str:
    """Return the name of the block with a variable's value: ``hazardmill-openai-api-key`` for ``OPENAI_API_KEY``."""
    return f"hazardmill-{variable.lower().replace('_', '-')}"


def needed_keys(models: tuple[str, ...]) -> list[str]:
    """Return the variables that models need according to litellm, and that are not set."""
    litellm = load_litellm()
    missing = [name for model in models for name in litellm.validate_environment(model)["missing_keys"]]
    return list(dict.fromkeys(missing))


@asynccontextmanager
async def keys_for(access: ModelAccess) -> AsyncIterator[None]:
    """Keep the keys of the models that may be asked in the environment while the block runs.

    If there is neither a variable nor a block, nothing is reported: the backend decides whether a key is needed.
    """
    names = await asyncio.to_thread(needed_keys, access.all_models) if access.backend == "litellm" else []
    # A key that another flow of this process took from a block must stay set until this flow ends too.
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
