"""The offline author: a deterministic, rule-based stand-in for a language model.

It is no model and says so (``OFFLINE_LABEL``, ``model_answered="offline-author"``). It reads the messages of a request
and nothing else, and makes the mistakes that models make on a fixed share of records, so that every part of the mill
has work without a key and without a network.

    prompt.py      the blocks of a conversation
    patterns.yaml  two patterns per danger type
    patterns.py    what a pattern is
    choosing.py    which pattern, or why none
    draws.py       choices by hash
    composing.py   pattern and choices to a task
    faults.py      mistakes, and what mends them
    extraction.py, author.py, judge.py  the answers by stage
    backend.py     the backend
"""

from hazardmill.testing.offline_author.backend import OfflineBackend, answer

__all__ = ["OfflineBackend", "answer"]
