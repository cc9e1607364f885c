"""Describing the configs for the package ``datasets`` and the viewer of the hub: ``dataset_info`` of the card.

With it, readers know features, rows and sizes without opening a file, and ``load_dataset`` refuses a split that
has another number of rows. The keys are those that ``datasets`` writes itself (``DatasetInfo`` and ``SplitInfo``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from hazardmill.release.documents.card_context import ConfigFact
from hazardmill.release.manifest import File

_DTYPES: Final = {"string": "string", "int64": "int64", "double": "float64", "bool": "bool"}
"""Arrow type to the name that ``datasets`` has for it."""


def dataset_info(config: ConfigFact, files: Mapping[str, File]) -> dict[str, Any]:
    """Return the description of one config, as the front matter of the card has it.

    Args:
        config: The config.
        files: The files of the release, with their sizes, by path.

    Returns:
        Its name, features and splits. ``download_size`` is the size of its Parquet files, and ``num_bytes`` and
        ``dataset_size`` are sizes in memory, as Arrow counts them; all in bytes. Unknown sizes are left out.
    """
    value: dict[str, Any] = {
        "config_name": config.name,
        "features": [{"name": column.name, "dtype": _DTYPES[column.type]} for column in config.columns],
        "splits": [_split(config, split) for split in config.rows],
    }
    paths = [f"data/{config.name}/{split}.parquet" for split in config.rows]
    if all(path in files for path in paths):
        value["download_size"] = sum(files[path].bytes for path in paths)
    if config.sizes.keys() >= config.rows.keys():
        value["dataset_size"] = sum(config.sizes[split] for split in config.rows)
    return value


def _split(config: ConfigFact, split: str) -> dict[str, Any]:
    size = {"num_bytes": config.sizes[split]} if split in config.sizes else {}
    return {"name": split, **size, "num_examples": config.rows[split]}
