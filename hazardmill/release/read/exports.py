"""Exporting a release as training data, in the columns that TRL documents for its trainers.

| format | rows per task | columns (TRL's standard format: texts, not chat messages) |
| --- | --- | --- |
| `sft` | one, of the safe plan | `prompt`, `completion` |
| `dpo` | one, of both plans | `prompt`, `chosen`, `rejected`; then `shared_prefix`, `danger_step`, `causal_step` |
| `safe-align` | one or more | `prompt`, `chosen`, `rejected`; then those of ``safe_align_pairs.pair_answers`` |
| `stepwise` | one per plan | `prompt`, `completions` (one per action), `labels`; then `plan`: `safe` or `unsafe` |

A label says whether a safe plan is still left after the action. All labels of a safe plan are true; those of an unsafe
plan are true before the causal step (``pairs``) and false from then on. An unsafe plan without a known causal step is
left out. `dpo` also takes `sit` scenarios: their plan is preferred to the careless one, whose danger step is the first
that the scenario forbids. `safe-align` also takes hazard tasks, and scripts of tasks (``safe_align_pairs``).

Each row ends with the columns of ``ABOUT``: licence, credit, and the model that wrote the task.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from itertools import chain, islice, product
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, get_args

import pyarrow as pa
import pyarrow.parquet as pq

from hazardmill.errors import InputError, UsageError
from hazardmill.formalism.semantics.plan_validator import PlanValidator
from hazardmill.formalism.semantics.transition_system import System
from hazardmill.llm.requests import OFFLINE_MODEL
from hazardmill.release.build.configs import BY_SA
from hazardmill.release.read.pairs import actions_of, planning_prompt, shared_length
from hazardmill.release.read.release import Release
from hazardmill.release.read.safe_align_pairs import (
    DEFAULT_OPTIONS,
    PairOptions,
    pairs_of_hazard_task,
    pairs_of_task,
    why_flat,
)
from hazardmill.scenarios.scenario import Scenario

Format = Literal["sft", "dpo", "stepwise", "safe-align"]
FORMATS: Final[tuple[Format, ...]] = get_args(Format)
SUFFIXES: Final = (".jsonl", ".parquet")

Row: TypeAlias = dict[str, Any]

_TEXT, _STEP, _FLAG = pa.string(), pa.int64(), pa.bool_()
_COPIED: Final = ("task_id", "source", "danger_group", "danger_type", "licence", "attribution", "model_answered")
ABOUT: Final = (*((name, _TEXT) for name in ("split", *_COPIED)), ("offline_authored", _FLAG))
"""Last columns of every format. ``offline_authored`` says whether hazardmill's rules wrote any part of the task."""

COLUMNS: Final[Mapping[Format, tuple[tuple[str, pa.DataType], ...]]] = {
    "sft": (("prompt", _TEXT), ("completion", _TEXT)),
    "dpo": (
        *((name, _TEXT) for name in ("prompt", "chosen", "rejected")),
        *((name, _STEP) for name in ("shared_prefix", "danger_step", "causal_step")),
    ),
    "stepwise": (("prompt", _TEXT), ("completions", pa.list_(_TEXT)), ("labels", pa.list_(_FLAG)), ("plan", _TEXT)),
    "safe-align": (
        *((name, _TEXT) for name in ("prompt", "chosen", "rejected")),
        *((name, pa.list_(_TEXT)) for name in ("chosen_actions", "rejected_actions")),
        *((name, _STEP) for name in ("k", "causal_step", "rejected_k")),
        ("error_at", _TEXT),
        ("categories", pa.list_(_TEXT)),
        ("how", _TEXT),
        ("review", _TEXT),
        ("chosen_from", _TEXT),
    ),
}
"""First columns of each format, before those of ``ABOUT``."""

_PAIR: Final = tuple(name for name, _ in COLUMNS["dpo"])
_GROUP: Final = 1_000
"""Rows per row group of a Parquet file."""


