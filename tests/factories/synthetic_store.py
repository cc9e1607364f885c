"""Rows of a run that never was, as many as wanted: for tests of load and benchmarks of the store, never for content.

Sizes, and how well the texts compress, are those of an offline run on the shipped samples: about 94 kB a record, of
which batches of 25 keep 14 kB on disk. Every record ends accepted at its second draft. The same arguments give the same
rows in every process.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, Final

Row = dict[str, Any]

CHECKS: Final = ("answer", "policy", "jail", "document", "search", "certificate", "pddl", "formalization", "judge")
SOURCES: Final = ("alfred", "bddl", "neiss", "normbank")
RUN_LENGTH: Final = 25
"""So many records in a row are of one source, and ids rise: as in most runs, whose records come file by file."""

USD: Final = 3 / 1024
"""What a call costs: exact as a float, so that no sum depends on the order of its parts."""


@dataclass(frozen=True)
class Synthetic:
    """One record of a run."""

    record_id: str
    calls: list[Row]
    """Rows of ``llm_calls``, which a run commits one by one as the answers come."""
    group: dict[str, list[Row]]
    """Its other rows by table, which a run commits together."""

    @property
    def rows(self) -> int:
        """How many rows it has in all tables: 26."""
        return len(self.calls) + sum(map(len, self.group.values()))


def synthetic_records(count: int, *, run_id: str = "generate-synthetic", seed: int = 0) -> Iterator[Synthetic]:
    """The rows of a run over ``count`` records, one after the other.

    Args:
        count: Records.
        run_id: The run they say they are of.
        seed: Another seed gives other texts, under the same ids.
    """
    text = _Text(seed)
    for number in range(count):
        yield _record(number, run_id, text)


class _Text:
    """Texts in which a record's own phrases come again and again, as names do in a task, and little is shared."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        letters = "etaoinsrhldcumfpgwyb_"
        self._words = ["".join(self._random.choices(letters, k=self._random.randint(2, 9))) for _ in range(4000)]
        self._phrases = [""]
        self.next_record()
        sizes = {"extract": 4000, "author": 5000, "judge": 1600}
        self.system = {stage: self(size) for stage, size in sizes.items()}
        """The static part of each stage's prompt."""

    def next_record(self) -> None:
        """Take other phrases."""
        words = self._random.choices(self._words, k=60)
        self._phrases = [" ".join(self._random.choices(words, k=8)) for _ in range(20)]

    def __call__(self, size: int) -> str:
        """About ``size`` characters."""
        return "\n".join(self._random.choices(self._phrases, k=max(1, size // 45)))

    def one_of(self, *values: str) -> str:
        """One of several."""
        return self._random.choice(values)


def _record(number: int, run_id: str, text: _Text) -> Synthetic:
    text.next_record()
    source = SOURCES[number // RUN_LENGTH % len(SOURCES)]
    record_id = f"{source}:{number:08d}"
    made = {
        "run_id": run_id,
        "record_id": record_id,
        "source": source,
        "input_hash": _sha(record_id),
        "prompt_version": "1.1",
        "prompt_hash": _sha("prompt"),
        "model_asked": "some-model",
        "model_answered": "some-model-2026-01-01",
        "backend": "litellm",
        "jail_profile": "full",
        "hazardmill_version": "0",
    }
    context, danger_type = text(500), text.one_of("thermal", "mechanical", "chemical", "electrical")
    codes, document = (text(3200), text(3200)), text(3800)
    asked = (
        ("extract", None, context, text(680)),
        ("author", 1, text(1500), codes[0]),
        ("author", 2, text(1500), codes[1]),
        ("judge", 2, codes[1] + document, "approved"),
    )
    calls = [_call(made, number, place, text, *what) for place, what in enumerate(asked)]
    task_id = f"{source}-{_sha(record_id)[:12]}"
    ended = {"ordinal": number, "outcome": "accepted", "drafts": 2, "task_id": task_id, "usd": len(calls) * USD}
    group = {
        "records": [_native(made, number, context, text)],
        "dangers": [_danger(made, danger_type, calls[0], text)],
        "drafts": [_draft(made, draft, codes[draft - 1], document, calls[draft], text) for draft in (1, 2)],
        "checks": [_check(made, draft, position) for draft in (1, 2) for position in range(len(CHECKS))],
        "tasks": [_task(made, task_id, codes[1], document, danger_type, text)],
        "outcomes": [{**made, **ended}],
    }
    return Synthetic(record_id, calls, group)


def _native(made: Row, number: int, context: str, text: _Text) -> Row:
    return {
        **made,
        "native_id": f"{number:08d}",
        "context": context,
        "facts": json.dumps({"text": text(600)}),
        "licence": "CC0-1.0",
        "attribution": "Invented.",
        "content_hash": made["input_hash"],
        "file": "invented.tsv",
        "line": number + 2,
        "warnings": "[]",
    }


def _danger(made: Row, danger_type: str, call: Row, text: _Text) -> Row:
    return {
        **made,
        "danger_group": "physical",
        "danger_type": danger_type,
        "setting": text(90),
        "changing_cause": json.dumps([text(40)]),
        "fixed_circumstances": json.dumps([text(40)]),
        "cause_of_danger": text(90),
        "assumptions": text(90),
        "identities": json.dumps([call["identity"]]),
        "paid": True,
    }


def _call(
    made: Row, number: int, place: int, text: _Text, stage: str, draft: int | None, said: str, answer: str
) -> Row:
    messages = [{"role": "system", "content": text.system[stage]}, {"role": "user", "content": said}]
    return {
        **{name: value for name, value in made.items() if name not in ("source", "jail_profile")},
        "identity": _sha(f"{number} {place}"),
        "attempt": 1,
        "stage": stage,
        "draft": draft,
        "sample": 0,
        "host": "api.example",
        "request": json.dumps({"messages": messages, "parameters": {"temperature": 0.4}}),
        "answer": answer,
        "answered": True,
        "finish_reason": "stop",
        "prompt_tokens": 1500,
        "cached_tokens": 1000,
        "completion_tokens": 800,
        "usd": USD,
        "usd_upper": USD,
        "latency_s": 4.2,
        "at": datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=number, milliseconds=place),
    }


def _draft(made: Row, draft: int, code: str, document: str, call: Row, text: _Text) -> Row:
    failed = draft == 1
    return {
        **made,
        "draft": draft,
        "answer": f"```python\n{code}\n```",
        "code": code,
        "document": document,
        "document_hash": _sha(document),
        "accepted": not failed,
        "failed_check": "search" if failed else None,
        "failed_reason": text.one_of("no_safe_plan", "no_unsafe_plan", "goal_unreachable") if failed else None,
        "feedback": text(270) if failed else None,
        "identities": json.dumps([call["identity"]]),
        "paid": True,
        "usd": USD,
    }


def _check(made: Row, draft: int, position: int) -> Row:
    failing = CHECKS.index("search")
    passed = True if draft == 2 or position < failing else False if position == failing else None
    return {
        **made,
        "draft": draft,
        "check_name": CHECKS[position],
        "position": position,
        "passed": passed,
        "details": "{}",
    }


def _task(made: Row, task_id: str, code: str, document: str, danger_type: str, text: _Text) -> Row:
    return {
        **made,
        "task_id": task_id,
        "draft": 2,
        "code": code,
        "document": document,
        "document_hash": _sha(document),
        "danger": json.dumps({"text": text(650)}),
        "danger_group": "physical",
        "danger_type": danger_type,
        "avoidability": "avoidable",
        "safe_plan": text(140),
        "unsafe_plan": text(100),
        "safe_length": 5,
        "unsafe_length": 3,
        "plan_length": 4,
        "safety_effort": 2,
        "certificate": text(8000),
        "domain_pddl": text(1470),
        "problem_pddl": text(350),
        "licence": "CC0-1.0",
        "attribution": "Invented.",
    }


def _sha(value: str) -> str:
    return hashlib.sha256(value.encode()).hexdigest()
