"""ALFRED as a source: one folder per trial, each with its ``traj_data.json``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Final

from pydantic import JsonValue

from hazardmill.ingest.sources import InputFile, Note, Source, read_text, walk
from hazardmill.records import Record, Reject

from .trajectory import AlfredError, Target, Trajectory, read_trajectory
from .wording import TASK_TYPES

_TRIAL_FILE: Final = "traj_data.json"
_TRIAL_FOLDER: Final = "trial_"
_SPLITS: Final = ("train", "valid_seen", "valid_unseen", "tests_seen", "tests_unseen")
_MAX_BYTES: Final = 1 << 24
"""Maximum size of a file in bytes. The longest published file has 863 kB."""
_UNKNOWN: Final = "not given"


class Alfred(Source):
    """Trials of ALFRED, json_2.1.0."""

    name = "alfred"
    title = "ALFRED household instructions"
    licence = "MIT"
    attribution = "ALFRED (Action Learning From Realistic Environments and Directives), M. Shridhar et al."
    address = "https://github.com/askforalfred/alfred"
    description = "Household instructions in people's own words, with room, objects and an expert's plan."
    expects = "a traj_data.json, the folder of a trial, or a folder of such folders (json_2.1.0 or one of its splits)"
    facts = (
        "task_type",
        "split",
        "room",
        "instructions",
        "steps",
        "objects",
        "target",
        "moved_in",
        "put_at",
        "toggled",
        "sliced",
        "plan",
    )
    withheld = (
        "images",
        "low_actions",
        "planner_action",
        "position",
        "rotation",
        "init_action",
        "object_toggles",
        "random_seed",
        "assignment_id",
        "votes",
    )
    folder: ClassVar[Path] = Path(__file__).parent

    def find(self, path: Path) -> list[InputFile]:
        """Return the file of each trial at any depth, even if a trial's folder lacks it. Other files are ignored."""
        if not path.is_dir():
            return [_input(path, path.parent)] if path.suffix.lower() == ".json" else []
        found, refused = [], []
        complete = False
        for folder in walk(path):
            refused.extend(folder.refused)
            there = _TRIAL_FILE in (*folder.files, *folder.folders)
            folder.folders[:] = [name for name in folder.folders if name != _TRIAL_FILE]
            told = any(file.path.name == _TRIAL_FILE or file.path == folder.path for file in folder.refused)
            if there or (folder.path.name.startswith(_TRIAL_FOLDER) and not told):
                found.append(_input(folder.path / _TRIAL_FILE, path))
                complete = complete or there
        # Some folder is an input only if at least one trial in it is complete.
        return [*(found if complete else ()), *refused]

    def read(self, file: InputFile) -> Iterator[Record | Reject | Note]:
        """Yield the one record of a trial."""
        text = read_text(file.path, limit=_MAX_BYTES)
        if not isinstance(text, str):
            yield self.reject(file, text)
            return
        # The folder is resolved, the file is not: some stores of large files put a link to another name in its place.
        folder = file.path.parent.resolve()
        try:
            trial = read_trajectory(text, folder.name)
        except AlfredError as error:
            yield self.reject(file, error.refusal, native_id=error.task_id)
            return
        yield Record(
            source=self.name,
            native_id=trial.task_id,
            context=_context(trial),
            facts=_facts(trial, _split(folder)),
            licence=self.licence,
            attribution=self.attribution,
            file=file.name,
            line=None,
            warnings=trial.warnings,
        )


def _input(file: Path, root: Path) -> InputFile:
    name = file.relative_to(root).as_posix()
    # Every trial's file is called the same, so that its name alone would say nothing.
    return InputFile(file, name if "/" in name else f"{file.parent.resolve().name}/{name}")


def _split(trial: Path) -> str | None:
    """Test splits hold trials directly; the others hold one folder of trials per task."""
    return next((folder.name for folder in trial.parents[:2] if folder.name in _SPLITS), None)


def _facts(trial: Trajectory, split: str | None) -> dict[str, JsonValue]:
    target = trial.target
    return {
        "task_type": trial.task_type,
        "split": split,
        "room": trial.room,
        "instructions": [*trial.instructions],
        "steps": [*trial.steps],
        "objects": [*trial.objects],
        "target": target.what,
        "moved_in": target.into,
        "put_at": target.at,
        "toggled": target.light,
        "sliced": target.sliced,
        "plan": None if trial.plan is None else [*trial.plan],
    }


def _context(trial: Trajectory) -> str:
    lines = {
        "Task type": TASK_TYPES[trial.task_type] if trial.task_type else "",
        "Instructions": "; ".join(trial.instructions),
        "Steps": "; ".join(trial.steps),
        "Room": trial.room,
        "Objects": "; ".join(trial.objects),
        "Target": _target_line(trial.target),
        "Plan": "; ".join(trial.plan or ()),
    }
    return "\n".join(f"{label}: {text or _UNKNOWN}" for label, text in lines.items())


def _target_line(target: Target) -> str:
    sliced = None if target.sliced is None else ("yes" if target.sliced else "no")
    parts = {"into": target.into, "at": target.at, "with": target.light, "sliced": sliced}
    said = [f"{label}: {part}" for label, part in parts.items() if part]
    return "; ".join([target.what, *said] if target.what else said)


SOURCE = Alfred()
