"""A release as training data, in the columns that TRL documents for its trainers.

| format | of a task | columns (TRL's standard format: texts, not chat messages) |
| --- | --- | --- |
| `sft` | the safe plan | `prompt`, `completion` |
| `dpo` | both plans | `prompt`, `chosen`, `rejected`; then `shared_prefix`, `danger_step`, `causal_step` |
| `stepwise` | each plan | `prompt`, `completions` (an action each), `labels`; then `plan`: `safe` or `unsafe` |

A label says whether a safe plan is still left after the action: for a safe plan all are true, for an unsafe one they
are true before the causal step (``pairs``) and false from it on. Where no causal step is known, the unsafe plan is left
out. Each row ends with the columns of ``ABOUT``: whose it is, and who made it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, get_args

import pyarrow as pa
import pyarrow.parquet as pq

from hazardmill.errors import InputError, UsageError
from hazardmill.formalism.document.plan_text import parse_plan
from hazardmill.llm.requests import OFFLINE_MODEL
from hazardmill.release.build.configs import BY_SA
from hazardmill.release.read.pairs import planning_prompt
from hazardmill.release.read.release import Release

Format = Literal["sft", "dpo", "stepwise"]
FORMATS: Final[tuple[Format, ...]] = get_args(Format)
SUFFIXES: Final = (".jsonl", ".parquet")

Row: TypeAlias = dict[str, Any]

_TEXT, _STEP, _FLAG = pa.string(), pa.int64(), pa.bool_()
_COPIED: Final = ("task_id", "source", "danger_group", "danger_type", "licence", "attribution", "model_answered")
ABOUT: Final = (*((name, _TEXT) for name in ("split", *_COPIED)), ("offline_authored", _FLAG))
"""Columns of every format. ``offline_authored`` says whether our rules wrote any of the task, and no language model."""

COLUMNS: Final[Mapping[Format, tuple[tuple[str, pa.DataType], ...]]] = {
    "sft": (("prompt", _TEXT), ("completion", _TEXT)),
    "dpo": (
        *((name, _TEXT) for name in ("prompt", "chosen", "rejected")),
        *((name, _STEP) for name in ("shared_prefix", "danger_step", "causal_step")),
    ),
    "stepwise": (("prompt", _TEXT), ("completions", pa.list_(_TEXT)), ("labels", pa.list_(_FLAG)), ("plan", _TEXT)),
}
"""Columns of a format, before those of ``ABOUT``."""

_PAIR: Final = tuple(name for name, _ in COLUMNS["dpo"])
_GROUP: Final = 1_000
"""Rows of a group in a Parquet file."""


@dataclass
class ExportSummary:
    """What was written, and what was not."""

    out: str
    format: Format
    split: str
    rows: int = 0
    offline_authored: int = 0
    """Rows of tasks that our rules wrote, and no language model."""
    licences: dict[str, int] = field(default_factory=dict)
    """Licence to rows."""
    left_out: dict[str, int] = field(default_factory=dict)
    """Why to how many: ``share_alike`` and ``offline_authored`` count tasks; ``no_action`` (the plan is empty) and
    ``no_causal_step`` (not known of the unsafe plan) count plans."""

    def to_json(self) -> dict[str, Any]:
        """JSON values."""
        return asdict(self)


def export(
    release: Release,
    out: Path,
    format_: Format,
    *,
    split: str = "train",
    by_sa: bool = False,
    allow_offline: bool = False,
) -> ExportSummary:
    """Write training data.

    Args:
        release: What to write it from.
        out: File to write, ``.jsonl`` or ``.parquet``.
        format_: Which columns.
        split: Which tasks.
        by_sa: Whether rows under a share-alike licence go into the file too.
        allow_offline: Whether rows may be in it that our rules wrote, and no language model.

    Raises:
        UsageError: The file is there already, or has another ending.
        InputError: There is nothing to write, the release is damaged, or the file cannot be written.
    """
    if out.suffix not in SUFFIXES:
        raise UsageError(f"{out} ends neither with .jsonl nor with .parquet", remedy="name a file that does")
    if out.exists() or out.is_symlink():
        raise UsageError(f"{out} is there already", remedy="name another file, or remove it")
    summary = ExportSummary(str(out), format_, split)
    left_out: Counter[str] = Counter()
    licences: Counter[str] = Counter()

    def count_rows(rows: Iterator[Row]) -> Iterator[Row]:
        for row in rows:
            summary.rows += 1
            summary.offline_authored += row["offline_authored"]
            licences[row["licence"]] += 1
            yield row

    rows = training_rows(release, format_, split, by_sa=by_sa, allow_offline=allow_offline, left_out=left_out)
    # Nothing is begun that has no first row.
    first = next(rows, None)
    if first is None:
        raise InputError(f"there is nothing to write of {split}", file=str(release.folder), remedy=_remedy(left_out))
    _write(out, count_rows(chain([first], rows)), format_)
    summary.licences, summary.left_out = dict(sorted(licences.items())), dict(sorted(left_out.items()))
    return summary


def training_rows(
    release: Release,
    format_: Format,
    split: str = "train",
    *,
    by_sa: bool = False,
    allow_offline: bool = False,
    left_out: Counter[str] | None = None,
) -> Iterator[Row]:
    """The rows of a format, by id, share-alike ones last.

    Args:
        release: What to make them from.
        format_: Which columns.
        split: Which tasks.
        by_sa: Whether rows under a share-alike licence come too.
        allow_offline: Whether rows come that our rules wrote, and no language model.
        left_out: Counts why something does not come (see ``ExportSummary``).
    """
    why: Counter[str] = Counter() if left_out is None else left_out
    base, columns, make = _MAKERS[format_]
    for config in (base, base + BY_SA):
        rows = release.splits(config).get(split, 0) if config in release.configs() else 0
        if not rows:
            continue
        if config != base and not by_sa:
            why["share_alike"] += rows
            continue
        offline = _offline_authored(release, config.replace(base, "tasks"), split)
        for row in release.rows(config, split, (*_COPIED, *columns)):
            task_id = row["task_id"]
            if task_id in offline and not allow_offline:
                why["offline_authored"] += 1
                continue
            about = {"split": split, **{name: row[name] for name in _COPIED}, "offline_authored": task_id in offline}
            for made in make(row, why):
                yield {**made, **about}


def _offline_authored(release: Release, config: str, split: str) -> set[str]:
    rows = release.rows(config, split, ("task_id", "answered_by"))
    return {row["task_id"] for row in rows if OFFLINE_MODEL in json.loads(row["answered_by"])}


def _sft(row: Row, _: Counter[str]) -> Iterator[Row]:
    yield {"prompt": planning_prompt(row["domain_pddl"], row["problem_pddl"]), "completion": row["safe_plan"]}


def _dpo(row: Row, _: Counter[str]) -> Iterator[Row]:
    yield {name: row[name] for name in _PAIR}


def _stepwise(row: Row, why: Counter[str]) -> Iterator[Row]:
    for plan, text in (("safe", row["chosen"]), ("unsafe", row["rejected"])):
        actions = [f"({' '.join(tokens)})" for tokens in parse_plan(text)]
        known = len(actions) if plan == "safe" else row["causal_step"]
        if not actions:
            why["no_action"] += 1
        elif known is None:
            why["no_causal_step"] += 1
        else:
            labels = [step < known for step in range(len(actions))]
            yield {"prompt": row["prompt"], "completions": actions, "labels": labels, "plan": plan}


_MAKERS: Final[Mapping[Format, tuple[str, tuple[str, ...], Callable[[Row, Counter[str]], Iterator[Row]]]]] = {
    "sft": ("tasks", ("domain_pddl", "problem_pddl", "safe_plan"), _sft),
    "dpo": ("preference_pairs", _PAIR, _dpo),
    "stepwise": ("preference_pairs", _PAIR, _stepwise),
}
"""By format: the config that it is made of, the columns that it takes, and what makes its rows of one row there."""


def _remedy(left_out: Counter[str]) -> str:
    options = {"share_alike": "--by-sa", "offline_authored": "--allow-offline"}
    told = [f"{options[reason]} (of {left_out[reason]} tasks)" for reason in options if left_out[reason]]
    return f"allow what was left out: {', '.join(told)}" if told else "name another split"


def _write(out: Path, rows: Iterator[Row], format_: Format) -> None:
    """Write the rows next to ``out``, and give the file its name when it is whole."""
    staged = out.with_name(f".{out.name}.part")
    try:
        with _keep_if_whole(staged):
            (_write_lines if out.suffix == ".jsonl" else _write_parquet)(staged, rows, format_)
            staged.replace(out)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}", file=str(out)) from error


@contextmanager
def _keep_if_whole(staged: Path) -> Iterator[None]:
    try:
        yield
    except BaseException:
        staged.unlink(missing_ok=True)
        raise


def _write_lines(path: Path, rows: Iterator[Row], _: Format) -> None:
    with path.open("w", encoding="ascii", newline="\n") as file:
        for row in rows:
            # In ASCII: some readers take more than a line feed for the end of a line.
            file.write(json.dumps(row) + "\n")


def _write_parquet(path: Path, rows: Iterator[Row], format_: Format) -> None:
    schema = pa.schema((*COLUMNS[format_], *ABOUT))
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        while some := list(islice(rows, _GROUP)):
            writer.write_table(pa.Table.from_pylist(some, schema=schema))
