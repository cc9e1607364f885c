"""Recording: the answers of a run's ledger, in files that answer the same records again without a model."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any, Final, get_args

from hazardmill.errors import InputError
from hazardmill.llm.ledger import TABLE
from hazardmill.llm.recordings import PLACE, RecordedAnswer, write_recording
from hazardmill.llm.requests import AnswerKey, Stage, Usage
from hazardmill.records import FrozenModel
from hazardmill.store.store import Store

_KEY: Final = ("stage", "round", "draft", "repair", "sample")
_USAGE: Final = tuple(Usage.model_fields)


class RecordingSummary(FrozenModel):
    """What was recorded of one source."""

    source: str
    path: Path
    records: int
    answers: int
    models: tuple[str, ...]
    """That answered."""


def record_runs(store: Store, run_ids: list[str], folder: Path) -> list[RecordingSummary]:
    """Write the answers that runs paid for, of all their records that came to an end, a file a source.

    Nothing is chosen: refused, unusable and sent-back answers are among them, as the run went. Where several runs have
    an answer to one request, that of the run that is named first is taken.

    Args:
        store: Their store.
        run_ids: The runs; of a child run name its parents behind it, whose answers it reuses.
        folder: Gets ``SOURCE/recorded/answers.jsonl.zst``; a file that is there is replaced.

    Raises:
        InputError: A run is not there, or no answer of theirs can be recorded.
        OSError: A file cannot be written.
    """
    found: dict[str, dict[AnswerKey, RecordedAnswer]] = defaultdict(dict)
    for run_id in run_ids:
        ended = {row["record_id"] for row in store.rows("outcomes", {"run_id": run_id}, ["record_id"])}
        rows = store.rows(TABLE, {"run_id": run_id, "answered": True})
        if not ended or not rows:
            raise InputError(
                f"run {run_id} has no answer to a record that came to an end",
                remedy="see: hazardmill run list; a run that is pending is gone on with: hazardmill run resume",
            )
        for row in rows:
            if row["record_id"] in ended and row["stage"] != "evaluate":
                answer = _answer(row)
                found[row["record_id"].partition(":")[0]].setdefault(answer.key, answer)
    made = []
    for source, answers in sorted(found.items()):
        path = folder / source / PLACE
        count = write_recording(path, source, answers.values())
        hashes = {key.record_hash for key in answers}
        models = tuple(sorted({answer.model for answer in answers.values()}))
        made.append(RecordingSummary(source=source, path=path, records=len(hashes), answers=count, models=models))
    return made


def older_answers(store: Store, run_id: str) -> str | None:
    """Say how many recorded answers of a run were given to another prompt than it would send; null if none was."""
    rows = store.rows(
        TABLE, {"run_id": run_id, "answered": True}, ["stage", "recording", "prompt_hash", "recorded_for"]
    )
    answers = [row for row in rows if row["recording"] is not None]
    older = [row["stage"] for row in answers if row["recorded_for"] != row["prompt_hash"]]
    if not older:
        return None
    stages = ", ".join(stage for stage in get_args(Stage) if stage in older)
    return (
        f"{len(older):,} of {len(answers):,} recorded answers are to earlier prompts ({stages}): what a model would say"
        " to those of today is not known"
    )


def _answer(row: dict[str, Any]) -> RecordedAnswer:
    """The answer of a row of the ledger; one that was recorded already stays one to the prompt of then."""
    return RecordedAnswer(
        key=AnswerKey.model_validate({"record_hash": row["input_hash"], **{name: row[name] for name in _KEY}}),
        text=row["answer"],
        model=row["model_answered"],
        finish_reason=row["finish_reason"],
        usage=Usage(**{name: row[name] for name in _USAGE}),
        prompt_version=row["prompt_version"],
        prompt_hash=row["recorded_for"] or row["prompt_hash"],
    )
