"""Recording: writes the answers of a run's ledger to files, which answer the same records again without a model."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any, Final, get_args

from hazardmill.errors import InputError
from hazardmill.llm.ledger import TABLE
from hazardmill.llm.recordings import RecordedAnswer, place_of, write_recording
from hazardmill.llm.requests import AnswerKey, Stage, Usage
from hazardmill.records import FrozenModel, ProductKind
from hazardmill.store.run_ids import list_command, unknown_run
from hazardmill.store.store import Store
from hazardmill.text.shell import command

_KEY: Final = ("stage", "round", "draft", "repair", "sample")
_USAGE: Final = tuple(Usage.model_fields)


class RecordingSummary(FrozenModel):
    """What was recorded for one source.

    Attributes:
        source: Name of the source.
        path: The file.
        records: Records with answers.
        answers: Answers in the file.
        models: The models that answered.
    """

    source: str
    path: Path
    records: int
    answers: int
    models: tuple[str, ...]


def record_runs(store: Store, run_ids: list[str], folder: Path) -> list[RecordingSummary]:
    """Write the answers that runs paid for, for all finished records: per source a file on tasks, one on scenarios.

    Nothing is selected: refused, unusable and sent-back answers are included, as the run went. If several runs have an
    answer to one request, that of the run named first is taken.

    Args:
        store: The store of the runs.
        run_ids: The runs. After a child run, name its parents, whose answers it reuses.
        folder: Gets ``SOURCE/recorded/answers.jsonl.zst``, and ``scenarios.jsonl.zst`` of runs that made scenarios; an
            existing file is replaced.

    Returns:
        One summary per file, sorted by source.

    Raises:
        UnknownName: A run is not in the store.
        InputError: A run has no answer that can be recorded.
        OSError: A file cannot be written.
    """  # noqa: DOC501  # the helper makes an UnknownName
    found: dict[tuple[str, Path], dict[AnswerKey, RecordedAnswer]] = defaultdict(dict)
    kinds: dict[str, ProductKind] = {
        row["run_id"]: json.loads(row["config"]).get("kind", "task") for row in store.rows("runs", {"kind": "generate"})
    }
    for run_id in run_ids:
        if run_id not in kinds:
            raise unknown_run(run_id, kinds, store.address, kind="generation run")
        ended = {row["record_id"] for row in store.rows("outcomes", {"run_id": run_id}, ["record_id"])}
        rows = store.rows(TABLE, {"run_id": run_id, "answered": True})
        if not ended or not rows:
            raise InputError(
                f"run {run_id} has no answer to a finished record",
                remedy=f"see: {list_command(store.address)}; to finish a pending run: "
                f"{command('run', 'resume', run_id, '--store', store.address)}",
            )
        for row in rows:
            if row["record_id"] in ended and row["stage"] != "evaluate":
                answer = _answer(row, kinds[run_id])
                source = row["record_id"].partition(":")[0]
                found[source, place_of(answer.key.kind)].setdefault(answer.key, answer)
    made = []
    for (source, place), answers in sorted(found.items()):
        path = folder / source / place
        count = write_recording(path, source, answers.values())
        hashes = {key.record_hash for key in answers}
        models = tuple(sorted({answer.model for answer in answers.values()}))
        made.append(RecordingSummary(source=source, path=path, records=len(hashes), answers=count, models=models))
    return made


def older_answers(store: Store, run_id: str) -> str | None:
    """Report how many recorded answers that a run used were given to earlier versions of its prompts.

    Returns:
        A sentence; None if there are no such answers.
    """
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
        " to the present ones is not known"
    )


def _answer(row: dict[str, Any], kind: ProductKind) -> RecordedAnswer:
    """Return the answer in a row of the ledger; if it was a recorded one, with the prompt it was first given to."""
    key = {"record_hash": row["input_hash"], "kind": kind, **{name: row[name] for name in _KEY}}
    return RecordedAnswer(
        key=AnswerKey.model_validate(key),
        text=row["answer"],
        model=row["model_answered"],
        finish_reason=row["finish_reason"],
        usage=Usage(**{name: row[name] for name in _USAGE}),
        prompt_version=row["prompt_version"],
        prompt_hash=row["recorded_for"] or row["prompt_hash"],
    )
