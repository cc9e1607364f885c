"""Small folders of releases, written by hand with pyarrow: what `build` would not write can be in them too."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from formalism.soup import action, boolean, danger, sets, soup_document

from hazardmill.formalism.formats.pddl.writer import domain_pddl, problem_pddl
from hazardmill.formalism.proofs.certificate import certify
from hazardmill.release.build.configs import CONFIGS, base_of
from hazardmill.release.manifest import Archive, ReleaseManifest, file_of
from hazardmill.release.read.pairs import preference_pair

FREE, SHARE_ALIKE = "CC-BY-4.0", "CC-BY-SA-4.0"
COOK = ["fluent", "soup_is_hot"]


def bowl(place):
    """Soup carried to a place of a name of its own: another document for each."""
    return soup_document(
        objects=[["kitchen", "room"], [place, "place"]],
        goal=["fluent", "bowl_at", place],
    )


def spilt(place):
    """The same, but slowing down does not help: the danger is unavoidable."""
    document = bowl(place).to_json()
    return type(bowl(place)).from_json({**document, "dangers": [danger("carry", COOK)]})


def mended(place):
    """Danger that a third action takes back, so that no step is the last before which a safe way is left."""
    return soup_document(
        objects=[["kitchen", "room"], [place, "place"]],
        goal=["fluent", "bowl_at", place],
        fluents__4=boolean("cooled"),
        actions__2=action("cool", ["not", ["fluent", "cooled"]], [sets("cooled")]),
        dangers__1=danger("cool", increment=-1),
    )


def task_row(document, /, *, source="neiss", licence=FREE, answered_by=("test/model-1",), **changes):
    """A row of `tasks` or `unavoidable`; every column that says nothing here says so."""
    certificate = certify(document, unavoidable=certify(document).solution.safe is None)
    solution, task_id = certificate.solution, f"{source}-{document.hash[:12]}"
    return {
        "task_id": task_id,
        "record_id": f"{source}:{document.hash[:4]}",
        "source": source,
        "context": "Setting: a kitchen",
        "danger_group": "physical",
        "danger_type": "thermal",
        "document": json.dumps(document.to_json()),
        "document_hash": document.hash,
        "group": document.hash[:8],
        "domain_pddl": domain_pddl(document),
        "problem_pddl": problem_pddl(document),
        "safe_plan": solution.safe_text,
        "unsafe_plan": solution.unsafe_text,
        "certificate": json.dumps(certificate.to_json()),
        "avoidability": "avoidable" if solution.safe is not None else "unavoidable",
        "answered_by": json.dumps(list(answered_by)),
        "model_answered": answered_by[-1],
        "licence": licence,
        "attribution": "A Credit Line",
        **changes,
    }


def filled(row, config):
    """A row with every column of a config, and no other."""
    blank = {"string": "-", "int64": 1, "bool": True}
    return {column.name: row.get(column.name, blank[str(column.type)]) for column in CONFIGS[config].columns}


def pair_rows(rows):
    """What `preference_pairs` has of rows of `tasks`."""
    return [{**row, **pair} for row in rows if (pair := preference_pair(row)) is not None]


def write_release(folder: Path, rows, **manifest) -> Path:
    """Write `rows`, config to split to rows, and a manifest that agrees with them."""
    files = {}
    for config, by_split in rows.items():
        for split, some in by_split.items():
            path = folder / "data" / config / f"{split}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            base = base_of(config)
            ordered = sorted(some, key=lambda row: [row[name] for name in CONFIGS[base].sort_by])
            table = pa.Table.from_pylist([filled(row, base) for row in ordered], schema=CONFIGS[base].schema)
            pq.write_table(table, path, row_group_size=2)
            files[path.relative_to(folder).as_posix()] = file_of(path, len(some))
    tasks = [row for config, by in rows.items() for some in by.values() for row in some if "tasks" in config]
    given = {
        "name": "soups",
        "version": "1.2.3",
        "date": None,
        "hazardmill_version": "0.1.0",
        "policy": "none",
        "seed": 0,
        "tasks": len(tasks),
        "offline": sum("offline-author" in row["answered_by"] for row in tasks),
        "counts": {config: {split: len(some) for split, some in by.items()} for config, by in rows.items()},
        "licences": {FREE: len(tasks)},
        "archive": Archive(tasks=0, unsayable=0, reasons={}),
        "files": files,
        **manifest,
    }
    folder.mkdir(parents=True, exist_ok=True)
    ReleaseManifest(**given).write(folder)
    return folder


PLACES = ("table", "shelf", "desk", "bench", "stool")
OFFLINE = ("test/model-1", "offline-author")


def soups(folder: Path) -> Path:
    """Three tasks to train on (one offline-authored), one to test with, one share-alike, one unavoidable."""
    one, two, three, four, five = (task_row(bowl(place)) for place in PLACES)
    three = task_row(bowl(PLACES[2]), answered_by=OFFLINE)
    five = task_row(bowl(PLACES[4]), source="normbank", licence=SHARE_ALIKE)
    lost = task_row(spilt("chair"))
    return write_release(
        folder,
        {
            "tasks": {"train": [one, two, three], "test": [four]},
            "tasks_by_sa": {"train": [five]},
            "unavoidable": {"validation": [lost]},
            "preference_pairs": {"train": pair_rows([one, two, three]), "test": pair_rows([four])},
            "preference_pairs_by_sa": {"train": pair_rows([five])},
        },
    )