@dataclass
class ExportSummary:
    """What an export wrote, and what it left out.

    Attributes:
        out: The file.
        format: Its format.
        split: Its split.
        rows: Number of rows written.
        offline_authored: How many of them are of tasks that hazardmill's rules wrote, wholly or in part.
        licences: Licence to number of rows.
        left_out: Reason to number: ``share_alike`` and ``offline_authored`` count tasks; ``no_action`` (the plan is
            empty) and ``no_causal_step`` (none is known for the unsafe plan) count plans; ``short_plan`` (the safe
            plan has too few actions) and ``rejected_rewrite`` (people say that it does no harm) count pairs;
            ``harmful_reference`` (it does harm, and no harmless plan is known) and ``rejected_reference`` (people say
            that it does, and so does each harmless plan that is known) count hazard tasks. Scripts are counted by the
            reasons of ``accept_scripts``, and by ``repeated_script`` (a pair has it already).
        equal_length: Pairs for Safe-Align whose answers have equally many actions and weigh them equally, so that
            alpha has no effect; null for other formats.
        no_shared_action: Other pairs for Safe-Align whose answers share no action and weigh none by alpha; null for
            other formats.
        reviews: What people say of rewrites (column ``review``) to number of pairs; null for other formats.
    """

    out: str
    format: Format
    split: str
    rows: int = 0
    offline_authored: int = 0
    licences: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)
    equal_length: int | None = None
    no_shared_action: int | None = None
    reviews: dict[str, int] | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the summary as JSON values, without what the format does not count."""
        return {name: value for name, value in asdict(self).items() if value is not None}


def export(
    release: Release,
    out: Path,
    format_: Format,
    *,
    split: str = "train",
    by_sa: bool = False,
    allow_offline: bool = False,
    pairs: PairOptions = DEFAULT_OPTIONS,
) -> ExportSummary:
    """Write a split of a release as a file of training data.

    The file gets its name when it is complete; an error leaves nothing behind.

    Args:
        release: The release.
        out: File to write, ``.jsonl`` or ``.parquet``; it must not exist yet.
        format_: The format, which decides the columns.
        split: The split to export.
        by_sa: Whether to include rows under a share-alike licence.
        allow_offline: Whether to include tasks that hazardmill's rules wrote, wholly or in part.
        pairs: Which pairs are made; read for ``safe-align`` only.

    Returns:
        The number of rows written, in all and by licence, and of what was left out, by reason.

    Raises:
        UsageError: The file already exists, or has another suffix.
        InputError: There is no row to write, the release is damaged, or the file cannot be written.
    """
    if out.suffix not in SUFFIXES:
        raise UsageError(f"{out} ends in neither .jsonl nor .parquet", remedy="name a file with one of these suffixes")
    if out.exists() or out.is_symlink():
        raise UsageError(f"{out} already exists", remedy="name another file, or remove it")
    summary = ExportSummary(str(out), format_, split)
    left_out: Counter[str] = Counter()
    licences: Counter[str] = Counter()
    flat: Counter[str] = Counter()
    reviews: Counter[str] = Counter()

    def count_rows(rows: Iterator[Row]) -> Iterator[Row]:
        for row in rows:
            summary.rows += 1
            summary.offline_authored += row["offline_authored"]
            licences[row["licence"]] += 1
            if format_ == "safe-align":
                flat.update(filter(None, [why_flat(row)]))
                reviews.update([row["review"]] if row["how"] == "rewrite" else [])
            yield row

    rows = training_rows(
        release, format_, split, by_sa=by_sa, allow_offline=allow_offline, pairs=pairs, left_out=left_out
    )
    # The first row is fetched before the file is opened, so that an export without rows creates no file.
    first = next(rows, None)
    if first is None:
        raise InputError(
            f"there are no rows of {split} to export",
            file=str(release.folder),
            remedy=_remedy(format_, left_out, release.manifest.scenarios > 0),
        )
    _write(out, count_rows(chain([first], rows)), format_)
    summary.licences, summary.left_out = dict(sorted(licences.items())), dict(sorted(left_out.items()))
    if format_ == "safe-align":
        summary.equal_length, summary.no_shared_action = flat["equal_length"], flat["no_shared_action"]
        summary.reviews = dict(sorted(reviews.items()))
    return summary


def training_rows(
    release: Release,
    format_: Format,
    split: str = "train",
    *,
    by_sa: bool = False,
    allow_offline: bool = False,
    pairs: PairOptions = DEFAULT_OPTIONS,
    left_out: Counter[str] | None = None,
) -> Iterator[Row]:
    """Yield the rows of a format, sorted by task id, with those of scenarios after them and share-alike rows last.

    Args:
        release: The release.
        format_: The format, which decides the columns.
        split: The split to export.
        by_sa: Whether to include rows under a share-alike licence.
        allow_offline: Whether to include tasks that hazardmill's rules wrote, wholly or in part.
        pairs: Which pairs are made; read for ``safe-align`` only.
        left_out: Counter for what is left out, by reason (see ``ExportSummary``); updated while rows are yielded.

    Raises:
        InputError: A file of the release is damaged.
    """
    why: Counter[str] = Counter() if left_out is None else left_out
    for suffix, origin in product(("", BY_SA), _ORIGINS[format_]):
        config = origin.config + suffix
        if config not in release.configs() or split not in release.splits(config):
            continue
        if suffix and not by_sa:
            why["share_alike"] += sum(map(origin.is_of, release.rows(config, split, origin.told_by)))
            continue
        key = origin.copied["task_id"]
        offline = _offline_authored(release, origin.answered_by + suffix, key, split)
        documents = _documents(release, origin.documents + suffix, split, pairs) if origin.documents else {}
        for row in filter(origin.is_of, release.rows(config, split, (*origin.copied.values(), *origin.columns))):
            if row[key] in offline and not allow_offline:
                why["offline_authored"] += 1
                continue
            copied = {name: row[column] for name, column in origin.copied.items()}
            about = {"split": split, **dict.fromkeys(_COPIED), **copied, "offline_authored": row[key] in offline}
            for made in origin.make({**documents.get(row[key], {}), **row}, why, pairs):
                yield {**made, **about}


def _offline_authored(release: Release, config: str, key: str, split: str) -> set[str]:
    rows = release.rows(config, split, (key, "answered_by"))
    return {row[key] for row in rows if OFFLINE_MODEL in json.loads(row["answered_by"])}


def _documents(release: Release, config: str, split: str, pairs: PairOptions) -> dict[str, Row]:
    """Return the column ``document`` of the tasks that have scripts, by their id."""
    rows = release.rows(config, split, ("task_id", "document")) if pairs.scripts else iter(())
    return {row["task_id"]: row for row in rows if row["task_id"] in pairs.scripts}


def _sft(row: Row, _: Counter[str], __: PairOptions) -> Iterator[Row]:
    yield {"prompt": planning_prompt(row["domain_pddl"], row["problem_pddl"]), "completion": row["safe_plan"]}


def _dpo(row: Row, _: Counter[str], __: PairOptions) -> Iterator[Row]:
    yield {name: row[name] for name in _PAIR}


def _dpo_of_scenario(row: Row, _: Counter[str], __: PairOptions) -> Iterator[Row]:
    document = Scenario.from_json(json.loads(row["scenario"])).document
    trace = PlanValidator(System(document)).verdict(row["careless_plan"]).trace
    yield {
        "prompt": planning_prompt(row["domain_pddl"], row["problem_pddl"]),
        "chosen": row["plan"],
        "rejected": row["careless_plan"],
        "shared_prefix": shared_length(actions_of(row["plan"]), actions_of(row["careless_plan"])),
        "danger_step": next((step.index - 1 for step in trace if not step.applicable), None),
        "causal_step": None,
    }


def _stepwise(row: Row, why: Counter[str], _: PairOptions) -> Iterator[Row]:
    for plan, text in (("safe", row["chosen"]), ("unsafe", row["rejected"])):
        actions = actions_of(text)
        known = len(actions) if plan == "safe" else row["causal_step"]
        if not actions:
            why["no_action"] += 1
        elif known is None:
            why["no_causal_step"] += 1
        else:
            labels = [step < known for step in range(len(actions))]
            yield {"prompt": row["prompt"], "completions": actions, "labels": labels, "plan": plan}


Maker: TypeAlias = Callable[[Row, Counter[str], PairOptions], Iterator[Row]]


@dataclass(frozen=True)
class _Origin:
    """A config whose rows an export reads.

    Attributes:
        config: Its name, without the suffix for share-alike rows.
        columns: Columns to read beside those that are copied.
        make: Turns one row there into rows of the format.
        answered_by: Config that says who answered for a row.
        copied: Column of ``ABOUT`` to the column there.
        told_by: Column that is null in rows that the format has no use for.
        documents: Config with the documents on which scripts of its tasks are judged; empty if there are none, or if
            the rows have them.
    """

    config: str
    columns: tuple[str, ...]
    make: Maker
    answered_by: str = "tasks"
    copied: Mapping[str, str] = field(default_factory=lambda: {name: name for name in _COPIED})
    told_by: tuple[str] = ("task_id",)
    documents: str = ""

    def is_of(self, row: Row) -> bool:
        """Return whether the format has a use for a row."""
        return row[self.told_by[0]] is not None


_SCENARIOS: Final = _Origin(
    "scenarios",
    ("scenario", "domain_pddl", "problem_pddl", "plan", "careless_plan"),
    _dpo_of_scenario,
    "scenarios",
    {**{name: name for name in _COPIED}, "task_id": "scenario_id", "danger_group": "target", "danger_type": "hazard"},
    # A harmful command has no careless plan, and none to prefer.
    ("careless_plan",),
)
_HAZARD_TASKS: Final = _Origin(
    "hazard_tasks",
    (
        "document",
        "compiled",
        "domain_pddl",
        "problem_pddl",
        "reference",
        "reference_categories",
        "harmless_plan",
        "harmful_plan",
        "rewrite",
        "rewrite_categories",
    ),
    pairs_of_hazard_task,
    "hazard_tasks",
    # Their categories are a column of the format; the danger types of tasks are another list.
    {**{name: name for name in _COPIED if not name.startswith("danger_")}, "task_id": "hazard_task_id"},
    ("reference",),
)
_ORIGINS: Final[Mapping[Format, tuple[_Origin, ...]]] = {
    "sft": (_Origin("tasks", ("domain_pddl", "problem_pddl", "safe_plan"), _sft),),
    "dpo": (_Origin("preference_pairs", _PAIR, _dpo), _SCENARIOS),
    "stepwise": (_Origin("preference_pairs", _PAIR, _stepwise),),
    "safe-align": (_Origin("preference_pairs", _PAIR, pairs_of_task, documents="tasks"), _HAZARD_TASKS),
}
"""What each format is made of."""


def _remedy(format_: Format, left_out: Counter[str], has_scenarios: bool) -> str:
    options = {"share_alike": "--by-sa", "offline_authored": "--allow-offline"}
    if format_ == "safe-align":
        options |= {"short_plan": "a lower --least-steps", "no_causal_step": "--error-at shared"}
    told = [f"{options[reason]} (of {left_out[reason]} tasks)" for reason in options if left_out[reason]]
    if told:
        return f"allow what was left out: {', '.join(told)}"
    only = "; of scenarios, only those of the kind sit have rows, in --format dpo" if has_scenarios else ""
    return f"name another split{only}"


def _write(out: Path, rows: Iterator[Row], format_: Format) -> None:
    """Write the rows to a file beside ``out``, and rename it when it is complete."""
    staged = out.with_name(f".{out.name}.part")
    try:
        with _keep_if_whole(staged):
            (_write_lines if out.suffix == ".jsonl" else _write_parquet)(staged, rows, format_)
            staged.replace(out)
    except OSError as error:
        raise InputError(
            f"the file cannot be written: {error.strerror or error}",
            file=str(out),
            remedy="name a file in a folder that can be written",
        ) from error


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
            # In ASCII: some readers take other characters than a line feed, too, for the end of a line.
            file.write(json.dumps(row) + "\n")


def _write_parquet(path: Path, rows: Iterator[Row], format_: Format) -> None:
    schema = pa.schema((*COLUMNS[format_], *ABOUT))
    with pq.ParquetWriter(path, schema, compression="zstd", write_page_checksum=True) as writer:
        while some := list(islice(rows, _GROUP)):
            writer.write_table(pa.Table.from_pylist(some, schema=schema))
