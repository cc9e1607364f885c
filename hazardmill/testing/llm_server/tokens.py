"""Counting as a provider does: tokens, the prefix that was cached, and the field that says so."""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Hashable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, Protocol

from hazardmill.errors import SettingsError
from hazardmill.testing.llm_server.chat_request import ChatRequest

BLOCK: Final = 64
"""Tokens of a block; the cache knows whole blocks only."""

_BYTES_A_TOKEN: Final = 4
_SHAPES_THE_PROMPT: Final = ("tools", "response_format")
"""Parameters that a provider writes into the prompt, ahead of the messages."""


class Tokenizer(Protocol):
    """Cuts text into tokens, always the same way."""

    @property
    def name(self) -> str:
        """Name to be told with every count."""
        ...

    def encode(self, text: str) -> Sequence[Hashable]:
        """The tokens of a text."""
        ...

    def cut(self, text: str, most: int) -> str:
        """As much of the beginning of a text as ``most`` tokens hold."""
        ...


class ByteTokenizer:
    """Four UTF-8 bytes are a token: the offline author's rule. Needs nothing, and flatters or insults no model."""

    name = "utf8-bytes/4"

    def encode(self, text: str) -> Sequence[Hashable]:
        """The tokens of a text."""
        data = text.encode()
        return [data[at : at + _BYTES_A_TOKEN] for at in range(0, len(data), _BYTES_A_TOKEN)]

    def cut(self, text: str, most: int) -> str:
        """As much of the beginning of a text as ``most`` tokens hold; no half characters."""
        return text.encode()[: most * _BYTES_A_TOKEN].decode(errors="ignore")


class TiktokenTokenizer:
    """An encoding of OpenAI's models, from the file that litellm carries: nothing is downloaded.

    Raises:
        SettingsError: litellm or the encoding is not installed.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        found = importlib.util.find_spec("litellm")
        if found is None or not found.submodule_search_locations:
            raise SettingsError(f"the tokenizer {name} comes with litellm", remedy="install hazardmill[llm]")
        files = Path(found.submodule_search_locations[0]) / "litellm_core_utils" / "tokenizers"
        os.environ.setdefault("TIKTOKEN_CACHE_DIR", str(files))
        import tiktoken

        self._encoding = tiktoken.get_encoding(name)

    def encode(self, text: str) -> Sequence[Hashable]:
        """The tokens of a text; what looks like a special token is text."""
        return self._encoding.encode(text, disallowed_special=())

    def cut(self, text: str, most: int) -> str:
        """As much of the beginning of a text as ``most`` tokens hold; no half characters."""
        tokens = self._encoding.encode(text, disallowed_special=())
        return text if len(tokens) <= most else self._encoding.decode(tokens[:most], errors="ignore")


TOKENIZERS: Final = (ByteTokenizer.name, "cl100k_base", "o200k_base")
"""Names that ``open_tokenizer`` knows."""


def open_tokenizer(name: str = ByteTokenizer.name) -> Tokenizer:
    """A tokenizer by its name.

    Raises:
        SettingsError: There is none of that name, or it is not installed.
    """
    if name == ByteTokenizer.name:
        return ByteTokenizer()
    if name not in TOKENIZERS:
        raise SettingsError(f"no such tokenizer: {name!r}", remedy=f"choose one of {', '.join(TOKENIZERS)}")
    return TiktokenTokenizer(name)


def prompt_text(asked: ChatRequest) -> str:
    """What is counted of a request: schemas first, as canonical JSON, then each message under its role."""
    shapes = {name: asked.parameters[name] for name in _SHAPES_THE_PROMPT if asked.parameters.get(name)}
    schema = json.dumps(shapes, sort_keys=True, separators=(",", ":"), ensure_ascii=False) + "\n" if shapes else ""
    return schema + "".join(f"<{message.role}>\n{message.content}\n" for message in asked.messages)


class PrefixCache:
    """Which beginnings of prompts were computed before, in whole blocks, a model at a time.

    Nothing is ever forgotten. A prompt counts as computed once its answer is there, so of a crowd that arrives together
    nobody finds anything.
    """

    def __init__(self) -> None:
        self._known: set[int] = set()

    def count_cached(self, chain: Sequence[int]) -> int:
        """Tokens of the longest beginning that is known."""
        for blocks, link in enumerate(chain):
            if link not in self._known:
                return blocks * BLOCK
        return len(chain) * BLOCK

    def add(self, chain: Sequence[int]) -> None:
        """A prompt was computed."""
        self._known.update(chain)


def chain_of(model: str, tokens: Sequence[Hashable]) -> list[int]:
    """A hash for each whole block of a prompt, over everything up to its end."""
    links: list[int] = []
    link = hash(model)
    for end in range(BLOCK, len(tokens) + 1, BLOCK):
        link = hash((link, tuple(tokens[end - BLOCK : end])))
        links.append(link)
    return links


class Dialect(StrEnum):
    """How usage tells of cached tokens."""

    OPENAI = "openai"
    """``prompt_tokens_details.cached_tokens``."""
    DEEPSEEK = "deepseek"
    """``prompt_cache_hit_tokens`` and ``prompt_cache_miss_tokens``."""
    ANTHROPIC = "anthropic"
    """``cache_read_input_tokens`` and ``cache_creation_input_tokens``, as gateways pass them on."""
    NONE = "none"
    """Not at all."""


def usage_body(prompt: int, cached: int, completion: int, dialect: Dialect) -> dict[str, Any]:
    """The ``usage`` of an answer. ``prompt_tokens`` holds the cached ones in every dialect."""
    usage: dict[str, Any] = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }
    if dialect is Dialect.OPENAI:
        usage["prompt_tokens_details"] = {"cached_tokens": cached}
    elif dialect is Dialect.DEEPSEEK:
        usage |= {"prompt_cache_hit_tokens": cached, "prompt_cache_miss_tokens": prompt - cached}
    elif dialect is Dialect.ANTHROPIC:
        usage |= {"cache_read_input_tokens": cached, "cache_creation_input_tokens": 0}
    return usage
