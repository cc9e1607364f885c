"""The offline author: a deterministic, rule-based stand-in for a language model.

It is not a model and says so (``OFFLINE_LABEL``, ``model_answered="offline-author"``). It reads only the messages of a
request, and makes typical mistakes of models on a fixed share of records, so that every part of the pipeline is
exercised without a key and without a network.

    prompt.py      the blocks of a conversation
    patterns.yaml  two patterns per danger type
    patterns.py    what a pattern is
    choosing.py    which pattern a record suggests, or why none
    draws.py       deterministic choices by hash
    composing.py   a task from a pattern and choices
    faults.py      mistakes, and the feedback that fixes them
    extraction.py, author.py, judge.py  the answers by stage
    backend.py     the backend
"""

from hazardmill.testing.offline_author.backend import OfflineBackend, answer

__all__ = ["OfflineBackend", "answer"]
