"""Count tokens as a provider does, cut answers to a limit, remember cached prefixes of prompts, and report usage."""

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
"""Tokens per block; the cache holds whole blocks only."""

_BYTES_A_TOKEN: Final = 4
_SHAPES_THE_PROMPT: Final = ("tools", "response_format")
"""Parameters that a provider writes into the prompt, before the messages."""


class Tokenizer(Protocol):
    """Splits text into tokens, deterministically."""

    @property
    def name(self) -> str:
        """Name to be reported with every count."""
        ...

    def encode(self, text: str) -> Sequence[Hashable]:
        """Return the tokens of a text."""
        ...

    def cut(self, text: str, most: int) -> str:
        """Return the beginning of a text, up to ``most`` tokens."""
        ...


class ByteTokenizer:
    """Counts four UTF-8 bytes as a token, like the offline author.

    It needs no data, and favours no model.
    """

    name = "utf8-bytes/4"

    def encode(self, text: str) -> Sequence[Hashable]:
        """Return the tokens of a text."""
        data = text.encode()
        return [data[at : at + _BYTES_A_TOKEN] for at in range(0, len(data), _BYTES_A_TOKEN)]

    def cut(self, text: str, most: int) -> str:
        """Return the beginning of a text, up to ``most`` tokens, without partial characters."""
        return text.encode()[: most * _BYTES_A_TOKEN].decode(errors="ignore")


class TiktokenTokenizer:
    """An encoding of OpenAI's models, from the file shipped with litellm: nothing is downloaded.

    Args:
        name: ``cl100k_base`` or ``o200k_base``.

    Raises:
        SettingsError: litellm or the encoding is not installed.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        found = importlib.util.find_spec("litellm")
        if found is None or not found.submodule_search_locations:
            raise SettingsError(
                f"the tokenizer {name} needs litellm, which is not installed", remedy="pip install 'hazardmill[llm]'"
            )
        files = Path(found.submodule_search_locations[0]) / "litellm_core_utils" / "tokenizers"
        os.environ.setdefault("TIKTOKEN_CACHE_DIR", str(files))
        import tiktoken

        self._encoding = tiktoken.get_encoding(name)

    def encode(self, text: str) -> Sequence[Hashable]:
        """Return the tokens of a text; special tokens are treated as text."""
        return self._encoding.encode(text, disallowed_special=())

    def cut(self, text: str, most: int) -> str:
        """Return the beginning of a text, up to ``most`` tokens, without partial characters."""
        tokens = self._encoding.encode(text, disallowed_special=())
        return text if len(tokens) <= most else self._encoding.decode(tokens[:most], errors="ignore")


TOKENIZERS: Final = (ByteTokenizer.name, "cl100k_base", "o200k_base")
"""Names that ``open_tokenizer`` accepts."""


def open_tokenizer(name: str = ByteTokenizer.name) -> Tokenizer:
    """Return a tokenizer by its name, one of ``TOKENIZERS``.

    Raises:
        SettingsError: The name is unknown, or the tokenizer is not installed.
    """
    if name == ByteTokenizer.name:
        return ByteTokenizer()
    if name not in TOKENIZERS:
        raise SettingsError(f"no such tokenizer: {name!r}", remedy=f"choose one of {', '.join(TOKENIZERS)}")
    return TiktokenTokenizer(name)


def prompt_text(asked: ChatRequest) -> str:
    """Return the text whose tokens are counted: schemas as canonical JSON, then each message after its role."""
    shapes = {name: asked.parameters[name] for name in _SHAPES_THE_PROMPT if asked.parameters.get(name)}
    schema = json.dumps(shapes, sort_keys=True, separators=(",", ":"), ensure_ascii=False) + "\n" if shapes else ""
    return schema + "".join(f"<{message.role}>\n{message.content}\n" for message in asked.messages)


class PrefixCache:
    """Which beginnings of prompts were computed before, in whole blocks, per model.

    Nothing is ever forgotten. A prompt counts as computed once its answer is sent, so requests that arrive together
    find nothing of each other.
    """

    def __init__(self) -> None:
        self._known: set[int] = set()

    def count_cached(self, chain: Sequence[int]) -> int:
        """Return the number of tokens of the longest known beginning.

        Args:
            chain: The prompt's chain (``chain_of``).
        """
        for blocks, link in enumerate(chain):
            if link not in self._known:
                return blocks * BLOCK
        return len(chain) * BLOCK

    def add(self, chain: Sequence[int]) -> None:
        """Note that a prompt was computed."""
        self._known.update(chain)


def chain_of(model: str, tokens: Sequence[Hashable]) -> list[int]:
    """Return a hash per whole block of a prompt, each over everything up to its end.

    Args:
        model: The model asked; different models share nothing.
        tokens: The tokens of the prompt.
    """
    links: list[int] = []
    link = hash(model)
    for end in range(BLOCK, len(tokens) + 1, BLOCK):
        link = hash((link, tuple(tokens[end - BLOCK : end])))
        links.append(link)
    return links


class Dialect(StrEnum):
    """How usage reports cached tokens."""

    OPENAI = "openai"
    """``prompt_tokens_details.cached_tokens``."""
    DEEPSEEK = "deepseek"
    """``prompt_cache_hit_tokens`` and ``prompt_cache_miss_tokens``."""
    ANTHROPIC = "anthropic"
    """``cache_read_input_tokens`` and ``cache_creation_input_tokens``, as gateways pass them on."""
    NONE = "none"
    """Not at all."""


def usage_body(prompt: int, cached: int, completion: int, dialect: Dialect) -> dict[str, Any]:
    """Return the ``usage`` of an answer. In every dialect, ``prompt_tokens`` includes the cached ones.

    Args:
        prompt: Tokens of the prompt.
        cached: Prompt tokens found in the cache.
        completion: Tokens of the answer.
        dialect: How to report cached tokens.
    """
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
