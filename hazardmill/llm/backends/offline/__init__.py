"""The offline author: a deterministic, rule-based stand-in for a language model.

It is no model and says so (``OFFLINE_LABEL``, ``model_answered="offline-author"``). It reads the messages of a request
and nothing else, and makes the mistakes that models make on a fixed share of records, so that every part of the mill
has work without a key and without a network.

    prompt.py      the blocks of a conversation      reading.py   a record's words, things, people and rooms
    nouns.py       nouns as neutral names            draws.py     choices by hash
    norms.py       a norm's deed and constraints     motif.py     what a pattern is
    patterns/      the patterns, most a module a danger type
    selection.py   which pattern, or why none        casting.py   who plays which role
    notation.py    acts in short notation            code.py      a task's module, written out
    outline.py     the same as an outline
    stage.py       rooms, errands, decoys            guarded.py, route.py, batch.py, loads.py, rounds.py   the shapes
    composing.py   motif and record to code          faults.py    mistakes, and what mends them
    extraction.py, author.py, judge.py   the answers by stage       backend.py   the backend
"""

from hazardmill.llm.backends.offline.backend import OFFLINE_LABEL, OfflineBackend, answer

__all__ = ["OFFLINE_LABEL", "OfflineBackend", "answer"]
