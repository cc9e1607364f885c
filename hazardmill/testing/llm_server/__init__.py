"""An OpenAI-compatible server on this machine that fails like real providers and counts its requests.

    with LlmServer(faults=SeededFaults(seed=1, rate=0.3)) as server:
        ...  # ask server.address, as model "openai/anything"
    assert server.totals.prompt_tokens == ...

It answers as the offline author, or by a function of yours. ``docs/llm-server.md`` describes each fault, how tokens are
counted, and what the journal holds. ``python -m hazardmill.testing.llm_server`` runs it as a command.

    chat_request.py  a request as the server sees it, with its identity
    faults.py        the kinds of fault, and plans for them
    batches.py       batches of requests, and the files that hold them
    batch_faults.py  the same as faults.py, for batches
    batch_jobs.py    a batch as it is kept, and the lines of its files
    files.py         uploaded files
    answers.py       bodies of answers, intact and faulty
    tokens.py        tokenizers, the prefix cache, dialects of usage
    journal.py       every attempt, in memory and on disk
    wire.py          HTTP/1.1 on one connection
    server.py        the server
"""

from hazardmill.testing.llm_server.batch_faults import (
    BatchCall,
    BatchFaultKind,
    BatchFaultPlan,
    BatchStep,
    ScriptedBatchFaults,
    SeededBatchFaults,
    parse_batch_faults,
)
from hazardmill.testing.llm_server.chat_request import ChatRefusal, ChatRequest
from hazardmill.testing.llm_server.faults import (
    FATAL,
    HOSTILE,
    RECOVERABLE,
    FaultPlan,
    ScriptedServerFaults,
    SeededFaults,
    ServerFault,
    ServerFaultKind,
    parse_faults,
)
from hazardmill.testing.llm_server.journal import ServedAttempt, Totals, read_journal
from hazardmill.testing.llm_server.server import LlmServer
from hazardmill.testing.llm_server.tokens import Dialect, Tokenizer, open_tokenizer

__all__ = [
    "FATAL",
    "HOSTILE",
    "RECOVERABLE",
    "BatchCall",
    "BatchFaultKind",
    "BatchFaultPlan",
    "BatchStep",
    "ChatRefusal",
    "ChatRequest",
    "Dialect",
    "FaultPlan",
    "LlmServer",
    "ScriptedBatchFaults",
    "ScriptedServerFaults",
    "SeededBatchFaults",
    "SeededFaults",
    "ServedAttempt",
    "ServerFault",
    "ServerFaultKind",
    "Tokenizer",
    "Totals",
    "open_tokenizer",
    "parse_batch_faults",
    "parse_faults",
    "read_journal",
]
